// A small picture of the whole flame graph, with a mark around the zoomed frame. It is visible only while a frame is zoomed.

import { element } from './text.js';
import { beginOf, nodeAt, weigh } from './tree.js';
import { drawMiniature } from './miniature.js';

/** zoomTo(node): called when the reader clicks a frame. Returns {node, update(node, sample type, palette)}. */
export function makeMinimap(profile, zoomTo) {
    const { tree } = profile;
    const mark = element('div', { class: 'mark chosen' });
    const box = element('div', { class: 'minimap', title: 'the whole graph: a click zooms', 'aria-hidden': 'true', hidden: true });
    const drawn = { type: -1, palette: null, figures: null, row: 0 };

    function draw(type, palette) {
        if (drawn.type === type && drawn.palette === palette) return;
        const canvas = element('canvas', {});
        box.replaceChildren(canvas, mark);
        Object.assign(drawn, { type, palette, figures: weigh(tree, type), row: drawMiniature(canvas, { ...profile, type }, palette) });
    }

    box.addEventListener('click', (event) => {
        const { left, top, width } = box.getBoundingClientRect();
        const { figures, row } = drawn;
        const depth = row ? Math.floor((event.clientY - top) / row) + 1 : 0;
        const node = nodeAt(tree, figures, 0, depth, ((event.clientX - left) / width) * figures.weight[0]);
        zoomTo(Math.max(0, node));
    });

    function update(node, type, palette) {
        box.hidden = node <= 0;
        if (box.hidden) return;
        draw(type, palette);
        const { figures, row } = drawn;
        const share = (value) => `${(100 * value) / (figures.weight[0] || 1)}%`;
        mark.style.left = share(beginOf(tree, figures, 0, node));
        mark.style.width = `max(4px, ${share(figures.weight[node])})`;
        mark.style.top = `${Math.min(tree.depth[node] - 1, 12) * (row || 0)}px`;
    }

    return { node: box, update };
}
