// The keys of the whole page, and the box that lists all keys.

import { element } from './text.js';

const KEYS_OF_GRAPH = [
    ['←  →', 'the neighbouring frame'],
    ['↑  ↓', 'the caller, the heaviest callee'],
    ['Enter', 'zoom to the frame'],
    ['Backspace, Esc', 'back'],
    ['0', 'reset'],
    ['b', 'callers and callees'],
    ['c', 'copy the stack'],
];
const KEYS_OF_PAGE = [
    ['/', 'search'],
    ['?', 'this box'],
];

function listOf(rows) {
    return element(
        'dl',
        {},
        rows.flatMap(([key, what]) => [element('dt', {}, element('kbd', {}, key)), element('dd', {}, what)]),
    );
}

/**
 * searchBox(): the field that the key / focuses, or null. own: the page's own keys as rows [text, explanation,
 * {key: action()}]; an action returns false if it does nothing. Returns {open()}.
 */
export function makeHelp(searchBox, own = []) {
    const actions = Object.assign(Object.create(null), ...own.map((row) => row[2]));
    let box = null;
    const open = () => {
        box ||= makeBox([...own, ...KEYS_OF_PAGE]);
        box.showModal();
    };
    document.addEventListener('keydown', (event) => {
        const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
        if (typing && event.key === 'Escape') event.target.blur();
        if (typing || event.ctrlKey || event.metaKey || event.altKey || (box && box.open)) return;
        const field = event.key === '/' ? searchBox() : null;
        if (event.key === '?') open();
        else if (field) {
            field.focus();
            field.select();
        } else if (!actions[event.key] || actions[event.key]() === false) return;
        event.preventDefault();
    });
    return { open };
}

function makeBox(rows) {
    const close = element('button', { type: 'button', on: { click: () => box.close() } }, 'Close');
    const box = element(
        'dialog',
        { class: 'help', 'aria-labelledby': 'help-title' },
        element('h2', { id: 'help-title' }, 'Keys'),
        element('p', { class: 'quiet' }, 'Everywhere'),
        listOf(rows),
        element('p', { class: 'quiet' }, 'In a graph that has the focus'),
        listOf(KEYS_OF_GRAPH),
        element(
            'p',
            { class: 'quiet' },
            'A pattern is a regular expression of Go: . * + ? | ( ) [ ] ^ $ \\d \\w \\s \\b \\pL. It respects the case; after (?i) it matches both cases.',
        ),
        close,
    );
    document.body.append(box);
    return box;
}
