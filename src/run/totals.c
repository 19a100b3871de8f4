// SPDX-License-Identifier: Apache-2.0
#include "run/totals.h"

#include <math.h>

#define EPOCH_AT_SHARE 0.02 // of the training, which the rounded epoch of a log line must cover

// Keeps products of reported numbers far from overflow.
static int64_t times(int64_t a, int64_t b)
{
    double product = (double)a * (double)b;
    return product < 1e15 ? (int64_t)product : 0;
}

int64_t totals_epochs(const struct totals *t, const struct counters *counters,
                      enum follow_total *from)
{
    const struct counter *outer = counters_outer(counters);
    *from = FOLLOW_TOTAL_OPTION;
    if (t->option_epochs > 0)
        return t->option_epochs;
    *from = FOLLOW_TOTAL_BAR;
    if (outer)
        return outer->total;
    *from = t->events ? FOLLOW_TOTAL_EVENTS : FOLLOW_TOTAL_LOG;
    if (t->log_epochs > 0)
        return t->log_epochs;
    *from = t->argument_epochs > 0 ? FOLLOW_TOTAL_ARGUMENTS : FOLLOW_TOTAL_UNKNOWN;
    return t->argument_epochs;
}

// Whether the counter's own total is the whole training's, not that of one of `epochs` epochs.
static bool is_whole(const struct totals *t, const struct counters *counters,
                     const struct counter *c, int64_t epochs)
{
    if (c->counts == COUNTS_EPOCHS || c->total == t->option_steps || c->total == t->log_steps ||
        c->total == t->argument_steps)
        return true;
    if (c->restarts > 0 || counters_outer(counters))
        return false;
    if (t->passed > 0)
        return true;
    if (epochs > 1 && t->epoch_at > 0 && t->epoch_step > 0) {
        double here = (double)t->epoch_step / (double)c->total; // of the counter
        return fabs(t->epoch_at - here) > fabs(t->epoch_at - here * (double)epochs);
    }
    if (epochs <= 1)
        return !c->epoch || epochs == 1;
    // "for epoch in tqdm(range(30))" with --total-epochs 30.
    if (c->total == t->option_epochs || c->total == t->argument_epochs)
        return !c->epoch;
    return t->arguments_whole && t->option_epochs == 0 && t->log_epochs == 0;
}

// The epochs of a counter of the whole training, by the epoch that the log told on the way.
static int64_t epochs_on_the_way(const struct totals *t, const struct counter *c)
{
    if (!(t->epoch_at > 0) || (double)t->epoch_step < EPOCH_AT_SHARE * (double)c->total)
        return 0;
    double epochs = t->epoch_at * (double)c->total / (double)t->epoch_step;
    return epochs < 1e9 ? (int64_t)(epochs + 0.5) : 0;
}

static int64_t find(const struct totals *t, const struct counters *counters,
                    struct totals_found *out)
{
    const struct counter *c = counters_chosen(counters);
    enum follow_total from;
    int64_t epochs = out->epochs = totals_epochs(t, counters, &from);
    out->counts_epochs = c && c->counts == COUNTS_EPOCHS;
    if (c && c->bar == TOTALS_EPOCH_BAR) {
        out->from = from;
        return times(epochs, TOTALS_EPOCH);
    }
    if (c && c->total > 0 && is_whole(t, counters, c, epochs)) {
        if (epochs == 0)
            epochs = out->epochs = epochs_on_the_way(t, c);
        out->counts_epochs |= epochs > 1 && c->total == epochs && !c->epoch;
        if (epochs > 1 && !out->counts_epochs)
            out->each = c->total / epochs;
        out->from = c->drawn ? FOLLOW_TOTAL_BAR : FOLLOW_TOTAL_LOG;
        return c->total;
    }
    out->each = t->epoch_steps;
    if (c && c->total > t->inside) {
        out->each = c->total - t->inside;
        out->per_epoch = true;
    }
    if (epochs > 0 && out->each > 0) {
        out->from =
            from == FOLLOW_TOTAL_LOG && out->per_epoch && c->drawn ? FOLLOW_TOTAL_BAR : from;
        return times(epochs, out->each);
    }
    out->from = t->log_steps == 0 ? FOLLOW_TOTAL_ARGUMENTS
                : t->events       ? FOLLOW_TOTAL_EVENTS
                                  : FOLLOW_TOTAL_LOG;
    return t->log_steps > 0 ? t->log_steps : t->argument_steps;
}

void totals_find(const struct totals *t, const struct counters *counters, int64_t at,
                 struct totals_found *out)
{
    *out = (struct totals_found){0};
    out->total = find(t, counters, out);
    const struct counter *c = counters_chosen(counters);
    if (t->option_steps > 0 && !(c && c->bar == TOTALS_EPOCH_BAR)) {
        out->total = t->option_steps;
        out->from = FOLLOW_TOTAL_OPTION;
    }
    if (out->total < at)
        out->total = 0;
    if (out->total == 0)
        out->from = FOLLOW_TOTAL_UNKNOWN;
}
