// SPDX-License-Identifier: Apache-2.0
#include "advise/advice.h"

#include <math.h>
#include <string.h>

#include "advise/advice_parts.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"

#define FRONTIER 5 // at most this many are named
#define NO_PRICE                                                                                   \
    "No offer is recommended: each price is less than the electricity of its GPUs costs, so it "   \
    "cannot be."

void advice_add_time(struct buf *out, double seconds)
{
    char text[48];
    clock_words((int64_t)(seconds * 1e9), text, sizeof text);
    buf_adds(out, text);
}

void advice_add_money(struct buf *out, int64_t nano)
{
    char text[MONEY_BYTES];
    money_short(nano, text);
    buf_printf(out, "%s USD", text);
}

void advice_add_age(struct buf *out, const struct bill *bill, const char *before, const char *after)
{
    if (bill->price_old.v)
        buf_printf(out, "%sat a price %s OLD%s", before,
                   units_count(bill->price_age_days.v, "day").s, after);
}

// "aws/g5.xlarge@us-east-1, 0.52 USD (0.51-0.53) in 31 min, estimated ±20 %"
void advice_add_bill(struct buf *out, const struct bill *bill)
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    bill_amount(bill, amount, interval);
    if (bill->spot.never_ends.v) {
        buf_printf(out, "%s, which is taken away too often to ever finish", bill->offer);
        return;
    }
    buf_printf(out, "%s, %s USD", bill->offer, amount);
    if (*interval)
        buf_printf(out, " (%s)", interval);
    if (bill->before_credit.known) {
        char before[MONEY_BYTES];
        money_short(bill_before_credit(bill), before);
        buf_printf(out, " after credits, %s before,", before);
    }
    buf_adds(out, bill_is_bound(bill) ? " in at least " : " in ");
    advice_add_time(out, bill->time_s.v);
    if (bill->certainty)
        buf_printf(out, ", %s", bill->certainty);
    if (bill->incomplete.v)
        buf_adds(out, ", without items that its tariff has no price for");
    if (bill->committed_months.known) {
        buf_printf(out, ", committed for %s (%s %s in all, used or not)",
                   units_count(bill->committed_months.v, "month").s,
                   bill->committed.known ? money_brief(bill->committed).s : "?", bill->currency);
    }
    advice_add_age(out, bill, ", ", "");
}

// Sentences then name the run, so that its time is not mistaken for the asked one's.
static bool of_another(const struct quote *quote, const struct bill *bill)
{
    return quote->run && bill->run && strcmp(quote->run, bill->run) != 0;
}

void advice_whose(const struct quote *quote, const struct bill *bill, struct buf *out)
{
    buf_printf(out, "%s %s", of_another(quote, bill) ? "another run," : "run",
               bill->run ? bill->run : "unknown");
    if (bill->batch.known)
        buf_printf(out, " (batch %lld%s%s)", (long long)bill->batch.v, bill->data ? ", " : "",
                   bill->data ? bill->data : "");
    else if (bill->data)
        buf_printf(out, " (%s)", bill->data);
}

void advice_add_whose(struct buf *out, const struct quote *quote, const struct bill *bill)
{
    if (!of_another(quote, bill))
        return;
    buf_adds(out, ", the time of ");
    advice_whose(quote, bill, out);
}

// ---- lower bounds

static const struct bound_words { // of one bill, and of all with what would tell
    const char *one, *all;
} bound_words[] = {
    {"a run on a CPU does not tell its time",
     "a run on a CPU does not tell the time on a GPU (running it there for a minute does)"},
    {"its interruptions are unknown",
     "how often a spot machine is taken away is unknown (--mtbi or --trace counts that)"},
    {"replays of it were given up", "replays of a spot machine were given up"},
    {"its tariff lacks a price", "a tariff lacks the price of something you asked for"},
    {"its price is a floor", "a price is the floor of an auction"},
};
enum { BOUNDS = sizeof bound_words / sizeof *bound_words };

static const struct bound_words *why_bound(const struct bill *b)
{
    return &bound_words[bill_time_is_bound(b)   ? 0
                        : b->spot.lower_bound.v ? 1 + (b->spot.method != NULL)
                        : b->incomplete.v       ? 3
                                                : 4];
}

void advice_add_bound(struct buf *out, const struct quote *quote, const char *before,
                      const struct bill *bill)
{
    buf_adds(out, before);
    advice_add_bill(out, bill);
    advice_add_whose(out, quote, bill);
    buf_printf(out, " (%s)", why_bound(bill)->one);
}

// Why no bill can lead, and what would tell; of those with a run, or of all if no estimate can
// either.
static int say_unnamed(struct quote *quote, struct err *err)
{
    struct buf text = {0};
    size_t count = quote->bills.count, found = 0;
    bool seen[BOUNDS] = {false}, runs = count > 0 && quote_leader(quote);
    const struct bill *least =
        runs ? quote_least_bound(quote->bills.items, count) : quote_lowest(quote);
    if (count == 0)
        buf_adds(&text, ADVICE_NO_RUN " ");
    count += runs ? 0 : quote->estimates.count;
    if (!least) {
        if (count == 1)
            buf_printf(&text, "%s never finishes: it is taken away too often.",
                       quote_at(quote, 0)->offer);
        else
            buf_adds(&text, "No spot machine ever finishes: each is taken away too often.");
        return texts_take(&quote->advice, &text, err);
    }
    buf_adds(&text, count == 1 ? "Only a lower bound (≥) of this bill is known: "
                    : runs     ? "No machine with a run is called cheapest, as each bill is a "
                                 "lower bound (≥): "
                           : "No offer is called cheapest, fastest or in time, as each bill is a "
                             "lower bound (≥): ");
    for (size_t i = 0; i < count; i++)
        seen[why_bound(quote_at(quote, i)) - bound_words] |= bill_is_bound(quote_at(quote, i));
    for (size_t i = 0; i < BOUNDS; i++)
        if (seen[i])
            buf_printf(&text, "%s%s", found++ > 0 ? "; " : "", bound_words[i].all);
    buf_adds(&text, ".");
    if (!bill_time_is_bound(least)) {
        buf_adds(&text, count == 1 ? " It is " : " The lowest is ");
        advice_add_bill(&text, least);
        advice_add_whose(&text, quote, least);
        buf_adds(&text, ".");
    }
    return texts_take(&quote->advice, &text, err);
}

// ---- the verdict

static void add_clause(struct buf *out, const char *what, const struct quote *quote,
                       const struct bill *bill)
{
    buf_printf(out, "; %s: ", what);
    advice_add_bill(out, bill);
    advice_add_whose(out, quote, bill);
}

static int say_cheapest(struct quote *quote, struct err *err)
{
    const struct bill *bills = quote->bills.items;
    size_t count = quote->bills.count;
    const struct bill *cheap = quote_cheapest(bills, count), *fast = quote_fastest(bills, count),
                      *perhaps = quote_least_bound(bills, count);
    struct buf text = {0};
    buf_printf(&text, "Cheapest%s: ", cheap->waiting.known ? ", with your waiting" : "");
    advice_add_bill(&text, cheap);
    advice_add_whose(&text, quote, cheap);
    if (perhaps)
        advice_add_bound(&text, quote, "; may be cheaper: ", perhaps);
    if (fast != cheap && fast->time_s.v < cheap->time_s.v)
        add_clause(&text, "fastest", quote, fast);
    buf_adds(&text, ".");
    return texts_take(&quote->advice, &text, err);
}

// The cheapest estimate, if it goes before the cheapest bill.
static int say_estimated(struct quote *quote, struct err *err)
{
    const struct bill *first = quote_cheaper_estimate(quote);
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    struct buf text = {0};
    if (!first)
        return 0;
    bill_amount(first, amount, interval);
    buf_printf(&text, "%sBy estimate, the cheapest is %s: about %s USD%s%s%s in ",
               quote->bills.count > 0 ? "" : ADVICE_NO_RUN " ", first->offer, amount,
               *interval ? " (" : "", interval, *interval ? ")" : "");
    advice_add_time(&text, first->time_s.v);
    buf_printf(&text, ", %s. Running it there for a minute tells the time exactly.",
               first->certainty);
    return texts_take(&quote->advice, &text, err);
}

bool advice_on_frontier(double *best_s, double time_s)
{
    if (*best_s > 0 && time_s >= *best_s * QUOTE_ALIKE)
        return false;
    *best_s = time_s;
    return true;
}

// The bills that no other beats in both time and cost, of those that are no lower bounds. Bills are
// sorted, cheapest first.
static int say_frontier(struct quote *quote, struct err *err)
{
    struct buf text = {0};
    double best = 0;
    size_t count = 0;
    bool bounds = false;
    for (size_t i = 0; i < quote->bills.count; i++)
        bounds |= bill_is_bound(&quote->bills.items[i]);
    for (size_t i = 0; i < quote->bills.count; i++) {
        const struct bill *b = &quote->bills.items[i];
        if (!quote_can_lead(b) || !advice_on_frontier(&best, b->time_s.v))
            continue;
        if (count++ < FRONTIER) {
            if (count > 1)
                buf_adds(&text, "; ");
            else
                buf_printf(&text, "%sothing is both faster and cheaper%s than: ",
                           bounds ? "Apart from lower bounds (≥), n" : "N",
                           b->waiting.known ? ", with your waiting," : "");
            advice_add_bill(&text, b);
        }
    }
    if (count > FRONTIER)
        buf_printf(&text, "; and %zu more", count - FRONTIER);
    buf_adds(&text, ".");
    if (count > 1)
        return texts_take(&quote->advice, &text, err);
    int rc = buf_check(&text, err);
    buf_release(&text);
    return rc;
}

const char *advice_machine(const struct quote_ask *ask)
{
    const struct run_machine *m = &ask->evidence[0].run->machine;
    return m->instance_type ? m->instance_type : m->name ? m->name : m->gpu ? m->gpu : m->cpu;
}

void advice_add_machine(struct buf *out, const struct quote_ask *ask)
{
    const char *name = ask->asked ? advice_machine(ask) : NULL;
    if (run_given(ask->evidence[0].run)) {
        buf_adds(out, advice_machine(ask));
        return;
    }
    buf_adds(out, ask->asked ? "the machine measured" : "the machines measured");
    if (name)
        buf_printf(out, " (%s)", name);
}

static int say_credits(const struct advice_wishes *w, struct quote *quote, struct err *err)
{
    bool any = false;
    for (size_t i = 0; i < quote->bills.count && !any; i++)
        any = quote->bills.items[i].before_credit.known;
    if (!any)
        return 0;
    struct buf text = {0};
    buf_printf(&text, "Your credits are taken off each bill%s.",
               w->runs > 1 || w->use_ns_a_month > 0 || w->buy
                   ? ", but not off the cost of several runs, of months or of buying"
                   : "");
    return texts_take(&quote->advice, &text, err);
}

// Says that there is no offer, and why, if that is known.
static int say_nothing(const struct quote_ask *ask, const struct advice_wishes *w,
                       struct quote *quote, struct err *err)
{
    struct bill_time time;
    struct buf text = {0};
    bool some = ask->gpu || ask->provider || ask->region || ask->kind;
    if (ask->offer || (quote->misfits.count > 0 && quote->not_measured.v == 0)) // it has reasons
        return w->buy ? advice_buy(ask, w, quote, err) : advice_power(ask, w, quote, err);
    if (quote->outdated) {
        buf_printf(&text, "The price of %s, which %s ", quote->outdated,
                   quote->given ? "has" : "is the same as");
        advice_add_machine(&text, ask);
        buf_printf(&text, ", was last seen %s ago: too old to count.",
                   units_count(quote->outdated_days.v, "day").s);
        TRY(texts_take(&quote->advice, &text, err));
    } else if (quote_base(ask, &time)) {
        buf_printf(&text, "No offer in the book%s %s ", some ? " of those asked for" : "",
                   quote->given ? "has" : "is known to be the same as");
        advice_add_machine(&text, ask);
        buf_adds(&text, ".");
        TRY(texts_take(&quote->advice, &text, err));
    }
    TRY(w->deadline_ns.known ? advice_say_deadline(ask, w, quote, err) : 0);
    return w->buy ? advice_buy(ask, w, quote, err) : advice_power(ask, w, quote, err);
}

static int advise(const struct quote_ask *ask, const struct advice_wishes *w, struct quote *quote,
                  struct err *err)
{
    if (quote->bills.count + quote->estimates.count == 0)
        return say_nothing(ask, w, quote, err);
    if (quote_cheapest(quote->bills.items, quote->bills.count))
        TRY(say_cheapest(quote, err));
    else if (quote->bills.count > 0 || !quote_leader(quote))
        TRY(say_unnamed(quote, err));
    TRY(say_estimated(quote, err));
    if (quote->bills.count > 2)
        TRY(say_frontier(quote, err));
    if (w->deadline_ns.known)
        TRY(advice_say_deadline(ask, w, quote, err));
    if (w->budget.known)
        TRY(advice_say_budget(w, quote, err));
    TRY(advice_several(ask, w, quote, err));
    if (w->buy)
        TRY(advice_buy(ask, w, quote, err));
    else
        TRY(advice_power(ask, w, quote, err));
    return say_credits(w, quote, err);
}

// Copies bills whose price can be; their members stay the quote's.
static size_t copy_possible(const struct bill *bills, size_t count, struct bill *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!bill_price_doubtful(&bills[i]))
            out[kept++] = bills[i];
    return kept;
}

// No sentence names an offer whose price cannot be.
int advice_make(const struct quote_ask *ask, const struct advice_wishes *w, struct quote *quote,
                struct err *err)
{
    size_t measured = quote->bills.count, all = measured + quote->estimates.count;
    TRY(advice_mark(w, quote, err));
    struct quote view = *quote;
    struct bill *copies = calloc(all + 1, sizeof *copies);
    if (!copies)
        return err_memory(err);
    view.bills.items = copies;
    view.bills.count = copy_possible(quote->bills.items, measured, copies);
    view.estimates.items = copies + view.bills.count;
    view.estimates.count =
        copy_possible(quote->estimates.items, quote->estimates.count, view.estimates.items);
    int rc = all > 0 && view.bills.count + view.estimates.count == 0
                 ? texts_add(&view.advice, NO_PRICE, err)
                 : advise(ask, w, &view, err);
    quote->advice = view.advice;
    free(copies);
    return rc;
}
