// Asks the server for views. Caches the last few answers. A new request ends the one before it, because the reader has
// gone on.

import { cut, element, visible } from '../text.js';

/** More than the views of one profile. */
const MOST_ANSWERS = 12;
const LONGEST_ERROR = 500;

/** The error of a request that a newer one has ended. */
export const isEnded = (error) => error.name === 'AbortError';

/** The sentence of an answer with an error status. A page instead of a sentence asks for the token. */
async function errorOf(response) {
    if (!/^text\/plain\b/.test(response.headers.get('Content-Type'))) return `HTTP status ${response.status}: load the page again`;
    const [line] = (await response.text()).trim().split('\n');
    return cut(visible(line), LONGEST_ERROR) || `HTTP status ${response.status}`;
}

async function answerOf(response) {
    if (!response.ok) throw new Error(await errorOf(response));
    const text = await response.text();
    try {
        return JSON.parse(text);
    } catch {
        throw new Error('the answer of profgrab is not complete; load the page again');
    }
}

/** Asks for JSON that is no view, beside the request of a view. Throws an Error with a sentence for the reader. */
export async function askAside(url) {
    return answerOf(await send(url, { headers: { Accept: 'application/json' } }));
}

/** Asks for a file beside the request of a view, and lets the browser save it. */
export async function saveFile(url, body, name) {
    const response = await send(url, { method: 'POST', body });
    if (!response.ok) throw new Error(await errorOf(response));
    const href = URL.createObjectURL(await response.blob());
    element('a', { href, download: name }).click();
    URL.revokeObjectURL(href);
}

/** Sends a request that changes the server's state. Throws an Error with a sentence for the reader. */
export async function sendChange(method, url) {
    const response = await send(url, { method });
    if (!response.ok) throw new Error(await errorOf(response));
}

/** Sends a request. Throws an Error with a sentence for the reader. */
async function send(url, options) {
    try {
        // Without no-store, the browser may show a cached answer in place of the page with the same URL.
        return await fetch(url, { cache: 'no-store', credentials: 'same-origin', ...options });
    } catch (e) {
        if (isEnded(e)) throw e;
        throw new Error('profgrab does not answer: it may have ended');
    }
}

/** Returns {get(url, body): the JSON of a view, remember(url, answer)}. A request with a body is a POST, and its answer is not cached. */
export function makeAnswers() {
    const cache = new Map();
    let running = { url: '', abort: new AbortController(), answer: null };

    function start(url, body) {
        running.abort.abort();
        const abort = new AbortController();
        const ask = async () => answerOf(await send(url, { method: body ? 'POST' : 'GET', body, headers: { Accept: 'application/json' }, signal: abort.signal }));
        const answer = ask();
        // Two requests with a body may differ although their URLs are equal.
        running = { url: body ? '' : url, abort, answer };
        const end = () => {
            if (running.answer === answer) running.url = '';
        };
        answer.then(end, end);
        return answer;
    }

    function remember(url, answer) {
        cache.delete(url);
        cache.set(url, answer);
        if (cache.size > MOST_ANSWERS) cache.delete(cache.keys().next().value);
        return answer;
    }

    async function get(url, body = null) {
        if (body) return start(url, body);
        if (running.url === url) return running.answer;
        const known = cache.get(url);
        if (!known) return remember(url, await start(url, null));
        running.abort.abort();
        return remember(url, known);
    }

    return { get, remember };
}
