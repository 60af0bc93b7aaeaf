// Trees built from other trees: the callers and callees of a function, and goroutines by their stacks.

import { makeTree, SMALLER_CALLS } from './tree.js';

const MOST_NODES = 50000;
const DEEPEST = 1000;

/** A tree to which stacks are added one by one. Stacks share equal beginnings. Each node has a value of each type. */
export function makeTrie(nFunctions, rootFunction, types = 1) {
    return {
        nFunctions: nFunctions + 3,
        fn: [rootFunction],
        parent: [-1],
        values: Array.from({ length: types }, () => [0]),
        below: new Map(),
    };
}

/** Returns the child of a node for a function. Creates a missing child; if the tree is full, returns the given node. */
export function descend(trie, node, fn) {
    const key = node * trie.nFunctions + fn + 2;
    const known = trie.below.get(key);
    if (known !== undefined) return known;
    if (trie.fn.length >= MOST_NODES) return node;
    const made = trie.fn.push(fn) - 1;
    trie.parent.push(node);
    for (const values of trie.values) values.push(0);
    trie.below.set(key, made);
    return made;
}

/** Converts the trie to a tree in preorder, heavy siblings first. */
export function treeOfTrie(trie) {
    const n = trie.fn.length;
    const total = Float64Array.from({ length: n }, (_, i) => trie.values.reduce((sum, values) => sum + Math.abs(values[i]), 0));
    for (let i = n - 1; i > 0; i--) total[trie.parent[i]] += total[i];
    const byWeight = Uint32Array.from({ length: n }, (_, i) => i).sort((a, b) => total[a] - total[b] || b - a);
    const first = new Int32Array(n).fill(-1);
    const next = new Int32Array(n).fill(-1);
    for (const i of byWeight) {
        if (i === 0) continue;
        next[i] = first[trie.parent[i]];
        first[trie.parent[i]] = i;
    }
    const depth = new Int32Array(n);
    const fn = new Int32Array(n);
    const self = trie.values.map(() => new Float64Array(n));
    const stack = [[0, 0]];
    for (let at = 0; stack.length; at++) {
        const [node, level] = stack.pop();
        depth[at] = level;
        fn[at] = trie.fn[node];
        self.forEach((values, type) => (values[at] = trie.values[type][node]));
        const children = [];
        for (let i = first[node]; i >= 0; i = next[i]) children.push([i, level + 1]);
        while (children.length) stack.push(children.pop());
    }
    return makeTree(depth, fn, self);
}

/**
 * For two sides (weighSides), the tree has one type for each side, because calls with equal values on both sides
 * must stay visible.
 */
const columnsOf = (figures) => (figures.here ? [figures.here, figures.there] : [figures]);

/** The calls of a function that are not inside another call of the same function. */
function outermost(tree, fn) {
    const found = [];
    for (let i = 0; i < tree.n;) {
        const hit = tree.fn[i] === fn;
        if (hit) found.push(i);
        i = hit ? tree.end[i] : i + 1;
    }
    return found;
}

/** The callers of a function: the root is the function, the children of a node are its callers. */
export function callersOf(tree, figures, fn, nFunctions) {
    const columns = columnsOf(figures);
    const trie = makeTrie(nFunctions, fn, columns.length);
    for (const i of outermost(tree, fn)) {
        let node = 0;
        let steps = 0;
        for (let up = tree.parent[i]; up > 0; up = tree.parent[up]) {
            node = descend(trie, node, steps === DEEPEST ? SMALLER_CALLS : tree.fn[up]);
            if (steps++ === DEEPEST) break;
        }
        columns.forEach(({ total }, type) => (trie.values[type][node] += total[i]));
    }
    return treeOfTrie(trie);
}

/** The callees of a function. */
export function calleesOf(tree, figures, fn, nFunctions) {
    const columns = columnsOf(figures);
    const trie = makeTrie(nFunctions, fn, columns.length);
    const add = (node, i) => columns.forEach(({ self }, type) => (trie.values[type][node] += self[i]));
    for (const start of outermost(tree, fn)) {
        const path = [0];
        add(0, start);
        for (let i = start + 1; i < tree.end[start]; i++) {
            const level = tree.depth[i] - tree.depth[start];
            path[level] = figures.weight[i] === 0 ? path[level - 1] : descend(trie, path[level - 1], tree.fn[i]);
            add(path[level], i);
        }
    }
    return treeOfTrie(trie);
}
