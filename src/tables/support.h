// SPDX-License-Identifier: Apache-2.0
// support: on which GPUs a framework's build runs, from share/gpu-support.csv and the user's own.
//
// A build for CUDA 13 has no kernels for a V100: the training would end with an error on a machine
// that was cheap for a reason.
#ifndef FARE_TABLES_SUPPORT_H
#define FARE_TABLES_SUPPORT_H

#include <stdbool.h>

#include "base/err.h"
#include "tables/device.h"

struct support;
int support_open(struct support **out, struct err *err) MUST_USE;
void support_close(struct support *support); // null is fine

// What is known of a program; unknown texts are null.
struct support_ask {
    const char *framework; // "pytorch", "jax", "fare"
    const char *version;   // "2.11.0+cu130"
    const char *cuda;      // "13.0.96"
};

// Whether it runs on this GPU, as far as the tables know. False: `why` says why not.
enum { SUPPORT_WHY = 200 };
bool support_runs(const struct support *support, const struct support_ask *ask,
                  const struct device *device, char why[SUPPORT_WHY]);

#endif
