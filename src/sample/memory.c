// SPDX-License-Identifier: Apache-2.0
// Memory and disk traffic of all the run's processes. Resident size, because it is cheap to read:
// for the proportional share (PSS) the kernel walks all pages, tens of milliseconds per 10 GB, with
// the memory map locked. Disk traffic is that of /proc/PID/io, which does not count reads from the
// page cache; absent if the kernel denies access.
#include "sample/source.h"
#include "sample/tasks.h"

static int memory_open(void *state, struct place *place, struct err *err)
{
    (void)state, (void)err;
    return place->tasks ? 0 : ERR_MISSING;
}

static void memory_read(void *state, struct place *place, struct reading *reading)
{
    (void)state;
    const struct tasks_use *use = tasks_use(place->tasks);
    reading->memory_bytes = use->memory_bytes;
    reading->memory_peak_bytes = use->memory_peak_bytes;
    reading->disk_read_bytes = use->read_bytes;
    reading->disk_write_bytes = use->write_bytes;
}

static void memory_close(void *state)
{
    (void)state;
}

const struct source source_memory = {
    .name = "memory",
    .lane = LANE_HOST,
    .size = 1,
    .open = memory_open,
    .read = memory_read,
    .close = memory_close,
};
