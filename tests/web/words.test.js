// Formatted texts: units as in pprof, packages, colours, untrusted names, links, titles.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDuration, formatValue, percentage } from '../../web/units.js';
import { colourOf, ownerOf, packageOf, paletteOf } from '../../web/colours.js';
import { count, cut, plural, visible } from '../../web/text.js';
import { linkTo } from '../../web/location.js';
import { goroutinesOf, profileOf } from '../../web/data.js';
import { questionOf, titleOf } from '../../web/kinds.js';

test('values as pprof writes them', () => {
    const rows = [
        [0, 'nanoseconds', '0'],
        [999, 'nanoseconds', '999ns'],
        [1500, 'nanoseconds', '1.50µs'],
        [2e6, 'nanoseconds', '2ms'],
        [1.57e9, 'nanoseconds', '1.57s'],
        [90e9, 'nanoseconds', '90s'],
        [7200e9, 'nanoseconds', '2hrs'],
        [-1500, 'nanoseconds', '-1.50µs'],
        [3, 'milliseconds', '3ms'],
        [1000, 'bytes', '1,000B'],
        [3, 'w\u202e', '3 w\\u202e'],
        [3, 'word'.repeat(9), '3 wordwordwordw…rdword'],
        [1024, 'bytes', '1kB'],
        [1536, 'bytes', '1.50kB'],
        [2 ** 30, 'bytes', '1GB'],
        [12, 'count', '12'],
        [1234567, 'count', '1,234,567'],
        [5, 'widgets', '5 widgets'],
    ];
    for (const [value, unit, text] of rows) assert.equal(formatValue(value, unit), text);
});

test('shares and times', () => {
    assert.equal(percentage(1, 3), '33.33%');
    assert.equal(percentage(9999, 10000), '100%');
    assert.equal(percentage(1, 1000), '0.1%');
    assert.equal(percentage(-1, 4), '-25.00%');
    assert.equal(percentage(1, 0), '0%');
    assert.equal(formatDuration(250), '250 ms');
    assert.equal(formatDuration(30000), '30 s');
    assert.equal(formatDuration(65000), '1 min 5 s');
    assert.equal(formatDuration(119940), '2 min 0 s');
    assert.equal(formatDuration(59999), '1 min 0 s');
    assert.equal(formatDuration(3723000), '1 h 2 min');
    assert.equal(count(1234567), '1,234,567');
    assert.equal(plural(1, 'host'), '1 host');
    assert.equal(plural(2000, 'host'), '2,000 hosts');
});

test('packages and their owners', () => {
    const rows = [
        ['github.com/x/y/z.(*T).M', 'github.com/x/y/z', 'github.com/x/y'],
        ['runtime.gopark', 'runtime', 'runtime'],
        ['net/http.(*conn).serve.func2', 'net/http', 'standard'],
        ['main.main', 'main', 'main'],
        ['gopkg.in/yaml%2ev3.Unmarshal', 'gopkg.in/yaml.v3', 'gopkg.in/yaml.v3'],
        ['memeqbody', '', 'native'],
        ['slices.SortFunc[go.shape.[]github.com/a/b.T,go.shape.int]', 'slices', 'standard'],
        ['internal/runtime/maps.(*Map).grow', 'internal/runtime/maps', 'runtime'],
        ['golang.org/x/net/http2.f', 'golang.org/x/net/http2', 'golang.org/x/net'],
    ];
    for (const [name, path, owner] of rows) {
        assert.equal(packageOf(name), path);
        assert.equal(ownerOf(path), owner);
    }
    assert.equal(packageOf('memeqbody', '/usr/local/go/src/internal/bytealg/equal_amd64.s:12'), 'runtime');
    assert.equal(packageOf('memcpy', '/usr/src/glibc/memcpy.s'), '');
});

test('a package has one colour in every theme', () => {
    const [light, dark] = [paletteOf('light'), paletteOf('dark')];
    for (const path of ['runtime', 'net/http', '', 'main', 'github.com/x/y/z']) {
        const colour = colourOf(path);
        assert.equal(colour, colourOf(path));
        assert.ok(light.css[colour] && dark.css[colour]);
    }
    assert.notEqual(light.css[colourOf('runtime')], light.css[colourOf('fmt')]);
});

function luminance([r, g, b]) {
    const [x, y, z] = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
}

function contrast(a, b) {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
}

const fromHex = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const fromCss = (css) => css.match(/\d+/g).map(Number);

test('names are readable on every colour', () => {
    for (const theme of ['light', 'dark']) {
        const palette = paletteOf(theme);
        for (const css of palette.css) assert.ok(contrast(fromCss(css), fromHex(palette.ink)) >= 4.5, `${theme} ${css}`);
    }
});

test('characters that are invisible or change the direction are escaped', () => {
    assert.equal(visible('a\u202eb\u0000\u2066\u200b\u2028'), 'a\\u202eb\\u0000\\u2066\\u200b\\u2028');
    assert.equal(visible('\u034f\u2800\u{1d173}'), '\\u034f\\u2800\\u1d173');
    assert.equal(visible('é 名前'), 'é 名前');
    assert.equal(visible('a' + '\u0316\u0489'.repeat(9) + 'b'), 'a\u0316\u0489\u0316\u0489…b');
    assert.equal(cut('x'.repeat(10000), 100).length, 100);
    assert.equal(cut('short'), 'short');
});

test('a link has only the parameters that are set', () => {
    assert.equal(linkTo({ v: 'data-0', s: 'a&b#c', z: '' }), '#v=data-0&s=a%26b%23c');
    assert.equal(linkTo({}), '#');
});

test('a profile in the form of the page', () => {
    const profile = profileOf({
        types: [{ type: 'cpu', unit: 'nanoseconds' }],
        default: 0,
        duration_ns: 5,
        strings: ['', 'main.f', '/f.go'],
        functions: { name: [1, 0], file: [2, 0], line: [7, 0] },
        nodes: { depth: [0, 1, 1], function: [-1, 0, -2], self: [[0, 3, 1]] },
    });
    assert.deepEqual([-1, -2, 0, 1].map(profile.nameOf), ['all', 'smaller calls', 'main.f', '(no name)']);
    assert.deepEqual([-1, 0, 1].map(profile.placeOf), ['', '/f.go:7', '']);
    assert.equal(profile.tree.n, 3);
});

test('goroutines as a tree that begins with their first functions', () => {
    const dump = goroutinesOf({
        form: 'stacks',
        total: 5,
        cut: false,
        strings: ['', 'main.a', 'main.b', '/a.go:1', '/b.go:2', 'select', '/a.go:9'],
        frames: { function: [1, 2, 1], place: [3, 4, 6] },
        groups: [
            { state: 5, count: 3, frames: [0, 1], creator: -1, wait: [0, 1, 2] },
            { state: 5, count: 2, frames: [1], creator: 2, wait: [0, 0, 0] },
        ],
        hidden: { groups: 1, goroutines: 4 },
    });
    assert.deepEqual([...dump.tree.fn].map(dump.nameOf), ['all', 'main.b', 'main.a', 'smaller calls']);
    assert.deepEqual([...dump.tree.self[0]], [0, 2, 3, 4]);
    assert.equal(dump.nFunctions, 2);
});

test('titles', () => {
    assert.equal(titleOf({ kind: 'heap' }, 'inuse_space')[0], 'Memory in use');
    assert.equal(titleOf({ kind: 'allocs' }, 'alloc_space')[0], 'Memory allocated');
    assert.equal(titleOf({ kind: 'mutex' }, 'delay')[0], 'Time others waited');
    assert.equal(titleOf({ kind: 'block' }, 'delay')[0], 'Time blocked');
    assert.equal(titleOf({ kind: 'custom' }, 'my_type')[0], 'my type');
    assert.equal(questionOf({ kind: 'allocs' }), 'Where was memory allocated?');
    assert.equal(questionOf({ kind: 'custom' }), null);
});
