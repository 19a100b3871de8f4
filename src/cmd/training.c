// SPDX-License-Identifier: Apache-2.0
#include "cmd/training.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/proc.h"
#include "cmd/table.h"
#include "cmd/watch.h"
#include "record/read.h"

volatile sig_atomic_t training_stop;

static void on_signal(int number)
{
    (void)number;
    training_stop = 1;
}

void training_catch(void)
{
    training_stop = 0;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool training_over(const struct native_options *o)
{
    return training_stop || (o->until_ns > 0 && clock_now_ns() >= o->until_ns);
}

// The line on the terminal.
static void show(void *context, const struct trainer_progress *p, const struct live *live)
{
    struct watch *watch = context;
    char note[120];
    if (watch->begun && !watch->progress.on)
        return;
    snprintf(note, sizeof note, "epoch %lld/%lld%s  loss %.3f  %.1f %% right  %.0f/s",
             (long long)p->epoch + 1, (long long)p->epochs, p->evaluating ? " test" : "", p->loss,
             p->accuracy * 100, p->samples_per_s);
    watch_show(watch, live, note);
}

static int run_watched(const struct workload *workload, const struct native_options *options,
                       struct watch *watch, struct run *run, struct buf *says, struct err *err)
{
    struct native_options o = *options;
    o.stop = &training_stop;
    o.progress = show;
    o.context = watch;
    watch->name = workload->name;
    watch_show(watch, &(struct live){.left_s = -1, .bill = -1, .projected = -1}, "");
    int rc = native_run(workload, &o, run, says, err);
    watch_end(watch);
    return rc;
}

int training_run(const struct workload *workload, const struct native_options *options,
                 struct run *run, struct buf *says, struct err *err)
{
    struct watch watch = {0};
    return run_watched(workload, options, &watch, run, says, err);
}

// ---- in a process of its own

struct apart {
    const struct workload *workload;
    const struct native_options *options;
    struct run *run;
    struct watch watch;
};

static int apart(void *context)
{
    struct apart *a = context;
    struct err err = {0};
    struct buf says = {0}, text = {0};
    signal(SIGTTOU, SIG_IGN); // it draws its line from the terminal's background
    int rc = run_watched(a->workload, a->options, &a->watch, a->run, &says, &err);
    if (rc == 0)
        rc = record_to_text(run_fields, a->run, &text, &err);
    if (rc == 0)
        rc = fs_write_fd(STDOUT_FILENO, buf_str(&text), text.len, "the pipe", &err);
    if (rc != 0)
        fprintf(stderr, "%s", err.text);
    buf_release(&says);
    buf_release(&text);
    return rc != 0;
}

// What the process left behind that did not come to its end.
static void take_part(const struct journal *journal, struct run *run)
{
    struct buf text = {0};
    struct run part = {0};
    if (journal && journal_read(journal, &text, NULL) == 0 &&
        record_from_text(run_fields, buf_str(&text), text.len, &part, NULL) == 0) {
        record_release(run_fields, run);
        *run = part;
    } else {
        record_release(run_fields, &part);
    }
    buf_release(&text);
}

int training_run_apart(const struct workload *workload, const struct native_options *options,
                       struct run *run, struct err *err)
{
    int terminal =
        fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); // its own is ours to read
    struct apart a = {workload, options, run, {.fd = terminal, .group = getpgrp()}};
    struct proc proc = {0};
    struct proc_result result = {0};
    struct proc_options how = {.keep_max = 64 << 20};
    int rc = proc_start_call(&proc, apart, &a, &how, err);
    if (terminal >= 0)
        close(terminal);
    if (rc == 0)
        rc = proc_finish(&proc, &result, err);
    if (rc != 0)
        return rc;
    json_t *json = json_loadb(buf_str(&result.out), result.out.len, 0, NULL);
    if (!result.exited || result.exit_code != 0 || !json) {
        struct buf words = {0};
        take_part(options->journal, run);
        proc_result_words(&result, &words);
        rc = err_set(err, ERR_FAIL, "%s",
                     result.err_text.len > 0 ? buf_str(&result.err_text) : buf_str(&words));
        buf_release(&words);
    } else {
        record_release(run_fields, run);
        rc = record_from_json(run_fields, json, run, err);
    }
    json_decref(json);
    proc_result_release(&result);
    return rc;
}

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
    else if (run->test_accuracy.known)
        snprintf(out, 48, "%.1f %%", run->test_accuracy.v * 100);
    else if (run->last_loss.known)
        snprintf(out, 48, "loss %.2f", run->last_loss.v);
    else
        snprintf(out, 48, "-");
}

// "31.2 s ± 2 %": projected, or measured where it was made to the end.
static void whole(char out[48], const struct run *run)
{
    char time[24];
    snprintf(out, 48, "-");
    if (run->projection.wall_s.known) {
        const struct run_projection *p = &run->projection;
        clock_words((int64_t)(p->wall_s.v * 1e9), time, sizeof time);
        double share = (p->high_s.v - p->low_s.v) / 2 / p->wall_s.v * 100;
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

void training_table(struct out *out, const struct run *runs, size_t count)
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

// Said once for each workload, where the largest of its batches that has a speed comes by.
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

void training_notes(struct out *out, const struct runs *runs)
{
    for (size_t i = 0; i < runs->runs.count; i++) {
        const struct run *run = &runs->runs.items[i];
        if (runs->runs.count == 1)
            out_sparkline(out, run->workload, run->step_plot_ms.items, run->step_plot_ms.count,
                          "ms a step, from left to right");
        if (unsteady(run))
            out_row(out, run->workload, "the step times never settled: no single figure%s",
                    run->projection.wall_s.known ? ", and the whole training's time is a guess"
                                                 : "");
        for (size_t k = 0; k < run->taints.count; k++)
            out_row(out, run->workload, "%s", run->taints.items[k]);
        if (run->reached.known && !run->reached.v)
            out_row(out, run->workload, "did not reach what a correct run reaches");
    }
    for (size_t i = 0; i < runs->groups.count; i++) {
        const struct run_group *g = &runs->groups.items[i];
        if (g->spread.known)
            out_row(out, g->workload,
                    "batch %lld: %lld runs, %.3g to %.3g ms per step, spread %.1f %% (standard "
                    "deviation)",
                    (long long)g->batch.v, (long long)g->runs.v, g->low_ms.v, g->high_ms.v,
                    g->spread.v * 100);
        say_saturation(out, runs, i);
    }
}
