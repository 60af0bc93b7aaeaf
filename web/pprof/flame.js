// The flame graph of the pprof page: the view of a profile in report.html, with the page's own search field and filters.
// The server folds the lightest calls of a large profile. A zoom, and the view of one function, ask for them.

import { cut, element, visible } from '../text.js';
import { profileOf } from '../data.js';
import { placeNumber } from '../location.js';
import { makeMinimap } from '../minimap.js';
import { heaviestChild, pathTo, SMALLER_CALLS, weigh } from '../tree.js';
import { parameterOf, selectedType } from './address.js';
import { isEnded } from './answers.js';
import { makeIdentities } from './identity.js';
import { makeProfileView } from '../profile.js';

/** The kind of a profile, as far as its sample types show it: titleOf() and the number of busy cores need it. */
function kindOf({ types }) {
    return types.some(({ type, unit }) => type === 'cpu' && unit === 'nanoseconds') ? 'cpu' : '';
}

/** The functions, by their numbers on the server, below which the answer of an address has all calls. */
const underOf = (address) => parameterOf(address, 'under').split('.').filter(Boolean);

/**
 * The value of the parameter `under` with which the server sends the calls below a node, or null if the tree has them or
 * the server can send no more.
 */
function underForNode({ tree, numbers }, node, under) {
    const path = pathTo(tree, node).slice(1);
    if (path.length < under.length) return under.slice(0, path.length).join('.');
    if (tree.fn[node] === SMALLER_CALLS) path.pop();
    if (!numbers || path.length <= under.length || !tree.fn.subarray(node, tree.end[node]).includes(SMALLER_CALLS)) return null;
    return path.map((at) => numbers[tree.fn[at]]).join('.');
}

/**
 * One tree of calls. part: null if the tree has all calls, else {textOf: that of the view of all calls, isOfFunction: as in
 * profile.js}. Returns a view of views.js, and {profile, textOf(name, file), textOfFunction(fn), indexOf(text)}: as in identity.js, and heaviest().
 */
function makeTreeView(answer, page, go, part) {
    // The totals before the filters, if the server sends them.
    const { totals = null, totalsAreOfBase, isDifference } = answer;
    const profile = { ...profileOf(answer.data), totals, totalsAreOfBase, isDifference };
    const identities = makeIdentities(profile);
    const textOf = (name, file) => (part ? part.textOf(name, file) : identities.textOf(name, file));
    const textOfFunction = (fn) => textOf(profile.nameOf(fn), profile.fileOf(fn));
    const entry = { title: answer.title, kind: kindOf(profile) };
    const goByName = (changes, step) => {
        const isIndex = 'fn' in changes && changes.fn !== '';
        go(isIndex ? { ...changes, fn: textOfFunction(Number(changes.fn)) } : changes, step);
    };
    const minimap = makeMinimap(profile, (node) => goByName({ z: node ? String(node) : '' }, true));
    const view = makeProfileView(entry, profile, goByName, page.palette, {
        before: minimap.node,
        search: page.searchField,
        actionsOf: (name) => page.actionsOf(name),
        zoomUnfolds: !page.isFrozen,
        isOfFunction: part !== null && part.isOfFunction,
        instead: element('p', { class: 'quiet' }, page.link({ view: 'top' }, {}, 'Top'), ' has the figures of all functions: they include folded calls'),
    });
    const type = () => selectedType(page.address(), answer);
    const indexOf = (text) => identities.indexOf(text, type());
    /** The heaviest node below the root, or -1. */
    const heaviest = () => heaviestChild(profile.tree, weigh(profile.tree, type()), 0);
    let zoom = -1;

    function update(place) {
        zoom = placeNumber(place.z, profile.tree.n);
        view.update({ ...place, f: '', i: '', fn: indexOf(place.fn), t: String(type()) });
        minimap.update(zoom, type(), page.palette());
    }

    function repaint() {
        view.repaint();
        minimap.update(zoom, type(), page.palette());
    }

    return { ...view, profile, textOf, textOfFunction, indexOf, heaviest, update, repaint };
}

export function makeFlameView(answer, page) {
    const whole = makeTreeView(answer, page, go, null);
    const { profile } = whole;
    const node = element('div', {}, whole.node);
    /** The calls of the function `name`, which the server sends if the tree has folded calls. */
    const ofFunction = { name: '', view: null, hasFailed: false };
    let shown = whole;

    function go(changes, step) {
        const place = { ...page.place(), ...changes };
        if (changes.fn && underOf(page.address()).length) return page.visit({ under: '' }, { ...place, c: '' });
        const under = 'z' in changes ? underForNode(profile, Math.max(0, placeNumber(changes.z, profile.tree.n)), underOf(page.address())) : null;
        if (under === null || page.isFrozen) return page.go(changes, step);
        // Shows the zoom with the drawn calls until the server answers.
        show(whole, place);
        const depth = under ? under.split('.').length : 0;
        return page.visit({ under }, { ...place, z: depth ? String(depth) : '' }).then(() => page.answer() === answer && update(page.place()));
    }

    function update(place) {
        const isAsked = !page.isFrozen && place.fn && profile.numbers;
        if (ofFunction.hasFailed && ofFunction.name !== place.fn) ofFunction.name = '';
        if (isAsked && ofFunction.name !== place.fn) askForFunction(place.fn);
        show(isAsked && ofFunction.view ? ofFunction.view : whole, place);
    }

    function show(view, place) {
        if (view !== shown) node.replaceChildren(view.node);
        shown = view;
        view.update(place);
    }

    /** A function that has only folded calls has no number: the server knows its name. */
    async function askForFunction(name) {
        Object.assign(ofFunction, { name, view: null, hasFailed: false });
        const index = whole.indexOf(name);
        try {
            const part = await page.ask(index === '' ? { through_name: name } : { through: String(profile.numbers[Number(index)]) });
            if (ofFunction.name !== name || page.answer() !== answer) return;
            const view = makeTreeView(part, page, go, { textOf: whole.textOf, isOfFunction: index !== '' });
            if (view.profile.tree.n < 2) return fail(`no sample that is shown has the function ${cut(visible(name))}`);
            ofFunction.view = view;
            if (page.place().fn === name) update(page.place());
        } catch (e) {
            if (ofFunction.name !== name) return;
            if (isEnded(e)) ofFunction.name = '';
            else fail(e.message);
        }
    }

    /** Does not ask again before the reader has chosen another function. */
    function fail(text) {
        ofFunction.hasFailed = true;
        page.fail(text);
    }

    const chosen = () => (shown.selected() >= 0 ? shown.profile.nameOf(shown.selected()) : '');

    function sandwich() {
        // Without a chosen frame, the heaviest function that the root calls.
        const [view, fn] = shown.selected() >= 0 ? [shown, shown.selected()] : [whole, profile.tree.fn[whole.heaviest()]];
        if (fn >= 0) page.go({ fn: view.textOfFunction(fn), z: '' }, true);
    }

    return { node, update, repaint: () => shown.repaint(), chosen, sandwich, focus: () => shown.focus(), paper: () => shown.paper() };
}
