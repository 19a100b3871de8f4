// SPDX-License-Identifier: Apache-2.0
#include "run/counters.h"

#include <string.h>

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

static struct counter *find(struct counters *all, const struct event *e, int64_t now_ns,
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
    struct counter *c = find(all, e, in->now_ns, &out->first);
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
