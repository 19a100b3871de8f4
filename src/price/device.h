// SPDX-License-Identifier: Apache-2.0
// device: specifications of GPUs and processors, and their names: NVML, the catalogues and people
// call the same one "NVIDIA A100-SXM4-80GB", "A100-80GB" and "a100 80g". share/devices/gpus.csv and
// cpus.csv, and the user's own files of those names in front of them.
#ifndef FARE_PRICE_DEVICE_H
#define FARE_PRICE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct device {
    char *name;     // "A100-80GB"
    int memory_mib; // 0: several sizes
    // Dense peaks in GFLOP/s, 0: unknown or none. tf32 and bf16 are matrix units'.
    int fp32_gflops, tf32_gflops, bf16_gflops;
    int watts; // board power; 0: unknown
    int year;
    char *source;
    char *offers; // processors: the offers that have them, "aws/c7a.*;aws/m7a.*"; "": unknown
};

struct devices;

int devices_open(struct devices **out, struct err *err) MUST_USE;
void devices_close(struct devices *devices); // null is fine

// The device that this text names, whoever wrote it; null where it is not known. Never guesses:
// "A100" alone is the 40 GB one only because the table says so.
const struct device *device_find(const struct devices *devices, const char *text);

// The processor that this offer has ("aws", "c7a.2xlarge"); null where that is not known.
const struct device *device_of_offer(const struct devices *devices, const char *provider,
                                     const char *name);

#endif
