// The page's data: the bundle's description, and each profile, compressed until it is opened.

import { makeTree, ROOT, SMALLER_CALLS } from './tree.js';
import { makeTrie, descend, treeOfTrie } from './merge.js';
import { packageOf } from './colours.js';
import { sidesOf, unitOf } from './sides.js';

/** The number of cached profiles: each takes some megabytes of memory, and unpacking takes some milliseconds. */
const MOST_CACHED = 2;

export function readBundle() {
    return JSON.parse(document.getElementById('bundle').textContent);
}

function bytesOf(base64) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
    const packed = atob(base64);
    const bytes = new Uint8Array(packed.length);
    for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
    return bytes;
}

async function unpack(id) {
    const bytes = bytesOf(document.getElementById(id).textContent.trim());
    const { readable, writable } = new DecompressionStream('gzip');
    const writer = writable.getWriter();
    // Response reports damaged bytes below, so the writer's error is dropped.
    writer.write(bytes).catch(() => {});
    writer.close().catch(() => {});
    return new Response(readable).json();
}

/** Reads the data of an entry, by the `form` that page/writer.c gives to the entry (docs/formats.md). */
const FORMS = { profile: profileOf, sides: comparisonOf, goroutines: goroutinesOf };

/** Returns a function that unpacks and reads an entry's data by the entry's id. Caches the last few entries. */
export function makeStore(bundle) {
    const cache = new Map();
    return async (id) => {
        const known = cache.get(id);
        if (known) return known;
        const entry = bundle.data.find((candidate) => candidate.id === id);
        const raw = await unpack(id);
        const content = FORMS[entry.form](raw);
        cache.set(id, content);
        if (cache.size > MOST_CACHED) cache.delete(cache.keys().next().value);
        return content;
    };
}

const numbersOf = (values) => new Float64Array(values);

/**
 * A profile: its sample types, its functions, and the tree of its calls. If the tree has folded calls, isFolded is true,
 * `numbers` has the functions' numbers for the server, and `sums`, unless null, the values of each function over all
 * calls, by sample type.
 */
export function profileOf(raw) {
    const { strings, functions } = raw;
    const name = new Int32Array(functions.name);
    const file = new Int32Array(functions.file);
    const line = new Int32Array(functions.line);
    const { depth, function: fn, self } = raw.nodes;
    const nameOf = makeNameOf((i) => strings[name[i]]);
    const fileOf = (i) => (i < 0 ? '' : strings[file[i]]);
    const placeOf = (i) => fileOf(i) && fileOf(i) + (line[i] ? `:${line[i]}` : '');
    return {
        types: raw.types,
        type: raw.default,
        durationNs: raw.duration_ns || 0,
        nFunctions: name.length,
        nameOf,
        fileOf,
        placeOf,
        packageOf: makePackageOf(name.length, nameOf, placeOf),
        sums: functions.flat ? { flat: functions.flat.map(numbersOf), cum: functions.cum.map(numbersOf) } : null,
        isFolded: functions.number !== undefined,
        numbers: functions.number,
        tree: makeTree(
            new Int32Array(depth),
            new Int32Array(fn),
            self.map(numbersOf),
        ),
    };
}

/** Two sides: a profile with the values of the target hosts (`here`), plus the trees of both sides. */
export function comparisonOf(raw) {
    const profile = profileOf({ ...raw, duration_ns: 0, nodes: { ...raw.nodes, self: raw.nodes.here } });
    const sides = sidesOf(raw, profile.tree);
    const types = raw.types.map(({ type, unit }, i) => ({ type, unit: unitOf(unit, raw.basis[i]) }));
    return { ...profile, types, tree: sides.here, sides };
}

function makeNameOf(nameOf) {
    return (i) => {
        if (i === ROOT) return 'all';
        if (i === SMALLER_CALLS) return 'smaller calls';
        return nameOf(i) || '(no name)';
    };
}

// Most names contain their package. Only for other names the source file's path is built, because that takes time.
function makePackageOf(nFunctions, nameOf, placeOf) {
    const known = new Array(nFunctions);
    return (i) => (known[i] ??= packageOf(nameOf(i)) || packageOf(nameOf(i), placeOf(i)));
}

/** A dump of goroutines: its groups, and a profile built from their stacks. */
export function goroutinesOf(raw) {
    const { strings, frames, groups } = raw;
    const numbers = new Map();
    const firstFrame = [];
    const functionOfFrame = frames.function.map((index, frame) => {
        if (!numbers.has(index)) {
            numbers.set(index, numbers.size);
            firstFrame.push(frame);
        }
        return numbers.get(index);
    });
    const trie = makeTrie(numbers.size, ROOT);
    for (const group of groups) {
        let node = 0;
        for (let i = group.frames.length - 1; i >= 0; i--) node = descend(trie, node, functionOfFrame[group.frames[i]]);
        trie.values[0][node] += group.count;
    }
    if (raw.hidden.goroutines) trie.values[0][descend(trie, 0, SMALLER_CALLS)] += raw.hidden.goroutines;
    const nameOf = makeNameOf((i) => strings[frames.function[firstFrame[i]]]);
    const placeOf = (i) => (i < 0 ? '' : strings[frames.place[firstFrame[i]]]);
    return {
        types: [{ type: 'goroutine', unit: 'count' }],
        type: 0,
        durationNs: 0,
        nFunctions: numbers.size,
        nameOf,
        placeOf,
        packageOf: makePackageOf(numbers.size, nameOf, placeOf),
        tree: treeOfTrie(trie),
        groups,
        form: raw.form,
        total: raw.total,
        isCut: raw.cut,
        hidden: raw.hidden,
        functionOfFrame,
        stringOf: (i) => strings[i],
        frameName: (i) => strings[frames.function[i]],
        framePlace: (i) => strings[frames.place[i]],
    };
}
