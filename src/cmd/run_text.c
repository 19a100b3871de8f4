// SPDX-License-Identifier: Apache-2.0
#include "cmd/run_text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "cmd/table.h"

#define STRAGGLES 1.05 // times the fastest rank's calculation: worth a word

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

void run_text_l1(const struct run *run, struct buf *out)
{
    if (run->l1_transfer_ms.known && run->l1_transfer_ms.v > 0)
        buf_printf(out, "%stransfer %s", out->len > 0 ? ", " : "",
                   units_step(run->l1_transfer_ms.v).s);
    if (run->l1_calculation_ms.known)
        buf_printf(out, "%scalculation %s", out->len > 0 ? ", " : "",
                   units_step(run->l1_calculation_ms.v).s);
}

// Where a step's time goes; of a command as far as its exchanges were seen.
static void add_parts(const struct run *run, struct buf *out)
{
    const struct run_parallel *t = &run->parallel;
    if (run->step_communication_ms.known)
        buf_printf(out, "; a step: %.3g ms calculation, %.3g communication, %.3g waiting",
                   run->step_calculation_ms.v, run->step_communication_ms.v,
                   run->step_waiting_ms.v);
    else if (t->exchange_ms.known)
        buf_printf(out,
                   "; a step: %.3g ms calculation, %.3g communication and waiting, by %lld of the "
                   "ranks",
                   run->step_calculation_ms.v, t->exchange_ms.v, (long long)t->ranks_seen.v);
    else if (t->ranks_seen.known)
        buf_adds(out, "; communication and waiting are unknown");
    if (t->slowest_rank.known && t->most_ms.v >= t->least_ms.v * STRAGGLES)
        buf_printf(out, "; rank %lld is the slowest: %.3g ms of calculation, the fastest %.3g",
                   (long long)t->slowest_rank.v, t->most_ms.v, t->least_ms.v);
}

void run_text_ranks(const struct run *run, struct buf *out)
{
    if (!run->ranks.known)
        return;
    buf_printf(out, "%s", units_count(run->ranks.v, "rank").s);
    if (run->nodes.known && run->nodes.v > 1)
        buf_printf(out, " on %s", units_count(run->nodes.v, "machine").s);
    add_parts(run, out);
}

void run_text_tokens(const struct run *run, struct buf *out)
{
    if (!run->tokens_per_s.known)
        return;
    const int64_t memory = run->use.gpu_memory_peak_bytes.known ? run->use.gpu_memory_peak_bytes.v
                           : run->peak_memory_bytes.known       ? run->peak_memory_bytes.v
                                                                : 0;
    buf_printf(out, "%.0f tokens/s", run->tokens_per_s.v);
    if (run->use.mfu.known)
        buf_printf(out, ", MFU %.1f %% (operations ÷ time ÷ dense bf16 peak)",
                   run->use.mfu.v * 100);
    if (run->use.joules_per_mtoken.known)
        buf_printf(out, ", %.4g J per million tokens", run->use.joules_per_mtoken.v);
    if (memory > 0)
        buf_printf(out, ", %s %s", run->use.gpu_memory_peak_bytes.known ? "GPU memory" : "memory",
                   units_bytes(memory).s);
    if (run->step_flops.known && run->step_tokens.known && run->step_tokens.v > 0)
        buf_printf(out,
                   "; a token takes %.4g MFLOP: 6 × parameters + 12 × layers × width × context",
                   run->step_flops.v / (double)run->step_tokens.v / 1e6);
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
            out_sparkline(out, run->workload, run->step_plot_ms.items, run->step_plot_ms.count,
                          "ms a step, from left to right");
        if (unsteady(run))
            out_row(out, run->workload, "the step times never settled: there is no single figure%s",
                    run->projection.wall_s.known ? ", and the whole training's time is a guess"
                                                 : "");
        struct buf why = {0};
        run_text_tokens(run, &why);
        if (why.len > 0)
            out_row(out, run->workload, "%s", buf_str(&why));
        buf_reset(&why);
        run_text_ranks(run, &why);
        if (why.len > 0)
            out_row(out, run->workload, "%s", buf_str(&why));
        buf_reset(&why);
        run_text_l1(run, &why);
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
                    "batch %lld: %lld runs, %.3g to %.3g ms per step, spread %.1f %% (standard "
                    "deviation)",
                    (long long)g->batch.v, (long long)g->runs.v, g->low_ms.v, g->high_ms.v,
                    g->spread.v * 100);
        say_accuracy(out, g);
        say_saturation(out, runs, i);
    }
}

void run_text_bills(struct out *out, const struct measure *m)
{
    for (size_t i = 0; i < m->runs.runs.count; i++) {
        const struct run *run = &m->runs.runs.items[i];
        struct buf bill = {0};
        if (measure_price_bill(m->price, run, &bill))
            out_row(out, run->workload, "%s", buf_str(&bill));
        out->text.failed |= bill.failed;
        buf_release(&bill);
    }
}

void run_text_says(struct measure *m, bool price)
{
    if (price && m->price && isatty(STDERR_FILENO))
        buf_printf(&m->says, "the bill is derived from %s\n", measure_price_words(m->price));
    out_complain(buf_str(&m->says));
    buf_reset(&m->says);
}
