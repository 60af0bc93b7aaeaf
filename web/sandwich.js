// The view of one function, with its callers above and its callees below.

import { element, untrusted } from './text.js';
import { pathTo } from './tree.js';
import { calleesOf, callersOf } from './merge.js';
import { makeFlame } from './flame.js';
import { nameParts } from './top.js';
import { patternOfName } from './search.js';

/**
 * tools has these functions:
 *   weighed(tree): the figures of a tree of callers or callees;
 *   missingText(figures of the callers, fn): what they lack, or '';
 *   colourOf(figures): a function (fn, node) that returns a colour's number;
 *   textOf(figures): a function (node) that returns a frame's text, or null for the value and share;
 *   textsOf(figures, node), factsOf(figures by function, fn): descriptions;
 *   tipOf(fn, texts): the elements of the tip; theme(): the palette; copy(functions); go(changes, step).
 */
export function makeSandwich(profile, tools) {
    const { go } = tools;
    const title = element('h2', {});
    const facts = element('p', { class: 'facts' });
    const missing = element('p', { class: 'quiet' });
    const callers = makeHalf('Callers', 'functions that call it');
    const callees = makeHalf('Callees', 'functions that it calls');
    const status = element('p', { class: 'aside', role: 'status' });
    const close = element('button', { type: 'button', on: { click: () => go({ fn: '' }, true) } }, 'Whole graph');
    const find = element('button', { type: 'button' }, 'Search for it in the graph');
    find.addEventListener('click', () => go({ fn: '', s: patternOfName(profile.nameOf(shown.fn)) }, true));
    const node = element(
        'section',
        { class: 'sandwich', 'aria-label': 'Callers and callees' },
        element('div', { class: 'sandwich-head' }, title, facts, missing, element('p', { class: 'actions' }, close, find)),
        callers.node,
        callees.node,
        status,
    );
    const shown = { fn: -1, whole: null, context: null };

    function makeHalf(name, hint) {
        const half = { tree: null, figures: null };
        half.flame = makeFlame({
            label: `${name}: ${hint}`,
            share: 0.38,
            activate: (at) => {
                const fn = half.tree.fn[at];
                if (fn >= 0 && fn !== shown.fn) go({ fn: String(fn) }, true);
            },
            select: (at) => {
                status.textContent = [profile.nameOf(half.tree.fn[at]).slice(0, 200), ...tools.textsOf(half.figures, at)].join(', ');
            },
            tip: (at) => tools.tipOf(half.tree.fn[at], tools.textsOf(half.figures, at)),
            key: (event, at) => {
                if (event.key === 'Backspace' || event.key === 'Escape') go({ fn: '' }, true);
                else if (event.key === 'c') tools.copy(stackOf(half, at));
                else return false;
                return true;
            },
        });
        half.empty = element('p', { class: 'quiet' });
        half.node = element(
            'section',
            {},
            element('h3', {}, name, ' ', element('small', {}, hint)),
            half.flame.node,
            half.empty,
        );
        return half;
    }

    const stackOf = (half, at) => {
        const path = pathTo(half.tree, at).map((i) => half.tree.fn[i]);
        return half === callers ? path.reverse() : path;
    };

    function show(fn, whole, context) {
        const isNew = shown.fn !== fn || shown.whole !== whole;
        Object.assign(shown, { fn, whole, context });
        if (!isNew) return repaint();
        title.replaceChildren(...nameParts(profile.nameOf(fn)));
        const place = profile.placeOf(fn);
        facts.replaceChildren(
            ...tools.factsOf(context.figures, fn).map((fact) => element('span', {}, fact)),
            place ? untrusted(place, 'span', { class: 'path' }) : '',
        );
        fill(callers, callersOf(profile.tree, whole, fn, profile.nFunctions));
        fill(callees, calleesOf(profile.tree, whole, fn, profile.nFunctions));
        missing.textContent = tools.missingText(callers.figures, fn);
        callers.empty.textContent = callers.tree.n > 1 ? '' : 'none: stacks begin with this function';
        callees.empty.textContent = callees.tree.n > 1 ? '' : 'none in this profile';
        return repaint();
    }

    function fill(half, tree) {
        half.tree = tree;
        half.figures = tools.weighed(tree);
    }

    function repaint() {
        for (const half of [callers, callees]) {
            half.flame.show({
                tree: half.tree,
                figures: half.figures,
                zoom: 0,
                up: half === callers,
                marked: null,
                palette: tools.theme(),
                colourOf: tools.colourOf(half.figures),
                nameOf: profile.nameOf,
                unit: shown.context.unit,
                whole: shown.context.whole,
                textOf: tools.textOf(half.figures),
            });
        }
    }

    return { node, show, repaint, focus: () => callees.flame.focus() };
}
