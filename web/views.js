// The views of entries: one row for each `form` that page/writer.c gives to a drawn entry (docs/formats.md).
// A new view is a module and a row: read(raw) parses the entry's data, make(entry, content, go, palette) returns the view
// {node, update(place), repaint(), searchBox, paper()}.

import { comparisonOf, goroutinesOf, profileOf } from './data.js';
import { makeProfileView } from './profile.js';
import { makeGoroutines } from './goroutines.js';

const VIEWS = {
    profile: { read: profileOf, make: makeProfileView },
    sides: { read: comparisonOf, make: makeProfileView },
    goroutines: { read: goroutinesOf, make: makeGoroutinesView },
};

export function viewOf(entry) {
    return VIEWS[entry.form];
}

/** The flame graph of a dump, with its states above and its stacks below. */
function makeGoroutinesView(entry, content, go, palette) {
    const goroutines = makeGoroutines(content, go);
    const around = { before: goroutines.states, after: goroutines.stacks };
    const profile = makeProfileView(entry, content, go, palette, around);
    const update = (place) => {
        profile.update(place);
        goroutines.update(place);
    };
    return { ...profile, update };
}
