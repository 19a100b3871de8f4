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

#include <stdbool.h>
#include <stdint.h>

#include "base/progress.h"
#include "train/meter.h"
#include "train/plan.h"

// ---- live: progress, remaining time and cost of a run in progress.
//
// The line on the terminal and the journal's record (measure/session.h) use it. Without a price of
// the machine there is no cost. live_look() allocates nothing.

struct live_price {    // of the machine; unknown without `cost`
    const char *offer; // the offer and the source of its price, for people
    int64_t hour;      // nano-USD
    // The cost of a run of that length, in nano-USD; must not allocate.
    int (*cost)(const void *price, int64_t ns, int64_t *nano_usd, struct err *err);
    const void *price;
};

struct live {
    double elapsed_s;
    int64_t step, steps;            // of this run; steps 0: unknown
    const char *noun;               // one of them: "epoch", "sample"; null: "step"
    double left_s;                  // below 0: unknown
    bool at_most;                   // the run may end earlier
    bool timed;                     // progress is measured by time, not by steps
    double rate;                    // of them a second of training; 0: unknown
    struct maybe_real loss;         // the latest, averaged
    double whole_s, half_s;         // the whole training and its interval to each side; 0: unknown
    int64_t bill, projected, whole; // nano-USD; below 0: unknown
};

// `price` is optional.
void live_look(const struct run_plan *plan, const struct live_price *price,
               const struct meter *meter, int64_t step, int64_t steps, struct live *out);

// The share done, 0 to 1; below 0: unknown.
double live_share(const struct live *live);

int live_fill(const struct live *live, const struct live_price *price, struct run_live *out,
              struct err *err) MUST_USE;

// ---- watch: a run in progress: the line on the terminal with progress, end time and cost; in a
// log, where there is no terminal, a line of text now and then.

// Draws on stderr or `fd` if that is a terminal; a zeroed struct draws nothing.
struct watch {
    struct progress progress;
    const char *name; // of the run; must live as long
    int64_t number;   // of several like it; 0: the only one
    int fd;           // instead of stderr, if not 0
    pid_t group;      // may draw here too: a run in a separate process draws for its parent
    bool begun;
    double before_s; // of the command's runs before this one
    double told_s;   // when a line of text was last written, counted likewise; 0: never
    char note[120], end[24], cost[48], costs[72];
};

// `note`: more about it, as progress.h has it.
void watch_show(struct watch *watch, const struct live *live, const char *note);

// For logs: if stderr is no terminal, writes a line there after 10 s, 30 s and a minute, then at
// twice the time, at most five minutes apart. Waits a little for the end of a line that the command
// has not finished (`within_a_line`). True if it wrote. watch_due(): whether it would, by the time
// of this run.
bool watch_due(const struct watch *watch, double elapsed_s);
bool watch_tell(struct watch *watch, const struct live *live, bool within_a_line);

// Writes lines of text now, each behind "fare: ". True if it wrote.
bool watch_say(struct watch *watch, const char *lines, bool within_a_line);

// Another process has written the lines due so far.
void watch_told(struct watch *watch, double elapsed_s);

// "step 1200 of 3000", "in epoch 3 of 15"; false: no progress seen.
bool watch_place(const struct live *live, struct buf *out);

// "after 8 min 03 s: step 1200 of 3000 (40 %), loss 0.412, 12 min 05 s left (± 2 %), 0.61 of 1.30
// USD"
void watch_words(const struct live *live, struct buf *out);

void watch_hide(struct watch *watch);

// ---- peak: the share of the GPUs' specified speed that a run reached (tables/device.h).

// Fills use.mfu of a run with one label per token, and use.share_of_peak if the run's operations
// are known and its GPUs are of one kind and in the table, and l1_share_of_peak of l1 on a GPU.
// Otherwise the values stay absent.
void peak_derive(struct run *run);

// ---- session

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
