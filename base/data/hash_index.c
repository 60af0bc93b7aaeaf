#include "base/data/hash_index.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/banned.h"

void hash_index_release(struct hash_index *h)
{
    free(h->slots);
    *h = (struct hash_index){0};
}

uint64_t hash_index_random(void)
{
    uint64_t v = 0;
    if (getrandom(&v, sizeof v, GRND_NONBLOCK) != sizeof v) {
        /* If getrandom fails, use an address and the time. */
        struct timespec now = {0};
        clock_gettime(CLOCK_MONOTONIC, &now);
        v = hash_index_mix((uint64_t)(uintptr_t)&v, (uint64_t)now.tv_nsec);
    }
    return v ? v : 1;
}

uint64_t hash_index_seed(struct hash_index *h)
{
    if (h->seed == 0)
        h->seed = hash_index_random();
    return h->seed;
}

uint64_t hash_index_mix_str(uint64_t hash, struct str s)
{
    uint64_t v = 0;
    hash = hash_index_mix(hash, s.n);
    for (; s.n >= sizeof v; s.p += sizeof v, s.n -= sizeof v) {
        memcpy(&v, s.p, sizeof v);
        hash = hash_index_mix(hash, v);
    }
    if (s.n == 0)
        return hash;
    v = 0;
    memcpy(&v, s.p, s.n);
    return hash_index_mix(hash, v);
}

uint32_t hash_index_find(const struct hash_index *h, uint64_t hash, hash_index_equal_fn *equal,
                         const void *ctx)
{
    uint32_t slot_hash = hash_index_slot_hash(hash);
    if (h->n_slots == 0)
        return HASH_INDEX_NONE;
    for (size_t at = slot_hash; h->slots[at & (h->n_slots - 1)].index_plus_1; at++) {
        const struct hash_index_slot *slot = &h->slots[at & (h->n_slots - 1)];
        if (slot->hash == slot_hash && equal(ctx, slot->index_plus_1 - 1))
            return slot->index_plus_1 - 1;
    }
    return HASH_INDEX_NONE;
}

static void place_slot(struct hash_index *h, struct hash_index_slot slot)
{
    size_t mask = h->n_slots - 1, at = slot.hash & mask;
    while (h->slots[at].index_plus_1)
        at = (at + 1) & mask;
    h->slots[at] = slot;
}

int hash_index_reserve(struct hash_index *h, size_t n, struct err *err)
{
    size_t wanted = h->n_slots ? h->n_slots : 64;
    if (n >= HASH_INDEX_NONE)
        return err_set(err, ERR_FAILED, "more than %u entries in one table", HASH_INDEX_NONE - 1);
    while (wanted / 3 * 2 < n)
        wanted *= 2;
    if (wanted == h->n_slots)
        return 0;
    struct hash_index old = *h;
    struct hash_index_slot *slots = calloc(wanted, sizeof *slots);
    if (!slots)
        return err_nomem(err);
    h->slots = slots;
    h->n_slots = wanted;
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.slots[i].index_plus_1)
            place_slot(h, old.slots[i]);
    free(old.slots);
    return 0;
}

int hash_index_add(struct hash_index *h, uint64_t hash, struct err *err)
{
    if (hash_index_reserve(h, h->n + 1, err) < 0)
        return -1;
    place_slot(h, (struct hash_index_slot){(uint32_t)++h->n, hash_index_slot_hash(hash)});
    return 0;
}
