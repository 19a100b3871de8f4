// SPDX-License-Identifier: Apache-2.0
// Products of warp groups (wgmma). A warp makes its 16 of the 64 rows when it comes to one; until
// it has waited for them, sums and operands are the product's.
#include "hopper.h"

#include <string.h>

#include "train/engine/ptx/rows.h"

enum { DEEP = 16, WIDEST = 256 };

static struct group_warp *group_of(const struct warp *warp)
{
    return &warp->block->hopper->groups[warp->number];
}

// ---- registers ----

static void touch(struct warp *warp, const struct inst *in, int lane, u32 at, bool writes)
{
    struct group_warp *g = group_of(warp);
    u32 row = at / LANES;
    if (g->sums[row])
        ptx_fault(warp, in, lane, "uses sums of a product that it has not waited for");
    if (writes && g->operands[row])
        ptx_fault(warp, in, lane, "writes an operand of a product that it has not waited for");
    g->touched[row] = g->fences;
}

void hopper_touch(struct warp *warp, const struct inst *in, int lane)
{
    for (int i = 0; i < in->operands; i++)
        touch(warp, in, lane, in->o[i], i < in->results);
    if (in->base_words)
        touch(warp, in, lane, in->base, false);
}

// ---- matrices in shared memory: pieces of 16 bytes ----

struct matrix {
    u32 start, leading, stride, swizzle; // the last: 0 or 32, 64, 128 bytes
    bool by_columns;                     // k is not contiguous
};

static struct matrix matrix_of(struct warp *warp, const struct inst *in, u64 text, bool by_columns)
{
    static const u32 bytes[] = {0, 128, 64, 32};
    struct matrix m = {(u32)(text & 0x3fff) << 4, (u32)(text >> 16 & 0x3fff) << 4,
                       (u32)(text >> 32 & 0x3fff) << 4, bytes[text >> 62], by_columns};
    if (text >> 46 & 0xffff)
        ptx_fault(warp, in, 0, "a description of a matrix with other bits: %#llx",
                  (unsigned long long)text);
    return m;
}

// Of row (or column) `i` / 8 and the like: see the PTX manual's canonical layouts. Rows by k: piece
// `j` of two of row i; columns: piece i of 8 numbers in line j of k.
static u32 piece_at(const struct matrix *m, u32 i, u32 j)
{
    u32 wide = m->swizzle, at = m->start;
    if (!m->by_columns && wide)
        at += i / 8 * m->stride + i % 8 * wide + j * 16;
    else if (!m->by_columns)
        at += i / 8 * m->stride + i % 8 * 16 + j * m->leading;
    else if (wide)
        at +=
            i / (wide / 16) * m->leading + i % (wide / 16) * 16 + j / 8 * m->stride + j % 8 * wide;
    else
        at += i * m->stride + j / 8 * m->leading + j % 8 * 16;
    u32 mask = wide ? wide / 16 - 1 : 0;
    return at ^ (at >> 7 & mask) << 4;
}

typedef void visit_piece(struct warp *warp, const struct inst *in, u32 at, u32 i, u32 j, f32 *out,
                         u32 pitch);

// All pieces of rows (or columns) from `first` on.
static void walk(struct warp *warp, const struct inst *in, const struct matrix *m, u32 first,
                 u32 rows, visit_piece *visit, f32 *out, u32 pitch)
{
    u32 n = m->by_columns ? rows / 8 : rows, deep = m->by_columns ? DEEP : 2;
    for (u32 i = 0; i < n; i++)
        for (u32 j = 0; j < deep; j++)
            visit(warp, in, piece_at(m, (m->by_columns ? first / 8 : first) + i, j), i, j, out,
                  pitch);
}

static const u8 *shared_of(const struct warp *warp)
{
    return warp->block->shared + warp->base;
}

static void check_piece(struct warp *warp, const struct inst *in, u32 at)
{
    if (at + 16 > warp->block->shared_bytes)
        ptx_fault(warp, in, 0, "a product reads 16 bytes at %u of %u of shared memory", at,
                  warp->block->shared_bytes);
    hopper_use(warp, in, 0, warp->base + at, 16, false, true);
}

// Numbers of 16 bits, or of 32 of which tf32 has 19.
static bool is_tf32(const struct inst *in)
{
    return in->count == 4;
}

static f32 value(const u8 *at)
{
    u16 bits;
    u32 wide;
    f32 x;
    memcpy(&bits, at, 2);
    wide = (u32)bits << 16;
    memcpy(&x, &wide, 4);
    return x;
}

static f32 tf32_value(const u8 *at)
{
    u32 bits;
    f32 x;
    memcpy(&bits, at, 4);
    bits &= 0xffffe000;
    memcpy(&x, &bits, 4);
    return x;
}

// Number k of a piece of 16 bytes in a line of k.
static f32 number_of(const struct inst *in, const u8 *piece, u32 k)
{
    return is_tf32(in) ? tf32_value(piece + 4 * k) : value(piece + 2 * k);
}

// out[row][k] with a pitch; the second: turned.
static void read_rows(struct warp *warp, const struct inst *in, u32 at, u32 i, u32 j, f32 *out,
                      u32 pitch)
{
    u32 numbers = is_tf32(in) ? 4 : 8;
    check_piece(warp, in, at);
    for (u32 k = 0; k < numbers; k++)
        out[i * pitch + j * numbers + k] = number_of(in, shared_of(warp) + at, k);
}

static void read_rows_turned(struct warp *warp, const struct inst *in, u32 at, u32 i, u32 j,
                             f32 *out, u32 pitch)
{
    u32 numbers = is_tf32(in) ? 4 : 8;
    check_piece(warp, in, at);
    for (u32 k = 0; k < numbers; k++)
        out[(j * numbers + k) * pitch + i] = number_of(in, shared_of(warp) + at, k);
}

// out[k][column] of pieces of 8 columns; the second: turned.
static void read_columns(struct warp *warp, const struct inst *in, u32 at, u32 i, u32 j, f32 *out,
                         u32 pitch)
{
    check_piece(warp, in, at);
    for (u32 c = 0; c < 8; c++)
        out[j * pitch + i * 8 + c] = value(shared_of(warp) + at + 2 * c);
}

static void read_columns_turned(struct warp *warp, const struct inst *in, u32 at, u32 i, u32 j,
                                f32 *out, u32 pitch)
{
    check_piece(warp, in, at);
    for (u32 c = 0; c < 8; c++)
        out[(i * 8 + c) * pitch + j] = value(shared_of(warp) + at + 2 * c);
}

// ---- a product ----
// in->list: `count` rows of sums; o[0]: the predicate; o[1]: b; o[2]: a, or o[2] to o[5] its
// registers where is_fixed; offset: 1 for a, 2 for b where these lie by columns.

static u32 wide_count(const struct inst *in)
{
    return in->many;
}

static u64 description(const struct warp *warp, u32 row)
{
    u64 x;
    memcpy(&x, warp->regs + row, sizeof x);
    return x;
}

static void take_registers(struct warp *warp, const struct inst *in, bool adds)
{
    struct group_warp *g = group_of(warp);
    const u32 *sums = warp->block->kernel->list + in->list;
    (void)adds;
    if (g->fences == 0)
        ptx_fault(warp, in, 0, "a product without a wgmma.fence before");
    for (u32 i = 0; i < wide_count(in); i++) {
        u32 row = sums[i] / LANES;
        if (g->touched[row] == g->fences)
            ptx_fault(warp, in, 0, "sums that were used since the last wgmma.fence");
        if (g->operands[row])
            ptx_fault(warp, in, 0, "sums that are an operand of a product under way");
        g->sums[row]++;
    }
    for (u32 i = 0; in->is_fixed && i < 4; i++) {
        u32 row = in->o[2 + i] / LANES;
        if (g->touched[row] == g->fences)
            ptx_fault(warp, in, 0, "an operand that was used since the last wgmma.fence");
        if (g->sums[row])
            ptx_fault(warp, in, 0, "an operand that is a sum of a product under way");
        g->operands[row]++;
    }
}

// All four warps must ask for the same.
static void ask(struct warp *warp, const struct inst *in, const struct product *p, bool adds)
{
    struct block *b = warp->block;
    struct group_warp *g = group_of(warp);
    u64 *asked = &b->hopper->asked[warp->number / 4][g->begun % IN_FLIGHT];
    u64 mine = (p->a * 31 + p->b) * 31 + (u64)(in - b->kernel->code) * 2 + adds;
    bool first = true;
    if (warp->number / 4 * 4 + 4 > b->warp_count)
        ptx_fault(warp, in, 0, "a product of a warp group that is not whole");
    for (int i = warp->number / 4 * 4; i < warp->number / 4 * 4 + 4; i++)
        first &= b->hopper->groups[i].begun <= g->begun;
    if (first)
        *asked = mine;
    else if (*asked != mine)
        ptx_fault(warp, in, 0, "another product than that of the rest of its warp group");
    g->begun++;
    b->hopper->progress++;
}

static void multiply(struct warp *warp, const struct inst *in, f32 (*a)[DEEP], f32 (*b)[WIDEST],
                     bool adds)
{
    const u32 *rows = warp->block->kernel->list + in->list;
    u32 n = wide_count(in);
    f32 sums[16][WIDEST];
    memset(sums, 0, sizeof sums);
    for (u32 i = 0; adds && i < n; i++)
        for (u32 lane = 0; lane < LANES; lane++)
            memcpy(&sums[lane / 4 + i / 2 % 2 * 8][i / 4 * 8 + lane % 4 * 2 + i % 2],
                   &warp->regs[rows[i] + lane], 4);
    for (u32 row = 0; row < 16; row++)
        for (u32 k = 0; k < (is_tf32(in) ? DEEP / 2 : DEEP); k++)
            for (u32 c = 0; c < 2 * n; c++)
                sums[row][c] += a[row][k] * b[k][c];
    for (u32 i = 0; i < n; i++)
        for (u32 lane = 0; lane < LANES; lane++)
            memcpy(&warp->regs[rows[i] + lane],
                   &sums[lane / 4 + i / 2 % 2 * 8][i / 4 * 8 + lane % 4 * 2 + i % 2], 4);
}

static void read_operand(struct warp *warp, const struct inst *in, f32 (*a)[DEEP])
{
    for (u32 i = 0; i < LANES; i++)
        for (u32 k = 0; k < 8; k++) {
            u32 pair = warp->regs[in->o[2 + k / 2] + i];
            u16 half = (u16)(pair >> k % 2 * 16);
            a[i / 4 + k / 2 % 2 * 8][i % 4 * 2 + k % 2 + k / 4 * 8] = value((const u8 *)&half);
        }
}

void hopper_mma(struct warp *warp, const struct inst *in, u32 lanes)
{
    struct group_warp *g = group_of(warp);
    f32 a[16][DEEP], b[DEEP][WIDEST];
    u32 adds = warp->regs[in->o[0]], columns = 2 * wide_count(in);
    struct product p = {in, in->is_fixed ? 0 : description(warp, in->o[2]),
                        description(warp, in->o[1]), g->begun, g->groups};
    (void)lanes;
    if (adds != 0 && adds != ALL)
        ptx_fault(warp, in, 0, "a product that adds for some threads");
    ask(warp, in, &p, adds);
    take_registers(warp, in, adds);
    if (g->count == IN_FLIGHT)
        ptx_fault(warp, in, 0, "more products under way than the stand-in has room for");
    g->products[g->count++] = p;
    struct matrix mb = matrix_of(warp, in, p.b, in->offset & 2);
    walk(warp, in, &mb, 0, columns, mb.by_columns ? read_columns : read_rows_turned, b[0], WIDEST);
    if (in->is_fixed) {
        read_operand(warp, in, a);
    } else {
        struct matrix ma = matrix_of(warp, in, p.a, in->offset & 1);
        walk(warp, in, &ma, (u32)warp->number % 4 * 16, 16,
             ma.by_columns ? read_columns_turned : read_rows, a[0], DEEP);
    }
    multiply(warp, in, a, b, adds);
}

void hopper_fence(struct warp *warp, const struct inst *in, u32 lanes)
{
    (void)in;
    (void)lanes;
    group_of(warp)->fences++;
}

void hopper_commit(struct warp *warp, const struct inst *in, u32 lanes)
{
    (void)in;
    (void)lanes;
    group_of(warp)->groups++;
}

static void finish(struct warp *warp, const struct product *p)
{
    struct group_warp *g = group_of(warp);
    const struct inst *in = p->in;
    const u32 *sums = warp->block->kernel->list + in->list;
    for (u32 i = 0; i < wide_count(in); i++)
        g->sums[sums[i] / LANES]--;
    for (u32 i = 0; in->is_fixed && i < 4; i++)
        g->operands[in->o[2 + i] / LANES]--;
    warp->block->hopper->warps[warp->number].all[PRODUCTS + warp->number / 4] = p->number + 1;
}

// A product is the whole warp group's: it is over for all of its warps or for none.
static bool all_began(const struct warp *warp, const struct product *p)
{
    const struct group_warp *first = &warp->block->hopper->groups[warp->number / 4 * 4];
    bool all = true;
    for (int i = 0; i < 4; i++)
        all &= first[i].begun > p->number;
    return all;
}

// All but the last so many groups are over.
void hopper_wait_group(struct warp *warp, const struct inst *in, u32 lanes)
{
    struct hopper *h = warp->block->hopper;
    struct group_warp *g = group_of(warp);
    u32 left = warp->regs[in->o[0]];
    int kept = 0;
    (void)lanes;
    for (int i = 0; i < g->count; i++)
        if (g->products[i].group + left < g->groups && !all_began(warp, &g->products[i])) {
            warp->stalled = in;
            warp->stalled_at = h->progress;
            return;
        }
    for (int i = 0; i < g->count; i++) {
        if (g->products[i].group + left < g->groups)
            finish(warp, &g->products[i]);
        else
            g->products[kept++] = g->products[i];
    }
    g->count = kept;
}

void hopper_end(struct block *b)
{
    for (int i = 0; i < b->warp_count; i++) {
        struct warp *w = &b->warps[i];
        const struct group_warp *g = group_of(w);
        if (g->begun != group_of(&b->warps[i / 4 * 4])->begun)
            ptx_fault(w, b->kernel->code, 0, "%u products, and another number in the warp group",
                      g->begun);
        if (g->count)
            ptx_fault(w, g->products[0].in, 0, "ends without waiting for a product");
    }
    if (b->hopper->bulk_count)
        ptx_fault(&b->warps[0], b->kernel->code, 0,
                  "the block ends without waiting for a copy to %u", b->hopper->bulks[0].to);
}
