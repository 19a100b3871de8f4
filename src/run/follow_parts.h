// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of follow.h: what is followed (follow.c) and the record of it
// (follow_record.c).
#ifndef FARE_RUN_FOLLOW_PARTS_H
#define FARE_RUN_FOLLOW_PARTS_H

#include "run/columns.h"
#include "run/figures.h"
#include "run/follow.h"
#include "run/shapes.h"
#include "run/track.h"

enum level {
    LEVEL_NONE,
    LEVEL_TRACE,
    LEVEL_READY,
    LEVEL_PATTERN,
    LEVEL_MLLOG, // from here on phases are reported with their start
    LEVEL_EVENTS
};

enum { MALFORMED = 80 }; // bytes of the first malformed line to show

struct follow {
    struct follow_options options;
    regex_t pattern;
    bool has_pattern;
    bool stopped; // ignore further progress

    enum level level;
    struct maybe_int worker; // the one whose steps count
    struct columns columns;
    struct shapes shapes;
    struct track track;
    struct figures figures;
    int64_t activity_ns;   // when follow_activity() was called last
    int64_t epoch_samples; // MLLOG's
    const struct mlperf *benchmark;
    int64_t sum; // of the steps reported without a number

    int64_t malformed;
    char first_malformed[MALFORMED + 1];
};

// Whether epochs are reported between steps, not on the way of a counter of the whole training.
bool follow_between_steps(const struct follow *follow);

#endif
