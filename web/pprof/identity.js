// The functions of a flame graph in the URL and in links of go tool pprof.

import { byFunction, weigh } from '../tree.js';

/** The values of the functions, with all that they call. */
function cumOf(profile, type) {
    return (profile.sums || { cum: { [type]: byFunction(profile.tree, weigh(profile.tree, type, null), profile.nFunctions).cum } }).cum[type];
}

/** Returns the one of the functions that has the largest value with all that it calls. */
export function heaviestOf(profile, type, functions) {
    const cum = cumOf(profile, type);
    return functions.reduce((heaviest, fn) => (Math.abs(cum[fn]) > Math.abs(cum[heaviest]) ? fn : heaviest));
}

/**
 * In the URL, a function has its name, which is the same with all filters; if other functions of the profile have this name,
 * its file follows. Returns {textOf(name, file), indexOf(text, type)}; the index is '' if the profile has no such function. Of
 * functions with one name, a text without a file means the heaviest.
 */
export function makeIdentities(profile) {
    let byText = null;

    function known() {
        if (byText) return byText;
        byText = new Map();
        const add = (text, fn) => (byText.has(text) ? byText.get(text).push(fn) : byText.set(text, [fn]));
        for (let fn = 0; fn < profile.nFunctions; fn++) add(profile.nameOf(fn), fn);
        for (const [name, functions] of [...byText])
            if (functions.length > 1) for (const fn of functions) add(`${name} ${profile.fileOf(fn)}`, fn);
        return byText;
    }

    function indexOf(text, type) {
        if (!text) return '';
        // With a filter, the functions of the same name may be gone.
        const functions = known().get(text) || functionsInFile(text);
        return functions.length ? String(functions.length > 1 ? heaviestOf(profile, type, functions) : functions[0]) : '';
    }

    function functionsInFile(text) {
        for (let at = text.indexOf(' '); at > 0; at = text.indexOf(' ', at + 1)) {
            const functions = (known().get(text.slice(0, at)) || []).filter((fn) => profile.fileOf(fn) === text.slice(at + 1));
            if (functions.length) return functions;
        }
        return [];
    }

    /** The function may be one of another answer with the same filters. */
    function textOf(name, file) {
        const functions = known().get(name) || [];
        const isOnly = functions.length < 2 && functions.every((fn) => profile.fileOf(fn) === file);
        return isOnly ? name : `${name} ${file}`;
    }

    return { textOf, indexOf };
}
