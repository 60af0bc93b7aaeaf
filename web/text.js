// Untrusted text in the page. It is inserted only as text nodes. Characters that reorder or hide text are shown as
// escapes.

/** The characters that base/data/text.c replaces. */
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb\u{13430}-\u{1345f}]/gu;

/** Many combining marks on one letter cover the neighbouring lines. No language uses more than four. */
const HEAPED = /(\p{M}{4})\p{M}+/gu;

export const LONGEST_SHOWN = 300;
const LONGEST_LINE = 3000;

/** Escapes characters that have no width or change the text's direction, and cuts long runs of combining marks. */
export function visible(text) {
    const written = String(text).replace(HIDDEN, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, '0')}`);
    return written.replace(HEAPED, '$1…');
}

/** A line of source or of a report: visible(), with its tabs. */
export function visibleLine(line) {
    return cut(line.split('\t').map(visible).join('\t'), LONGEST_LINE);
}

/** Cuts a text to n characters: names may have 10,000. Keeps its end, which identifies a name better than its middle. */
export function cut(text, n = LONGEST_SHOWN) {
    if (text.length <= n) return text;
    const tail = Math.floor(n / 3);
    return text.slice(0, n - tail - 1) + '…' + text.slice(text.length - tail);
}

/** Creates an element. The attribute `on` has the listeners by event. Children are nodes or text; null is ignored. */
export function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (name === 'on') for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
        else if (value === true) node.setAttribute(name, '');
        else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
    }
    node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return node;
}

/** An untrusted name: isolated from the text around it, and cut if it is too long; then its tip has the whole name. */
export function untrusted(text, tag = 'bdi', attributes = {}) {
    const whole = visible(text);
    const shown = cut(whole);
    return element(tag, { title: shown === whole ? null : whole, ...attributes }, shown);
}

/** Copies the text to the clipboard. navigator.clipboard is missing in pages of file:// in some browsers. */
export async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        const area = element('textarea', { class: 'aside', 'aria-hidden': 'true' });
        area.value = text;
        document.body.append(area);
        area.select();
        const done = document.execCommand('copy');
        area.remove();
        return done;
    }
}

export function plural(n, one, many = one + 's') {
    return `${count(n)} ${n === 1 ? one : many}`;
}

/** 12,345: groups of three digits in every locale, because the page is in English. */
export function count(n) {
    return String(Math.round(n)).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** Returns a function that runs `work` after a delay. Calls during the delay restart it. */
export function debounce(work, ms = 30) {
    let pending = 0;
    return () => {
        clearTimeout(pending);
        pending = setTimeout(work, ms);
    };
}
