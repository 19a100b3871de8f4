// SPDX-License-Identifier: Apache-2.0
// Plots of a single run: where its time went (phases), and everything that was measured over its
// time, one below the other on a common axis (timeline).
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "view/draft.h"
#include "view/run.h"
#include "render/scale.h"

static const char *name_of(const struct run *run)
{
    return run->workload ? run->workload : run->name ? run->name : "the run";
}

static double seconds(struct maybe_int ns)
{
    return ns.known && ns.v > 0 ? (double)ns.v / 1e9 : 0;
}

static bool is_running(const struct run *run)
{
    return run->ended && strcmp(run->ended, "running") == 0;
}

// ---- where the time went

static void plot_phases(struct draft *d, const struct run *run)
{
    enum { SMALL = 200 };
    struct run_part parts[RUN_PARTS];
    double s[RUN_PARTS], other = 0, before = 0;
    bool shown[RUN_PARTS];
    double wall = seconds(run->phases.wall_ns);
    double steps = seconds(run->phases.warmup_ns) + seconds(run->phases.train_ns);
    char words[SCALE_LABEL];
    if (!(wall > 0) || !(steps > 0))
        return;
    run_parts(run, parts);
    for (size_t i = 0; i < RUN_PARTS; i++) {
        s[i] = seconds(parts[i].ns);
        before += i < RUN_PARTS_BEFORE ? s[i] : 0;
        shown[i] = s[i] * SMALL >= wall && i != RUN_IDLE;
        other += shown[i] ? 0 : s[i];
    }
    scale_words("s", wall, words);
    draft_plot(d, "phases", "Where the time went", NULL);
    draft_print(d, &d->plot->says, "This run from its start %s, as measured.%s",
                is_running(run) ? "until now" : "to its end",
                other * SMALL >= wall ? " Parts of under half a percent are in 'other'." : "");
    draft_panel(d, NULL, "stack", AXIS("", ""), AXIS("time", "s"));
    draft_print(d, &d->panel->title, "%.80s spent %.0f %% of its %s on steps, %.0f %% before them",
                name_of(run), 100 * steps / wall, words, 100 * before / wall);
    for (size_t i = 0; i < RUN_PARTS; i++)
        if (shown[i]) {
            draft_series(d, parts[i].name);
            draft_bar(d, parts[i].name, some_real(s[i]));
        }
    if (other * SMALL >= wall) {
        draft_series(d, "other");
        draft_bar(d, "other", some_real(other));
    }
    draft_end(d);
}

// ---- one time axis

struct time_line { // of a run's time
    const struct run *run;
    double first, end, wall; // s: start of the first step, end of the last, end of the run
};

static struct time_line line_of(const struct run *run)
{
    const struct run_phases *p = &run->phases;
    struct time_line l = {.run = run};
    l.first =
        seconds(p->setup_ns) + seconds(p->kernels_ns) + seconds(p->load_ns) + seconds(p->device_ns);
    l.wall = fmax(seconds(p->wall_ns), run->live.elapsed_s.known ? run->live.elapsed_s.v : 0);
    for (size_t i = 0; i < run->samples.count; i++)
        if (run->samples.items[i].at_s.known)
            l.wall = fmax(l.wall, run->samples.items[i].at_s.v);
    l.end = fmin(l.first + seconds(p->warmup_ns) + seconds(p->train_ns) + seconds(p->evaluate_ns) +
                     seconds(p->checkpoint_ns),
                 l.wall);
    if (!(l.end > l.first))
        l.end = l.wall;
    return l;
}

// When a step was done: between the ends of the steady state, where these are known, and those of
// all steps, evenly.
static double time_of_step(const struct time_line *l, double step)
{
    const struct run_steady *s = &l->run->steady;
    double steps = l->run->steps.known ? (double)l->run->steps.v : 0;
    double x[4] = {0, steps}, t[4] = {l->first, l->end};
    size_t count = 2;
    if (s->from_s.known && s->to_s.known && s->first_step.known && s->steps.known &&
        s->steps.v > 0 && s->from_s.v >= l->first && s->to_s.v > s->from_s.v &&
        s->to_s.v <= l->wall) {
        x[1] = (double)s->first_step.v;
        t[1] = s->from_s.v;
        x[2] = x[1] + (double)s->steps.v;
        t[2] = s->to_s.v;
        x[3] = fmax(steps, x[2]);
        t[3] = fmax(l->end, t[2]);
        count = 4;
    }
    size_t i = 0;
    while (i + 2 < count && step > x[i + 1])
        i++;
    double share = x[i + 1] > x[i] ? (step - x[i]) / (x[i + 1] - x[i]) : 1;
    return t[i] + fmin(fmax(share, 0), 1) * (t[i + 1] - t[i]);
}

static void begin_panel(struct draft *d, const struct time_line *l, const char *title,
                        const char *y_name, const char *unit)
{
    draft_panel(d, title, "lines", AXIS("time of the run", "s"), AXIS(y_name, unit));
    d->panel->x.to = some_real(l->wall);
}

// Named once: the panels stand below each other.
static void mark_steady(struct draft *d, const struct run *run, bool named)
{
    if (run->steady.from_s.known && run->steady.to_s.known)
        draft_band(d, named ? "steady state" : NULL, run->steady.from_s.v, run->steady.to_s.v);
}

// A figure of an epoch, by its place in the record.
static struct maybe_real epoch_figure(const struct run_epoch *epoch, size_t at)
{
    return *(const struct maybe_real *)((const char *)epoch + at);
}

// The value after an epoch, at the time its steps and its evaluation were done; where these are
// unknown, epochs are spread evenly.
static size_t epoch_points(struct draft *d, const struct time_line *l, size_t figure, double times,
                           const char *name, double ends[2])
{
    const struct run *run = l->run;
    size_t known = 0;
    double at = l->first;
    for (size_t i = 0; i < run->epoch_list.count; i++)
        known += epoch_figure(&run->epoch_list.items[i], figure).known;
    if (known < 2)
        return 0;
    draft_series(d, name);
    known = 0;
    for (size_t i = 0; i < run->epoch_list.count; i++) {
        const struct run_epoch *e = &run->epoch_list.items[i];
        double each = (l->end - l->first) / (double)run->epoch_list.count;
        at += e->train_ns.known ? seconds(e->train_ns) + seconds(e->test_ns) : each;
        struct maybe_real v = epoch_figure(e, figure);
        if (!v.known)
            continue;
        draft_point(d, NULL, fmin(at, l->wall), v.v * times);
        ends[known++ > 0] = v.v * times;
    }
    return known;
}

static void epochs_panel(struct draft *d, const struct time_line *l, bool loss)
{
    double train[2] = {0}, test[2] = {0};
    begin_panel(d, l, "", loss ? "loss" : "accuracy", loss ? "" : "%");
    d->panel->y.cut = some_bool(true);
    size_t trained = epoch_points(d, l,
                                  loss ? offsetof(struct run_epoch, train_loss)
                                       : offsetof(struct run_epoch, train_accuracy),
                                  loss ? 1 : 100, "training", train);
    size_t tested = epoch_points(d, l,
                                 loss ? offsetof(struct run_epoch, test_loss)
                                      : offsetof(struct run_epoch, test_accuracy),
                                 loss ? 1 : 100, "test", test);
    const double *ends = tested ? test : train;
    if (!tested && !trained)
        return;
    if (loss)
        draft_print(d, &d->panel->title, "%s loss goes from %.3g to %.3g",
                    tested ? "Test" : "Training", ends[0], ends[1]);
    else
        draft_print(d, &d->panel->title, "%s accuracy %s %.2f %%", tested ? "Test" : "Training",
                    is_running(l->run) ? "is at" : "ends at", ends[1]);
}

static void steps_panel(struct draft *d, const struct time_line *l)
{
    const struct run *run = l->run;
    const struct run_steady *s = &run->steady;
    size_t points = run->step_plot_ms.count;
    const char *counts = run->progress.counts ? run->progress.counts : "steps";
    bool epochs = strcmp(counts, "epochs") == 0; // they take seconds
    char one[16], name[40], title[200];
    double unit = epochs ? 1e3 : 1;
    if (points < 2)
        return;
    snprintf(one, sizeof one, "%.*s", (int)strlen(counts) - 1, counts);
    snprintf(name, sizeof name, "%s time", one);
    double each = run->steps.known && run->steps.v > 0 ? (double)run->steps.v / (double)points : 1;
    snprintf(title, sizeof title, "%s %s takes %s%s", epochs ? "An" : "A", one,
             units_step(s->step_ms.known ? s->step_ms.v : run->step_ms.v).s,
             s->step_ms.known ? " in the steady state" : "");
    begin_panel(d, l, s->step_ms.known || run->step_ms.known ? title : name, name,
                epochs ? "s" : "ms");
    mark_steady(d, run, true);
    if (s->step_ms.known)
        draft_line(d, "median", (struct maybe_real){0}, some_real(s->step_ms.v / unit));
    draft_series(d, name);
    for (size_t i = 0; i < points; i++)
        draft_point(d, NULL, time_of_step(l, ((double)i + 0.5) * each),
                    run->step_plot_ms.items[i] / unit);
}

// A panel of the samples; the first names the steady state if no panel of steps does.
static void samples_panel(struct draft *d, const struct time_line *l, const char *name,
                          const char *unit)
{
    begin_panel(d, l, "", name, unit);
    mark_steady(d, l->run, l->run->step_plot_ms.count < 2);
}

// Whether it has a line of CPUs.
static bool use_panel(struct draft *d, const struct time_line *l)
{
    samples_panel(d, l, "utilisation", "%");
    struct plot_figures g = plot_use_series(d, l->run, USE_GPU, 1, "GPUs"),
                        c = plot_use_series(d, l->run, USE_CPU, 1, "CPUs");
    char busy[32];
    if (c.mean < 95)
        snprintf(busy, sizeof busy, "%.0f %% of a CPU", ceil(c.mean));
    else
        snprintf(busy, sizeof busy, "%.1f CPUs", c.mean / 100);
    if (g.count > 0)
        draft_print(d, &d->panel->title, "GPUs are %.0f %% busy%s%s", g.mean,
                    c.count > 0 ? ", and " : "", c.count > 0 ? busy : "");
    else if (c.count > 0)
        draft_print(d, &d->panel->title, "%s %s busy", busy, c.mean < 95 ? "is" : "are");
    if (g.count == 0 || c.count == 0)
        draft_print(d, &d->panel->y.name, "utilisation of the %s", g.count == 0 ? "CPUs" : "GPUs");
    return c.count > 0;
}

static bool over_a_gib(const struct run *run)
{
    for (size_t i = 0; i < run->samples.count; i++)
        if (plot_use(&run->samples.items[i], USE_MEMORY).v >= 1024 ||
            plot_use(&run->samples.items[i], USE_GPU_MEMORY).v >= 1024)
            return true;
    return false;
}

static void memory_panel(struct draft *d, const struct time_line *l)
{
    bool large = over_a_gib(l->run);
    double times = large ? 1.0 / 1024 : 1;
    samples_panel(d, l, "memory in use", large ? "GiB" : "MiB");
    struct plot_figures g = plot_use_series(d, l->run, USE_GPU_MEMORY, times, "GPUs"),
                        m = plot_use_series(d, l->run, USE_MEMORY, times, "processes");
    if (g.count + m.count > 0)
        draft_print(d, &d->panel->title, "Memory%s peaks at %.3g %s",
                    g.count > 0 ? " of the GPUs" : "", (g.count > 0 ? g.high : m.high) * times,
                    large ? "GiB" : "MiB");
}

static void other_panels(struct draft *d, const struct time_line *l)
{
    samples_panel(d, l, "power of GPUs and processors", "W");
    struct plot_figures f = plot_use_series(d, l->run, USE_POWER, 1, "power");
    if (f.count > 0)
        draft_print(d, &d->panel->title, "Power is %.0f W on average", f.mean);
    samples_panel(d, l, "clock of the GPUs", "MHz");
    f = plot_use_series(d, l->run, USE_CLOCK, 1, "clock");
    if (f.count > 0)
        draft_print(d, &d->panel->title, "GPUs run at %.0f to %.0f MHz", f.low, f.high);
    memory_panel(d, l);
}

void plots_one(struct draft *d, const struct run *runs, size_t count)
{
    if (count != 1)
        return;
    struct time_line l = line_of(&runs[0]);
    plot_phases(d, &runs[0]);
    if (!(l.wall > 0))
        return;
    draft_plot(d, "timeline", "Over the time of the run", "All on one time axis, as sampled.");
    epochs_panel(d, &l, true);
    epochs_panel(d, &l, false);
    steps_panel(d, &l);
    struct buf says = {0};
    buf_adds(&says, "All on one time axis, as sampled.");
    if (runs[0].step_plot_ms.count > 1 || runs[0].epoch_list.count > 0)
        buf_adds(&says, " The times of steps and epochs are derived from their order and the times "
                        "of the phases.");
    if (use_panel(d, &l))
        buf_adds(&says, " 100 % of CPU is one CPU.");
    draft_take(d, &d->plot->says, &says);
    other_panels(d, &l);
    struct plot *plot = d->plot;
    size_t before = d->page->plots.count;
    draft_end(d);
    if (d->page->plots.count == before) // only the last panel names the axis
        for (size_t i = 0; i + 1 < plot->panels.count; i++)
            draft_set(d, &plot->panels.items[i].x.name, NULL);
}
