#include <stdlib.h>
#include <string.h>

#include "proto/strtab.h"
#include "base/banned.h"

#define CHUNK 65536

struct wanted {
    const struct strtab *t;
    struct str s;
};

static bool is_wanted(const void *ctx, uint32_t index)
{
    const struct wanted *w = ctx;
    return str_equal(w->t->items[index], w->s);
}

static int reserve_strings(struct strtab *t, size_t n, struct err *err)
{
    return hash_index_reserve(&t->by_text, n, err) < 0
               ? -1
               : array_reserve((void **)&t->items, &t->cap, n, sizeof *t->items, err);
}

int strtab_init(struct strtab *t, size_t expected, struct err *err)
{
    uint32_t zero = 0;
    *t = (struct strtab){0};
    if (reserve_strings(t, expected + 1, err) == 0 && strtab_refer(t, (struct str){"", 0}, &zero, err) == 0)
        return 0;
    strtab_release(t);
    return -1;
}

void strtab_release(struct strtab *t)
{
    for (size_t i = 0; i < t->n_chunks; i++)
        free(t->chunks[i]);
    free(t->chunks);
    free(t->items);
    hash_index_release(&t->by_text);
    *t = (struct strtab){0};
}

/* Allocates a new chunk. */
static char *add_chunk(struct strtab *t, size_t size, struct err *err)
{
    if (array_reserve((void **)&t->chunks, &t->cap_chunks, t->n_chunks + 1, sizeof *t->chunks, err) < 0)
        return NULL;
    char *p = malloc(size);
    if (!p) {
        err_nomem(err);
        return NULL;
    }
    t->chunks[t->n_chunks++] = p;
    return p;
}

/* Reserves n bytes that never move. */
static char *reserve_text(struct strtab *t, size_t n, struct err *err)
{
    if (n > CHUNK / 4)
        return add_chunk(t, n, err);
    if (n > t->n_free) {
        char *p = add_chunk(t, CHUNK, err);
        if (!p)
            return NULL;
        t->free = p;
        t->n_free = CHUNK;
    }
    char *p = t->free;
    t->free += n;
    t->n_free -= n;
    return p;
}

static int add_string(struct strtab *t, struct str s, bool must_copy, uint32_t *ret, struct err *err)
{
    uint64_t hash = hash_index_mix_str(hash_index_seed(&t->by_text), s);
    uint32_t at = hash_index_find(&t->by_text, hash, is_wanted, &(struct wanted){t, s});
    if (at == HASH_INDEX_NONE) {
        at = (uint32_t)t->n;
        char *p = must_copy && s.n ? reserve_text(t, s.n, err) : NULL;
        if ((must_copy && s.n && !p) || reserve_strings(t, t->n + 1, err) < 0 ||
            hash_index_add(&t->by_text, hash, err) < 0)
            return -1;
        if (p)
            s.p = memcpy(p, s.p, s.n);
        t->items[t->n++] = s;
    }
    *ret = at;
    return 0;
}

int strtab_refer(struct strtab *t, struct str s, uint32_t *ret, struct err *err)
{
    return add_string(t, s, false, ret, err);
}

int strtab_copy(struct strtab *t, struct str s, uint32_t *ret, struct err *err)
{
    return add_string(t, s, true, ret, err);
}
