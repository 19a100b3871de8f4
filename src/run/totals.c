// SPDX-License-Identifier: Apache-2.0
#include "run/totals.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"

#define LEFT_LINES  3   // fewer lines with the time left say nothing
#define LEFT_DOUBT  0.3 // of the steps to come: a whole that is less certain is unknown
#define LEFT_SNAP   0.3 // of an epoch: with less doubt the whole has whole epochs
#define LEFT_ANEW   2   // times the last time left: it is that of an epoch, and began anew
#define LEFT_EPOCHS 1.4 // less in the first epoch is the time left of that

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
    if (t->log_epochs > 0) // the arguments may tell which of the two it is
        return t->log_epochs + (t->log_from_0 && t->argument_epochs == t->log_epochs + 1);
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
    if (t->passed > 0 || c->whole)
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

// ---- the time left

// The time spent at `n` steps, if `whole` are the whole: left = spent / n * (whole - n).
static double spent(double n, double left_s, double whole)
{
    return left_s * n / (whole - n);
}

// The whole by two lines, between which the time spent grew by `took_s`; 0: none fits.
static double solve(const struct totals_left *l, const struct totals_line *line, double first_s,
                    double last_s)
{
    double took_s = line->at_s - l->at_s, n = line->n - line->before, first = l->n - line->before;
    double low = n * (1 + 1e-6), high = 1e12;
    if (!(took_s > 0) || !(first > 0) || n <= first || !(last_s > 0))
        return 0;
    for (int i = 0; i < 80; i++) {
        double middle = sqrt(low * high);
        bool more = spent(n, last_s, middle) - spent(first, first_s, middle) > took_s;
        *(more ? &low : &high) = middle;
    }
    return high < 1e11 ? high + line->before : 0;
}

void totals_add_left(struct totals *t, const struct totals_line *line)
{
    struct totals_left *l = &t->left;
    bool anew = l->n > 0 && line->left_s > LEFT_ANEW * l->last_s &&
                line->left_s - l->last_s > l->left_s / LEFT_ANEW;
    l->of_epochs |= anew;
    l->last_s = line->left_s;
    if (l->of_epochs) {
        l->lines = 0;
        return;
    }
    if (l->n <= 0 || line->n <= l->n) {
        *l = (struct totals_left){
            .n = line->n, .at_s = line->at_s, .left_s = line->left_s, .last_s = line->left_s};
        return;
    }
    double half = line->unit_s / 2;
    double found = solve(l, line, l->left_s, line->left_s);
    double least = solve(l, line, l->left_s + half, line->left_s - half);
    double most = solve(l, line, fmax(l->left_s - half, 0), line->left_s + half);
    if (found <= 0)
        return;
    l->found[l->lines++ % TOTALS_LEFT] = found;
    l->doubt = least > 0 && most > 0 ? fmax(most - found, found - least) : found;
}

// The whole by the last lines, and how far it may be off. 0: too few lines, or they disagree.
static double whole_left(const struct totals_left *l, int64_t at, double *doubt)
{
    double sorted[TOTALS_LEFT];
    size_t n = l->lines < TOTALS_LEFT ? (size_t)l->lines : TOTALS_LEFT;
    if (n < LEFT_LINES)
        return 0;
    memcpy(sorted, l->found, n * sizeof *sorted);
    double whole = stats_median_of(sorted, n), few = stats_t_quantile(0.975, (double)n - 1);
    // Some programs use their last step's time for all to come: neighbouring lines err alike.
    *doubt = fmax(l->doubt, few * stats_stddev(l->found, n));
    double left = whole - (double)at;
    return left > 0 && *doubt <= LEFT_DOUBT * left ? whole : 0;
}

// The whole, in whole epochs where these are known well enough. The time left may be that of the
// epoch: then it says nothing.
static int64_t find_left(const struct totals *t, const struct counter *c, int64_t at,
                         struct totals_found *out)
{
    double doubt, whole = whole_left(&t->left, at, &doubt), each = (double)out->each;
    if (!c || !(whole > 0))
        return 0;
    if (out->each > 0) {
        double epochs = floor(whole / each + 0.5);
        if (c->restarts == 0 && whole < LEFT_EPOCHS * each)
            return 0;
        if (doubt < LEFT_SNAP * each) {
            whole = epochs * each;
            doubt = 0;
            out->epochs = (int64_t)epochs;
        }
    }
    out->from = FOLLOW_TOTAL_LEFT;
    if (whole > (double)at)
        out->doubt = doubt / (whole - (double)at);
    return (int64_t)(whole + 0.5);
}

// ---- the whole

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
    if (c && c->counts == COUNTS_EPOCHS && c->total == 0 && epochs > 0) {
        out->from = from;
        return epochs;
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
    if (out->total == 0)
        out->total = find_left(t, c, at, out);
    if (t->loops && out->from != FOLLOW_TOTAL_OPTION)
        out->total = 0;
    bool told = out->from == FOLLOW_TOTAL_LOG || out->from == FOLLOW_TOTAL_BAR;
    if (told && t->log_from_0 && out->epochs == t->log_epochs && t->argument_epochs == 0)
        out->more = out->counts_epochs ? 1 : out->each;
    if (out->total < at)
        out->total = 0;
    if (out->total == 0)
        out->from = FOLLOW_TOTAL_UNKNOWN;
}
