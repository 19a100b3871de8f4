// SPDX-License-Identifier: Apache-2.0
// describe: a workload as a record, for lists and pages.
#ifndef FARE_WORKLOAD_DESCRIBE_H
#define FARE_WORKLOAD_DESCRIBE_H

#include "record/workload.h"
#include "workload/workload.h"

// With `layers`, layer by layer. The caller releases the record, also after a failure.
int workload_describe(const struct workload *workload, bool layers, struct workload_info *info,
                      struct err *err) MUST_USE;

#endif
