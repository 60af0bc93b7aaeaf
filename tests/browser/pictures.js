// pictures.js DIR: makes docs/pictures/ from the page bundle.html.

import { join } from 'node:path';
import { describedPage, end, idOf, visit } from './browser.js';

const [directory] = process.argv.slice(2);
const WIDE = { width: 1200, height: 800 };
const NARROW = { width: 400, height: 800 };

const at = (...of) => `#v=${idOf('bundle', ...of)}`;
const PICTURES = {
    overview: { size: { width: 1200, height: 980 } },
    flame: { size: WIDE, hash: `${at('cpu', 'node_exporter')}` },
    goroutines: { size: WIDE, hash: at('goroutines', 'queue', 'goroutines') },
    dark: { size: WIDE, hash: `${at('cpu', 'index')}`, scheme: 'dark' },
    narrow: { size: NARROW, hash: at('heap', 'queue') },
};

// Hides the name of the user who made the page.
const page = describedPage('bundle', 'shown', ({ manifest }) => Object.assign(manifest.collector, { user: 'carol', workstation: 'ws-7' }));

for (const [name, options] of Object.entries(PICTURES))
    await visit(page, options, async (shown) => {
        // The overview draws its small pictures one after the other.
        await shown.waitForFunction(() => [...document.querySelectorAll('.card canvas')].every((canvas) => canvas.width !== 300));
        await shown.screenshot({ path: join(directory, `report-${name}.png`) });
    });
await end();
