// Patterns match as in JavaScript, in time that is linear in the text.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linearTest } from '../../web/regex.js';
import { patternOfName, findFunctions } from '../../web/search.js';

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

test('patterns match what JavaScript matches', () => {
    for (const pattern of PATTERNS) {
        const flags = /[A-Z]/.test(pattern.replace(/\\./g, '')) ? '' : 'i';
        let theirs;
        try {
            theirs = new RegExp(pattern, flags);
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

test('invalid patterns are refused', () => {
    for (const pattern of ['(', ')', 'a(b', '[', '[a', '*a', '+', '\\', '(?=a)', '(?i)a', 'a{3,1}', '\\1', '\\p', '[z-a]'])
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

test('functions are found by a pattern, which ignores the case unless it has capitals, and by their exact name', () => {
    const names = ['main.Read', 'main.read', 'main.(*T).Read', 'x[y].z'];
    const found = (pattern) => [...findFunctions(profileOfNames(names), pattern).marked].join('');
    assert.equal(found('read'), '1110');
    assert.equal(found('Read'), '1010');
    for (let i = 0; i < names.length; i++) assert.equal(found(patternOfName(names[i]))[i], '1');
    assert.equal(found(patternOfName('main.Read')), '1000');
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
