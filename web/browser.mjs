// A server of the page and a Chromium that visits it, for the test and for the picture of the page.

import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export const root = new URL('..', import.meta.url).pathname;
// Where playwright-core is, and pictures go; `web/test` says it.
export const folder = process.env.TAUT_WEB_TEST ?? join(root, 'target/web-test');
const { chromium } = createRequire(join(folder, 'package.json'))('playwright-core');

// Serves web/dist at a free port.
export async function serve() {
  const server = spawn(join(root, 'web/serve'), ['0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const address = await new Promise((resolve) => server.stdout.once('data', (data) => resolve(String(data).trim())));
  return { address, stop: () => server.kill() };
}

// A browser, with WebGPU or without.
export async function browser(webgpu) {
  const args = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
  // WebGPU on SwiftShader, and a compositor on Mesa's OpenGL: with what Chromium takes by itself on a machine without a GPU, its
  // canvases of WebGPU cannot be shown, and their device is lost with the first picture.
  if (webgpu) args.push('--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--use-gl=angle', '--use-angle=gl-egl', '--ignore-gpu-blocklist');
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', headless: true, chromiumSandbox: process.getuid() !== 0, args });
}
