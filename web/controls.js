// The controls above a profile's graph: sample types, search, filters, and direction.

import { cut, element, visible } from './text.js';
import { titleOf } from './kinds.js';

/** The maximum length shown of a sample type's name. */
const LONGEST_TYPE = 40;

let fieldsMade = 0;

/** A field with a label; input(text) is called at each change of the text. */
export function makeField(label, hint, input) {
    const id = `field-${++fieldsMade}`;
    const field = element('input', {
        id,
        type: 'search',
        placeholder: hint,
        autocomplete: 'off',
        autocapitalize: 'off',
        spellcheck: 'false',
        maxlength: '1000',
        on: { input: () => input(field.value) },
    });
    return { node: element('div', { class: 'field' }, element('label', { for: id }, label), field), field };
}

/**
 * search: the search field of a page that has its own; such a page also has its own sample types and filters. Returns
 * {node, update(place, type, notice), say(text), searchBox}.
 */
export function makeControls(profile, entry, go, { back, reset, search: own }) {
    const types = profile.types.map((type, i) => {
        const [title, hint] = titleOf(entry, type.type);
        const click = () => go({ t: i === profile.type ? '' : String(i) }, true);
        return element('button', { type: 'button', class: 'choice', title: hint, on: { click } }, cut(visible(title), LONGEST_TYPE));
    });
    const search = own ? { node: null, field: own } : makeSearch(go);
    const focus = makeField('Focus', 'only stacks with…', (text) => go({ f: text }, false));
    const ignore = makeField('Ignore', 'no stacks with…', (text) => go({ i: text }, false));
    const button = (text, title, click) => element('button', { type: 'button', title, on: { click } }, text);
    const turn = button('', 'turn the graph upside down', () => go({ up: turn.dataset.up === '1' ? '' : '1' }, false));
    const notice = element('p', { class: 'notice', role: 'status' });
    const filters = element('details', { class: 'filters' }, element('summary', {}, 'Filter'), focus.node, ignore.node);
    const node = element(
        'div',
        { class: 'controls' },
        types.length > 1 && !own
            ? element('div', { class: 'choices', role: 'group', 'aria-label': 'Sample type' }, inDisplayOrder(types, profile.type))
            : null,
        search.node,
        own ? null : filters,
        element(
            'div',
            { class: 'moves' },
            turn,
            button('Back', 'back to the previous view (Backspace)', back),
            button('Reset', own ? 'no zoom, no search (0)' : 'no zoom, no search, no filter (0)', reset),
        ),
        notice,
    );

    function update(place, type, text) {
        types.forEach((choice, i) => choice.setAttribute('aria-pressed', String(i === type)));
        const fields = [
            [search.field, place.s],
            [focus.field, place.f],
            [ignore.field, place.i],
        ];
        for (const [field, value] of fields) if (field.value !== value) field.value = value;
        if (place.f || place.i) filters.open = true;
        turn.dataset.up = place.up;
        turn.textContent = place.up === '1' ? 'Root at the top' : 'Root at the bottom';
        say(text);
    }

    function say(text) {
        if (notice.textContent !== text) notice.textContent = text;
    }

    return { node, update, say, searchBox: search.field };
}

/** The field whose text is the place's search. */
export function makeSearch(go) {
    const search = withMeasure((text) => go({ s: text }, false), 'search');
    return makeField('Search', 'name or pattern', search);
}

// Go lists the most important type last, and pprof shows this type first.
function inDisplayOrder(types, first) {
    return first === types.length - 1 ? [...types].reverse() : types;
}

function withMeasure(work, name) {
    return (value) => {
        const started = performance.now();
        work(value);
        performance.measure(`profgrab:${name}`, { start: started, end: performance.now() });
    };
}
