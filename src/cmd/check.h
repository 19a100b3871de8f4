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
    bool no_libraries; // leave out those for GPUs, of which a run keeps nothing
    bool strict;
};

// Probes this machine, or the one that FARE_ROOT names, and judges it. The record is the caller's
// to release, also after a failure.
int check_machine(const struct check_options *options, struct machine *machine,
                  struct err *err) MUST_USE;

// The text form (check_text.c).
void check_text(struct out *out, const struct machine *machine);

#endif
