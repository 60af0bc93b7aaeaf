// The addresses of the page of `pprof -http`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addedPattern, changedAddress, filtersInUse, parameterOf, readAddress, selectedType, undoable, urlOf, withoutFilters } from '../../web/pprof/address.js';
import { makeIdentities } from '../../web/pprof/identity.js';
import { frameOf, functionsOf } from '../../web/pprof/names.js';
import { patternOfName } from '../../web/search.js';

const at = (url) => readAddress(new URL(url, 'http://x/ui/'));

test('an address keeps all parameters but the changed ones', () => {
    const address = at('top?f=a%2Bb&n=20&unknown=1');
    assert.equal(urlOf(address), 'top?f=a%2Bb&n=20&unknown=1');
    assert.equal(urlOf(changedAddress(address, { view: 'tags', f: '', i: 'x y' })), 'tags?n=20&unknown=1&i=x+y');
    assert.equal(urlOf(changedAddress(at('top?f=a'), { f: '' })), 'top');
    assert.equal(parameterOf(address, 'f'), 'a+b');
    assert.equal(parameterOf(address, 'h'), '');
});

test('a second pattern is added to ignore and hide, and replaces the others', () => {
    const address = at('top?f=a&i=b&h=c');
    assert.deepEqual(addedPattern(address, {}, 'f', 'x'), { f: 'x' });
    assert.deepEqual(addedPattern(address, {}, 'i', 'x'), { i: 'b|x' });
    assert.deepEqual(addedPattern(address, {}, 'h', 'c'), { h: 'c' });
    assert.deepEqual(addedPattern(address, {}, 's', 'x'), { s: 'x' });
});

test('filters of the command line are in use unless the address has others, or removes them', () => {
    const answer = { defaults: { f: 'a', i: 'b', g: 'lines' } };
    assert.deepEqual(filtersInUse(at('top?f=x&h=y&without=i'), answer), [['f', 'x'], ['h', 'y']]);
    assert.deepEqual(filtersInUse(at('top'), answer), [['f', 'a'], ['i', 'b']]);
    assert.deepEqual(withoutFilters(at('top?f=x&without=i'), answer, ['f']), { f: '', without: 'i,f' });
    assert.deepEqual(withoutFilters(at('top?h=x'), answer, ['h']), { h: '', without: '' });
    assert.equal(urlOf(changedAddress(at('top?f=x&n=3'), withoutFilters(at('top?f=x&n=3'), answer))), 'top?n=3&without=f%2Ci');
    assert.deepEqual(addedPattern(at('top'), answer, 'i', 'x'), { i: 'b|x' });
    assert.deepEqual(addedPattern(at('top?without=i'), answer, 'i', 'x'), { i: 'x' });
});

test('the pattern of a name matches the rows of peek', () => {
    const pattern = parameterOf(changedAddress(at('top'), { view: 'peek', f: patternOfName('main.(*T).f$1') }), 'f');
    assert.ok(new RegExp(pattern).test('main.(*T).f$1 /src/a.go:12'));
    assert.ok(new RegExp(pattern).test('main.(*T).f$1'));
    assert.ok(!new RegExp(pattern).test('main.(*T).f$12 /src/a.go:12'));
    assert.equal(parameterOf(changedAddress(at('top?f=^a$|b$|c'), { view: 'peek' }), 'f'), '^a( |$)|b( |$)|c');
    assert.equal(parameterOf(changedAddress(at('top?f=^a$'), { view: 'tags' }), 'f'), '^a$');
});

test('Undo restores all parameters but the sample type', () => {
    assert.equal(undoable(at('top?f=a&si=cpu&n=3')), 'f=a&n=3');
});

test('the sample type is a name or a number', () => {
    const answer = { types: [{ type: 'samples' }, { type: 'cpu' }], type: 1 };
    for (const [query, type] of [['', 1], ['?si=samples', 0], ['?si=0', 0], ['?si=7', 1], ['?si=none', 1]]) assert.equal(selectedType(at(`top${query}`), answer), type, query);
});

test('the function of a place, and what stands for it in the URL of the flame graph', () => {
    const cases = [
        ['lines', 'main.(*T).f /src/a b/c.go:12', 'main.(*T).f', 'main.(*T).f:12'],
        ['lines', 'operator new(unsigned long) x.cc:3:7', 'operator new(unsigned long)', 'operator new(unsigned long):3:7'],
        ['lines', '/src/a b.c:12', '/src/a b.c', '/src/a b.c:12'],
        ['lines', 'main.f:12', 'main.f', 'main.f:12'],
        ['lines', 'main.f', 'main.f', 'main.f'],
        ['addresses', '0000000000401000 main.f /src/c.go:12', 'main.f', 'main.f:12'],
        ['addresses', '0000000000401000 main.f', 'main.f', 'main.f'],
        ['filefunctions', 'main.f[go.shape.int] /src/a.go', 'main.f[go.shape.int]', 'main.f[go.shape.int] /src/a.go'],
        ['filefunctions', 'operator new', 'operator new', 'operator new'],
        ['files', '/src/a b.go', '/src/a b.go', '/src/a b.go'],
        ['', 'std::x y.cc:3', 'std::x y.cc:3', 'std::x y.cc:3'],
    ];
    for (const [granularity, name, fn, frame] of cases) {
        assert.deepEqual(functionsOf([name, name], { granularity }), [fn], name);
        assert.equal(frameOf(name, { granularity }), frame, name);
    }
});

test('in the URL, a function has its file if others have its name', () => {
    const functions = [['main.f', '/f.go'], ['cmp', '/src/a b.c'], ['cmp', '/src/b.c'], ['operator new', '']];
    const profile = {
        nFunctions: functions.length,
        nameOf: (fn) => functions[fn][0],
        fileOf: (fn) => functions[fn][1],
        sums: { cum: [[0, 100, -300, 7]] },
    };
    const { textOf, indexOf } = makeIdentities(profile);
    const texts = ['main.f', 'cmp /src/a b.c', 'cmp /src/b.c', 'operator new'];
    assert.deepEqual(functions.map((fn) => textOf(...fn)), texts);
    assert.deepEqual(texts.map((text) => indexOf(text, 0)), ['0', '1', '2', '3']);
    // A name alone means the heaviest; with a filter, the others may be gone.
    assert.equal(indexOf('cmp', 0), '2');
    assert.equal(indexOf('main.f /f.go', 0), '0');
    for (const text of ['', 'cmp /src/c.c', 'main.f /g.go', 'main', 'operator']) assert.equal(indexOf(text, 0), '', text);
});
