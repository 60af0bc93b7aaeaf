// Copies the drawing of graphviz. Its text has names of hosts, and graphviz itself reads hostile input: therefore only known
// elements and attributes with values of a known form are copied, into elements of the page.

import { cut, visible } from '../text.js';

const SVG = 'http://www.w3.org/2000/svg';
const XLINK = 'http://www.w3.org/1999/xlink';
const MOST_ELEMENTS = 200000;
const DEEPEST_ELEMENT = 40;
const LONGEST_TITLE = 1000;
/** A link becomes a group, without its address. */
const ELEMENTS = { __proto__: null, svg: 'svg', g: 'g', a: 'g', path: 'path', polygon: 'polygon', polyline: 'polyline', ellipse: 'ellipse', text: 'text' };

const NUMBER = /^-?[\d.]+(e-?\d+)?(pt|px)?$/;
const POINTS = /^[-\d.,\seA-Z]*$/i;
const COLOUR = /^(#[0-9a-f]{3,8}|[a-z]+\d*)$/i;
const ATTRIBUTES = {
    __proto__: null,
    class: /^(graph|node|edge|cluster)$/,
    transform: /^[a-z\d\s().,-]+$/,
    viewBox: /^[-\d.\s]+$/,
    d: POINTS,
    points: POINTS,
    fill: COLOUR,
    stroke: COLOUR,
    'fill-opacity': NUMBER,
    'stroke-opacity': NUMBER,
    'stroke-width': NUMBER,
    'stroke-dasharray': /^[\d.,\s]+$/,
    'text-anchor': /^(start|middle|end)$/,
    'text-decoration': /^underline$/,
    'font-family': /^[\w\s,-]+$/,
    'font-size': NUMBER,
    'font-weight': /^(bold|\d+)$/,
    'font-style': /^italic$/,
};
for (const name of ['x', 'y', 'cx', 'cy', 'rx', 'ry']) ATTRIBUTES[name] = NUMBER;

function copyAttributes(from, to) {
    for (const { name, value } of from.attributes) if (ATTRIBUTES[name] && ATTRIBUTES[name].test(value)) to.setAttribute(name, value);
}

function titleElement(text) {
    const title = document.createElementNS(SVG, 'title');
    title.textContent = cut(visible(text), LONGEST_TITLE);
    return title;
}

/** Copies an element, or returns null. budget: {left: the number of elements that may still be copied}. */
function copyElement(from, budget, depth) {
    const name = from.namespaceURI === SVG ? ELEMENTS[from.localName] : null;
    if (!name || depth > DEEPEST_ELEMENT) return null;
    if (budget.left-- <= 0) throw new Error('the graph is too large');
    const to = document.createElementNS(SVG, name);
    copyAttributes(from, to);
    if (name === 'text') {
        to.textContent = visible(from.textContent);
        return to;
    }
    const tip = from.getAttributeNS(XLINK, 'title');
    if (tip) to.append(titleElement(tip));
    for (const child of from.children) {
        const copied = copyElement(child, budget, depth + 1);
        if (copied) to.append(copied);
    }
    return to;
}

/** The names of graphviz's nodes that stand for functions. Others are the legend and boxes of labels. */
const FUNCTION_NODE = /^N\d+$/;

/** The tip of a node is its function's name and value: "main.work (1.2s)". */
function functionOf(node) {
    const title = [...node.children].find((child) => child.localName === 'title');
    if (!title || !FUNCTION_NODE.test(title.textContent)) return '';
    const link = node.getElementsByTagNameNS(SVG, 'a')[0];
    return ((link && link.getAttributeNS(XLINK, 'title')) || '').replace(/ \([^()]*\)$/, '');
}

/**
 * Returns {svg, nodes: a Map from the elements of nodes to names of functions}. Throws an Error if the text is no drawing.
 */
export function readDrawing(text) {
    // Entities could make a small text large.
    if (text.includes('<!ENTITY')) throw new Error('the graph is not one of graphviz');
    const { documentElement } = new DOMParser().parseFromString(text, 'image/svg+xml');
    const svg = copyElement(documentElement, { left: MOST_ELEMENTS }, 0);
    if (!svg || svg.localName !== 'svg' || documentElement.getElementsByTagName('parsererror').length) throw new Error('the graph is damaged');
    const copies = svg.querySelectorAll('.node');
    const originals = [...documentElement.getElementsByTagNameNS(SVG, '*')].filter((node) => ELEMENTS[node.localName] && node.getAttribute('class') === 'node');
    // The copy has the same nodes in the same order, unless the drawing is deeper than those of graphviz.
    const nodes = new Map(copies.length === originals.length ? [...copies].map((node, i) => [node, functionOf(originals[i])]) : []);
    return { svg, nodes };
}
