// Unknown sample types and kinds.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { questionOf, titleOf } from '../../web/kinds.js';

test('an unknown type or kind has its name as title, also if objects have a property of that name', () => {
    for (const name of ['constructor', 'toString', '__proto__', 'valueOf']) {
        for (const from of [undefined, 'growth', 'sides']) {
            const [title, hint] = titleOf({ kind: name, from }, name);
            assert.equal(title, name.replaceAll('_', ' '));
            assert.equal(hint, '');
        }
        assert.equal(questionOf({ kind: name }), null);
        assert.equal(questionOf({ kind: name, from: 'sides' }), 'What differs?');
    }
    assert.equal(titleOf({ kind: 'heap', from: 'growth' }, 'inuse_space')[0], 'Growth of memory in use');
});
