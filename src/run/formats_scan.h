// SPDX-License-Identifier: Apache-2.0
// scan: the words of a log line that mean something (formats.h has them), with their numbers.
#ifndef FARE_RUN_FORMATS_SCAN_H
#define FARE_RUN_FORMATS_SCAN_H

#include "run/formats.h"

struct scan_counter {
    bool known;
    int64_t at, total; // total 0: unknown
    struct maybe_int epoch;
    int rank;
    bool evaluates;
    enum event_counts counts;
    const char *label;
    size_t label_len;
};

struct scan {
    const char *line, *end;
    struct event *event; // gets the figures
    struct scan_counter step;
    struct scan_counter bare; // a number in brackets or in front, without a word
    bool epoch, fraction;     // an epoch is known; with a fraction
    const char *epoch_end;    // behind its number
    bool test;                // a word about evaluations, since the last figure
    bool test_next;           // it is about the next figure: "val loss"
    bool limit;               // the last word was a limit
    bool diverged;            // a loss is NaN
    bool tempo;               // a learning rate, a time
    bool learns;              // CatBoost's "learn", or the names of XGBoost and LightGBM
    bool seen[ROLE_COUNT];
    int others; // unknown words, without those of paths and of a logger's prefix
    bool leads; // "Validating" or "begin" is the first word
};

// `line`, `end` and `event` are set, the rest is zero.
void scan_line(struct scan *scan);

#endif
