// SPDX-License-Identifier: Apache-2.0
// sampler: threads that look twice a second at what a run uses: CPU, memory, disks, network,
// energy, GPUs. They never touch the run; what cannot be read is absent.
//
// Files come from below a root (base/tree), NVML from the machine room, so that a recorded machine
// can stand in. All its memory is taken at the start; of long runs neighbouring samples are merged,
// so that memory stays bounded.
//
// The machine's files are read by one thread, the GPUs' drivers asked by another, because a driver
// may take seconds to start and may never answer again when a GPU is lost. Each looks less often
// where a look costs so much CPU time that it would take more than SAMPLER_SHARE of one CPU. Which
// GPUs count as the run's: see totals.h.
#ifndef FARE_SAMPLE_SAMPLER_H
#define FARE_SAMPLE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/run.h"

#define SAMPLER_SHARE 0.002 // of one CPU, per thread: asked is under 0.005 of the run's time

struct sampler;

struct sampler_options {
    const char *root;  // "" for this machine
    char *const *env;  // for CUDA_VISIBLE_DEVICES and its like; null: not looked at
    pid_t pid;         // the run's process; it and all its descendants count. 0: ourselves
    int64_t start_ns;  // the run's start, for at_s
    double interval_s; // 0: 0.5
    bool no_gpus;      // the run is known to use none: they are not looked at
};

// Takes the first look before it returns (the GPUs' comes when their driver is ready). A process
// that has ended already is no error: what is known of it is absent.
int sampler_start(struct sampler **sampler, const struct sampler_options *options,
                  struct err *err) MUST_USE;

// Takes a last look, ends the threads and fills run->use (all but joules_per_step, flops_per_s and
// share_of_peak, data_wait_ns), run->samples, and adds taints: throttled GPUs, other processes on
// the CPUs or on the GPUs used, the cgroup's quota, the hypervisor's steal. Frees the sampler. A
// run's process that has ended is best waited for after this call; where it was our child and has
// been waited for, what it used at the end comes from what the kernel says of our children.
//
// Where a driver does not answer within two seconds its thread is left behind, with the memory it
// uses, and what concerns GPUs is absent; a taint says so.
int sampler_finish(struct sampler *sampler, struct run *run, struct err *err) MUST_USE;

// What sampler_finish() would fill in now, but for the last look; the sampler goes on.
int sampler_peek(struct sampler *sampler, struct run *run, struct err *err) MUST_USE;

void sampler_abandon(struct sampler *sampler); // the same without a result; null is fine

#endif
