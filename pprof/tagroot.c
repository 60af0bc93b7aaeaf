/*
 * Frames made of labels: tagroot and tagleaf.
 *
 * Source: google/pprof internal/driver/tagroot.go.
 */
#include <stdlib.h>
#include <string.h>

#include "pprof/filter.h"
#include "pprof/report.h"
#include "base/banned.h"

/* The most bytes of all values of a label together. */
#define MAX_NAME ((size_t)64 << 20)

/* A label's key, and the frames made of the label: a location for each text of its values. */
struct key {
    uint32_t string;     /* the key */
    uint32_t *locations; /* by string of a text: index of the location + 1; 0: none yet */
    size_t cap_locations;
    bool matched;
};

struct frame_maker {
    struct report *report;
    struct key *roots, *leaves; /* the first key is the outermost frame */
    size_t n_roots, n_leaves;
    uint64_t next_location, next_function; /* the next free IDs */
    struct buf name;
    uint32_t *stack;
    size_t cap_stack;
};

/* Splits a list of keys at commas. Skips empty keys. */
static int split_keys(struct profile *p, const char *list, struct key **ret, size_t *ret_n, struct err *err)
{
    size_t cap = 0;
    for (const char *at = list ? list : ""; *at;) {
        size_t n = strcspn(at, ",");
        if (n) {
            if (array_reserve((void **)ret, &cap, *ret_n + 1, sizeof **ret, err) < 0)
                return -1;
            struct key *key = &(*ret)[*ret_n];
            *key = (struct key){0};
            if (profile_intern(p, at, n, &key->string, err) < 0)
                return -1;
            ++*ret_n;
        }
        at += n + (at[n] == ',');
    }
    return 0;
}

static void add_value(struct buf *to, struct str value, bool *any)
{
    if (*any)
        buf_addc(to, ',');
    *any = true;
    buf_add(to, value.p, value.n);
}

/* Adds all values of the label: texts, then numbers, with units if any number has one. Returns false if there
 * are no values. */
static bool add_values(struct frame_maker *m, const struct profile_sample *s, uint32_t key)
{
    const struct profile *p = m->report->profile;
    const struct profile_label *labels = p->labels + s->label_at;
    bool any = false, units = false;
    for (uint32_t i = 0; i < s->n_labels; i++) {
        if (labels[i].key == key && !labels[i].is_number)
            add_value(&m->name, profile_str(p, labels[i].str), &any);
        units = units || (labels[i].key == key && labels[i].is_number && labels[i].unit);
    }
    for (uint32_t i = 0; i < s->n_labels; i++) {
        char text[MEASURE_TEXT];
        if (labels[i].key != key || !labels[i].is_number)
            continue;
        measure_label(text, labels[i].num, units ? profile_str(p, labels[i].unit) : STR(""),
                      units ? str_of(m->report->settings->unit) : STR(""));
        add_value(&m->name, str_of(text), &any);
    }
    return any;
}

static int add_location(struct frame_maker *m, uint32_t name, uint32_t file)
{
    struct profile *p = m->report->profile;
    struct profile_function function = {.id = m->next_function++, .name = name, .filename = file};
    struct profile_line line = {.function = (uint32_t)p->n_functions};
    struct profile_location location = {.id = m->next_location++, .mapping = PROFILE_NONE, .n_lines = 1};
    return profile_add_function(p, &function, m->report->err) < 0
               ? -1
               : profile_add_location(p, &location, &line, m->report->err);
}

/* Finds or makes the frame for a sample's values of a key. */
static int frame_of(struct frame_maker *m, const struct profile_sample *s, struct key *key, uint32_t *ret)
{
    struct profile *p = m->report->profile;
    uint32_t name;
    buf_clear(&m->name);
    key->matched = add_values(m, s, key->string) || key->matched;
    if (buf_check(&m->name, "a label's values", m->report->err) < 0 ||
        profile_intern(p, buf_str(&m->name), m->name.len, &name, m->report->err) < 0)
        return -1;
    if (name >= key->cap_locations) {
        size_t had = key->cap_locations;
        if (array_reserve((void **)&key->locations, &key->cap_locations, (size_t)name + 1,
                          sizeof *key->locations, m->report->err) < 0)
            return -1;
        memset(key->locations + had, 0, (key->cap_locations - had) * sizeof *key->locations);
    }
    if (!key->locations[name]) {
        if (add_location(m, name, key->string) < 0)
            return -1;
        key->locations[name] = (uint32_t)p->n_locations;
    }
    *ret = key->locations[name] - 1;
    return 0;
}

/* Puts the frames of the leaves below a sample's stack, and those of the roots above it. A stack starts at
 * the innermost frame, so the last key comes first. */
static int add_frames(struct frame_maker *m, size_t sample)
{
    struct profile *p = m->report->profile;
    struct profile_sample s = p->samples[sample];
    size_t depth = m->n_leaves + s.depth + m->n_roots;
    if (array_reserve((void **)&m->stack, &m->cap_stack, depth, sizeof *m->stack, m->report->err) < 0)
        return -1;
    /* Upstream makes the roots first, so that they get the lower IDs. */
    for (size_t i = 0; i < m->n_roots; i++)
        if (frame_of(m, &s, &m->roots[m->n_roots - 1 - i], &m->stack[m->n_leaves + s.depth + i]) < 0)
            return -1;
    for (size_t i = 0; i < m->n_leaves; i++)
        if (frame_of(m, &s, &m->leaves[m->n_leaves - 1 - i], &m->stack[i]) < 0)
            return -1;
    for (size_t i = 0; i < s.depth; i++)
        m->stack[m->n_leaves + i] = profile_frame(p, &s, i);
    return profile_set_stack(p, sample, m->stack, depth, m->report->err);
}

static int add_all_frames(struct frame_maker *m)
{
    const struct profile *p = m->report->profile;
    for (size_t i = 0; i < p->n_locations; i++)
        m->next_location = p->locations[i].id > m->next_location ? p->locations[i].id : m->next_location;
    for (size_t i = 0; i < p->n_functions; i++)
        m->next_function = p->functions[i].id > m->next_function ? p->functions[i].id : m->next_function;
    m->next_location++;
    m->next_function++;
    for (size_t i = 0; i < p->n_samples; i++)
        if (add_frames(m, i) < 0)
            return -1;
    return 0;
}

static void warn_missing(const struct report *report, const char *list, const struct key *keys, size_t n,
                         const char *name)
{
    bool matched = !list || !*list;
    for (size_t i = 0; i < n; i++)
        matched = matched || keys[i].matched;
    if (!matched)
        report_message(report, "%s expression matched no samples", name);
}

static void release_keys(struct key *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(keys[i].locations);
    free(keys);
}

int tagroots_add(struct report *report)
{
    struct frame_maker m = {.report = report, .name = BUF_INIT(MAX_NAME)};
    const struct report_settings *s = report->settings;
    int rc = 0;
    if (split_keys(report->profile, s->tagroot, &m.roots, &m.n_roots, report->err) < 0 ||
        split_keys(report->profile, s->tagleaf, &m.leaves, &m.n_leaves, report->err) < 0)
        rc = -1;
    if (rc == 0 && m.n_roots + m.n_leaves)
        rc = add_all_frames(&m);
    if (rc == 0) {
        warn_missing(report, s->tagroot, m.roots, m.n_roots, "TagRoot");
        warn_missing(report, s->tagleaf, m.leaves, m.n_leaves, "TagLeaf");
    }
    release_keys(m.roots, m.n_roots);
    release_keys(m.leaves, m.n_leaves);
    buf_release(&m.name);
    free(m.stack);
    return rc;
}
