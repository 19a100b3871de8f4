// SPDX-License-Identifier: Apache-2.0
// array: growth for arrays that are a pointer, a count and a capacity.
#ifndef FARE_BASE_ARRAY_H
#define FARE_BASE_ARRAY_H

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

// Makes room for one more item of `size` bytes. `array` is the address of the pointer, which may be
// null while `*cap` is 0. Fails only for lack of memory; the array then stays as it was.
static inline int array_grow(void *array, size_t count, size_t *cap, size_t size, struct err *err)
{
    void *items;
    if (count < *cap)
        return 0;
    size_t more = *cap ? *cap * 2 : 64;
    memcpy(&items, array, sizeof items);
    items = realloc(items, more * size);
    if (!items)
        return err_memory(err);
    memcpy(array, &items, sizeof items);
    *cap = more;
    return 0;
}

#endif
