// The bar of the pprof page: its menus, the search field, Undo, theme and help.

import { element, untrusted } from '../text.js';
import { makeSearch } from '../controls.js';
import { titleOf } from '../kinds.js';
import { patternOfNames } from '../search.js';
import { addedPattern, selectedType, withoutFilters } from './address.js';
import { saveFile } from './answers.js';
import { REFINEMENTS } from './actions.js';
import { compareEntries } from './compare.js';
import { configEntries } from './configs.js';
import { filterButtons } from './heading.js';
import { makeMenu } from './menu.js';
import { functionsOf } from './names.js';
import { PPROF_VIEWS } from './views.js';

/**
 * page: see views.js, and {answer(), here(): the relative URL of what is shown, chosen(), undo(), fail(text), frozenBody(): what the frozen view needs of the page, or null}. Returns {node, update(place),
 * refresh(), close(), search}.
 */
export function makeBar(page, { theme, help }) {
    const search = makeSearch(page.go);
    // The pattern that the menus mean: the text of the search field, else the chosen functions.
    const pattern = () => search.field.value || patternOfNames(functionsOf(page.chosen(), page.answer()));
    const afterUse = { s: '' };
    const menus = [
        makeMenu('View', viewEntries),
        makeMenu('Sample', sampleEntries),
        makeMenu('Refine', refineEntries),
        makeMenu('Config', () => configEntries(page)),
        makeMenu('Compare', () => compareEntries(page, page.answer())),
        makeMenu('Download', downloadEntries),
    ];
    const [view, sample] = menus;
    const compare = menus.find(({ name }) => name === 'Compare');
    const undo = element('button', { type: 'button', title: 'undo the last change of filters (u)', on: { click: page.undo } }, 'Undo');
    const node = element(
        'header',
        { class: 'bar-pprof' },
        element('span', { class: 'brand' }, 'profgrab'),
        menus.filter((menu) => !page.isFrozen || menu === sample).map((menu) => menu.node),
        search.node,
        element('span', { class: 'tools' }, page.isFrozen ? null : undo, theme, help),
    );

    search.field.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter') return;
        event.preventDefault();
        page.visit({ f: search.field.value }, afterUse);
    });

    function viewEntries() {
        const { view: current } = page.address();
        // As in upstream's page, the next view focuses on what is chosen here.
        const f = pattern();
        return PPROF_VIEWS.map(({ name, title }) => {
            return page.link(f ? { view: name, f } : { view: name }, { current: name === current, place: f ? afterUse : {} }, title);
        });
    }

    function sampleEntries() {
        const { types } = page.answer();
        return types.map(({ type: name }, i) => {
            // A name that occurs twice means the first type.
            const si = types.findIndex((other) => other.type === name) === i ? name : String(i);
            const isCurrent = i === selectedType(page.address(), page.answer());
            return page.link({ si }, { current: isCurrent, title: titleOf({ kind: '' }, name)[1] }, untrusted(name));
        });
    }

    function refineEntries() {
        const chosen = pattern();
        const refine = ([filter, title, hint]) =>
            element(
                'button',
                {
                    type: 'button',
                    disabled: !chosen,
                    title: hint,
                    on: { click: () => page.visit(addedPattern(page.address(), page.answer(), filter, chosen), search.field.value ? afterUse : {}) },
                },
                title,
            );
        const about = chosen ? [untrusted(chosen)] : ['Write a pattern into the search field, or choose a function.'];
        const removeAll = () => page.visit(withoutFilters(page.address(), page.answer()), afterUse);
        const reset = element('button', { type: 'button', on: { click: removeAll } }, 'Reset');
        return [element('p', { class: 'quiet' }, about), ...REFINEMENTS.map(refine), ...filterButtons(page, 'Remove '), reset];
    }

    /** A link to the frozen view. With pasted sources, which a link cannot send, it is a button. */
    function frozenEntry(href) {
        const title = 'This view as one offline file';
        const body = page.frozenBody();
        if (!body) return element('a', { href, download: 'profile.html' }, title);
        const save = () => saveFile(href, body, 'profile.html').catch((e) => page.fail(e.message));
        return element('button', { type: 'button', on: { click: save } }, title);
    }

    function downloadEntries() {
        const { view: name, query } = page.address();
        const pairs = new URLSearchParams(query);
        pairs.set('place', page.here());
        return [
            element('a', { href: 'download', download: 'profile.pb.gz' }, 'profile.pb.gz'),
            frozenEntry(`freeze/${name}?${pairs}`),
        ];
    }

    function update(place) {
        if (search.field.value !== place.s) search.field.value = place.s;
        const type = page.answer().types[selectedType(page.address(), page.answer())];
        const row = PPROF_VIEWS.find(({ name }) => name === page.address().view);
        view.say('View ', element('small', {}, row.title));
        sample.say('Sample ', untrusted(type ? type.type : '', 'small'));
        undo.disabled = !page.canUndo();
        compare.node.hidden = !page.answer().comparable;
    }

    return { node, update, refresh: () => menus.forEach((menu) => menu.refresh()), close: () => menus.forEach((menu) => menu.close()), search };
}
