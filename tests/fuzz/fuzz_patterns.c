// SPDX-License-Identifier: Apache-2.0
// Any bytes as a program's output, in pieces of odd sizes, through the built-in formats, a user's
// pattern and the search for regular lines; and as a command's arguments. What is read makes sense,
// and the run's record comes out whole.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "follow/follow.h"
#include "follow/formats.h"
#include "follow/shapes.h"

static struct shapes shapes;
static struct log_columns columns;

static void check(const char *line, size_t len, const struct event *e)
{
    assert(!e->step.known || e->step.v >= 0);
    assert(!e->step.known || !e->total_steps.known || e->step.v <= e->total_steps.v);
    assert(!e->total_steps.known || e->total_steps.v > 0);
    assert(!e->epoch.known || e->epoch.v >= 0);
    assert(!e->epoch_at.known || e->epoch_at.v >= 0);
    assert(e->step.known == (e->bar != 0));
    assert(!e->took_s.known || (e->took_s.v >= 0 && e->phase.known && !e->step.known));
    assert(!e->phase.known || (e->phase.v >= 0 && e->phase.v < METER_PHASES));
    assert(e->counts <= COUNTS_OTHER);
    assert(!e->left_s.known || (e->left_s.v >= 0 && e->left_s.v <= 1e10 && e->left_unit_s > 0));
    assert(!e->label || (e->label >= line && e->label + e->label_len <= line + len));
}

static void read_arguments(char *text)
{
    char *argv[16] = {NULL};
    struct event e = {0};
    for (size_t n = 0; n < 15 && (argv[n] = strsep(&text, " ")); n++) {
    }
    bool any = arguments_read(argv, &e);
    assert(any || (!e.total_steps.known && !e.epochs.known));
    assert(!e.epochs.known || e.epochs.v > 0);
}

static void each(void *context, char *line, size_t len, bool ended)
{
    char *copy = malloc(len + 1);
    assert(copy && line[len] == '\0' && strlen(line) == len);
    memcpy(copy, line, len + 1);
    size_t clean = event_clean(copy, len);
    assert(clean <= len && strlen(copy) == clean);
    static const struct event untouched;
    for (const struct event_source *s = event_patterns; s->name; s++) {
        struct event e;
        memset(&e, 0, sizeof e);
        if (s->read(copy, clean, &e) == EVENT_READ)
            check(copy, clean, &e);
        else
            assert(memcmp(&e, &untouched, sizeof e) == 0);
    }
    struct event e = {0};
    if (shapes_read(&shapes, copy, clean, &e) == EVENT_READ)
        check(copy, clean, &e);
    struct event row = {0};
    if (columns_read(&columns, copy, clean, &row) == EVENT_READ)
        check(copy, clean, &row);
    read_arguments(copy);
    free(copy);
    follow_output(context, line, len, ended);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct follow_options options = {
        .total_epochs = 3,
        .step_pattern = size % 3 == 0 ? "step (\\d+)/?(\\d+)?" : NULL,
    };
    memset(&shapes, 0, sizeof shapes);
    memset(&columns, 0, sizeof columns);
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
