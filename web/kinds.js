// What the sample types of Go's profiles are about, in a reader's words. Types and kinds are strangers' words: the tables
// have nothing but what stands in them.

const TYPES = {
    __proto__: null,
    'cpu/cpu': ['CPU time', 'where the processors were busy'],
    'cpu/samples': ['CPU samples', 'how often a stack was seen running, 100 times a second'],
    'heap/inuse_space': ['Memory in use', 'what was allocated here and is still held'],
    'heap/inuse_objects': ['Objects in use', 'how many objects from here are still held'],
    'heap/alloc_space': ['Memory allocated', 'all that was allocated here since the start, freed or not'],
    'heap/alloc_objects': ['Objects allocated', 'how many objects were made here since the start, freed or not'],
    'mutex/delay': ['Time others waited', 'for a lock, counted where it was let go'],
    'mutex/contentions': ['Contended locks', 'how often somebody waited, counted where the lock was let go'],
    'block/delay': ['Time blocked', 'on channels, locks and the like, where the wait was'],
    'block/contentions': ['Times blocked', 'on channels, locks and the like, where the wait was'],
    'goroutine/goroutine': ['Goroutines', 'where they stand'],
    'contention/delay': ['Time waited', 'for locks, channels and the like'],
    'contention/contentions': ['Times waited', 'for locks, channels and the like'],
    'threadcreate/threadcreate': ['Threads made', 'where a new thread of the system was needed'],
};
const FAMILIES = { __proto__: null, allocs: 'heap', goroutines: 'goroutine', profile: 'cpu' };

/** The same of what happened between two snapshots. */
const GROWTH = {
    __proto__: null,
    inuse_space: ['Growth of memory in use', 'what is held more than before, or less'],
    inuse_objects: ['Growth of objects in use', 'how many are held more than before, or fewer'],
    alloc_space: ['Memory allocated in between', 'freed or not'],
    alloc_objects: ['Objects allocated in between', 'freed or not'],
    goroutine: ['Growth of goroutines', 'where more stand than before, or fewer'],
};

/** [title, explanation] of a sample type of a profile, which is an entry of the bundle's data. */
export function titleOf({ kind, form, from }, type) {
    if (from === 'growth' && GROWTH[type]) return GROWTH[type];
    const family = form === 'goroutines' ? 'goroutine' : FAMILIES[kind] || kind;
    const known = TYPES[`${family}/${type}`];
    if (known) return known;
    // What is known by its type alone; delay and contentions are both mutexes' and blocks'.
    const key = Object.keys(TYPES).find(
        (candidate) => candidate.endsWith(`/${type}`) && !/contentions|delay/.test(candidate),
    );
    return key ? TYPES[key] : [type.replaceAll('_', ' '), ''];
}

const QUESTIONS = {
    __proto__: null,
    allocs: 'Where was memory allocated?',
    block: 'Where were goroutines blocked?',
    contention: 'Where was there waiting for others?',
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
    goroutines: 'Where goroutines stand',
    heap: 'What holds memory',
    mutex: 'Which locks make others wait',
};
const GROWING = new Set(['heap', 'goroutines']);

/** The question that an entry answers, or null. */
export function questionOf({ kind, form, from }) {
    if (from === 'sides') return `What differs? ${DIFFERS[kind] || ''}`.trim();
    if (from === 'growth') return GROWING.has(kind) ? 'What has grown?' : 'What happened in between?';
    return QUESTIONS[form === 'goroutines' ? 'goroutine' : kind] || QUESTIONS[FAMILIES[kind]] || null;
}

/** Entries in the order in which a reader wants them: what differs, what has grown, the rest as it was collected. */
export function comparedFirst(data) {
    const of = (...froms) => data.filter(({ from }) => froms.includes(from));
    return [...of('sides'), ...of('growth'), ...of(undefined)];
}
