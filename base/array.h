/* Growing plain arrays by doubling. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

#include "base/err.h"

/* Makes *items hold at least `need` elements of `size` bytes; *cap is how many it holds. The array is freed
 * with free(). On failure it is untouched. */
int array_reserve(void **items, size_t *cap, size_t need, size_t size, struct err *err);

#endif
