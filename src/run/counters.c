// SPDX-License-Identifier: Apache-2.0
#include "run/counters.h"

#define TIMES_AS_FAST 10

static struct counter *find(struct counters *all, uint32_t bar, bool *first)
{
    *first = false;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].bar == bar)
            return &all->items[i];
    *first = true;
    // Late counters share the last slot.
    size_t place = all->count < COUNTERS_MAX ? all->count++ : COUNTERS_MAX - 1;
    all->items[place] = (struct counter){.bar = bar};
    return &all->items[place];
}

int64_t counters_advance(struct counters *all, const struct event *e, bool *first)
{
    struct counter *c = find(all, e->bar, first);
    int64_t delta = *first ? 0 : e->step.v - c->last;
    if (delta < 0) {
        // The counter restarts. A bar may be erased before it shows its last number: count the
        // missing steps if they are at most two reports.
        int64_t missing = e->total_steps.known ? e->total_steps.v - c->last : 0;
        delta = e->step.v + (missing <= 2 * c->usual ? missing : 0);
    } else if (delta > 0) {
        c->usual = delta;
    }
    c->last = e->step.v;
    c->made += delta;
    size_t place = (size_t)(c - all->items);
    if (place != all->chosen) {
        if (c->made <= all->items[all->chosen].made * TIMES_AS_FAST + TIMES_AS_FAST)
            return -1;
        all->chosen = place;
    }
    return delta;
}
