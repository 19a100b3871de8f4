// SPDX-License-Identifier: Apache-2.0
// sampling: when a sample of a user's command ends, and why. Judging is pure: no clock, no process.
//
// A sample ends once the total time is known precisely enough, but not before SAMPLING_LEAST_S,
// unless the user has named the precision: steps of the first seconds may not be typical. Otherwise
// it ends by time, counted from the first step, because imports and compilation may take minutes:
// after SAMPLING_S if the total time can be projected, and when the rate is known if the total
// number of steps is not. A command with very slow steps gets more time; one that shows no progress
// ends too.
#ifndef FARE_MEASURE_SAMPLING_H
#define FARE_MEASURE_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "run/follow.h"

#define SAMPLING_S       60.0 // after the first step
#define SAMPLING_LEAST_S 10.0
#define SAMPLING_RATE_S  30.0  // the same without a total, if the rate is steady
#define SAMPLING_STEPS   5     // the least for a rate
#define SAMPLING_LIMIT_S 600.0 // without progress, or with fewer steps than that
// An evaluation or a checkpoint that is announced for soon after is waited for, and for its end.
#define SAMPLING_PART_S  30.0
#define SAMPLING_PARTS_S 180.0 // after the first step, at most

// Why a command was ended; the rows are the record's `stopped_by`.
#define SAMPLING_ENDS(ROW)                                                                         \
    ROW(WITHIN, "within")                                                                          \
    ROW(TIME, "max-time")                                                                          \
    ROW(SPENT, "max-spend")                                                                        \
    ROW(NO_TOTAL, "no-total")                                                                      \
    ROW(NO_PROGRESS, "no-progress")                                                                \
    ROW(NOTICE, "notice")                                                                          \
    ROW(LEASE, "lease")                                                                            \
    ROW(IDLE, "idle")
#define ROW(name, word) SAMPLING_##name,
enum sampling_end { SAMPLING_GOES_ON, SAMPLING_ENDS(ROW) };
#undef ROW

const char *sampling_word(enum sampling_end end); // null: it went on

struct sampling {
    bool enough;      // the projection is as precise as asked for
    bool asked;       // the user named the precision
    double limit_s;   // given by the user, from the start, instead of those here; 0: none
    double elapsed_s; // since the start
    double before_s;  // of that, before the first step
    int64_t steps;    // measured
    bool total;       // their whole number is known
    bool projected;   // so is the total time
    bool unsettled;   // the step time still changes, or the first epoch's end will give the total
    double part_s;    // until an announced part that was not seen yet; 0: none
    bool in_part;     // it goes on now
};

// What is known now; the caller adds `asked` and `limit_s`. Returns follow_enough().
bool sampling_look(struct follow *follow, const struct meter *meter, double within,
                   struct follow_state *state, struct sampling *now);

enum sampling_end sampling_judge(const struct sampling *now);

// When it ends at the latest, if nothing changes, in seconds from the start.
double sampling_until_s(const struct sampling *now);

#endif
