// SPDX-License-Identifier: Apache-2.0
// measuring: the options that `fare run` and bare `fare` share, as rows for an option table whose
// struct `type` has the struct measure_options as `m`.
#ifndef FARE_CMD_MEASURING_H
#define FARE_CMD_MEASURING_H

#include "cmd/cmd.h"
#include "measure/measure.h"

// Measures the command of `call->rest`, sets call->exit_code, and turns call->out to stderr unless
// it is for --json. measure->o is set. `bare`: not by `fare run`, which a line at the start then
// names.
int measuring_command(const struct cmd_call *call, struct measure *measure, bool bare,
                      struct err *err) MUST_USE;

// Before it: whether another fare process of the same job (mpirun, srun) keeps the record. Then
// this one prints nothing of its own, unless it cannot be joined, and keeps nothing.
int measuring_joins(struct measure_options *options, struct err *err) MUST_USE;

// ERR_USAGE if an option was given that needs a command.
int measuring_without_command(const struct measure_options *options, struct err *err) MUST_USE;

extern const char *const measuring_identities[];

#define MEASURING_ROW(name_, kind_, value_, type, member, group_, help_)                           \
    {                                                                                              \
        .name = name_, .kind = kind_, .value = value_, .at = offsetof(type, member),               \
        .group = group_, .help = help_, .least = 1 /* of all its numbers */                        \
    }

#define MEASURING_SAMPLE(type, m)                                                                  \
    MEASURING_ROW(                                                                                 \
        "within", OPT_TEXT, "P%", type, m.within, "Sampling",                                      \
        "stop when the total time is this precise (95 % interval; default 2%, of a command 5%)"),  \
        MEASURING_ROW("max-time", OPT_DURATION, "TIME", type, m.max_time_ns, "Sampling",           \
                      "time limit (default 60s, of a command from its first step on; bare fare: "  \
                      "6s for each "                                                               \
                      "workload)"),                                                                \
        MEASURING_ROW("max-spend", OPT_TEXT, "USD|budget", type, m.max_spend, "Sampling",          \
                      "stop before the bill for this machine exceeds this, or what is left of "    \
                      "the budget; needs --offer"),                                                \
        MEASURING_ROW(                                                                             \
            "offer", OPT_TEXT, "OFFER", type, m.offer, "Sampling",                                 \
            "assume this machine is this offer of the book, PROVIDER/NAME: shows the bill "        \
            "while it runs, and labels the run")

#define MEASURING_COMMAND(type, m)                                                                 \
    MEASURING_ROW("step-pattern", OPT_TEXT, "REGEX", type, m.step_pattern, "Commands",             \
                  "lines of output that report progress: group 1 is the step, group 2 the total; " \
                  "without groups each match is a step"),                                          \
        MEASURING_ROW("total-steps", OPT_COUNT, "N", type, m.total_steps, "Commands",              \
                      "steps of the whole training, if its output does not say"),                  \
        MEASURING_ROW("total-epochs", OPT_COUNT, "N", type, m.total_epochs, "Commands",            \
                      "the same in epochs"),                                                       \
        MEASURING_ROW("grace", OPT_DURATION, "TIME", type, m.grace_ns, "Commands",                 \
                      "time between SIGTERM and SIGKILL (default 10s)"),                           \
        MEASURING_ROW(                                                                             \
            "no-trace", OPT_FLAG, NULL, type, m.no_trace, "Commands",                              \
            "do not record its GPU kernels (NVIDIA); for programs that profile themselves")

#define MEASURING_RECORD(type, m)                                                                  \
    MEASURING_ROW("name", OPT_TEXT, "NAME", type, m.name, "Record",                                \
                  "name of the run (default: the workload's, script's or program's)"),             \
        MEASURING_ROW("label", OPT_TEXTS, "KEY=VALUE", type, m.labels, "Record",                   \
                      "keep this with the run; may be given several times"),                       \
        MEASURING_ROW("project", OPT_TEXT, "NAME", type, m.project, "Record",                      \
                      "project that pays for the run (default: FARE_PROJECT, the label project, "  \
                      "or the name of the git repository)"),                                       \
        MEASURING_ROW("secret", OPT_TEXTS, "REGEX", type, m.secrets, "Record",                     \
                      "hide what this matches (syntax of grep -E) in the record, as *** ; may be " \
                      "given several times; keys, tokens and passwords are hidden anyway"),        \
        {.name = "identity",                                                                       \
         .kind = OPT_CHOICE,                                                                       \
         .value = "KIND",                                                                          \
         .choices = measuring_identities,                                                          \
         .at = offsetof(type, m.identity),                                                         \
         .group = "Record",                                                                        \
         .help = "keep the names of host and user hashed (default), plain, or not at all (none)"}, \
        MEASURING_ROW("ledger", OPT_TEXT, "URL", type, m.ledger, "Record",                         \
                      "where to keep it: a file (SQLite) or postgresql://USER@HOST/DATABASE"),     \
        MEASURING_ROW("no-ledger", OPT_FLAG, NULL, type, m.no_ledger, "Record", "do not keep it"), \
        MEASURING_ROW("no-cloud", OPT_FLAG, NULL, type, m.no_cloud, "Record",                      \
                      "do not query the cloud's metadata service")

#endif
