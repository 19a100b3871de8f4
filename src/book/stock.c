// SPDX-License-Identifier: Apache-2.0
#include "book/stock.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "book/book.h"
#include "book/image.h"

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

// ==== building ====
// Merges a stock and an older image into a new image, walking both in key order. During the merge
// words have the stock's numbers; at the end they get the image's.

struct making {
    struct stock *stock;
    const struct image *old;
    uint32_t *translated; // from the old image's words to the stock's
    uint32_t *ranks;      // of the stock's words
    uint32_t *order;      // the stock's rows, sorted
    uint32_t *series_order;
    struct image_offer *offers;
    struct image_price *prices;
    struct image_risk *risks;
    struct image_series *series;
    struct image_change *changes;
    size_t offer_count, price_count, risk_count, series_count, change_count;
    struct prices history;     // of the current offer
    struct timeline spot;      // the same to the second
    size_t old_next, new_next; // the next series
    struct stock_counts *counts;
};

struct key {
    uint32_t part[5]; // ranks of provider, name, region and zone; kind
};

static int compare(const struct key *a, const struct key *b)
{
    for (int i = 0; i < 5; i++)
        if (a->part[i] != b->part[i])
            return a->part[i] < b->part[i] ? -1 : 1;
    return 0;
}

static struct key key_of_row(const struct making *m, const struct stock_row *r)
{
    const uint32_t *rank = m->ranks;
    return (struct key){
        {rank[r->provider], rank[r->name], rank[r->region], rank[r->zone], r->kind}};
}

static struct key key_of_old(const struct making *m, const struct image_offer *o)
{
    const uint32_t *rank = m->ranks, *word = m->translated;
    return (struct key){{rank[word[o->provider]], rank[word[o->name]], rank[word[o->region]],
                         rank[word[o->zone]], o->kind}};
}

// By key, then by date, the lowest price first.
static int by_key(const void *left, const void *right, void *arg)
{
    const struct making *m = arg;
    const struct stock_row *a = &m->stock->rows[*(const uint32_t *)left];
    const struct stock_row *b = &m->stock->rows[*(const uint32_t *)right];
    struct key x = key_of_row(m, a), y = key_of_row(m, b);
    int by = compare(&x, &y);
    if (by != 0)
        return by;
    if (a->price.since != b->price.since)
        return a->price.since < b->price.since ? -1 : 1;
    if (a->price.rate != b->price.rate)
        return a->price.rate < b->price.rate ? -1 : 1;
    return a < b ? -1 : a > b;
}

static struct key key_of_series(const struct making *m, const struct stock_series *s)
{
    const uint32_t *rank = m->ranks;
    return (struct key){
        {rank[s->provider], rank[s->name], rank[s->region], rank[s->zone], OFFER_SPOT}};
}

static int by_series(const void *left, const void *right, void *arg)
{
    const struct making *m = arg;
    uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
    struct key x = key_of_series(m, &m->stock->series[i]);
    struct key y = key_of_series(m, &m->stock->series[k]);
    int by = compare(&x, &y);
    return by != 0 ? by : i < k ? -1 : i > k;
}

static int prepare(struct making *m, struct err *err)
{
    struct stock *s = m->stock;
    const struct image *old = m->old;
    uint32_t none;
    int rc = words_add(&s->words, "", &none, err); // an image starts with it
    m->translated = malloc((old->word_count + 1) * sizeof *m->translated);
    m->order = malloc((s->count + 1) * sizeof *m->order);
    m->offers = malloc((old->offer_count + s->count + 1) * sizeof *m->offers);
    // An observation within a known period makes two rows.
    m->prices = malloc((old->price_count + 2 * s->count + 1) * sizeof *m->prices);
    m->risks = malloc((old->risk_count + s->risk_count + 1) * sizeof *m->risks);
    if (rc == 0 && (!m->translated || !m->order || !m->offers || !m->prices || !m->risks))
        rc = err_memory(err);
    // A hole between two sources is a change too.
    m->series_order = malloc((s->series_count + 1) * sizeof *m->series_order);
    m->series = malloc((old->series_count + s->series_count + 1) * sizeof *m->series);
    m->changes =
        malloc((old->change_count + s->change_count + s->series_count + 1) * sizeof *m->changes);
    if (rc == 0 && (!m->series_order || !m->series || !m->changes))
        rc = err_memory(err);
    for (size_t i = 0; i < old->word_count && rc == 0; i++)
        rc = words_add(&s->words, image_word(old, (uint32_t)i), &m->translated[i], err);
    if (rc == 0 && !(m->ranks = words_rank(&s->words, err)))
        rc = ERR_MEMORY;
    if (rc == 0) {
        for (size_t i = 0; i < s->count; i++)
            m->order[i] = (uint32_t)i;
        qsort_r(m->order, s->count, sizeof *m->order, by_key, m);
        for (size_t i = 0; i < s->series_count; i++)
            m->series_order[i] = (uint32_t)i;
        qsort_r(m->series_order, s->series_count, sizeof *m->series_order, by_series, m);
    }
    return rc;
}

// ---- one offer ----

static void copy_old(const struct making *m, const struct image_offer *from, struct image_offer *to)
{
    const uint32_t *word = m->translated;
    *to = *from;
    to->provider = word[from->provider];
    to->name = word[from->name];
    to->region = word[from->region];
    to->zone = word[from->zone];
    to->gpu = word[from->gpu];
    to->cpu = word[from->cpu];
}

// The newest row wins; values it does not give stay as they were.
static void apply_row(const struct stock_row *row, struct image_offer *to)
{
    to->provider = row->provider;
    to->name = row->name;
    to->region = row->region;
    to->zone = row->zone;
    to->kind = row->kind;
    if (row->vcpus_milli > 0 || row->gpus_milli > 0) {
        to->gpu = row->gpu;
        to->gpus_milli = row->gpus_milli;
    }
    if (row->gpu_memory_mib > 0)
        to->gpu_memory_mib = row->gpu_memory_mib;
    if (row->vcpus_milli > 0)
        to->vcpus_milli = row->vcpus_milli;
    if (row->memory_mib > 0)
        to->memory_mib = row->memory_mib;
    if (row->cpu > 0)
        to->cpu = row->cpu;
    to->bare_metal |= row->bare_metal;
}

static int copy_old_prices(struct making *m, const struct image_offer *from, struct err *err)
{
    for (size_t i = 0; i < from->price_count; i++) {
        struct image_price price = m->old->prices[from->first_price + i];
        price.currency = m->translated[price.currency];
        price.source = m->translated[price.source];
        TRY(prices_append(&m->history, &price, err));
    }
    return 0;
}

static bool is_leap(const struct image_price *a, const struct image_price *b)
{
    return a->currency == b->currency && price_leaps(a->rate, a->per_s, b->rate, b->per_s);
}

// Two prices for one date in a hand-written table: one of them is a mistake.
static int two_prices(const struct making *m, const struct stock_row *a, const struct stock_row *b,
                      struct err *err)
{
    const struct index *words = &m->stock->words;
    bool later = a->table == b->table ? a->line > b->line : m->ranks[a->table] > m->ranks[b->table];
    const struct stock_row *first = later ? b : a, *second = later ? a : b;
    const char *zone = words_text(words, a->zone);
    const char *region = *zone ? zone : words_text(words, a->region);
    char date[CLOCK_ISO_BYTES], where[160] = "";
    clock_iso((int64_t)a->price.since * 86400, date);
    if (first->table != second->table)
        snprintf(where, sizeof where, " of '%.120s'", words_text(words, first->table));
    err_set(err, ERR_FORMAT,
            "'%.200s', line %u: a second price of %s/%s%s%s%s%s on %.10s: see line %u%s",
            words_text(words, second->table), (unsigned int)second->line,
            words_text(words, a->provider), words_text(words, a->name), *region ? "@" : "", region,
            a->kind == OFFER_ON_DEMAND ? "" : ":",
            a->kind == OFFER_ON_DEMAND ? "" : offer_kind_word((enum offer_kind)a->kind), date,
            (unsigned int)first->line, where);
    return err_hint(err, "an offer has one price per date: give the later one its own date");
}

// Applies all rows of one key, from `*at` on.
static int apply_rows(struct making *m, size_t *at, bool known, struct image_offer *to,
                      struct err *err)
{
    const struct stock *s = m->stock;
    const struct stock_row *last = NULL;
    struct key key = key_of_row(m, &s->rows[m->order[*at]]);
    for (; *at < s->count; ++*at) {
        const struct stock_row *row = &s->rows[m->order[*at]];
        struct key its = key_of_row(m, row);
        if (compare(&key, &its) != 0)
            break;
        if (last && last->price.since == row->price.since) {
            bool other = !price_same(&last->price, &row->price);
            m->counts->doubles += other;
            if (other && last->line > 0 && row->line > 0)
                return two_prices(m, last, row, err);
            continue;
        }
        apply_row(row, to);
        const struct image_price *now =
            prices_on(m->history.items, m->history.count, row->price.since);
        m->counts->leaps += known && now && is_leap(now, &row->price);
        bool changed;
        TRY(prices_observe(&m->history, &row->price, &changed, err));
        if (known)
            *(changed ? &m->counts->prices : &m->counts->seen) += 1;
        last = row;
    }
    m->counts->offers += !known;
    return 0;
}

// The series of the offer just added: `old_offer` is its number in the old image, or -1.
static int merge_series(struct making *m, int64_t old_offer, struct err *err)
{
    const struct image *old = m->old;
    const struct stock *s = m->stock;
    const struct image_offer *to = &m->offers[m->offer_count - 1];
    struct key key = {{m->ranks[to->provider], m->ranks[to->name], m->ranks[to->region],
                       m->ranks[to->zone], to->kind}};
    struct image_series made = {.offer = (uint32_t)(m->offer_count - 1),
                                .first_change = (uint32_t)m->change_count};
    timeline_clear(&m->spot);
    if (m->old_next < old->series_count && old->series[m->old_next].offer == old_offer) {
        const struct image_series *from = &old->series[m->old_next++];
        made.source = m->translated[from->source];
        TRY(timeline_add_old(&m->spot, old->changes + from->first_change, from->change_count,
                             from->until_s, err));
    }
    for (; m->new_next < s->series_count; m->new_next++) {
        const struct stock_series *from = &s->series[m->series_order[m->new_next]];
        struct key its = key_of_series(m, from);
        int order = compare(&its, &key);
        if (order > 0)
            break;
        if (order < 0)
            continue; // no such offer
        made.source = from->source;
        TRY(timeline_add(&m->spot, s->changes + from->first, from->count, from->from_s,
                         from->until_s, err));
    }
    TRY(timeline_join(&m->spot, err));
    if (m->spot.count == 0)
        return 0;
    made.change_count = (uint32_t)m->spot.count;
    made.until_s = m->spot.until_s;
    m->series[m->series_count++] = made;
    memcpy(m->changes + m->change_count, m->spot.items, m->spot.count * sizeof *m->changes);
    m->change_count += m->spot.count;
    return 0;
}

static int merge(struct making *m, struct err *err)
{
    size_t i = 0, k = 0;
    while (i < m->old->offer_count || k < m->stock->count) {
        int side = i == m->old->offer_count ? 1 : -1;
        if (side < 0 && k < m->stock->count) {
            struct key a = key_of_old(m, &m->old->offers[i]);
            struct key b = key_of_row(m, &m->stock->rows[m->order[k]]);
            side = compare(&a, &b);
        }
        int64_t old_offer = side <= 0 ? (int64_t)i : -1;
        struct image_offer *to = &m->offers[m->offer_count++];
        *to = (struct image_offer){0};
        m->history.count = 0;
        if (side <= 0) {
            copy_old(m, &m->old->offers[i], to);
            TRY(copy_old_prices(m, &m->old->offers[i++], err));
        }
        if (side >= 0)
            TRY(apply_rows(m, &k, side == 0, to, err));
        to->first_price = (uint32_t)m->price_count;
        to->price_count = (uint16_t)m->history.count;
        memcpy(m->prices + m->price_count, m->history.items, m->history.count * sizeof *m->prices);
        m->price_count += m->history.count;
        TRY(merge_series(m, old_offer, err));
    }
    return 0;
}

// Offers with one name are the same machine: they share specifications.
static void share_specifications(struct making *m)
{
    for (size_t i = 0, end; i < m->offer_count; i = end) {
        const struct image_offer *told = NULL;
        for (end = i; end < m->offer_count && m->offers[end].provider == m->offers[i].provider &&
                      m->offers[end].name == m->offers[i].name;
             end++)
            if (!told && m->offers[end].vcpus_milli > 0)
                told = &m->offers[end];
        for (size_t k = i; told && k < end; k++) {
            struct image_offer *o = &m->offers[k];
            if (o->vcpus_milli > 0)
                continue;
            o->vcpus_milli = told->vcpus_milli;
            o->memory_mib = told->memory_mib;
            o->bare_metal = told->bare_metal;
            if (o->gpus_milli == 0) {
                o->gpu = told->gpu;
                o->gpus_milli = told->gpus_milli;
                o->gpu_memory_mib = told->gpu_memory_mib;
            }
            if (o->cpu == 0)
                o->cpu = told->cpu;
        }
    }
}

// ---- interruptions ----

static int by_risk(const void *left, const void *right, void *arg)
{
    const struct making *m = arg;
    const struct image_risk *a = left, *b = right;
    const uint32_t x[] = {m->ranks[a->provider], m->ranks[a->name], m->ranks[a->region],
                          (uint32_t)a->day};
    const uint32_t y[] = {m->ranks[b->provider], m->ranks[b->name], m->ranks[b->region],
                          (uint32_t)b->day};
    for (int i = 0; i < 4; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

// By offer and date; the last one of a date stays. (glibc's qsort is stable if it has memory;
// otherwise either is as good.)
static void merge_risks(struct making *m)
{
    size_t count = 0;
    for (size_t i = 0; i < m->old->risk_count; i++) {
        struct image_risk *r = &m->risks[count++];
        *r = m->old->risks[i];
        r->provider = m->translated[r->provider];
        r->name = m->translated[r->name];
        r->region = m->translated[r->region];
        r->source = m->translated[r->source];
    }
    for (size_t i = 0; i < m->stock->risk_count; i++)
        m->risks[count++] = m->stock->risks[i];
    qsort_r(m->risks, count, sizeof *m->risks, by_risk, m);
    for (size_t i = 0; i < count; i++) {
        bool last = i + 1 == count || by_risk(&m->risks[i], &m->risks[i + 1], m) != 0;
        if (last)
            m->risks[m->risk_count++] = m->risks[i];
    }
}

// ---- the image ----

#define OFFER_WORDS(o)                                                                             \
    {                                                                                              \
        &(o)->provider, &(o)->name, &(o)->region, &(o)->zone, &(o)->gpu, &(o)->cpu                 \
    }
#define RISK_WORDS(r)                                                                              \
    {                                                                                              \
        &(r)->provider, &(r)->name, &(r)->region, &(r)->source                                     \
    }

// Marks every word in use in `used`, or translates them if `numbers` is given.
static void each_word(struct making *m, bool *used, const uint32_t *numbers)
{
#define TOUCH(list)                                                                                \
    for (size_t w = 0; w < sizeof(list) / sizeof *(list); w++) {                                   \
        if (numbers)                                                                               \
            *(list)[w] = numbers[*(list)[w]];                                                      \
        else                                                                                       \
            used[*(list)[w]] = true;                                                               \
    }
    for (size_t i = 0; i < m->offer_count; i++) {
        uint32_t *const list[] = OFFER_WORDS(&m->offers[i]);
        TOUCH(list)
    }
    for (size_t i = 0; i < m->price_count; i++) {
        uint32_t *const list[] = {&m->prices[i].currency, &m->prices[i].source};
        TOUCH(list)
    }
    for (size_t i = 0; i < m->risk_count; i++) {
        uint32_t *const list[] = RISK_WORDS(&m->risks[i]);
        TOUCH(list)
    }
    for (size_t i = 0; i < m->series_count; i++) {
        uint32_t *const list[] = {&m->series[i].source};
        TOUCH(list)
    }
#undef TOUCH
}

// Writes the used words in order to `at` and `text`, and renumbers everything.
static int place_words(struct making *m, struct buf *at, struct buf *text, struct err *err)
{
    const struct index *words = &m->stock->words;
    size_t count = words->count;
    SCOPED(free_pointer) bool *used = calloc(count + 1, sizeof *used);
    SCOPED(free_pointer) uint32_t *sorted = malloc((count + 1) * sizeof *sorted);
    SCOPED(free_pointer) uint32_t *numbers = malloc((count + 1) * sizeof *numbers);
    TRY(used && sorted && numbers ? 0 : err_memory(err));
    used[0] = true; // the empty word
    each_word(m, used, NULL);
    for (size_t i = 0; i < count; i++)
        sorted[m->ranks[i]] = (uint32_t)i;
    uint32_t next = 0;
    for (size_t i = 0; i < count; i++) {
        if (!used[sorted[i]])
            continue;
        numbers[sorted[i]] = next++;
        uint32_t place = (uint32_t)text->len;
        const char *word = words_text(words, sorted[i]);
        buf_add(at, &place, sizeof place);
        buf_add(text, word, strlen(word) + 1);
    }
    each_word(m, NULL, numbers);
    TRY(buf_check(at, err));
    return buf_check(text, err);
}

static int write_image(struct making *m, struct buf *out, struct err *err)
{
    struct buf at = {.max = SIZE_MAX / 2}, text = {.max = SIZE_MAX / 2};
    int rc = place_words(m, &at, &text, err);
    if (rc == 0) {
        struct image_head head = {
            .magic = {'f', 'a', 'r', 'e', 'B', 'O', 'O', 'K'},
            .version = IMAGE_VERSION,
            .order = IMAGE_ORDER,
            .offers = (uint32_t)m->offer_count,
            .prices = (uint32_t)m->price_count,
            .risks = (uint32_t)m->risk_count,
            .changes = (uint32_t)m->change_count,
            .series = (uint32_t)m->series_count,
            .words = (uint32_t)(at.len / sizeof(uint32_t)),
            .word_bytes = text.len,
        };
        out->max = SIZE_MAX / 2;
        size_t begin = out->len;
        size_t size = sizeof head + m->offer_count * sizeof *m->offers +
                      m->price_count * sizeof *m->prices + m->risk_count * sizeof *m->risks +
                      m->change_count * sizeof *m->changes + m->series_count * sizeof *m->series +
                      at.len + text.len;
        if (buf_reserve(out, size)) { // at once: doubling would take twice the memory
            buf_add(out, &head, sizeof head);
            buf_add(out, m->offers, m->offer_count * sizeof *m->offers);
            buf_add(out, m->prices, m->price_count * sizeof *m->prices);
            buf_add(out, m->risks, m->risk_count * sizeof *m->risks);
            buf_add(out, m->changes, m->change_count * sizeof *m->changes);
            buf_add(out, m->series, m->series_count * sizeof *m->series);
            buf_add(out, buf_str(&at), at.len);
            buf_add(out, buf_str(&text), text.len);
        }
        rc = buf_check(out, err);
        if (rc == 0) {
            char *bytes = out->data + begin;
            head.size = out->len - begin;
            head.sum = image_sum(bytes + sizeof head, head.size - sizeof head);
            memcpy(bytes, &head, sizeof head);
        }
    }
    buf_release(&at);
    buf_release(&text);
    return rc;
}

int stock_build(struct stock *stock, const struct image *old, struct buf *out,
                struct stock_counts *counts, struct err *err)
{
    struct making m = {.stock = stock, .old = old, .counts = counts};
    *counts = (struct stock_counts){0};
    int rc = prepare(&m, err);
    if (rc == 0)
        rc = merge(&m, err);
    if (rc == 0) {
        share_specifications(&m);
        merge_risks(&m);
        rc = write_image(&m, out, err);
    }
    free(m.translated);
    free(m.ranks);
    free(m.order);
    free(m.offers);
    free(m.prices);
    free(m.risks);
    free(m.series_order);
    free(m.series);
    free(m.changes);
    timeline_release(&m.spot);
    prices_release(&m.history);
    return rc;
}
