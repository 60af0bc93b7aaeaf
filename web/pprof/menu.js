// A menu of the pprof page: a button that opens a list of links and buttons. Only one menu is open at a time.

import { element } from '../text.js';

const opened = new Set();

function closeOthers(box) {
    for (const other of opened) if (other !== box) other.open = false;
}

document.addEventListener('click', (event) => {
    for (const box of opened) if (!box.contains(event.target)) box.open = false;
});

/** Moves the focus between the entries of an open menu. Returns whether the key does that. */
function moveFocus(box, key) {
    if (!box.open || (key !== 'ArrowDown' && key !== 'ArrowUp')) return false;
    const stops = [...box.querySelectorAll('summary, a, button, input, select')].filter((node) => !node.disabled);
    const at = stops.indexOf(document.activeElement);
    stops[(at + (key === 'ArrowDown' ? 1 : stops.length - 1)) % stops.length].focus();
    return true;
}

/** entries(): elements, one for each line, made when the menu opens. Returns {name, node, say(title), refresh(), close()}. */
export function makeMenu(title, entries) {
    const summary = element('summary', {}, title);
    const list = element('ul', {});
    const box = element('details', { class: 'drop' }, summary, list);

    function refresh() {
        if (box.open) list.replaceChildren(...entries().filter(Boolean).map((entry) => element('li', {}, entry)));
    }

    function close() {
        const hadFocus = box.contains(document.activeElement);
        box.open = false;
        if (hadFocus) summary.focus();
    }

    box.addEventListener('toggle', () => {
        if (!box.open) return opened.delete(box);
        closeOthers(box);
        refresh();
        // A menu at the window's right edge opens to the left.
        list.classList.remove('to-left');
        list.classList.toggle('to-left', list.getBoundingClientRect().right > document.documentElement.clientWidth);
        return opened.add(box);
    });
    box.addEventListener('keydown', (event) => {
        if (event.key === 'Escape' && box.open) close();
        else if (!moveFocus(box, event.key)) return;
        event.preventDefault();
        event.stopPropagation();
    });

    return { name: title, node: box, say: (...title) => summary.replaceChildren(...title), refresh, close };
}
