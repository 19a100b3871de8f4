// SPDX-License-Identifier: Apache-2.0
#include "record/reconcile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Step times this close agree: recording itself slows a program that waits for the host by a tenth.
#define ALIKE 0.10
// The run's steps are the account's if their time by both is within this factor.
#define SAME_STEPS 1.5

// How far NVML's utilisation may be from the share of time in which kernels or copies run. On an
// H200 it was 1.05 to 1.36 times that share, the more the shorter the kernels. GPM's share of
// multiprocessors is below it. Both lag behind: about a second of their time is something else.
#define NVML_UNDER 1.1
#define NVML_OVER  4.0
#define NOISE      0.05
#define LAG_S      1.0

// Waiting up to this multiple of the recorded waiting has the same reasons.
#define SAME_REASONS 2.0

// Signs that a program waits for its data: loaders at work, storage, or a main process that is idle
// while the GPU is.
#define WORKERS_PERCENT 10
#define DISK_WAITING    0.2
#define STORAGE_PERCENT 10
#define IDLE_PERCENT    50

#define LAUNCHES_MOST 1e12 // in a step: more are nonsense

struct share_range {
    double low, high;
};

static double steady_s(const struct run *run) // 0: unknown
{
    const struct run_steady *s = &run->steady;
    return s->from_s.known && s->to_s.known ? fmax(s->to_s.v - s->from_s.v, 0) : 0;
}

// The time of the steady state's steps, without evaluations and checkpoints. The phase goes on
// after the last step that was seen. 0: unknown.
static double steps_s(const struct run *run)
{
    double train_s = run->phases.train_ns.known ? (double)run->phases.train_ns.v / 1e9 : 0;
    return fmin(steady_s(run), fmax(train_s, 0));
}

static double measured_ms(const struct run *run) // mean; 0: unknown
{
    struct maybe_int steps = run->steady.steps;
    if (steps_s(run) > 0 && steps.known && steps.v > 0)
        return steps_s(run) * 1e3 / (double)steps.v;
    return run->step_ms.known ? run->step_ms.v : 0;
}

// The part of the steady state's time that is steps.
static double share_of_steps(const struct run *run)
{
    return steps_s(run) > 0 ? steps_s(run) / steady_s(run) : 1;
}

// Without one for each GPU, the account's processes do not stand for all.
static bool has_utilisation(const struct run *run)
{
    int64_t gpus = run->use.gpus.known ? run->use.gpus.v : 1, recorded = run->account.processes.v;
    return run->use.steady.gpu_percent.known && steady_s(run) > 0 &&
           gpus <= (recorded > 1 ? recorded : 1);
}

// In which the GPU's busy share of a step must be, by the utilisation. In the rest of the time it
// may be anything.
static struct share_range plausible(const struct run *run)
{
    const struct run_activity *use = &run->use.steady;
    double steps = share_of_steps(run), nvml = use->gpu_percent.v / 100;
    if (!has_utilisation(run))
        return (struct share_range){0, 1 + ALIKE};
    double noise = NOISE + LAG_S / steady_s(run), low = nvml / NVML_OVER;
    if (use->sm_percent.known)
        low = fmax(low, use->sm_percent.v / 100);
    return (struct share_range){(low - noise - (1 - steps)) / steps,
                                (NVML_UNDER * nvml + noise) / steps};
}

static bool within(struct share_range range, double share)
{
    return share >= range.low && share <= range.high;
}

static bool waits_for_data(const struct run *run)
{
    const struct run_account *a = &run->account;
    const struct run_activity *use = &run->use.steady;
    double workers = use->workers_cpu_percent.known ? use->workers_cpu_percent.v : 0;
    bool copies = false;
    for (size_t i = 0; i < a->work.count; i++)
        copies |= a->work.items[i].name && strcmp(a->work.items[i].name, "copies to the GPU") == 0;
    bool seen = a->data_share.v > 0 && a->data_share.v >= fmax(a->sync_share.v, a->host_share.v);
    bool storage =
        (use->disk_waiting.known && use->disk_waiting.v >= DISK_WAITING) ||
        (use->io_pressure_percent.known && use->io_pressure_percent.v >= STORAGE_PERCENT);
    bool idle = use->cpu_percent.known && use->cpu_percent.v - workers <= IDLE_PERCENT;
    return seen || (copies && (workers >= WORKERS_PERCENT || storage || idle));
}

static void scale(struct maybe_real *share, double by)
{
    share->v = fmin(share->v * by, 1);
}

// The GPU is busy for that share of a step of `full_ms`; the rest is waiting.
static void spread(struct run *run, double busy, double full_ms)
{
    struct run_account *a = &run->account;
    struct maybe_real *gaps[] = {&a->data_share, &a->sync_share, &a->host_share, &a->short_share};
    enum { GAPS = sizeof gaps / sizeof *gaps };
    double work = busy / a->busy_share.v, part = a->step_ms.v / full_ms, seen = 0;
    for (size_t i = 0; i < GAPS; i++)
        seen += gaps[i]->v * part;
    double waits = 1 - busy, missing = waits - seen;
    bool data = missing > 0 && waits_for_data(run);
    if (seen > 0 && !data && waits <= SAME_REASONS * seen) {
        part *= waits / seen;
        missing = 0;
    }
    for (size_t i = 0; i < GAPS; i++)
        scale(gaps[i], part);
    if (data)
        a->data_share = some_real(fmin(a->data_share.v + missing, 1));
    else if (missing > 0)
        a->unseen_share = some_real(missing);
    for (size_t i = 0; i < a->work.count; i++)
        scale(&a->work.items[i].share, work);
    scale(&a->exposed_share, work);
    a->busy_share.v = busy;
}

static bool alike(double a, double b)
{
    return fabs(a / b - 1) <= ALIKE;
}

// Epochs and samples are not steps of the GPU.
static bool counts_steps(const struct run *run)
{
    return !run->progress.counts || strcmp(run->progress.counts, "steps") == 0;
}

// How long the account's steps last on average, if the run's last `full_ms`. They may be others:
// layers, or updates after several batches. Where the number of launches does not tell, the
// utilisation must agree. 0: nothing does.
static double lasting_ms(const struct run *run, double full_ms)
{
    const struct run_account *a = &run->account;
    double between_ms = a->between_ms.known ? a->between_ms.v : 0;
    struct share_range range = plausible(run);
    if (between_ms > 0) {
        bool same = fmax(full_ms / between_ms, between_ms / full_ms) <= SAME_STEPS;
        return same || alike(full_ms, a->step_ms.v) ? full_ms : between_ms;
    }
    if (!counts_steps(run) && !has_utilisation(run))
        return a->step_ms.v;
    if (within(range, a->busy_share.v * a->step_ms.v / full_ms))
        return full_ms;
    return within(range, a->busy_share.v) ? a->step_ms.v : 0;
}

// The records are not of the steps; which they are is unknown.
static void drop(struct run_account *a)
{
    struct maybe_real *shares[] = {&a->busy_share, &a->exposed_share, &a->data_share,
                                   &a->sync_share, &a->host_share,    &a->short_share};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        *shares[i] = (struct maybe_real){0};
    for (size_t i = 0; i < a->work.count; i++) {
        free(a->work.items[i].name);
        free(a->work.items[i].precision);
    }
    free(a->work.items);
    memset(&a->work, 0, sizeof a->work);
    a->launches_per_step = (struct maybe_real){0};
    if (!a->off &&
        text_set(&a->off, "the recorded steps contradict the GPU's utilisation", NULL) != 0)
        a->off = NULL;
}

bool run_reconcile(struct run *run)
{
    struct run_account *a = &run->account;
    double full_ms = measured_ms(run), step_ms = a->step_ms.known ? a->step_ms.v : 0;
    if (a->full_step_ms.known || !a->busy_share.known || !(a->busy_share.v > 0) || !(full_ms > 0) ||
        !(step_ms > 0))
        return false;
    double lasts_ms = lasting_ms(run, full_ms);
    double busy = lasts_ms > 0 ? fmin(a->busy_share.v * (step_ms / lasts_ms), 1)
                               : run->use.steady.gpu_percent.v / 100 / share_of_steps(run);
    a->full_step_ms = some_real(full_ms);
    if (busy < plausible(run).low) {
        drop(a);
        return true;
    }
    if (lasts_ms > 0 && counts_steps(run))
        a->launches_per_step.v = fmin(a->launches_per_step.v * (full_ms / lasts_ms), LAUNCHES_MOST);
    if (alike(lasts_ms, step_ms))
        return false;
    spread(run, fmin(busy, 1), lasts_ms > 0 ? lasts_ms : full_ms);
    return true;
}
