// Values in their units, as `go tool pprof` writes them.

import { cut, visible } from './text.js';

/** The maximum length shown of an unknown unit. */
const LONGEST_UNIT = 20;

const SCALES = [
    {
        other: ['B', 1],
        units: [
            ['B', 1, 'b', 'byte'],
            ['kB', 1024, 'kb', 'kbyte', 'kilobyte'],
            ['MB', 1024 ** 2, 'mb', 'mbyte', 'megabyte'],
            ['GB', 1024 ** 3, 'gb', 'gbyte', 'gigabyte'],
            ['TB', 1024 ** 4, 'tb', 'tbyte', 'terabyte'],
            ['PB', 1024 ** 5, 'pb', 'pbyte', 'petabyte'],
        ],
    },
    {
        other: ['s', 1e9],
        units: [
            ['ns', 1, 'ns', 'nanosecond'],
            ['µs', 1e3, 'μs', 'us', 'microsecond'],
            ['ms', 1e6, 'ms', 'millisecond'],
            ['s', 1e9, 's', 'sec', 'second'],
            ['hrs', 3600e9, 'hour', 'hr'],
        ],
    },
];

function scaleOf(unit) {
    const lower = unit.toLowerCase();
    const alias = lower.length > 2 && lower.endsWith('s') ? lower.slice(0, -1) : lower;
    for (const scale of SCALES) {
        const found = scale.units.find((u) => u.includes(alias, 2));
        if (found) return { scale, factor: found[1] };
    }
    return null;
}

function grouped(value) {
    const text = value.toFixed(2).replace(/\.00$/, '');
    return text.replace(/^(-?\d+)/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','));
}

/** 1500000000 nanoseconds: "1.50s". A count has no unit and a comma between thousands. */
export function formatValue(value, unit) {
    if (unit === 'share') return percentage(value, 1);
    if (unit.endsWith('/s')) return `${formatValue(value, unit.slice(0, -2))}/s`;
    const known = scaleOf(unit);
    if (!known) {
        const hasNoName = ['', 'count', 'sample', 'samples', 'unit', 'minimum', 'auto'].includes(unit.toLowerCase());
        return hasNoName ? grouped(value) : `${grouped(value)} ${cut(visible(unit), LONGEST_UNIT)}`;
    }
    const base = value * known.factor;
    let [name, factor] = known.scale.other;
    for (const [unitName, unitFactor] of known.scale.units)
        if (Math.abs(base) >= unitFactor) [name, factor] = [unitName, unitFactor];
    const text = grouped(base / factor);
    return text === '0' || text === '-0' ? '0' : text + name;
}

/** The share of a whole: "12.34%". Shares below 1% have two significant digits. */
export function percentage(value, whole) {
    const ratio = whole ? Math.abs(value / whole) * 100 : 0;
    const sign = whole && value / whole < 0 ? '-' : '';
    if (ratio >= 99.95 && ratio <= 100.05) return sign + '100%';
    if (ratio >= 1) return `${sign}${ratio.toFixed(2)}%`;
    return ratio === 0 ? '0%' : `${sign}${Number(ratio.toPrecision(2))}%`;
}

/** A duration: 30 s, 1 min 5 s, 2 h 3 min. */
export function formatDuration(ms) {
    if (ms < 1000) return `${Math.round(ms)} ms`;
    if (ms < 59950) return `${Math.round(ms / 100) / 10} s`;
    const seconds = Math.round(ms / 1000);
    const minutes = Math.floor(seconds / 60);
    if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
    return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
