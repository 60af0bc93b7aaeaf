// The views peek and disasm: the report's text, with links that show one of its functions.

import { count, element, visibleLine } from '../text.js';
import { patternOfName } from '../search.js';
import { makeMarks } from './marks.js';

/** The lines that are made at once: a report of machine code may have 100,000. */
const LINES = 2000;

/** Where a line has a function's name: the first group is the text before the name, the second the name. */
const NAMES = {
    peek: [/^(.* \|\s+)(\S.*?)(?= \(inline\)$| \S+:\d+(?: \(inline\))?$|$)/],
    disasm: [/^(ROUTINE =+ )(.+?)(?= in \/|$)/, /^(.*<)([^<>]+?)(?=(?:\+0x[0-9a-f]+)?>)/, /^(.*\s)(\S+?)(?=\(SB\))/],
};

function lineNodes(line, rules, page) {
    for (const rule of rules) {
        const found = line.match(rule);
        if (!found) continue;
        const [{ length }, before, name] = found;
        const link = page.link({ f: patternOfName(name) }, { title: 'show this function' }, visibleLine(name));
        return [visibleLine(before), link, visibleLine(line.slice(length))];
    }
    return [visibleLine(line)];
}

/** A text whose lines are made as the reader asks for them. nodesOf(line): the nodes of a line. */
function longText(lines, nodesOf, label) {
    const text = element('pre', { class: 'report', tabindex: '0', role: 'region', 'aria-label': label });
    const more = element('button', { type: 'button', on: { click: add } });
    let shown = 0;

    function add() {
        text.append(...lines.slice(shown, shown + LINES).flatMap((line) => [element('span', { class: 'line' }, nodesOf(line)), '\n']));
        shown += LINES;
        more.hidden = shown >= lines.length;
        more.textContent = `Show more of ${count(lines.length)} lines`;
    }

    add();
    return element('div', {}, text, more);
}

/** Returns the row's function `make` for a view of text. */
export function makeTextView(name, label) {
    return ({ data }, page) => {
        const lines = data.text.replace(/\n$/, '').split('\n');
        const text = longText(lines, (line) => lineNodes(line, NAMES[name], page), label);
        const { notice, search } = makeMarks(text);
        return { node: element('div', {}, notice, text), update: (place) => search(place.s), repaint() {} };
    };
}
