// SPDX-License-Identifier: Apache-2.0
// Any bytes as a program's output, in pieces of odd sizes, through the ready patterns and one of a
// user's: what is read makes sense, and the run's record comes out whole.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "run/follow.h"

static void each(void *context, char *line, size_t len, bool ended)
{
    char *copy = malloc(len + 1);
    assert(copy && line[len] == '\0' && strlen(line) == len);
    memcpy(copy, line, len + 1);
    size_t clean = event_clean(copy, len);
    assert(clean <= len && strlen(copy) == clean);
    for (const struct event_source *s = event_patterns; s->name; s++) {
        struct event e = {0};
        if (s->read(copy, clean, &e) == EVENT_READ) {
            assert(!e.step.known || !e.total_steps.known || e.step.v <= e.total_steps.v);
            assert(!e.epoch.known || e.epoch.v >= 0);
        }
        event_release(&e);
    }
    free(copy);
    follow_output(context, line, len, ended);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct follow_options options = {
        .total_epochs = 3,
        .step_pattern = size % 3 == 0 ? "step (\\d+)/?(\\d+)?" : NULL,
    };
    struct event_lines lines = {.line = malloc(EVENT_LINE_MAX + 1)};
    struct meter *meter = NULL;
    struct follow *follow = NULL;
    struct run run = {0};
    struct buf says = {0}, text = {0};
    int rc = meter_new(&meter, clock_now_ns(), NULL);
    rc = rc == 0 ? follow_new(&follow, &options, meter, &run, NULL) : rc;
    assert(rc == 0 && lines.line);
    for (size_t at = 0, piece; at < size; at += piece) {
        piece = size - at < size % 17 + 1 ? size - at : size % 17 + 1;
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
