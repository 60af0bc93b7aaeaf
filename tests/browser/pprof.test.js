// The page of `pprof -http`: every view and menu, the URL and the history, errors, hostile names and drawings, layout.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { axeSource, end, exceeding, fileInPages, measureInk, NARROW, newContext, reportViolations, settled, until, WIDE } from './browser.js';
import { startServer } from './pprof-server.js';

after(end);

/** The function in which the fixture uses the processor. */
const BUSY = 'main.burnCycles';
const BUSY_PATTERN = '^main\\.burnCycles$';
/** A function of folded.pb.gz that has only folded calls. */
const RARE = 'app/rare.(*Cache[go.shape.int]).Get';
const RARE_PATTERN = '^app/rare\\.\\(\\*Cache\\[go\\.shape\\.int\\]\\)\\.Get$';
const TIMEOUT = 15000;
const TITLES = { flamegraph: 'Flame graph', graph: 'Graph', top: 'Top', peek: 'Peek', source: 'Source', disasm: 'Disassembly', tags: 'Tags' };
const VIEWS = Object.keys(TITLES);

/** Answers for the views of code, because the machine may lack objdump, and to have a file without source. */
const sourceWith = (text) => ({
    note: 'The machine code is not shown: the binary was not found.',
    files: ['/src/work.go', '/src/missing.go'].map((path, i) => ({
        path,
        functions: [
            {
                name: BUSY,
                flat: '490ms',
                cum: '490ms',
                lines: [12, 13, 14].map((n) => ({
                    n,
                    flat: '',
                    cum: n === 13 ? '490ms' : '',
                    text: i ? text : `\tline${n}(${'x'.repeat(300)})`,
                    code: [{ at: `0x4a2b1${n - 12}`, flat: '10ms', cum: '', text: 'CALL main.other(SB)', place: `work.go:${n}`, file: path, line: n, inlined: [{ text: 'foo()', file: 'main.go', line: 40 }] }],
                })),
            },
        ],
    })),
});
const DISASM = `Total: 180ms
ROUTINE ======================== main.burnCycles
      10ms       20ms (flat, cum) 11.11% of Total
         .          .     4a2b10: CALL runtime.mallocgc(SB)    ;main.burnCycles work.go:12
         .          .     4a2b15: call   4a2b10 <runtime.gcStart+0x20>
`;

function answerCode(page) {
    return page.route(/\/ui\/(source|disasm)\b/, async (route) => {
        const request = route.request();
        const [, view] = request.url().match(/\/ui\/(\w+)/);
        const url = request.url().replace(`/ui/${view}`, '/ui/top');
        const base = await page.context().request.get(url, { headers: { accept: 'application/json' } });
        const [, pasted = ''] = String(request.postDataBuffer() || '').split('\0');
        const data = view === 'source' ? sourceWith(pasted) : { text: DISASM };
        return route.fulfill({ json: { ...(await base.json()), view, data } });
    });
}

/**
 * Opens a path of the server, waits for the view, runs work(page, requests), and checks that the page logged no error, asked no
 * other origin and executed no name. options: file: a profile; args: of pprof; size; scheme; errors: a pattern of the messages that
 * the browser may log, for example for answers with an error status.
 */
async function open(path, options, work) {
    const { file = 'cpu.pb.gz', args, size = WIDE, scheme = 'light', errors = null } = options;
    const server = await startServer(file, args);
    const origin = `${new URL(server.url).origin}/`;
    const context = await newContext({ viewport: size, colorScheme: scheme, reducedMotion: 'reduce' });
    try {
        await context.addInitScript(reportViolations);
        const problems = [];
        const requests = [];
        context.on('request', (request) => {
            requests.push(`${request.method()} ${request.url().replace(origin, '/')}`);
            if (!request.url().startsWith(origin)) problems.push(`requested ${request.url().slice(0, 200)}`);
        });
        context.on('console', (message) => ['error', 'warning'].includes(message.type()) && !(errors && errors.test(message.text())) && problems.push(message.text()));
        context.on('weberror', (error) => problems.push(String(error.error())));
        const page = await context.newPage();
        page.setDefaultTimeout(TIMEOUT);
        page.on('dialog', (dialog) => {
            problems.push(`showed a dialog: ${dialog.message()}`);
            dialog.dismiss();
        });
        // The token of the address becomes a cookie.
        await context.request.get(server.url);
        await page.goto(origin + path);
        await shows(page, new URL(page.url()).pathname.split('/').pop());
        await work(page, requests);
        assert.equal(await page.evaluate(() => window.pwned), undefined, 'a name was executed');
        assert.deepEqual(problems, []);
    } finally {
        await context.close();
        await server.end();
    }
}

/** Waits until a view is shown. */
const shows = (page, view) => until(page, (name) => document.documentElement.dataset.view === name && document.querySelector('.content').childElementCount, view);

const search = (page) => page.getByLabel('Search', { exact: true });
const rows = (page) => page.locator('.rows .c-name button');
/** The names in the table, without the word for functions that the compiler inlined. */
const namesOf = async (buttons) => (await buttons.allTextContents()).map((text) => text.replace(/ \((partial-)?inline\)$/, ''));
const names = (page) => namesOf(rows(page));
const button = (page, name) => page.getByRole('button', { name, exact: true });
const alert = (page) => page.getByRole('alert').textContent();
const parameters = (page) => Object.fromEntries(new URL(page.url()).searchParams);
const fragment = (page) => Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1)));

/** Opens a menu and chooses an entry. */
async function choose(page, menu, entry) {
    await page.locator('.drop summary', { hasText: menu }).click();
    await page.locator('.drop[open] li').getByText(entry, { exact: true }).click();
    await settled(page);
}

/** Waits until the query has this value of a parameter; null: none. */
const hasParameter = (page, name, value) => until(page, ([key, wanted]) => new URLSearchParams(location.search).get(key) === wanted, [name, value]);

/** Changes the answers to the page's requests for views: change(the server's answer) returns the JSON. */
function changeAnswers(page, change) {
    return page.route('**/ui/**', async (route) => {
        if (route.request().headers().accept !== 'application/json') return route.continue();
        const response = await route.fetch();
        const answer = response.ok() ? await response.json() : {};
        return route.fulfill(answer.view ? { json: change(answer) } : { response });
    });
}

test('the server leads to the flame graph, which is drawn from one request', () =>
    open('', {}, async (page, requests) => {
        assert.ok((await measureInk(page)).ink > 0.1);
        assert.match(await page.locator('.about').textContent(), /^CPU time: .*cores busy/);
        assert.match(await page.title(), /Flame graph$/);
        const paths = requests.map((request) => request.split('?')[0]);
        assert.equal(paths.filter((path) => path === 'GET /ui/flamegraph').length, 1);
        assert.deepEqual(paths.filter((path) => !path.startsWith('GET /ui/')).sort(), ['GET /', 'GET /web/pprof.css', 'GET /web/pprof.js']);
        assert.ok((await names(page)).includes(BUSY));
    }));

test('the View menu leads to each view, Back and Forward show it again, and no view is requested twice', () =>
    open(`ui/flamegraph?f=${BUSY}`, {}, async (page, requests) => {
        await answerCode(page);
        for (const view of VIEWS.slice(1)) {
            await choose(page, 'View', TITLES[view]);
            await shows(page, view);
            assert.equal(parameters(page).f, BUSY, view);
            assert.equal(await page.locator('.drop summary small').first().textContent(), TITLES[view]);
        }
        for (const view of [...VIEWS].reverse().slice(1, 5)) {
            await page.goBack();
            await shows(page, view);
        }
        await page.goForward();
        await shows(page, 'peek');
        const asked = requests.filter((request) => request.includes('/ui/'));
        assert.equal(new Set(asked).size, asked.length, asked.join('\n'));
        assert.equal(asked.length, VIEWS.length);
    }));

test('the flame graph: search while typing, zoom, small picture, callers and callees', () =>
    open('ui/flamegraph', {}, async (page, requests) => {
        await search(page).fill('(?i)burncycles');
        await until(page, () => /^1 function, /.test(document.querySelector('.notice').textContent));
        assert.deepEqual(await names(page), [BUSY]);
        await until(page, () => /[#&]s=%28%3Fi%29burncycles/.test(location.hash));
        await button(page, 'Reset').click();
        await until(page, () => !/[#&]s=/.test(location.hash) && document.querySelector('input[type=search]').value === '');
        assert.equal(await page.locator('.minimap').isVisible(), false);
        await page.locator('.graph canvas').focus();
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
        await until(page, () => /[#&]z=\d/.test(location.hash));
        assert.ok(await page.locator('.minimap canvas').evaluate((canvas) => canvas.width > 1000));
        const picture = await page.locator('.minimap').boundingBox();
        const mark = await page.locator('.minimap .mark').boundingBox();
        assert.ok(mark.width < picture.width && mark.x >= picture.x && mark.x + mark.width <= picture.x + picture.width + 1);
        await page.mouse.click(picture.x + 3, picture.y + picture.height - 3);
        await until(page, () => !/[#&]z=/.test(location.hash));
        await rows(page).filter({ hasText: BUSY }).click();
        await page.getByRole('region', { name: 'Callers and callees' }).waitFor();
        await until(page, () => /[#&]fn=main.burnCycles/.test(location.hash));
        await page.reload();
        await page.getByRole('region', { name: 'Callers and callees' }).waitFor();
        assert.equal(await page.locator('.sandwich h2').textContent(), BUSY);
        assert.equal(requests.filter((request) => request.includes('/ui/')).length, 2);
    }));

test('the parameter p of a link of go tool pprof names functions whose callers and callees the flame graph shows', () =>
    open('ui/flamegraph?p=burnCycles$', {}, async (page, requests) => {
        await page.getByRole('region', { name: 'Callers and callees' }).waitFor();
        assert.equal(await page.locator('.sandwich h2').textContent(), BUSY);
        await until(page, () => location.search === '' && location.hash === '#fn=main.burnCycles');
        assert.equal(await alert(page), '');
        assert.equal(requests.filter((request) => request.includes('/ui/')).length, 1);
        await page.goto(new URL('flamegraph?p=main', page.url()).href);
        await until(page, () => /^p=main matches \d+ functions/.test(document.querySelector('[role=alert]').textContent));
        await page.getByRole('region', { name: 'Callers and callees' }).waitFor();
        assert.equal(await search(page).inputValue(), 'main');
        await page.goto(new URL('flamegraph?p=nosuchfunction&f=main', page.url()).href);
        await until(page, () => document.querySelector('[role=alert]').textContent === 'p=nosuchfunction: no function matches');
        await page.locator('.graph canvas').waitFor();
        // Other views ignore it, as upstream's do.
        await page.goto(new URL('top?p=nosuchfunction', page.url()).href);
        await shows(page, 'top');
        assert.equal(await alert(page), '');
    }));

test('functions of one name in two files have their own callers and callees, also by a link of go tool pprof', () =>
    open('ui/flamegraph', { file: 'hostile/namesakes.pb.gz' }, async (page) => {
        const shown = async (facts, place) => {
            await until(page, ([a, b]) => document.querySelector('.sandwich .facts')?.textContent.includes(a) && document.querySelector('.sandwich .facts').textContent.includes(b), [facts, place]);
        };
        const graph = page.locator('.graph canvas');
        const { width } = await graph.boundingBox();
        await graph.click({ position: { x: width - 20, y: 50 }, button: 'right' });
        assert.match(await page.locator('.detail').textContent(), /^cmp575\.21MB.*\/src\/a\.c/);
        await page.keyboard.press('3');
        await shown('575.21MB', '/src/a.c');
        await until(page, () => /fn=cmp[ +]\/src\/a.c/.test(decodeURIComponent(location.hash)));
        await page.reload();
        await shown('575.21MB', '/src/a.c');
        for (const [pattern, facts, place, note] of [
            ['a\\.c$', '575.21MB', '/src/a.c', ''],
            ['^cmp#3$', '975.21MB', '/src/b.c', 'p=^cmp#3$ matches 2 functions: this is the heaviest'],
            ['^cmp$', '975.21MB', '/src/b.c', 'p=^cmp$ matches 2 functions: this is the heaviest; the whole graph marks all'],
        ]) {
            await page.goto(new URL(`flamegraph?p=${encodeURIComponent(pattern)}`, page.url()).href);
            await shown(facts, place);
            assert.equal(await alert(page), note);
        }
    }));

test('the pointer on a frame marks all frames of its function', () =>
    open('ui/flamegraph', { file: 'hostile/namesakes.pb.gz' }, async (page) => {
        const graph = page.locator('.graph canvas');
        const { width } = await graph.boundingBox();
        // The frames of the function `leaf`, and one of `cmp` above them.
        const colours = () => graph.evaluate((canvas) => [[0.2, 70], [0.8, 70], [0.2, 50]].map(([x, y]) => {
            const ratio = canvas.width / canvas.clientWidth;
            return canvas.getContext('2d').getImageData(Math.round(x * canvas.width), Math.round((y + 7) * ratio), 1, 1).data.join();
        }));
        const before = await colours();
        assert.equal(before[0], before[1]);
        await graph.hover({ position: { x: width * 0.2, y: 70 } });
        await until(page, () => !document.querySelector('.tip').hidden);
        const during = await colours();
        assert.equal(during[0], during[1]);
        assert.notEqual(during[0], before[0]);
        assert.equal(during[2], before[2]);
        await page.mouse.move(5, 5);
        assert.deepEqual(await colours(), before);
    }));

test('the values of a table are whole, also in a narrow window', () =>
    open('ui/top?g=filefunctions', { file: 'hostile/namesakes.pb.gz' }, async (page) => {
        const cut = () => page.evaluate(() => [...document.querySelectorAll('.rows .c-flat, .rows .c-cum')].filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent));
        await page.getByText('975.21MB').first().waitFor();
        assert.deepEqual(await cut(), []);
        await page.setViewportSize({ width: 400, height: 800 });
        assert.deepEqual(await cut(), []);
        await choose(page, 'View', 'Flame graph');
        await page.setViewportSize({ width: 1200, height: 800 });
        await page.getByText('975.21MB').first().waitFor();
        assert.deepEqual(await cut(), []);
    }));

test('with a filter, shares refer to the whole profile', () =>
    open('ui/flamegraph', {}, async (page) => {
        const all = await page.locator('.detail').textContent();
        const whole = Number(all.match(/(\d+)ms \(100%\)/)[1]);
        await changeAnswers(page, (answer) => ({ totals: [whole / 10, whole * 1e6], ...answer }));
        await search(page).fill(BUSY);
        await search(page).press('Enter');
        await hasParameter(page, 'f', BUSY);
        await until(page, () => /^all\d+ms \(\d\d(\.\d+)?%\)/.test(document.querySelector('.detail').textContent));
    }));

test('keys: 1, 2 and 3 for the graph, u for undo, / for the search, ? for the help', () =>
    open('ui/top', {}, async (page) => {
        await page.keyboard.press('2');
        await shows(page, 'flamegraph');
        assert.equal(fragment(page).up, '1');
        await page.keyboard.press('1');
        await until(page, () => !/up=1/.test(location.hash));
        await page.keyboard.press('3');
        await page.getByRole('region', { name: 'Callers and callees' }).waitFor();
        await page.keyboard.press('1');
        await page.locator('.graph canvas').waitFor();
        for (const title of ['Top', 'Tags', 'Graph']) {
            await choose(page, 'View', title);
            await shows(page, title.toLowerCase());
            await page.keyboard.press('3');
            await page.getByRole('region', { name: 'Callers and callees' }).waitFor();
            await until(page, () => /[#&]fn=/.test(location.hash));
        }
        await page.keyboard.press('1');
        await page.locator('.graph canvas').waitFor();
        // The View menu has focused on the chosen function.
        const before = parameters(page).f;
        await page.keyboard.press('/');
        await page.keyboard.type('sort');
        await page.keyboard.press('Enter');
        await hasParameter(page, 'f', 'sort');
        assert.equal(await search(page).inputValue(), '');
        await page.keyboard.press('Escape');
        await page.locator('#main').focus();
        await page.reload();
        await shows(page, 'flamegraph');
        await page.keyboard.press('u');
        await hasParameter(page, 'f', before);
        await page.keyboard.press('?');
        assert.match(await page.getByRole('dialog', { name: 'Keys' }).textContent(), /undo the last change of filters/);
        await page.keyboard.press('Escape');
        // A menu without a pointer.
        await page.locator('.drop summary').first().focus();
        await page.keyboard.press('Enter');
        await page.locator('.drop[open] a').first().waitFor();
        await page.keyboard.press('ArrowDown');
        assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Flame graph');
        await page.keyboard.press('Escape');
        assert.equal(await page.locator('.drop[open]').count(), 0);
        assert.equal(await page.evaluate(() => document.activeElement.tagName), 'SUMMARY');
    }));

test('Refine acts on the search, then on the chosen function; Undo and the chips take filters back', () =>
    open('ui/top', {}, async (page) => {
        const all = await rows(page).count();
        await page.locator('.drop summary', { hasText: 'Refine' }).click();
        assert.equal(await button(page, 'Ignore').isDisabled(), true);
        await page.keyboard.press('Escape');
        await search(page).fill('burnCycles');
        await until(page, () => document.querySelectorAll('.rows .row').length === 1);
        await choose(page, 'Refine', 'Ignore');
        await hasParameter(page, 'i', 'burnCycles');
        assert.equal(await search(page).inputValue(), '');
        assert.ok(!(await names(page)).includes(BUSY));
        await rows(page).filter({ hasText: 'sortNumbers' }).click();
        await choose(page, 'Refine', 'Ignore');
        await hasParameter(page, 'i', 'burnCycles|^main\\.sortNumbers$');
        for (const [entry, name] of [['Hide', 'h'], ['Show', 's'], ['Show from', 'sf'], ['Focus', 'f']]) {
            await search(page).fill('runtime');
            await choose(page, 'Refine', entry);
            await hasParameter(page, name, 'runtime');
        }
        assert.deepEqual(
            (await page.getByRole('list', { name: 'Filters in use' }).getByRole('button').allTextContents()).map((text) => text.split(':')[0]),
            ['focus', 'ignore', 'hide', 'show', 'show from'],
        );
        await button(page, 'Undo').click();
        await hasParameter(page, 'f', null);
        await page.getByRole('list', { name: 'Filters in use' }).getByText('hide').click();
        await hasParameter(page, 'h', null);
        await choose(page, 'Refine', 'Reset');
        await until(page, () => location.search === '');
        await until(page, (n) => document.querySelectorAll('.rows .row').length === n, all);
        // The browser's history is a way back, too.
        await page.goBack();
        await hasParameter(page, 's', 'runtime');
        await page.goBack();
        await hasParameter(page, 'h', 'runtime');
    }));

test('filters of the command line are shown, and can be removed, replaced and brought back', () =>
    open('ui/top', { args: ['-focus', 'burnCycles', '-tagfocus', 'nothing=here', '-ignore', 'nosuch'] }, async (page) => {
        const used = async () => (await page.getByRole('list', { name: 'Filters in use' }).getByRole('button').allTextContents()).map((text) => text.replace(' ×', ''));
        assert.deepEqual(await used(), ['focus: burnCycles', 'ignore: nosuch', 'tag focus: nothing=here']);
        assert.equal(await rows(page).count(), 0);
        await page.getByRole('list', { name: 'Filters in use' }).getByText('tag focus').click();
        await hasParameter(page, 'without', 'tf');
        const focused = await names(page);
        assert.ok(focused.includes(BUSY));
        await page.locator('.drop summary', { hasText: 'Refine' }).click();
        await page.locator('.drop[open] li').getByText('Remove focus: burnCycles').click();
        await hasParameter(page, 'without', 'tf,f');
        assert.deepEqual(await used(), ['ignore: nosuch']);
        assert.ok((await names(page)).length > focused.length);
        await rows(page).filter({ hasText: BUSY }).click();
        await choose(page, 'Refine', 'Ignore');
        await hasParameter(page, 'i', `nosuch|${BUSY_PATTERN}`);
        await page.getByRole('list', { name: 'Filters in use' }).getByText('ignore').click();
        await until(page, () => !document.querySelector('.chips'));
        await button(page, 'Undo').click();
        await hasParameter(page, 'i', `nosuch|${BUSY_PATTERN}`);
        await choose(page, 'Refine', 'Reset');
        await until(page, () => !document.querySelector('.chips'));
        await page.reload();
        await rows(page).first().waitFor();
        assert.equal(await page.locator('.chips').count(), 0);
        await choose(page, 'Config', 'Default');
        await hasParameter(page, 'without', null);
        await until(page, () => document.querySelectorAll('.chips button').length === 3);
    }));

test('rows of lines, addresses and files: the actions name the function, or the file', () =>
    open('ui/top?g=lines', {}, async (page) => {
        const line = page.getByRole('group', { name: 'Chosen function' });
        const choosing = async (granularity, expected) => {
            await page.goto(new URL(`top?g=${granularity}`, page.url()).href);
            await rows(page).filter({ hasText: granularity === 'files' ? 'work.go' : BUSY }).first().click();
            const link = await line.getByRole('link', { name: 'Source', exact: true }).getAttribute('href');
            const pattern = new URL(link, page.url()).searchParams.get('f');
            assert.match(pattern, expected, granularity);
            await line.getByRole('button', { name: 'Focus', exact: true }).click();
            await hasParameter(page, 'f', pattern);
            assert.equal(await alert(page), '', granularity);
            assert.ok((await rows(page).count()) > 0);
        };
        for (const granularity of ['lines', 'addresses', 'filefunctions', 'functions']) await choosing(granularity, /^\^main\\\.burnCycles\$$/);
        await choosing('files', /^\^\/.*work\\\.go\$$/);
        await page.goto(new URL('top?g=lines', page.url()).href);
        const row = rows(page).filter({ hasText: /burnCycles .*:\d+/ }).first();
        const number = (await row.textContent()).match(/:\d+/)[0];
        await row.click();
        await line.getByRole('link', { name: 'Callers and callees' }).click();
        await page.getByRole('region', { name: 'Callers and callees' }).waitFor();
        assert.equal(await page.locator('.sandwich h2').textContent(), BUSY + number);
    }));

test('-lines of the command line counts as the parameter g', () =>
    open('ui/flamegraph', { args: ['-lines'] }, async (page) => {
        await page.locator('.graph canvas').focus();
        await page.keyboard.press('ArrowDown');
        await until(page, () => /:\d+/.test(document.querySelector('.detail strong').textContent));
        const link = await page.locator('.detail').getByRole('link', { name: 'Source', exact: true }).getAttribute('href');
        assert.doesNotMatch(new URL(link, page.url()).searchParams.get('f'), /:\d+\$$/);
    }));

test('the actions of a function: in the flame graph, and links to source, peek and disassembly', () =>
    open('ui/flamegraph', {}, async (page) => {
        await page.locator('.graph canvas').focus();
        for (let i = 0; i < 40 && !(await page.locator('.detail').textContent()).startsWith(BUSY); i++) await page.keyboard.press('ArrowDown');
        for (const name of ['Focus', 'Ignore', 'Hide', 'Show', 'Show from']) assert.ok(await page.locator('.detail').getByRole('button', { name, exact: true }).isVisible());
        for (const [name, view] of [['Source', 'source'], ['Peek', 'peek'], ['Disasm', 'disasm']]) {
            const link = await page.locator('.detail').getByRole('link', { name, exact: true }).getAttribute('href');
            assert.equal(link, `${view}?${new URLSearchParams({ f: view === 'peek' ? BUSY_PATTERN.replace('$', '( |$)') : BUSY_PATTERN })}`);
        }
        await page.locator('.detail').getByRole('button', { name: 'Focus', exact: true }).click();
        await hasParameter(page, 'f', BUSY_PATTERN);
        assert.equal(await page.locator('.graph [role=status]').textContent().then((text) => text.startsWith('all, ')), true);
        await choose(page, 'View', 'Peek');
        await shows(page, 'peek');
        await page.goto(new URL('peek?f=burnCycles', page.url()).href);
        await shows(page, 'peek');
        assert.match(await page.locator('.report').textContent(), /flat%.*\| main\.burnCycles/s);
        await page.locator('.report').getByRole('link', { name: /startWork/ }).first().click();
        await until(page, () => /startWork/.test(new URLSearchParams(location.search).get('f')));
    }));

test('Sample changes the type: in the flame graph without a request', () =>
    open('ui/flamegraph', {}, async (page, requests) => {
        const before = requests.length;
        await choose(page, 'Sample', 'samples');
        await hasParameter(page, 'si', 'samples');
        await until(page, () => document.querySelector('.about').textContent.startsWith('CPU samples'));
        assert.equal(requests.length, before);
        assert.equal(await page.locator('h1').textContent(), 'rude samples');
        assert.match(await page.title(), /^rude samples /);
        await choose(page, 'Sample', 'samples');
        await page.goBack();
        await hasParameter(page, 'si', null);
        await page.goForward();
        await hasParameter(page, 'si', 'samples');
        await choose(page, 'View', 'Top');
        await shows(page, 'top');
        assert.equal(parameters(page).si, 'samples');
        assert.doesNotMatch(await page.locator('.rows .c-flat').first().textContent(), /s$/);
        await choose(page, 'Sample', 'cpu');
        await until(page, () => /s$/.test(document.querySelector('.rows .c-flat').textContent));
    }));

test('a zoom with another sample type shows the same frame after a reload', () =>
    open('ui/flamegraph', { file: 'hostile/types.pb.gz' }, async (page) => {
        const described = () => page.locator('.graph [role=status]').textContent();
        const zoomed = /^main\.many, 500 \(99\.\d+%\)/;
        await choose(page, 'Sample', 'objects');
        await hasParameter(page, 'si', 'objects');
        await page.locator('.graph canvas').focus();
        for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
        await until(page, () => /[#&]z=\d/.test(location.hash));
        assert.match(await described(), zoomed);
        await page.reload();
        await shows(page, 'flamegraph');
        assert.match(await described(), zoomed);
        // Without a chosen frame, key 3 takes the heaviest function of this sample type.
        await page.goto(new URL('flamegraph?si=objects&sf=main.(few|many)', page.url()).href);
        await shows(page, 'flamegraph');
        await page.keyboard.press('3');
        await until(page, () => document.querySelector('.sandwich h2')?.textContent === 'main.many');
    }));

test('top: Sum % adds up the flat values down to each row, in the order of the table', () =>
    open('ui/top', {}, async (page) => {
        const shares = (column) => page.locator(`.rows .c-${column}`).evaluateAll((cells) => cells.map((cell) => parseFloat(cell.textContent)));
        const check = async () => {
            let sum = 0;
            const expected = (await shares('flatShare')).map((share) => (sum += share));
            const shown = await shares('sumShare');
            assert.ok(shown.length > 3);
            shown.forEach((share, i) => assert.ok(Math.abs(share - expected[i]) < 0.1 * (i + 1), `row ${i}: ${share} for ${expected[i]}`));
        };
        await check();
        await page.locator('[role=columnheader].c-cum button').click();
        await check();
        await page.setViewportSize({ width: 400, height: 800 });
        for (const column of ['flat', 'cum', 'name']) assert.equal(await page.locator(`.rows .c-${column}`).first().isVisible(), true, column);
        assert.equal(await page.locator('.rows .c-sumShare').first().isVisible(), false);
        assert.ok((await page.locator('.rows .c-name').first().boundingBox()).width > 150);
    }));

test('configs: save, choose, delete', () =>
    open(`ui/top?f=${BUSY}`, {}, async (page, requests) => {
        await page.locator('.drop summary', { hasText: 'Config' }).click();
        await page.getByLabel('Name of the config').fill('mine');
        await until(page, () => [...document.querySelectorAll('.drop[open] a')].map((link) => link.textContent).join() === 'Default');
        const before = requests.length;
        await button(page, 'Save as').click();
        await until(page, () => document.querySelectorAll('.drop[open] a').length === 2);
        // Nothing but the menu is asked for again.
        assert.deepEqual(requests.slice(before).map((request) => request.replace(/\?.*/, '')), ['POST /ui/saveconfig', 'GET /ui/configs']);
        await page.locator('.drop[open] a', { hasText: 'Default' }).click();
        await hasParameter(page, 'f', null);
        await choose(page, 'Config', 'mine');
        await hasParameter(page, 'f', BUSY);
        await page.locator('.drop summary', { hasText: 'Config' }).click();
        await button(page, 'Delete mine').click();
        // The first click asks.
        await page.getByLabel('Name of the config').focus();
        assert.ok(!requests.some((request) => request.startsWith('DELETE')));
        await button(page, 'Delete mine').click();
        await button(page, 'Really delete mine').click();
        await until(page, () => [...document.querySelectorAll('.drop[open] a')].map((link) => link.textContent).join() === 'Default');
        assert.ok(requests.some((request) => request === `POST /ui/saveconfig?${new URLSearchParams({ f: BUSY, config: 'mine' })}`), requests.join());
        assert.ok(requests.includes('DELETE /ui/deleteconfig?config=mine'));
    }));

test('a profile with more calls than are drawn: a zoom and a function ask for theirs, and no figure lacks any', () =>
    open('ui/flamegraph', { file: 'hostile/folded.pb.gz' }, async (page, requests) => {
        const status = page.locator('.graph [role=status]');
        const facts = page.locator('.sandwich .facts');
        assert.match(await page.locator('.about').textContent(), /the lightest calls are folded into “smaller calls”; zoom in to see them/);
        // The table and the legend would lack the folded calls.
        assert.equal(await page.locator('.rows').count(), 0);
        await page.locator('.functions').getByRole('link', { name: 'Top' }).waitFor();
        await search(page).fill('sync.common');
        await until(page, () => /1 function, at least /.test(document.body.textContent));
        await search(page).fill('');
        // The lightest function that main.main calls.
        await page.locator('.flame canvas').focus();
        for (const key of ['ArrowDown', 'ArrowDown', ...Array(249).fill('ArrowRight'), 'Enter']) await page.keyboard.press(key);
        await until(page, () => /[?&]under=\d+\.\d+$/.test(location.search) && location.hash === '#z=2');
        await page.keyboard.press('ArrowDown');
        await until(page, () => /^app\/leaf\.L/.test(document.querySelector('.graph [role=status]').textContent));
        assert.match(await status.textContent(), /, 1ms \(<?0/);
        // The caller, and then the whole graph.
        await page.keyboard.press('ArrowUp');
        await page.keyboard.press('ArrowUp');
        await page.keyboard.press('Enter');
        await until(page, () => /[?&]under=\d+$/.test(location.search));
        await page.keyboard.press('Home');
        await page.keyboard.press('Enter');
        await until(page, () => location.search === '');
        await page.goBack();
        await until(page, () => /[?&]under=\d+$/.test(location.search));
        await page.goto(new URL('ui/flamegraph#fn=app/leaf.L7', page.url().replace(/ui.*/, '')).href);
        await until(page, () => /with all it calls 31\.3\ds/.test(document.querySelector('.sandwich .facts')?.textContent));
        assert.doesNotMatch(await facts.textContent(), /at least/);
        assert.ok(requests.some((request) => /\?through=\d+$/.test(request)), requests.join());
        await page.goto(new URL('ui/flamegraph#fn=sync.common', page.url().replace(/ui.*/, '')).href);
        await until(page, () => /are in folded calls, which are not drawn here/.test(document.querySelector('.sandwich-head')?.textContent));
        // Most of its calls are folded, also if the server sends no others.
        assert.match(await facts.textContent(), /with all it calls 2\.18hrs \(100%\).*itself 2\.18hrs \(100%\)/);
    }));

test('a function that has only folded calls has callers and callees: in links of Top, with p and with key 3', () =>
    open('ui/flamegraph', { file: 'hostile/folded.pb.gz', errors: /400/ }, async (page, requests) => {
        const base = page.url().replace(/ui.*/, '');
        const visit = (path) => page.goto(base + path);
        const title = page.locator('.sandwich h2');
        const isShown = () => until(page, () => /with all it calls 700ns/.test(document.querySelector('.sandwich .facts')?.textContent));
        const says = (text) => until(page, (expected) => document.querySelector('[role=alert]').textContent === expected, text);
        await visit(`ui/flamegraph?trim=f#fn=${encodeURIComponent(RARE)}`);
        await isShown();
        assert.equal(await title.textContent(), RARE);
        assert.equal(await alert(page), '');
        assert.ok(requests.some((request) => /[?&]through_name=/.test(request)), requests.join());
        // Its caller has only folded calls, too.
        await page.locator('.sandwich canvas').first().focus();
        for (const key of ['ArrowUp', 'Enter']) await page.keyboard.press(key);
        await until(page, () => document.querySelector('.sandwich h2')?.textContent === 'app/rare.caller');
        await isShown();
        await visit(`ui/flamegraph?p=${encodeURIComponent(RARE_PATTERN)}`);
        await isShown();
        assert.equal(await title.textContent(), RARE);
        await visit('ui/flamegraph?p=rare');
        await says('p=rare: no function of the drawn calls matches; the filter focus (f) also finds functions of folded calls');
        for (const path of ['ui/flamegraph#fn=nosuchfunction', 'ui/flamegraph?p=^nosuchfunction$']) {
            await visit('ui/top');
            await visit(path);
            await says('no function has the name nosuchfunction');
            await page.locator('.graph canvas').waitFor();
        }
        // The rows of Top without a limit, by the link and by key 3.
        for (const go of [() => page.getByRole('link', { name: 'Callers and callees' }).click(), () => page.keyboard.press('3')]) {
            await visit('ui/top?trim=f');
            await shows(page, 'top');
            await rows(page).filter({ hasText: RARE }).click();
            await go();
            await isShown();
            assert.equal(await title.textContent(), RARE);
        }
        await visit('ui/flamegraph#fn=nosuchfunction');
        await says('no function has the name nosuchfunction');
        // A request that failed is not repeated until the reader chooses another function.
        const n = requests.length;
        await search(page).fill('main');
        await until(page, () => /function/.test(document.querySelector('.notice').textContent));
        assert.equal(requests.length, n);
        await visit(`ui/flamegraph?f=branch.B1#fn=${encodeURIComponent(RARE)}`);
        await says(`no sample that is shown has the function ${RARE}`);
    }));

test('Compare: one of several sources, and the change from one to another', () =>
    open('ui/top', { args: [fileInPages('cpu.pb.gz')] }, async (page) => {
        await page.locator('.drop summary', { hasText: 'Compare' }).click();
        await page.getByLabel('Show', { exact: true }).locator('option').nth(2).waitFor({ state: 'attached' });
        assert.equal(await page.getByLabel('Show', { exact: true }).locator('option').count(), 3);
        assert.deepEqual(await page.getByLabel('Show', { exact: true }).locator('option').evaluateAll((all) => all.map(({ textContent }) => textContent.replace(/\/.*\//, ''))), [
            'all, merged',
            '1: cpu.pb.gz',
            '2: cpu.pb.gz',
        ]);
        await page.getByLabel('Compared with', { exact: true }).selectOption('0');
        await hasParameter(page, 'from', '0');
        // A difference needs a profile to compare: the first other one.
        await hasParameter(page, 'to', '1');
        await until(page, () => document.querySelector('.facts .warn') !== null);
        await page.locator('.drop summary', { hasText: 'Compare' }).click();
        await page.getByLabel('Show', { exact: true }).selectOption('');
        await hasParameter(page, 'to', null);
        await hasParameter(page, 'from', null);
        await until(page, () => document.querySelector('.facts .warn') === null);
    }));

test('Compare: with a base, the menu says that the profile is compared with it', () =>
    open('ui/top', { file: 'hostile/difference.pb.gz', args: ['-diff_base', fileInPages('hostile/base.pb.gz')] }, async (page) => {
        await page.locator('.drop summary', { hasText: 'Compare' }).click();
        const choice = (label) => page.getByLabel(label, { exact: true }).locator('option:checked').textContent();
        await page.getByLabel('Show', { exact: true }).waitFor();
        assert.deepEqual([await choice('Show'), await choice('Compared with')], ['the profile', 'the base']);
        await page.getByLabel('Show', { exact: true }).selectOption('0');
        await hasParameter(page, 'to', '0');
        await page.locator('.drop summary', { hasText: 'Compare' }).click();
        await until(page, () => document.querySelector('select[aria-label="Compared with"]').selectedOptions[0].textContent === 'nothing');
    }));

test('one source has nothing to compare', () =>
    open('ui/top', {}, async (page) => {
        assert.equal(await page.locator('.drop', { hasText: 'Compare' }).isVisible(), false);
    }));

test('Download has the profile and this view as a file', () =>
    open('ui/top?f=main&si=cpu', {}, async (page) => {
        await page.locator('.drop summary', { hasText: 'Download' }).click();
        await page.locator('.drop[open] a').first().waitFor();
        assert.deepEqual(await page.locator('.drop[open] a').evaluateAll((links) => links.map((link) => link.getAttribute('href'))), ['download', `freeze/top?f=main&si=cpu&place=${encodeURIComponent('top?f=main&si=cpu')}`]);
    }));

/** Saves a frozen view, and opens the file in a browser that has no network. */
async function openFrozen(page, work) {
    await page.locator('.drop summary', { hasText: 'Download' }).click();
    // The menu's entries change after it has opened.
    const view = new URL(page.url()).pathname.split('/').pop();
    const href = await page.locator(`.drop[open] a[href^="freeze/${view}?"]`).getAttribute('href');
    const answer = await page.context().request.get(new URL(href, page.url()).href);
    assert.equal(answer.status(), 200);
    const directory = mkdtempSync(join(tmpdir(), 'profgrab-frozen-'));
    const context = await newContext({ viewport: WIDE, reducedMotion: 'reduce', offline: true });
    try {
        writeFileSync(join(directory, 'profile.html'), await answer.body());
        await context.addInitScript(reportViolations);
        const file = await context.newPage();
        const problems = [];
        file.on('console', (message) => problems.push(message.text()));
        file.on('pageerror', (error) => problems.push(String(error)));
        context.on('request', (request) => request.url().startsWith('file:') || /^(data|blob):/.test(request.url()) || problems.push(request.url().slice(0, 200)));
        await file.goto(`file://${directory}/profile.html`);
        await until(file, () => document.querySelector('.content').childElementCount);
        await work(file);
        assert.deepEqual(problems, []);
    } finally {
        await context.close();
        rmSync(directory, { recursive: true, force: true });
    }
}

test('a frozen view is what was on the screen, with its filters, zoom and function', () =>
    open('ui/flamegraph?f=main', {}, async (page) => {
        await page.locator('.flame canvas').focus();
        for (const key of ['ArrowDown', 'Enter']) await page.keyboard.press(key);
        await until(page, () => /z=1/.test(location.hash));
        const about = await page.locator('.about').textContent();
        await openFrozen(page, async (file) => {
            assert.equal(await file.locator('.about').textContent(), about);
            assert.match(await file.locator('.chips').textContent(), /focus: main/);
            await until(file, () => document.querySelector('.minimap').clientWidth > 0);
            assert.deepEqual(await file.locator('.drop > summary').allTextContents(), ['Sample cpu']);
            // Other sample types are in the file.
            await file.locator('.drop summary', { hasText: 'Sample' }).click();
            await file.locator('.drop[open] a', { hasText: 'samples' }).click();
            await until(file, () => document.querySelector('.drop summary').textContent === 'Sample samples');
            await file.keyboard.press('3');
            await file.locator('.sandwich h2').waitFor();
            await search(file).fill('x');
            await search(file).press('Enter');
            await until(file, () => /one view only/.test(document.querySelector('[role=alert]').textContent));
        });
        for (const view of ['Top', 'Graph', 'Peek', 'Tags']) {
            await choose(page, 'View', view);
            await shows(page, view.toLowerCase());
            const text = await page.locator('.content').textContent();
            await openFrozen(page, async (file) => assert.equal((await file.locator('.content').textContent()).slice(0, 40), text.slice(0, 40)));
        }
    }));

test('the table: sorted by each column, a chosen row has actions', () =>
    open('ui/top', {}, async (page) => {
        const all = await names(page);
        await button(page, 'Function').click();
        await settled(page);
        const sorted = await names(page);
        assert.deepEqual(sorted, [...sorted].sort());
        assert.notDeepEqual(sorted, all);
        await button(page, 'Cum').click();
        await settled(page);
        assert.notEqual((await names(page))[0], BUSY);
        await button(page, 'Flat').click();
        await settled(page);
        assert.equal((await names(page))[0], BUSY);
        await rows(page).first().click();
        const line = page.getByRole('group', { name: 'Chosen function' });
        assert.match(await line.textContent(), /^main\.burnCycles.*itself .*with all it calls /);
        assert.equal(await rows(page).first().getAttribute('aria-pressed'), 'true');
        await line.getByRole('link', { name: 'Callers and callees' }).click();
        await page.getByRole('region', { name: 'Callers and callees' }).waitFor();
        assert.equal(fragment(page).fn, BUSY);
    }));

test('the table: order and chosen rows are in the address; several rows are chosen by pointer and keys', () =>
    open('ui/top', {}, async (page) => {
        const all = await names(page);
        const chosen = () => namesOf(page.locator('.rows [aria-pressed=true]'));
        const bySize = [...all];
        await button(page, 'Cum').click();
        await until(page, () => location.hash === '#o=cum');
        await page.locator('[role=columnheader].c-name button').click();
        await until(page, () => location.hash === '#o=name');
        await page.locator('[role=columnheader].c-name button').click();
        await until(page, () => location.hash === '#o=-name');
        const backwards = await names(page);
        assert.deepEqual(backwards, [...backwards].sort().reverse());
        await page.reload();
        await rows(page).first().waitFor();
        assert.deepEqual(await names(page), backwards);
        await page.goBack();
        await until(page, () => location.hash === '#o=name');
        await page.goBack();
        await page.goBack();
        await until(page, () => location.hash === '');
        assert.deepEqual(await names(page), bySize);
        await rows(page).nth(0).click();
        await rows(page).nth(2).click({ modifiers: ['Control'] });
        assert.deepEqual(await chosen(), [all[0], all[2]]);
        await rows(page).nth(0).click({ modifiers: ['Control'] });
        assert.deepEqual(await chosen(), [all[2]]);
        await rows(page).nth(0).click({ modifiers: ['Shift'] });
        // A range begins at the row that was clicked last without Shift.
        assert.deepEqual(await chosen(), [all[0]]);
        const quoted = (list) => list.map((name) => `^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`).join('|');
        await rows(page).nth(0).click();
        await page.keyboard.press('Shift+ArrowDown');
        await page.keyboard.press('Shift+ArrowDown');
        assert.deepEqual(await chosen(), all.slice(0, 3));
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Control+Space');
        assert.deepEqual(await chosen(), all.slice(0, 4));
        const line = page.getByRole('group', { name: 'Chosen functions' });
        assert.match(await line.textContent(), /^4 functionsthemselves \d/);
        assert.equal(await line.getByRole('link', { name: 'Source' }).getAttribute('href'), `source?${new URLSearchParams({ f: quoted(all.slice(0, 4)) })}`);
        // At once, before the address has the choice: Back leads to it.
        await line.getByRole('link', { name: 'Peek' }).click();
        await shows(page, 'peek');
        await page.goBack();
        await shows(page, 'top');
        assert.deepEqual(await chosen(), all.slice(0, 4));
        await page.reload();
        await line.waitFor();
        assert.deepEqual(await chosen(), all.slice(0, 4));
        await line.getByRole('button', { name: 'Hide' }).click();
        // Rows of equal values may have another order after the reload.
        const parts = (pattern) => pattern.split('|').sort().join('|');
        await until(page, (wanted) => (new URLSearchParams(location.search).get('h') || '').split('|').sort().join('|') === wanted, parts(quoted(all.slice(0, 4))));
        assert.ok(!(await names(page)).includes(all[0]));
    }));

test('top shows the heading of its report, says how many rows are not shown, and shows them', () =>
    open('ui/top?f=F', { file: 'hostile/names/wide.pb.gz' }, async (page) => {
        const head = await page.locator('.report-head').textContent();
        assert.match(head, /Active filters:.*focus=F.*Showing nodes accounting for .* total/);
        assert.match(head, /Dropped 5000 nodes/);
        assert.equal(await page.locator('.rest').textContent(), '5,000 rows not shown. Show all 5,000 rows');
        await page.getByRole('link', { name: 'Show all 5,000 rows' }).click();
        await hasParameter(page, 'trim', 'f');
        assert.equal(await page.getByRole('table', { name: 'Functions' }).getAttribute('aria-rowcount'), '5001');
        await page.goto(new URL('top?nf=0', page.url()).href);
        await shows(page, 'top');
        assert.match(await page.locator('.report-head').textContent(), /Showing top 500 nodes out of 5000/);
        assert.equal(await page.locator('.rest').textContent(), '4,500 rows not shown. Show all 5,000 rows');
        await page.getByRole('link', { name: 'Show all 5,000 rows' }).click();
        await page.getByRole('link', { name: 'Show the heaviest rows only' }).click();
        await until(page, () => document.querySelector('.rest').textContent.startsWith('4,500'));
        // The lines of the page's own heading are not repeated.
        assert.doesNotMatch(await page.locator('.report-head').textContent(), /Type:|File:/);
    }));

test('the call graph: moved and enlarged by keys, wheel and pointer; a node chooses its function', () =>
    open('ui/graph', {}, async (page) => {
        const box = page.locator('.call-graph');
        const seen = () => page.locator('.call-graph svg').getAttribute('viewBox');
        const changed = async (act) => {
            const before = await seen();
            await act();
            await until(page, (old) => document.querySelector('.call-graph svg').getAttribute('viewBox') !== old, before);
        };
        await box.focus();
        await changed(() => page.keyboard.press('ArrowRight'));
        await changed(() => page.keyboard.press('+'));
        await changed(() => page.keyboard.press('0'));
        const { x, y, width, height } = await box.boundingBox();
        await page.mouse.move(x + width / 2, y + height / 2);
        await changed(() => page.mouse.wheel(0, -100));
        await changed(async () => {
            await page.mouse.down();
            await page.mouse.move(x + width / 2 + 50, y + height / 2 + 30, { steps: 4 });
            await page.mouse.up();
        });
        await page.keyboard.press('0');
        assert.equal(await page.evaluate(() => [...document.querySelectorAll('.call-graph .node')].every((node) => {
            const [outer, inner] = [document.querySelector('.call-graph').getBoundingClientRect(), node.getBoundingClientRect()];
            return inner.top >= outer.top && inner.bottom <= outer.bottom;
        })), true, 'the whole graph is visible');
        const node = page.getByRole('button', { name: `${BUSY} ` });
        await node.focus();
        await page.keyboard.press('Enter');
        assert.match(await page.getByRole('group', { name: 'Chosen function' }).textContent(), /^main\.burnCycles/);
        // With Ctrl a click adds a node to the choice, or removes it.
        const other = page.locator('.call-graph .node[role=button]:not(.chosen)').first();
        await other.focus();
        await page.keyboard.press('Control+Enter');
        assert.match(await page.getByRole('group', { name: 'Chosen functions' }).textContent(), /^2 functions/);
        await until(page, () => decodeURIComponent(location.hash).split('\n').length === 2);
        assert.equal(await page.locator('.call-graph [aria-pressed=true]').count(), 2);
        await page.keyboard.press('Control+Enter');
        assert.match(await page.getByRole('group', { name: 'Chosen function' }).textContent(), /^main\.burnCycles/);
        await search(page).fill('burnCycles');
        await until(page, () => document.querySelectorAll('.call-graph .lit').length === 1);
        await choose(page, 'Refine', 'Focus');
        await hasParameter(page, 'f', 'burnCycles');
    }));

// The browser reports that its parser blocks handlers and styles of the drawing.
test('the call graph has its position in the URL', () =>
    open('ui/graph', {}, async (page) => {
        const seen = () => page.locator('.call-graph svg').getAttribute('viewBox');
        const first = await seen();
        await page.locator('.call-graph').focus();
        for (const key of ['+', '+', 'ArrowRight', 'ArrowDown']) await page.keyboard.press(key);
        await until(page, () => /^#z=-?[\d.]+_-?[\d.]+_[\d.]+$/.test(location.hash));
        const position = new URL(page.url()).hash;
        const moved = (await seen()).split(' ').map(Number);
        await page.reload();
        await shows(page, 'graph');
        (await seen()).split(' ').forEach((value, i) => assert.ok(Math.abs(Number(value) - moved[i]) < Math.abs(moved[i]) / 50 + 1, `${i}: ${value} and ${moved}`));
        assert.equal(new URL(page.url()).hash, position);
        await page.getByRole('button', { name: 'Reset position and size' }).click();
        await until(page, () => location.hash.length < 2);
        assert.equal(await seen(), first);
        await page.goto(page.url().replace(/#.*/, '') + '#z=nonsense_1');
        await until(page, (viewBox) => document.querySelector('.call-graph svg').getAttribute('viewBox') === viewBox, first);
    }));

test('a hostile drawing: only known elements and attributes are copied', () =>
    open('ui/top', { errors: /^policy: (script|style)-src-(attr|elem) inline$|Content Security Policy/ }, async (page) => {
        const drawing = `<?xml version="1.0"?><?xml-stylesheet href="http://127.0.0.1:1/x.css"?>
<svg width="10pt" height="10pt" viewBox="0 0 10 10" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" onload="window.pwned=1" style="position:fixed">
<script>window.pwned=1</script><style>* { display: none }</style><foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><img src="http://127.0.0.1:1/a" onerror="window.pwned=1"/></body></foreignObject>
<image href="http://127.0.0.1:1/b"/><use href="http://127.0.0.1:1/c#d"/><animate attributeName="href" values="javascript:window.pwned=1"/><set attributeName="onclick" to="window.pwned=1"/>
<g id="view" class="node evil" onclick="window.pwned=1"><title>N1</title><a xlink:href="javascript:window.pwned=1" href="javascript:window.pwned=1" xlink:title="&lt;img src=x onerror=window.pwned=1&gt; (1s)">
<polygon fill="url(http://127.0.0.1:1/e)" stroke="red" points="0,0 1,1" filter="url(#x)" mask="url(http://127.0.0.1:1/m)"/><text x="1" y="1" onmouseover="window.pwned=1">\u202eevil&lt;script&gt;</text></a></g>
<g class="node"><title>N2</title><g id="a_node2"><a xlink:title="main.\u202eevil (2s)"><ellipse cx="1" cy="1" rx="2" ry="2" fill="#ff0000"/></a></g></g></svg>`;
        await changeAnswers(page, (answer) => (answer.view === 'graph' ? { ...answer, data: { svg: drawing } } : answer));
        await choose(page, 'View', 'Graph');
        await shows(page, 'graph');
        const copied = await page.locator('.call-graph').evaluate((box) => [...box.querySelectorAll('*')].map((node) => [node.localName, [...node.attributes].map(({ name, value }) => `${name}=${value}`).sort()]));
        assert.deepEqual([...new Set(copied.map(([name]) => name))].sort(), ['ellipse', 'g', 'polygon', 'svg', 'text', 'title']);
        const attributes = copied.flatMap(([, list]) => list).filter((text) => !text.startsWith('viewBox='));
        assert.deepEqual(attributes.filter((text) => /url|href|^on|style|^id=|javascript|evil$|filter|mask/.test(text)), []);
        assert.ok(attributes.includes('fill=#ff0000') && attributes.includes('stroke=red'), attributes.join('\n'));
        assert.match(await page.locator('.call-graph').textContent(), /\\u202eevil<script>/);
        await page.getByRole('button', { name: 'main.\\u202eevil (2s)' }).focus();
        await page.keyboard.press('Enter');
        assert.match(await page.getByRole('group', { name: 'Chosen function' }).textContent(), /^main\.\\u202eevil/);
        for (const broken of ['', '<svg', '<html xmlns="http://www.w3.org/1999/xhtml"><script>window.pwned=1</script></html>', '<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg"/>']) {
            await page.unrouteAll();
            await changeAnswers(page, (answer) => (answer.view === 'graph' ? { ...answer, data: { svg: broken } } : answer));
            await page.goto(new URL('top', page.url()).href);
            await choose(page, 'View', 'Graph');
            await shows(page, 'graph');
            assert.match(await page.locator('.content').textContent(), /^cannot draw this view: the graph /);
        }
    }));

test('source: a line opens its machine code; a missing file can be pasted', () =>
    open('ui/top?f=burnCycles', {}, async (page, requests) => {
        await answerCode(page);
        await choose(page, 'View', 'Source');
        await shows(page, 'source');
        assert.match(await page.locator('.note').textContent(), /binary was not found/);
        const line = page.locator('.source button').first();
        await line.click();
        assert.equal(await line.getAttribute('aria-expanded'), 'true');
        assert.ok((await page.locator('.instruction').count()) > 0);
        assert.match(await page.locator('.instruction small').first().textContent(), /^work\.go:\d+ · inlined: main\.go:40 foo\(\)$/);
        await line.click();
        assert.equal(await page.locator('.instruction:visible').count(), 0);
        await page.locator('.source-file > summary').last().click();
        const area = page.locator('.source-file').last().getByRole('textbox');
        await area.fill('package main // pasted');
        await page.locator('.source-file').last().getByRole('button', { name: 'Use this source' }).click();
        await page.getByText('package main // pasted').first().waitFor();
        assert.ok(requests.includes('POST /ui/source?f=burnCycles'), requests.join('\n'));
        // The text stays with other filters.
        await choose(page, 'Sample', 'samples');
        await hasParameter(page, 'si', 'samples');
        await page.locator('.source-file > summary').last().click();
        await page.getByText('package main // pasted').first().waitFor();
    }));

test('the chosen frame of the flame graph and the chosen function of the graph are in the URL', () =>
    open('ui/flamegraph', {}, async (page) => {
        const described = () => page.locator('.graph .detail strong').textContent();
        await page.locator('canvas').first().focus();
        for (const key of ['ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
        await until(page, () => /\bc=\d+/.test(location.hash));
        const frame = await described();
        assert.notEqual(frame, 'all');
        await page.reload();
        await shows(page, 'flamegraph');
        assert.equal(await described(), frame);
        await choose(page, 'View', 'Graph');
        await shows(page, 'graph');
        const node = page.locator('.call-graph .node[role=button]').first();
        await node.focus();
        await page.keyboard.press('Enter');
        const name = await page.locator('.chosen-line strong').textContent();
        await until(page, (wanted) => new URLSearchParams(location.hash.slice(1)).get('c') === wanted, name);
        await page.reload();
        await shows(page, 'graph');
        assert.equal(await page.locator('.chosen-line strong').textContent(), name);
        assert.equal(await page.locator('.call-graph .node.chosen').count(), 1);
    }));

test('source: what is open is in the URL', () =>
    open('ui/source?f=burnCycles', {}, async (page) => {
        await answerCode(page);
        await page.goto(new URL('top?f=burnCycles', page.url()).href);
        await choose(page, 'View', 'Source');
        await shows(page, 'source');
        const files = page.locator('.source-file');
        const isOpen = (locator) => locator.evaluate((box) => box.open);
        assert.deepEqual([await isOpen(files.first()), await isOpen(files.last())], [true, false]);
        await page.locator('.source button').nth(1).click();
        await files.last().locator('> summary').click();
        await files.first().locator('.source-function > summary').click();
        await until(page, () => new URLSearchParams(location.hash.slice(1)).get('c')?.split('\n').length === 3);
        const url = page.url();
        await choose(page, 'View', 'Top');
        await shows(page, 'top');
        await page.goBack();
        await shows(page, 'source');
        assert.equal(page.url(), url);
        assert.deepEqual([await isOpen(files.first()), await isOpen(files.last())], [true, true]);
        assert.equal(await isOpen(files.first().locator('.source-function')), false);
        await files.first().locator('.source-function > summary').click();
        await page.locator('.instruction').waitFor();
    }));

test('source of the real program: values beside the lines, and a pasted text in place of a file', () =>
    open('ui/source?f=burnCycles', {}, async (page) => {
        const hit = page.locator('.source .hit').first();
        assert.match(await hit.locator('td').nth(2).textContent(), /^\d+ms$/);
        assert.match(await hit.locator('td').nth(2).getAttribute('title'), /^\d+(\.\d+)?% of the total$/);
        assert.match(await page.locator('.source-function > summary').first().textContent(), /itself \d+m?s \(.+%\), with all it calls /);
        const number = Number(await hit.locator('td').first().textContent());
        await page.getByText('Paste another source').or(page.getByText('The source was not found on this machine')).first().click();
        await page.locator('.source-file textarea').first().fill(Array.from({ length: number }, (_, i) => `pasted line ${i + 1}`).join('\n'));
        await button(page, 'Use this source').first().click();
        await until(page, (text) => document.querySelector('.source .hit code').textContent === text, `pasted line ${number}`);
        // A frozen view has it, too.
        await page.locator('.drop summary', { hasText: 'Download' }).click();
        const download = page.waitForEvent('download');
        await button(page, 'This view as one offline file').click();
        const frozen = readFileSync(await (await download).path(), 'utf8');
        assert.ok(frozen.includes(`pasted line ${number}`));
    }));

test('disassembly: the names of functions are links', () =>
    open('ui/top', {}, async (page) => {
        await answerCode(page);
        await rows(page).filter({ hasText: BUSY }).click();
        await page.getByRole('link', { name: 'Disasm', exact: true }).click();
        await shows(page, 'disasm');
        assert.equal(parameters(page).f, BUSY_PATTERN);
        assert.equal(await page.locator('.report').textContent(), DISASM);
        assert.deepEqual(await page.locator('.report a').allTextContents(), [BUSY, 'runtime.mallocgc', 'runtime.gcStart']);
        await page.locator('.report a', { hasText: 'gcStart' }).click();
        await hasParameter(page, 'f', '^runtime\\.gcStart$');
    }));

test('tags: a value focuses on it or ignores it, a key can be hidden', () =>
    open('ui/tags', { file: 'heap.pb.gz' }, async (page) => {
        const first = page.locator('.tag-value').first();
        const [key, value] = [await page.locator('.tag-key h2 bdi').first().textContent(), await first.locator('bdi').textContent()];
        // The text of a number is rounded, so that its filter has the exact number.
        const pattern = new URL(await first.getByRole('link').first().getAttribute('href'), page.url()).searchParams.get('tf');
        assert.match(pattern, /^bytes=\d+bytes$/);
        await first.getByRole('link').first().click();
        await hasParameter(page, 'tf', pattern);
        await button(page, 'Undo').click();
        await hasParameter(page, 'tf', null);
        await first.getByRole('link', { name: `Ignore ${value}` }).click();
        await hasParameter(page, 'ti', pattern);
        await button(page, 'Undo').click();
        await hasParameter(page, 'ti', null);
        await page.getByRole('link', { name: 'Hide this label' }).first().click();
        await hasParameter(page, 'th', `^${key}$`);
        // A text is a pattern that matches nothing else.
        await changeAnswers(page, (answer) => ({ ...answer, data: { keys: [{ key: 'user', total: '1', values: [{ value: 'a.b (1)', text: '1', share: 0.5 }] }] } }));
        await search(page).fill('.');
        await search(page).press('Enter');
        await page.getByRole('link', { name: 'a.b (1)', exact: true }).click();
        await hasParameter(page, 'tf', 'user=^a\\.b \\(1\\)$');
    }));

test('tags: a value with a comma, and a key with =, focus on exactly their samples', () =>
    open('ui/tags', { file: 'hostile/labels.pb.gz' }, async (page) => {
        const links = await page.locator('.tag-value').evaluateAll((values) => values.map((value) => value.querySelector('a').getAttribute('href')));
        const amounts = [];
        for (const link of links) {
            await page.goto(new URL(link, page.url()).href);
            await shows(page, 'tags');
            assert.equal(await alert(page), '', link);
            amounts.push(await page.locator('.tag-value .amount').allTextContents());
        }
        assert.equal(amounts.length, 6);
        assert.deepEqual(amounts.map((one) => one.length), Array(6).fill(1), `${links}\n${amounts}`);
        assert.equal(new Set(amounts.flat()).size, 6, amounts.join());
    }));

test('tags: one label after the other is ignored, of the same key and of others', () =>
    open('ui/tags', { file: 'hostile/labels.pb.gz' }, async (page) => {
        const values = () => page.locator('.tag-value').count();
        for (let left = (await values()) - 1; left > 0; left--) {
            const before = page.url();
            await page.getByRole('link', { name: /^Ignore/ }).last().click();
            await page.waitForURL((url) => url.href !== before);
            await shows(page, 'tags');
            assert.equal(await values(), left, page.url());
        }
        await page.getByRole('link', { name: /^Ignore/ }).click();
        await page.getByText('The profile is empty').or(page.getByText(/No sample that passes/)).first().waitFor();
    }));

test('tags: the page asks for more values of a label as the reader wants them', () =>
    open('ui/tags', { file: 'hostile/many_labels.pb.gz' }, async (page, requests) => {
        const values = page.locator('.tag-value > a > bdi');
        const more = button(page, 'Show more of 2,500 values');
        assert.equal(await values.count(), 100);
        await more.click();
        await until(page, () => document.querySelectorAll('.tag-value').length === 1100);
        await more.click();
        await until(page, () => document.querySelectorAll('.tag-value').length === 2100);
        await more.click();
        await until(page, () => document.querySelectorAll('.tag-value').length === 2500);
        assert.equal(await more.isVisible(), false);
        // The heaviest first, each once.
        assert.deepEqual(await values.allTextContents(), Array.from({ length: 2500 }, (_, i) => `r${2499 - i}`));
        assert.deepEqual(requests.filter((request) => request.includes('at=')), [100, 1100, 2100].map((at) => `GET /ui/tags?label=request&at=${at}`));
    }));

/** Matches 100 functions of 250 callers each. */
const MANY = 'leaf\\.L1[0-9][0-9]';

test('peek: a long text arrives in pieces, and no line is missing', () =>
    open(`ui/peek?f=${encodeURIComponent(MANY)}`, { file: 'hostile/folded.pb.gz' }, async (page, requests) => {
        const whole = execFileSync(process.env.PROFGRAB, ['pprof', '-lines', `-focus=${MANY}`, `-peek=${MANY}`, fileInPages('hostile/folded.pb.gz')], { encoding: 'utf8', maxBuffer: 1 << 28 });
        const more = button(page, /^Show more of (over )?[\d,]+ lines$/);
        while (await more.isVisible()) {
            const shownLines = await page.locator('.report .line').count();
            await more.click();
            await page.waitForFunction((n) => document.querySelectorAll('.report .line').length > n, shownLines);
        }
        const lines = (text) => text.trimEnd().split('\n').filter((line) => line.includes('|'));
        assert.ok(requests.filter((request) => /[?&]at=/.test(request)).length >= 2, requests.join());
        assert.deepEqual(lines(await page.locator('.report').textContent()), lines(whole));
    }));

/** The marked texts. */
const marked = (page) => page.evaluate(() => [...(CSS.highlights.get('found') || [])].map(String));

test('the search marks its matches in source, tags, peek and disasm, by the rules of the filters', () =>
    open('ui/peek?f=burnCycles', {}, async (page) => {
        await answerCode(page);
        const finds = async (pattern, notice, expected) => {
            await search(page).fill(pattern);
            await until(page, (text) => document.querySelector('.notice').textContent === text, notice);
            assert.deepEqual([...new Set(await marked(page))].sort(), expected, pattern);
        };
        await search(page).fill('burn');
        const occurrences = (await page.locator('.report').textContent()).match(/burn/g).length;
        await until(page, (n) => document.querySelector('.notice').textContent === `${n} matches in the text shown`, occurrences);
        assert.deepEqual([...new Set(await marked(page))], ['burn']);
        await finds('BURN', '0 matches in the text shown', []);
        await finds('(', 'a ( is not closed', []);
        await search(page).fill('(?i)\\bBURN\\pL+|x');
        await until(page, () => [...CSS.highlights.get('found')].some((range) => String(range) === 'burnCycles'));
        await finds('', '', []);
        await choose(page, 'View', 'Source');
        await shows(page, 'source');
        await finds('line1[23]', '2 matches in the text shown', ['line12', 'line13']);
        await page.locator('.source-file > summary').last().click();
        await finds('^main\\.burnCycles$|missing', '3 matches in the text shown', [BUSY, 'missing']);
        await choose(page, 'View', 'Disassembly');
        await shows(page, 'disasm');
        // A match may begin before a link and end in it.
        await finds('<runtime\\.gc', '1 match in the text shown', ['<runtime.gc']);
        await choose(page, 'View', 'Tags');
        await changeAnswers(page, (answer) => ({ ...answer, data: { keys: [{ key: 'user', total: '1', values: [{ value: '<b>bold</b>', text: '1', share: 0.5 }] }] } }));
        await search(page).press('Enter');
        await page.locator('.tag-value').waitFor();
        await finds('b>|user', '3 matches in the text shown', ['b>', 'user']);
    }));

test('an error keeps the view, the URL and the history; the next answer removes it', () =>
    open('ui/top', { errors: /400 \(Bad Request\)|403 \(Forbidden\)|net::ERR/ }, async (page) => {
        const all = await names(page);
        await search(page).fill('a(');
        await search(page).press('Enter');
        await until(page, () => document.querySelector('[role=alert]').textContent !== '');
        assert.match(await alert(page), /regexp/);
        assert.equal(new URL(page.url()).search, '');
        await search(page).fill('');
        await until(page, (n) => document.querySelectorAll('.rows .row').length === n, all.length);
        await choose(page, 'View', 'Tags');
        await shows(page, 'tags');
        assert.equal(await alert(page), '');
        // Another run of the program has another token.
        await page.context().clearCookies();
        await choose(page, 'View', 'Graph');
        await until(page, () => document.querySelector('[role=alert]').textContent === 'HTTP status 403: load the page again');
        // The server has ended.
        await page.route('**/ui/**', (route) => route.abort());
        await choose(page, 'View', 'Graph');
        await until(page, () => /does not answer/.test(document.querySelector('[role=alert]').textContent));
        await shows(page, 'tags');
        await page.goBack();
        await shows(page, 'top');
    }));

test('a difference: one colour for more, one for less', () =>
    open('ui/flamegraph', { file: 'hostile/difference.pb.gz' }, async (page) => {
        await page.getByText('less than before').waitFor();
        assert.match(await page.locator('.about').textContent(), /2ms more, of 8ms that changed/);
        const { colours } = await measureInk(page);
        assert.ok(colours.length >= 2, colours.join());
        await choose(page, 'View', 'Top');
        await until(page, () => [...document.querySelectorAll('.rows .c-flat')].some((cell) => cell.textContent.startsWith('-')));
    }));

test('-diff_base: the change refers to the base, and the sandwich and the small picture have its colours', () =>
    open('ui/flamegraph#fn=main.main', { file: 'hostile/difference.pb.gz', args: ['-diff_base', fileInPages('hostile/base.pb.gz')] }, async (page) => {
        const coloured = () => page.evaluate(() => [...document.querySelectorAll('.sandwich canvas, .minimap canvas')].filter((canvas) => canvas.clientWidth).flatMap((canvas) => {
            const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            const seen = new Set();
            for (let i = 0; i < width * height * 4; i += 4) if (data[i + 3] === 255) seen.add(`rgb(${data[i]}, ${data[i + 1]}, ${data[i + 2]})`);
            return [[...seen]];
        }));
        await page.locator('.sandwich').waitFor();
        assert.match(await page.locator('.about').textContent(), /2ms less, of 4ms in the base/);
        await page.getByRole('button', { name: 'Whole graph' }).click();
        await page.getByText('less than before').waitFor();
        // In one step: the legend may be made again between two.
        const swatches = await page.evaluate(() => [...document.querySelectorAll('.legend .swatch')].map((swatch) => getComputedStyle(swatch).backgroundColor));
        await page.keyboard.press('3');
        await page.locator('.sandwich').waitFor();
        const [, callees] = await coloured();
        assert.ok(callees.includes(swatches[0]) && callees.includes(swatches[4]), `${swatches} in ${callees}`);
        await page.goto(page.url().replace(/#.*/, '#z=1'));
        await until(page, () => document.querySelector('.minimap canvas')?.clientWidth);
        const [small] = await coloured();
        assert.ok(small.some((colour) => swatches.includes(colour)), `${swatches} in ${small}`);
    }));

test('messages of the report are shown, and name the filter that matches nothing', () =>
    open('ui/top?f=nosuchfunction', {}, async (page) => {
        assert.equal(await alert(page), 'Focus expression matched no samples: nosuchfunction');
        await page.getByRole('list', { name: 'Filters in use' }).getByRole('button').click();
        await hasParameter(page, 'f', null);
        assert.equal(await alert(page), '');
        // Each filter matches samples, but none passes both.
        for (const view of ['top', 'flamegraph', 'tags']) {
            await page.goto(new URL(`${view}?f=burnCycles&i=main`, page.url()).href);
            await shows(page, view);
            const text = view === 'tags' ? await page.locator('.tags').textContent() : await alert(page);
            assert.match(text, /^No sample (that )?passes the filters focus: burnCycles, ignore: main/, view);
        }
    }));

test("the address of the profile's documentation is a link if it is one of the web", () =>
    open('ui/top', {}, async (page) => {
        const lines = ['Doc: https://example.com/a?b=<c>', 'Doc: javascript:window.pwned=1', 'Doc: http://exa mple', 'Doc: data:text/html,x', 'Type: https://example.com/'];
        await changeAnswers(page, (answer) => ({ ...answer, heading: lines }));
        await choose(page, 'View', 'Tags');
        await shows(page, 'tags');
        const links = await page.locator('.facts a').evaluateAll((all) => all.map(({ href, rel, textContent }) => [href, rel, textContent]));
        assert.deepEqual(links, [['https://example.com/a?b=%3Cc%3E', 'noopener noreferrer', 'https://example.com/a?b=<c>']]);
        assert.deepEqual(await page.locator('.facts > span').allTextContents(), lines);
    }));

test('a new navigation ends the request before it, and shows that it works', () =>
    open('ui/top', {}, async (page) => {
        let release;
        const held = new Promise((resolve) => (release = resolve));
        await page.route('**/ui/tags*', async (route) => (await held, route.continue().catch(() => {})));
        await choose(page, 'View', 'Tags');
        await page.getByText('Working…').waitFor();
        await choose(page, 'View', 'Flame graph');
        await shows(page, 'flamegraph');
        release();
        await settled(page);
        assert.equal(await page.locator('.busy').textContent(), '');
        assert.equal(await page.evaluate(() => document.documentElement.dataset.view), 'flamegraph');
        assert.equal(await alert(page), '');
    }));

test('hostile names in every view', () =>
    open('ui/flamegraph', { file: 'hostile/names/names.pb.gz' }, async (page) => {
        const evil = '<img src=x onerror=window.pwned=1>\u202e';
        await changeAnswers(page, (answer) => ({
            ...answer,
            title: evil,
            heading: [evil],
            sources: [evil, evil],
            errors: [evil],
            data: { peek: { text: `| ${evil}\n` }, tags: { keys: [{ key: evil, total: evil, values: [{ value: evil, text: evil, share: 9 }] }] } }[answer.view] || answer.data,
        }));
        await page.route('**/ui/configs', (route) => route.fulfill({ json: [{ name: evil, query: 'f=x', current: false, saved: true }] }));
        for (const title of ['Top', 'Peek', 'Tags', 'Flame graph']) {
            await choose(page, 'View', title);
            await settled(page);
            assert.match(await alert(page), title === 'Flame graph' ? /^$/ : /^<img src=x .*\\u202e$/);
            assert.equal(await page.locator('main img, main script, header img').count(), 0);
            assert.ok(!(await page.locator('body').innerText()).includes('\u202e'));
        }
        await page.locator('.drop summary', { hasText: 'Config' }).click();
        await page.getByText('<img src=x onerror=window.pwned=1>\\u202e', { exact: true }).waitFor();
        assert.equal(await page.locator('header img').count(), 0);
        await page.locator('.drop summary', { hasText: 'Sample' }).click();
        await settled(page);
        assert.equal(await page.locator('header img').count(), 0);
    }));

/** axe-core's findings, as text. */
async function axe(page) {
    if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axeSource());
    const { violations, passes } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'], preload: false }));
    assert.ok(passes.length > 0, 'axe checked nothing');
    return violations.map((rule) => `${rule.id}: ${rule.help}: ${rule.nodes.map((node) => node.target.join(' ')).join(', ')}`);
}

for (const [name, options] of [['wide', {}], ['narrow', { size: NARROW }], ['dark', { scheme: 'dark' }]])
    test(`every view, ${name}: nothing exceeds the window, and axe-core finds nothing`, () =>
        open(`ui/flamegraph?f=${BUSY}`, { ...options, args: [fileInPages('cpu.pb.gz')] }, async (page) => {
            await answerCode(page);
            for (const view of VIEWS) {
                await choose(page, 'View', TITLES[view]);
                await shows(page, view);
                const first = { top: '.rows button', graph: '.node[role]', source: '.source button' }[view];
                if (first) await page.locator(first).first().focus();
                if (first) await page.keyboard.press('Enter');
                await settled(page);
                assert.deepEqual(await page.evaluate(exceeding), [], view);
                assert.deepEqual(await axe(page), [], view);
            }
            for (const menu of ['View', 'Sample', 'Refine', 'Config', 'Compare', 'Download']) {
                await page.keyboard.press('Escape');
                await page.locator('.drop summary', { hasText: menu }).click();
                await page.locator('.drop[open] li').first().waitFor();
                assert.deepEqual(await axe(page), [], menu);
                const list = await page.locator('.drop[open] ul').boundingBox();
                assert.ok(list.x >= 0 && list.x + list.width <= (options.size || WIDE).width, menu);
            }
            await page.keyboard.press('Escape');
            await page.locator('#main').focus();
            await page.keyboard.press('?');
            await page.getByRole('dialog').waitFor();
            assert.deepEqual(await axe(page), [], 'help');
        }));

test('Dark and Light change the theme, and the call graph with it', () =>
    open('ui/graph', {}, async (page) => {
        await page.getByRole('button', { name: 'Change to dark' }).click();
        await until(page, () => document.documentElement.dataset.theme === 'dark');
        assert.notEqual(await page.locator('.call-graph svg').evaluate((svg) => getComputedStyle(svg).filter), 'none');
    }));

test('on paper there is a table in place of the one that scrolls', () =>
    open('ui/top', {}, async (page) => {
        await page.emulateMedia({ media: 'print' });
        await page.locator('.papers table').waitFor();
        assert.match(await page.locator('.papers tbody tr').first().textContent(), /^\d+m?s.*main\.burnCycles$/);
        assert.equal(await page.locator('.bar-pprof').isVisible(), false);
    }));
