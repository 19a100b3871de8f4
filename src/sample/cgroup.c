// SPDX-License-Identifier: Apache-2.0
// Time the run was throttled by the CPU quota of its control group or one above it: throttled_usec
// (version 2) or throttled_time in ns (version 1) in cpu.stat, summed over CPUs by the kernel.
// Times of nested groups may overlap, so the largest counts.
#include "machine/cgroup.h"

#include "sample/proc_file.h"
#include "sample/source.h"

#define GROUPS_MAX 16

struct group {
    struct proc_file stat;
    int64_t first_ns, now_ns;
};

struct throttle {
    int count;
    struct group all[GROUPS_MAX];
};

static bool throttled(const struct proc_file *stat, int64_t *ns)
{
    char text[2048];
    if (proc_file_read(stat, text, sizeof text) == 0)
        return false;
    if (text_keyed(text, "throttled_usec", ns) && *ns < INT64_MAX / 1000)
        *ns *= 1000;
    else if (!text_keyed(text, "throttled_time", ns))
        return false;
    return *ns >= 0;
}

static void group_add(struct tree *tree, const char *dir, void *arg)
{
    struct throttle *t = arg;
    if (t->count == GROUPS_MAX)
        return;
    struct group *group = &t->all[t->count];
    if (proc_file_open(&group->stat, tree, "%s/cpu.stat", dir) &&
        throttled(&group->stat, &group->first_ns))
        t->count++;
    else
        proc_file_close(&group->stat);
}

static int cgroup_open(void *state, struct place *place, struct err *err)
{
    struct throttle *t = state;
    int rc = cgroup_each_cpu(&place->tree, place->pid, group_add, t, err);
    return rc != 0 ? rc : t->count == 0 ? ERR_MISSING : 0;
}

static void cgroup_sample(void *state, struct place *place, struct reading *reading)
{
    struct throttle *t = state;
    (void)place;
    int64_t most = 0;
    for (int i = 0; i < t->count; i++) {
        struct group *group = &t->all[i];
        int64_t ns;
        if (throttled(&group->stat, &ns) && ns - group->first_ns > group->now_ns)
            group->now_ns = ns - group->first_ns;
        most = group->now_ns > most ? group->now_ns : most;
    }
    reading->throttled_ns = some_int(most);
}

static void cgroup_close(void *state)
{
    struct throttle *t = state;
    for (int i = 0; i < t->count; i++)
        proc_file_close(&t->all[i].stat);
}

const struct source source_cgroup = {
    .name = "cgroup",
    .lane = LANE_HOST,
    .size = sizeof(struct throttle),
    .open = cgroup_open,
    .read = cgroup_sample,
    .close = cgroup_close,
};
