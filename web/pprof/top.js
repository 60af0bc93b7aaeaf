// The table of functions: flat and cumulative values, as the server formatted them.

import { element, visible } from '../text.js';
import { percentage } from '../units.js';
import { colourOf, packageOf } from '../colours.js';
import { findFunctions } from '../search.js';
import { COLUMNS, SUM_COLUMN, makeTop, nameParts, paperTable } from '../top.js';
import { functionLine } from './actions.js';
import { parameterOf } from './address.js';

/** The text of a value is the server's; the shares are computed here. */
function topColumns(rows) {
    const texts = { flat: (row) => row.flatText, cum: (row) => row.cumText };
    const columns = COLUMNS.map((column) =>
        texts[column.key] ? { ...column, text: (value, unit, whole, fn) => visible(texts[column.key](rows[fn])) } : column,
    );
    const [flat, flatShare, ...others] = columns;
    return [flat, flatShare, SUM_COLUMN, ...others];
}

export function makeTopView({ data, title }, page) {
    const { rows, total, unit } = data;
    const columns = topColumns(rows);
    const sortedBy = parameterOf(page.address(), 'sort') === 'cum' ? 'cum' : 'flat';
    const figures = { flat: Float64Array.from(rows, (row) => row.flat), cum: Float64Array.from(rows, (row) => row.cum) };
    const nameOf = (fn) => rows[fn].name;
    const table = makeTop(choose, columns, sortedBy, 'top summed');
    const detail = element('div', { class: 'chosen-line' }, element('p', { class: 'quiet' }, 'Choose a function to filter by it, or to see its source.'));
    const notice = element('p', { class: 'notice', role: 'status' });
    const node = element('section', { class: 'functions', 'aria-label': 'Top' }, notice, detail, table.node);
    const state = { chosen: -1, search: null };

    function choose(fn) {
        state.chosen = fn;
        const facts = [`itself ${amount(fn, 'flat')}`, `with all it calls ${amount(fn, 'cum')}`];
        detail.replaceChildren(functionLine(page, nameOf(fn), nameParts(nameOf(fn)), facts));
        table.choose(fn);
    }

    const amount = (fn, key) => `${visible(rows[fn][`${key}Text`])} (${percentage(figures[key][fn], total)})`;

    function content() {
        const found = findFunctions({ nFunctions: rows.length, nameOf }, state.search);
        notice.textContent = !found ? '' : found.error || `${found.found} of ${rows.length} functions`;
        return {
            figures,
            nameOf,
            noteOf: (fn) => rows[fn].inline,
            colour: (fn) => page.palette().css[colourOf(packageOf(nameOf(fn)))],
            unit,
            whole: total,
            marked: found && !found.error ? found.marked : null,
            chosen: state.chosen,
        };
    }

    function update(place) {
        if (place.s === state.search) return;
        state.search = place.s;
        table.show(content());
    }

    const repaint = () => state.search !== null && table.show(content());
    const paper = () => paperTable(figures, { nameOf }, unit, total, visible(title), columns, sortedBy);
    return { node, update, repaint, paper, chosen: () => (state.chosen < 0 ? '' : nameOf(state.chosen)) };
}

