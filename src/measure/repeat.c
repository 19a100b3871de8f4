// SPDX-License-Identifier: Apache-2.0
#include "measure/repeat.h"

#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

#define SATURATED 1.05 // a larger batch must train this many times the samples/s to count

// The step time: of the steady part if there is one.
static struct maybe_real step_of(const struct run *run)
{
    return run->steady.step_ms.known ? run->steady.step_ms : run->step_ms;
}

static bool same(const struct run *a, const struct run *b)
{
    return a->workload && b->workload && strcmp(a->workload, b->workload) == 0 &&
           a->batch.known == b->batch.known && a->batch.v == b->batch.v;
}

// The first run of a group represents it.
static bool is_first(const struct runs *runs, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (same(&runs->runs.items[i], &runs->runs.items[at]))
            return false;
    return true;
}

static int add_group(struct runs *runs, size_t at, double *steps, double *rates, struct err *err)
{
    size_t n = 0, m = 0;
    const struct run *first = &runs->runs.items[at];
    for (size_t i = at; i < runs->runs.count; i++) {
        const struct run *run = &runs->runs.items[i];
        if (!same(run, first) || !step_of(run).known || run_failed(run) || run_stopped(run))
            continue;
        steps[n++] = step_of(run).v;
        if (run->samples_per_s.known)
            rates[m++] = run->samples_per_s.v;
    }
    struct run_group *group = LIST_ADD(&runs->groups, err);
    if (!group)
        return ERR_MEMORY;
    group->batch = first->batch;
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

int repeat_group(struct runs *runs, struct err *err)
{
    size_t count = runs->runs.count, kinds = 0, names = 0;
    for (size_t i = 0; i < count; i++) {
        kinds += is_first(runs, i);
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
        if (runs->runs.items[i].workload && is_first(runs, i))
            rc = add_group(runs, i, steps, rates, err);
    free(steps);
    free(rates);
    if (rc == 0)
        mark_saturated(runs);
    return rc;
}
