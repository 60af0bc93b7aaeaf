// The address of a view of the pprof page: the view is the last part of the path, and the query has the parameters of
// `go tool pprof -http`. The fragment (location.js) has the rest.

/** The parameters that select samples and frames, and their names. */
export const FILTERS = {
    f: 'focus',
    i: 'ignore',
    h: 'hide',
    s: 'show',
    sf: 'show from',
    prunefrom: 'prune from',
    tf: 'tag focus',
    ti: 'tag ignore',
    ts: 'tag show',
    th: 'tag hide',
};
/** Their matches are removed, so that a second pattern adds to the first. A second pattern of the others replaces it. */
const REMOVING = new Set(['i', 'h']);

/** Returns {view, query}. */
export function readAddress(url = location) {
    return { view: url.pathname.split('/').pop(), query: url.search.slice(1) };
}

/** Returns the address with other parameters and, if `changes` has a `view`, another view. An empty value removes a parameter. */
export function changedAddress(address, { view = address.view, ...changes }) {
    const pairs = new URLSearchParams(address.query);
    // The numbers of functions are those of this view with these parameters.
    if (view !== address.view || Object.keys(changes).some((name) => name !== 'si')) pairs.delete('under');
    for (const [name, value] of Object.entries(changes)) {
        if (value) pairs.set(name, value);
        else pairs.delete(name);
    }
    if (view === 'peek' && pairs.has('f')) pairs.set('f', forPeek(pairs.get('f')));
    return { view, query: String(pairs) };
}

/** Peek matches the names of its rows, which have a file and a line after the function's name. */
function forPeek(pattern) {
    return pattern.replace(/(?<!\\)\$(?=\||$)/g, '( |$$)');
}

/** The parameters of filters of the command line that are removed. */
const removedDefaults = (address) => parameterOf(address, 'without').split(',').filter(Boolean);

/** The filters in use, of the address and of the command line: [parameter, pattern] of each. */
export function filtersInUse(address, { defaults = {} }) {
    const removed = removedDefaults(address);
    const used = Object.keys(FILTERS).map((name) => [name, parameterOf(address, name) || (removed.includes(name) ? '' : defaults[name])]);
    return used.filter(([, pattern]) => pattern);
}

/** The changes that remove filters. */
export function withoutFilters(address, { defaults = {} }, names = Object.keys(FILTERS)) {
    const removed = new Set([...removedDefaults(address), ...names.filter((name) => defaults[name])]);
    return { ...Object.fromEntries(names.map((name) => [name, ''])), without: [...removed].join(',') };
}

/** The changes that add a pattern to a filter. */
export function addedPattern(address, answer, filter, pattern) {
    const [, old] = filtersInUse(address, answer).find(([name]) => name === filter) || [];
    const isNew = !REMOVING.has(filter) || !old || old === pattern;
    return { [filter]: isNew ? pattern : `${old}|${pattern}` };
}

export function parameterOf({ query }, name) {
    return new URLSearchParams(query).get(name) || '';
}

/** The number of the selected sample type. The flame graph's answer may be that of another type, because it has all types. */
export function selectedType(address, { types, type }) {
    const si = parameterOf(address, 'si');
    const named = types.findIndex((candidate) => candidate.type === si);
    if (named >= 0) return named;
    return /^\d+$/.test(si) && types[Number(si)] ? Number(si) : type;
}

/** The parameters that an Undo restores: all but the sample type and the zoom. */
export function undoable(address) {
    return changedAddress(address, { si: '', under: '' }).query;
}

/** A relative URL. */
export function urlOf({ view, query }) {
    return query ? `${view}?${query}` : view;
}
