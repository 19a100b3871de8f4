// SPDX-License-Identifier: Apache-2.0
// runs show: one run on a page.
#include "cmd/runs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cmd/run_text.h"
#include "cmd/table.h"
#include "view/account.h"
#include "view/start.h"

enum { BAR_COLUMNS = 30 };

struct units_text runs_seconds(double s)
{
    struct units_text out;
    clock_words(s >= 0 && s < 8e9 ? (int64_t)llround(s * 1e9) : INT64_MAX, out.s, sizeof out.s);
    return out;
}

static struct units_text duration(int64_t ns)
{
    struct units_text out;
    clock_words(ns, out.s, sizeof out.s);
    return out;
}

// ---- plots

static void plot_samples(struct out *out, const struct run *run)
{
    enum { CPU, GPU, MEMORY, POWER, PLOTS };
    static const char *const names[PLOTS] = {"CPU", "GPU", "Memory", "Power"};
    int64_t most = 0;
    for (size_t i = 0; i < run->samples.count; i++)
        if (run->samples.items[i].memory_bytes.v > most)
            most = run->samples.items[i].memory_bytes.v;
    bool small = most < 1 << 30;
    const char *const units[PLOTS] = {"% of one CPU", "% of the GPUs", small ? "MiB" : "GiB", "W"};
    double values[200], unit = small ? 1 << 20 : 1 << 30;
    for (int kind = 0; kind < PLOTS; kind++) {
        size_t count = 0;
        for (size_t i = 0; i < run->samples.count && count < 200; i++) {
            const struct run_sample *s = &run->samples.items[i];
            const struct maybe_real each[PLOTS] = {
                s->cpu_percent,
                s->gpu_percent,
                {(double)s->memory_bytes.v / unit, s->memory_bytes.known},
                s->power_w};
            if (each[kind].known)
                values[count++] = each[kind].v;
        }
        out_sparkline(out, names[kind], values, count, units[kind]);
    }
}

static void print_phases(struct out *out, const struct run *run)
{
    const struct run_phases *p = &run->phases;
    const struct {
        const char *name;
        struct maybe_int ns;
    } rows[] = {
        {"set-up", p->setup_ns},      {"kernels", p->kernels_ns},       {"load data", p->load_ns},
        {"to device", p->device_ns},  {"warm-up", p->warmup_ns},        {"train", p->train_ns},
        {"evaluate", p->evaluate_ns}, {"checkpoint", p->checkpoint_ns}, {"idle", p->idle_ns}};
    int64_t total = p->wall_ns.known ? p->wall_ns.v : 0, longest = 1;
    size_t known = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].ns.known) {
            longest = rows[i].ns.v > longest ? rows[i].ns.v : longest;
            known++;
        }
    if (known == 0)
        return;
    enum { AROUND = 36 }; // a bar: its name, its time and share
    int bar = out->width < BAR_COLUMNS + AROUND ? out->width - AROUND : BAR_COLUMNS;
    out_printf(out, "\n");
    out_styled(out, OUT_BOLD, "Where the time went");
    out_printf(out, "%s%s\n", total ? ": " : "", total ? duration(total).s : "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].ns.known || rows[i].ns.v <= 0)
            continue;
        // Halves of a column, so that small phases still show.
        int halves = (int)((double)rows[i].ns.v / (double)longest * bar * 2 + 0.5);
        out_printf(out, "  %-11s", rows[i].name);
        for (int b = 0; b < halves / 2; b++)
            out_styled(out, OUT_GREEN, out->unicode ? "█" : "#");
        if (halves % 2)
            out_styled(out, OUT_GREEN, out->unicode ? "▌" : ":");
        out_printf(out, "%*s %s", bar - (halves + 1) / 2, "", duration(rows[i].ns.v).s);
        if (total > 0)
            out_printf(out, " (%.1f %%)", (double)rows[i].ns.v / (double)total * 100);
        out_printf(out, "\n");
    }
}

// ---- where a step goes, by the GPU's own account

#define APART 1.5 // recorded steps so much shorter than the others are named

static const char *glyph_of(const struct out *out, const struct account_part *part, size_t number)
{
    static const char *const blocks[] = {"█", "▓", "▒", "░", "▞", "▪"};
    static const char *const signs[] = {"#", "=", "+", "-", "*", "%"};
    static const char *const waits[] = {"d", "s", "h", "?", "."};
    enum { GLYPHS = sizeof blocks / sizeof *blocks };
    if (part->waits)
        for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
            if (waits[i][0] == part->waits)
                return waits[i];
    return out->unicode ? blocks[number % GLYPHS] : signs[number % GLYPHS];
}

static void print_account(struct out *out, const struct run *run)
{
    const struct run_account *a = &run->account;
    struct account_part parts[ACCOUNT_PARTS];
    struct buf says = {0};
    size_t count = account_parts(a, parts);
    if (count == 0)
        return;
    int wide = out->width - 4, drawn = 0;
    double at = 0;
    out_styled(out, OUT_BOLD, "Where a step goes");
    out_printf(out, ": %.3g ms, by the GPU's records of %lld",
               a->full_step_ms.known ? a->full_step_ms.v : a->step_ms.v, (long long)a->steps.v);
    if (a->full_step_ms.v >= APART * a->step_ms.v)
        out_printf(out, " that took %.3g ms each", a->step_ms.v);
    out_printf(out, "\n  ");
    for (size_t i = 0; i < count; i++)
        for (at += parts[i].share * wide; drawn < at - 0.5 && drawn < wide; drawn++)
            out_styled(out, parts[i].waits ? OUT_YELLOW : OUT_GREEN, "%s",
                       glyph_of(out, &parts[i], i));
    out_printf(out, "\n");
    for (size_t i = 0; i < count; i++) {
        out_printf(out, "  ");
        out_styled(out, parts[i].waits ? OUT_YELLOW : OUT_GREEN, "%s", glyph_of(out, &parts[i], i));
        out_printf(out, " %-42s %5.1f %%\n", parts[i].name, parts[i].share * 100);
    }
    account_sentence(a, &says);
    out_printf(out, "  %s\n", buf_str(&says));
    buf_release(&says);
}

// ---- facts

static void print_what(struct out *out, const struct run *run)
{
    struct buf facts = {0};
    if (run->net)
        out_part(&facts, "%s", run->net);
    if (run->parameters.known)
        out_part(&facts, "%s", units_count(run->parameters.v, "parameter").s);
    if (run->recipe)
        out_part(&facts, "%s", run->recipe);
    if (run->batch.known)
        out_part(&facts, "batch %lld", (long long)run->batch.v);
    if (run->epochs.known && run->epochs.v > 0)
        out_part(&facts, "%lld epoch%s", (long long)run->epochs.v, run->epochs.v == 1 ? "" : "s");
    if (run->samples_trained.known)
        out_part(&facts, "%s", units_count(run->samples_trained.v, "sample").s);
    out_parts(out, "Trained", &facts);
    for (size_t i = 0; i < run->command.count; i++)
        buf_printf(&facts, "%s%s", i ? " " : "", run->command.items[i]);
    out_parts(out, "Command", &facts);

    if (run->framework && run->command.count == 0)
        out_part(&facts, "%s", run->framework);
    if (run->engine)
        out_part(&facts, "engine %s", run->engine);
    if (run->precision)
        out_part(&facts, "%s", run->precision);
    if (run->threads.known)
        out_part(&facts, "%s", units_count(run->threads.v, "thread").s);
    if (run->seed.known)
        out_part(&facts, "seed %lld", (long long)run->seed.v);
    out_parts(out, "With", &facts);

    const struct run_data *d = &run->data;
    if (d->name)
        out_part(&facts, "%s%s", d->name, d->made.known && d->made.v ? " (generated)" : "");
    if (d->train_samples.known)
        out_part(&facts, "%s", units_count(d->train_samples.v, "sample").s);
    if (d->test_samples.known)
        out_part(&facts, "%lld held out", (long long)d->test_samples.v);
    out_parts(out, "Data", &facts);
}

static bool hashed(const char *name)
{
    return strncmp(name, "sha256:", 7) == 0;
}

static void print_machine(struct out *out, const struct run *run)
{
    const struct run_machine *m = &run->machine;
    struct buf facts = {0};
    if (m->name)
        out_part(&facts, "%s", m->name);
    if (m->provider || m->instance_type)
        out_part(&facts, "%s%s%s%s%s", m->provider ? m->provider : "",
                 m->provider && m->instance_type ? " " : "",
                 m->instance_type ? m->instance_type : "", m->region ? " in " : "",
                 m->region ? m->region : "");
    if (m->gpu && m->gpus.known && m->gpus.v > 1)
        out_part(&facts, "%lld × %s", (long long)m->gpus.v, m->gpu);
    else if (m->gpu)
        out_part(&facts, "%s", m->gpu);
    if (m->cpu)
        out_part(&facts, "%s", m->cpu);
    if (m->usable_cpus.known)
        out_part(&facts, "%.3g CPUs", m->usable_cpus.v);
    if (m->memory_bytes.known)
        out_part(&facts, "%s", units_bytes(m->memory_bytes.v).s);
    out_parts(out, "Machine", &facts);
    if (run->host && !hashed(run->host))
        out_part(&facts, "on %s", run->host);
    if (run->user && !hashed(run->user))
        out_part(&facts, "by %s", run->user);
    out_parts(out, "Measured", &facts);
}

static void plot_steps(struct out *out, const struct run *run)
{
    double values[200];
    size_t count = 0;
    bool long_ones = false;
    for (; count < run->step_plot_ms.count && count < 200; count++) {
        values[count] = run->step_plot_ms.items[count];
        long_ones |= values[count] >= 1e4;
    }
    for (size_t i = 0; long_ones && i < count; i++)
        values[i] /= 1e3;
    out_sparkline(out, NULL, values, count,
                  long_ones ? "s, from left to right" : "ms, from left to right");
}

static void print_steps(struct out *out, const struct run *run)
{
    const struct run_steady *s = &run->steady;
    struct buf facts = {0};
    bool interval = s->step_ms.known && s->low_ms.known && s->high_ms.known;
    if (interval && s->high_ms.v < 1000)
        out_part(&facts, "%.4g ms (95 %%: %.4g to %.4g)", s->step_ms.v, s->low_ms.v, s->high_ms.v);
    else if (interval)
        out_part(&facts, "%s (95 %%: %s to %s)", units_step(s->step_ms.v).s,
                 units_step(s->low_ms.v).s, units_step(s->high_ms.v).s);
    else if (run->step_ms.known)
        out_part(&facts, "%s", units_step(run->step_ms.v).s);
    if (s->kind)
        out_part(&facts, "%s", s->kind);
    if (run->samples_per_s.known)
        out_part(&facts, "%.4g samples/s", run->samples_per_s.v);
    if (run->tokens_per_s.known)
        out_part(&facts, "%.0f tokens/s", run->tokens_per_s.v);
    // l1 repeats its passes until it has measured enough.
    if (run->steps.known && run->total_steps.known && run->steps.v <= run->total_steps.v)
        out_part(&facts, "%lld of %lld done", (long long)run->steps.v,
                 (long long)run->total_steps.v);
    else if (run->steps.known)
        out_part(&facts, "%lld done", (long long)run->steps.v);
    if (s->outliers.known && s->outliers.v > 0)
        out_part(&facts, "%lld outlier%s", (long long)s->outliers.v, s->outliers.v == 1 ? "" : "s");
    const char *counts = run->progress.counts;
    out_parts(out,
              !counts || strcmp(counts, "steps") == 0 ? "Step"
              : strcmp(counts, "epochs") == 0         ? "Epoch"
                                                      : "Sample",
              &facts);
    run_text_ranks(run, &facts);
    out_parts(out, "Ranks", &facts);
    plot_steps(out, run);
}

static void print_quality(struct buf *facts, const struct run_quality *q)
{
    if (!q->metric || !q->value.known)
        return;
    struct buf target = {0};
    if (q->target.known)
        buf_printf(&target, " (target %.6g", q->target.v);
    if (q->target.known && q->reached_s.known)
        buf_printf(&target, ", reached after %s", runs_seconds(q->reached_s.v).s);
    if (q->target.known)
        buf_adds(&target, ")");
    out_part(facts, "%s %.6g%s", q->metric, q->value.v, buf_str(&target));
    buf_release(&target);
}

static void print_whole(struct out *out, const struct run *run)
{
    const struct run_projection *p = &run->projection;
    if (run->full.known && run->full.v && run->phases.wall_ns.known)
        out_row(out, "Whole run", "%s, measured", duration(run->phases.wall_ns.v).s);
    else if (p->wall_s.known && p->low_s.known && p->high_s.known)
        out_row(
            out, "Whole run", "%s (95 %%: %s to %s), projected%s%s%s", runs_seconds(p->wall_s.v).s,
            runs_seconds(p->low_s.v).s, runs_seconds(p->high_s.v).s,
            p->after_s.known ? " after " : "", p->after_s.known ? runs_seconds(p->after_s.v).s : "",
            p->assumption.known && p->assumption.v ? "; one part was not measured and is assumed"
                                                   : "");
    else if (p->wall_s.known)
        out_row(out, "Whole run", "%s, projected", runs_seconds(p->wall_s.v).s);
    struct buf facts = {0};
    run_text_checks(run, &facts);
    if (facts.len > 0)
        out_row(out, "Projected", "off by %s", buf_str(&facts));
    buf_reset(&facts);
    run_text_progress(run, &facts);
    out_parts(out, "Progress", &facts);
    for (size_t i = 0; i < run->quality.count; i++)
        print_quality(&facts, &run->quality.items[i]);
    if (run->test_accuracy.known && run->quality.count == 0)
        out_part(&facts, "%.2f %% accuracy on held-out data", run->test_accuracy.v * 100);
    if (run->first_loss.known && run->last_loss.known)
        out_part(&facts, "loss %.4g to %.4g", run->first_loss.v, run->last_loss.v);
    bool said = run->quality.count > 0 && run->quality.items[0].reached_s.known;
    if (run->reached.known && !said)
        out_part(&facts, "%s the target%s", run->reached.v ? "reached" : "did not reach",
                 run->quality.count > 0 ? "" : " of a correct training");
    run_text_l1(run, &facts);
    if (run->l1_pairs_per_s.known)
        out_part(&facts, "%.4g differences/s", run->l1_pairs_per_s.v);
    if (run->l1_share_of_peak.known)
        out_part(&facts, "%.0f %% of the device's peak", 100 * run->l1_share_of_peak.v);
    if (run->l1_copy_bytes_per_s.known)
        out_part(&facts, "copied to the device at %.1f GB/s", run->l1_copy_bytes_per_s.v / 1e9);
    out_parts(out, "Result", &facts);
}

// In the steady part alone. Waits and workers only where there are any to speak of.
static void print_activity(struct out *out, const struct run_activity *a)
{
    const struct {
        struct maybe_real percent;
        double least;
        const char *words;
    } rows[] = {{a->gpu_percent, 0, "GPU busy"},
                {a->sm_percent, 0, "its multiprocessors"},
                {a->tensor_percent, 0, "tensor cores"},
                {a->dram_percent, 0, "memory bandwidth"},
                {a->workers_cpu_percent, 1, "workers' CPU"},
                {a->io_pressure_percent, 1, "waiting for storage"}};
    struct buf facts = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].percent.known && rows[i].percent.v >= rows[i].least)
            out_part(&facts, "%s %.0f %%", rows[i].words, rows[i].percent.v);
    if (a->pcie_bytes_per_s.known)
        out_part(&facts, "PCIe %s", units_rate(a->pcie_bytes_per_s.v).s);
    out_parts(out, "In steps", &facts);
}

static void print_use(struct out *out, const struct run *run)
{
    const struct run_use *u = &run->use;
    struct buf facts = {0};
    if (u->cpu_percent.known)
        out_part(&facts, "CPU %.0f %%", u->cpu_percent.v);
    if (u->other_cpu_percent.known)
        out_part(&facts, "others %.0f %%", u->other_cpu_percent.v);
    if (u->steal_percent.known)
        out_part(&facts, "stolen %.1f %%", u->steal_percent.v);
    if (u->memory_peak_bytes.known)
        out_part(&facts, "memory %s", units_bytes(u->memory_peak_bytes.v).s);
    if (u->gpus.known && u->gpu_percent.known)
        out_part(&facts, "%lld GPU%s at %.0f %%", (long long)u->gpus.v, u->gpus.v == 1 ? "" : "s",
                 u->gpu_percent.v);
    else if (u->gpu_percent.known)
        out_part(&facts, "GPU %.0f %%", u->gpu_percent.v);
    if (u->gpu_memory_peak_bytes.known)
        out_part(&facts, "GPU memory %s", units_bytes(u->gpu_memory_peak_bytes.v).s);
    if (u->data_wait_ns.known)
        out_part(&facts, "waited %s for data", duration(u->data_wait_ns.v).s);
    if (u->throttled_ns.known && u->throttled_ns.v > 0)
        out_part(&facts, "held back %s by the CPU quota", duration(u->throttled_ns.v).s);
    if (u->gpu_energy_j.known)
        out_part(&facts, "GPUs %.4g J", u->gpu_energy_j.v);
    if (u->cpu_energy_j.known)
        out_part(&facts, "CPUs %.4g J", u->cpu_energy_j.v);
    if (u->share_of_peak.known)
        out_part(&facts, "%.1f %% of the device's peak", u->share_of_peak.v * 100);
    if (u->mfu.known)
        out_part(&facts, "MFU %.1f %% (of the dense bf16 peak)", u->mfu.v * 100);
    if (u->joules_per_mtoken.known)
        out_part(&facts, "%.4g J per million tokens", u->joules_per_mtoken.v);
    out_parts(out, "Used", &facts);
    print_activity(out, &u->steady);
}

// Of most commands only the number of epochs is known.
static bool tells(const struct run_epoch *e)
{
    return e->train_ns.known || e->train_loss.known || e->train_accuracy.known ||
           e->test_loss.known || e->test_accuracy.known;
}

static void print_epochs(struct out *out, const struct run *run)
{
    bool samples = run->epoch_list.count > 0 && run->epoch_list.items[0].samples.known;
    const struct table_column columns[] = {{samples ? "samples" : "epoch", TABLE_RIGHT},
                                           {"time", TABLE_RIGHT},
                                           {"loss", TABLE_POINT, 2},
                                           {"accuracy", TABLE_POINT, 3},
                                           {"held out", TABLE_POINT, 1},
                                           {"accuracy", TABLE_POINT}};
    struct table table = TABLE(columns);
    bool any = false;
    for (size_t i = 0; i < run->epoch_list.count; i++)
        any |= tells(&run->epoch_list.items[i]);
    if (!any)
        return;
    out_printf(out, "\n");
    for (size_t i = 0; i < run->epoch_list.count; i++) {
        const struct run_epoch *e = &run->epoch_list.items[i];
        const struct maybe_real values[] = {e->train_loss, e->train_accuracy, e->test_loss,
                                            e->test_accuracy};
        char number[24], texts[4][32];
        snprintf(number, sizeof number, "%lld",
                 (long long)(e->samples.known ? e->samples.v : e->epoch.v));
        for (int c = 0; c < 4; c++) {
            bool share = c % 2 == 1;
            snprintf(texts[c], sizeof texts[c], "-");
            if (values[c].known)
                snprintf(texts[c], sizeof texts[c], share ? "%.2f %%" : "%.4f",
                         values[c].v * (share ? 100 : 1));
        }
        const struct units_text time = duration(e->train_ns.v);
        const char *const cells[] = {
            number, e->train_ns.known ? time.s : "-", texts[0], texts[1], texts[2], texts[3]};
        table_row(&table, OUT_PLAIN, cells, NULL);
    }
    table_print(&table, out);
}

static void print_code(struct out *out, const struct run_code *code)
{
    struct buf facts = {0};
    if (code->commit)
        out_part(&facts, "commit %.12s%s", code->commit,
                 !code->dirty.known ? ""
                 : code->dirty.v    ? " with changes"
                                    : " without changes");
    if (code->script && code->script_sha256)
        out_part(&facts, "%s (sha256 %.12s)", code->script, code->script_sha256);
    if (code->folder)
        out_part(&facts, "in %s", code->folder);
    out_parts(out, "Code", &facts);
    if (code->python)
        out_part(&facts, "Python %s%s%s%s", code->python, code->interpreter ? " (" : "",
                 code->interpreter ? code->interpreter : "", code->interpreter ? ")" : "");
    for (size_t i = 0; i < code->packages.count; i++)
        if (code->packages.items[i].name && code->packages.items[i].version)
            out_part(&facts, "%s %s", code->packages.items[i].name,
                     code->packages.items[i].version);
    out_parts(out, "Software", &facts);
}

static void print_provenance(struct out *out, const struct run *run)
{
    struct buf facts = {0};
    print_code(out, &run->code);
    for (size_t i = 0; i < run->labels.count; i++)
        out_part(&facts, "%s=%s", run->labels.items[i].key ? run->labels.items[i].key : "",
                 run->labels.items[i].value ? run->labels.items[i].value : "");
    out_parts(out, "Labels", &facts);
    if (run->source)
        out_row(out, "Source", "%s", run->source);
    if (run->program.version)
        out_part(&facts, "fare %s", run->program.version);
    if (run->program.build)
        out_part(&facts, "build %s", run->program.build);
    for (size_t i = 0; i < run->libraries.count; i++) {
        const struct run_library *l = &run->libraries.items[i];
        out_part(&facts, "%s%s%s%s%s%s", l->name ? l->name : "", l->version ? " " : "",
                 l->version ? l->version : "", l->kernels ? " (" : "", l->kernels ? l->kernels : "",
                 l->kernels ? ")" : "");
    }
    if (run->machine.driver)
        out_part(&facts, "driver %s", run->machine.driver);
    out_parts(out, "Made by", &facts);
    if (run->program.command_line)
        out_row(out, NULL, "%s", run->program.command_line);
    if (run->machine.fingerprint)
        out_row(out, NULL, "machine %.16s", run->machine.fingerprint);
}

// What was before the run, which is no part of where its time went.
static void print_start(struct out *out, const struct run *run)
{
    static const struct {
        const char *name;
        void (*words)(const struct run *run, struct buf *out);
    } rows[] = {{"Boot", start_boot_words},
                {"Before", start_idle_words},
                {"Corrected", start_corrected_words}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf words = {0};
        rows[i].words(run, &words);
        if (words.len > 0)
            out_row(out, rows[i].name, "%s", buf_str(&words));
        buf_release(&words);
    }
}

void runs_page(struct out *out, const struct run *run, const struct past_estimate *past,
               const struct spending_row *invoiced)
{
    const char *name = run->name ? run->name : run->workload ? run->workload : "run";
    out_styled(out, OUT_BOLD, "%s", name);
    const char *id = run->id ? run->id : "";
    out_printf(out, "%s%s\n", out_columns(name) + 2 + out_columns(id) > out->width ? "\n" : "  ",
               id);
    struct buf facts = {0};
    bool sampled = run->ended && strcmp(run->ended, "sampled") == 0;
    if (run->started)
        out_part(&facts, "started %s", run->started);
    if (run->ended)
        out_part(&facts, "%s", run->ended);
    if (run->exit_code.known)
        out_part(&facts, "exit code %lld", (long long)run->exit_code.v);
    if (run->signal.known && !sampled) // by us
        out_part(&facts, "signal %lld", (long long)run->signal.v);
    out_parts(out, "Run", &facts);
    if (run->phases.queue_ns.known) {
        out_part(&facts, "%s in the queue", duration(run->phases.queue_ns.v).s);
        if (run->phases.wall_ns.known)
            out_part(&facts, "then ran for %s", duration(run->phases.wall_ns.v).s);
        out_parts(out, "Time", &facts);
    }
    print_start(out, run);
    if (run->project)
        out_row(out, "Project", "%s", run->project);
    if (run->problem)
        out_row(out, "Problem", "%s", run->problem);
    for (size_t i = 0; i < run->taints.count; i++)
        out_row(out, i == 0 ? "Noisy" : NULL, "%s", run->taints.items[i]);
    runs_saving(out, run);
    runs_bill_rows(out, run, invoiced);
    print_what(out, run);
    print_machine(out, run);
    print_whole(out, run);
    runs_past_row(out, past);
    print_steps(out, run);
    print_use(out, run);
    plot_samples(out, run);
    print_phases(out, run);
    if (run->account.busy_share.known)
        out_printf(out, "\n");
    print_account(out, run);
    print_epochs(out, run);
    if (run->epoch_list.count > 0 || run->phases.wall_ns.known)
        out_printf(out, "\n");
    print_provenance(out, run);
}
