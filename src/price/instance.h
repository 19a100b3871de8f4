// SPDX-License-Identifier: Apache-2.0
// instance: the machines of instance types, for price files that name only the type. The data is
// share/devices/instances.csv.
#ifndef FARE_PRICE_INSTANCE_H
#define FARE_PRICE_INSTANCE_H

#include "base/err.h"

struct instance {
    char *provider, *name;
    char *accelerator;  // a GPU, or another accelerator
    int count_milli;    // of them
    int gpu_memory_mib; // of one; 0: the GPU's own
    int vcpus_milli, memory_mib;
};

struct instances;

int instances_open(struct instances **out, struct err *err) MUST_USE;
void instances_close(struct instances *instances); // null is fine

// Null if unknown; `instances` may be null.
const struct instance *instance_find(const struct instances *instances, const char *provider,
                                     const char *name);

#endif
