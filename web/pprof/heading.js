// The top of a view: title, facts, the filters in use, and the line of errors.

import { count, cut, element, untrusted, visible } from '../text.js';
import { FILTERS, filtersInUse, selectedType, withoutFilters } from './address.js';

/** The flame graph states its own type and total, because it changes the type without a request. */
const STATED_BY_FLAME_GRAPH = /^(Type:|Duration:|Showing nodes|Dropped )/;

/** The title of an answer, with the selected type in place of the answer's. */
export function titleOfAnswer({ title, types, type }, selected) {
    const [old, now] = [types[type], types[selected]];
    return old && now && title.endsWith(` ${old.type}`) ? title.slice(0, title.length - old.type.length) + now.type : title;
}

function filesOf({ sources, bases }) {
    if (sources.length + bases.length < 2) return null;
    const list = (title, names) =>
        names.length ? element('p', {}, `${title}: `, names.map((name, i) => [i ? ', ' : '', untrusted(name)])) : null;
    return element(
        'details',
        { class: 'files' },
        element('summary', {}, `${count(sources.length + bases.length)} files`),
        list('Profiles', sources),
        list('Compared with', bases),
    );
}

/** A button for each filter in use, which removes it. verb: a word before its text. */
export function filterButtons(page, verb = '') {
    const remove = (name) => () => page.visit(withoutFilters(page.address(), page.answer(), [name]));
    const removing = ([name, pattern]) =>
        element(
            'button',
            { type: 'button', disabled: page.isFrozen, title: 'remove this filter', on: { click: remove(name) } },
            `${verb}${FILTERS[name]}: `,
            untrusted(pattern),
            element('span', { 'aria-hidden': 'true' }, ' ×'),
        );
    return filtersInUse(page.address(), page.answer()).map(removing);
}

function filtersOf(page) {
    const buttons = filterButtons(page);
    return buttons.length ? element('ul', { class: 'chips', 'aria-label': 'Filters in use' }, buttons.map((button) => element('li', {}, button))) : null;
}

/** "the filters focus: main, ignore: x", or '' without filters. */
export function filtersText(page) {
    const used = filtersInUse(page.address(), page.answer()).map(([name, pattern]) => `${FILTERS[name]}: ${cut(visible(pattern))}`);
    return used.length ? `the ${used.length === 1 ? 'filter' : 'filters'} ${used.join(', ')}` : '';
}

/** The report's messages about a filter, as in "ShowFrom expression matched no samples". */
const UNMATCHED = /^(\w+) expression matched no samples$/;

/** The messages of an answer: one about a filter names its pattern. */
function problemsOf(answer, page) {
    const used = filtersInUse(page.address(), answer);
    const withPattern = (message) => {
        const [, option = ''] = message.match(UNMATCHED) || [];
        const [, pattern] = used.find(([name]) => FILTERS[name].replace(' ', '') === option.toLowerCase()) || [];
        return visible(pattern ? `${message}: ${cut(pattern)}` : message);
    };
    const { rows, nodes } = answer.data || {};
    const isEmpty = (rows && rows.length === 0) || (nodes && nodes.depth.length < 2);
    // One filter may have removed the samples that another one would match.
    if (!isEmpty || used.length < 2) return answer.errors.map(withPattern);
    return [...answer.errors.filter((message) => !UNMATCHED.test(message)).map(visible), `No sample passes ${filtersText(page)}`];
}

/** A line of the heading. The address of the profile's documentation is a link. */
function lineNode(line) {
    const [, address] = line.match(/^Doc: (https?:\/\/\S+)$/) || [];
    if (!address || !URL.canParse(address)) return untrusted(line, 'span');
    return element('span', {}, 'Doc: ', element('a', { href: address, rel: 'noopener noreferrer', target: '_blank' }, untrusted(address)));
}

/** Returns {node, show(answer), fail(text)}. page: see views.js. */
export function makeHeading(page) {
    const title = element('h1', {});
    const facts = element('p', { class: 'facts' });
    const rest = element('div', {});
    const problem = element('p', { class: 'error', role: 'alert' });
    const node = element('header', { class: 'head' }, title, facts, rest, problem);

    function show(answer) {
        title.replaceChildren(untrusted(titleOfAnswer(answer, selectedType(page.address(), answer))));
        const lines = answer.view === 'flamegraph' ? answer.heading.filter((line) => !STATED_BY_FLAME_GRAPH.test(line)) : answer.heading;
        facts.replaceChildren(
            ...(answer.isDifference ? [element('span', { class: 'warn' }, 'a difference')] : []),
            ...lines.map(lineNode),
        );
        rest.replaceChildren(...[filesOf(answer), filtersOf(page)].filter(Boolean));
        fail(problemsOf(answer, page).join('; '));
    }

    function fail(text) {
        problem.textContent = text;
    }

    return { node, show, fail };
}
