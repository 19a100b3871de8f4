// SPDX-License-Identifier: Apache-2.0
// workloads: the part of `fare workloads` that is about data (workloads_data.c).
#ifndef FARE_CMD_WORKLOADS_H
#define FARE_CMD_WORKLOADS_H

#include "cmd/cmd.h"

// `args` is what followed "data": list, get NAME, path NAME.
int workloads_data(const struct cmd_call *call, const char *const *args, size_t count,
                   struct err *err) MUST_USE;

#endif
