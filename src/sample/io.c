// SPDX-License-Identifier: Apache-2.0
// What the run's processes read from disks and wrote to them: /proc/PID/io, which counts what went
// past the page cache, and for writes what will. Absent where the kernel does not let us read it.
#include "sample/source.h"
#include "sample/tasks.h"

static int io_open(void *state, struct place *place, struct err *err)
{
    (void)state, (void)err;
    return place->tasks ? 0 : ERR_MISSING;
}

static void io_read(void *state, struct place *place, struct look *look)
{
    (void)state;
    look->disk_read_bytes = tasks_use(place->tasks)->read_bytes;
    look->disk_write_bytes = tasks_use(place->tasks)->write_bytes;
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
