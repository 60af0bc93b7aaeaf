// The shown view, stored in the URL's fragment: it survives a reload, works with back and forward, and can be sent to others.
//   v: overview or an entry's id; t: sample type, its number or name; z: the zoomed node; up: root below; s, f, i: search, focus, ignore;
//   fn: the function whose callers and callees are shown; g: a state of goroutines

const KEYS = ['v', 't', 'z', 'up', 's', 'f', 'i', 'fn', 'g'];

const own = { written: null, pending: 0 };

/** A link to a place. */
export function linkTo(place) {
    const pairs = new URLSearchParams();
    for (const key of KEYS) if (place[key]) pairs.set(key, place[key]);
    return '#' + pairs;
}

export function readPlace() {
    const pairs = new URLSearchParams(location.hash.slice(1));
    return Object.fromEntries(KEYS.map((key) => [key, pairs.get(key) || '']));
}

/**
 * step: the reader can come back to where they were; otherwise the place is only corrected, a moment later, since
 * the browser takes longer to write a URL than we take to draw.
 */
export function writePlace(place, step) {
    clearTimeout(own.pending);
    own.pending = setTimeout(
        () => {
            const text = linkTo(place);
            if (text === linkTo(readPlace())) return;
            own.written = text;
            if (step) location.hash = text;
            else location.replace(text);
        },
        step ? 0 : 200,
    );
}

/** A number of a place: a whole one below n, or -1. Links may be old, or made by hand. */
export function placeNumber(text, n) {
    return /^\d{1,9}$/.test(text) && Number(text) < n ? Number(text) : -1;
}

/** Calls back when the reader moves by a link or their history, and not for what the page wrote itself. */
export function onPlace(moved) {
    addEventListener('hashchange', () => {
        const place = readPlace();
        if (linkTo(place) === own.written) return;
        clearTimeout(own.pending);
        own.written = null;
        moved(place);
    });
}
