// Two sides in one tree, and hosts side by side: values and order.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comparisonOf } from '../../web/data.js';
import { inOrderOfDistance } from '../../web/hosts.js';
import { comparedFirst, questionOf, titleOf } from '../../web/kinds.js';
import { changeColour, sidesByFunction, formatSigned, weighMerged, weighSides } from '../../web/sides.js';
import { SIDE_COLOURS } from '../../web/colours.js';
import { calleesOf, callersOf } from '../../web/merge.js';
import { formatValue } from '../../web/units.js';

// all: main.main calls hot and cold; here 100 samples, there 300.
const RAW = {
    types: [{ type: 'cpu', unit: 'nanoseconds' }],
    default: 0,
    strings: ['', 'main.main', 'main.hot', 'main.cold'],
    functions: { name: [1, 2, 3], file: [0, 0, 0], line: [0, 0, 0] },
    sides: [
        { processes: 1, left_out: 0, duration_ns: 0 },
        { processes: 3, left_out: 0, duration_ns: 0 },
    ],
    basis: ['share'],
    scale: [[1 / 100], [1 / 300]],
    nodes: { depth: [0, 1, 2, 2], function: [-1, 0, 1, 2], here: [[0, 0, 41, 59]], there: [[0, 0, 9, 291]] },
};

const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);

test('values are made comparable, widths are the mean, totals the difference', () => {
    const profile = comparisonOf(RAW);
    assert.equal(profile.types[0].unit, 'share');
    const figures = weighSides(profile.sides, 0);
    near(figures.weight[0], 1);
    near(figures.total[0], 0);
    near(figures.total[2], 0.38);
    near(figures.weight[2], 0.22);
    near(figures.here.total[2], 0.41);
    const { cum, here, there } = sidesByFunction(profile.tree, figures, profile.nFunctions);
    near(cum[1], 0.38);
    near(here[1], 0.41);
    near(there[2], 0.97);
});

test('callers and callees have values of both sides, also if these are equal', () => {
    const profile = comparisonOf(RAW);
    const figures = weighSides(profile.sides, 0);
    const below = weighMerged(calleesOf(profile.tree, figures, 0, profile.nFunctions));
    near(below.here.total[0], 1);
    near(below.total[0], 0);
    near(below.weight[0], 1);
    assert.equal(below.total.length, 3);
    const above = weighMerged(callersOf(profile.tree, figures, 1, profile.nFunctions));
    near(above.here.total[0], 0.41);
    near(above.there.total[1], 0.03);
    assert.equal(changeColour(above, 1), SIDE_COLOURS.muchMore);
});

test('a filter keeps the same stacks on both sides', () => {
    const { sides } = comparisonOf(RAW);
    const figures = weighSides(sides, 0, [1, 1, 1, 0]);
    near(figures.total[0], 0.38);
    near(figures.weight[3], 0);
});

test('colours show which side has more, and how much more', () => {
    const figures = { here: { total: [100, 110, 150, 400, 50, 0, 0] }, there: { total: [100, 100, 100, 100, 100, 9, 0] } };
    const names = ['runtime', 'runtime', 'someMore', 'muchMore', 'someLess', 'muchLess', 'runtime'];
    names.forEach((name, i) => assert.equal(changeColour(figures, i), SIDE_COLOURS[name], `node ${i}`));
    const changes = { total: [0, 10, 3, -2, -4, 0], weight: [8, 10, 10, 10, 4, 0] };
    const grades = ['runtime', 'muchMore', 'someMore', 'someLess', 'muchLess', 'runtime'];
    grades.forEach((name, i) => assert.equal(changeColour(changes, i), SIDE_COLOURS[name], `change ${i}`));
});

test('units of comparable values, with signs', () => {
    assert.equal(formatValue(0.41, 'share'), '41.00%');
    assert.equal(formatValue(2048, 'bytes/s'), '2kB/s');
    assert.equal(formatSigned(0.38, 'share'), '+38.00%');
    assert.equal(formatSigned(-1e-12, 'share'), '0%');
    assert.equal(formatSigned(-1024, 'bytes'), '−1kB');
    assert.equal(formatSigned(0, 'bytes/s'), '0/s');
});

test('outliers come first, then the hosts that differ most', () => {
    const host = (name, by, outlier, exceeds) => ({ host: name, differs: { share: by, median: 0, outlier }, heap: { value: 1, exceeds } });
    const hosts = [host('a', 0.1, false), host('b', 0.3, false), host('c', 0.2, true), host('d', 0.01, false, true), { host: 'e' }];
    assert.deepEqual(
        inOrderOfDistance(hosts).map((h) => h.host),
        ['c', 'd', 'b', 'a', 'e'],
    );
});

test('comparisons come first, and have titles of their own', () => {
    const data = [{ id: 1 }, { id: 2, from: 'growth' }, { id: 3, from: 'sides' }];
    assert.deepEqual(
        comparedFirst(data).map((entry) => entry.id),
        [3, 2, 1],
    );
    assert.equal(questionOf({ kind: 'heap', from: 'growth' }), 'What has grown?');
    assert.match(questionOf({ kind: 'cpu', from: 'sides' }), /^What differs\?/);
    assert.equal(titleOf({ kind: 'heap', from: 'growth' }, 'alloc_space')[0], 'Memory allocated in between');
    assert.equal(titleOf({ kind: 'heap' }, 'alloc_space')[0], 'Memory allocated');
});
