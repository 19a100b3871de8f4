// SPDX-License-Identifier: Apache-2.0
// Plots of single runs, and of runs that differ in one number: accuracy, use, steps, account,
// batch, gpus.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/units.h"
#include "bill/bill.h"
#include "view/account.h"
#include "view/draft.h"

enum { LINES_MOST = 40, STEPS_MOST = 12, USE_MOST = 8, ACCOUNT_MOST = 8 };

// " + pytorch"; nothing for a user's command, whose framework is unknown.
static struct units_text with(const struct run *run)
{
    struct units_text out = {""};
    if (run->framework && strcmp(run->framework, "command") != 0)
        snprintf(out.s, sizeof out.s, " + %.30s", run->framework);
    return out;
}

// "h200 + pytorch"; equal names get the end of the run's id.
static void name_of(const struct run *runs, size_t count, size_t number, char *out, size_t size)
{
    const struct run *run = &runs[number];
    const char *place = run_place(run);
    int len = snprintf(out, size, "%.60s%s", place ? place : "an unknown machine", with(run).s);
    for (size_t i = 0; i < count; i++) {
        const char *other = run_place(&runs[i]);
        bool alike = i != number && other && place && plot_same_workload(&runs[i], run) &&
                     strcmp(other, place) == 0 && text_same(runs[i].framework, run->framework);
        if (!alike || !run->id)
            continue;
        size_t id = strlen(run->id);
        snprintf(out + len, size - (size_t)len, " (…%s)", run->id + (id > 6 ? id - 6 : 0));
        return;
    }
}

const char *plot_workload(const struct run *run)
{
    return run->workload ? run->workload : run->name ? run->name : "a run";
}

bool plot_same_workload(const struct run *a, const struct run *b)
{
    return strcmp(plot_workload(a), plot_workload(b)) == 0;
}

double plot_epoch_x(const struct run_epoch *epoch, size_t number)
{
    return epoch->samples.known ? (double)epoch->samples.v
           : epoch->epoch.known ? (double)epoch->epoch.v
                                : (double)number + 1;
}

void plot_epoch_axis(struct draft *d, const struct run *run)
{
    if (run->epoch_list.count > 0 && run->epoch_list.items[0].samples.known)
        draft_set(d, &d->panel->x.name, "samples");
}

bool plot_first_of(const struct run *runs, size_t number)
{
    for (size_t i = 0; i < number; i++)
        if (plot_same_workload(&runs[i], &runs[number]))
            return false;
    return true;
}

// ---- accuracy per epoch

static struct maybe_real accuracy_of(const struct run_epoch *epoch)
{
    return epoch->test_accuracy.known ? epoch->test_accuracy : epoch->train_accuracy;
}

static void accuracy_series(struct draft *d, const struct run *runs, size_t count, size_t number)
{
    const struct run *run = &runs[number];
    char name[PLOT_NAME_BYTES];
    size_t known = 0;
    for (size_t i = 0; i < run->epoch_list.count; i++)
        known += accuracy_of(&run->epoch_list.items[i]).known;
    if (known < 2 || d->panel->series.count >= LINES_MOST)
        return;
    plot_line_name(d, runs, count, number, name);
    draft_series(d, name);
    for (size_t i = 0; i < run->epoch_list.count; i++) {
        const struct run_epoch *e = &run->epoch_list.items[i];
        struct maybe_real share = accuracy_of(e);
        if (share.known)
            draft_point(d, NULL, plot_epoch_x(e, i), share.v * 100);
    }
}

static void plot_accuracy(struct draft *d, const struct run *runs, size_t count)
{
    draft_plot(d, "accuracy", "Accuracy per epoch",
               "Test accuracy after each epoch. The axis "
               "does not start at zero.");
    for (size_t i = 0; i < count; i++) {
        if (!plot_first_of(runs, i))
            continue;
        draft_panel(d, plot_workload(&runs[i]), "lines", AXIS("epoch", ""), AXIS("accuracy", "%"));
        d->panel->x.cut = d->panel->y.cut = some_bool(true);
        plot_epoch_axis(d, &runs[i]);
        for (size_t k = i; k < count; k++)
            if (plot_same_workload(&runs[k], &runs[i]))
                accuracy_series(d, runs, count, k);
        result_ends(d, true);
    }
    draft_end(d);
}

// ---- resources used

// Nothing is in use once all processes have ended: no figure of their memory.
struct maybe_real plot_use(const struct run_sample *sample, enum plot_use use)
{
    int64_t bytes = use == USE_MEMORY ? sample->memory_bytes.v : sample->gpu_memory_bytes.v;
    switch (use) {
    case USE_CPU:
        return sample->cpu_percent;
    case USE_GPU:
        return sample->gpu_percent;
    case USE_POWER:
        return sample->power_w;
    case USE_CLOCK:
        return sample->clock_mhz;
    case USE_MEMORY:
    case USE_GPU_MEMORY:
        break;
    }
    bool known = use == USE_MEMORY ? bytes > 0 : sample->gpu_memory_bytes.known;
    return known ? some_real((double)bytes / (1 << 20)) : (struct maybe_real){0};
}

struct plot_figures plot_use_series(struct draft *d, const struct run *run, enum plot_use use,
                                    double times, const char *name)
{
    struct plot_figures f = {0, 0, HUGE_VAL, -HUGE_VAL};
    for (size_t i = 0; i < run->samples.count; i++) {
        struct maybe_real v = plot_use(&run->samples.items[i], use);
        if (!v.known || !run->samples.items[i].at_s.known)
            continue;
        f.mean = (f.mean * (double)f.count + v.v) / (double)(f.count + 1);
        f.low = fmin(f.low, v.v);
        f.high = fmax(f.high, v.v);
        f.count++;
    }
    if (f.count < 2)
        return (struct plot_figures){0};
    draft_series(d, name);
    for (size_t i = 0; i < run->samples.count; i++) {
        const struct run_sample *s = &run->samples.items[i];
        if (s->at_s.known && plot_use(s, use).known)
            draft_point(d, NULL, s->at_s.v, plot_use(s, use).v * times);
    }
    return f;
}

static void use_panel(struct draft *d, const char *run_name, const char *what, struct draft_axis y)
{
    draft_panel(d, NULL, "lines", AXIS("time of the run", "s"), y);
    draft_print(d, &d->panel->title, "%s: %s", run_name, what);
}

// A single line has no legend, so the axis names it.
static void use_panels(struct draft *d, const struct run *runs, size_t count, size_t number)
{
    const struct run *run = &runs[number];
    char name[160], title[320];
    name_of(runs, count, number, name, sizeof name);
    snprintf(title, sizeof title, "%.80s on %s", plot_workload(run), name);
    use_panel(d, title, "utilisation", AXIS("utilisation", "%"));
    bool cpus = plot_use_series(d, run, USE_CPU, 1, "CPUs").count > 0;
    bool gpus = plot_use_series(d, run, USE_GPU, 1, "GPUs").count > 0;
    draft_print(d, &d->panel->y.name, "utilisation of the %s%s", !gpus || cpus ? "CPUs" : "GPUs",
                cpus && gpus ? " and of the GPUs" : "");
    use_panel(d, title, "power", AXIS("power of the GPUs", "W"));
    plot_use_series(d, run, USE_POWER, 1, "power");
    use_panel(d, title, "clocks", AXIS("clock of the GPUs", "MHz"));
    plot_use_series(d, run, USE_CLOCK, 1, "clock");
}

static void plot_uses(struct draft *d, const struct run *runs, size_t count)
{
    size_t shown = 0;
    draft_plot(d, "use", "Utilisation, power and clocks",
               "Sampled during the run. 100 % of CPU is one "
               "CPU.");
    for (size_t i = 0; i < count && shown < USE_MOST; i++)
        if (runs[i].samples.count >= 2) {
            use_panels(d, runs, count, i);
            shown++;
        }
    draft_end(d);
}

// ---- step times

static void steps_panel(struct draft *d, const struct run *runs, size_t count, size_t number)
{
    const struct run *run = &runs[number];
    const struct run_steady *steady = &run->steady;
    char name[160];
    size_t points = run->step_plot_ms.count;
    double each = run->steps.known && run->steps.v > 0 ? (double)run->steps.v / (double)points : 1;
    name_of(runs, count, number, name, sizeof name);
    const char *counts = run->progress.counts ? run->progress.counts : "steps";
    bool epochs = strcmp(counts, "epochs") == 0; // they take seconds
    char one[16], time[24];
    snprintf(one, sizeof one, "%.*s", (int)strlen(counts) - 1, counts);
    snprintf(time, sizeof time, "%s time", one);
    double unit = epochs ? 1e3 : 1;
    draft_panel(d, NULL, "lines", AXIS(one, ""), AXIS(time, epochs ? "s" : "ms"));
    draft_print(d, &d->panel->title, "%.80s on %s%s%s", plot_workload(run), name,
                steady->step_ms.known ? ": steps of " : "",
                steady->step_ms.known ? units_step(steady->step_ms.v).s : "");
    if (steady->first_step.known && steady->steps.known && steady->steps.v > 0)
        draft_band(d, "steady state", (double)steady->first_step.v,
                   (double)steady->first_step.v + (double)steady->steps.v);
    if (steady->step_ms.known) {
        char median[64];
        snprintf(median, sizeof median, "median %s", units_step(steady->step_ms.v).s);
        draft_line(d, median, (struct maybe_real){0}, some_real(steady->step_ms.v / unit));
    }
    draft_series(d, time);
    for (size_t i = 0; i < points; i++)
        draft_point(d, NULL, ((double)i + 0.5) * each, run->step_plot_ms.items[i] / unit);
}

static void plot_steps(struct draft *d, const struct run *runs, size_t count)
{
    size_t shown = 0;
    draft_plot(d, "steps", "Step times",
               "Median step times over the run. The whole training is projected from the "
               "steady state (shaded).");
    for (size_t i = 0; i < count && shown < STEPS_MOST; i++)
        if (runs[i].step_plot_ms.count >= 2) {
            steps_panel(d, runs, count, i);
            shown++;
        }
    draft_end(d);
}

// ---- runs that differ in one number

struct variant { // a run as a point of such a plot
    const struct run *run;
    double x;
};

typedef bool variant_fn(const struct run *run, double *x);

static bool batch_of(const struct run *run, double *x)
{
    *x = (double)run->batch.v;
    return run->batch.known && run->batch.v > 0 && run->samples_per_s.known;
}

static bool gpus_of(const struct run *run, double *x)
{
    struct bill_time time;
    *x = (double)run->use.gpus.v;
    return run->use.gpus.known && run->use.gpus.v > 0 && run->machine.gpu &&
           bill_time_of(run, &time) && time.total_ns > 0;
}

// Whether everything but that number is the same.
static bool alike(const struct run *a, const struct run *b)
{
    const char *first = run_place(a), *second = run_place(b);
    const char *gpu = a->machine.gpu, *other = b->machine.gpu;
    return plot_same_workload(a, b) && text_same(a->framework, b->framework) &&
           text_same(a->precision, b->precision) && text_same(gpu, other) &&
           text_same(a->machine.provider, b->machine.provider) && (gpu || text_same(first, second));
}

static int by_x(const void *a, const void *b)
{
    const struct variant *x = a, *y = b;
    return (x->x > y->x) - (x->x < y->x);
}

// Collects and sorts the runs like runs[first]. 0 if this is not the first of them, or all are
// equal.
static size_t variants(const struct run *runs, size_t count, size_t first, variant_fn *value,
                       struct variant *out)
{
    size_t found = 0;
    double x;
    if (!value(&runs[first], &x))
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (!value(&runs[i], &x) || !alike(&runs[i], &runs[first]))
            continue;
        if (i < first)
            return 0;
        out[found++] = (struct variant){&runs[i], x};
    }
    qsort(out, found, sizeof *out, by_x);
    return found > 1 && out[0].x < out[found - 1].x ? found : 0;
}

static void series_name(const struct run *run, char *out, size_t size)
{
    const char *place = run_gpu_name(run) ? run_gpu_name(run) : run_place(run);
    snprintf(out, size, "%.60s%s%s%.20s", place ? place : "an unknown machine", with(run).s,
             run->precision ? ", " : "", run->precision ? run->precision : "");
}

// The figure of the run's own table; of several runs with one batch size, the median.
static void batch_point(struct draft *d, const struct variant *v, size_t count, double *rates)
{
    for (size_t i = 0; i < count; i++)
        rates[i] = v[i].run->samples_per_s.v;
    double median = stats_median_of(rates, count), low = rates[0], high = rates[0];
    for (size_t i = 1; i < count; i++) {
        low = fmin(low, rates[i]);
        high = fmax(high, rates[i]);
    }
    struct plot_point *point = draft_point(d, NULL, v[0].x, median);
    if (count == 1)
        return;
    point->y_low = some_real(low);
    point->y_high = some_real(high);
    draft_print(d, &point->note, "median of %zu runs", count);
}

static void batch_series(struct draft *d, const struct variant *v, size_t count)
{
    char name[160];
    SCOPED(free_pointer) double *rates = calloc(count + 1, sizeof *rates);
    if (!rates) {
        d->rc = err_memory(d->err);
        return;
    }
    series_name(v[0].run, name, sizeof name);
    draft_series(d, name);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && v[next].x == v[i].x;)
            next++;
        batch_point(d, v + i, next - i, rates);
    }
}

static double seconds_of(const struct run *run)
{
    struct bill_time time;
    return bill_time_of(run, &time) ? (double)time.total_ns / 1e9 : 1;
}

static void gpus_series(struct draft *d, const struct variant *v, size_t count)
{
    char name[160];
    series_name(v[0].run, name, sizeof name);
    draft_series(d, name);
    for (size_t i = 0; i < count; i++)
        draft_point(d, NULL, v[i].x, seconds_of(v[0].run) / seconds_of(v[i].run) * v[0].x);
}

static void gpus_ideal(struct draft *d)
{
    double most = 1;
    for (size_t s = 0; s < d->panel->series.count; s++)
        for (size_t i = 0; i < d->panel->series.items[s].points.count; i++) {
            double x = d->panel->series.items[s].points.items[i].x.v;
            most = x > most ? x : most;
        }
    if (d->panel->series.count == 0)
        return;
    result_gpus(d);
    draft_series(d, "ideal");
    draft_point(d, NULL, 1, 1);
    draft_point(d, NULL, most, most);
}

static void plot_variants(struct draft *d, const struct run *runs, size_t count, variant_fn *value)
{
    SCOPED(free_pointer) struct variant *found = calloc(count + 1, sizeof *found);
    if (!found) {
        d->rc = err_memory(d->err);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (!plot_first_of(runs, i))
            continue;
        if (value == batch_of)
            draft_panel(d, plot_workload(&runs[i]), "lines", AXIS("batch size", "batch"),
                        AXIS("throughput", "samples/s"));
        else
            draft_panel(d, plot_workload(&runs[i]), "lines", AXIS("GPUs used", ""),
                        AXIS("speed, relative to one GPU", "×"));
        for (size_t k = i; k < count && d->rc == 0; k++) {
            if (!plot_same_workload(&runs[k], &runs[i]))
                continue;
            size_t n = variants(runs, count, k, value, found);
            if (n > 0 && value == batch_of)
                batch_series(d, found, n);
            else if (n > 0)
                gpus_series(d, found, n);
        }
        if (value == batch_of)
            result_batch(d);
        else
            gpus_ideal(d);
    }
}

// ---- where a step goes

static void plot_account(struct draft *d, const struct run *runs, size_t count)
{
    draft_plot(d, "account", "Where a step goes",
               "A training step on the GPU, from its own records of kernels and copies: work by "
               "kind, then waiting.");
    for (size_t i = 0; i < count && d->plot->panels.count < ACCOUNT_MOST; i++) {
        struct account_part parts[ACCOUNT_PARTS];
        size_t known = account_parts(&runs[i].account, parts);
        struct buf title = {0};
        if (known == 0)
            continue;
        buf_printf(&title, "%s: ", plot_workload(&runs[i]));
        account_sentence(&runs[i].account, &title);
        draft_panel(d, NULL, "stack", AXIS("", ""), AXIS("share of the step", "%"));
        draft_take(d, &d->panel->title, &title);
        for (size_t k = 0; k < known; k++) {
            draft_series(d, parts[k].name);
            draft_bar(d, parts[k].name, some_real(parts[k].share * 100));
        }
    }
    draft_end(d);
}

void plots_runs(struct draft *d, const struct run *runs, size_t count)
{
    plots_overlay(d, runs, count);
    plot_accuracy(d, runs, count);
    plot_uses(d, runs, count);
    plot_steps(d, runs, count);
    plot_account(d, runs, count);
    draft_plot(d, "batch", "Throughput by batch size",
               "Samples per second by batch size. Where the "
               "line is flat, larger batches bring no gain. Several runs: the median, with a line "
               "from lowest to highest.");
    plot_variants(d, runs, count, batch_of);
    draft_end(d);
    draft_plot(d, "gpus", "Scaling with GPUs",
               "Speed-up of the whole training on more GPUs of the same model at the same "
               "provider, compared with ideal scaling.");
    plot_variants(d, runs, count, gpus_of);
    draft_end(d);
}
