/*
 * Reads the memory map after the samples of a text form: lines as in /proc/PID/maps, or shorter ones. Also
 * sets drop_frames and keep_frames according to the kind of profile.
 */
#include <stdlib.h>

#include "proto/profile_text.h"
#include "base/banned.h"

/* A line "name=value" defines $name for later lines. The limits apply to the number of names and the total
 * size of the expanded text. */
enum { MAX_ATTRIBUTES = 64, MAX_EXPANDED = 16 << 20 };

/* The usual load address of a program that is not position-independent. */
#define USUAL_START 0x400000

struct attribute {
    struct str name, value;
};

struct maps {
    struct text_reader *r;
    struct attribute attributes[MAX_ATTRIBUTES];
    size_t n_attributes;
    size_t expanded; /* bytes of all expanded lines */
    struct buf line; /* the line with its attributes expanded */
};

/* ---- lines ---- */

static const struct attribute *find_attribute(const struct maps *m, struct str s)
{
    for (size_t i = 0; i < m->n_attributes; i++) {
        struct str name = m->attributes[i].name;
        if (s.n > name.n && memcmp(s.p + 1, name.p, name.n) == 0)
            return &m->attributes[i];
    }
    return NULL;
}

/* Replaces each $name by its value. */
static struct str expand_attributes(struct maps *m, struct str s)
{
    if (m->n_attributes == 0 || !memchr(s.p, '$', s.n) || m->expanded > MAX_EXPANDED)
        return s;
    buf_clear(&m->line);
    for (size_t i = 0; i < s.n; i++) {
        struct str rest = {s.p + i, s.n - i};
        const struct attribute *a = s.p[i] == '$' ? find_attribute(m, rest) : NULL;
        if (a)
            buf_add(&m->line, a->value.p, a->value.n);
        else
            buf_addc(&m->line, s.p[i]);
        i += a ? a->name.n : 0;
    }
    m->expanded += m->line.len;
    return (struct str){buf_str(&m->line), m->line.len};
}

/* Copies text into the profile's strings, because the line is temporary. */
static int keep_string(struct maps *m, struct str s, struct str *ret)
{
    uint32_t index = 0;
    s = str_trim(s);
    if (profile_intern(m->r->p, s.p, s.n, &index, m->r->err) < 0)
        return -1;
    *ret = profile_str(m->r->p, index);
    return 0;
}

static int add_attribute(struct maps *m, struct str line)
{
    const char *equals = memchr(line.p, '=', line.n);
    if (!equals || m->n_attributes == MAX_ATTRIBUTES)
        return 0;
    struct attribute *a = &m->attributes[m->n_attributes];
    size_t n = (size_t)(equals - line.p);
    if (keep_string(m, (struct str){line.p, n}, &a->name) < 0 ||
        keep_string(m, (struct str){equals + 1, line.n - n - 1}, &a->value) < 0)
        return -1;
    m->n_attributes++;
    return 0;
}

/* Parses a line of the map. *ret_other becomes true if the line is not part of the map. */
static int add_mapping(struct maps *m, struct str line, bool *ret_other)
{
    struct text_reader *r = m->r;
    struct str *g = r->groups, permissions, file, offset, build_id = STR("");
    struct profile_mapping to = {0};
    if (text_match(r, PATTERN_PROC_MAPS, line)) {
        permissions = g[3];
        offset = g[4];
        file = g[5];
    } else if (text_match(r, PATTERN_BRIEF_MAPS, line)) {
        permissions = g[3];
        file = g[4];
        offset = g[5];
        build_id = g[6];
    } else {
        *ret_other = true;
        return r->err->kind == ERR_NONE ? 0 : -1;
    }
    if (permissions.n && !memchr(permissions.p, 'x', permissions.n))
        return 0;
    *ret_other = !text_uint(g[1], 16, &to.start) || !text_uint(g[2], 16, &to.limit) ||
                 (offset.n && !text_uint(offset, 16, &to.offset));
    if (*ret_other)
        return 0;
    return profile_intern(r->p, file.p, file.n, &to.file, r->err) < 0 ||
                   profile_intern(r->p, build_id.p, build_id.n, &to.build_id, r->err) < 0
               ? -1
               : profile_add_mapping(r->p, &to, r->err);
}

static int read_line(struct maps *m)
{
    struct str line = m->r->lines.text;
    bool other = false;
    if (text_match(m->r, PATTERN_LOG_INFO, line)) {
        size_t n = m->r->groups[0].n;
        line = (struct str){line.p + n, line.n - n};
    }
    line = expand_attributes(m, line);
    if (buf_check(&m->line, "a line of the memory map", m->r->err) < 0 || add_mapping(m, line, &other) < 0)
        return -1;
    return other ? add_attribute(m, line) : 0;
}

/* ---- mappings ---- */

static bool are_different(uint32_t a, uint32_t b)
{
    return a && b && a != b;
}

/* Returns whether a and b are two parts of one split mapping: b begins where a ends, in the same file. */
static bool is_continued(const struct profile_mapping *a, const struct profile_mapping *b)
{
    return !are_different(a->file, b->file) && !are_different(a->build_id, b->build_id) &&
           a->limit == b->start &&
           (!a->offset || !b->offset || a->offset + (a->limit - a->start) == b->offset);
}

static void join_adjacent_mappings(struct profile *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->n_mappings; i++) {
        const struct profile_mapping *m = &p->mappings[i];
        struct profile_mapping *last = kept ? &p->mappings[kept - 1] : NULL;
        if (!last || !is_continued(last, m)) {
            p->mappings[kept++] = *m;
            continue;
        }
        last->limit = m->limit;
        last->file = m->file ? m->file : last->file;
        last->build_id = m->build_id ? m->build_id : last->build_id;
    }
    p->n_mappings = kept;
}

/* Checks whether the file name looks like a program and not like a library. */
static bool is_program(struct text_reader *r, const struct profile_mapping *m)
{
    static const char deleted[] = "(deleted)";
    struct str s = profile_str(r->p, m->file), file;
    struct buf name = BUF_INIT(SIZE_MAX / 2);
    for (size_t i = 0; i < s.n;) {
        bool gone = s.n - i >= strlen(deleted) && memcmp(s.p + i, deleted, strlen(deleted)) == 0;
        if (!gone)
            buf_addc(&name, s.p[i]);
        i += gone ? strlen(deleted) : 1;
    }
    file = str_trim((struct str){buf_str(&name), name.len});
    bool looks_like_program = file.n && !text_match(r, PATTERN_LIBRARY, file) && file.p[0] != '[';
    if (buf_check(&name, "a file name", r->err) < 0)
        looks_like_program = false;
    buf_release(&name);
    return looks_like_program;
}

static void move_program_first(struct text_reader *r)
{
    struct profile *p = r->p;
    for (size_t i = 0; i < p->n_mappings; i++)
        if (is_program(r, &p->mappings[i])) {
            struct profile_mapping first = p->mappings[0];
            p->mappings[0] = p->mappings[i];
            p->mappings[i] = first;
            return;
        }
}

/* Corrects two known faults of the first mapping: a separate huge page, and a wrong start. */
static void correct_first_mapping(struct profile *p)
{
    if (p->n_mappings > 1 && str_begins(profile_str(p, p->mappings[0].file), "/anon_hugepage") &&
        p->mappings[0].limit == p->mappings[1].start)
        memmove(p->mappings, p->mappings + 1, --p->n_mappings * sizeof *p->mappings);
    if (p->n_mappings && p->mappings[0].start - p->mappings[0].offset == USUAL_START) {
        p->mappings[0].start = USUAL_START;
        p->mappings[0].offset = 0;
    }
}

int text_read_maps(struct text_reader *r)
{
    struct maps m = {.r = r, .line = BUF_INIT(65536)};
    int rc = 0;
    while (!text_is_maps_heading(r->lines.text) && lines_next(&r->lines))
        continue;
    while (rc == 0 && lines_next(&r->lines))
        rc = read_line(&m);
    buf_release(&m.line);
    if (rc < 0 || lines_check(&r->lines, r->err) < 0)
        return -1;
    join_adjacent_mappings(r->p);
    move_program_first(r);
    correct_first_mapping(r->p);
    rc = text_assign_mappings(r->p, r->err);
    for (size_t i = 0; i < r->p->n_mappings; i++)
        r->p->mappings[i].id = i + 1;
    return rc;
}

/* ---- dropped frames ---- */

/* Functions of allocators. */
static const char allocators[] =
    "calloc|cfree|malloc|free|memalign|do_memalign|(__)?posix_memalign|pvalloc|valloc|realloc|"
    "tcmalloc::.*|tc_calloc|tc_cfree|tc_malloc|tc_free|tc_memalign|tc_posix_memalign|tc_pvalloc|"
    "tc_valloc|tc_realloc|tc_new|tc_delete|tc_newarray|tc_deletearray|tc_new_nothrow|"
    "tc_newarray_nothrow|malloc_zone_malloc|malloc_zone_calloc|malloc_zone_valloc|malloc_zone_realloc|"
    "malloc_zone_memalign|malloc_zone_free|runtime\\..*|BaseArena::.*|(::)?do_malloc_no_errno|"
    "(::)?do_malloc_pages|(::)?do_malloc|DoSampledAllocation|MallocedMemBlock::MallocedMemBlock|"
    "_M_allocate|__builtin_(vec_)?delete|__builtin_(vec_)?new|__gnu_cxx::new_allocator::allocate|"
    "__libc_malloc|__malloc_alloc_template::allocate|allocate|cpp_alloc|operator new(\\[\\])?|"
    "simple_alloc::allocate";

/* Functions of Go's runtime that stay although `allocators` matches them. */
static const char allocators_kept[] = "runtime\\.panic|runtime\\.reflectcall|runtime\\.call[0-9]*";

/* Functions of the profiler itself. */
static const char profilers[] =
    "ProfileData::Add|ProfileData::prof_handler|CpuProfiler::prof_handler|__pthread_sighandler|"
    "__restore";

/* Functions of locks. */
static const char locks[] =
    "RecordLockProfileData|(base::)?RecordLockProfileData.*|(base::)?SubmitMutexProfileData.*|"
    "(base::)?SubmitSpinLockProfileData.*|(base::Mutex::)?AwaitCommon.*|(base::Mutex::)?Unlock.*|"
    "(base::Mutex::)?UnlockSlow.*|(base::Mutex::)?ReaderUnlock.*|(base::MutexLock::)?~MutexLock.*|"
    "(Mutex::)?AwaitCommon.*|(Mutex::)?Unlock.*|(Mutex::)?UnlockSlow.*|(Mutex::)?ReaderUnlock.*|"
    "(MutexLock::)?~MutexLock.*|(SpinLock::)?Unlock.*|(SpinLock::)?SlowUnlock.*|"
    "(SpinLockHolder::)?~SpinLockHolder.*";

/* Checks whether the sample types have these names, which are separated by blanks. */
static bool has_types(const struct profile *p, const char *names)
{
    for (size_t i = 0; i < p->n_sample_types; i++) {
        size_t n = strcspn(names, " ");
        if (n == 0 || !str_equal(profile_str(p, p->sample_types[i].type), (struct str){names, n}))
            return false;
        names += n + (names[n] == ' ');
    }
    return !*names;
}

static bool is_heap(const struct profile *p)
{
    return has_types(p, "allocations size") || has_types(p, "objects space") ||
           has_types(p, "inuse_objects inuse_space") || has_types(p, "alloc_objects alloc_space") ||
           has_types(p, "alloc_objects alloc_space inuse_objects inuse_space");
}

int text_set_dropped_frames(struct profile *p, struct err *err)
{
    struct str drop = STR(profilers), keep = STR("");
    if (is_heap(p)) {
        drop = STR(allocators);
        keep = STR(allocators_kept);
    } else if (has_types(p, "contentions delay")) {
        drop = STR(locks);
    }
    return profile_intern(p, drop.p, drop.n, &p->drop_frames, err) < 0
               ? -1
               : profile_intern(p, keep.p, keep.n, &p->keep_frames, err);
}
