#include <stdlib.h>

#include "proto/label_order.h"
#include "base/banned.h"

/* A label's sort key, and its position among the labels before sorting. */
struct label_position {
    uint64_t sort_key;
    size_t at;
};

struct key {
    struct str text;
    uint32_t index;
};

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    return str_compare(x->text, y->text);
}

static int compare_positions(const void *a, const void *b)
{
    const struct label_position *x = a, *y = b;
    if (x->sort_key != y->sort_key)
        return x->sort_key < y->sort_key ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Collects the distinct keys. */
static int gather_keys(const struct profile *p, uint32_t *seen, struct key **ret, size_t *ret_n,
                       struct err *err)
{
    struct key *keys = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < p->n_labels; i++) {
        uint32_t index = p->labels[i].key;
        if (seen[index])
            continue;
        if (array_reserve((void **)&keys, &cap, n + 1, sizeof *keys, err) < 0) {
            free(keys);
            return -1;
        }
        seen[index] = 1;
        keys[n++] = (struct key){profile_str(p, index), index};
    }
    *ret = keys;
    *ret_n = n;
    return 0;
}

int label_order_init(struct label_order *o, const struct profile *p, struct err *err)
{
    struct key *keys = NULL;
    size_t n = 0;
    *o = (struct label_order){.ranks = calloc(profile_n_strings(p), sizeof *o->ranks)};
    if (!o->ranks)
        return err_nomem(err);
    if (gather_keys(p, o->ranks, &keys, &n, err) < 0) {
        label_order_release(o);
        return -1;
    }
    if (n)
        qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 0; i < n; i++)
        o->ranks[keys[i].index] = (uint32_t)i;
    free(keys);
    return 0;
}

void label_order_release(struct label_order *o)
{
    free(o->ranks);
    free(o->positions);
    free(o->sorted);
    *o = (struct label_order){0};
}

static uint64_t make_sort_key(const struct label_order *o, const struct profile_label *l)
{
    return (uint64_t)l->is_number << 32 | (o->ranks ? o->ranks[l->key] : l->key);
}

static bool is_sorted(const struct label_order *o, const struct profile_label *labels, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (make_sort_key(o, &labels[i - 1]) > make_sort_key(o, &labels[i]))
            return false;
    return true;
}

int label_order_sort(struct label_order *o, const struct profile_label *labels, size_t n,
                     const struct profile_label **ret, struct err *err)
{
    *ret = labels;
    if (is_sorted(o, labels, n))
        return 0;
    if (array_reserve((void **)&o->positions, &o->cap_positions, n, sizeof *o->positions, err) < 0 ||
        array_reserve((void **)&o->sorted, &o->cap_sorted, n, sizeof *o->sorted, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        o->positions[i] = (struct label_position){make_sort_key(o, &labels[i]), i};
    qsort(o->positions, n, sizeof *o->positions, compare_positions);
    for (size_t i = 0; i < n; i++)
        o->sorted[i] = labels[o->positions[i].at];
    *ret = o->sorted;
    return 0;
}
