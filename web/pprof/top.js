// The table of functions: flat and cumulative values, as the server formatted them.

import { count, element, plural, untrusted, visible } from '../text.js';
import { percentage } from '../units.js';
import { colourOf, packageOf } from '../colours.js';
import { findFunctions } from '../search.js';
import { COLUMNS, SUM_COLUMN, makeTop, paperTable, readOrder, writeOrder } from '../top.js';
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

/** Names that take more characters are not in the address. */
const LONGEST_CHOICE = 4000;

/** The chosen rows after a click: alone, with Ctrl beside the others, with Shift all from the row that was chosen before. */
function chosenBy(event, fn, { chosen, from }, between) {
    const isMore = event.ctrlKey || event.metaKey;
    if (event.shiftKey && from >= 0) return new Set([...(isMore ? chosen : []), ...between(from, fn)]);
    if (!isMore) return new Set([fn]);
    const others = [...chosen].filter((other) => other !== fn);
    return new Set(others.length === chosen.size ? [...others, fn] : others);
}

/** The lines of the report's heading that the page's heading lacks, and a link to the rows that are not shown. */
function headOf({ data, heading }, page) {
    const lines = (data.heading || []).filter((line) => !heading.includes(line));
    const isCut = lines.some((line) => /^(Dropped \d|Showing top \d)/.test(line));
    const dropped = numberIn(lines, /^Dropped (\d+) /);
    const missing = dropped + Math.max(0, numberIn(lines, /^Showing top \d+ nodes out of (\d+)/) - data.rows.length);
    const facts = lines.map((line) => untrusted(line.trim(), 'span'));
    const whole = page.link({ trim: 'f' }, {}, `Show all ${count(data.rows.length + missing)} rows`);
    const part = page.link({ trim: '' }, {}, 'Show the heaviest rows only');
    const hasAll = !isCut && parameterOf(page.address(), 'trim') === 'f';
    const rest = [isCut && `${plural(missing, 'row')} not shown. `, !page.isFrozen && (isCut ? whole : hasAll && part)].filter(Boolean);
    return [element('p', { class: 'facts report-head' }, facts), rest.length ? element('p', { class: 'rest' }, rest) : null];
}

const numberIn = (lines, pattern) => lines.reduce((sum, line) => sum + Number((line.match(pattern) || [0, 0])[1]), 0);

export function makeTopView(answer, page) {
    const { data, title } = answer;
    const { rows, total, unit } = data;
    const columns = topColumns(rows);
    const figures = { flat: Float64Array.from(rows, (row) => row.flat), cum: Float64Array.from(rows, (row) => row.cum) };
    const nameOf = (fn) => rows[fn].name;
    const defaultOrder = parameterOf(page.address(), 'sort') === 'cum' ? 'cum' : 'flat';
    const table = makeTop(choose, columns, defaultOrder, 'top summed');
    const detail = element('div', { class: 'chosen-line' });
    const notice = element('p', { class: 'notice', role: 'status' });
    const node = element('section', { class: 'functions', 'aria-label': 'Top' }, headOf(answer, page), notice, detail, table.node);
    /** from: the row at which a range begins; search, order, names: those of the address. */
    const state = { chosen: new Set(), from: -1, search: null, order: null, names: '' };

    function choose(fn, event) {
        const chosen = chosenBy(event, fn, state, table.between);
        if (!event.shiftKey || state.from < 0) state.from = fn;
        const names = [...chosen].map(nameOf).join('\n');
        state.names = names.length > LONGEST_CHOICE ? '' : names;
        showChosen(chosen);
        page.go({ c: state.names });
    }

    function showChosen(chosen) {
        state.chosen = chosen;
        table.choose(chosen);
        const [fn] = chosen;
        const facts = chosen.size === 1 ? [`itself ${amount(fn, 'flat')}`, `with all it calls ${amount(fn, 'cum')}`] : [`themselves ${percentage(sumOfFlat(), total)}`];
        const hint = 'Choose a function to filter by it, or to see its source; with Ctrl or Shift several.';
        detail.replaceChildren(chosen.size ? functionLine(page, [...chosen].map(nameOf), facts) : element('p', { class: 'quiet' }, hint));
    }

    const sumOfFlat = () => [...state.chosen].reduce((sum, fn) => sum + figures.flat[fn], 0);
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
            order: readOrder(state.order || defaultOrder),
            ordered,
        };
    }

    function ordered(order) {
        const text = writeOrder(order);
        state.order = text === defaultOrder ? '' : text;
        page.go({ o: state.order }, true);
    }

    function update(place) {
        const order = readOrder(place.o) ? place.o : '';
        if (place.s !== state.search || order !== state.order) {
            Object.assign(state, { search: place.s, order });
            table.show(content());
            showChosen(state.chosen);
        }
        if (place.c === state.names) return;
        state.names = place.c;
        const names = new Set(place.c.split('\n'));
        showChosen(new Set([...rows.keys()].filter((fn) => names.has(nameOf(fn)))));
    }

    const repaint = () => state.search !== null && table.show(content());
    const paper = () => paperTable(figures, { nameOf }, unit, total, visible(title), columns, state.order || defaultOrder);
    return { node, update, repaint, paper, chosen: () => [...state.chosen].map(nameOf) };
}
