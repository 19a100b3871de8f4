// SPDX-License-Identifier: Apache-2.0
// Who has used shared memory before whom, on compute capability 9.0.
#include "hopper.h"

#include <stdlib.h>
#include <string.h>

static void join(struct seen *into, const struct seen *from)
{
    for (int i = 0; i < AGENTS; i++) {
        into->all[i] = from->all[i] > into->all[i] ? from->all[i] : into->all[i];
        into->fenced[i] = from->fenced[i] > into->fenced[i] ? from->fenced[i] : into->fenced[i];
    }
}

static struct seen *seen_by(const struct warp *warp)
{
    return &warp->block->hopper->warps[warp->number];
}

struct hopper *hopper_new(const struct block *b)
{
    struct hopper *h = calloc(1, sizeof *h);
    uint32_t granules = b->all_bytes / 16 + 1, rows = b->kernel->words / LANES + 2;
    if (!h)
        return NULL;
    h->words = calloc((size_t)granules * 4, sizeof *h->words);
    h->read_at = calloc((size_t)granules * (size_t)b->warp_count, sizeof *h->read_at);
    h->product_at = calloc((size_t)granules * GROUPS, sizeof *h->product_at);
    bool all = h->words && h->read_at && h->product_at;
    for (int i = 0; i < b->warp_count && i < WARPS; i++) {
        h->groups[i].sums = calloc(rows, 1);
        h->groups[i].operands = calloc(rows, 1);
        h->groups[i].touched = calloc(rows, sizeof *h->groups[i].touched);
        all = all && h->groups[i].sums && h->groups[i].operands && h->groups[i].touched;
    }
    if (all)
        return h;
    hopper_free(h);
    return NULL;
}

void hopper_free(struct hopper *h)
{
    if (!h)
        return;
    for (int i = 0; i < WARPS; i++) {
        free(h->groups[i].sums);
        free(h->groups[i].operands);
        free(h->groups[i].touched);
    }
    free(h->words);
    free(h->read_at);
    free(h->product_at);
    free(h->bulks);
    free(h);
}

void hopper_begin(struct block *b)
{
    struct hopper *h = b->hopper;
    uint32_t granules = b->all_bytes / 16 + 1, rows = b->kernel->words / LANES + 2;
    memset(h->warps, 0, sizeof h->warps);
    memset(h->barriers, 0, sizeof h->barriers);
    h->barrier_count = h->bulk_count = 0;
    h->cluster = (struct cluster_barrier){0};
    h->progress = 1;
    for (uint32_t i = 0; i < granules * 4; i++)
        h->words[i] = (struct word){.writer = NOBODY};
    memset(h->read_at, 0, (size_t)granules * (size_t)b->warp_count * sizeof *h->read_at);
    memset(h->product_at, 0, (size_t)granules * GROUPS * sizeof *h->product_at);
    for (int i = 0; i < b->warp_count; i++) {
        struct group_warp *g = &h->groups[i];
        h->warps[i].all[i] = 1;
        g->count = 0;
        g->begun = g->groups = g->fences = 0;
        memset(g->sums, 0, rows);
        memset(g->operands, 0, rows);
        memset(g->touched, 0, rows * sizeof *g->touched);
    }
}

void hopper_meet(struct block *b, uint32_t set)
{
    struct seen all = {0};
    for (int i = 0; i < b->warp_count; i++)
        if (set >> i & 1)
            join(&all, &b->hopper->warps[i]);
    for (int i = 0; i < b->warp_count; i++)
        if (set >> i & 1) {
            join(&b->hopper->warps[i], &all);
            b->hopper->warps[i].all[i]++;
        }
}

static bool is_seen(const struct seen *by, uint32_t me, const struct word *w, bool by_proxy)
{
    if (w->writer == NOBODY)
        return true;
    if (by_proxy && !w->by_copy)
        return by->fenced[w->writer] >= w->clock;
    return w->writer == me || by->all[w->writer] >= w->clock;
}

static uint32_t unseen_readers(const struct warp *warp, const struct word *w, uint32_t granule)
{
    const struct block *b = warp->block;
    const struct seen *by = seen_by(warp);
    uint32_t others = 0;
    for (uint32_t left = w->readers & ~(1u << warp->number); left; left &= left - 1) {
        uint32_t r = (uint32_t)__builtin_ctz(left);
        if (b->hopper->read_at[granule * (uint32_t)b->warp_count + r] > by->all[r])
            others |= 1u << r;
    }
    return others;
}

void hopper_use(struct warp *warp, const struct inst *in, int lane, uint32_t at, uint32_t bytes,
                bool writes, bool by_proxy)
{
    struct block *b = warp->block;
    struct hopper *h = b->hopper;
    const struct seen *by = seen_by(warp);
    uint32_t me = (uint32_t)warp->number;
    uint32_t pitch = b->all_bytes / b->kernel->cluster;
    const char *does = writes ? "writes" : "reads";
    for (uint32_t i = at / 4; i <= (at + bytes - 1) / 4; i++) {
        struct word *w = &h->words[i];
        if (b->copied[i / 4])
            ptx_fault(warp, in, lane, "%s byte %u of shared memory where a copy is under way", does,
                      i * 4 % pitch);
        if (!(writes && bytes < 4) && !is_seen(by, me, w, by_proxy))
            ptx_fault(warp, in, lane,
                      w->by_copy ? "%s byte %u of shared memory that a copy wrote, and has not "
                                   "waited for its barrier"
                      : by_proxy ? "%s byte %u of shared memory that a thread wrote, as a product "
                                   "or a copy, without a fence.proxy.async and a barrier since"
                                 : "%s byte %u of shared memory that another warp wrote, and there "
                                   "was no barrier since",
                      does, i * 4 % pitch);
        if (!writes && by_proxy) {
            h->product_at[i / 4 * GROUPS + me / 4] = h->groups[me].begun;
            continue;
        }
        if (!writes) {
            w->readers |= 1u << me;
            h->read_at[i / 4 * (uint32_t)b->warp_count + me] = by->all[me];
            continue;
        }
        for (uint32_t g = 0; g < GROUPS; g++)
            if (h->product_at[i / 4 * GROUPS + g] > by->all[PRODUCTS + g])
                ptx_fault(warp, in, lane,
                          "writes byte %u of shared memory that a product may still read",
                          i * 4 % pitch);
        if (unseen_readers(warp, w, i / 4))
            ptx_fault(warp, in, lane,
                      "writes byte %u of shared memory that another warp read, and there was no "
                      "barrier since",
                      i * 4 % pitch);
        *w = (struct word){.clock = by->all[me], .writer = (uint8_t)me};
    }
}

// ---- clusters ----

bool hopper_is_over(const struct block *b, uint32_t rank)
{
    uint32_t alive = 0;
    for (int i = 0; i < b->warp_count; i++)
        alive |= b->warps[i].rank == rank ? b->warps[i].alive : 0;
    return !alive;
}

uint32_t hopper_place(struct warp *warp, const struct inst *in, int lane, uint32_t address,
                      bool anywhere)
{
    const struct block *b = warp->block;
    uint32_t own = address % CLUSTER_WINDOW, pitch = b->all_bytes / b->kernel->cluster,
             rank = address >= CLUSTER_WINDOW ? address / CLUSTER_WINDOW - 1 : warp->rank;
    if (own >= b->shared_bytes || (address >= CLUSTER_WINDOW && !anywhere))
        ptx_fault(warp, in, lane, "uses %#x, which is not in its block's shared memory", address);
    if (hopper_is_over(b, rank))
        ptx_fault(warp, in, lane, "uses shared memory of block %u, which has ended", b->x + rank);
    return rank * pitch + own;
}

// mapa: o[0] is what block o[2] of the cluster has where this one has o[1].
void hopper_map(struct warp *warp, const struct inst *in, uint32_t lanes)
{
    const struct block *b = warp->block;
    for (int lane = 0; lane < LANES; lane++)
        if (lanes >> lane & 1) {
            uint32_t address = warp->regs[in->o[1] + (uint32_t)lane],
                     rank = warp->regs[in->o[2] + (uint32_t)lane];
            if (rank >= b->kernel->cluster || address >= b->shared_bytes)
                ptx_fault(warp, in, lane, "asks for %#x of block %u of a cluster of %u", address,
                          rank, b->kernel->cluster);
            warp->regs[in->o[0] + (uint32_t)lane] = (rank + 1) * CLUSTER_WINDOW + address;
        }
}

// Lets all go on when those that have not ended are there.
static void open_cluster(const struct block *b)
{
    struct cluster_barrier *c = &b->hopper->cluster;
    for (int i = 0; i < b->warp_count; i++)
        if (b->warps[i].alive && !(c->arrived >> i & 1))
            return;
    c->phases++;
    c->arrived = 0;
    c->done = c->now;
    b->hopper->progress++;
}

void hopper_cluster_arrive(struct warp *warp, const struct inst *in, uint32_t lanes)
{
    struct cluster_barrier *c = &warp->block->hopper->cluster;
    struct seen *mine = seen_by(warp);
    (void)lanes;
    if (c->waits[warp->number])
        ptx_fault(warp, in, 0, "arrives at the cluster's barrier again, and has not waited");
    c->waits[warp->number] = c->phases + 1;
    c->arrived |= 1u << warp->number;
    join(&c->now, mine);
    mine->all[warp->number]++;
    open_cluster(warp->block);
}

void hopper_cluster_wait(struct warp *warp, const struct inst *in, uint32_t lanes)
{
    struct cluster_barrier *c = &warp->block->hopper->cluster;
    (void)lanes;
    if (!c->waits[warp->number])
        ptx_fault(warp, in, 0, "waits at the cluster's barrier, and has not arrived");
    if (c->phases < c->waits[warp->number])
        open_cluster(warp->block);
    if (c->phases < c->waits[warp->number]) {
        warp->stalled = in;
        warp->stalled_at = warp->block->hopper->progress;
        return;
    }
    c->waits[warp->number] = 0;
    join(seen_by(warp), &c->done);
}

// ---- barriers in shared memory ----

static struct barrier *find(struct warp *warp, const struct inst *in, int lane, uint32_t address)
{
    struct hopper *h = warp->block->hopper;
    uint32_t pitch = warp->block->all_bytes / warp->block->kernel->cluster;
    for (int i = 0; i < h->barrier_count; i++)
        if (h->barriers[i].address == address) {
            struct barrier *bar = &h->barriers[i];
            if (bar->maker != (uint32_t)warp->number &&
                seen_by(warp)->all[bar->maker] < bar->made_at)
                ptx_fault(warp, in, lane,
                          "uses a barrier at %u that another warp made, and there was no barrier "
                          "of the block since",
                          address % pitch);
            return bar;
        }
    ptx_fault(warp, in, lane, "there is no barrier at %u", address % pitch);
}

static void finish(struct hopper *h, struct barrier *bar)
{
    if (bar->pending > 0 || bar->bytes != 0)
        return;
    bar->phases++;
    bar->pending = bar->count;
    bar->done = bar->now;
    h->progress++;
}

void hopper_init(struct warp *warp, const struct inst *in, uint32_t lanes)
{
    struct hopper *h = warp->block->hopper;
    for (int lane = 0; lane < LANES; lane++)
        if (lanes >> lane & 1) {
            uint32_t own = warp->regs[in->base + (uint32_t)lane] + (uint32_t)in->offset,
                     at = warp->base + own, count = warp->regs[in->o[0] + (uint32_t)lane];
            for (int i = 0; i < h->barrier_count; i++)
                if (h->barriers[i].address == at)
                    ptx_fault(warp, in, lane, "makes the barrier at %u again", own);
            if (own % 8 || own >= warp->block->shared_bytes ||
                own + 8 > warp->block->shared_bytes || count == 0 || count > 1 << 20)
                ptx_fault(warp, in, lane, "makes a barrier at %u for %u", own, count);
            if (h->barrier_count == BARRIERS)
                ptx_fault(warp, in, lane, "more barriers than the stand-in has room for");
            hopper_use(warp, in, lane, at, 8, true, false);
            h->barriers[h->barrier_count++] =
                (struct barrier){.address = at,
                                 .count = count,
                                 .pending = count,
                                 .maker = (uint32_t)warp->number,
                                 .made_at = seen_by(warp)->all[warp->number]};
        }
}

// anywhere: in the cluster, by its addresses.
static void arrive(struct warp *warp, const struct inst *in, uint32_t lanes, bool expects,
                   bool anywhere)
{
    struct seen *mine = seen_by(warp);
    for (int lane = 0; lane < LANES; lane++)
        if (lanes >> lane & 1) {
            uint32_t at = warp->regs[in->base + (uint32_t)lane] + (uint32_t)in->offset;
            struct barrier *bar = find(warp, in, lane, hopper_place(warp, in, lane, at, anywhere));
            if (bar->pending == 0)
                ptx_fault(warp, in, lane, "arrives at the barrier at %u, where all of %u are",
                          at & (CLUSTER_WINDOW - 1), bar->count);
            bar->bytes += expects ? (int64_t)warp->regs[in->o[0] + (uint32_t)lane] : 0;
            bar->pending--;
            join(&bar->now, mine);
            mine->all[warp->number]++;
            finish(warp->block->hopper, bar);
        }
}

void hopper_arrive(struct warp *warp, const struct inst *in, uint32_t lanes)
{
    arrive(warp, in, lanes, false, false);
}

void hopper_arrive_at(struct warp *warp, const struct inst *in, uint32_t lanes)
{
    arrive(warp, in, lanes, false, true);
}

void hopper_expect(struct warp *warp, const struct inst *in, uint32_t lanes)
{
    arrive(warp, in, lanes, true, false);
}

// False leaves the warp: it goes on when something has happened.
void hopper_wait(struct warp *warp, const struct inst *in, uint32_t lanes)
{
    uint32_t *to = &warp->regs[in->o[0]];
    for (int lane = 0; lane < LANES; lane++)
        if (lanes >> lane & 1) {
            uint32_t at = warp->regs[in->base + (uint32_t)lane] + (uint32_t)in->offset,
                     parity = warp->regs[in->o[1] + (uint32_t)lane];
            const struct barrier *bar =
                find(warp, in, lane, hopper_place(warp, in, lane, at, false));
            bool over = (bar->phases & 1) != (parity & 1);
            *to = (*to & ~(1u << lane)) | (uint32_t)over << lane;
            if (over) {
                join(seen_by(warp), &bar->done);
            } else {
                warp->stalled = in;
                warp->stalled_at = warp->block->hopper->progress;
            }
        }
}

void hopper_fence_init(struct warp *warp, const struct inst *in, uint32_t lanes)
{
    struct hopper *h = warp->block->hopper;
    (void)in;
    (void)lanes;
    for (int i = 0; i < h->barrier_count; i++)
        h->barriers[i].fenced |= h->barriers[i].maker == (uint32_t)warp->number;
}

void hopper_fence_proxy(struct warp *warp, const struct inst *in, uint32_t lanes)
{
    struct seen *mine = seen_by(warp);
    hopper_fence_init(warp, in, lanes);
    memcpy(mine->fenced, mine->all, sizeof mine->fenced);
    mine->all[warp->number]++; // what it writes from now on is not fenced
}

void hopper_registers(struct warp *warp, const struct inst *in, uint32_t lanes)
{
    uint32_t n = warp->regs[in->o[0]];
    (void)lanes;
    if (n < 24 || n > 256 || n % 8)
        ptx_fault(warp, in, 0, "asks for %u registers", n);
}

// ---- bulk copies, which write when nobody can go on without them ----

void hopper_begin_bulk(struct warp *warp, const struct inst *in, int lane, struct bulk bulk)
{
    struct block *b = warp->block;
    struct hopper *h = b->hopper;
    struct barrier *bar = find(warp, in, lane, bulk.barrier);
    if (!bar->fenced)
        ptx_fault(warp, in, lane, "copies with a barrier that was made without a fence since");
    uint32_t own = bulk.to % (b->all_bytes / b->kernel->cluster);
    if (own % 16 || bulk.bytes % 16 || bulk.bytes == 0 || own > b->shared_bytes ||
        bulk.bytes > b->shared_bytes - own)
        ptx_fault(warp, in, lane, "copies %u bytes to %u of %u of shared memory", bulk.bytes, own,
                  b->shared_bytes);
    if (h->bulk_count == h->bulk_room) {
        int room = h->bulk_room ? 2 * h->bulk_room : 16;
        struct bulk *more = realloc(h->bulks, (size_t)room * sizeof *more);
        if (!more)
            ptx_fault(warp, in, lane, "no memory");
        h->bulks = more;
        h->bulk_room = room;
    }
    hopper_use(warp, in, lane, bulk.to, bulk.bytes, true, true);
    bulk.clock = ++bar->copies;
    for (uint32_t i = bulk.to / 4; i < (bulk.to + bulk.bytes) / 4; i++)
        h->words[i] = (struct word){.clock = bulk.clock,
                                    .writer = (uint8_t)(COPIES + (bar - h->barriers)),
                                    .by_copy = true};
    memset(b->shared + bulk.to, 0xff, bulk.bytes);
    memset(b->copied + bulk.to / 16, true, bulk.bytes / 16);
    h->bulks[h->bulk_count++] = bulk;
}

void hopper_end_bulk(struct block *b, const struct bulk *bulk)
{
    struct hopper *h = b->hopper;
    for (int i = 0; i < h->barrier_count; i++)
        if (h->barriers[i].address == bulk->barrier) {
            struct barrier *bar = &h->barriers[i];
            memset(b->copied + bulk->to / 16, false, bulk->bytes / 16);
            if (bar->now.all[COPIES + i] < bulk->clock)
                bar->now.all[COPIES + i] = bulk->clock;
            bar->bytes -= bulk->bytes;
            finish(h, bar);
        }
}
