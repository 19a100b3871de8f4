// SPDX-License-Identifier: Apache-2.0
// nvml_ask: questions about one GPU that both the machine's record and the sampler ask.
//
// A question without an answer is normal; the first one that says that the whole GPU is gone is
// kept, and the first failure of all in case nothing else is known of it.
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

// Sets a number that is within its range; others stay absent.
static inline void nvml_number(struct maybe_int *member, unsigned long long value,
                               unsigned long long max)
{
    if (value <= max)
        *member = some_int((int64_t)value);
}

bool nvml_ask_memory(struct nvml_reader *r, struct maybe_int *total, struct maybe_int *used);
void nvml_ask_temperature(struct nvml_reader *r, struct maybe_int *celsius);

// The bits that hold clocks down; the others (idle, a clock somebody set) do not taint.
struct nvml_reason {
    unsigned long long bit;
    const char *words;
};
#define NVML_REASONS 5
extern const struct nvml_reason nvml_reasons[NVML_REASONS];

bool nvml_ask_reasons(struct nvml_reader *r, unsigned long long *bits);

struct nvml_now { // what changes from moment to moment
    struct maybe_int use_percent;
    struct maybe_int memory_used_bytes;
    struct maybe_int power_mw;
    struct maybe_int energy_mj; // since the driver was loaded
    struct maybe_int clock_sm_mhz;
    struct maybe_int temperature_c;
    struct maybe_int reasons; // bits, those of nvml_reasons alone
};
void nvml_ask_now(struct nvml_reader *r, struct nvml_now *now);

// Bytes per second over PCIe, both ways. The library measures for 20 ms each way before it answers.
void nvml_ask_pcie(struct nvml_reader *r, struct maybe_int *bytes_per_s);

#endif
