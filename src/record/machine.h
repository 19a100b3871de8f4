// SPDX-License-Identifier: Apache-2.0
// The record of a machine, filled by src/machine/ and printed by `fare check`. Plain data; units
// are in the names. Absent (null text, unknown number, unknown list) means not known.
#ifndef FARE_RECORD_MACHINE_H
#define FARE_RECORD_MACHINE_H

#include "record/field.h"

#define MACHINE_SCHEMA "fare.machine/1"

struct machine_program { // the fare that checked
    char *version;
    char *build; // commit
    char *compiler;
    struct maybe_bool debug; // built with assertions or sanitizers: timings are meaningless
};

struct machine_cache {
    struct maybe_int level;
    char *kind; // "data", "instruction", "unified"
    struct maybe_int size_bytes;
    struct maybe_int count; // number of such caches
};

struct machine_isa { // tested in a child process
    char *name;      // "avx2", "avx512f", "avx512_bf16", "amx_bf16", ...
    struct maybe_bool advertised;
    struct maybe_bool works;
    char *problem; // how it failed: "signal SIGILL"
};

struct machine_kernel {      // one operation of a library, tested in a child process
    char *operation;         // "f32 matmul", "bf16 matmul", "bf16 convolution"
    char *cap;               // ONEDNN_MAX_CPU_ISA; absent: not set
    char *kernel;            // the implementation the library chose
    struct maybe_bool works; // gave the right result
    char *problem;
};

struct machine_library {
    char *name; // "oneDNN"
    char *version;
    char *path;
    LIST_OF(struct machine_kernel) kernels;
};

struct machine_cpu {
    char *model;
    char *vendor;
    struct maybe_int sockets;
    struct maybe_int cores;
    struct maybe_int threads; // hardware threads of the machine
    struct maybe_int numa_nodes;
    struct maybe_int allowed_threads; // those this process may use (affinity, cpuset)
    struct maybe_real limit_cpus;     // cgroup quota, in CPUs; absent: none
    struct maybe_real usable_cpus;    // the smaller of the two
    struct maybe_int max_mhz;
    char *governor;
    LIST_OF(struct machine_cache) caches;
    LIST_OF(struct machine_isa) isa;
    LIST_OF(struct machine_library) libraries;
};

struct machine_memory {
    struct maybe_int total_bytes;
    struct maybe_int available_bytes;
    struct maybe_int limit_bytes;  // cgroup; absent: none
    struct maybe_int usable_bytes; // the smaller of total and limit
    struct maybe_int swap_total_bytes;
    struct maybe_int swap_used_bytes;
    struct maybe_int shm_total_bytes; // /dev/shm
    struct maybe_int shm_free_bytes;
};

struct machine_disk { // under the working folder
    char *folder;
    char *mount;
    char *filesystem; // "ext4", "nfs4", "overlay", ...
    char *device;
    char *kind; // "local", "network", "memory"
    struct maybe_bool rotational;
    struct maybe_int total_bytes;
    struct maybe_int free_bytes;
};

struct machine_system {
    char *os;             // "Debian GNU/Linux 12 (bookworm)"
    char *kernel;         // "6.1.0-18-amd64"
    char *virtualisation; // "none" (bare metal), "kvm", "xen", "firecracker", ...
    char *container;      // "docker", "podman", "kubernetes", ...; "none"
    char *cgroup;         // "v1", "v2"
    struct maybe_bool on_battery;
    struct maybe_real load_1min;     // load average
    struct maybe_real steal_percent; // CPU time stolen by the hypervisor since boot
};

struct machine_gpu_process {
    struct maybe_int pid;
    char *name;
    struct maybe_int memory_bytes;
};

struct machine_mig {
    char *name; // "1g.10gb"
    char *uuid;
    struct maybe_int memory_bytes;
};

struct machine_gpu {
    struct maybe_int index; // the driver's number
    char *vendor;           // "nvidia", "amd", "intel"
    char *name;
    char *uuid;
    char *pci_address; // "0000:17:00.0"
    char *pci_id;      // "10de:2335"
    char *driver;      // version
    char *cuda;        // "13.0": newest version the driver supports
    char *compute_capability;
    struct maybe_bool works; // the driver answers
    char *problem;           // why not
    struct maybe_int memory_total_bytes;
    struct maybe_int memory_used_bytes;
    struct maybe_int pcie_generation;
    struct maybe_int pcie_generation_max;
    struct maybe_int pcie_width;
    struct maybe_int pcie_width_max;
    struct maybe_int clock_sm_mhz;
    struct maybe_int clock_sm_max_mhz;
    struct maybe_int clock_memory_mhz;
    struct maybe_int clock_memory_max_mhz;
    struct maybe_int power_mw;
    struct maybe_int power_limit_mw;
    struct maybe_int power_limit_default_mw;
    struct maybe_int temperature_c;
    struct maybe_int use_percent;
    struct maybe_int performance_state; // 0 is the fastest
    struct maybe_bool ecc;
    struct maybe_bool mig;
    struct maybe_bool persistence;
    LIST_OF(char *) throttling; // throttling reasons: "sw power cap", ...
    LIST_OF(struct machine_mig) mig_instances;
    LIST_OF(struct machine_gpu_process) processes;
};

struct machine_gpu_library { // a file of cuDNN, cuBLASLt or NCCL
    char *name;
    char *version; // from the library, or from its file or package name
    char *path;
    char *place;    // "/usr/local/cuda", "/opt/env"
    char *found_by; // "loader", "cuda", "python"
    char *problem;  // why the library could not be asked
};

struct machine_slurm {
    char *job;
    char *partition;
    char *node;
    char *cluster;
};

struct machine_where {
    char *provider;                   // "aws", "gcp", "azure", "runpod", "vast"
    char *source;                     // "metadata", "environment", "firmware"
    struct maybe_bool metadata_asked; // false: no provider does not mean no cloud
    char *instance_type;
    char *instance_id;
    char *region;
    char *zone;
    struct maybe_bool spot;
    char *launched_at; // ISO 8601, UTC
    struct machine_slurm slurm;
};

struct machine_gpu_bandwidth {
    struct maybe_int index; // CUDA's number, which may differ from NVML's
    char *name;
    char *pci_address;
    struct maybe_real to_device_pinned_bytes_per_s;
    struct maybe_real to_device_pageable_bytes_per_s;
    struct maybe_real from_device_pinned_bytes_per_s;
    struct maybe_real from_device_pageable_bytes_per_s;
    struct maybe_int pcie_generation_loaded; // link during a copy
    struct maybe_int pcie_width_loaded;
    char *problem;
};

struct machine_bandwidth {
    struct maybe_int memory_threads;
    struct maybe_real memory_read_bytes_per_s;
    struct maybe_real memory_write_bytes_per_s;
    struct maybe_real memory_copy_bytes_per_s; // bytes read plus bytes written
    struct maybe_real disk_write_bytes_per_s;
    struct maybe_real disk_read_bytes_per_s;
    char *disk_method; // "direct" (bypassing the page cache), or "fsync" if the disk refuses that
    char *disk_problem;
    LIST_OF(struct machine_gpu_bandwidth) gpus;
};

struct machine_finding {
    char *id;    // "shm-small": stable, for scripts
    char *level; // "problem", "warning", "note"
    char *evidence;
    char *consequence;
    char *remedy;
};

struct machine {
    char *schema; // MACHINE_SCHEMA
    char *taken_at;
    char *fingerprint;
    struct machine_program fare;
    struct machine_cpu cpu;
    struct machine_memory memory;
    struct machine_disk disk;
    struct machine_system system;
    LIST_OF(struct machine_gpu) gpus;
    LIST_OF(struct machine_gpu_library) gpu_libraries;
    struct machine_where where;
    struct machine_bandwidth bandwidth;
    LIST_OF(struct machine_finding) findings;
};

extern const struct field machine_fields[];

void machine_release(struct machine *machine);

// Why usable_cpus is below the machine's threads: "cgroup quota" or "affinity".
const char *machine_cpu_limit(const struct machine_cpu *cpu);

#endif
