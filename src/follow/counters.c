// SPDX-License-Identifier: Apache-2.0
#include "follow/counters.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/stats.h"
#include "record/run.h"
#include "follow/event.h"
#include "train/meter.h"
#include "follow/track.h"

#define MADE_MAX     (INT64_C(1) << 53)
#define BUSY_SHARE   0.2 // of the busiest counter's activity: less is not training
#define BUSY_ENOUGH  1.0 // seconds watched
#define LASTS_LONGER 2   // than a counter that stopped before its total

// ---- one counter

static void keep_label(struct counter *c, const struct event *e)
{
    if (!e->label)
        return;
    size_t len = e->label_len < sizeof c->label ? e->label_len : sizeof c->label - 1;
    memcpy(c->label, e->label, len);
    c->label[len] = '\0';
}

// The place for a new counter: a free one, or that of the counter that moved least recently.
static size_t place_for(struct counters *all)
{
    if (all->count < COUNTERS_MAX)
        return all->count++;
    size_t oldest = all->chosen == 1;
    for (size_t i = 0; i < all->count; i++)
        if (i + 1 != all->chosen && all->items[i].moved_ns < all->items[oldest].moved_ns)
            oldest = i;
    for (size_t i = 0; i < all->count; i++)
        all->items[i].others[oldest] = 0;
    return oldest;
}

static struct counter *counters_find(struct counters *all, const struct event *e, int64_t now_ns,
                                     bool *first)
{
    *first = false;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].bar == e->bar)
            return &all->items[i];
    *first = true;
    struct counter *c = &all->items[place_for(all)];
    *c = (struct counter){.bar = e->bar,
                          .first = e->step.v,
                          .last = e->step.v,
                          .source = e->source,
                          .began_ns = now_ns,
                          .moved_ns = now_ns};
    for (size_t i = 0; i < all->count; i++)
        c->others[i] = all->items[i].made;
    return c;
}

// A lower number is a restart if it is a low one; otherwise it comes from another worker, unless
// there are several in a row.
static bool restarts_at(struct counter *c, int64_t step)
{
    int64_t usual = c->usual > 0 ? c->usual : 1;
    if (step <= 2 * usual || step < c->last / 2)
        return true;
    if (++c->lower < 3)
        return false;
    c->last = step;
    return false;
}

// The steps since the last number.
static int64_t advance(struct counter *c, const struct event *e, bool again, bool *restarted)
{
    int64_t step = e->step.v < MADE_MAX ? e->step.v : MADE_MAX;
    int64_t delta = step - c->last;
    *restarted = false;
    if (delta == 0 && again && step > 0 && step == c->total) {
        *restarted = true; // one line per epoch: 469/469
        delta = step;
    } else if (delta < 0) {
        if (!restarts_at(c, step))
            return 0;
        // A bar may be erased before it shows its last number: count the missing steps if they are
        // at most two reports.
        int64_t missing = c->total > c->last ? c->total - c->last : 0;
        delta = step + (missing <= 2 * c->usual ? missing : 0);
        *restarted = true;
    } else if (delta > 0) {
        c->usual = delta;
    }
    c->last = step;
    c->lower = 0;
    c->restarts += *restarted;
    c->made = c->made < MADE_MAX ? c->made + delta : c->made;
    return delta;
}

static bool ended(const struct counter *c)
{
    return c->total > 0 && c->last + 2 * c->usual >= c->total;
}

static bool busy(const struct counter *c, double *share)
{
    *share = c->watched_s > 0 ? c->busy_s / c->watched_s : 0;
    return c->watched_s >= BUSY_ENOUGH;
}

// ---- the choice

// Given --total-steps N, a counter's own total is N or that of an epoch; given --total-epochs, a
// counter of epochs has that total.
static bool contradicts(const struct counters *all, const struct counter *c)
{
    if (c->total == 0 || c->loss)
        return false;
    if (all->given_epochs > 0 && c->counts == COUNTS_EPOCHS)
        return c->total != all->given_epochs;
    if (all->given_steps == 0 || c->counts == COUNTS_EPOCHS || c->counts == COUNTS_SAMPLES)
        return false;
    return c->total > all->given_steps || all->given_steps % c->total != 0;
}

static bool eligible(const struct counters *all, const struct counter *c)
{
    return c->counts != COUNTS_OTHER && !contradicts(all, c);
}

static int rank(const struct counters *all, const struct counter *c)
{
    bool told = c->total > 0 && (c->total == all->given_steps || c->total == all->announced_steps);
    if (c->weak)
        return 0;
    return c->loss || told || c->counts == COUNTS_STEPS || c->counts == COUNTS_SAMPLES ? 2 : 1;
}

// The number of times that `outer` advanced in the life of `inner`.
static int64_t turns(const struct counters *all, const struct counter *inner,
                     const struct counter *outer)
{
    return outer->made - inner->others[outer - all->items];
}

// `inner` moves while `outer` stands still, and restarts when that advances.
static bool is_inside(const struct counters *all, const struct counter *inner,
                      const struct counter *outer)
{
    int64_t n = turns(all, inner, outer), before = inner->others[outer - all->items];
    bool counts_epochs = outer->counts == COUNTS_EPOCHS;
    if (inner == outer || inner->counts == COUNTS_EPOCHS || outer->counts == COUNTS_STEPS ||
        outer->began_ns > inner->began_ns || (inner->weak && !outer->weak))
        return false;
    if (inner->reports < 2 || n > inner->restarts + 1 || inner->made <= 2 * n)
        return false;
    if (outer->made == 0 && outer->total == inner->total) // one bar, which got another label
        return false;
    return counts_epochs || before <= 1 || (n >= 2 && inner->restarts >= n - 1);
}

static bool same_numbers(const struct counter *a, const struct counter *b)
{
    int64_t step = a->usual > b->usual ? a->usual : b->usual;
    int64_t off = a->last > b->last ? a->last - b->last : b->last - a->last;
    return off <= step + 1 && (a->total == b->total || a->total == 0 || b->total == 0) &&
           a->reports > 0 && b->reports > 0;
}

// Whether `c` is a better choice than `now`.
static bool better(const struct counters *all, const struct counter *c, const struct counter *now)
{
    if (is_inside(all, c, now))
        return true;
    if (is_inside(all, now, c) || c->reports < 1)
        return false;
    if (!eligible(all, now))
        return true;
    if (same_numbers(c, now) && c->usual >= now->usual)
        return false;
    double c_busy, now_busy;
    if (busy(c, &c_busy) && busy(now, &now_busy)) {
        if (now_busy < BUSY_SHARE * c_busy)
            return true;
        if (c_busy < BUSY_SHARE * now_busy)
            return false;
    }
    if (c->began_ns < now->began_ns && ended(now) && !ended(c) && rank(all, c) > 0)
        return true; // it goes on: the other was an evaluation in between
    if (rank(all, c) > rank(all, now))
        return true;
    int64_t c_ns = c->moved_ns - c->began_ns, now_ns = now->moved_ns - now->began_ns;
    if (c->loss && ended(now) && now->restarts == 0 && c->began_ns >= now->moved_ns &&
        c_ns > now_ns)
        return true; // a pre-training ended, and this lasts longer
    if (rank(all, now) > 1 || now->loss || now->epoch || now->weak)
        return false;
    const struct counter *outer = counters_outer(all);
    if (outer && turns(all, c, outer) <= c->restarts) // the epoch continues with another bar
        return false;
    if (c->restarts > now->restarts) // it comes again: the other one was inside its epoch
        return ended(now);
    return c->began_ns >= now->moved_ns && (ended(now) || c_ns > LASTS_LONGER * now_ns);
}

static void choose(struct counters *all, struct counter *c, struct counters_report *out)
{
    size_t place = (size_t)(c - all->items) + 1;
    struct counter *now = all->chosen > 0 ? &all->items[all->chosen - 1] : NULL;
    if (now == c || !eligible(all, c) || (now && !better(all, c, now))) {
        if (now && now != c && same_numbers(c, now)) {
            now->loss |= c->loss;
            out->jumped = false;
        }
        return;
    }
    all->chosen = place;
    out->changed = true;
}

// Whether it moves, more than once, while the chosen one stands still.
static bool moves_alone(const struct counters *all, struct counter *c)
{
    const struct counter *chosen = counters_chosen(all);
    if (!chosen || chosen == c)
        return false;
    c->alone = c->alone_ns == chosen->moved_ns ? c->alone + 1 : 1;
    c->alone_ns = chosen->moved_ns;
    return c->alone == 2;
}

void counters_add(struct counters *all, const struct event *e, const struct counters_context *in,
                  struct counters_report *out)
{
    *out = (struct counters_report){0};
    struct counter *c = counters_find(all, e, in->now_ns, &out->first);
    c->weak |= in->weak;
    c->drawn |= in->drawn;
    if (e->total_steps.known && e->total_steps.v < MADE_MAX)
        c->total = e->total_steps.v;
    if (c->total > 0 && e->step.v > c->total)
        c->total = 0; // a contradiction
    if (e->counts != COUNTS_UNKNOWN)
        c->counts = e->counts;
    c->loss |= e->loss.known;
    c->epoch |= e->epoch.known || e->per_epoch || (out->first && in->epoch > 0);
    c->epochs |= e->epochs.known;
    c->whole |= e->whole;
    keep_label(c, e);
    if (out->first && c->first > MADE_MAX)
        c->first = c->last = MADE_MAX;
    if (!out->first)
        out->delta = advance(c, e, in->epoch != c->in_epoch, &out->restarted);
    c->in_epoch = in->epoch;
    if (out->delta > 0) {
        c->reports++;
        c->moved_ns = in->now_ns;
        all->moved = (size_t)(c - all->items) + 1;
        out->jumped = moves_alone(all, c);
    }
    choose(all, c, out);
    out->chosen = all->chosen == (size_t)(c - all->items) + 1;
}

void counters_loss(struct counters *all)
{
    if (all->chosen > 0 && all->items[all->chosen - 1].made > 0)
        all->items[all->chosen - 1].loss = true;
}

void counters_activity(struct counters *all, double share, double seconds)
{
    if (all->moved == 0 || !(share >= 0) || !(seconds > 0))
        return;
    struct counter *c = &all->items[all->moved - 1];
    c->busy_s += (share < 1 ? share : 1) * seconds;
    c->watched_s += seconds;
}

const struct counter *counters_chosen(const struct counters *all)
{
    return all->chosen > 0 ? &all->items[all->chosen - 1] : NULL;
}

const struct counter *counters_outer(const struct counters *all)
{
    const struct counter *inner = counters_chosen(all);
    for (size_t i = 0; inner && i < all->count; i++) {
        const struct counter *c = &all->items[i];
        if (eligible(all, c) && !c->weak && c->total > 0 && is_inside(all, inner, c))
            return c;
    }
    return NULL;
}

bool counters_sure(const struct counters *all)
{
    const struct counter *c = counters_chosen(all);
    double share;
    if (!c || (busy(c, &share) && share < BUSY_SHARE))
        return false;
    return c->loss || c->epoch || c->restarts > 0 || c->counts != COUNTS_UNKNOWN ||
           rank(all, c) == 2 || counters_outer(all);
}

// ---- Totals

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

int64_t totals_epochs(const struct training_totals *t, const struct counters *counters,
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
static bool is_whole(const struct training_totals *t, const struct counters *counters,
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

void totals_add_left(struct training_totals *t, const struct totals_line *line)
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
static int64_t find_left(const struct training_totals *t, const struct counter *c, int64_t at,
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
static int64_t epochs_on_the_way(const struct training_totals *t, const struct counter *c)
{
    if (!(t->epoch_at > 0) || (double)t->epoch_step < EPOCH_AT_SHARE * (double)c->total)
        return 0;
    double epochs = t->epoch_at * (double)c->total / (double)t->epoch_step;
    return epochs < 1e9 ? (int64_t)(epochs + 0.5) : 0;
}

static int64_t search_totals(const struct training_totals *t, const struct counters *counters,
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

void totals_find(const struct training_totals *t, const struct counters *counters, int64_t at,
                 struct totals_found *out)
{
    *out = (struct totals_found){0};
    out->total = search_totals(t, counters, out);
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

// ---- A total that is given afterwards

#define FEW    10   // entries made up for a record without the times of its stretches
#define WITHIN 0.05 // as for any sample of a command
#define MOST   (INT64_C(1) << 50)

static int find_total(const struct run *run, int64_t steps, int64_t epochs, int64_t *total,
                      struct err *err)
{
    const char *counts = run->progress.counts ? run->progress.counts : "steps";
    bool counts_epochs = strcmp(counts, "epochs") == 0;
    if (run->workload)
        return err_set(err, ERR_USAGE, "fare's own workloads have a known total");
    if (!run->steps.known || run->steps.v <= 0 || !run->phases.train_ns.known)
        return err_set(err, ERR_USAGE,
                       "no steps were measured in this run, so a total gives no time");
    if (epochs > 0 && !counts_epochs && !run->steps_per_epoch.known) {
        err_set(err, ERR_USAGE, "this run does not say how many steps an epoch has");
        return err_hint(err, "give --total-steps instead");
    }
    int64_t each = epochs > 0 && !counts_epochs ? run->steps_per_epoch.v : 1;
    *total = epochs > 0 ? epochs : steps;
    if (each <= 0 || *total > MOST / each)
        return err_set(err, ERR_USAGE, "a training of so many steps has no end");
    *total *= each;
    return 0;
}

// Parts of the whole training, if the measured ones go on.
static int64_t scaled(int64_t done, int64_t total, int64_t steps)
{
    double all = (double)done * (double)total / (double)steps;
    return all > (double)done ? (int64_t)(all + 0.5) : done;
}

// As while a command is followed: of the time on the CPUs, others can have taken from it what it
// used itself at most, and nothing from a GPU.
static double others(const struct run *run)
{
    const struct run_use *use = &run->use;
    double cpus = run->machine.usable_cpus.known ? run->machine.usable_cpus.v : 1;
    double share = fmin(use->other_cpu_percent.v, use->cpu_percent.v) / 100 / cpus;
    return use->gpus.v > 0 || share < METER_OTHERS_LEAST ? 0 : fmin(share, 0.5);
}

static void make_plan(const struct run *run, int64_t total, struct meter_plan *p)
{
    const struct run_progress *progress = &run->progress;
    const struct parts none = {0};
    unsigned unseen = 0;
    for (size_t i = 0; i < progress->unseen.count; i++) {
        const char *name = progress->unseen.items[i];
        unseen |= 1U << (strcmp(name, "evaluation") == 0   ? PART_EVALUATION
                         : strcmp(name, "checkpoint") == 0 ? PART_CHECKPOINT
                                                           : PART_EPOCH_END);
    }
    *p = (struct meter_plan){.stage_steps = {total},
                             .stages = 1,
                             .follows = true,
                             .within = WITHIN,
                             .others = others(run),
                             .lengthens = progress->lengthens.known && progress->lengthens.v};
    p->may_add = parts_may_add(&none, unseen, &p->may_save);
    if (run->phases.evaluate_ns.v > 0)
        p->evaluations = scaled(1, total, run->steps.v);
    if (run->phases.checkpoints.known)
        p->checkpoints = scaled(run->phases.checkpoints.v, total, run->steps.v);
}

// Reports the steps with the times of the record's stretches, which take `train_ns` together.
static int64_t report_steps(struct meter *meter, const struct run *run, int64_t at_ns,
                            int64_t train_ns)
{
    const double *times = run->step_plot_ms.items;
    int64_t n = (int64_t)run->step_plot_ms.count, steps = run->steps.v;
    double few[FEW], sum = 0;
    const struct run_steady *s = &run->steady;
    for (int i = 0; i < FEW; i++) {
        double end = i % 2 ? s->high_ms.v : s->low_ms.v;
        few[i] = s->low_ms.known && s->high_ms.known ? end : run->step_ms.v;
    }
    if (n == 0 || n > steps) {
        times = few;
        n = steps < FEW ? steps : FEW;
    }
    for (int64_t i = 0; i < n; i++)
        sum += times[i] * (double)((i + 1) * steps / n - i * steps / n);
    for (int64_t i = 0; i < n && sum > 0; i++) {
        int64_t more = (i + 1) * steps / n - i * steps / n;
        at_ns += (int64_t)(times[i] * (double)more / sum * (double)train_ns);
        meter_at(meter, at_ns);
        meter_steps(meter, 0, more);
    }
    return at_ns;
}

int total_later(struct run *run, int64_t steps, int64_t epochs, struct err *err)
{
    const struct run_phases *p = &run->phases;
    int64_t total = 0;
    TRY(find_total(run, steps, epochs, &total, err));
    int64_t before_ns = p->setup_ns.v + p->kernels_ns.v + p->load_ns.v + p->device_ns.v;
    int64_t train_ns = p->warmup_ns.v + p->train_ns.v;
    int64_t start_ns =
        clock_now_ns() - before_ns - train_ns - p->evaluate_ns.v - p->checkpoint_ns.v;
    struct meter *meter;
    struct meter_plan plan;
    struct run part = {0};
    make_plan(run, total, &plan);
    TRY(meter_new(&meter, start_ns, err));
    meter_plan(meter, &plan);
    int64_t at_ns = start_ns + before_ns;
    meter_at(meter, at_ns);
    meter_phase(meter, METER_TRAIN);
    at_ns = report_steps(meter, run, at_ns, train_ns);
    meter_phase(meter, METER_EVALUATE);
    meter_at(meter, at_ns += p->evaluate_ns.v);
    if (p->evaluate_ns.v > 0)
        meter_evaluated(meter, 1);
    meter_phase(meter, METER_CHECKPOINT);
    meter_at(meter, at_ns += p->checkpoint_ns.v);
    for (int64_t i = 0; i < p->checkpoints.v && i < total; i++)
        meter_checkpointed(meter);
    meter_stop(meter);
    int rc = meter_fill(meter, false, &part, err);
    if (rc == 0 && !part.projection.wall_s.known)
        rc = err_set(err, ERR_USAGE, "too few steps were measured in this run for a projection");
    if (rc == 0)
        rc = text_set(&run->progress.total_from, "option", err);
    if (rc == 0) {
        run->projection = part.projection;
        run->total_steps = some_int(total);
        run->full = some_bool(false);
        if (epochs > 0)
            run->epochs = some_int(epochs);
    }
    record_release(run_fields, &part);
    meter_free(meter);
    return rc;
}
