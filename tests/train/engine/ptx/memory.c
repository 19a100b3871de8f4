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

// Of a piece. A block that does with a word what it did last, when nobody else was there in
// between, need not be looked at again: `noted` says so, by its turn, and one more if it wrote.
struct uses {
    struct use *words;
    uint32_t noted[];
};

static struct ptx_memory *pieces; // their uses are made when they are needed
static size_t piece_count;

static uint32_t now = 1;
static int launch;
static uint32_t launches;             // that began
static uint32_t turn = 2, turn_block; // of a block of a launch
static bool (*before)(int other, int launch);

void *memory_give(size_t bytes)
{
    struct ptx_memory *more = realloc(pieces, (piece_count + 1) * sizeof *pieces);
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256); // as a GPU's is
    if (more)
        pieces = more;
    if (!more || !memory) {
        free(memory);
        return NULL;
    }
    uint64_t from = (uint64_t)(uintptr_t)memory;
    pieces[piece_count++] = (struct ptx_memory){from, from + bytes, NULL};
    return memory;
}

static struct ptx_memory *find(uint64_t address)
{
    for (size_t i = 0; i < piece_count; i++)
        if (address >= pieces[i].from && address < pieces[i].to)
            return &pieces[i];
    return NULL;
}

size_t memory_take_back(void *from)
{
    struct ptx_memory *p = find((uint64_t)(uintptr_t)from);
    if (!p || p->from != (uint64_t)(uintptr_t)from)
        abort();
    size_t bytes = (size_t)(p->to - p->from);
    free(from);
    free(p->uses);
    *p = pieces[--piece_count];
    if (piece_count == 0) {
        free(pieces);
        pieces = NULL;
    }
    return bytes;
}

struct ptx_memory memory_find(uint64_t address)
{
    struct ptx_memory *p = find(address);
    return p ? *p : (struct ptx_memory){0};
}

void memory_begin(void)
{
    now++;
    turn += 2;
}

void memory_launch(int launch_, bool (*is_before)(int other, int launch))
{
    launch = launch_;
    before = is_before;
    launches++;
    turn += 2;
}

static bool is_over(int other)
{
    static uint32_t known_at;
    static int known;
    static bool known_over;
    if (other < 0 || other == launch)
        return true;
    if (known_at != launches || known != other) {
        known_at = launches;
        known = other;
        known_over = before(other, launch);
    }
    return known_over;
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

// The most common: the first to use a word, or one of those that read it while nobody writes.
static inline bool use_simply(struct use *u, uint32_t block, bool writes)
{
    int16_t me = (int16_t)launch;
    if (u->since != now && (writes || !u->contested)) {
        *u = writes ? (struct use){now, block, 0, me, {-1, -1, -1}, -1, false}
                    : (struct use){now, 0, block, -1, {me, -1, -1}, -1, false};
        return true;
    }
    if (writes || u->since != now || u->writer >= 0 || u->contested || u->readers[0] != me)
        return false;
    u->reader_block = u->reader_block == block ? block : MANY;
    return true;
}

static bool use_word(struct use *u, uint32_t block, bool writes, int *other)
{
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

static struct uses *uses_of(const struct ptx_memory *at)
{
    struct ptx_memory *p = find(at->from);
    size_t words = p ? (size_t)(p->to - p->from) / 4 + 1 : 0;
    if (p && !p->uses)
        p->uses =
            calloc(1, sizeof *p->uses + words * (sizeof *p->uses->noted + sizeof(struct use)));
    if (!p || !p->uses)
        abort();
    p->uses->words = (struct use *)(void *)(p->uses->noted + words);
    return p->uses;
}

bool memory_use(struct ptx_memory *piece, const uint64_t *at, uint32_t count, uint32_t bytes,
                uint32_t block, bool writes, int *other)
{
    if (!piece->uses)
        piece->uses = uses_of(piece);
    if (block != turn_block) {
        turn_block = block;
        turn += 2;
    }
    struct uses *uses = piece->uses;
    uint32_t note = turn + writes;
    for (uint32_t i = 0; i < count; i++) {
        size_t word = (size_t)(at[i] - piece->from) / 4;
        size_t last = (size_t)(at[i] + bytes - 1 - piece->from) / 4;
        for (; word <= last; word++) {
            if (uses->noted[word] == note)
                continue;
            struct use *u = &uses->words[word];
            if (!use_simply(u, block, writes) && !use_word(u, block, writes, other))
                return false;
            uses->noted[word] = note;
        }
    }
    return true;
}
