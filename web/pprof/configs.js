// The Config menu: saved sets of parameters. Opening it asks the server for them, because another page or program may have changed them.

import { element, untrusted, visible } from '../text.js';
import { changedAddress, parameterOf } from './address.js';
import { askAside, sendChange } from './answers.js';

/** A button whose first click asks, and whose second one removes. Another place of the focus means no. */
function removal(name, remove) {
    const idle = { textContent: 'Delete', ariaLabel: `Delete ${visible(name)}` };
    const asking = { textContent: 'Delete for good?', ariaLabel: `Really delete ${visible(name)}` };
    const turn = (to) => Object.assign(button, to);
    const click = () => (button.textContent === idle.textContent ? turn(asking) : remove());
    const button = element('button', { type: 'button', on: { click, blur: () => turn(idle) } });
    return turn(idle);
}

/** The entries of the menu. page: see views.js, and fail(text), which shows an error. */
export function configEntries(page) {
    const { view, query } = page.address();
    const list = element('div', { 'aria-live': 'polite' });
    const field = element('input', { type: 'text', 'aria-label': 'Name of the config', placeholder: 'name', maxlength: '200', autocomplete: 'off' });

    function entryOf({ name, query: wanted, current, saved }) {
        // The sample type is not part of a config. Default has the filters of the command line.
        const to = changedAddress({ view, query: wanted }, { si: parameterOf(page.address(), 'si'), ...(saved ? {} : { without: '' }) });
        const remove = () => change('DELETE', `deleteconfig?${new URLSearchParams({ config: name })}`);
        return element('div', { class: 'entry' }, page.linkTo(to, { current }, untrusted(name)), saved && removal(name, remove));
    }

    async function showList() {
        try {
            const configs = await askAside(query ? `configs?${query}` : 'configs');
            list.replaceChildren(...configs.map(entryOf));
        } catch (e) {
            page.fail(e.message);
        }
    }

    async function change(method, url) {
        try {
            await sendChange(method, url);
        } catch (e) {
            return page.fail(e.message);
        }
        field.value = '';
        field.focus();
        return showList();
    }

    function save(event) {
        event.preventDefault();
        if (!field.value.trim()) return field.focus();
        const pairs = new URLSearchParams(query);
        pairs.set('config', field.value.trim());
        return change('POST', `saveconfig?${pairs}`);
    }

    showList();
    return [list, element('form', { class: 'entry', on: { submit: save } }, field, element('button', { type: 'submit' }, 'Save as'))];
}
