// The page of `profgrab pprof -http`: shows the view that its URL names, and asks the server for the others.

import { element, visible } from '../text.js';
import { makeTheme } from '../theme.js';
import { makeHelp } from '../keys.js';
import { forgetPlace, linkTo, onPlace, readPlace, writePlace } from '../location.js';
import { changedAddress, parameterOf, readAddress, selectedType, undoable, urlOf } from './address.js';
import { isEnded, makeAnswers } from './answers.js';
import { makeBar } from './bar.js';
import { makeHeading, titleOfAnswer } from './heading.js';
import { functionActions } from './actions.js';
import { frameOf } from './names.js';
import { makePasted } from './pasted.js';
import { pivotOf } from './pivot.js';
import { makeUndo } from './undo.js';
import { PPROF_VIEWS } from './views.js';

/** A request that takes longer, in ms, is shown as running. */
const LONG_REQUEST = 150;
const NOWHERE = { z: '', up: '', s: '', fn: '', o: '', c: '' };

/** The fragment of a place, or ''. */
const fragmentOf = (place) => linkTo(place).replace(/^#$/, '');

const data = document.getElementById('view');
const first = JSON.parse(data.textContent);
data.remove();
/** The address of a frozen view, which has no server and stays the only one; else null. */
const frozen = first.frozen === undefined ? null : new URL(first.frozen, 'https://frozen.invalid/ui/');
const answers = makeAnswers();
const shown = { address: null, place: null, answer: null, view: null };
const pasted = makePasted();
const undoing = makeUndo();
const theme = makeTheme(repaint);
const page = {
    isFrozen: frozen !== null,
    address: () => shown.address,
    place: () => shown.place,
    answer: () => shown.answer,
    chosen: () => (shown.view.chosen ? [shown.view.chosen()].flat().filter(Boolean) : []),
    sampleType: () => parameterOf(shown.address, 'si'),
    here: () => urlOf(shown.address) + fragmentOf(shown.place),
    visit: (changes, place) => visit(changedAddress(shown.address, changes), place),
    link: (changes, options, ...inside) => linkToAddress(changedAddress(shown.address, changes), options, ...inside),
    linkTo: linkToAddress,
    actionsOf: (name) => functionActions(page, name),
    palette: theme.palette,
    go,
    undo,
    canUndo: () => undoing.last() !== undefined,
    ask: (changes) => ask(changedAddress(shown.address, changes)),
    fail: (text) => heading.fail(text),
    paste,
    frozenBody: () => bodyFor(shown.address),
};
const heading = makeHeading(page);
const busy = element('p', { class: 'busy', role: 'status' });
const content = element('div', { class: 'content' });
const main = element('main', { id: 'main', tabindex: '-1' }, heading.node, content);
const paper = element('section', { class: 'papers', 'aria-hidden': 'true' });
const help = makeHelp(
    () => page.searchField,
    [
        ['Enter', 'in the search field: focus on the pattern'],
        ['u', 'undo the last change of filters', { u: undo }],
        ['1', 'from every view: flame graph, root at the top (stacks have no times here, so that it stands for the time order of speedscope)', { 1: () => turn('') }],
        ['2', 'flame graph, root at the bottom; both have the heaviest calls by the default sample type at the left', { 2: () => turn('1') }],
        ['3', 'callers and callees of the chosen function, else of the heaviest one that the root calls', { 3: sandwich }],
        ['↑  ↓', 'in top: the next row; with Shift, choose the rows between. Ctrl or Shift with a click chooses several'],
        ['+  −  0', 'size of the call graph, also by wheel or two fingers; arrow keys move it'],
        ['right click', 'on a frame: choose it without a zoom'],
        ['Esc', 'close a menu; leave the search field'],
    ],
);
const bar = makeBar(page, { theme: theme.node, help: element('button', { type: 'button', on: { click: help.open } }, 'Keys') });
page.searchField = bar.search.field;

/** The colours have changed, or the page is about to be printed. Paper has a table in place of the one that scrolls. */
function repaint() {
    if (!shown.view) return;
    shown.view.repaint();
    paper.replaceChildren(...(theme.onPaper() && shown.view.paper ? [shown.view.paper()] : []));
}

/** Changes the fragment. With `step`, adds it to the browser's history. */
function go(changes, step) {
    shown.place = { ...shown.place, ...changes };
    update();
    writePlace(shown.place, step);
}

function update() {
    bar.update(shown.place);
    shown.view.update(shown.place);
}

/** The URL of an answer. The flame graph's answer has all sample types. */
const urlOfAnswer = (address) => urlOf(address.view === 'flamegraph' ? changedAddress(address, { si: '' }) : address);

/** Whether the flame graph that is shown has the address, with another sample type perhaps. */
const isInGraph = (address) => address.view === 'flamegraph' && urlOfAnswer(address) === urlOfAnswer(shown.address);

/** Goes to an address. Without a place, the search and the order stay, and with another sample type alone the whole place does. */
function visit(address, place) {
    const staysInGraph = isInGraph(address);
    const kept = staysInGraph ? shown.place : { ...NOWHERE, s: shown.place.s, up: shown.place.up, o: shown.place.o };
    if (frozen) return staysInGraph ? show(address, { ...kept, ...place }, shown.answer) : heading.fail('This file has one view only.');
    return open(address, { ...kept, ...place }, true);
}

function linkToAddress(address, { place = {}, current = false, title } = {}, ...inside) {
    const click = (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        visit(address, place);
    };
    if (frozen && !isInGraph(address)) return element('span', {}, inside);
    const href = urlOf(address) + fragmentOf({ ...NOWHERE, ...place });
    return element('a', { href, title, 'aria-current': current ? 'page' : null, on: { click } }, inside);
}

const bodyFor = ({ view }) => (view === 'source' ? pasted.body() : null);

async function ask(address) {
    const timer = setTimeout(() => {
        busy.textContent = 'Working…';
        main.setAttribute('aria-busy', 'true');
    }, LONG_REQUEST);
    try {
        return await answers.get(urlOfAnswer(address), bodyFor(address));
    } finally {
        clearTimeout(timer);
        busy.textContent = '';
        main.removeAttribute('aria-busy');
    }
}

/** Shows an address. isNew: adds it to the browser's history. If the request fails, the old view stays. */
async function open(address, place, isNew) {
    bar.close();
    const failed = (e) => {
        if (isEnded(e)) return;
        heading.fail(e.message);
        // After Back or Forward, the URL names the view that failed.
        if (!isNew) history.replaceState(null, '', urlOf(shown.address) + fragmentOf(shown.place));
    };
    try {
        const answer = await ask(address);
        if (isNew) {
            forgetPlace();
            // The fragment that was to be written later.
            if (urlOf(readAddress()) === urlOf(shown.address)) history.replaceState(null, '', urlOf(shown.address) + fragmentOf(shown.place));
            const to = new URL(urlOf(address) + fragmentOf(place), location.href).href;
            if (to !== location.href) history.pushState(null, '', to);
        }
        show(address, place, answer);
    } catch (e) {
        failed(e);
    }
}

/** Shows the flame graph of a link that has the parameter p. */
function showPivot(address, place, answer) {
    const pattern = parameterOf(address, 'p');
    const to = changedAddress(address, { p: '' });
    const pivot = pivotOf(pattern, address, answer);
    const there = { ...place, ...pivot.place };
    if (!frozen) history.replaceState(null, '', urlOf(to) + fragmentOf(there));
    show(to, there, answers.remember(urlOfAnswer(to), answer));
    if (pivot.note) heading.fail(visible(pivot.note));
}

function show(address, place, answer) {
    if (address.view === 'flamegraph' && parameterOf(address, 'p')) return showPivot(address, place, answer);
    const isSame = answer === shown.answer && address.view === shown.address.view;
    const hadFocus = content.contains(document.activeElement);
    if (shown.address) undoing.note(undoable(shown.address), undoable(address));
    Object.assign(shown, { address, place, answer });
    if (!isSame) {
        shown.view = makeView(address, answer);
        content.replaceChildren(shown.view.node);
        // The focused element is gone. Without this, Tab would start at the top of the page again.
        if (hadFocus) (shown.view.focus || (() => main.focus()))();
    }
    heading.show(answer);
    bar.refresh();
    document.title = `${visible(titleOfAnswer(answer, selectedType(address, answer))).slice(0, 100)} · ${rowOf(address).title}`;
    document.documentElement.dataset.view = address.view;
    update();
    return performance.mark('profgrab:drawn');
}

const rowOf = (address) => PPROF_VIEWS.find(({ name }) => name === address.view) || PPROF_VIEWS[0];

function makeView(address, answer) {
    try {
        return rowOf(address).make(answer, page);
    } catch (e) {
        const node = element('p', { class: 'error' }, `cannot draw this view: ${visible(e.message)}`);
        return { node, update() {}, repaint() {} };
    }
}

function undo() {
    const query = undoing.last();
    if (query === undefined) return false;
    const address = { view: shown.address.view, query };
    visit(changedAddress(address, { si: page.sampleType() }));
    return true;
}

/** Shows the flame graph with the root at the top or at the bottom. */
function turn(up) {
    if (shown.address.view === 'flamegraph') return go({ fn: '', up }, true);
    return visit(changedAddress(shown.address, { view: 'flamegraph' }), { up });
}

/** Shows the callers and callees of the chosen function, or of the one that the flame graph begins with. */
async function sandwich() {
    const [name] = page.chosen();
    if (!shown.view.sandwich) await visit(changedAddress(shown.address, { view: 'flamegraph' }), name ? { fn: frameOf(name, shown.answer) } : {});
    if (shown.view.sandwich && !shown.place.fn) shown.view.sandwich();
}

async function paste(path, text) {
    try {
        pasted.put(path, text);
        show(shown.address, shown.place, await ask(shown.address));
    } catch (e) {
        if (!isEnded(e)) heading.fail(e.message);
    }
}

addEventListener('popstate', () => {
    if (frozen) return;
    const address = readAddress();
    // With the same address, only the fragment has changed: see onPlace.
    if (urlOf(address) !== urlOf(shown.address)) open(address, readPlace(), false);
});
onPlace((place) => {
    if (!frozen && urlOf(readAddress()) !== urlOf(shown.address)) return;
    shown.place = place;
    update();
});

theme.apply();
document.body.prepend(bar.node, busy, main, paper);
const start = readAddress(frozen || location);
answers.remember(urlOfAnswer(start), first);
show(start, readPlace(frozen && !location.hash ? frozen : location), first);
