// SPDX-License-Identifier: Apache-2.0
// runs, as tables of 80 columns.
#include "cmd/runs.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

// What to type for a run: of "20261115T074512Z-3f9a2c81d04e" and "import-3f9a2c81..." the first of
// the random part, otherwise the whole.
static void short_id(const char *id, char out[32])
{
    const char *tail = strrchr(id, '-');
    size_t digits = tail ? strspn(tail + 1, "0123456789abcdef") : 0;
    bool random = digits >= 12 && tail[1 + digits] == '\0';
    snprintf(out, 32, random ? "%.6s" : "%.31s", random ? tail + 1 : id);
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

// "0.812 ±1 %": half the interval's width; "unsteady" where no figure stands for the steps.
static void step(const struct run *run, char out[32])
{
    const struct run_steady *s = &run->steady;
    double ms = s->step_ms.known ? s->step_ms.v : run->step_ms.v;
    if (!s->step_ms.known && !run->step_ms.known)
        snprintf(out, 32, "-");
    else if (s->kind && strcmp(s->kind, "unsteady") == 0)
        snprintf(out, 32, "unsteady");
    else if (s->step_ms.known && s->low_ms.known && s->high_ms.known && ms > 0)
        snprintf(out, 32, "%.4g ±%.2g%%", ms, (s->high_ms.v - s->low_ms.v) / 2 / ms * 100);
    else
        snprintf(out, 32, "%.4g", ms);
}

// The whole training: "12.3 s" measured, "~12.3 s" projected.
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

void runs_table(struct out *out, const struct run *runs, size_t count)
{
    bool projected = false, tainted = false, failed = false;
    int wide = out->width > 80 ? out->width - 80 : 0;
    int id_width = 6; // of ids that are not random: their own width, up to a limit
    for (size_t i = 0; i < count; i++) {
        char id[32];
        short_id(runs[i].id ? runs[i].id : "-", id);
        int len = out_columns(id);
        id_width = len > id_width ? len > 14 ? 14 : len : id_width;
    }
    int machine = 13 + wide - (id_width - 6);
    out_styled(out, OUT_BOLD, "%-*s %-10s %-10s %-*s %-10s %12s %11s", id_width, "run", "started",
               "name", machine, "on", "with", "ms/step", "whole");
    out_printf(out, "\n");
    for (size_t i = 0; i < count; i++) {
        const struct run *run = &runs[i];
        char id[32], age[24], ms[32], time[32];
        short_id(run->id ? run->id : "-", id);
        when(run->started, age);
        step(run, ms);
        projected |= whole(run, time);
        bool bad = run->ended && strcmp(run->ended, "failed") == 0, spoilt = run->taints.count > 0;
        failed |= bad;
        tainted |= spoilt;
        out_cell(out, id_width, id);
        out_cell(out, 10, age);
        out_cell(out, 10, run->name ? run->name : run->workload ? run->workload : "-");
        out_cell(out, machine, place(run));
        out_cell(out, 10, run->framework ? run->framework : "-");
        out_cell_right(out, 12, ms);
        out_printf(out, " ");
        out_cell_right(out, 11, time);
        out_printf(out, "%s%s\n", bad ? "x" : "", spoilt ? "!" : "");
    }
    if (projected || tainted || failed)
        out_styled(out, OUT_DIM, "%s%s%s%s%s", projected ? "~ projected" : "",
                   projected && (tainted || failed) ? "; " : "",
                   tainted ? "! something may have spoiled it ('fare runs RUN' says what)" : "",
                   tainted && failed ? "; " : "", failed ? "x failed" : ""),
            out_printf(out, "\n");
}

void runs_published_table(struct out *out, const struct run *runs, size_t count)
{
    out_styled(out, OUT_BOLD, "%-46s %-13s %10s %8s", "published-", "on", "whole", "right");
    out_printf(out, "\n");
    for (size_t i = 0; i < count; i++) {
        const struct run *run = &runs[i];
        char time[32], right[16] = "-";
        const char *id = run->id ? run->id : "-";
        whole(run, time);
        if (run->test_accuracy.known)
            snprintf(right, sizeof right, "%.2f %%", run->test_accuracy.v * 100);
        out_cell(out, 46, strncmp(id, "published-", 10) == 0 ? id + 10 : id);
        out_cell(out, 13, run_gpu_name(run) ? run_gpu_name(run) : place(run));
        out_cell_right(out, 10, time);
        out_printf(out, " %8s\n", right);
    }
}
