// Links to the flame graph of go tool pprof may have the parameter p: the functions that its graph shows with all their
// callers and callees. This page shows one function so: the fragment names it.

import { profileOf } from '../data.js';
import { findFunctions, nameOfPattern } from '../search.js';
import { selectedType } from './address.js';
import { heaviestOf, makeIdentities } from './identity.js';

/** What go tool pprof adds to a name that an earlier function has: its number in the profile. */
const NUMBER_OF_NAMESAKE = /#\d+(?=\$$)/;

/** Returns {marked, found, error} of search.js for the functions whose name or file matches, as in go tool pprof. */
function findByNameOrFile(profile, pattern) {
    const byName = findFunctions(profile, pattern);
    const byFile = findFunctions({ ...profile, nameOf: profile.fileOf }, pattern);
    const marked = byName.marked.map((mark, fn) => mark || byFile.marked[fn]);
    return { marked, found: marked.filter(Boolean).length, error: byName.error || byFile.error };
}

function findPivots(profile, pattern) {
    const found = findByNameOrFile(profile, pattern);
    return found.found || found.error ? found : findByNameOrFile(profile, pattern.replace(NUMBER_OF_NAMESAKE, ''));
}

/** A pivot that is not among the drawn calls. The flame graph asks the server for a function by its name. */
function foldedPivot(pattern) {
    const name = nameOfPattern(pattern.replace(NUMBER_OF_NAMESAKE, ''));
    if (name) return { place: { fn: name }, note: '' };
    return { place: {}, note: `p=${pattern}: no function of the drawn calls matches; the filter focus (f) also finds functions of folded calls` };
}

/** Returns {place: changes of the fragment, note: a sentence or ''} for the value of p, at a flame graph's answer. */
export function pivotOf(pattern, address, answer) {
    const profile = profileOf(answer.data);
    const { marked, found, error } = findPivots(profile, pattern);
    if (!error && !found && profile.isFolded) return foldedPivot(pattern);
    if (error || !found) return { place: {}, note: `p=${pattern}: ${error || 'no function matches'}` };
    const functions = [...marked.keys()].filter((fn) => marked[fn]);
    const fn = heaviestOf(profile, selectedType(address, answer), functions);
    const place = { fn: makeIdentities(profile).textOf(profile.nameOf(fn), profile.fileOf(fn)) };
    if (found === 1) return { place, note: '' };
    const isSearch = findFunctions(profile, pattern).found > 0;
    const rest = isSearch ? '; the whole graph marks all' : '';
    const count = profile.isFolded ? `${found} functions of the drawn calls` : `${found} functions`;
    return { place: { ...place, ...(isSearch && { s: pattern }) }, note: `p=${pattern} matches ${count}: this is the heaviest${rest}` };
}
