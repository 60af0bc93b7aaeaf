/*
 * The table of groups. A hash over state, frames and creator finds a group. Its seed is random, so that no
 * dump can force collisions. Waits are pairs of group and minutes, four bytes each. Sorting them at the end
 * gives every group's median.
 */
#include "findings/goroutines.h"

#include <stdlib.h>
#include <string.h>

#include "findings/goroutines_internal.h"
#include "base/banned.h"

struct goroutine_wait {
    uint32_t group, minutes;
};

void goroutines_free(struct goroutines *g)
{
    if (!g)
        return;
    if (g->store) {
        free(g->store->current.frames);
        finder_release(&g->store->by_place);
        free(g->store->waits);
        profile_free(g->store->profiles[0]);
        profile_free(g->store->profiles[1]);
    }
    free(g->store);
    free(g->groups);
    free(g->frames);
    free(g->labels);
    free(g);
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

void goroutine_begin(struct goroutines *g, uint64_t count)
{
    struct goroutine *c = &g->store->current;
    *c = (struct goroutine){.state = STR(""),
                            .frames = c->frames,
                            .cap_frames = c->cap_frames,
                            .creator = {STR(""), STR("")},
                            .labels = STR(""),
                            .count = count};
}

int goroutine_add_frame(struct goroutines *g, struct goroutine_frame frame, struct err *err)
{
    struct goroutine *c = &g->store->current;
    if (c->n_frames == GOROUTINES_MAX_DEPTH)
        return err_set(err, ERR_FAILED, "a goroutine of the dump has more than %d frames",
                       GOROUTINES_MAX_DEPTH);
    if (array_reserve((void **)&c->frames, &c->cap_frames, c->n_frames + 1, sizeof *c->frames, err) < 0)
        return -1;
    c->frames[c->n_frames++] = frame;
    return 0;
}

/* Drops the runtime's frames at both ends, unless there are no others. */
static void trim_runtime(struct goroutine *c)
{
    size_t first = 0;
    while (c->n_frames > 1 && (str_is(c->frames[c->n_frames - 1].function, "runtime.goexit") ||
                               str_is(c->frames[c->n_frames - 1].function, "runtime.main")))
        c->n_frames--;
    while (first < c->n_frames && str_begins(c->frames[first].function, "runtime."))
        first++;
    if (first == 0 || first == c->n_frames)
        return;
    memmove(c->frames, c->frames + first, (c->n_frames - first) * sizeof *c->frames);
    c->n_frames -= first;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

static uint64_t hash_frame(uint64_t hash, const struct goroutine_frame *f)
{
    return finder_mix_str(finder_mix_str(hash, f->function), f->place);
}

static uint64_t hash_of(const struct goroutine *c, uint64_t seed)
{
    uint64_t hash = finder_mix_str(seed, c->state);
    for (size_t i = 0; i < c->n_frames; i++)
        hash = hash_frame(hash, &c->frames[i]);
    return hash_frame(hash, &c->creator);
}

static bool same_frame(const struct goroutine_frame *a, const struct goroutine_frame *b)
{
    return str_equal(a->function, b->function) && str_equal(a->place, b->place);
}

/* Whether the current goroutine belongs to that group. */
static bool is_in_group(const void *ctx, uint32_t number)
{
    const struct goroutines *g = ctx;
    const struct goroutine *c = &g->store->current;
    const struct goroutine_group *group = &g->groups[number];
    if (c->n_frames != group->n_frames || !str_equal(c->state, group->state) ||
        !same_frame(&c->creator, &group->creator))
        return false;
    for (size_t i = 0; i < c->n_frames; i++)
        if (!same_frame(&c->frames[i], &g->frames[group->frame_at + i]))
            return false;
    return true;
}

/* Makes a group from the current goroutine. */
static int add_group(struct goroutines *g, uint64_t hash, struct err *err)
{
    struct goroutines_store *s = g->store;
    const struct goroutine *c = &s->current;
    if (g->n_groups == GOROUTINES_MAX_GROUPS)
        return err_set(err, ERR_FAILED, "the dump has more than %d different stacks", GOROUTINES_MAX_GROUPS);
    if (s->n_frames + c->n_frames > GOROUTINES_MAX_FRAMES)
        return err_set(err, ERR_FAILED, "the stacks of the dump have more than %d frames",
                       GOROUTINES_MAX_FRAMES);
    if (array_reserve((void **)&g->groups, &s->cap_groups, g->n_groups + 1, sizeof *g->groups, err) < 0 ||
        array_reserve((void **)&g->frames, &s->cap_frames, s->n_frames + c->n_frames + 1, sizeof *g->frames,
                      err) < 0 ||
        finder_add(&s->by_place, hash, err) < 0)
        return -1;
    g->groups[g->n_groups] = (struct goroutine_group){.state = c->state,
                                                      .frame_at = s->n_frames,
                                                      .n_frames = c->n_frames,
                                                      .creator = c->creator,
                                                      .first_label = GOROUTINES_NONE};
    for (size_t i = 0; i < c->n_frames; i++)
        g->frames[s->n_frames++] = c->frames[i];
    g->n_groups++;
    return 0;
}

static int find_group(struct goroutines *g, size_t *ret, struct err *err)
{
    struct finder *f = &g->store->by_place;
    uint64_t hash = hash_of(&g->store->current, finder_seed(f));
    uint32_t at = finder_find(f, hash, is_in_group, g);
    if (at == FINDER_NONE && add_group(g, hash, err) < 0)
        return -1;
    *ret = at == FINDER_NONE ? g->n_groups - 1 : at;
    return 0;
}

static int add_label(struct goroutines *g, struct goroutine_group *group, struct err *err)
{
    struct goroutines_store *s = g->store;
    size_t n = 0, last = GOROUTINES_NONE;
    for (size_t i = group->first_label; i != GOROUTINES_NONE; last = i, i = g->labels[i].next, n++) {
        if (str_equal(g->labels[i].text, s->current.labels)) {
            g->labels[i].count += s->current.count;
            return 0;
        }
    }
    if (n == GOROUTINES_LABELS) {
        group->more_labels += s->current.count;
        return 0;
    }
    if (array_reserve((void **)&g->labels, &s->cap_labels, s->n_labels + 1, sizeof *g->labels, err) < 0)
        return -1;
    g->labels[s->n_labels] = (struct goroutine_label){s->current.labels, s->current.count, GOROUTINES_NONE};
    *(last == GOROUTINES_NONE ? &group->first_label : &g->labels[last].next) = s->n_labels++;
    return 0;
}

static int add_wait(struct goroutines *g, size_t group, struct err *err)
{
    struct goroutines_store *s = g->store;
    if (array_reserve((void **)&s->waits, &s->cap_waits, s->n_waits + 1, sizeof *s->waits, err) < 0)
        return -1;
    s->waits[s->n_waits++] = (struct goroutine_wait){(uint32_t)group, s->current.wait};
    return 0;
}

int goroutine_end(struct goroutines *g, size_t dump, struct err *err)
{
    struct goroutine *c = &g->store->current;
    size_t at;
    trim_runtime(c);
    if (g->store->frames_only)
        c->state = c->creator.function = c->creator.place = STR("");
    if (find_group(g, &at, err) < 0)
        return -1;
    g->groups[at].count[dump] += c->count;
    g->dumps[dump].total += c->count;
    if (dump + 1 < g->n_dumps)
        return 0;
    if (g->dumps[dump].form == GOROUTINES_STACKS && add_wait(g, at, err) < 0)
        return -1;
    return c->labels.n > 0 ? add_label(g, &g->groups[at], err) : 0;
}

/* ---- results ------------------------------------------------------------------------------------------- */

static int compare_waits(const void *a, const void *b)
{
    const struct goroutine_wait *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->minutes > y->minutes) - (x->minutes < y->minutes);
}

static void measure_waits(struct goroutines *g)
{
    const struct goroutine_wait *waits = g->store->waits;
    size_t n = g->store->n_waits;
    if (!g->groups)
        return;
    if (n > 0)
        qsort(g->store->waits, n, sizeof *waits, compare_waits);
    for (size_t i = 0, end; i < n; i = end) {
        struct goroutine_group *group = &g->groups[waits[i].group];
        for (end = i; end < n && waits[end].group == waits[i].group; end++)
            ;
        group->wait_min = waits[i].minutes;
        group->wait_median = waits[i + (end - i - 1) / 2].minutes;
        group->wait_max = waits[end - 1].minutes;
    }
}

/* The growth of a group; for one dump, its size. Counts from a file can have any value. */
static int64_t growth_of(const struct goroutine_group *group)
{
    return (int64_t)(group->count[1] - group->count[0]);
}

static int compare_frames(const struct goroutine_frame *a, const struct goroutine_frame *b)
{
    int order = str_compare(a->function, b->function);
    return order ? order : str_compare(a->place, b->place);
}

static int compare_groups(const struct goroutines *g, const struct goroutine_group *a,
                          const struct goroutine_group *b)
{
    int64_t x = growth_of(a), y = growth_of(b);
    if (x != y)
        return x > y ? -1 : 1;
    if (a->count[1] != b->count[1])
        return a->count[1] > b->count[1] ? -1 : 1;
    if (a->wait_max != b->wait_max)
        return a->wait_max > b->wait_max ? -1 : 1;
    int order = str_compare(a->state, b->state);
    for (size_t i = 0; order == 0 && i < a->n_frames && i < b->n_frames; i++)
        order = compare_frames(&g->frames[a->frame_at + i], &g->frames[b->frame_at + i]);
    return order ? order : (a->frame_at > b->frame_at) - (a->frame_at < b->frame_at);
}

/* A merge sort, because qsort passes no context for comparing frames. */
static void sort_groups(const struct goroutines *g, struct goroutine_group *groups,
                        struct goroutine_group *room, size_t n)
{
    if (n < 2)
        return;
    size_t half = n / 2, a = 0, b = half;
    sort_groups(g, groups, room, half);
    sort_groups(g, groups + half, room, n - half);
    memcpy(room, groups, n * sizeof *room);
    for (size_t i = 0; i < n; i++)
        groups[i] =
            b == n || (a < half && compare_groups(g, &room[a], &room[b]) <= 0) ? room[a++] : room[b++];
}

int goroutines_finish(struct goroutines *g, struct err *err)
{
    struct goroutine_group *room = malloc((g->n_groups + 1) * sizeof *room);
    if (!room)
        return err_nomem(err);
    measure_waits(g);
    /* A single dump was read as the older one: make it the newer one. */
    for (size_t i = 0; g->n_dumps == 1 && i < g->n_groups; i++) {
        g->groups[i].count[1] = g->groups[i].count[0];
        g->groups[i].count[0] = 0;
    }
    sort_groups(g, g->groups, room, g->n_groups);
    free(room);
    return 0;
}
