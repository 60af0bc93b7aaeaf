/*
 * Assigns the locations of a text form to the mappings after the samples. If several mappings contain an
 * address, the first in the list applies. The bounds of all mappings divide the addresses into pieces; each
 * piece has the number of its first mapping.
 *
 * Source: google/pprof profile/legacy_profile.go, which compares each location with each mapping.
 */
#include <stdlib.h>

#include "proto/profile_text.h"
#include "base/banned.h"

/* A binary tree (segment tree) that finds the first mapping of each piece. A node has the lowest number of
 * the mappings that were added at this node. Node i is above nodes 2i and 2i + 1, and the pieces are the
 * nodes from n_bounds on. */
struct range_tree {
    uint64_t *bounds; /* sorted; piece i begins at bounds[i] */
    size_t n_bounds;
    uint32_t *mapped;   /* tree of the mappings */
    uint32_t *extended; /* tree of the ranges before mappings with an offset, which may begin earlier */
};

static int compare_bounds(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Returns the number of bounds up to the address. */
static size_t bounds_up_to(const struct range_tree *ranges, uint64_t address)
{
    size_t low = 0, high = ranges->n_bounds;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->bounds[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void put_lower(uint32_t *node, uint32_t number)
{
    if (number < *node)
        *node = number;
}

/* Adds a mapping for [start, limit). Both must be bounds. */
static void add_range(const struct range_tree *ranges, uint32_t *tree, uint64_t start, uint64_t limit,
                      uint32_t number)
{
    if (start >= limit)
        return;
    size_t from = bounds_up_to(ranges, start) - 1 + ranges->n_bounds,
           to = bounds_up_to(ranges, limit) - 1 + ranges->n_bounds;
    for (; from < to; from /= 2, to /= 2) {
        if (from & 1)
            put_lower(&tree[from++], number);
        if (to & 1)
            put_lower(&tree[--to], number);
    }
}

/* Returns the first mapping at an address, or PROFILE_NONE. The tree is NULL if there are no mappings. */
static uint32_t mapping_at(const struct range_tree *ranges, const uint32_t *tree, uint64_t address)
{
    uint32_t lowest = PROFILE_NONE;
    size_t n = tree ? bounds_up_to(ranges, address) : 0;
    for (size_t node = n ? n - 1 + ranges->n_bounds : 0; node; node /= 2)
        put_lower(&lowest, tree[node]);
    return lowest;
}

static int build_range_tree(struct range_tree *ranges, const struct profile *p, struct err *err)
{
    size_t n = 0;
    ranges->bounds = malloc(3 * p->n_mappings * sizeof *ranges->bounds);
    if (!ranges->bounds)
        return err_nomem(err);
    for (size_t i = 0; i < p->n_mappings; i++) {
        const struct profile_mapping *m = &p->mappings[i];
        ranges->bounds[n++] = m->start;
        ranges->bounds[n++] = m->limit;
        if (m->offset)
            ranges->bounds[n++] = m->start - m->offset;
    }
    qsort(ranges->bounds, n, sizeof *ranges->bounds, compare_bounds);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || ranges->bounds[i] != ranges->bounds[ranges->n_bounds - 1])
            ranges->bounds[ranges->n_bounds++] = ranges->bounds[i];
    ranges->mapped = malloc(2 * ranges->n_bounds * sizeof *ranges->mapped);
    ranges->extended = malloc(2 * ranges->n_bounds * sizeof *ranges->extended);
    if (!ranges->mapped || !ranges->extended)
        return err_nomem(err);
    for (size_t i = 0; i < 2 * ranges->n_bounds; i++)
        ranges->mapped[i] = ranges->extended[i] = PROFILE_NONE;
    for (uint32_t i = 0; i < p->n_mappings; i++) {
        const struct profile_mapping *m = &p->mappings[i];
        add_range(ranges, ranges->mapped, m->start, m->limit, i);
        add_range(ranges, ranges->extended, m->start - m->offset, m->start, i);
    }
    return 0;
}

/* Returns the mapping of an address, or PROFILE_NONE. If no mapping contains the address, extends one
 * downwards by its offset, because some tools omit the first part of a split mapping. */
static uint32_t find_mapping(const struct range_tree *ranges, struct profile *p, uint64_t address)
{
    uint32_t at = mapping_at(ranges, ranges->mapped, address);
    if (at != PROFILE_NONE)
        return at;
    at = mapping_at(ranges, ranges->extended, address);
    if (at == PROFILE_NONE || p->mappings[at].offset == 0)
        return PROFILE_NONE;
    struct profile_mapping *m = &p->mappings[at];
    m->start -= m->offset;
    m->offset = 0;
    add_range(ranges, ranges->mapped, m->start, m->limit, at);
    return at;
}

/* Assigns each location to its mapping. Locations outside all mappings get a new mapping of all addresses,
 * because Go's runtime writes no memory map. */
static int assign_locations(const struct range_tree *ranges, struct profile *p, struct err *err)
{
    uint32_t new_mapping = PROFILE_NONE;
    for (size_t i = 0; i < p->n_locations; i++) {
        struct profile_location *l = &p->locations[i];
        if (l->address == 0)
            continue;
        l->mapping = new_mapping == PROFILE_NONE ? find_mapping(ranges, p, l->address)
                                                 : mapping_at(ranges, ranges->mapped, l->address);
        if (l->mapping == PROFILE_NONE && new_mapping == PROFILE_NONE) {
            new_mapping = (uint32_t)p->n_mappings;
            if (profile_add_mapping(p, &(struct profile_mapping){.limit = UINT64_MAX}, err) < 0)
                return -1;
        }
        if (l->mapping == PROFILE_NONE)
            l->mapping = new_mapping;
    }
    return 0;
}

int text_assign_mappings(struct profile *p, struct err *err)
{
    struct range_tree ranges = {0};
    int rc = p->n_mappings ? build_range_tree(&ranges, p, err) : 0;
    if (rc == 0)
        rc = assign_locations(&ranges, p, err);
    free(ranges.bounds);
    free(ranges.mapped);
    free(ranges.extended);
    return rc;
}
