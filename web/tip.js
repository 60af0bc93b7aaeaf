// The small box beside the pointer.

import { element } from './text.js';

const box = element('div', { class: 'tip', 'aria-hidden': 'true', hidden: true });

/** Shows nodes beside a point of the window, inside the window. */
export function showTip(x, y, ...nodes) {
    box.replaceChildren(...nodes);
    if (!box.isConnected) document.body.append(box);
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    const left = x + 14 + width > innerWidth ? Math.max(4, x - width - 10) : x + 14;
    const top = y + 18 + height > innerHeight ? Math.max(4, y - height - 10) : y + 18;
    box.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

export function hideTip() {
    box.hidden = true;
}
