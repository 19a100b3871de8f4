// SPDX-License-Identifier: Apache-2.0
// Any text as a line of MLPerf's log.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "follow/event.h"
#include "train/meter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > EVENT_LINE_MAX)
        return 0;
    char *line = malloc(size + 1);
    struct event e = {0};
    assert(line);
    for (size_t i = 0; i < size; i++)
        line[i] = data[i] ? (char)data[i] : ' ';
    line[size] = '\0';
    enum event_result result = event_mllog.read(line, size, &e);
    assert((result == EVENT_NONE) == (strstr(line, ":::MLLOG") == NULL));
    assert(!e.step.known || e.step.v >= 0);
    assert(!e.batch.known || e.batch.v >= 0);
    assert(!e.phase.known || (e.phase.v >= 0 && e.phase.v < METER_PHASES));
    event_release(&e);
    free(line);
    return 0;
}
