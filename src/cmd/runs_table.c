// SPDX-License-Identifier: Apache-2.0
// runs, as tables.
#include "cmd/runs.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { ID_MOST = 14, RANDOM_SHOWN = 6 };

// What to type for a run: of "20261115T074512Z-3f9a2c81d04e" and "import-3f9a2c81..." the first of
// the random part, which ledger_find() takes; of others the whole, or null where that is too long
// for a column: it then has a line of its own.
static const char *short_id(const char *id, char out[ID_MOST + 1])
{
    const char *tail = strrchr(id, '-');
    size_t digits = tail ? strspn(tail + 1, "0123456789abcdef") : 0;
    bool ours = tail && tail > id && (tail[-1] == 'Z' || strncmp(id, "import-", 7) == 0);
    bool random = ours && digits >= 12 && tail[1 + digits] == '\0';
    if (!random && out_columns(id) > ID_MOST)
        return NULL;
    snprintf(out, ID_MOST + 1, "%.*s", random ? RANDOM_SHOWN : ID_MOST, random ? tail + 1 : id);
    return out;
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

enum { RUN, STARTED, NAME, ON, WITH, STEP, WHOLE, COLUMNS };

static const char *run_name(const struct run *run)
{
    return run->name ? run->name : run->workload ? run->workload : "-";
}

// Whether it was projected.
static bool show_run(struct out *out, const struct out_column *columns, const struct run *run)
{
    char room[ID_MOST + 1], age[24], ms[32], time[32];
    bool failed = run->ended && strcmp(run->ended, "failed") == 0;
    const char *whole_id = run->id ? run->id : "-", *id = short_id(whole_id, room);
    if (!id)
        out_printf(out, "%s\n", whole_id);
    when(run->started, age);
    step(run, ms);
    bool projected = whole(run, time);
    const char *const cells[COLUMNS] = {
        id ? id : "", age, run_name(run), place(run), run->framework ? run->framework : "-",
        ms,           time};
    for (int c = 0; c < COLUMNS; c++)
        out_field(out, &columns[c], cells[c]);
    buf_trim(&out->text);
    out_printf(out, "%s%s\n", failed ? "x" : "", run->taints.count > 0 ? "!" : "");
    return projected;
}

void runs_table(struct out *out, const struct run *runs, size_t count)
{
    enum { MARKS = 2 };
    bool projected = false, tainted = false, failed = false;
    struct out_column columns[COLUMNS] = {
        [RUN] = {"run", RANDOM_SHOWN, false, 0}, [STARTED] = {"started", 10, false, 3},
        [NAME] = {"name", 10, false, 0},         [ON] = {"on", 8, false, 1},
        [WITH] = {"with", 10, false, 4},         [STEP] = {"ms/step", 12, true, 2},
        [WHOLE] = {"whole", 11, true, 0},
    };
    for (size_t i = 0; i < count; i++) { // ids that are not random have their own width
        char room[ID_MOST + 1];
        const char *id = short_id(runs[i].id ? runs[i].id : "-", room);
        int len = id ? out_columns(id) : 0;
        columns[RUN].width = len > columns[RUN].width ? len : columns[RUN].width;
    }
    bool wide = out->width >= 80; // all of them, as narrow as they have to be
    if (wide)
        columns[ON].width = 1;
    out_fit(columns, COLUMNS, ON, out->width - MARKS);
    out_heads(out, columns, COLUMNS);
    for (size_t i = 0; i < count; i++) {
        projected |= show_run(out, columns, &runs[i]);
        failed |= runs[i].ended && strcmp(runs[i].ended, "failed") == 0;
        tainted |= runs[i].taints.count > 0;
    }
    struct buf legend = {0};
    buf_printf(&legend, "%s%s%s%s%s", projected ? "~ projected" : "",
               projected && (tainted || failed) ? "; " : "",
               tainted ? "! noisy ('fare runs RUN' says why)" : "", tainted && failed ? "; " : "",
               failed ? "x failed" : "");
    if (legend.len > 0)
        out_wrap(out, 0, buf_str(&legend));
    out->text.failed |= legend.failed;
    buf_release(&legend);
}

// Ids are there to be typed, and so never cut: on a narrow terminal they have a line of their own.
void runs_published_table(struct out *out, const struct run *runs, size_t count)
{
    enum { ID, DEVICE, TIME, RIGHT, FIELDS, ID_COLUMNS = 46 };
    struct out_column columns[FIELDS] = {[ID] = {"published-", ID_COLUMNS, false, 0},
                                         [DEVICE] = {"on", 12, false, 0},
                                         [TIME] = {"whole", 11, true, 0},
                                         [RIGHT] = {"right", 8, true, 0}};
    bool folded = out->width < 80;
    if (folded)
        columns[ID] = (struct out_column){"published-", 0, false, 1};
    out_heads(out, columns, FIELDS);
    for (size_t i = 0; i < count; i++) {
        const struct run *run = &runs[i];
        char time[32], right[16] = "-";
        const char *id = run->id ? run->id : "-";
        id += strncmp(id, "published-", 10) == 0 ? 10 : 0;
        whole(run, time);
        if (run->test_accuracy.known)
            snprintf(right, sizeof right, "%.2f %%", run->test_accuracy.v * 100);
        const char *const cells[FIELDS] = {id, run_gpu_name(run) ? run_gpu_name(run) : place(run),
                                           time, right};
        if (folded)
            out_printf(out, "%s\n", id);
        for (int c = 0; c < FIELDS; c++)
            out_field(out, &columns[c], cells[c]);
        buf_trim(&out->text);
        out_printf(out, "\n");
    }
}
