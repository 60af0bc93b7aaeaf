// The call graph that graphviz drew.

import { element } from '../text.js';
import { findFunctions } from '../search.js';
import { functionLine } from './actions.js';
import { makePan } from './pan.js';
import { readDrawing } from './svg.js';

export function makeGraphView({ data }, page) {
    const { svg, nodes } = readDrawing(data.svg);
    const named = [...nodes].filter(([, name]) => name);
    const box = element('div', { class: 'call-graph', tabindex: '0', role: 'group', 'aria-label': 'Call graph: arrow keys move it, + and - change its size, 0 resets' }, svg);
    const detail = element('div', { class: 'chosen-line' });
    const notice = element('p', { class: 'notice', role: 'status' });
    const pan = makePan(box, svg, (position) => {
        state.position = position;
        page.go({ z: position }, false);
    });
    const button = (text, label, click) => element('button', { type: 'button', 'aria-label': label, title: label, on: { click } }, text);
    const moves = element(
        'div',
        { class: 'moves' },
        button('+', '+ larger', () => pan.enlarge(1.25)),
        button('−', '− smaller', () => pan.enlarge(0.8)),
        button('Reset', 'Reset position and size', pan.fit),
    );
    /** names: the chosen functions as in the address, one a line. */
    const state = { names: null, chosen: [], search: null, position: null };

    const hint = element('p', { class: 'quiet' }, 'Choose a function to filter by it, or to see its source; with Ctrl or Shift several.');

    /** A click chooses a node alone; with Ctrl or Shift it adds the node to the others, or removes it. */
    function choose(name, event) {
        const isMore = event.ctrlKey || event.metaKey || event.shiftKey;
        const others = isMore ? state.chosen.filter((other) => other !== name) : [];
        const isAdded = !isMore || others.length === state.chosen.length;
        showChosen([...others, ...(isAdded ? [name] : [])].join('\n'));
        page.go({ c: state.names });
    }

    function showChosen(names) {
        const wanted = new Set(names.split('\n'));
        // A link may name functions that this graph lacks.
        Object.assign(state, { names, chosen: [...wanted].filter((name) => named.some(([, other]) => other === name)) });
        for (const [node, name] of named) {
            node.classList.toggle('chosen', wanted.has(name));
            node.setAttribute('aria-pressed', String(wanted.has(name)));
        }
        detail.replaceChildren(state.chosen.length ? functionLine(page, state.chosen, []) : hint);
    }

    for (const [node, name] of named) {
        node.setAttribute('tabindex', '0');
        node.setAttribute('role', 'button');
        node.addEventListener('click', (event) => pan.wasDragged() || choose(name, event));
        node.addEventListener('keydown', (event) => {
            if (event.key !== 'Enter' && event.key !== ' ') return;
            choose(name, event);
            event.preventDefault();
        });
        node.addEventListener('focus', () => node.matches(':focus-visible') && pan.reveal(node));
    }

    function update(place) {
        if (place.z !== state.position) pan.show(place.z);
        state.position = place.z;
        if (place.c !== state.names) showChosen(place.c);
        if (place.s === state.search) return;
        state.search = place.s;
        const found = findFunctions({ nFunctions: named.length, nameOf: (i) => named[i][1] }, place.s);
        const marked = found && !found.error ? found.marked : null;
        notice.textContent = !found ? '' : found.error || `${found.found} of ${named.length} nodes`;
        named.forEach(([node], i) => node.classList.toggle('lit', Boolean(marked && marked[i])));
    }

    const node = element('section', { 'aria-label': 'Graph' }, element('div', { class: 'graph-head' }, notice, moves), box, detail);
    return { node, update, repaint() {}, chosen: () => state.chosen };
}
