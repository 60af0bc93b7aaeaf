// Moves and enlarges a drawing: by wheel, by dragging, by two fingers and by keys.

const STEP = 1.25;
const LARGEST = 40;
const SMALLEST = 0.2;
/** A shorter movement of the pointer, in pixels, is a click. */
const SHORTEST_DRAG = 4;

/** The fewest units of the drawing that a position distinguishes. */
const ROUNDED = 100;

/**
 * box: the focusable element around the drawing. moved(position): called after the reader has moved or enlarged it.
 * Returns {fit(), show(position), enlarge(factor), wasDragged(), reveal(element)}. A position is a text, '' the first one.
 */
export function makePan(box, svg, moved) {
    const [left, top, width, height] = (svg.getAttribute('viewBox') || '0 0 100 100').split(/[\s,]+/).map(Number);
    const seen = { x: left, y: top, scale: 1 };
    const drag = { from: null, moved: false, distance: 0 };
    /** The fingers on the drawing, by their pointers: [x, y]. */
    const fingers = new Map();

    /** Pixels of the window for each unit of the drawing, if all of it is visible. */
    const fitting = () => Math.min(box.clientWidth / width, box.clientHeight / height) || 1;

    const positionOf = ({ x, y, scale }) => [x, y, scale].map((value) => Math.round(value * ROUNDED) / ROUNDED).join('_');

    /** Shows a position, which may come from a link that was edited by hand. */
    function show(position) {
        const [x, y, scale] = position.split('_').map(Number);
        if (![x, y, scale].every(Number.isFinite) || !position) return place();
        Object.assign(seen, { x, y, scale: Math.max(SMALLEST, Math.min(LARGEST, scale)) });
        return draw();
    }

    function draw() {
        const scale = fitting() * seen.scale;
        svg.setAttribute('viewBox', `${seen.x} ${seen.y} ${box.clientWidth / scale} ${box.clientHeight / scale}`);
    }

    function fit() {
        place();
        moved('');
    }

    /** Shows the whole drawing, as upstream's page does. */
    function place() {
        const scale = fitting();
        Object.assign(seen, { x: left + width / 2 - box.clientWidth / scale / 2, y: top, scale: 1 });
        draw();
    }

    /** Enlarges around a point of the box. */
    function enlarge(factor, x = box.clientWidth / 2, y = box.clientHeight / 2) {
        const before = fitting() * seen.scale;
        seen.scale = Math.max(SMALLEST, Math.min(LARGEST, seen.scale * factor));
        const after = fitting() * seen.scale;
        seen.x += x / before - x / after;
        seen.y += y / before - y / after;
        draw();
        moved(positionOf(seen));
    }

    function move(x, y) {
        const scale = fitting() * seen.scale;
        seen.x += x / scale;
        seen.y += y / scale;
        draw();
        moved(positionOf(seen));
    }

    /** Moves a focused element into the box. */
    function reveal(element) {
        const inner = element.getBoundingClientRect();
        const outer = box.getBoundingClientRect();
        const isVisible = inner.left >= outer.left && inner.right <= outer.right && inner.top >= outer.top && inner.bottom <= outer.bottom;
        if (!isVisible) move((inner.left + inner.right - outer.left - outer.right) / 2, (inner.top + inner.bottom - outer.top - outer.bottom) / 2);
    }

    const KEYS_OF_PAN = {
        __proto__: null,
        ArrowLeft: () => move(-80, 0),
        ArrowRight: () => move(80, 0),
        ArrowUp: () => move(0, -80),
        ArrowDown: () => move(0, 80),
        '+': () => enlarge(STEP),
        '=': () => enlarge(STEP),
        '-': () => enlarge(1 / STEP),
        0: fit,
    };
    box.addEventListener('keydown', (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || !KEYS_OF_PAN[event.key]) return;
        KEYS_OF_PAN[event.key]();
        event.preventDefault();
    });
    box.addEventListener(
        'wheel',
        (event) => {
            const bounds = box.getBoundingClientRect();
            enlarge(event.deltaY < 0 ? STEP : 1 / STEP, event.clientX - bounds.left, event.clientY - bounds.top);
            event.preventDefault();
        },
        { passive: false },
    );
    /** Enlarges by the distance of two fingers. */
    function pinch(event) {
        fingers.set(event.pointerId, [event.clientX, event.clientY]);
        const [[x, y], [otherX, otherY]] = fingers.values();
        const distance = Math.hypot(x - otherX, y - otherY);
        const bounds = box.getBoundingClientRect();
        if (drag.distance) enlarge(distance / drag.distance, (x + otherX) / 2 - bounds.left, (y + otherY) / 2 - bounds.top);
        Object.assign(drag, { from: null, moved: true, distance });
    }

    box.addEventListener('pointerdown', (event) => {
        if (event.pointerType === 'touch') fingers.set(event.pointerId, [event.clientX, event.clientY]);
        if (event.button === 0) Object.assign(drag, { from: [event.clientX, event.clientY], moved: false, distance: 0 });
    });
    for (const end of ['pointerup', 'pointercancel']) addEventListener(end, (event) => fingers.delete(event.pointerId));
    box.addEventListener('pointermove', (event) => {
        if (fingers.size === 2 && fingers.has(event.pointerId)) return pinch(event);
        if (!drag.from || !event.buttons) return;
        const [x, y] = [drag.from[0] - event.clientX, drag.from[1] - event.clientY];
        if (!drag.moved && Math.hypot(x, y) < SHORTEST_DRAG) return;
        // From here on the pointer is the drawing's, also outside the box.
        if (!drag.moved) box.setPointerCapture(event.pointerId);
        Object.assign(drag, { from: [event.clientX, event.clientY], moved: true });
        move(x, y);
    });
    box.addEventListener('pointerup', () => (drag.from = null));
    new ResizeObserver(draw).observe(box);
    return { fit, show, enlarge, reveal, wasDragged: () => drag.moved };
}
