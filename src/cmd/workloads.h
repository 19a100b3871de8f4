// SPDX-License-Identifier: Apache-2.0
// workloads: the part of `fare workloads` that is about data (workloads_data.c).
#ifndef FARE_CMD_WORKLOADS_H
#define FARE_CMD_WORKLOADS_H

#include "cmd/cmd.h"

extern const struct command workloads_data;

#endif
