// The page: controls, pointers, keys and plots around a Cloth and a View of the package beside it. Everything that it does with
// cloth is in that package for others, too.

import init, { Cloth, View, heatColors, loading, sceneNames, solverNames } from './pkg/taut.js';
import { SHOWN, plot } from './plot.js';

const $ = (id) => document.getElementById(id);
const parameters = new URLSearchParams(location.search);
// What is worth looking at first; all others of the library follow.
const FIRST = ['hang', 'drape', 'flag', 'tablecloth', 'heap', 'fold', 'mannequin'];
const SIZES = [12, 16, 24, 32, 48, 64, 96];
const LIMITS = [0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001];
const BENDINGS = [0, 1e-7, 3e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3];
// Where the wind comes from: along the flag, a little from behind.
const WIND = [0.97, 0, 0.24];
const FRAME = 1 / 60;
// Losses of the device in a row after which the CPU goes on; so many frames later they are no row any more.
const LOSSES = 3;
const CALM = 600;
// Time between two counts of crossings [ms], at least; and this many times what the last one took.
const PAUSE = 500;
const SHARE = 20;
// Pixels that are drawn at most.
const PIXELS = 2_000_000;

let cloth, view;
let playing = parameters.get('paused') === null;
let behind = 0;
let last = performance.now();
// Whether something is to be drawn that no new frame brings.
let dirty = true;
let losses = 0;
// Grows with every cloth that is asked for: what is ready too late is thrown away.
let edition = 0;
let busy = true;
const history = [];
let frames = { count: 0, over: 0, worst: 0 };
// For tests and the console.
const page = (globalThis.taut = { errors: [], history, frames, get cloth() { return cloth; }, get view() { return view; }, get busy() { return busy; }, open, Cloth });

const percent = (part) => `${Number((100 * part).toPrecision(3))} %`;

function notice(text) {
  if ($('notice').textContent !== text) $('notice').textContent = text;
}

function failed(error) {
  page.errors.push(String(error));
  notice(`${error?.message ?? error}`);
  console.error(error);
}

// ---- Opening a cloth ----

function freshCanvas() {
  // A canvas that was drawn on in one way cannot be drawn on in another.
  const old = $('canvas');
  const canvas = old.cloneNode(false);
  old.replaceWith(canvas);
  // Nobody tells the new one when a finger on the old one is lifted.
  pointers.clear();
  dragging = false;
  hand = undefined;
  mark();
  fit(canvas);
  listen(canvas);
  return canvas;
}

function fit(canvas) {
  const scale = Math.min(devicePixelRatio || 1, Math.sqrt(PIXELS / Math.max(1, canvas.clientWidth * canvas.clientHeight)));
  const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((side) => Math.max(1, Math.round(side * scale)));
  if (view === undefined || cloth?.backend === 'gpu') {
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
  }
  dirty = true;
}

// Shows a cloth that `make` makes, from where the one before was seen if it is the same.
async function open(make, same = false) {
  const mine = ++edition;
  busy = true;
  const watch = setInterval(() => mine === edition && loading() && notice(loading()), 100);
  try {
    const made = await make();
    if (mine !== edition) return made.free();
    const drawn = await View.open(freshCanvas(), made);
    if (mine !== edition) return drawn.free(), made.free();
    if (same && view) drawn.follow(view);
    view?.free();
    cloth?.free();
    [cloth, view] = [made, drawn];
    fit($('canvas'));
    paint();
    view.showStrain($('strain').checked);
    history.length = 0;
    Object.assign(frames, { count: 0, over: 0, worst: 0 });
    notice('');
    show();
    told();
  } catch (error) {
    if (mine === edition) failed(error);
  } finally {
    clearInterval(watch);
    if (mine === edition) {
      busy = false;
      // What was asked for meanwhile.
      if (wanted && cloth) change({});
    }
  }
}

function options() {
  return { scene: $('scene').value, size: Number($('size').value), backend: $('backend').value };
}

// Another scene has settings of its own; what somebody chose of solver and limit stays.
const chosen = {};
const OF_SCENES = ['gravity', 'wind', 'bending', 'friction', 'selfCollision'];
const reopen = () => open(() => Cloth.open({ ...options(), ...chosen }));

// The same cloth elsewhere or of other stuff. What is being changed is changed first.
function goOn(stuff = {}) {
  const before = cloth;
  Object.assign(chosen, stuff);
  if (busy || !before) return reopen();
  return open(async () => {
    while (changing) await new Promise((resolve) => setTimeout(resolve, 20));
    return before.reopened($('backend').value, stuff);
  }, true);
}

async function recover() {
  losses += 1;
  if (losses > LOSSES) $('backend').value = 'cpu';
  const before = cloth;
  notice('the device was lost: opening it again');
  await open(() => before.reopened($('backend').value), true);
  // The next frame tries again.
  if (cloth === before) return;
  notice(losses > LOSSES ? 'the device was lost too often: the CPU goes on' : 'the device was lost, and the cloth goes on on a new one');
  setTimeout(() => $('notice').textContent.startsWith('the device was lost') && notice(''), 10_000);
}

// ---- Settings ----

// The latest that was asked for; a change takes a while where a solver is compiled.
let wanted;
let changing = false;
async function change(settings) {
  Object.assign(chosen, settings);
  wanted = { ...wanted, ...settings };
  if (changing || busy) return;
  // What was asked for before could not be opened; perhaps this can.
  if (!cloth) return reopen();
  changing = true;
  try {
    while (wanted && cloth) {
      const next = wanted;
      wanted = undefined;
      const watch = setTimeout(() => notice('compiling the solver'), 200);
      await cloth.change(next).finally(() => clearTimeout(watch));
      notice('');
      Object.assign(frames, { count: 0, over: 0, worst: 0 });
    }
  } catch (error) {
    failed(error);
  } finally {
    changing = false;
    show();
    told();
    dirty = true;
  }
}

// The index of what is nearest to a value, by ratio.
function nearest(list, value) {
  const away = (other) => Math.abs(Math.log((other + 1e-12) / (value + 1e-12)));
  return list.reduce((best, other, index) => (away(other) < away(list[best]) ? index : best), 0);
}

const micro = (bending) => `${Number((1e6 * bending).toPrecision(3))} µN·m`;

// Puts the controls where the settings are.
function show() {
  const { settings, stuff } = cloth;
  $('limit').value = nearest(LIMITS, settings.strainLimit);
  $('bending').value = nearest(BENDINGS, stuff.bending);
  $('bending-out').textContent = micro(stuff.bending);
  $('friction').disabled = stuff.friction === undefined;
  $('friction').value = stuff.friction ?? 0;
  $('friction-out').textContent = stuff.friction === undefined ? 'no solids' : Number(stuff.friction.toPrecision(3));
  $('own').checked = stuff.selfCollision;
  $('limit-out').textContent = percent(settings.strainLimit);
  $('solver').value = settings.solver;
  const gravity = Math.hypot(...settings.gravity);
  $('gravity').value = gravity;
  $('gravity-out').textContent = `${gravity.toFixed(1)} m/s²`;
  const wind = settings.wind ? Math.hypot(...settings.wind) : 0;
  $('wind').value = wind;
  $('wind-out').textContent = `${wind.toFixed(1)} m/s`;
  $('mark-limit').textContent = percent(settings.strainLimit);
  $('mark-twice').textContent = percent(2 * settings.strainLimit);
  $('legend').hidden = !$('strain').checked || cloth.backend === 'cpu';
  $('play').textContent = playing ? 'Pause' : 'Play';
}

// Which adapter computes, and what was held.
function told() {
  const info = cloth.device?.adapterInfo;
  const name = [info?.vendor, info?.architecture, info?.description].filter(Boolean).join(' ');
  const count = cloth.vertexCount.toLocaleString('en');
  const why = navigator.gpu ? cloth.reason : 'this browser has no WebGPU';
  $('place').textContent = cloth.backend === 'gpu'
    ? `WebGPU computes and draws ${count} vertices${name ? `: ${name}` : ''}.`
    : `The CPU computes and draws ${count} vertices, because ${why}.`;
}

function held() {
  const { count, over, worst } = frames;
  const limit = percent(cloth.settings.strainLimit);
  $('held').className = over === 0 ? 'good' : 'bad';
  $('held').textContent = count === 0 ? ''
    : over === 0 ? `Limit of ${limit} held in all ${count} frames; largest strain ${percent(worst)}.`
    : `Limit of ${limit} missed in ${over} of ${count} frames; largest strain ${percent(worst)}.`;
}

// How often it passes through itself: counted, whether it may or not.
let counted = 0;
function count(now) {
  if (now < counted) return;
  const begun = performance.now();
  const crossings = cloth.crossings();
  counted = now + Math.max(PAUSE, SHARE * (performance.now() - begun));
  $('crossings').className = crossings === 0 ? 'good' : 'bad';
  $('crossings').textContent = crossings === 0 ? 'It passes through itself nowhere.'
    : `It passes through itself in ${crossings.toLocaleString('en')} places${cloth.stuff.selfCollision ? '' : '; self-collision is off'}.`;
}

// ---- Frames ----

function take(report) {
  history.push(report);
  if (history.length > SHOWN) history.shift();
  frames.count += 1;
  frames.over += report.converged ? 0 : 1;
  frames.worst = Math.max(frames.worst, report.strain);
}

function simulate() {
  const stepped = cloth.step(FRAME);
  if (stepped) behind -= FRAME;
  return stepped;
}

let plotted = 0;
function frame(now) {
  requestAnimationFrame(frame);
  // A tab that was asleep does not catch up.
  if (playing) behind = Math.min(behind + (now - last) / 1000, 1.5 * FRAME);
  last = now;
  if (busy || !cloth || !view) return;
  try {
    if (cloth.lost) return void recover();
    const stepped = playing && !changing && behind >= FRAME && simulate();
    const reports = cloth.reports();
    reports.forEach(take);
    const arrived = reports.length > 0;
    if (frames.count >= CALM) losses = 0;
    if (stepped || dirty) {
      view.draw(cloth);
      dirty = false;
    }
    if (arrived && now - plotted > 100) {
      plotted = now;
      const color = getComputedStyle(document.documentElement).getPropertyValue('--plot');
      const report = history.at(-1);
      plot($('plot-strain'), history.map((one) => one.strain), report.limit, color);
      plot($('plot-time'), history.map((one) => one.milliseconds), 1000 * FRAME, color);
      $('strain-now').textContent = percent(report.strain);
      $('time-now').textContent = `${report.milliseconds.toFixed(1)} ms`;
      held();
      count(now);
    }
  } catch (error) {
    // A call on a device that was just lost fails; the loss itself is seen with the next frame.
    if (cloth.lost) return;
    play(false);
    failed(error);
  }
}

// ---- Pointers ----

const pointers = new Map();
let dragging = false;

// What was held on a lost device was lost with it.
function release() {
  if (cloth && !cloth.lost) cloth.release();
}

function listen(canvas) {
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  };
  // Of two fingers: what is between them, and the middle.
  const pair = () => {
    const [one, other] = [...pointers.values()];
    return { gap: Math.hypot(one[0] - other[0], one[1] - other[1]), middle: [0, 1].map((axis) => (one[axis] + other[axis]) / 2) };
  };
  const turn = (from, to) => view.orbit((to[0] - from[0]) * (canvas.clientWidth / canvas.clientHeight), to[1] - from[1]);
  canvas.addEventListener('pointerdown', (event) => {
    if (busy || !view) return;
    canvas.setPointerCapture(event.pointerId);
    drop();
    pointers.set(event.pointerId, at(event));
    if (pointers.size > 1 && dragging) {
      release();
      dragging = false;
    } else if (pointers.size === 1) {
      dragging = event.button === 0 && view.take(cloth, ...at(event)) !== undefined;
    }
  });
  canvas.addEventListener('pointermove', (event) => {
    const before = pointers.get(event.pointerId);
    if (!before || busy || !view) return;
    const two = pointers.size === 2 ? pair() : undefined;
    const now = at(event);
    pointers.set(event.pointerId, now);
    if (dragging) view.drag(cloth, ...now);
    else if (two) {
      const { gap, middle } = pair();
      view.zoom(Math.max(two.gap, 1e-3) / Math.max(gap, 1e-3));
      turn(two.middle, middle);
    } else turn(before, now);
    dirty = true;
  });
  const up = (event) => {
    pointers.delete(event.pointerId);
    if (dragging && pointers.size === 0) {
      release();
      dragging = false;
    }
  };
  canvas.addEventListener('pointerup', up);
  canvas.addEventListener('pointercancel', up);
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    view?.zoom(Math.exp(0.002 * Math.max(-200, Math.min(200, event.deltaY))));
    dirty = true;
  }, { passive: false });
  watchSize.disconnect();
  watchSize.observe(canvas);
}
const watchSize = new ResizeObserver(() => fit($('canvas')));

// ---- A hand that keys lead ----

// Where it is in the picture, 0 … 1 from the left and from the top.
let hand;
// Places of the picture, the middle first.
const PLACES = [];
for (let x = -8; x <= 8; x += 1) for (let y = -8; y <= 8; y += 1) PLACES.push([x, y]);
PLACES.sort((one, other) => Math.hypot(...one) - Math.hypot(...other));

function grab() {
  if (hand) return drop();
  if (busy || !view || dragging) return;
  hand = PLACES.map((place) => place.map((away) => 0.5 + away / 18)).find((place) => view.take(cloth, ...place) !== undefined);
  mark();
}

function pull(right, down) {
  if (busy || !view) return;
  hand = [hand[0] + right, hand[1] + down].map((part) => Math.min(Math.max(part, 0), 1));
  view.drag(cloth, ...hand);
  mark();
}

function drop() {
  if (!hand) return;
  hand = undefined;
  release();
  mark();
}

function mark() {
  $('hand').hidden = !hand;
  if (hand) [$('hand').style.left, $('hand').style.top] = hand.map((part) => `${100 * part}%`);
}

// ---- Keys and buttons ----

function play(on) {
  [playing, behind] = [on, 0];
  $('play').textContent = playing ? 'Pause' : 'Play';
}

function one() {
  play(false);
  if (!busy && cloth?.step(FRAME)) cloth.settled().then(() => { dirty = true; });
}

function reset() {
  if (busy || changing || !cloth) return;
  drop();
  cloth.reset();
  history.length = 0;
  Object.assign(frames, { count: 0, over: 0, worst: 0 });
  dirty = true;
}

function seeAll() {
  view?.seeAll();
  dirty = true;
}

function nextScene(by) {
  const list = $('scene');
  list.selectedIndex = (list.selectedIndex + by + list.length) % list.length;
  list.dispatchEvent(new Event('change'));
}

function strain(on) {
  $('strain').checked = on;
  view?.showStrain(on);
  if (cloth) show();
  dirty = true;
}

function look(right, down) {
  view?.orbit(right, down);
  dirty = true;
}

// Looks around with Shift, else pulls what is held.
const arrow = (right, down, otherwise) => (shift) => (shift ? look(0.05 * right, 0.05 * down) : hand ? pull(0.02 * right, 0.02 * down) : otherwise?.());
const KEYS = {
  ' ': () => play(!playing),
  ArrowRight: arrow(1, 0, one),
  ArrowLeft: arrow(-1, 0),
  ArrowUp: arrow(0, -1),
  ArrowDown: arrow(0, 1),
  g: grab,
  Escape: drop,
  '+': () => { view?.zoom(0.9); dirty = true; },
  '-': () => { view?.zoom(1 / 0.9); dirty = true; },
  r: reset,
  f: seeAll,
  c: () => strain(!$('strain').checked),
  PageUp: () => nextScene(-1),
  PageDown: () => nextScene(1),
};

addEventListener('keydown', (event) => {
  // A control that has the keyboard keeps it.
  if (event.ctrlKey || event.metaKey || event.altKey || ['SELECT', 'INPUT', 'BUTTON', 'SUMMARY'].includes(event.target.tagName)) return;
  const action = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action(event.shiftKey);
});

const dark = matchMedia('(prefers-color-scheme: dark)');
function paint() {
  if (dark.matches) view?.paint(0x1f2327, 0x343a40);
  else view?.paint(0xccd1d6, 0xe0e1e0);
  dirty = true;
}
dark.addEventListener('change', paint);

// ---- Beginning ----

// The module, with what was downloaded of it so far.
async function download(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  let bytes = 0;
  const counted = new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      notice(`loading taut, ${(bytes / 1e6).toFixed(1)} MB`);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(counted), { headers: { 'content-type': 'application/wasm' } });
}

// What an address asks for and nobody knows is shown as well: the cloth is refused by its name.
function choose(list, value) {
  if (![...list.options].some((option) => option.value === String(value))) list.add(new Option(value, value));
  list.value = value;
}

function fill(list, values, value) {
  list.replaceChildren(...values.map(([key, text]) => new Option(text, key)));
  choose(list, value);
}

async function begin() {
  await init({ module_or_path: download('pkg/taut_bg.wasm') });
  const names = [...new Set([...FIRST, ...sceneNames()])];
  fill($('scene'), names.map((name) => [name, name]), parameters.get('scene') ?? 'drape');
  const size = Number(parameters.get('size') ?? 32);
  fill($('size'), [...new Set([...SIZES, size])].sort((a, b) => a - b).map((side) => [side, `${side} × ${side}`]), size);
  fill($('solver'), solverNames().map((name) => [name, name]), 'auto');
  if (parameters.get('backend')) choose($('backend'), parameters.get('backend'));
  if (parameters.get('solver')) chosen.solver = parameters.get('solver');
  if (parameters.get('limit')) chosen.strainLimit = Number(parameters.get('limit'));
  strain(parameters.get('strain') !== null);
  const colors = heatColors();
  const stops = [0, 1, 2, 3, 4].map((step) => `rgb(${colors.slice(3 * step, 3 * step + 3).join(' ')})`);
  $('bar').style.background = `linear-gradient(to right, ${stops.join(', ')})`;
  for (const id of ['scene', 'size', 'backend']) {
    $(id).addEventListener('change', () => {
      // These are those of the new scene.
      if (id === 'scene') OF_SCENES.forEach((name) => delete chosen[name]);
      losses = 0;
      if (id === 'backend') goOn();
      else reopen();
    });
  }
  $('bending').addEventListener('input', () => { $('bending-out').textContent = micro(BENDINGS[$('bending').value]); });
  $('bending').addEventListener('change', () => goOn({ bending: BENDINGS[$('bending').value] }));
  $('friction').addEventListener('input', () => { $('friction-out').textContent = $('friction').value; });
  $('friction').addEventListener('change', () => goOn({ friction: Number($('friction').value) }));
  $('own').addEventListener('change', () => goOn({ selfCollision: $('own').checked }));
  $('solver').addEventListener('change', () => change({ solver: $('solver').value }));
  $('limit').addEventListener('input', () => change({ strainLimit: LIMITS[$('limit').value] }));
  $('gravity').addEventListener('input', () => change({ gravity: [0, -Number($('gravity').value), 0] }));
  $('wind').addEventListener('input', () => {
    const speed = Number($('wind').value);
    change({ wind: speed > 0 ? WIND.map((part) => part * speed) : null });
  });
  $('strain').addEventListener('change', () => strain($('strain').checked));
  $('play').addEventListener('click', () => play(!playing));
  $('step').addEventListener('click', one);
  $('reset').addEventListener('click', reset);
  $('see-all').addEventListener('click', seeAll);
  await reopen();
  requestAnimationFrame(frame);
}

begin().catch(failed);
