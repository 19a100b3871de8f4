// SPDX-License-Identifier: Apache-2.0
// source: where the sampler's figures come from; one file and one const table per source.
//
// A lane is a thread with its sources: one lane for the machine's files, which answer at once, one
// for the GPU drivers, which may take seconds or never return. A reading fills the members its
// sources know; the others are absent. Counters start anywhere and never go back: sources handle
// restarts and wrapping.
#ifndef FARE_MACHINE_SAMPLE_SOURCE_H
#define FARE_MACHINE_SAMPLE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "machine/nvml.h"

// ---- gpm: activity of an NVIDIA GPU's parts between two readings, by its own counters (GPM):
// Hopper and newer, and drivers from 525 on. Everything stays absent elsewhere.
//
// Like all of NVML, these calls may hang: only the GPU lane's thread makes them.

struct gpm_activity {
    struct maybe_real sm_percent;       // multiprocessors with work, mean
    struct maybe_real tensor_percent;   // tensor cores in use, mean
    struct maybe_real dram_percent;     // of the memory's theoretical bandwidth
    struct maybe_real pcie_bytes_per_s; // both directions
};

// ---- source

#define GPUS_MAX 32 // twice the largest servers; more are ignored

enum gpu_vendor { GPU_NVIDIA, GPU_AMD };

struct gpu { // identity, and facts seen during the run
    enum gpu_vendor vendor;
    int index; // the driver's number
    char name[97];
    char uuid[97];
    bool ours;   // used by a process of the run
    bool others; // used by another process
    bool lost;   // the driver lost it during the run
};

struct gpu_reading { // one reading of a GPU
    struct maybe_real use_percent;
    struct maybe_int memory_bytes;
    struct maybe_real power_w;
    struct maybe_int energy_mj; // a counter
    struct maybe_real clock_mhz;
    struct maybe_int temperature_c;
    struct maybe_real pcie_bytes_per_s; // both directions; not in every reading
    struct maybe_int throttle_bits;     // NVML's, those in nvml_reasons
    struct gpm_activity activity;       // not in the last reading
};

struct sample_reading {
    int64_t at_ns;
    int64_t number; // from 0
    bool last;      // the run is over: skip slow queries
    struct maybe_real run_cpu_s;
    struct maybe_real workers_cpu_s; // of that
    struct maybe_real disk_wait_s;   // of the run's processes, added up
    struct maybe_real io_stalled_s;  // a task of the control group waited for storage
    struct maybe_real busy_cpu_s;    // all processes, with the run's
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
    struct gpu_reading gpus[GPUS_MAX];
};

struct tasks;

struct sample_place { // the input of a lane's sources
    struct tree tree;
    pid_t pid;           // the run's process
    struct tasks *tasks; // descendants and their use, updated before each reading; null for GPUs
    struct gpu *gpus;    // of all the lane's sources, in order of registration
    int gpu_count;
    bool gpus_known; // a driver answered, even if only "no GPUs"
};

enum lane_kind { LANE_HOST, LANE_GPU, LANES };

struct source {
    const char *name;
    enum lane_kind lane;
    size_t size; // bytes of its state, zeroed

    void (*read)(void *state, struct sample_place *place, struct sample_reading *reading);
    // (optional) Called before the lane's thread starts. ERR_MISSING (without a text): nothing to
    // read, leave this source out. Only lack of memory makes the sampler fail.
    int (*open)(void *state, struct sample_place *place, struct err *err);
    void (*close)(void *state); // (optional)
    // (optional) Slow set-up, in the lane's thread before the first reading. False: leave it out.
    bool (*begin)(void *state, struct sample_place *place);
};

extern const struct source source_cpu, source_memory, source_net, source_rapl, source_cgroup,
    source_pressure, source_nvml, source_amdgpu;

extern const struct source *const sources[]; // ends with null

// ---- proc_file: a small file of /proc or /sys that is opened once and read many times.
//
// Opening costs several times as much as reading. An open file of /proc/PID stays with its process:
// once that is gone reads fail, even if its pid is reused. Nothing is allocated. A zeroed struct is
// closed.

struct proc_file {
    bool open;
    int fd;
};

// Opens a printf path below the tree's root. False if it does not exist or cannot be read.
bool proc_file_open(struct proc_file *file, const struct tree *tree, const char *format, ...)
    PRINTF_LIKE(3, 4);
void proc_file_close(struct proc_file *file);

// Reads up to size - 1 bytes from the start and terminates them. Returns the length; 0: unreadable.
size_t proc_file_read(const struct proc_file *file, char *text, size_t size);

// A larger value (two petabytes) is no count of bytes or ticks. A thousand of these can be added.
#define COUNT_MAX (INT64_MAX >> 12)

bool proc_file_int(const struct proc_file *file, int64_t *out); // the whole file is one number

// The next number on the line, skipping other text; false at the line's end. Reads negative
// numbers; one beyond 63 bits becomes INT64_MAX.
bool text_number(const char **cursor, int64_t *out);

// The number after "key" and white space or a colon, on the first such line.
bool text_keyed(const char *text, const char *key, int64_t *out);

#endif
