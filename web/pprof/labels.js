// The filters tagfocus and tagignore that select the samples with a label.

import { patternOfName } from '../search.js';

/** A pattern without commas, which would separate it from another pattern. */
const withoutCommas = (pattern) => pattern.replaceAll(',', '\\x2c');

/** The pattern of a label of any key, which is compared with KEY:VALUE. The first = would end a key. */
const patternOfLabel = (key, value) => withoutCommas(patternOfName(`${key}:${value}`)).replaceAll('=', '\\x3d');

/**
 * The value of tagfocus for a label: KEY=PATTERN, or for a number, whose text is rounded, KEY=RANGE. With a key that has a =, the
 * pattern is that of KEY:VALUE, and a range is that of any key.
 */
export function labelFilter(key, { value, range }) {
    if (!key.includes('=')) return `${key}=${range || withoutCommas(patternOfName(value))}`;
    return range || patternOfLabel(key, value);
}

/** A range of numbers, of labels with any key. */
const RANGE = /^(:?-?\d+[a-z]*|-?\d+[a-z]*:(-?\d+[a-z]*)?)$/i;
/** A pattern of patternOfName(). */
const EXACT = /^\^([^\\^$.*+?()[\]{}|]|\\.)*\$$/s;

/** The one pattern of KEY:VALUE that selects the same samples as a filter; '' for a range, and for a list whose patterns must all match. */
function patternOfAnyKey(filter) {
    const [, key, patterns] = /^([^=]*)=(.*)$/s.exec(filter) || [];
    if (key === undefined) return RANGE.test(filter) || filter.includes(',') ? '' : filter;
    const list = patterns.split(',');
    const beginning = patternOfName(`${key}:`).slice(0, -1);
    return list.every((pattern) => EXACT.test(pattern)) ? list.map((pattern) => beginning + pattern.slice(1)).join('|') : '';
}

/** The filter that selects the samples of `old` and those with the label; '' if no single filter does. */
function eitherOf(old, key, { value, range }) {
    const [, oldKey, patterns = ''] = /^([^=]*)=(.*)$/s.exec(old) || [];
    if (range) return '';
    if (oldKey === key && !RANGE.test(patterns)) return `${old},${withoutCommas(patternOfName(value))}`;
    const before = patternOfAnyKey(old);
    return before && `${before}|${patternOfLabel(key, value)}`;
}

/** A value of tagignore that removes a label, and if possible also what `old` removes. Returns {filter, keepsOld}. */
export function withLabel(old, key, entry) {
    const both = old && eitherOf(old, key, entry);
    return { filter: both || labelFilter(key, entry), keepsOld: Boolean(both) };
}
