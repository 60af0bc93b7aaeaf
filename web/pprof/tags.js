// The labels of the samples: for each key, the values and their shares.

import { element, untrusted, visible } from '../text.js';
import { patternOfName } from '../search.js';
import { percentage } from '../units.js';
import { filtersText } from './heading.js';
import { makeMarks } from './marks.js';

/** The values of a key that are shown at first. */
const MOST_VALUES = 100;

/** A pattern without commas, which would separate it from another pattern. */
const withoutCommas = (pattern) => pattern.replaceAll(',', '\\x2c');

/**
 * The value of tagfocus for a label: KEY=PATTERN, or for a number, whose text is rounded, KEY=RANGE. The first = ends the key:
 * with a key that has one, the pattern is that of KEY:VALUE, and a range is that of any key.
 */
function labelFilter(key, { value, range }) {
    if (!key.includes('=')) return `${key}=${range || withoutCommas(patternOfName(value))}`;
    return range || withoutCommas(patternOfName(`${key}:${value}`)).replaceAll('=', '\\x3d');
}

function noLabelsText(page) {
    const filters = filtersText(page);
    return filters ? `No sample that passes ${filters} has a label.` : 'The samples have no labels.';
}

export function makeTagsView({ data }, page) {
    const withValue = (filter, key, entry) => ({ [filter]: labelFilter(key, entry) });

    function valueRow(key, entry) {
        const { value, text, share } = entry;
        const bar = element('span', { class: 'bar' });
        bar.style.setProperty('--share', Math.max(0, Math.min(1, share)));
        return element(
            'li',
            { class: 'tag-value' },
            page.link(withValue('tf', key, entry), { title: 'only samples with this value' }, untrusted(value)),
            element('span', { class: 'amount' }, visible(text), ' ', element('small', {}, percentage(share, 1))),
            bar,
            page.link(withValue('ti', key, entry), { title: 'no samples with this value' }, 'Ignore', element('span', { class: 'aside' }, ' ', visible(value))),
        );
    }

    function keySection({ key, total, values }) {
        const list = element('ul', {}, values.slice(0, MOST_VALUES).map((value) => valueRow(key, value)));
        const more = element('button', { type: 'button', hidden: values.length <= MOST_VALUES, on: { click: showAll } }, `All ${values.length} values`);

        function showAll() {
            list.append(...values.slice(MOST_VALUES).map((value) => valueRow(key, value)));
            more.remove();
        }

        return element(
            'section',
            { class: 'tag-key' },
            element(
                'div',
                { class: 'section-head' },
                element('h2', {}, untrusted(key), ' ', element('small', {}, visible(total))),
                element(
                    'span',
                    { class: 'actions' },
                    page.link({ ts: patternOfName(key) }, { title: 'show no other label' }, 'Show only this label'),
                    page.link({ th: patternOfName(key) }, { title: 'do not show this label' }, 'Hide this label'),
                ),
            ),
            list,
            more,
        );
    }

    const sections = data.keys.length ? data.keys.map(keySection) : element('p', { class: 'quiet' }, noLabelsText(page));
    const tags = element('div', { class: 'tags' }, sections);
    const { notice, search } = makeMarks(tags);
    return { node: element('div', {}, notice, tags), update: (place) => search(place.s), repaint() {} };
}
