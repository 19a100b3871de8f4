// SPDX-License-Identifier: Apache-2.0
#include "machine/cpus.h"

#include <sched.h>

#include "machine/cgroup.h"

struct maybe_real cpus_within(struct maybe_int threads, struct maybe_real limit)
{
    if (threads.known && (!limit.known || (double)threads.v <= limit.v))
        return some_real((double)threads.v);
    return limit;
}

int cpus_usable(void)
{
    cpu_set_t set;
    struct tree tree = {.root = ""};
    struct cgroup cgroup = {0};
    CPU_ZERO(&set);
    int threads = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    if (cgroup_read(&tree, &cgroup, NULL) != 0)
        return threads;
    double cpus = cpus_within(some_int(threads), cgroup.limit_cpus).v;
    return cpus < 1 ? 1 : (int)cpus;
}
