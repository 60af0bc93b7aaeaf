// The first page: the findings, the list of entries, and the collected items with their hosts.

import { count, cut, element, plural, untrusted, visible } from './text.js';
import { formatDuration, formatValue } from './units.js';
import { comparedFirst } from './kinds.js';
import { viewsOf } from './views.js';
import { patternOfName } from './search.js';
import { linkTo } from './location.js';
import { timelineOf } from './timeline.js';
import { hostsOf } from './hosts.js';

const MOST_CARDS = 30;

/**
 * The sections, from top to bottom. Each makes its element, or null, from the bundle's description with two additions:
 * rows: the services of the manifest; thumbnails: see drawThumbnails().
 */
const SECTIONS = [headOf, summaryOf, hostsOf, cardsOf, timelineOf, collectedOf];

/** Returns {node, thumbnails}, with empty canvases. */
export function makeOverview(bundle) {
    const rows = bundle.manifest ? servicesOf(bundle.manifest) : [];
    const thumbnails = new Map();
    const sections = SECTIONS.map((section) => section({ ...bundle, rows, thumbnails }));
    return { node: element('div', { class: 'overview' }, sections), thumbnails };
}

function servicesOf(manifest) {
    const rows = (manifest.hosts || []).flatMap((host) =>
        (host.services || []).map((service) => ({
            host: host.name,
            service: service.name,
            items: service.items || [],
            from: service,
        })),
    );
    if (manifest.files && manifest.files.length)
        rows.push({ host: '', service: 'local files', items: manifest.files, from: {} });
    return rows;
}

function headOf({ name, manifest, made, tool, rows }) {
    const items = rows.flatMap((row) => row.items);
    const good = items.filter((item) => item.status === 'ok').length;
    const facts = [];
    if (manifest) {
        facts.push(manifest.complete ? 'complete' : 'not complete');
        facts.push(`${count(good)} of ${plural(items.length, 'item')} ok`);
        const services = rows.filter((row) => row.from.name).length;
        if (services) facts.push(`${plural(manifest.hosts.length, 'host')}, ${plural(services, 'service')}`);
        const took = Date.parse(manifest.finished) - Date.parse(manifest.started);
        if (took >= 0) facts.push(`took ${formatDuration(took)}`);
    }
    const who =
        manifest && manifest.collector
            ? [manifest.collector.user, manifest.collector.workstation].filter(Boolean).join('@')
            : '';
    const when = visible((manifest && manifest.started) || made || '');
    return element(
        'header',
        { class: 'head' },
        element('h1', {}, untrusted(name)),
        manifest && manifest.reason ? untrusted(manifest.reason, 'p', { class: 'reason' }) : null,
        element(
            'p',
            { class: 'facts' },
            when ? element('time', { datetime: when }, `${when.slice(0, 10)} ${when.slice(11, 19)} UTC`) : null,
            facts.map((fact, i) => element('span', { class: i === 0 && !manifest.complete ? 'warn' : null }, fact)),
            who ? element('span', {}, 'by ', untrusted(who)) : null,
            tool ? untrusted(tool, 'span') : null,
        ),
    );
}

/** Keeps a figure and its percent sign on one line. */
function keepPercentSigns(sentence) {
    return sentence.replaceAll(' %', '\u00a0%');
}

/** The findings on one entry, for its own page, or null. */
export function findingsOf({ summary, data }, id) {
    const about = (summary || []).filter((finding) => typeof finding.data === 'number' && data[finding.data].id === id);
    if (!about.length) return null;
    const sentences = about.map(({ text, look, type }) => {
        const link = look ? element('a', { href: linkTo({ v: id, t: type, s: patternOfName(look) }) }, 'show it') : null;
        return element('li', {}, untrusted(keepPercentSigns(text)), ' ', link);
    });
    return element('ul', { class: 'findings' }, sentences);
}

function summaryOf({ summary, data }) {
    if (!summary || !summary.length) return null;
    const sentences = summary.map(({ text, data: at, look, type }) => {
        const entry = typeof at === 'number' ? data[at] : null;
        const sentence = element('bdi', {}, cut(visible(keepPercentSigns(text)), 2000));
        if (!entry || !entry.id) return element('li', {}, sentence);
        const place = { v: entry.id, t: type, s: look ? patternOfName(look) : '' };
        return element('li', {}, sentence, ' ', element('a', { href: linkTo(place) }, 'look: ', untrusted(entry.title)));
    });
    return element(
        'section',
        { class: 'summary', 'aria-labelledby': 'summary-title' },
        element('h2', { id: 'summary-title' }, 'What happened'),
        element('ul', {}, sentences),
    );
}

function cardsOf({ data, thumbnails }) {
    const drawable = comparedFirst(data).filter((entry) => entry.id);
    if (!drawable.length) return null;
    const cards = drawable.slice(0, MOST_CARDS).map((entry) => {
        const [{ question, thumbnail: draw }] = viewsOf(entry);
        const canvas = draw && element('canvas', { 'aria-hidden': 'true' });
        if (draw) thumbnails.set(entry.id, { canvas, draw });
        return element(
            'li',
            {},
            element(
                'a',
                { class: 'card', href: linkTo({ v: entry.id }) },
                element('span', { class: 'question' }, question(entry) || untrusted(entry.kind)),
                canvas,
                element('span', { class: 'of' }, untrusted(entry.title)),
            ),
        );
    });
    const left = drawable.length - cards.length;
    return element(
        'section',
        { class: 'cards', 'aria-labelledby': 'cards-title' },
        element('h2', { id: 'cards-title' }, 'Look at'),
        element('ul', {}, cards),
        left > 0 && element('p', { class: 'quiet' }, `${count(left)} more: see the contents`),
    );
}

function collectedOf({ manifest, data, rows }) {
    if (!manifest) return null;
    const hosts = (manifest.hosts || []).map((host) =>
        hostNode(
            host,
            rows.filter((row) => row.host === host.name && row.from.name),
            data,
        ),
    );
    const files = rows.filter((row) => !row.from.name);
    const local = { name: 'Local files', hops: [] };
    return element(
        'section',
        { class: 'collected', 'aria-labelledby': 'collected-title' },
        element('h2', { id: 'collected-title' }, 'Collected items'),
        hosts,
        files.length ? hostNode(local, files, data) : null,
    );
}

function hostNode(host, rows, data) {
    const route = (host.hops || [])
        .map((hop) => hop.address)
        .filter(Boolean)
        .join(' → ');
    return element(
        'section',
        { class: 'host' },
        element(
            'div',
            {},
            element('h3', {}, untrusted(host.name)),
            element('p', { class: 'facts' }, untrusted([host.route, route].filter(Boolean).join(': '), 'span')),
        ),
        element(
            'div',
            {},
            host.error ? untrusted(host.error, 'p', { class: 'error' }) : null,
            rows.map((row) => serviceNode(row, data)),
        ),
    );
}

function serviceNode({ service, items, from }, data) {
    const facts = [from.url, from.go_version && `Go ${from.go_version}`].filter(Boolean);
    return element(
        'div',
        { class: 'service' },
        from.name
            ? element(
                  'h4',
                  {},
                  untrusted(service),
                  ' ',
                  facts.map((fact) => untrusted(fact, 'small')),
              )
            : null,
        from.error ? untrusted(from.error, 'p', { class: 'error' }) : null,
        sentencesOf(from.verdicts),
        items.length ? itemsTable(items, data) : null,
    );
}

/** The findings on a service or an item, which the manifest calls verdicts, or null. */
function sentencesOf(findings) {
    if (!findings || !findings.length) return null;
    return element(
        'ul',
        { class: 'sentences' },
        findings.map((finding) => untrusted(finding.text, 'li')),
    );
}

function itemsTable(items, data) {
    const heads = ['Item', 'Status', 'Size', 'Messages'];
    return element(
        'table',
        { class: 'items' },
        element(
            'thead',
            {},
            element(
                'tr',
                {},
                heads.map((head) => element('th', { scope: 'col' }, head)),
            ),
        ),
        element(
            'tbody',
            {},
            items.map((item) => itemRow(item, data)),
        ),
    );
}

function itemRow(item, data) {
    const entry = data.find((candidate) => candidate.file && candidate.file === item.file);
    const asked = (item.argument ? `${item.kind}=${item.argument}` : item.kind) + (item.pair === 2 ? ', later' : '');
    const title = item.request || !item.file ? asked : item.file.slice(item.file.lastIndexOf('/') + 1);
    const words = [
        item.error ? untrusted(item.error, 'p', { class: 'error' }) : null,
        item.server_words ? untrusted(item.server_words, 'q') : null,
        sentencesOf(item.verdicts),
        entry && entry.why ? untrusted(entry.why, 'p', { class: 'quiet' }) : null,
    ];
    return element(
        'tr',
        {},
        element(
            'td',
            {},
            entry && entry.id ? element('a', { href: linkTo({ v: entry.id }) }, untrusted(title)) : untrusted(title),
        ),
        element('td', {}, untrusted(item.status, 'span', { class: `status ${visible(item.status)}` })),
        element('td', { class: 'size' }, item.bytes === undefined ? '' : formatValue(item.bytes, 'bytes')),
        element('td', {}, words),
    );
}
