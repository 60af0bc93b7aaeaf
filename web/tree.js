// The tree of calls, as flat arrays in preorder: 50,000 nodes cost some megabytes and no objects.

/** Functions of nodes that are none. */
export const ROOT = -1;
export const SMALLER = -2;

/** self: one array of values for each sample type. Node 0 is the root. */
export function makeTree(depth, fn, self) {
    const n = depth.length;
    const parent = new Int32Array(n);
    const end = new Int32Array(n);
    const last = new Int32Array(n + 1);
    parent[0] = -1;
    for (let i = 1; i < n; i++) {
        parent[i] = last[depth[i] - 1];
        last[depth[i]] = i;
    }
    end[0] = n;
    for (let i = n - 1; i > 0; i--) {
        if (end[i] === 0) end[i] = i + 1;
        if (end[parent[i]] < end[i]) end[parent[i]] = end[i];
    }
    return { n, depth, fn, self, parent, end };
}

/** Of each node, 1 if its stack has one of the functions marked in focus (null: any) and none of ignore. */
export function kept(tree, focus, ignore) {
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
 * What the nodes weigh in one sample type. total: with all below it; weight: the same of absolute values, as
 * widths are drawn (a difference has both signs); x: where a node begins, in units of weight.
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
    const x = new Float64Array(n);
    const next = new Float64Array(n);
    for (let i = 1; i < n; i++) {
        x[i] = next[parent[i]];
        next[i] = x[i];
        next[parent[i]] += weight[i];
    }
    return { self, total, weight, x, negative };
}

/** Flat and cumulative values of each function; a function that calls itself counts once a stack. */
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

/** What the nodes whose functions are marked hold together, nothing counted twice. */
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

/** The node at that depth of the zoomed part which covers a place, or -1. */
export function nodeAt(tree, figures, zoom, depth, place) {
    let node = zoom;
    while (tree.depth[node] > depth) node = tree.parent[node];
    while (tree.depth[node] < depth) {
        const found = childAt(tree, figures, node, place);
        if (found < 0) return -1;
        node = found;
    }
    return node;
}

function childAt(tree, { x, weight }, node, place) {
    for (let i = node + 1; i < tree.end[node]; i = tree.end[i]) if (place >= x[i] && place < x[i] + weight[i]) return i;
    return -1;
}

/** The nearest sibling or cousin with a weight at the same depth, before (-1) or behind (1), or -1. */
export function neighbour(tree, figures, node, direction, root) {
    const depth = tree.depth[node];
    const from = direction > 0 ? tree.end[node] : node - 1;
    for (let i = from; i > root && i < tree.end[root]; i += direction)
        if (tree.depth[i] === depth && figures.weight[i] > 0) return i;
    return -1;
}

/** The heaviest call made by this node, or -1. */
export function heaviestChild(tree, { weight }, node) {
    let best = -1;
    for (let i = node + 1; i < tree.end[node]; i = tree.end[i])
        if (weight[i] > 0 && (best < 0 || weight[i] > weight[best])) best = i;
    return best;
}
