// SPDX-License-Identifier: Apache-2.0
// runs, as tables.
#include "cmd/runs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "view/run_words.h"
#include "cmd/out.h"

enum { RANDOM_SHOWN = 6 };

void runs_short_id(const char *id, struct buf *out)
{
    const char *tail = strrchr(id, '-');
    size_t digits = tail ? strspn(tail + 1, "0123456789abcdef") : 0;
    bool ours = tail && tail > id && (tail[-1] == 'Z' || strncmp(id, "import-", 7) == 0);
    bool random = ours && digits >= 12 && tail[1 + digits] == '\0';
    buf_reset(out);
    if (random)
        buf_add(out, tail + 1, RANDOM_SHOWN);
    else
        buf_adds(out, id);
}

// "5 min ago", or the date.
static void when(const char *started, char out[24])
{
    int64_t date;
    if (!started || !clock_parse(started, &date)) {
        snprintf(out, 24, "-");
        return;
    }
    int64_t age = clock_date_s() - date;
    if (age < 0 || age >= 14 * 86400)
        snprintf(out, 24, "%.10s", started);
    else if (age < 60)
        snprintf(out, 24, "now");
    else if (age < 3600)
        snprintf(out, 24, "%lld min ago", (long long)(age / 60));
    else if (age < 2 * 86400)
        snprintf(out, 24, "%lld h ago", (long long)(age / 3600));
    else
        snprintf(out, 24, "%lld d ago", (long long)(age / 86400));
}

static const char *place(const struct run *run)
{
    const char *name = run_place(run);
    return name ? name : "-";
}

// "0.812 ±1 %": half the interval's width; "unsteady" if there is no single figure.
static void step(const struct run *run, char out[32])
{
    const struct run_steady *s = &run->steady;
    double ms = s->step_ms.known ? s->step_ms.v : run->step_ms.v;
    const char *counts = run->progress.counts;
    if (!s->step_ms.known && !run->step_ms.known)
        snprintf(out, 32, "-");
    else if (s->kind && strcmp(s->kind, "unsteady") == 0)
        snprintf(out, 32, "unsteady");
    else if (counts && strcmp(counts, "steps") != 0) // "40.6 s/epoch"
        snprintf(out, 32, "%s/%.*s", units_step(ms).s, (int)strlen(counts) - 1, counts);
    else if (ms >= 1e4) // no "1.235e+04"
        snprintf(out, 32, "%.0f", fmin(ms, 1e15));
    else if (s->step_ms.known && s->low_ms.known && s->high_ms.known && ms > 0)
        snprintf(out, 32, "%.4g ±%.2g%%", ms, fmax(s->high_ms.v - s->low_ms.v, 0) / 2 / ms * 100);
    else
        snprintf(out, 32, "%.4g", ms);
}

// The whole training: "12.3 s" measured, "~12.3 s" projected. Whether it was projected.
static bool whole(const struct run *run, char out[32])
{
    char words[24];
    bool measured = run->full.known && run->full.v && run->phases.wall_ns.known;
    if (!measured && !run->projection.wall_s.known) {
        snprintf(out, 32, "-");
        return false;
    }
    double s = run->projection.wall_s.v;
    // A projection of over 250 years is no time.
    clock_words(measured            ? run->phases.wall_ns.v
                : s >= 0 && s < 8e9 ? (int64_t)(s * 1e9)
                                    : INT64_MAX,
                words, sizeof words);
    snprintf(out, 32, "%s%s", measured ? "" : "~", words);
    return !measured;
}

static void add_row(struct table *table, const char *const *cells, const struct run *run)
{
    struct buf below = {0};
    run_words_l1(run, &below);
    table_row(table, OUT_PLAIN, cells, buf_str(&below));
    buf_drop(&table->rows, &below);
}

static bool failed(const struct run *run)
{
    return run->ended && strcmp(run->ended, "failed") == 0;
}

void runs_table(struct out *out, const struct run *runs, size_t count)
{
    static const struct table_column columns[] = {
        {"run", TABLE_LEFT, 0, 14},  {"started", TABLE_LEFT, 3},
        {"name", TABLE_LEFT, 0, 10}, {"on", TABLE_LEFT, 1, 8},
        {"with", TABLE_LEFT, 4, 10}, {"ms/step", TABLE_RIGHT, 2},
        {"whole run", TABLE_RIGHT},  {"", TABLE_LEFT}};
    struct table table = TABLE(columns);
    bool any_projected = false, any_noisy = false, any_failed = false;
    SCOPED(buf_release) struct buf id = {0};
    for (size_t i = 0; i < count; i++) {
        const struct run *run = &runs[i];
        char age[24], ms[32], time[32], marks[4];
        runs_short_id(run->id ? run->id : "-", &id);
        when(run->started, age);
        step(run, ms);
        any_projected |= whole(run, time);
        any_failed |= failed(run);
        any_noisy |= run->taints.count > 0;
        snprintf(marks, sizeof marks, "%s%s", failed(run) ? "x" : "",
                 run->taints.count > 0 ? "!" : "");
        const char *name = run->name ? run->name : run->workload ? run->workload : "-";
        const char *const cells[] = {
            buf_str(&id), age,  name, place(run), run->framework ? run->framework : "-",
            ms,           time, marks};
        add_row(&table, cells, run);
    }
    table_print(&table, out);
    SCOPED(buf_release) struct buf legend = {0};
    buf_printf(&legend, "%s%s%s%s%s", any_projected ? "~ projected" : "",
               any_projected && (any_noisy || any_failed) ? "; " : "",
               any_noisy ? "! noisy ('fare runs RUN' says why)" : "",
               any_noisy && any_failed ? "; " : "", any_failed ? "x failed" : "");
    if (legend.len > 0)
        out_wrap(out, 0, buf_str(&legend));
    out->text.failed |= legend.failed || id.failed;
}

void runs_published_table(struct out *out, const struct run *runs, size_t count)
{
    static const struct table_column columns[] = {{RUN_SHIPPED, TABLE_LEFT, 0, 46},
                                                  {"on", TABLE_LEFT, 0, 8},
                                                  {"whole run", TABLE_RIGHT},
                                                  {"accuracy", TABLE_RIGHT}};
    struct table table = TABLE(columns);
    for (size_t i = 0; i < count; i++) {
        const struct run *run = &runs[i];
        char time[32], accuracy[16] = "-";
        const char *id = run->id ? run->id : "-";
        id += run_shipped_name(id) ? strlen(RUN_SHIPPED) : 0;
        whole(run, time);
        if (run->test_accuracy.known)
            snprintf(accuracy, sizeof accuracy, "%.2f %%", run->test_accuracy.v * 100);
        const char *const cells[] = {id, run_gpu_name(run) ? run_gpu_name(run) : place(run), time,
                                     accuracy};
        add_row(&table, cells, run);
    }
    table_print(&table, out);
}
