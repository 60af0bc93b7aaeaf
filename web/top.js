// The table of a profile's functions, sorted by any column. Only the visible rows are elements, so a million functions
// cost as much as thirty.

import { count, element, untrusted } from './text.js';
import { formatValue, percentage } from './units.js';
import { packageOf } from './colours.js';
import { swatchOf } from './legend.js';

const ROW_HEIGHT = 30;
/** The largest height of an element: browsers do not support much higher elements. */
const HIGHEST = 12e6;
const COLUMNS = [
    { key: 'flat', at: 'flat', title: 'Flat', hint: 'in the function itself', of: 'flat', text: formatValue },
    { key: 'flatShare', at: 'flatShare', title: 'Flat %', of: 'flat', text: share, bar: true },
    { key: 'cum', at: 'cum', title: 'Cum', hint: 'with all it calls', of: 'cum', text: formatValue },
    { key: 'cumShare', at: 'cumShare', title: 'Cum %', of: 'cum', text: share, bar: true },
    { key: 'name', at: 'name', title: 'Function' },
];

function share(value, unit, whole) {
    return percentage(value, whole);
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
    const own = figures[sort.key] || cum;
    const present = [];
    for (let i = 0; i < flat.length; i++) if ((cum[i] !== 0 || flat[i] !== 0) && (!marked || marked[i])) present.push(i);
    const by = [own, own === flat ? cum : flat];
    const size = (values, i) => Math.abs(values[i]);
    const direction = sort.down ? 1 : -1;
    if (sort.key === 'name') {
        const names = new Map(present.map((i) => [i, nameOf(i)]));
        return present.sort((a, b) => direction * (names.get(a) < names.get(b) ? 1 : -1));
    }
    return present.sort((a, b) => direction * (size(by[0], b) - size(by[0], a) || size(by[1], b) - size(by[1], a) || a - b));
}

/**
 * open(fn): called when the reader clicks a function. columns: {key, at: the CSS class, title, hint, of: the key of the
 * column's figures, text(value, unit, whole), bar: whether the cell draws the share}. first: the key of the column that
 * sorts the table at first. Returns {node, show(content)}.
 */
export function makeTop(open, columns = COLUMNS, first = 'flat') {
    const sort = { key: first, down: true };
    const heads = columns.map((column) =>
        element(
            'div',
            { role: 'columnheader', class: `c-${column.at}` },
            element('button', { type: 'button', title: column.hint, on: { click: () => sortBy(column) } }, column.title),
        ),
    );
    const space = element('div', { class: 'rows-space', role: 'presentation' });
    const rows = element('div', { class: 'rows', role: 'rowgroup', tabindex: '0', 'aria-label': 'functions' }, space);
    const head = element('div', { role: 'row', class: 'row head', 'aria-rowindex': '1' }, heads);
    const table = element(
        'div',
        { role: 'table', class: columns === COLUMNS ? 'top' : 'top signed', 'aria-label': 'Functions' },
        element('div', { role: 'rowgroup' }, head),
        rows,
    );
    let content = null;
    let list = [];

    function sortBy(column) {
        const key = column.of || column.key;
        sort.down = sort.key === key ? !sort.down : key !== 'name';
        sort.key = key;
        refresh();
    }

    function show(next) {
        content = next;
        refresh();
    }

    function refresh() {
        list = ordered(content.figures, content.nameOf, sort, content.marked);
        columns.forEach((column, i) => {
            const active = (column.of || column.key) === sort.key;
            heads[i].setAttribute('aria-sort', !active ? 'none' : sort.down ? 'descending' : 'ascending');
        });
        table.setAttribute('aria-rowcount', list.length + 1);
        space.style.height = `${Math.min(HIGHEST, list.length * ROW_HEIGHT)}px`;
        rows.classList.toggle('empty', list.length === 0);
        rows.scrollTop = 0;
        draw();
    }

    function draw() {
        if (!content) return;
        const squeeze = Math.max(1, (list.length * ROW_HEIGHT) / HIGHEST);
        const seen = Math.ceil((rows.clientHeight || 480) / ROW_HEIGHT) + 2;
        const first = Math.max(0, Math.min(list.length - seen + 1, Math.floor((rows.scrollTop * squeeze) / ROW_HEIGHT)));
        const top = squeeze > 1 ? rows.scrollTop : first * ROW_HEIGHT;
        const focused = space.contains(document.activeElement) ? document.activeElement.dataset.fn : null;
        space.replaceChildren(
            ...list.slice(first, first + seen).map((fn, i) => {
                const row = rowOf(fn, first + i + 2);
                row.style.top = `${top + i * ROW_HEIGHT}px`;
                return row;
            }),
        );
        if (focused) space.querySelector(`[data-fn="${focused}"]`)?.focus({ preventScroll: true });
    }

    function rowOf(fn, index) {
        const { figures, unit, whole, nameOf, colour } = content;
        const number = ({ at, of, text, bar }) => {
            const value = figures[of][fn];
            const cell = element('div', { role: 'cell', class: `c-${at}` }, text(value, unit, whole));
            if (bar) cell.style.setProperty('--share', whole ? Math.min(1, Math.abs(value / whole)) : 0);
            return cell;
        };
        const name = element('button', { type: 'button', 'data-fn': fn, on: { click: () => open(fn) } });
        name.append(...nameParts(nameOf(fn)));
        return element(
            'div',
            { role: 'row', class: 'row', 'aria-rowindex': index },
            columns.filter(({ of }) => of).map(number),
            element('div', { role: 'cell', class: 'c-name' }, swatchOf(colour(fn)), name),
        );
    }

    rows.addEventListener('scroll', draw, { passive: true });
    new ResizeObserver(draw).observe(rows);
    return { node: table, show };
}

/** The first functions as a plain table, for paper. */
export function paperTable(figures, profile, unit, whole, title, columns = COLUMNS, first = 'flat') {
    const list = ordered(figures, profile.nameOf, { key: first, down: true }, null);
    const cells = (fn) => columns.filter(({ of }) => of).map(({ of, text }) => text(figures[of][fn], unit, whole));
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
