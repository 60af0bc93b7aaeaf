/* Allocates, enlarges and releases the columns of a profile. */
#include <stdlib.h>
#include <string.h>

#include "proto/profile_store.h"
#include "base/banned.h"

/* If there are more locations than this, an index needs more than three bytes. */
#define FRAME_24_BITS 0x1000000u

/* Makes room for `more` elements after the first `used` elements of a column. */
#define GROW(p, column, used, more)                                                                          \
    array_reserve((void **)&(p)->column, &(p)->store->cap_##column, (used) + (more), sizeof *(p)->column, err)

/* Other columns point into these columns, so they are never NULL, even without elements. */
static int begin_columns(struct profile *p, struct err *err)
{
    return GROW(p, values, 0, 1) < 0 || profile_widen_frames(p, 0, err) < 0 || GROW(p, labels, 0, 1) < 0
               ? -1
               : GROW(p, lines, 0, 1);
}

struct profile *profile_new(struct err *err)
{
    struct profile *p = calloc(1, sizeof *p);
    struct profile_store *store = calloc(1, sizeof *store);
    if (!p || !store) {
        err_nomem(err);
        goto fail;
    }
    if (strtab_init(&store->strings, 0, err) < 0)
        goto fail;
    p->store = store;
    if (begin_columns(p, err) == 0)
        return p;
    profile_free(p);
    return NULL;
fail:
    free(store);
    free(p);
    return NULL;
}

void profile_free(struct profile *p)
{
    if (!p)
        return;
    strtab_release(&p->store->strings);
    region_release(&p->store->bytes);
    free(p->store);
    free(p->sample_types);
    free(p->samples);
    free(p->values);
    free(p->stack);
    free(p->labels);
    free(p->locations);
    free(p->lines);
    free(p->functions);
    free(p->mappings);
    free(p->comments);
    free(p);
}

struct str profile_str(const struct profile *p, uint32_t index)
{
    return p->store->strings.items[index];
}

size_t profile_n_strings(const struct profile *p)
{
    return p->store->strings.n;
}

int profile_intern(struct profile *p, const char *s, size_t n, uint32_t *ret, struct err *err)
{
    return strtab_copy(&p->store->strings, (struct str){s, n}, ret, err);
}

int profile_add_sample_type(struct profile *p, struct profile_value_type type, struct err *err)
{
    if (GROW(p, sample_types, p->n_sample_types, 1) < 0)
        return -1;
    p->sample_types[p->n_sample_types++] = type;
    return 0;
}

int profile_reserve_frames(struct profile *p, size_t n, struct err *err)
{
    if (n > UINT32_MAX - p->n_stack)
        return err_set(err, ERR_FAILED, "more than %u locations in stacks", UINT32_MAX);
    return GROW(p, stack, p->n_stack * p->frame_size, n * p->frame_size + sizeof(uint32_t));
}

int profile_widen_frames(struct profile *p, size_t n_locations, struct err *err)
{
    unsigned size = n_locations <= UINT16_MAX ? 2 : n_locations <= FRAME_24_BITS ? 3 : 4;
    if (size <= p->frame_size)
        return 0;
    struct profile_store store = {.cap_stack = 0};
    struct profile wider = {.store = &store, .frame_size = size};
    if (profile_reserve_frames(&wider, p->n_stack, err) < 0)
        return -1;
    const struct profile_sample all = {0};
    unsigned char *to = wider.stack;
    for (size_t i = 0; to && i < p->n_stack; i++)
        to = profile_put_frame(&wider, to, profile_frame(p, &all, i));
    free(p->stack);
    p->stack = wider.stack;
    p->store->cap_stack = store.cap_stack;
    p->frame_size = size;
    p->frame_mask = UINT32_MAX >> 8 * (sizeof(uint32_t) - size);
    return 0;
}

void profile_set_frame(struct profile *p, const struct profile_sample *s, size_t frame, uint32_t location)
{
    uint32_t v = htole32(location);
    memcpy(p->stack + (s->stack_at + frame) * p->frame_size, &v, p->frame_size);
}

/* Appends a copy of a stack. */
static int add_stack(struct profile *p, const uint32_t *stack, size_t depth, struct err *err)
{
    if (profile_reserve_frames(p, depth, err) < 0)
        return -1;
    unsigned char *to = p->stack + p->n_stack * p->frame_size;
    for (size_t i = 0; i < depth; i++)
        to = profile_put_frame(p, to, stack[i]);
    p->n_stack += depth;
    return 0;
}

int profile_add_sample(struct profile *p, const struct profile_new_sample *from, struct err *err)
{
    size_t n = p->n_sample_types, n_labels = from->n_labels;
    struct profile_sample sample = {.stack_at = (uint32_t)p->n_stack,
                                    .depth = (uint32_t)from->depth,
                                    .label_at = (uint32_t)p->n_labels,
                                    .n_labels = (uint32_t)n_labels};
    if (n_labels > UINT32_MAX - p->n_labels)
        return err_set(err, ERR_FAILED, "more than %u labels", UINT32_MAX);
    if (GROW(p, samples, p->n_samples, 1) < 0 || GROW(p, values, p->n_samples * n, n) < 0 ||
        GROW(p, labels, p->n_labels, n_labels) < 0 || add_stack(p, from->stack, from->depth, err) < 0)
        return -1;
    if (n)
        memcpy(p->values + p->n_samples * n, from->values, n * sizeof *from->values);
    if (n_labels)
        memcpy(p->labels + p->n_labels, from->labels, n_labels * sizeof *from->labels);
    p->n_labels += n_labels;
    p->samples[p->n_samples++] = sample;
    return 0;
}

int profile_set_stack(struct profile *p, size_t sample, const uint32_t *stack, size_t depth, struct err *err)
{
    size_t at = p->n_stack;
    if (add_stack(p, stack, depth, err) < 0)
        return -1;
    p->samples[sample].stack_at = (uint32_t)at;
    p->samples[sample].depth = (uint32_t)depth;
    return 0;
}

int profile_set_lines(struct profile *p, size_t location, const struct profile_line *lines, size_t n,
                      struct err *err)
{
    if (n >= UINT32_MAX)
        return err_set(err, ERR_FAILED, "a location has %zu lines, which is too many", n);
    if (GROW(p, lines, p->n_lines, n) < 0)
        return -1;
    p->locations[location].line_at = p->n_lines;
    p->locations[location].n_lines = (uint32_t)n;
    if (n)
        memcpy(p->lines + p->n_lines, lines, n * sizeof *lines);
    p->n_lines += n;
    return 0;
}

int profile_add_location(struct profile *p, const struct profile_location *location,
                         const struct profile_line *lines, struct err *err)
{
    if (GROW(p, locations, p->n_locations, 1) < 0 || GROW(p, lines, p->n_lines, location->n_lines) < 0)
        return -1;
    if (p->n_locations >= PROFILE_NONE || location->n_lines > UINT32_MAX - p->n_lines)
        return err_set(err, ERR_FAILED, "more than %u locations, or more than %u lines in locations",
                       PROFILE_NONE, PROFILE_NONE);
    if (profile_widen_frames(p, p->n_locations + 1, err) < 0)
        return -1;
    struct profile_location *to = &p->locations[p->n_locations++];
    *to = *location;
    to->line_at = (uint32_t)p->n_lines;
    if (location->n_lines)
        memcpy(p->lines + p->n_lines, lines, location->n_lines * sizeof *lines);
    p->n_lines += location->n_lines;
    return 0;
}

int profile_add_function(struct profile *p, const struct profile_function *function, struct err *err)
{
    if (GROW(p, functions, p->n_functions, 1) < 0)
        return -1;
    p->functions[p->n_functions++] = *function;
    return 0;
}

int profile_add_mapping(struct profile *p, const struct profile_mapping *mapping, struct err *err)
{
    if (GROW(p, mappings, p->n_mappings, 1) < 0)
        return -1;
    p->mappings[p->n_mappings++] = *mapping;
    return 0;
}

int profile_add_comment(struct profile *p, uint32_t comment, struct err *err)
{
    if (GROW(p, comments, p->n_comments, 1) < 0)
        return -1;
    p->comments[p->n_comments++] = comment;
    return 0;
}
