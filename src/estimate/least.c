// SPDX-License-Identifier: Apache-2.0
#include "estimate/least.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "estimate/rates.h"

#define UNKNOWN     "unknown"
#define STAGE_LEAST (1.0 / 3) // of a step's operations: a stage that trains a part, forward alone
#define CACHED_MOST 256e6     // bytes of a step that may stay in the GPU's cache

struct lower {
    double s;
    char why[sizeof((struct estimate *)0)->why];
};

static const struct run_library *find_package(const struct run *run, const char *name)
{
    for (size_t i = 0; i < run->code.packages.count; i++) {
        const struct run_library *package = &run->code.packages.items[i];
        if (package->name && strcmp(package->name, name) == 0)
            return package;
    }
    return NULL;
}

// As launches.csv names it. A command's is what its script's text shows, else what its Python has,
// if that is one only. PyTorch 1 was quicker from one operation to the next.
static const char *framework_of(const struct run *run)
{
    static const char *const known[][2] = {{"fare", "fare"},
                                           {"pytorch", "pytorch"},
                                           {"transformers", "pytorch"},
                                           {"keras:torch", "pytorch"}};
    const char *name = run->framework ? run->framework : "";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i][0]) == 0)
            return known[i][1];
    const struct run_library *torch = find_package(run, "torch");
    if (strcmp(name, "command") != 0 || !torch)
        return UNKNOWN;
    const char *loop = run->code.loop;
    if (loop && strcmp(loop, "pytorch") != 0)
        return loop;
    bool old = torch->version && strncmp(torch->version, "1.", 2) == 0;
    bool others = find_package(run, "tensorflow") || find_package(run, "jax");
    return old || (others && !loop) ? UNKNOWN : "pytorch";
}

static const struct estimate_launches *launches_of(const struct least_ask *ask, const char *kind)
{
    const char *framework = framework_of(ask->run);
    const char *const nets[] = {ask->run->workload, kind, UNKNOWN};
    const struct estimate_launches *found = NULL;
    for (size_t i = 0; i < sizeof nets / sizeof *nets && !found; i++)
        found = nets[i] ? estimate_launches(ask->tables, framework, nets[i]) : NULL;
    return found ? found : estimate_launches(ask->tables, UNKNOWN, UNKNOWN);
}

static double steps_of(const struct run *run) // 0: unknown
{
    if (run->total_steps.known)
        return (double)run->total_steps.v;
    return run->full.known && run->full.v && run->steps.known ? (double)run->steps.v : 0;
}

// TFLOP/s of the GPU at the precision in which it is fastest, of those that nets train in.
static double peak_of(const struct device *device)
{
    static const enum rate_precision usual[] = {RATE_FP32, RATE_TF32, RATE_FP16, RATE_BF16};
    double most = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        most = fmax(most, rate_matrix(device, usual[i], NULL));
    return most;
}

// The host starts one kernel after the other.
static struct lower by_launches(const struct least_ask *ask, const char *kind)
{
    const struct estimate_launches *l = launches_of(ask, kind);
    struct lower lower = {0};
    double steps = steps_of(ask->run);
    if (!l || steps <= 0)
        return lower;
    double us = l->step_us + l->launches * l->launch_us;
    bool graph = l->step_us <= 0;
    lower.s = steps * us / 1e6;
    snprintf(lower.why, sizeof lower.why, "%s, at least %.3g ms each: %.0f %s of %g µs%s",
             units_count((int64_t)steps, "step").s, us / 1e3, l->launches,
             graph ? "kernels one after the other" : "launches by the host", l->launch_us,
             graph ? "" : ", and its own work");
    return lower;
}

// fare knows the operations of its own nets. 16 bits are the least that they are stored in.
static struct lower by_work(const struct least_ask *ask)
{
    const struct run *run = ask->run;
    double share = run->stages.count > 0 ? STAGE_LEAST : 1, peak = peak_of(ask->to->device);
    double bandwidth = ask->to->device->memory_mbs * 1e6, s = 0;
    struct lower lower = {0};
    if (run->step_flops.known && peak > 0)
        s = run->step_flops.v / (peak * 1e12);
    if (run->step_bytes.known && run->step_bytes.v > CACHED_MOST && bandwidth > 0)
        s = fmax(s, run->step_bytes.v / 2 / bandwidth);
    lower.s = s * share * steps_of(run);
    snprintf(lower.why, sizeof lower.why, "its operations and bytes at the full rates of the %.60s",
             ask->to->device->name);
    return lower;
}

// No training was seen to gain more.
static struct lower by_peaks(const struct least_ask *ask)
{
    const struct estimate_constant *share = estimate_constant(ask->tables, "cpu_to_gpu_least");
    double peak = peak_of(ask->to->device);
    struct lower lower = {0};
    if (!share || peak <= 0)
        return lower;
    lower.s = share->value * ask->time_s * ask->cpu_tflops / peak;
    snprintf(lower.why, sizeof lower.why,
             "%.2g of the time by peak rates, %.3g TFLOP/s of the CPUs used and %.4g of the %.60s",
             share->value, ask->cpu_tflops, peak, ask->to->device->name);
    return lower;
}

void least_make(const struct least_ask *ask, struct estimate *out)
{
    const struct lower lowers[] = {by_launches(ask, out->net), by_work(ask), by_peaks(ask)};
    const struct lower *most = NULL;
    for (size_t i = 0; i < sizeof lowers / sizeof *lowers; i++)
        if (isfinite(lowers[i].s) && lowers[i].s > (most ? most->s : 0))
            most = &lowers[i];
    if (!most) {
        out->kind = ESTIMATE_UNKNOWN;
        out->reason = "no estimate";
        snprintf(out->why, sizeof out->why,
                 "a CPU does not show what a GPU waits for, and the number of steps is not known");
        return;
    }
    out->kind = ESTIMATE_BOUND;
    out->time_s = out->low_s = out->high_s = most->s / (ask->to->gpus > 1 ? ask->to->gpus : 1);
    out->device = out->time_s / ask->time_s;
    snprintf(out->why, sizeof out->why, "%s", most->why);
}
