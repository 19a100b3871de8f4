// SPDX-License-Identifier: Apache-2.0
// Deadline and budget: what is sure to keep them, what may, and what does not. Lower bounds (≥)
// promise nothing.
#include <math.h>
#include <string.h>

#include "advise/advice_parts.h"
#include "base/money.h"

// ---- marks

static int mark(char **member, enum quote_keeps keeps, struct err *err)
{
    return text_set(member,
                    keeps == QUOTE_KEEPS      ? "met"
                    : keeps == QUOTE_MAY_KEEP ? "met at the middle"
                                              : "missed",
                    err);
}

static int mark_all(const struct advice_wishes *w, struct bill *bills, size_t count,
                    struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct bill *b = &bills[i];
        if (w->deadline_ns.known)
            TRY(mark(&b->deadline, quote_in_time(b, (double)w->deadline_ns.v / 1e9), err));
        if (w->budget.known)
            TRY(mark(&b->budget, quote_within(b, w->budget.v), err));
    }
    return 0;
}

int advice_mark(const struct advice_wishes *w, struct quote *quote, struct err *err)
{
    TRY(mark_all(w, quote->bills.items, quote->bills.count, err));
    return mark_all(w, quote->estimates.items, quote->estimates.count, err);
}

// ---- sentences

// ": in time even if it takes 30 % longer"
static void add_at_worst(struct buf *out, const struct bill *bill, const char *what)
{
    double times = bill->high_s.known ? bill->high_s.v / bill->time_s.v : 1;
    if (!bill->certainty)
        buf_adds(out, !bill->high_s.known ? ""
                      : bill->spot.method ? " (in 90 % of the replays)"
                                          : " (even at the end of its interval)");
    else if (times < 2)
        buf_printf(out, ": %s even if it takes %.0f %% longer", what, floor(100 * (times - 1)));
    else
        buf_printf(out, ": %s even if it takes %.1f times as long", what, floor(10 * times) / 10);
}

static void add_bill(struct buf *out, const struct quote *quote, const char *before,
                     const struct bill *bill)
{
    buf_adds(out, before);
    advice_add_bill(out, bill);
    advice_add_whose(out, quote, bill);
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
    advice_add_machine(out, ask);
    buf_adds(out, done ? " does: it takes " : " it takes ");
    advice_add_time(out, (double)time.total_ns / 1e9);
    buf_adds(out, ".");
}

// A spot machine alone may be late; its fall-back to on demand never is, nor perhaps on demand
// alone.
static void add_other_ways(struct buf *out, const struct bill *bill, double deadline_s)
{
    for (size_t i = bill->spot.rows.count; i-- > 0;) {
        const struct spot_row *row = &bill->spot.rows.items[i];
        bool demand = strcmp(row->what, "on demand") == 0;
        if (strncmp(row->what, "policy", 6) == 0 || !row->mean.known ||
            !(row->deadline_kept.v || (demand && row->high_s.known && row->high_s.v <= deadline_s)))
            continue;
        buf_printf(out, "; %s ", row->what);
        if (demand) {
            buf_adds(out, "does, in ");
            advice_add_time(out, row->mean_s.v);
            buf_adds(out, ", for ");
            advice_add_money(out, row->mean.nano);
        } else {
            buf_adds(out, "is always in time, for ");
            advice_add_money(out, row->mean.nano);
            buf_adds(out, " on average");
        }
    }
}

struct kept {                                    // by bills and estimates
    const struct bill *sure, *perhaps, *fastest; // of those that can lead
    const struct bill *bound;                    // the lowest that may keep it
    size_t possible;                             // all whose price can be
    bool any;                                    // some may keep it
};

// A lower bound that may keep it. Of those whose time is one, none is named.
static void add_kept(struct kept *k, const struct bill *bill)
{
    k->any = true;
    if (!quote_can_lead(bill) && !bill_time_is_bound(bill) &&
        (!k->bound || bill->place.v < k->bound->place.v))
        k->bound = bill;
}

// The cheapest that are sure to be in time, and that may be.
static struct kept in_time(const struct quote *quote, double deadline_s)
{
    struct kept k = {0};
    for (size_t i = 0; i < quote_count(quote); i++) {
        const struct bill *b = quote_at(quote, i);
        enum quote_keeps keeps = quote_in_time(b, deadline_s);
        if (bill_price_doubtful(b))
            continue;
        k.possible++;
        if (keeps != QUOTE_MISSES)
            add_kept(&k, b);
        if (!quote_can_lead(b))
            continue;
        if (!k.fastest || quote_sooner(b, k.fastest))
            k.fastest = b;
        const struct bill **best = keeps == QUOTE_KEEPS ? &k.sure : &k.perhaps;
        if (keeps != QUOTE_MISSES && (!*best || b->place.v < (*best)->place.v))
            *best = b;
    }
    return k;
}

static bool before(const struct bill *a, const struct bill *b)
{
    return a && (!b || a->place.v < b->place.v);
}

// None is sure to be in time.
static void deadline_unsure(const struct quote *quote, const struct kept *k, double deadline_s,
                            struct buf *out)
{
    const struct bill *fast = k->fastest;
    bool one = quote_count(quote) == 1;
    if (one)
        buf_printf(out, " this offer %s", k->any ? "is not sure to finish" : "does not finish");
    else
        buf_printf(out, " none of them %s", k->any ? "is sure to finish" : "finishes");
    if (k->perhaps && k->perhaps != fast)
        add_bill(out, quote, "; the cheapest that may is ", k->perhaps);
    if (fast && !(k->perhaps && quote_in_time(fast, deadline_s) == QUOTE_MISSES))
        add_bill(out, quote, one ? ": " : "; the fastest is ", fast);
    if (before(k->bound, k->perhaps))
        advice_add_bound(out, quote, one ? ": " : "; may be in time: ", k->bound);
    if (fast || one)
        add_other_ways(out, fast ? fast : quote_at(quote, 0), deadline_s);
}

void advice_deadline(const struct quote_ask *ask, int64_t deadline_ns, const struct quote *quote,
                     struct buf *out)
{
    double deadline_s = (double)deadline_ns / 1e9;
    const struct kept k = in_time(quote, deadline_s);
    buf_adds(out, "Within ");
    advice_add_time(out, deadline_s);
    if (quote_count(quote) == 0) {
        deadline_without_offers(ask, deadline_s, out);
        return;
    }
    if (k.sure) {
        buf_adds(out, " the cheapest is ");
        advice_add_bill(out, k.sure);
        add_at_worst(out, k.sure, "in time");
        advice_add_whose(out, quote, k.sure);
        if (before(k.perhaps, k.sure))
            add_bill(out, quote, "; cheaper, but not sure to be in time: ", k.perhaps);
        else if (before(k.bound, k.sure))
            advice_add_bound(out, quote,
                             "; may be cheaper, but is not sure to be in time: ", k.bound);
    } else if (k.possible == 0) {
        buf_adds(out, " nothing can be said: no offer has a price that can be");
    } else {
        deadline_unsure(quote, &k, deadline_s, out);
    }
    buf_adds(out, ".");
}

int advice_say_deadline(const struct quote_ask *ask, const struct advice_wishes *w,
                        struct quote *quote, struct err *err)
{
    struct buf text = {0};
    advice_deadline(ask, w->deadline_ns.v, quote, &text);
    return texts_take(&quote->advice, &text, err);
}

// The fastest that is sure to be within the budget, and that may be.
static struct kept within(const struct quote *quote, int64_t budget)
{
    struct kept k = {0};
    for (size_t i = 0; i < quote_count(quote); i++) {
        const struct bill *b = quote_at(quote, i);
        enum quote_keeps keeps = quote_within(b, budget);
        if (keeps == QUOTE_MISSES || bill_price_doubtful(b))
            continue;
        add_kept(&k, b);
        const struct bill **best = keeps == QUOTE_KEEPS ? &k.sure : &k.perhaps;
        if (quote_can_lead(b) && (!*best || quote_sooner(b, *best)))
            *best = b;
    }
    return k;
}

// Why a bill of less than the budget may be more.
static const char *why_more(const struct bill *bill, int64_t budget)
{
    if (bill_total(bill) > budget)
        return "";
    if (bill->high.nano > budget)
        return " at the end of its interval";
    if (bill->owed.nano > budget)
        return " with all that it owes";
    return quote_dearest(bill) > budget ? " if started hours are charged" : "";
}

int advice_say_budget(const struct advice_wishes *w, struct quote *quote, struct err *err)
{
    struct buf text = {0};
    const struct kept k = within(quote, w->budget.v);
    buf_adds(&text, "For ");
    advice_add_money(&text, w->budget.v);
    if (k.sure) {
        buf_adds(&text, " the fastest is ");
        advice_add_bill(&text, k.sure);
        add_at_worst(&text, k.sure, "within the budget");
        if (k.perhaps && quote_sooner(k.perhaps, k.sure))
            add_bill(&text, quote,
                     "; perhaps faster, but not sure to be within the budget: ", k.perhaps);
    } else {
        const struct bill *cheap = quote_leader(quote), *low = quote_lowest(quote);
        low = low ? low : quote_at(quote, 0);
        buf_printf(&text, " no offer is %saffordable%s", k.any ? "certainly " : "",
                   cheap ? why_more(cheap, w->budget.v) : "");
        if (cheap)
            add_bill(&text, quote, "; the cheapest is ", cheap);
        else if (!k.bound && !bill_time_is_bound(low))
            add_bill(&text, quote,
                     quote_count(quote) == 1 || low->spot.never_ends.v ? ": "
                                                                       : "; the lowest bound is ",
                     low);
        if (before(k.bound, cheap))
            advice_add_bound(&text, quote, "; may be within the budget: ", k.bound);
    }
    buf_adds(&text, ".");
    return texts_take(&quote->advice, &text, err);
}
