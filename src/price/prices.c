// SPDX-License-Identifier: Apache-2.0
#include "price/prices.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void prices_release(struct prices *prices)
{
    free(prices->items);
    *prices = (struct prices){0};
}

static int insert(struct prices *prices, size_t at, const struct image_price *price,
                  struct err *err)
{
    if (prices->count == UINT16_MAX)
        return err_set(err, ERR_OVERFLOW, "an offer has more than %d prices", UINT16_MAX);
    TRY(array_grow(&prices->items, prices->count, &prices->cap, sizeof *price, err));
    struct image_price *place = prices->items + at;
    memmove(place + 1, place, (prices->count - at) * sizeof *place);
    *place = *price;
    prices->count++;
    return 0;
}

int prices_append(struct prices *prices, const struct image_price *price, struct err *err)
{
    return insert(prices, prices->count, price, err);
}

bool price_same(const struct image_price *a, const struct image_price *b)
{
    return a->rate == b->rate && a->per_s == b->per_s && a->currency == b->currency;
}

// Ends a row before the next one starts.
static void cut(struct prices *prices, size_t i)
{
    struct image_price *p = &prices->items[i];
    if (i + 1 < prices->count && p->seen >= p[1].since)
        p->seen = p[1].since > p->since ? p[1].since - 1 : p->since;
}

static void extend(struct prices *prices, size_t i, const struct image_price *seen)
{
    struct image_price *p = &prices->items[i];
    if (seen->since < p->since)
        p->since = seen->since;
    if (seen->seen >= p->seen) {
        p->seen = seen->seen;
        p->source = seen->source;
        p->valid_to = seen->valid_to;
        p->basis = seen->basis;
        p->lacks = seen->lacks;
    }
    cut(prices, i);
    if (i > 0)
        cut(prices, i - 1);
}

// The number of rows that start on that day or before.
static size_t started_by(const struct image_price *items, size_t count, int day)
{
    while (count > 0 && items[count - 1].since > day)
        count--;
    return count;
}

int prices_observe(struct prices *prices, const struct image_price *seen, bool *changed,
                   struct err *err)
{
    size_t k = started_by(prices->items, prices->count, seen->since); // where to insert
    struct image_price *items = prices->items;
    *changed = false;
    if (k > 0 && price_same(&items[k - 1], seen)) {
        extend(prices, k - 1, seen);
        return 0;
    }
    for (size_t j = k; j > 0 && items[j - 1].since == seen->since; j--)
        if (price_same(&items[j - 1], seen))
            return 0; // known; another price followed on the same day
    bool between = k > 0 && items[k - 1].seen > seen->since;
    if (k < prices->count && price_same(&items[k], seen) && !between) {
        extend(prices, k, seen); // the price held earlier than we knew
        return 0;
    }
    *changed = true;
    if (between) {
        // Split a row: the other price was seen before and after, but not on this day.
        struct image_price later = items[k - 1];
        later.since = later.seen;
        items[k - 1].seen = items[k - 1].since;
        TRY(insert(prices, k, &later, err));
    }
    TRY(insert(prices, k, seen, err));
    cut(prices, k);
    if (k > 0)
        cut(prices, k - 1);
    return 0;
}

const struct image_price *prices_on(const struct image_price *items, size_t count, int day)
{
    size_t k = day == 0 ? count : started_by(items, count, day);
    return k > 0 ? &items[k - 1] : NULL;
}
