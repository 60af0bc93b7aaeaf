#include "base/data/array.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/banned.h"

int array_grow(void **items, size_t *cap, size_t need, size_t size, struct err *err)
{
    size_t grown = *cap ? *cap : 4;
    while (grown < need) {
        if (grown > SIZE_MAX / 2 / size)
            return err_nomem(err);
        grown *= 2;
    }
    void *p = realloc(*items, grown * size);
    if (!p)
        return err_nomem(err);
    *items = p;
    *cap = grown;
    return 0;
}
