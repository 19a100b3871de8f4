// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };
#define KEYS_MAX ((size_t)1 << 30)

// FNV-1a, with its bits mixed once more, because the low ones choose the slot.
static uint64_t hash_of(const char *key, size_t len)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)key[i]) * UINT64_C(1099511628211);
    return hash ^ hash >> 32;
}

static int grow(struct index *index, struct err *err)
{
    size_t capacity = index->capacity ? index->capacity * 2 : FIRST_CAPACITY;
    struct index_slot *slots = calloc(capacity, sizeof *slots);
    if (!slots)
        return err_memory(err);
    for (size_t i = 0; i < index->capacity; i++) {
        if (index->slots[i].number == 0)
            continue;
        size_t at = index->slots[i].hash & (capacity - 1);
        while (slots[at].number != 0)
            at = (at + 1) & (capacity - 1);
        slots[at] = index->slots[i];
    }
    free(index->slots);
    index->slots = slots;
    index->capacity = capacity;
    return 0;
}

// The slot that has the key, or the free one where it belongs. There always is one.
static struct index_slot *slot_of(const struct index *index, uint64_t hash, const char *key,
                                  size_t len)
{
    size_t at = hash & (index->capacity - 1);
    for (; index->slots[at].number != 0; at = (at + 1) & (index->capacity - 1)) {
        const struct index_slot *slot = &index->slots[at];
        if (slot->hash == hash && slot->len == len &&
            (len == 0 || memcmp(index->keys.data + slot->at, key, len) == 0))
            break;
    }
    return &index->slots[at];
}

int index_number(struct index *index, const char *key, size_t len, size_t *number, struct err *err)
{
    uint64_t hash = hash_of(key, len);
    struct index_slot *slot = index->capacity > 0 ? slot_of(index, hash, key, len) : NULL;
    if (slot && slot->number != 0) {
        *number = slot->number - 1;
        return 0;
    }
    if (index->count * 2 >= index->capacity) {
        int rc = grow(index, err);
        if (rc != 0)
            return rc;
        slot = slot_of(index, hash, key, len);
    }
    size_t start = index->keys.len;
    index->keys.max = KEYS_MAX;
    buf_add(&index->keys, key, len);
    int rc = buf_check(&index->keys, err);
    if (rc != 0) {
        index->keys.failed = false; // nothing was added: the next call may have more luck
        return rc;
    }
    *slot = (struct index_slot){hash, start, len, index->count + 1};
    *number = index->count++;
    return 0;
}

bool index_find(const struct index *index, const char *key, size_t len, size_t *number)
{
    const struct index_slot *slot =
        index->capacity > 0 ? slot_of(index, hash_of(key, len), key, len) : NULL;
    if (!slot || slot->number == 0)
        return false;
    *number = slot->number - 1;
    return true;
}

void index_release(struct index *index)
{
    free(index->slots);
    buf_release(&index->keys);
    memset(index, 0, sizeof *index);
}
