// The page shows the view that its URL names.

import { element, debounce, untrusted, visible } from './text.js';
import { makeStore, readBundle } from './data.js';
import { makeTheme } from './theme.js';
import { makeHelp } from './keys.js';
import { makeNavigation } from './navigation.js';
import { findingsOf, makeOverview } from './overview.js';
import { viewsOf } from './views.js';
import { linkTo, onPlace, readPlace, writePlace } from './location.js';
import { drawThumbnails } from './thumbnails.js';

/** If the first view takes longer, in ms, the page appears without it. */
const LONG_WAIT = 300;

performance.mark('profgrab:started');
const bundle = readBundle();
document.querySelector('.unfinished').remove();
const open = makeStore(bundle);
const theme = makeTheme(repaint);
/** row: the row of views.js that made the view; null for the overview. */
const shown = { id: null, row: null, view: null, place: null };
const main = element('main', { id: 'main', tabindex: '-1' });
// For paper: the overview before the view, and the tables of opened profiles after it.
const front = element('section', { class: 'papers', 'aria-hidden': 'true' });
const paper = element('section', { class: 'papers', 'aria-hidden': 'true' });
const navigation = makeNavigation(bundle);
const help = makeHelp(() => shown.view && shown.view.searchBox);
const paperTables = new Map();
const cached = { overview: null };

function repaint() {
    if (!shown.view) return;
    shown.view.repaint();
    // A printed page starts with the overview, also if the screen shows another view.
    if (shown.id === 'overview') return;
    front.replaceChildren(...(theme.onPaper() && bundle.manifest ? [overviewOnce().node] : []));
}

function overviewOnce() {
    cached.overview ||= makeOverview(bundle);
    return cached.overview;
}

// Draws the parts outside the window after the visible ones: thumbnails, and the table for printing of each opened
// view.
const drawRest = debounce(() => {
    const { id, row, view } = shown;
    if (id === 'overview') return thumbnails();
    if (view.paper) paperTables.set(`${id} ${row.name}`, view.paper());
    return paper.replaceChildren(...paperTables.values());
}, 200);

/** Returns the requested entry's id. The default is the overview, or the only profile of a page without a manifest. */
function entryIdOf(place) {
    const drawable = bundle.data.filter((entry) => entry.id);
    if (drawable.some((entry) => entry.id === place.v)) return place.v;
    return !place.v && !bundle.manifest && drawable.length === 1 ? drawable[0].id : 'overview';
}

async function show(place) {
    const id = entryIdOf(place);
    const entry = bundle.data.find((candidate) => candidate.id === id) || null;
    const rows = entry ? viewsOf(entry) : [];
    const row = rows.find(({ name }) => name === place.as) || rows[0] || null;
    const isShown = () => id === shown.id && row === shown.row;
    shown.place = place;
    if (isShown()) return shown.view.update(place);
    Object.assign(shown, { id, row });
    navigation.update(id);
    document.documentElement.dataset.view = id === 'overview' ? 'overview' : 'profile';
    if (id === 'overview') return showView({ node: null, update() {}, repaint: thumbnails, searchBox: null }, null, place);
    try {
        const content = await open(id);
        if (!isShown()) return undefined;
        return showView(row.make(entry, content, go, theme.palette), entry, shown.place);
    } catch (e) {
        if (!isShown()) return undefined;
        const node = element('p', { class: 'error' }, `cannot draw this entry: its data is damaged or missing in this file (${visible(e.message)})`);
        return showView({ node, update() {}, repaint() {}, searchBox: null }, entry, place);
    }
}

function showView(view, entry, place) {
    const isFirst = !shown.view;
    shown.view = view;
    main.replaceChildren(...(entry ? [entryHead(entry), view.node].filter(Boolean) : [overviewOnce().node]));
    document.title = `${entry ? visible(entry.title).slice(0, 100) : 'Overview'} · ${visible(bundle.name).slice(0, 100)}`;
    if (isFirst) addFrame();
    else scrollTo(0, 0);
    view.update(place);
    performance.mark('profgrab:drawn');
    drawRest();
}

function entryHead(entry) {
    const facts = [entry.host, entry.service, entry.file].filter(Boolean);
    return element(
        'header',
        { class: 'head' },
        element('p', { class: 'question' }, shown.row.question(entry) || ''),
        element('h1', {}, untrusted(entry.title)),
        element(
            'p',
            { class: 'facts' },
            facts.map((fact) => untrusted(fact, 'span')),
        ),
        findingsOf(bundle, entry.id),
        tabsOf(entry),
    );
}

/** A link to each view of an entry, or null for a single view. */
function tabsOf(entry) {
    const rows = viewsOf(entry);
    if (rows.length < 2) return null;
    const tabs = rows.map((row) =>
        element('a', { href: linkTo({ v: entry.id, as: row.name }), 'aria-current': row === shown.row ? 'page' : null }, row.title),
    );
    return element('nav', { class: 'tabs', 'aria-label': 'Views' }, tabs);
}

function go(changes, step) {
    const place = { ...shown.place, v: shown.id, ...changes };
    shown.place = place;
    shown.view.update(place);
    writePlace(place, step);
}

function thumbnails() {
    drawThumbnails(overviewOnce().thumbnails, open, theme.palette(), () => shown.id === 'overview');
}

/** Adds the page's frame together with the first view, so that the browser computes the layout once. */
function addFrame() {
    if (main.isConnected) return;
    const skip = (event) => {
        event.preventDefault();
        main.focus();
    };
    document.body.prepend(
        element('a', { class: 'skip', href: '#main', on: { click: skip } }, 'Skip to content'),
        element(
            'header',
            { class: 'bar-top' },
            element('span', { class: 'brand' }, 'profgrab'),
            navigation.node,
            element(
                'span',
                { class: 'tools' },
                theme.node,
                element('button', { type: 'button', on: { click: help.open } }, 'Keys'),
            ),
        ),
        front,
        main,
        paper,
    );
}

theme.apply();
onPlace(show);
setTimeout(addFrame, LONG_WAIT);
await show(readPlace());
