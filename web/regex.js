// Matches regular expressions in time linear in the text. JavaScript's RegExp can take exponential time, so a host's
// name and a reader's pattern could block the page. Like RE2, this module uses a deterministic automaton and creates
// its states on demand.

import { parsePattern } from './pattern.js';

const MOST_INSTRUCTIONS = 2000;
const MOST_STATES = 500;
const ASCII = 128;

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
        for (let i = node.low; i < node.high; i++) {
            start = add({ next: instructionsOf(node.repeat, start, code), or: next });
        }
    }
    for (let i = 0; i < node.low; i++) start = instructionsOf(node.repeat, start, code);
    return start;
}

/** What the assertions beside a character ask about it. The text's edges are the kind 'edge'. */
function kindOfCharacter(character) {
    if (character === '\n') return 'newline';
    return /^\w$/.test(character) ? 'word' : 'other';
}

const isLineEdge = (kind) => kind === 'edge' || kind === 'newline';

/** Whether each assertion holds between two kinds of characters. */
const HOLDS = {
    start: (before) => before === 'edge',
    end: (before, after) => after === 'edge',
    lineStart: (before) => isLineEdge(before),
    lineEnd: (before, after) => isLineEdge(after),
    boundary: (before, after) => (before === 'word') !== (after === 'word'),
    noBoundary: (before, after) => (before === 'word') === (after === 'word'),
};

/** The instructions that are reached without reading a character. */
function followEmptySteps(code, starts, before, after) {
    const seen = new Set();
    const todo = [...starts];
    while (todo.length) {
        const at = todo.pop();
        if (seen.has(at)) continue;
        seen.add(at);
        const instruction = code[at];
        if (instruction.or !== undefined) todo.push(instruction.or, instruction.next);
        if (instruction.assert && HOLDS[instruction.assert](before, after)) todo.push(instruction.next);
    }
    return seen;
}

/** A class number for each ASCII character. Two characters share a class if every set contains both or neither. */
function classesOf(code, kindOf) {
    const sets = code.filter((instruction) => instruction.set).map((instruction) => instruction.set);
    const numbers = new Map();
    return Uint8Array.from({ length: ASCII }, (_, c) => {
        const character = String.fromCharCode(c);
        const key = kindOf(character) + sets.map((set) => (set(character) ? 1 : 0)).join('');
        if (!numbers.has(key)) numbers.set(key, numbers.size);
        return numbers.get(key);
    });
}

/**
 * A state has the instructions that were reached before the next character is known: assertions depend on it. `matches`:
 * whether a match ended before the last character that was read.
 */
function makeMachine(code, start, isAnchored) {
    const hasContext = code.some(({ assert }) => assert && assert !== 'start' && assert !== 'end');
    const kindOf = hasContext ? kindOfCharacter : () => 'other';
    const classes = classesOf(code, kindOf);
    const known = new Map();

    function stateOf(members, before, matches) {
        const list = [...members].sort((a, b) => a - b);
        const key = `${list.join()} ${before} ${matches}`;
        const found = known.get(key);
        if (found) return found;
        if (known.size >= MOST_STATES) known.clear();
        const made = {
            list,
            before,
            matches,
            matchesAtEnd: followEmptySteps(code, list, before, 'edge').has(0),
            next: new Array(ASCII).fill(null),
        };
        known.set(key, made);
        return made;
    }

    function step(state, c) {
        const character = String.fromCodePoint(c);
        const kind = kindOf(character);
        const reached = followEmptySteps(code, state.list, state.before, kind);
        const targets = [...reached].filter((i) => code[i].set && code[i].set(character)).map((i) => code[i].next);
        const next = stateOf(new Set(isAnchored ? targets : [...targets, start]), kind, reached.has(0));
        if (c < ASCII) state.next[classes[c]] = next;
        return next;
    }

    const first = (before) => stateOf([start], before === '' ? 'edge' : kindOf(before), false);
    return { classes, first, step };
}

// These functions are outside linearMatcher(), so that the browser optimises them once for all patterns.
function hasMatch(machine, text) {
    const { classes } = machine;
    let state = machine.first('');
    for (let i = 0; i < text.length && !state.matches; i++) {
        const c = text.codePointAt(i);
        if (c > 0xffff) i++;
        state = (c < ASCII && state.next[classes[c]]) || machine.step(state, c);
    }
    return state.matches || state.matchesAtEnd;
}

/** The end of the longest match that begins at `from`, or -1. */
function endOfMatch(machine, text, from) {
    let state = machine.first(text.slice(Math.max(0, from - 1), from));
    let end = -1;
    for (let i = from; i < text.length && (state.list.length || state.matches); i++) {
        const c = text.codePointAt(i);
        state = (c < ASCII && state.next[machine.classes[c]]) || machine.step(state, c);
        if (state.matches) end = i;
        if (c > 0xffff) i++;
    }
    return state.matchesAtEnd ? text.length : end;
}

/**
 * Returns {test(text): whether it has a match, spans(text): [from, to] of its matches}. Throws an Error that describes the
 * pattern's fault. The time of spans() may be quadratic in the text.
 */
export function linearMatcher(pattern) {
    const code = [{ match: true }];
    const start = instructionsOf(parsePattern(pattern), 0, code);
    const anywhere = makeMachine(code, start, false);
    let here = null;
    const test = (text) => hasMatch(anywhere, text);

    function spans(text) {
        const found = [];
        if (!test(text)) return found;
        here ||= makeMachine(code, start, true);
        for (let at = 0; at < text.length; ) {
            const end = endOfMatch(here, text, at);
            if (end > at) found.push([at, end]);
            at = Math.max(at + 1, end);
        }
        return found;
    }

    return { test, spans };
}
