// The filters that select samples by labels: web/pprof/labels.js. tests/pprof compares what they select with upstream.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelFilter, withLabel } from '../../web/pprof/labels.js';

test('a label has a filter that matches only it', () => {
    const rows = [
        ['user', { value: 'a.b' }, 'user=^a\\.b$'],
        ['user', { value: 'a,b' }, 'user=^a\\x2cb$'],
        ['bytes', { value: '4kB', range: '4096bytes' }, 'bytes=4096bytes'],
        ['a=b', { value: 'c=d' }, '^a\\x3db:c\\x3dd$'],
        ['a=b', { value: '1', range: '1' }, '1'],
    ];
    for (const [key, entry, filter] of rows) assert.equal(labelFilter(key, entry), filter);
});

test('a second label joins the first, of the same key and of another', () => {
    const rows = [
        ['', 'user', { value: 'b' }, 'user=^b$', false],
        ['user=^a$', 'user', { value: 'b' }, 'user=^a$,^b$', true],
        ['user=^a$,^b$', 'user', { value: 'c' }, 'user=^a$,^b$,^c$', true],
        ['user=a', 'user', { value: 'b' }, 'user=a,^b$', true],
        ['user=^a$,^b$', 'host', { value: 'h' }, '^user:a$|^user:b$|^host:h$', true],
        ['^user:a$|^host:h$', 'user', { value: 'b' }, '^user:a$|^host:h$|^user:b$', true],
        ['alice', 'user', { value: 'b' }, 'alice|^user:b$', true],
        // These cannot be one filter: the new one replaces the old one.
        ['bytes=4096bytes', 'user', { value: 'b' }, 'user=^b$', false],
        ['4kb:', 'user', { value: 'b' }, 'user=^b$', false],
        ['user=^a$', 'bytes', { value: '4kB', range: '4096bytes' }, 'bytes=4096bytes', false],
        ['bytes=4096bytes', 'bytes', { value: '8kB', range: '8192bytes' }, 'bytes=8192bytes', false],
        ['a,b', 'user', { value: 'c' }, 'user=^c$', false],
        ['user=^a|b$', 'host', { value: 'h' }, 'host=^h$', false],
    ];
    for (const [old, key, entry, filter, keepsOld] of rows) assert.deepEqual(withLabel(old, key, entry), { filter, keepsOld }, old);
});
