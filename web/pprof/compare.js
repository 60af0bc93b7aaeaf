// The Compare menu: shows one of several sources and bases, or the change from one to another.

import { element, visible } from '../text.js';
import { parameterOf } from './address.js';

const LONGEST_SOURCE = 60;

/** The entries of the menu, for an answer with several profiles. page: see views.js. */
export function compareEntries(page, { sources, bases }) {
    const profiles = [...sources, ...bases];
    const option = (value, text, selected) => element('option', { value, selected: selected === value ? '' : null }, text);

    function choiceOf(label, parameter, none, change) {
        const chosen = parameterOf(page.address(), parameter);
        const names = profiles.map((name, i) => option(String(i), `${i + 1}: ${visible(name).slice(-LONGEST_SOURCE)}${i < sources.length ? '' : ' (base)'}`, chosen));
        const select = element('select', { 'aria-label': label, on: { change: () => change(select.value) } }, option('', none, chosen), names);
        return element('label', { class: 'entry' }, `${label} `, select);
    }

    const [from, to] = ['from', 'to'].map((name) => parameterOf(page.address(), name));
    // A base without another profile to compare would be an error.
    const otherThan = (value) => String(profiles.findIndex((_, i) => String(i) !== value));
    return [
        choiceOf('Show', 'to', sources.length > 1 ? 'all, merged' : 'the profile', (value) => page.visit({ to: value, from: value && value !== from ? from : '' })),
        // Without a choice, the server compares with the bases of the command line.
        choiceOf('Compared with', 'from', bases.length && !to ? 'the base' : 'nothing', (value) => page.visit({ from: value, to: value && (!to || value === to) ? otherThan(value) : to })),
    ];
}
