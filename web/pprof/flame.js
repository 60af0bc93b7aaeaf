// The flame graph of the pprof page: the view of a profile in report.html, with the page's own search field and filters.

import { profileOf } from '../data.js';
import { placeNumber } from '../location.js';
import { makeMinimap } from '../minimap.js';
import { selectedType } from './address.js';
import { makeProfileView } from '../profile.js';

/** The kind of a profile, as far as its sample types show it: titleOf() and the number of busy cores need it. */
function kindOf({ types }) {
    return types.some(({ type, unit }) => type === 'cpu' && unit === 'nanoseconds') ? 'cpu' : '';
}

/** In the URL, a function has its name, which is the same with all filters. The profile's view counts functions. */
function makeNumbers(profile) {
    let numbers = null;
    return (name) => {
        if (!name) return '';
        if (!numbers) {
            numbers = new Map();
            for (let fn = profile.nFunctions - 1; fn >= 0; fn--) numbers.set(profile.nameOf(fn), fn);
        }
        return String(numbers.get(name) ?? '');
    };
}

export function makeFlameView(answer, page) {
    // The totals before the filters, if the server sends them.
    const profile = { ...profileOf(answer.data), totals: answer.totals || null };
    const numberOf = makeNumbers(profile);
    const entry = { title: answer.title, kind: kindOf(profile) };

    function go(changes, step) {
        const isNumber = 'fn' in changes && changes.fn !== '';
        page.go(isNumber ? { ...changes, fn: profile.nameOf(Number(changes.fn)) } : changes, step);
    }

    const minimap = makeMinimap(profile, (node) => go({ z: node ? String(node) : '' }, true));
    const view = makeProfileView(entry, profile, go, page.palette, {
        before: minimap.node,
        search: page.searchField,
        actionsOf: (name) => page.actionsOf(name),
    });

    function update(place) {
        view.update({ ...place, f: '', i: '', fn: numberOf(place.fn), t: String(selectedType(page.address(), answer)) });
        drawMinimap();
    }

    const chosen = () => (view.selected() >= 0 ? profile.nameOf(view.selected()) : '');

    function drawMinimap() {
        minimap.update(placeNumber(page.place().z, profile.tree.n), selectedType(page.address(), answer), page.palette());
    }

    function repaint() {
        view.repaint();
        drawMinimap();
    }

    function sandwich() {
        // Without a chosen frame, the heaviest function that the root calls.
        const fn = view.selected() >= 0 ? view.selected() : profile.tree.fn[1];
        if (fn >= 0) go({ fn: String(fn), z: '' }, true);
    }

    return { node: view.node, update, repaint, chosen, sandwich, paper: view.paper };
}
