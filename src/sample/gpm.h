// SPDX-License-Identifier: Apache-2.0
// gpm: activity of an NVIDIA GPU's parts between two readings, by its own counters (GPM): Hopper
// and newer, and drivers from 525 on. Everything stays absent elsewhere.
//
// Like all of NVML, these calls may hang: only the GPU lane's thread makes them.
#ifndef FARE_SAMPLE_GPM_H
#define FARE_SAMPLE_GPM_H

#include "machine/nvml.h"

struct gpm {
    struct nvml_gpm_sample *before, *now; // null: not available
    bool taken;                           // there is a sample in `before`
    int64_t before_ns;                    // its time
};

struct gpm_activity {
    struct maybe_real sm_percent;       // multiprocessors with work, mean
    struct maybe_real tensor_percent;   // tensor cores in use, mean
    struct maybe_real dram_percent;     // of the memory's theoretical bandwidth
    struct maybe_real pcie_bytes_per_s; // both directions
};

// Finds out whether the device and its driver can.
void gpm_open(struct gpm *gpm, const struct nvml_api *api, struct nvml_device *device);
void gpm_close(struct gpm *gpm, const struct nvml_api *api);

// The activity since the last call; absent at the first one, and less than a tenth of a second
// after another, which is too short for the counters. A failure ends the readings.
void gpm_read(struct gpm *gpm, const struct nvml_api *api, struct nvml_device *device,
              int64_t at_ns, struct gpm_activity *out);

#endif
