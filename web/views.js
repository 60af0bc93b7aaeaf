// The views of entries, one row for each. An entry has every view that applies to it: the first is shown first and makes
// the entry's card on the overview, and several views have tabs. A row:
//
//   name       the name in the URL
//   title      the text of the tab
//   appliesTo  (entry): whether the entry has this view. entry.form is the form of its data (data.js), entry.kind its kind
//   question   (entry): the question that the view answers, or null
//   make       (entry, content, go, palette): returns {node, update(place), repaint()}, and optionally searchBox and
//              paper(), which returns a table for printing. content: the entry's data, as data.js reads it;
//              go(changes, step): changes the place in the URL; palette(): the colours
//   thumbnail  (canvas, content, palette): draws the picture of the card. null: the card has no picture

import { makeProfileView } from './profile.js';
import { makeGoroutinesView } from './goroutines.js';
import { drawMiniature } from './miniature.js';
import { questionOf } from './kinds.js';

const VIEWS = [
    {
        name: 'calls',
        title: 'Calls',
        appliesTo: ({ form }) => form === 'profile' || form === 'sides',
        question: questionOf,
        make: makeProfileView,
        thumbnail: drawMiniature,
    },
    {
        name: 'goroutines',
        title: 'Goroutines',
        appliesTo: ({ form }) => form === 'goroutines',
        question: () => questionOf({ kind: 'goroutines' }),
        make: makeGoroutinesView,
        thumbnail: drawMiniature,
    },
];

export function viewsOf(entry) {
    return VIEWS.filter((view) => view.appliesTo(entry));
}
