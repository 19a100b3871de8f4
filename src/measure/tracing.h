// SPDX-License-Identifier: Apache-2.0
// tracing: records the GPU's work while a command is measured (trace/trace.h): on NVIDIA GPUs,
// unless --no-trace is given. It records for some seconds, some time after the first step, until a
// step's account is known. Where nothing but the kernels shows the steps it records now and then
// throughout; steps after the last time are derived from their rate.
#ifndef FARE_MEASURE_TRACING_H
#define FARE_MEASURE_TRACING_H

#include "measure/session.h"
#include "run/follow.h"
#include "trace/trace.h"

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
