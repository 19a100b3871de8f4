// SPDX-License-Identifier: Apache-2.0
// event: what a user's program tells of its progress, whatever way it tells it.
//
// Each way is a source: a name and a function that reads one line. A line that is not the
// source's own is a normal case, since programs print what they like; one that is and makes no
// sense is counted and passed over. Nothing here keeps state: src/run/follow.h does.
//
// Lines come without their end, at most EVENT_LINE_MAX bytes, with a NUL behind them and none
// inside.
#ifndef FARE_RUN_EVENT_H
#define FARE_RUN_EVENT_H

#include <jansson.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/field.h"

#define EVENT_LINE_MAX    ((size_t)64 << 10)
#define EVENT_PATTERN_MAX ((size_t)4 << 10) // longer lines are no progress lines

struct event {
    struct maybe_int step;        // steps made so far, as the program counts
    struct maybe_int steps;       // made since its last event, where it does not count
    struct maybe_int total_steps; // where `step` ends: of the training, or of a bar
    struct maybe_int samples;     // trained since its last event, by this worker
    struct maybe_int world;       // workers that do the same
    struct maybe_int worker;      // which one tells
    struct maybe_int epoch;       // from 1; from 0 where the program counts so
    struct maybe_int epochs;      // of the whole training
    struct maybe_int phase;       // an enum meter_phase
    struct maybe_int stage;       // from 1: which part of the recipe the steps are of
    struct maybe_real at;         // when, in seconds of CLOCK_MONOTONIC; absent: just now
    struct maybe_real loss;
    struct maybe_real accuracy; // 0 to 1
    struct maybe_real test_loss;
    struct maybe_real test_accuracy;

    // Logs that count samples: steps follow from them.
    struct maybe_int batch;
    struct maybe_int epoch_samples;
    struct maybe_int all_samples; // so far
    bool epoch_ended;

    uint32_t bar;  // not 0: `step` is a progress bar's, which starts anew each time; which bar
    json_t *about; // members of the run's record, or null; a reference of its own
};
void event_release(struct event *event);

enum event_result {
    EVENT_NONE,    // not this source's line
    EVENT_READ,    // `event` is filled
    EVENT_STRANGE, // it looks like this source's line, and cannot be read
};

struct event_source {
    const char *name; // for people; null ends a table
    enum event_result (*read)(const char *line, size_t len, struct event *event);
};

// JSON lines in the file FARE_EVENTS; MLPerf's log lines.
extern const struct event_source event_json, event_mllog;

// Ready ones for the output of tqdm (Lightning and Hugging Face use it), Keras and Hugging Face's
// Trainer. Ends with a null name.
extern const struct event_source event_patterns[];

// The meter's phase of that name ("train", "eval", "validation"...); false for others.
bool event_phase(const char *name, struct maybe_int *phase);

// The user's own pattern: an extended regular expression, \d allowed. Its first group is the
// number of steps so far, the second the total; without groups each match is a step. ERR_USAGE
// where it is none. Free with regfree().
int event_pattern_compile(const char *pattern, regex_t *out, struct err *err) MUST_USE;
enum event_result event_pattern_read(const regex_t *pattern, const char *line, size_t len,
                                     struct event *event);

// Takes terminals' control sequences out, in place; the new length.
size_t event_clean(char *line, size_t len);

// Bytes to lines: ended by newline, carriage return or backspace, as progress bars are. A line of
// over EVENT_LINE_MAX is cut there and its rest dropped. `room` holds EVENT_LINE_MAX + 1.
struct event_lines {
    char *room;
    size_t len;
    bool cut; // the rest of this line is dropped
};
typedef void event_line_fn(void *context, char *line, size_t len, bool ended);

// Calls `each` for every whole line that is not empty, and with `ended` false for what is there of
// the next one, when it may be a whole bar that waits for its overwriting. The line may be changed.
void event_lines_add(struct event_lines *lines, const char *bytes, size_t len, event_line_fn *each,
                     void *context);
void event_lines_end(struct event_lines *lines, event_line_fn *each, void *context);

#endif
