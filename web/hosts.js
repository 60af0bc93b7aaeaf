// One table for the hosts of a service. It marks the hosts that differ from the others.

import { count, element, plural, untrusted } from './text.js';
import { formatValue, percentage } from './units.js';
import { linkTo } from './location.js';
import { patternOfName } from './search.js';

const ROWS_AT_ONCE = 50;
const FIGURES = [
    { key: 'cpu', title: 'CPU', hint: 'cores busy', text: (value) => `${value.toFixed(value < 0.1 ? 3 : 2)} cores` },
    { key: 'heap', title: 'Heap in use', hint: 'at the last finished collection', text: (value) => formatValue(value, 'bytes') },
    { key: 'allocated', title: 'Allocated', hint: 'each second', text: (value) => `${formatValue(value, 'bytes')}/s` },
    { key: 'goroutines', title: 'Goroutines', hint: 'at the time of the dump', text: (value) => count(value) },
];
const OF = { cpu: 'its CPU time', heap: 'its heap', goroutines: 'its goroutines' };

/** Sections for all groups of a bundle, or null. */
export function hostsOf({ groups, data }) {
    if (!groups || !groups.length) return null;
    return groups.map((group, i) => groupNode(group, i, data));
}

const distance = ({ differs }) => (differs ? Math.abs(differs.share - differs.median) : 0);
/** Whether a host is far from its group, in a function's share or in a figure. */
export const isOutlier = (host) => Boolean(host.differs && host.differs.outlier) || FIGURES.some(({ key }) => host[key] && host[key].exceeds);

/** Outliers first, then the hosts with the largest difference. */
export function inOrderOfDistance(hosts) {
    return [...hosts].sort((a, b) => isOutlier(b) - isOutlier(a) || distance(b) - distance(a));
}

function groupNode(group, number, data) {
    const hosts = inOrderOfDistance(group.hosts);
    const columns = FIGURES.filter(({ key }) => group.hosts.some((host) => host[key]));
    const body = element('tbody', {});
    const more = element('button', { type: 'button', on: { click: () => fill() } });
    const files = new Map(data.filter((entry) => entry.id && entry.file).map((entry) => [entry.file, entry.id]).reverse());

    function fill() {
        const shown = body.childElementCount;
        body.append(...hosts.slice(shown, shown + ROWS_AT_ONCE).map((host) => hostRow(host, columns, files)));
        const left = hosts.length - body.childElementCount;
        more.hidden = left === 0;
        more.textContent = `Show ${plural(Math.min(left, ROWS_AT_ONCE), 'more host')}`;
    }
    fill();
    const outliers = hosts.filter(isOutlier).length;
    const title = `hosts-title-${number}`;
    return element(
        'section',
        { class: 'hosts', 'aria-labelledby': title },
        element('h2', { id: title }, 'Side by side: ', untrusted(group.service), ` on ${plural(hosts.length, 'host')}`),
        element('p', { class: 'quiet' }, outliers ? `${plural(outliers, 'host')} differ${outliers === 1 ? 's' : ''} from the group` : 'no host clearly differs from the group'),
        element('table', {}, headNode(columns), body, footNode(group, columns)),
        more,
    );
}

function headNode(columns) {
    const head = (title, hint) => element('th', { scope: 'col', title: hint || null }, title);
    return element(
        'thead',
        {},
        element('tr', {}, head('Host'), columns.map(({ title, hint }) => head(title, hint)), head('Differs most in', 'a function’s share, and the median of the hosts')),
    );
}

function hostRow(host, columns, files) {
    const outlier = isOutlier(host);
    return element(
        'tr',
        { class: outlier ? 'outlier' : null },
        element(
            'th',
            { scope: 'row' },
            untrusted(host.host),
            outlier ? element('span', { class: 'tag' }, 'differs') : null,
            host.against ? element('small', {}, ' healthy') : null,
        ),
        columns.map((column) => figureCell(host[column.key], column, files)),
        differenceCell(host, files),
    );
}

function figureCell(figure, { title, text }, files) {
    if (!figure) return element('td', { 'data-title': title }, '–');
    const id = files.get(figure.file);
    const shown = text(figure.value);
    const inside = figure.exceeds ? element('strong', {}, shown) : shown;
    return element('td', { 'data-title': title }, id ? element('a', { href: linkTo({ v: id }) }, inside) : inside);
}

function differenceCell(host, files) {
    const { differs } = host;
    if (!differs) return element('td', { 'data-title': 'Differs most in' }, '–');
    const id = files.get(host[differs.in] && host[differs.in].file);
    const name = untrusted(differs.function, differs.outlier ? 'strong' : 'bdi');
    const of = `: ${percentage(differs.share, 1)} of ${OF[differs.in]}, ${percentage(differs.median, 1)} at the median`;
    const place = { v: id, t: differs.in === 'heap' ? 'inuse_space' : '', s: patternOfName(differs.function) };
    return element('td', { 'data-title': 'Differs most in' }, id ? element('a', { href: linkTo(place) }, name) : name, of);
}

function footNode(group, columns) {
    const cells = columns.map(({ key, title, text }) => element('td', { 'data-title': title }, key in group.median ? text(group.median[key]) : '–'));
    return element('tfoot', {}, element('tr', {}, element('th', { scope: 'row' }, 'Median'), cells, element('td', {})));
}
