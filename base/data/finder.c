#include "base/data/finder.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/banned.h"

void finder_release(struct finder *f)
{
    free(f->slots);
    *f = (struct finder){0};
}

uint64_t finder_random(void)
{
    uint64_t v = 0;
    if (getrandom(&v, sizeof v, GRND_NONBLOCK) != sizeof v) {
        /* If getrandom fails, use an address and the time. */
        struct timespec now = {0};
        clock_gettime(CLOCK_MONOTONIC, &now);
        v = finder_mix((uint64_t)(uintptr_t)&v, (uint64_t)now.tv_nsec);
    }
    return v ? v : 1;
}

uint64_t finder_seed(struct finder *f)
{
    if (f->seed == 0)
        f->seed = finder_random();
    return f->seed;
}

uint64_t finder_mix_str(uint64_t hash, struct str s)
{
    uint64_t v = 0;
    hash = finder_mix(hash, s.n);
    for (; s.n >= sizeof v; s.p += sizeof v, s.n -= sizeof v) {
        memcpy(&v, s.p, sizeof v);
        hash = finder_mix(hash, v);
    }
    if (s.n == 0)
        return hash;
    v = 0;
    memcpy(&v, s.p, s.n);
    return finder_mix(hash, v);
}

uint32_t finder_find(const struct finder *f, uint64_t hash, finder_equal_fn *equal, const void *ctx)
{
    uint32_t folded = finder_slot_hash(hash);
    if (f->n_slots == 0)
        return FINDER_NONE;
    for (size_t at = folded; f->slots[at & (f->n_slots - 1)].number; at++) {
        const struct finder_slot *slot = &f->slots[at & (f->n_slots - 1)];
        if (slot->hash == folded && equal(ctx, slot->number - 1))
            return slot->number - 1;
    }
    return FINDER_NONE;
}

static void place_slot(struct finder *f, struct finder_slot slot)
{
    size_t mask = f->n_slots - 1, at = slot.hash & mask;
    while (f->slots[at].number)
        at = (at + 1) & mask;
    f->slots[at] = slot;
}

int finder_reserve(struct finder *f, size_t n, struct err *err)
{
    size_t wanted = f->n_slots ? f->n_slots : 64;
    if (n >= FINDER_NONE)
        return err_set(err, ERR_FAILED, "more than %u entries in one table", FINDER_NONE - 1);
    while (wanted / 3 * 2 < n)
        wanted *= 2;
    if (wanted == f->n_slots)
        return 0;
    struct finder old = *f;
    struct finder_slot *slots = calloc(wanted, sizeof *slots);
    if (!slots)
        return err_nomem(err);
    f->slots = slots;
    f->n_slots = wanted;
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.slots[i].number)
            place_slot(f, old.slots[i]);
    free(old.slots);
    return 0;
}

int finder_add(struct finder *f, uint64_t hash, struct err *err)
{
    if (finder_reserve(f, f->n + 1, err) < 0)
        return -1;
    place_slot(f, (struct finder_slot){(uint32_t)++f->n, finder_slot_hash(hash)});
    return 0;
}
