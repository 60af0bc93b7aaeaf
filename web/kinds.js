// Titles and explanations of the sample types of Go's profiles. Types and kinds come from hosts, so the tables have no
// prototype: a type such as "constructor" must not find a member of Object.prototype.

const TYPES = {
    __proto__: null,
    'cpu/cpu': ['CPU time', 'where the processors were busy'],
    'cpu/samples': ['CPU samples', 'how often a stack was seen running, 100 times a second'],
    'heap/inuse_space': ['Memory in use', 'allocated here and still in use'],
    'heap/inuse_objects': ['Objects in use', 'objects that were allocated here and are still in use'],
    'heap/alloc_space': ['Memory allocated', 'all bytes that were allocated here since the start, freed or not'],
    'heap/alloc_objects': ['Objects allocated', 'all objects that were allocated here since the start, freed or not'],
    'mutex/delay': ['Time others waited', 'for a lock, counted where the lock was released'],
    'mutex/contentions': ['Contended locks', 'how often a goroutine waited, counted where the lock was released'],
    'block/delay': ['Time blocked', 'on channels, locks and the like, counted where the goroutine waited'],
    'block/contentions': ['Times blocked', 'on channels, locks and the like, counted where the goroutine waited'],
    'goroutine/goroutine': ['Goroutines', 'by their current stacks'],
    'contention/delay': ['Time waited', 'for locks, channels and the like'],
    'contention/contentions': ['Times waited', 'for locks, channels and the like'],
    'threadcreate/threadcreate': ['Threads created', 'the stacks that needed a new system thread'],
};
const FAMILIES = { __proto__: null, allocs: 'heap', goroutines: 'goroutine', profile: 'cpu' };

/** The same texts for the growth between two snapshots. */
const GROWTH = {
    __proto__: null,
    inuse_space: ['Growth of memory in use', 'where more memory is in use than before, or less'],
    inuse_objects: ['Growth of objects in use', 'where more objects are in use than before, or fewer'],
    alloc_space: ['Memory allocated in between', 'freed or not'],
    alloc_objects: ['Objects allocated in between', 'freed or not'],
    goroutine: ['Growth of goroutines', 'where there are more goroutines than before, or fewer'],
};

/** Returns [title, explanation] of a sample type; the first argument is the profile's entry of the bundle's data. */
export function titleOf({ kind, from }, type) {
    if (from === 'growth' && GROWTH[type]) return GROWTH[type];
    const family = FAMILIES[kind] || kind;
    const known = TYPES[`${family}/${type}`];
    if (known) return known;
    // Usually the type determines the text. Only delay and contentions also need the kind, mutex or block.
    const key = Object.keys(TYPES).find(
        (candidate) => candidate.endsWith(`/${type}`) && !/contentions|delay/.test(candidate),
    );
    return key ? TYPES[key] : [type.replaceAll('_', ' '), ''];
}

const QUESTIONS = {
    __proto__: null,
    allocs: 'Where was memory allocated?',
    block: 'Where were goroutines blocked?',
    contention: 'Where did goroutines wait for others?',
    cpu: 'What was the CPU doing?',
    goroutine: 'What was everyone waiting for?',
    heap: 'What held memory?',
    mutex: 'Which locks made others wait?',
    threadcreate: 'Where did threads come from?',
};

const DIFFERS = {
    __proto__: null,
    allocs: 'Where memory is allocated',
    block: 'Where goroutines are blocked',
    cpu: 'What the CPU does',
    goroutines: 'Where goroutines are',
    heap: 'What holds memory',
    mutex: 'Which locks make others wait',
};
const GROWING = new Set(['heap', 'goroutines']);

/** The question that a profile answers, by its kind and origin, or null. */
export function questionOf({ kind, from }) {
    if (from === 'sides') return `What differs? ${DIFFERS[kind] || ''}`.trim();
    if (from === 'growth') return GROWING.has(kind) ? 'What has grown?' : 'What happened in between?';
    return QUESTIONS[kind] || QUESTIONS[FAMILIES[kind]] || null;
}

/** Entries in reading order: comparisons of two sides, growth, then the others in the order of the capture. */
export function comparedFirst(data) {
    const of = (...froms) => data.filter(({ from }) => froms.includes(from));
    return [...of('sides'), ...of('growth'), ...of(undefined)];
}
