// The colour of a function follows its package: grey for the runtime, blue for the standard library, brown for native
// code, and one of six hues for each module. Readers with any colour blindness can distinguish the hues (after Paul Tol's
// light scheme).

const STANDARD = new Set(
    (
        'archive bufio bytes cmp compress container context crypto database debug embed encoding errors expvar flag fmt ' +
        'go hash html image index internal io iter log maps math mime net os path plugin reflect regexp slices sort ' +
        'strconv strings structs sync syscall testing text time unicode unique unsafe vendor weak'
    ).split(' '),
);

/** Hosts on which a module's path has three parts. */
const WITH_OWNERS = new Set(['bitbucket.org', 'golang.org', 'codeberg.org', 'sr.ht']);

const SHADES = 3;
const HUES = {
    light: {
        runtime: [218, 216, 211],
        standard: [158, 194, 228],
        native: [190, 172, 160],
        modules: [
            [240, 164, 132], // orange
            [240, 220, 146], // yellow
            [250, 190, 198], // pink
            [116, 200, 172], // mint
            [202, 212, 104], // pear
            [196, 178, 222], // lilac
        ],
        ground: [255, 255, 255],
        ink: '#1c1f24',
        lit: [122, 44, 132],
        muchMore: [230, 132, 88],
        someMore: [246, 200, 176],
        muchLess: [112, 164, 214],
        someLess: [192, 214, 236],
    },
    dark: {
        runtime: [66, 70, 77],
        standard: [45, 84, 127],
        native: [92, 76, 66],
        modules: [
            [146, 74, 42],
            [120, 96, 24],
            [142, 66, 88],
            [24, 106, 84],
            [88, 98, 20],
            [96, 76, 138],
        ],
        ground: [23, 26, 31],
        ink: '#f2f1ee',
        lit: [236, 190, 250],
        muchMore: [152, 72, 34],
        someMore: [104, 66, 48],
        muchLess: [38, 98, 160],
        someLess: [42, 68, 98],
    },
};
const CLASSES = ['runtime', 'standard', 'native', 'muchMore', 'someMore', 'muchLess', 'someLess'];

/**
 * The Go package in a function's symbol, without the linker's escapes. Symbols of the runtime's assembly have no
 * package, so the source file decides.
 */
export function packageOf(name, place = '') {
    const bracket = name.indexOf('[');
    const plain = bracket > 0 ? name.slice(0, bracket) : name;
    const slash = plain.lastIndexOf('/');
    const dot = plain.indexOf('.', slash + 1);
    if (dot < 0) return /\/src\/(runtime|internal)\/.*\.s(:\d+)?$/.test(place) ? 'runtime' : '';
    const path = plain.slice(0, dot);
    return path.includes('%') ? path.replaceAll('%2e', '.') : path;
}

/** The owner of a package: "runtime", "standard", "native", or the module, as far as its path shows it. */
export function ownerOf(path) {
    if (path === '') return 'native';
    const parts = path.split('/');
    if (parts[0] === 'runtime' || path.startsWith('internal/runtime')) return 'runtime';
    if (STANDARD.has(parts[0])) return 'standard';
    if (!parts[0].includes('.')) return parts[0];
    return parts.slice(0, parts[0].includes('git') || WITH_OWNERS.has(parts[0]) ? 3 : 2).join('/');
}

function hashOf(text) {
    let h = 0x811c9dc5;
    for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
    h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
    return (h ^ (h >>> 13)) >>> 0;
}

/** The number of the colour that a package has in every theme. */
export function colourOf(path) {
    const owner = ownerOf(path);
    const known = CLASSES.indexOf(owner);
    const hue = known >= 0 ? known : CLASSES.length + (hashOf(owner) % HUES.light.modules.length);
    return hue * SHADES + (hashOf(path) % SHADES);
}

/** The colours of a difference: orange for more, blue for less, a stronger one for a larger difference, grey for none. */
export const SIDE_COLOURS = Object.fromEntries(
    ['muchMore', 'someMore', 'muchLess', 'someLess', 'runtime'].map((name) => [name, CLASSES.indexOf(name) * SHADES + 1]),
);

function shaded(rgb, shade, dark) {
    const by = (shade - 1) * (dark ? 0.1 : 0.055);
    return rgb.map((c) => Math.max(0, Math.min(255, Math.round(dark ? c * (1 + by) : c + (255 - c) * by * 4))));
}

function mixed(a, b, share) {
    return a.map((c, i) => Math.round(c * share + b[i] * (1 - share)));
}

const packed = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/**
 * The colours of a theme. As canvas pixels: plain; strong (the function under the pointer); faint (functions that a search does
 * not match); lit (those that it matches); small (frames without a function, and narrow frames); ground. As CSS colours: css (the plain ones), ink, litInk.
 */
export function paletteOf(theme) {
    const dark = theme === 'dark';
    const hues = HUES[theme];
    const bases = [...CLASSES.map((c) => hues[c]), ...hues.modules];
    const rgb = bases.flatMap((base) => [0, 1, 2].map((shade) => shaded(base, shade, dark)));
    return {
        plain: Uint32Array.from(rgb, packed),
        strong: Uint32Array.from(rgb, (c) => packed(mixed(c, dark ? [255, 255, 255] : [0, 0, 0], 0.82))),
        faint: Uint32Array.from(rgb, (c) => packed(mixed(c, hues.ground, dark ? 0.35 : 0.3))),
        ground: packed(hues.ground),
        lit: packed(hues.lit),
        small: packed(mixed(hues.runtime, hues.ground, 0.55)),
        litInk: dark ? '#1c1f24' : '#ffffff',
        ink: hues.ink,
        css: rgb.map(([r, g, b]) => `rgb(${r} ${g} ${b})`),
    };
}
