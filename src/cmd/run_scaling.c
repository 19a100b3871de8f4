// SPDX-License-Identifier: Apache-2.0
#include "cmd/run_scaling.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cmd/table.h"

#define NOISE 0.02 // differences below this are not told

static int64_t ranks_of(const struct run *run)
{
    return run->ranks.known ? run->ranks.v : 1;
}

static bool same(const struct run *a, const struct run *b)
{
    return a->workload && b->workload && strcmp(a->workload, b->workload) == 0 &&
           a->batch.v == b->batch.v;
}

static double step_of(const struct run *run)
{
    return run->steady.step_ms.known ? run->steady.step_ms.v
           : run->step_ms.known      ? run->step_ms.v
                                     : 0;
}

// The run with the fewest ranks of the same training.
static const struct run *base_of(const struct runs *runs, const struct run *run)
{
    const struct run *base = run;
    for (size_t i = 0; i < runs->runs.count; i++) {
        const struct run *other = &runs->runs.items[i];
        if (same(run, other) && ranks_of(other) < ranks_of(base) && step_of(other) > 0)
            base = other;
    }
    return base;
}

static bool on_gpus(const struct run *run)
{
    return run->engine && strcmp(run->engine, "cuda") == 0;
}

static const char *noun(const struct run *run)
{
    return on_gpus(run) ? "GPUs" : "ranks";
}

// What is paid for: GPUs, or whole machines.
static double paid(const struct run *run)
{
    return on_gpus(run) ? (double)ranks_of(run) : run->nodes.known ? (double)run->nodes.v : 1;
}

static double speed_up(const struct run *base, const struct run *run)
{
    return step_of(base) / step_of(run);
}

static double cost(const struct run *base, const struct run *run)
{
    return paid(run) * step_of(run) / (paid(base) * step_of(base));
}

// The whole training's, of so many of the machine's GPUs.
static void bill(char out[32], const struct run *base, const struct run *run, int64_t hour)
{
    double s = run->projection.wall_s.known               ? run->projection.wall_s.v
               : run->full.v && run->phases.wall_ns.known ? (double)run->phases.wall_ns.v / 1e9
                                                          : 0;
    double gpus = run->machine.gpus.known && run->machine.gpus.v > 0 ? (double)run->machine.gpus.v
                                                                     : paid(run);
    double share = on_gpus(run) ? paid(run) / gpus : paid(run);
    if (hour > 0 && s > 0)
        snprintf(out, 32, "%.4g USD", (double)hour / 1e9 * share * s / 3600);
    else
        snprintf(out, 32, "× %.2f", cost(base, run));
}

static void percent(char out[24], struct maybe_real ms, const struct run *run)
{
    if (ms.known && run->step_ms.known && run->step_ms.v > 0)
        snprintf(out, 24, "%.0f %%", ms.v / run->step_ms.v * 100);
    else
        snprintf(out, 24, "-");
}

static void add_row(struct table *table, const struct runs *runs, const struct run *run,
                    int64_t hour)
{
    const struct run *base = base_of(runs, run);
    char name[48], step[24], faster[24], part[24], parts[3][24], money[32];
    snprintf(name, sizeof name, "%.20s %lld", run->workload, (long long)ranks_of(run));
    snprintf(step, sizeof step, "%.4g", step_of(run));
    snprintf(faster, sizeof faster, "%.2f", speed_up(base, run));
    snprintf(part, sizeof part, "%.0f %%",
             100 * speed_up(base, run) * (double)ranks_of(base) / (double)ranks_of(run));
    percent(parts[0], run->step_calculation_ms, run);
    percent(parts[1], run->step_communication_ms, run);
    percent(parts[2], run->step_waiting_ms, run);
    bill(money, base, run, hour);
    const char *const cells[] = {name, step, faster, part, parts[0], parts[1], parts[2], money};
    table_row(table, OUT_PLAIN, cells, NULL);
}

// What most of the time went to that a division of the work ought to have saved.
static void why(char out[160], const struct run *base, const struct run *run)
{
    double ideal = step_of(base) * (double)ranks_of(base) / (double)ranks_of(run);
    double talk = run->step_communication_ms.v, wait = run->step_waiting_ms.v;
    double slow = run->step_calculation_ms.v - ideal;
    if (!run->step_calculation_ms.known)
        snprintf(out, 160, "where its time goes is not known");
    else if (talk >= wait && talk >= slow)
        snprintf(out, 160, "%.3g ms of a step go to exchanging gradients", talk);
    else if (wait >= slow)
        snprintf(out, 160, "%.3g ms of a step are spent waiting for the slowest", wait);
    else
        snprintf(
            out, 160,
            "a rank's share of the batch takes %.3g ms to calculate, not %.3g: it is too small, "
            "or the ranks share the machine's cores and memory",
            run->step_calculation_ms.v, ideal);
}

static void say(struct out *out, const struct run *base, const struct run *run)
{
    char reason[160];
    if (run == base || step_of(run) <= 0)
        return;
    why(reason, base, run);
    if (speed_up(base, run) < 1 - NOISE)
        out_row(out, run->workload, "%lld %s are slower than %lld: %s", (long long)ranks_of(run),
                noun(run), (long long)ranks_of(base), reason);
    else if (cost(base, run) > 1 + NOISE)
        out_row(out, run->workload, "%lld %s cost %.2f times as much as %lld: %s",
                (long long)ranks_of(run), noun(run), cost(base, run), (long long)ranks_of(base),
                reason);
}

void run_scaling(struct out *out, const struct runs *runs, int64_t hour)
{
    const struct table_column columns[] = {
        {"ranks", TABLE_LEFT},           {"ms/step", TABLE_RIGHT},
        {"speed-up", TABLE_RIGHT},       {"efficiency", TABLE_RIGHT},
        {"calculation", TABLE_RIGHT, 3}, {"communication", TABLE_RIGHT, 2},
        {"waiting", TABLE_RIGHT, 1},     {"cost", TABLE_RIGHT},
    };
    bool several = false;
    for (size_t i = 1; i < runs->runs.count; i++)
        several |= ranks_of(&runs->runs.items[i]) != ranks_of(&runs->runs.items[0]);
    if (!several)
        return;
    struct table table = TABLE(columns);
    for (size_t i = 0; i < runs->runs.count; i++)
        if (runs->runs.items[i].workload && step_of(&runs->runs.items[i]) > 0)
            add_row(&table, runs, &runs->runs.items[i], hour);
    out_printf(out, "\n");
    table_print(&table, out);
    for (size_t i = 0; i < runs->runs.count; i++)
        if (runs->runs.items[i].workload)
            say(out, base_of(runs, &runs->runs.items[i]), &runs->runs.items[i]);
}
