// The URL's fragment stores the view, so that a reload, back, forward and a shared link show it again.
//   v: overview or an entry's id; as: the name of the entry's view, by default the first; t: sample type, its number or name; z: the zoomed node; up: root at the bottom;
//   s, f, i: search, focus, ignore; fn: the function with its callers and callees; g: a state of goroutines;
//   o: the order of a table, its column, after a - the other way round; c: the chosen node of a flame graph, or the chosen names of another view,
//   one a line

const KEYS = ['v', 'as', 't', 'z', 'up', 's', 'f', 'i', 'fn', 'g', 'o', 'c'];

/** The fragment that writePlace() wrote last, and the timer of the next write. */
const fragment = { written: null, pending: 0 };

/** Returns a link to a place. */
export function linkTo(place) {
    const pairs = new URLSearchParams();
    for (const key of KEYS) if (place[key]) pairs.set(key, place[key]);
    return '#' + pairs;
}

export function readPlace({ hash } = location) {
    const pairs = new URLSearchParams(hash.slice(1));
    return Object.fromEntries(KEYS.map((key) => [key, pairs.get(key) || '']));
}

/**
 * With `step`, adds the place to the browser's history. Otherwise replaces the current place, after a delay, because
 * the browser takes longer to write a URL than the page takes to draw.
 */
export function writePlace(place, step) {
    clearTimeout(fragment.pending);
    fragment.pending = setTimeout(
        () => {
            const text = linkTo(place);
            if (text === linkTo(readPlace())) return;
            fragment.written = text;
            if (step) location.hash = text;
            else location.replace(text);
        },
        step ? 0 : 200,
    );
}

/** Drops the delayed write of writePlace(), because the page goes to another address. */
export function forgetPlace() {
    clearTimeout(fragment.pending);
}

/** Parses a number of a place: an integer below n, else -1. A link may be old or edited by hand. */
export function placeNumber(text, n) {
    return /^\d{1,9}$/.test(text) && Number(text) < n ? Number(text) : -1;
}

/** Calls moved(place) when the reader follows a link or uses the history, but not after writePlace(). */
export function onPlace(moved) {
    addEventListener('hashchange', () => {
        const place = readPlace();
        if (linkTo(place) === fragment.written) return;
        clearTimeout(fragment.pending);
        fragment.written = null;
        moved(place);
    });
}
