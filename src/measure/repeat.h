// SPDX-License-Identifier: Apache-2.0
// repeat: what several runs of the same thing say together: the spread between them, and with
// several batch sizes where the device saturates.
#ifndef FARE_RUN_REPEAT_H
#define FARE_RUN_REPEAT_H

#include "record/run.h"

// Fills runs->groups where some workload was run more than once.
int repeat_group(struct runs *runs, struct err *err) MUST_USE;

#endif
