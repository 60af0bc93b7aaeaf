// The list of all entries, by host and service.

import { count, element, untrusted, visible } from './text.js';
import { inOrderOfDistance, isOutlier } from './hosts.js';
import { linkTo } from './location.js';

/** If there are more groups, only the group of the current view is open. */
const MOST_OPEN_GROUPS = 8;

const keyOf = (host, service) => JSON.stringify([host || '', service || '']);

/** Groups the entries by host and service: first the comparisons of two sides, then outliers, then the other hosts. */
function groupsOf({ data, groups: fleets }) {
    const groups = new Map();
    const outliers = new Set(
        (fleets || []).flatMap(({ service, hosts }) =>
            inOrderOfDistance(hosts)
                .filter(isOutlier)
                .map(({ host }) => keyOf(host, service)),
        ),
    );
    const of = (key) => {
        if (!groups.has(key)) groups.set(key, { entries: [], isOutlier: outliers.has(key) });
        return groups.get(key);
    };
    const compared = data.filter(({ from }) => from === 'sides');
    compared.forEach((entry) => of(keyOf(entry.host, entry.service)));
    outliers.forEach(of);
    for (const entry of [...compared, ...data.filter(({ from }) => from !== 'sides')])
        of(keyOf(entry.host, entry.service)).entries.push(entry);
    return [...groups.values()].filter(({ entries }) => entries.length);
}

function groupHead({ entries: [first], isOutlier: differs }) {
    return [
        untrusted(first.host || ''),
        ' ',
        untrusted(first.service || '', 'b'),
        differs ? element('span', { class: 'tag' }, 'differs') : null,
    ];
}

/** Returns {node, update(id of the current view)}. */
export function makeNavigation(bundle) {
    const links = new Map();
    const link = (id, place, ...inside) => {
        const node = element('a', { href: linkTo(place) }, inside);
        links.set(id, { node, box: null });
        return element('li', {}, node);
    };
    const lineOf = (entry) =>
        entry.id
            ? link(entry.id, { v: entry.id }, untrusted(labelOf(entry)))
            : element(
                  'li',
                  { class: 'none', title: visible(entry.why || '') },
                  untrusted(labelOf(entry)),
                  ' ',
                  element('small', {}, 'not drawn'),
              );
    const groups = groupsOf(bundle);
    const sections = groups.map((group) => {
        const lines = group.entries.map(lineOf);
        if (groups.length <= MOST_OPEN_GROUPS) return [element('li', { class: 'of' }, groupHead(group)), lines];
        const isSides = group.entries[0].from === 'sides';
        const folded = element(
            'details',
            { open: isSides },
            element('summary', {}, groupHead(group), ' ', element('small', {}, count(lines.length))),
            element('ul', {}, lines),
        );
        for (const { id } of group.entries) if (id && !isSides) links.get(id).box = folded;
        return element('li', {}, folded);
    });
    const list = element('ul', {}, link('overview', { v: 'overview' }, 'Overview'), sections.flat(2));
    const box = element('details', { class: 'menu' }, element('summary', {}, 'Contents'), list);
    const wide = matchMedia('(min-width: 900px)');
    const adapt = () => {
        box.open = wide.matches;
    };
    wide.addEventListener('change', adapt);
    adapt();

    // Groups that the reader has opened stay open.
    let opened = null;

    function update(id) {
        const to = links.get(id)?.box || null;
        if (opened && opened !== to) opened.open = false;
        opened = to && (opened === to || !to.open) ? to : null;
        if (to) to.open = true;
        for (const [key, { node }] of links) {
            if (key === id) node.setAttribute('aria-current', 'page');
            else node.removeAttribute('aria-current');
        }
        if (!wide.matches) box.open = false;
    }

    return { node: element('nav', { 'aria-label': 'Contents' }, box), update };
}

function labelOf(entry) {
    const title = entry.title || entry.kind;
    const prefix = [entry.host, entry.service].filter(Boolean).join(' ');
    return prefix && title.startsWith(prefix + ' ') ? title.slice(prefix.length + 1) : title;
}
