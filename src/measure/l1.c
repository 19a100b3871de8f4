// SPDX-License-Identifier: Apache-2.0
// l1: times the distances between all pairs of two sets of vectors. Nothing is trained.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "measure/runner.h"

#define RESULT_MAX INT64_C(4000000000) // numbers
#define SIDE_MAX   (1 << 20)
#define SECONDS    3 // how long passes are repeated
#define PASSES     5 // at least
#define HURRIED    3 // the same where the user gives a time
#define WHOLE      4 // passes of the whole run, as in PyTorch's script
#define PAIRS      4096

struct l1 {
    struct engine_run with;
    float *a, *b, *out;
    float *own_a, *own_b, *own_out; // where the engine has no host memory for them
    int64_t fastest_ns;
    struct engine_l1_times apart; // the fastest of each; 0: no separate device
    double peak;                  // per second
};

int describe_l1(const struct measure_options *o, struct run *run, struct err *err)
{
    char words[96];
    snprintf(words, sizeof words, "n=%lld m=%lld dim=%lld passes=%d", (long long)o->n,
             (long long)o->m, (long long)o->dim, WHOLE);
    return text_set(&run->recipe, words, err);
}

static void fill_uniform(float *values, int64_t count, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed);
    for (int64_t i = 0; i < count; i++)
        values[i] = rng_float(&rng);
}

// The largest relative error over pairs spread through the whole result.
static double largest_error(const struct l1 *l, const struct measure_options *o)
{
    double largest = 0;
    for (int64_t k = 0; k < PAIRS; k++) {
        int64_t i = k * 7919 % o->n, j = k * 104729 % o->m;
        double sum = 0;
        for (int64_t d = 0; d < o->dim; d++)
            sum += fabs((double)l->a[i * o->dim + d] - (double)l->b[j * o->dim + d]);
        double error = fabs((double)l->out[i * o->m + j] - sum) / (sum > 0 ? sum : 1);
        largest = fmax(largest, error);
    }
    return largest;
}

static int pass(struct session *s, struct l1 *l, struct err *err)
{
    const struct measure_options *o = s->o;
    meter_phase(s->meter, METER_TRAIN);
    int64_t began_ns = clock_now_ns();
    int rc = l->with.engine->l1->distances(&l->with.options, l->a, l->b, o->n, o->m, o->dim, l->out,
                                           err);
    int64_t took_ns = clock_now_ns() - began_ns;
    meter_steps(s->meter, 0, 1);
    l->fastest_ns = took_ns < l->fastest_ns ? took_ns : l->fastest_ns;
    meter_phase(s->meter, METER_IDLE);
    return rc;
}

static double faster(double best, double now)
{
    return best > 0 && best < now ? best : now;
}

// A pass copies and calculates at the same time, so each is timed by itself outside of it.
static int time_apart(const struct session *s, struct l1 *l, struct err *err)
{
    const struct measure_options *o = s->o;
    const struct engine_l1 *engine = l->with.engine->l1;
    struct engine_l1_times now = {0};
    if (!engine->times)
        return 0;
    TRY(engine->times(&l->with.options, l->a, l->b, o->n, o->m, o->dim, &now, err));
    l->apart.to_device = faster(l->apart.to_device, now.to_device);
    l->apart.calculation = faster(l->apart.calculation, now.calculation);
    return 0;
}

// Alternates with what is timed apart and the loop that measures the processor's peak: shared
// machines drift, so all must be measured at the same time.
static int passes(struct session *s, struct l1 *l, struct err *err)
{
    const struct engine_l1 *engine = l->with.engine->l1;
    int64_t given_ns = s->o->max_time_ns, most_ns = SECONDS * NS_PER_S;
    int64_t end_ns = clock_now_ns() + (given_ns > 0 && given_ns < most_ns ? given_ns : most_ns);
    int least = given_ns > 0 ? HURRIED : PASSES, rc = 0;
    for (int i = 0; rc == 0 && (i < least || clock_now_ns() < end_ns) && !run_plan_over(&s->plan);
         i++) {
        rc = pass(s, l, err);
        if (session_due(s))
            session_keep(s);
        if (rc == 0)
            rc = time_apart(s, l, err);
        if (rc == 0 && engine->peak)
            l->peak = fmax(l->peak, engine->peak(&l->with.options));
    }
    meter_phase(s->meter, METER_EVALUATE);
    return rc;
}

static void note_result(const struct session *s, const struct l1 *l)
{
    const struct measure_options *o = s->o;
    struct run *run = s->run;
    if (l->fastest_ns == INT64_MAX)
        return;
    double transfer = l->apart.to_device;
    double calculation =
        l->apart.calculation > 0 ? l->apart.calculation : (double)l->fastest_ns / 1e9;
    double rate = (double)o->n * (double)o->m * (double)o->dim / calculation;
    run->l1_transfer_ms = some_real(transfer * 1e3);
    run->l1_calculation_ms = some_real(calculation * 1e3);
    run->l1_pairs_per_s = some_real(rate);
    if (l->peak > 0)
        run->l1_share_of_peak = some_real(rate / l->peak);
    double bytes = (double)((o->n + o->m) * o->dim) * sizeof *l->a;
    if (transfer > 0)
        run->l1_copy_bytes_per_s = some_real(bytes / transfer);
    run->l1_largest_error = some_real(largest_error(l, o));
    run->reached = some_bool(run->l1_largest_error.v <= s->workload->reach);
}

// The engine's host memory, which it copies fastest, or else ordinary memory.
static float *allocate(const struct engine_run *with, int64_t count, float **own)
{
    const struct engine_l1 *engine = with->engine->l1;
    int64_t bytes = count * (int64_t)sizeof **own;
    float *memory = engine->host_alloc ? engine->host_alloc(&with->options, bytes) : NULL;
    *own = memory ? NULL : malloc((size_t)bytes);
    return memory ? memory : *own;
}

static int calculate(struct session *s, struct l1 *l, struct err *err)
{
    const struct measure_options *o = s->o;
    meter_phase(s->meter, METER_LOAD);
    l->a = allocate(&l->with, o->n * o->dim, &l->own_a);
    l->b = allocate(&l->with, o->m * o->dim, &l->own_b);
    l->out = allocate(&l->with, o->n * o->m, &l->own_out);
    int rc = l->a && l->b && l->out ? 0 : err_memory(err);
    if (rc == 0) {
        fill_uniform(l->a, o->n * o->dim, (uint64_t)o->seed);
        fill_uniform(l->b, o->m * o->dim, (uint64_t)o->seed + 1);
        memset(l->out, 0, (size_t)(o->n * o->m) * sizeof *l->out); // map its pages before timing
        if (l->own_out && l->with.engine->l1->host_alloc)
            buf_printf(s->says, "the result's memory could not be page-locked: copies to it, and "
                                "so the passes, take longer\n");
        rc = passes(s, l, err);
    }
    if (rc == 0)
        note_result(s, l);
    free(l->own_a);
    free(l->own_b);
    free(l->own_out);
    if (l->with.engine->l1->host_free)
        l->with.engine->l1->host_free();
    return rc;
}

static int work(struct session *s, struct err *err)
{
    struct l1 *l = s->runner;
    const struct measure_options *o = s->o;
    const struct engine_l1 *engine = l->with.engine->l1;
    if (!engine)
        return err_set(err, ERR_USAGE, "the engine %s has no l1", l->with.engine->name);
    if (o->n <= 0 || o->m <= 0 || o->dim <= 0 || o->n > SIDE_MAX || o->m > SIDE_MAX ||
        o->dim > SIDE_MAX || o->n > RESULT_MAX / o->m)
        return err_set(err, ERR_USAGE,
                       "--n, --m and --dim must be at least 1, and n × m below 4e9");
    int rc = 0;
    if (engine->load_kernels) {
        meter_phase(s->meter, METER_KERNELS);
        rc = engine->load_kernels(&l->with.options, err);
    }
    meter_plan(s->meter, &(struct meter_plan){.stage_steps = {WHOLE}, .stages = 1});
    if (rc == 0)
        rc = calculate(s, l, err);
    int filled = meter_fill(s->meter, false, s->run, err);
    rc = rc != 0 ? rc : filled;
    s->run->total_steps = some_int(WHOLE);
    if (rc == 0)
        rc = describe_l1(o, s->run, err);
    bool over = run_plan_over(&s->plan);
    return rc == 0 ? text_set(&s->run->ended, over ? run_plan_ended(&s->plan) : "sampled", err)
                   : rc;
}

static int run(struct session *s, struct err *err)
{
    struct l1 l = {.fastest_ns = INT64_MAX};
    s->runner = &l;
    s->plan.max_s = 0; // limited by passes, not time
    if (s->o->precision && strcmp(s->o->precision, "f32") != 0)
        buf_printf(s->says, "l1 ignores --precision and uses f32\n");
    return engine_run(s, "f32", &l.with, work, err);
}

static bool takes(const struct session *s)
{
    return s->workload && s->workload->metric == WORKLOAD_L1;
}

const struct runner runner_l1 = {.takes = takes, .in_process = true, .run = run};
