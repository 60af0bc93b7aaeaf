// A small picture of a flame graph.

import { colourOf } from './colours.js';
import { weigh } from './tree.js';
import { changeColour, weighSides } from './sides.js';
import { deepestVisible } from './drawing.js';
import { element } from './text.js';

const ROWS = 14;
const PIXELS = 70;
const TALLEST_ROW = 12;

/** Returns the height of a row in CSS pixels, or 0 if nothing was drawn. */
export function drawMiniature(canvas, profile, palette) {
    const { tree, sides } = profile;
    const figures = sides ? weighSides(sides, profile.type) : weigh(tree, profile.type);
    const isChange = sides || profile.isDifference || figures.negative;
    const { weight } = figures;
    if (!weight[0]) {
        canvas.replaceWith(element('span', { class: 'nothing' }, 'nothing was recorded'));
        return 0;
    }
    const width = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio));
    const height = Math.round(PIXELS * devicePixelRatio);
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext('2d');
    const scale = width / weight[0];
    const rows = Math.min(ROWS, deepestVisible({ tree, figures: { weight }, zoom: 0 }, width / 2));
    const row = Math.min(height / Math.max(1, rows), TALLEST_ROW * devicePixelRatio);
    // The position of the next node at each depth.
    const next = new Float64Array(ROWS + 2);
    for (let i = 1; i < tree.n;) {
        const depth = tree.depth[i];
        const isSmall = depth > ROWS || weight[i] * scale < 1;
        if (depth <= ROWS) {
            next[depth + 1] = next[depth];
            next[depth] += weight[i];
        }
        if (!isSmall) {
            const fn = tree.fn[i];
            context.fillStyle = palette.css[fn < 0 ? 0 : isChange ? changeColour(figures, i) : colourOf(profile.packageOf(fn))];
            context.fillRect(next[depth + 1] * scale, (depth - 1) * row, Math.max(1, weight[i] * scale - 1), row - 1);
        }
        i = isSmall ? tree.end[i] : i + 1;
    }
    return row / devicePixelRatio;
}
