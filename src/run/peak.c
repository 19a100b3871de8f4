// SPDX-License-Identifier: Apache-2.0
#include "run/peak.h"

#include <string.h>

int peak_gflops(const struct device *device, const char *precision)
{
    if (!precision)
        return 0;
    if (strcmp(precision, "bf16") == 0)
        return device->bf16_gflops;
    if (strcmp(precision, "f16") == 0)
        return device->fp16_gflops;
    if (strcmp(precision, "fp8") == 0)
        return device->fp8_gflops;
    if (strcmp(precision, "tf32") == 0 && device->tf32_gflops > 0)
        return device->tf32_gflops;
    // A GPU without tf32 units computes in fp32.
    return strcmp(precision, "f32") == 0 || strcmp(precision, "tf32") == 0 ? device->fp32_gflops
                                                                           : 0;
}

void peak_derive(struct run *run)
{
    struct devices *devices = NULL;
    struct run_use *use = &run->use;
    if (!use->flops_per_s.known || !use->gpus.known || use->gpus.v <= 0 || use->gpu_list.count == 0)
        return;
    if (devices_open(&devices, NULL) != 0)
        return;
    int64_t sum = 0;
    for (size_t i = 0; i < use->gpu_list.count; i++) {
        const struct device *device = device_find(devices, use->gpu_list.items[i].name);
        int gflops = device ? peak_gflops(device, run->precision) : 0;
        if (gflops <= 0 || (sum > 0 && gflops != sum / (int64_t)i)) {
            sum = 0;
            break;
        }
        sum += gflops;
    }
    devices_close(devices);
    // The list has all sampled GPUs; the run may have used fewer.
    double peak = (double)sum / (double)use->gpu_list.count * (double)use->gpus.v * 1e9;
    if (peak > 0)
        use->share_of_peak = some_real(use->flops_per_s.v / peak);
}
