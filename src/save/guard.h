// SPDX-License-Identifier: Apache-2.0
// guard: keeps a job safe on machines that can be taken away.
//
//     rc = guard_open(&guard, &options, &says, &err);  // store, lease, newest checkpoint
//     start the job from guard_resume(guard)
//     while it runs: wishes = guard_look(guard, &look) and do as they say; never waits
//     guard_finish(guard, &end, &saving, &says);       // the last checkpoint, the lease, the
//     history guard_free(guard);
//
// The policy. A notice is passed on to the job at once. What is complete is saved without waiting
// for the interval. The job is ended when a checkpoint that it began after the notice is safe; at
// the latest so early that a checkpoint it writes at its end can still be saved. A lease that is
// lost ends the job at once, because another machine may run it.
#ifndef FARE_SAVE_GUARD_H
#define FARE_SAVE_GUARD_H

#include "save/notice.h"
#include "record/run.h"

#define GUARD_BETWEEN_NS (INT64_C(6) * 3600 * 1000000000) // assumed between two interruptions

struct guard;

struct guard_options {
    const char *save;        // a folder, or "s3://bucket/prefix"
    const char *job;         // its identity there
    const char *checkpoints; // the folder or file the job writes
    const char *fetch;       // the folder to fetch a checkpoint into
    const char *run, *host;  // for the history: id and, as the record has it, host
    struct notices_options notices;
    int64_t until_ns;         // (optional) the budget is spent then, by clock_now_ns()
    int64_t every_ns;         // (optional) between two saves; 0: the best interval
    int64_t between_ns;       // mean time between interruptions,
    const char *between_from; // and who says so; outlives the guard, like all texts
    int64_t lease_ns;         // (optional) how long the lease holds without a beat; 0: lease.h's
    int64_t quiet_ns;         // (optional) how long a file of unknown format must be quiet; 0: 5 s
    int keep;                 // (optional) checkpoints to keep; 0: keep.h's
    int64_t patience_ns;      // (optional) for checkpoints that cannot be used; 0: keep.h's
    bool start_over;          // train from the beginning
    bool asks;                // the job writes a checkpoint when asked (GUARD_SAVE)
    bool no_wait;             // another machine that runs the job is an error
    bool watches;             // the job is another process: this one keeps little in memory
    // (optional) Called while another machine holds the lease, and ten times a second during
    // transfers; false gives up.
    bool (*waiting)(void *context, const char *doing);
    // (optional) Fills in the cost of this start, whose `wall_s`, `lost_s` and `taken` are set.
    int (*cost)(void *context, struct run_attempt *attempt, struct err *err);
    void *context;
};

// Opens the store and tries it, waits for the lease, fetches the newest checkpoint, and watches for
// notices. Nothing of the job runs yet. ERR_USAGE: the place cannot work. ERR_KEPT: keep_fetch().
int guard_open(struct guard **out, const struct guard_options *options, struct buf *says,
               struct err *err) MUST_USE;
void guard_free(struct guard *guard); // null is fine; gives nothing up: see guard_finish()

// The fetched checkpoint; null: there is none.
const char *guard_resume(const struct guard *guard);
int64_t guard_resume_step(const struct guard *guard); // -1: unknown
bool guard_done(const struct guard *guard);           // the job was finished before
size_t guard_starts(const struct guard *guard);       // of this job, with this one

// The job starts now: its folder is watched from here on.
int guard_start(struct guard *guard, struct err *err) MUST_USE;

enum guard_wish {
    GUARD_SAVE = 1,   // write a checkpoint now, if the job can be asked
    GUARD_TELL = 2,   // tell the job about the notice
    GUARD_RECALL = 4, // it was withdrawn
    GUARD_END = 8,    // end the job: SIGTERM
    GUARD_KILL = 16,  // at once
};

struct guard_look {
    struct notice notice; // with GUARD_TELL
    char why[200];        // with GUARD_END and GUARD_KILL
    const char *by;       // likewise: "notice", "lease", "max-spend"
};

// Each wish is returned once, but GUARD_KILL as long as it holds.
unsigned guard_look(struct guard *guard, struct guard_look *look);

bool guard_signal(struct guard *guard, int number);     // true: it is a notice
void guard_told(struct guard *guard, const char *path); // the job says this is complete
void guard_says(struct guard *guard, struct buf *out);  // lines for a person
void guard_words(const struct guard *guard, char *out, size_t size); // the sources watched

struct guard_end {
    const char *ended, *why; // as the run's record has them
    bool clean;              // the job ended well: what it wrote is complete
    bool done;               // nothing is left to do
    bool taken;              // the machine is taken away
    bool lost;               // the lease was lost: write nothing
};

// The job has ended. Saves its last checkpoint, writes the history and gives the lease up. `saving`
// gets all starts, this one last. Fails only for lack of memory.
int guard_finish(struct guard *guard, const struct guard_end *end, struct run_saving *saving,
                 struct buf *says, struct err *err) MUST_USE;

// ---- history: all starts of a job, on all machines, in its store: history/EEEEEEEEEE, one object
// for each epoch (lease.h), written only by its holder.

// Fills the totals from the starts.
int history_total(struct run_saving *saving, struct err *err) MUST_USE;

#endif
