// The pictures of the cards on the overview, drawn one at a time while the browser is idle.

const LARGEST = 1e6;

const idle = () =>
    new Promise((resolve) =>
        window.requestIdleCallback ? requestIdleCallback(resolve, { timeout: 2000 }) : setTimeout(resolve, 30),
    );

/**
 * thumbnails: {canvas, draw(canvas, content, palette)} by entry id; open(id): resolves to the entry's content; wanted():
 * false after the reader has left the overview.
 */
export async function drawThumbnails(thumbnails, open, palette, wanted) {
    for (const [id, { canvas, draw }] of thumbnails) {
        await idle();
        if (!wanted() || !canvas.isConnected) return;
        if (document.getElementById(id)?.textContent.length > LARGEST) continue;
        // If an entry cannot be read, its own view reports that.
        const content = await open(id).catch(() => null);
        if (content) draw(canvas, content, palette);
    }
}
