// SPDX-License-Identifier: Apache-2.0
// array: growth for arrays that are a pointer, a count and a capacity.
#ifndef FARE_BASE_ARRAY_H
#define FARE_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
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

// ==== index ====
// Texts numbered 0, 1, 2, ... in the order of their first appearance.
//
// For grouping: the number is an index into an array of the caller's. The texts are copied and may
// hold any bytes. A zeroed struct is empty.

struct index_key {
    uint64_t hash;
    size_t at, len; // in `texts`
};

struct index_slot {
    uint32_t hash;   // its upper half, compared before the text itself
    uint32_t number; // plus one; 0: the slot is free
};

struct index {
    struct index_key *keys; // by number
    size_t count, capacity;
    struct buf texts; // one after the other, each with a NUL
    struct index_slot *slots;
    size_t slot_count; // a power of two
};

// The text's number. A new text is added and gets the next one; finding a known text cannot fail.
int index_number(struct index *index, const char *key, size_t len, size_t *number,
                 struct err *err) MUST_USE;
// The same for a text that may not be there: false if so.
bool index_find(const struct index *index, const char *key, size_t len, size_t *number);
const char *index_text(const struct index *index, size_t number); // until the next is added
void index_release(struct index *index);

#endif
