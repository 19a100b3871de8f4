// SPDX-License-Identifier: Apache-2.0
#include "run/peak.h"

// l1 takes two instructions for each difference: a subtraction, and an addition of its absolute
// value. A peak counts two operations for an instruction.
#define L1_OPERATIONS 4

// Of the GPUs used, in FLOP/s; 0: unknown, or of several kinds.
static double peak_of(const struct run_use *use, const char *precision)
{
    struct devices *devices = NULL;
    int64_t sum = 0;
    if (devices_open(&devices, NULL) != 0)
        return 0;
    for (size_t i = 0; i < use->gpu_list.count; i++) {
        const struct device *device = device_find(devices, use->gpu_list.items[i].name);
        int gflops = device ? device_gflops(device, precision) : 0;
        if (gflops <= 0 || (sum > 0 && gflops != sum / (int64_t)i)) {
            sum = 0;
            break;
        }
        sum += gflops;
    }
    devices_close(devices);
    // The list has all sampled GPUs; the run may have used fewer.
    return (double)sum / (double)use->gpu_list.count * (double)use->gpus.v * 1e9;
}

void peak_derive(struct run *run)
{
    struct run_use *use = &run->use;
    bool l1 = run->l1_pairs_per_s.known && !run->l1_share_of_peak.known;
    if ((!use->flops_per_s.known && !l1) || !use->gpus.known || use->gpus.v <= 0 ||
        use->gpu_list.count == 0)
        return;
    double peak = peak_of(use, l1 ? "f32" : run->precision);
    if (peak > 0 && l1)
        run->l1_share_of_peak = some_real(run->l1_pairs_per_s.v * L1_OPERATIONS / peak);
    else if (peak > 0)
        use->share_of_peak = some_real(use->flops_per_s.v / peak);
    double bf16 = run->step_tokens.known ? peak_of(use, "bf16") : 0;
    if (bf16 > 0)
        use->mfu = some_real(use->flops_per_s.v / bf16);
}
