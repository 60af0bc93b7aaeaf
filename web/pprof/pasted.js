// The texts that the reader has pasted in place of source files. The server keeps none of them: each request of the source has them.

/** The server takes no more bytes. */
const MOST_BYTES = 4 << 20;

/** Returns {put(path, text), body(): what a request of the source has, or null}. */
export function makePasted() {
    const texts = new Map();

    /** Throws an Error if the texts are too long together. */
    function put(path, text) {
        const old = texts.get(path);
        texts.set(path, text);
        if (new TextEncoder().encode(body()).length <= MOST_BYTES) return;
        texts.delete(path);
        if (old !== undefined) texts.set(path, old);
        throw new Error('the pasted sources have more than 4 MB');
    }

    const partOf = ([path, text]) => `${path.replaceAll('\0', '')}\0${text.replaceAll('\0', '')}\0`;
    const body = () => (texts.size ? [...texts].map(partOf).join('') : null);

    return { put, body };
}
