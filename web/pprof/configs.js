// The Config menu: saved sets of parameters.

import { element, untrusted, visible } from '../text.js';
import { changedAddress, parameterOf } from './address.js';
import { sendChange } from './answers.js';

/** A button whose first click asks, and whose second one removes. Another place of the focus means no. */
function removal(name, remove) {
    const idle = { textContent: 'Delete', ariaLabel: `Delete ${visible(name)}` };
    const asking = { textContent: 'Delete for good?', ariaLabel: `Really delete ${visible(name)}` };
    const turn = (to) => Object.assign(button, to);
    const click = () => (button.textContent === idle.textContent ? turn(asking) : remove());
    const button = element('button', { type: 'button', on: { click, blur: () => turn(idle) } });
    return turn(idle);
}

/** The entries of the menu. page: see views.js; changed(): asks for the list again; fail(text): shows an error. */
export function configEntries(page, answer, { changed, fail }) {
    const run = async (method, url) => {
        try {
            await sendChange(method, url);
        } catch (e) {
            return fail(e.message);
        }
        return changed();
    };

    function entryOf({ name, query, current, saved }) {
        // The sample type is not part of a config. Default has the filters of the command line.
        const to = changedAddress({ view: page.address().view, query }, { si: parameterOf(page.address(), 'si'), ...(saved ? {} : { without: '' }) });
        const remove = () => run('DELETE', `deleteconfig?${new URLSearchParams({ config: name })}`);
        return element(
            'span',
            { class: 'entry' },
            page.linkTo(to, { current }, untrusted(name)),
            saved && removal(name, remove),
        );
    }

    const field = element('input', { type: 'text', 'aria-label': 'Name of the config', placeholder: 'name', maxlength: '200', autocomplete: 'off' });
    const save = (event) => {
        event.preventDefault();
        if (!field.value.trim()) return field.focus();
        const pairs = new URLSearchParams(page.address().query);
        pairs.set('config', field.value.trim());
        return run('POST', `saveconfig?${pairs}`);
    };
    const form = element('form', { class: 'entry', on: { submit: save } }, field, element('button', { type: 'submit' }, 'Save as'));
    return [...answer.configs.map(entryOf), form];
}
