/* Plain arrays that grow by doubling. */
#ifndef BASE_DATA_ARRAY_H
#define BASE_DATA_ARRAY_H

#include <stddef.h>

#include "base/data/err.h"

/* The part of array_reserve that allocates. Only array_reserve calls it. */
int array_grow(void **items, size_t *cap, size_t need, size_t size, struct err *err);

/* Makes room for `need` elements in total, of `size` bytes each. *cap is the array's capacity in elements.
 * The caller frees *items with free(). A failure leaves *items and *cap unchanged. */
static inline int array_reserve(void **items, size_t *cap, size_t need, size_t size, struct err *err)
{
    int rc = need <= *cap ? 0 : array_grow(items, cap, need, size, err);
#ifdef __clang_analyzer__
    /* The analyzer does not infer that room for an element means a non-NULL array. */
    __builtin_assume(rc < 0 || need == 0 || *items);
#endif
    return rc;
}

#endif
