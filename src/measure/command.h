// SPDX-License-Identifier: Apache-2.0
// command: runs and measures a user's program: its process tree, its exit and the progress it
// reports. It inherits our input; its output is relayed byte for byte, and signals are passed on.
// It can fork, print binary or hundreds of megabytes, and report nonsense or nothing.
//
// When the command itself ends, the measurement ends. Processes it left behind get the grace time
// to end by themselves (uploads, say), then SIGTERM, and after the same time again SIGKILL; the run
// says so. When the plan is fulfilled, the command's group gets SIGTERM, and after the grace time
// the tree SIGKILL: the run is then "sampled", or "stopped" if its budget was spent.
#ifndef FARE_MEASURE_COMMAND_H
#define FARE_MEASURE_COMMAND_H

#include "measure/sampling.h"

struct command_options {
    char *const *argv;     // null-terminated, not empty
    bool output_to_stderr; // its stdout goes to our stderr: our stdout is for the record
    int64_t load_ns;       // spent on its data before its start: the run begins this much earlier
};

// Fills the record: name, framework, command, how it ended, and all measurements. Fails if the
// command cannot be started (ERR_MISSING: no such program) or measured. A command that fails itself
// is not an error: run->ended is then "failed". session->exit_code is as in a shell: the command's
// own, or 128 + the signal's number; 0 if we ended it as planned.
int command_run(const struct command_options *options, struct session *session,
                struct err *err) MUST_USE;

#endif
