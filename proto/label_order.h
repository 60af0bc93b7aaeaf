/* Sorts the labels of a sample as google/pprof does: labels with a text before labels with a number, then by
 * key. */
#ifndef PROTO_LABEL_ORDER_H
#define PROTO_LABEL_ORDER_H

#include "proto/profile.h"

struct label_position;

struct label_order {
    uint32_t *ranks; /* each key's position in the order of the texts; NULL: labels are sorted by index */
    struct label_position *positions;
    size_t cap_positions;
    struct profile_label *sorted;
    size_t cap_sorted;
};

/* Sorts the profile's keys by their texts. An all-zero struct instead sorts labels by the indices of their
 * keys, which is enough to find equal sets of labels. */
int label_order_init(struct label_order *o, const struct profile *p, struct err *err);
void label_order_release(struct label_order *o);

/*
 * Sorts n labels. Labels with the same key and the same kind of value keep their order. *ret is valid until
 * the next call. If `labels` is sorted already, *ret is `labels`.
 */
int label_order_sort(struct label_order *o, const struct profile_label *labels, size_t n,
                     const struct profile_label **ret, struct err *err);

#endif
