// Matches regular expressions in time linear in the text. JavaScript's RegExp can take exponential time, so a host's
// name and a reader's pattern could block the page. Like RE2, this module uses a deterministic automaton and creates
// its states on demand. A pattern without capitals matches both cases.

const MOST_INSTRUCTIONS = 2000;
const MOST_STATES = 500;
const ASCII = 128;

const DIGIT = [[48, 57]];
const WORD = [...DIGIT, [65, 90], [95, 95], [97, 122]];
const SPACE = [
    [9, 13],
    [32, 32],
];
const ANY = [
    [0, 9],
    [11, 0xffff],
];

function inverted(ranges) {
    const sorted = [...ranges].sort((a, b) => a[0] - b[0]);
    const result = [];
    let from = 0;
    for (const [low, high] of sorted) {
        if (low > from) result.push([from, low - 1]);
        from = Math.max(from, high + 1);
    }
    if (from <= 0xffff) result.push([from, 0xffff]);
    return result;
}

const ESCAPED = {
    d: DIGIT,
    w: WORD,
    s: SPACE,
    D: inverted(DIGIT),
    W: inverted(WORD),
    S: inverted(SPACE),
    n: [[10, 10]],
    t: [[9, 9]],
    r: [[13, 13]],
    f: [[12, 12]],
    v: [[11, 11]],
};

/** Parses a pattern into a tree of nodes. Throws an Error that names invalid or unsupported syntax. */
function parsePattern(pattern) {
    let at = 0;
    let depth = 0;
    const insensitive = !/[A-Z]/.test(pattern.replace(/\\./g, ''));
    const more = () => at < pattern.length;

    function folded(ranges) {
        if (!insensitive) return ranges;
        const both = [...ranges];
        for (const [low, high] of ranges) {
            const [a, z] = [Math.max(low, 97), Math.min(high, 122)];
            if (a <= z) both.push([a - 32, z - 32]);
        }
        return both;
    }

    function escapedSet() {
        if (!more()) throw new Error('a \\ at the end escapes nothing');
        const c = pattern[at++];
        if (Object.hasOwn(ESCAPED, c)) return ESCAPED[c];
        if (/[A-Za-z0-9]/.test(c)) throw new Error(`\\${c} is not supported`);
        return [[c.charCodeAt(0), c.charCodeAt(0)]];
    }

    function bracketSet() {
        const negated = pattern[at] === '^';
        if (negated) at++;
        const ranges = [];
        for (let first = true; first || pattern[at] !== ']'; first = false) {
            if (!more()) throw new Error('a [ is not closed');
            let set;
            if (pattern[at] === '\\') {
                at++;
                set = escapedSet();
            } else {
                const code = pattern.charCodeAt(at++);
                set = [[code, code]];
            }
            const isRange = pattern[at] === '-' && at + 1 < pattern.length && pattern[at + 1] !== ']';
            if (isRange && set.length === 1 && set[0][0] === set[0][1]) {
                at += 1;
                if (pattern[at] === '\\') at++;
                const high = pattern.charCodeAt(at++);
                if (high < set[0][0]) throw new Error('a range in [ ] runs backwards');
                set = [[set[0][0], high]];
            }
            ranges.push(...set);
        }
        at++;
        return negated ? inverted(folded(ranges)) : folded(ranges);
    }

    function group() {
        if (pattern[at] === '?') {
            if (pattern.startsWith('?:', at)) at += 2;
            else throw new Error('(?…) is not supported, except (?:…)');
        }
        if (++depth > 100) throw new Error('groups are nested too deeply');
        const inside = alternatives();
        if (pattern[at] !== ')') throw new Error('a ( is not closed');
        at++;
        depth--;
        return inside;
    }

    function atom() {
        const c = pattern[at++];
        if (c === '(') return group();
        if (c === '[') return { set: bracketSet() };
        if (c === '.') return { set: ANY };
        if (c === '^') return { assert: 'start' };
        if (c === '$') return { assert: 'end' };
        if (c === '\\') return { set: folded(escapedSet()) };
        if ('*+?'.includes(c)) throw new Error(`nothing before the ${c} to repeat`);
        return { set: folded([[c.charCodeAt(0), c.charCodeAt(0)]]) };
    }

    function repeated(node) {
        const braces = /^\{(\d{1,4})(,(\d{0,4}))?\}/.exec(pattern.slice(at, at + 12));
        let range = null;
        if (pattern[at] === '*') range = [0, Infinity, 1];
        else if (pattern[at] === '+') range = [1, Infinity, 1];
        else if (pattern[at] === '?') range = [0, 1, 1];
        else if (braces) {
            const low = Number(braces[1]);
            const high = !braces[2] ? low : braces[3] ? Number(braces[3]) : Infinity;
            range = [low, high, braces[0].length];
        }
        if (!range) return node;
        at += range[2];
        if (pattern[at] === '?') at++;
        if (range[1] < range[0]) throw new Error('a { } runs backwards');
        return repeated({ repeat: node, low: range[0], high: range[1] });
    }

    function sequence() {
        const parts = [];
        while (more() && pattern[at] !== '|' && pattern[at] !== ')') parts.push(repeated(atom()));
        return { sequence: parts };
    }

    function alternatives() {
        const branches = [sequence()];
        while (pattern[at] === '|') {
            at++;
            branches.push(sequence());
        }
        return branches.length === 1 ? branches[0] : { branches };
    }

    const tree = alternatives();
    if (more()) throw new Error('a ) has no (');
    return tree;
}

/** Instructions: {set, next} reads a character, {next, or} branches, {assert, next} tests a position, {match}. */
function instructionsOf(node, next, code) {
    const add = (instruction) => {
        if (code.length >= MOST_INSTRUCTIONS) throw new Error('the pattern is too large');
        return code.push(instruction) - 1;
    };
    if (node.set) return add({ set: node.set, next });
    if (node.assert) return add({ assert: node.assert, next });
    if (node.sequence) return node.sequence.reduceRight((then, part) => instructionsOf(part, then, code), next);
    if (node.branches) {
        const starts = node.branches.map((branch) => instructionsOf(branch, next, code));
        return starts.reduceRight((then, start) => add({ next: start, or: then }));
    }
    let start = next;
    if (node.high === Infinity) {
        const loop = add({ next: -1, or: next });
        code[loop].next = instructionsOf(node.repeat, loop, code);
        start = loop;
    } else {
        if (node.high > MOST_INSTRUCTIONS) throw new Error('the pattern is too large');
        for (let i = node.low; i < node.high; i++) {
            start = add({ next: instructionsOf(node.repeat, start, code), or: next });
        }
    }
    for (let i = 0; i < node.low; i++) start = instructionsOf(node.repeat, start, code);
    return start;
}

function followEmptySteps(code, starts, where) {
    const seen = new Set();
    const todo = [...starts];
    while (todo.length) {
        const at = todo.pop();
        if (seen.has(at)) continue;
        seen.add(at);
        const instruction = code[at];
        if (instruction.or !== undefined) todo.push(instruction.or, instruction.next);
        if (instruction.assert && where[instruction.assert]) todo.push(instruction.next);
    }
    return seen;
}

function containsCode(ranges, c) {
    return ranges.some(([low, high]) => c >= low && c <= high);
}

/** A class number for each ASCII character. Two characters share a class if every set contains both or neither. */
function classesOf(code) {
    const sets = code.filter((instruction) => instruction.set).map((instruction) => instruction.set);
    const numbers = new Map();
    return Uint8Array.from({ length: ASCII }, (_, c) => {
        const key = sets.map((set) => (containsCode(set, c) ? 1 : 0)).join('');
        if (!numbers.has(key)) numbers.set(key, numbers.size);
        return numbers.get(key);
    });
}

// This function is outside linearTest(), so that the browser optimises it once for all patterns.
function run(machine, text) {
    const { classes } = machine;
    let state = machine.first();
    for (let i = 0; i < text.length && !state.matches; i++) {
        const c = text.charCodeAt(i);
        state = (c < ASCII && state.next[classes[c]]) || machine.step(state, c);
    }
    return state.matches || state.matchesAtEnd || (text === '' && machine.matchesEmptyText());
}

/** Returns a test (text) => boolean. Throws an Error that describes the pattern's fault. */
export function linearTest(pattern) {
    const code = [{ match: true }];
    const start = instructionsOf(parsePattern(pattern), 0, code);
    const classes = classesOf(code);
    const known = new Map();
    let begin = null;

    function stateOf(members) {
        const list = [...members].sort((a, b) => a - b);
        const key = list.join();
        const found = known.get(key);
        if (found) return found;
        if (known.size >= MOST_STATES) {
            known.clear();
            begin = null;
        }
        const made = {
            list,
            matches: members.has(0),
            matchesAtEnd: followEmptySteps(code, list, { end: true }).has(0),
            next: new Array(ASCII).fill(null),
        };
        known.set(key, made);
        return made;
    }

    function step(state, c) {
        const starts = state.list.filter((i) => code[i].set && containsCode(code[i].set, c)).map((i) => code[i].next);
        const next = stateOf(followEmptySteps(code, [...starts, start], {}));
        if (c < ASCII) state.next[classes[c]] = next;
        return next;
    }

    function first() {
        begin ||= stateOf(followEmptySteps(code, [start], { start: true }));
        return begin;
    }

    const machine = {
        classes,
        first,
        step,
        matchesEmptyText: () => followEmptySteps(code, [start], { start: true, end: true }).has(0),
    };
    return (text) => run(machine, text);
}
