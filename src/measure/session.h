// SPDX-License-Identifier: Apache-2.0
// session: one run while it is measured: its meter, sampler, journal and line on the terminal.
//
// measure.c fills the first part and passes the session to a runner (runner.h). The runner starts
// it, reports progress between steps, and finishes it. Every few seconds the record goes to a
// journal (ledger/journal.h), as it would be if the run were killed now. The journal's thread
// writes it; making the text takes a millisecond or two, and is done less often if it takes longer,
// to stay below SESSION_SHARE of the time.
#ifndef FARE_MEASURE_SESSION_H
#define FARE_MEASURE_SESSION_H

#include "base/buf.h"
#include "base/secret.h"
#include "ledger/journal.h"
#include "measure/live.h"
#include "measure/watch.h"
#include "record/run.h"
#include "run/meter.h"
#include "run/plan.h"
#include "sample/sampler.h"

#define SESSION_SHARE 0.0008

struct measure_options;
struct saving;
struct workload;

struct session {
    const struct measure_options *o;
    const struct workload *workload; // null: a user's command
    char *const *command;            // null-terminated; null: a workload
    int64_t batch;                   // 0: the definition's
    struct run_plan plan;
    struct run *run;                // the record
    const struct secrets *secrets;  // to hide in it
    struct buf *says;               // for a person: generated text, hints; a line each
    struct journal *journal;        // (optional)
    const struct live_price *price; // (optional)
    struct saving *saving;          // (optional)
    bool has_left;                  // a budget is set, of which
    int64_t left_usd;               // this is left at the start; nano-USD
    struct watch watch;

    struct meter *meter;
    struct sampler *sampler;
    bool stopped; // the sampler has filled the record
    int64_t start_ns;
    int64_t step, steps; // progress; 0: unknown
    const char *noun;    // one of them; null: "step"
    double rate;         // a second; 0: unknown
    struct maybe_real loss;
    // (optional) Adds the runner's figures to a copy of the record; without it the meter does.
    int (*fill)(const struct session *session, struct run *part, struct err *err);
    void *runner; // the runner's own

    int exit_code;   // of a command, as a shell would give it
    int64_t keep_ns; // when the record goes to the journal next
};

// `pid`: the process to measure; 0: ourselves. The run began `before_ns` ago.
int session_start(struct session *session, pid_t pid, bool gpus, int64_t before_ns,
                  struct err *err) MUST_USE;

void session_look(const struct session *session, struct live *live);

// session_due(): whether it is time to journal the record; session_keep() does so. Call them
// between steps, outside of timed parts. Parts that fail are left out; the run continues.
bool session_due(const struct session *session);
void session_keep(struct session *session);

// Ends the sampling, so that resources used after the training do not count.
int session_stop(struct session *session, struct err *err) MUST_USE;

// Stops, if not done yet, and fills the figures derived from the measurement; the meter must have
// filled the record.
int session_finish(struct session *session, struct err *err) MUST_USE;

// Ends the line on the terminal too. A session that was not started is fine.
void session_release(struct session *session);

#endif
