// SPDX-License-Identifier: Apache-2.0
#include "book/stock.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "book/book.h"

enum { ROWS_MAX = 1 << 28 };

void stock_release(struct stock *stock)
{
    index_release(&stock->words);
    free(stock->rows);
    free(stock->risks);
    free(stock->series);
    free(stock->changes);
    *stock = (struct stock){0};
}

static int grow(void *array, size_t count, size_t *cap, size_t size, struct err *err)
{
    if (count >= ROWS_MAX)
        return err_set(err, ERR_FORMAT, "more than %d offers", ROWS_MAX);
    return array_grow(array, count, cap, size, err);
}

// `last` has the numbers of the row before, or is null: tables repeat most of their words.
static int add_words(struct index *words, const char *const *texts, uint32_t *const *numbers,
                     const uint32_t *last, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (last && strcmp(words_text(words, last[i]), texts[i]) == 0)
            *numbers[i] = last[i];
        else
            TRY(words_add(words, texts[i], numbers[i], err));
    return 0;
}

int stock_add(struct stock *stock, const struct offer *o, struct err *err)
{
    struct stock_row row = {
        .gpus_milli = o->gpus_milli,
        .gpu_memory_mib = o->gpu_memory_mib,
        .vcpus_milli = o->vcpus_milli,
        .memory_mib = o->memory_mib,
        .kind = (uint8_t)o->kind,
        .bare_metal = o->bare_metal,
        .price = {.rate = o->rate,
                  .per_s = (uint32_t)o->per_s,
                  .since = o->since,
                  .seen = o->day < o->since ? o->since : o->day,
                  .valid_to = o->valid_to <= UINT16_MAX ? (uint16_t)o->valid_to : 0,
                  .basis = (uint8_t)o->basis,
                  .lacks = (uint8_t)o->lacks},
    };
    const char *const texts[] = {o->provider, o->name, o->region,   o->zone,
                                 o->gpu,      o->cpu,  o->currency, o->source};
    uint32_t *const numbers[] = {&row.provider, &row.name, &row.region,         &row.zone,
                                 &row.gpu,      &row.cpu,  &row.price.currency, &row.price.source};
    const struct stock_row *r = stock->count > 0 ? &stock->rows[stock->count - 1] : &row;
    const uint32_t last[] = {r->provider, r->name, r->region,         r->zone,
                             r->gpu,      r->cpu,  r->price.currency, r->price.source};
    TRY(add_words(&stock->words, texts, numbers, r == &row ? NULL : last,
                  sizeof texts / sizeof *texts, err));
    TRY(grow(&stock->rows, stock->count, &stock->cap, sizeof row, err));
    stock->rows[stock->count++] = row;
    return 0;
}

int stock_from(struct stock *stock, const char *table, size_t line, struct err *err)
{
    struct stock_row *row = &stock->rows[stock->count - 1];
    row->line = line < UINT32_MAX ? (uint32_t)line : UINT32_MAX;
    uint32_t *number = &row->table;
    return add_words(&stock->words, &table, &number, stock->count > 1 ? &row[-1].table : NULL, 1,
                     err);
}

int stock_add_risk(struct stock *stock, const char *provider, const char *name, const char *region,
                   const struct offer_risk *risk, struct err *err)
{
    struct image_risk row = {
        .low_percent = (int16_t)risk->low_percent,
        .high_percent = (int16_t)risk->high_percent,
        .saving_percent = (int16_t)risk->saving_percent,
        .day = risk->day,
    };
    const char *const texts[] = {provider, name, region, risk->source};
    uint32_t *const numbers[] = {&row.provider, &row.name, &row.region, &row.source};
    TRY(add_words(&stock->words, texts, numbers, NULL, sizeof texts / sizeof *texts, err));
    TRY(grow(&stock->risks, stock->risk_count, &stock->risk_cap, sizeof row, err));
    stock->risks[stock->risk_count++] = row;
    return 0;
}

int stock_add_series(struct stock *stock, const struct offer *o, const struct image_change *changes,
                     size_t count, int64_t from_s, int64_t until_s, struct err *err)
{
    struct stock_series row = {
        .first = stock->change_count, .count = count, .from_s = from_s, .until_s = until_s};
    const char *const texts[] = {o->provider, o->name, o->region, o->zone, o->source};
    uint32_t *const numbers[] = {&row.provider, &row.name, &row.region, &row.zone, &row.source};
    TRY(add_words(&stock->words, texts, numbers, NULL, sizeof texts / sizeof *texts, err));
    TRY(grow(&stock->series, stock->series_count, &stock->series_cap, sizeof row, err));
    for (size_t i = 0; i < count; i++) {
        TRY(grow(&stock->changes, stock->change_count, &stock->change_cap, sizeof *changes, err));
        stock->changes[stock->change_count++] = changes[i];
    }
    stock->series[stock->series_count++] = row;
    return 0;
}

// ---- zones ----

#define BY(member)                                                                                 \
    if (a->member != b->member)                                                                    \
    return a->member < b->member ? -1 : 1

static int by_region(const void *left, const void *right)
{
    const struct stock_row *a = left, *b = right;
    BY(provider);
    BY(name);
    BY(region);
    BY(kind);
    BY(price.since);
    BY(zone);
    BY(price.rate);
    return 0;
}

static bool same_region(const struct stock_row *a, const struct stock_row *b)
{
    return a->provider == b->provider && a->name == b->name && a->region == b->region &&
           a->kind == b->kind && a->price.since == b->price.since;
}

static bool same_offer(const struct stock_row *a, const struct stock_row *b)
{
    return price_same(&a->price, &b->price) && a->price.valid_to == b->price.valid_to &&
           a->price.basis == b->price.basis && a->price.lacks == b->price.lacks &&
           a->gpu == b->gpu && a->gpus_milli == b->gpus_milli &&
           a->gpu_memory_mib == b->gpu_memory_mib && a->vcpus_milli == b->vcpus_milli &&
           a->memory_mib == b->memory_mib && a->bare_metal == b->bare_metal;
}

int stock_join_zones(struct stock *stock, size_t first, const char *zonal, struct err *err)
{
    uint32_t none, provider = UINT32_MAX;
    TRY(words_add(&stock->words, "", &none, err));
    if (zonal)
        TRY(words_add(&stock->words, zonal, &provider, err));
    if (first == stock->count)
        return 0;
    struct stock_row *rows = stock->rows, *end = rows + stock->count, *out = rows + first;
    qsort(out, stock->count - first, sizeof *out, by_region);
    for (struct stock_row *row = out, *next; row < end; row = next) {
        bool same = !(row->kind == OFFER_SPOT && row->provider == provider);
        for (next = row + 1; next < end && same_region(row, next); next++)
            same &= same_offer(row, next);
        if (same) {
            *out = *row;
            out++->zone = none;
        } else {
            size_t count = (size_t)(next - row);
            memmove(out, row, count * sizeof *row);
            out += count;
        }
    }
    stock->count = (size_t)(out - rows);
    return 0;
}

// ---- one price for both kinds ----

static bool same_machine(const struct stock_row *a, const struct stock_row *b)
{
    return a->provider == b->provider && a->name == b->name;
}

// Whether all spot prices of a machine, which are there, equal those on demand of their regions.
static bool is_copy(const struct stock_row *row, const struct stock_row *end)
{
    const struct stock_row *demand = NULL;
    bool copied = false;
    for (; row < end; row++) { // of each region, those on demand come first
        if (row->kind == OFFER_ON_DEMAND && (!demand || demand->region != row->region))
            demand = row;
        if (row->kind != OFFER_SPOT || !demand || demand->region != row->region)
            continue;
        if (!price_same(&demand->price, &row->price))
            return false;
        copied = true;
    }
    return copied;
}

void stock_mark_copies(struct stock *stock, size_t first)
{
    if (stock->count < first + 2)
        return;
    struct stock_row *end = stock->rows + stock->count, *row = stock->rows + first;
    qsort(row, stock->count - first, sizeof *row, by_region);
    for (struct stock_row *next; row < end; row = next) {
        for (next = row + 1; next < end && same_machine(row, next);)
            next++;
        for (struct stock_row *r = is_copy(row, next) ? row : next; r < next; r++)
            if (r->kind == OFFER_SPOT || r->price.basis == BASIS_UNSAID)
                r->price.lacks |= EQUALS_SPOT;
    }
}

bool price_leaps(int64_t rate, int64_t per_s, int64_t other, int64_t other_per_s)
{
    __int128 x = (__int128)rate * other_per_s, y = (__int128)other * per_s;
    return x > PRICE_LEAP * y || y > PRICE_LEAP * x;
}

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

const char *words_text(const struct index *words, uint32_t number)
{
    return number < words->count ? index_text(words, number) : "";
}

int words_add(struct index *words, const char *text, uint32_t *number, struct err *err)
{
    size_t at;
    if (words->count == 0)
        TRY(index_number(words, "", 0, &at, err));
    TRY(index_number(words, text, strlen(text), &at, err));
    *number = (uint32_t)at;
    return 0;
}

static int by_text(const void *a, const void *b, void *arg)
{
    const struct index *words = arg;
    return strcmp(words_text(words, *(const uint32_t *)a), words_text(words, *(const uint32_t *)b));
}

uint32_t *words_rank(const struct index *words, struct err *err)
{
    uint32_t *order = malloc((words->count + 1) * sizeof *order);
    uint32_t *ranks = malloc((words->count + 1) * sizeof *ranks);
    if (!order || !ranks) {
        free(order);
        free(ranks);
        err_memory(err);
        return NULL;
    }
    for (size_t i = 0; i < words->count; i++)
        order[i] = (uint32_t)i;
    union {
        const struct index *in;
        void *out;
    } arg = {words};
    qsort_r(order, words->count, sizeof *order, by_text, arg.out);
    for (size_t i = 0; i < words->count; i++)
        ranks[order[i]] = (uint32_t)i;
    free(order);
    return ranks;
}
