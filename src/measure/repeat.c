// SPDX-License-Identifier: Apache-2.0
#include "measure/repeat.h"

#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "workload/workload.h"

#define SATURATED 1.05 // a larger batch must train this many times the samples/s to count

// The step time: of the steady part if there is one.
static struct maybe_real step_of(const struct run *run)
{
    return run->steady.step_ms.known ? run->steady.step_ms : run->step_ms;
}

bool repeat_alike(const struct run *a, const struct run *b)
{
    return a->workload && b->workload && strcmp(a->workload, b->workload) == 0 &&
           a->batch.known == b->batch.known && a->batch.v == b->batch.v && a->ranks.v == b->ranks.v;
}

bool repeat_first(const struct runs *runs, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (repeat_alike(&runs->runs.items[i], &runs->runs.items[at]))
            return false;
    return true;
}

// What full runs like the one at `at` reached: those with a known accuracy.
struct outcomes {
    double *accuracies;
    size_t count, judged, reached;
};

static void look_at_outcomes(const struct runs *runs, size_t at, struct outcomes *o)
{
    for (size_t i = at; i < runs->runs.count; i++) {
        const struct run *run = &runs->runs.items[i];
        if (!repeat_alike(run, &runs->runs.items[at]) || !run->full.v)
            continue;
        if (run->test_accuracy.known)
            o->accuracies[o->count++] = run->test_accuracy.v;
        o->judged += run->reached.known;
        o->reached += run->reached.known && run->reached.v;
    }
}

static void add_outcomes(struct run_group *group, struct outcomes *o)
{
    size_t n = o->count;
    if (o->judged > 0)
        group->reached = some_int((int64_t)o->reached);
    if (n < 2)
        return;
    group->accuracy = some_real(stats_mean(o->accuracies, n));
    group->accuracy_spread = some_real(stats_stddev(o->accuracies, n));
    group->low_accuracy = some_real(stats_quantile_of(o->accuracies, n, 0));
    group->high_accuracy = some_real(stats_quantile_of(o->accuracies, n, 1));
}

static int add_group(struct runs *runs, size_t at, double *steps, double *rates, struct err *err)
{
    size_t n = 0, m = 0;
    const struct run *first = &runs->runs.items[at];
    for (size_t i = at; i < runs->runs.count; i++) {
        const struct run *run = &runs->runs.items[i];
        if (!repeat_alike(run, first) || !step_of(run).known || run_failed(run) || run_stopped(run))
            continue;
        steps[n++] = step_of(run).v;
        if (run->samples_per_s.known)
            rates[m++] = run->samples_per_s.v;
    }
    struct run_group *group = LIST_ADD(&runs->groups, err);
    if (!group)
        return ERR_MEMORY;
    group->batch = first->batch;
    group->ranks = first->ranks;
    group->runs = some_int((int64_t)n);
    if (n > 1)
        group->spread = some_real(stats_stddev(steps, n) / stats_mean(steps, n));
    if (n > 0) {
        group->low_ms = some_real(stats_quantile_of(steps, n, 0));
        group->high_ms = some_real(stats_quantile_of(steps, n, 1));
        group->step_ms = some_real(stats_median_of(steps, n));
    }
    if (m > 0)
        group->samples_per_s = some_real(stats_median_of(rates, m));
    struct outcomes outcomes = {.accuracies = steps};
    look_at_outcomes(runs, at, &outcomes);
    add_outcomes(group, &outcomes);
    return text_set(&group->workload, first->workload, err);
}

// Whether a larger batch gains; unknown for the largest one tried.
static void mark_saturated(struct runs *runs)
{
    for (size_t i = 0; i < runs->groups.count; i++) {
        struct run_group *group = &runs->groups.items[i];
        bool larger = false, beaten = false;
        for (size_t k = 0; k < runs->groups.count; k++) {
            const struct run_group *other = &runs->groups.items[k];
            if (strcmp(other->workload, group->workload) != 0 || other->batch.v <= group->batch.v ||
                !other->samples_per_s.known || !group->samples_per_s.known)
                continue;
            larger = true;
            beaten |= other->samples_per_s.v > SATURATED * group->samples_per_s.v;
        }
        if (larger)
            group->saturated = some_bool(!beaten);
    }
}

// What more ranks gain over the fewest.
static void mark_scaling(struct runs *runs)
{
    for (size_t i = 0; i < runs->groups.count; i++) {
        struct run_group *group = &runs->groups.items[i];
        const struct run_group *base = group;
        bool several = false;
        for (size_t k = 0; k < runs->groups.count; k++) {
            const struct run_group *other = &runs->groups.items[k];
            if (strcmp(other->workload, group->workload) != 0 || other->batch.v != group->batch.v ||
                !other->step_ms.known)
                continue;
            several |= other->ranks.v != group->ranks.v;
            base = other->ranks.v < base->ranks.v ? other : base;
        }
        if (!several || !group->step_ms.known || group->step_ms.v <= 0)
            continue;
        int64_t fewest = base->ranks.known ? base->ranks.v : 1;
        int64_t ranks = group->ranks.known ? group->ranks.v : 1;
        group->speed_up = some_real(base->step_ms.v / group->step_ms.v);
        group->efficiency = some_real(group->speed_up.v * (double)fewest / (double)ranks);
    }
}

int repeat_group(struct runs *runs, struct err *err)
{
    size_t count = runs->runs.count, kinds = 0, names = 0;
    for (size_t i = 0; i < count; i++) {
        kinds += repeat_first(runs, i);
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= runs->runs.items[k].workload && runs->runs.items[i].workload &&
                    strcmp(runs->runs.items[k].workload, runs->runs.items[i].workload) == 0;
        names += !seen;
    }
    if (kinds == count && names == count)
        return 0;
    double *steps = malloc(count * sizeof *steps), *rates = malloc(count * sizeof *rates);
    int rc = steps && rates ? 0 : err_memory(err);
    for (size_t i = 0; i < count && rc == 0; i++)
        if (runs->runs.items[i].workload && repeat_first(runs, i))
            rc = add_group(runs, i, steps, rates, err);
    free(steps);
    free(rates);
    if (rc == 0)
        mark_saturated(runs);
    if (rc == 0)
        mark_scaling(runs);
    return rc;
}
