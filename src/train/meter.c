// SPDX-License-Identifier: Apache-2.0
#include "train/meter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "record/field.h"
#include "record/run.h"
#include "train/steady.h"

#define FORECAST_STEPS 5 // the least

struct forecast_ask {
    const struct series *series;
    const struct calibrate *calibrate;
    int64_t total;  // steps of the whole; 0: unknown
    bool follows;   // a command, whose first report covers its warm-up
    bool lengthens; // steps generate answers, which may lengthen
};

struct forecast {          // in seconds
    double s, variance;    // all steps; the variance is that of those to come
    double less_s, more_s; // with a trend: it may be that much shorter or longer
    double levels_s;       // half of that, if levels differ: more of them would tell
    double least_s;        // of the steps to come, each as fast as the fastest seen
};

void losses_add(struct losses *l, double loss)
{
    if (l->each == 0)
        l->each = 1;
    if (l->count == LOSSES_MAX && l->in_sum == 0) {
        for (size_t i = 0; i < LOSSES_MAX / 2; i++)
            l->mean[i] = (l->mean[2 * i] + l->mean[2 * i + 1]) / 2;
        l->count = LOSSES_MAX / 2;
        l->each *= 2;
    }
    l->latest = some_real(loss);
    l->sum += loss;
    if (++l->in_sum < l->each)
        return;
    l->mean[l->count++] = l->sum / (double)l->in_sum;
    l->sum = 0;
    l->in_sum = 0;
}

static size_t tenth(const struct losses *l)
{
    return (l->count + 9) / 10;
}

static struct maybe_real mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return count > 0 ? some_real(sum / (double)count) : (struct maybe_real){0};
}

struct maybe_real losses_first(const struct losses *l)
{
    return mean(l->mean, tenth(l));
}

struct maybe_real losses_last(const struct losses *l)
{
    return mean(l->mean + l->count - tenth(l), tenth(l));
}

// ---- forecast: how long all steps of a stage take, from those seen: train/steady.h's step time
// for the steps to come, a trend continued, and how far all that may be off (docs/projection.md).

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

// False: too few steps, or no total.
static bool forecast_steps(const struct forecast_ask *ask, struct forecast *out)
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

// ---- The meter

#define EVALUATE_DOUBT                                                                             \
    0.05                  // relative error of an evaluation projected from a few batches, at least
#define PART_DOUBT   0.15 // the same for one part of a command; falls with their number
#define TOLD_LATE_NS (INT64_C(10) * NS_PER_S)

// A program's own end follows its last step: Python with CUDA takes about a second, with a compiled
// net two to three (measured on an H200).
#define END_S 4.0
// A sample speaks of another start, which may find its files on disk or in memory and its kernels
// compiled or not: 43.7 and 37.4 s, 35.1 and 26.3 s (a compiled net on two fresh machines).
#define START_DOUBT 0.35

// A longer sample is advised if half the interval's width is over LONGER_WIDE of the whole, for one
// of LONGER_HALF, unless LONGER_OTHER of the whole would not get narrower by it.
#define LONGER_WIDE    0.25
#define LONGER_HALF    0.2
#define LONGER_OTHER   0.15
#define LONGER_ENTRIES 10 // reports of steps at least

#define FIRST_LOOK_S 1.0 // after the first step
#define LOOK_FACTOR  1.2 // look again when the training time has grown by this factor
#define LOOK_MAX_S   5.0
#define CHECKS       5

struct meter {
    int64_t start_ns, first_step_ns, mark_ns;
    int64_t at_ns; // the time of the current report; 0: now
    enum meter_phase phase;
    int64_t phase_ns[METER_PHASES];
    int64_t before_ns; // everything before the first step
    struct meter_plan plan;
    struct series stages[METER_STAGES_MAX];
    int stage;
    int64_t done[METER_PHASES]; // finished parts: evaluations, checkpoints, ends of epochs
    struct calibrate calibrate;
    int64_t next_look_ns;
    double latest_wall_s; // of the last projection; 0: none
    double latest_half_s;
    double latest_own_s; // the same without other programs
    double step_s;       // by the last projection; 0: none
    bool unsteady;
    bool stopped;
    struct run_projection projection; // once stopped
    struct run_projection checks[CHECKS];
};

// When projections are kept: after a time, or after a share of the projected whole.
static const struct {
    double s, share;
} check_at[CHECKS] = {{.s = 10}, {.s = 30}, {.s = 60}, {.share = 0.1}, {.share = 0.5}};

int meter_new(struct meter **meter, int64_t start_ns, struct err *err)
{
    *meter = calloc(1, sizeof **meter);
    if (!*meter)
        return err_memory(err);
    (*meter)->start_ns = (*meter)->mark_ns = start_ns;
    (*meter)->plan.stages = 1;
    int rc = calibrate_init(&(*meter)->calibrate, err);
    for (int i = 0; i < METER_STAGES_MAX && rc == 0; i++)
        rc = series_init(&(*meter)->stages[i], err);
    if (rc != 0) {
        meter_free(*meter);
        *meter = NULL;
    }
    return rc;
}

void meter_free(struct meter *meter)
{
    if (!meter)
        return;
    for (int i = 0; i < METER_STAGES_MAX; i++)
        series_release(&meter->stages[i]);
    calibrate_release(&meter->calibrate);
    free(meter);
}

void meter_plan(struct meter *meter, const struct meter_plan *plan)
{
    meter->plan = *plan;
    if (meter->plan.stages <= 0)
        meter->plan.stages = 1;
    if (meter->plan.stages > METER_STAGES_MAX)
        meter->plan.stages = METER_STAGES_MAX;
}

void meter_before(struct meter *meter, enum meter_phase phase, int64_t ns)
{
    meter->phase_ns[phase] += ns;
    meter->mark_ns += ns;
}

void meter_at(struct meter *meter, int64_t at_ns)
{
    meter->at_ns = at_ns;
}

// The time of the current report, at least that of the last one. A time in the future or far in the
// past comes from another clock: use now instead. Reports may be late: steps are added up until the
// next event, and a first step may take a minute.
static int64_t moment(const struct meter *meter)
{
    int64_t now_ns = clock_now_ns();
    if (meter->at_ns <= meter->mark_ns - TOLD_LATE_NS || meter->at_ns > now_ns)
        return now_ns;
    return meter->at_ns > meter->mark_ns ? meter->at_ns : meter->mark_ns;
}

// Books the time since the last mark to the ending phase.
static int64_t close_phase(struct meter *meter)
{
    int64_t now_ns = moment(meter);
    meter->phase_ns[meter->phase] += now_ns - meter->mark_ns;
    meter->mark_ns = now_ns;
    return now_ns;
}

void meter_phase(struct meter *meter, enum meter_phase phase)
{
    int64_t now_ns = close_phase(meter);
    if (phase == METER_TRAIN && meter->first_step_ns == 0) {
        meter->first_step_ns = now_ns;
        meter->before_ns = now_ns - meter->start_ns;
        meter->next_look_ns = now_ns + (int64_t)(FIRST_LOOK_S * 1e9);
    }
    meter->phase = phase;
}

void meter_steps(struct meter *meter, int stage, int64_t steps)
{
    if (steps <= 0 || stage < 0 || stage >= METER_STAGES_MAX)
        return;
    if (meter->first_step_ns == 0 || meter->phase != METER_TRAIN)
        meter_phase(meter, METER_TRAIN);
    int64_t began_ns = meter->mark_ns;
    int64_t now_ns = close_phase(meter);
    meter->stage = stage;
    series_add(&meter->stages[stage], now_ns - meter->start_ns, now_ns - began_ns, steps);
    if (meter->plan.calibrate && calibrate_due(&meter->calibrate, now_ns)) {
        calibrate_run(&meter->calibrate, now_ns - meter->start_ns);
        meter->phase = METER_IDLE;
        close_phase(meter);
        meter->phase = METER_TRAIN;
    }
}

int64_t meter_start_ns(const struct meter *meter)
{
    return meter->start_ns;
}

int64_t meter_train_ns(const struct meter *meter)
{
    return meter->phase_ns[METER_TRAIN];
}

int64_t meter_booked_ns(const struct meter *meter)
{
    return meter->mark_ns;
}

void meter_evaluated(struct meter *meter, int64_t samples)
{
    meter->done[METER_EVALUATE] += samples;
}

void meter_checkpointed(struct meter *meter)
{
    meter->done[METER_CHECKPOINT]++;
}

void meter_epoch_ended(struct meter *meter)
{
    meter->done[METER_EPOCH_END]++;
}

void meter_restart(struct meter *meter, int64_t at_ns)
{
    int64_t now_ns = clock_now_ns(), setup_ns = meter->phase_ns[METER_SETUP];
    at_ns = at_ns < meter->start_ns ? meter->start_ns : at_ns < now_ns ? at_ns : now_ns;
    int64_t all_ns = at_ns - meter->start_ns;
    memset(meter->phase_ns, 0, sizeof meter->phase_ns);
    meter->phase_ns[METER_SETUP] = setup_ns < all_ns ? setup_ns : all_ns;
    meter->phase_ns[METER_LOAD] = all_ns - meter->phase_ns[METER_SETUP];
    meter->mark_ns = at_ns;
    meter->first_step_ns = meter->before_ns = 0;
    meter->phase = METER_LOAD;
    meter->latest_wall_s = meter->step_s = 0;
    meter->unsteady = false;
    memset(meter->done, 0, sizeof meter->done);
    memset(meter->checks, 0, sizeof meter->checks);
    for (int i = 0; i < METER_STAGES_MAX; i++)
        series_reset(&meter->stages[i]);
}

// ---- projection

// The total time of a stage's steps.
static bool project_stage(const struct meter *meter, int stage, struct forecast *out)
{
    const struct forecast_ask ask = {.series = &meter->stages[stage],
                                     .calibrate = &meter->calibrate,
                                     .total = meter->plan.stage_steps[stage],
                                     .follows = meter->plan.follows,
                                     .lengthens = meter->plan.lengthens};
    return forecast_steps(&ask, out);
}

static int64_t phase_so_far(const struct meter *meter, enum meter_phase phase, int64_t now_ns)
{
    return meter->phase_ns[phase] + (meter->phase == phase ? now_ns - meter->mark_ns : 0);
}

struct meter_beside { // parts beside the steps, in seconds
    double s;         // in the whole training
    double error_s;   // one standard deviation
    double more_s;    // it may be longer or shorter by this
    bool assumption;  // none was seen
};

// All parts of a phase, of which the whole training has `total`. They drift as the training does,
// whose relative error is `share`.
static void project_beside(const struct meter *meter, enum meter_phase phase, int64_t total,
                           double share, int64_t now_ns, struct meter_beside *out)
{
    double s = (double)phase_so_far(meter, phase, now_ns) / 1e9;
    int64_t done = meter->done[phase];
    *out = (struct meter_beside){.s = s, .assumption = total > 0 && done == 0};
    if (done == 0)
        return;
    double each_s = s / (double)done, left_s = total > done ? each_s * (double)(total - done) : 0;
    // The first ones differ: programs compile and fill caches in them.
    double few = meter->plan.follows ? PART_DOUBT / sqrt((double)done) : 0;
    out->s = s + left_s;
    out->error_s = left_s * fmax(fmax(share, few), EVALUATE_DOUBT);
    out->more_s = each_s * meter->plan.doubt[phase];
}

// How much longer a command must be sampled until its interval has about LONGER_HALF, by the
// scatter of its steps, which falls with the square root of the time, and by the parts not seen
// yet. 0: the interval is narrow, or wide for other reasons: other programs, a step time that
// changes.
static double longer_s(const struct meter *meter, const struct run_projection *p, double noise_s)
{
    const struct series *series = &meter->stages[meter->stage];
    double half_s = (p->high_s.v - p->low_s.v) / 2;
    double spent_s = (double)series->total_ns / 1e9, part_s = meter->plan.part_s;
    double left_s = fmax(p->train_s.v - spent_s, 0);
    double parts_s = part_s > 0 ? meter->plan.may_add * left_s / 2 : 0;
    if (!meter->plan.follows || half_s <= LONGER_WIDE * p->wall_s.v || series->count == 0 ||
        half_s - noise_s - parts_s > LONGER_OTHER * p->wall_s.v)
        return 0;
    double noise = noise_s / p->wall_s.v / LONGER_HALF;
    double times = fmax(noise * noise, LONGER_ENTRIES / (double)series->count);
    return fmax(fmax(times - 1, 0) * spent_s, parts_s > 0 ? 1.5 * part_s : 0);
}

// `alone`: as if no other program ran here, and this start were like all others.
static bool project(const struct meter *meter, int64_t now_ns, bool alone,
                    struct run_projection *out)
{
    const struct meter_plan *plan = &meter->plan;
    double train_s = 0, deviation_s = 0;
    int64_t steps = 0, total = 0;
    *out = (struct run_projection){0};
    struct forecast part = {0};
    double low_s = 0, high_s = 0, fastest_s = 0, levels_s = 0;
    for (int i = 0; i < plan->stages; i++) {
        if (!project_stage(meter, i, &part))
            return false;
        train_s += part.s;
        deviation_s += sqrt(part.variance); // drift is common to all stages: not independent
        low_s -= part.less_s;
        high_s += part.more_s;
        fastest_s += part.least_s;
        levels_s += part.levels_s;
        steps += meter->stages[i].steps;
        total += plan->stage_steps[i];
    }
    double train_left_s = train_s - (double)phase_so_far(meter, METER_TRAIN, now_ns) / 1e9;
    double share = train_left_s > 0 ? deviation_s / train_left_s : 0;
    const struct {
        enum meter_phase phase;
        int64_t total;
    } parts[] = {{METER_EVALUATE, plan->evaluations},
                 {METER_CHECKPOINT, plan->checkpoints},
                 {METER_EPOCH_END, plan->epoch_ends}};
    struct meter_beside beside[3];
    double beside_s = 0;
    bool assumption = plan->may_add > 0;
    for (int i = 0; i < 3; i++) {
        project_beside(meter, parts[i].phase, parts[i].total, share, now_ns, &beside[i]);
        beside_s += beside[i].s;
        deviation_s += beside[i].error_s;
        low_s -= beside[i].more_s;
        high_s += beside[i].more_s;
        assumption |= beside[i].assumption;
    }
    double before_s = (double)meter->before_ns / 1e9, others = alone ? 0 : plan->others;
    bool sample = plan->follows && (plan->within > 0 || plan->max_s > 0);
    double start_s = sample && !alone ? START_DOUBT * before_s : 0;
    high_s += (plan->may_add + others) * fmax(train_left_s, 0) + (plan->follows ? END_S : 0);
    high_s += start_s;
    low_s -= (plan->may_save + others) * fmax(train_left_s, 0) + start_s;
    double other_s = 0;              // between steps: calibration, projections, the progress line
    if (steps > 0 && steps <= total) // otherwise the sample measured other work in between
        other_s =
            (double)phase_so_far(meter, METER_IDLE, now_ns) / 1e9 * (double)total / (double)steps;
    double half_s = 1.96 * deviation_s;
    out->after_s = some_real((double)(now_ns - meter->start_ns) / 1e9);
    // The whole takes at least as long as it has taken so far.
    double least_s = steps > total ? before_s : out->after_s.v;
    double wall_s = fmax(before_s + train_s + beside_s + other_s, least_s);
    least_s -= start_s;
    out->wall_s = some_real(wall_s);
    double faster = fmax(1 - plan->may_save - others, 0);
    least_s = fmax(least_s, fmin(least_s + faster * fastest_s, wall_s));
    out->low_s = some_real(fmax(wall_s + low_s - half_s, least_s));
    out->high_s = some_real(wall_s + high_s + half_s);
    out->train_s = some_real(train_s);
    out->evaluate_s = some_real(beside[0].s);
    if (plan->checkpoints > 0)
        out->checkpoint_s = some_real(beside[1].s);
    if (plan->epoch_ends > 0)
        out->epoch_end_s = some_real(beside[2].s);
    out->load_s = some_real(before_s);
    if (assumption)
        out->assumption = some_bool(true);
    double longer = longer_s(meter, out, 1.96 * deviation_s + levels_s);
    if (longer > 0)
        out->longer_s = some_real(longer);
    return true;
}

static double check_due_s(int check, double wall_s)
{
    return check_at[check].s + check_at[check].share * wall_s;
}

static void keep_checks(struct meter *meter, const struct run_projection *now)
{
    for (int i = 0; i < CHECKS; i++)
        if (!meter->checks[i].wall_s.known && now->after_s.v >= check_due_s(i, now->wall_s.v))
            meter->checks[i] = *now;
}

// Schedules the next look, earlier if a check is due.
static void next_look(struct meter *meter, int64_t now_ns)
{
    double since_s = (double)(now_ns - meter->first_step_ns) / 1e9;
    double wait_s = fmin(fmax(since_s * (LOOK_FACTOR - 1), 0.2), LOOK_MAX_S);
    meter->next_look_ns = now_ns + (int64_t)(wait_s * 1e9);
    for (int i = 0; i < CHECKS; i++) {
        double due_s = fmin(check_due_s(i, meter->latest_wall_s), 1e9);
        int64_t at_ns = meter->start_ns + (int64_t)(due_s * 1e9);
        if (at_ns > now_ns && at_ns < meter->next_look_ns)
            meter->next_look_ns = at_ns;
    }
}

static bool in_last_stage(const struct meter *meter)
{
    return meter->stage + 1 >= meter->plan.stages;
}

// A stage that can be cut short has its share of the time.
static bool time_is_over(const struct meter *meter, int64_t now_ns)
{
    double share =
        meter->plan.follows ? 1 : (double)(meter->stage + 1) / (double)meter->plan.stages;
    return meter->plan.max_s > 0 &&
           (double)(now_ns - meter->start_ns) / 1e9 >= meter->plan.max_s * share &&
           meter->stages[meter->stage].steps >= FORECAST_STEPS;
}

static void look_at_steps(struct meter *meter)
{
    const struct series *series = &meter->stages[meter->stage];
    if (series->steps == 0)
        return;
    struct steady steady;
    steady_judge(series, &meter->calibrate, &steady);
    meter->step_s = steady.mean_ns / 1e9;
    meter->unsteady = steady.changes;
}

// More steps tell nothing about other programs or starts: these do not keep a sample going.
static double own_half_s(const struct meter *meter, int64_t now_ns)
{
    struct run_projection own;
    return project(meter, now_ns, true, &own) ? (own.high_s.v - own.low_s.v) / 2 : 0;
}

bool meter_enough(struct meter *meter)
{
    int64_t now_ns = meter->mark_ns;
    if (meter->first_step_ns == 0)
        return false;
    bool over = time_is_over(meter, meter->plan.follows ? clock_now_ns() : now_ns);
    if (now_ns < meter->next_look_ns && !over)
        return false;
    enum meter_phase was = meter->phase;
    if (!meter->plan.follows) // a command continues meanwhile
        meter_phase(meter, METER_IDLE);
    struct run_projection now;
    bool enough = over;
    struct forecast part;
    if (project(meter, now_ns, false, &now)) {
        keep_checks(meter, &now);
        meter->latest_wall_s = now.wall_s.v;
        meter->latest_half_s = (now.high_s.v - now.low_s.v) / 2;
        meter->latest_own_s = own_half_s(meter, now_ns);
    }
    if (meter->plan.within > 0 && (in_last_stage(meter) || !meter->plan.follows) &&
        project_stage(meter, meter->stage, &part))
        enough |=
            1.96 * sqrt(part.variance) + part.less_s + part.more_s <= meter->plan.within * part.s;
    look_at_steps(meter);
    if (!meter->plan.follows)
        meter_phase(meter, was);
    next_look(meter, meter->mark_ns);
    return enough;
}

void meter_outlook(const struct meter *meter, struct meter_outlook *out)
{
    *out = (struct meter_outlook){.elapsed_s = (double)(clock_now_ns() - meter->start_ns) / 1e9,
                                  .before_s = (double)meter->before_ns / 1e9,
                                  .wall_s = meter->latest_wall_s,
                                  .half_s = meter->latest_half_s,
                                  .own_half_s = meter->latest_own_s,
                                  .step_s = meter->step_s,
                                  .unsteady = meter->unsteady};
    for (int i = 0; i < METER_STAGES_MAX; i++)
        out->steps += meter->stages[i].steps;
}

void meter_stop(struct meter *meter)
{
    meter_phase(meter, METER_IDLE);
    project(meter, meter->mark_ns, false, &meter->projection);
    meter->stopped = true;
}

// ---- the record

static void fill_phases(const struct meter *meter, const struct steady *steady,
                        struct run_phases *phases)
{
    const int64_t *ns = meter->phase_ns;
    int64_t wall_ns = 0;
    for (int i = 0; i < METER_PHASES; i++)
        wall_ns += ns[i];
    int64_t warmup_ns = steady ? (int64_t)steady->before_ns : 0;
    phases->setup_ns = some_int(ns[METER_SETUP]);
    if (ns[METER_KERNELS] > 0)
        phases->kernels_ns = some_int(ns[METER_KERNELS]);
    phases->load_ns = some_int(ns[METER_LOAD]);
    if (ns[METER_DEVICE] > 0)
        phases->device_ns = some_int(ns[METER_DEVICE]);
    phases->warmup_ns = some_int(warmup_ns);
    phases->train_ns = some_int(ns[METER_TRAIN] - warmup_ns);
    phases->evaluate_ns = some_int(ns[METER_EVALUATE]);
    phases->checkpoint_ns = some_int(ns[METER_CHECKPOINT]);
    if (meter->done[METER_CHECKPOINT] > 0)
        phases->checkpoints = some_int((int64_t)meter->done[METER_CHECKPOINT]);
    phases->idle_ns = some_int(ns[METER_IDLE] + ns[METER_EPOCH_END]);
    phases->wall_ns = some_int(wall_ns);
}

static int fill_checks(const struct meter *meter, double wall_s, struct run *run, struct err *err)
{
    run->checks.known = true;
    for (int i = 0; i < CHECKS; i++) {
        bool again = false; // the first projection came after several of the times
        for (int k = 0; k < i; k++)
            again |= meter->checks[k].after_s.v == meter->checks[i].after_s.v;
        if (!meter->checks[i].wall_s.known || again)
            continue;
        struct run_projection *check = LIST_ADD(&run->checks, err);
        if (!check)
            return ERR_MEMORY;
        *check = meter->checks[i];
        check->error = some_real(check->wall_s.v / wall_s - 1);
        check->covered = some_bool(check->low_s.v <= wall_s && wall_s <= check->high_s.v);
    }
    return 0;
}

static int fill_stages(const struct meter *meter, struct run *run, struct err *err)
{
    for (int i = 0; i < meter->plan.stages && meter->plan.stages > 1; i++) {
        struct run_stage *stage = LIST_ADD(&run->stages, err);
        if (!stage)
            return ERR_MEMORY;
        const struct series *series = &meter->stages[i];
        stage->steps = some_int(series->steps);
        stage->total_steps = some_int(meter->plan.stage_steps[i]);
        if (series->steps > 0)
            stage->step_ms = some_real((double)series->total_ns / (double)series->steps / 1e6);
    }
    return 0;
}

// The stage with most of the training's steps. A stage with only a few measured steps is not
// representative: its first steps choose kernels.
static int main_stage(const struct meter *meter)
{
    int best = 0;
    double most = -1;
    for (int i = 0; i < METER_STAGES_MAX; i++) {
        const struct series *s = &meter->stages[i];
        if (s->steps == 0)
            continue;
        struct steady steady;
        steady_judge(s, &meter->calibrate, &steady);
        double weight =
            steady.mean_ns *
            (double)(meter->plan.stage_steps[i] > 0 ? meter->plan.stage_steps[i] : s->steps);
        if (weight > most) {
            most = weight;
            best = i;
        }
    }
    return best;
}

int meter_fill(struct meter *meter, bool finished, struct run *run, struct err *err)
{
    int64_t now_ns = close_phase(meter);
    const struct series *series = &meter->stages[main_stage(meter)];
    struct steady steady = {0};
    int64_t steps = 0, total_ns = 0;
    for (int i = 0; i < METER_STAGES_MAX; i++) {
        steps += meter->stages[i].steps;
        total_ns += meter->stages[i].total_ns;
    }
    if (steps > 0) {
        steady_judge(series, &meter->calibrate, &steady);
        TRY(steady_fill(&steady, series, &run->steady, err));
        TRY(series_plot(series, &run->step_plot_ms, err));
        run->steps = some_int(steps);
        run->step_ms = some_real((double)total_ns / (double)steps / 1e6);
    }
    TRY(fill_stages(meter, run, err));
    fill_phases(meter, steps > 0 ? &steady : NULL, &run->phases);
    calibrate_fill(&meter->calibrate, (double)run->phases.wall_ns.v / 1e9, &run->drift);
    if (finished)
        TRY(fill_checks(meter, (double)run->phases.wall_ns.v / 1e9, run, err));
    else if (meter->stopped)
        run->projection = meter->projection;
    else
        project(meter, now_ns, false, &run->projection);
    return 0;
}

int meter_peek(const struct meter *meter, struct run *run, struct err *err)
{
    struct meter now = *meter; // a shallow copy: shared data is only read
    return meter_fill(&now, false, run, err);
}
