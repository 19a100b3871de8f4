// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };
#define TEXTS_MAX ((size_t)UINT32_MAX) // and so no more texts

// FNV-1a, with its bits mixed once more, because the low ones choose the slot.
static uint64_t hash_of(const char *key, size_t len)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)key[i]) * UINT64_C(1099511628211);
    return hash ^ hash >> 32;
}

// The slot that has the key, or the free one where it belongs. There always is one.
static struct index_slot *slot_of(const struct index *index, uint64_t hash, const char *key,
                                  size_t len)
{
    size_t at = hash & (index->slot_count - 1);
    for (; index->slots[at].number != 0; at = (at + 1) & (index->slot_count - 1)) {
        const struct index_key *known = &index->keys[index->slots[at].number - 1];
        if (index->slots[at].hash == hash >> 32 && known->len == len &&
            (len == 0 || memcmp(index->texts.data + known->at, key, len) == 0))
            break;
    }
    return &index->slots[at];
}

// Keeps the table at most half full.
static int grow_slots(struct index *index, struct err *err)
{
    if (index->count * 2 < index->slot_count)
        return 0;
    size_t count = index->slot_count ? index->slot_count * 2 : FIRST_SLOTS;
    struct index_slot *slots = calloc(count, sizeof *slots);
    if (!slots)
        return err_memory(err);
    for (size_t i = 0; i < index->count; i++) {
        size_t at = index->keys[i].hash & (count - 1);
        while (slots[at].number != 0)
            at = (at + 1) & (count - 1);
        slots[at] = (struct index_slot){(uint32_t)(index->keys[i].hash >> 32), (uint32_t)i + 1};
    }
    free(index->slots);
    index->slots = slots;
    index->slot_count = count;
    return 0;
}

static int add_key(struct index *index, uint64_t hash, const char *key, size_t len, struct err *err)
{
    size_t at = index->texts.len;
    TRY(grow_slots(index, err));
    TRY(array_grow(&index->keys, index->count, &index->capacity, sizeof *index->keys, err));
    index->texts.max = TEXTS_MAX;
    char *text = buf_reserve(&index->texts, len + 1);
    if (!text) {
        index->texts.failed = false; // nothing was added: the next call may have more luck
        return err_memory(err);
    }
    if (len > 0)
        memcpy(text, key, len);
    text[len] = '\0';
    buf_advance(&index->texts, len + 1);
    index->keys[index->count++] = (struct index_key){hash, at, len};
    *slot_of(index, hash, key, len) =
        (struct index_slot){(uint32_t)(hash >> 32), (uint32_t)index->count};
    return 0;
}

int index_number(struct index *index, const char *key, size_t len, size_t *number, struct err *err)
{
    if (index_find(index, key, len, number))
        return 0;
    *number = index->count;
    return add_key(index, hash_of(key, len), key, len, err);
}

bool index_find(const struct index *index, const char *key, size_t len, size_t *number)
{
    const struct index_slot *slot =
        index->slot_count > 0 ? slot_of(index, hash_of(key, len), key, len) : NULL;
    if (!slot || slot->number == 0)
        return false;
    *number = slot->number - 1;
    return true;
}

const char *index_text(const struct index *index, size_t number)
{
    return index->texts.data + index->keys[number].at;
}

void index_release(struct index *index)
{
    free(index->keys);
    free(index->slots);
    buf_release(&index->texts);
    memset(index, 0, sizeof *index);
}
