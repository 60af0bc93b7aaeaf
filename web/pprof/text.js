// The views peek and disasm: the report's text, with links that show one of its functions.

import { count, element, visibleLine } from '../text.js';
import { patternOfName } from '../search.js';
import { isEnded } from './answers.js';
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

const linesOf = (text) => text.replace(/\n$/, '').split('\n');

/**
 * A text whose lines are made as the reader asks for them. nodesOf(line): the nodes of a line. The server sends a long text in pieces:
 * `data.next` is the position of the next one.
 */
function longText(data, page, nodesOf, label) {
    const text = element('pre', { class: 'report', tabindex: '0', role: 'region', 'aria-label': label });
    const more = element('button', { type: 'button', on: { click: add } });
    const lines = linesOf(data.text);
    let { next } = data;
    let shown = 0;

    async function add() {
        if (shown === lines.length && next !== undefined && !(await askForMore())) return;
        text.append(...lines.slice(shown, shown + LINES).flatMap((line) => [element('span', { class: 'line' }, nodesOf(line)), '\n']));
        shown = Math.min(shown + LINES, lines.length);
        more.hidden = shown === lines.length && next === undefined;
        more.textContent = `Show more of ${next === undefined ? '' : 'over '}${count(lines.length)} lines`;
        if (page.isFrozen && shown === lines.length && next !== undefined) more.replaceWith(element('p', { class: 'quiet' }, 'This file has no more of the text.'));
    }

    async function askForMore() {
        more.disabled = true;
        try {
            const { data: piece } = await page.ask({ at: String(next) });
            lines.push(...linesOf(piece.text));
            next = piece.next;
            return true;
        } catch (e) {
            if (!isEnded(e)) page.fail(e.message);
            return false;
        } finally {
            more.disabled = false;
        }
    }

    add();
    return element('div', {}, text, more);
}

/** Returns the row's function `make` for a view of text. */
export function makeTextView(name, label) {
    return ({ data }, page) => {
        const text = longText(data, page, (line) => lineNodes(line, NAMES[name], page), label);
        const { notice, search } = makeMarks(text);
        return { node: element('div', {}, notice, text), update: (place) => search(place.s), repaint() {} };
    };
}
