/* Labels of a sample by kind and key: texts first, as google/pprof keeps and writes them. */
#ifndef PROTO_LABEL_ORDER_H
#define PROTO_LABEL_ORDER_H

#include "proto/profile.h"

struct label_place;

struct label_order {
    uint32_t *ranks; /* of each string as a key; NULL: its index */
    struct label_place *places;
    size_t cap_places;
    struct profile_label *sorted;
    size_t cap_sorted;
};

/* By the keys' texts. One that is all 0 sorts by the keys' indices, which is enough to compare labels. */
int label_order_init(struct label_order *o, const struct profile *p, struct err *err);
void label_order_release(struct label_order *o);

/*
 * Labels of one kind and key keep their order. *ret: n of them, good until the next call; `labels` itself if
 * they are in order.
 */
int label_order_sort(struct label_order *o, const struct profile_label *labels, size_t n,
                     const struct profile_label **ret, struct err *err);

#endif
