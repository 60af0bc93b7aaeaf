// Goroutines by state and by stack: their number, their waiting times and their creators.

import { count, element, plural, untrusted } from './text.js';
import { percentage } from './units.js';
import { findFunctions } from './search.js';
import { ownerOf, packageOf } from './colours.js';
import { nameParts } from './top.js';
import { makeProfileView } from './profile.js';

const GROUPS_AT_ONCE = 60;
const FRAMES_AT_ONCE = 40;
const ORDERS = { many: 'Most first', long: 'Longest wait first' };

function waitText([min, median, max]) {
    if (!max) return 'less than a minute, or unknown';
    if (min === max) return `${plural(max, 'minute')}`;
    return `${count(min)} to ${plural(max, 'minute')}, median ${count(median)}`;
}

/** The flame graph of a dump, with its states above and its stacks below. */
export function makeGoroutinesView(entry, dump, go, palette) {
    const goroutines = makeGoroutines(dump, go);
    const around = { before: goroutines.states, after: goroutines.stacks };
    const profile = makeProfileView(entry, dump, go, palette, around);
    const update = (place) => {
        profile.update(place);
        goroutines.update(place);
    };
    return { ...profile, update };
}

/** Returns {states, stacks, update(place)}: elements; states is null for a single state. go(changes, step) changes the place. */
function makeGoroutines(dump, go) {
    const states = statesOf(dump);
    const sum = dump.groups.reduce((all, group) => all + group.count, 0) + dump.hidden.goroutines;
    const chips = element('div', { class: 'states', role: 'group', 'aria-label': 'States' });
    const list = element('ol', { class: 'stacks' });
    const more = element('button', { type: 'button', on: { click: () => fill(GROUPS_AT_ONCE) } }, 'Show more');
    const note = element('p', { class: 'quiet', role: 'status' });
    const order = element(
        'select',
        { id: 'stack-order', on: { change: () => restart() } },
        Object.entries(ORDERS).map(([value, text]) => element('option', { value }, text)),
    );
    const hasWaits = dump.groups.some((group) => group.wait && group.wait[2] > 0);
    const head = element(
        'div',
        { class: 'section-head' },
        element('h2', {}, 'Stacks'),
        hasWaits ? element('span', { class: 'field' }, element('label', { for: 'stack-order' }, 'Order'), order) : null,
    );
    const stacks = element('section', { class: 'goroutines' }, head, note, list, more);
    let wanted = [];
    let shown = 0;
    let place = null;

    function update(next) {
        place = next;
        chips.replaceChildren(...states.map(chip));
        restart();
    }

    function chip({ state, number }) {
        const bar = element('span', { class: 'bar' });
        bar.style.setProperty('--share', number / sum);
        const click = () => go({ g: place.g === state ? '' : state }, true);
        return element(
            'button',
            { type: 'button', class: 'state', 'aria-pressed': String(place.g === state), on: { click } },
            element('b', {}, count(number)),
            state ? untrusted(state) : element('span', {}, 'unknown state'),
            bar,
        );
    }

    function restart() {
        const found = findFunctions(dump, place.s);
        const marked = found && !found.error ? found.marked : null;
        const hits = (group) => !marked || group.frames.some((frame) => marked[dump.functionOfFrame[frame]]);
        wanted = dump.groups.filter((group) => (!place.g || dump.stringOf(group.state) === place.g) && hits(group));
        const longest = (group) => (group.wait ? group.wait[2] : 0);
        if (order.value === 'long') wanted.sort((a, b) => longest(b) - longest(a) || b.count - a.count);
        shown = 0;
        list.replaceChildren();
        fill(GROUPS_AT_ONCE);
    }

    function fill(n) {
        list.append(...wanted.slice(shown, shown + n).map(stack));
        shown = Math.min(wanted.length, shown + n);
        more.hidden = shown >= wanted.length;
        const sumOfWanted = wanted.reduce((all, group) => all + group.count, 0);
        const parts = [`${plural(sumOfWanted, 'goroutine')} in ${plural(wanted.length, 'stack')}`];
        if (dump.hidden.groups)
            parts.push(
                `${plural(dump.hidden.groups, 'rare stack')} left out (${plural(dump.hidden.goroutines, 'goroutine')})`,
            );
        if (dump.isCut) parts.push('the dump ends early');
        note.textContent = parts.join('; ');
    }

    function stack(group) {
        const bar = element('span', { class: 'bar' });
        bar.style.setProperty('--share', group.count / sum);
        const state = dump.stringOf(group.state);
        const inner = firstOwn(dump, group);
        const frames = element('ol', { class: 'frames' });
        const box = element(
            'details',
            { on: { toggle: () => frames.childElementCount || addFrames(frames, group, 0) } },
            element(
                'summary',
                {},
                element('b', { class: 'number' }, count(group.count)),
                element('small', {}, percentage(group.count, sum)),
                element('span', { class: 'where' }, inner < 0 ? '(no frames)' : nameParts(dump.frameName(inner))),
                state ? untrusted(state, 'span', { class: 'tag' }) : null,
                group.wait && group.wait[2] ? element('span', { class: 'wait' }, waitText(group.wait)) : null,
                bar,
            ),
            frames,
            group.creator >= 0 ? element('p', { class: 'creator' }, 'started by ', frameNode(group.creator, 'span')) : null,
        );
        return element('li', {}, box);
    }

    function addFrames(frames, group, from) {
        const upTo = Math.min(group.frames.length, from + FRAMES_AT_ONCE);
        frames.append(...group.frames.slice(from, upTo).map((frame) => frameNode(frame, 'li')));
        const left = group.frames.length - upTo;
        if (!left) return;
        const next = element('button', { type: 'button' }, `${plural(left, 'more frame')}`);
        next.addEventListener('click', () => {
            next.parentNode.remove();
            addFrames(frames, group, upTo);
        });
        frames.append(element('li', { class: 'rest' }, next));
    }

    function frameNode(frame, tag) {
        return element(tag, {}, nameParts(dump.frameName(frame)), ' ', untrusted(dump.framePlace(frame), 'small'));
    }

    return { states: states.length > 1 ? chips : null, stacks, update };
}

function statesOf(dump) {
    const numbers = new Map();
    for (const group of dump.groups) {
        const state = dump.stringOf(group.state);
        numbers.set(state, (numbers.get(state) || 0) + group.count);
    }
    return [...numbers].map(([state, number]) => ({ state, number })).sort((a, b) => b.number - a.number);
}

/**
 * The innermost frame outside the runtime and the standard library. It tells the reader more than
 * sync.(*Mutex).Lock.
 */
function firstOwn(dump, group) {
    const own = group.frames.find((frame) => !['runtime', 'standard'].includes(ownerOf(packageOf(dump.frameName(frame)))));
    return own ?? group.frames[0] ?? -1;
}
