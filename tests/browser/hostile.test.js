// Pages with hostile names, and incomplete pages: no name is executed, none breaks the layout, and a message describes each
// part that cannot be shown.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { bundleOf, changedPage, describedPage, end, idOf, measureInk, NARROW, exceeding, settled, until, visit, WIDE } from './browser.js';

after(end);

const PWN = 'window.pwned=1';
const NAMES = [
    `<script>${PWN}</script>`,
    `</script><script>${PWN}</script>`,
    `"><img src=x onerror=${PWN}>`,
    `' onmouseover='${PWN}' autofocus onfocus='${PWN}`,
    `javascript:${PWN}`,
    `]]><!--<svg onload=${PWN}>`,
    '__proto__',
    '\u202egpj.exe\u2066\u200f',
    'W'.repeat(10000),
    'a/'.repeat(3000),
    'word '.repeat(2000),
    '\u0000\u001b[31m\u0007\u2028\ufeff',
    '\ud800 broken',
    '(((((((((((((((((((((((a+)+)+$',
    '',
];

const forSizes = (act) => Promise.all([WIDE, NARROW].map(act));

/** Runs in the page: returns the first invisible character or change of direction in its text; null if there is none. */
const firstInvisible = () =>
    [...document.body.children]
        .filter((node) => node.tagName !== 'SCRIPT')
        .map((node) => node.outerHTML.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/))
        .find((found) => found)?.[0]
        .charCodeAt(0) ?? null;

/** Runs in the page: returns the beginning of the first text that is too long; null if there is none. */
const overlong = () => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT, (node) => 1 + (node.parentNode.tagName === 'SCRIPT'));
    while (texts.nextNode()) if (texts.currentNode.length > 2100) return texts.currentNode.data.slice(0, 60);
    return null;
};

async function assertIntact(page, what) {
    assert.deepEqual(await page.evaluate(exceeding), [], what);
    assert.equal(await page.evaluate(firstInvisible), null, `${what}: an invisible character`);
    assert.equal(await page.evaluate(overlong), null, `${what}: an overlong text`);
}

test('names in profiles, wide and narrow: every action of a reader executes none', async () => {
    const { id } = bundleOf('hostile').data.find((entry) => entry.file.endsWith('names.pb.gz'));
    await forSizes((size) =>
        // High enough to show all rows of the table without scrolling.
        visit('hostile', { hash: `#v=${id}`, size: { ...size, height: 1800 } }, async (page) => {
            const what = `${size.width} px`;
            const step = size === NARROW ? 4 : 1;
            await assertIntact(page, what);
            const box = await page.locator('.graph canvas').boundingBox();
            for (let y = box.y + 10; y < box.y + box.height; y += 20 * step) {
                await page.mouse.move(box.x + 8, y);
                await assertIntact(page, `${what}, the tip at ${y}`);
            }
            await page.mouse.move(0, 0);
            await page.locator('.graph canvas').focus();
            for (let i = 0; i < 24; i++) {
                await page.keyboard.press('ArrowDown');
                if (i % step === 0) await assertIntact(page, `${what}, the detail`);
            }
            for (const choice of await page.locator('.choice').all()) {
                await choice.click();
                await settled(page);
                await assertIntact(page, `${what}, a type`);
            }
            const names = page.locator('.rows .c-name button');
            const n = await names.count();
            assert.ok(n >= 10);
            for (let i = 0; i < n; i += step) {
                await names.nth(i).click();
                await page.locator('.sandwich h2').waitFor();
                await assertIntact(page, `${what}, callers of ${i}`);
                if (i % 3) {
                    await page.getByRole('button', { name: 'Whole graph' }).click();
                    await page.locator('.graph canvas').waitFor();
                    continue;
                }
                await page.getByRole('button', { name: 'Search for it in the graph' }).click();
                await settled(page);
                assert.match(await page.locator('.notice').textContent(), /^1 function, /, `${what}, search of ${i}`);
                await page.getByRole('button', { name: 'Reset', exact: true }).click();
                await until(page, (all) => document.querySelectorAll('.rows .row').length === all, n);
            }
        }),
    );
});

test('names of files, wide and narrow', async () => {
    await forSizes((size) => visit('hostile', { size }, (page) => assertIntact(page, `${size.width} px`)));
});

/** Returns the same data with every text replaced, except the texts that identify its parts. */
function replaceTexts(value, kept = new Set(['id', 'form', 'file']), at = { next: 0 }) {
    if (typeof value === 'string') return NAMES[at.next++ % NAMES.length];
    if (Array.isArray(value)) return value.map((item) => replaceTexts(item, kept, at));
    if (!value || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, kept.has(key) ? item : replaceTexts(item, kept, at)]));
}

test('hosts, services, paths, reasons, errors, findings and titles of the bundle', async () => {
    const times = ['started', 'finished', 'status', 'kind'];
    for (const [name, kept] of [['spoiled', []], ['spoiled-but-times', times]]) {
        describedPage('bundle', name, (bundle) => {
            const verdicts = NAMES.map((text) => ({ id: text, text }));
            for (const host of bundle.manifest.hosts) {
                Object.assign(host, { error: 'x', route: 'y', hops: NAMES.map((address) => ({ address })) });
                for (const service of host.services) {
                    Object.assign(service, { error: 'x', verdicts });
                    for (const item of service.items || []) Object.assign(item, { error: 'x', server_words: 'y', verdicts });
                }
            }
            Object.assign(bundle, replaceTexts(bundle, new Set(['id', 'form', 'file', ...kept])));
            bundle.summary.push(...NAMES.map((text) => ({ rule: text, text, data: 0, look: text })));
        });
        await forSizes(async (size) => {
            await visit(name, { size }, async (page) => {
                await assertIntact(page, `${name}, ${size.width} px`);
                await page.evaluate(() => (document.querySelector('nav details').open = true));
                await assertIntact(page, `${name}, ${size.width} px, contents`);
                for (const box of await page.locator('nav a, .card').all()) assert.ok((await box.boundingBox()).height < 400, 'a name takes the page');
            });
            await visit(name, { hash: '#v=data-0', size }, (page) => assertIntact(page, `${name}, ${size.width} px, a profile`));
        });
    }
});

test('goroutines with hostile names, states and places', async () => {
    const { page: name, id } = goroutinesOf('hostile-goroutines');
    await forSizes((size) =>
        visit(name, { hash: `#v=${id}`, size }, async (page) => {
            for (const stack of await page.locator('.stacks summary').all()) await stack.click();
            await settled(page);
            await assertIntact(page, `${size.width} px`);
            const states = await page.locator('.state').count();
            assert.ok(states >= 8);
            for (let i = 0; i < states; i += size === NARROW ? 4 : 1) {
                await page.locator('.state').nth(i).click();
                await settled(page);
                await assertIntact(page, `${size.width} px, state ${i}`);
            }
        }),
    );
});

/** A page whose dump of goroutines has each name in every position. */
function goroutinesOf(name) {
    const id = idOf('view', '', '', 'goroutines');
    const all = NAMES.map((_, i) => i);
    const dump = {
        form: 'stacks',
        total: NAMES.length,
        cut: true,
        strings: NAMES,
        frames: { function: all, place: all },
        groups: all.map((i) => ({ state: i, count: 1, frames: all.slice(i), creator: i, wait: [0, i, 99999] })),
        hidden: { groups: 3, goroutines: 9 },
    };
    const packed = gzipSync(JSON.stringify(dump)).toString('base64');
    const page = changedPage('view', name, (text) => text.replace(new RegExp(`(id="${id}">)[^<]*`), (all, tag) => tag + packed));
    return { page, id };
}

test('a stack of 5,000 calls: scrolling shows the lowest, and a search finds it', () =>
    visit('hostile', { hash: `#v=${bundleOf('hostile').data.find((entry) => entry.file.endsWith('deep.pb.gz')).id}` }, async (page) => {
        await assertIntact(page, 'deep');
        assert.ok((await measureInk(page)).ink > 0.5);
        const flame = page.locator('.flame').first();
        assert.ok((await flame.boundingBox()).height <= WIDE.height);
        const shown = () => page.locator('.graph canvas').evaluate((canvas) => canvas.toDataURL());
        const above = await shown();
        await flame.evaluate((node) => (node.scrollTop = 1e9));
        await settled(page);
        assert.ok((await measureInk(page)).ink > 0.05, 'nothing is drawn below');
        assert.notEqual(await shown(), above);
        await page.getByLabel('Search', { exact: true }).fill('level0$');
        await settled(page);
        assert.match(await page.locator('.notice').textContent(), /^1 function, /);
        await page.locator('.rows .c-name button').click();
        await page.locator('.sandwich h2').waitFor();
        await assertIntact(page, 'callers of the lowest');
    }));

test('a million names: the heaviest are drawn, the rest is one frame, all can be sorted and searched', () =>
    visit('million', {}, async (page) => {
        await assertIntact(page, 'a million');
        assert.ok((await measureInk(page)).ink > 0.5);
        const n = Number(await page.locator('.top').getAttribute('aria-rowcount'));
        assert.ok(n > 40000, `${n} rows`);
        await page.getByLabel('Search', { exact: true }).fill('F39');
        await settled(page);
        assert.match(await page.locator('.notice').textContent(), /^[\d,]+ functions?, /);
        await page.getByLabel('Search', { exact: true }).fill('');
        await settled(page);
        await page.locator('.c-name[role=columnheader] button').click();
        await page.locator('.rows').evaluate((node) => (node.scrollTop = 1e9));
        await until(page, (last) => [...document.querySelectorAll('.rows .row')].at(-1).ariaRowIndex === String(last), n);
    }));

// ---- incomplete pages ----------------------------------------------------------------------------------------------

test('a message describes a page that was cut short anywhere', async () => {
    const at = (mark) => (text) => text.slice(0, text.indexOf(mark) + mark.length + 200);
    const cuts = {
        'in the description': at('id="bundle">'),
        'in a profile': at('id="data-0">'),
        'in the script': at('<script type="module">'),
        'before the end of the script': (text) => text.slice(0, text.lastIndexOf('</script>') - 10),
    };
    const checkCut = ([where, cut]) =>
        visit(changedPage('single', `cut ${where}`, cut), { broken: true }, (page) =>
            until(page, () => /cut short or damaged/.test(document.body.innerText)),
        );
    await Promise.all(Object.entries(cuts).map(checkCut));
});

test('a message describes a damaged or missing profile, and the others are shown', async () => {
    const id = idOf('bundle', 'cpu', 'rude');
    const other = idOf('bundle', 'heap', 'rude');
    const block = new RegExp(`(<script type="application/octet-stream" id="${id}">)([^<]*)`);
    const damages = {
        'not base64': (all, tag, data) => `${tag}%${data}`,
        'cut': (all, tag, data) => tag + data.slice(0, data.length >> 1 & ~3),
        'empty': (all, tag) => tag,
        'changed': (all, tag, data) => tag + data.slice(0, 400) + 'AAAAAAAA' + data.slice(408),
        'gone': () => '<script type="application/octet-stream" id="data-gone">',
        'not JSON': (all, tag) => tag + gzipSync('<img src=x onerror=window.pwned=1>').toString('base64'),
        'JSON of something else': (all, tag) => tag + gzipSync('{"nodes": 1}').toString('base64'),
    };
    const checkDamage = async ([how, damage]) => {
        const name = changedPage('bundle', `damaged ${how}`, (text) => text.replace(block, damage));
        await visit(name, { hash: `#v=${id}` }, async (page) => {
            assert.match(await page.locator('main .error').textContent(), /damaged/, how);
            await page.locator(`nav a[href="#v=${other}"]`).click();
            await page.locator('.graph canvas').waitFor();
            assert.ok((await measureInk(page)).ink > 0.1, how);
        });
        await visit(name, {}, (page) => until(page, () => document.querySelectorAll('.card').length > 5));
    };
    await Promise.all(Object.entries(damages).map(checkDamage));
});

test('a message describes a damaged description of the bundle', async () => {
    const name = changedPage('bundle', 'no description', (text) => text.replace('id="bundle">{', 'id="bundle">{{'));
    await visit(name, { broken: true }, (page) => until(page, () => /cut short or damaged/.test(document.body.innerText)));
});
