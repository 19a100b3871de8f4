// SPDX-License-Identifier: Apache-2.0
#include "view/offer.h"

#include <string.h>

#include "base/clock.h"
#include "base/units.h"

// All digits: providers differ in the last.
static struct cell exact(struct doc *doc, struct maybe_money price)
{
    struct cell cell = {.kind = CELL_AMOUNT, .amount = price};
    if (price.known)
        cell.text = doc_text(doc, "%s", money_exact(price).s);
    return cell;
}

static struct cell length(struct maybe_int seconds)
{
    return cell_number(CELL_TIME, (struct maybe_real){(double)seconds.v, seconds.known});
}

// ---- spot

static void add_zones(struct doc *doc, const struct spot_prices *s)
{
    doc_table(doc, "Spot price by zone");
    for (size_t i = 0; i < s->zones.count; i++) {
        const struct spot_zone *z = &s->zones.items[i];
        struct cell longest = length(z->longest_under_s);
        longest.text = z->longest_under_s.v > 0 ? NULL : "never";
        doc_row(doc, DOC_NORMAL);
        doc_cell(doc, COLUMN("zone"), cell_text(z->zone));
        doc_cell(doc, COLUMN("last"), exact(doc, z->price));
        doc_cell(doc, COLUMN("10 %"), exact(doc, z->p10));
        doc_cell(doc, COLUMN("50 %"), exact(doc, z->p50));
        doc_cell(doc, COLUMN("90 %"), exact(doc, z->p90));
        doc_cell(doc, COLUMN("changes a day", .priority = 1),
                 (struct cell){.kind = CELL_NUMBER,
                               .text = doc_text(doc, "%.1f", z->changes_per_day.v)});
        doc_cell(doc, COLUMN("steady", .priority = 2), length(z->steady_s));
        doc_cell(doc, COLUMN("longest", .priority = 3), longest);
        doc_cell(doc, COLUMN("count on", .priority = 4), exact(doc, z->count_on));
    }
    const bool given = strcmp(s->under_is, "--max-price") == 0;
    const bool demand = strcmp(s->under_is, "on-demand") == 0 && s->on_demand_seen;
    doc_say(doc, DOC_ASIDE,
            doc_text(doc,
                     "USD an hour; 10, 50, 90 %%: at or below this price for that share of the "
                     "time. Steady: time since the last change. Longest: "
                     "longest time at or below %s USD%s%s. Count on: the 90 %% price of all the "
                     "time seen.",
                     money_brief(s->under).s,
                     given    ? ""
                     : demand ? ", the on-demand price, seen "
                              : ", the lowest median",
                     demand ? s->on_demand_seen : ""));
}

static const struct spot_zone *zone_called(const struct spot_prices *s, const char *name)
{
    for (size_t k = 0; name && k < s->zones.count; k++)
        if (strcmp(s->zones.items[k].zone, name) == 0)
            return &s->zones.items[k];
    return NULL;
}

static void add_tested(struct buf *text, const struct spot_prices *s)
{
    const struct spot_zone *then = zone_called(s, s->chosen_then);
    const struct spot_zone *later = zone_called(s, s->cheapest_later);
    const bool several = s->zones.count > 1;
    if (!then || !later) {
        buf_adds(text, " The history is too short to test that: it needs two weeks.");
        return;
    }
    buf_printf(text,
               " Tested: its first half said %s%s%s, and in the second half the price there was at "
               "or below that for %.0f %% of the time",
               money_brief(then->count_on_then).s, several ? " in " : "", several ? then->zone : "",
               100 * then->count_on_held.v);
    const int64_t said = then->count_on_then.nano, above = then->count_on_highest.nano - said;
    if (said > 0 && then->count_on_highest.known && above > 0)
        buf_printf(text, ", and at most %s (%.0f %% above)", money_brief(then->count_on_highest).s,
                   100.0 * (double)above / (double)said);
    if (then == later)
        buf_adds(text, several ? "; it still had the lowest price." : ".");
    else
        buf_printf(text, "; the lowest then was that of %s, at %s.", later->zone,
                   money_brief(later->count_on_later).s);
}

void view_spot(struct doc *doc, const struct spot_prices *s)
{
    const struct spot_zone *best = zone_called(s, s->count_on_zone);
    struct buf text = {0};
    char seen[32];
    if (best) {
        clock_words(best->seen_s.v * NS_PER_S, seen, sizeof seen);
        buf_printf(&text, "Count on %s USD an hour%s%s: at or below it for 90 %% of %s.",
                   money_brief(best->count_on).s, s->zones.count > 1 ? " in " : "",
                   s->zones.count > 1 ? best->zone : "", seen);
        add_tested(&text, s);
    }
    doc_say(doc, DOC_PLAIN, doc_take(doc, &text));
    add_zones(doc, s);
    if (s->zones.items[0].daily.v) {
        doc_say(doc, DOC_ASIDE, "From prices of days: the book does not have every change.");
        doc_say(doc, DOC_HINT, "'fare prices import' reads AWS's spot price history.");
    } else if (s->source) {
        doc_say(doc, DOC_ASIDE, doc_text(doc, "Every change: %s.", s->source));
    }
}

// ---- history

// "price an hour", "price for 30 days"
static const char *price_head(struct doc *doc, struct maybe_int per_s)
{
    const int64_t s = per_s.v;
    const bool days = s % 86400 == 0, hours = s % 3600 == 0;
    if (!per_s.known || s == 3600)
        return "price an hour";
    return doc_text(doc, "price for %s",
                    days    ? units_count(s / 86400, "day").s
                    : hours ? units_count(s / 3600, "hour").s
                            : units_count(s, "second").s);
}

void view_price_history(struct doc *doc, const struct offer_record *r, size_t most)
{
    const size_t count = r->history.count, shown = count < most ? count : most;
    const char *head = price_head(doc, r->per_s);
    doc_table(doc, "Price history");
    for (size_t i = count; i-- > count - shown;) {
        const struct offer_price *p = &r->history.items[i];
        doc_row(doc, DOC_NORMAL);
        doc_cell(doc, COLUMN("since"), (struct cell){.kind = CELL_DATE, .text = p->since});
        doc_cell(doc, COLUMN("last seen", .priority = 1),
                 (struct cell){.kind = CELL_DATE, .text = p->seen});
        doc_cell(doc, COLUMN(head, "price"), exact(doc, p->price));
        doc_cell(doc, COLUMN("currency", .priority = 2), cell_text(p->currency));
        doc_cell(doc, COLUMN("source", .least = 24), cell_text(p->source));
    }
    if (shown < count)
        doc_say(doc, DOC_ASIDE, doc_text(doc, "%zu older prices are in the JSON.", count - shown));
}
