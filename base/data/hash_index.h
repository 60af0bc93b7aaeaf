/*
 * A hash table with open addressing. It finds the index of an entry in the caller's array. The caller
 * compares entries.
 *
 * Hashes of untrusted entries start with hash_index_seed, a random value of each table, so that an attacker
 * cannot craft collisions. hash_index_mix adds each part of an entry to the hash.
 */
#ifndef BASE_DATA_HASH_INDEX_H
#define BASE_DATA_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/err.h"
#include "base/data/str.h"

#define HASH_INDEX_NONE UINT32_MAX

/* An entry's index and half of its hash. Comparing the halves first avoids most calls of `equal`. */
struct hash_index_slot {
    uint32_t index_plus_1; /* 0: empty slot */
    uint32_t hash;
};

/* A zeroed struct is an empty table. */
struct hash_index {
    struct hash_index_slot *slots;
    size_t n_slots; /* a power of two */
    size_t n;
    uint64_t seed; /* 0: not generated yet */
};

void hash_index_release(struct hash_index *h);

/* Returns an unpredictable number, never 0. */
uint64_t hash_index_random(void);

/* Returns the start value of this table's hashes: random, and constant until hash_index_release. */
uint64_t hash_index_seed(struct hash_index *h);

/* Makes room for n entries in total. Optional: hash_index_add grows the table. */
int hash_index_reserve(struct hash_index *h, size_t n, struct err *err);

/* Returns whether the entry at `index` of the caller's array equals the entry that ctx describes. */
typedef bool hash_index_equal_fn(const void *ctx, uint32_t index);

/* Returns the index of the entry, or HASH_INDEX_NONE. */
uint32_t hash_index_find(const struct hash_index *h, uint64_t hash, hash_index_equal_fn *equal,
                         const void *ctx);

/* Adds an entry. Its index is the number of entries that were added before. */
int hash_index_add(struct hash_index *h, uint64_t hash, struct err *err);

/* Returns the half of a hash that a slot stores. That half also selects the first slot to probe. */
static inline uint32_t hash_index_slot_hash(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

/* Prefetches the slot that hash_index_find will read for this hash. */
static inline void hash_index_prefetch(const struct hash_index *h, uint64_t hash)
{
    if (h->n_slots)
        __builtin_prefetch(&h->slots[hash_index_slot_hash(hash) & (h->n_slots - 1)]);
}

/* Mixes v into the hash: XORs both halves of a 128-bit product, so that each bit of the result depends on all
 * bits of the input. */
static inline uint64_t hash_index_mix(uint64_t hash, uint64_t v)
{
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t a = hash ^ v;
#ifdef __SIZEOF_INT128__
    __extension__ unsigned __int128 product = (unsigned __int128)a * factor;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t low_low = (a & UINT32_MAX) * (factor & UINT32_MAX);
    uint64_t high_low = (a >> 32) * (factor & UINT32_MAX);
    uint64_t low_high = (a & UINT32_MAX) * (factor >> 32) + (low_low >> 32);
    uint64_t middle = high_low + (low_high & UINT32_MAX);
    return a * factor ^ ((a >> 32) * (factor >> 32) + (low_high >> 32) + (middle >> 32));
#endif
}

/* Mixes a text and its length into the hash. */
uint64_t hash_index_mix_str(uint64_t hash, struct str s);

#endif
