// Trees of calls: structure, values, positions; also with 50,000 frames and negative values.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
    beginOf,
    byFunction,
    heaviestChild,
    selectNodes,
    makeTree,
    neighbour,
    nodeAt,
    pathTo,
    sumOf,
    weigh,
} from '../../web/tree.js';
import { calleesOf, callersOf } from '../../web/merge.js';
import { deepestVisible } from '../../web/drawing.js';
import { ordered } from '../../web/top.js';

// root ─ f0(1) ─ f1(2) ─ f0(4)
//      │       └ f2(8)
//      └ f2(16)
const small = () => makeTree([0, 1, 2, 3, 2, 1], [-1, 0, 1, 0, 2, 2], [[0, 1, 2, 4, 8, 16]]);
const begins = (tree, figures) => Array.from({ length: tree.n }, (_, i) => beginOf(tree, figures, 0, i));

test('parents and ends', () => {
    const tree = small();
    assert.deepEqual([...tree.parent], [-1, 0, 1, 2, 1, 0]);
    assert.deepEqual([...tree.end], [6, 5, 4, 4, 5, 6]);
    assert.deepEqual(pathTo(tree, 3), [0, 1, 2, 3]);
});

test('totals and positions', () => {
    const tree = small();
    const figures = weigh(tree, 0);
    assert.deepEqual([...figures.total], [31, 15, 6, 4, 8, 16]);
    assert.deepEqual(begins(tree, figures), [0, 0, 0, 0, 6, 15]);
    assert.equal(beginOf(tree, figures, 1, 4), 6);
    assert.equal(beginOf(tree, figures, 5, 5), 0);
    assert.equal(figures.negative, false);
});

test('a function that calls itself counts once', () => {
    const tree = small();
    const { flat, cum } = byFunction(tree, weigh(tree, 0), 3);
    assert.deepEqual([...flat], [5, 2, 24]);
    assert.deepEqual([...cum], [15, 6, 24]);
    assert.equal(sumOf(tree, weigh(tree, 0), [1, 0, 0]), 15);
    assert.equal(sumOf(tree, weigh(tree, 0), [0, 1, 1]), 30);
});

test('focus keeps, and ignore removes, whole stacks', () => {
    const tree = small();
    const total = (focus, ignore) => weigh(tree, 0, selectNodes(tree, focus, ignore)).total[0];
    assert.equal(total(null, null), 31);
    assert.equal(total([0, 1, 0], null), 6);
    assert.equal(total(null, [0, 0, 1]), 7);
    assert.equal(total([1, 0, 0], [0, 1, 0]), 9);
});

test('differences: widths are of absolute values', () => {
    const tree = makeTree([0, 1, 1], [-1, 0, 1], [[0, -5, 3]]);
    const figures = weigh(tree, 0);
    const { total, weight, negative } = figures;
    assert.equal(negative, true);
    assert.deepEqual([...total], [-2, -5, 3]);
    assert.deepEqual([...weight], [8, 5, 3]);
    assert.deepEqual(begins(tree, figures), [0, 0, 5]);
});

test('the node at a position, and its neighbours and children', () => {
    const tree = small();
    const figures = weigh(tree, 0);
    assert.equal(nodeAt(tree, figures, 0, 1, 20), 5);
    assert.equal(nodeAt(tree, figures, 0, 2, 7), 4);
    assert.equal(nodeAt(tree, figures, 0, 2, 20), -1);
    assert.equal(nodeAt(tree, figures, 2, 0, 0), 0);
    assert.equal(nodeAt(tree, figures, 1, 2, 5.9), 2);
    assert.equal(nodeAt(tree, figures, 1, 2, 6), 4);
    assert.equal(nodeAt(tree, figures, 1, 2, 14), -1);
    assert.equal(neighbour(tree, figures, 2, 1, 0), 4);
    assert.equal(neighbour(tree, figures, 2, -1, 0), -1);
    assert.equal(heaviestChild(tree, figures, 1), 4);
    assert.equal(heaviestChild(tree, figures, 3), -1);
});

test('callers and callees of a function', () => {
    const tree = small();
    const figures = weigh(tree, 0);
    const above = callersOf(tree, figures, 2, 3);
    assert.deepEqual([...above.fn], [2, 0]);
    assert.deepEqual([...weigh(above, 0).total], [24, 8]);
    const below = calleesOf(tree, figures, 0, 3);
    assert.deepEqual([...below.fn], [0, 2, 1, 0]);
    assert.deepEqual([...weigh(below, 0).total], [15, 8, 6, 4]);
});

test('50,000 frames deep', () => {
    const n = 50000;
    const depth = Int32Array.from({ length: n }, (_, i) => i);
    const tree = makeTree(
        depth,
        depth.map((d) => (d === 0 ? -1 : d % 3)),
        [new Float64Array(n).fill(1)],
    );
    const figures = weigh(tree, 0);
    assert.equal(figures.total[0], n);
    assert.equal(byFunction(tree, figures, 3).cum[1], n - 1);
    assert.equal(deepestVisible({ tree, figures, zoom: 0 }, 1000), Math.floor(n - n * 0.0005));
    assert.equal(calleesOf(tree, figures, 1, 3).n, n - 1);
    assert.ok(callersOf(tree, figures, 0, 3).n <= 50000);
});

test('the tree of callers is bounded, even if all functions of a deep stack call the same function', () => {
    // In preorder: a chain in which each function calls the next function and also function 0.
    const chain = { depth: [], fn: [] };
    for (let i = 0; i <= 20000; i++) {
        chain.depth.push(i);
        chain.fn.push(i === 0 ? -1 : i);
    }
    for (let i = 20000; i > 0; i--) {
        chain.depth.push(i + 1);
        chain.fn.push(0);
    }
    const tree = makeTree(chain.depth, chain.fn, [chain.fn.map((f) => (f === 0 ? 1 : 0))]);
    const above = callersOf(tree, weigh(tree, 0), 0, 20001);
    assert.ok(above.n <= 50000);
    assert.equal(weigh(above, 0).total[0], 20000);
});

test('the table sorts by each column, and omits functions without a value', () => {
    const figures = { flat: Float64Array.of(1, 0, 5, 0), cum: Float64Array.of(9, 7, 5, 0) };
    const names = ['b', 'c', 'a', 'd'];
    const order = (key, down, marked = null) => ordered(figures, (i) => names[i], { key, down }, marked);
    assert.deepEqual(order('flat', true), [2, 0, 1]);
    assert.deepEqual(order('cum', true), [0, 1, 2]);
    assert.deepEqual(order('cum', false), [2, 1, 0]);
    assert.deepEqual(order('name', false), [2, 0, 1]);
    assert.deepEqual(order('flat', true, [1, 1, 0, 1]), [0, 1]);
});

test('a million functions are sorted in seconds', () => {
    const n = 1e6;
    const values = Float64Array.from({ length: n }, (_, i) => (i * 7919) % n);
    const started = performance.now();
    assert.equal(ordered({ flat: values, cum: values }, String, { key: 'flat', down: true }, null).length, n - 1);
    assert.ok(performance.now() - started < 10000);
});
