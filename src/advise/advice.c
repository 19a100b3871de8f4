// SPDX-License-Identifier: Apache-2.0
#include "advise/advice.h"

#include <math.h>
#include <string.h>

#include "advise/advice_parts.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"

#define FRONTIER 5 // at most this many are named

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

static int64_t at_least(int64_t amount, const char *text)
{
    int64_t other = 0;
    return text && money_parse(text, &other, NULL) == 0 && other > amount ? other : amount;
}

// "aws/g5.xlarge@us-east-1, 0.52 USD (0.51-0.53) in 31 min, estimated ±20 %"
static void add_bill_words(struct buf *out, const struct bill *bill)
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
    if (bill->before_credit) {
        char before[MONEY_BYTES];
        money_short(bill_before_credit(bill), before);
        buf_printf(out, " after credits, %s before,", before);
    }
    buf_adds(out, " in ");
    advice_add_time(out, bill->time_s.v);
    if (bill->certainty)
        buf_printf(out, ", %s", bill->certainty);
    if (bill->incomplete.v)
        buf_adds(out, ", without items that its tariff has no price for");
    if (bill->committed_months.known) {
        char owed[MONEY_BYTES];
        money_short(at_least(0, bill->committed), owed);
        buf_printf(out, ", committed for %s (%s %s in all, used or not)",
                   units_count(bill->committed_months.v, "month").s, owed, bill->currency);
    }
    if (bill->price_old.v)
        buf_printf(out, ", at a price %s OLD", units_count(bill->price_age_days.v, "day").s);
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

static void add_whose(struct buf *out, const struct quote *quote, const struct bill *bill)
{
    if (!of_another(quote, bill))
        return;
    buf_adds(out, ", the time of ");
    advice_whose(quote, bill, out);
}

// At the end of the interval, where there is one.
static double longest(const struct bill *bill)
{
    return bill->high_s.known ? bill->high_s.v : bill->time_s.v;
}

int64_t advice_dearest(const struct bill *bill)
{
    return at_least(at_least(bill_total(bill), bill->high), bill->by_hours);
}

// Bills, then estimates.
static const struct bill *bill_at(const struct quote *quote, size_t i)
{
    size_t measured = quote->bills.count;
    return i < measured ? &quote->bills.items[i] : &quote->estimates.items[i - measured];
}

static size_t bill_count(const struct quote *quote)
{
    return quote->bills.count + quote->estimates.count;
}

// The cheapest that takes at most `within_s`, at worst; null: none.
static const struct bill *cheapest(const struct quote *quote, double within_s)
{
    const struct bill *best = NULL;
    for (size_t i = 0; i < bill_count(quote); i++) {
        const struct bill *b = bill_at(quote, i);
        double time_s = b->spot.never_ends.v ? (double)INFINITY : longest(b);
        if (!bill_price_doubtful(b) && time_s <= within_s && (!best || b->place.v < best->place.v))
            best = b;
    }
    return best;
}

double advice_counted_s(const struct bill *bill)
{
    return bill->certainty ? longest(bill) : bill->time_s.v;
}

static bool ends_before(const struct bill *a, const struct bill *b)
{
    if (a->spot.never_ends.v || b->spot.never_ends.v)
        return !a->spot.never_ends.v;
    return advice_counted_s(a) < advice_counted_s(b) * QUOTE_ALIKE;
}

// Of the first `count`. For at most `budget`, at worst and with everything priced; null: whatever
// it costs.
static const struct bill *fastest(const struct quote *quote, size_t count, const int64_t *budget)
{
    const struct bill *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct bill *b = bill_at(quote, i);
        bool within =
            budget ? !bill_doubtful(b) && advice_dearest(b) <= *budget : !bill_price_doubtful(b);
        if (within && (!best || ends_before(b, best)))
            best = b;
    }
    return best;
}

// ": in time even if it takes 30 % longer"
static void add_at_worst(struct buf *out, const struct bill *bill, const char *what)
{
    double times = bill->high_s.known ? bill->high_s.v / bill->time_s.v : 1;
    if (!bill->certainty)
        buf_adds(out, bill->high_s.known ? " (even at the end of its interval)" : "");
    else if (times < 2)
        buf_printf(out, ": %s even if it takes %.0f %% longer", what, floor(100 * (times - 1)));
    else
        buf_printf(out, ": %s even if it takes %.1f times as long", what, floor(10 * times) / 10);
}

static int mark(char **member, bool at_worst, bool at_the_middle, struct err *err)
{
    return text_set(member, at_worst ? "met" : at_the_middle ? "met at the middle" : "missed", err);
}

static int mark_all(const struct advice_wishes *w, struct bill *bills, size_t count,
                    struct err *err)
{
    double deadline_s = (double)w->deadline_ns.v / 1e9;
    for (size_t i = 0; i < count; i++) {
        struct bill *b = &bills[i];
        if (w->deadline_ns.known)
            TRY(mark(&b->deadline, !b->spot.never_ends.v && longest(b) <= deadline_s,
                     !b->spot.never_ends.v && b->time_s.v <= deadline_s, err));
        if (w->budget.known)
            TRY(mark(&b->budget, !bill_doubtful(b) && advice_dearest(b) <= w->budget.v,
                     !b->spot.never_ends.v && bill_total(b) <= w->budget.v, err));
    }
    return 0;
}

// ---- the verdict

static int say_cheapest(struct quote *quote, struct err *err)
{
    const struct bill *cheap = &quote->bills.items[0];
    const struct bill *fast = fastest(quote, quote->bills.count, NULL);
    struct buf text = {0};
    buf_printf(&text, "Cheapest%s: ", cheap->waiting ? ", with your waiting" : "");
    add_bill_words(&text, cheap);
    add_whose(&text, quote, cheap);
    if (fast != cheap && !fast->spot.never_ends.v && fast->time_s.v < cheap->time_s.v) {
        buf_adds(&text, "; fastest: ");
        add_bill_words(&text, fast);
        add_whose(&text, quote, fast);
    }
    buf_adds(&text, ".");
    return texts_take(&quote->advice, &text, err);
}

// The cheapest of all, if it is an estimate.
static int say_estimated(struct quote *quote, struct err *err)
{
    const struct bill *first = cheapest(quote, (double)INFINITY);
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    struct buf text = {0};
    if (!first->certainty)
        return 0;
    bill_amount(first, amount, interval);
    buf_printf(&text, "%sBy estimate, the cheapest is %s: %s%s USD%s%s%s in ",
               quote->bills.count > 0 ? "" : "No offer is a machine with a run. ", first->offer,
               bill_is_bound(first) ? "" : "about ", amount, *interval ? " (" : "", interval,
               *interval ? ")" : "");
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

// The bills that no other beats in both time and cost. Bills are sorted, cheapest first.
static int say_frontier(struct quote *quote, struct err *err)
{
    struct buf text = {0};
    double best = 0;
    size_t count = 0;
    for (size_t i = 0; i < quote->bills.count; i++) {
        const struct bill *b = &quote->bills.items[i];
        if (b->spot.never_ends.v || !advice_on_frontier(&best, b->time_s.v))
            continue;
        if (count++ < FRONTIER) {
            if (count > 1)
                buf_adds(&text, "; ");
            else
                buf_printf(&text, "Nothing is both faster and cheaper%s than: ",
                           b->waiting ? ", with your waiting," : "");
            add_bill_words(&text, b);
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

static void add_machine(struct buf *out, const struct quote_ask *ask)
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

// Without an offer, only the time on the measured machine is known.
static void deadline_without_offers(const struct quote_ask *ask, double deadline_s, struct buf *out)
{
    struct bill_time time;
    if (!quote_base(ask, &time)) {
        buf_adds(out, " nothing is known to finish: no run's time is known.");
        return;
    }
    bool done = (double)(time.high_ns > 0 ? time.high_ns : time.total_ns) <= deadline_s * 1e9;
    buf_printf(out, " no offer in the book is known to finish%s ", done ? ", but" : "; on");
    add_machine(out, ask);
    buf_adds(out, done ? " does: it takes " : " it takes ");
    advice_add_time(out, (double)time.total_ns / 1e9);
    buf_adds(out, ".");
}

// A spot machine alone may be late; its fall-back to on demand never is.
static void add_fall_back(struct buf *out, const struct bill *bill)
{
    for (size_t i = 0; i < bill->spot.rows.count; i++) {
        const struct spot_row *row = &bill->spot.rows.items[i];
        int64_t mean;
        if (strncmp(row->what, "policy", 6) == 0 || !row->deadline_kept.v || !row->mean ||
            money_parse(row->mean, &mean, NULL) != 0)
            continue;
        buf_printf(out, "; %s is always in time, for ", row->what);
        advice_add_money(out, mean);
        buf_adds(out, " on average");
        return;
    }
}

void advice_deadline(const struct quote_ask *ask, int64_t deadline_ns, const struct quote *quote,
                     struct buf *out)
{
    const struct bill *found = cheapest(quote, (double)deadline_ns / 1e9);
    const struct bill *fast = fastest(quote, bill_count(quote), NULL);
    buf_adds(out, "Within ");
    advice_add_time(out, (double)deadline_ns / 1e9);
    if (bill_count(quote) == 0) {
        deadline_without_offers(ask, (double)deadline_ns / 1e9, out);
        return;
    }
    if (found) {
        buf_adds(out, " the cheapest is ");
        add_bill_words(out, found);
        add_at_worst(out, found, "in time");
        add_whose(out, quote, found);
    } else if (!fast) {
        buf_adds(out, " nothing can be said: no offer has a price that can be");
    } else {
        bool nearly = fast->time_s.v * 1e9 <= (double)deadline_ns;
        bool ends = !fast->spot.never_ends.v;
        buf_printf(out, " none of them %s", nearly && ends ? "is sure to finish" : "finishes");
        if (ends) {
            buf_adds(out, "; the fastest is ");
            add_bill_words(out, fast);
            add_whose(out, quote, fast);
        }
        add_fall_back(out, fast);
    }
    buf_adds(out, ".");
}

static int say_deadline(const struct quote_ask *ask, const struct advice_wishes *w,
                        struct quote *quote, struct err *err)
{
    struct buf text = {0};
    advice_deadline(ask, w->deadline_ns.v, quote, &text);
    return texts_take(&quote->advice, &text, err);
}

static int say_budget(const struct advice_wishes *w, struct quote *quote, struct err *err)
{
    struct buf text = {0};
    const struct bill *found = fastest(quote, bill_count(quote), &w->budget.v);
    buf_adds(&text, "For ");
    advice_add_money(&text, w->budget.v);
    if (found) {
        buf_adds(&text, " the fastest is ");
        add_bill_words(&text, found);
        add_at_worst(&text, found, "within the budget");
    } else {
        const struct bill *cheap = cheapest(quote, (double)INFINITY);
        bool nearly = bill_total(cheap) <= w->budget.v;
        bool interval = at_least(0, cheap->high) > w->budget.v;
        bool hours = !interval && at_least(0, cheap->by_hours) > w->budget.v;
        buf_printf(&text, " no offer is %saffordable%s; the cheapest is ",
                   nearly ? "certainly " : "",
                   !nearly    ? ""
                   : interval ? " at the end of its interval"
                   : hours    ? " if started hours are charged"
                              : "");
        add_bill_words(&text, cheap);
    }
    buf_adds(&text, ".");
    return texts_take(&quote->advice, &text, err);
}

static int say_credits(const struct advice_wishes *w, struct quote *quote, struct err *err)
{
    bool any = false;
    for (size_t i = 0; i < quote->bills.count && !any; i++)
        any = quote->bills.items[i].before_credit;
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
        add_machine(&text, ask);
        buf_printf(&text, ", was last seen %s ago: too old to count.",
                   units_count(quote->outdated_days.v, "day").s);
        TRY(texts_take(&quote->advice, &text, err));
    } else if (quote_base(ask, &time)) {
        buf_printf(&text, "No offer in the book%s %s ", some ? " of those asked for" : "",
                   quote->given ? "has" : "is known to be the same as");
        add_machine(&text, ask);
        buf_adds(&text, ".");
        TRY(texts_take(&quote->advice, &text, err));
    }
    TRY(w->deadline_ns.known ? say_deadline(ask, w, quote, err) : 0);
    return w->buy ? advice_buy(ask, w, quote, err) : advice_power(ask, w, quote, err);
}

// Without a run on any offer, only estimates answer; those are of one training.
static int advise_by_estimates(const struct quote_ask *ask, const struct advice_wishes *w,
                               struct quote *quote, struct err *err)
{
    TRY(say_estimated(quote, err));
    if (w->deadline_ns.known)
        TRY(say_deadline(ask, w, quote, err));
    if (w->budget.known)
        TRY(say_budget(w, quote, err));
    TRY(advice_several(ask, w, quote, err));
    return w->buy ? advice_buy(ask, w, quote, err) : advice_power(ask, w, quote, err);
}

static int advise(const struct quote_ask *ask, const struct advice_wishes *w, struct quote *quote,
                  struct err *err)
{
    if (bill_count(quote) == 0)
        return say_nothing(ask, w, quote, err);
    if (quote->bills.count == 0)
        return advise_by_estimates(ask, w, quote, err);
    TRY(say_cheapest(quote, err));
    TRY(say_estimated(quote, err));
    if (quote->bills.count > 2)
        TRY(say_frontier(quote, err));
    if (w->deadline_ns.known)
        TRY(say_deadline(ask, w, quote, err));
    if (w->budget.known)
        TRY(say_budget(w, quote, err));
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
    size_t measured = quote->bills.count, all = bill_count(quote);
    TRY(mark_all(w, quote->bills.items, measured, err));
    TRY(mark_all(w, quote->estimates.items, quote->estimates.count, err));
    struct quote view = *quote;
    struct bill *copies = calloc(all + 1, sizeof *copies);
    if (!copies)
        return err_memory(err);
    view.bills.items = copies;
    view.bills.count = copy_possible(quote->bills.items, measured, copies);
    view.estimates.items = copies + view.bills.count;
    view.estimates.count =
        copy_possible(quote->estimates.items, quote->estimates.count, view.estimates.items);
    int rc = all > 0 && bill_count(&view) == 0
                 ? texts_add(&view.advice,
                             "No offer is recommended: each price is less than the electricity of "
                             "its GPUs costs, so it cannot be.",
                             err)
                 : advise(ask, w, &view, err);
    quote->advice = view.advice;
    free(copies);
    return rc;
}
