/* Maps the IDs of a profile's parts to their indices. */
#ifndef PROTO_ID_MAP_H
#define PROTO_ID_MAP_H

#include "proto/profile.h"

struct id_map_entry {
    uint64_t id;
    uint32_t index;
};

/*
 * Writers usually number parts consecutively. For consecutive IDs the index is the difference between the ID
 * and the first ID. Other small IDs are in a table, the rest in a hash table. An all-zero struct is an empty
 * map.
 */
struct id_map {
    uint64_t first;       /* the ID of index 0 */
    size_t n_consecutive; /* number of parts with the IDs first, first + 1, … */
    size_t n_expected;
    uint32_t *dense; /* the table of small IDs; NULL until needed */
    size_t n_dense;
    struct id_map_entry *others;
    size_t n_others, cap_others;
    struct hash_index by_id; /* the other IDs */
};

/* Initialises the map for about n IDs. */
void id_map_init(struct id_map *m, size_t n);
void id_map_release(struct id_map *m);

/* Returns the index of an ID that is not one of the consecutive IDs, or PROFILE_NONE. */
uint32_t id_map_get_other(const struct id_map *m, uint64_t id);

/* Returns the index, or PROFILE_NONE. */
static inline uint32_t id_map_get(const struct id_map *m, uint64_t id)
{
    uint64_t row = id - m->first;
    if (row < m->n_consecutive)
        return (uint32_t)row;
    return id < m->n_dense ? m->dense[id] : id_map_get_other(m, id);
}

/* Adds an ID, which must be new and not 0, with its index. `what` names the part in error messages. */
int id_map_add(struct id_map *m, uint64_t id, size_t index, const char *what, struct err *err);

#endif
