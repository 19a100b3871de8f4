// SPDX-License-Identifier: Apache-2.0
#include "advise/verdict_words.h"

#include <math.h>
#include <string.h>

#include "advise/compare.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"

const char verdict_heading[] = "Cheapest and fastest machines to rent";
const char verdict_from_cpu[] = "≥ a lower bound, so none is called cheapest: a CPU does not show "
                                "what a GPU waits for.";
const char verdict_no_run[] = "You have no run on any of these machines.";

void verdict_add_time(struct buf *out, double seconds)
{
    char words[48];
    clock_words(seconds < 9e9 ? (int64_t)(seconds * 1e9) : INT64_MAX, words, sizeof words);
    buf_adds(out, words);
}

void verdict_add_money(struct buf *out, int64_t nano)
{
    char text[MONEY_BYTES];
    money_short(nano, text);
    buf_printf(out, "%s USD", text);
}

const char *verdict_article(const char *machine)
{
    return strncmp(machine, "machine ", 8) == 0 ? "a " : "";
}

// ---- bills

void verdict_add_age(struct buf *out, const struct bill *bill, const char *before,
                     const char *after)
{
    if (bill->price_old.v)
        buf_printf(out, "%sat a price %s old%s", before,
                   units_count(bill->price_age_days.v, "day").s, after);
}

void verdict_add_offer(struct buf *out, const struct bill *bill)
{
    buf_adds(out, bill->short_name ? bill->short_name : bill->offer);
    if (bill->short_name && bill->kind && strcmp(bill->kind, "on-demand") != 0)
        buf_printf(out, ":%s", bill->kind);
}

// So that its time is not mistaken for that of the run asked for.
static void add_whose(struct buf *out, const struct quote *quote, const struct bill *bill)
{
    if (!quote || !quote->run || !bill->run || strcmp(quote->run, bill->run) == 0)
        return;
    buf_adds(out, bill->certainty ? ", from another run" : ", the time of another run");
    if (bill->batch.known)
        buf_printf(out, " (batch %lld%s%s)", (long long)bill->batch.v, bill->data ? ", " : "",
                   bill->data ? bill->data : "");
    else if (bill->data)
        buf_printf(out, " (%s)", bill->data);
}

static void add_commitment(struct buf *out, const struct bill *bill)
{
    buf_printf(out, ", committed for %s (%s %s in all, used or not)",
               units_count(bill->committed_months.v, "month").s,
               bill->committed.known ? money_brief(bill->committed).s : "?", bill->currency);
}

// ": in time even if it takes 30 % longer"; `what` may be null.
static void add_at_worst(struct buf *out, const struct bill *bill, const char *what)
{
    double times = bill->high_s.known ? bill->high_s.v / bill->time_s.v : 1;
    if (!what)
        return;
    if (!bill->certainty)
        buf_adds(out, !bill->high_s.known ? ""
                      : bill->spot.method ? " (in 90 % of the replays)"
                                          : " (even at the end of its interval)");
    else if (times < 2)
        buf_printf(out, ": %s even if it takes %.0f %% longer", what, floor(100 * (times - 1)));
    else
        buf_printf(out, ": %s even if it takes %.1f times as long", what, floor(10 * times) / 10);
}

// An interval of less than half a percent, such as that of the start-up alone, tells nothing.
static bool is_narrow(const struct bill *bill)
{
    return bill->low.known && bill->high.known && !bill_is_bound(bill) &&
           quote_dearest(bill) - bill->low.nano < bill_total(bill) / 200;
}

static void add_bill(struct buf *out, const struct quote *quote, const struct bill *bill,
                     const char *at_worst)
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    bill_amount(bill, amount, interval);
    if (bill->spot.never_ends.v) {
        verdict_add_offer(out, bill);
        buf_adds(out, ", which is taken away too often to ever finish");
        return;
    }
    verdict_add_offer(out, bill);
    buf_printf(out, ", %s USD", amount);
    if (*interval && !is_narrow(bill))
        buf_printf(out, " (%s)", interval);
    if (bill->before_credit.known) {
        char before[MONEY_BYTES];
        money_short(bill_before_credit(bill), before);
        buf_printf(out, " after credits, %s before,", before);
    }
    buf_adds(out, bill_is_bound(bill) ? " in at least " : " in ");
    verdict_add_time(out, bill->time_s.v);
    if (bill->spread && !(quote && quote->model.name)) // which the title has
        buf_printf(out, " %s", bill->spread);
    if (bill->certainty && (!bill->spread || bill->gpu_memory))
        buf_printf(out, ", %s", bill->gpu_memory ? "may not fit" : bill->certainty);
    if (bill->incomplete.v)
        buf_adds(out, ", without items that its tariff has no price for");
    if (bill->committed_months.known)
        add_commitment(out, bill);
    if (!quote || !quote->prices_of || !verdict_can_lead(bill)) // else it is said of all
        verdict_add_age(out, bill, ", ", "");
    add_at_worst(out, bill, at_worst);
    add_whose(out, quote, bill);
}

void verdict_add_bill(struct buf *out, const struct quote *quote, const char *before,
                      const struct bill *bill)
{
    buf_adds(out, before);
    add_bill(out, quote, bill, NULL);
}

const char *verdict_called(const struct bill *bill, enum verdict_measure measure)
{
    bool time = measure == VERDICT_TIME;
    if (!verdict_can_lead(bill))
        return "the lowest bound";
    if (bill->certainty)
        return time ? "fastest by estimate" : "cheapest by estimate";
    return time ? "fastest with a run" : "cheapest with a run";
}

// ---- lower bounds

static const struct bound_words { // of one bill, of all with what would tell, and of all
    const char *one, *all, *brief;
} bound_words[] = {
    {"a run on a CPU does not tell its time",
     "a run on a CPU does not tell the time on a GPU (running it there for a minute does)",
     "a CPU does not tell the time on a GPU"},
    {"its interruptions are unknown",
     "how often a spot machine is taken away is unknown (--mtbi or --trace counts that)",
     "how often a spot machine is taken away is unknown (--mtbi)"},
    {"replays of it were given up", "replays of a spot machine were given up",
     "replays of a spot machine were given up"},
    {"its tariff lacks a price", "a tariff lacks the price of something you asked for",
     "a tariff lacks the price of something you asked for"},
    {"its price is a floor", "a price is the floor of an auction",
     "a price is the floor of an auction"},
};
enum { BOUNDS = sizeof bound_words / sizeof *bound_words };

static const struct bound_words *why_bound(const struct bill *b)
{
    return &bound_words[bill_time_is_bound(b)   ? 0
                        : b->spot.lower_bound.v ? 1 + (b->spot.method != NULL)
                        : b->incomplete.v       ? 3
                                                : 4];
}

void verdict_add_bound(struct buf *out, const struct quote *quote, const char *before,
                       const struct bill *bill)
{
    verdict_add_bill(out, quote, before, bill);
    buf_printf(out, " (%s)", why_bound(bill)->one);
}

// How many have a price that can be, and the first of them.
static size_t count_possible(const struct quote *quote, bool estimates, const struct bill **first)
{
    size_t count = 0, to = estimates ? quote_count(quote) : quote->bills.count;
    for (size_t i = 0; i < to; i++)
        if (!bill_price_doubtful(quote_at(quote, i)) && count++ == 0)
            *first = quote_at(quote, i);
    return count;
}

// Why bills are lower bounds: each reason once.
static void add_reasons(const struct quote *quote, const struct verdict_quote *q, bool brief,
                        struct buf *out)
{
    bool seen[BOUNDS] = {false};
    size_t found = 0;
    for (size_t i = 0; i < (q->leader ? quote->bills.count : quote_count(quote)); i++) {
        const struct bill *b = quote_at(quote, i);
        seen[why_bound(b) - bound_words] |= bill_is_bound(b) && !bill_price_doubtful(b);
    }
    for (size_t i = 0; i < BOUNDS; i++)
        if (seen[i])
            buf_printf(out, "%s%s", found++ > 0 ? "; " : "",
                       brief ? bound_words[i].brief : bound_words[i].all);
}

// Why no bill can lead, and what would tell; of those with a run, or of all if no estimate can
// either.
static void say_nobody(const struct quote *quote, const struct verdict_quote *q, struct buf *out)
{
    const struct bill *only = NULL,
                      *least = q->leader ? q->with_run[VERDICT_COST].bound.bill : q->lowest;
    size_t count = count_possible(quote, !q->leader, &only);
    if (count == 0) {
        if (!q->leader)
            buf_printf(out, "No offer is recommended, as each price is doubtful; the first: %s.",
                       quote_at(quote, 0)->price_doubt);
        return;
    }
    if (quote->bills.count == 0)
        buf_printf(out, "%s ", verdict_no_run);
    if (!least && !only->spot.never_ends.v) {
        buf_printf(out, "No offer is called cheapest: for each, %s.",
                   only->standing_why ? only->standing_why : "something is unknown");
        return;
    }
    if (!least) {
        buf_printf(out,
                   count == 1 ? "%s never finishes: it is taken away too often."
                              : "No spot machine ever finishes: each is taken away too often.",
                   only->offer);
        return;
    }
    buf_adds(out, count == 1  ? "Only a lower bound (≥) of this bill is known: "
                  : q->leader ? "No machine with a run is called cheapest, as each bill is a "
                                "lower bound (≥): "
                              : "No offer is called cheapest, fastest or in time, as each bill is "
                                "a lower bound (≥): ");
    add_reasons(quote, q, false, out);
    buf_adds(out, ".");
    if (bill_time_is_bound(least))
        return;
    const struct bill *lower = q->estimated[VERDICT_COST].bound.bill; // stands behind it
    bool with_run = !least->certainty && lower && bill_total(lower) < bill_total(least);
    verdict_add_bill(out, quote,
                     count == 1 ? " It is "
                     : with_run ? " The lowest with a run is "
                                : " The lowest is ",
                     least);
    buf_adds(out, ".");
}

// ---- quotes

// How many estimates have a bill differs from place to place, so they are not counted.
static void add_bill_ties(const struct verdict *v, bool counted, struct buf *out)
{
    if (v->equals > 0)
        buf_printf(out, " %s the same.",
                   v->equals == 1 ? "One other costs" : short_text("%zu others cost", v->equals).s);
    if (v->nears > 0)
        buf_printf(out, " %s may cost as little",
                   counted ? units_count((int64_t)v->nears, "other").s : "Others");
    if (v->bounds > 0)
        buf_printf(out, "%s%s (≥) may be cheaper", v->nears > 0 ? "; " : " ",
                   counted        ? units_count((int64_t)v->bounds, "lower bound").s
                   : v->nears > 0 ? "lower bounds"
                                  : "Lower bounds");
    buf_adds(out, v->nears + v->bounds > 0 ? "." : "");
    if (v->doubtful > 0)
        buf_printf(out, " %s not count: %s rule is assumed, or more is owed.",
                   v->doubtful == 1 ? "One lower bill does" : "Some lower bills do",
                   v->doubtful == 1 ? "its" : "the");
}

// One that goes behind the leader because its interval reaches up to it.
static void add_lower_estimate(const struct quote *quote, const struct verdict_quote *q,
                               struct buf *out)
{
    const struct bill *lower = q->estimated[VERDICT_COST].winner.bill;
    if (q->guess || !lower || bill_total(lower) >= bill_total(q->leader))
        return;
    verdict_add_bill(out, quote, " An estimate is lower, but less sure: ", lower);
    buf_adds(out, ".");
}

// How old the prices are of which the answer is made, if none is current.
static void add_generation(const struct quote *quote, struct buf *out)
{
    if (quote->prices_of)
        buf_printf(out, " At prices of %.10s%s.", quote->prices_of,
                   quote->date ? "" : "; 'fare prices update' fetches newer ones");
}

void verdict_say_bills(const struct quote *quote, struct buf *out)
{
    const struct verdict_quote q = verdict_of_quote(quote);
    const struct verdict *cost =
        &(q.guess ? q.estimated : q.with_run)[VERDICT_COST]; // of the leader
    if (!q.leader) {
        if (quote_count(quote) > 0)
            say_nobody(quote, &q, out);
        return;
    }
    const bool both = q.soonest == q.cheapest && q.cheapest && q.cheapest != q.leader;
    buf_printf(out, "Cheapest%s%s: ", q.guess ? " by estimate" : "",
               q.leader->waiting.known ? ", with your waiting" : "");
    add_bill(out, quote, q.leader, NULL);
    if (q.guess && q.cheapest)
        verdict_add_bill(
            out, quote,
            both ? ". Fastest, and cheapest with a run: " : ". Cheapest with a run: ", q.cheapest);
    if (q.soonest != q.leader && q.soonest != q.cheapest &&
        q.soonest->time_s.v < q.leader->time_s.v)
        verdict_add_bill(
            out, quote,
            q.soonest->certainty ? ". Fastest by estimate: " : ". Fastest: ", q.soonest);
    buf_adds(out, ".");
    add_lower_estimate(quote, &q, out);
    if (!quote->model.name) // one error is all machines' then
        add_bill_ties(cost, !q.guess, out);
    add_generation(quote, out);
}

// "runpod/h200, 0.135 USD in 1 min 46 s"; what stands in no table is said in full.
static void add_brief(struct buf *out, const struct quote *quote, const char *before,
                      const struct bill *bill, bool time)
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    buf_adds(out, before);
    if (bill->spot.never_ends.v || bill->before_credit.known || bill->incomplete.v ||
        bill->committed_months.known || bill_is_bound(bill)) {
        add_bill(out, quote, bill, NULL);
        return;
    }
    bill_amount(bill, amount, interval);
    verdict_add_offer(out, bill);
    buf_printf(out, ", %s USD", amount);
    if (time) {
        buf_adds(out, " in ");
        verdict_add_time(out, bill->time_s.v);
        buf_printf(out, "%s%s", bill->spread ? " " : "", bill->spread ? bill->spread : "");
    }
    add_whose(out, quote, bill);
}

void verdict_say_brief(const struct quote *quote, struct buf *out)
{
    const struct verdict_quote q = verdict_of_quote(quote);
    const struct verdict *cost = &(q.guess ? q.estimated : q.with_run)[VERDICT_COST];
    const struct bill *lower = q.estimated[VERDICT_COST].winner.bill, *only;
    if (!q.leader && q.lowest && count_possible(quote, true, &only) > 1) {
        buf_adds(out, "Lower bounds (≥), none called cheapest; ");
        add_reasons(quote, &q, true, out);
        buf_adds(out, ".");
        return;
    }
    if (!q.leader || q.leader->waiting.known) {
        verdict_say_bills(quote, out);
        return;
    }
    const bool one = q.soonest == q.leader || q.soonest->time_s.v >= q.leader->time_s.v;
    const bool both = q.soonest == q.cheapest && q.cheapest != q.leader;
    buf_adds(out, q.guess ? "Cheapest by estimate: " : "Cheapest: ");
    add_brief(out, quote, "", q.leader, true);
    if (q.guess && q.cheapest)
        add_brief(out, quote,
                  both ? ". Fastest, and cheapest with a run: " : ". Cheapest with a run: ",
                  q.cheapest, false);
    if (!one && q.soonest != q.cheapest)
        add_brief(out, quote,
                  q.soonest->certainty ? ". Fastest by estimate: " : ". Fastest: ", q.soonest,
                  true);
    if (!q.guess && lower && bill_total(lower) < bill_total(q.leader))
        add_brief(out, quote, ". Lower, but less sure: ", lower, false);
    buf_adds(out, cost->nears + cost->bounds + cost->doubtful > 0 ? ". Others may be cheaper."
                  : cost->equals > 0                              ? ". Others cost the same."
                                                                  : ".");
}

void verdict_title_quote(const struct quote *quote, struct buf *out)
{
    const struct verdict_quote q = verdict_of_quote(quote);
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    if (!q.lowest) {
        buf_adds(out, ": no known offer fits");
        return;
    }
    bill_amount(q.lowest, amount, interval);
    buf_printf(out, " costs %s USD%s%s", amount,
               !q.leader                             ? ""
               : q.with_run[VERDICT_COST].bound.bill ? ", perhaps less"
                                                     : " or more",
               q.lowest->certainty ? ", by estimate" : "");
}

// ---- several workloads

struct sum { // of the machine that leads for each workload
    double seconds;
    int64_t nano_usd;
    size_t count;
    bool at_least; // a bill among them is a lower bound
};

// A lower bound where no bill is known. False: the sum is beyond all money.
static bool add_to(struct sum *sum, const struct verdict *v)
{
    const struct bill *bill = v->winner.bill ? v->winner.bill : v->bound.bill;
    sum->count++;
    sum->seconds += bill->time_s.v;
    sum->at_least |= bill_is_bound(bill);
    return money_add(sum->nano_usd, bill_total(bill), &sum->nano_usd, NULL) == 0;
}

static void add_sum(const struct sum *sum, struct buf *out)
{
    buf_adds(out, sum->at_least ? "at least " : "");
    verdict_add_money(out, sum->nano_usd);
    buf_printf(out, " in all, in %s", sum->at_least ? "at least " : "");
    verdict_add_time(out, sum->seconds);
    buf_adds(out, " with start-up");
}

void verdict_say_sum(const struct quote *quotes, size_t all, struct buf *out)
{
    struct sum measured = {0}, estimated = {0};
    size_t cheaper = 0;
    for (size_t i = 0; i < all; i++) {
        const struct verdict_quote q = verdict_of_quote(&quotes[i]);
        const struct verdict *run = &q.with_run[VERDICT_COST], *guess = &q.estimated[VERDICT_COST];
        bool fits = true;
        if (run->winner.bill || run->bound.bill)
            fits = add_to(&measured, run);
        else if (guess->winner.bill || guess->bound.bill)
            fits = add_to(&estimated, guess);
        cheaper += quotes[i].bills.count > 0 && q.guess;
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
    buf_printf(out, " %zu %s only estimates: %s", estimated.count,
               estimated.count == 1 ? "has" : "have", estimated.at_least ? "" : "about ");
    add_sum(&estimated, out);
    buf_adds(out, ".");
}

// ---- deadline and budget

static bool goes_before(const struct verdict_one *a, const struct bill *b)
{
    return a->bill && (!b || a->bill->place.v < b->place.v);
}

// A spot machine alone may be late; its fall-back to on demand never is, nor perhaps on demand
// alone.
static void add_other_ways(struct buf *out, const struct bill *bill, double deadline_s)
{
    for (size_t i = bill->spot.rows.count; i-- > 0;) {
        const struct spot_row *row = &bill->spot.rows.items[i];
        bool demand = strcmp(row->way, SPOT_ON_DEMAND) == 0;
        if (strcmp(row->way, SPOT_POLICY) == 0 || !row->mean.known ||
            !(row->deadline_kept.v || (demand && row->high_s.known && row->high_s.v <= deadline_s)))
            continue;
        buf_printf(out, "; %s ", row->what);
        if (demand) {
            buf_adds(out, "does, in ");
            verdict_add_time(out, row->mean_s.v);
            buf_adds(out, ", for ");
            verdict_add_money(out, row->mean.nano);
        } else {
            buf_adds(out, "is always in time, for ");
            verdict_add_money(out, row->mean.nano);
            buf_adds(out, " on average");
        }
    }
}

// None is sure to be in time.
static void say_late(const struct quote *quote, const struct verdict_limit *k, double deadline_s,
                     struct buf *out)
{
    const struct bill *fast = k->fastest.bill, *only = NULL;
    bool one = count_possible(quote, true, &only) == 1;
    if (one)
        buf_printf(out, " this offer %s", k->any ? "is not sure to finish" : "does not finish");
    else
        buf_printf(out, " none of them %s", k->any ? "is sure to finish" : "finishes");
    if (k->perhaps.bill && k->perhaps.bill != fast)
        verdict_add_bill(out, quote, "; the cheapest that may is ", k->perhaps.bill);
    if (fast && !(k->perhaps.bill && verdict_in_time(fast, deadline_s) == VERDICT_MISSES))
        verdict_add_bill(out, quote, one ? ": " : "; the fastest is ", fast);
    if (goes_before(&k->bound, k->perhaps.bill))
        verdict_add_bound(out, quote, one ? ": " : "; may be in time: ", k->bound.bill);
    if (fast || one)
        add_other_ways(out, fast ? fast : only, deadline_s);
}

static void say_within(double deadline_s, const char *what, struct buf *out)
{
    buf_adds(out, "Within ");
    verdict_add_time(out, deadline_s);
    buf_adds(out, what);
}

static const char cheapest_is[] = " the cheapest is ";

void verdict_say_deadline(const struct quote *quote, double deadline_s, struct buf *out)
{
    const struct verdict_limit k = verdict_of_deadline(quote, deadline_s);
    if (quote_count(quote) == 0)
        return;
    say_within(deadline_s, k.sure.bill ? cheapest_is : "", out);
    if (k.sure.bill) {
        add_bill(out, quote, k.sure.bill, "in time");
        if (goes_before(&k.perhaps, k.sure.bill))
            verdict_add_bill(out, quote, "; cheaper, but not sure to be in time: ", k.perhaps.bill);
        else if (goes_before(&k.bound, k.sure.bill))
            verdict_add_bound(out, quote,
                              "; may be cheaper, but is not sure to be in time: ", k.bound.bill);
    } else if (k.possible == 0) {
        buf_adds(out, " nothing can be said: no offer has a price and a time to go by");
    } else {
        say_late(quote, &k, deadline_s, out);
    }
    buf_adds(out, ".");
}

// Why a bill of less than the budget may be more.
static const char *why_more(const struct bill *bill, int64_t budget)
{
    if (bill_total(bill) > budget)
        return "";
    if (bill->high.known && bill->high.nano > budget)
        return " at the end of its interval";
    if (bill->owed.known && bill->owed.nano > budget)
        return " with all that it owes";
    return quote_dearest(bill) > budget ? " if started hours are charged" : "";
}

void verdict_say_budget(const struct quote *quote, int64_t nano_usd, struct buf *out)
{
    const struct verdict_limit k = verdict_of_budget(quote, nano_usd);
    const struct verdict_quote q = verdict_of_quote(quote);
    const struct bill *only = NULL, *low;
    size_t count = count_possible(quote, true, &only);
    buf_adds(out, "For ");
    verdict_add_money(out, nano_usd);
    if (k.sure.bill) {
        buf_adds(out, " the fastest is ");
        add_bill(out, NULL, k.sure.bill, "within the budget");
        if (k.perhaps.bill)
            verdict_add_bill(out, quote, "; perhaps faster, but not sure to be within the budget: ",
                             k.perhaps.bill);
        buf_adds(out, ".");
        return;
    }
    low = q.lowest ? q.lowest : only;
    buf_printf(out, " no offer is %saffordable%s", k.any ? "certainly " : "",
               q.leader ? why_more(q.leader, nano_usd) : "");
    if (q.leader)
        verdict_add_bill(out, quote, "; the cheapest is ", q.leader);
    else if (low && !k.bound.bill && !bill_time_is_bound(low))
        verdict_add_bill(out, quote,
                         count == 1 || low->spot.never_ends.v ? ": " : "; the lowest bound is ",
                         low);
    if (goes_before(&k.bound, q.leader))
        verdict_add_bound(out, quote, "; may be within the budget: ", k.bound.bill);
    buf_adds(out, ".");
}

// ---- rows of a comparison

static const struct measure_words {
    const char *most, *noun, *equal, *equals;
} measure_words[VERDICT_MEASURES] = {
    [VERDICT_COST] = {"Cheapest", "cost", "costs the same", "cost the same"},
    [VERDICT_TIME] = {"Fastest", "time", "is as fast", "are as fast"},
};

void verdict_add_row(struct buf *out, const struct compare_row *row)
{
    struct compare_row plain = *row;
    plain.detail = row->plain;
    compare_label(&plain, out);
}

static bool same_name(const struct compare_row *a, const struct compare_row *b, struct buf *out)
{
    struct buf first = {0}, second = {0};
    verdict_add_row(&first, a);
    verdict_add_row(&second, b);
    bool same = strcmp(buf_str(&first), buf_str(&second)) == 0;
    buf_drop(out, &first);
    buf_drop(out, &second);
    return same;
}

static const struct compare_row *base_of(const struct verdict *v)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->rows[i].base.v)
            return &v->rows[i];
    return NULL;
}

static void add_winner(const struct verdict *v, struct buf *out)
{
    size_t alike = 0;
    for (size_t i = 0; i < v->count; i++)
        alike += verdict_can_win(&v->rows[i]) && same_name(v->winner.row, &v->rows[i], out);
    verdict_add_row(out, v->winner.row);
    if (alike > 1)
        buf_printf(out, " (one of %zu of that name)", alike);
}

static void add_time_value(const struct compare_row *row, struct buf *out)
{
    if (!row->time_s.value.known)
        return;
    buf_adds(out, row->kind && strcmp(row->kind, "projected") == 0 ? ", about " : ", ");
    verdict_add_time(out, row->time_s.value.v);
    if (row->tokens_per_s.known)
        buf_printf(out, ", %.0f tokens/s", row->tokens_per_s.v);
    if (row->mfu.known)
        buf_printf(out, ", MFU %.1f %%", row->mfu.v * 100);
}

static void add_cost_value(const struct compare_row *row, struct buf *out)
{
    const char *mark = row->cost.lower_bound.v ? "≥" : "";
    char text[MONEY_BYTES];
    if (!row->cost.nano_usd.known)
        return;
    money_short(row->cost.nano_usd.v, text);
    buf_printf(out, ", %s$%s a training", mark, text);
    if (row->usd_per_mtoken.known)
        buf_printf(out, ", %s$%s per million tokens", mark, money_brief(row->usd_per_mtoken).s);
    if (row->joules_per_mtoken.known)
        buf_printf(out, ", %.4g J per million tokens", row->joules_per_mtoken.v);
}

static const struct compare_against *against_of(const struct compare_row *row,
                                                enum verdict_measure measure)
{
    return measure == VERDICT_COST ? &row->money : &row->time;
}

static void add_confidence(const struct compare_row *row, enum verdict_measure measure,
                           struct buf *out)
{
    const char *words = against_of(row, measure)->verdict;
    if (words)
        buf_printf(out, "; %s", words);
}

// ", 0.7308 of the cost of p2.xlarge"; of the base, how far the next is.
static void add_ratio(const struct verdict *v, struct buf *out)
{
    const struct compare_row *base = base_of(v);
    if (base != v->winner.row && base && v->winner.ratio.known) {
        buf_printf(out, ", %.4f of the %s of ", v->winner.ratio.v, measure_words[v->measure].noun);
        if (same_name(base, v->winner.row, out)) // only a hash tells them apart
            buf_adds(out, "the base");
        else
            verdict_add_row(out, base);
        add_confidence(v->winner.row, v->measure, out);
    } else if (base == v->winner.row && v->next.row && v->next.ratio.known) {
        buf_adds(out, "; next is ");
        verdict_add_row(out, v->next.row);
        buf_printf(out, " at %.4f of that", v->next.ratio.v);
        add_confidence(v->next.row, v->measure, out);
    }
}

// Those that equal the winner, and those that it cannot be told from.
static void add_row_ties(const struct verdict *v, struct buf *out)
{
    const struct measure_words *words = &measure_words[v->measure];
    if (v->equals == 1) {
        buf_addc(out, ' ');
        verdict_add_row(out, v->equal.row);
        buf_printf(out, " %s.", words->equal);
    } else if (v->equals > 1) {
        buf_printf(out, " %zu others %s.", v->equals, words->equals);
    }
    if (v->nears == 0)
        return;
    buf_printf(out, " The %s cannot be told from that of ", words->noun);
    if (v->nears == 1)
        verdict_add_row(out, v->near.row);
    else
        buf_printf(out, "%zu others", v->nears);
    buf_adds(out, ": the 95 % intervals overlap.");
}

void verdict_say_rows(const struct verdict *v, const char *scope, struct buf *out)
{
    const char *most = measure_words[v->measure].most;
    if (!v->winner.row && v->bound.row)
        buf_adds(out, "No row is called cheapest: costs at spot prices are lower bounds (≥), since "
                      "how often a machine is taken away is unknown. 'fare quote --mtbi' counts "
                      "that.");
    if (!v->winner.row)
        return;
    if (*scope)
        buf_printf(out, "%s%c%s: ", scope, *most - 'A' + 'a', most + 1);
    else
        buf_printf(out, "%s: ", most);
    add_winner(v, out);
    buf_adds(out, v->winner.row->base.v ? ", the base" : "");
    (v->measure == VERDICT_COST ? add_cost_value : add_time_value)(v->winner.row, out);
    add_ratio(v, out);
    if (v->bound.row) {
        buf_adds(out, "; may be cheaper: ");
        verdict_add_row(out, v->bound.row);
        add_cost_value(v->bound.row, out);
        buf_adds(out, " (its interruptions are unknown)");
    }
    buf_adds(out, ".");
    add_row_ties(v, out);
}

void verdict_say_unsure(const struct verdict *v, struct buf *out)
{
    if (v->of < 2 && v->of + v->unsures > 1)
        buf_printf(out, "No verdict: all rows%s are noisy or stopped.",
                   v->of > 0 ? " but one" : "");
    else if (v->of > 1 && v->unsures > 0)
        buf_printf(out, "%s%zu more %s noisy or stopped.", out->len > 0 ? " " : "", v->unsures,
                   v->unsures == 1 ? "is" : "are");
}

// ---- over all workloads

static void add_names(const struct compare_row *row, struct buf *out)
{
    verdict_add_row(out,
                    &(struct compare_row){.machine = row->machine, .framework = row->framework});
}

void verdict_say_most(const struct verdict_most *most, struct buf *out)
{
    if (!most->row)
        return;
    buf_printf(out, "%s%s: ", measure_words[most->measure].most,
               most->wins == most->of ? ""
               : most->equals > 0     ? " as often as any"
                                      : " most often");
    add_names(most->row, out);
    buf_printf(out, ", in %zu of %zu workloads", most->wins, most->of);
    if (most->equals > 0)
        buf_printf(out, " like %zu other%s", most->equals, most->equals == 1 ? "" : "s");
    if (most->low.known && most->low.v < most->high.v) {
        buf_printf(out, ", at %.4f to %.4f of the %s of ", most->low.v, most->high.v,
                   measure_words[most->measure].noun);
        if (most->base)
            add_names(most->base, out);
        else
            buf_adds(out, "the base of each");
    }
    buf_adds(out, most->bounds ? "; lower bounds (≥) may be cheaper." : ".");
}

void verdict_title_most(const struct verdict_most *most, struct buf *out)
{
    if (!most->row)
        return;
    add_names(most->row, out);
    buf_printf(out, " is the fastest in %zu of %zu workloads", most->wins, most->of);
}

// ---- a deadline

// "k80 + tensorflow, 1.64 USD in 2 h 10 min"
static void add_row_words(struct buf *out, const struct compare_row *row)
{
    verdict_add_row(out, row);
    buf_adds(out, ", ");
    if (row->cost.nano_usd.known)
        verdict_add_money(out, row->cost.nano_usd.v);
    buf_adds(out, row->cost.nano_usd.known ? " in " : "in ");
    verdict_add_time(out, row->time_s.value.v);
}

void verdict_say_rows_in_time(const struct verdict_limit *k, double deadline_s, struct buf *out)
{
    const struct compare_row *named = k->sure.row      ? k->sure.row
                                      : k->fastest.row ? k->fastest.row
                                                       : k->unsure.row;
    const char *what;
    if (k->sure.row)
        what = named->cost.nano_usd.known ? cheapest_is : " no price is known; the fastest is ";
    else if (k->fastest.row)
        what = k->any ? " none of them is sure to finish; the fastest is "
                      : " none of them finishes; the fastest is ";
    else if (k->unsure.row)
        what = " nothing is sure to finish: all runs are noisy or stopped; the fastest is ";
    else
        what = k->bounds ? " nothing is known to finish: how often the spot machines are taken "
                           "away is unknown"
                         : " nothing is known to finish: no run's time is known";
    say_within(deadline_s, what, out);
    if (named)
        add_row_words(out, named);
    buf_adds(out, ".");
}

// ---- titles

// "0.5 of the time", "2 times the time"; nothing if it is not known, or could be chance.
static void add_title_ratio(const struct compare_row *row, enum verdict_measure measure,
                            struct buf *out)
{
    const struct compare_against *against = against_of(row, measure);
    bool chance = against->low.known && against->low.v <= 1 && against->high.v >= 1;
    if (against->ratio.known && !chance && !(measure == VERDICT_COST && row->cost.lower_bound.v))
        buf_printf(out, "%s %s the %s", units_number(against->ratio.v).s,
                   against->ratio.v < 1 ? "of" : "times", measure_words[measure].noun);
}

// "box-2 takes 2 times the time and 0.5 of the cost of box-1"
static void title_of_two(const struct compare_row *base, const struct compare_row *other,
                         struct buf *out)
{
    struct buf time = {0}, cost = {0};
    add_title_ratio(other, VERDICT_TIME, &time);
    add_title_ratio(other, VERDICT_COST, &cost);
    bool known = time.len + cost.len > 0;
    verdict_add_row(out, other);
    if (known)
        buf_printf(out, " takes %s%s%s of ", buf_str(&time),
                   time.len > 0 && cost.len > 0 ? " and " : "", buf_str(&cost));
    else
        buf_adds(out, " and ");
    verdict_add_row(out, base);
    buf_adds(out, known ? "" : " cannot be told apart");
    buf_drop(out, &time);
    buf_drop(out, &cost);
}

// "box-1 is the fastest of 6, box-2 the cheapest"; what is tied is not said.
static void title_of_many(const struct verdict *cost, const struct verdict *time, struct buf *out)
{
    bool fast = time->winner.row && time->equals + time->nears == 0;
    bool cheap = cost->winner.row && cost->equals + cost->nears == 0;
    bool both = fast && cheap && cost->winner.row == time->winner.row;
    if (!fast && !cheap)
        buf_printf(out, "none of %zu is ahead: the intervals overlap", cost->of);
    if (fast) {
        verdict_add_row(out, time->winner.row);
        buf_printf(out, " is the fastest%s of %zu", both ? " and the cheapest" : "", time->of);
    }
    if (cheap && !both) {
        buf_adds(out, fast ? ", " : "");
        verdict_add_row(out, cost->winner.row);
        buf_adds(out, fast ? " the cheapest" : " is the cheapest of ");
        if (!fast)
            buf_printf(out, "%zu", cost->of);
    }
}

void verdict_title_rows(const struct verdict verdicts[VERDICT_MEASURES], struct buf *out)
{
    const struct verdict *time = &verdicts[VERDICT_TIME];
    const struct compare_row *base = base_of(time), *other = NULL;
    for (size_t i = 0; i < time->count; i++)
        if (&time->rows[i] != base && verdict_can_win(&time->rows[i]))
            other = &time->rows[i];
    bool two = time->of == 2 && base && verdict_can_win(base);
    if (two)
        title_of_two(base, other, out);
    else
        title_of_many(&verdicts[VERDICT_COST], time, out);
}
