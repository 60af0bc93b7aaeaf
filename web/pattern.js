// Parses regular expressions in the syntax of Go's package regexp, which the filters of pprof have: a pattern means the same
// in a search and in a filter.

const MOST_REPEATS = 1000;
const DEEPEST_GROUP = 100;
const LAST_CHARACTER = 0x10ffff;

/** Classes as JavaScript writes them inside [ ]. */
const PERL_CLASSES = { d: '0-9', s: '\\t\\n\\f\\r ', w: '0-9A-Za-z_' };
const POSIX_CLASSES = {
    alnum: '0-9A-Za-z',
    alpha: 'A-Za-z',
    ascii: '\\0-\\x7f',
    blank: '\\t ',
    cntrl: '\\0-\\x1f\\x7f',
    digit: '0-9',
    graph: '!-~',
    lower: 'a-z',
    print: ' -~',
    punct: '!-\\/:-@\\[-`\\{-~',
    space: '\\t-\\r ',
    upper: 'A-Z',
    word: '0-9A-Za-z_',
    xdigit: '0-9A-Fa-f',
};
const CONTROLS = { a: '\x07', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };
const ASSERTIONS = { A: 'start', z: 'end', b: 'boundary', B: 'noBoundary' };

const inClass = (character) => `\\u{${character.codePointAt(0).toString(16)}}`;

/** A script or a category of Unicode. */
function propertyClass(name) {
    if (name === 'Any') return '\\u{0}-\\u{10ffff}';
    for (const kind of ['gc', 'sc']) {
        try {
            const source = `\\p{${kind}=${name}}`;
            if (/^\w+$/.test(name) && new RegExp(source, 'u')) return source;
        } catch {
            // No name of this kind.
        }
    }
    throw new Error(`\\p{${name}} is not known`);
}

/** A set of characters: the union of classes {source, negated}. */
function setOf(classes, negated, ignoresCase) {
    const regexOf = (source) => new RegExp(`^[${source}]$`, ignoresCase ? 'iu' : 'u');
    const inside = regexOf(classes.map((one) => (one.negated ? '' : one.source)).join(''));
    const outside = classes.filter((one) => one.negated).map(({ source }) => regexOf(source));
    return { set: (character) => (inside.test(character) || outside.some((regex) => !regex.test(character))) !== negated };
}

/**
 * Returns a tree of nodes: {set(character): whether it is a member}, {assert: start, end, lineStart, lineEnd, boundary or
 * noBoundary}, {sequence}, {branches}, {repeat, low, high}. Throws an Error that names invalid syntax.
 */
export function parsePattern(pattern) {
    let at = 0;
    let depth = 0;
    let flags = { i: false, m: false, s: false, U: false };
    const more = () => at < pattern.length;

    function take() {
        const character = String.fromCodePoint(pattern.codePointAt(at));
        at += character.length;
        return character;
    }

    /** Reads what a sticky expression matches here, or returns null. */
    function taken(regex) {
        regex.lastIndex = at;
        const found = regex.exec(pattern);
        if (found) at += found[0].length;
        return found;
    }

    function literal(character) {
        return flags.i ? setOf([{ source: inClass(character) }], false, true) : { set: (other) => other === character };
    }

    function escapedCharacter() {
        if (!more()) throw new Error('a \\ at the end escapes nothing');
        const octal = taken(/0[0-7]{0,2}|[1-7][0-7]{1,2}/y);
        if (octal) return String.fromCodePoint(parseInt(octal[0], 8));
        const hex = taken(/x(?:\{([\dA-Fa-f]+)\}|([\dA-Fa-f]{2}))/y);
        const code = hex && parseInt(hex[1] || hex[2], 16);
        if (hex && code <= LAST_CHARACTER) return String.fromCodePoint(code);
        const other = hex ? 'x' : take();
        if (Object.hasOwn(CONTROLS, other)) return CONTROLS[other];
        if (/[\dA-Za-z]/.test(other) || other > '\x7f') throw new Error(`\\${other} is not supported`);
        return other;
    }

    /** \d, \pL and similar, or null. */
    function namedClass() {
        const perl = taken(/\\([dswDSW])/y);
        if (perl) return { source: PERL_CLASSES[perl[1].toLowerCase()], negated: perl[1] < 'a' };
        const property = taken(/\\([pP])(?:\{(\^?)([^}]*)\}|([A-Za-z]))/y);
        if (property) return { source: propertyClass(property[3] ?? property[4]), negated: (property[1] === 'P') !== (property[2] === '^') };
        return null;
    }

    /** [:alpha:] and similar, or null. */
    function posixClass() {
        const posix = taken(/\[:(\^?)(\w+):\]/y);
        if (!posix) return null;
        if (!Object.hasOwn(POSIX_CLASSES, posix[2])) throw new Error(`[:${posix[2]}:] is not known`);
        return { source: POSIX_CLASSES[posix[2]], negated: posix[1] === '^' };
    }

    function memberOfSet() {
        if (!more()) throw new Error('a [ is not closed');
        return taken(/\\/y) ? escapedCharacter() : take();
    }

    function range() {
        const low = memberOfSet();
        const high = taken(/-(?=[^\]])/y) ? memberOfSet() : low;
        if (high.codePointAt(0) < low.codePointAt(0)) throw new Error('a range in [ ] runs backwards');
        return { source: `${inClass(low)}-${inClass(high)}`, negated: false };
    }

    function bracketSet() {
        const negated = taken(/\^/y) !== null;
        const classes = [];
        do classes.push(posixClass() || namedClass() || range());
        while (pattern[at] !== ']');
        at++;
        return setOf(classes, negated, flags.i);
    }

    function changeFlags([, on, off = '']) {
        flags = { ...flags };
        for (const flag of on) flags[flag] = true;
        for (const flag of off) flags[flag] = false;
    }

    function group() {
        const outer = flags;
        const changed = taken(/\?([imsU]*)(?:-([imsU]+))?:/y);
        if (changed) changeFlags(changed);
        else if (!taken(/\?P?<\w+>/y) && pattern[at] === '?') throw new Error('of (?…), only (?:…), (?<name>…) and the flags i, m, s, U are supported');
        if (++depth > DEEPEST_GROUP) throw new Error('groups are nested too deeply');
        const inside = alternatives();
        if (pattern[at] !== ')') throw new Error('a ( is not closed');
        at++;
        depth--;
        flags = outer;
        return inside;
    }

    function escape() {
        const assertion = taken(/[AzbB]/y);
        return assertion ? { assert: ASSERTIONS[assertion[0]] } : literal(escapedCharacter());
    }

    function atom() {
        const named = namedClass();
        if (named) return setOf([named], false, flags.i);
        const { s, m } = flags;
        const c = take();
        if (c === '(') return group();
        if (c === '[') return bracketSet();
        if (c === '.') return { set: (character) => s || character !== '\n' };
        if (c === '^') return { assert: m ? 'lineStart' : 'start' };
        if (c === '$') return { assert: m ? 'lineEnd' : 'end' };
        if (c === '\\') return escape();
        if ('*+?'.includes(c)) throw new Error(`nothing before the ${c} to repeat`);
        return literal(c);
    }

    const repeat = () => taken(/([*+?]|\{(\d+)(?:(,)(\d*))?\})\??/y);

    function repeated(node) {
        const found = repeat();
        if (!found) return node;
        const [, sign, least, comma, most] = found;
        const low = least ? Number(least) : sign === '+' ? 1 : 0;
        const high = sign === '?' ? 1 : !least || (comma && !most) ? Infinity : Number(most || least);
        if (high < low) throw new Error('a { } runs backwards');
        if (low > MOST_REPEATS || (high > MOST_REPEATS && high < Infinity)) throw new Error(`${sign} repeats more than ${MOST_REPEATS} times`);
        if (repeat()) throw new Error('a repeat follows a repeat');
        return { repeat: node, low, high };
    }

    function sequence() {
        const parts = [];
        while (more() && pattern[at] !== '|' && pattern[at] !== ')') {
            const changed = taken(/\(\?([imsU]*)(?:-([imsU]+))?\)/y);
            const quoted = !changed && taken(/\\Q([^]*?)(?:\\E|$)/y);
            if (changed) changeFlags(changed);
            else if (quoted) parts.push(...[...quoted[1]].map(literal));
            else parts.push(atom());
            if (parts.length && !changed) parts.push(repeated(parts.pop()));
        }
        return { sequence: parts };
    }

    function alternatives() {
        const branches = [sequence()];
        while (taken(/\|/y)) branches.push(sequence());
        return branches.length === 1 ? branches[0] : { branches };
    }

    const tree = alternatives();
    if (more()) throw new Error('a ) has no (');
    return tree;
}
