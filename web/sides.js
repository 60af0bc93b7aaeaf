// Compares the profiles of two sides, the target and the baseline processes, in one tree. A frame's width is the mean
// of both sides; its colour shows the side with more.

import { cut, element, visible } from './text.js';
import { formatDuration, formatValue } from './units.js';
import { swatchOf } from './legend.js';
import { byFunction, weigh } from './tree.js';
import { SIDE_COLOURS } from './colours.js';

/** Limits of the difference divided by the sum of both sides: below SAME the sides count as equal, from MUCH on the
 * difference is large. */
const SAME = 0.1;
const MUCH = 0.5;
/** A smaller share is a rounding error and counts as 0. */
const ROUNDING_ERROR = 5e-6;
const LONGEST_SIDE = 60;

const BASES = {
    share: 'shares of all that each side has',
    second: 'for one process and one second',
    process: 'for one process',
};

/** The unit of a type's values after they were made comparable. */
export function unitOf(unit, basis) {
    if (basis === 'share') return 'share';
    return basis === 'second' ? `${unit}/s` : unit;
}

/** The sides of an entry's data: two trees with the same nodes, each with the values of one side. */
export function sidesOf(raw, tree) {
    const [here, there] = raw.scale.map((scales, side) => ({
        ...tree,
        self: raw.nodes[side ? 'there' : 'here'].map((values, type) => Float64Array.from(values, (v) => v * scales[type])),
    }));
    return { here, there, basis: raw.basis, of: raw.sides, sums: raw.functions.flat ? sumsOf(raw) : null };
}

/** The values of each function over all calls, for a tree with folded calls: by side, a list by sample type. */
function sumsOf({ functions, scale }) {
    return scale.map((scales, side) =>
        scales.map((factor, type) => {
            const scaled = (values) => Float64Array.from(values[side * scales.length + type], (value) => value * factor);
            return { flat: scaled(functions.flat), cum: scaled(functions.cum) };
        }),
    );
}

/**
 * Figures like weigh(): values are target minus baseline (here - there), widths are the mean. Adds the figures of
 * each side.
 */
export function weighSides({ here, there }, type, keep = null) {
    const [a, b] = [here, there].map((tree) => weigh(tree, type, keep));
    const subtract = (x, y) => x.map((value, i) => value - y[i]);
    const mean = (x, y) => x.map((value, i) => (value + y[i]) / 2);
    return {
        self: subtract(a.self, b.self),
        total: subtract(a.total, b.total),
        weight: mean(a.weight, b.weight),
        negative: true,
        here: a,
        there: b,
    };
}

/** Works like weighSides() for a tree of callersOf() or calleesOf(), whose sample types are the two sides. */
export function weighMerged(tree) {
    const [here, there] = tree.self.map((self) => ({ ...tree, self: [self] }));
    return weighSides({ here, there }, 0);
}

/** The differences of each function, and its cumulative values on each side. sums: of each side, or null. */
export function sidesByFunction(tree, figures, nFunctions, sums) {
    const [here, there] = sums || [figures.here, figures.there].map((side) => byFunction(tree, side, nFunctions));
    const subtract = (x, y) => x.map((value, i) => value - y[i]);
    return { flat: subtract(here.flat, there.flat), cum: subtract(here.cum, there.cum), here: here.cum, there: there.cum };
}

/** The part of a node's changes that remains after its increases and decreases were added up, or the part of both sides. */
function gradeOf({ here, there, total, weight }, at) {
    if (!here) return weight[at] ? total[at] / weight[at] : 0;
    const [a, b] = [here.total[at], there.total[at]];
    return a + b > 0 ? (a - b) / (a + b) : 0;
}

/** The number of the colour of a node of a difference or of two sides. */
export function changeColour(figures, at) {
    const by = gradeOf(figures, at);
    if (Math.abs(by) < SAME) return SIDE_COLOURS.runtime;
    if (by > 0) return by < MUCH ? SIDE_COLOURS.someMore : SIDE_COLOURS.muchMore;
    return by > -MUCH ? SIDE_COLOURS.someLess : SIDE_COLOURS.muchLess;
}

/** A difference with its sign. */
export function formatSigned(value, unit) {
    const text = formatValue(unit === 'share' && Math.abs(value) < ROUNDING_ERROR ? 0 : Math.abs(value), unit);
    return /^0(%|\/|$)/.test(text) ? text : `${value < 0 ? '−' : '+'}${text}`;
}

const sideName = (entry, side) => cut(visible(entry[side] || side), LONGEST_SIDE);

/** Rows of the tip: the value of each side. */
export function sideTexts(entry, unit, here, there) {
    return [
        `${sideName(entry, 'here')}: ${formatValue(here, unit)}`,
        `${sideName(entry, 'there')}: ${formatValue(there, unit)}`,
        `difference ${formatSigned(here - there, unit)}`,
    ];
}

/** The facts above the graph. */
export function sideFacts(entry, { basis, of }, type, unit, figures) {
    const facts = [BASES[basis[type]]];
    if (basis[type] !== 'share') facts.push(...sideTexts(entry, unit, figures.here.total[0], figures.there.total[0]));
    for (const [i, side] of ['here', 'there'].entries()) {
        const { processes, left_out: left, duration_ns: duration } = of[i];
        const took = duration ? `, taken for ${formatDuration(duration / 1e6 / processes)}` : '';
        const some = left ? `, ${left} left out` : '';
        facts.push(`${sideName(entry, side)}: ${processes === 1 ? 'one process' : `${processes} processes`}${some}${took}`);
    }
    return facts;
}

/** The rows of the legend. */
export function sideLegend(entry, palette) {
    const rows = [
        [SIDE_COLOURS.muchMore, 'much more in ', 'here'],
        [SIDE_COLOURS.someMore, 'more in ', 'here'],
        [SIDE_COLOURS.runtime, 'about the same', null],
        [SIDE_COLOURS.someLess, 'more in ', 'there'],
        [SIDE_COLOURS.muchLess, 'much more in ', 'there'],
    ];
    return rows.map(([colour, text, side]) =>
        element('li', {}, swatchOf(palette.css[colour]), element('bdi', {}, text + (side ? sideName(entry, side) : ''))),
    );
}

/** The rows of the legend of a difference. */
export function changeLegend(palette) {
    const rows = [
        [SIDE_COLOURS.muchMore, 'more than before'],
        [SIDE_COLOURS.someMore, 'some calls less, but more in all'],
        [SIDE_COLOURS.runtime, 'as much as before'],
        [SIDE_COLOURS.someLess, 'some calls more, but less in all'],
        [SIDE_COLOURS.muchLess, 'less than before'],
    ];
    return rows.map(([colour, text]) => element('li', {}, swatchOf(palette.css[colour]), text));
}

/** The columns of the table of functions. */
export function sideColumns(entry) {
    return [
        { key: 'there', cssClass: 'flat', title: 'There', hint: `${sideName(entry, 'there')}, with all it calls`, valueKey: 'there', text: formatValue },
        { key: 'here', cssClass: 'flatShare', title: 'Here', hint: `${sideName(entry, 'here')}, with all it calls`, valueKey: 'here', text: formatValue },
        { key: 'flat', cssClass: 'cum', title: 'Itself', hint: 'the difference in the function itself', valueKey: 'flat', text: formatSigned },
        { key: 'cum', cssClass: 'cumShare', title: 'More', hint: 'the difference, with all it calls', valueKey: 'cum', text: formatSigned, bar: true },
        { key: 'name', cssClass: 'name', title: 'Function' },
    ];
}
