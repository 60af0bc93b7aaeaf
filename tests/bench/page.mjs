// Measures the page of a profile and speedscope, in headless Chromium: node page.mjs CHROMIUM ROUNDS PAGE [NAME=URL…]
//
// PAGE is ours, of one profile; each URL is another program that draws it. They run alternately, each in its own context. Prints JSON:
// {first: {NAME: [{canvas, frame, cpu}…]}, ours: {drawn, script: […], zoom, search: [{handler, cpu}…], heap: {drawn, used}}}, in ms and bytes.
//
//   canvas   from the start of the navigation to the last call of the first drawing on a canvas
//   frame    to the end of the frame with that call
//   cpu      the time that the renderer's main thread was busy until shortly after that
//   drawn    from the start of the navigation to the page's mark profgrab:drawn; script: from profgrab:started to that mark
//   heap     of JavaScript with its typed arrays, after a garbage collection
//   handler  the page's own measures of a zoom and of a letter in the search; cpu: with style, layout and painting
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const { chromium } = createRequire(import.meta.url)('../../build/npm/bench/node_modules/playwright-core');
const PATTERNS = [
    'lock',
    'Method1',
    'package1\\d*\\.',
    '(Type|Method)\\d+$',
    'a',
    '^github.com/example',
    'e.e.e',
    'x+y',
    'Method12',
    '',
];
const ZOOMS = [0.1, 0.15, 0.2, 0.3, 0.4, 0.5];
const TIMEOUT = 60000;

/** Runs in the page before its own scripts: marks the time of the first drawing on any canvas. */
function watchCanvases() {
    const drawing = {
        CanvasRenderingContext2D: ['putImageData', 'fillRect', 'fillText', 'drawImage', 'fill', 'stroke'],
        WebGLRenderingContext: ['drawArrays', 'drawElements'],
        WebGL2RenderingContext: ['drawArrays', 'drawElements'],
    };
    const restored = [];
    const next = window.requestAnimationFrame.bind(window);
    let inFrame = false;
    let last = 0;
    window.requestAnimationFrame = (callback) =>
        next((time) => {
            inFrame = true;
            callback(time);
            inFrame = false;
        });
    const onDraw = () => {
        const isFirst = last === 0;
        last = performance.now();
        if (!isFirst) return;
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
            for (const undo of restored) undo();
            performance.mark('bench:canvas', { startTime: last });
            performance.mark('bench:frame');
        };
        const post = () => port2.postMessage(0);
        // A drawing during a frame callback is part of that frame; any other is part of the next one.
        if (inFrame) post();
        else next(post);
    };
    for (const [name, methods] of Object.entries(drawing))
        for (const method of methods) {
            const prototype = window[name].prototype;
            const original = prototype[method];
            restored.push(() => (prototype[method] = original));
            prototype[method] = function (...args) {
                const result = original.apply(this, args);
                // Canvases that only measure text are not in the document.
                if (this.canvas.isConnected && this.canvas.width > 200) onDraw();
                return result;
            };
        }
}

const markOf = (page, name) => page.evaluate((wanted) => performance.getEntriesByName(wanted)[0].startTime, name);

/** Returns the milliseconds that the main thread of the page's process was busy until now. */
async function busyTime(session) {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find((metric) => metric.name === 'TaskDuration').value * 1000;
}

async function openPage(browser, url) {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await page.addInitScript(watchCanvases);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    await page.goto(url);
    await page.waitForFunction(() => performance.getEntriesByName('bench:frame').length, null, { timeout: TIMEOUT });
    const cpu = await busyTime(session);
    const first = { canvas: await markOf(page, 'bench:canvas'), frame: await markOf(page, 'bench:frame'), cpu };
    return { context, page, session, first };
}

/** Runs act() once. Returns the page's own measure of that name, and the time of the main thread until all is drawn. */
async function measureAction(page, session, name, act) {
    await page.evaluate(() => performance.clearMeasures());
    const before = await busyTime(session);
    await act();
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 80))));
    const cpu = (await busyTime(session)) - before;
    const handler = await page.evaluate(
        (wanted) => performance.getEntriesByName(wanted).at(-1).duration,
        `profgrab:${name}`,
    );
    return { handler, cpu };
}

async function heapOf(session) {
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize = 0 } = await session.send('Runtime.getHeapUsage');
    return usedSize + backingStorageSize;
}

async function usePage({ page, session }, ours) {
    const box = await page.locator('canvas[role=application]').first().boundingBox();
    ours.heap.drawn.push(await heapOf(session));
    for (const share of ZOOMS) {
        const click = () => page.mouse.click(box.x + box.width * share, box.y + 70);
        ours.zoom.push(await measureAction(page, session, 'zoom', click));
        await page.getByRole('button', { name: 'Reset' }).click();
    }
    for (const pattern of PATTERNS)
        ours.search.push(await measureAction(page, session, 'search', () => page.getByLabel('Search').first().fill(pattern)));
    ours.heap.used.push(await heapOf(session));
}

async function main([executablePath, rounds, own, ...others]) {
    const browser = await chromium.launch({ executablePath, args: process.getuid() === 0 ? ['--no-sandbox'] : [] });
    const targets = [['profgrab', pathToFileURL(own).href], ...others.map((other) => other.split(/=(.*)/s))];
    const first = Object.fromEntries(targets.map(([name]) => [name, []]));
    const ours = { drawn: [], script: [], zoom: [], search: [], heap: { drawn: [], used: [] } };
    // The first round is not counted, because the browser is still starting.
    for (let round = 0; round <= Number(rounds); round++)
        for (const [name, url] of targets) {
            const it = await openPage(browser, url);
            if (round > 0) first[name].push(it.first);
            if (round > 0 && url === targets[0][1]) {
                const drawn = await markOf(it.page, 'profgrab:drawn');
                ours.drawn.push(drawn);
                ours.script.push(drawn - (await markOf(it.page, 'profgrab:started')));
                await usePage(it, ours);
            }
            if (process.env.BENCH_PICTURES) await it.page.screenshot({ path: `${process.env.BENCH_PICTURES}/${name}.png` });
            await it.context.close();
        }
    await browser.close();
    console.log(JSON.stringify({ first, ours }));
}

await main(process.argv.slice(2));
