// A flame graph (root at the bottom) or icicle (root at the top) with pointer and keyboard. It draws the scene of
// show(). A click calls activate(). The canvas covers only the visible part and does not move while its box scrolls.

import { element } from './text.js';
import { beginOf, heaviestChild, neighbour, nodeAt } from './tree.js';
import { deepestVisible, paint, ROW } from './drawing.js';
import { hideTip, showTip } from './tip.js';

/**
 * options: label; share: the largest part of the window's height that the graph takes; activate(node), select(node);
 * tip(node): the elements of the tip; key(event, node): true if it handled the key.
 * Returns {node, show(scene), redraw(), select(node), focus()}.
 */
export function makeFlame(options) {
    const canvas = element('canvas', {
        tabindex: '0',
        role: 'application',
        'aria-roledescription': 'flame graph',
        'aria-label': options.label,
    });
    const chosenMark = element('div', { class: 'mark chosen', hidden: true });
    const hoverMark = element('div', { class: 'mark', hidden: true });
    const space = element('div', { class: 'flame-space' }, canvas, chosenMark, hoverMark);
    const box = element('div', { class: 'flame' }, space);
    const context = canvas.getContext('2d', { alpha: false, willReadFrequently: true });
    let scene = null;
    let chosen = 0;
    // Cached layout: reading it from the browser between changes takes longer than drawing.
    let width = 0;
    let height = 0;
    let top = 0;
    let canvasHeight = 0;
    let hasFocus = false;

    function redraw() {
        if (!scene || !width) return;
        const ratio = Math.max(1, Math.min(devicePixelRatio || 1, 3));
        paint(context, scene, { width, height: canvasHeight, top, ratio });
        place(chosenMark, hasFocus ? chosen : -1);
    }

    function measure() {
        scene.rows = deepestVisible(scene, width || 1000) + 1;
        const tallest = Math.floor((innerHeight * options.share) / ROW) * ROW;
        height = Math.max(ROW, Math.min(scene.rows * ROW, tallest));
        space.style.height = `${scene.rows * ROW}px`;
        box.style.height = `${height}px`;
        // Resizing a canvas reallocates it, which takes longer than drawing. Therefore the canvas shrinks only with the
        // window, and its box clips it. On paper it has the exact height.
        canvasHeight = document.documentElement.dataset.paper === 'yes' ? height : Math.max(height, Math.min(canvasHeight, tallest));
        canvas.style.height = `${canvasHeight}px`;
    }

    function scrollTo(wanted) {
        const to = Math.max(0, Math.min(scene.rows * ROW - height, wanted));
        if (to === top) return;
        box.scrollTop = to;
        top = to;
    }

    function show(next) {
        const turned = !scene || scene.up !== next.up || scene.zoom !== next.zoom || scene.tree !== next.tree;
        scene = { ...next, pointed: -1 };
        chosen = next.chosen ?? (turned ? next.zoom : chosen);
        if (!width) width = box.clientWidth;
        measure();
        hoverMark.hidden = true;
        if (turned) scrollTo(yOf(scene.zoom) - (scene.up ? height - ROW * 2 : ROW));
        else scrollTo(top);
        redraw();
    }

    const yOf = (node) => (scene.up ? scene.rows - 1 - scene.tree.depth[node] : scene.tree.depth[node]) * ROW;

    function edgesOf(node) {
        const { tree, figures, zoom } = scene;
        if (node <= zoom && tree.end[node] >= tree.end[zoom]) return [0, width];
        const scale = width / figures.weight[zoom];
        const x = beginOf(tree, figures, zoom, node);
        return [x * scale, (x + figures.weight[node]) * scale];
    }

    function place(mark, node) {
        mark.hidden = node < 0;
        if (node < 0) return;
        const [left, right] = edgesOf(node);
        mark.style.transform = `translate(${Math.round(left)}px, ${yOf(node)}px)`;
        mark.style.width = `${Math.max(3, Math.round(right - left) - 1)}px`;
    }

    function nodeUnder(event) {
        if (!scene) return -1;
        const bounds = box.getBoundingClientRect();
        const row = Math.floor((event.clientY - bounds.top + top) / ROW);
        if (row < 0 || row >= scene.rows) return -1;
        const at = ((event.clientX - bounds.left) / width) * scene.figures.weight[scene.zoom];
        return nodeAt(scene.tree, scene.figures, scene.zoom, scene.up ? scene.rows - 1 - row : row, at);
    }

    function select(node) {
        chosen = node;
        const y = yOf(node);
        if (y < top) scrollTo(y);
        if (y + ROW > top + height) scrollTo(y + ROW - height);
        redraw();
        options.select(node);
    }

    function nodeToward(key) {
        const { tree, figures, zoom, up } = scene;
        if (key === 'ArrowLeft') return neighbour(tree, figures, chosen, -1, zoom);
        if (key === 'ArrowRight') return neighbour(tree, figures, chosen, 1, zoom);
        if (key === 'Home') return 0;
        if (key !== 'ArrowUp' && key !== 'ArrowDown') return null;
        return (key === 'ArrowUp') === up ? childOnPath(chosen) : tree.parent[chosen];
    }

    // Above the zoomed frame the graph has only its callers.
    function childOnPath(node) {
        const { tree, figures, zoom } = scene;
        if (tree.depth[node] >= tree.depth[zoom]) return heaviestChild(tree, figures, node);
        let next = zoom;
        while (tree.parent[next] !== node) next = tree.parent[next];
        return next;
    }

    canvas.addEventListener('keydown', (event) => {
        if (!scene || event.ctrlKey || event.metaKey || event.altKey) return;
        const to = nodeToward(event.key);
        if (to === null && event.key !== 'Enter') {
            if (options.key && options.key(event, chosen)) event.preventDefault();
            return;
        }
        event.preventDefault();
        if (event.key === 'Enter') options.activate(chosen);
        else if (to >= 0) select(to);
    });
    /** Shows which other frames have the function of the node; -1: none. */
    function point(node) {
        const fn = node < 0 ? -1 : scene.tree.fn[node];
        if (scene.pointed === fn) return;
        scene.pointed = fn;
        redraw();
    }

    canvas.addEventListener('pointermove', (event) => {
        const node = nodeUnder(event);
        if (scene) point(node);
        place(hoverMark, node);
        canvas.classList.toggle('over', node >= 0);
        if (node < 0) hideTip();
        else showTip(event.clientX, event.clientY, ...options.tip(node));
    });
    canvas.addEventListener('pointerleave', () => {
        hoverMark.hidden = true;
        if (scene) point(-1);
        hideTip();
    });
    canvas.addEventListener('click', (event) => {
        const node = nodeUnder(event);
        if (node < 0) return;
        hideTip();
        chosen = node;
        options.activate(node);
    });
    canvas.addEventListener('contextmenu', (event) => {
        const node = nodeUnder(event);
        if (node < 0) return;
        event.preventDefault();
        hideTip();
        select(node);
    });
    canvas.addEventListener('focus', () => {
        hasFocus = true;
        if (!scene) return;
        place(chosenMark, chosen);
        options.select(chosen);
    });
    canvas.addEventListener('blur', () => {
        hasFocus = false;
        place(chosenMark, -1);
    });
    box.addEventListener(
        'scroll',
        () => {
            if (box.scrollTop === top) return;
            top = box.scrollTop;
            redraw();
        },
        { passive: true },
    );
    new ResizeObserver(() => {
        const seen = box.clientWidth;
        if (!seen || seen === width) return;
        width = seen;
        if (scene) show(scene);
    }).observe(box);

    return { node: box, show, redraw, select, focus: () => canvas.focus({ preventScroll: true }) };
}
