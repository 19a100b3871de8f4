// SPDX-License-Identifier: Apache-2.0
// sampler: threads that read twice a second what a run uses: CPU, memory, disks, network, energy,
// GPUs. They never touch the run. A value that cannot be read is absent.
//
// Files come from below a root (base/tree) and NVML from machine/, so that tests can use a recorded
// machine. All memory is allocated at the start and stays bounded: long runs merge neighbouring
// samples.
//
// One thread reads the machine's files. Another asks the GPU drivers, which may take seconds to
// start and may never return once a GPU is lost. Each reads less often if it would use more than
// SAMPLER_SHARE of a CPU. totals.h says which GPUs count as the run's.
#ifndef FARE_MACHINE_SAMPLE_SAMPLER_H
#define FARE_MACHINE_SAMPLE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/run.h"

#define SAMPLER_SHARE 0.002 // of one CPU, per thread; the goal is under 0.005 of the run's time

struct sampler;

struct sampler_options {
    const char *root;  // "": this machine
    char *const *env;  // for CUDA_VISIBLE_DEVICES and the like; null: ignore
    pid_t pid;         // the run's process, counted with all descendants; 0: this process
    int64_t start_ns;  // the run's start, for at_s
    double interval_s; // 0: 0.5
    bool no_gpus;      // the run uses no GPU: do not read them
    double cpus;       // that the run may use; 0: all of the machine's
};

// Takes the first reading before it returns (GPUs: once their driver is ready). If the process has
// already ended, its figures are absent; this is no error.
int sampler_start(struct sampler **sampler, const struct sampler_options *options,
                  struct err *err) MUST_USE;

// Takes a last reading and ends the threads. Fills run->samples and run->use (except steady,
// joules_per_step, flops_per_s, share_of_peak and data_wait_ns). Adds taints: throttled GPUs, other
// programs on the CPUs or GPUs, the cgroup's quota, steal time. Call it before waiting for the
// run's process; if a child was already waited for, its last figures come from getrusage().
//
// If a driver does not respond within two seconds, its thread and memory are abandoned, GPU figures
// are absent and a taint says so.
int sampler_finish(struct sampler *sampler, struct run *run, struct err *err) MUST_USE;

// Fills run->use.steady, once the meter has filled run->steady.
void sampler_steady(const struct sampler *sampler, struct run *run);

// Fills in what the two would, without a last reading. The sampler goes on.
int sampler_peek(struct sampler *sampler, struct run *run, struct err *err) MUST_USE;

// The share busy since the last call (or the start): of the GPUs the run uses, or of its CPUs while
// it uses no GPU. SAMPLER_UNKNOWN: no reading since, or it cannot be read. `work`: the share of the
// GPUs' multiprocessors that worked, by GPM; where there is no GPM, the same as `share`.
enum sampler_busy { SAMPLER_UNKNOWN, SAMPLER_CPUS, SAMPLER_GPUS };
enum sampler_busy sampler_busy(struct sampler *sampler, double *share, struct maybe_real *work);

// The share of the machine's CPUs that other programs used, over all readings, but at most the
// run's own: they do not slow down a run that needs no CPUs. 0: unknown.
double sampler_others(struct sampler *sampler);

// Bytes that the run's processes wrote to disks, by the last reading.
struct maybe_int sampler_written(struct sampler *sampler);

void sampler_free(struct sampler *sampler); // ends it first, if it still runs; null is fine

#endif
