// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of events, in pieces of odd sizes: what is read makes sense, and the run's
// record comes out whole.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "follow/follow.h"

static void each(void *context, char *line, size_t len, bool ended)
{
    struct event e = {0};
    if (event_json.read(line, len, &e) == EVENT_READ) {
        assert(!e.step.known || e.step.v >= 0);
        assert(!e.phase.known || (e.phase.v >= 0 && e.phase.v < METER_PHASES));
        assert(!e.world.known || e.world.v >= 1);
    }
    event_release(&e);
    if (ended)
        follow_event(context, line, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct follow_options options = {.total_epochs = 3, .within = 0.05};
    struct event_lines lines = {.line = malloc(EVENT_LINE_MAX + 1)};
    struct meter *meter = NULL;
    struct follow *follow = NULL;
    struct run run = {0};
    struct buf says = {0}, text = {0};
    int rc = meter_new(&meter, clock_now_ns(), NULL);
    rc = rc == 0 ? follow_new(&follow, &options, meter, &run, NULL) : rc;
    assert(rc == 0 && lines.line);
    for (size_t at = 0, piece; at < size; at += piece) {
        piece = size - at < size % 13 + 1 ? size - at : size % 13 + 1;
        event_lines_add(&lines, (const char *)data + at, piece, each, follow);
        follow_enough(follow);
    }
    event_lines_end(&lines, each, follow);
    rc = follow_finish(follow, size % 2, &says, NULL);
    assert(rc == 0);
    rc = record_to_text(run_fields, &run, &text, NULL);
    assert(rc == 0);
    follow_free(follow);
    meter_free(meter);
    record_release(run_fields, &run);
    buf_release(&says);
    buf_release(&text);
    free(lines.line);
    return 0;
}
