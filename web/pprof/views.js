// The views of the pprof page, one row for each. A row:
//
//   name    the last part of the URL's path
//   title   the entry of the View menu
//   make    (answer, page): returns {node, update(place), repaint()}, and optionally chosen(), the name of the chosen
//           function or '', or a list of names; sandwich(), which shows its callers and callees; focus(), which focuses the drawing; paper(),
//           a table for printing. answer: the server's JSON
//
// page.isFrozen: the page is a file without a server, which has this view only. page has these functions:
//
//   address(), place()            the view's address (address.js) and fragment (location.js)
//   visit(changes, place)         goes to an address with other parameters; place: the fragment there (location.js)
//   ask(changes)                  the answer of that address
//   link(changes, {place, title}, ...inside)   a link that does the same
//   go(changes, step)             changes the fragment
//   actionsOf(name)               the actions on a function
//   paste(path, text)             shows a text in place of a source file
//   sampleType()                  the name or number of the sample type, '' for the profile's default
//   palette(), searchField        the colours; the page's search field

import { makeFlameView } from './flame.js';
import { makeGraphView } from './graph.js';
import { makeSourceView } from './source.js';
import { makeTagsView } from './tags.js';
import { makeTextView } from './text.js';
import { makeTopView } from './top.js';

export const PPROF_VIEWS = [
    { name: 'flamegraph', title: 'Flame graph', make: makeFlameView },
    { name: 'graph', title: 'Graph', make: makeGraphView },
    { name: 'top', title: 'Top', make: makeTopView },
    { name: 'peek', title: 'Peek', make: makeTextView('peek', 'Callers and callees of each function') },
    { name: 'source', title: 'Source', make: makeSourceView },
    { name: 'disasm', title: 'Disassembly', make: makeTextView('disasm', 'Machine code') },
    { name: 'tags', title: 'Tags', make: makeTagsView },
];
