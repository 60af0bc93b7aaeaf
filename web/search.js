// Finds the functions of a profile that match a pattern.

import { linearTest } from './regex.js';
import { count } from './text.js';

const MOST_MS = 150;
const LONGEST_NAME = 20000;

/** Returns a pattern that matches only this name. */
export function patternOfName(name) {
    return `^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
}

/** Returns the name from which patternOfName() made the pattern; null for any other pattern. */
function nameOfPattern(pattern) {
    const made = pattern.match(/^\^((?:[^\\^$.*+?()[\]{}|]|\\[\\^$.*+?()[\]{}|])*)\$$/);
    return made && made[1].replace(/\\(.)/g, '$1');
}

function makeTest(pattern) {
    const wanted = nameOfPattern(pattern);
    // Compares names directly: the pattern of a long name would exceed the limit of instructions.
    if (wanted !== null) {
        const isCased = /[A-Z]/.test(wanted);
        return { test: (name) => name === wanted || (!isCased && name.toLowerCase() === wanted) };
    }
    // A pattern without metacharacters is a plain text; the browser's own search is the fastest for it.
    if (!/[\\^$.*+?()[\]{}|]/.test(pattern)) return new RegExp(pattern, /[A-Z]/.test(pattern) ? '' : 'i');
    const test = linearTest(pattern);
    return { test };
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
        test = makeTest(pattern);
    } catch (e) {
        return { marked, found: 0, error: e.message };
    }
    const until = performance.now() + MOST_MS;
    let found = 0;
    for (let i = 0; i < marked.length; i++) {
        if ((i & 63) === 0 && performance.now() > until)
            return { marked, found, error: `gave up after ${count(i)} of ${count(marked.length)} names` };
        if (!test.test(profile.nameOf(i).slice(0, LONGEST_NAME))) continue;
        marked[i] = 1;
        found++;
    }
    return { marked, found, error: null };
}
