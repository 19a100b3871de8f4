// SPDX-License-Identifier: Apache-2.0
// Loads and stores. Where the lanes of a warp use neighbouring places or the same one, these are
// checked together; anything unusual is left to ptx_at(), which looks at one lane after the other
// and says what is wrong. Checking a place twice is harmless.
#include "rows.h"

#include <string.h>

#include "train/engine/ptx/traces.h"

// Where the lanes' addresses are. An idle lane has that of the one before it that is not, so that
// only those of a whole warp are in a row.
enum pattern { APART, IN_A_ROW, ONE_PLACE };

static void find_addresses(const struct warp *warp, const struct inst *in, u32 lanes, u64 *at)
{
    const u32 *row = warp->regs + in->base;
    const u64 *wide = (const u64 *)(const void *)row, offset = (u64)in->offset;
    if (in->base_words == 2)
        for (int i = 0; i < LANES; i++)
            at[i] = offset + wide[i];
    else
        for (int i = 0; i < LANES; i++)
            at[i] = offset + row[i];
    if (lanes != ALL) {
        u64 last = at[__builtin_ctz(lanes)];
        for (int i = 0; i < LANES; i++)
            last = at[i] = lanes >> i & 1 ? at[i] : last;
    }
}

static enum pattern pattern_of(const u64 *at, u32 bytes)
{
    u64 step = at[1] - at[0], wrong = 0;
    if (step != 0 && step != bytes)
        return APART;
    for (u64 i = 0; i < LANES; i++)
        wrong |= at[i] ^ (at[0] + i * step);
    return wrong ? APART : step == 0 ? ONE_PLACE : IN_A_ROW;
}

// Of `count` places of `bytes` each, which all lie from `low` up to `high`.
struct places {
    const u64 *at;
    u32 count, bytes;
    u64 low, high;
    bool is_of_16; // all of them, aligned and whole
};

static bool may_use_global(struct warp *warp, const struct inst *in, const struct places *p,
                           bool writes)
{
    struct block *b = warp->block;
    struct ptx_memory *piece = ptx_piece(b, in, p->low, p->high - p->low);
    int other;
    if (!piece || !b->launch->use)
        return piece;
    return b->launch->use(piece, p->at, p->count, p->bytes, ptx_block_number(warp), writes, &other);
}

static bool may_read_shared(const struct warp *warp, const struct places *p)
{
    struct trace *traces = warp->block->traces;
    if (warp->block->hopper)
        return false;
    u32 mine = ptx_trace_of(warp);
    four_traces wrong = {0};
    bool good = true;
    for (u32 i = 0; i < p->count; i++) {
        u64 at = p->at[i], last = (at + p->bytes - 1) / 4;
        if (i > 0 && at == p->at[i - 1])
            continue;
        if (p->is_of_16)
            for (u64 k = at / 4; k <= last; k += 4)
                ptx_read_four(traces + k, mine, &wrong);
        else
            for (u64 k = at / 4; k <= last; k++)
                good &= ptx_read_one(traces + k, mine);
    }
    return good && !ptx_is_any(&wrong);
}

static bool may_write_shared(const struct warp *warp, const struct places *p, bool halves)
{
    const struct block *b = warp->block;
    if (b->hopper)
        return false;
    u32 mine = ptx_trace_of(warp);
    bool good = true, copied = false;
    for (u32 i = 0; i < p->count && good; i++) {
        u64 at = p->at[i], last = at + p->bytes - 1;
        for (u64 k = at / 16; k <= last / 16; k++)
            copied |= b->copied[k];
        good = !copied;
        if (p->is_of_16)
            for (u64 k = at / 4; k <= last / 4 && good; k += 4)
                good = ptx_write_four(b->traces + k, mine);
        else
            for (u64 k = at / 4; k <= last / 4 && good; k++)
                good = ptx_write_one(b->traces + k, mine, halves);
    }
    return good;
}

static bool may_use(struct warp *warp, const struct inst *in, enum space space, const u64 *at,
                    u32 bytes, enum pattern pattern, bool writes)
{
    const struct block *b = warp->block;
    struct places p = {at, 1, pattern == IN_A_ROW ? LANES * bytes : bytes, at[0], at[0], false};
    u64 bits = at[0];
    if (pattern == APART) {
        for (int i = 0; i < LANES; i++)
            bits |= at[i];
        p.count = LANES;
    }
    p.is_of_16 = (bits | p.bytes) % 16 == 0;
    if (bits & (bytes - 1))
        return false;
    bool may_be_outside = bits >= b->shared_bytes || bytes > b->shared_bytes - bits;
    if (pattern == APART && (space != SHARED || may_be_outside))
        for (int i = 0; i < LANES; i++) {
            p.low = at[i] < p.low ? at[i] : p.low;
            p.high = at[i] > p.high ? at[i] : p.high;
        }
    p.high += p.bytes;
    if (p.high < p.low)
        return false;
    if (space == GLOBAL)
        return may_use_global(warp, in, &p, writes);
    if (space == SHARED && p.high <= b->shared_bytes)
        return writes ? may_write_shared(warp, &p, bytes < 4) : may_read_shared(warp, &p);
    return space == PARAM && p.high <= b->kernel->args;
}

// Makes places on this machine of the lanes' addresses.
static enum pattern reach(struct warp *warp, const struct inst *in, u32 lanes, enum space space,
                          u64 *at, u32 bytes, bool writes)
{
    struct block *b = warp->block;
    enum pattern pattern = pattern_of(at, bytes);
    enum space where = space;
    if (space == GENERIC) {
        u64 all = 0;
        for (int i = 0; i < LANES; i++)
            all |= at[i];
        where = all < SHARED_AT ? GLOBAL : GENERIC;
    }
    if (may_use(warp, in, where, at, bytes, pattern, writes)) {
        u64 base = where == SHARED  ? (u64)(uintptr_t)b->shared
                   : where == PARAM ? (u64)(uintptr_t)b->launch->args
                                    : 0;
        for (int i = 0; i < LANES && base; i++)
            at[i] += base;
        return pattern;
    }
    for (int i = 0; i < LANES; i++)
        if (lanes >> i & 1)
            at[i] = (u64)(uintptr_t)ptx_at(warp, in, i, space, at[i], bytes, writes);
    return APART;
}

static u8 *place(u64 at)
{
    return (u8 *)(uintptr_t)at;
}

// From an address that is a number in the text.
static void load_parameter(struct warp *warp, const struct inst *in, u32 lanes)
{
    u64 at = (u64)in->offset + *(const u64 *)(const void *)(warp->regs + in->base);
    const void *from = ptx_at(warp, in, __builtin_ctz(lanes), PARAM, at, in->bytes, false);
    if (in->bytes == 4) {
        u32 value, *to = ROW(u32, 0);
        memcpy(&value, from, 4);
        EACH(to[i] = value)
    } else {
        u64 value, *to = ROW(u64, 0);
        memcpy(&value, from, 8);
        EACH(to[i] = value)
    }
}

static void load_words(u32 *to, const u64 *at, u32 lanes, u32 offset, enum pattern pattern)
{
    u32 value;
    if (pattern == ONE_PLACE) {
        memcpy(&value, place(at[0]) + offset, 4);
        EACH(to[i] = value)
    } else {
        EACH(memcpy(&to[i], place(at[i]) + offset, 4))
    }
}

void ptx_load(struct warp *warp, const struct inst *in, u32 lanes)
{
    u64 at[LANES];
    u32 bytes = in->bytes;
    if (in->space == PARAM && in->is_fixed && in->count == 1 && bytes == 4u * in->words[0]) {
        load_parameter(warp, in, lanes);
        return;
    }
    find_addresses(warp, in, lanes, at);
    enum pattern pattern = reach(warp, in, lanes, in->space, at, bytes * in->count, false);
    for (u32 k = 0; k < in->count; k++) {
        u32 *to = ROW(u32, k);
        u64 *wide = ROW(u64, k);
        if (in->words[k] == 1 && bytes == 4 && pattern == IN_A_ROW && in->count == 1) {
            memcpy(to, place(at[0]), sizeof *to * LANES);
        } else if (in->words[k] == 1 && bytes >= 4) {
            load_words(to, at, lanes, k * bytes, pattern);
        } else if (bytes == 8) {
            EACH(memcpy(&wide[i], place(at[i]) + k * bytes, 8))
        } else {
            EACH(u32 low = 0; memcpy(&low, place(at[i]) + k * bytes, bytes);
                 if (in->words[k] == 1) to[i] = low;
                 else wide[i] = bytes == 4 && in->is_signed ? (u64)(s64)(s32)low : low)
        }
    }
}

void ptx_store(struct warp *warp, const struct inst *in, u32 lanes)
{
    u64 at[LANES];
    u32 bytes = in->bytes;
    find_addresses(warp, in, lanes, at);
    enum pattern pattern = reach(warp, in, lanes, in->space, at, bytes * in->count, true);
    for (u32 k = 0; k < in->count; k++) {
        const u32 *from = ROW(u32, k);
        const u64 *wide = ROW(u64, k);
        if (in->words[k] == 1 && bytes == 4 && pattern == IN_A_ROW && in->count == 1) {
            memcpy(place(at[0]), from, sizeof *from * LANES);
        } else if (in->words[k] == 1 && bytes == 4) {
            for (int i = 0; i < LANES; i++)
                if (lanes >> i & 1)
                    memcpy(place(at[i]) + k * bytes, &from[i], 4);
        } else {
            for (int i = 0; i < LANES; i++)
                if (lanes >> i & 1)
                    memcpy(place(at[i]) + k * bytes,
                           in->words[k] == 1 ? (const void *)&from[i] : &wide[i], bytes);
        }
    }
}

// Rows of 8 pairs of bytes: lanes 0 to 7 tell where those of the first matrix are, and so on.
static void load_matrix(struct warp *warp, const struct inst *in, bool turned)
{
    u16 cells[4][8][8];
    u64 at[LANES];
    find_addresses(warp, in, ALL, at);
    (void)reach(warp, in, ALL, SHARED, at, 16, false);
    for (int i = 0; i < LANES; i++)
        memcpy(cells[i / 8][i % 8], place(at[i]), 16);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < LANES; i++) {
            int row = i / 4, col = i % 4 * 2;
            ROW(u32, k)
            [i] = turned ? cells[k][col][row] | (u32)cells[k][col + 1][row] << 16
                         : cells[k][row][col] | (u32)cells[k][row][col + 1] << 16;
        }
}

void ptx_load_matrix(struct warp *warp, const struct inst *in, u32 lanes)
{
    (void)lanes;
    load_matrix(warp, in, false);
}

void ptx_load_matrix_turned(struct warp *warp, const struct inst *in, u32 lanes)
{
    (void)lanes;
    load_matrix(warp, in, true);
}

// [base] of shared memory from [o[0]] of global memory, o[1] bytes of it and zeros up to 16.
void ptx_copy_async(struct warp *warp, const struct inst *in, u32 lanes)
{
    u64 from[LANES], to[LANES];
    const u32 *bytes = ROW(u32, 1);
    u32 whole = 0;
    find_addresses(warp, in, lanes, to);
    memcpy(from, ROW(u64, 0), sizeof from);
    for (int i = 0; i < LANES; i++)
        whole |= (u32)(bytes[i] == 16) << i;
    if (lanes == ALL && whole == ALL)
        (void)reach(warp, in, lanes, GLOBAL, from, 16, false);
    for (int i = 0; i < LANES; i++)
        if (lanes >> i & 1) {
            u32 n = bytes[i];
            if (n > 16)
                ptx_fault(warp, in, i, "copies %u bytes of 16", n);
            if (n && (lanes & whole) != ALL)
                from[i] = (u64)(uintptr_t)ptx_at(warp, in, i, GLOBAL, from[i], n, false);
            ptx_begin_copy(warp, in, i, (u32)to[i], n ? place(from[i]) : NULL, n);
        }
}
