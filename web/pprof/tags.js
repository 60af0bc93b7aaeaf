// The labels of the samples: for each key, the values and their shares.

import { count, element, untrusted, visible } from '../text.js';
import { patternOfName } from '../search.js';
import { percentage } from '../units.js';
import { filtersInUse } from './address.js';
import { isEnded } from './answers.js';
import { filtersText } from './heading.js';
import { labelFilter, withLabel } from './labels.js';
import { makeMarks } from './marks.js';

function noLabelsText(page) {
    const filters = filtersText(page);
    return filters ? `No sample that passes ${filters} has a label.` : 'The samples have no labels.';
}

export function makeTagsView({ data }, page) {
    const [, ignored = ''] = filtersInUse(page.address(), page.answer()).find(([name]) => name === 'ti') || [];

    function valueRow(key, entry) {
        const { value, text, share } = entry;
        const ignoring = withLabel(ignored, key, entry);
        const hint = ignored && !ignoring.keepsOld ? 'no samples with this value; replaces the present tag ignore' : 'no samples with this value';
        const bar = element('span', { class: 'bar' });
        bar.style.setProperty('--share', Math.max(0, Math.min(1, share)));
        return element(
            'li',
            { class: 'tag-value' },
            page.link({ tf: labelFilter(key, entry) }, { title: 'only samples with this value' }, untrusted(value)),
            element('span', { class: 'amount' }, visible(text), ' ', element('small', {}, percentage(share, 1))),
            bar,
            page.link({ ti: ignoring.filter }, { title: hint }, 'Ignore', element('span', { class: 'aside' }, ' ', visible(value))),
        );
    }

    function keySection({ key, total, n, values }) {
        const list = element('ul', {}, values.map((value) => valueRow(key, value)));
        const more = element('button', { type: 'button', on: { click: showMore } });
        let shown = values.length;

        function update() {
            more.hidden = shown >= n;
            more.textContent = `Show more of ${count(n)} values`;
        }

        async function showMore() {
            try {
                const { data: piece } = await page.ask({ label: key, at: String(shown) });
                const next = piece.keys.length ? piece.keys[0].values : [];
                list.append(...next.map((value) => valueRow(key, value)));
                shown += next.length;
                update();
            } catch (e) {
                if (!isEnded(e)) page.fail(e.message);
            }
        }

        update();
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
            page.isFrozen && shown < n ? element('p', { class: 'quiet' }, `the heaviest ${count(shown)} of ${count(n)} values`) : more,
        );
    }

    const sections = data.keys.length ? data.keys.map(keySection) : element('p', { class: 'quiet' }, noLabelsText(page));
    const tags = element('div', { class: 'tags' }, sections);
    const { notice, search } = makeMarks(tags);
    return { node: element('div', {}, notice, tags), update: (place) => search(place.s), repaint() {} };
}
