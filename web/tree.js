// The tree of calls as flat arrays in preorder: 50,000 nodes take some megabytes and no objects.

/** Function numbers of nodes without a function. SMALLER_CALLS: the calls that have no node of their own. */
export const ROOT = -1;
export const SMALLER_CALLS = -2;

/** self: one array of values for each sample type. Node 0 is the root. */
export function makeTree(depth, fn, self) {
    const n = depth.length;
    const parent = new Int32Array(n);
    const end = new Int32Array(n);
    // The path to the previous node. A node ends where the next node leaves its subtree.
    const path = new Int32Array(n + 1);
    let previousDepth = 0;
    parent[0] = -1;
    for (let i = 1; i < n; i++) {
        const d = depth[i];
        for (; previousDepth >= d; previousDepth--) end[path[previousDepth]] = i;
        parent[i] = path[d - 1];
        path[d] = i;
        previousDepth = d;
    }
    for (; previousDepth >= 0; previousDepth--) end[path[previousDepth]] = n;
    return { n, depth, fn, self, parent, end };
}

/** For each node, 1 if its stack has a function marked in `focus` (null: any function) and none marked in `ignore`. */
export function selectNodes(tree, focus, ignore) {
    if (!focus && !ignore) return null;
    const { n, fn, parent } = tree;
    const state = new Uint8Array(n);
    for (let i = 0; i < n; i++) {
        const above = parent[i] < 0 ? 0 : state[parent[i]];
        const isIn = fn[i] >= 0 && focus && focus[fn[i]] ? 1 : 0;
        const isOut = fn[i] >= 0 && ignore && ignore[fn[i]] ? 2 : 0;
        state[i] = above | isIn | isOut;
    }
    const wanted = focus ? 1 : 0;
    return state.map((s) => (s === wanted ? 1 : 0));
}

/**
 * The figures of the nodes for one sample type. self: the node alone; total: with its subtree; weight: the total of
 * absolute values, which is the drawn width (a difference has both signs). beginOf() computes a node's position.
 */
export function weigh(tree, type, keep = null) {
    const { n, parent } = tree;
    const values = tree.self[type];
    const self = keep ? values.map((value, i) => (keep[i] ? value : 0)) : values;
    const total = self.slice();
    let negative = false;
    for (let i = n - 1; i > 0; i--) {
        if (self[i] < 0) negative = true;
        total[parent[i]] += total[i];
    }
    const weight = negative ? self.map(Math.abs) : total;
    for (let i = n - 1; negative && i > 0; i--) weight[parent[i]] += weight[i];
    return { self, total, weight, negative };
}

/** Flat and cumulative values of each function. A recursive function counts once in each stack. */
export function byFunction(tree, figures, nFunctions) {
    const flat = new Float64Array(nFunctions);
    const cum = new Float64Array(nFunctions);
    const open = new Uint32Array(nFunctions);
    const path = [];
    for (let i = 0; i < tree.n; i++) {
        while (path.length > tree.depth[i]) {
            const left = path.pop();
            if (left >= 0) open[left]--;
        }
        const f = tree.fn[i];
        path.push(f);
        if (f < 0) continue;
        flat[f] += figures.self[i];
        if (open[f]++ === 0) cum[f] += figures.total[i];
    }
    return { flat, cum };
}

/** The sum of all subtrees of marked functions. Nested subtrees count once. */
export function sumOf(tree, figures, marked) {
    let sum = 0;
    for (let i = 0; i < tree.n;) {
        const hit = tree.fn[i] >= 0 && marked[tree.fn[i]];
        if (hit) sum += figures.total[i];
        i = hit ? tree.end[i] : i + 1;
    }
    return sum;
}

/** The nodes from the root to this one. */
export function pathTo(tree, node) {
    const path = [];
    for (let i = node; i >= 0; i = tree.parent[i]) path.push(i);
    return path.reverse();
}

/** The start of a node, relative to the start of its ancestor `root`, in units of weight. */
export function beginOf(tree, { weight }, root, node) {
    let x = 0;
    let at = root;
    while (at < node) {
        at++;
        for (; tree.end[at] <= node; at = tree.end[at]) x += weight[at];
    }
    return x;
}

/** The node of this depth that covers a place, or -1. The place is relative to the start of the zoomed node. */
export function nodeAt(tree, { weight }, zoom, depth, place) {
    let node = zoom;
    while (tree.depth[node] > depth) node = tree.parent[node];
    let x = 0;
    while (tree.depth[node] < depth) {
        const end = tree.end[node];
        let child = node + 1;
        for (; child < end && place >= x + weight[child]; child = tree.end[child]) x += weight[child];
        if (child === end) return -1;
        node = child;
    }
    return node;
}

/** The nearest node of the same depth with a weight, to the left (direction -1) or right (direction 1); -1 if there is none. */
export function neighbour(tree, figures, node, direction, root) {
    const depth = tree.depth[node];
    const from = direction > 0 ? tree.end[node] : node - 1;
    for (let i = from; i > root && i < tree.end[root]; i += direction)
        if (tree.depth[i] === depth && figures.weight[i] > 0) return i;
    return -1;
}

/** The heaviest child of a node, or -1. */
export function heaviestChild(tree, { weight }, node) {
    let best = -1;
    for (let i = node + 1; i < tree.end[node]; i = tree.end[i])
        if (weight[i] > 0 && (best < 0 || weight[i] > weight[best])) best = i;
    return best;
}
