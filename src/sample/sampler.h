// SPDX-License-Identifier: Apache-2.0
// sampler: a thread that looks twice a second at what a run uses: CPU, memory, disks, network,
// energy, GPUs. It never touches the run; what cannot be read is absent.
//
// Files come from below a root (base/tree), NVML from the machine room, so that a recorded machine
// can stand in. All its memory is taken at the start; of long runs neighbouring samples are merged,
// so that memory stays bounded.
#ifndef FARE_SAMPLE_SAMPLER_H
#define FARE_SAMPLE_SAMPLER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/run.h"

struct sampler;

struct sampler_options {
    const char *root;  // "" for this machine
    char *const *env;  // for FARE_NVML and CUDA_VISIBLE_DEVICES
    pid_t pid;         // the run's process; it and all its descendants count. 0: ourselves
    int64_t start_ns;  // the run's start, for at_s
    double interval_s; // 0: 0.5
};

int sampler_start(struct sampler **sampler, const struct sampler_options *options,
                  struct err *err) MUST_USE;

// Ends the thread and fills run->use (all but joules_per_step, flops_per_s and share_of_peak,
// data_wait_ns), run->samples, and adds taints: throttled GPUs, other processes on the CPUs or on
// the GPUs used, the cgroup's quota, the hypervisor's steal. Frees the sampler.
int sampler_finish(struct sampler *sampler, struct run *run, struct err *err) MUST_USE;
void sampler_abandon(struct sampler *sampler); // the same without a result; null is fine

#endif
