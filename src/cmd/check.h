// SPDX-License-Identifier: Apache-2.0
// check: a machine's record as text, for `fare check` and bare `fare`.
#ifndef FARE_CMD_CHECK_H
#define FARE_CMD_CHECK_H

#include "cmd/cmd.h"
#include "record/machine.h"

void check_text(struct out *out, const struct machine *machine);

#endif
