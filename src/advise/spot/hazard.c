// SPDX-License-Identifier: Apache-2.0
#include "advise/spot/hazard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/money.h"
#include "base/tree.h"
#include "tables/files.h"
#include "record/field.h"

#define MONTH_NS (INT64_C(730) * 3600 * NS_PER_S)
#define TICK_S   INT64_C(600)

const char *hazard_word(enum hazard_kind kind)
{
    static const char *const words[] = {"unknown", "trace", "prices", "given", "advisor"};
    return words[kind];
}

int64_t hazard_mean_ns(double percent)
{
    return (int64_t)(-(double)MONTH_NS / log1p(-percent / 100));
}

static void trace_words(struct hazard *h, const char *what)
{
    char mean[48], length[48];
    clock_words((int64_t)(availability_mean_s(h->trace) * 1e9), mean, sizeof mean);
    clock_words(h->trace->length_ns, length, sizeof length);
    buf_printf(&h->words, "%s of %s: to be had %.0f %% of the time, for %s at a stretch on average",
               what, length, 100 * availability_share(h->trace), mean);
}

static void mean_words(struct hazard *h, const char *who)
{
    char mean[48];
    clock_words(h->mean_ns, mean, sizeof mean);
    buf_printf(&h->words, "random interruptions, one in %s on average (%s)", mean, who);
}

int hazard_by_prices(const struct spot_series *p, int64_t bid, struct availability *out,
                     struct err *err)
{
    *out = (struct availability){0};
    if (p->count == 0 || p->until_s <= p->changes[0].at_s)
        return err_set(err, ERR_FORMAT, "a price history without a price");
    int64_t first = p->changes[0].at_s, length_s = p->until_s - first;
    size_t ticks = (size_t)((length_s + TICK_S - 1) / TICK_S), tick = 0;
    out->up = calloc(p->count, sizeof *out->up);
    out->samples = calloc(ticks, 1);
    int rc = out->up && out->samples ? text_set(&out->name, "prices", err) : err_memory(err);
    for (size_t i = 0; rc == 0 && i < p->count; i++) {
        int64_t from = p->changes[i].at_s - first;
        int64_t until = (i + 1 < p->count ? p->changes[i + 1].at_s : p->until_s) - first;
        bool had = p->changes[i].nano_usd <= bid;
        for (; tick < ticks && (int64_t)tick * TICK_S < until; tick++)
            out->samples[tick] = had;
        if (had && out->count > 0 && out->up[out->count - 1].until_ns == from * NS_PER_S)
            out->up[out->count - 1].until_ns = until * NS_PER_S;
        else if (had)
            out->up[out->count++] = (struct availability_span){from * NS_PER_S, until * NS_PER_S};
    }
    out->first_s = first;
    out->length_ns = length_s * NS_PER_S;
    out->sample_count = ticks;
    out->tick_ns = TICK_S * NS_PER_S;
    if (rc != 0)
        availability_release(out);
    return rc;
}

// The middle of the band. The last has no upper end, so it reaches to all of them.
static int by_advisor(struct market *market, const struct offer *offer, int day, struct hazard *h,
                      struct err *err)
{
    const struct book *book;
    struct offer_risk risk;
    TRY(market_book(market, &book, err));
    if (!book_risk(book, offer, day ? day : book_today(), &risk) || risk.high_percent <= 0)
        return 0;
    double middle = (risk.low_percent + risk.high_percent) / 2.0;
    char who[200];
    h->kind = HAZARD_ADVISOR;
    h->mean_ns = hazard_mean_ns(middle < 99 ? middle : 99);
    snprintf(who, sizeof who,
             "estimated: the middle of the spot advisor's %d to %d %% of machines a month, %.80s",
             risk.low_percent, risk.high_percent, risk.source);
    mean_words(h, who);
    return 0;
}

static int find(struct market *market, const struct offer *offer, int day,
                const struct hazard_given *given, const struct spot_series *prices,
                struct hazard *h, struct err *err)
{
    bool found = false;
    struct buf what = {0};
    if (given->trace) {
        h->trace = given->trace;
        h->kind = HAZARD_TRACE;
    } else if (given->mean_ns > 0) {
        h->mean_ns = given->mean_ns;
        h->kind = HAZARD_GIVEN;
        mean_words(h, "given");
        return 0;
    } else {
        TRY(availability_find(offer, &h->own, &found, err));
        if (found) {
            h->trace = &h->own;
            h->kind = HAZARD_TRACE;
        } else if (given->bid > 0 && prices) {
            TRY(hazard_by_prices(prices, given->bid, &h->own, err));
            h->trace = &h->own;
            h->kind = HAZARD_PRICES;
            trace_words(h, "its prices against the bid, a history");
            return 0;
        }
    }
    if (h->kind == HAZARD_UNKNOWN)
        return by_advisor(market, offer, day, h, err);
    buf_printf(&what, "availability trace %.80s", h->trace->name);
    trace_words(h, buf_str(&what));
    h->words.failed |= what.failed;
    buf_release(&what);
    return 0;
}

static void add_life(struct hazard *h, int64_t life_ns)
{
    char life[48];
    clock_words(life_ns, life, sizeof life);
    h->life_ns = life_ns;
    buf_printf(&h->words, "%sthe provider ends it after %s", h->words.len > 0 ? "; " : "", life);
}

int hazard_find(struct market *market, const struct offer *offer, int day,
                const struct hazard_given *given, const struct spot_series *prices,
                struct hazard *out, struct err *err)
{
    const struct tariff_book *tariffs;
    *out = (struct hazard){0};
    int rc = find(market, offer, day, given, prices, out, err);
    if (rc == 0)
        rc = market_tariffs(market, &tariffs, err);
    if (rc == 0) {
        const struct tariff *t = tariff_for(tariffs, offer, day ? day : book_today(), NULL);
        if (t && t->ends_after_s.known && t->ends_after_s.v > 0)
            add_life(out, t->ends_after_s.v * NS_PER_S);
        rc = buf_check(&out->words, err);
    }
    if (rc != 0)
        hazard_release(out);
    return rc;
}

void hazard_release(struct hazard *h)
{
    availability_release(&h->own);
    buf_release(&h->words);
    *h = (struct hazard){0};
}

enum { PROVIDER, NOTICE, TAKEN, WORDS, SOURCE, DATE, COLUMNS };
static const char *const names[COLUMNS] = {"provider", "notice_s", "taken",
                                           "words",    "source",   "date"};

static int read_row(const struct csv *csv, const int *at, struct warning *row, struct err *err)
{
    const char *seconds = csv_text(csv, at[NOTICE]), *taken = csv_text(csv, at[TAKEN]);
    struct buf source = {0};
    int64_t s = -1;
    if (*seconds && (!text_int(seconds, &s) || s < 0 || s > 86400))
        return csv_fault(csv, at[NOTICE], err, "expected 0 to 86400 seconds");
    row->by_price = strcmp(taken, "price") == 0;
    if (!row->by_price && strcmp(taken, "capacity") != 0)
        return csv_fault(csv, at[TAKEN], err, "expected capacity or price");
    row->ns = *seconds ? s * NS_PER_S : -1;
    buf_printf(&source, "%s, %s", csv_text(csv, at[SOURCE]), csv_text(csv, at[DATE]));
    TRY(text_take(&row->source, &source, err));
    return TEXTS_SET(err, {&row->provider, csv_text(csv, at[PROVIDER])},
                     {&row->words, csv_text(csv, at[WORDS])});
}

static int read_file(void *arg, const char *path, struct err *err)
{
    struct warnings *warnings = arg;
    struct csv csv;
    int at[COLUMNS] = {0};
    TRY(csv_open(&csv, path, NULL, err));
    int rc = csv_find(&csv, names, COLUMNS, COLUMNS, at, err);
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0) {
        struct warning *row = LIST_ADD(warnings, err);
        rc = row ? read_row(&csv, at, row, err) : ERR_MEMORY;
    }
    csv_release(&csv);
    return rc;
}

int warnings_open(struct warnings *out, struct err *err)
{
    *out = (struct warnings){0};
    int rc = files_both("spot.csv", "spot.csv", read_file, out, err);
    if (rc != 0)
        warnings_release(out);
    return rc;
}

void warnings_release(struct warnings *warnings)
{
    for (size_t i = 0; i < warnings->count; i++) {
        free(warnings->items[i].provider);
        free(warnings->items[i].words);
        free(warnings->items[i].source);
    }
    free(warnings->items);
    *warnings = (struct warnings){0};
}

const struct warning *warnings_find(const struct warnings *warnings, const char *provider)
{
    for (size_t i = 0; i < warnings->count; i++)
        if (strcmp(warnings->items[i].provider, provider) == 0)
            return &warnings->items[i];
    return NULL;
}
