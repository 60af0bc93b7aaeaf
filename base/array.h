/* Growing plain arrays by doubling. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

#include "base/err.h"

/* array_reserve, where there is not room enough. */
int array_grow(void **items, size_t *cap, size_t need, size_t size, struct err *err);

/* Makes *items hold at least `need` elements of `size` bytes; *cap is how many it holds. The array is freed
 * with free(). On failure it is untouched. */
static inline int array_reserve(void **items, size_t *cap, size_t need, size_t size, struct err *err)
{
    int rc = need <= *cap ? 0 : array_grow(items, cap, need, size, err);
#ifdef __clang_analyzer__
    /* It does not see that room for something is somewhere. */
    __builtin_assume(rc < 0 || need == 0 || *items);
#endif
    return rc;
}

#endif
