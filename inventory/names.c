#include "inventory/names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static unsigned char folded(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

bool names_fold_equal(const char *a, const char *b)
{
    while (*a && folded(*a) == folded(*b)) {
        a++;
        b++;
    }
    return folded(*a) == folded(*b);
}

/* FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/). */
static size_t hash(const struct names *t, const char *s)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *s; s++)
        h = (h ^ (t->fold ? folded(*s) : (unsigned char)*s)) * UINT64_C(1099511628211);
    return (size_t)(h ^ h >> 32);
}

static bool same(const struct names *t, const char *a, const char *b)
{
    return t->fold ? names_fold_equal(a, b) : strcmp(a, b) == 0;
}

/* The slot that holds the name, or the free one where it belongs. At least one slot is free. */
static size_t *slot_of(const struct names *t, const char *name, size_t h)
{
    size_t i = h & (t->n_slots - 1);
    while (t->slots[i]) {
        const struct names_entry *e = &t->entries[t->slots[i] - 1];
        if (e->hash == h && same(t, e->name, name))
            break;
        i = (i + 1) & (t->n_slots - 1);
    }
    return &t->slots[i];
}

/* A free one for a name that is not there. */
static size_t *free_slot(const struct names *t, size_t h)
{
    size_t i = h & (t->n_slots - 1);
    while (t->slots[i])
        i = (i + 1) & (t->n_slots - 1);
    return &t->slots[i];
}

static int grow(struct names *t, struct err *err)
{
    size_t n = t->n_slots ? t->n_slots * 2 : 16;
    size_t *slots = calloc(n, sizeof *slots);
    if (!slots)
        return err_nomem(err);
    free(t->slots);
    t->slots = slots;
    t->n_slots = n;
    for (size_t i = 0; i < t->n; i++)
        *free_slot(t, t->entries[i].hash) = i + 1;
    return 0;
}

int names_add(struct names *t, const char *name, const void *value, struct err *err)
{
    if (array_reserve((void **)&t->entries, &t->cap, t->n + 1, sizeof *t->entries, err) < 0)
        return -1;
    if ((t->n + 1) * 4 > t->n_slots * 3 && grow(t, err) < 0)
        return -1;
    size_t h = hash(t, name);
    *free_slot(t, h) = t->n + 1;
    t->entries[t->n++] = (struct names_entry){.name = name, .value = value, .hash = h};
    return 0;
}

const void *names_get(const struct names *t, const char *name)
{
    size_t at = t->n_slots ? *slot_of(t, name, hash(t, name)) : 0;
    return at ? t->entries[at - 1].value : NULL;
}

void names_offer(const struct names *t, struct nearest *near)
{
    for (size_t i = 0; i < t->n; i++)
        nearest_offer(near, t->entries[i].name);
}

void names_release(struct names *t)
{
    free(t->entries);
    free(t->slots);
    *t = (struct names){0};
}
