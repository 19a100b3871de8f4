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
    buf_printf(&text, "Where a step goes: %.3g ms, by the GPU's records of %lld",
               a->full_step_ms.known ? a->full_step_ms.v : a->step_ms.v, (long long)a->steps.v);
    if (a->full_step_ms.v >= APART * a->step_ms.v)
        buf_printf(&text, " that took %.3g ms each", a->step_ms.v);
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
