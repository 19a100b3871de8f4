// SPDX-License-Identifier: Apache-2.0
#include "view/run.h"

#include <string.h>

#include "base/units.h"
#include "view/account.h"

void view_run_doubts(struct doc *doc, const struct page_run *run)
{
    struct buf noise = {0};
    doc_fact(doc, "Problem", run->problem);
    for (size_t i = 0; i < run->taints.count; i++)
        buf_printf(&noise, "%s%s", i ? "; " : "", run->taints.items[i]);
    doc_fact(doc, "Noisy", doc_take(doc, &noise));
}

static void add_facts(struct doc *doc, const struct page_run *run, bool measured)
{
    for (size_t i = 0; i < run->facts.count; i++)
        if (run->facts.items[i].measured.v == measured)
            doc_fact(doc, run->facts.items[i].what, run->facts.items[i].value);
}

void view_run_figures(struct doc *doc, const struct page_run *run)
{
    add_facts(doc, run, true);
}

void view_run_settings(struct doc *doc, const struct page_run *run)
{
    const size_t count = run->facts.count;
    if (count == 0 || run->facts.items[count - 1].measured.v) // they come last
        return;
    doc_fold(doc, "Where these figures are from");
    add_facts(doc, run, false);
    doc_unfold(doc);
}

static struct cell exact(struct doc *doc, struct maybe_money usd)
{
    return (struct cell){.kind = CELL_AMOUNT,
                         .text = usd.known ? doc_text(doc, "%s", money_exact(usd).s) : NULL};
}

void view_run_starts(struct doc *doc, const struct page_run *run)
{
    if (!run->starts_words)
        return;
    doc_heading(doc, 0, "All its starts");
    doc_say(doc, DOC_PLAIN, run->starts_words);
    doc_table(doc, "All its starts");
    for (size_t i = 0; i < run->starts.count; i++) {
        const struct page_start *s = &run->starts.items[i];
        const char *steps = s->saved_step.known
                                ? doc_text(doc, "%lld to %lld", (long long)s->from_step.v,
                                           (long long)s->saved_step.v)
                                : NULL;
        doc_row(doc, DOC_NORMAL);
        doc_cell(doc, COLUMN("start"), cell_count(s->number));
        doc_cell(doc, COLUMN("began", .priority = 4), cell_text(s->began));
        doc_cell(doc, COLUMN("machine", .priority = 5), cell_text(s->machine));
        doc_cell(doc, COLUMN("time"), cell_number(CELL_TIME, s->time_s));
        doc_cell(doc, COLUMN("ended"), cell_text(s->ended));
        doc_cell(doc, COLUMN("steps saved", .priority = 3), cell_text(steps));
        doc_cell(doc, COLUMN("lost", .priority = 2), cell_number(CELL_TIME, s->lost_s));
        doc_cell(doc, COLUMN("USD", .priority = 1), exact(doc, s->usd));
    }
}

// ---- in brief

static const char *fact_of(const struct page_run *run, const char *what)
{
    for (size_t i = 0; i < run->facts.count; i++)
        if (strcmp(run->facts.items[i].what, what) == 0)
            return run->facts.items[i].value;
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

// "train.py, 2026-11-18 03:12 on H200: 1 h 12 min (1 h 09 min to 1 h 16 min), projected after 6.0
// s"
static const char *whole_words(struct doc *doc, const struct page_run *shown, const struct run *run)
{
    const struct maybe_real after = run->projection.after_s;
    struct buf text = {0};
    buf_adds(&text, shown->name ? shown->name : shown->workload ? shown->workload : "A run");
    if (shown->started)
        buf_printf(&text, ", %.10s %.5s", shown->started,
                   strlen(shown->started) > 11 ? shown->started + 11 : "");
    buf_printf(&text, "%s%s: ", shown->machine ? " on " : "", shown->machine ? shown->machine : "");
    if (!shown->time_s.known)
        buf_adds(&text, "the time of the whole training is unknown");
    else {
        buf_adds(&text, units_time(shown->time_s.v).s);
        if (shown->low_s.known)
            buf_printf(&text, " (%s to %s)", units_time(shown->low_s.v).s,
                       units_time(shown->high_s.v).s);
        buf_printf(&text, "%s%s", shown->basis ? ", " : "", shown->basis ? shown->basis : "");
        if (same_text(shown->basis, "projected") && after.known)
            buf_printf(&text, " after %s", units_time(after.v).s);
    }
    if (shown->ended && !same_text(shown->ended, "finished") && !same_text(shown->ended, "sampled"))
        buf_printf(&text, "; it %s %s", same_text(shown->ended, "failed") ? "has" : "was",
                   shown->ended);
    if (run->exit_code.v != 0)
        buf_printf(&text, ", exit code %lld", (long long)run->exit_code.v);
    buf_addc(&text, '.');
    return doc_take(doc, &text);
}

// "steps took 17.8 to 89.1 ms"; nothing where they took the same.
static void add_range(const struct run *run, struct buf *out)
{
    double low = 0, high = 0;
    for (size_t i = 0; i < run->step_plot_ms.count; i++) {
        const double ms = run->step_plot_ms.items[i];
        low = i == 0 || ms < low ? ms : low;
        high = ms > high ? ms : high;
    }
    const struct units_text from = units_step(low), to = units_step(high);
    if (run->step_plot_ms.count < 2 || strcmp(from.s, to.s) == 0)
        return;
    buf_printf(out, "%ssteps took ", out->len > 0 ? "; " : "");
    if (high < 1000)
        buf_printf(out, "%s to %s ms", units_number(low).s, units_number(high).s);
    else
        buf_printf(out, "%s to %s", from.s, to.s);
}

// What came out, how long a step took, and what was busy.
static const char *result_words(struct doc *doc, const struct page_run *shown,
                                const struct run *run)
{
    const struct run_use *use = &run->use;
    const struct maybe_real busy =
        use->steady.gpu_percent.known ? use->steady.gpu_percent : use->gpu_percent;
    const char *result = fact_of(shown, "Result"),
               *counts = run->progress.counts ? run->progress.counts : "steps";
    struct buf text = {0};
    buf_adds(&text, result ? result : "");
    if (shown->step_ms.known)
        buf_printf(&text, "%s%s %s", text.len > 0 ? "; " : "", units_step(shown->step_ms.v).s,
                   strcmp(counts, "steps") == 0    ? "a step"
                   : strcmp(counts, "epochs") == 0 ? "an epoch"
                                                   : "a sample");
    if (strcmp(counts, "steps") == 0)
        add_range(run, &text);
    if (busy.known)
        buf_printf(&text, "%sGPU %.0f %% busy", text.len > 0 ? "; " : "", busy.v);
    if (use->gpu_memory_peak_bytes.known)
        buf_printf(&text, "%s%s of its memory", text.len > 0 ? ", " : "",
                   units_bytes(use->gpu_memory_peak_bytes.v).s);
    if (text.len > 0) {
        if (text.data[0] >= 'a' && text.data[0] <= 'z')
            text.data[0] -= 'a' - 'A';
        buf_addc(&text, '.');
    }
    return doc_take(doc, &text);
}

// Phases of at least a hundredth.
static const char *phase_words(struct doc *doc, const struct run *run)
{
    struct run_part parts[RUN_PARTS];
    struct buf text = {0};
    run_parts(run, parts);
    for (size_t i = 0; i < RUN_PARTS; i++)
        if (parts[i].ns.known && parts[i].ns.v > 0 && parts[i].ns.v >= run->phases.wall_ns.v / 100)
            buf_printf(&text, "%s%s %s", text.len > 0 ? ", " : "", parts[i].name,
                       units_time((double)parts[i].ns.v / 1e9).s);
    return doc_take(doc, &text);
}

void view_run_brief(struct doc *doc, const struct page_run *shown, const struct run *run)
{
    struct buf step = {0}, noise = {0};
    doc_say(doc, DOC_VERDICT, whole_words(doc, shown, run));
    doc_say(doc, DOC_VERDICT, result_words(doc, shown, run));
    doc_fact(doc, "Problem", shown->problem);
    doc_fact(doc, "Time", phase_words(doc, run));
    account_sentence(&run->account, &step);
    doc_fact(doc, "A step", doc_take(doc, &step));
    for (size_t i = 0; i < shown->taints.count; i++)
        buf_printf(&noise, "%s%s", i ? "; " : "", shown->taints.items[i]);
    if (noise.len == 0 && run->program.version) // others' records cannot tell
        buf_adds(&noise, "none found");
    doc_fact(doc, "Noise", doc_take(doc, &noise));
    doc_fact(doc, "Cost", fact_of(shown, "Bill"));
    doc_fact(doc, "Starts", shown->starts_words);
    doc_fact(doc, "Corrected", fact_of(shown, "Corrected"));
}

// ---- without plots

void run_parts(const struct run *run, struct run_part out[RUN_PARTS])
{
    const struct run_phases *p = &run->phases;
    const struct run_part parts[RUN_PARTS] = {{"set-up", p->setup_ns},
                                              {"loading kernels", p->kernels_ns},
                                              {"loading data", p->load_ns},
                                              {"copying to the device", p->device_ns},
                                              {"warm-up steps", p->warmup_ns},
                                              {"training steps", p->train_ns},
                                              {"evaluations", p->evaluate_ns},
                                              {"checkpoints", p->checkpoint_ns},
                                              {"idle", p->idle_ns}};
    memcpy(out, parts, sizeof parts);
}

enum { BAR_COLUMNS = 30 };

static struct cell bar_of(double value)
{
    return (struct cell){
        .kind = CELL_BAR, .value = some_real(value), .bar = {.value = value, .low = 1, .high = 0}};
}

static struct cell percent(struct doc *doc, double share)
{
    return (struct cell){.kind = CELL_PERCENT, .text = doc_text(doc, "%.1f %%", share * 100)};
}

static void add_phases(struct doc *doc, const struct run *run)
{
    const struct maybe_int wall = run->phases.wall_ns;
    struct run_part parts[RUN_PARTS];
    bool any = false;
    run_parts(run, parts);
    for (size_t i = 0; i < RUN_PARTS; i++)
        any |= parts[i].ns.known;
    if (!any)
        return;
    doc_heading(doc, 0,
                wall.known
                    ? doc_text(doc, "Where the time went: %s", units_time((double)wall.v / 1e9).s)
                    : "Where the time went");
    doc_table(doc, "Where the time went");
    for (size_t i = 0; i < RUN_PARTS; i++) {
        const double ns = (double)parts[i].ns.v;
        if (!parts[i].ns.known || ns <= 0)
            continue;
        doc_row(doc, DOC_NORMAL);
        doc_cell(doc, COLUMN("phase"), cell_text(parts[i].name));
        doc_cell(doc, COLUMN("to scale", .priority = 1, .least = BAR_COLUMNS), bar_of(ns));
        doc_cell(doc, COLUMN("time"), cell_number(CELL_TIME, some_real(ns / 1e9)));
        doc_cell(doc, COLUMN("share"),
                 wall.known && wall.v > 0 ? percent(doc, ns / (double)wall.v) : cell_text(NULL));
    }
}

#define APART 1.5 // recorded steps so much shorter than the others are named

// Where a step goes, by the GPU's own records.
static void add_account(struct doc *doc, const struct run_account *a)
{
    struct account_part parts[ACCOUNT_PARTS];
    const size_t count = account_parts(a, parts);
    struct buf text = {0};
    if (count == 0)
        return;
    buf_printf(&text, "Where a step goes: %s ms, by the GPU's records of %lld",
               units_number(a->full_step_ms.known ? a->full_step_ms.v : a->step_ms.v).s,
               (long long)a->steps.v);
    if (a->full_step_ms.v >= APART * a->step_ms.v)
        buf_printf(&text, " that took %s ms each", units_number(a->step_ms.v).s);
    doc_heading(doc, 0, doc_take(doc, &text));
    doc_table(doc, "Where a step goes");
    for (size_t i = 0; i < count; i++) {
        doc_row(doc, DOC_NORMAL);
        doc_cell(doc, COLUMN("part"), cell_text(parts[i].name));
        doc_cell(doc, COLUMN("to scale", .priority = 1, .least = BAR_COLUMNS),
                 bar_of(parts[i].share));
        doc_cell(doc, COLUMN("share"), percent(doc, parts[i].share));
    }
    account_sentence(a, &text);
    doc_say(doc, DOC_PLAIN, doc_take(doc, &text));
}

// Of most commands only the number of epochs is known.
static bool tells(const struct run_epoch *e)
{
    return e->train_ns.known || e->train_loss.known || e->train_accuracy.known ||
           e->test_loss.known || e->test_accuracy.known;
}

static struct cell loss_of(struct doc *doc, struct maybe_real loss)
{
    return (struct cell){.kind = CELL_RATIO,
                         .text = loss.known ? doc_text(doc, "%.4f", loss.v) : NULL};
}

static void add_epochs(struct doc *doc, const struct run *run)
{
    const size_t count = run->epoch_list.count;
    const bool samples = count > 0 && run->epoch_list.items[0].samples.known;
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any |= tells(&run->epoch_list.items[i]);
    if (!any)
        return;
    doc_heading(doc, 0, "Epochs");
    doc_table(doc, "Epochs");
    for (size_t i = 0; i < count; i++) {
        const struct run_epoch *e = &run->epoch_list.items[i];
        doc_row(doc, DOC_NORMAL);
        doc_cell(doc, COLUMN(samples ? "samples" : "epoch"),
                 cell_count(e->samples.known ? e->samples : e->epoch));
        doc_cell(doc, COLUMN("time"),
                 cell_number(CELL_TIME,
                             (struct maybe_real){(double)e->train_ns.v / 1e9, e->train_ns.known}));
        doc_cell(doc, COLUMN("loss", .priority = 2), loss_of(doc, e->train_loss));
        doc_cell(doc, COLUMN("accuracy", .priority = 3),
                 cell_number(CELL_SHARE, e->train_accuracy));
        doc_cell(doc, COLUMN("test loss", .priority = 1), loss_of(doc, e->test_loss));
        doc_cell(doc, COLUMN("test accuracy"), cell_number(CELL_SHARE, e->test_accuracy));
    }
}

void view_run_times(struct doc *doc, const struct run *run)
{
    add_phases(doc, run);
    add_account(doc, &run->account);
    add_epochs(doc, run);
}
