// Starts `profgrab pprof -http` for the tests of its page.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileInPages } from './browser.js';

/** A file of the directory that tests/browser/run made, and arguments of pprof. Returns {url: with the token, end()}. */
export async function startServer(file, args = []) {
    // The settings of the page are in the home directory.
    const home = mkdtempSync(join(tmpdir(), 'profgrab-pprof-'));
    const server = spawn(process.env.PROFGRAB, ['pprof', '-http=127.0.0.1:0', '-no_browser', ...args, fileInPages(file)], {
        env: { PATH: process.env.PATH, HOME: home, TMPDIR: home, XDG_CONFIG_HOME: home, XDG_RUNTIME_DIR: home, LC_ALL: 'C.UTF-8' },
        stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => server.once('exit', resolve));
    const url = await new Promise((resolve, reject) => {
        let text = '';
        server.stdout.on('data', (chunk) => {
            text += chunk;
            const found = text.match(/http:\/\/127\.0\.0\.1:\S+/);
            if (found && text.endsWith('\n')) resolve(found[0]);
        });
        ended.then((code) => reject(new Error(`pprof -http ended with ${code}`)));
    });
    const end = async () => {
        server.kill();
        await ended;
        rmSync(home, { recursive: true, force: true });
    };
    return { url, end };
}
