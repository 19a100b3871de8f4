// SPDX-License-Identifier: Apache-2.0
#include "price/listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "price/currency.h"
#include "price/doubt.h"

// By price per GPU-hour, then per vCPU-hour; then unknown prices, then doubtful ones.
static int by_price(const void *left, const void *right)
{
    const struct listing_line *x = left, *y = right;
    const struct offer *a = &x->offer, *b = &y->offer;
    if (!x->doubt != !y->doubt)
        return x->doubt ? 1 : -1;
    bool gpu_a = a->gpus_milli > 0, gpu_b = b->gpus_milli > 0;
    if (gpu_a != gpu_b)
        return gpu_a ? -1 : 1;
    int units_a = gpu_a ? a->gpus_milli : a->vcpus_milli;
    int units_b = gpu_b ? b->gpus_milli : b->vcpus_milli;
    bool unknown_a = units_a == 0 || x->usd_hour < 0, unknown_b = units_b == 0 || y->usd_hour < 0;
    if (unknown_a != unknown_b)
        return unknown_a ? 1 : -1;
    __int128 u = (__int128)x->usd_hour * units_b, v = (__int128)y->usd_hour * units_a;
    if (u != v && !unknown_a)
        return u < v ? -1 : 1;
    int order = strcmp(a->provider, b->provider);
    if (order == 0)
        order = strcmp(a->name, b->name);
    if (order == 0)
        order = strcmp(a->region, b->region);
    if (order == 0)
        order = strcmp(a->zone, b->zone);
    return order != 0 ? order : (int)a->kind - (int)b->kind;
}

static bool same_name(const struct offer *a, const struct offer *b)
{
    return (a->name == b->name || strcmp(a->name, b->name) == 0) &&
           (a->provider == b->provider || strcmp(a->provider, b->provider) == 0);
}

// The price of an hour in USD; -1 if there is no rate for the currency.
static int convert(struct listing *list, struct listing_line *line, struct err *err)
{
    const struct offer *o = &line->offer;
    line->usd_hour = offer_per_hour(o);
    if (strcmp(o->currency, "USD") == 0)
        return 0;
    int rc = list->currencies ? 0 : currencies_open(&list->currencies, err);
    if (rc != 0)
        return rc;
    struct err why = {0};
    const char *source = NULL;
    rc = currency_to_usd(list->currencies, o->currency, list->day, line->usd_hour, &line->usd_hour,
                         NULL, &source, &why);
    if (rc != 0)
        line->usd_hour = -1;
    else if (!list->rate)
        list->rate = source;
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

static int append(struct listing *list, const struct listing_line *line, struct err *err)
{
    TRY(array_grow(&list->items, list->count, &list->cap, sizeof *line, err));
    list->items[list->count++] = *line;
    return 0;
}

const char *listing_doubt(const struct devices *devices, const struct listing_line *line, int day)
{
    return offer_retired(&line->offer, day) ? "of a machine that can no longer be ordered"
                                            : doubt_of(devices, &line->offer, line->usd_hour);
}

static int collect(void *arg, const struct offer *offer, struct err *err)
{
    struct listing *list = arg;
    struct listing_line line = {.offer = *offer};
    if (offer->day < list->oldest) {
        list->stale++;
        return 0;
    }
    TRY(convert(list, &line, err));
    if ((list->max_rate >= 0 && line.usd_hour > list->max_rate))
        return 0;
    line.doubt = list->devices ? listing_doubt(list->devices, &line, list->day) : NULL;
    list->seen++;
    if (list->all)
        return append(list, &line, err);
    if (list->group < list->count && !same_name(&list->items[list->group].offer, offer))
        list->group = list->count;
    for (size_t i = list->group; i < list->count; i++) {
        struct listing_line *other = &list->items[i];
        if (other->offer.kind != offer->kind)
            continue;
        if (by_price(&line, other) < 0)
            *other = line;
        return 0;
    }
    return append(list, &line, err);
}

void listing_release(struct listing *list)
{
    free(list->items);
    currencies_close(list->currencies);
}

int listing_make(struct listing *list, const struct book *book, const struct book_filter *filter,
                 struct err *err)
{
    list->day = filter->day;
    TRY(book_each(book, filter, collect, list, err));
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, by_price);
    return 0;
}
