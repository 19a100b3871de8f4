// SPDX-License-Identifier: Apache-2.0
// Spot machines in a quote: their options, and interruptions for people.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "cmd/quote.h"
#include "cmd/table.h"

int quote_take_spot(const struct quote_options *o, struct availability *trace, struct spot_ask *out,
                    struct err *err)
{
    if (o->mtbi_ns == 0)
        return err_set(err, ERR_USAGE, "'--mtbi' takes a time above 0");
    if (o->every_ns == 0)
        return err_set(err, ERR_USAGE, "'--checkpoint-every' takes a time above 0");
    if ((o->mtbi_ns > 0) + (o->trace != NULL) + (o->bid != NULL) > 1)
        return err_set(err, ERR_USAGE, "'--mtbi', '--trace' and '--bid' exclude each other");
    TRY(word_amount("--bid", o->bid, &out->hazard.bid, err));
    if (o->bid && out->hazard.bid == 0)
        return err_set(err, ERR_USAGE, "'--bid' takes an amount above 0");
    if (o->trace) {
        TRY(availability_open(o->trace, trace, err));
        out->hazard.trace = trace;
    }
    out->hazard.mean_ns = o->mtbi_ns > 0 ? o->mtbi_ns : 0;
    if (o->checkpoint_ns >= 0)
        out->checkpoint_ns = some_int(o->checkpoint_ns);
    if (o->every_ns > 0)
        out->every_ns = some_int(o->every_ns);
    if (o->words.deadline_ns >= 0)
        out->deadline_ns = some_int(o->words.deadline_ns);
    out->rows = o->offer != NULL;
    return 0;
}

static bool has_spot(const struct bill *bills, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bills[i].kind && strcmp(bills[i].kind, "spot") == 0)
            return true;
    return false;
}

void quote_say_unused(const struct quote_options *o, const struct quote *quote)
{
    const struct {
        const char *name;
        bool given;
    } options[] = {{"mtbi", o->mtbi_ns > 0},
                   {"trace", o->trace},
                   {"bid", o->bid},
                   {"checkpoint-time", o->checkpoint_ns >= 0},
                   {"checkpoint-every", o->every_ns > 0}};
    if (has_spot(quote->bills.items, quote->bills.count) ||
        has_spot(quote->others.items, quote->others.count) ||
        has_spot(quote->estimates.items, quote->estimates.count))
        return;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given) {
            char text[120];
            snprintf(text, sizeof text,
                     "'--%s' is for spot machines, and none is quoted: it "
                     "changes nothing",
                     options[i].name);
            out_complain(text);
        }
}

static void words_of(double seconds, char out[48])
{
    clock_words((int64_t)(seconds * 1e9), out, 48);
}

// "1 min 41 s (boot 1 min 41 s)"
static void add_time(struct buf *text, double seconds, const char *from)
{
    char words[48];
    words_of(seconds, words);
    buf_adds(text, words);
    if (from)
        buf_printf(text, " (%s)", from);
}

static void say_prices(struct out *out, const struct bill_spot *s)
{
    struct buf text = {0};
    if (!s->prices)
        return;
    buf_printf(&text, "price: %s", s->prices);
    if (!s->method) // else said of the interruptions
        buf_printf(&text, "; replayed %lld times", (long long)s->replays.v);
    out_bullet(out, buf_str(&text));
    out->text.failed |= text.failed;
    buf_release(&text);
}

static void say_inputs(struct out *out, const struct bill_spot *s)
{
    struct buf text = {0};
    buf_printf(&text, "interruptions: %s; %s %lld times", s->hazard_words, s->method,
               (long long)s->replays.v);
    out_bullet(out, buf_str(&text));
    buf_reset(&text);
    buf_adds(&text, "a checkpoint after every ");
    add_time(&text, s->interval_s.v, NULL);
    buf_adds(&text, " of work takes ");
    add_time(&text, s->checkpoint_s.v, s->checkpoint_from);
    buf_adds(&text, "; each further machine starts in ");
    add_time(&text, s->restart_s.v, s->restart_from);
    out_bullet(out, buf_str(&text));
    buf_reset(&text);
    buf_adds(&text, "notice before it is taken away: ");
    if (s->notice_s.v > 0)
        add_time(&text, s->notice_s.v, s->notice_from);
    else
        buf_printf(&text, "%s%s%s%s", s->notice_s.known ? "none" : "unknown",
                   s->notice_from ? " (" : "", s->notice_from ? s->notice_from : "",
                   s->notice_from ? ")" : "");
    out_bullet(out, buf_str(&text));
    out->text.failed |= text.failed;
    buf_release(&text);
}

static void at_least(struct money_words *amount)
{
    const struct money_words text = *amount;
    snprintf(amount->s, sizeof amount->s, "≥%.*s", MONEY_BYTES - 4, text.s);
}

static void add_row(struct table *table, const struct spot_row *r)
{
    struct money_words mean = money_brief(r->mean), low = money_brief(r->low),
                       middle = money_brief(r->middle), high = money_brief(r->high);
    char fast[48] = "", half[48] = "", slow[48] = "", every[48] = "", taken[24] = "";
    if (r->interval_s.known)
        words_of(r->interval_s.v, every);
    if (r->middle_s.known) {
        words_of(r->low_s.v, fast);
        words_of(r->middle_s.v, half);
        words_of(r->high_s.v, slow);
    }
    if (r->interruptions.known)
        snprintf(taken, sizeof taken, "%.1f", r->interruptions.v);
    if (r->unfinished.known && !r->mean.known)
        snprintf(mean.s, sizeof mean.s, "never ends");
    else if (r->lower_bound.v)
        at_least(&mean);
    const char *const cells[] = {r->what, every, mean.s, low.s, middle.s,
                                 high.s,  fast,  half,   slow,  taken};
    table_row(table, OUT_PLAIN, cells, NULL);
}

static void say_rows(struct out *out, const struct bill_spot *s)
{
    bool policies = false, fall_back = false;
    const struct spot_row *demand = NULL; // all of them have one price
    for (size_t i = 0; i < s->rows.count; i++) {
        const struct spot_row *r = &s->rows.items[i];
        demand = r->price_date ? r : demand;
        policies |= strcmp(r->way, SPOT_POLICY) == 0;
        fall_back |= r->deadline_kept.v;
        if (r->interval_s.known && strcmp(r->way, SPOT_BEST) == 0) {
            char every[48];
            words_of(r->interval_s.v, every);
            out_wrapf(out, 2, "The best interval by replay: a checkpoint after every %s of work.",
                      every);
        }
        if (r->unfinished.v > 0 && r->mean.known)
            out_wrapf(out, 2, "%s: %.0f %% take more than 20 times the uninterrupted time.%s",
                      r->what, 100 * r->unfinished.v,
                      r->lower_bound.v ? " Some were given up: ≥ marks a lower bound." : "");
    }
    if (demand && demand->price_old.v)
        out_wrapf(out, 2, "The price on demand is OLD: last seen %s, %s ago.", demand->price_date,
                  units_count(demand->price_age_days.v, "day").s);
    else if (demand)
        out_wrapf(out, 2, "The price on demand was last seen %s.", demand->price_date);
    if (fall_back)
        out_wrap(out, 2, "The deadline is always kept with fall-back to on-demand machines.");
    if (policies)
        out_wrap(
            out, 2,
            "The policies are replayed on the second half of the trace; 'planned' knows the "
            "first half. Their bills are rates × time. 'best possible' knows the future: nobody "
            "can do better.");
}

void quote_show_spot(struct out *out, const struct bill *b)
{
    const struct bill_spot *s = &b->spot;
    static const struct table_column columns[] = {
        {"way", TABLE_LEFT, 0, 18},    {"interval", TABLE_RIGHT, 5}, {"USD", TABLE_POINT},
        {"10 %", TABLE_POINT, 3},      {"50 %", TABLE_POINT, 4},     {"90 %", TABLE_POINT, 2},
        {"ends 10 %", TABLE_RIGHT, 4}, {"ends 50 %", TABLE_RIGHT},   {"ends 90 %", TABLE_RIGHT, 1},
        {"taken", TABLE_RIGHT, 6}};
    struct table table = TABLE(columns);
    say_prices(out, s);
    if (!s->method)
        return;
    say_inputs(out, s);
    if (s->rows.count == 0)
        return;
    out_printf(out, "\n");
    for (size_t i = 0; i < s->rows.count; i++)
        add_row(&table, &s->rows.items[i]);
    table_print(&table, out);
    out_wrap(
        out, 2,
        "10, 50, 90 %: in that share of the replays it costs at most so much, and has ended by "
        "then. The first amount is the mean.");
    say_rows(out, s);
}
