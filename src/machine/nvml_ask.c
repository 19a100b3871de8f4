// SPDX-License-Identifier: Apache-2.0
#include "machine/nvml_ask.h"

#include <string.h>

_Static_assert(sizeof(struct nvml_memory_v2) == 40 && sizeof(struct nvml_temperature) == 12,
               "NVML's layouts, by its documentation");

const struct nvml_reason nvml_reasons[NVML_REASONS] = {
    {0x04, "sw power cap"},        {0x08, "hw slowdown"},    {0x20, "sw thermal slowdown"},
    {0x40, "hw thermal slowdown"}, {0x80, "hw power brake"},
};

bool nvml_ask_memory(struct nvml_reader *r, struct maybe_int *total, struct maybe_int *used)
{
    struct nvml_memory_v2 now = {.version = NVML_STRUCT_VERSION(struct nvml_memory_v2, 2)};
    if (ASK(r, nvmlDeviceGetMemoryInfo_v2, &now)) {
        nvml_number(total, now.total, INT64_MAX);
        nvml_number(used, now.used, INT64_MAX);
        return true;
    }
    struct nvml_memory old = {0};
    if (ASK(r, nvmlDeviceGetMemoryInfo, &old)) {
        nvml_number(total, old.total, INT64_MAX);
        nvml_number(used, old.used, INT64_MAX);
        return true;
    }
    return false;
}

void nvml_ask_temperature(struct nvml_reader *r, struct maybe_int *celsius)
{
    struct nvml_temperature heat = {.version = NVML_STRUCT_VERSION(struct nvml_temperature, 1)};
    unsigned int v = 0;
    if (ASK(r, nvmlDeviceGetTemperatureV, &heat)) {
        if (heat.celsius >= 0)
            nvml_number(celsius, (unsigned int)heat.celsius, 300);
    } else if (ASK(r, nvmlDeviceGetTemperature, 0, &v)) {
        nvml_number(celsius, v, 300);
    }
}

bool nvml_ask_reasons(struct nvml_reader *r, unsigned long long *bits)
{
    return ASK(r, nvmlDeviceGetCurrentClocksEventReasons, bits) ||
           ASK(r, nvmlDeviceGetCurrentClocksThrottleReasons, bits);
}

void nvml_ask_now(struct nvml_reader *r, struct nvml_now *now)
{
    memset(now, 0, sizeof *now);
    struct nvml_utilization use = {0};
    struct maybe_int total = {0};
    unsigned int v = 0;
    unsigned long long energy = 0, bits = 0;
    if (ASK(r, nvmlDeviceGetUtilizationRates, &use))
        nvml_number(&now->use_percent, use.gpu, 100);
    if (r->lost_call)
        return;
    nvml_ask_memory(r, &total, &now->memory_used_bytes);
    if (total.known && now->memory_used_bytes.v > total.v)
        now->memory_used_bytes = (struct maybe_int){0};
    if (ASK(r, nvmlDeviceGetPowerUsage, &v))
        nvml_number(&now->power_mw, v, 10000000);
    if (ASK(r, nvmlDeviceGetTotalEnergyConsumption, &energy))
        nvml_number(&now->energy_mj, energy, INT64_MAX);
    if (ASK(r, nvmlDeviceGetClockInfo, NVML_CLOCK_SM, &v))
        nvml_number(&now->clock_sm_mhz, v, 100000);
    nvml_ask_temperature(r, &now->temperature_c);
    if (!nvml_ask_reasons(r, &bits))
        return;
    unsigned long long mask = 0;
    for (size_t i = 0; i < NVML_REASONS; i++)
        mask |= nvml_reasons[i].bit;
    now->reasons = some_int((int64_t)(bits & mask));
}

void nvml_ask_pcie(struct nvml_reader *r, struct maybe_int *bytes_per_s)
{
    enum { SENT, RECEIVED };             // nvmlPcieUtilCounter_t
    unsigned int sent = 0, received = 0; // KB/s
    if (ASK(r, nvmlDeviceGetPcieThroughput, SENT, &sent) &&
        ASK(r, nvmlDeviceGetPcieThroughput, RECEIVED, &received))
        // No link carries 1 TB/s.
        nvml_number(bytes_per_s, ((unsigned long long)sent + received) * 1000, 1000000000000);
}
