// SPDX-License-Identifier: Apache-2.0
// completion: names that a shell can complete: workloads, GPUs, offers, runs, data sets.
#ifndef FARE_CMD_COMPLETION_H
#define FARE_CMD_COMPLETION_H

#include "cmd/cmd.h"

typedef void completion_fn(void *context, const char *word, const char *help);

// The names that an option's value or a command's arguments can have; those that cannot be read are
// left out. `typed`: the beginning of the word; without one offers are no arguments, as they are
// thousands.
void completion_values(const struct opt *opt, completion_fn *each, void *context);
void completion_arguments(const struct command *command, const char *typed, completion_fn *each,
                          void *context);

#endif
