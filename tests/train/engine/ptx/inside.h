// SPDX-License-Identifier: Apache-2.0
// What ptx's files share: a kernel as it is read (text.c), what each instruction does (ops.c, and
// move.c for loads and stores), and who does it when (run.c).
#ifndef FARE_TESTS_ENGINE_PTX_INSIDE_H
#define FARE_TESTS_ENGINE_PTX_INSIDE_H

#include <setjmp.h>

#include "train/engine/ptx/ptx.h"

enum { LANES = 32, OPERANDS = 14, WARPS = 32, PIECES = 64 };
#define ALL 0xffffffffu

// Generic addresses of memory that is not global.
#define SHARED_AT ((uint64_t)1 << 60)
#define LOCAL_AT  ((uint64_t)1 << 61)

enum space { GENERIC, GLOBAL, SHARED, LOCAL, PARAM };
enum flow { PLAIN, WHOLE_WARP, BRANCH, BARRIER, END };

struct warp;
struct inst;
typedef void op_run(struct warp *warp, const struct inst *in, uint32_t lanes);

// Registers are rows of 32 lanes, one word each or two; a predicate is one word, a bit for each
// lane. Operands are numbers of a row's first word. What is not a register (numbers in the text, a
// thread's number) is a row that is there from the start.
struct inst {
    op_run *run;
    enum flow flow;
    int32_t predicate; // word; or -1
    bool negated;
    // Of loads and stores: what the address begins at, and whether it has two words.
    bool is_signed, is_fixed;                   // the latter: the address is a number in the text
    uint8_t base_words, words[4], count, bytes; // of registers; how many; of each in memory
    uint8_t operands, results;                  // of o: how many, and how many it writes
    enum space space;
    uint32_t base;
    int64_t offset;
    uint32_t o[OPERANDS];
    uint32_t target;     // of a branch
    uint32_t list, many; // of a warp group's product: its sums in the kernel's list
    int line;
};

// An instruction by name: the words of its operands, 0 for a predicate, -1 for none.
struct op {
    const char *name;
    op_run *run;
    enum flow flow;
    int8_t words[OPERANDS];
};

const struct op *ptx_find_op(const char *name, const int8_t *words, int count);
// Loads and stores have one each, beside the fields above.
op_run ptx_load, ptx_store, ptx_load_matrix, ptx_load_matrix_turned, ptx_copy_async, ptx_nothing;

struct constant {
    uint32_t row;
    int words;
    uint64_t value;
};

// Rows that are set for a thread or a block.
enum { TID_X, CTAID_X, CTAID_Y, CTAID_Z, NCTAID_X, NCTAID_Y, NTID_X, TIMER, RANK, SPECIALS };

struct ptx_kernel {
    const char *text; // the module
    char name[64];
    size_t args;
    uint32_t threads;       // of a block, at most
    uint32_t shared, local; // bytes, of a block and of a thread
    uint32_t align;         // of shared memory that the launch asks for, behind the kernel's own
    uint32_t cluster;       // blocks that run together
    bool is_hopper;         // it needs hopper.h
    uint32_t words;         // of a warp's registers
    uint32_t row[SPECIALS];
    int code_count, constant_count, list_count;
    struct inst *code;
    struct constant *constants;
    uint32_t *list; // rows, of instructions with many operands
    struct ptx_kernel *next;
};

// ---- while it runs ----

struct copy { // to shared memory, under way
    uint32_t to, group;
    int lane;
    uint32_t data[4];
};

struct warp {
    struct block *block;
    int number;    // in the cluster
    uint32_t rank; // of its block, in the cluster
    uint32_t base; // where its block's shared memory begins
    uint32_t *regs;
    uint32_t alive, at_barrier, waits; // lanes; the last for others of their warp
    uint32_t barrier, barrier_threads; // where those lanes are; 0: all of the block
    const struct inst *stalled;        // it waits for something that has not happened
    uint32_t stalled_at;               // the block's progress then
    uint32_t pc[LANES];
    uint32_t groups[LANES]; // of copies, begun
    unsigned char *local;
    struct copy *copies;
    int copy_count, copy_room;
};

// Of a word of shared memory: the warps that wrote and read it last, below the barriers' count of
// then; SEVERAL is no warp's number.
struct trace {
    uint32_t wrote, read;
};
enum { TRACE_SHIFT = 6, SEVERAL = (1 << TRACE_SHIFT) - 1 };

// Since the same barrier, by another warp.
static inline bool ptx_is_other(uint32_t trace, uint32_t mine)
{
    return (trace ^ mine) - 1u < (uint32_t)SEVERAL;
}

// A block, or a cluster: then the warps are those of all its blocks, and so is shared memory, that
// of one block behind the other's. Addresses that a thread uses begin at its own.
struct block {
    const struct ptx_kernel *kernel;
    const struct ptx_launch *launch;
    unsigned x, y; // of the first
    int warp_count;
    struct warp warps[WARPS];
    unsigned char *shared;
    struct trace *traces;
    bool *copied;                    // of 16 bytes each: a copy is under way
    uint32_t shared_bytes, barriers; // of one block; the latter counts from 1, through all blocks
    uint32_t all_bytes;              // of shared memory
    struct ptx_memory found[PIECES]; // memory, where an instruction used it last
    struct hopper *hopper;           // null where the kernel does not need it
    char *why;
    size_t why_bytes;
    jmp_buf failed;
};

// Where the shared memory begins that the launch asks for.
static inline uint32_t ptx_launched_at(const struct ptx_kernel *k)
{
    return (k->shared + k->align - 1) / k->align * k->align;
}

static inline uint32_t ptx_block_number(const struct warp *warp)
{
    const struct block *b = warp->block;
    return b->y * b->launch->x + b->x + warp->rank;
}

// The number of a thread's first lane in its block.
static inline uint32_t ptx_thread(const struct warp *warp)
{
    const struct block *b = warp->block;
    return ((uint32_t)warp->number - warp->rank * ((uint32_t)b->warp_count / b->kernel->cluster)) *
           LANES;
}

// What this warp leaves at a word.
static inline uint32_t ptx_trace_of(const struct warp *warp)
{
    return warp->block->barriers << TRACE_SHIFT | (uint32_t)warp->number;
}

static inline bool ptx_is_within(const struct ptx_memory *piece, uint64_t from, uint64_t bytes)
{
    return from >= piece->from && from < piece->to && bytes <= piece->to - from;
}

// The piece that has all of this; null where none has. An instruction often stays in one.
static inline struct ptx_memory *ptx_piece(struct block *b, const struct inst *in, uint64_t from,
                                           uint64_t bytes)
{
    struct ptx_memory *piece = &b->found[(size_t)(in - b->kernel->code) % PIECES];
    if (!ptx_is_within(piece, from, bytes))
        *piece = b->launch->memory(from);
    return ptx_is_within(piece, from, bytes) ? piece : NULL;
}

// Ends the launch.
_Noreturn void ptx_fault(struct warp *warp, const struct inst *in, int lane, const char *format,
                         ...) __attribute__((format(printf, 4, 5)));
// Where it is on this machine.
void *ptx_at(struct warp *warp, const struct inst *in, int lane, enum space space, uint64_t address,
             uint32_t bytes, bool writes);
void ptx_begin_copy(struct warp *warp, const struct inst *in, int lane, uint32_t to,
                    const void *from, uint32_t bytes);
void ptx_end_copies(struct warp *warp, const struct inst *in, uint32_t lanes, uint32_t left);

#endif
