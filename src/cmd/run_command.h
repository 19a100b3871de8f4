// SPDX-License-Identifier: Apache-2.0
// run_command: the part of `fare run` that measures programs other than fare: the user's command
// after "--", and the workloads in another framework (--with).
#ifndef FARE_CMD_RUN_COMMAND_H
#define FARE_CMD_RUN_COMMAND_H

#include "cmd/cmd.h"
#include "cmd/training.h"
#include "record/run.h"

struct run_command_options {
    const char *name;
    const char *step_pattern;
    const char *with;
    int64_t total_steps;
    int64_t total_epochs;
    int64_t grace_ns; // 0: COMMAND_GRACE_NS
    double within;    // of a sample; 0: 0.05
    double max_s;     // 0: no limit
};

// Rows for an option table whose struct has the options as `m`.
#define RUN_COMMAND_OPTIONS(type, m)                                                               \
    {"name",         0,                                                                            \
     OPT_TEXT,       "NAME",                                                                       \
     NULL,           offsetof(type, m.name),                                                       \
     "Of a command", "what to call the run (default: the script's or program's name)"},            \
        {"step-pattern",                                                                           \
         0,                                                                                        \
         OPT_TEXT,                                                                                 \
         "REGEX",                                                                                  \
         NULL,                                                                                     \
         offsetof(type, m.step_pattern),                                                           \
         "Of a command",                                                                           \
         "a line of its output that matches is progress: group 1 is the step, group 2 the total; " \
         "without groups each is a step"},                                                         \
        {"total-steps",                                                                            \
         0,                                                                                        \
         OPT_COUNT,                                                                                \
         "N",                                                                                      \
         NULL,                                                                                     \
         offsetof(type, m.total_steps),                                                            \
         "Of a command",                                                                           \
         "steps of the whole training: the rest is projected, and it is ended once that is "       \
         "known"},                                                                                 \
        {"total-epochs", 0,                                                                        \
         OPT_COUNT,      "N",                                                                      \
         NULL,           offsetof(type, m.total_epochs),                                           \
         "Of a command", "the same in epochs, where it tells how long one is"},                    \
    {                                                                                              \
        "grace", 0, OPT_DURATION, "TIME", NULL, offsetof(type, m.grace_ns), "Of a command",        \
            "time between SIGTERM and SIGKILL (default 10s)"                                       \
    }

// ERR_USAGE where one of them was given that means nothing without a command.
int run_command_unused(const struct run_command_options *options, struct err *err) MUST_USE;

// Measures the command of `call->rest`, prints, and sets call->exit_code. `full`: it is not ended
// before its own end.
int run_command(const struct cmd_call *call, const struct run_command_options *options, bool full,
                bool json, struct err *err) MUST_USE;

// Trains `workload` with the framework options->with and fills the record.
int run_framework(const struct workload *workload, const struct run_command_options *options,
                  const struct training_options *training, bool json, struct run *run,
                  struct buf *says, struct err *err) MUST_USE;

#endif
