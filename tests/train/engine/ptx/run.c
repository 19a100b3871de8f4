// SPDX-License-Identifier: Apache-2.0
// Threads, warps and blocks. A block, or a cluster of them, is over before the next one begins; of
// its warps one after the other runs until it waits at a barrier. The threads of a warp that are at
// the same place go on together, those that are behind first, so that they meet again.
#include "inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "train/engine/ptx/hopper.h"
#include "train/engine/ptx/traces.h"

void ptx_fault(struct warp *warp, const struct inst *in, int lane, const char *format, ...)
{
    struct block *b = warp->block;
    int n = snprintf(b->why, b->why_bytes,
                     "%s, line %d of the module, thread %u of block %u, %u: ", b->kernel->name,
                     in->line, ptx_thread(warp) + (uint32_t)lane, b->x + warp->rank, b->y);
    va_list args;
    va_start(args, format);
    if (n > 0 && (size_t)n < b->why_bytes)
        vsnprintf(b->why + n, b->why_bytes - (size_t)n, format, args);
    va_end(args);
    longjmp(b->failed, 1);
}

// ---- memory ----

static void trace(struct warp *warp, const struct inst *in, int lane, uint32_t at, uint32_t bytes,
                  bool writes)
{
    struct block *b = warp->block;
    uint32_t mine = ptx_trace_of(warp);
    if (b->hopper) {
        hopper_use(warp, in, lane, at, bytes, writes, false);
        return;
    }
    if (writes && b->copied[at / 16])
        ptx_fault(warp, in, lane, "writes byte %u of shared memory where a copy is under way", at);
    for (uint32_t i = at / 4; i <= (at + bytes - 1) / 4; i++) {
        struct trace *t = &b->traces[i];
        bool wrote = ptx_is_other(t->wrote, mine), read = ptx_is_other(t->read, mine);
        bool halves = writes && bytes < 4; // which may belong to two warps
        if ((wrote && !halves) || (writes && read))
            ptx_fault(warp, in, lane,
                      "%s byte %u of shared memory that another warp %s, and there was no barrier "
                      "since",
                      writes ? "writes" : "reads", i * 4, wrote && !halves ? "wrote" : "read");
        if (writes)
            t->wrote = wrote ? mine | SEVERAL : mine;
        else
            t->read = read ? mine | SEVERAL : mine;
    }
}

static void note_use(struct warp *warp, const struct inst *in, int lane, struct ptx_memory *piece,
                     uint64_t address, uint32_t bytes, bool writes)
{
    struct block *b = warp->block;
    int other;
    for (uint64_t at = address; at < address + bytes; at += 4)
        if (!b->launch->use(piece, &at, 1, bytes < 4 ? bytes : 4, ptx_block_number(warp), writes,
                            &other))
            ptx_fault(warp, in, lane,
                      "%s a word at %#llx that launch %d or another block of this one used, and "
                      "they have no order",
                      writes ? "writes" : "reads", (unsigned long long)at, other);
}

void *ptx_at(struct warp *warp, const struct inst *in, int lane, enum space space, uint64_t address,
             uint32_t bytes, bool writes)
{
    struct block *b = warp->block;
    if (space == GENERIC) {
        space = address >= LOCAL_AT ? LOCAL : address >= SHARED_AT ? SHARED : GLOBAL;
        address -= space == LOCAL ? LOCAL_AT : space == SHARED ? SHARED_AT : 0;
    }
    if (address & (bytes - 1)) // a power of two
        ptx_fault(warp, in, lane, "%u bytes at %#llx, which is not aligned", bytes,
                  (unsigned long long)address);
    if (space == GLOBAL) {
        struct ptx_memory *piece = ptx_piece(b, in, address, bytes);
        if (!piece)
            ptx_fault(warp, in, lane, "%s %u bytes at %#llx, which nobody was given",
                      writes ? "writes" : "reads", bytes, (unsigned long long)address);
        if (b->launch->use)
            note_use(warp, in, lane, piece, address, bytes, writes);
        return (void *)(uintptr_t)address;
    }
    uint64_t most = space == SHARED  ? b->shared_bytes
                    : space == LOCAL ? b->kernel->local
                                     : b->kernel->args;
    if (address > most || bytes > most - address)
        ptx_fault(warp, in, lane, "%s %u bytes at %lld of %llu of %s memory",
                  writes ? "writes" : "reads", bytes, (long long)address, (unsigned long long)most,
                  space == SHARED  ? "shared"
                  : space == LOCAL ? "local"
                                   : "parameter");
    if (space == PARAM)
        return (char *)(uintptr_t)b->launch->args + address;
    if (space == LOCAL)
        return warp->local + (size_t)lane * b->kernel->local + address;
    trace(warp, in, lane, warp->base + (uint32_t)address, bytes, writes);
    return b->shared + warp->base + address;
}

// The 16 bytes that a copy goes to.
static void *copy_place(struct warp *warp, const struct inst *in, int lane, uint32_t to)
{
    struct block *b = warp->block;
    if (!b->hopper && to % 16 == 0 && to < b->shared_bytes && 16 <= b->shared_bytes - to &&
        !b->copied[to / 16] && ptx_write_four(b->traces + to / 4, ptx_trace_of(warp)))
        return b->shared + to;
    return ptx_at(warp, in, lane, SHARED, to, 16, true);
}

void ptx_begin_copy(struct warp *warp, const struct inst *in, int lane, uint32_t to,
                    const void *from, uint32_t bytes)
{
    if (warp->copy_count == warp->copy_room) {
        int room = warp->copy_room ? 2 * warp->copy_room : 256;
        struct copy *more = realloc(warp->copies, (size_t)room * sizeof *more);
        if (!more)
            ptx_fault(warp, in, lane, "no memory");
        warp->copies = more;
        warp->copy_room = room;
    }
    // From now on it may arrive, and nobody else may write there.
    memset(copy_place(warp, in, lane, to), 0xff, 16);
    warp->block->copied[(warp->base + to) / 16] = true;
    struct copy *c = &warp->copies[warp->copy_count++];
    *c = (struct copy){.to = to, .group = warp->groups[lane], .lane = lane};
    if (bytes)
        memcpy(c->data, from, bytes);
}

// All but the last `left` groups have arrived.
void ptx_end_copies(struct warp *warp, const struct inst *in, uint32_t lanes, uint32_t left)
{
    int kept = 0;
    for (int i = 0; i < warp->copy_count; i++) {
        const struct copy *c = &warp->copies[i];
        if ((lanes >> c->lane & 1) && c->group + left < warp->groups[c->lane]) {
            warp->block->copied[(warp->base + c->to) / 16] = false;
            memcpy(copy_place(warp, in, c->lane, c->to), c->data, 16);
        } else {
            warp->copies[kept++] = *c;
        }
    }
    warp->copy_count = kept;
}

// ---- a warp ----

static void set_pc(struct warp *w, uint32_t lanes, uint32_t pc)
{
    for (int i = 0; i < LANES; i++)
        if (lanes >> i & 1)
            w->pc[i] = pc;
}

// Those that are furthest behind, of the ones that can go on; where the next are; whether there are
// no others.
static uint32_t choose(struct warp *w, uint32_t *pc, uint32_t *next, bool *alone)
{
    uint32_t can = w->alive & ~w->at_barrier & ~w->waits, lanes = 0;
    *pc = *next = UINT32_MAX;
    for (int i = 0; i < LANES; i++)
        if ((can >> i & 1) && w->pc[i] < *pc)
            *pc = w->pc[i];
    for (int i = 0; i < LANES; i++) {
        if (!((w->alive & ~w->at_barrier) >> i & 1))
            continue;
        if (w->pc[i] == *pc)
            lanes |= 1u << i; // those that waited for the others here as well
        else if (w->pc[i] > *pc && w->pc[i] < *next)
            *next = w->pc[i];
    }
    w->waits &= ~lanes;
    *alone = lanes == (w->alive & ~w->at_barrier);
    return lanes;
}

// Until all its threads are over or wait at the barrier.
static void run_warp(struct warp *w)
{
    const struct inst *code = w->block->kernel->code;
    w->stalled = NULL;
    while ((w->alive & ~w->at_barrier) && !w->stalled) {
        bool alone;
        uint32_t pc, next, lanes = choose(w, &pc, &next, &alone);
        if (!lanes)
            ptx_fault(w, &code[w->pc[__builtin_ctz(w->waits)]], __builtin_ctz(w->waits),
                      "waits for the rest of its warp, which does not come");
        for (bool together = true; together;) {
            const struct inst *in = &code[pc];
            uint32_t on = lanes;
            if (in->predicate >= 0)
                on &= in->negated ? ~w->regs[in->predicate] : w->regs[in->predicate];
            switch (in->flow) {
            case PLAIN:
                if (on && w->block->hopper)
                    hopper_touch(w, in, __builtin_ctz(on));
                if (on)
                    in->run(w, in, on);
                pc++;
                together = !w->stalled;
                break;
            case WHOLE_WARP:
                if (on == ALL) {
                    if (w->block->hopper)
                        hopper_touch(w, in, 0);
                    in->run(w, in, on);
                    together = !w->stalled;
                    pc += together; // else it does this again
                } else if (on != lanes || w->alive != ALL) {
                    ptx_fault(w, in, __builtin_ctz(lanes), "not all threads of a warp do this");
                } else { // until the others are here
                    w->waits |= lanes;
                    together = false;
                }
                break;
            case BRANCH:
                if (on == lanes) {
                    together = in->target > pc || alone;
                    pc = in->target;
                } else if (on == 0) {
                    pc++;
                } else {
                    set_pc(w, on, in->target);
                    lanes &= ~on;
                    pc++;
                    together = false;
                }
                break;
            case BARRIER:
                if (on != lanes)
                    ptx_fault(w, in, __builtin_ctz(lanes), "a barrier for some");
                w->at_barrier |= lanes;
                w->barrier = w->regs[in->o[0]];
                w->barrier_threads = in->operands == 2 ? w->regs[in->o[1]] : 0;
                pc++;
                together = false;
                break;
            case END:
                w->alive &= ~on;
                if (w->block->hopper)
                    w->block->hopper->progress++; // a cluster's barrier does not wait for them
                pc++;
                together = on == 0;
                break;
            }
            together &= pc < next;
        }
        set_pc(w, lanes, pc);
    }
}

// ---- a block ----

static void set_row(struct warp *w, uint32_t row, uint32_t value)
{
    for (int i = 0; i < LANES; i++)
        w->regs[row + (uint32_t)i] = value;
}

static void begin_warp(struct block *b, struct warp *w)
{
    const struct ptx_kernel *k = b->kernel;
    uint32_t left = b->launch->threads - ptx_thread(w);
    w->alive = left >= LANES ? ALL : (1u << left) - 1;
    w->at_barrier = w->waits = 0;
    w->stalled = NULL;
    w->copy_count = 0;
    memset(w->pc, 0, sizeof w->pc);
    memset(w->groups, 0, sizeof w->groups);
    memset(w->local, 0xff, (size_t)LANES * k->local);
    for (int i = 0; i < LANES; i++)
        w->regs[k->row[TID_X] + (uint32_t)i] = ptx_thread(w) + (uint32_t)i;
    set_row(w, k->row[CTAID_X], b->x + w->rank);
    set_row(w, k->row[CTAID_Y], b->y);
}

// The threads of a warp must come to a barrier together.
static void check_barrier(struct warp *w)
{
    int first = w->alive ? __builtin_ctz(w->alive) : 0;
    for (int i = first; i < LANES; i++)
        if ((w->alive >> i & 1) && w->pc[i] != w->pc[first])
            ptx_fault(w, &w->block->kernel->code[w->pc[i] - 1], i,
                      "waits at another barrier than the rest of its warp");
}

// Lets warps go on whose barrier all have come to that it is for; false where there are none.
static bool open_barriers(struct block *b)
{
    for (int i = 0; i < b->warp_count; i++) {
        const struct warp *first = &b->warps[i];
        uint32_t set = 0, here = 0, wanted = first->barrier_threads;
        if (!first->at_barrier || first->at_barrier != first->alive)
            continue;
        for (int k = 0; k < b->warp_count; k++) {
            struct warp *w = &b->warps[k];
            if (!w->at_barrier || w->at_barrier != w->alive || w->barrier != first->barrier ||
                w->rank != first->rank)
                continue;
            check_barrier(w);
            if (w->barrier_threads != wanted)
                ptx_fault(w, &b->kernel->code[w->pc[__builtin_ctz(w->alive)] - 1],
                          __builtin_ctz(w->alive), "a barrier for %u and for %u threads",
                          w->barrier_threads, wanted);
            set |= 1u << k;
            here += (uint32_t)__builtin_popcount(w->alive);
        }
        if (here != (wanted ? wanted : b->launch->threads))
            continue;
        hopper_meet(b, set);
        for (int k = 0; k < b->warp_count; k++)
            if (set >> k & 1)
                b->warps[k].at_barrier = 0;
        return true;
    }
    return false;
}

static bool can_run(const struct warp *w)
{
    return (w->alive & ~w->at_barrier) &&
           (!w->stalled || w->stalled_at != w->block->hopper->progress);
}

// Warps that meet at barriers of their own. A copy arrives when nobody can go on without it.
static void run_hopper_block(struct block *b)
{
    const struct warp *left;
    hopper_begin(b);
    do {
        bool moves = false;
        for (int i = 0; i < b->warp_count; i++)
            if (can_run(&b->warps[i])) {
                run_warp(&b->warps[i]);
                moves = true;
            }
        left = NULL;
        for (int i = b->warp_count - 1; i >= 0; i--)
            left = b->warps[i].alive ? &b->warps[i] : left;
        if (moves || !left || open_barriers(b) || hopper_complete_copy(b))
            continue;
        for (int i = 0; i < b->warp_count; i++)
            left = b->warps[i].stalled ? &b->warps[i] : left;
        int lane = __builtin_ctz(left->alive);
        ptx_fault(&b->warps[left->number],
                  left->stalled ? left->stalled : &b->kernel->code[left->pc[lane] - 1], lane,
                  "waits at a barrier for others that will not come");
    } while (left);
    hopper_end(b);
}

static void run_block(struct block *b)
{
    memset(b->shared, 0xff, b->all_bytes);
    memset(b->copied, 0, b->all_bytes / 16 + 1);
    for (int i = 0; i < b->warp_count; i++)
        begin_warp(b, &b->warps[i]);
    if (b->hopper) {
        run_hopper_block(b);
        return;
    }
    for (;;) {
        struct warp *waits = NULL;
        unsigned over = b->launch->threads;
        b->barriers++;
        for (int i = 0; i < b->warp_count; i++) {
            struct warp *w = &b->warps[i];
            run_warp(w);
            check_barrier(w);
            over -= (unsigned)__builtin_popcount(w->alive);
            waits = w->alive ? w : waits;
        }
        if (!waits)
            return;
        int lane = __builtin_ctz(waits->alive);
        if (over > 0)
            ptx_fault(waits, &b->kernel->code[waits->pc[lane] - 1], lane,
                      "waits at a barrier for %u that will not come: a part of the block is over",
                      over);
        for (int i = 0; i < b->warp_count; i++)
            b->warps[i].at_barrier = 0;
    }
}

// What never changes: numbers of the text, sizes of the launch. The rest is not a number.
static void fill_registers(const struct block *b, struct warp *w)
{
    const struct ptx_kernel *k = b->kernel;
    memset(w->regs, 0xff, (size_t)k->words * 4);
    for (int c = 0; c < k->constant_count; c++)
        for (uint32_t i = 0; i < LANES; i++)
            if (k->constants[c].words == 2)
                memcpy(&w->regs[k->constants[c].row + 2 * i], &k->constants[c].value, 8);
            else
                w->regs[k->constants[c].row + i] = (uint32_t)k->constants[c].value;
    set_row(w, k->row[CTAID_Z], 0);
    set_row(w, k->row[RANK], w->rank);
    set_row(w, k->row[NCTAID_X], b->launch->x);
    set_row(w, k->row[NCTAID_Y], b->launch->y);
    set_row(w, k->row[NTID_X], b->launch->threads);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    set_row(w, k->row[TIMER],
            (uint32_t)((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec));
}

static bool set_up(struct block *b)
{
    const struct ptx_kernel *k = b->kernel;
    uint32_t warps = (b->launch->threads + LANES - 1) / LANES, pitch;
    b->shared_bytes = ptx_launched_at(k) + b->launch->shared;
    pitch = k->cluster > 1 ? (b->shared_bytes + 1023) / 1024 * 1024 : b->shared_bytes; // swizzles
    b->all_bytes = pitch * k->cluster;
    b->warp_count = (int)(warps * k->cluster);
    b->shared = malloc(b->all_bytes + 16);
    b->traces = calloc(b->all_bytes / 4 + 4, sizeof *b->traces);
    b->copied = malloc(b->all_bytes / 16 + 1);
    bool all = b->shared && b->traces && b->copied && b->warp_count <= WARPS;
    for (int i = 0; all && i < b->warp_count; i++) {
        struct warp *w = &b->warps[i];
        w->block = b;
        w->number = i;
        w->rank = (uint32_t)i / warps;
        w->base = w->rank * pitch;
        w->regs = aligned_alloc(64, ((size_t)k->words * 4 + 63) / 64 * 64);
        w->local = malloc((size_t)LANES * k->local + 1);
        all = w->regs && w->local;
        if (all)
            fill_registers(b, w);
    }
    b->hopper = all && k->is_hopper ? hopper_new(b) : NULL;
    return all && (b->hopper || !k->is_hopper);
}

bool ptx_run(const struct ptx_kernel *kernel, const struct ptx_launch *launch, char *why,
             size_t bytes)
{
    struct block *b = calloc(1, sizeof *b);
    bool good = false;
    snprintf(why, bytes, "no memory");
    if (!b)
        return false;
    b->kernel = kernel;
    b->launch = launch;
    b->why = why;
    b->why_bytes = bytes;
    if (launch->threads > kernel->threads)
        snprintf(why, bytes, "%s takes %u threads, not %u", kernel->name, kernel->threads,
                 launch->threads);
    else if (launch->x % kernel->cluster)
        snprintf(why, bytes, "%s runs in clusters of %u, and there are %u blocks", kernel->name,
                 kernel->cluster, launch->x);
    else if (kernel->cluster > 1 && launch->threads % (4 * LANES)) // numbers of warp groups
        snprintf(why, bytes, "the stand-in has clusters of whole warp groups only");
    else if (set_up(b) && setjmp(b->failed) == 0) {
        for (b->y = 0; b->y < launch->y; b->y++)
            for (b->x = 0; b->x < launch->x; b->x += kernel->cluster)
                run_block(b);
        b->launch = NULL;
    }
    good = b->launch == NULL;
    for (int i = 0; i < b->warp_count && i < WARPS; i++) {
        free(b->warps[i].regs);
        free(b->warps[i].local);
        free(b->warps[i].copies);
    }
    free(b->shared);
    free(b->traces);
    free(b->copied);
    hopper_free(b->hopper);
    free(b);
    return good;
}
