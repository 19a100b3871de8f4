// SPDX-License-Identifier: Apache-2.0
// compare: what the files of `fare compare` share; not for others.
#ifndef FARE_CMD_COMPARE_H
#define FARE_CMD_COMPARE_H

#include "cmd/cmd.h"
#include "view/compare.h"

void compare_table(struct out *out, const struct compare *compare);

#endif
