// The list of everything there is to look at, by host and service.

import { element, stranger, visible } from './text.js';
import { linkTo } from './location.js';

/** Returns {node, update(the id that is shown)}. */
export function makeNavigation(bundle) {
    const links = new Map();
    const link = (id, place, ...inside) => {
        const node = element('a', { href: linkTo(place) }, inside);
        links.set(id, node);
        return element('li', {}, node);
    };
    const groups = new Map();
    // What differs between hosts is of none of them, and comes first.
    const compared = bundle.data.filter(({ from }) => from === 'sides');
    for (const entry of [...compared, ...bundle.data.filter(({ from }) => from !== 'sides')]) {
        const key = JSON.stringify([entry.host || '', entry.service || '']);
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push(entry);
    }
    const sections = [...groups.values()].map((entries) => [
        element('li', { class: 'of' }, stranger(entries[0].host || ''), ' ', stranger(entries[0].service || '', 'b')),
        entries.map((entry) =>
            entry.id
                ? link(entry.id, { v: entry.id }, stranger(labelOf(entry)))
                : element(
                      'li',
                      { class: 'none', title: visible(entry.why || '') },
                      stranger(labelOf(entry)),
                      ' ',
                      element('small', {}, 'not drawn'),
                  ),
        ),
    ]);
    const list = element('ul', {}, link('overview', { v: 'overview' }, 'Overview'), sections.flat());
    const box = element('details', { class: 'menu' }, element('summary', {}, 'Contents'), list);
    const wide = matchMedia('(min-width: 900px)');
    const adapt = () => {
        box.open = wide.matches;
    };
    wide.addEventListener('change', adapt);
    adapt();

    function update(id) {
        for (const [key, node] of links) {
            if (key === id) node.setAttribute('aria-current', 'page');
            else node.removeAttribute('aria-current');
        }
        if (!wide.matches) box.open = false;
    }

    return { node: element('nav', { 'aria-label': 'Contents' }, box), update };
}

function labelOf(entry) {
    const title = entry.title || entry.kind;
    const prefix = [entry.host, entry.service].filter(Boolean).join(' ');
    return prefix && title.startsWith(prefix + ' ') ? title.slice(prefix.length + 1) : title;
}
