// Links to the flame graph of go tool pprof may have the parameter p: the functions that its graph shows with all their
// callers and callees. This page shows one function so: the fragment names it.

import { profileOf } from '../data.js';
import { findFunctions } from '../search.js';
import { byFunction, weigh } from '../tree.js';
import { selectedType } from './address.js';

/** The values of the functions, with all that they call. */
function cumOf(profile, type) {
    return (profile.sums || { cum: { [type]: byFunction(profile.tree, weigh(profile.tree, type, null), profile.nFunctions).cum } }).cum[type];
}

/** Returns {place: changes of the fragment, note: a sentence or ''} for the value of p, at a flame graph's answer. */
export function pivotOf(pattern, address, answer) {
    const profile = profileOf(answer.data);
    const { marked, found, error } = findFunctions(profile, pattern);
    if (error || !found) return { place: {}, note: `p=${pattern}: ${error || 'no function matches'}` };
    const cum = cumOf(profile, selectedType(address, answer));
    let heaviest = -1;
    for (let fn = 0; fn < marked.length; fn++) if (marked[fn] && (heaviest < 0 || Math.abs(cum[fn]) > Math.abs(cum[heaviest]))) heaviest = fn;
    const place = { fn: profile.nameOf(heaviest) };
    if (found === 1) return { place, note: '' };
    return { place: { ...place, s: pattern }, note: `p=${pattern} matches ${found} functions: this is the heaviest; the whole graph marks all` };
}
