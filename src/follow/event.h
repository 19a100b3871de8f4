// SPDX-License-Identifier: Apache-2.0
// event: progress reported by a user's program.
//
// Each format is a source: a name and a function that parses one line. Most lines of a program are
// not progress (EVENT_NONE); malformed progress lines are counted and skipped. Sources have no
// state; follow/follow.h does.
//
// Lines come without newline, have at most EVENT_LINE_MAX bytes, and end in their only NUL.
#ifndef FARE_FOLLOW_EVENT_H
#define FARE_FOLLOW_EVENT_H

#include <jansson.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/field.h"

#define EVENT_LINE_MAX    ((size_t)64 << 10)
#define EVENT_PATTERN_MAX ((size_t)4 << 10) // longer lines are not progress

enum event_counts {
    COUNTS_UNKNOWN, // "it", or no word
    COUNTS_STEPS,
    COUNTS_EPOCHS,
    COUNTS_SAMPLES, // trained: 640/60000
    COUNTS_OTHER,   // files, bytes, shards, examples to tokenise: never training
};

struct event {
    struct maybe_int step;        // steps so far, by the program's count
    struct maybe_int steps;       // since its last event, if it does not count
    struct maybe_int total_steps; // the last `step` of the training or of a bar
    struct maybe_int samples;     // trained by this worker since its last event
    struct maybe_int world;       // the number of workers
    struct maybe_int worker;      // the reporting one
    struct maybe_int epoch;       // from 1, or from 0 if the program counts so
    struct maybe_int epochs;      // of the whole training
    struct maybe_int phase;       // an enum meter_phase
    struct maybe_int stage;       // of the recipe, from 1
    struct maybe_real at;         // in seconds of CLOCK_MONOTONIC; absent: now
    struct maybe_real loss;
    struct maybe_real accuracy; // 0 to 1
    struct maybe_real test_loss;
    struct maybe_real test_accuracy;

    // For logs that count samples instead of steps.
    struct maybe_int batch;
    struct maybe_int epoch_samples;
    struct maybe_int all_samples; // so far
    bool epoch_ended;
    const struct mlperf *benchmark; // from now on
    struct maybe_real quality;      // its accuracy, loss or score

    // The time left, as the program prints it, and the last digit of that.
    struct maybe_real left_s;
    double left_unit_s;
    bool generates; // it tells the length of answers: on-policy reinforcement learning
    bool loops;     // several trainings follow each other: "Fold 1/5", "Trial 3/20"

    // A counter of a line: a progress bar, or the numbers of one kind of log line. It may restart.
    uint32_t bar;             // not 0: `step` and `total_steps` are this counter's
    enum event_counts counts; // what it counts, by its words
    const char *label;        // its words, in the line: "Building index"; null: none
    size_t label_len;
    bool whole;     // its total is the whole training's, whatever the epochs
    bool per_epoch; // its total is an epoch's

    // Announced: without `step`, `total_steps` is the whole training's; without `epoch`, `epochs`.
    struct maybe_real epoch_at;  // epochs done, with a fraction: 0.53
    struct maybe_int eval_every; // steps between two evaluations
    struct maybe_int save_every; // steps between two checkpoints
    // Reported: without `step`, an evaluation or checkpoint that ended, or begins with this line.
    bool begins;
    struct maybe_int at_step; // steps made until then, by the line
    struct maybe_real took_s; // how long it took

    const char *source; // the format, to show ("Keras"); null: its reader's name

    char *about; // members of the run's record as a JSON object, or null
};
void event_release(struct event *event);

enum event_result {
    EVENT_NONE,      // not a line of this source
    EVENT_READ,      // `event` is filled
    EVENT_MALFORMED, // a line of this source that cannot be parsed
};

struct event_source {
    const char *name; // to show; null ends a table
    enum event_result (*read)(const char *line, size_t len, struct event *event);
};

// JSON lines in the file FARE_EVENTS; MLPerf log lines.
extern const struct event_source event_json, event_mllog;

// Built-in formats (formats.h): progress bars, the dictionaries of Hugging Face's Trainer, and log
// lines. Ends with a null name.
extern const struct event_source event_patterns[];

// The user's own pattern: an extended regular expression, \d allowed. Its first group is the number
// of steps so far, the second the total; without groups each match is one step. ERR_USAGE if it is
// not valid. Free it with regfree().
int event_pattern_compile(const char *pattern, regex_t *out, struct err *err) MUST_USE;
enum event_result event_pattern_read(const regex_t *pattern, const char *line, size_t len,
                                     struct event *event);

// Removes terminal control sequences in place; returns the new length.
size_t event_clean(char *line, size_t len);

// Splits bytes into lines, which end in newline, carriage return or backspace, as progress bars do.
// Lines are cut at EVENT_LINE_MAX bytes.
struct event_lines {
    char *line; // EVENT_LINE_MAX + 1 bytes, the caller's
    size_t len;
    bool cut; // drop the rest of this line
};
typedef void event_line_fn(void *context, char *line, size_t len, bool ended);

// Calls `each` for every complete non-empty line, and with `ended` false for an incomplete one that
// looks like a finished progress bar. The callee may change the line.
void event_lines_add(struct event_lines *lines, const char *bytes, size_t len, event_line_fn *each,
                     void *context);
void event_lines_end(struct event_lines *lines, event_line_fn *each, void *context);

#endif
