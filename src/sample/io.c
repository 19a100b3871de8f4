// SPDX-License-Identifier: Apache-2.0
// Disk reads and writes of the run's processes: /proc/PID/io, which does not count reads from the
// page cache. Absent if the kernel denies access.
#include "sample/source.h"
#include "sample/tasks.h"

static int io_open(void *state, struct place *place, struct err *err)
{
    (void)state, (void)err;
    return place->tasks ? 0 : ERR_MISSING;
}

static void io_read(void *state, struct place *place, struct reading *reading)
{
    (void)state;
    reading->disk_read_bytes = tasks_use(place->tasks)->read_bytes;
    reading->disk_write_bytes = tasks_use(place->tasks)->write_bytes;
}

static void io_close(void *state)
{
    (void)state;
}

const struct source source_io = {
    .name = "io",
    .lane = LANE_HOST,
    .size = 1,
    .open = io_open,
    .read = io_read,
    .close = io_close,
};
