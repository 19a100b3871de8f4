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

#include "measure/session.h"
#include "follow/follow.h"

#define SAMPLING_S       60.0  // after the first step
#define SAMPLING_LIMIT_S 600.0 // without progress, or with fewer steps than that

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

// ---- tracing: records the GPU's work while a command is measured (follow/trace/trace.h): on
// NVIDIA GPUs, unless --no-trace is given. It records for some seconds, some time after the first
// step, until a step's account is known. Where nothing but the kernels shows the steps it records
// now and then throughout; steps after the last time are derived from their rate.

struct tracing {
    struct trace *trace; // null: off
    int64_t read_ns;     // when it is read next
    int64_t window_ns;   // when recording for the account begins; 0: no step yet
    bool done;           // the account is known
    int64_t steps;       // by the kernels, after the first report,
    int64_t first_ns;    // which was then,
    int64_t last_ns;     // until then
};

// Before the command starts.
int tracing_open(struct tracing *tracing, const struct session *session, struct err *err) MUST_USE;
void tracing_release(struct tracing *tracing);

// Adds entries for the command's environment to a list with room for two more; returns its length.
size_t tracing_environment(const struct tracing *tracing, char **list, size_t count);

// While it runs: the GPU was busy for this share of the last seconds.
void tracing_activity(struct tracing *tracing, double busy);

// While it runs, often.
int tracing_work(struct tracing *tracing, struct follow *follow, struct err *err) MUST_USE;

// After its end: passes the last steps on and fills the record, and says why if there is no
// account.
int tracing_finish(struct tracing *tracing, struct follow *follow, struct run *run,
                   struct buf *says, struct err *err) MUST_USE;

#endif
