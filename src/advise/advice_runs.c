// SPDX-License-Identifier: Apache-2.0
// More than one run: one after the other on a fast machine or in parallel on cheap ones, and use by
// the month. Estimates count too, with the ends of their intervals.
#include <math.h>
#include <string.h>

#include "advise/advice_parts.h"
#include "advise/verdict.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"

#define HOUR_NS   (INT64_C(3600) * NS_PER_S)
#define MONTH_NS  (INT64_C(30) * 86400 * NS_PER_S)
#define SAME_TIME 1.000001 // a time and the same one after conversions

bool advice_is_own(const struct bill *bill)
{
    return bill->provider && strcmp(bill->provider, "own") == 0;
}

// A month in which a bought machine works for `seconds`: a share of the purchase, and power.
static int own_month(const struct own_machine *own, double seconds, int64_t *total, struct err *err)
{
    struct own_machine machine = *own;
    struct own_hour hour;
    machine.use_s_a_month = (int64_t)fmin(fmax(seconds, 1), (double)MONTH_NS / 1e9);
    int rc = own_hour(&machine, &hour, err);
    return rc == 0
               ? money_scale(hour.total, machine.use_s_a_month, 3600, MONEY_HALF_EVEN, total, err)
               : rc;
}

// `runs` one after the other: the machine starts once.
static double seconds_for(const struct bill *bill, double runs)
{
    double training = bill_training_s(bill);
    return bill->time_s.v - training + runs * training;
}

// The start-up of the run of `bill` in its parts, of which a boot may be free, then `runs` runs.
// An estimate's take `share` of its time.
static int time_for(const struct quote_ask *ask, const struct bill *bill, const struct offer *offer,
                    double runs, double share, struct bill_time *time, struct err *err)
{
    const struct run *run = NULL;
    bool known = false;
    for (size_t i = 0; i < ask->evidence_count && !run; i++) {
        const char *id = ask->evidence[i].run->id;
        run = id && bill->run && strcmp(id, bill->run) == 0 ? ask->evidence[i].run : NULL;
    }
    if (run && !advice_is_own(bill))
        TRY(quote_time(ask, run, offer, time, &known, err));
    if (!known)
        *time = (struct bill_time){.total_ns = (int64_t)(bill->time_s.v * 1e9)};
    double one_ns = (double)(time->total_ns - time->startup_ns);
    if (bill->certainty)
        one_ns = bill_training_s(bill) * 1e9 * share;
    time->count = 0;
    for (int64_t at = 0; at < time->startup_ns; time->count++)
        at += time->parts[time->count].ns;
    double ns = fmin(runs * one_ns, 9e18);
    time->parts[time->count++] = (struct bill_part){"run", (int64_t)ns, NULL};
    time->total_ns = time->startup_ns + (int64_t)ns;
    time->low_ns = time->high_ns = -1;
    time->basis = "derived";
    return 0;
}

struct cost { // of several runs; `low` and `high`: at the ends of an estimate, else the total
    int64_t total, low, high;
    int64_t worst;   // by started hours, where the rule is assumed
    int64_t metered; // without what a commitment owes besides
    bool at_least;   // of a lower bound
};

// What a commitment owes, used or not: in all, or in a month.
static int count_owed(const struct bill *bill, bool month, struct cost *cost, struct err *err)
{
    int64_t owed = bill->owed.nano;
    if (!bill->owed.known)
        return 0;
    if (month && bill->committed_months.v > 0)
        TRY(money_scale(owed, 1, bill->committed_months.v, MONEY_HALF_EVEN, &owed, err));
    int64_t *const all[] = {&cost->total, &cost->low, &cost->high, &cost->worst};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = *all[i] > owed ? *all[i] : owed;
    return 0;
}

// Interruptions and prices of a spot machine count in proportion; an estimate's time has them
// already.
static int64_t with_interruptions(const struct bill *bill, int64_t total)
{
    const int64_t before = bill->spot.uninterrupted.nano;
    if (!bill->spot.replays.known || bill->spot.never_ends.v || bill->certainty || before <= 0)
        return total;
    return (int64_t)fmin((double)total * (double)bill_before_credit(bill) / (double)before, 9e18);
}

// The bill for `runs` runs as one use of the offer of `bill`. `traffic` of them pay for egress and
// ingress: each run does, on whatever machine.
static int bill_for(const struct quote_ask *ask, const struct bill *bill, double runs,
                    int64_t traffic, double share, bool month, struct cost *cost, struct err *err)
{
    struct offer offer;
    struct bill again = {0};
    struct bill_time time = {0};
    struct wishes wishes = ask->wishes;
    wishes.without_credit = true;
    wishes.runs = traffic;
    if (traffic == 0)
        wishes.egress_bytes = wishes.ingress_bytes = 0;
    int rc = quote_offer(ask, bill, &offer, err);
    if (rc == 0)
        rc = time_for(ask, bill, &offer, runs, share, &time, err);
    if (rc == 0)
        rc = bill_make(ask->market, &wishes, &offer, bill->offer, &time, 0, &again, err);
    if (rc == 0) {
        cost->total = cost->low = cost->high = cost->metered =
            with_interruptions(bill, bill_total(&again));
        again.owed = (struct maybe_money){0}; // counted below
        cost->worst = with_interruptions(bill, quote_dearest(&again));
        cost->at_least = bill_is_bound(bill);
        rc = count_owed(bill, month, cost, err);
    }
    record_release(bill_fields, &again);
    return rc;
}

// The same in a month; a bought machine's is a share of the purchase, and power.
static int month_for(const struct quote_ask *ask, const struct bill *bill, double runs,
                     double share, struct cost *cost, struct err *err)
{
    if (!ask->own || !advice_is_own(bill))
        return bill_for(ask, bill, runs, (int64_t)ceil(runs), share, true, cost, err);
    TRY(own_month(ask->own, runs * bill_training_s(bill) * share, &cost->total, err));
    cost->low = cost->high = cost->worst = cost->metered = cost->total;
    cost->at_least = false;
    return 0;
}

struct bills {
    const struct bill *items;
    size_t count;
};

struct best { // of some bills, for a number of runs
    const struct bill *bill;
    struct cost cost;
};

// One with something unpriced is named only where all have.
static bool beats(const struct best *a, const struct best *b)
{
    bool half = bill_doubtful(a->bill), other = b->bill && bill_doubtful(b->bill);
    return !b->bill || (half == other ? a->cost.worst < b->cost.worst : other);
}

// Both ends of an estimate.
static int find_ends(const struct quote_ask *ask, double runs, struct best *best, struct err *err)
{
    double low, high;
    struct cost end;
    if (!best->bill || !best->bill->certainty)
        return 0;
    advice_spread(best->bill, &low, &high);
    TRY(month_for(ask, best->bill, runs, low, &end, err));
    best->cost.low = end.total;
    TRY(month_for(ask, best->bill, runs, high, &end, err));
    best->cost.high = end.total;
    return 0;
}

static bool may_name(const struct bill *bill, bool bounds)
{
    return bounds ? bill_is_bound(bill) && standing_of(bill) == STANDING_TRIAL
                  : verdict_can_lead(bill);
}

// The cheapest of them for `runs` runs in a month, one after the other, that a month is enough for,
// at the end of an estimate too. Start-up comes once, and before the month: a machine that works
// round the clock is as fast as itself. `bounds`: of lower bounds but those whose time is one, else
// of those that may lead.
static int cheapest_for(const struct quote_ask *ask, const struct bills *bills, double runs,
                        bool bounds, struct best *best, struct err *err)
{
    double low, high;
    *best = (struct best){0};
    for (size_t i = 0; i < bills->count; i++) {
        struct best one = {.bill = &bills->items[i]};
        advice_spread(one.bill, &low, &high);
        if (!may_name(one.bill, bounds) || bill_time_is_bound(one.bill) ||
            runs * bill_training_s(one.bill) * high > (double)MONTH_NS / 1e9 * SAME_TIME)
            continue;
        int rc = month_for(ask, one.bill, runs, 1, &one.cost, err);
        if (rc == ERR_MEMORY)
            return rc;
        if (rc == 0 && beats(&one, best))
            *best = one;
    }
    return find_ends(ask, runs, best, err);
}

// The time of the run asked for, on the machine it was measured on.
static double base_seconds(const struct quote_ask *ask)
{
    struct bill_time time;
    return quote_base(ask, &time) ? (double)time.total_ns / 1e9 : 0;
}

static void add_cost(struct buf *text, const struct cost *cost)
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    money_interval(cost->total, cost->low, cost->high, amount, interval);
    buf_adds(text, cost->at_least ? "≥" : "");
    if (cost->low == cost->high || cost->at_least)
        verdict_add_money(text, cost->at_least ? cost->low : cost->total);
    else
        buf_printf(text, "%s USD (%s)", amount, interval);
}

// ": aws/g5.xlarge, 12.34 USD a month"
static void add_month(struct buf *text, const char *before, const struct best *best)
{
    const struct bill *bill = best->bill;
    buf_adds(text, before);
    verdict_add_offer(text, bill);
    buf_adds(text, ", ");
    add_cost(text, &best->cost);
    buf_printf(text, " a month%s%s%s",
               bill->incomplete.v ? ", without items that its tariff has no price for" : "",
               bill->certainty ? ", " : "", bill->certainty ? bill->certainty : "");
    if (bill->committed_months.known) {
        char owed[MONEY_BYTES];
        money_short(bill->owed.nano, owed);
        buf_printf(text, ", committed for %s (%s USD in all, used or not)",
                   units_count(bill->committed_months.v, "month").s, owed);
    }
    verdict_add_age(text, bill, ", ", "");
}

// The cheapest measured offer, the cheapest estimate if that is cheaper, and a lower bound that
// may be.
static int add_level(const struct quote_ask *ask, const struct quote *quote, double runs,
                     struct buf *text, struct err *err)
{
    const struct bills measured = {quote->bills.items, quote->bills.count},
                       estimates = {quote->estimates.items, quote->estimates.count};
    struct best found, guess, bound, other;
    TRY(cheapest_for(ask, &measured, runs, false, &found, err));
    TRY(cheapest_for(ask, &estimates, runs, false, &guess, err));
    TRY(cheapest_for(ask, &measured, runs, true, &bound, err));
    TRY(cheapest_for(ask, &estimates, runs, true, &other, err));
    if (other.bill && beats(&other, &bound))
        bound = other;
    bool cheaper = guess.bill && beats(&guess, &found), known = found.bill || cheaper;
    if (found.bill)
        add_month(text, ": ", &found);
    if (cheaper)
        add_month(text, found.bill ? "; by estimate " : ": by estimate ", &guess);
    if (bound.bill && beats(&bound, cheaper ? &guess : &found))
        add_month(text, known ? "; may be cheaper: " : ": no bill is known; the lowest bound is ",
                  &bound);
    else
        bound.bill = NULL;
    buf_adds(text,
             known || bound.bill ? "." : ": none of these machines is fast enough on its own.");
    return 0;
}

static int say_use(const struct quote_ask *ask, const struct advice_wishes *w, struct quote *quote,
                   struct err *err)
{
    double base = base_seconds(ask);
    const struct {
        const char *name;
        double runs;
    } levels[] = {{"occasional use (one run a month)", 1},
                  {"steady use", (double)w->use_ns_a_month / 1e9 / base},
                  {"heavy use (round the clock)", (double)MONTH_NS / 1e9 / base}};
    if (base <= 0)
        return 0;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        SCOPED(buf_release) struct buf text = {0};
        buf_printf(&text, "For %s", levels[i].name);
        if (i == 1) {
            buf_adds(&text, ", ");
            if (w->use_ns_a_month % HOUR_NS == 0) // as it was given
                buf_printf(&text, "%lld h", (long long)(w->use_ns_a_month / HOUR_NS));
            else
                verdict_add_time(&text, (double)w->use_ns_a_month / 1e9);
            buf_printf(&text, " a month on %s (%.*f runs)",
                       advice_machine(ask) ? advice_machine(ask) : "the machine measured",
                       levels[i].runs < 100, levels[i].runs);
        }
        TRY(add_level(ask, quote, levels[i].runs, &text, err));
        TRY(texts_take(&quote->advice, &text, err));
    }
    return 0;
}

struct parallel {
    int64_t machines, share; // of the runs, on one machine
    double seconds;
};

// Enough machines of `bill` to complete `runs` runs within `limit_s`, each with its share.
static struct parallel in_parallel(const struct bill *bill, int64_t runs, double limit_s)
{
    double training = bill_training_s(bill), startup = bill->time_s.v - training;
    double fit = fmax(floor((limit_s - startup) / training * 1.0001), 1);
    int64_t most = (int64_t)fmin(fit, (double)runs);
    struct parallel p = {.machines = (runs + most - 1) / most};
    p.share = (runs + p.machines - 1) / p.machines;
    p.machines = runs / p.share + (runs % p.share > 0);
    p.seconds = seconds_for(bill, (double)p.share);
    return p;
}

// Traffic is paid once for all runs: free allowances and steps are the account's.
static int bill_parallel(const struct quote_ask *ask, const struct bill *bill, int64_t runs,
                         const struct parallel *p, double time, int64_t *total, struct err *err)
{
    struct cost with, without, last = {0};
    int64_t full = 0, rest = runs % p->share;
    TRY(bill_for(ask, bill, (double)p->share, runs, time, false, &with, err));
    TRY(bill_for(ask, bill, (double)p->share, 0, time, false, &without, err));
    TRY(money_scale(without.total, runs / p->share, 1, MONEY_HALF_EVEN, &full, err));
    if (rest > 0)
        TRY(bill_for(ask, bill, (double)rest, 0, time, false, &last, err));
    TRY(money_add(full, last.total, total, err));
    return money_add(*total, with.metered - without.metered, total, err);
}

// On one machine in turn, or on several in parallel; with both ends of an estimate.
static int cost_of(const struct quote_ask *ask, const struct bill *bill, int64_t runs,
                   const struct parallel *p, struct cost *cost, struct err *err)
{
    double low, high;
    advice_spread(bill, &low, &high);
    const struct {
        double share;
        int64_t *to;
    } ends[] = {{1, &cost->total}, {low, &cost->low}, {high, &cost->high}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        TRY(bill_parallel(ask, bill, runs, p, ends[i].share, ends[i].to, err));
    cost->at_least = bill_is_bound(bill);
    return 0;
}

static void add_certainty(struct buf *text, const struct bill *bill)
{
    if (bill->certainty)
        buf_printf(text, ", %s", bill->certainty);
}

static int add_way(const struct quote_ask *ask, const struct bill *bill, int64_t runs,
                   const struct parallel *p, struct buf *text, struct err *err)
{
    struct cost cost;
    TRY(cost_of(ask, bill, runs, p, &cost, err));
    buf_adds(text, bill_is_bound(bill) ? "at least " : "");
    verdict_add_time(text, p->seconds);
    buf_adds(text, ", ");
    add_cost(text, &cost);
    add_certainty(text, bill);
    verdict_add_age(text, bill, ", ", "");
    return 0;
}

// All on the strong machine in turn, or on several of the cheap one. Where that needs only one, or
// is the strong one, all of them at once.
static int add_runs(const struct quote_ask *ask, int64_t runs, const struct bill *strong,
                    const struct bill *cheap, struct buf *text, struct err *err)
{
    const struct parallel in_turn = {1, runs, seconds_for(strong, (double)runs)};
    struct parallel p = in_parallel(cheap, runs, in_turn.seconds);
    if (p.machines == 1)
        p = (struct parallel){runs, 1, cheap->time_s.v};
    buf_printf(text, "%lld runs one after the other on ", (long long)runs);
    verdict_add_offer(text, strong);
    buf_adds(text, ": ");
    TRY(add_way(ask, strong, runs, &in_turn, text, err));
    buf_printf(text, "; on %lld × ", (long long)p.machines);
    verdict_add_offer(text, cheap);
    buf_adds(text, " in parallel: ");
    TRY(add_way(ask, cheap, runs, &p, text, err));
    buf_adds(text, ".");
    return 0;
}

static int say_runs(const struct quote_ask *ask, const struct advice_wishes *w,
                    const struct bills *bills, struct quote *quote, struct err *err)
{
    const struct verdict cost = verdict_of_bills(bills->items, bills->count, VERDICT_COST),
                         time = verdict_of_bills(bills->items, bills->count, VERDICT_TIME);
    const struct bill *cheap = cost.winner.bill ? cost.winner.bill : cost.bound.bill,
                      *strong = time.winner.bill ? time.winner.bill : cheap;
    SCOPED(buf_release) struct buf text = {0};
    if (!cheap || bill_time_is_bound(cheap))
        return 0;
    buf_adds(&text, strong->certainty ? "By estimate: " : "");
    int rc = add_runs(ask, w->runs, strong, cheap, &text, err);
    if (rc != 0 && rc != ERR_MEMORY) {
        memset(err, 0, sizeof *err);
        buf_reset(&text);
        buf_printf(&text, "%lld runs are too many to price.", (long long)w->runs);
        rc = 0;
    }
    if (rc == 0)
        rc = texts_take(&quote->advice, &text, err);
    return rc;
}

// Estimates have a sentence of their own if one of them is the cheapest, or nothing was measured.
int advice_several(const struct quote_ask *ask, const struct advice_wishes *w, struct quote *quote,
                   struct err *err)
{
    const struct bills measured = {quote->bills.items, quote->bills.count},
                       estimates = {quote->estimates.items, quote->estimates.count};
    if (w->use_ns_a_month > 0)
        TRY(say_use(ask, w, quote, err));
    if (w->runs > 1 && measured.count > 0)
        TRY(say_runs(ask, w, &measured, quote, err));
    if (w->runs > 1 && (measured.count == 0 || verdict_of_quote(quote).guess))
        TRY(say_runs(ask, w, &estimates, quote, err));
    return 0;
}
