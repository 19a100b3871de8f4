// SPDX-License-Identifier: Apache-2.0
// A tariff as a sentence for people.
#include "price/tariffs.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"

struct sentence {
    struct buf *out;
    const char *currency;
    const char *offer; // (optional) its name: only what holds for it,
    int64_t day;       // on this day
    bool begun;
};

// Begins the next part of the sentence.
static struct buf *part(struct sentence *s)
{
    if (s->begun)
        buf_adds(s->out, "; ");
    s->begun = true;
    return s->out;
}

// "60 s", "10 min", "1 h", "30 days": the largest unit that is whole.
static void length_words(struct buf *out, int64_t ms)
{
    static const struct {
        int64_t ms;
        const char *one, *many;
    } units[] = {{86400000, "1 day", "days"},
                 {3600000, "1 h", "h"},
                 {60000, "1 min", "min"},
                 {1000, "1 s", "s"},
                 {1, "1 ms", "ms"}};
    size_t i = 0;
    // A minute as a minimum is "60 s": that is how it is written everywhere.
    while (units[i].ms > 1 && (ms % units[i].ms != 0 || (ms == 60000 && units[i].ms == 60000)))
        i++;
    if (ms == units[i].ms)
        buf_adds(out, units[i].one);
    else
        buf_printf(out, "%" PRId64 " %s", ms / units[i].ms, units[i].many);
}

static const char *unit_name(int64_t ms)
{
    switch (ms) {
    case 1:
        return "millisecond";
    case 1000:
        return "second";
    case 60000:
        return "minute";
    case 3600000:
        return "hour";
    case 86400000:
        return "day";
    case INT64_C(2592000000):
        return "month of 30 days";
    case INT64_C(2628000000):
        return "month of 730 hours";
    default:
        return NULL;
    }
}

static void per_words(struct buf *out, int64_t ms)
{
    if (unit_name(ms)) {
        buf_adds(out, unit_name(ms));
        return;
    }
    length_words(out, ms);
}

static void unit_words(const struct tariff *t, struct buf *out)
{
    int64_t unit_ms = t->unit_ms.known ? t->unit_ms.v : 1000;
    const char *rounding = t->rounding ? t->rounding : "up";
    if (unit_ms == 0) {
        buf_adds(out, "by the exact time");
        return;
    }
    buf_adds(out, t->clock_units.v                   ? "for every clock "
                  : strcmp(rounding, "nearest") == 0 ? "to the nearest "
                  : strcmp(rounding, "down") == 0    ? "per whole "
                  : unit_ms <= 1000                  ? "per "
                                                     : "per started ");
    per_words(out, unit_ms);
    buf_adds(out, t->clock_units.v ? " touched" : "");
}

static void minimum_words(const struct tariff *t, struct sentence *s)
{
    // A minimum of one unit says only that a start is charged.
    int64_t unit_ms = t->unit_ms.known ? t->unit_ms.v : 1000;
    bool time = t->minimum_s.known && t->minimum_s.v > 0 && t->minimum_s.v * 1000 != unit_ms;
    if (!time && !t->minimum_amount)
        return;
    buf_adds(s->out, ", at least ");
    if (time)
        length_words(s->out, t->minimum_s.v * 1000);
    if (t->minimum_amount)
        buf_printf(s->out, "%s%s %s", time ? " and " : "", t->minimum_amount, s->currency);
    buf_adds(s->out, " a start");
}

static void time_words(const struct tariff *t, struct sentence *s)
{
    struct buf *out = part(s);
    if (t->rate) {
        buf_printf(out, "%s %s per ", t->rate, s->currency);
        per_words(out, (t->per_s.known ? t->per_s.v : 3600) * 1000);
        buf_adds(out, ", ");
    }
    unit_words(t, out);
    minimum_words(t, s);
    if (t->billed_while_stopped.v)
        buf_adds(part(s), "full price while stopped, until deleted");
    for (size_t i = 0; i < t->regions.count; i++)
        buf_printf(part(s), "%" PRId64 " %% of the rate in regions like %s",
                   t->regions.items[i].percent.v, t->regions.items[i].region);
}

static void spot_words(const struct tariff *t, struct sentence *s)
{
    if (t->ends_after_s.known) {
        buf_adds(part(s), "ends after ");
        length_words(s->out, t->ends_after_s.v * 1000);
        buf_adds(s->out, " at the latest");
    }
    if (t->spot_first_hour_free.v)
        buf_adds(part(s), "free if the provider interrupts it within the first hour");
    if (t->spot_partial_free.v) {
        struct buf *out = part(s);
        buf_adds(out, "the ");
        per_words(out, t->unit_ms.known ? t->unit_ms.v : 1000);
        buf_adds(out, " in which the provider interrupts it is free");
    }
}

static void month_words(const struct tariff *t, struct sentence *s)
{
    if (t->tiers.count > 0) {
        struct buf *out = part(s);
        buf_adds(out, "sustained use: of the month's time the first");
        int64_t before = 0;
        for (size_t i = 0; i < t->tiers.count; i++) {
            int64_t share = t->tiers.items[i].upto_permille.v - before;
            buf_printf(out, "%s %" PRId64 ".%" PRId64 " %% at %" PRId64 " %% of the rate",
                       i == 0 ? "" : ", the next", share / 10, share % 10,
                       t->tiers.items[i].percent.v);
            before = t->tiers.items[i].upto_permille.v;
        }
    }
    if (t->monthly_cap)
        buf_printf(part(s), "at most %s %s a calendar month", t->monthly_cap, s->currency);
    for (size_t i = 0; i < t->commitments.count; i++) {
        const struct tariff_commitment *c = &t->commitments.items[i];
        bool own = s->offer && tariff_names(c->offers.items, c->offers.count, s->offer) &&
                   tariff_holds(NULL, c->valid_to, s->day);
        if (s->offer && !own)
            continue;
        buf_printf(part(s), "%g %% of the rate with a commitment of %" PRId64 " months",
                   (double)tariff_commitment_permille(c) / 10, c->months.v);
        for (size_t k = 0; !own && k < c->offers.count; k++)
            buf_printf(s->out, "%s%s", k ? ", " : " (", c->offers.items[k]);
        buf_adds(s->out, !own && c->offers.count > 0 ? ")" : "");
        if (c->valid_to)
            buf_printf(s->out, " before %s", c->valid_to);
    }
    if (t->capped_by_month.v)
        buf_adds(part(s), "a calendar month costs at most the offer's price by the month");
    if (t->monthly_fee)
        buf_printf(part(s), "%s %s for every calendar month of use", t->monthly_fee, s->currency);
    if (t->setup_fee)
        buf_printf(part(s), "%s %s once", t->setup_fee, s->currency);
}

static bool is_free(const char *amount)
{
    return strspn(amount, "0.") == strlen(amount);
}

static void storage_words(const struct tariff *t, struct sentence *s)
{
    if (t->disk_included.v)
        buf_adds(part(s), "the price includes a disk while running");
    if (!t->storage_rate)
        return;
    struct buf *out = part(s);
    if (is_free(t->storage_rate)) {
        buf_adds(out, "storage is free");
        return;
    }
    buf_printf(out, "storage %s %s", t->storage_rate, s->currency);
    if (t->storage_stopped_rate)
        buf_printf(out, " (%s while stopped)", t->storage_stopped_rate);
    buf_adds(out, " per GB and ");
    int64_t month_s = t->storage_month_s.known ? t->storage_month_s.v : 2592000;
    if (t->storage_calendar_month.v)
        buf_adds(out, "calendar month");
    else
        per_words(out, month_s * 1000);
    if (t->storage_unit_ms.known && t->storage_unit_ms.v > 1000) {
        buf_adds(out, t->clock_units.v ? ", for every clock " : ", per started ");
        per_words(out, t->storage_unit_ms.v);
        buf_adds(out, t->clock_units.v ? " touched" : "");
    }
    if (t->storage_minimum_s.known && t->storage_minimum_s.v > 0) {
        buf_adds(out, ", at least ");
        length_words(out, t->storage_minimum_s.v * 1000);
    }
    if (t->storage_steps.count > 0)
        buf_printf(out, ", charged at the next size on sale (%" PRId64 " GB and up)",
                   t->storage_steps.items[0].gb.v);
    if (t->storage_free_gb.known && t->storage_free_gb.v > 0)
        buf_printf(out, ", the first %" PRId64 " GB free", t->storage_free_gb.v);
}

static void traffic_words(const struct tariff *t, struct sentence *s)
{
    if (t->egress_rate && is_free(t->egress_rate)) {
        buf_adds(part(s), "traffic out is free");
    } else if (t->egress_rate) {
        buf_adds(part(s), "traffic out ");
        for (size_t i = 0; i < t->egress_steps.count; i++)
            buf_printf(s->out, "%s up to %" PRId64 " GB, ", t->egress_steps.items[i].rate,
                       t->egress_steps.items[i].upto_gb.v);
        buf_printf(s->out, "%s %s per GB", t->egress_rate, s->currency);
        if (t->egress_free_gb.known && t->egress_free_gb.v > 0)
            buf_printf(s->out, ", the first %" PRId64 " GB a month free", t->egress_free_gb.v);
    }
    if (t->ingress_rate && !is_free(t->ingress_rate))
        buf_printf(part(s), "traffic in %s %s per GB", t->ingress_rate, s->currency);
}

void tariff_words(const struct tariff *t, const char *offer, int64_t day, struct buf *out)
{
    struct sentence s = {
        .out = out, .currency = t->currency ? t->currency : "USD", .offer = offer, .day = day};
    time_words(t, &s);
    spot_words(t, &s);
    month_words(t, &s);
    storage_words(t, &s);
    traffic_words(t, &s);
    if (t->words)
        buf_adds(part(&s), t->words);
}
