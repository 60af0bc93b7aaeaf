/* From the IDs of a profile's parts to their indices. */
#ifndef PROTO_ID_MAP_H
#define PROTO_ID_MAP_H

#include "proto/profile.h"

struct id_map_entry {
    uint64_t id;
    uint32_t index;
};

/* A table for small IDs, as they usually are; the others are looked for. All 0: empty. */
struct id_map {
    uint32_t *dense;
    size_t n_dense;
    struct id_map_entry *others;
    size_t n_others, cap_others;
    struct finder by_id; /* those */
};

/* For n things. id_map_release is due whatever it says. */
int id_map_init(struct id_map *m, size_t n, struct err *err);
void id_map_release(struct id_map *m);

/* The index of an ID that is not a small one, or PROFILE_NONE. */
uint32_t id_map_get_other(const struct id_map *m, uint64_t id);

/* The index, or PROFILE_NONE. */
static inline uint32_t id_map_get(const struct id_map *m, uint64_t id)
{
    return id < m->n_dense ? m->dense[id] : id_map_get_other(m, id);
}

/* One more thing of this index: its ID must be new, and not 0. `what` it is, for the message. */
int id_map_add(struct id_map *m, uint64_t id, size_t index, const char *what, struct err *err);

#endif
