// The names of rows and frames. By the granularity of a view, they are names of functions, or of places in them: of a row
// "0000000000401000 main.work /src/work.go:12", of a frame of the flame graph "main.work:12".

const ADDRESS = /^[0-9a-f]{16} /;
const LINE = /:\d+(?::\d+)?$/;
/** A function, and then a file: an absolute path, or a word. A name that begins with / is a file alone. */
const FUNCTION_AND_LINE = /^([^/].*?) (?:\/.*|\S+):\d+(?::\d+)?$/;
const FUNCTION_AND_FILE = /^([^/].*?) (?:\/.*|\S+\.\w{1,4})$/;

const firstGroup = (name, pattern) => (name.match(pattern) || [null, null])[1];

/** The function of a place, or its file if it has no function: what filters match. */
function functionOfPlace(name, granularity) {
    if (granularity === 'filefunctions') return firstGroup(name, FUNCTION_AND_FILE) || name;
    if (granularity !== 'lines' && granularity !== 'addresses') return name;
    const place = name.replace(ADDRESS, '');
    return firstGroup(place, FUNCTION_AND_LINE) || place.replace(LINE, '');
}

/** The functions of places, each once. answer: the server's JSON. */
export function functionsOf(names, { granularity }) {
    return [...new Set(names.map((name) => functionOfPlace(name, granularity)))];
}

/** The text that stands for a row's function in the URL of the flame graph (identity.js). */
export function frameOf(name, { granularity }) {
    if (granularity === 'filefunctions') return name;
    const hasLine = granularity === 'lines' || granularity === 'addresses';
    return functionOfPlace(name, granularity) + ((hasLine && name.match(LINE)) || [''])[0];
}
