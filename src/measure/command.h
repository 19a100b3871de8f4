// SPDX-License-Identifier: Apache-2.0
// command: runs and measures a program of the user's as it is: its process tree, its end, and what
// it tells of its progress. Its input is ours, its output is handed on byte for byte, signals are
// passed on; it can fork, print binary or a hundred megabytes, tell nonsense or nothing.
//
// When the command itself ends, the measurement ends. Processes it left behind get `grace_ns` to
// end by themselves (uploads, say), then SIGTERM, and after the same time again SIGKILL; the run
// says so. Where enough is known, or at `until_ns`, the command's group gets SIGTERM, and after
// `grace_ns` the tree SIGKILL: the run is then "sampled", or "stopped".
#ifndef FARE_RUN_COMMAND_H
#define FARE_RUN_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "ledger/journal.h"
#include "record/run.h"
#include "run/follow.h"
#include "measure/live.h"

#define COMMAND_GRACE_NS INT64_C(10000000000)

struct command_options {
    char *const *argv;     // null-terminated, not empty
    char *const *set;      // (optional) "NAME=value" beyond our environment, null-terminated
    const char *name;      // (optional) of the run; else from the command line
    const char *framework; // (optional) else "command"
    struct follow_options follow;
    int64_t grace_ns;
    int64_t until_ns;        // by clock_now_ns(): end it then, whatever is known; 0: never
    bool output_to_stderr;   // its stdout goes to our stderr, since ours is for something else
    bool sample;             // its own end is not the end of the training
    int64_t load_ns;         // spent on its data before it started: the run begins so much earlier
    const char *root;        // for the sampler; "" for this machine
    struct journal *journal; // (optional) for what is known so far, see run/partial.h
    const struct live_price *price; // (optional) of this machine
    // (optional) How far it is, about ten times a second, where the last line of its output on
    // stderr's terminal is ended; with null before it writes more there.
    void (*progress)(void *context, const struct live *live);
    void *context;
};

// Fills the record: id, start, name, framework, command, how it ended, and all that was measured.
// Fails where the command cannot be started (ERR_MISSING: no such program) or measured; a command
// that itself fails is no error: run->ended is then "failed". What a person should know beyond the
// record is appended to `says`, line by line. COMMAND_ENDED_AS_PLANNED where we ended it, since
// enough was known or its time was over, and the user did not.
enum { COMMAND_ENDED_AS_PLANNED = 1 };
int command_run(const struct command_options *options, struct run *run, struct buf *says,
                struct err *err) MUST_USE;

// The exit code that a shell would give: the command's own, 128 + the signal's number; 0 for one
// that was a sample by its own end.
int command_exit_code(const struct run *run);

// What to call a run of these words: "train" for `python -u dir/train.py --lr 1`, "llama.finetune"
// for `python -m llama.finetune`, else the program's name.
int command_name(char *const *argv, char **name, struct err *err) MUST_USE;

#endif
