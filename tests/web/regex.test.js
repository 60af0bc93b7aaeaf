// Patterns match as in Go's package regexp, in time that is linear in the text.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linearMatcher } from '../../web/regex.js';
import { findFunctions, matcherOf, patternOfName } from '../../web/search.js';

const linearTest = (pattern) => linearMatcher(pattern).test;

const PATTERNS = [
    '(Read|Write)\\d+$',
    '^net/http',
    'e.e.e',
    'json.*func',
    'a{2,3}b',
    'a{2}',
    'a{2,}b',
    '(a|b)*c',
    '^$',
    'x*',
    '[^a-c]z',
    '\\.func\\d+',
    '(?:ab)+$',
    'a?b?c?$',
    '[a-]x',
    '[]]',
    '^(runtime|internal/runtime)[./]',
    '\\w+\\.\\(\\*',
    'a|',
    '$',
    '\\S\\s\\D',
    'ab|^cz|x$',
    'é',
    '[é-ü]',
];
const TEXTS = [
    '',
    'a',
    'abab',
    'net/http.Read12',
    'encoding/json.func1',
    'eaebe',
    'aab',
    'aaaab',
    'cz',
    'dz',
    'main.func2',
    'runtime.x',
    'é.e.e',
    'abc',
    'ABab',
    'A-x',
    '-x',
    'x\ny',
    'main.(*T).x',
    'a 1',
    '\u202e',
    '\ud83d\ude00',
    'ü',
];

test('patterns that mean the same in Go and in JavaScript match the same texts as in JavaScript', () => {
    for (const pattern of PATTERNS) {
        let theirs;
        try {
            theirs = new RegExp(pattern, 'u');
        } catch {
            continue;
        }
        if (pattern === '[]]') continue; // JavaScript's [] is empty; in other languages ] is a member.
        const ours = linearTest(pattern);
        for (const text of TEXTS) assert.equal(ours(text), theirs.test(text), `${pattern} in ${JSON.stringify(text)}`);
    }
});

test('a ] at the beginning of a set is a member of it', () => {
    assert.equal(linearTest('[]]')('a]'), true);
    assert.equal(linearTest('[^]]')(']'), false);
});

/** Pattern, texts that it matches, texts that it does not match: as Go's regexp.MatchString does. */
const OF_GO = [
    ['read', ['xread'], ['Read']],
    ['(?i)read', ['READ'], ['rea']],
    ['(?i)é|k', ['É', '\u212a'], ['e']],
    ['a(?i)b', ['aB'], ['AB']],
    ['(?i:a)b', ['Ab'], ['aB']],
    ['(?i)a(?-i)B', ['AB'], ['Ab']],
    ['\\bRead\\b', ['Read', 'a.Read x'], ['xRead', 'Reads', '']],
    ['\\BRead', ['xRead'], ['Read', '.Read']],
    ['\\b$', ['a'], ['', 'a.']],
    ['^\\pL\\PL$', ['é1'], ['éé', '11']],
    ['\\p{Greek}|\\pN', ['γ', '5'], ['g']],
    ['^[^\\pL\\d]$', ['-', '\ud83d\ude00'], ['5', 'ü']],
    ['^.$', ['\ud83d\ude00'], ['ab', '\n']],
    ['(?s)x.y', ['x\ny'], ['xy']],
    ['(?m)^y', ['x\ny'], ['xy']],
    ['(?m)x$', ['x\ny'], ['xy']],
    ['x$', ['x'], ['x\n']],
    ['\\A\\w\\z', ['a'], ['ab', 'é']],
    ['\\Q(*T).\\E+R', ['(*T)..R'], ['(*T)R']],
    ['\\x41|\\x{1F600}|\\102', ['A', '\ud83d\ude00', 'B'], ['C']],
    ['[[:upper:]][[:^alpha:]]', ['A1'], ['AB', 'a1']],
    ['(?P<n>a)(?<m>b)', ['ab'], ['ba']],
    ['a{|a{,2}|{', ['{', 'a{'], ['a']],
    ['[--a]', ['-', 'A'], ['b']],
    ['\\s', ['\f'], ['\v']],
];

test('the syntax of Go', () => {
    for (const [pattern, matching, others] of OF_GO) {
        const matches = linearTest(pattern);
        for (const text of matching) assert.equal(matches(text), true, `${pattern} in ${JSON.stringify(text)}`);
        for (const text of others) assert.equal(matches(text), false, `${pattern} in ${JSON.stringify(text)}`);
    }
});

test('the places of matches', () => {
    const spans = (pattern, text) => linearMatcher(pattern).spans(text);
    assert.deepEqual(spans('a+', 'baac\ud83d\ude00a'), [[1, 3], [6, 7]]);
    assert.deepEqual(spans('\\bx', 'x xx ax'), [[0, 1], [2, 3]]);
    assert.deepEqual(spans('^a|b$|', 'aab'), [[0, 1], [2, 3]]);
    assert.deepEqual(spans('x*', 'ab'), []);
    assert.deepEqual(spans('ab|abc.*d|c', 'abce'), [[0, 2], [2, 3]]);
    // Plain texts and names need no automaton.
    for (const [pattern, text] of [['ab', 'xabab'], ['a', 'aa'], ['b', 'a'], ['^ab$', 'ab'], ['^ab$', 'abab']])
        assert.deepEqual(matcherOf(pattern).spans(text), spans(pattern, text), pattern);
});

test('invalid patterns are refused', () => {
    for (const pattern of ['(', ')', 'a(b', '[', '[a', '*a', '+', '\\', '(?=a)', '(?i', '(?z)a', 'a{3,1}', 'a{1001}', 'a**', 'a{2}{3}', '\\1', '\\C', '\\é', '\\p', '\\pX', '\\p{Nothing}', '[[:nope:]]', '[z-a]', '[a-\\d]', '\\x', '(?i)*'])
        assert.throws(() => linearTest(pattern), Error, pattern);
});

test('patterns that backtrack exponentially in JavaScript end soon', { timeout: 20000 }, () => {
    const long = 'a'.repeat(10000);
    for (const pattern of ['(a+)+b', '(a|a)*b', '(a|aa)+$b', 'a*a*a*a*a*b', '(.*){5}b', '(a?){100}a{100}b', '(((a*)*)*)*b'])
        assert.equal(linearTest(pattern)(long), false, pattern);
});

test('patterns that would fill memory are refused', () => {
    for (const pattern of ['a{9999}', '((a{90}){90}){90}', '(a{1000}){1000}', '('.repeat(500) + ')'.repeat(500)])
        assert.throws(() => linearTest(pattern), Error, pattern);
});

function profileOfNames(names) {
    return { nFunctions: names.length, nameOf: (i) => names[i] };
}

test('functions are found by a pattern, which respects the case, and by their exact name', () => {
    const names = ['main.Read', 'main.read', 'main.(*T).Read', 'x[y].z'];
    const found = (pattern) => [...findFunctions(profileOfNames(names), pattern).marked].join('');
    assert.equal(found('read'), '0100');
    assert.equal(found('(?i)read'), '1110');
    assert.equal(found('Read'), '1010');
    for (let i = 0; i < names.length; i++) assert.equal(found(patternOfName(names[i]))[i], '1');
    assert.equal(found(patternOfName('main.Read')), '1000');
    assert.equal(found(patternOfName('main.read')), '0100');
    const long = ['f(*)'.repeat(2000), 'f(*)'.repeat(2001)];
    assert.deepEqual([...findFunctions(profileOfNames(long), patternOfName(long[0])).marked], [1, 0]);
    assert.equal(findFunctions(profileOfNames(names), ''), null);
    assert.match(findFunctions(profileOfNames(names), '(').error, /not closed/);
});

test('a search that takes too long is given up', () => {
    const names = profileOfNames(new Array(200000).fill('abcdefghij'.repeat(200)));
    const started = performance.now();
    const { error } = findFunctions(names, 'j.*j.*j.*jx');
    assert.match(error, /gave up/);
    assert.ok(performance.now() - started < 5000);
});
