// Opens pages of pprof -http in headless Chromium for run-http: node http.mjs CHROMIUM
//
// Reads commands from standard input, one JSON value a line, and answers each with a line of JSON:
//
//   {open: URL, drawn: EXPRESSION}   opens a page in a context of its own, and waits until the expression is true: {}
//   {filter: PATTERN}                types the pattern in the page's search and presses Enter: {ms: until the new view was drawn and painted}
//   {zoom: true}                     zooms into the third frame of the flame graph with the keyboard: {ms: until it was painted}
//   {close: true}                    closes the page: {}
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const { chromium } = createRequire(import.meta.url)('../../build/npm/bench/node_modules/playwright-core');
const TIMEOUT = 120000;

const browser = await chromium.launch({
    executablePath: process.argv[2],
    args: process.getuid() === 0 ? ['--no-sandbox'] : [],
});
const open = { context: null, page: null };

/** Returns the milliseconds from the key that was noted in the page to the end of the next frame. */
const sinceKey = (page) =>
    page.evaluate(
        () =>
            new Promise((resolve) => {
                requestAnimationFrame(() => {
                    const { port1, port2 } = new MessageChannel();
                    port1.onmessage = () => resolve(performance.now() - performance.getEntriesByName('bench:key').at(-1).startTime);
                    port2.postMessage(0);
                });
            }),
    );

const noteKey = (page) =>
    page.evaluate(() => {
        performance.clearMarks('profgrab:drawn');
        addEventListener('keydown', () => performance.mark('bench:key'), { capture: true, once: true });
    });

async function filter(pattern) {
    const { page } = open;
    const search = page.getByRole('searchbox').first();
    await search.fill(pattern);
    await noteKey(page);
    await search.press('Enter');
    await page.waitForFunction(() => performance.getEntriesByName('profgrab:drawn').length > 0, null, { timeout: TIMEOUT });
    return sinceKey(page);
}

async function zoom() {
    const { page } = open;
    await page.locator('.graph canvas').focus();
    for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowDown');
    await noteKey(page);
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => /[#&]z=/.test(location.hash), null, { timeout: TIMEOUT, polling: 'raf' });
    return sinceKey(page);
}

async function run(command) {
    if (command.open) {
        open.context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
        open.page = await open.context.newPage();
        await open.page.goto(command.open, { waitUntil: 'commit', timeout: TIMEOUT });
        await open.page.waitForFunction(command.drawn, null, { timeout: TIMEOUT });
    } else if (command.filter) {
        return { ms: await filter(command.filter) };
    } else if (command.zoom) {
        return { ms: await zoom() };
    } else if (command.close) {
        await open.context.close();
    }
    return {};
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await run(JSON.parse(line))));
await browser.close();
