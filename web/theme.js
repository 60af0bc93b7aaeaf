// Light or dark: the system's setting until the reader chooses one. Paper is always light.

import { paletteOf } from './colours.js';
import { element } from './text.js';

/** Returns {node, palette(), onPaper(), apply()}. node is a button that changes the theme. Calls changed() after each change. */
export function makeTheme(changed) {
    const system = matchMedia('(prefers-color-scheme: dark)');
    const paper = matchMedia('print');
    const palettes = {};
    let chosen = remembered();

    let printing = false;
    const onPaper = () => paper.matches || printing;
    const name = () => (onPaper() ? 'light' : chosen || (system.matches ? 'dark' : 'light'));

    function apply() {
        document.documentElement.dataset.theme = name();
        document.documentElement.dataset.paper = onPaper() ? 'yes' : 'no';
        node.textContent = name() === 'dark' ? 'Light' : 'Dark';
        node.setAttribute('aria-label', name() === 'dark' ? 'Change to light' : 'Change to dark');
        changed();
    }

    function print(now) {
        printing = now;
        apply();
    }

    function turn() {
        chosen = name() === 'dark' ? 'light' : 'dark';
        try {
            localStorage.setItem('profgrab-theme', chosen);
        } catch {
            // A page of file:// may have no storage. The choice is then lost on a reload.
        }
        apply();
    }

    const node = element('button', { type: 'button', class: 'theme', on: { click: turn } });
    system.addEventListener('change', apply);
    paper.addEventListener('change', apply);
    addEventListener('beforeprint', () => print(true));
    addEventListener('afterprint', () => print(false));

    function palette() {
        palettes[name()] ||= paletteOf(name());
        return palettes[name()];
    }

    return { node, palette, onPaper, apply };
}

function remembered() {
    try {
        const theme = localStorage.getItem('profgrab-theme');
        return theme === 'dark' || theme === 'light' ? theme : null;
    } catch {
        return null;
    }
}
