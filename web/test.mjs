// The page in a real browser. `web/test` prepares and runs it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { browser, folder, root, serve } from './browser.mjs';

// What software needs is long; a browser that hangs is longer.
const PATIENCE = 60_000;
// How far a vertex on WebGPU and on the CPU may be apart after some frames [m]; `taut validate` allows adapters 2e-3.
const APART = 1e-3;
// What is downloaded at most.
const MOST_BYTES = 2_000_000;

const { address, stop } = await serve();

// A page on which nothing may go wrong; `trouble` has what did.
async function visit(context, query, path = '') {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const trouble = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && trouble.push(message.text()));
  page.on('pageerror', (error) => trouble.push(String(error)));
  let bytes = 0;
  page.on('response', async (response) => { bytes += Number((await response.allHeaders())['content-length'] ?? 0); });
  await page.goto(`${address}${path}${query}`);
  return { page, trouble, bytes: () => bytes };
}

const frames = (page, count) => page.waitForFunction((wanted) => taut.errors.length > 0 || (!taut.busy && (taut.cloth?.report()?.frame ?? 0) >= wanted), count);
const text = (page, id) => page.locator(`#${id}`).textContent();
const report = (page) => page.evaluate(() => taut.cloth.report());

async function more(page, count) {
  const { frame } = (await report(page)) ?? { frame: 0 };
  await frames(page, frame + count);
}

// Colors of a screenshot of the canvas, and how many pixels have each kind.
async function pixels(page, name) {
  const box = await page.locator('#canvas').boundingBox();
  const png = await page.screenshot({ path: join(folder, name), clip: box });
  return page.evaluate(async (base64) => {
    const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${base64}`)).blob());
    const context = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
    context.drawImage(picture, 0, 0);
    const { data } = context.getImageData(0, 0, picture.width, picture.height);
    const colors = new Set();
    let blue = 0, background = 0;
    for (let k = 0; k < data.length; k += 4) {
      const [r, g, b] = data.subarray(k, k + 3);
      colors.add((r << 16) | (g << 8) | b);
      blue += b > r + 30 ? 1 : 0;
      background += r === 204 && g === 209 && b === 214 ? 1 : 0;
    }
    const all = picture.width * picture.height;
    return { colors: colors.size, blue: blue / all, background: background / all };
  }, png.toString('base64'));
}

function cloth_is_seen({ colors, blue, background }) {
  assert(colors > 500, `${colors} colors`);
  assert(blue > 0.004 && blue < 0.7, `a part of ${blue} is blue`);
  assert(background > 0.05 && background < 0.95, `a part of ${background} is background`);
}

// The vertex in the middle of the lower edge of a sheet, and where it is seen.
const place = (page, vertex) => page.evaluate((v) => {
  const box = document.getElementById('canvas').getBoundingClientRect();
  const [x, y] = taut.view.place(taut.cloth, v);
  return [box.left + x * box.width, box.top + y * box.height];
}, vertex);
const position = (page, vertex) => page.evaluate((v) => [...taut.cloth.positions().slice(3 * v, 3 * v + 3)], vertex);

// Runs frames of a scene in the page, on its own cloth; the positions.
const run = (page, backend, scene, size, count) => page.evaluate(async ([place, name, side, wanted]) => {
  const cloth = await taut.Cloth.open({ scene: name, size: side, backend: place, strainLimit: 0.005 });
  if (cloth.backend !== place) throw new Error(`${place} was asked for, and ${cloth.backend} taken`);
  for (let done = 0; done < wanted; ) {
    if (cloth.step(1 / 60)) done += 1;
    else await cloth.settled();
  }
  const { strain, converged } = await cloth.settled();
  const positions = [...cloth.positions()];
  cloth.free();
  return { positions, strain, converged };
}, [backend, scene, size, count]);

// FNV-1a, as in tests/golden.rs.
function digest(positions) {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new Uint8Array(Float32Array.from(positions).buffer)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0');
}

const golden = readFileSync(join(root, 'tests/golden.txt'), 'utf8').split('\n').filter((line) => line && !line.startsWith('#')).map((line) => line.split(' '));

let failures = 0;
async function test(name, body) {
  const begun = performance.now();
  try {
    await body();
    console.log(`ok     ${name} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failures += 1;
    console.log(`FAILED ${name} (${((performance.now() - begun) / 1000).toFixed(1)} s)\n${error.stack}`);
  }
}

await test('the types of the package are those that TypeScript wants', () => {
  const options = ['--noEmit', '--strict', '--target', 'esnext', '--module', 'esnext', '--lib', 'esnext,dom', '--moduleResolution', 'bundler'];
  const { stdout, status } = spawnSync(join(folder, 'node_modules/.bin/tsc'), [...options, join(root, 'web/types.ts')], { encoding: 'utf8' });
  assert.equal(status, 0, stdout);
});

const gpu = await browser(true);
const wide = await gpu.newContext({ viewport: { width: 800, height: 360 }, colorScheme: 'light' });
const { page, trouble, bytes } = await visit(wide, '?backend=gpu&scene=hang&size=16');

await test('WebGPU computes and draws, and the limit holds', async () => {
  await frames(page, 12);
  assert.match(await text(page, 'place'), /WebGPU computes and draws 256 vertices/);
  const { strain, converged, limit } = await report(page);
  assert(converged && strain > 0 && strain <= limit, `${strain} of ${limit}`);
  assert.match(await text(page, 'held'), /Limit of 1 % held in all \d+ frames/);
  const counted = await page.evaluate(() => [taut.frames.count, taut.history.at(-1).frame]);
  assert.equal(counted[0], counted[1], 'every frame is counted');
  cloth_is_seen(await pixels(page, 'gpu.png'));
});

await test(`it is less than ${MOST_BYTES / 1e6} MB`, async () => {
  assert(bytes() > 100_000 && bytes() < MOST_BYTES, `${bytes()} bytes`);
  console.log(`       ${(bytes() / 1e6).toFixed(2)} MB were downloaded`);
});

await test('a vertex is dragged, the limit holds, and it is let go', async () => {
  const vertex = 16 * 15 + 8;
  const [x, y] = await place(page, vertex);
  const before = await position(page, vertex);
  await page.mouse.move(x, y);
  await page.mouse.down();
  const held = await page.evaluate(() => taut.cloth.held);
  assert.notEqual(held, undefined, 'nothing was taken');
  await page.mouse.move(x + 80, y - 40, { steps: 5 });
  await more(page, 20);
  const [from, to] = [before, await position(page, held)];
  const moved = Math.hypot(...from.map((value, axis) => value - to[axis]));
  assert(moved > 0.05, `vertex ${held} moved by ${moved} m`);
  const { over, count } = await page.evaluate(() => ({ ...taut.frames }));
  assert.equal(over, 0, `${over} of ${count} frames were over the limit`);
  await page.mouse.up();
  assert.equal(await page.evaluate(() => taut.cloth.held), undefined);
});

await test('beside the cloth the camera turns', async () => {
  const before = await place(page, 0);
  await page.mouse.move(20, 340);
  await page.mouse.down();
  await page.mouse.move(90, 340, { steps: 3 });
  await page.mouse.up();
  const after = await place(page, 0);
  assert(Math.hypot(before[0] - after[0], before[1] - after[1]) > 10);
  assert.equal(await page.evaluate(() => taut.cloth.held), undefined);
  await page.keyboard.press('f');
});

await test('every solver computes, and the page tells its strain', async () => {
  const names = await page.locator('#solver option').allTextContents();
  assert(names.length >= 5, `${names}`);
  for (const name of names) {
    await page.selectOption('#solver', name);
    await page.waitForFunction((wanted) => taut.cloth.settings.solver === wanted, name);
    await more(page, 4);
    const { strain, converged, limit } = await report(page);
    assert(Number.isFinite(strain) && strain < 0.2, `${name}: ${strain}`);
    assert.equal(converged, strain <= limit, name);
    if (['auto', 'yarn-sweep'].includes(name)) assert(converged, `${name}: ${strain} of ${limit}`);
  }
  await page.selectOption('#solver', 'auto');
});

await test('limit, gravity and wind change while it runs', async () => {
  const slide = (id, value) => page.locator(`#${id}`).fill(String(value));
  await slide('limit', 6);
  await page.waitForFunction(() => taut.cloth.settings.strainLimit === 0.001);
  await more(page, 6);
  const { strain, limit, converged } = await report(page);
  assert(converged && strain <= 0.001 && Math.abs(limit - 0.001) < 1e-9, `${strain} of ${limit}`);
  await slide('gravity', 3);
  await slide('wind', 6);
  await page.waitForFunction(() => taut.cloth.settings.gravity[1] === -3 && taut.cloth.settings.wind !== null);
  await more(page, 5);
});

await test('colors of strain come with a legend', async () => {
  await page.locator('#strain').check();
  await more(page, 3);
  assert(await page.locator('#legend').isVisible());
  assert.match(await text(page, 'marks'), /0\.1 %/);
  await page.screenshot({ path: join(folder, 'strain.png') });
  await page.locator('#strain').uncheck();
});

await test('after a loss of the device the cloth goes on', async () => {
  const before = await report(page);
  await page.evaluate(() => { globalThis.lost = taut.cloth.device; taut.cloth.device.destroy(); });
  await page.waitForFunction(() => !taut.busy && taut.cloth.device && taut.cloth.device !== globalThis.lost);
  await frames(page, before.frame + 5);
  assert.match(await text(page, 'notice'), /lost, and the cloth goes on/);
  const { frame, strain } = await report(page);
  assert(frame >= before.frame + 5 && strain < 0.01, `${strain}`);
  cloth_is_seen(await pixels(page, 'after-loss.png'));
});

await test('other scenes open, those with self-collision too', async () => {
  for (const name of ['drape', 'tablecloth', 'flag', 'heap']) {
    await page.locator('#scene').selectOption(name);
    await page.waitForFunction(() => !taut.busy);
    await frames(page, 3);
    const { strain } = await report(page);
    assert(Number.isFinite(strain) && strain < 0.02, `${name}: ${strain}`);
  }
});

await test('nothing was said on the console', async () => {
  // Browsers tell of a device that was destroyed on purpose.
  const told = trouble.filter((line) => !/destroyed|lost/i.test(line));
  assert.deepEqual(told, []);
  assert.deepEqual(await page.evaluate(() => taut.errors), []);
});
await page.evaluate(() => document.getElementById('play').click());

await test('runs on the CPU have the bits of the native ones', async () => {
  assert.equal(golden.length, 6);
  for (const [name, size, count, expected] of golden) {
    const { positions } = await run(page, 'cpu', name, Number(size), Number(count));
    assert.equal(digest(positions), expected, name);
  }
});

await test('what was recorded before a reset is not seen after it', async () => {
  const { told, apart } = await page.evaluate(async () => {
    const cloth = await taut.Cloth.open({ scene: 'hang', size: 16, backend: 'gpu' });
    const start = cloth.positions();
    cloth.step();
    cloth.step();
    const settled = cloth.settled();
    cloth.reset();
    await settled;
    const apart = Math.max(...cloth.positions().map((value, index) => Math.abs(value - start[index])));
    const told = cloth.reports().length;
    cloth.free();
    return { told, apart };
  });
  assert.deepEqual({ told, apart }, { told: 0, apart: 0 });
});

await test('whoever draws draws from our buffers, on our device', async () => {
  const { apart, covered, length } = await page.evaluate(async () => {
    const cloth = await taut.Cloth.open({ scene: 'hang', size: 16, backend: 'gpu' });
    for (let done = 0; done < 5; ) {
      if (cloth.step()) done += 1;
      else await cloth.settled();
    }
    const { device } = cloth;
    const read = async (size, copy) => {
      const buffer = device.createBuffer({ size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
      const encoder = device.createCommandEncoder();
      copy(encoder, buffer);
      device.queue.submit([encoder.finish()]);
      await buffer.mapAsync(GPUMapMode.READ);
      return buffer.getMappedRange();
    };
    const floats = async (source) => new Float32Array(await read(16 * cloth.vertexCount, (encoder, to) => encoder.copyBufferToBuffer(source, 0, to, 0, to.size)));
    // What was recorded before is done first, though nobody has waited for it.
    const [found, normals] = [await floats(cloth.positionBuffer), await floats(cloth.normalBuffer)];
    await cloth.settled();
    const told = cloth.positions();
    const apart = Math.max(...told.map((value, index) => Math.abs(value - found[Math.trunc(index / 3) * 4 + (index % 3)])));
    const length = Math.max(...Array.from({ length: cloth.vertexCount }, (_, v) => Math.abs(Math.hypot(...normals.slice(4 * v, 4 * v + 3)) - 1)));
    // The sheet from above, where it has hardly fallen yet, white on black: a quarter of 64 x 64 pixels.
    const module = device.createShaderModule({ code: `
      @vertex fn corner(@location(0) at: vec3f) -> @builtin(position) vec4f { return vec4f(at.x - 0.5, at.z - 0.5, 0.5, 1.0); }
      @fragment fn color() -> @location(0) vec4f { return vec4f(1.0); }` });
    const pipeline = device.createRenderPipeline({
      layout: 'auto',
      vertex: { module, buffers: [{ arrayStride: 16, attributes: [{ format: 'float32x3', offset: 0, shaderLocation: 0 }] }] },
      fragment: { module, targets: [{ format: 'rgba8unorm' }] },
    });
    const texture = device.createTexture({ size: [64, 64], format: 'rgba8unorm', usage: GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.COPY_SRC });
    const picture = new Uint8Array(await read(64 * 256, (encoder, to) => {
      const pass = encoder.beginRenderPass({ colorAttachments: [{ view: texture.createView(), loadOp: 'clear', storeOp: 'store' }] });
      pass.setPipeline(pipeline);
      pass.setVertexBuffer(0, cloth.positionBuffer);
      pass.setIndexBuffer(cloth.indexBuffer, 'uint32');
      pass.drawIndexed(cloth.triangles().length);
      pass.end();
      encoder.copyTextureToBuffer({ texture }, { buffer: to, bytesPerRow: 256 }, [64, 64]);
    }));
    cloth.free();
    return { apart, length, covered: picture.filter((value, index) => index % 4 === 0 && value === 255).length / 4096 };
  });
  assert.equal(apart, 0, 'the positions of the report are those of the buffer');
  assert(length < 1e-5, `normals are ${length} too long or short`);
  assert(covered > 0.15 && covered < 0.35, `a part of ${covered} is covered`);
});

await test('WebGPU computes what the CPU computes', async () => {
  for (const [name, size, count] of golden.filter(([name]) => ['hang', 'chain', 'flag', 'drape'].includes(name))) {
    const [one, other] = [await run(page, 'cpu', name, Number(size), Number(count)), await run(page, 'gpu', name, Number(size), Number(count))];
    const apart = Math.max(...one.positions.map((value, index) => Math.abs(value - other.positions[index])));
    console.log(`       ${name}: ${apart.toExponential(1)} m apart, strain ${one.strain.toExponential(3)} and ${other.strain.toExponential(3)}`);
    assert(apart < APART, `${name}: ${apart} m`);
    assert(other.converged, `${name}: ${other.strain}`);
  }
});
await gpu.close();

const plain = await browser(false);
await test('without WebGPU the CPU takes over, and says why', async () => {
  const context = await plain.newContext({ viewport: { width: 1000, height: 640 }, colorScheme: 'light' });
  const { page, trouble } = await visit(context, '?scene=hang&size=16');
  await frames(page, 20);
  assert.match(await text(page, 'place'), /The CPU computes and draws 256 vertices, because (there is no graphics adapter|this browser has no WebGPU)/);
  const { strain, converged, limit } = await report(page);
  assert(converged && strain <= limit, `${strain}`);
  cloth_is_seen(await pixels(page, 'cpu.png'));
  await page.focus('#canvas');
  await page.keyboard.press('g');
  const held = await page.evaluate(() => taut.cloth.held);
  assert.notEqual(held, undefined, 'no key takes the cloth');
  assert(await page.locator('#hand').isVisible());
  const from = await position(page, held);
  for (let times = 0; times < 8; times += 1) await page.keyboard.press('ArrowUp');
  await more(page, 20);
  const to = await position(page, held);
  assert(to[1] > from[1] + 0.03, `pulled from ${from} to ${to}`);
  await page.keyboard.press('Escape');
  assert.equal(await page.evaluate(() => taut.cloth.held), undefined);
  assert(!await page.locator('#hand').isVisible());
  // The cloth goes on as one of other stuff.
  const { frame } = await report(page);
  await page.locator('#own').check();
  await page.waitForFunction(() => !taut.busy && taut.cloth.stuff.selfCollision);
  await page.locator('#bending').fill('7');
  await page.waitForFunction(() => !taut.busy && taut.cloth.stuff.bending === 1e-4);
  assert.deepEqual(await page.evaluate(() => taut.cloth.stuff), { selfCollision: true, bending: 1e-4 });
  assert(await page.locator('#friction').isDisabled(), 'there are no solids');
  await frames(page, frame + 5);
  assert((await report(page)).frame < frame + 200, 'it goes on, and does not begin anew');
  await page.waitForFunction(() => /passes through itself nowhere/.test(document.getElementById('crossings').textContent));
  await page.locator('#scene').selectOption('drape');
  await page.waitForFunction(() => !taut.busy && taut.cloth.stuff.friction !== undefined);
  assert.equal(await page.evaluate(() => taut.cloth.stuff.selfCollision), false, 'of the scene again');
  // wgpu tells that it found none, as a warning of the browser's.
  assert.deepEqual(trouble.filter((line) => !/adapter/i.test(line)), []);
  await context.close();
});

await test('cloth that slides and topples stays in the picture', async () => {
  const context = await plain.newContext({ viewport: { width: 900, height: 640 } });
  const { page } = await visit(context, '?scene=heap&size=12&backend=cpu');
  await frames(page, 90);
  const outside = () => page.evaluate(() => {
    const places = Array.from({ length: taut.cloth.vertexCount }, (_, v) => taut.view.place(taut.cloth, v));
    return places.filter((place) => !place || place.some((part) => part < -0.01 || part > 1.01)).length;
  });
  await page.locator('#play').click();
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  assert.equal(await outside(), 0);
  // What somebody has turned stays as it is, until all is to be seen again.
  await page.evaluate(() => taut.view.zoom(0.3));
  await page.locator('#step').click();
  assert(await outside() > 0);
  await page.locator('#see-all').click();
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  assert.equal(await outside(), 0);
  await context.close();
});

await test('what cannot be is said by its name, and another choice goes on', async () => {
  const { page } = await visit(plain, '?scene=nothing&limit=much&size=12');
  const said = (what) => page.waitForFunction((wanted) => document.getElementById('notice').textContent.includes(wanted), what);
  await said('there is no scene "nothing"');
  await page.locator('#scene').selectOption('hang');
  await said('strain_limit is NaN');
  await page.evaluate(() => { taut.errors.length = 0; });
  await page.locator('#limit').fill('3');
  await page.waitForFunction(() => taut.cloth?.settings.strainLimit === 0.01);
  await frames(page, 3);
  assert.deepEqual(await page.evaluate(() => taut.errors), []);
  const refused = (options) => page.evaluate((wanted) => taut.Cloth.open(wanted).then(() => 'opened', String), options).catch(String);
  for (const [options, expected] of [
    [{ scene: 'hang', strainlimit: 0.1 }, 'there is no option `strainlimit`'],
    [{ scene: 'hang', size: -4 }, 'size is not a whole number'],
    [{ scene: 'hang', size: '12' }, 'size is not a whole number'],
    [{ scene: 7 }, 'scene is not a text'],
    [{ scene: 'hang', backend: 'moon' }, 'there is no backend `moon`'],
    [{ scene: 'hang', gravity: [0, 1] }, 'gravity is not three numbers'],
    [{}, 'options have no scene'],
    ['hang', 'options must be an object'],
  ]) {
    const told = await refused(options);
    assert(told.includes(expected), `${JSON.stringify(options)}: ${told}`);
  }
  await page.close();
});

await test('a phone in the dark shows all of it, and a finger pulls', async () => {
  const context = await plain.newContext({ viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true, isMobile: true });
  const { page } = await visit(context, '?scene=drape&size=16&backend=cpu');
  await frames(page, 40);
  const [wide, shown] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert(wide <= shown, `${wide} of ${shown} pixels`);
  await page.screenshot({ path: join(folder, 'phone.png'), fullPage: true });
  const [x, y] = await place(page, 8 * 16 + 8);
  const touch = await context.newCDPSession(page);
  await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] });
  assert.notEqual(await page.evaluate(() => taut.cloth.held), undefined);
  await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: [{ x, y: y - 100 }] });
  await more(page, 10);
  await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  assert.equal(await page.evaluate(() => taut.cloth.held), undefined);
  // Two fingers that go to the right turn the camera, and those that part come nearer. Nothing else moves meanwhile.
  await page.evaluate(() => document.getElementById('play').click());
  const corners = async () => [await place(page, 0), await place(page, 15)];
  const wideness = ([one, other]) => Math.hypot(one[0] - other[0], one[1] - other[1]);
  const fingers = (type, ...points) => touch.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([px, py], id) => ({ x: px, y: py, id })) });
  // Browsers tell of moves with the next picture, and that takes a while where much is to be done.
  const arrives = async (so) => {
    for (const until = performance.now() + PATIENCE; performance.now() < until; await page.waitForTimeout(50)) {
      const now = await corners();
      if (so(now)) return now;
    }
    return corners();
  };
  const before = await corners();
  const turns = (now) => Math.abs(wideness(now) - wideness(before)) > 3 || Math.hypot(now[0][0] - before[0][0], now[0][1] - before[0][1]) > 10;
  await fingers('touchStart', [60, 60], [120, 60]);
  await fingers('touchMove', [160, 60], [220, 60]);
  const turned = await arrives(turns);
  assert(turns(turned), 'the camera turns');
  await fingers('touchMove', [140, 60], [240, 60]);
  const near = await arrives((now) => wideness(now) > 1.3 * wideness(turned));
  assert(wideness(near) > 1.3 * wideness(turned), `${wideness(turned)} pixels become ${wideness(near)}`);
  await fingers('touchEnd');
  assert.equal(await page.evaluate(() => taut.cloth.held), undefined);
  // Below the picture a finger scrolls.
  const scrolled = await page.evaluate(() => { scrollTo(0, 200); return scrollY; });
  assert(scrolled > 100, `${scrolled}`);
  await context.close();
});

await test('the example of the package runs', async () => {
  const { page, trouble } = await visit(plain, '', 'pkg/example.html');
  await page.waitForFunction(() => /cpu, frame \d\d, largest strain 0\.00/.test(document.getElementById('text').textContent));
  assert.deepEqual(trouble.filter((line) => !/adapter|favicon|404/i.test(line)), []);
});
await plain.close();
stop();

console.log(failures === 0 ? 'the page works' : `${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;
