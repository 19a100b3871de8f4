// SPDX-License-Identifier: Apache-2.0
#include "advise/spot/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const policy_words[POLICIES] = {
    [POLICY_GREEDY] = "greedy",
    [POLICY_UNIFORM] = "uniform progress",
    [POLICY_PLANNED] = "planned",
    [POLICY_BEST] = "best possible",
};

enum mode { IDLE, SPOT, DEMAND };

struct state {
    enum mode mode;
    int64_t pending; // of the delay of the machine in use
    int64_t left;    // work
};

struct step { // what a tick costs
    int64_t paid;
};

// A tick in that mode. Another mode than before means a new machine.
static struct step advance(const struct policy_job *job, struct state *s, enum mode mode)
{
    if (mode == IDLE) {
        s->mode = IDLE;
        s->pending = 0;
        return (struct step){0};
    }
    if (mode != s->mode)
        s->pending = job->delay;
    s->mode = mode;
    int64_t wait = s->pending < POLICY_UNITS ? s->pending : POLICY_UNITS,
            rest = POLICY_UNITS - wait;
    int64_t work = s->left < rest ? s->left : rest;
    s->pending -= wait;
    s->left -= work;
    return (struct step){.paid = wait + work};
}

// Whether on demand can still make it in that many ticks, if no spot machine is to be had.
static bool safe(const struct policy_job *job, const struct state *s, size_t ticks)
{
    int64_t delay = s->mode == DEMAND ? s->pending : job->reserve;
    return s->left == 0 || delay + s->left <= (int64_t)ticks * POLICY_UNITS;
}

bool policy_can(const struct policy_job *job)
{
    const struct state start = {.left = job->work};
    return safe(job, &start, job->deadline);
}

// ---- the policies without a plan

static enum mode greedy(bool available)
{
    return available ? SPOT : IDLE;
}

// How far the work done is beyond the line of uniform progress at a time, in units times
// `deadline`.
static __int128 beyond(const struct policy_job *job, const struct state *s, int64_t at)
{
    int64_t all = (int64_t)job->deadline * POLICY_UNITS;
    return (__int128)(job->work - s->left) * all - (__int128)job->work * at;
}

static bool ahead(const struct policy_job *job, const struct state *s, size_t tick)
{
    return beyond(job, s, (int64_t)tick * POLICY_UNITS + 2 * job->delay) > 0;
}

static enum mode uniform(const struct policy_job *job, const struct state *s, size_t tick,
                         bool available)
{
    if (s->mode == DEMAND && (!available || !ahead(job, s, tick)))
        return DEMAND;
    if (available)
        return SPOT;
    return beyond(job, s, (int64_t)tick * POLICY_UNITS) >= 0 ? IDLE : DEMAND;
}

// ---- plans: the cheapest choice in each state, from the deadline back
//
// A state is the mode with what is pending, and the work left. Pending is the delay less whole
// ticks, so it has few values. Values are in units of cost; probabilities in 2^16ths.

#define ONE   65536
#define NEVER ((int64_t)1 << 44) // more than any cost, and its product with ONE has room

struct grid {
    const struct policy_job *job;
    size_t pendings; // values of pending: the delay, less one tick, ..., 0
    size_t states;   // idle, and spot and on demand with each
    size_t works;    // values of the work left
};

static struct grid grid_of(const struct policy_job *job)
{
    struct grid g = {.job = job};
    g.pendings = 1 + (size_t)(job->delay + POLICY_UNITS - 1) / POLICY_UNITS;
    g.states = 1 + 2 * g.pendings;
    g.works = (size_t)job->work + 1;
    return g;
}

static size_t state_index(const struct grid *g, const struct state *s)
{
    size_t ticks = (size_t)(g->job->delay - s->pending + POLICY_UNITS - 1) / POLICY_UNITS;
    return s->mode == IDLE ? 0 : 1 + (s->mode == DEMAND) * g->pendings + ticks;
}

static struct state state_at(const struct grid *g, size_t index)
{
    if (index == 0)
        return (struct state){IDLE, 0, 0};
    size_t ticks = (index - 1) % g->pendings;
    int64_t pending = g->job->delay - (int64_t)ticks * POLICY_UNITS;
    return (struct state){index - 1 < g->pendings ? SPOT : DEMAND, pending > 0 ? pending : 0, 0};
}

struct layer { // values of all states at the start of a tick, by whether spot can be had
    int64_t *values[2];
};

// What follows a tick: the mean over both, and a spot machine that is lost is none.
struct chance {
    int64_t up; // of spot being had in the next tick, in 2^16ths
    bool worst; // only choices after which the deadline is met in any case
};

static int64_t value_after(const struct grid *g, const struct layer *next, const struct chance *c,
                           const struct state *s)
{
    static const struct state none = {IDLE, 0, 0};
    if (s->left == 0)
        return 0;
    size_t at = state_index(g, s) * g->works + (size_t)s->left;
    size_t lost = s->mode == SPOT ? state_index(g, &none) * g->works + (size_t)s->left : at;
    return (c->up * next->values[1][at] + (ONE - c->up) * next->values[0][lost]) / ONE;
}

// The best mode of a state in a tick after which `ticks` are left.
static enum mode choose(const struct grid *g, const struct layer *next, const struct chance *c,
                        const struct state *s, bool available, size_t ticks, int64_t *value)
{
    enum mode best = DEMAND;
    *value = NEVER;
    for (int mode = IDLE; mode <= DEMAND; mode++) {
        struct state after = *s;
        if (mode == SPOT && !available)
            continue;
        struct step step = advance(g->job, &after, (enum mode)mode);
        if (c->worst && !safe(g->job, &after, ticks))
            continue;
        int64_t cost = step.paid * (mode == SPOT ? g->job->spot_price : POLICY_DEMAND) +
                       value_after(g, next, c, &after);
        if (cost < *value) {
            *value = cost;
            best = (enum mode)mode;
        }
    }
    return best;
}

// The layer of a tick. No more than so much can be done before it, so less work left is no state.
static void fill(const struct grid *g, const struct layer *next, const struct chance *c, bool up,
                 size_t tick, struct layer *out, unsigned char *choices)
{
    int64_t done = (int64_t)tick * POLICY_UNITS;
    size_t ticks = g->job->deadline - tick - 1;
    int64_t least = g->job->work > done ? g->job->work - done : 1;
    for (size_t i = 0; i < g->states; i++) {
        struct state s = state_at(g, i);
        for (s.left = least; s.left <= g->job->work; s.left++) {
            size_t at = i * g->works + (size_t)s.left;
            enum mode best = choose(g, next, c, &s, up, ticks, &out->values[up][at]);
            if (choices)
                choices[at] = (unsigned char)best;
        }
    }
}

static int layers_new(const struct grid *g, struct layer layers[2], struct err *err)
{
    size_t cells = g->states * g->works;
    int64_t *all = cells < POLICY_CELLS_MOST ? calloc(4 * cells, sizeof *all) : NULL;
    if (!all)
        return cells < POLICY_CELLS_MOST ? err_memory(err)
                                         : err_set(err, ERR_FORMAT, "too long a training to plan");
    for (int i = 0; i < 4; i++)
        layers[i / 2].values[i % 2] = all + (size_t)i * cells;
    for (size_t i = 0; i < 2 * cells; i++)
        all[i] = NEVER; // at the deadline, with work left
    return 0;
}

struct policy_plan {
    struct grid grid;
    unsigned char *choices; // by tick, availability, state and work left
};

// How often a spot machine that can be had (or cannot) can be had in the next tick, in 2^16ths,
// from one observation of each added to those of the past.
static void chances(const struct policy_job *job, struct chance out[2])
{
    int64_t seen[2] = {2, 2}, up[2] = {1, 1};
    for (size_t i = 0; i + 1 < job->past_ticks; i++) {
        seen[job->past[i]]++;
        up[job->past[i]] += job->past[i + 1];
    }
    for (int i = 0; i < 2; i++)
        out[i] = (struct chance){.up = up[i] * ONE / seen[i], .worst = true};
}

int policy_plan_new(const struct policy_job *job, struct policy_plan **out, struct err *err)
{
    struct chance chance[2];
    struct layer layers[2];
    *out = NULL;
    struct policy_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return err_memory(err);
    plan->grid = grid_of(job);
    size_t cells = plan->grid.states * plan->grid.works;
    int rc = cells > POLICY_CELLS_MOST / 2 / (job->deadline + 1)
                 ? err_set(err, ERR_FORMAT, "too long a training to plan")
                 : layers_new(&plan->grid, layers, err);
    if (rc != 0) {
        free(plan);
        return rc;
    }
    plan->choices = malloc(job->deadline * 2 * cells + 1);
    rc = plan->choices ? 0 : err_memory(err);
    chances(job, chance);
    for (size_t tick = job->deadline; rc == 0 && tick-- > 0;)
        for (int up = 0; up < 2; up++)
            fill(&plan->grid, &layers[(tick + 1) % 2 != job->deadline % 2], &chance[up], up, tick,
                 &layers[tick % 2 != job->deadline % 2],
                 plan->choices + (tick * 2 + (size_t)up) * cells);
    free(layers[0].values[0]);
    if (rc == 0)
        *out = plan;
    else
        policy_plan_free(plan);
    return rc;
}

void policy_plan_free(struct policy_plan *plan)
{
    if (plan)
        free(plan->choices);
    free(plan);
}

static enum mode planned(const struct policy_plan *plan, const struct state *s, size_t tick,
                         bool available)
{
    const struct grid *g = &plan->grid;
    size_t cells = g->states * g->works;
    return (enum mode)plan
        ->choices[(tick * 2 + available) * cells + state_index(g, s) * g->works + (size_t)s->left];
}

// ---- together

void policy_run(enum policy policy, const struct policy_job *job, const struct policy_plan *plan,
                size_t start, struct policy_result *r)
{
    struct state s = {.left = job->work};
    *r = (struct policy_result){0};
    for (size_t tick = 0; tick < job->deadline && s.left > 0; tick++) {
        bool available = job->available[(start + tick) % job->ticks];
        if (s.mode == SPOT && !available)
            s = (struct state){.left = s.left};
        enum mode wish = policy == POLICY_GREEDY    ? greedy(available)
                         : policy == POLICY_UNIFORM ? uniform(job, &s, tick, available)
                                                    : planned(plan, &s, tick, available);
        struct state after = s;
        struct step step = advance(job, &after, wish);
        if (!safe(job, &after, job->deadline - tick - 1)) {
            after = s;
            wish = DEMAND;
            step = advance(job, &after, wish);
        }
        r->starts += wish != IDLE && wish != s.mode;
        *(wish == SPOT ? &r->spot_units : &r->demand_units) += step.paid;
        r->end = (int64_t)tick * POLICY_UNITS + step.paid;
        s = after;
    }
    r->finished = s.left == 0;
    r->cost = r->spot_units * job->spot_price + r->demand_units * POLICY_DEMAND;
}

int policy_best(const struct policy_job *job, size_t start, int64_t *cost, struct err *err)
{
    struct grid g = grid_of(job);
    struct layer layers[2];
    TRY(layers_new(&g, layers, err));
    for (size_t tick = job->deadline; tick-- > 0;) {
        bool up = job->available[(start + tick) % job->ticks];
        const struct chance c = {.up = job->available[(start + tick + 1) % job->ticks] ? ONE : 0};
        fill(&g, &layers[(tick + 1) % 2 != job->deadline % 2], &c, up, tick,
             &layers[tick % 2 != job->deadline % 2], NULL);
    }
    const struct layer *first = &layers[0 != job->deadline % 2];
    bool up = job->available[start % job->ticks];
    *cost = job->deadline == 0 ? NEVER : first->values[up][job->work];
    if (*cost >= NEVER)
        *cost = -1;
    free(layers[0].values[0]);
    return 0;
}

double theory_young(double cost, double mean)
{
    return sqrt(2 * cost * mean);
}

double theory_daly(double cost, double mean)
{
    double ratio = cost / (2 * mean);
    if (cost >= 2 * mean)
        return mean;
    return theory_young(cost, mean) * (1 + sqrt(ratio) / 3 + ratio / 9) - cost;
}

double theory_expected(double work, double interval, double cost, double restart, double mean)
{
    return mean * exp(restart / mean) * expm1((interval + cost) / mean) * work / interval;
}

double theory_unsaved(double work, double restart, double mean)
{
    return mean * exp(restart / mean) * expm1(work / mean);
}
