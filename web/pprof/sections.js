// The sections of a view that the reader has opened or closed. The URL has those that differ from how the view begins, one a line.

/** A longer list is not in the URL. */
const LONGEST_LIST = 4000;

/** page: see views.js. Returns {add(name, begins, set), note(name, isOpen), update(place)}. */
export function makeSections(page) {
    const sections = new Map();
    let text = page.place().c;
    let changed = new Set(text.split('\n'));

    const isOpen = (name) => sections.get(name).begins !== changed.has(name);

    /** begins: whether the section is open at first; set(isOpen) opens or closes it. Returns whether it is open now. */
    function add(name, begins, set) {
        sections.set(name, { begins, set });
        return isOpen(name);
    }

    /** The reader, or set(), has opened or closed a section. */
    function note(name, isOpenNow) {
        if (isOpenNow === isOpen(name)) return;
        if (!changed.delete(name)) changed.add(name);
        const list = [...changed].filter(Boolean).join('\n');
        text = list.length > LONGEST_LIST ? '' : list;
        page.go({ c: text });
    }

    function update({ c }) {
        if (c === text) return;
        text = c;
        changed = new Set(text.split('\n'));
        for (const [name, { set }] of sections) set(isOpen(name));
    }

    return { add, note, update };
}
