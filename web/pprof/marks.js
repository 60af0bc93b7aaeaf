// Marks the matches of the search in the text of a view, as highlights of the browser: no element changes.

import { count, element } from '../text.js';
import { matcherOf } from '../search.js';

const MARKING_MS = 200;
const MOST_MARKS = 10000;
/** The elements whose texts are searched, each by itself: a pattern may have ^ and $. So are the links in them, which are names. */
const TEXTS = '.line, .source code, .source-function > summary strong, .source-file > summary b, .tag-value bdi, .tag-key h2 bdi';

/** Returns the Range of the characters from..to of an element's text. */
function rangeOf(texts, [from, to]) {
    const range = new Range();
    let at = 0;
    for (const text of texts) {
        const end = at + text.length;
        if (from >= at && from < end) range.setStart(text, from - at);
        if (to > at && to <= end) range.setEnd(text, to - at);
        at = end;
    }
    return range;
}

function textsIn(node) {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    return texts;
}

/** The spans of an element's text, and of the links in it, each once. */
function spansIn(node, spans) {
    const found = spans(node.textContent);
    for (const link of node.getElementsByTagName('a')) {
        const before = link.previousSibling ? link.previousSibling.textContent.length : 0;
        const inLink = spans(link.textContent).map((span) => span.map((at) => at + before));
        found.push(...inLink.filter(([from, to]) => !found.some((other) => from < other[1] && to > other[0])));
    }
    return found;
}

/** Returns {ranges, rest: a word on what was not searched}. */
function findIn(root, { spans }) {
    const until = performance.now() + MARKING_MS;
    const ranges = [];
    for (const node of root.querySelectorAll(TEXTS)) {
        if (performance.now() > until || ranges.length > MOST_MARKS) return { ranges, rest: 'at least ' };
        const found = spansIn(node, spans);
        if (!found.length || !node.checkVisibility()) continue;
        const texts = textsIn(node);
        ranges.push(...found.map((span) => rangeOf(texts, span)));
    }
    return { ranges, rest: '' };
}

/** Returns {notice, search(pattern)}. Marks also what `root` gets later. notice: an element for the number of matches. */
export function makeMarks(root) {
    const notice = element('p', { class: 'notice', role: 'status' });
    let pattern = '';

    function mark() {
        let found = { ranges: [], rest: '' };
        let error = '';
        try {
            if (pattern) found = findIn(root, matcherOf(pattern));
        } catch (e) {
            error = e.message;
        }
        globalThis.CSS?.highlights?.set('found', new Highlight(...found.ranges));
        const { length } = found.ranges;
        notice.textContent = pattern && (error || `${found.rest}${count(length)} ${length === 1 ? 'match' : 'matches'} in the text shown`);
    }

    const markAgain = () => pattern && mark();
    new MutationObserver(markAgain).observe(root, { childList: true, subtree: true });
    root.addEventListener('toggle', markAgain, true);

    function search(text) {
        if (text === pattern) return;
        pattern = text;
        mark();
    }

    return { notice, search };
}
