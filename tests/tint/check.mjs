// Asks Dawn's Tint, the WGSL front end of Chromium, what it thinks of shaders. Needs no graphics driver: Dawn's null
// backend validates everything and executes nothing.
//
// usage: node check.mjs DIRECTORY_WITH_NODE_MODULES < [{"name", "code", "entries": [...]}] > [{"name", "errors": [...]}]

import { readFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(resolve(process.argv[2], 'package.json'));
const { create, globals } = await import(pathToFileURL(require.resolve('webgpu')));
Object.assign(globalThis, globals);

// An instance that is collected takes Dawn down with it, as an abort or a hang: it must outlive what was made from it.
const gpu = create(['backend=null']);
const adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice(); // default limits, no feature
Object.assign(globalThis, { kept: [gpu, adapter, device] });

const results = [];
for (const { name, code, entries } of JSON.parse(readFileSync(0, 'utf8'))) {
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ code });
  const { messages } = await module.getCompilationInfo();
  const errors = messages
    .filter(({ type }) => type === 'error')
    .map(({ lineNum, message }) => `line ${lineNum}: ${message}`);
  await device.popErrorScope();
  if (errors.length === 0) {
    // Limits are counted per pipeline.
    for (const entryPoint of entries) {
      device.pushErrorScope('validation');
      device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint } });
      const error = await device.popErrorScope();
      if (error) errors.push(`${entryPoint}: ${error.message}`);
    }
  }
  results.push({ name, errors });
}
writeSync(1, JSON.stringify(results));
process.kill(process.pid, 'SIGKILL'); // Dawn's threads would keep the process alive, and may deadlock at its exit.
