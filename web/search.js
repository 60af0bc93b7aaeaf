// Finds the functions of a profile that match a pattern.

import { linearMatcher } from './regex.js';
import { count } from './text.js';

const MOST_MS = 150;
const LONGEST_NAME = 20000;

/** Returns a pattern that matches only this name. */
export function patternOfName(name) {
    return `^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
}

/** Returns a pattern that matches only these names. */
export const patternOfNames = (names) => names.map(patternOfName).join('|');

/** Returns the name from which patternOfName() made the pattern; null for any other pattern. */
export function nameOfPattern(pattern) {
    const made = pattern.match(/^\^((?:[^\\^$.*+?()[\]{}|]|\\[\\^$.*+?()[\]{}|])*)\$$/);
    return made && made[1].replace(/\\(.)/g, '$1');
}

function spansOfText(text, wanted) {
    const spans = [];
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) spans.push([at, at + wanted.length]);
    return spans;
}

/** Returns {test(text), spans(text)} (regex.js) for a pattern, by the rules of the filters. Throws an Error. */
export function matcherOf(pattern) {
    const wanted = nameOfPattern(pattern);
    // The browser's own search is the fastest for a plain text.
    if (!/[\\^$.*+?()[\]{}|]/.test(pattern)) return { test: (text) => text.includes(pattern), spans: (text) => spansOfText(text, pattern) };
    if (wanted === null) return linearMatcher(pattern);
    // Compares names directly: the pattern of a long name would exceed the limit of instructions.
    const test = (text) => text === wanted;
    return { test, spans: (text) => (test(text) ? [[0, text.length]] : []) };
}

/**
 * Returns {marked, found, error}: 1 for each function whose name matches, the number of matches, and a sentence for the
 * reader. Returns null for an empty pattern.
 */
export function findFunctions(profile, pattern) {
    if (pattern === '') return null;
    const marked = new Uint8Array(profile.nFunctions);
    let test;
    try {
        ({ test } = matcherOf(pattern));
    } catch (e) {
        return { marked, found: 0, error: e.message };
    }
    const until = performance.now() + MOST_MS;
    let found = 0;
    for (let i = 0; i < marked.length; i++) {
        if ((i & 63) === 0 && performance.now() > until)
            return { marked, found, error: `gave up after ${count(i)} of ${count(marked.length)} names` };
        if (!test(profile.nameOf(i).slice(0, LONGEST_NAME))) continue;
        marked[i] = 1;
        found++;
    }
    return { marked, found, error: null };
}
