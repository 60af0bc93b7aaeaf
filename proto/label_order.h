/* Sorts the labels of a sample as google/pprof does: texts before numbers, then by key. */
#ifndef PROTO_LABEL_ORDER_H
#define PROTO_LABEL_ORDER_H

#include "proto/profile.h"

struct label_place;

struct label_order {
    uint32_t *ranks; /* rank of each string as a key; NULL: its index */
    struct label_place *places;
    size_t cap_places;
    struct profile_label *sorted;
    size_t cap_sorted;
};

/* Ranks keys by their texts. An order that is all 0 sorts by the keys' indices, which is enough to compare
 * labels. */
int label_order_init(struct label_order *o, const struct profile *p, struct err *err);
void label_order_release(struct label_order *o);

/*
 * Sorts n labels; equal kind and key keep their order. *ret is valid until the next call, and is `labels`
 * itself if it is sorted.
 */
int label_order_sort(struct label_order *o, const struct profile_label *labels, size_t n,
                     const struct profile_label **ret, struct err *err);

#endif
