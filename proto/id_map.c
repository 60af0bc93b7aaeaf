#include <stdlib.h>
#include <string.h>

#include "proto/id_map.h"
#include "base/banned.h"

void id_map_release(struct id_map *m)
{
    free(m->dense);
    free(m->others);
    hash_index_release(&m->by_id);
    *m = (struct id_map){0};
}

void id_map_init(struct id_map *m, size_t n)
{
    *m = (struct id_map){.n_expected = n};
}

static int begin_dense(struct id_map *m, struct err *err)
{
    size_t n = 2 * m->n_expected + 64;
    m->dense = malloc(n * sizeof *m->dense);
    if (!m->dense)
        return err_nomem(err);
    memset(m->dense, 0xff, n * sizeof *m->dense);
    m->n_dense = n;
    hash_index_seed(&m->by_id);
    return 0;
}

struct wanted {
    const struct id_map *m;
    uint64_t id;
};

static bool is_wanted(const void *ctx, uint32_t index)
{
    const struct wanted *w = ctx;
    return w->m->others[index].id == w->id;
}

uint32_t id_map_get_other(const struct id_map *m, uint64_t id)
{
    uint32_t at =
        hash_index_find(&m->by_id, hash_index_mix(m->by_id.seed, id), is_wanted, &(struct wanted){m, id});
    return at == HASH_INDEX_NONE ? PROFILE_NONE : m->others[at].index;
}

static int add_other(struct id_map *m, uint64_t id, uint32_t index, struct err *err)
{
    if (array_reserve((void **)&m->others, &m->cap_others, m->n_others + 1, sizeof *m->others, err) < 0 ||
        hash_index_add(&m->by_id, hash_index_mix(m->by_id.seed, id), err) < 0)
        return -1;
    m->others[m->n_others++] = (struct id_map_entry){id, index};
    return 0;
}

int id_map_add(struct id_map *m, uint64_t id, size_t index, const char *what, struct err *err)
{
    if (id == 0)
        return err_set(err, ERR_FAILED, "malformed profile: found %s with reserved %s=0", what,
                       strcmp(what, "location") == 0 ? "id" : "ID");
    if (id_map_get(m, id) != PROFILE_NONE)
        return err_set(err, ERR_FAILED, "malformed profile: multiple %ss with same id: %llu", what,
                       (unsigned long long)id);
    if (index == 0)
        m->first = id;
    if (index == m->n_consecutive && id - m->first == index) {
        m->n_consecutive++;
        return 0;
    }
    if (!m->dense && begin_dense(m, err) < 0)
        return -1;
    if (id >= m->n_dense)
        return add_other(m, id, (uint32_t)index, err);
    m->dense[id] = (uint32_t)index;
    return 0;
}
