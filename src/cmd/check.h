// SPDX-License-Identifier: Apache-2.0
// check: `fare check`, also as the first part of bare `fare`.
#ifndef FARE_CMD_CHECK_H
#define FARE_CMD_CHECK_H

#include "cmd/cmd.h"
#include "record/machine.h"

struct check_options {
    struct cmd_common common;
    bool bandwidth;
    bool no_cloud;
    bool strict;
};

// Probes this machine and prints what it is, as text or JSON.
int check_run(const struct check_options *options, struct out *out, struct err *err) MUST_USE;

// The text form (check_text.c).
void check_text(struct out *out, const struct machine *machine);

#endif
