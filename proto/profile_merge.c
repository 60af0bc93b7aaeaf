/*
 * Merges many profiles into one. Each part that a sample refers to is looked up in the new profile, and added
 * if it is new. Therefore the order of samples determines the order of locations, functions and mappings, and
 * unreferenced parts are dropped.
 *
 * For each part of a source, the merger caches the index of that part in the new profile.
 *
 * Samples are processed in batches: the merger converts all samples of a batch and prefetches their hash
 * slots, then looks them up.
 *
 * Source: google/pprof profile/merge.go.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/label_order.h"
#include "proto/profile_store.h"
#include "base/banned.h"

/* Sizes of mappings are compared in pages. */
#define PAGE 0x1000u

/* Samples in a batch. */
enum { BATCH = 32 };

/* A sample of the source, converted to the new profile's indices. */
struct pending {
    uint64_t hash;
    size_t index;              /* in the source */
    size_t stack_at, label_at; /* in the merger's columns */
};

struct merger {
    struct profile *to;
    const struct profile *from;
    struct err *err;
    bool begun; /* the types of the first source are set */
    struct hash_index samples, locations, functions, mappings;

    /* New indices of the source's parts; PROFILE_NONE: not converted yet. */
    uint32_t *string_of, *location_of, *function_of, *mapping_of;

    /* The converted samples of the batch, and the lines of a location. */
    struct pending pending[BATCH];
    size_t n_pending;
    uint32_t *stack;
    size_t n_stack, cap_stack;
    struct profile_label *labels;
    size_t n_labels, cap_labels;
    struct profile_line *lines;
    size_t cap_lines;
    struct label_order order;
};

/* An entry to look up in the new profile. */
struct wanted {
    const struct profile *p;
    const void *part;
    const struct profile_line *lines;
    const uint32_t *stack;
    const struct profile_label *labels;
};

static int merge_string(struct merger *m, uint32_t string, uint32_t *ret)
{
    if (m->string_of[string] == PROFILE_NONE) {
        struct str s = profile_str(m->from, string);
        if (profile_intern(m->to, s.p, s.n, &m->string_of[string], m->err) < 0)
            return -1;
    }
    *ret = m->string_of[string];
    return 0;
}

/* ---- mappings ---- */

static uint64_t size_in_pages(const struct profile_mapping *m)
{
    uint64_t size = m->limit - m->start + PAGE - 1;
    return size - size % PAGE;
}

/* Returns the identity of the binary: the build ID, else the file. */
static uint32_t binary_id(const struct profile_mapping *m)
{
    return m->build_id ? m->build_id : m->file;
}

static bool is_same_mapping(const void *ctx, uint32_t index)
{
    const struct wanted *w = ctx;
    const struct profile_mapping *a = w->part, *b = &w->p->mappings[index];
    return size_in_pages(a) == size_in_pages(b) && a->offset == b->offset && binary_id(a) == binary_id(b);
}

static int merge_mapping(struct merger *m, uint32_t index, uint32_t *ret)
{
    *ret = m->mapping_of[index];
    if (*ret != PROFILE_NONE)
        return 0;
    struct profile_mapping to = m->from->mappings[index];
    if (merge_string(m, to.file, &to.file) < 0 || merge_string(m, to.build_id, &to.build_id) < 0)
        return -1;
    uint64_t hash = hash_index_mix(hash_index_seed(&m->mappings), size_in_pages(&to));
    hash = hash_index_mix(hash_index_mix(hash, to.offset), binary_id(&to));
    *ret = hash_index_find(&m->mappings, hash, is_same_mapping, &(struct wanted){.p = m->to, .part = &to});
    if (*ret == HASH_INDEX_NONE) {
        *ret = (uint32_t)m->to->n_mappings;
        to.id = (uint64_t)*ret + 1;
        if (hash_index_add(&m->mappings, hash, m->err) < 0 || profile_add_mapping(m->to, &to, m->err) < 0)
            return -1;
    }
    m->mapping_of[index] = *ret;
    return 0;
}

/* ---- functions ---- */

static bool is_same_function(const void *ctx, uint32_t index)
{
    const struct wanted *w = ctx;
    const struct profile_function *a = w->part, *b = &w->p->functions[index];
    return a->start_line == b->start_line && a->name == b->name && a->system_name == b->system_name &&
           a->filename == b->filename;
}

static int merge_function(struct merger *m, uint32_t index, uint32_t *ret)
{
    *ret = index == PROFILE_NONE ? PROFILE_NONE : m->function_of[index];
    if (index == PROFILE_NONE || *ret != PROFILE_NONE)
        return 0;
    struct profile_function to = m->from->functions[index];
    if (merge_string(m, to.name, &to.name) < 0 || merge_string(m, to.system_name, &to.system_name) < 0 ||
        merge_string(m, to.filename, &to.filename) < 0)
        return -1;
    uint64_t hash = hash_index_mix(hash_index_seed(&m->functions), (uint64_t)to.start_line);
    hash = hash_index_mix(hash_index_mix(hash_index_mix(hash, to.name), to.system_name), to.filename);
    *ret = hash_index_find(&m->functions, hash, is_same_function, &(struct wanted){.p = m->to, .part = &to});
    if (*ret == HASH_INDEX_NONE) {
        *ret = (uint32_t)m->to->n_functions;
        to.id = (uint64_t)*ret + 1;
        if (hash_index_add(&m->functions, hash, m->err) < 0 || profile_add_function(m->to, &to, m->err) < 0)
            return -1;
    }
    m->function_of[index] = *ret;
    return 0;
}

/* ---- locations ---- */

/* Returns the address relative to its mapping, which does not depend on the load address. */
static uint64_t relative_address(const struct profile *p, const struct profile_location *l)
{
    return l->mapping == PROFILE_NONE ? l->address : l->address - p->mappings[l->mapping].start;
}

/* Compares only the column of a location's last line, because google/pprof overwrites the others. */
static bool is_same_location(const void *ctx, uint32_t index)
{
    const struct wanted *w = ctx;
    const struct profile_location *a = w->part, *b = &w->p->locations[index];
    if (a->mapping != b->mapping || relative_address(w->p, a) != relative_address(w->p, b) ||
        a->folded != b->folded || a->n_lines != b->n_lines)
        return false;
    const struct profile_line *x = w->lines, *y = w->p->lines + b->line_at;
    for (size_t i = 0; i < a->n_lines; i++)
        if (x[i].function != y[i].function || x[i].line != y[i].line)
            return false;
    return a->n_lines == 0 || x[a->n_lines - 1].column == y[a->n_lines - 1].column;
}

static uint64_t hash_location(struct merger *m, const struct profile_location *l)
{
    const struct profile_line *lines = m->lines;
    uint64_t hash = hash_index_mix(hash_index_seed(&m->locations), relative_address(m->to, l));
    hash = hash_index_mix(hash_index_mix(hash, l->mapping), l->n_lines);
    for (size_t i = 0; i < l->n_lines; i++)
        hash = hash_index_mix(hash_index_mix(hash, lines[i].function), (uint64_t)lines[i].line);
    return hash;
}

/* Converts the mapping, the address and the lines of a location of the source. */
static int convert_location(struct merger *m, struct profile_location *l)
{
    const struct profile_line *from = m->from->lines + l->line_at;
    uint32_t mapping = l->mapping;
    if (array_reserve((void **)&m->lines, &m->cap_lines, l->n_lines, sizeof *m->lines, m->err) < 0)
        return -1;
    if (mapping != PROFILE_NONE) {
        if (merge_mapping(m, mapping, &l->mapping) < 0)
            return -1;
        l->address += m->to->mappings[l->mapping].start - m->from->mappings[mapping].start;
    }
    for (size_t i = 0; i < l->n_lines; i++) {
        m->lines[i] = from[i];
        if (merge_function(m, from[i].function, &m->lines[i].function) < 0)
            return -1;
    }
    return 0;
}

static int merge_location(struct merger *m, uint32_t index, uint32_t *ret)
{
    *ret = m->location_of[index];
    if (*ret != PROFILE_NONE)
        return 0;
    struct profile_location to = m->from->locations[index];
    if (convert_location(m, &to) < 0)
        return -1;
    uint64_t hash = hash_location(m, &to);
    *ret = hash_index_find(&m->locations, hash, is_same_location,
                           &(struct wanted){.p = m->to, .part = &to, .lines = m->lines});
    if (*ret == HASH_INDEX_NONE) {
        *ret = (uint32_t)m->to->n_locations;
        to.id = (uint64_t)*ret + 1;
        if (hash_index_add(&m->locations, hash, m->err) < 0 ||
            profile_add_location(m->to, &to, m->lines, m->err) < 0)
            return -1;
    }
    m->location_of[index] = *ret;
    return 0;
}

/* ---- samples ---- */

static bool is_same_stack(const struct profile *p, const struct profile_sample *s, const uint32_t *stack)
{
    uint32_t frame = 0;
    for (struct profile_walk walk = profile_walk(p, s); profile_walk_next(&walk, &frame);)
        if (*stack++ != frame)
            return false;
    return true;
}

static bool is_same_sample(const void *ctx, uint32_t index)
{
    const struct wanted *w = ctx;
    const struct profile_sample *a = w->part, *b = &w->p->samples[index];
    if (a->depth != b->depth || a->n_labels != b->n_labels || !is_same_stack(w->p, b, w->stack))
        return false;
    const struct profile_label *x = w->labels, *y = w->p->labels + b->label_at;
    for (size_t i = 0; i < a->n_labels; i++)
        if (x[i].key != y[i].key || x[i].is_number != y[i].is_number || x[i].str != y[i].str ||
            x[i].num != y[i].num || x[i].unit != y[i].unit)
            return false;
    return true;
}

static uint64_t hash_labels(uint64_t hash, const struct profile_label *labels, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hash = hash_index_mix(hash, (uint64_t)labels[i].key << 32 | labels[i].str);
        hash = hash_index_mix(hash_index_mix(hash, (uint64_t)labels[i].num), labels[i].unit);
    }
    return hash;
}

/* Appends the converted labels of a sample, sorted. */
static int convert_labels(struct merger *m, const struct profile_sample *s)
{
    const struct profile_label *sorted = NULL;
    if (array_reserve((void **)&m->labels, &m->cap_labels, m->n_labels + s->n_labels, sizeof *m->labels,
                      m->err) < 0)
        return -1;
    struct profile_label *labels = m->labels + m->n_labels;
    for (size_t i = 0; i < s->n_labels; i++) {
        const struct profile_label *from = &m->from->labels[s->label_at + i];
        struct profile_label *to = &labels[i];
        *to = (struct profile_label){.is_number = from->is_number};
        if (from->is_number)
            to->num = from->num;
        if (merge_string(m, from->key, &to->key) < 0 ||
            merge_string(m, from->is_number ? from->unit : from->str,
                         from->is_number ? &to->unit : &to->str) < 0)
            return -1;
    }
    if (label_order_sort(&m->order, labels, s->n_labels, &sorted, m->err) < 0)
        return -1;
    if (sorted != labels)
        memcpy(labels, sorted, s->n_labels * sizeof *labels);
    m->n_labels += s->n_labels;
    return 0;
}

/* Appends the converted locations of a stack, and mixes them into the hash two at a time. */
static int convert_stack(struct merger *m, const struct profile_sample *s, uint64_t *hash)
{
    if (array_reserve((void **)&m->stack, &m->cap_stack, m->n_stack + s->depth, sizeof *m->stack, m->err) < 0)
        return -1;
    uint32_t *to = m->stack + m->n_stack, *new_index_of = m->location_of, frame = 0;
    uint64_t h = *hash, pair = 0;
    for (struct profile_walk walk = profile_walk(m->from, s); profile_walk_next(&walk, &frame); to++) {
        *to = new_index_of[frame];
        if (*to == PROFILE_NONE && merge_location(m, frame, to) < 0)
            return -1;
        pair = pair << 32 | *to;
        if (walk.left % 2 == 0)
            h = hash_index_mix(h, pair);
    }
    *hash = h;
    m->n_stack += s->depth;
    return 0;
}

/* Adds a sample to the batch. */
static int convert_sample(struct merger *m, size_t index)
{
    const struct profile_sample *s = &m->from->samples[index];
    struct pending *to = &m->pending[m->n_pending];
    *to = (struct pending){hash_index_mix(hash_index_seed(&m->samples), s->depth), index, m->n_stack,
                           m->n_labels};
    if (convert_stack(m, s, &to->hash) < 0 || (s->n_labels && convert_labels(m, s) < 0))
        return -1;
    to->hash = hash_labels(to->hash, m->labels + to->label_at, s->n_labels);
    hash_index_prefetch(&m->samples, to->hash);
    m->n_pending++;
    return 0;
}

static int merge_sample(struct merger *m, const struct pending *from)
{
    const struct profile_sample *s = &m->from->samples[from->index];
    size_t n = m->from->n_sample_types;
    const int64_t *values = m->from->values + from->index * n;
    const uint32_t *stack = m->stack + from->stack_at;
    const struct profile_label *labels = m->labels + from->label_at;
    uint32_t at = hash_index_find(&m->samples, from->hash, is_same_sample,
                                  &(struct wanted){.p = m->to, .part = s, .stack = stack, .labels = labels});
    if (at == HASH_INDEX_NONE)
        return hash_index_add(&m->samples, from->hash, m->err) < 0
                   ? -1
                   : profile_add_sample(
                         m->to, &(struct profile_new_sample){stack, s->depth, values, labels, s->n_labels},
                         m->err);
    int64_t *to = m->to->values + at * n;
    for (size_t i = 0; i < n; i++)
        to[i] = (int64_t)((uint64_t)to[i] + (uint64_t)values[i]);
    return 0;
}

/* Merges the batch. */
static int merge_pending(struct merger *m)
{
    for (size_t i = 0; i < m->n_pending; i++)
        if (merge_sample(m, &m->pending[i]) < 0)
            return -1;
    m->n_pending = m->n_stack = m->n_labels = 0;
    return 0;
}

static bool is_zero(const struct profile *p, size_t sample)
{
    for (size_t i = 0; i < p->n_sample_types; i++)
        if (p->values[sample * p->n_sample_types + i])
            return false;
    return true;
}

/* ---- the header ---- */

static int copy_header(struct merger *m)
{
    const struct profile *from = m->from;
    struct profile *to = m->to;
    for (size_t i = 0; i < from->n_sample_types; i++) {
        struct profile_value_type t = {0};
        if (merge_string(m, from->sample_types[i].type, &t.type) < 0 ||
            merge_string(m, from->sample_types[i].unit, &t.unit) < 0 ||
            profile_add_sample_type(to, t, m->err) < 0)
            return -1;
    }
    return merge_string(m, from->period_type.type, &to->period_type.type) < 0 ||
                   merge_string(m, from->period_type.unit, &to->period_type.unit) < 0 ||
                   merge_string(m, from->drop_frames, &to->drop_frames) < 0 ||
                   merge_string(m, from->keep_frames, &to->keep_frames) < 0
               ? -1
               : 0;
}

/* Uses the first default type and the first URL, and adds all comments. drop_repeated_comments later removes
 * duplicates. */
static int combine_texts(struct merger *m)
{
    struct profile *to = m->to;
    if ((!to->default_sample_type &&
         merge_string(m, m->from->default_sample_type, &to->default_sample_type) < 0) ||
        (!to->doc_url && merge_string(m, m->from->doc_url, &to->doc_url) < 0))
        return -1;
    for (size_t i = 0; i < m->from->n_comments; i++) {
        uint32_t comment = 0;
        if (merge_string(m, m->from->comments[i], &comment) < 0 ||
            profile_add_comment(to, comment, m->err) < 0)
            return -1;
    }
    return 0;
}

static void combine_times(struct profile *to, const struct profile *from)
{
    if (to->time_ns == 0 || from->time_ns < to->time_ns)
        to->time_ns = from->time_ns;
    to->duration_ns = (int64_t)((uint64_t)to->duration_ns + (uint64_t)from->duration_ns);
    if (to->period == 0 || to->period < from->period)
        to->period = from->period;
}

/* Removes duplicate comments. */
static int drop_repeated_comments(struct profile *p, struct err *err)
{
    size_t n = 0;
    bool *seen = calloc(profile_n_strings(p), sizeof *seen);
    if (!seen)
        return err_nomem(err);
    for (size_t i = 0; i < p->n_comments; i++) {
        if (!seen[p->comments[i]])
            p->comments[n++] = p->comments[i];
        seen[p->comments[i]] = true;
    }
    p->n_comments = n;
    free(seen);
    return 0;
}

/* ---- merging ---- */

static uint32_t *new_index_map(size_t n, struct err *err)
{
    uint32_t *ret = malloc((n + 1) * sizeof *ret);
    if (!ret)
        err_nomem(err);
    else
        memset(ret, 0xff, (n + 1) * sizeof *ret);
    return ret;
}

static void free_index_maps(struct merger *m)
{
    free(m->string_of);
    free(m->location_of);
    free(m->function_of);
    free(m->mapping_of);
    m->string_of = m->location_of = m->function_of = m->mapping_of = NULL;
}

static int merge_one(struct merger *m, const struct profile *from)
{
    uint32_t main_mapping = 0;
    free_index_maps(m);
    m->from = from;
    m->string_of = new_index_map(profile_n_strings(from), m->err);
    m->location_of = m->string_of ? new_index_map(from->n_locations, m->err) : NULL;
    m->function_of = m->location_of ? new_index_map(from->n_functions, m->err) : NULL;
    m->mapping_of = m->function_of ? new_index_map(from->n_mappings, m->err) : NULL;
    if (!m->mapping_of || (!m->begun && copy_header(m) < 0) || combine_texts(m) < 0)
        return -1;
    m->begun = true;
    combine_times(m->to, from);
    m->to->file_bytes += from->file_bytes;
    /* The first mapping is the program's. It must stay the first, so it is merged before any sample. */
    if (m->to->n_mappings == 0 && from->n_mappings && merge_mapping(m, 0, &main_mapping) < 0)
        return -1;
    if (hash_index_reserve(&m->samples, m->to->n_samples + from->n_samples, m->err) < 0)
        return -1;
    for (size_t i = 0; i < from->n_samples; i++)
        if ((!is_zero(from, i) && convert_sample(m, i) < 0) ||
            (m->n_pending == BATCH && merge_pending(m) < 0))
            return -1;
    return merge_pending(m);
}

/* Merges all profiles. Frees each profile of `taken` (NULL: none) after it is merged. */
static int merge_into(struct profile *to, struct profile *const *profiles, size_t n, struct profile **taken,
                      struct err *err)
{
    struct merger m = {.to = to, .err = err};
    /* The arrays must not be NULL, because samples without a stack or labels point into them. */
    int rc = array_reserve((void **)&m.stack, &m.cap_stack, 1, sizeof *m.stack, err);
    if (rc == 0)
        rc = array_reserve((void **)&m.labels, &m.cap_labels, 1, sizeof *m.labels, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = merge_one(&m, profiles[i]);
        if (taken && rc == 0) {
            profile_free(taken[i]);
            taken[i] = NULL;
        }
    }
    free_index_maps(&m);
    hash_index_release(&m.samples);
    hash_index_release(&m.locations);
    hash_index_release(&m.functions);
    hash_index_release(&m.mappings);
    label_order_release(&m.order);
    free(m.stack);
    free(m.labels);
    free(m.lines);
    return rc == 0 ? drop_repeated_comments(to, err) : -1;
}

static bool has_zero_sample(const struct profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++)
        if (is_zero(p, i))
            return true;
    return false;
}

static int merge_profiles(struct profile *const *profiles, size_t n, struct profile **taken,
                          struct profile **ret, struct err *err)
{
    if (n == 0)
        return err_set(err, ERR_FAILED, "no profiles to merge");
    for (size_t i = 1; i < n; i++)
        if (profile_check_compatible(profiles[0], profiles[i], err) < 0)
            return -1;
    struct profile *to = profile_new(err);
    if (!to)
        return -1;
    int rc = merge_into(to, profiles, n, taken, err);
    /* Drop merged samples with only zeros, and the parts to which only these samples refer. */
    if (rc == 0 && has_zero_sample(to)) {
        struct profile *all = to;
        to = NULL;
        rc = profile_merge_and_free(&all, 1, &to, err);
        profile_free(all);
    }
    if (rc < 0)
        profile_free(to);
    else
        *ret = to;
    return rc;
}

int profile_merge(struct profile *const *profiles, size_t n, struct profile **ret, struct err *err)
{
    return merge_profiles(profiles, n, NULL, ret, err);
}

int profile_merge_and_free(struct profile **profiles, size_t n, struct profile **ret, struct err *err)
{
    return merge_profiles(profiles, n, profiles, ret, err);
}
