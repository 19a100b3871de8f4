// SPDX-License-Identifier: Apache-2.0
// nvml_ask: queries about one GPU, shared by machine/ and sample/.
//
// A query without an answer is normal. The reader keeps the first failure, and the first that says
// the whole GPU is gone.
#ifndef FARE_MACHINE_NVML_ASK_H
#define FARE_MACHINE_NVML_ASK_H

#include "machine/nvml.h"

struct nvml_reader {
    const struct nvml_api *api;
    struct nvml_device *device;
    enum nvml_return first, lost;
    const char *first_call, *lost_call;
};

static inline bool nvml_answered(struct nvml_reader *r, const char *call, enum nvml_return code)
{
    if (code == NVML_SUCCESS)
        return true;
    if (!r->first_call) {
        r->first = code;
        r->first_call = call;
    }
    if (!r->lost_call && (code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED)) {
        r->lost = code;
        r->lost_call = call;
    }
    return false;
}

#define ASK(r, call, ...)                                                                          \
    ((r)->api->call && nvml_answered((r), #call, (r)->api->call((r)->device, __VA_ARGS__)))

// Sets the number if it is in range.
static inline void nvml_number(struct maybe_int *member, unsigned long long value,
                               unsigned long long max)
{
    if (value <= max)
        *member = some_int((int64_t)value);
}

bool nvml_ask_memory(struct nvml_reader *r, struct maybe_int *total, struct maybe_int *used);
void nvml_ask_temperature(struct nvml_reader *r, struct maybe_int *celsius);

// The bits that mean throttling. The others (idle, application clocks) do not disturb a
// measurement.
struct nvml_reason {
    unsigned long long bit;
    const char *words;
};
#define NVML_REASONS 5
extern const struct nvml_reason nvml_reasons[NVML_REASONS];

bool nvml_ask_reasons(struct nvml_reader *r, unsigned long long *bits);

struct nvml_now { // the values that change all the time
    struct maybe_int use_percent;
    struct maybe_int memory_used_bytes;
    struct maybe_int power_mw;
    struct maybe_int energy_mj; // since the driver was loaded
    struct maybe_int clock_sm_mhz;
    struct maybe_int temperature_c;
    struct maybe_int reasons; // the bits of nvml_reasons only
};
void nvml_ask_now(struct nvml_reader *r, struct nvml_now *now);

// PCIe traffic, both directions together. NVML measures each direction for 20 ms.
void nvml_ask_pcie(struct nvml_reader *r, struct maybe_int *bytes_per_s);

#endif
