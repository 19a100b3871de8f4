// SPDX-License-Identifier: Apache-2.0
// follow: turns what a user's program tells of its progress into a meter's phases and steps, and
// into the run's record.
//
// Several sources may tell at once; the best one that told a step counts, and the others are then
// passed over: FARE_EVENTS, MLLOG lines, the user's pattern, the ready patterns. Of several
// workers that tell the same the first counts; its samples are multiplied by the `world` it gives.
//
// The first step number is where counting begins: what came before it (a resumed training, or the
// time until the first report) is not a step time. A number that falls begins anew, as a bar does
// with each epoch. Of several bars one counts: see counters.h.
//
// Memory is bounded whatever is told. Running out of it sticks, and follow_finish() tells.
#ifndef FARE_RUN_FOLLOW_H
#define FARE_RUN_FOLLOW_H

#include "base/buf.h"
#include "record/run.h"
#include "run/event.h"
#include "run/meter.h"

struct follow_options {
    const char *step_pattern; // (optional) the user's; the ready ones are then not tried
    int64_t total_steps;      // 0: not given
    int64_t total_epochs;     // 0: not given
    double within;            // end when the projection is this good; 0: never
    double max_s;             // end after so long, once a few steps are known; 0: never
    bool at_the_latest;       // after `max_s` whatever is known
};

struct follow;

// The meter and the record must outlive it.
int follow_new(struct follow **follow, const struct follow_options *options, struct meter *meter,
               struct run *run, struct err *err) MUST_USE;
void follow_free(struct follow *follow); // null is fine

// A line from the file of events, or of the command's output; both may be changed. With `ended`
// false it is the beginning of a line, which only a progress bar may be.
void follow_event(struct follow *follow, char *line, size_t len);
void follow_output(struct follow *follow, char *line, size_t len, bool ended);

// To be called after each batch of lines, since steps end "now"; and often. True when the plan's
// aim is reached and the command can be ended.
bool follow_enough(struct follow *follow);

// The step it is at, those before this run included, and the last one; 0: not known.
void follow_place(const struct follow *follow, int64_t *step, int64_t *steps);

// The command is told to end: what it tells from now on does not count, and how long it takes to
// end is idle time (meter_stop()).
void follow_stop(struct follow *follow);

// Ends the last phase and fills the record: what the meter knows, losses, epochs, samples per
// second. `finished`: the command came to its own end. Appends to `says` what a person should
// know: lines that could not be read, or how to tell more where nothing was told.
int follow_finish(struct follow *follow, bool finished, struct buf *says, struct err *err) MUST_USE;

// What is known by now, into a copy of the record, of which the epochs are already there; following
// goes on.
int follow_peek(struct follow *follow, struct run *part, struct err *err) MUST_USE;

#endif
