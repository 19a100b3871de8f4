// SPDX-License-Identifier: Apache-2.0
#include "cmd/run_text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "cmd/out.h"
#include "view/run_words.h"

// ---- the table

static void number(char out[24], int digits, struct maybe_real v)
{
    if (v.known)
        snprintf(out, 24, "%.*f", digits, v.v);
    else
        snprintf(out, 24, "-");
}

static void outcome(char out[48], const struct run *run)
{
    if (run->problem)
        snprintf(out, 48, "failed");
    else if (run->l1_largest_error.known)
        snprintf(out, 48, "err %.0e", run->l1_largest_error.v);
    else if (run->test_accuracy.known && !run->step_tokens.known)
        snprintf(out, 48, "%.1f %%", run->test_accuracy.v * 100);
    else if (run->last_loss.known)
        snprintf(out, 48, "loss %.2f", run->last_loss.v);
    else
        snprintf(out, 48, "-");
}

// "31.2 s ± 2 %": projected, or measured if the training finished. "12 s to 2 min 05 s" if the
// interval is wide.
static void whole(char out[48], const struct run *run)
{
    char time[24], low[24], high[24];
    snprintf(out, 48, "-");
    if (run->projection.wall_s.known) {
        const struct run_projection *p = &run->projection;
        clock_words((int64_t)(p->wall_s.v * 1e9), time, sizeof time);
        double share = units_half_width(p->low_s.v, p->high_s.v, p->wall_s.v);
        clock_words((int64_t)(p->low_s.v * 1e9), low, sizeof low);
        clock_words((int64_t)(p->high_s.v * 1e9), high, sizeof high);
        if (share > 50)
            snprintf(out, 48, "%s to %s", low, high);
        else
            snprintf(out, 48, "%s ± %.*f %%", time, share < 1.95 ? 1 : 0, share);
    } else if (run->full.known && run->full.v && run->phases.wall_ns.known) {
        clock_words(run->phases.wall_ns.v, time, sizeof time);
        snprintf(out, 48, "%s", time);
    }
}

static bool unsteady(const struct run *run)
{
    return run->steady.kind && strcmp(run->steady.kind, "unsteady") == 0;
}

static void step_time(char out[24], const struct run *run)
{
    struct maybe_real ms = run->steady.step_ms.known ? run->steady.step_ms : run->step_ms;
    if (unsteady(run))
        snprintf(out, 24, "unsteady");
    else if (ms.known)
        snprintf(out, 24, "%.*f", ms.v < 100 ? 2 : 0, ms.v);
    else
        snprintf(out, 24, "-");
}

static void epoch_time(char out[24], const struct run *run)
{
    snprintf(out, 24, "-");
    if (run->epoch_s.known)
        clock_words((int64_t)(run->epoch_s.v * 1e9), out, 24);
}

void run_text_table(struct out *out, const struct run *runs, size_t count)
{
    bool batches = false;
    for (size_t i = 1; i < count; i++)
        batches |= runs[i].batch.v != runs[0].batch.v && runs[i].workload && runs[0].workload &&
                   strcmp(runs[i].workload, runs[0].workload) == 0;
    const struct table_column columns[] = {
        {batches ? "batch" : "workload", TABLE_LEFT},
        {"data", TABLE_LEFT, 5, 5},
        {"samples/s", TABLE_RIGHT, 1},
        {"ms/step", TABLE_RIGHT, 3},
        {"epoch", TABLE_RIGHT, 4},
        {"whole training", TABLE_LEFT},
        {"result", TABLE_LEFT, 2},
    };
    struct table table = TABLE(columns);
    for (size_t i = 0; i < count; i++) {
        const struct run *r = &runs[i];
        char speed[24], step[24], epoch[24], all[48], result[48], name[48];
        number(speed, 0, r->samples_per_s);
        step_time(step, r);
        epoch_time(epoch, r);
        snprintf(name, sizeof name, "%s", r->workload ? r->workload : "");
        if (batches && r->batch.known)
            snprintf(name, sizeof name, "%.20s %lld", r->workload, (long long)r->batch.v);
        whole(all, r);
        outcome(result, r);
        const char *const cells[] = {
            name, r->data.name ? r->data.name : "-", speed, step, epoch, all, result};
        table_row(&table, OUT_PLAIN, cells, NULL);
    }
    table_print(&table, out);
}

// Printed once per workload, at its largest batch with a known speed.
static void say_saturation(struct out *out, const struct runs *runs, size_t at)
{
    const struct run_group *largest = &runs->groups.items[at], *enough = NULL;
    bool several = false;
    for (size_t i = 0; i < runs->groups.count; i++) {
        const struct run_group *g = &runs->groups.items[i];
        if (strcmp(g->workload, largest->workload) != 0 || !g->samples_per_s.known)
            continue;
        if (g->batch.v > largest->batch.v)
            return;
        several |= g->saturated.known;
        if (g->saturated.known && g->saturated.v && (!enough || g->batch.v < enough->batch.v))
            enough = g;
    }
    if (!several || !largest->samples_per_s.known)
        return;
    if (enough)
        out_row(out, enough->workload, "saturates at batch %lld: larger ones gain less than 5 %%",
                (long long)enough->batch.v);
    else
        out_row(out, largest->workload,
                "batch %lld, the largest tried, still gains over 5 %%: larger ones may gain more",
                (long long)largest->batch.v);
}

static void say_accuracy(struct out *out, const struct run_group *g)
{
    char target[64] = "";
    if (!g->accuracy.known)
        return;
    if (g->reached.known)
        snprintf(target, sizeof target, "; %lld of %lld reached the target",
                 (long long)g->reached.v, (long long)g->runs.v);
    out_row(out, g->workload,
            "accuracy over the seeds: mean %.2f %%, %.2f to %.2f %%, standard deviation %.2f %%%s",
            g->accuracy.v * 100, g->low_accuracy.v * 100, g->high_accuracy.v * 100,
            g->accuracy_spread.v * 100, target);
}

void run_text_notes(struct out *out, const struct runs *runs, const struct run_plan *plan)
{
    for (size_t i = 0; i < runs->runs.count; i++) {
        const struct run *run = &runs->runs.items[i];
        if (runs->runs.count == 1)
            out_sparkline(out, run->workload, "steps took ", run->step_plot_ms.items,
                          run->step_plot_ms.count, "ms");
        if (unsteady(run))
            out_row(out, run->workload, "the step times never settled: there is no single figure%s",
                    run->projection.wall_s.known ? ", and the whole training's time is a guess"
                                                 : "");
        struct buf why = {0};
        run_words_tokens(run, &why);
        if (why.len > 0)
            out_row(out, run->workload, "%s", buf_str(&why));
        buf_reset(&why);
        run_words_ranks(run, &why);
        if (why.len > 0)
            out_row(out, run->workload, "%s", buf_str(&why));
        buf_reset(&why);
        run_words_l1(run, &why);
        if (why.len > 0)
            out_row(out, run->workload, "%s", buf_str(&why));
        buf_reset(&why);
        if (run->stopped_by && strcmp(run->stopped_by, "max-time") == 0 &&
            measure_stop_words(plan, run, &why))
            out_row(out, run->workload, "%s", buf_str(&why));
        out->text.failed |= why.failed;
        buf_release(&why);
        for (size_t k = 0; k < run->taints.count; k++)
            out_row(out, run->workload, "%s", run->taints.items[k]);
        if (run->reached.known && !run->reached.v)
            out_row(out, run->workload, "did not reach the result of a correct run");
    }
    for (size_t i = 0; i < runs->groups.count; i++) {
        const struct run_group *g = &runs->groups.items[i];
        if (g->spread.known)
            out_row(out, g->workload,
                    "batch %lld: %lld runs, %s to %s ms per step, spread %.1f %% (standard "
                    "deviation)",
                    (long long)g->batch.v, (long long)g->runs.v, units_number(g->low_ms.v).s,
                    units_number(g->high_ms.v).s, g->spread.v * 100);
        say_accuracy(out, g);
        say_saturation(out, runs, i);
    }
}

void run_text_bills(struct out *out, const struct measure *m)
{
    for (size_t i = 0; i < m->runs.runs.count; i++) {
        const struct run *run = &m->runs.runs.items[i];
        SCOPED(buf_release) struct buf bill = {0};
        if (measure_price_bill(m->price, run, &bill))
            out_row(out, run->workload, "%s", buf_str(&bill));
        out->text.failed |= bill.failed;
    }
}

void run_text_says(struct measure *m, bool price)
{
    if (price && m->price && isatty(STDERR_FILENO))
        buf_printf(&m->says, "the bill is derived from %s\n", measure_price_words(m->price));
    out_complain(buf_str(&m->says));
    buf_reset(&m->says);
}

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

// The cost of the whole training on the GPUs it used, at `hour` for the whole machine; without a
// price, relative to `base`.
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
        snprintf(out, 160, "%s ms of a step go to exchanging gradients", units_number(talk).s);
    else if (wait >= slow)
        snprintf(out, 160, "%s ms of a step are spent waiting for the slowest",
                 units_number(wait).s);
    else
        snprintf(out, 160,
                 "a rank's share of the batch takes %s ms to calculate, not %s: it is too small, "
                 "or the ranks share the machine's cores and memory",
                 units_number(run->step_calculation_ms.v).s, units_number(ideal).s);
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
