// SPDX-License-Identifier: Apache-2.0
// Who used shared memory, for many words at a time: as trace() in run.c, which tells what is wrong
// where these say false. 16 bytes that are aligned have four traces, which are looked at together.
#ifndef FARE_TESTS_ENGINE_PTX_TRACES_H
#define FARE_TESTS_ENGINE_PTX_TRACES_H

#include <string.h>

#include "train/engine/ptx/inside.h"

typedef uint32_t four_traces __attribute__((vector_size(32)));
#define TRACES_READ ((four_traces){0, ALL, 0, ALL, 0, ALL, 0, ALL})

// All bits of those that another warp left since the barrier.
#define PTX_OTHERS(t, mine) ((four_traces)(((t) ^ (mine)) - 1u < (uint32_t)SEVERAL))

static inline bool ptx_is_any(const four_traces *t)
{
    uint64_t parts[4];
    memcpy(parts, t, sizeof parts);
    return parts[0] | parts[1] | parts[2] | parts[3];
}

// Adds those to `wrong` that another warp wrote.
static inline void ptx_read_four(struct trace *t, uint32_t mine, four_traces *wrong)
{
    four_traces all, others;
    memcpy(&all, t, sizeof all);
    others = PTX_OTHERS(all, mine);
    all = (all & ~TRACES_READ) | (((others & SEVERAL) | mine) & TRACES_READ);
    memcpy(t, &all, sizeof all);
    *wrong |= others & ~TRACES_READ;
}

static inline bool ptx_write_four(struct trace *t, uint32_t mine)
{
    four_traces all, others;
    memcpy(&all, t, sizeof all);
    others = PTX_OTHERS(all, mine);
    if (ptx_is_any(&others))
        return false;
    all = (all & TRACES_READ) | (mine & ~TRACES_READ);
    memcpy(t, &all, sizeof all);
    return true;
}

// Of a word.
static inline bool ptx_read_one(struct trace *t, uint32_t mine)
{
    t->read = ptx_is_other(t->read, mine) ? mine | SEVERAL : mine;
    return !ptx_is_other(t->wrote, mine);
}

// Halves of a word may belong to two warps.
static inline bool ptx_write_one(struct trace *t, uint32_t mine, bool halves)
{
    bool wrote = ptx_is_other(t->wrote, mine);
    if ((wrote && !halves) || ptx_is_other(t->read, mine))
        return false;
    t->wrote = wrote ? mine | SEVERAL : mine;
    return true;
}

#endif
