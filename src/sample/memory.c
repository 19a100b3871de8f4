// SPDX-License-Identifier: Apache-2.0
// The memory of the run's processes together. Resident memory, because it costs nothing to read:
// the share of each in common pages (PSS) takes the kernel a walk through all of them, tens of
// milliseconds per 10 GB, with the process's memory map locked.
#include "sample/source.h"
#include "sample/tasks.h"

static int memory_open(void *state, struct place *place, struct err *err)
{
    (void)state, (void)err;
    return place->tasks ? 0 : ERR_MISSING;
}

static void memory_read(void *state, struct place *place, struct look *look)
{
    (void)state;
    look->memory_bytes = tasks_use(place->tasks)->memory_bytes;
    look->memory_peak_bytes = tasks_use(place->tasks)->memory_peak_bytes;
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
