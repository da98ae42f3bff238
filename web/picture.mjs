// usage: node web/picture.mjs FILE.png   the page as a browser shows it, for docs/pictures; `web/test` prepares what it needs

import { browser, serve } from './browser.mjs';

// Frames of a tablecloth that has just fallen.
const FRAMES = 75;

const { address, stop } = await serve();
const chromium = await browser(true);
// Frames of a small picture are soon drawn.
const page = await chromium.newPage({ viewport: { width: 420, height: 200 }, colorScheme: 'light' });
page.setDefaultTimeout(600_000);
await page.goto(`${address}?backend=gpu&scene=tablecloth&size=32&strain`);
await page.waitForFunction((wanted) => taut.errors.length > 0 || (!taut.busy && (taut.cloth?.report()?.frame ?? 0) >= wanted), FRAMES);
await page.locator('#play').click();
await page.setViewportSize({ width: 1160, height: 880 });
await page.evaluate(() => taut.cloth.settled());
await page.waitForTimeout(8000);
await page.screenshot({ path: process.argv[2] });
await chromium.close();
stop();
