// What people write in TypeScript: `web/test` compiles it against the types of the package, and nothing runs it.

import init, { Cloth, View, sceneNames, type Options, type Report, type Settings } from './pkg/taut.js';

await init();
const scene = sceneNames()[0] ?? 'hang';
const options: Options = { scene, size: 48, strainLimit: 0.005, wind: null, backend: 'auto' };
let cloth = await Cloth.open(options);
const stepped: boolean[] = [cloth.step(), cloth.step(1 / 60)];
const reports: Report[] = cloth.reports();
const last: Report | undefined = await cloth.settled();
const positions: Float32Array = cloth.positions();
const triangles: Uint32Array = cloth.triangles();
const device: GPUDevice | undefined = cloth.device;
const buffers: (GPUBuffer | undefined)[] = [cloth.positionBuffer, cloth.normalBuffer, cloth.indexBuffer];
const settings: Required<Settings> = cloth.settings;
await cloth.change({ solver: 'auto', gravity: [0, -1.6, 0] });
// What is left out stays as it is.
if (cloth.lost) cloth = await cloth.reopened();
cloth = await cloth.reopened('cpu');
cloth = await cloth.reopened('auto', { ...cloth.stuff, bending: 1e-5 });
const view = await View.open(document.createElement('canvas'), cloth);
view.draw(cloth);
view.free();
cloth.free();
console.log(stepped, reports, last?.strain, positions, triangles, device, buffers, settings);

// @ts-expect-error: there is no scene
await Cloth.open({ size: 12 });
// @ts-expect-error: there is no such place
await Cloth.open({ scene: 'hang', backend: 'moon' });
