// Which functions of a profile a pattern matches.

import { linearTest } from './regex.js';
import { count } from './text.js';

const MOST_MS = 150;
const LONGEST_NAME = 20000;

/** Returns a pattern that matches only this name. */
export function exactly(name) {
    return `^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
}

/** What exactly() made a pattern of; null for any other pattern. */
function nameIn(pattern) {
    const made = pattern.match(/^\^((?:[^\\^$.*+?()[\]{}|]|\\[\\^$.*+?()[\]{}|])*)\$$/);
    return made && made[1].replace(/\\(.)/g, '$1');
}

function testOf(pattern) {
    const wanted = nameIn(pattern);
    // A long name would be too large a pattern.
    if (wanted !== null) {
        const isCased = /[A-Z]/.test(wanted);
        return { test: (name) => name === wanted || (!isCased && name.toLowerCase() === wanted) };
    }
    // Without signs of its own a pattern is a text, and looking for that is native code.
    if (!/[\\^$.*+?()[\]{}|]/.test(pattern)) return new RegExp(pattern, /[A-Z]/.test(pattern) ? '' : 'i');
    const test = linearTest(pattern);
    return { test };
}

/**
 * {marked, found, error}: of each function 1 where its name matches; error is a sentence for the reader.
 * Nothing is searched for with an empty pattern: null.
 */
export function findFunctions(profile, pattern) {
    if (pattern === '') return null;
    const marked = new Uint8Array(profile.nFunctions);
    let test;
    try {
        test = testOf(pattern);
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
