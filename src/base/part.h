// SPDX-License-Identifier: Apache-2.0
// part: some things divided among several, in contiguous parts that differ by at most one.
#ifndef FARE_BASE_PART_H
#define FARE_BASE_PART_H

#include <stdint.h>

// Part `index` of `parts` (at least 1) is [*first, *first + *size) of [0, count); it may be empty.
static inline void part_of(int64_t count, int index, int parts, int64_t *first, int64_t *size)
{
    int64_t each = count / parts, more = count % parts;
    *first = index * each + (index < more ? index : more);
    *size = each + (index < more);
}

#endif
