// SPDX-License-Identifier: Apache-2.0
// source: where the sampler's figures come from; one file and one const table per source.
//
// A lane is a thread with the sources that it asks in turn: one for the machine's own files, which
// answer at once, and one for the GPUs' drivers, which may take seconds or never answer. Each look
// fills the members its sources know and leaves the others absent. Counters count from any fixed
// moment on and never go back: a source that restarts, wraps or vanishes sees to that itself.
#ifndef FARE_SAMPLE_SOURCE_H
#define FARE_SAMPLE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/tree.h"
#include "record/field.h"

#define GPUS_MAX 32 // twice what the largest servers hold; those beyond are not looked at

enum gpu_vendor { GPU_NVIDIA, GPU_AMD };

struct gpu { // what stays the same; and what was seen of it once and for all
    enum gpu_vendor vendor;
    int index; // as its driver counts
    char name[97];
    char uuid[97];
    bool ours;   // one of the run's processes was on it
    bool others; // somebody else's was
    bool lost;   // its driver gave it up in mid-run
};

struct gpu_look { // a GPU at one moment
    struct maybe_real use_percent;
    struct maybe_int memory_bytes;
    struct maybe_real power_w;
    struct maybe_int energy_mj; // a counter
    struct maybe_real clock_mhz;
    struct maybe_int temperature_c;
    struct maybe_real pcie_bytes_per_s; // both ways; not at every look
    struct maybe_int throttle_bits;     // NVML's, those of nvml_reasons alone
};

struct look {
    int64_t at_ns;
    int64_t number; // from 0
    bool last;      // the run is over: nothing that takes long
    struct maybe_real run_cpu_s;
    struct maybe_real busy_cpu_s; // everyone's, the run's included
    struct maybe_real steal_cpu_s;
    struct maybe_real all_cpu_s; // busy, idle and stolen
    struct maybe_int cpus;
    struct maybe_int memory_bytes;
    struct maybe_int memory_peak_bytes; // so far
    struct maybe_int disk_read_bytes;
    struct maybe_int disk_write_bytes;
    struct maybe_int network_in_bytes;
    struct maybe_int network_out_bytes;
    struct maybe_int throttled_ns;
    struct maybe_real cpu_energy_j;
    struct gpu_look gpus[GPUS_MAX];
};

struct tasks;

struct place { // where the sources of a lane look
    struct tree tree;
    pid_t pid;           // the run's process
    struct tasks *tasks; // its descendants and what they use, read before each look; null for GPUs
    struct gpu *gpus;    // of all the lane's sources, in the order in which they added theirs
    int gpu_count;
    bool gpus_known; // a driver answered, if only to say that there is none
};

enum lane_kind { LANE_HOST, LANE_GPU, LANES };

struct source {
    const char *name;
    enum lane_kind lane;
    size_t size; // of its state, which begins zeroed

    // Before the lane's thread starts. ERR_MISSING, without a text, where there is nothing to read:
    // the source is then left out. Only memory makes the sampler fail.
    int (*open)(void *state, struct place *place, struct err *err);
    void (*read)(void *state, struct place *place, struct look *look);
    void (*close)(void *state);
    // (optional) In the lane's thread before the first look: what may take seconds. False: left
    // out.
    bool (*begin)(void *state, struct place *place);
};

extern const struct source source_cpu, source_memory, source_io, source_net, source_rapl,
    source_cgroup, source_nvml, source_amdgpu;

extern const struct source *const sources[]; // ends with null

#endif
