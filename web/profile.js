// The view of a profile: its flame graph or icicle and its table of functions, or one function with its callers and
// callees.

import { copyText, count, cut, element, debounce, untrusted, visible } from './text.js';
import { formatDuration, formatValue, percentage } from './units.js';
import { byFunction, selectNodes, pathTo, sumOf, weigh } from './tree.js';
import { colourOf } from './colours.js';
import { findFunctions } from './search.js';
import { makeFlame } from './flame.js';
import { makeTop, nameParts, paperTable } from './top.js';
import { makeControls } from './controls.js';
import { makeLegend } from './legend.js';
import { makeSandwich } from './sandwich.js';
import { changeColour, changeLegend, sideColumns, sideFacts, sideLegend, sidesByFunction, sideTexts, formatSigned, weighMerged, weighSides } from './sides.js';
import { titleOf } from './kinds.js';
import { placeNumber } from './location.js';

const LEAST_DIFFERENCE = 1e-9;

/**
 * entry: an entry of the bundle's data; go(changes, step): changes the place; theme(): returns the palette; around:
 * {before, after}: elements before and after the graph; {search}: the page's own search field (controls.js);
 * {actionsOf(name)}: more elements for the actions of a function; {zoomUnfolds}: whether a zoom shows folded calls;
 * {instead}: what stands in place of the table and the legend if the figures of functions lack folded calls;
 * {isOfFunction}: whether each stack has the function that the place names.
 * Returns {node, update(place), repaint(), searchBox, paper(), focus(), selected()}: the function that is described, or -1.
 */
export function makeProfileView(entry, profile, go, theme, around = {}) {
    const { tree, sides } = profile;
    const colours = new Uint8Array(profile.nFunctions).fill(255);
    const byPackage = new Map();
    const state = {
        place: null,
        figures: null,
        functions: null,
        marked: null,
        type: -1,
        filters: '',
        search: '',
        zooms: [],
        described: -1,
    };
    const flame = makeFlame({
        label: 'Flame graph of calls',
        share: 0.64,
        activate: zoomTo,
        select: choose,
        tip: (at) => tip(at),
        key: onKey,
    });
    const columns = sides ? [sideColumns(entry), 'cum'] : [];
    const top = makeTop((fn) => go({ fn: String(fn), z: '' }, true), ...columns);
    const controls = makeControls(profile, entry, go, { back, reset, search: around.search });
    const legend = makeLegend(profile, go);
    let sandwich = null;
    const detail = element('div', { class: 'detail' });
    const status = element('p', { class: 'aside', role: 'status' });
    const functions = element('section', { class: 'functions' }, element('h2', {}, 'Functions'), top.node);
    const graph = element('section', { class: 'graph', 'aria-label': 'Flame graph' }, flame.node, detail, legend.node, status);
    const about = element('p', { class: 'about' });
    const whole = element('div', { class: 'whole' }, around.before, graph, around.after, functions);
    const drawRest = debounce(() => {
        if (!node.isConnected) return;
        if (around.instead && !isExact()) return functions.replaceChildren(around.instead);
        if (state.tableStale && !whole.hidden) top.show(context());
        state.tableStale = state.tableStale && whole.hidden;
        if (sides) legend.put(sideLegend(entry, theme()));
        else if (isChange()) legend.put(changeLegend(theme()));
        else legend.update(flatAndCum(), theme(), plainColour);
    });
    const node = element('div', { class: 'profile' }, about, controls.node, whole);

    function colour(fn, at) {
        if (fn < 0) return 0;
        return isChange() ? changeColour(state.figures, at) : packageColour(fn);
    }

    /** Whether the values are changes: those of a difference or of two sides. */
    const isChange = () => profile.isDifference || state.figures.negative;

    function plainColour(fn) {
        return fn < 0 ? 0 : packageColour(fn);
    }

    function packageColour(fn) {
        if (colours[fn] !== 255) return colours[fn];
        const path = profile.packageOf(fn);
        const known = byPackage.get(path);
        colours[fn] = known ?? colourOf(path);
        if (known === undefined) byPackage.set(path, colours[fn]);
        return colours[fn];
    }

    const unit = () => profile.types[state.type].unit;
    const sum = () => state.sum;
    const zoomOf = (place) => Math.max(0, placeNumber(place.z, tree.n));
    /** The node that is described: the reader's choice, else the zoomed one. */
    const chosenIn = (place) => {
        const chosen = placeNumber(place.c, tree.n);
        return chosen >= 0 ? chosen : zoomOf(place);
    };

    function update(place) {
        // Links of the overview name the type; other links have its number.
        const named = profile.types.findIndex((candidate) => candidate.type === place.t);
        const requested = named >= 0 ? named : placeNumber(place.t, profile.types.length);
        const type = requested >= 0 ? requested : profile.type;
        const filters = JSON.stringify([place.f, place.i]);
        const refigured = type !== state.type || filters !== state.filters;
        const searched = state.place === null || place.s !== state.search;
        Object.assign(state, { place, type, filters, search: place.s });
        if (refigured) updateFigures(place);
        if (searched) state.found = findFunctions(profile, place.s);
        state.marked = state.found && !state.found.error ? state.found.marked : null;
        const fn = placeNumber(place.fn, profile.nFunctions);
        const hadFocus = node.contains(document.activeElement) && (fn >= 0) !== whole.hidden;
        whole.hidden = fn >= 0;
        if (sandwich || fn >= 0) sandwichOnce().node.hidden = fn < 0;
        controls.update(place, type, notice());
        if (refigured) describeType();
        // Draw after all other changes: reading the width makes the browser compute the layout.
        if (fn >= 0) sandwich.show(fn, state.figures, context());
        else drawWhole();
        // The focused graph is hidden now.
        if (hadFocus && !node.contains(document.activeElement)) (fn >= 0 ? sandwich : flame).focus();
        state.tableStale ||= refigured || searched;
        if (state.tableStale) drawRest();
    }

    function sandwichOnce() {
        if (sandwich) return sandwich;
        const weighed = (merged) => (sides ? weighMerged(merged) : weigh(merged, 0));
        const sandwichColour = (figures) => (isChange() ? (fn, at) => (fn < 0 ? 0 : changeColour(figures, at)) : plainColour);
        sandwich = makeSandwich(profile, { weighed, missingText, colourOf: sandwichColour, textOf, textsOf, factsOf: factsOfFunction, tipOf, theme, copy, go });
        node.append(sandwich.node);
        return sandwich;
    }

    function updateFigures(place) {
        const focus = findFunctions(profile, place.f);
        const ignore = findFunctions(profile, place.i);
        state.filterError = (focus && focus.error) || (ignore && ignore.error);
        const usable = (found) => (found && !found.error ? found.marked : null);
        const keep = selectNodes(tree, usable(focus), usable(ignore));
        const weighed = (only) => (sides ? weighSides(sides, state.type, only) : weigh(tree, state.type, only));
        state.figures = weighed(keep);
        state.functions = null;
        state.isWhole = keep === null;
        // Shares refer to the whole profile, also with a filter, of this page or of a server (profile.totals, by type).
        // Shares of a difference refer to the sum of all changes.
        state.sum = profile.totals ? profile.totals[state.type] : (keep ? weighed(null) : state.figures).weight[0];
    }

    /** Of all calls, also the folded ones. With the page's own filters, of the drawn calls. */
    function flatAndCum() {
        state.functions ||= sides ? sidesByFunction(tree, state.figures, profile.nFunctions, sumsOfSides()) : sumsOfFunctions();
        return state.functions;
    }

    function sumsOfFunctions() {
        const { sums } = profile;
        if (!sums || !isExact()) return byFunction(tree, state.figures, profile.nFunctions);
        return { flat: sums.flat[state.type], cum: sums.cum[state.type] };
    }

    /** Whether flatAndCum() is known for all calls. */
    const isExact = () => !profile.isFolded || (state.isWhole && profile.sums !== null);

    const sumsOfSides = () => (sides.sums && state.isWhole ? sides.sums.map((ofTypes) => ofTypes[state.type]) : null);

    function drawWhole() {
        describe(chosenIn(state.place));
        flame.show(scene());
    }

    function describeType() {
        const [title, hint] = titleOf(entry, profile.types[state.type].type);
        const facts = sides ? sideFacts(entry, sides, state.type, unit(), state.figures) : factsOf();
        if (profile.isFolded) facts.push(foldedText());
        about.replaceChildren(
            untrusted(title, 'b'),
            hint ? `: ${hint}` : '',
            element(
                'span',
                { class: 'facts' },
                facts.map((fact) => element('span', {}, fact)),
            ),
        );
    }

    const formatChange = (value) => `${formatValue(Math.abs(value), unit())} ${value < 0 ? 'less' : 'more'}`;

    function foldedText() {
        const folded = 'the lightest calls are folded into “smaller calls”';
        if (around.zoomUnfolds) return `${folded}; zoom in to see them`;
        return isExact() ? folded : `${folded}, which the figures of functions lack`;
    }

    function factsOf() {
        const { total } = state.figures;
        const all = formatValue(sum(), unit());
        const facts = [isChange() ? `${formatChange(total[0])}, of ${all} ${profile.totalsAreOfBase ? 'in the base' : 'that changed'}` : `${all} in all`];
        const took = formatDuration(profile.durationNs / 1e6);
        if (profile.durationNs) facts.push(entry.from === 'growth' ? `between two snapshots ${took} apart` : `taken for ${took}`);
        if (entry.from === 'growth' && profile.durationNs)
            facts.push(`${isChange() ? formatSigned(total[0] / (profile.durationNs / 1e9), unit()) : formatValue(sum() / (profile.durationNs / 1e9), unit())} a second`);
        const cores =
            !isChange() && unit() === 'nanoseconds' && entry.kind === 'cpu' && profile.durationNs
                ? sum() / profile.durationNs
                : 0;
        if (cores) facts.push(`${cores.toFixed(cores < 0.1 ? 3 : 2)} cores busy`);
        return facts;
    }

    const drawn = (at) => (state.figures.weight[at] > 0 ? at : 0);
    const scene = () => ({
        tree,
        figures: state.figures,
        zoom: drawn(zoomOf(state.place)),
        chosen: drawn(chosenIn(state.place)),
        up: state.place.up === '1',
        marked: state.marked,
        palette: theme(),
        colourOf: colour,
        nameOf: profile.nameOf,
        unit: unit(),
        whole: sum(),
        textOf: textOf(state.figures),
    });
    const context = () => ({
        figures: flatAndCum(),
        nameOf: profile.nameOf,
        unit: unit(),
        whole: sum(),
        marked: state.marked,
        colour: (fn) => theme().css[packageColour(fn)],
    });

    function notice() {
        if (state.filterError) return `filter: ${state.filterError}`;
        if (!state.found) return state.figures.weight[0] > 0 ? '' : 'nothing of this type was counted';
        if (state.found.error) return state.found.error;
        const sumOfFound = sumOf(tree, state.figures, state.found.marked);
        const least = profile.isFolded && sumOfFound !== state.figures.total[0] ? 'at least ' : '';
        return `${count(state.found.found)} function${state.found.found === 1 ? '' : 's'}, ${least}${figure(sumOfFound)}`;
    }

    const figure = (value) => (sides ? formatSigned(value, unit()) : `${formatValue(value, unit())} (${percentage(value, sum())})`);

    /** Says what part of a function's cumulative value its callers lack, because the tree has folded calls. */
    function missingText(figures, fn) {
        if (!profile.isFolded) return '';
        if (!isExact() && !around.isOfFunction) return 'without folded calls';
        const all = around.isOfFunction ? state.figures.total[0] : flatAndCum().cum[fn];
        const missing = all - figures.total[0];
        return Math.abs(missing) > LEAST_DIFFERENCE * Math.abs(all) ? `${figure(missing)} are in folded calls, which are not drawn here` : '';
    }

    /** For two sides, returns a function that gives the text of a frame; else null: the graph shows value and share. */
    const textOf = ({ total }) => (sides ? (at) => formatSigned(total[at], unit()) : null);

    /** The texts that describe a node. */
    function textsOf({ total, self, here, there }, at) {
        if (sides) return sideTexts(entry, unit(), here.total[at], there.total[at]);
        return [figure(total[at]), `itself ${figure(self[at])}`];
    }

    const textsAt = (at) => textsOf(state.figures, at);

    /** The texts that describe a function, including its callees. */
    function factsOfFunction({ flat, cum, here, there }, fn) {
        if (sides) return sideTexts(entry, unit(), here[fn], there[fn]);
        const least = isExact() ? '' : 'at least ';
        return [`with all it calls ${least}${figure(cum[fn])}`, `itself ${least}${figure(flat[fn])}`];
    }

    function tipNodes(fn, texts) {
        const name = element('strong', {}, ...nameParts(profile.nameOf(fn)));
        const place = profile.placeOf(fn);
        return [name, ...texts.map((text) => element('span', {}, text)), place ? untrusted(place, 'small') : null].filter(Boolean);
    }

    const tipOf = (fn, texts) => tipNodes(fn, sides ? texts : [texts.join(', ')]);
    const tip = (at) => tipOf(tree.fn[at], textsAt(at));

    function choose(at) {
        if (at === chosenIn(state.place)) describe(at);
        else go({ c: at === zoomOf(state.place) ? '' : String(at) });
    }

    function describe(at) {
        const fn = tree.fn[at];
        const texts = textsAt(at);
        state.described = fn;
        const button = (text, click) => element('button', { type: 'button', on: { click } }, text);
        detail.replaceChildren(
            element('strong', {}, ...nameParts(profile.nameOf(fn))),
            ...texts.map((text) => element('span', {}, text)),
            untrusted(profile.placeOf(fn), 'span', { class: 'path' }),
            element(
                'span',
                { class: 'actions' },
                fn >= 0 && button('Callers and callees', () => go({ fn: String(fn), z: '' }, true)),
                at > 0 && button('Copy stack', () => copy(pathTo(tree, at).map((i) => tree.fn[i]))),
                fn >= 0 && around.actionsOf && around.actionsOf(profile.nameOf(fn)),
            ),
        );
        const name = cut(visible(profile.nameOf(fn)), 200);
        status.textContent = `${name}, ${texts.join(', ')}, depth ${tree.depth[at]}`;
    }

    async function copy(functions) {
        const names = functions.filter((fn) => fn >= 0).map((fn) => profile.nameOf(fn));
        const done = await copyText(names.reverse().join('\n'));
        controls.say(
            done ? 'the stack is on the clipboard, the innermost call first' : 'the browser does not allow this page to copy',
        );
    }

    function zoomTo(at) {
        const before = zoomOf(state.place);
        if (at === before) return;
        state.zooms.push(before);
        const started = performance.now();
        go({ z: at ? String(at) : '', c: '' }, true);
        performance.measure('profgrab:zoom', { start: started, end: performance.now() });
    }

    function back() {
        if (state.place.fn !== '') return go({ fn: '' }, true);
        const to = state.zooms.length ? state.zooms.pop() : 0;
        return go({ z: to ? String(to) : '', c: '' }, true);
    }

    function reset() {
        state.zooms = [];
        go({ z: '', c: '', s: '', f: '', i: '', fn: '' }, true);
    }

    function onKey(event, at) {
        const fn = tree.fn[at];
        if (event.key === 'Backspace' || event.key === 'Escape') back();
        else if (event.key === 'b' && fn >= 0) go({ fn: String(fn), z: '' }, true);
        else if (event.key === 'c') copy(pathTo(tree, at).map((i) => tree.fn[i]));
        else if (event.key === '0') reset();
        else return false;
        return true;
    }

    function repaint() {
        if (!state.place) return;
        if (whole.hidden) return sandwich.repaint();
        flame.show(scene());
        state.tableStale = true;
        return drawRest();
    }

    const paper = () => (around.instead && !isExact() ? around.instead.cloneNode(true) : tableOnPaper());

    const tableOnPaper = () =>
        paperTable(
            flatAndCum(),
            profile,
            unit(),
            sum(),
            cut(visible(`${entry.title}: ${titleOf(entry, profile.types[state.type].type)[0]}`)),
            ...columns,
        );

    const selected = () => (whole.hidden ? placeNumber(state.place.fn, profile.nFunctions) : state.described);

    return { node, update, repaint, back, searchBox: controls.searchBox, paper, focus: flame.focus, selected };
}
