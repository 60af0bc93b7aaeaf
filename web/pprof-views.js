// The views of the pprof page, one row for each. A row:
//
//   name    the last part of the URL's path
//   title   the entry of the View menu
//   of      whether the view shows the functions that the parameter f matches
//   make    (answer, page): returns {node, update(place), repaint()}, and optionally chosen(), the name of the chosen
//           function or '', and sandwich(), which shows its callers and callees. answer: the server's JSON
//
// page has these functions:
//
//   address()                     the view's address (pprof-address.js)
//   visit(changes, place)         goes to an address with other parameters; place: the fragment there (location.js)
//   link(changes, {place, title}, ...inside)   a link that does the same
//   go(changes, step)             changes the fragment
//   actionsOf(name)               the actions on a function
//   paste(path, text)             sends the source of a file
//   sampleType()                  the name or number of the sample type, '' for the profile's default
//   palette(), searchField        the colours; the page's search field

import { makeFlameView } from './pprof-flame.js';
import { makeTopView } from './pprof-top.js';

export const PPROF_VIEWS = [
    { name: 'flamegraph', title: 'Flame graph', of: false, make: makeFlameView },
    { name: 'top', title: 'Top', of: false, make: makeTopView },
];
