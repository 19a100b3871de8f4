// SPDX-License-Identifier: Apache-2.0
// The verdict on offers: the cheapest and the fastest machine with a run, and a cheaper estimate.
#include <stdio.h>
#include <string.h>

#include "base/money.h"
#include "base/units.h"
#include "report/verdict.h"

static bool of_another(const struct quote *quote, const struct bill *bill)
{
    return quote->run && bill->run && strcmp(quote->run, bill->run) != 0;
}

// "aws/g5.xlarge@us-east-1: 0.52 USD (0.51-0.53) in 31 min with fare, at a price 86 days old"
static void add_bill(const struct quote *quote, const struct bill *bill, struct buf *out)
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    bill_amount(bill, amount, interval);
    buf_printf(out, "%s: %s%s USD%s%s%s in ", bill->offer,
               bill->certainty && !bill_is_bound(bill) ? "about " : "", amount,
               *interval ? " (" : "", interval, *interval ? ")" : "");
    buf_adds(out, bill_is_bound(bill) ? "at least " : "");
    verdict_time(out, bill->time_s.v);
    if (bill->framework && !bill->certainty)
        buf_printf(out, " with %s", bill->framework);
    if (bill->certainty)
        buf_printf(out, ", %s", bill->certainty);
    else if (of_another(quote, bill))
        buf_adds(out, ", as another run measured");
    if (bill->incomplete.v)
        buf_adds(out, ", without items that its tariff has no price for");
    if (bill->price_old.v)
        buf_printf(out, ", at a price %s old", units_count(bill->price_age_days.v, "day").s);
}

// Rows that the reader of the table could take for as cheap, or cheaper.
static void add_ties(const struct quote *quote, const struct bill *best, struct buf *out)
{
    size_t equal = 0, near = 0, doubtful = 0, bounds = 0;
    int64_t total = bill_total(best), high = money_or(best->high, total);
    for (size_t i = 0; i < quote->bills.count; i++) {
        const struct bill *b = &quote->bills.items[i];
        int64_t other = bill_total(b);
        if (b == best)
            continue;
        if (bill_is_bound(b) && !bill_is_bound(best))
            bounds += other <= high;
        else if (other < total) // ranked behind it for a reason
            doubtful++;
        else if (other == total)
            equal++;
        else if (money_or(b->low, other) <= high)
            near++;
    }
    if (equal > 0)
        buf_printf(out, " %zu other%s the same.", equal, equal == 1 ? " costs" : "s cost");
    if (near > 0)
        buf_printf(out, " The interval%s of %zu other%s.", near == 1 ? "" : "s", near,
                   near == 1 ? " overlaps with its own" : "s overlap with its own");
    if (bounds > 0)
        buf_printf(out, " %zu lower bound%s (≥) may be cheaper.", bounds, bounds == 1 ? "" : "s");
    if (doubtful > 0)
        buf_printf(out, " %zu lower bill%s: the rule is assumed or the price doubtful.", doubtful,
                   doubtful == 1 ? " does not count" : "s do not count");
}

static bool includes_startup(const struct quote *quote)
{
    for (size_t i = 0; i < quote->bills.count; i++)
        if (quote->bills.items[i].startup_s.v > 0)
            return true;
    return false;
}

static void say_quote(const struct quote *quote, struct buf *out)
{
    const struct bill *bills = quote->bills.items, *estimate = quote_cheaper_estimate(quote);
    const struct bill *cheap = quote_cheapest(bills, quote->bills.count);
    if (cheap) {
        const struct bill *fast = quote_fastest(bills, quote->bills.count);
        buf_printf(out, "To rent%s, the cheapest machine with a run is ",
                   includes_startup(quote) ? ", start-up included" : "");
        add_bill(quote, cheap, out);
        if (fast != cheap && fast->time_s.v < cheap->time_s.v) {
            buf_adds(out, "; the fastest is ");
            add_bill(quote, fast, out);
        }
        buf_adds(out, ".");
        add_ties(quote, cheap, out);
    } else if (!estimate || quote_least_bound(bills, quote->bills.count)) {
        buf_adds(out, quote->advice.count > 0 ? quote->advice.items[0] : "");
    } else {
        buf_adds(out, quote->bills.count > 0 ? "No machine with a run has a price that can be."
                                             : ADVICE_NO_RUN);
    }
    if (!estimate)
        return;
    buf_adds(out, " By estimate, the cheapest to rent is ");
    add_bill(quote, estimate, out);
    buf_adds(out, ".");
}

// ---- several workloads

struct sum { // of the cheapest place of each workload
    double seconds;
    int64_t nano_usd;
    size_t count;
    bool at_least; // a bill among them is a lower bound
};

// A lower bound where no bill is known.
static const struct bill *cheapest(const struct bill *bills, size_t count)
{
    const struct bill *best = quote_cheapest(bills, count);
    return best ? best : quote_least_bound(bills, count);
}

static bool add_to(struct sum *sum, const struct bill *bill)
{
    sum->count++;
    sum->seconds += bill->time_s.v;
    sum->at_least |= bill_is_bound(bill);
    return money_add(sum->nano_usd, bill_total(bill), &sum->nano_usd, NULL) == 0;
}

static void add_sum(const struct sum *sum, struct buf *out)
{
    char cost[MONEY_BYTES];
    money_short(sum->nano_usd, cost);
    buf_printf(out, "%s%s USD in all, in %s", sum->at_least ? "at least " : "", cost,
               sum->at_least ? "at least " : "");
    verdict_time(out, sum->seconds);
    buf_adds(out, " with start-up");
}

static void say_sum(const struct page *page, struct buf *out)
{
    struct sum measured = {0}, estimated = {0};
    size_t all = page->quotes.count, cheaper = 0;
    for (size_t i = 0; i < all; i++) {
        const struct quote *q = &page->quotes.items[i];
        bool fits = true; // or is beyond all money
        const struct bill *bill = cheapest(q->bills.items, q->bills.count),
                          *guess = cheapest(q->estimates.items, q->estimates.count);
        if (bill)
            fits = add_to(&measured, bill);
        else if (guess)
            fits = add_to(&estimated, guess);
        cheaper += q->bills.count > 0 && quote_cheaper_estimate(q);
        if (!fits)
            return;
    }
    if (measured.count > 0) {
        if (measured.count == all)
            buf_printf(out, "To rent, the %zu workloads cost ", all);
        else
            buf_printf(out, "To rent, %zu of the %zu workloads cost%s ", measured.count, all,
                       measured.count == 1 ? "s" : "");
        add_sum(&measured, out);
        buf_printf(out, ", each on its cheapest machine with a run%s",
                   measured.at_least ? ", or by its lowest bound if no bill is known" : "");
        if (cheaper > 0)
            buf_printf(out, "; by estimate, %zu would cost less elsewhere", cheaper);
        buf_adds(out, ".");
    } else {
        buf_printf(out, "No offer is known to be the same as the machines measured%s.",
                   estimated.count == 0 ? ", so there is no price" : "");
    }
    if (estimated.count == 0)
        return;
    buf_printf(out, " %zu %s only estimates: about ", estimated.count,
               estimated.count == 1 ? "has" : "have");
    add_sum(&estimated, out);
    buf_adds(out, ".");
}

void verdict_rent(const struct page *page, struct buf *out)
{
    size_t before = out->len;
    struct buf text = {0};
    if (page->quotes.count == 1)
        say_quote(&page->quotes.items[0], &text);
    else if (page->quotes.count > 1)
        say_sum(page, &text);
    buf_printf(out, "%s%s", before > 0 && text.len > 0 ? " " : "", buf_str(&text));
    buf_drop(out, &text);
}
