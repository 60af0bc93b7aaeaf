// A browser for the tests: Debian's Chromium without a window. It leaves no files. The names of functions in the pages have
// markup and scripts, which the browser must not run.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL, fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const require = createRequire(join(root, 'build/npm/browser/'));
const { chromium } = require('playwright-core');

export const axeSource = () => readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** The directory of the pages that tests/browser/run made. */
const pages = process.env.PAGES || join(root, 'build/npm/browser/pages');
const programs = [process.env.CHROMIUM, '/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

export const WIDE = { width: 1280, height: 900 };
export const NARROW = { width: 400, height: 800 };

const TIMEOUT = 15000;
/** The messages that the browser logs for an incomplete script. */
const SCRIPT_ERROR = /^policy: script-src|^Executing inline script|^SyntaxError|Content Security Policy/;

let started = null;

/** Starts one browser for the calling test file, with its own home directory. */
function browser() {
    started ||= start();
    return started;
}

async function start() {
    const home = mkdtempSync(join(tmpdir(), 'profgrab-browser-'));
    const launch = (chromiumSandbox) =>
        chromium.launch({
            executablePath: programs.find((program) => program && existsSync(program)),
            env: { PATH: process.env.PATH, HOME: home, TMPDIR: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home, LC_ALL: 'C.UTF-8' },
            chromiumSandbox,
            args: ['--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
        });
    // Chromium's own sandbox does not start for root, and needs privileges that many containers lack.
    const launched = await (process.getuid() === 0 ? launch(false) : launch(true).catch(() => launch(false)));
    return {
        launched,
        end: async () => {
            await launched.close();
            rmSync(home, { recursive: true, force: true });
        },
    };
}

/** Returns a new context of the browser, with its own cookies. The caller closes it. */
export const newContext = async (options) => (await browser()).launched.newContext(options);

/** Ends the browser, if one was started. */
export const end = async () => started && (await started).end();

/** A file of the directory of pages. */
export const fileInPages = (name) => join(pages, name);
export const pageFile = (name) => join(pages, `${name}.html`);
export const pageText = (name) => readFileSync(pageFile(name), 'utf8');

/** The bundle's description in a page. */
export const bundleOf = (name) => JSON.parse(pageText(name).match(/id="bundle">(.*?)<\/script>/s)[1]);

/** The id of the first view of that kind, service and form. An empty or omitted argument matches any. */
export function idOf(name, kind, service, form) {
    const wanted = Object.entries({ kind, service, form }).filter(([, value]) => value);
    const of = bundleOf(name).data.find((entry) => entry.id && wanted.every(([key, value]) => entry[key] === value));
    assert.ok(of, `${name} has no ${kind || form}`);
    return of.id;
}

/** Makes the page `to` from the page `from`: change(text) returns the new text. Returns `to`, for visit(). */
export function changedPage(from, to, change) {
    const text = pageText(from);
    const changed = change(text);
    assert.notEqual(changed, text);
    writeFileSync(pageFile(to), changed);
    return to;
}

/** Makes the same page with another description of the bundle: change(bundle) modifies it. */
export function describedPage(from, to, change) {
    const bundle = bundleOf(from);
    change(bundle);
    const escaped = JSON.stringify(bundle).replace(/[<>&\u2028\u2029]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
    return changedPage(from, to, (text) => text.replace(/(id="bundle">).*?(?=<\/script>)/s, (all, tag) => tag + escaped));
}

/** Makes the same page with another script, which its policy allows: change(script) returns the new script. */
export function scriptedPage(from, to, change) {
    const hashOf = (script) => createHash('sha256').update(script).digest('base64');
    return changedPage(from, to, (text) => {
        const [, script] = text.match(/<script type="module">(.*?)<\/script>/s);
        const changed = change(script);
        return text.replace(hashOf(script), hashOf(changed)).replace(script, () => changed);
    });
}

/** Runs in the page before its own scripts. */
export function reportViolations() {
    document.addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
}

/**
 * Opens a page, waits until it is drawn, runs work(page), and checks that the page logged no error, loaded nothing and ran
 * no script of a name. options: hash, size, scheme, and those of a browser context; broken: the page's script is incomplete, and the
 * browser may log that.
 */
export async function visit(name, options, work) {
    const { hash = '', size = WIDE, scheme = 'light', broken = false, ...rest } = options;
    const { launched } = await browser();
    const context = await launched.newContext({ viewport: size, colorScheme: scheme, reducedMotion: 'reduce', ...rest });
    try {
        await context.addInitScript(reportViolations);
        const url = pathToFileURL(pageFile(name)).href;
        const problems = [];
        await context.route('**/*', (route) => (route.request().url() === url ? route.continue() : route.abort()));
        context.on('request', (request) => request.url().split('#')[0] === url || problems.push(`requested ${request.url().slice(0, 200)}`));
        context.on('console', (message) => ['error', 'warning'].includes(message.type()) && problems.push(message.text()));
        context.on('weberror', (error) => problems.push(String(error.error())));
        context.on('page', (opened) => opened.opener().then((by) => by && problems.push(`opened ${opened.url()}`)));
        const page = await context.newPage();
        page.setDefaultTimeout(TIMEOUT);
        page.on('dialog', (dialog) => {
            problems.push(`showed a dialog: ${dialog.message()}`);
            dialog.dismiss();
        });
        await page.goto(url + hash);
        if (!broken) await drawn(page);
        await work(page);
        assert.equal(await page.evaluate(() => window.pwned), undefined, 'a name was executed');
        assert.deepEqual(broken ? problems.filter((problem) => !SCRIPT_ERROR.test(problem)) : problems, []);
    } finally {
        await context.close();
    }
}

/** Waits until the page has drawn its view and does not change any more. */
export async function drawn(page) {
    await page.waitForFunction(() => performance.getEntriesByName('profgrab:drawn').length && document.querySelector('#main').childElementCount);
    await settled(page);
}

/** Waits until the page has not changed for a while. */
export function settled(page) {
    return page.evaluate(
        () =>
            new Promise((resolve) => {
                let timer = 0;
                const again = () => {
                    clearTimeout(timer);
                    timer = setTimeout(() => (observer.disconnect(), resolve()), 60);
                };
                const observer = new MutationObserver(again);
                observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
                again();
            }),
    );
}

/** The parameters in the fragment of the URL. The page sets them shortly after a change. */
export const parametersOf = (page) => Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1)));

/** Waits until fn(arg) is true in the page and the page does not change any more. The error of a timeout contains fn. */
export async function until(page, fn, arg) {
    await page.waitForFunction(fn, arg).catch((error) => {
        throw new Error(`never true: ${fn}: ${error.message.split('\n')[0]}`);
    });
    await settled(page);
}

/** Returns the share of a canvas that does not have the background colour, and the colours of more than 1/200 of it. */
export function measureInk(page, selector = '.graph canvas') {
    return page.evaluate((wanted) => {
        const canvas = document.querySelector(wanted);
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const ground = getComputedStyle(canvas.closest('.flame, .card')).backgroundColor;
        const counts = new Map();
        for (let i = 0; i < data.length; i += 4) {
            const colour = data[i + 3] ? `rgb(${data[i]}, ${data[i + 1]}, ${data[i + 2]})` : ground;
            counts.set(colour, (counts.get(colour) || 0) + 1);
        }
        const all = data.length / 4;
        const colours = [...counts].filter(([colour, n]) => n > all / 200 && colour !== ground).map(([colour]) => colour);
        return { ink: 1 - (counts.get(ground) || 0) / all, colours };
    }, selector);
}

/** The colour of a canvas at a position in the window. */
export function pixelAt(page, x, y, selector = '.graph canvas') {
    return page.evaluate(
        ([left, top, wanted]) => {
            const canvas = document.querySelector(wanted);
            const box = canvas.getBoundingClientRect();
            const ratio = canvas.width / box.width;
            const at = [Math.round((left - box.left) * ratio), Math.round((top - box.top) * ratio)];
            return `rgb(${[...canvas.getContext('2d').getImageData(...at, 1, 1).data.slice(0, 3)].join(', ')})`;
        },
        [x, y, selector],
    );
}

/** Runs in the page: lists the elements that exceed the window's width, and reports a page that is wider than the window. */
export function exceeding() {
    const shown = (node) => node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && !node.closest('.aside, .skip');
    const name = (node) => `${node.tagName.toLowerCase()}.${String(node.className).slice(0, 40)}: ${node.textContent.slice(0, 60)}`;
    const wide = [...document.querySelectorAll('body *')].filter((node) => {
        // The elements in these boxes scroll.
        if (!shown(node) || node.parentElement.closest('.rows, .flame, .report, .source-lines, .call-graph')) return false;
        const box = node.getBoundingClientRect();
        return box.width > 0 && (box.left < -0.5 || box.right > innerWidth + 0.5);
    });
    const scrolls = document.documentElement.scrollWidth > innerWidth ? [`the page is ${document.documentElement.scrollWidth} px wide`] : [];
    return [...scrolls, ...wide.slice(0, 10).map(name)];
}
