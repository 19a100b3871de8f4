// SPDX-License-Identifier: Apache-2.0
// device: specifications of GPUs and processors, found by any of their names: NVML says "NVIDIA
// A100-SXM4-80GB", catalogues "A100-80GB", people "a100 80g". The data is share/devices/gpus.csv
// and cpus.csv; the user's own files of the same names take precedence.
#ifndef FARE_PRICE_DEVICE_H
#define FARE_PRICE_DEVICE_H

#include <stddef.h>

#include "base/err.h"

struct device {
    char *name;     // "A100-80GB"
    int memory_mib; // 0: several sizes
    // Dense peaks in GFLOP/s; 0: unknown or none. tf32 and bf16 are for matrix units.
    int fp32_gflops, tf32_gflops, bf16_gflops;
    int watts; // board power; 0: unknown
    int year;
    char *source;
    char *offers; // processors: offers that have them, "aws/c7a.*;aws/m7a.*"; "": unknown
};

struct devices;

int devices_open(struct devices **out, struct err *err) MUST_USE;
void devices_close(struct devices *devices); // null is fine

// The device with this name; null if unknown. Never guesses: "A100" is the 40 GB model only because
// the table says so.
const struct device *device_find(const struct devices *devices, const char *text);

// The devices that a name covers, at most `most`: "h100" the H100 in all its forms and sizes (PCIE,
// NVL, 80GB), each a row of its own; a fuller name ("H100 SXM") its own row only. 0: unknown.
size_t device_family(const struct devices *devices, const char *text, const struct device **out,
                     size_t most);

// The processor of this offer ("aws", "c7a.2xlarge"); null if unknown.
const struct device *device_of_offer(const struct devices *devices, const char *provider,
                                     const char *name);

#endif
