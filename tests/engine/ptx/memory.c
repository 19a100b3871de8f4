// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <stdlib.h>
#include <string.h>

enum { READERS = 3 };

// Of a word, since memory_begin(): -1 is nobody.
struct use {
    uint32_t since;
    uint32_t writer_block, reader_block; // of the last launch that did; the latter may be MANY
    int16_t writer, readers[READERS];    // launches; readers: since it was written
    int16_t rival;                       // another one that wrote, without an order
    bool contested;                      // what it holds depends on who came last
};
#define MANY UINT32_MAX

static struct piece {
    struct ptx_memory at;
    struct use *uses; // made when they are needed
} * pieces, *last;
static size_t piece_count;

static uint32_t now = 1;
static int launch;
static bool (*before)(int other, int launch);

void *memory_give(size_t bytes)
{
    struct piece *more = realloc(pieces, (piece_count + 1) * sizeof *pieces);
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256); // as a GPU's is
    last = NULL;
    if (more)
        pieces = more;
    if (!more || !memory) {
        free(memory);
        return NULL;
    }
    uint64_t from = (uint64_t)(uintptr_t)memory;
    pieces[piece_count++] = (struct piece){{from, from + bytes}, NULL};
    return memory;
}

static struct piece *find(uint64_t address)
{
    for (size_t i = 0; i < piece_count; i++)
        if (address >= pieces[i].at.from && address < pieces[i].at.to)
            return &pieces[i];
    return NULL;
}

size_t memory_take_back(void *from)
{
    struct piece *p = find((uint64_t)(uintptr_t)from);
    if (!p || p->at.from != (uint64_t)(uintptr_t)from)
        abort();
    size_t bytes = (size_t)(p->at.to - p->at.from);
    free(from);
    free(p->uses);
    *p = pieces[--piece_count];
    last = NULL;
    if (piece_count == 0) {
        free(pieces);
        pieces = NULL;
    }
    return bytes;
}

struct ptx_memory memory_find(uint64_t address)
{
    struct piece *p = find(address);
    return p ? p->at : (struct ptx_memory){0};
}

void memory_begin(void)
{
    now++;
}

void memory_launch(int launch_, bool (*is_before)(int other, int launch))
{
    launch = launch_;
    before = is_before;
}

static bool is_over(int other)
{
    return other < 0 || other == launch || before(other, launch);
}

static void read_word(struct use *u, uint32_t block)
{
    if (u->readers[0] == launch) {
        u->reader_block = u->reader_block == block ? block : MANY;
        return;
    }
    // The place of one that is over before this one, or a free one; where there is none, another
    // reader is forgotten. The first is always this launch's.
    int at = READERS - 1;
    for (int i = READERS - 1; i >= 0; i--)
        if (is_over(u->readers[i]))
            at = i;
    u->readers[at] = u->readers[0];
    u->readers[0] = (int16_t)launch;
    u->reader_block = block;
}

static bool write_word(struct use *u, uint32_t block, bool alone, int *other)
{
    if (!alone) {
        u->contested = true;
        u->rival = u->writer;
    } else if (u->writer != launch && is_over(u->rival)) {
        u->contested = false;
    }
    for (int i = 0; i < READERS; i++) {
        *other = u->readers[i];
        if (!is_over(*other) || (*other == launch && u->reader_block != block))
            return false;
        u->readers[i] = -1;
    }
    u->writer = (int16_t)launch;
    u->writer_block = block;
    return true;
}

bool memory_use(uint64_t address, uint32_t block, bool writes, int *other)
{
    if (!last || address < last->at.from || address >= last->at.to)
        last = find(address);
    if (!last)
        return true;
    if (!last->uses)
        last->uses = calloc((size_t)(last->at.to - last->at.from) / 4 + 1, sizeof *last->uses);
    if (!last->uses)
        abort();
    struct use *u = &last->uses[(address - last->at.from) / 4];
    if (u->since != now) {
        *u = (struct use){.since = now, .writer = -1, .rival = -1, .contested = u->contested};
        memset(u->readers, 0xff, sizeof u->readers);
    }
    *other = u->writer;
    bool alone = is_over(u->writer) && (u->writer != launch || u->writer_block == block);
    if (writes)
        return write_word(u, block, alone, other);
    read_word(u, block);
    return alone && !u->contested;
}
