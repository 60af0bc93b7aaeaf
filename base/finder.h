/*
 * Finding equal ones among numbered things: open addressing over their hashes.
 *
 * The things come out of files that somebody else wrote. So that nobody can choose them to have one hash,
 * each finder's hashes begin with a number of its own that nobody knows: finder_seed, and finder_mix one
 * after the other.
 */
#ifndef BASE_FINDER_H
#define BASE_FINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define FINDER_NONE UINT32_MAX

/* A thing, with so much of its hash that others are seldom looked at. */
struct finder_slot {
    uint32_t number; /* + 1, or 0 */
    uint32_t hash;
};

/* All 0: empty. */
struct finder {
    struct finder_slot *slots;
    size_t n_slots; /* a power of two */
    size_t n;
    uint64_t seed; /* 0: not drawn as yet */
};

void finder_release(struct finder *f);

/* A number that nobody knows, never 0. */
uint64_t finder_random(void);

/* What hashes of this finder's things begin with: random, and the same until finder_release. */
uint64_t finder_seed(struct finder *f);

/* Makes room for so many things in all. Never needed: finder_add does it step by step. */
int finder_reserve(struct finder *f, size_t n, struct err *err);

/* Whether the thing of that number is the one that ctx describes. */
typedef bool finder_equal_fn(const void *ctx, uint32_t number);

/* The number of the thing, or FINDER_NONE. */
uint32_t finder_find(const struct finder *f, uint64_t hash, finder_equal_fn *equal, const void *ctx);
/* Adds the next thing: its number is how many there were. */
int finder_add(struct finder *f, uint64_t hash, struct err *err);

/* The half of a hash that slots have; the slot that it begins to look at is told by it, too. */
static inline uint32_t finder_fold(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

/* What will be looked for soon: has the memory that takes on its way. */
static inline void finder_expect(const struct finder *f, uint64_t hash)
{
    if (f->n_slots)
        __builtin_prefetch(&f->slots[finder_fold(hash) & (f->n_slots - 1)]);
}

/* Of the 128 bits of a product, both halves: every bit of the one depends on all of the other's. */
static inline uint64_t finder_mix(uint64_t hash, uint64_t v)
{
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t a = hash ^ v;
#ifdef __SIZEOF_INT128__
    __extension__ unsigned __int128 product = (unsigned __int128)a * factor;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t low = (a & UINT32_MAX) * (factor & UINT32_MAX), left = (a >> 32) * (factor & UINT32_MAX),
             right = (a & UINT32_MAX) * (factor >> 32) + (low >> 32), middle = left + (right & UINT32_MAX);
    return a * factor ^ ((a >> 32) * (factor >> 32) + (right >> 32) + (middle >> 32));
#endif
}

/* Mixes in a text, and how long it is. */
uint64_t finder_mix_str(uint64_t hash, struct str s);

#endif
