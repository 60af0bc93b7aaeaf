// The time of each collection: a bar for each item, a row for each service.

import { element, untrusted, visible } from './text.js';
import { formatDuration } from './units.js';

const timeOf = (text) => (text ? Date.parse(text) : NaN);

/** rows: [{host, service, items}]. Returns an element, or null if no item has a time. */
export function timelineOf({ rows }) {
    const timed = rows
        .map((row) => ({ ...row, items: row.items.filter((item) => Number.isFinite(timeOf(item.started))) }))
        .filter((row) => row.items.length);
    const all = timed.flatMap((row) => row.items);
    if (!all.length) return null;
    const from = all.reduce((least, item) => Math.min(least, timeOf(item.started)), Infinity);
    const to = all.reduce((most, item) => Math.max(most, timeOf(item.started) + (item.duration_ms || 0)), 0);
    const span = Math.max(1, to - from);
    return element(
        'section',
        { class: 'timeline', 'aria-labelledby': 'timeline-title' },
        element('h2', { id: 'timeline-title' }, 'The capture'),
        element('div', { class: 'scale', 'aria-hidden': 'true' }, ticksOf(span)),
        timed.map((row) => rowNode(row, from, span)),
    );
}

function ticksOf(span) {
    const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5].find(
        (candidate) => span / candidate <= 6,
    );
    const ticks = [];
    for (let at = 0; step && at <= span; at += step) {
        const text = formatDuration(at);
        const tick = element('span', {}, text);
        // The last label must not exceed the scale.
        tick.style.left = `min(${(at / span) * 100}%, 100% - ${text.length * 0.62}em)`;
        ticks.push(tick);
    }
    return ticks;
}

function rowNode({ host, service, items }, from, span) {
    const bars = items.map((item) => {
        const lasted = formatDuration(item.duration_ms || 0);
        const hasRoom = (item.duration_ms || 0) / span > 0.06;
        const begun = timeOf(item.started) - from;
        const text = `${visible(item.kind)}: ${item.status}, after ${formatDuration(begun)}, took ${lasted}`;
        const bar = element(
            'li',
            { class: `span ${visible(item.status)}`, title: text },
            hasRoom ? element('span', {}, visible(item.kind).slice(0, 40)) : null,
        );
        bar.style.left = `${(begun / span) * 100}%`;
        bar.style.width = `${((item.duration_ms || 0) / span) * 100}%`;
        return bar;
    });
    return element(
        'div',
        { class: 'lane' },
        element('p', {}, untrusted(host), ' ', untrusted(service, 'b')),
        element('ul', {}, bars),
    );
}
