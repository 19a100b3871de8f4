// SPDX-License-Identifier: Apache-2.0
// run_command: the part of `fare run` that measures programs other than fare: the user's command
// after "--", and the workloads in another framework (--with).
#ifndef FARE_CMD_RUN_COMMAND_H
#define FARE_CMD_RUN_COMMAND_H

#include "cmd/cmd.h"
#include "measure/measure.h"
#include "cmd/training.h"
#include "record/run.h"

struct run_command_options {
    const char *step_pattern;
    const char *with;
    int64_t total_steps;
    int64_t total_epochs;
    int64_t grace_ns; // 0: COMMAND_GRACE_NS
};

// Rows for an option table whose struct has the options as `m`.
#define RUN_COMMAND_OPTIONS(type, m)                                                               \
    MEASURE_OPTION("step-pattern", OPT_TEXT, "REGEX", type, m.step_pattern, "Of a command",        \
                   "a line of its output that matches is progress: group 1 is the step, group 2 "  \
                   "the total; without groups each is a step"),                                    \
        MEASURE_OPTION("total-steps", OPT_COUNT, "N", type, m.total_steps, "Of a command",         \
                       "steps of the whole training: the rest is projected, and it is ended once " \
                       "that is known"),                                                           \
        MEASURE_OPTION("total-epochs", OPT_COUNT, "N", type, m.total_epochs, "Of a command",       \
                       "the same in epochs, where it tells how long one is"),                      \
        MEASURE_OPTION("grace", OPT_DURATION, "TIME", type, m.grace_ns, "Of a command",            \
                       "time between SIGTERM and SIGKILL (default 10s)")

// ERR_USAGE where one of them was given that means nothing without a command.
int run_command_unused(const struct run_command_options *options, struct err *err) MUST_USE;

// Measures the command of `call->rest`, prints, and sets call->exit_code. `full`: it is not ended
// before its own end. `runs` is zeroed before and holds the run afterwards; the caller releases it.
int run_command(const struct cmd_call *call, const struct run_command_options *options,
                const struct measure_options *measure, bool full, bool json, struct runs *runs,
                struct err *err) MUST_USE;

// Trains `workload` with the framework options->with and fills the record.
int run_framework(const struct workload *workload, const struct run_command_options *options,
                  const struct native_options *training, bool json, struct run *run,
                  struct buf *says, struct err *err) MUST_USE;

#endif
