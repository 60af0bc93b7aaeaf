#include "base/data/name_map.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/array.h"
#include "base/data/str.h"
#include "base/banned.h"

static unsigned char fold_case(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

bool name_map_equal_ignoring_case(const char *a, const char *b)
{
    while (*a && fold_case(*a) == fold_case(*b)) {
        a++;
        b++;
    }
    return fold_case(*a) == fold_case(*b);
}

static uint64_t hash_name(const struct name_map *map, const char *name)
{
    uint64_t hash = map->by_name.seed;
    if (!map->ignore_case)
        return hash_index_mix_str(hash, str_of(name));
    for (; *name; name++)
        hash = hash_index_mix(hash, fold_case(*name));
    return hash;
}

/* A name to find in a map. */
struct query {
    const struct name_map *map;
    const char *name;
};

static bool entry_has_name(const void *ctx, uint32_t index)
{
    const struct query *q = ctx;
    const char *name = q->map->entries[index].name;
    return q->map->ignore_case ? name_map_equal_ignoring_case(name, q->name) : strcmp(name, q->name) == 0;
}

int name_map_add(struct name_map *map, const char *name, const void *value, struct err *err)
{
    hash_index_seed(&map->by_name);
    if (array_reserve((void **)&map->entries, &map->cap, map->n + 1, sizeof *map->entries, err) < 0)
        return -1;
    char *copy = map->copies_names ? strdup(name) : NULL;
    if (map->copies_names && !copy)
        return err_nomem(err);
    if (hash_index_add(&map->by_name, hash_name(map, name), err) < 0) {
        free(copy);
        return -1;
    }
    map->entries[map->n++] = (struct name_map_entry){.name = copy ? copy : name, .value = value};
    return 0;
}

static uint32_t find_name(const struct name_map *map, const char *name)
{
    return hash_index_find(&map->by_name, hash_name(map, name), entry_has_name, &(struct query){map, name});
}

int name_map_set(struct name_map *map, const char *name, const void *value, struct err *err)
{
    uint32_t at = find_name(map, name);
    if (at == HASH_INDEX_NONE)
        return name_map_add(map, name, value, err);
    map->entries[at].value = value;
    if (!map->copies_names)
        map->entries[at].name = name;
    return 0;
}

const void *name_map_get(const struct name_map *map, const char *name)
{
    uint32_t at = find_name(map, name);
    return at == HASH_INDEX_NONE ? NULL : map->entries[at].value;
}

bool name_map_has(const struct name_map *map, const char *name)
{
    return find_name(map, name) != HASH_INDEX_NONE;
}

void name_map_add_to_nearest(const struct name_map *map, struct nearest *near)
{
    for (size_t i = 0; i < map->n; i++)
        nearest_add(near, map->entries[i].name);
}

void name_map_release(struct name_map *map)
{
    for (size_t i = 0; map->copies_names && i < map->n; i++)
        free((char *)(uintptr_t)map->entries[i].name);
    free(map->entries);
    hash_index_release(&map->by_name);
    *map = (struct name_map){0};
}
