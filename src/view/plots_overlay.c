// SPDX-License-Identifier: Apache-2.0
// Runs of one workload over each other: loss by epoch, and how step times are distributed. The
// titles of the panels say which run is ahead.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/verdict_words.h"
#include "base/stats.h"
#include "base/units.h"
#include "view/draft.h"

enum { LINES_MOST = 20, QUANTILES = 20, NAME_BYTES = PLOT_NAME_BYTES };

// What tells the runs of a panel apart.
struct run_naming {
    bool machine, framework, batch;
};

// Whether two runs have the same name.
static bool alike(const struct run_naming *n, const struct run *a, const struct run *b)
{
    return text_same(run_place(a), run_place(b)) && text_same(a->framework, b->framework) &&
           (!n->batch || a->batch.v == b->batch.v);
}

static struct run_naming naming_of(const struct run *runs, size_t count, size_t first)
{
    struct run_naming n = {0};
    for (size_t i = first + 1; i < count; i++) {
        if (!plot_same_workload(&runs[i], &runs[first]))
            continue;
        n.machine |= !text_same(run_place(&runs[i]), run_place(&runs[first]));
        n.framework |= !text_same(runs[i].framework, runs[first].framework);
        n.batch |= runs[i].batch.v != runs[first].batch.v;
    }
    return n;
}

// "h100, batch 128 (…001eef)": the end of the id only if others have the same name.
static void line_name(struct draft *d, const struct run_naming *n, const struct run *runs,
                      size_t count, size_t number, char out[NAME_BYTES])
{
    const struct run *run = &runs[number];
    const char *place = run_place(run);
    size_t id = run->id ? strlen(run->id) : 0, others = 0;
    SCOPED(buf_release) struct buf name = {0};
    for (size_t i = 0; i < count; i++)
        others += i != number && plot_same_workload(&runs[i], run) && alike(n, &runs[i], run);
    if (n->machine || (!n->framework && !n->batch))
        buf_printf(&name, "%.60s", place ? place : "an unknown machine");
    if (n->framework)
        buf_printf(&name, "%s%.30s", name.len ? " + " : "", run->framework ? run->framework : "-");
    if (n->batch)
        buf_printf(&name, "%sbatch %lld", name.len ? ", " : "", (long long)run->batch.v);
    if (others > 0 && id > 0)
        buf_printf(&name, "%s…%.6s%s", name.len ? " (" : "", run->id + (id > 6 ? id - 6 : 0),
                   name.len ? ")" : "");
    snprintf(out, NAME_BYTES, "%s", buf_str(&name));
    if (name.failed)
        d->rc = err_memory(d->err);
}

void plot_line_name(struct draft *d, const struct run *runs, size_t count, size_t number,
                    char out[PLOT_NAME_BYTES])
{
    size_t first = 0;
    while (!plot_same_workload(&runs[first], &runs[number]))
        first++;
    struct run_naming naming = naming_of(runs, count, first);
    line_name(d, &naming, runs, count, number, out);
}

// ---- loss

static size_t known_losses(const struct run *run, bool test)
{
    size_t known = 0;
    for (size_t i = 0; i < run->epoch_list.count; i++) {
        const struct run_epoch *e = &run->epoch_list.items[i];
        known += test ? e->test_loss.known : e->train_loss.known;
    }
    return known;
}

// The losses of a panel are of one kind: of the test data if each run has them.
static bool all_tested(const struct run *runs, size_t count, size_t first)
{
    for (size_t i = first; i < count; i++)
        if (plot_same_workload(&runs[i], &runs[first]) && known_losses(&runs[i], false) > 1 &&
            known_losses(&runs[i], true) < 2)
            return false;
    return true;
}

// Returns the last loss.
static struct maybe_real loss_series(struct draft *d, const struct run *run, const char *name,
                                     bool test)
{
    struct maybe_real last = {0};
    draft_series(d, name);
    for (size_t i = 0; i < run->epoch_list.count; i++) {
        const struct run_epoch *e = &run->epoch_list.items[i];
        struct maybe_real loss = test ? e->test_loss : e->train_loss;
        if (!loss.known)
            continue;
        draft_point(d, NULL, plot_epoch_x(e, i), loss.v);
        last = loss;
    }
    return last;
}

// What a panel's title says: the run with the least figure, and that of the others.
struct least {
    char name[NAME_BYTES], other[NAME_BYTES];
    double value, most;
    size_t count;
};

static void note(struct least *least, const char *name, double value)
{
    if (least->count == 0 || value < least->value) {
        snprintf(least->other, sizeof least->other, "%s", least->name);
        snprintf(least->name, sizeof least->name, "%s", name);
        least->value = value;
    } else {
        snprintf(least->other, sizeof least->other, "%s", name);
    }
    least->most = least->count == 0 ? value : fmax(least->most, value);
    least->count++;
}

static void loss_panel(struct draft *d, const struct run *runs, size_t count, size_t first)
{
    bool test = all_tested(runs, count, first);
    struct run_naming naming = naming_of(runs, count, first);
    struct least least = {.count = 0};
    char name[NAME_BYTES];
    draft_panel(d, plot_workload(&runs[first]), "lines", AXIS("epoch", ""),
                AXIS(test ? "test loss" : "training loss", ""));
    d->panel->x.cut = d->panel->y.cut = some_bool(true);
    plot_epoch_axis(d, &runs[first]);
    for (size_t i = first; i < count && d->rc == 0 && least.count < LINES_MOST; i++) {
        if (!plot_same_workload(&runs[i], &runs[first]) || known_losses(&runs[i], test) < 2)
            continue;
        line_name(d, &naming, runs, count, i, name);
        note(&least, name, loss_series(d, &runs[i], name, test).v);
    }
    const char *workload = plot_workload(&runs[first]);
    char low[24], high[24], **title = &d->panel->title;
    snprintf(low, sizeof low, "%.4g", least.value);
    snprintf(high, sizeof high, "%.4g", least.most);
    if (least.count > 1 && strcmp(low, high) == 0)
        draft_print(d, title, "%.80s: %s end at a loss of %s", workload,
                    least.count == 2 ? "both" : "all", low);
    else if (least.count > 1)
        draft_print(d, title, "%.80s: %s ends lowest, at %s; the highest ends at %s", workload,
                    least.name, low, high);
    else
        draft_print(d, title, "%.80s: ends at %.4g", workload, least.value);
}

// ---- step times

// Those of the steady state; returns their number. `out` has room for all.
static size_t steady_times(const struct run *run, double *out)
{
    const struct run_steady *steady = &run->steady;
    size_t points = run->step_plot_ms.count, count = 0;
    double each = run->steps.known && run->steps.v > 0 ? (double)run->steps.v / (double)points : 1;
    for (size_t i = 0; i < points; i++) {
        double step = ((double)i + 0.5) * each;
        bool outside = steady->first_step.known && steady->steps.known && steady->steps.v > 0 &&
                       (step < (double)steady->first_step.v ||
                        step > (double)(steady->first_step.v + steady->steps.v));
        if (!outside && run->step_plot_ms.items[i] > 0)
            out[count++] = run->step_plot_ms.items[i];
    }
    return count;
}

static bool counts_steps(const struct run *run)
{
    return !run->progress.counts || strcmp(run->progress.counts, "epochs") != 0;
}

// The share of the steps that take at most that long; every 5 %.
static void distribution_series(struct draft *d, const char *name, double *times, size_t count)
{
    size_t parts = count - 1 < QUANTILES ? count - 1 : QUANTILES;
    draft_series(d, name);
    for (size_t q = 0; q <= parts; q++)
        draft_point(d, NULL, stats_quantile_of(times, count, (double)q / (double)parts),
                    100.0 * (double)q / (double)parts);
}

static void distribution_panel(struct draft *d, const struct run *runs, size_t count, size_t first)
{
    enum { FEWEST = 5 };
    struct run_naming naming = naming_of(runs, count, first);
    struct least least = {.count = 0};
    char name[NAME_BYTES];
    draft_panel(d, plot_workload(&runs[first]), "lines", AXIS("step time", "ms"),
                AXIS("steps that take at most that long", "%"));
    d->panel->x.cut = some_bool(true);
    for (size_t i = first; i < count && d->rc == 0 && least.count < LINES_MOST; i++) {
        if (!plot_same_workload(&runs[i], &runs[first]) || !counts_steps(&runs[i]))
            continue;
        SCOPED(free_pointer)
        double *times = malloc((runs[i].step_plot_ms.count + 1) * sizeof *times);
        size_t known = times ? steady_times(&runs[i], times) : 0;
        if (!times)
            d->rc = err_memory(d->err);
        if (known >= FEWEST) {
            line_name(d, &naming, runs, count, i, name);
            distribution_series(d, name, times, known);
            note(&least, name, stats_quantile_of(times, known, 0.5));
        }
    }
    if (least.count < 2) { // nothing to compare: the plot of step times shows it
        for (size_t i = 0; i < d->panel->series.count; i++)
            record_release(plot_series_fields, &d->panel->series.items[i]);
        d->panel->series.count = 0;
        return;
    }
    draft_print(
        d, &d->panel->title, "%.80s: half of the steps take %s or less with %s%s, %s with %s%s",
        plot_workload(&runs[first]), units_step(least.value).s, verdict_article(least.name),
        least.name, units_step(least.most).s, least.count > 2 ? "" : verdict_article(least.other),
        least.count > 2 ? "the slowest" : least.other);
}

void plots_overlay(struct draft *d, const struct run *runs, size_t count)
{
    draft_plot(d, "loss", "Loss by epoch",
               "Mean loss after each epoch; lower is better. Axes may start above zero.");
    for (size_t i = 0; i < count; i++)
        if (plot_first_of(runs, i))
            loss_panel(d, runs, count, i);
    draft_end(d);
    draft_plot(
        d, "distribution", "How long steps take",
        "Of the steps in the steady state, the share that takes at most that long: a steep line "
        "is a steady machine, one further left a faster one. Of long runs each value is the "
        "median of a stretch, so that single slow steps do not show.");
    for (size_t i = 0; i < count; i++)
        if (plot_first_of(runs, i))
            distribution_panel(d, runs, count, i);
    draft_end(d);
}
