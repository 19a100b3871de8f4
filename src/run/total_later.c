// SPDX-License-Identifier: Apache-2.0
#include "run/total_later.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "run/meter.h"
#include "run/parts.h"

#define FEW    10   // entries made up for a record without the times of its stretches
#define WITHIN 0.05 // as for any sample of a command
#define MOST   (INT64_C(1) << 50)

static int find_total(const struct run *run, int64_t steps, int64_t epochs, int64_t *total,
                      struct err *err)
{
    const char *counts = run->progress.counts ? run->progress.counts : "steps";
    bool counts_epochs = strcmp(counts, "epochs") == 0;
    if (run->workload)
        return err_set(err, ERR_USAGE, "the total of a workload of fare's is known");
    if (!run->steps.known || run->steps.v <= 0 || !run->phases.train_ns.known)
        return err_set(err, ERR_USAGE,
                       "no steps were measured in this run, so that a total does "
                       "not give a time");
    if (epochs > 0 && !counts_epochs && !run->steps_per_epoch.known) {
        err_set(err, ERR_USAGE, "this run does not tell how many steps an epoch has");
        return err_hint(err, "give --total-steps instead");
    }
    int64_t each = epochs > 0 && !counts_epochs ? run->steps_per_epoch.v : 1;
    *total = epochs > 0 ? epochs : steps;
    if (each <= 0 || *total > MOST / each)
        return err_set(err, ERR_USAGE, "a training of so many steps has no end");
    *total *= each;
    return 0;
}

// Parts of the whole training, if the measured ones go on.
static int64_t scaled(int64_t done, int64_t total, int64_t steps)
{
    double all = (double)done * (double)total / (double)steps;
    return all > (double)done ? (int64_t)(all + 0.5) : done;
}

// As while a command is followed: of the time on the CPUs, others can have taken from it what it
// used itself at most, and nothing from a GPU.
static double others(const struct run *run)
{
    const struct run_use *use = &run->use;
    double cpus = run->machine.usable_cpus.known ? run->machine.usable_cpus.v : 1;
    double share = fmin(use->other_cpu_percent.v, use->cpu_percent.v) / 100 / cpus;
    return use->gpus.v > 0 || share < METER_OTHERS_LEAST ? 0 : fmin(share, 0.5);
}

static void make_plan(const struct run *run, int64_t total, struct meter_plan *p)
{
    const struct run_progress *progress = &run->progress;
    const struct parts none = {0};
    unsigned unseen = 0;
    for (size_t i = 0; i < progress->unseen.count; i++) {
        const char *name = progress->unseen.items[i];
        unseen |= 1U << (strcmp(name, "evaluation") == 0   ? PART_EVALUATION
                         : strcmp(name, "checkpoint") == 0 ? PART_CHECKPOINT
                                                           : PART_EPOCH_END);
    }
    *p = (struct meter_plan){.stage_steps = {total},
                             .stages = 1,
                             .follows = true,
                             .within = WITHIN,
                             .others = others(run),
                             .lengthens = progress->lengthens.known && progress->lengthens.v};
    p->may_add = parts_may_add(&none, unseen, &p->may_save);
    if (run->phases.evaluate_ns.v > 0)
        p->evaluations = scaled(1, total, run->steps.v);
    if (run->phases.checkpoints.known)
        p->checkpoints = scaled(run->phases.checkpoints.v, total, run->steps.v);
}

// Reports the steps with the times of the record's stretches, which take `train_ns` together.
static int64_t report_steps(struct meter *meter, const struct run *run, int64_t at_ns,
                            int64_t train_ns)
{
    const double *times = run->step_plot_ms.items;
    int64_t n = (int64_t)run->step_plot_ms.count, steps = run->steps.v;
    double few[FEW], sum = 0;
    const struct run_steady *s = &run->steady;
    for (int i = 0; i < FEW; i++) {
        double end = i % 2 ? s->high_ms.v : s->low_ms.v;
        few[i] = s->low_ms.known && s->high_ms.known ? end : run->step_ms.v;
    }
    if (n == 0 || n > steps) {
        times = few;
        n = steps < FEW ? steps : FEW;
    }
    for (int64_t i = 0; i < n; i++)
        sum += times[i] * (double)((i + 1) * steps / n - i * steps / n);
    for (int64_t i = 0; i < n && sum > 0; i++) {
        int64_t more = (i + 1) * steps / n - i * steps / n;
        at_ns += (int64_t)(times[i] * (double)more / sum * (double)train_ns);
        meter_at(meter, at_ns);
        meter_steps(meter, 0, more);
    }
    return at_ns;
}

int total_later(struct run *run, int64_t steps, int64_t epochs, struct err *err)
{
    const struct run_phases *p = &run->phases;
    int64_t total = 0;
    TRY(find_total(run, steps, epochs, &total, err));
    int64_t before_ns = p->setup_ns.v + p->kernels_ns.v + p->load_ns.v + p->device_ns.v;
    int64_t train_ns = p->warmup_ns.v + p->train_ns.v;
    int64_t start_ns =
        clock_now_ns() - before_ns - train_ns - p->evaluate_ns.v - p->checkpoint_ns.v;
    struct meter *meter;
    struct meter_plan plan;
    struct run part = {0};
    make_plan(run, total, &plan);
    TRY(meter_new(&meter, start_ns, err));
    meter_plan(meter, &plan);
    int64_t at_ns = start_ns + before_ns;
    meter_at(meter, at_ns);
    meter_phase(meter, METER_TRAIN);
    at_ns = report_steps(meter, run, at_ns, train_ns);
    meter_phase(meter, METER_EVALUATE);
    meter_at(meter, at_ns += p->evaluate_ns.v);
    if (p->evaluate_ns.v > 0)
        meter_evaluated(meter, 1);
    meter_phase(meter, METER_CHECKPOINT);
    meter_at(meter, at_ns += p->checkpoint_ns.v);
    for (int64_t i = 0; i < p->checkpoints.v && i < total; i++)
        meter_checkpointed(meter);
    meter_stop(meter);
    int rc = meter_fill(meter, false, &part, err);
    if (rc == 0 && !part.projection.wall_s.known)
        rc = err_set(err, ERR_USAGE, "too few steps were measured in this run for a projection");
    if (rc == 0)
        rc = text_set(&run->progress.total_from, "option", err);
    if (rc == 0) {
        run->projection = part.projection;
        run->total_steps = some_int(total);
        run->full = some_bool(false);
        if (epochs > 0)
            run->epochs = some_int(epochs);
    }
    record_release(run_fields, &part);
    meter_free(meter);
    return rc;
}
