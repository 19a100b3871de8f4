// SPDX-License-Identifier: Apache-2.0
#include "run/forecast.h"

#include <math.h>

#include "run/steady.h"

// One standard deviation of the drift still to come (neighbours, heat, the host's housekeeping), as
// a share of the remaining time. It is an assumption; a larger spread of the calibration loop
// replaces it.
#define FORECAST_DRIFT 0.01
#define FEW_FASTER     0.3 // the steps to come may be so much faster than a single one seen

#define TREND_MOST  20 // a step time that grows is not extrapolated further
#define TREND_TIMES 10 // nor longer
#define LEVELS_MOST 3  // a level may be followed by others, in the mean so many times as slow
// Steps of on-policy reinforcement learning take as long as the answers that they generate, which
// often grow to a multiple of their first length (docs/projection.md). An assumption: the steps to
// come take up to so much longer, as a share of those seen; a trend seen may exceed it.
#define LENGTHENS_MOST 1.5
#define LENGTHENS_END  4.0 // the same, where a trend is extrapolated

// A slower level may last, end again, or be followed by others.
static void continue_levels(const struct steady *steady, double left, struct forecast *out)
{
    double mean_s = steady->mean_ns / 1e9, last_s = steady->last_ns / 1e9;
    out->s += left * (last_s - mean_s);
    out->less_s = left * (last_s - steady->level_ns / 1e9);
    out->more_s = left * last_s * (LEVELS_MOST - 1);
    out->levels_s = (out->less_s + out->more_s) / 2;
}

// The mean change of the steps to come, as a share, if a growth continues for TREND_TIMES of the
// steps seen, and ends then.
static double change_of(double growth, double steps, double left)
{
    double until = fmin(left, TREND_TIMES * steps);
    return left > 0 ? growth / steps * (until - until * until / 2 / left) : 0;
}

// A step time that grows may stay as it is now, continue, or grow three times as fast; one that
// falls may fall to half.
static void continue_trend(const struct steady *steady, double steps, double left,
                           struct forecast *out)
{
    double mean_s = steady->mean_ns / 1e9, last_s = steady->last_ns / 1e9;
    double change_s = mean_s * change_of(steady->growth, steps, left);
    double next_s = fmin(fmax(last_s + change_s, last_s / 2), last_s * TREND_MOST);
    out->s += left * (next_s - mean_s);
    out->less_s = left * (next_s - (change_s > 0 ? last_s : last_s / 2));
    out->more_s = left * (change_s > 0 ? 2 * (next_s - last_s) : mean_s - next_s);
}

// Steps that generate answers may take longer and longer.
static void allow_longer(const struct series *series, const struct steady *steady, double left,
                         struct forecast *out)
{
    double growth, error, left_s = left * steady->mean_ns / 1e9, steps = (double)series->steps;
    out->more_s = fmax(out->more_s, LENGTHENS_MOST * left_s);
    if (!steady_slope(series, &growth, &error))
        return;
    if (growth <= 2 * error)
        return;
    double end = fmin((growth + 2 * error) * left / steps / 2, LENGTHENS_END);
    out->more_s = fmax(out->more_s, end * left_s);
    if (steady->growth != 0)
        return;
    // A line that fits, but is no trend by itself: half of it is expected.
    double shift_s = fmin(growth * left / steps / 2, LENGTHENS_MOST) * left_s / 2;
    out->s += shift_s;
    out->less_s += shift_s;
}

bool forecast_steps(const struct forecast_ask *ask, struct forecast *out)
{
    *out = (struct forecast){0};
    const struct series *series = ask->series;
    int64_t total = ask->total;
    // The first report of a program covers its warm-up.
    if (total <= 0 || series->steps < FORECAST_STEPS || (ask->follows && series->count < 2))
        return false;
    struct steady steady;
    steady_judge(series, ask->calibrate, &steady);
    double left_s = (double)(total - series->steps) * steady.mean_ns / 1e9;
    if (left_s < 0) { // a sample may have more steps than the whole training
        double first = fmin(series_steps(series, 0, steady.first), (double)total);
        left_s = ((double)total - first) * steady.mean_ns / 1e9;
        out->s = (first > 0 ? steady.before_ns / 1e9 : 0) + left_s;
        out->variance = pow(left_s * steady.relative_error, 2);
        return true;
    }
    // Steps that follow the processor's drift may drift as far as it does; steps on a GPU do not.
    double drift = calibrate_spread(ask->calibrate);
    if (!steady.follows)
        drift = fmin(drift, 4 * steady.scatter);
    double floor = fmax(FORECAST_DRIFT, drift);
    double share = hypot(steady.relative_error, floor);
    out->s = (double)series->total_ns / 1e9 + left_s;
    out->variance = pow(left_s * share, 2);
    double left = (double)(total - series->steps), fastest_ns = steady.fastest_ns;
    if (steady.level_ns > 0)
        continue_levels(&steady, left, out);
    else if (steady.growth != 0)
        continue_trend(&steady, (double)series->steps, left, out);
    if (steady.lean > 0)
        out->more_s = left_s * change_of(steady.lean, (double)series->steps, left);
    if (steady.growth < 0)
        fastest_ns = fmin(fastest_ns, steady.last_ns / 2);
    if (ask->lengthens)
        allow_longer(series, &steady, left, out);
    double few = FEW_FASTER / (double)(series->count > 0 ? series->count : 1);
    out->least_s = left * fastest_ns / 1e9 * (1 - fmax(1.96 * FORECAST_DRIFT, few));
    return true;
}
