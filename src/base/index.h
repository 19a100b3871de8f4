// SPDX-License-Identifier: Apache-2.0
// index: texts numbered 0, 1, 2, ... in the order of their first appearance.
//
// For grouping: the number is an index into an array of the caller's. The texts are copied and may
// hold any bytes. A zeroed struct is empty.
#ifndef FARE_BASE_INDEX_H
#define FARE_BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct index_slot {
    uint64_t hash;
    size_t at, len; // in `keys`
    size_t number;  // plus one; 0: the slot is free
};

struct index {
    struct index_slot *slots;
    size_t capacity; // a power of two
    size_t count;
    struct buf keys;
};

// The text's number. A new text is added and gets the next one; finding a known text cannot fail.
int index_number(struct index *index, const char *key, size_t len, size_t *number,
                 struct err *err) MUST_USE;
// The same for a text that may not be there: false if so.
bool index_find(const struct index *index, const char *key, size_t len, size_t *number);
void index_release(struct index *index);

#endif
