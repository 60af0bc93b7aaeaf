// Draws frames on a canvas. For each row of frames, one line of pixels is computed and repeated over the row's height.
// Thus the time depends on the size of the screen, not on the number of calls.

import { visible, cut } from './text.js';
import { formatValue, percentage } from './units.js';

/** Height of a row, CSS pixels. */
export const ROW = 20;
const FONT = '12px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif';
const NARROWEST_LABEL = 26;
/** A frame with less room after its name does not show its value, which is then not measured. */
const LEAST_ROOM_FOR_VALUE = 80;
/** The width of a letter in CSS pixels: the smallest average in a name, and the usual average. */
const NARROW_LETTER = 4.5;
const WIDE_LETTER = 6.3;

/** The depth of the deepest frame under the zoomed one that is at least half a pixel wide. */
export function deepestVisible({ tree, figures, zoom }, width) {
    const least = (figures.weight[zoom] / width) * 0.5;
    let depth = tree.depth[zoom];
    for (let i = zoom; i < tree.end[zoom];) {
        const drawn = figures.weight[i] >= least && figures.weight[i] > 0;
        if (drawn && tree.depth[i] > depth) depth = tree.depth[i];
        i = drawn ? i + 1 : tree.end[i];
    }
    return depth;
}

/**
 * scene: {tree, figures, zoom, up, rows, marked, palette, colourOf, nameOf, unit, whole, textOf(node) or null, pointed: the
 * function under the pointer, or -1}.
 * view: {width, height, top, ratio}: the canvas's size and scroll position in CSS pixels, and the number of device
 * pixels in each CSS pixel.
 */
export function paint(context, scene, view) {
    const { palette, up, rows } = scene;
    const width = Math.round(view.width * view.ratio);
    const height = Math.round(view.height * view.ratio);
    const first = Math.floor(view.top / ROW);
    const last = Math.min(rows - 1, Math.ceil((view.top + view.height) / ROW) - 1);
    const depths = up ? [rows - 1 - last, rows - 1 - first] : [first, last];
    const n = Math.max(0, depths[1] - depths[0] + 1);
    const lines = new Uint32Array(width * n).fill(palette.ground);
    const labels = [];
    drawAncestors(scene, depths, width, lines, labels);
    drawSubtree(scene, depths, width, lines, labels, NARROWEST_LABEL * view.ratio);
    const { canvas } = context;
    // Setting the size clears the canvas, so only a changed size is set.
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const yOf = (depth) => Math.round(((up ? rows - 1 - depth : depth) * ROW - view.top) * view.ratio);
    repeatDown(context, lines, width, depths, yOf, view.ratio, scene);
    writeLabels(context, scene, labels, yOf, view.ratio);
}

function pixelOf({ palette, colourOf, marked, tree, pointed }, node) {
    const fn = tree.fn[node];
    if (fn < 0) return palette.small;
    if (marked && marked[fn]) return palette.lit;
    if (fn === pointed) return palette.strong[colourOf(fn, node)];
    return (marked ? palette.faint : palette.plain)[colourOf(fn, node)];
}

function drawAncestors(scene, depths, width, lines, labels) {
    const { tree, zoom } = scene;
    for (let i = tree.parent[zoom]; i >= 0; i = tree.parent[i]) {
        const row = tree.depth[i] - depths[0];
        if (tree.depth[i] > depths[1] || row < 0) continue;
        lines.fill(pixelOf(scene, i), row * width, (row + 1) * width);
        labels.push(i, 0, width);
    }
}

function drawSubtree(scene, [top, bottom], width, lines, labels, narrowest) {
    const { tree, figures, zoom, palette } = scene;
    const { depth, end } = tree;
    const { weight } = figures;
    const scale = weight[zoom] > 0 ? width / weight[zoom] : 0;
    const least = scale ? 0.5 / scale : Infinity;
    // The position of the next node at each depth.
    const next = new Float64Array(bottom + 2);
    for (let i = zoom; i < end[zoom];) {
        const d = depth[i];
        const w = weight[i];
        if (d > bottom || !(w > 0)) {
            i = end[i];
            continue;
        }
        const x = next[d];
        next[d] += w;
        next[d + 1] = x;
        if (d >= top) {
            const left = Math.round(x * scale);
            const right = Math.round((x + w) * scale);
            const line = (d - top) * width;
            const gap = right - left > 3 ? 1 : 0;
            lines.fill(w < least ? palette.small : pixelOf(scene, i), line + left, line + right - gap);
            if (right - left >= narrowest) labels.push(i, left, right);
        }
        i = w < least ? end[i] : i + 1;
    }
}

// Draws from top to bottom, because with a fractional ratio a row's gap may overlap the next row.
function repeatDown(context, lines, width, [first, last], yOf, ratio, { up, palette }) {
    if (!width) return;
    const strip = context.createImageData(width, Math.ceil(ROW * ratio));
    const pixels = new Uint32Array(strip.data.buffer).fill(palette.ground);
    const end = width * Math.round((ROW - 1) * ratio);
    for (let i = 0; i <= last - first; i++) {
        const row = up ? last - first - i : i;
        pixels.set(lines.subarray(row * width, (row + 1) * width));
        for (let n = width; n < end; n *= 2) pixels.copyWithin(n, 0, Math.min(n, end - n));
        context.putImageData(strip, 0, yOf(first + row));
    }
}

function writeLabels(context, scene, labels, yOf, ratio) {
    const { tree, figures, palette, marked, nameOf } = scene;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = FONT;
    context.textBaseline = 'middle';
    context.direction = 'ltr';
    for (let at = 0; at < labels.length; at += 3) {
        const node = labels[at];
        const fn = tree.fn[node];
        const isLit = marked && fn >= 0 && marked[fn];
        const left = labels[at + 1] / ratio + 5;
        const room = (labels[at + 2] - labels[at + 1]) / ratio - 9;
        const y = yOf(tree.depth[node]) / ratio + ROW / 2;
        context.fillStyle = isLit ? palette.litInk : palette.ink;
        context.globalAlpha = marked && !isLit ? 0.6 : 1;
        const used = writeName(context, nameOf(fn), left, y, room);
        if (room - used < LEAST_ROOM_FOR_VALUE) continue;
        context.globalAlpha *= 0.62;
        const total = figures.total[node];
        const text = scene.textOf ? scene.textOf(node) : `${formatValue(total, scene.unit)} · ${percentage(total, scene.whole)}`;
        if (context.measureText(text).width > room - used - 10) continue;
        context.fillText(text, left + used + 10, y);
    }
    context.globalAlpha = 1;
}

const MEASURED_NAMES = new Map();
const MOST_MEASURED = 4000;

// Measuring a text takes longer than drawing it, so the widths are cached.
function measureName(context, name) {
    const known = MEASURED_NAMES.get(name);
    if (known) return known;
    if (MEASURED_NAMES.size >= MOST_MEASURED) MEASURED_NAMES.clear();
    const shown = visible(cut(name, 600));
    const measured = [shown, context.measureText(shown).width];
    MEASURED_NAMES.set(name, measured);
    return measured;
}

/** Draws the part of a name that fits: the whole name, the name without its path, or a cut name. Returns its width. */
function writeName(context, name, x, y, room) {
    let perLetter = WIDE_LETTER;
    let whole = name;
    // A name that cannot fit is not measured.
    if (name.length * NARROW_LETTER <= room) {
        const [shown, width] = measureName(context, name);
        if (width <= room) {
            context.fillText(shown, x, y);
            return width;
        }
        whole = shown;
        perLetter = width / shown.length;
    }
    const fits = Math.floor(room / perLetter);
    const from = (whole.includes('[') ? whole.slice(0, whole.indexOf('[')) : whole).lastIndexOf('/') + 1;
    const short = visible(whole.slice(from, from + fits * 3 + 3));
    const text = short.length <= fits ? short : short.slice(0, Math.max(1, fits - 1)) + '…';
    if (fits > 1) context.fillText(text, x, y, room);
    return room;
}
