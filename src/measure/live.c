// SPDX-License-Identifier: Apache-2.0
#include "measure/live.h"

#include <math.h>

#include "base/clock.h"
#include "base/money.h"

#define MOST_S 3.15e9 // a hundred years: the longest projection

// Whether the run ends before the training does, and whether its time decides that, not its steps.
static bool is_part(const struct run_plan *plan)
{
    return !plan->full || plan->max_s > 0;
}

static bool is_timed(const struct run_plan *plan)
{
    return plan->max_s > 0 && plan->steps == 0;
}

static double left_of(const struct run_plan *plan, const struct meter_outlook *o,
                      const struct live *live)
{
    double whole_s = o->wall_s > 0 ? fmax(o->wall_s - o->elapsed_s, 0) : -1;
    if (is_timed(plan)) {
        double left_s = fmax(plan->max_s - o->elapsed_s, 0);
        return whole_s >= 0 ? fmin(left_s, whole_s) : left_s;
    }
    if (!is_part(plan) && whole_s >= 0)
        return whole_s;
    if (o->steps <= 0 || live->steps <= 0)
        return -1;
    // At the mean pace so far.
    return fmax(
        (o->elapsed_s - o->before_s) / (double)o->steps * (double)(live->steps - live->step), 0);
}

static int64_t cost_of(const struct live_price *price, double seconds)
{
    int64_t nano = -1;
    if (!price || !price->cost || !(seconds >= 0) || seconds > MOST_S ||
        price->cost(price->price, (int64_t)(seconds * 1e9), &nano, NULL) != 0)
        return -1;
    return nano;
}

void live_look(const struct run_plan *plan, const struct live_price *price,
               const struct meter *meter, int64_t step, int64_t steps, struct live *out)
{
    struct meter_outlook o;
    meter_outlook(meter, &o);
    *out = (struct live){.elapsed_s = o.elapsed_s, .step = step, .steps = steps};
    out->left_s = left_of(plan, &o, out);
    out->whole_s = o.wall_s;
    out->half_s = o.half_s;
    out->timed = is_timed(plan);
    out->at_most = out->timed && plan->within > 0;
    double until_s = (double)(plan->until_ns - clock_now_ns()) / 1e9;
    if (plan->until_ns > 0 && (out->left_s < 0 || until_s < out->left_s)) {
        out->left_s = fmax(until_s, 0);
        out->at_most = out->timed = true;
    }
    out->bill = cost_of(price, o.elapsed_s);
    out->projected = out->left_s >= 0 ? cost_of(price, o.elapsed_s + out->left_s) : -1;
    out->whole = is_part(plan) && o.wall_s > 0 ? cost_of(price, o.wall_s) : -1;
}

double live_share(const struct live *live)
{
    double share = -1, end_s = live->elapsed_s + live->left_s;
    if (live->timed && end_s > 0)
        share = live->elapsed_s / end_s;
    else if (!live->timed && live->steps > 0)
        share = (double)live->step / (double)live->steps;
    return share > 1 ? 1 : share;
}

static struct maybe_money unless_negative(int64_t nano)
{
    return nano < 0 ? (struct maybe_money){0} : some_money(nano);
}

int live_fill(const struct live *live, const struct live_price *price, struct run_live *out,
              struct err *err)
{
    char now[CLOCK_ISO_BYTES];
    double share = live_share(live);
    clock_iso(clock_date_s(), now);
    out->elapsed_s = some_real(live->elapsed_s);
    if (share >= 0)
        out->share = some_real(share);
    if (live->left_s >= 0 && live->left_s < MOST_S)
        out->left_s = some_real(live->left_s);
    if (live->at_most)
        out->at_most = some_bool(true);
    TRY(text_set(&out->at, now, err));
    if (live->bill < 0)
        return 0;
    out->usd_per_hour = unless_negative(price->hour);
    out->bill_usd = some_money(live->bill);
    out->projected_usd = unless_negative(live->projected);
    out->whole_usd = unless_negative(live->whole);
    return text_set(&out->offer, price->offer, err);
}
