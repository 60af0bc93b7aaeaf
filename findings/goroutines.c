/*
 * A hash over state, frames and creator finds a group. The hash has a random seed, so that no dump can cause
 * collisions on purpose. The wait of each goroutine is stored with its group's number. At the end, the sorted
 * waits give every group's median.
 */
#include "findings/goroutines.h"

#include <stdlib.h>
#include <string.h>

#include "findings/goroutines_internal.h"
#include "base/banned.h"

struct goroutine_wait {
    uint32_t group, minutes;
};

void goroutines_free(struct goroutines *goroutines)
{
    if (!goroutines)
        return;
    if (goroutines->store) {
        free(goroutines->store->current.frames);
        hash_index_release(&goroutines->store->by_stack);
        free(goroutines->store->waits);
        profile_free(goroutines->store->profiles[0]);
        profile_free(goroutines->store->profiles[1]);
    }
    free(goroutines->store);
    free(goroutines->groups);
    free(goroutines->frames);
    free(goroutines->labels);
    free(goroutines);
}

struct goroutines *goroutines_new(struct err *err)
{
    struct goroutines *g = calloc(1, sizeof *g);
    if (g && (g->store = calloc(1, sizeof *g->store)))
        return g;
    goroutines_free(g);
    err_nomem(err);
    return NULL;
}

/* ---- the current goroutine ----------------------------------------------------------------------------- */

void goroutine_begin(struct goroutines *goroutines, uint64_t count)
{
    struct goroutine *current = &goroutines->store->current;
    *current = (struct goroutine){.state = STR(""),
                                  .frames = current->frames,
                                  .cap_frames = current->cap_frames,
                                  .creator = {STR(""), STR("")},
                                  .labels = STR(""),
                                  .count = count};
}

int goroutine_add_frame(struct goroutines *goroutines, struct goroutine_frame frame, struct err *err)
{
    struct goroutine *current = &goroutines->store->current;
    if (current->n_frames == GOROUTINES_MAX_DEPTH)
        return err_set(err, ERR_FAILED, "a goroutine of the dump has more than %d frames",
                       GOROUTINES_MAX_DEPTH);
    if (array_reserve((void **)&current->frames, &current->cap_frames, current->n_frames + 1,
                      sizeof *current->frames, err) < 0)
        return -1;
    current->frames[current->n_frames++] = frame;
    return 0;
}

/* Drops the runtime's frames at both ends. If all remaining frames are the runtime's, drops none at the inner
 * end. */
static void trim_runtime(struct goroutine *current)
{
    size_t first = 0;
    while (current->n_frames > 1 &&
           (str_is(current->frames[current->n_frames - 1].function, "runtime.goexit") ||
            str_is(current->frames[current->n_frames - 1].function, "runtime.main")))
        current->n_frames--;
    while (first < current->n_frames && str_begins(current->frames[first].function, "runtime."))
        first++;
    if (first == 0 || first == current->n_frames)
        return;
    memmove(current->frames, current->frames + first, (current->n_frames - first) * sizeof *current->frames);
    current->n_frames -= first;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

static uint64_t hash_frame(uint64_t hash, const struct goroutine_frame *f)
{
    return hash_index_mix_str(hash_index_mix_str(hash, f->function), f->file_line);
}

static uint64_t hash_goroutine(const struct goroutine *current, uint64_t seed)
{
    uint64_t hash = hash_index_mix_str(seed, current->state);
    for (size_t i = 0; i < current->n_frames; i++)
        hash = hash_frame(hash, &current->frames[i]);
    return hash_frame(hash, &current->creator);
}

static bool is_same_frame(const struct goroutine_frame *a, const struct goroutine_frame *b)
{
    return str_equal(a->function, b->function) && str_equal(a->file_line, b->file_line);
}

/* Returns whether the current goroutine belongs to that group. */
static bool is_in_group(const void *ctx, uint32_t index)
{
    const struct goroutines *g = ctx;
    const struct goroutine *current = &g->store->current;
    const struct goroutine_group *group = &g->groups[index];
    if (current->n_frames != group->n_frames || !str_equal(current->state, group->state) ||
        !is_same_frame(&current->creator, &group->creator))
        return false;
    for (size_t i = 0; i < current->n_frames; i++)
        if (!is_same_frame(&current->frames[i], &g->frames[group->first_frame + i]))
            return false;
    return true;
}

static int add_group(struct goroutines *goroutines, uint64_t hash, struct err *err)
{
    struct goroutines_store *s = goroutines->store;
    const struct goroutine *current = &s->current;
    if (goroutines->n_groups == GOROUTINES_MAX_GROUPS)
        return err_set(err, ERR_FAILED, "the dump has more than %d different stacks", GOROUTINES_MAX_GROUPS);
    if (s->n_frames + current->n_frames > GOROUTINES_MAX_FRAMES)
        return err_set(err, ERR_FAILED, "the stacks of the dump have more than %d frames",
                       GOROUTINES_MAX_FRAMES);
    if (array_reserve((void **)&goroutines->groups, &s->cap_groups, goroutines->n_groups + 1,
                      sizeof *goroutines->groups, err) < 0 ||
        array_reserve((void **)&goroutines->frames, &s->cap_frames, s->n_frames + current->n_frames + 1,
                      sizeof *goroutines->frames, err) < 0 ||
        hash_index_add(&s->by_stack, hash, err) < 0)
        return -1;
    goroutines->groups[goroutines->n_groups] = (struct goroutine_group){.state = current->state,
                                                                        .first_frame = s->n_frames,
                                                                        .n_frames = current->n_frames,
                                                                        .creator = current->creator,
                                                                        .first_label = GOROUTINES_NONE};
    for (size_t i = 0; i < current->n_frames; i++)
        goroutines->frames[s->n_frames++] = current->frames[i];
    goroutines->n_groups++;
    return 0;
}

static int find_or_add_group(struct goroutines *goroutines, size_t *ret, struct err *err)
{
    struct hash_index *index = &goroutines->store->by_stack;
    uint64_t hash = hash_goroutine(&goroutines->store->current, hash_index_seed(index));
    uint32_t at = hash_index_find(index, hash, is_in_group, goroutines);
    if (at == HASH_INDEX_NONE && add_group(goroutines, hash, err) < 0)
        return -1;
    *ret = at == HASH_INDEX_NONE ? goroutines->n_groups - 1 : at;
    return 0;
}

static int add_label(struct goroutines *goroutines, struct goroutine_group *group, struct err *err)
{
    struct goroutines_store *s = goroutines->store;
    size_t n = 0, last = GOROUTINES_NONE;
    for (size_t i = group->first_label; i != GOROUTINES_NONE; last = i, i = goroutines->labels[i].next, n++) {
        if (str_equal(goroutines->labels[i].text, s->current.labels)) {
            goroutines->labels[i].count += s->current.count;
            return 0;
        }
    }
    if (n == GOROUTINES_MAX_LABELS) {
        group->more_labels += s->current.count;
        return 0;
    }
    if (array_reserve((void **)&goroutines->labels, &s->cap_labels, s->n_labels + 1,
                      sizeof *goroutines->labels, err) < 0)
        return -1;
    goroutines->labels[s->n_labels] =
        (struct goroutine_label_set){s->current.labels, s->current.count, GOROUTINES_NONE};
    *(last == GOROUTINES_NONE ? &group->first_label : &goroutines->labels[last].next) = s->n_labels++;
    return 0;
}

static int add_wait(struct goroutines *goroutines, size_t group, struct err *err)
{
    struct goroutines_store *s = goroutines->store;
    if (array_reserve((void **)&s->waits, &s->cap_waits, s->n_waits + 1, sizeof *s->waits, err) < 0)
        return -1;
    s->waits[s->n_waits++] = (struct goroutine_wait){(uint32_t)group, s->current.wait};
    return 0;
}

int goroutine_end(struct goroutines *goroutines, size_t dump, struct err *err)
{
    struct goroutine *current = &goroutines->store->current;
    size_t at;
    trim_runtime(current);
    if (goroutines->store->frames_only)
        current->state = current->creator.function = current->creator.file_line = STR("");
    if (find_or_add_group(goroutines, &at, err) < 0)
        return -1;
    goroutines->groups[at].count[dump] += current->count;
    goroutines->dumps[dump].total += current->count;
    if (dump + 1 < goroutines->n_dumps)
        return 0;
    if (goroutines->dumps[dump].form == GOROUTINES_STACKS && add_wait(goroutines, at, err) < 0)
        return -1;
    return current->labels.n > 0 ? add_label(goroutines, &goroutines->groups[at], err) : 0;
}

/* ---- results ------------------------------------------------------------------------------------------- */

static int compare_waits(const void *a, const void *b)
{
    const struct goroutine_wait *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->minutes > y->minutes) - (x->minutes < y->minutes);
}

static void measure_waits(struct goroutines *goroutines)
{
    const struct goroutine_wait *waits = goroutines->store->waits;
    size_t n = goroutines->store->n_waits;
    if (!goroutines->groups)
        return;
    if (n > 0)
        qsort(goroutines->store->waits, n, sizeof *waits, compare_waits);
    for (size_t i = 0, end; i < n; i = end) {
        struct goroutine_group *group = &goroutines->groups[waits[i].group];
        for (end = i; end < n && waits[end].group == waits[i].group; end++)
            ;
        group->wait_min = waits[i].minutes;
        group->wait_median = waits[i + (end - i - 1) / 2].minutes;
        group->wait_max = waits[end - 1].minutes;
    }
}

/* Returns the growth of a group; for one dump, its size. The counts of a file can have any value, so they are
 * subtracted modulo 2^64. */
static int64_t get_growth(const struct goroutine_group *group)
{
    return (int64_t)(group->count[1] - group->count[0]);
}

static int compare_frames(const struct goroutine_frame *a, const struct goroutine_frame *b)
{
    int order = str_compare(a->function, b->function);
    return order ? order : str_compare(a->file_line, b->file_line);
}

static int compare_groups(const struct goroutines *goroutines, const struct goroutine_group *a,
                          const struct goroutine_group *b)
{
    int64_t x = get_growth(a), y = get_growth(b);
    if (x != y)
        return x > y ? -1 : 1;
    if (a->count[1] != b->count[1])
        return a->count[1] > b->count[1] ? -1 : 1;
    if (a->wait_max != b->wait_max)
        return a->wait_max > b->wait_max ? -1 : 1;
    int order = str_compare(a->state, b->state);
    for (size_t i = 0; order == 0 && i < a->n_frames && i < b->n_frames; i++)
        order =
            compare_frames(&goroutines->frames[a->first_frame + i], &goroutines->frames[b->first_frame + i]);
    return order ? order : (a->first_frame > b->first_frame) - (a->first_frame < b->first_frame);
}

/* A merge sort, because compare_groups needs `goroutines` and qsort passes no context. */
static void sort_groups(const struct goroutines *goroutines, struct goroutine_group *groups,
                        struct goroutine_group *scratch, size_t n)
{
    if (n < 2)
        return;
    size_t half = n / 2, a = 0, b = half;
    sort_groups(goroutines, groups, scratch, half);
    sort_groups(goroutines, groups + half, scratch, n - half);
    memcpy(scratch, groups, n * sizeof *scratch);
    for (size_t i = 0; i < n; i++)
        groups[i] = b == n || (a < half && compare_groups(goroutines, &scratch[a], &scratch[b]) <= 0)
                        ? scratch[a++]
                        : scratch[b++];
}

int goroutines_finish(struct goroutines *goroutines, struct err *err)
{
    struct goroutine_group *scratch = malloc((goroutines->n_groups + 1) * sizeof *scratch);
    if (!scratch)
        return err_nomem(err);
    measure_waits(goroutines);
    /* A single dump was counted as the older one: make it the newer one. */
    for (size_t i = 0; goroutines->n_dumps == 1 && i < goroutines->n_groups; i++) {
        goroutines->groups[i].count[1] = goroutines->groups[i].count[0];
        goroutines->groups[i].count[0] = 0;
    }
    sort_groups(goroutines, goroutines->groups, scratch, goroutines->n_groups);
    free(scratch);
    return 0;
}
