// SPDX-License-Identifier: Apache-2.0
// The record of a command that was followed: totals, losses, where they come from.
#include "run/follow_parts.h"

static void say(const struct follow *f, struct buf *says)
{
    if (f->malformed > 0)
        buf_printf(says, "%lld progress line%s could not be read and %s ignored; the first: %s\n",
                   (long long)f->malformed, f->malformed == 1 ? "" : "s",
                   f->malformed == 1 ? "was" : "were", f->first_malformed);
    if (f->level == LEVEL_NONE && f->has_pattern)
        buf_adds(says, "No line of the output matched --step-pattern: only the total time was "
                       "measured.\n");
}

static void scale(struct maybe_real *v, double by)
{
    v->v *= by;
}

// From units of the counter to steps.
static void convert(struct run *run, int64_t unit)
{
    scale(&run->step_ms, (double)unit);
    scale(&run->steady.step_ms, (double)unit);
    scale(&run->steady.low_ms, (double)unit);
    scale(&run->steady.high_ms, (double)unit);
    run->steady.first_step.v /= unit;
    run->steady.steps.v /= unit;
    for (size_t i = 0; i < run->step_plot_ms.count; i++)
        run->step_plot_ms.items[i] *= (double)unit;
}

static void fill_totals(const struct follow *f, struct run *run)
{
    const struct counter *c = counters_chosen(&f->track.counters);
    struct totals_found found;
    int64_t unit = track_unit(&f->track);
    track_place(&f->track, &found);
    if (unit > 1)
        convert(run, unit);
    if (run->steps.known || track_made(&f->track) > 0)
        run->steps = some_int(track_made(&f->track) / unit);
    if (found.total > 0)
        run->total_steps = some_int(found.total / unit);
    int64_t epochs = found.counts_epochs ? found.total / unit : found.epochs;
    if (epochs > 0)
        run->epochs = some_int(epochs);
    if (!run->steps_per_epoch.known && found.each > 0)
        run->steps_per_epoch = some_int(found.each / unit);
    run->first_loss = losses_first(&f->figures.all);
    run->last_loss = losses_last(&f->figures.all);
    run->latest_loss = f->figures.all.latest;
    if (!run->step_ms.known || run->step_ms.v <= 0)
        return;
    if (f->track.samples > 0 && f->track.metered > 0)
        run->samples_per_s =
            some_real((double)f->track.samples / (double)f->track.metered * 1e3 / run->step_ms.v);
    else if (c && c->counts == COUNTS_SAMPLES)
        run->samples_per_s = some_real((double)unit * 1e3 / run->step_ms.v);
    else if (run->batch.known && f->track.metered > 0 && !found.counts_epochs)
        run->samples_per_s = some_real((double)run->batch.v * 1e3 / run->step_ms.v);
    if (found.counts_epochs)
        run->epoch_s = some_real(run->step_ms.v / 1e3);
    else if (run->steps_per_epoch.known)
        run->epoch_s = some_real(run->step_ms.v * (double)run->steps_per_epoch.v / 1e3);
}

static int fill_progress(const struct follow *f, struct run_progress *out, struct err *err)
{
    static const char *const from[] = {NULL,     "bar",    "log",      "arguments",
                                       "option", "events", "time left"};
    static const char *const parts[] = {"epoch end", "evaluation", "checkpoint"};
    const struct counter *c = counters_chosen(&f->track.counters);
    struct follow_state state;
    follow_state(f, &state);
    if (!state.source)
        return 0;
    bool samples = c && c->counts == COUNTS_SAMPLES && track_unit(&f->track) == 1;
    TRY(text_set(&out->source, state.source, err));
    if (state.label[0])
        TRY(text_set(&out->counter, state.label, err));
    TRY(text_set(&out->counts, samples ? "samples" : state.epochs ? "epochs" : "steps", err));
    if (from[state.total_from])
        TRY(text_set(&out->total_from, from[state.total_from], err));
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        if (state.unseen & 1U << i)
            TRY(texts_add(&out->unseen, parts[i], err));
    if (state.unsteady)
        out->unsteady = some_bool(true);
    if (state.lengthens)
        out->lengthens = some_bool(true);
    return 0;
}

int follow_finish(struct follow *f, bool finished, struct buf *says, struct err *err)
{
    struct run *run = f->figures.run;
    if (!f->stopped)
        track_close(&f->track);
    track_plan(&f->track);
    figures_close(&f->figures, track_made(&f->track), follow_between_steps(f));
    int rc = meter_fill(f->track.meter, finished, run, err);
    if (rc == 0) {
        fill_totals(f, run);
        rc = fill_progress(f, &run->progress, err);
    }
    say(f, says);
    if (rc == 0 && f->figures.failed)
        rc = err_memory(err);
    return rc == 0 ? buf_check(says, err) : rc;
}

int follow_peek(struct follow *f, struct run *part, struct err *err)
{
    track_plan(&f->track);
    TRY(meter_peek(f->track.meter, part, err));
    fill_totals(f, part);
    return fill_progress(f, &part->progress, err);
}
