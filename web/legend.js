// The modules and their colours, the most costly first. A click searches for the module.

import { element, untrusted } from './text.js';
import { percentage } from './units.js';
import { ownerOf } from './colours.js';

const SHOWN = 9;
const TITLES = { runtime: 'Go runtime', standard: 'standard library', native: 'native code' };
const PATTERNS = { runtime: '^(runtime|internal/runtime)[./]', native: '' };

/** A small square of a colour. */
export function swatchOf(colour) {
    const swatch = element('i', { class: 'swatch' });
    swatch.style.background = colour;
    return swatch;
}

/** Returns {node, update(figures by function, palette, colourOf), put(rows)}. */
export function makeLegend(profile, go) {
    const node = element('ul', { class: 'legend', 'aria-label': 'Colours' });
    const owners = new Map();

    function ownerAt(fn) {
        const path = profile.packageOf(fn);
        if (!owners.has(path)) owners.set(path, ownerOf(path));
        return owners.get(path);
    }

    function update({ flat }, palette, colourOf) {
        const sums = new Map();
        let whole = 0;
        for (let fn = 0; fn < flat.length; fn++) {
            if (flat[fn] === 0) continue;
            const owner = ownerAt(fn);
            const known = sums.get(owner) || { owner, value: 0, most: 0, fn };
            const value = Math.abs(flat[fn]);
            known.value += value;
            if (value > known.most) Object.assign(known, { most: value, fn });
            sums.set(owner, known);
            whole += value;
        }
        const list = [...sums.values()].sort((a, b) => b.value - a.value).slice(0, SHOWN);
        node.replaceChildren(...list.map((entry) => item(entry, whole, palette, colourOf)));
    }

    function item({ owner, value, fn }, whole, palette, colourOf) {
        const swatch = swatchOf(palette.css[colourOf(fn)]);
        const title = TITLES[owner] ? element('span', {}, TITLES[owner]) : untrusted(owner, 'bdi');
        const pattern = PATTERNS[owner] ?? `^${owner.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}[./]`;
        const click = () => go({ s: pattern }, true);
        const inside = [swatch, title, element('small', {}, percentage(value, whole))];
        if (owner === 'standard' || owner === 'native') return element('li', {}, inside);
        return element('li', {}, element('button', { type: 'button', title: 'search for it', on: { click } }, inside));
    }

    return { node, update, put: (rows) => node.replaceChildren(...rows) };
}
