// view --http in a real browser: the address with the token, the file that leads there, the form for the token, and the cookie.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { end, newContext } from './browser.js';

after(end);

const DUMP = 'goroutine 1 [running]:\nmain.main()\n\t/src/main.go:3 +0x1d\n';

/** Starts view --http for a dump of goroutines, runs work(url, launcher), and ends it. launcher: a copy of the browser's file. */
async function serve(work) {
    const dir = mkdtempSync(join(tmpdir(), 'profgrab-http-'));
    const launcher = join(dir, 'launcher.html');
    const opener = join(dir, 'browser');
    writeFileSync(join(dir, 'goroutines.txt'), DUMP);
    writeFileSync(opener, `#!/bin/sh\ncp "$1" ${launcher}.part && mv ${launcher}.part ${launcher}\n`);
    chmodSync(opener, 0o700);
    // browser.js resolves no names.
    const server = spawn(process.env.PROFGRAB, ['view', '--http=127.0.0.1:0', join(dir, 'goroutines.txt')], {
        env: { ...process.env, BROWSER: opener, TMPDIR: dir, XDG_RUNTIME_DIR: dir },
        stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => server.once('exit', resolve));
    try {
        const url = await new Promise((resolve, reject) => {
            server.stdout.once('data', (text) => resolve(String(text).trim()));
            ended.then((code) => reject(new Error(`view --http ended with ${code}`)));
        });
        for (const start = Date.now(); !existsSync(launcher); await sleep(20)) assert.ok(Date.now() - start < 60000, 'no browser was started');
        await work(url, launcher);
    } finally {
        server.kill();
        await ended;
        rmSync(dir, { recursive: true, force: true });
    }
}

/** Opens an address in a new context, runs work(page), and checks that the page is drawn at the address without the token. */
async function arrives(address, url, work = async () => {}) {
    const context = await newContext();
    try {
        const page = await context.newPage();
        await page.goto(address);
        await work(page);
        await page.waitForURL((at) => at.origin === new URL(url).origin && at.search === '');
        await page.getByText('main.main').first().waitFor();
        await page.reload();
        await page.getByText('main.main').first().waitFor();
        assert.equal(await page.evaluate(() => document.referrer.includes('token')), false);
    } finally {
        await context.close();
    }
}

test('the printed address leads to the page', () => serve((url) => arrives(url, url)));

test('the file that the browser gets leads to the page', () => serve((url, launcher) => arrives(pathToFileURL(launcher).href, url)));

test('the form for the token leads to the page, after a wrong token too', () =>
    serve((url) =>
        arrives(new URL('/', url).href, url, async (page) => {
            for (const token of ['wrong', new URL(url).searchParams.get('token')]) {
                await page.getByLabel('Token').fill(token);
                await page.getByRole('button', { name: 'Open' }).click();
                if (token === 'wrong') await page.getByRole('alert').getByText('This is not the token.').waitFor();
            }
        }),
    ));
