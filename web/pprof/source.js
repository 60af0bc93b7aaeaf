// The source of the functions that the filter matches, with values beside each line, and the machine code of a line below it.

import { element, untrusted, visible, visibleLine } from '../text.js';
import { nameParts } from '../top.js';
import { functionActions } from './actions.js';
import { filtersText } from './heading.js';
import { makeMarks } from './marks.js';
import { makeSections } from './sections.js';

const MOST_HIDDEN_LINES = 20000;
/** The server's text of each line of a file that it has not found. */
const NO_SOURCE = '???';
const COLUMNS_OF_SOURCE = ['Line', 'Flat', 'Cum', 'Source'];

/** The cells of a line or an instruction; a value's tip is its share. */
function cells(first, { flat, flatShare, cum, cumShare }, last) {
    const valueCell = (text, share) => element('td', { title: share && `${visible(share)} of the total` }, visible(text));
    return [element('td', {}, first), valueCell(flat, flatShare), valueCell(cum, cumShare), element('td', {}, last)];
}

const withShare = (text, share) => visible(share ? `${text} (${share})` : text);

/** An inlined call: its place and its source. */
const callText = ({ text, file, line }) => `${file}:${line} ${text}`.trim();

function instructionRow(instruction) {
    const { at, text, place, inlined } = instruction;
    const calls = inlined && inlined.length ? `inlined: ${inlined.map(callText).join(', ')}` : '';
    return element(
        'tr',
        { class: 'instruction' },
        cells(visible(at), instruction, [
            element('code', {}, visibleLine(text)),
            ' ',
            element('small', {}, visible([place, calls].filter(Boolean).join(' · '))),
        ]),
    );
}

function lineRows(line, path, sections) {
    const { n, flat, cum, text, code } = line;
    const section = `${path}:${n}`;
    const hasCode = code && code.length > 0;
    const row = element('tr', { class: flat || cum ? 'hit' : null });
    const number = hasCode ? element('button', { type: 'button', 'aria-expanded': 'false', title: 'machine code', on: { click: () => sections.note(section, show(!isShown())) } }, n) : String(n);
    let instructions = null;

    const isShown = () => Boolean(instructions && !instructions[0].hidden);

    function show(isOpen) {
        if (isOpen && !instructions) {
            instructions = code.map(instructionRow);
            row.after(...instructions);
        }
        for (const instruction of instructions || []) instruction.hidden = !isOpen;
        number.setAttribute('aria-expanded', String(isOpen));
        return isOpen;
    }

    row.append(...cells(number, line, element('code', {}, visibleLine(text))));
    if (hasCode && sections.add(section, false, show)) show(true);
    return [row, ...(instructions || [])];
}

/** A section that opens and closes. */
function foldable(name, begins, sections, attributes, ...inside) {
    const box = element('details', attributes, inside);
    box.open = sections.add(name, begins, (isOpen) => (box.open = isOpen));
    box.addEventListener('toggle', () => sections.note(name, box.open));
    return box;
}

function functionSection({ name, flat, flatShare, cum, cumShare, lines }, path, { page, sections }, isOpen) {
    const facts = `itself ${withShare(flat, flatShare)}, with all it calls ${withShare(cum, cumShare)}`;
    const head = element('tr', {}, COLUMNS_OF_SOURCE.map((title) => element('th', { scope: 'col' }, title)));
    const body = element('tbody', {});
    const table = element('table', { class: 'source' }, element('thead', {}, head), body);
    // A table that is wider than the window scrolls, also by keys.
    const scroller = element('div', { class: 'source-lines', tabindex: '0', role: 'region', 'aria-label': `Source of ${visible(name)}` }, table);
    const box = foldable(
        `${path} ${name}`,
        isOpen,
        sections,
        { class: 'source-function' },
        element('summary', {}, element('strong', {}, nameParts(name)), ' ', element('small', {}, facts)),
        element('p', { class: 'actions' }, functionActions(page, name)),
        scroller,
    );
    // Long lists of functions open faster if only the visible tables are made.
    const isVisible = () => box.open && box.closest('.source-file').open;
    const fill = () => body.childElementCount || body.append(...lines.flatMap((line) => lineRows(line, path, sections)));
    const fillVisible = () => isVisible() && fill();
    box.addEventListener('toggle', fillVisible);
    return { box, fill, fillVisible, nLines: lines.length };
}

/** A box for the text of a file that profgrab does not find. */
function pasteBox(path, isMissing, page) {
    const area = element('textarea', { rows: '8', 'aria-label': `Source of ${visible(path)}`, spellcheck: 'false', placeholder: 'the text of the whole file' });
    const send = () => area.value && page.paste(path, area.value);
    return element(
        'details',
        { class: 'paste', open: isMissing },
        element('summary', {}, isMissing ? 'The source was not found on this machine (-source_path names directories): paste it' : 'Paste another source'),
        area,
        element('button', { type: 'button', on: { click: send } }, 'Use this source'),
    );
}

function fileSection(file, view, isOpen) {
    const { page, sections } = view;
    const isMissing = file.functions.every(({ lines }) => lines.every(({ text }) => !text || text === NO_SOURCE));
    const functions = file.functions.map((fn, i) => functionSection(fn, file.path, view, i === 0));
    const fillVisible = () => functions.forEach((fn) => fn.fillVisible());
    const node = foldable(
        file.path,
        isOpen,
        sections,
        { class: 'source-file' },
        element('summary', {}, untrusted(file.path, 'b')),
        page.isFrozen ? null : pasteBox(file.path, isMissing, page),
        functions.map(({ box }) => box),
    );
    node.addEventListener('toggle', fillVisible);
    fillVisible();
    return { node, functions };
}

function nothingText(page) {
    const filters = filtersText(page);
    return filters ? `No function passes ${filters}, or the profile has no lines of it.` : 'The profile has no lines of its functions.';
}

/** Makes the lines of closed sections while the browser is idle, because its own search finds text in them. */
function fillWhenIdle(functions) {
    const rest = [...functions];
    let left = MOST_HIDDEN_LINES;
    const next = (deadline) => {
        while (rest.length && left > 0 && deadline.timeRemaining() > 2) {
            const fn = rest.shift();
            left -= fn.nLines;
            fn.fill();
        }
        if (rest.length && left > 0) requestIdleCallback(next);
    };
    requestIdleCallback(next);
}

export function makeSourceView({ data }, page) {
    const sections = makeSections(page);
    const files = data.files.map((file, i) => fileSection(file, { page, sections }, i === 0));
    const sources = element(
        'div',
        { class: 'sources' },
        data.note ? element('p', { class: 'note' }, visible(data.note)) : null,
        files.map(({ node }) => node),
        data.files.length ? null : element('p', { class: 'quiet' }, nothingText(page)),
    );
    const { notice, search } = makeMarks(sources);
    fillWhenIdle(files.flatMap(({ functions }) => functions));
    const update = (place) => {
        sections.update(place);
        search(place.s);
    };
    return { node: element('div', {}, notice, sources), update, repaint() {} };
}
