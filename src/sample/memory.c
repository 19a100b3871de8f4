// SPDX-License-Identifier: Apache-2.0
// Memory of all the run's processes. Resident size, because it is cheap to read: for the
// proportional share (PSS) the kernel walks all pages, tens of milliseconds per 10 GB, with the
// memory map locked.
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
    reading->memory_bytes = tasks_use(place->tasks)->memory_bytes;
    reading->memory_peak_bytes = tasks_use(place->tasks)->memory_peak_bytes;
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
