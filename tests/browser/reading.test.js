// A reader's actions on a page of real profiles, and the texts and drawings that follow.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { bundleOf, describedPage, end, idOf, measureInk, pixelAt, parametersOf, scriptedPage, settled, until, visit } from './browser.js';

after(end);

const CPU = `#v=${idOf('bundle', 'cpu', 'rude')}`;
/** The functions in which the fixture uses the processor, and in which it holds its lock. */
const BUSY = 'main.burnCycles';
const HOLDER = 'main.contend';

const notice = (page) => page.locator('.notice').textContent();
const detail = (page) => page.locator('.detail').textContent();
const search = (page) => page.getByLabel('Search', { exact: true });
const button = (page, name) => page.getByRole('button', { name, exact: true });
const rows = (page) => page.locator('.rows .c-name button');
const choice = (page, name) => page.getByRole('group', { name: 'Sample type' }).getByRole('button', { name, exact: true });

/** Selects the frame of a function in the graph by the keyboard alone, and returns its box in the window. */
async function select(page, name, most = 40) {
    await page.locator('.graph canvas').focus();
    for (let i = 0; i < most && !(await detail(page)).startsWith(name); i++) await page.keyboard.press('ArrowDown');
    assert.ok((await detail(page)).startsWith(name), `${name} is not on the heaviest stack`);
    await settled(page);
    return page.locator('.mark.chosen').first().boundingBox();
}

const middle = (box) => [box.x + box.width / 2, box.y + box.height / 2];

test('the overview: reason, findings, profiles, timeline, errors', () =>
    visit('bundle', {}, async (page) => {
        const { name, data, summary, manifest } = bundleOf('bundle');
        const drawable = data.filter((entry) => entry.id);
        assert.equal(await page.locator('h1').textContent(), name);
        assert.match(await page.locator('main .head').first().textContent(), /latency since 07:30.*not complete/s);
        assert.deepEqual(
            await page.locator('.summary li > bdi').allTextContents(),
            summary.map((finding) => finding.text.replaceAll(' %', '\u00a0%')),
        );
        assert.equal(await page.locator('.card').count(), drawable.length);
        assert.equal(await page.locator('nav a').count(), drawable.length + 1);
        const items = manifest.hosts.flatMap((host) => host.services.flatMap((service) => service.items || []));
        const timed = items.filter((item) => item.started);
        assert.ok(timed.length >= 10);
        assert.deepEqual(
            await page.locator('.timeline .span').evaluateAll((bars) => bars.map((bar) => bar.title.split(',')[0])),
            timed.map((item) => `${item.kind}: ${item.status}`),
        );
        const share = (bar) => bar.getBoundingClientRect().width / bar.parentNode.getBoundingClientRect().width;
        assert.ok((await page.locator('.timeline .span[title^="cpu: ok"]').first().evaluate(share)) > 0.5, 'two seconds of CPU are the longest');
        assert.ok((await page.locator('.timeline .span[title^="heap: ok"]').first().evaluate(share)) < 0.1);
        assert.match(await page.locator('.host', { hasText: 'file-04' }).textContent(), /gone.*cannot connect to localhost port 1/s);
        await until(page, () => [...document.querySelectorAll('.card canvas')].every((canvas) => canvas.width !== 300));
        assert.ok((await measureInk(page, '.card canvas')).colours.length > 0, 'the small pictures are empty');
        // A profile that was enabled but is empty has a card without a picture.
        const empty = await page.locator('.card', { has: page.locator('.nothing') }).locator('.of').allTextContents();
        assert.ok(empty.includes('file-03 caddy block') && empty.includes('file-03 caddy mutex'), empty.join());
        assert.ok(!empty.includes('file-03 rude cpu=2s') && !empty.includes('file-03 rude mutex'), empty.join());
        await page.locator('.card', { hasText: 'rude cpu' }).click();
        await until(page, () => document.querySelector('h1').textContent.endsWith('rude cpu=2s'));
        assert.equal(await page.locator('.menu [aria-current]').textContent(), 'cpu=2s');
        assert.match(await page.title(), /rude cpu/);
    }));

test('the link of a finding leads to its function', () =>
    visit('bundle', {}, async (page) => {
        await page.locator('.summary li', { hasText: BUSY }).first().locator('a').click();
        await page.locator('.detail').waitFor();
        await settled(page);
        assert.match(await notice(page), /^1 function, /);
        assert.deepEqual(await rows(page).allTextContents(), [BUSY]);
    }));

test('search: by a name, by a pattern, by an invalid pattern; matches have another colour', () =>
    visit('bundle', { hash: CPU }, async (page) => {
        const lit = 'rgb(122, 44, 132)';
        assert.ok(!(await measureInk(page)).colours.includes(lit));
        await search(page).fill('(?i)burncycles');
        await settled(page);
        assert.match(await notice(page), /^1 function, [\d.]+m?s \([\d.]+%\)$/);
        assert.deepEqual(await rows(page).allTextContents(), [BUSY]);
        assert.ok((await measureInk(page)).colours.includes(lit), 'matches have no other colour');
        await search(page).fill('^runtime\\.|burn[A-Z]y+cles$');
        await until(page, () => /^([2-9]|\d\d+) functions, /.test(document.querySelector('.notice').textContent));
        assert.ok((await rows(page).allTextContents()).every((name) => name.startsWith('runtime.') || name === BUSY));
        await search(page).fill('main.(');
        await settled(page);
        assert.match(await notice(page), /[a-z]{3,} .*[a-z]{3,}/);
        assert.doesNotMatch(await notice(page), /function|undefined|Error/);
        assert.ok(!(await measureInk(page)).colours.includes(lit));
        await search(page).fill('no such name');
        await until(page, () => document.querySelector('.notice').textContent.startsWith('0 functions'));
        await search(page).fill('');
        await until(page, () => document.querySelector('.notice').textContent === '' && document.querySelectorAll('.rows .row').length > 1);
    }));

test('zoom by a click, back, and reset; the tip and the detail describe the frame under the pointer', () =>
    visit('bundle', { hash: CPU }, async (page) => {
        const box = await select(page, BUSY);
        const canvas = await page.locator('.graph canvas').boundingBox();
        assert.ok(box.width < canvas.width * 0.98, 'the frame has the full width already');
        await page.mouse.move(...middle(box));
        assert.match(await page.locator('.tip').textContent(), /^main\.burnCycles.*%.*itself.*work\.go/);
        await page.mouse.click(...middle(box));
        await settled(page);
        assert.ok((await page.locator('.mark.chosen').first().boundingBox()).width > canvas.width - 4, 'it does not fill the graph');
        assert.ok((await detail(page)).startsWith(BUSY));
        await until(page, () => /[#&]z=\d/.test(location.hash));
        await page.mouse.move(0, 0);
        assert.equal(await page.locator('.tip').isVisible(), false);
        await button(page, 'Back').click();
        await until(page, () => !/[#&]z=/.test(location.hash));
        assert.match(await detail(page), /^all/);
        await page.mouse.click(...middle(box));
        await until(page, () => /[#&]z=\d/.test(location.hash));
        await search(page).fill('main');
        await button(page, 'Reset').click();
        await until(page, () => !/[#&][zs]=/.test(location.hash));
        assert.equal(await search(page).inputValue(), '');
        assert.match(await detail(page), /^all/);
    }));

test('the graph by keys: along the stack, zoom, back, reset, callers and callees, search, help', () =>
    visit('bundle', { hash: CPU }, async (page) => {
        const press = async (key) => (await page.keyboard.press(key), settled(page));
        await select(page, BUSY);
        const status = page.locator('.graph [role=status]');
        assert.match(await status.textContent(), /^main\.burnCycles, .*itself.*depth \d+/);
        await press('ArrowUp');
        assert.doesNotMatch(await status.textContent(), /burnCycles/);
        await press('ArrowDown');
        assert.match(await status.textContent(), /^main\.burnCycles/);
        await press('Enter');
        await until(page, () => /[#&]z=\d/.test(location.hash));
        await press('Backspace');
        await until(page, () => !/[#&]z=/.test(location.hash));
        await select(page, BUSY);
        await press('Enter');
        await press('0');
        await until(page, () => !/[#&]z=/.test(location.hash));
        await select(page, BUSY);
        await press('b');
        await page.getByRole('region', { name: 'Callers and callees' }).waitFor();
        assert.equal(await page.locator('.sandwich h2').textContent(), BUSY);
        await page.locator('.sandwich canvas').first().focus();
        await press('Escape');
        await page.locator('.graph canvas').waitFor();
        await press('/');
        assert.equal(await page.evaluate(() => document.activeElement.type), 'search');
        await press('Escape');
        await press('?');
        await page.getByRole('dialog', { name: 'Keys' }).waitFor();
        await press('Escape');
        assert.equal(await page.getByRole('dialog').count(), 0);
    }));

test('sample types: another value in the head, the table and the graph', () =>
    visit('bundle', { hash: CPU }, async (page) => {
        const about = () => page.locator('.about').textContent();
        assert.match(await about(), /^CPU time: .*[\d.]+m?s in all.*taken for 2\.?\d* s.*cores busy/);
        await choice(page, 'CPU samples').click();
        await until(page, () => document.querySelector('.about').textContent.startsWith('CPU samples'));
        assert.equal(await choice(page, 'CPU samples').getAttribute('aria-pressed'), 'true');
        assert.equal(await choice(page, 'CPU time').getAttribute('aria-pressed'), 'false');
        assert.doesNotMatch(await about(), /cores busy/);
        await settled(page);
        assert.match(await page.locator('.rows .c-flat').first().textContent(), /^[\d,]+$/);
        assert.equal(parametersOf(page).t, '0');
    }));

test('focus keeps only matching stacks, ignore removes them', () =>
    visit('bundle', { hash: CPU }, async (page) => {
        const whole = await detail(page);
        await page.getByText('Filter', { exact: true }).click();
        await page.getByLabel('Ignore').fill('burnCycles');
        await settled(page);
        assert.notEqual(await detail(page), whole);
        assert.ok(!(await rows(page).allTextContents()).includes(BUSY));
        await page.getByLabel('Ignore').fill('');
        await page.getByLabel('Focus').fill('burnCycles');
        await settled(page);
        const names = await rows(page).allTextContents();
        assert.ok(names.includes(BUSY) && !names.some((name) => name.includes('mallocgc')), names.join());
        await page.getByLabel('Focus').fill('[');
        await settled(page);
        assert.match(await notice(page), /^filter: /);
        await page.getByLabel('Focus').fill('');
        await until(page, (text) => document.querySelector('.detail').textContent === text, whole);
    }));

test('callers and callees of a function, and then of its caller', () =>
    visit('bundle', { hash: CPU }, async (page) => {
        await rows(page).filter({ hasText: BUSY }).click();
        const sandwich = page.getByRole('region', { name: 'Callers and callees' });
        await sandwich.waitFor();
        assert.match(await sandwich.locator('.facts').textContent(), /with all it calls .*itself .*work\.go/);
        assert.ok((await measureInk(page, '.sandwich canvas')).ink > 0.1);
        const callers = sandwich.locator('canvas').first();
        await callers.focus();
        await page.keyboard.press('ArrowUp');
        await settled(page);
        const caller = (await sandwich.locator('[role=status]').textContent()).split(', ')[0];
        assert.match(caller, /^main\./);
        await page.keyboard.press('Enter');
        await until(page, (name) => document.querySelector('.sandwich h2').textContent === name, caller);
        await page.goBack();
        await until(page, (name) => document.querySelector('.sandwich h2').textContent === name, BUSY);
        await button(page, 'Search for it in the graph').click();
        await until(page, () => document.querySelector('.notice').textContent.startsWith('1 function, '));
    }));

test('a stack is copied, the innermost call first', () =>
    visit('bundle', { hash: CPU }, async (page) => {
        await select(page, BUSY);
        const depth = Number((await page.locator('.graph [role=status]').textContent()).match(/depth (\d+)/)[1]);
        await button(page, 'Copy stack').click();
        await until(page, () => document.querySelector('.notice').textContent.includes('on the clipboard'));
        await page.evaluate(() => document.body.appendChild(document.createElement('textarea')).focus());
        await page.keyboard.press('Control+V');
        const pasted = await page.locator('textarea').last().inputValue();
        const stack = pasted.split('\n');
        assert.equal(stack.length, depth);
        assert.equal(stack[0], BUSY);
        assert.match(stack.at(-1), /^(main|runtime)\./);
    }));

test('a link to a view: it survives a reload, and works back and forward', () =>
    visit('bundle', { hash: CPU }, async (page) => {
        await search(page).fill('^main');
        await until(page, () => location.hash.includes('s='));
        const box = await select(page, BUSY);
        await until(page, () => /[#&]c=\d/.test(location.hash));
        const chosen = await detail(page);
        await page.mouse.click(...middle(box));
        await until(page, () => /[#&]z=\d/.test(location.hash));
        const before = [await notice(page), await detail(page), parametersOf(page)];
        await page.reload();
        await page.locator('.detail').waitFor();
        await settled(page);
        assert.deepEqual([await notice(page), await detail(page), parametersOf(page)], before);
        await page.goBack();
        await until(page, (text) => !/[#&]z=/.test(location.hash) && document.querySelector('.detail').textContent === text, chosen);
        await page.goForward();
        await until(page, (text) => document.querySelector('.detail').textContent === text, before[1]);
    }));

test('an outdated or invalid link still shows a page', async () => {
    const places = ['#v=data-99', '#v=__proto__', `${CPU}&z=99999999&t=99&fn=-1`, `${CPU}&t=nothing&fn=1e3&g=x&up=7`, '#%', '#v=%00&s=('];
    for (const hash of places) await visit('bundle', { hash }, async (page) => assert.ok(await page.locator('h1').isVisible(), hash));
});

test('the root is at the bottom of a flame graph, at the top of an icicle', () =>
    visit('bundle', { hash: CPU }, async (page) => {
        const turn = page.locator('.moves button').first();
        const rowsAcross = async () => {
            const box = await page.locator('.flame').first().boundingBox();
            const across = async (y) => {
                const xs = [0.02, 0.3, 0.6, 0.98].map((share) => box.x + box.width * share);
                return new Set(await Promise.all(xs.map((x) => pixelAt(page, x, y)))).size === 1;
            };
            return { first: await across(box.y + 3), last: await across(box.y + box.height - 17) };
        };
        assert.equal(await turn.textContent(), 'Root at the bottom');
        const icicle = await page.locator('.graph canvas').evaluate((canvas) => canvas.toDataURL());
        assert.equal((await rowsAcross()).first, true);
        await turn.click();
        await settled(page);
        assert.equal(await turn.textContent(), 'Root at the top');
        assert.equal((await rowsAcross()).last, true);
        assert.notEqual(await page.locator('.graph canvas').evaluate((canvas) => canvas.toDataURL()), icicle);
        await until(page, () => location.hash.includes('up=1'));
    }));

test('a package has the same colour in the legend, the table and the graph', () =>
    visit('bundle', { hash: CPU }, async (page) => {
        // A row that is drawn again while it is read has left the document and has no colour.
        const colourIn = async (where) => {
            let colour = '';
            while (!colour) colour = await where.locator('.swatch').evaluate((swatch) => getComputedStyle(swatch).backgroundColor);
            return colour;
        };
        const legend = page.locator('.legend li');
        const own = await colourIn(page.locator('.rows .row', { hasText: BUSY }));
        assert.equal(await colourIn(legend.filter({ hasText: /^main/ })), own);
        assert.notEqual(await colourIn(legend.filter({ hasText: 'Go runtime' })), own);
        const box = await select(page, BUSY);
        assert.equal(await pixelAt(page, box.x + 3, box.y + 2), own);
        await legend.filter({ hasText: /^main/ }).getByRole('button').click();
        await until(page, () => /^\d+ functions?, /.test(document.querySelector('.notice').textContent));
        assert.ok((await rows(page).allTextContents()).every((name) => name.startsWith('main.')));
    }));

test('the table is sorted by the selected column, which is marked', () =>
    visit('bundle', { hash: CPU }, async (page) => {
        const head = (column) => page.locator(`[role=columnheader].c-${column}`);
        const shares = async (column) =>
            (await page.locator(`.rows .c-${column}Share`).allTextContents()).map((text) => parseFloat(text.replace('<', '')));
        const falls = (values) => values.length > 5 && values.every((value, i) => i === 0 || value <= values[i - 1]);
        assert.equal(await head('flat').getAttribute('aria-sort'), 'descending');
        assert.ok(falls(await shares('flat')));
        await head('cum').getByRole('button').click();
        assert.ok(falls(await shares('cum')) && !falls(await shares('flat')));
        assert.equal(await head('cum').getAttribute('aria-sort'), 'descending');
        assert.equal(await head('flat').getAttribute('aria-sort'), 'none');
        await head('cum').getByRole('button').click();
        assert.ok(falls((await shares('cum')).reverse()));
        assert.equal(await head('cum').getAttribute('aria-sort'), 'ascending');
        await head('name').getByRole('button').click();
        const names = await rows(page).allTextContents();
        assert.deepEqual(names, [...names].sort());
        const n = Number(await page.locator('.top').getAttribute('aria-rowcount'));
        await page.locator('.rows').focus();
        await page.keyboard.press('End');
        await until(page, (last) => [...document.querySelectorAll('.rows .row')].at(-1).ariaRowIndex === String(last), n);
    }));

test('goroutines: by state and by stack, with frames and creators', () =>
    visit('bundle', { hash: `#v=${idOf('bundle', 'goroutines', 'rude', 'goroutines')}` }, async (page) => {
        assert.match(await page.locator('main .head').first().textContent(), /What was everyone waiting for\?/);
        const state = page.locator('.state', { hasText: 'select (no cases)' });
        assert.equal(await state.locator('b').textContent(), '50');
        const all = await page.locator('.stacks > li').count();
        await state.click();
        await settled(page);
        assert.equal(await state.getAttribute('aria-pressed'), 'true');
        assert.match(await page.locator('.goroutines [role=status]').textContent(), /^50 goroutines in 1 stack/);
        const stack = page.locator('.stacks > li');
        assert.equal(await stack.count(), 1);
        assert.match(await stack.locator('summary').textContent(), /^50.*main\.parkedWorker/);
        await stack.locator('summary').click();
        await stack.locator('.frames li').first().waitFor();
        assert.match(await stack.textContent(), /main\.parkedWorker.*work\.go:\d+.*started by main\./s);
        await state.click();
        await until(page, (n) => document.querySelectorAll('.stacks > li').length === n, all);
        assert.ok((await measureInk(page)).ink > 0.1);
    }));

test('waits: durations, and the order by the longest wait', () =>
    visit('view', { hash: `#v=${idOf('view', '', '', 'goroutines')}` }, async (page) => {
        assert.match(await page.locator('.stacks > li', { hasText: 'waitForWork' }).textContent(), /2 to 12 minutes/);
        const first = () => page.locator('.stacks > li .where').first().textContent();
        assert.equal(await first(), 'main.waitForWork');
        await page.getByLabel('Order').selectOption({ label: 'Longest wait first' });
        await settled(page);
        assert.equal(await first(), 'main.(*Store).Put');
        assert.match(await page.locator('.stacks > li').first().textContent(), /90 minutes/);
    }));

test('block and mutex: where goroutines waited, and for which locks', async () => {
    const kinds = { block: [/Where were goroutines blocked/, 'Time blocked'], mutex: [/Which locks made others wait/, 'Time others waited'] };
    for (const [kind, [question, title]] of Object.entries(kinds))
        await visit('bundle', { hash: `#v=${idOf('bundle', kind, 'rude')}` }, async (page) => {
            assert.match(await page.locator('main .head').first().textContent(), question);
            assert.ok((await page.locator('.about').textContent()).startsWith(title));
            assert.match((await rows(page).allTextContents()).join(), /main\.contend|sync\.\(\*Mutex\)/);
            await search(page).fill(HOLDER);
            await until(page, () => /^1 function, .*%/.test(document.querySelector('.notice').textContent));
        });
});

test('heap: memory in use, and memory allocated', () =>
    visit('bundle', { hash: `#v=${idOf('bundle', 'heap', 'rude')}` }, async (page) => {
        const about = () => page.locator('.about').textContent();
        assert.match(await page.locator('main .head').first().textContent(), /What held memory\?/);
        assert.match(await about(), /^Memory in use: .*MB in all/);
        const held = await about();
        await choice(page, 'Memory allocated').click();
        await until(page, () => document.querySelector('.about').textContent.startsWith('Memory allocated'));
        assert.notEqual((await about()).replace(/.*?:/, ''), held.replace(/.*?:/, ''));
        await choice(page, 'Objects in use').click();
        await until(page, () => document.querySelector('.about').textContent.startsWith('Objects in use'));
        await settled(page);
        assert.match((await rows(page).allTextContents()).join(), /main\./);
    }));

test('a dump of an unknown kind has the question of goroutines', () => {
    const page = describedPage('view', 'dump', ({ data }) => (data.find(({ form }) => form === 'goroutines').kind = 'text'));
    return visit(page, {}, async (shown) => {
        const card = shown.locator('.card', { hasText: 'What was everyone waiting for?' });
        assert.equal(await card.count(), 1);
        await card.click();
        await until(shown, () => document.querySelector('.stacks'));
        assert.equal(await shown.locator('main .question').first().textContent(), 'What was everyone waiting for?');
    });
});

/** Adds a row to web/views.js: heap profiles have a list of functions, without a picture, before their other views. */
function addView(script) {
    const row = `{
        name: 'test', title: 'Test', appliesTo: ({ kind }) => kind === 'heap', question: () => 'Which functions?', thumbnail: null,
        make: (entry, { nFunctions, nameOf }) => {
            const names = Array.from({ length: nFunctions }, (_, fn) => nameOf(fn)).sort();
            return { node: element('ol', { class: 'names' }, names.map((name) => element('li', {}, untrusted(name)))), update() {}, repaint() {} };
        },
    },`;
    return script.replace('const VIEWS = [', (begin) => begin + row);
}

test('one more row of views.js: a tab, a name in the URL, and a card without a picture', () =>
    visit(scriptedPage('bundle', 'views', addView), {}, async (page) => {
        const cards = page.locator('.card', { hasText: 'Which functions?' });
        assert.equal(await cards.count(), bundleOf('bundle').data.filter(({ id, kind }) => id && kind === 'heap').length);
        assert.equal(await cards.locator('canvas').count(), 0);
        await until(page, () => [...document.querySelectorAll('.card canvas')].every((canvas) => canvas.width !== 300));
        await cards.first().click();
        await until(page, () => document.querySelector('.names'));
        const names = await page.locator('.names li').allTextContents();
        assert.ok(names.length > 0);
        assert.deepEqual(names, [...names].sort());
        const tabs = page.getByRole('navigation', { name: 'Views' });
        assert.deepEqual((await tabs.getByRole('link').allTextContents()).slice(0, 2), ['Test', 'Calls']);
        assert.equal(await tabs.locator('[aria-current]').textContent(), 'Test');
        await tabs.getByRole('link', { name: 'Calls' }).click();
        await until(page, () => document.querySelector('.graph canvas'));
        assert.equal(await tabs.locator('[aria-current]').textContent(), 'Calls');
        assert.equal(await page.locator('main .question').first().textContent(), 'What held memory?');
        await search(page).fill('main');
        await until(page, () => location.hash.includes('s=main'));
        assert.equal(parametersOf(page).as, 'calls');
        await page.reload();
        await until(page, () => document.querySelector('.graph canvas'));
        assert.equal(await search(page).inputValue(), 'main');
        await page.goBack();
        await until(page, () => document.querySelector('.names'));
        await page.evaluate(() => (location.hash += '&as=nothing'));
        await until(page, () => document.querySelector('.names'));
        await page.locator('.menu a', { hasText: 'cpu' }).first().click();
        await until(page, () => document.querySelector('.graph canvas'));
        assert.equal(await tabs.getByRole('link', { name: 'Test' }).count(), 0);
    }));

test('a difference: increases and decreases have different colours', () =>
    visit('view', { hash: `#v=${idOf('view', '', '', 'profile')}` }, async (page) => {
        assert.match(await page.locator('.about').textContent(), /2ms more, of 8ms that changed/);
        const legend = await page.locator('.legend li').allTextContents();
        assert.deepEqual([legend[0], legend[4]], ['more than before', 'less than before']);
        const swatches = await page.locator('.legend .swatch').evaluateAll((all) => all.map((swatch) => getComputedStyle(swatch).backgroundColor));
        const box = await page.locator('.graph canvas').boundingBox();
        const third = (share) => pixelAt(page, box.x + box.width * share, box.y + 43);
        assert.deepEqual([await third(0.6), await third(0.95)], [swatches[0], swatches[4]]);
        assert.equal(new Set(swatches).size, 5);
    }));

test('a page of one profile shows it without an overview', () =>
    visit('single', {}, async (page) => {
        assert.match(await page.locator('h1').textContent(), /cpu/);
        assert.ok((await measureInk(page)).ink > 0.1);
    }));

test('light and dark: the system\'s setting, until the reader changes it', () =>
    visit('bundle', { hash: CPU, scheme: 'dark' }, async (page) => {
        const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        const { ink, colours } = await measureInk(page);
        const dark = await ground();
        await button(page, 'Change to light').click();
        await settled(page);
        assert.equal(await ground(), 'rgb(247, 246, 243)');
        const light = await measureInk(page);
        assert.notDeepEqual(light.colours, colours);
        assert.ok(Math.abs(light.ink - ink) < 0.02, 'the background of the graph differs from that of the page');
        await button(page, 'Change to dark').click();
        await settled(page);
        assert.deepEqual([await ground(), await measureInk(page)], [dark, { ink, colours }]);
    }));

// ---- several profiles together -----------------------------------------------------------------------------------

const comparedId = (from, kind) => bundleOf('compared').data.find((entry) => entry.from === from && entry.kind === kind).id;

test('two sides: a colour for each, and a table of differences', () =>
    visit('compared', { hash: `#v=${comparedId('sides', 'cpu')}` }, async (page) => {
        const { colours } = await measureInk(page);
        assert.ok(colours.includes('rgb(230, 132, 88)') && colours.includes('rgb(112, 164, 214)'), colours.join('; '));
        assert.match(await page.locator('.about').textContent(), /shares of all that each side has/);
        assert.match(await page.locator('.legend').textContent(), /much more in app-01.*about the same.*much more in app-02, app-03/);
        await until(page, () => document.querySelector('.rows .row'));
        const rows = await page.locator('.rows .row').allTextContents();
        // The share of a side varies with the work of Go's runtime, but it is always more than half.
        const difference = (name) => Number(rows.find((row) => row.endsWith(`%${name}`))?.match(/([+−][\d.]+)%[^%]*$/)[1].replace('−', '-'));
        assert.ok(difference('main.encodeOften') > 50, rows.slice(0, 5).join('; '));
        assert.ok(difference('main.compute') < -50, rows.slice(0, 5).join('; '));
        const canvas = page.getByRole('application', { name: 'Flame graph of calls' });
        await canvas.focus();
        await page.keyboard.press('ArrowDown');
        await until(page, () => /app-01: .*app-02, app-03: .*difference [+−]/.test(document.querySelector('.graph [role=status]').textContent));
    }));

test('growth between two snapshots: its title, and the time between them', () =>
    visit('compared', { hash: `#v=${comparedId('growth', 'heap')}` }, async (page) => {
        assert.equal(await page.locator('.question').first().textContent(), 'What has grown?');
        await page.getByRole('button', { name: 'Memory allocated in between' }).click();
        await until(page, () => /a second/.test(document.querySelector('.about').textContent));
        assert.match(await page.locator('.about').textContent(), /between two snapshots [\d.]+ m?s apart/);
    }));

test('hosts side by side: the outlier is first and marked, and its link leads to the difference', () =>
    visit('compared', {}, async (page) => {
        const rows = page.locator('.hosts tbody tr');
        assert.equal(await rows.count(), 3);
        assert.match(await rows.first().textContent(), /^app-01differs/);
        assert.match(await rows.first().getAttribute('class'), /outlier/);
        await rows.first().locator('td').last().locator('a').click();
        await until(page, () => document.querySelector('.graph canvas'));
        assert.match(parametersOf(page).s, /^\^encoding\/json/);
    }));

/** Makes a table of 120 hosts, copies of the first. */
function makeManyHosts(bundle) {
    const [host] = bundle.groups[0].hosts;
    bundle.groups[0].hosts = Array.from({ length: 120 }, (_, i) => ({ ...host, host: `app-${i}` }));
}

/** Makes contents of a hundred hosts. Only app-42 differs, and the page has its profile. */
function makeContents(bundle) {
    const entry = bundle.data.find(({ id, kind, from }) => id && kind === 'cpu' && !from);
    const hosts = Array.from({ length: 100 }, (_, i) => `app-${i}`);
    bundle.groups[0].hosts = hosts.map((name) => ({
        host: name,
        differs: { in: 'cpu', function: 'main.f', share: 0.4, median: 0.3, outlier: name === 'app-42' },
    }));
    bundle.data = [
        ...hosts.map((name, i) => ({ ...entry, id: name === 'app-42' ? entry.id : `data-of-${i}`, host: name, title: `${name} ${entry.service} cpu` })),
        ...bundle.data.filter(({ from }) => from === 'sides'),
    ];
}

test('contents of a hundred hosts: folded, comparisons and outliers first, all reachable', () =>
    visit(describedPage('compared', 'contents', makeContents), {}, async (page) => {
        const groups = page.locator('nav details details');
        const open = page.locator('nav details details[open]');
        assert.equal(await groups.count(), 101);
        assert.equal(await open.count(), 1);
        assert.equal(await open.locator('a').count(), await groups.first().locator('a').count());
        assert.match(await groups.nth(1).locator('summary').textContent(), /^app-42 \S+differs 1$/);
        // Opens an entry by keys, and then another one by its URL.
        await groups.nth(1).locator('summary').focus();
        await page.keyboard.press('Enter');
        await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        await until(page, () => document.querySelector('.graph canvas'));
        assert.equal(await page.locator('.menu [aria-current]').textContent(), 'cpu');
        assert.equal(await open.count(), 2);
        assert.ok(await page.locator('.menu [aria-current]').isVisible());
        await page.evaluate(() => (location.hash = '#v=data-of-7'));
        await until(page, () => document.querySelector('main .error'));
        assert.equal(await page.locator('.menu [aria-current]').getAttribute('href'), '#v=data-of-7');
        assert.ok(await page.locator('.menu [aria-current]').isVisible());
        assert.equal(await open.count(), 3);
    }));

test('callers and callees of two sides have values of both', () =>
    visit('compared', { hash: `#v=${comparedId('sides', 'cpu')}&fn=0` }, async (page) => {
        await until(page, () => document.querySelector('.sandwich canvas'));
        const facts = await page.locator('.sandwich .facts').textContent();
        assert.match(facts, /app-01: [\d.]+%.*app-02, app-03: [\d.]+%.*difference [+−]?[\d.]+%/);
    }));

test('more than a hundred hosts: 50 at first, all on request', () =>
    visit(describedPage('compared', 'many-hosts', makeManyHosts), {}, async (page) => {
        const rows = page.locator('.hosts tbody tr');
        assert.equal(await rows.count(), 50);
        await page.getByRole('button', { name: 'Show 50 more hosts' }).click();
        await page.getByRole('button', { name: 'Show 20 more hosts' }).click();
        assert.equal(await rows.count(), 120);
        assert.equal(await page.locator('.hosts button:visible').count(), 0);
    }));
