// SPDX-License-Identifier: Apache-2.0
// More than one run: one after the other on a fast machine or in parallel on cheap ones, and use by
// the month. Estimates count too, with the ends of their intervals.
#include <math.h>
#include <string.h>

#include "advise/advice_parts.h"
#include "base/clock.h"
#include "base/money.h"

#define HOUR_NS  (INT64_C(3600) * NS_PER_S)
#define MONTH_NS (INT64_C(30) * 86400 * NS_PER_S)

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
    int rc = 0;
    for (size_t i = 0; i < ask->evidence_count && !run; i++) {
        const char *id = ask->evidence[i].run->id;
        run = id && bill->run && strcmp(id, bill->run) == 0 ? ask->evidence[i].run : NULL;
    }
    if (run && !advice_is_own(bill))
        rc = quote_time(ask, run, offer, time, &known, err);
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
    return rc;
}

struct cost { // of several runs; `low` and `high`: at the ends of an estimate, else the total
    int64_t total, low, high;
    int64_t worst; // by started hours, where the rule is assumed
};

// Interruptions and prices of a spot machine count in proportion; an estimate's time has them
// already.
static int64_t with_interruptions(const struct bill *bill, int64_t total)
{
    int64_t before = 0;
    if (!bill->spot.replays.known || bill->spot.never_ends.v || bill->certainty ||
        money_parse(bill->spot.uninterrupted, &before, NULL) != 0 || before <= 0)
        return total;
    return (int64_t)fmin((double)total * (double)bill_total(bill) / (double)before, 9e18);
}

// The bill for `runs` runs in one go on the offer of `bill`. `traffic` of them pay for egress and
// ingress: each run does, on whatever machine.
static int bill_for(const struct quote_ask *ask, const struct bill *bill, double runs,
                    int64_t traffic, double share, struct cost *cost, struct err *err)
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
        cost->total = cost->low = cost->high = with_interruptions(bill, bill_total(&again));
        cost->worst = with_interruptions(bill, advice_dearest(&again));
    }
    record_release(bill_fields, &again);
    return rc;
}

// The same in a month; a bought machine's is a share of the purchase, and power.
static int month_for(const struct quote_ask *ask, const struct bill *bill, double runs,
                     double share, struct cost *cost, struct err *err)
{
    if (!ask->own || !advice_is_own(bill))
        return bill_for(ask, bill, runs, (int64_t)ceil(runs), share, cost, err);
    TRY(own_month(ask->own, runs * bill_training_s(bill) * share, &cost->total, err));
    cost->low = cost->high = cost->worst = cost->total;
    return 0;
}

struct bills {
    const struct bill *items;
    size_t count;
};

// The cheapest of them for `runs` runs in a month, one after the other, that a month is surely
// enough for. One with something unpriced is named only where all have.
static int cheapest_for(const struct quote_ask *ask, const struct bills *bills, double runs,
                        const struct bill **found, struct cost *least, struct err *err)
{
    double low, high;
    *found = NULL;
    for (size_t i = 0; i < bills->count; i++) {
        const struct bill *b = &bills->items[i];
        struct cost cost;
        advice_spread(b, &low, &high);
        if (runs * bill_training_s(b) * high * 1e9 > (double)MONTH_NS)
            continue;
        int rc = month_for(ask, b, runs, 1, &cost, err);
        if (rc == ERR_MEMORY)
            return rc;
        if (rc != 0)
            continue;
        bool half = bill_doubtful(b), found_half = *found && bill_doubtful(*found);
        if (!*found || (half == found_half ? cost.worst < least->worst : found_half)) {
            *found = b;
            *least = cost;
        }
    }
    if (!*found || !(*found)->certainty)
        return 0;
    struct cost end;
    advice_spread(*found, &low, &high);
    TRY(month_for(ask, *found, runs, low, &end, err));
    least->low = end.total;
    TRY(month_for(ask, *found, runs, high, &end, err));
    least->high = end.total;
    return 0;
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
    if (cost->low == cost->high)
        advice_add_money(text, cost->total);
    else
        buf_printf(text, "%s USD (%s)", amount, interval);
}

// ": aws/g5.xlarge, 12.34 USD a month, in one go"
static void add_month(struct buf *text, const char *before, const struct bill *bill,
                      const struct cost *cost)
{
    buf_printf(text, "%s%s, ", before, bill->offer);
    add_cost(text, cost);
    buf_printf(text, " a month, in one go%s%s%s",
               bill->incomplete.v ? ", without what its tariff has no price for" : "",
               bill->certainty ? ", " : "", bill->certainty ? bill->certainty : "");
}

// The cheapest measured offer, and the cheapest estimate if that is cheaper.
static int add_level(const struct quote_ask *ask, const struct quote *quote, double runs,
                     struct buf *text, struct err *err)
{
    const struct bills measured = {quote->bills.items, quote->bills.count},
                       estimates = {quote->estimates.items, quote->estimates.count};
    const struct bill *found, *guess;
    struct cost cost = {0}, expected = {0};
    TRY(cheapest_for(ask, &measured, runs, &found, &cost, err));
    TRY(cheapest_for(ask, &estimates, runs, &guess, &expected, err));
    if (found)
        add_month(text, ": ", found, &cost);
    if (guess && (!found || (bill_doubtful(found) && !bill_doubtful(guess)) ||
                  (bill_doubtful(found) == bill_doubtful(guess) && expected.worst < cost.worst)))
        add_month(text, found ? "; by estimate " : ": by estimate ", guess, &expected);
    buf_adds(text, found || guess ? "." : ": none of these machines is fast enough on its own.");
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
        struct buf text = {0};
        buf_printf(&text, "For %s", levels[i].name);
        if (i == 1) {
            buf_adds(&text, ", ");
            if (w->use_ns_a_month % HOUR_NS == 0) // as it was given
                buf_printf(&text, "%lld h", (long long)(w->use_ns_a_month / HOUR_NS));
            else
                advice_add_time(&text, (double)w->use_ns_a_month / 1e9);
            buf_printf(&text, " a month on %s (%.*f runs)",
                       advice_machine(ask) ? advice_machine(ask) : "the machine measured",
                       levels[i].runs < 100, levels[i].runs);
        }
        int rc = add_level(ask, quote, levels[i].runs, &text, err);
        if (rc == 0)
            rc = texts_take(&quote->advice, &text, err);
        buf_release(&text);
        if (rc != 0)
            return rc;
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
    TRY(bill_for(ask, bill, (double)p->share, runs, time, &with, err));
    TRY(bill_for(ask, bill, (double)p->share, 0, time, &without, err));
    TRY(money_scale(without.total, runs / p->share, 1, MONEY_HALF_EVEN, &full, err));
    if (rest > 0)
        TRY(bill_for(ask, bill, (double)rest, 0, time, &last, err));
    TRY(money_add(full, last.total, total, err));
    return money_add(*total, with.total - without.total, total, err);
}

// In turn, or in parallel if `p` is given; with both ends of an estimate.
static int cost_of(const struct quote_ask *ask, const struct bill *bill, int64_t runs,
                   const struct parallel *p, struct cost *cost, struct err *err)
{
    double low, high;
    advice_spread(bill, &low, &high);
    const struct {
        double share;
        int64_t *to;
    } ends[] = {{1, &cost->total}, {low, &cost->low}, {high, &cost->high}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct cost one;
        if (p)
            TRY(bill_parallel(ask, bill, runs, p, ends[i].share, ends[i].to, err));
        else
            TRY(bill_for(ask, bill, (double)runs, runs, ends[i].share, &one, err));
        if (!p)
            *ends[i].to = one.total;
    }
    return 0;
}

static void add_certainty(struct buf *text, const struct bill *bill)
{
    if (bill->certainty)
        buf_printf(text, ", %s", bill->certainty);
}

// All on the strong machine in turn, or on several of the cheap one.
static int add_runs(const struct quote_ask *ask, int64_t runs, const struct bill *strong,
                    const struct bill *cheap, struct buf *text, struct err *err)
{
    struct cost in_turn, parallel;
    double seconds = seconds_for(strong, (double)runs);
    const struct parallel p = in_parallel(cheap, runs, seconds);
    TRY(cost_of(ask, strong, runs, NULL, &in_turn, err));
    TRY(cost_of(ask, cheap, runs, &p, &parallel, err));
    buf_printf(text, "%lld runs one after the other, in one go, on %s: ", (long long)runs,
               strong->offer);
    advice_add_time(text, seconds);
    buf_adds(text, ", ");
    add_cost(text, &in_turn);
    add_certainty(text, strong);
    if (cheap != strong || p.machines > 1) {
        buf_printf(text, "; on %lld × %s in parallel: ", (long long)p.machines, cheap->offer);
        advice_add_time(text, p.seconds);
        buf_adds(text, ", ");
        add_cost(text, &parallel);
        add_certainty(text, cheap);
    }
    buf_adds(text, ".");
    return 0;
}

static int say_runs(const struct quote_ask *ask, const struct advice_wishes *w,
                    const struct bills *bills, struct quote *quote, struct err *err)
{
    const struct bill *strong = bills->items;
    struct buf text = {0};
    for (size_t i = 1; i < bills->count; i++)
        if (advice_counted_s(&bills->items[i]) < advice_counted_s(strong))
            strong = &bills->items[i];
    buf_adds(&text, strong->certainty ? "By estimate: " : "");
    int rc = add_runs(ask, w->runs, strong, bills->items, &text, err);
    if (rc != 0 && rc != ERR_MEMORY) {
        memset(err, 0, sizeof *err);
        buf_reset(&text);
        buf_printf(&text, "%lld runs are too many to price.", (long long)w->runs);
        rc = 0;
    }
    if (rc == 0)
        rc = texts_take(&quote->advice, &text, err);
    buf_release(&text);
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
    if (w->runs > 1 && estimates.count > 0 &&
        (measured.count == 0 || estimates.items[0].place.v < measured.items[0].place.v))
        TRY(say_runs(ask, w, &estimates, quote, err));
    return 0;
}
