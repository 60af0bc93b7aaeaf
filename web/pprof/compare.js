// The Compare menu: shows one of several sources, or the change from one to another.

import { element, visible } from '../text.js';
import { parameterOf } from './address.js';

const LONGEST_SOURCE = 60;

/** The entries of the menu, for an answer with several sources. page: see views.js. */
export function compareEntries(page, { sources }) {
    const option = (value, text, selected) => element('option', { value, selected: selected === value ? '' : null }, text);

    function choiceOf(label, parameter, none, change) {
        const chosen = parameterOf(page.address(), parameter);
        const names = sources.map((name, i) => option(String(i), `${i + 1}: ${visible(name).slice(-LONGEST_SOURCE)}`, chosen));
        const select = element('select', { 'aria-label': label, on: { change: () => change(select.value) } }, option('', none, chosen), names);
        return element('label', { class: 'entry' }, `${label} `, select);
    }

    const to = parameterOf(page.address(), 'to');
    // A base without a profile to compare would be an error.
    const otherThan = (from) => String(sources.findIndex((_, i) => String(i) !== from));
    return [
        choiceOf('Show', 'to', 'all, merged', (value) => page.visit(value ? { to: value } : { to: '', from: '' })),
        choiceOf('Compared with', 'from', 'nothing', (value) => page.visit({ from: value, to: value && !to ? otherThan(value) : to })),
    ];
}
