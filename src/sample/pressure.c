// SPDX-License-Identifier: Apache-2.0
// Time in which a task of the run's control group waited for storage: "some" in io.pressure (cgroup
// version 2; Documentation/accounting/psi.rst in the kernel). Without one, the whole machine's.
#include "machine/cgroup.h"

#include <string.h>

#include "sample/proc_file.h"
#include "sample/source.h"

struct pressure {
    struct proc_file file;
};

static bool stalled(const struct proc_file *file, int64_t *us)
{
    char text[256];
    if (proc_file_read(file, text, sizeof text) == 0 || strncmp(text, "some ", 5) != 0)
        return false;
    const char *at = strstr(text, "total=");
    return at && text_number(&at, us) && *us >= 0 && *us <= COUNT_MAX;
}

static void group_try(struct tree *tree, const char *dir, void *arg)
{
    struct pressure *p = arg;
    int64_t us;
    if (p->file.open)
        return; // the first is the process's own
    if (proc_file_open(&p->file, tree, "%s/io.pressure", dir) && !stalled(&p->file, &us))
        proc_file_close(&p->file);
}

static int pressure_open(void *state, struct place *place, struct err *err)
{
    struct pressure *p = state;
    TRY(cgroup_each_cpu(&place->tree, place->pid, group_try, p, err));
    if (!p->file.open)
        proc_file_open(&p->file, &place->tree, "/proc/pressure/io");
    return p->file.open ? 0 : ERR_MISSING;
}

static void pressure_read(void *state, struct place *place, struct reading *reading)
{
    struct pressure *p = state;
    int64_t us;
    (void)place;
    if (stalled(&p->file, &us))
        reading->io_stalled_s = some_real((double)us * 1e-6);
}

static void pressure_close(void *state)
{
    proc_file_close(&((struct pressure *)state)->file);
}

const struct source source_pressure = {
    .name = "pressure",
    .lane = LANE_HOST,
    .size = sizeof(struct pressure),
    .open = pressure_open,
    .read = pressure_read,
    .close = pressure_close,
};
