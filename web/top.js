// The table of a profile's functions, sorted by any column. Only the visible rows are elements, so the browser lays out
// a million functions as fast as thirty.

import { count, element, untrusted } from './text.js';
import { formatValue, percentage } from './units.js';
import { packageOf } from './colours.js';
import { swatchOf } from './legend.js';

const ROW_HEIGHT = 30;
/** The largest height of an element: browsers do not support much higher elements. */
const HIGHEST = 12e6;
export const COLUMNS = [
    { key: 'flat', cssClass: 'flat', title: 'Flat', hint: 'in the function itself', valueKey: 'flat', text: formatValue },
    { key: 'flatShare', cssClass: 'flatShare', title: 'Flat %', valueKey: 'flat', text: share, bar: true },
    { key: 'cum', cssClass: 'cum', title: 'Cum', hint: 'with all it calls', valueKey: 'cum', text: formatValue },
    { key: 'cumShare', cssClass: 'cumShare', title: 'Cum %', valueKey: 'cum', text: share, bar: true },
    { key: 'name', cssClass: 'name', title: 'Function' },
];

/** A further column, to the right of the shares of flat. */
export const SUM_COLUMN = {
    key: 'sumShare',
    cssClass: 'sumShare',
    title: 'Sum %',
    hint: 'flat of all rows down to this one',
    valueKey: 'flat',
    isRunning: true,
    text: share,
};

function share(value, unit, whole) {
    return percentage(value, whole);
}

/** The sums, by function, of the values from the first function of the list to this one. */
function runningSums(list, values) {
    const sums = new Map();
    let sum = 0;
    for (const fn of list) sums.set(fn, (sum += values[fn]));
    return sums;
}

/** Returns valueOf(column, fn): what the table shows if it has the functions of the list in this order. */
function valuesOf(columns, figures, list) {
    const sums = new Map(columns.filter(({ isRunning }) => isRunning).map((column) => [column, runningSums(list, figures[column.valueKey])]));
    return (column, fn) => (column.isRunning ? sums.get(column).get(fn) : figures[column.valueKey][fn]);
}

/** A function's name in two parts: the path of its package in a pale colour, then the name. */
export function nameParts(name) {
    const path = packageOf(name);
    if (!path || !name.startsWith(path)) return [untrusted(name, 'b')];
    const tail = path.lastIndexOf('/') + 1;
    const shown = tail ? [untrusted(name.slice(0, tail), 'span', { class: 'path' })] : [];
    return [...shown, untrusted(name.slice(tail), 'b')];
}

/** The indices of the functions in the table, in the table's order. `marked` (or null) selects functions. */
export function ordered(figures, nameOf, sort, marked) {
    const { flat, cum } = figures;
    const sortValues = figures[sort.key] || cum;
    const present = [];
    for (let i = 0; i < flat.length; i++) if ((cum[i] !== 0 || flat[i] !== 0) && (!marked || marked[i])) present.push(i);
    const sortColumns = [sortValues, sortValues === flat ? cum : flat];
    const size = (values, i) => Math.abs(values[i]);
    const direction = sort.down ? 1 : -1;
    if (sort.key === 'name') {
        const names = new Map(present.map((i) => [i, nameOf(i)]));
        return present.sort((a, b) => direction * (names.get(a) < names.get(b) ? 1 : -1));
    }
    return present.sort((a, b) => direction * (size(sortColumns[0], b) - size(sortColumns[0], a) || size(sortColumns[1], b) - size(sortColumns[1], a) || a - b));
}

/** The order that a place's `o` names: "cum", the largest first, or "-cum"; "name" or "-name". Null for another text. */
export function readOrder(text) {
    const key = text.replace(/^-/, '');
    return ['flat', 'cum', 'name'].includes(key) ? { key, down: (key !== 'name') === (key === text) } : null;
}

export const writeOrder = ({ key, down }) => ((key !== 'name') === down ? key : `-${key}`);

/**
 * open(fn, event): called when the reader clicks a function. columns: {key, cssClass, title, hint, valueKey: the key of its
 * values in content.figures, text(value, unit, whole, fn), bar: whether the cell draws the share, isRunning: whether the
 * value is the sum of those from the first row on}. sortedBy: the key of the column that sorts the table at first.
 * Returns {node, show(content), choose(functions), between(a, b): the functions from one to another}. content: {figures,
 * nameOf(fn), colour(fn), unit, whole: the total for shares, marked; optionally noteOf(fn): a word after the name; chosen:
 * a Set of functions; order (see readOrder), and ordered(order), called when the reader changes it}.
 */
export function makeTop(open, columns = COLUMNS, sortedBy = 'flat', cssClass = columns === COLUMNS ? 'top' : 'top signed') {
    const sort = { key: sortedBy, down: true };
    const heads = columns.map((column) =>
        element(
            'div',
            { role: 'columnheader', class: `c-${column.cssClass}` },
            element('button', { type: 'button', title: column.hint, on: { click: () => sortBy(column) } }, column.title),
        ),
    );
    const fullHeight = element('div', { class: 'rows-space', role: 'presentation' });
    const rows = element('div', { class: 'rows', role: 'rowgroup', tabindex: '0', 'aria-label': 'functions' }, fullHeight);
    const head = element('div', { role: 'row', class: 'row head', 'aria-rowindex': '1' }, heads);
    const table = element(
        'div',
        { role: 'table', class: cssClass, 'aria-label': 'Functions' },
        element('div', { role: 'rowgroup' }, head),
        rows,
    );
    let content = null;
    let list = [];
    let valueOf = null;
    let longestValue = 0;

    function sortBy(column) {
        const key = column.valueKey || column.key;
        sort.down = sort.key === key ? !sort.down : key !== 'name';
        sort.key = key;
        refresh();
        if (content.ordered) content.ordered({ ...sort });
    }

    function show(next) {
        content = next;
        Object.assign(sort, content.order);
        refresh();
    }

    /** Marks functions as chosen, without sorting or scrolling. */
    function choose(functions) {
        content.chosen = functions;
        draw();
    }

    function between(a, b) {
        const ends = [list.indexOf(a), list.indexOf(b)].sort((x, y) => x - y);
        return ends[0] < 0 ? [b] : list.slice(ends[0], ends[1] + 1);
    }

    /** Moves the focus from the focused row to another one; with Shift, chooses the rows between. */
    function moveFocus(event) {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        const fn = list[list.indexOf(Number(event.target.dataset.fn)) + step];
        if (!step || !event.target.dataset.fn || fn === undefined) return;
        event.preventDefault();
        const at = list.indexOf(fn);
        if (list.length * ROW_HEIGHT < HIGHEST) {
            if (at * ROW_HEIGHT < rows.scrollTop) rows.scrollTop = at * ROW_HEIGHT;
            rows.scrollTop = Math.max(rows.scrollTop, (at + 1) * ROW_HEIGHT - rows.clientHeight);
        }
        draw();
        fullHeight.querySelector(`[data-fn="${fn}"]`)?.focus({ preventScroll: true });
        if (event.shiftKey && content.chosen) open(fn, event);
    }

    function refresh() {
        list = ordered(content.figures, content.nameOf, sort, content.marked);
        valueOf = valuesOf(columns, content.figures, list);
        columns.forEach((column, i) => {
            const active = (column.valueKey || column.key) === sort.key;
            heads[i].setAttribute('aria-sort', !active ? 'none' : sort.down ? 'descending' : 'ascending');
        });
        table.setAttribute('aria-rowcount', list.length + 1);
        fullHeight.style.height = `${Math.min(HIGHEST, list.length * ROW_HEIGHT)}px`;
        rows.classList.toggle('empty', list.length === 0);
        rows.scrollTop = 0;
        draw();
    }

    function draw() {
        if (!content) return;
        // Above HIGHEST, one pixel of scrolling stands for `squeeze` pixels of the list.
        const squeeze = Math.max(1, (list.length * ROW_HEIGHT) / HIGHEST);
        const nVisible = Math.ceil((rows.clientHeight || 480) / ROW_HEIGHT) + 2;
        const firstRow = Math.max(0, Math.min(list.length - nVisible + 1, Math.floor((rows.scrollTop * squeeze) / ROW_HEIGHT)));
        const top = squeeze > 1 ? rows.scrollTop : firstRow * ROW_HEIGHT;
        const focused = fullHeight.contains(document.activeElement) ? document.activeElement.dataset.fn : null;
        fullHeight.replaceChildren(
            ...list.slice(firstRow, firstRow + nVisible).map((fn, i) => {
                const row = rowOf(fn, firstRow + i + 2);
                row.style.top = `${top + i * ROW_HEIGHT}px`;
                return row;
            }),
        );
        if (focused) fullHeight.querySelector(`[data-fn="${focused}"]`)?.focus({ preventScroll: true });
        widenValues();
    }

    /** Makes the columns of values as wide as the longest value that was drawn. */
    function widenValues() {
        for (const cell of fullHeight.querySelectorAll('[role="cell"]:not(.c-name)')) longestValue = Math.max(longestValue, cell.textContent.length);
        table.style.setProperty('--value', longestValue);
    }

    function rowOf(fn, index) {
        const { unit, whole, nameOf, colour, noteOf, chosen } = content;
        const number = (column) => {
            const { cssClass, text, bar } = column;
            const value = valueOf(column, fn);
            const cell = element('div', { role: 'cell', class: `c-${cssClass}` }, text(value, unit, whole, fn));
            if (bar) cell.style.setProperty('--share', whole ? Math.min(1, Math.abs(value / whole)) : 0);
            return cell;
        };
        const pressed = chosen ? String(chosen.has(fn)) : null;
        const name = element('button', { type: 'button', 'data-fn': fn, 'aria-pressed': pressed, on: { click: (event) => open(fn, event) } });
        name.append(...nameParts(nameOf(fn)));
        if (noteOf && noteOf(fn)) name.append(' ', untrusted(noteOf(fn), 'small'));
        return element(
            'div',
            { role: 'row', class: 'row', 'aria-rowindex': index },
            columns.filter(({ valueKey }) => valueKey).map(number),
            element('div', { role: 'cell', class: 'c-name' }, swatchOf(colour(fn)), name),
        );
    }

    rows.addEventListener('scroll', draw, { passive: true });
    rows.addEventListener('keydown', moveFocus);
    new ResizeObserver(draw).observe(rows);
    return { node: table, show, choose, between };
}

/** The first functions as a plain table, for paper. */
export function paperTable(figures, profile, unit, whole, title, columns = COLUMNS, sortedBy = 'flat') {
    const list = ordered(figures, profile.nameOf, readOrder(sortedBy), null);
    const valueOf = valuesOf(columns, figures, list);
    const cells = (fn) => columns.filter(({ valueKey }) => valueKey).map((column) => column.text(valueOf(column, fn), unit, whole, fn));
    return element(
        'table',
        { class: 'paper' },
        element('caption', {}, title, ` (the first 30 of ${count(list.length)} functions)`),
        element(
            'thead',
            {},
            element(
                'tr',
                {},
                columns.map((column) => element('th', { scope: 'col' }, column.title)),
            ),
        ),
        element(
            'tbody',
            {},
            list.slice(0, 30).map((fn) =>
                element(
                    'tr',
                    {},
                    cells(fn).map((cell) => element('td', {}, cell)),
                    element('td', {}, untrusted(profile.nameOf(fn))),
                ),
            ),
        ),
    );
}
