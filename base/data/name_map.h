/*
 * A hash table of names and their values. The names may be untrusted, so the hash has a random seed
 * (base/data/hash_index.h). The values must outlive the map; so must the names, unless it copies them.
 */
#ifndef BASE_DATA_NAME_MAP_H
#define BASE_DATA_NAME_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/data/err.h"
#include "base/data/hash_index.h"
#include "base/data/text.h"

struct name_map_entry {
    const char *name;
    const void *value;
};

struct name_map {
    struct name_map_entry *entries; /* in the order they were added */
    size_t n;
    size_t cap;
    struct hash_index by_name; /* gives indices of `entries` */
    bool ignore_case;  /* names that differ only by case are equal, as in DNS; set before the first name */
    bool copies_names; /* the map owns copies of the names; set before the first name */
};

/* Adds a new name. The value may be NULL if the map is a set of names (name_map_has). */
int name_map_add(struct name_map *map, const char *name, const void *value, struct err *err);

/* Adds a name, or replaces its value. A map that does not copy names keeps the new pointer to the name. */
int name_map_set(struct name_map *map, const char *name, const void *value, struct err *err);

/* Returns the value of a name, or NULL if the map does not contain it. */
const void *name_map_get(const struct name_map *map, const char *name);

/* Returns whether the map contains a name. */
bool name_map_has(const struct name_map *map, const char *name);

/* Returns whether two names are equal without regard to case: ASCII letters only, in every locale. */
bool name_map_equal_ignoring_case(const char *a, const char *b);

/* Adds every name, in the order they were added, to the candidates of `near` (nearest_add). */
void name_map_add_to_nearest(const struct name_map *map, struct nearest *near);

void name_map_release(struct name_map *map);

#endif
