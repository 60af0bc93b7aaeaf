// The queries to which Undo returns. The browser keeps them while the page is loaded again.

const KEY = 'undo';

/** The browser may refuse storage; then Undo begins anew. */
function kept() {
    try {
        const [{ type }] = performance.getEntriesByType('navigation');
        return type === 'navigate' ? [] : JSON.parse(sessionStorage.getItem(KEY) || '[]');
    } catch {
        return [];
    }
}

function keep(queries) {
    try {
        sessionStorage.setItem(KEY, JSON.stringify(queries));
    } catch {
        // See above.
    }
}

/** Returns {last(): the query before the present one, or undefined; note(old, now)}. */
export function makeUndo() {
    const before = kept();

    /** The query has changed, also by the browser's history. */
    function note(old, now) {
        if (old === now) return;
        if (before[0] === now) before.shift();
        else before.unshift(old);
        keep(before);
    }

    return { last: () => before[0], note };
}
