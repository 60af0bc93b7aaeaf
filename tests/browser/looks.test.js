// The layout of every view: light and dark, wide and narrow, in print, and for users without a pointer or sight.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { axeSource, bundleOf, end, idOf, NARROW, exceeding, settled, until, visit, WIDE } from './browser.js';

after(end);

const comparedOf = (from, kind) => bundleOf('compared').data.find((entry) => entry.id && entry.from === from && entry.kind === kind).id;
const sidesOf = (kind) => comparedOf('sides', kind);
const growthOf = (kind) => comparedOf('growth', kind);
const idIn = (...of) => `#v=${idOf('bundle', ...of)}`;
/** Every kind of view: a page, the fragment of its URL, and the first actions. No two views of one profile are adjacent. */
const VIEWS = {
    overview: ['bundle', ''],
    cpu: ['bundle', idIn('cpu', 'rude')],
    heap: ['bundle', idIn('heap', 'caddy')],
    goroutines: ['bundle', idIn('goroutines', 'caddy', 'goroutines'), (page) => page.locator('.stacks summary').first().click()],
    searched: ['bundle', `${idIn('heap', 'caddy')}&s=caddy&f=runtime&up=1`],
    state: ['bundle', `${idIn('goroutines', 'rude', 'goroutines')}&g=sleep`],
    callers: ['bundle', `${idIn('heap', 'caddy')}&fn=3`],
    'cpu, nothing sampled': ['bundle', idIn('cpu', 'caddy')],
    'a bad pattern': ['bundle', `${idIn('heap', 'caddy')}&s=(&i=x`],
    keys: ['bundle', idIn('mutex', 'rude'), (page) => page.keyboard.press('?')],
    contents: ['bundle', '', (page) => page.locator('nav summary').evaluate((summary) => (summary.parentNode.open = true))],
    compared: ['compared', ''],
    sides: ['compared', `#v=${sidesOf('cpu')}`],
    'sides of memory': ['compared', `#v=${sidesOf('heap')}&fn=1`],
    growth: ['compared', `#v=${growthOf('heap')}`],
    waits: ['view', `#v=${idOf('view', '', '', 'goroutines')}`],
    difference: ['view', `#v=${idOf('view', '', '', 'profile')}`],
};

/** Opens the views one after the other in one page, as a reader does. */
function forEachView(name, size, work) {
    const start = { bundle: idIn('block', 'rude'), compared: `#v=${sidesOf('goroutines')}` }[name] || '';
    return visit(name, { hash: start, size }, async (page) => {
        for (const [view, [of, hash, first]] of Object.entries(VIEWS)) {
            if (of !== name) continue;
            await page.evaluate((to) => {
                window.left = document.querySelector('main').firstElementChild;
                location.hash = to;
            }, hash);
            await until(page, () => document.querySelector('main').firstElementChild !== window.left);
            await settled(page);
            if (first) await first(page);
            await settled(page);
            await work(page, `${view}, ${size.width} px`);
            await page.keyboard.press('Escape');
        }
    });
}

/** Runs the work for each view, several at a time. */
async function inParallel(views, act) {
    const left = [...views];
    const next = async () => {
        for (let view = left.shift(); view; view = left.shift()) await act(view);
    };
    await Promise.all([next(), next(), next()]);
}

const combinations = () => [WIDE, NARROW].flatMap((size) => Object.keys(VIEWS).map((view) => ({ view, size })));

async function openView({ view, size }, work) {
    const [name, hash, first] = VIEWS[view];
    await visit(name, { hash, size }, async (page) => {
        if (first) await first(page);
        await settled(page);
        await work(page, `${view}, ${size.width} px`);
    });
}

/** axe-core's findings, as text. */
async function axe(page, options) {
    const { violations, passes, incomplete } = await page.evaluate(
        (given) => window.axe.run(document, { resultTypes: ['violations'], preload: false, ...given }),
        options,
    );
    assert.ok(passes.length + incomplete.length > 0, 'axe checked nothing');
    return violations.map((rule) => `${rule.id}: ${rule.help}: ${rule.nodes.map((node) => node.target.join(' ')).join(', ')}`);
}

/** Changes the system's colour scheme while the page is open. */
async function setScheme(page, scheme) {
    await page.emulateMedia({ colorScheme: scheme });
    await until(page, (name) => document.documentElement.dataset.theme === name, scheme);
    await settled(page);
}

// The dark scheme changes only colours, which do not depend on the width.
const colours = { runOnly: ['color-contrast'] };

test('every view, wide and narrow: nothing exceeds the window, and axe-core finds nothing, light or dark', async () => {
    const check = (name, size) =>
        forEachView(name, size, async (page, what) => {
            assert.deepEqual(await page.evaluate(exceeding), [], what);
            if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axeSource());
            assert.deepEqual(await axe(page, {}), [], what);
            if (size !== WIDE) return;
            await setScheme(page, 'dark');
            assert.deepEqual(await axe(page, colours), [], `${what}, dark`);
            await setScheme(page, 'light');
        });
    await Promise.all([WIDE, NARROW].flatMap((size) => ['bundle', 'view', 'compared'].map((name) => check(name, size))));
});

/** Every element that Tab focuses, in order, with whether the focus is visible. */
async function tabStops(page) {
    const stops = [];
    for (let i = 0; i < 300; i++) {
        await page.keyboard.press('Tab');
        const stop = await page.evaluate(() => {
            const node = document.activeElement;
            if (node === document.body) return null;
            const style = getComputedStyle(node);
            const box = node.getBoundingClientRect();
            // The table makes new rows when it scrolls.
            const key = node.dataset.fn ?? node;
            const number = (window.stops ||= new Map()).get(key) ?? window.stops.size;
            window.stops.set(key, number);
            return {
                number,
                name: `${node.tagName.toLowerCase()} ${node.getAttribute('aria-label') || node.textContent.slice(0, 40)}`,
                visible: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 && box.width > 0 && box.height > 0,
                inside: box.left >= 0 && box.right <= innerWidth && box.bottom > 0 && box.top < innerHeight,
            };
        });
        if (!stop || stop.number < stops.length) return stops;
        stops.push(stop);
    }
    return stops;
}

/** The elements that react to a pointer, but that Tab did not focus. */
const unreached = () =>
    [...document.querySelectorAll('a[href], button, input, select, summary, canvas[tabindex]')]
        .filter((node) => node.checkVisibility({ checkVisibilityCSS: true }) && !node.disabled)
        .filter((node) => !window.stops.has(node.dataset.fn ?? node))
        .map((node) => `${node.tagName} ${node.textContent}`);

test('Tab reaches every control, and the focus is visible', () =>
    inParallel(
        combinations().filter(({ view }) => ['overview', 'cpu', 'callers', 'waits', 'searched'].includes(view)),
        (combination) =>
            openView(combination, async (page, what) => {
                const stops = await tabStops(page);
                assert.ok(stops.length > 8, what);
                assert.deepEqual(stops.filter((stop) => !stop.visible || !stop.inside), [], what);
                assert.deepEqual(await page.evaluate(unreached), [], what);
            }),
    ));

test('the first Tab leads past the contents', () =>
    visit('bundle', {}, async (page) => {
        await page.keyboard.press('Tab');
        assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to content');
        await page.keyboard.press('Enter');
        assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
    }));

test('the dialog keeps the focus, and returns it when it closes', () =>
    visit('bundle', {}, async (page) => {
        const keys = page.getByRole('button', { name: 'Keys', exact: true });
        await keys.focus();
        await page.keyboard.press('Enter');
        await page.getByRole('dialog').waitFor();
        assert.equal(await page.evaluate(() => document.activeElement.closest('dialog') !== null), true);
        await page.keyboard.press('Escape');
        assert.equal(await keys.evaluate((node) => node === document.activeElement), true);
    }));

test('the text of the graph for screen readers follows the keys', () =>
    visit('bundle', { hash: idIn('cpu', 'rude') }, async (page) => {
        const canvas = page.getByRole('application', { name: 'Flame graph of calls' });
        await canvas.focus();
        const status = page.getByRole('region', { name: 'Flame graph' }).getByRole('status');
        assert.match(await status.textContent(), /^all, [\d.]+m?s \(100%\), itself /);
        const before = await status.textContent();
        await page.keyboard.press('ArrowDown');
        await until(page, (text) => document.querySelector('.graph [role=status]').textContent !== text, before);
    }));

// ---- print -------------------------------------------------------------------------------------------------------

const PAPER = { width: 718, height: 1000 };

test('on paper: the overview, the graph and a table, black on white, nothing cut, no control', () =>
    visit('bundle', { hash: idIn('cpu', 'rude'), scheme: 'dark', size: PAPER }, async (page) => {
        await until(page, () => document.querySelector('.paper'));
        await page.emulateMedia({ media: 'print' });
        await settled(page);
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'light');
        const table = page.locator('table.paper');
        assert.match(await table.locator('caption').textContent(), /rude cpu=2s: CPU time \(the first \d+ of \d+ functions\)/);
        assert.match(await table.locator('tbody tr').first().textContent(), /main\.burnCycles/);
        assert.ok(await page.locator('.papers .overview').first().isVisible());
        // The choices and the legend stay, because they name the type and explain the colours.
        for (const gone of ['button:not(.choice, .legend *):visible', 'input:visible', 'nav:visible']) assert.equal(await page.locator(gone).count(), 0, gone);
        const cut = await page.evaluate(() =>
            [...document.querySelectorAll('td, th, caption, li, p, h1, h2, h3')]
                .filter((node) => node.checkVisibility() && !node.matches('.span, .aside, .scale *'))
                .filter((node) => node.scrollWidth > node.clientWidth + 1 || node.getBoundingClientRect().right > innerWidth + 1)
                .map((node) => `${node.tagName}.${node.className} ${node.textContent.slice(0, 50)}`),
        );
        assert.deepEqual(cut, []);
        const flame = await page.locator('.graph canvas').boundingBox();
        assert.ok(flame.width <= PAPER.width && flame.height > 40);
        const pdf = await page.pdf({ preferCSSPageSize: true });
        assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
        const sheets = pdf.toString('latin1').match(/\/Type\s*\/Page\b/g).length;
        assert.ok(sheets >= 2 && sheets <= 6, `${sheets} sheets`);
    }));

test('on paper the overview lists every item and every finding', () =>
    visit('bundle', { size: PAPER }, async (page) => {
        await page.emulateMedia({ media: 'print' });
        await settled(page);
        const items = bundleOf('bundle').manifest.hosts.flatMap((host) => host.services.flatMap((service) => service.items || []));
        assert.equal(await page.locator('main .items tbody tr:visible').count(), items.length);
        assert.equal(await page.locator('main .summary li:visible').count(), bundleOf('bundle').summary.length);
        assert.deepEqual(await page.evaluate(exceeding), []);
    }));
