// SPDX-License-Identifier: Apache-2.0
#include "book/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void timeline_release(struct timeline *c)
{
    free(c->items);
    free(c->spans);
    *c = (struct timeline){0};
}

void timeline_clear(struct timeline *c)
{
    c->count = c->span_count = 0;
    c->until_s = 0;
}

static int add_item(struct timeline *c, int64_t at_s, int64_t nano_usd, struct err *err)
{
    TRY(array_grow(&c->items, c->count, &c->cap, sizeof *c->items, err));
    c->items[c->count++] = (struct image_change){at_s, nano_usd};
    return 0;
}

static int add_span(struct timeline *c, int64_t from_s, int64_t until_s, struct err *err)
{
    TRY(array_grow(&c->spans, c->span_count, &c->span_cap, sizeof *c->spans, err));
    c->spans[c->span_count++] = (struct timeline_span){from_s, until_s};
    return 0;
}

int timeline_add(struct timeline *c, const struct image_change *items, size_t count, int64_t from_s,
                 int64_t until_s, struct err *err)
{
    if (count == 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        TRY(add_item(c, items[i].at_s, items[i].nano_usd, err));
    int64_t end_s = items[count - 1].at_s + 1;
    return add_span(c, from_s < items[0].at_s ? from_s : items[0].at_s,
                    until_s > end_s ? until_s : end_s, err);
}

int timeline_add_old(struct timeline *c, const struct image_change *items, size_t count,
                     int64_t until_s, struct err *err)
{
    for (size_t i = 0, end; i < count; i = end + 1) { // up to the next 0
        for (end = i; end < count && items[end].nano_usd > 0;)
            end++;
        if (end > i)
            TRY(timeline_add(c, items + i, end - i, items[i].at_s,
                             end < count ? items[end].at_s : until_s, err));
    }
    return 0;
}

// ---- joining ----

static int by_time(const void *left, const void *right)
{
    const struct image_change *a = left, *b = right;
    if (a->at_s != b->at_s)
        return a->at_s < b->at_s ? -1 : 1;
    return a->nano_usd < b->nano_usd ? -1 : a->nano_usd > b->nano_usd;
}

static int by_start(const void *left, const void *right)
{
    const struct timeline_span *a = left, *b = right;
    return a->from_s < b->from_s ? -1 : a->from_s > b->from_s;
}

// Unites spans that are less than a day apart.
static void join_spans(struct timeline *c)
{
    size_t kept = 0;
    qsort(c->spans, c->span_count, sizeof *c->spans, by_start);
    for (size_t i = 0; i < c->span_count; i++) {
        struct timeline_span *last = kept > 0 ? &c->spans[kept - 1] : NULL;
        if (!last || c->spans[i].from_s - last->until_s > TIMELINE_UNSEEN_S)
            c->spans[kept++] = c->spans[i];
        else if (c->spans[i].until_s > last->until_s)
            last->until_s = c->spans[i].until_s;
    }
    c->span_count = kept;
}

// Keeps what changes the price, in the order of time.
static void drop_repeated(struct timeline *c)
{
    size_t kept = 0, hole = 0;
    qsort(c->items, c->count, sizeof *c->items, by_time);
    for (size_t i = 0; i < c->count; i++) {
        const struct image_change *next = &c->items[i];
        if (i + 1 < c->count && next[1].at_s == next->at_s)
            continue;        // the higher one counts
        bool unseen = false; // between the last one and this one
        while (hole + 1 < c->span_count && c->spans[hole + 1].from_s <= next->at_s) {
            hole++;
            unseen = true;
        }
        if (kept == 0 || unseen || c->items[kept - 1].nano_usd != next->nano_usd)
            c->items[kept++] = *next;
    }
    c->count = kept;
}

// Adds a 0 at the end of each span but the last.
static int mark_holes(struct timeline *c, struct err *err)
{
    for (size_t i = 0; i + 1 < c->span_count; i++)
        TRY(add_item(c, c->spans[i].until_s, 0, err));
    if (c->span_count > 1)
        qsort(c->items, c->count, sizeof *c->items, by_time);
    return 0;
}

int timeline_join(struct timeline *c, struct err *err)
{
    if (c->count == 0)
        return 0;
    join_spans(c);
    drop_repeated(c);
    TRY(mark_holes(c, err));
    c->until_s = c->spans[c->span_count - 1].until_s;
    return 0;
}
