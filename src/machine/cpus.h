// SPDX-License-Identifier: Apache-2.0
// cpus: how many CPUs this process may use: the affinity mask, and the cgroup's quota within it.
#ifndef FARE_MACHINE_CPUS_H
#define FARE_MACHINE_CPUS_H

#include "record/field.h"

// The smaller of the threads it may run on and the quota; absent where neither is known.
struct maybe_real cpus_within(struct maybe_int threads, struct maybe_real limit);

// Whole CPUs of this process, at least 1: the number of threads for work that keeps them busy.
int cpus_usable(void);

#endif
