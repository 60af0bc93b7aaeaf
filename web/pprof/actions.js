// The actions on a function: filters with a pattern that matches only its name, and the views of this function.

import { element, plural } from '../text.js';
import { nameParts } from '../top.js';
import { patternOfNames } from '../search.js';
import { addedPattern } from './address.js';
import { frameOf, functionsOf } from './names.js';

/** The filters of the Refine menu and of a function: parameter, title, explanation. */
export const REFINEMENTS = [
    ['f', 'Focus', 'only stacks with it'],
    ['i', 'Ignore', 'no stacks with it'],
    ['h', 'Hide', 'stacks without its frames'],
    ['s', 'Show', 'only its frames'],
    ['sf', 'Show from', 'stacks from it on, without its callers'],
];

/** The views that show the functions that the parameter f matches. */
export const FUNCTION_VIEWS = [
    ['source', 'Source'],
    ['peek', 'Peek'],
    ['disasm', 'Disasm'],
];

/** The elements of the actions on functions. page: see views.js. */
export function functionActions(page, ...names) {
    if (page.isFrozen) return [];
    const pattern = patternOfNames(functionsOf(names, page.answer()));
    const refine = ([filter, title, hint]) =>
        element(
            'button',
            { type: 'button', title: hint, on: { click: () => page.visit(addedPattern(page.address(), page.answer(), filter, pattern)) } },
            title,
        );
    return [...REFINEMENTS.map(refine), ...FUNCTION_VIEWS.map(([view, title]) => page.link({ view, f: pattern }, {}, title))];
}

/** The line that describes the chosen functions, with their actions. facts: texts. */
export function functionLine(page, names, facts) {
    const isOne = names.length === 1;
    return element(
        'div',
        { class: 'detail', role: 'group', 'aria-label': isOne ? 'Chosen function' : 'Chosen functions' },
        element('strong', {}, isOne ? nameParts(names[0]) : plural(names.length, 'function')),
        facts.map((fact) => element('span', {}, fact)),
        element(
            'span',
            { class: 'actions' },
            isOne && page.link({ view: 'flamegraph' }, { place: { fn: frameOf(names[0], page.answer()) } }, 'Callers and callees'),
            functionActions(page, ...names),
        ),
    );
}
