// SPDX-License-Identifier: Apache-2.0
// Programs in child processes, for tests.
#ifndef FARE_TESTS_COMMAND_H
#define FARE_TESTS_COMMAND_H

#include <stdint.h>
#include <unistd.h>

#include "base/proc.h"

static inline int command_exec(void *argv)
{
    char *const *args = argv;
    execvp(args[0], args);
    return 127;
}

static inline int command_start(struct proc *proc, const char *const *argv,
                                const struct proc_options *options, struct err *err)
{
    return proc_start_call(proc, command_exec, (void *)(uintptr_t)argv, options, err);
}

static inline int command_run(const char *const *argv, const struct proc_options *options,
                              struct proc_result *result, struct err *err)
{
    struct proc proc;
    *result = (struct proc_result){0};
    int rc = command_start(&proc, argv, options, err);
    return rc == 0 ? proc_finish(&proc, result, err) : rc;
}

#endif
