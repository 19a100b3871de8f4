// SPDX-License-Identifier: Apache-2.0
// A spot machine side by side: on demand, checkpoints at several intervals, none at all, one on
// notice, and fall-back to on-demand machines under a deadline.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/quote_spot_parts.h"
#include "base/clock.h"
#include "book/listing.h"
#include "advise/spot/policy.h"

#define TICKS_MOST  200 // to a deadline
#define STARTS_MOST 100 // of each policy
#define HOUR_NS     (3600 * NS_PER_S)

static void set_money(struct spot_row *row, int64_t mean, int64_t low, int64_t middle, int64_t high)
{
    row->mean = some_money(mean);
    row->low = some_money(low);
    row->middle = some_money(middle);
    row->high = some_money(high);
}

static void set_times(struct spot_row *row, double mean_ns, const struct replay_quantiles *ns)
{
    row->mean_s = some_real(mean_ns / 1e9);
    row->low_s = some_real((double)ns->low / 1e9);
    row->middle_s = some_real((double)ns->middle / 1e9);
    row->high_s = some_real((double)ns->high / 1e9);
}

static struct spot_row *new_row(struct spotting *s, const char *way, const char *what,
                                struct err *err)
{
    struct spot_row *row = LIST_ADD(&s->bill->spot.rows, err);
    int rc = row ? TEXTS_SET(err, {&row->way, way}, {&row->what, what}) : ERR_MEMORY;
    return rc == 0 ? row : NULL;
}

// ---- replays

static int add_replay(struct spotting *s, const char *way, const char *what, struct replay *r,
                      struct err *err)
{
    struct replay_summary sum = {0};
    struct spot_row *row = new_row(s, way, what, err);
    if (!row)
        return ERR_MEMORY;
    if (r->interval_ns > 0)
        row->interval_s = some_real((double)r->interval_ns / 1e9);
    TRY(spot_replay(s, r, &sum, err));
    row->unfinished = some_real((double)sum.late / (double)sum.count);
    if (sum.finished == 0)
        return 0;
    if (sum.finished < sum.count)
        row->lower_bound = some_bool(true);
    int64_t mean = 0, low = 0, middle = 0, high = 0;
    const struct replay_quantiles *nano = &sum.nano, *wall = &sum.wall_ns;
    TRY(spot_usd(s, sum.mean_nano, sum.mean_wall_ns, &mean, err));
    TRY(spot_usd(s, (double)nano->low, (double)wall->low, &low, err));
    TRY(spot_usd(s, (double)nano->middle, (double)wall->middle, &middle, err));
    TRY(spot_usd(s, (double)nano->high, (double)wall->high, &high, err));
    row->interruptions = some_real(sum.mean_interruptions);
    set_times(row, sum.mean_wall_ns, &sum.wall_ns);
    set_money(row, mean, low, middle, high);
    return 0;
}

static int add_intervals(struct spotting *s, struct err *err)
{
    static const struct {
        const char *what;
        double factor;
    } wrong[] = {
        {"spot, twice as often", 0.5}, {"spot, half as often", 2}, {"spot, a tenth as often", 10}};
    struct replay r = s->replay;
    int64_t daly = s->replay.interval_ns, best = daly;
    bool given = s->ask->every_ns.known;
    TRY(add_replay(s, "spot",
                   given ? "spot, checkpoints as given" : "spot, checkpoints by Daly's formula", &r,
                   err));
    if (s->between_ns > 0) {
        if (given)
            daly = (int64_t)fmax(theory_daly((double)r.checkpoint_ns, (double)s->between_ns),
                                 (double)NS_PER_S);
        TRY(replay_best_interval(&r, daly, &best, err));
        r.interval_ns = best;
        TRY(add_replay(s, SPOT_BEST, "spot, best interval by replay", &r, err));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        r.interval_ns =
            (int64_t)fmin((double)s->replay.interval_ns * wrong[i].factor, (double)BILL_LONGEST_NS);
        TRY(add_replay(s, "spot", wrong[i].what, &r, err));
    }
    r = s->replay;
    r.notice_ns = s->bill->spot.notice_s.known ? (int64_t)(s->bill->spot.notice_s.v * 1e9) : 0;
    if (r.notice_ns > 0 && r.notice_ns >= r.checkpoint_ns)
        TRY(add_replay(s, "spot", "spot, and a checkpoint on notice", &r, err));
    r = s->replay;
    r.interval_ns = 0;
    return add_replay(s, "spot", "spot, no checkpoints", &r, err);
}

// ---- on demand

// The age of the price on demand goes with what is made from it.
static int set_age(struct spotting *s, const struct offer *demand, struct spot_row *row,
                   struct err *err)
{
    char date[12];
    int day = wishes_day(s->wishes);
    offer_date(demand->day, date);
    row->price_age_days = some_int(offer_age(demand, day));
    row->price_old = some_bool(offer_old(demand, day));
    return text_set(&row->price_date, date, err);
}

static int add_demand(struct spotting *s, const struct offer *offer, struct err *err)
{
    struct bill bill = {0};
    struct spot_row *row = new_row(s, SPOT_ON_DEMAND, "on demand", err);
    if (!row)
        return ERR_MEMORY;
    int64_t gpus = s->bill->gpus_used.known ? s->bill->gpus_used.v : 0;
    int rc = bill_make(s->market, s->wishes, offer, "", s->time, gpus, &bill, err);
    const struct bill_time *t = s->time;
    int64_t total = rc == 0 ? bill_total(&bill) : 0, ns = t->total_ns;
    set_money(row, total, money_or(bill.low, total), total, money_or(bill.high, total));
    set_times(row, (double)ns,
              &(struct replay_quantiles){t->low_ns >= 0 ? t->low_ns : ns, ns,
                                         t->high_ns >= 0 ? t->high_ns : ns});
    row->unfinished = some_real(0);
    if (rc == 0)
        rc = set_age(s, offer, row, err);
    record_release(bill_fields, &bill);
    return rc;
}

// ---- fall-back

struct falling {
    struct policy_job job;
    unsigned char *available;
    int64_t unit_ns, demand_hour; // nano-USD
    int64_t *costs, *ends;        // of each start
    size_t starts;
};

// Samples of the trace, some together if there would be too many: then a spot machine can be had if
// it can be had in all of them.
static int make_ticks(const struct availability *a, int64_t deadline_ns, struct falling *f,
                      struct err *err)
{
    size_t group = (size_t)(deadline_ns / a->tick_ns / TICKS_MOST) + 1;
    size_t ticks = a->sample_count / group;
    int64_t tick_ns = a->tick_ns * (int64_t)group;
    f->available = ticks > 0 ? calloc(ticks, 1) : NULL;
    if (!f->available)
        return ticks > 0 ? err_memory(err) : 0;
    for (size_t i = 0; i < ticks; i++) {
        f->available[i] = 1;
        for (size_t k = 0; k < group; k++)
            f->available[i] &= a->samples[i * group + k];
    }
    f->unit_ns = tick_ns / POLICY_UNITS > 0 ? tick_ns / POLICY_UNITS : 1;
    // The plan learns from the first half; all policies are replayed on the second.
    f->job.past = f->available;
    f->job.past_ticks = ticks / 2;
    f->job.available = f->available + ticks / 2;
    f->job.ticks = ticks - ticks / 2;
    f->job.deadline = (size_t)(deadline_ns / tick_ns);
    return 0;
}

static int64_t up_to(int64_t ns, int64_t unit_ns)
{
    return ns / unit_ns + (ns % unit_ns > 0);
}

static int64_t in_usd(const struct falling *f, double cost)
{
    return (int64_t)(cost / POLICY_DEMAND * (double)f->demand_hour * (double)f->unit_ns / HOUR_NS +
                     0.5);
}

// Starts whose deadline lies within the trace, if there are any; else all, and it begins again.
static size_t start_ticks(const struct policy_job *job)
{
    return job->ticks > job->deadline ? job->ticks - job->deadline + 1 : job->ticks;
}

static int add_policy(struct spotting *s, struct falling *f, enum policy policy,
                      const struct policy_plan *plan, struct err *err)
{
    char what[96];
    double cost = 0, end = 0;
    bool kept = true;
    snprintf(what, sizeof what, "policy: %s", policy_words[policy]);
    struct spot_row *row = new_row(s, SPOT_POLICY, what, err);
    if (!row)
        return ERR_MEMORY;
    for (size_t i = 0; i < f->starts; i++) {
        struct policy_result r = {.finished = true};
        size_t start = start_ticks(&f->job) * i / f->starts;
        if (policy == POLICY_BEST)
            TRY(policy_best(&f->job, start, &r.cost, err));
        else
            policy_run(policy, &f->job, plan, start, &r);
        f->costs[i] = r.cost;
        f->ends[i] = r.end * f->unit_ns;
        cost += (double)r.cost / (double)f->starts;
        end += (double)f->ends[i] / (double)f->starts;
        kept &= r.finished && r.cost >= 0;
    }
    struct replay_quantiles q = replay_quantiles_of(f->costs, f->starts);
    row->deadline_kept = some_bool(kept);
    if (policy != POLICY_BEST) {
        struct replay_quantiles t = replay_quantiles_of(f->ends, f->starts);
        set_times(row, end, &t);
    }
    set_money(row, in_usd(f, cost), in_usd(f, (double)q.low), in_usd(f, (double)q.middle),
              in_usd(f, (double)q.high));
    return 0;
}

static int add_policies(struct spotting *s, struct falling *f, struct err *err)
{
    struct policy_plan *plan = NULL;
    size_t starts = start_ticks(&f->job);
    f->starts = starts < STARTS_MOST ? starts : STARTS_MOST;
    f->costs = calloc(2 * f->starts, sizeof *f->costs);
    if (!f->costs)
        return err_memory(err);
    f->ends = f->costs + f->starts;
    int rc = policy_plan_new(&f->job, &plan, err);
    for (int p = POLICY_GREEDY; rc == 0 && p < POLICIES; p++)
        rc = add_policy(s, f, (enum policy)p, plan, err);
    policy_plan_free(plan);
    return rc;
}

// The policies on the trace's samples. Rates × time: units, minimums and free hours are left out.
static int compare_policies(struct spotting *s, const struct priced *price, struct err *err)
{
    struct falling f = {0};
    const struct replay *r = &s->replay;
    int64_t spot_hour = 0, deadline_ns = s->ask->deadline_ns.v;
    int64_t cycle = r->interval_ns + r->checkpoint_ns;
    TRY(priced_hour(price, &f.demand_hour, err));
    TRY(priced_hour(&s->price, &spot_hour, err));
    if (f.demand_hour <= 0)
        return 0;
    int rc = make_ticks(s->hazard.trace, deadline_ns, &f, err);
    f.job.spot_price =
        (int64_t)fmin((double)spot_hour / (double)f.demand_hour * POLICY_DEMAND + 0.5, 1e9);
    if (rc == 0 && f.available) {
        f.job.work = up_to(replay_uninterrupted_ns(r) - r->first_ns, f.unit_ns);
        f.job.delay = up_to(r->restart_ns + cycle / 2, f.unit_ns);
        f.job.reserve = up_to(r->restart_ns + cycle, f.unit_ns);
        if (f.job.deadline > 0 && policy_can(&f.job))
            rc = add_policies(s, &f, err);
    }
    free(f.available);
    free(f.costs);
    return rc;
}

// Spot until an interruption could make it late, then on demand, by both providers' rules.
static int add_fall_back(struct spotting *s, const struct offer *demand, struct err *err)
{
    struct priced price;
    struct replay r = s->replay;
    TRY(market_price(s->market, demand, s->wishes, &price, err));
    if (strcmp(price.currency, s->price.currency) != 0)
        return 0;
    r.demand = &price.rule;
    r.deadline_ns = s->ask->deadline_ns.v;
    if (r.deadline_ns < replay_uninterrupted_ns(&r))
        return texts_add(
            &s->bill->notes,
            "no fall-back keeps the deadline: with as many checkpoints, an on-demand machine "
            "alone takes longer",
            err);
    TRY(add_replay(s, SPOT_FALL_BACK, "spot with fall-back to on demand", &r, err));
    struct spot_row *row = &s->bill->spot.rows.items[s->bill->spot.rows.count - 1];
    row->deadline_kept = some_bool(true);
    size_t first = s->bill->spot.rows.count;
    TRY(set_age(s, demand, row, err));
    TRY(s->hazard.trace ? compare_policies(s, &price, err) : 0);
    for (size_t i = first; i < s->bill->spot.rows.count; i++)
        TRY(set_age(s, demand, &s->bill->spot.rows.items[i], err));
    return 0;
}

int spot_add_rows(struct spotting *s, struct err *err)
{
    struct offer demand;
    bool found = false;
    TRY(market_on_demand(s->market, s->offer, wishes_day(s->wishes), &demand, &found, err));
    if (found)
        TRY(add_demand(s, &demand, err));
    TRY(add_intervals(s, err));
    return found && s->ask->deadline_ns.known ? add_fall_back(s, &demand, err) : 0;
}
