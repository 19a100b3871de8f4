// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cpu/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"

#define LARGE_PAGE ((size_t)2 << 20)

void arena_release(struct arena *arena)
{
    free(arena->buffers);
    free(arena->block);
    memset(arena, 0, sizeof *arena);
}

int arena_add(struct arena *arena, size_t bytes, int from, int to, struct err *err)
{
    if (array_grow(&arena->buffers, (size_t)arena->count, &arena->cap, sizeof *arena->buffers,
                   err) != 0)
        return -1;
    // Passes round up to whole vectors.
    bytes = (bytes + 2 * ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    arena->buffers[arena->count] = (struct buffer){.bytes = bytes, .from = from, .to = to};
    return arena->count++;
}

static int larger_first(const void *a_, const void *b_)
{
    const struct buffer *const *a = a_, *const *b = b_;
    if ((*a)->bytes != (*b)->bytes)
        return (*a)->bytes > (*b)->bytes ? -1 : 1;
    return *a < *b ? -1 : *a > *b; // the same on every C library
}

static int lower_first(const void *a_, const void *b_)
{
    const struct buffer *const *a = a_, *const *b = b_;
    if ((*a)->offset != (*b)->offset)
        return (*a)->offset < (*b)->offset ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

// The lowest offset for `buffer` between its neighbours, which live at the same time and are
// sorted.
static size_t lowest(const struct buffer *buffer, struct buffer *const *neighbours, int count)
{
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        if (neighbours[i]->offset >= at + buffer->bytes)
            break;
        size_t end = neighbours[i]->offset + neighbours[i]->bytes;
        at = end > at ? end : at;
    }
    return at;
}

int arena_place(struct arena *arena, struct err *err)
{
    size_t count = (size_t)arena->count;
    SCOPED(free_pointer) struct buffer **order = malloc((2 * count + 1) * sizeof *order);
    if (!order)
        return err_memory(err);
    struct buffer **neighbours = order + count;
    for (size_t i = 0; i < count; i++)
        order[i] = &arena->buffers[i];
    qsort(order, count, sizeof *order, larger_first);
    arena->bytes = 0;
    for (size_t i = 0; i < count; i++) {
        struct buffer *buffer = order[i];
        if (buffer->to < buffer->from)
            continue;
        size_t near = 0;
        for (size_t k = 0; k < i; k++)
            if (order[k]->to >= order[k]->from && order[k]->from <= buffer->to &&
                order[k]->to >= buffer->from)
                neighbours[near++] = order[k];
        qsort(neighbours, near, sizeof *neighbours, lower_first);
        buffer->offset = lowest(buffer, neighbours, (int)near);
        if (buffer->offset + buffer->bytes > arena->bytes)
            arena->bytes = buffer->offset + buffer->bytes;
    }
    return 0;
}

void *arena_memory(size_t bytes, void **block, struct err *err)
{
    size_t align = bytes >= 2 * LARGE_PAGE ? LARGE_PAGE : ARENA_ALIGN;
    *block = bytes < SIZE_MAX - align ? calloc(1, bytes + align) : NULL;
    if (!*block) {
        err_memory(err);
        return NULL;
    }
    uintptr_t at = ((uintptr_t)*block + align - 1) / align * align;
    // Only a hint: without huge pages everything works, more slowly.
    if (align == LARGE_PAGE)
        (void)madvise((void *)at, bytes / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
    return (void *)at;
}

int arena_allocate(struct arena *arena, struct err *err)
{
    arena->data = arena_memory(arena->bytes, &arena->block, err);
    return arena->data ? 0 : ERR_MEMORY;
}

void *arena_at(const struct arena *arena, int buffer)
{
    if (buffer < 0 || arena->buffers[buffer].to < arena->buffers[buffer].from)
        return NULL;
    return arena->data + arena->buffers[buffer].offset;
}
