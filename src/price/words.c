// SPDX-License-Identifier: Apache-2.0
#include "price/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define TEXT_MAX ((size_t)1 << 30)

void words_release(struct words *words)
{
    buf_release(&words->text);
    free(words->at);
    free(words->slots);
    memset(words, 0, sizeof *words);
}

const char *words_text(const struct words *words, uint32_t number)
{
    return number < words->count ? words->text.data + words->at[number] : "";
}

static uint64_t hash_of(const char *text, size_t len)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); // FNV-1a
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

static uint32_t *slot_of(const struct words *words, const char *text, size_t len)
{
    size_t mask = words->slot_count - 1;
    for (size_t i = (size_t)hash_of(text, len) & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &words->slots[i];
        if (*slot == 0 || strcmp(words_text(words, *slot - 1), text) == 0)
            return slot;
    }
}

static int grow_slots(struct words *words, struct err *err)
{
    size_t count = words->slot_count ? words->slot_count * 2 : 1024;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return err_memory(err);
    free(words->slots);
    words->slots = slots;
    words->slot_count = count;
    for (size_t i = 0; i < words->count; i++) {
        const char *text = words_text(words, (uint32_t)i);
        *slot_of(words, text, strlen(text)) = (uint32_t)i + 1;
    }
    return 0;
}

static int append(struct words *words, const char *text, size_t len, uint32_t *number,
                  struct err *err)
{
    TRY(array_grow(&words->at, words->count, &words->cap, sizeof *words->at, err));
    words->text.max = TEXT_MAX; // offsets must fit into 32 bits
    size_t at = words->text.len;
    buf_add(&words->text, text, len + 1);
    TRY(buf_check(&words->text, err));
    words->at[words->count] = (uint32_t)at;
    *number = (uint32_t)words->count++;
    return 0;
}

int words_add(struct words *words, const char *text, uint32_t *number, struct err *err)
{
    if (words->count == 0 && *text != '\0')
        TRY(words_add(words, "", number, err));
    if (words->count * 2 >= words->slot_count)
        TRY(grow_slots(words, err));
    size_t len = strlen(text);
    uint32_t *slot = slot_of(words, text, len);
    if (*slot != 0) {
        *number = *slot - 1;
        return 0;
    }
    TRY(append(words, text, len, number, err));
    *slot = *number + 1;
    return 0;
}

static int by_text(const void *a, const void *b, void *arg)
{
    const struct words *words = arg;
    return strcmp(words_text(words, *(const uint32_t *)a), words_text(words, *(const uint32_t *)b));
}

uint32_t *words_rank(const struct words *words, struct err *err)
{
    uint32_t *order = malloc((words->count + 1) * sizeof *order);
    uint32_t *ranks = malloc((words->count + 1) * sizeof *ranks);
    if (!order || !ranks) {
        free(order);
        free(ranks);
        err_memory(err);
        return NULL;
    }
    for (size_t i = 0; i < words->count; i++)
        order[i] = (uint32_t)i;
    union {
        const struct words *in;
        void *out;
    } arg = {words};
    qsort_r(order, words->count, sizeof *order, by_text, arg.out);
    for (size_t i = 0; i < words->count; i++)
        ranks[order[i]] = (uint32_t)i;
    free(order);
    return ranks;
}
