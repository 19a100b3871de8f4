// SPDX-License-Identifier: Apache-2.0
#include "record/machine.h"

#define TEXT(m, doc) FIELD(FIELD_TEXT, T, m, doc)
#define INT(m, doc)  FIELD(FIELD_INT, T, m, doc)
#define REAL(m, doc) FIELD(FIELD_REAL, T, m, doc)
#define BOOL(m, doc) FIELD(FIELD_BOOL, T, m, doc)

#define T struct machine_program
static const struct field program_fields[] = {
    TEXT(version, "version of the fare that looked"),
    TEXT(build, "commit it was built from"),
    TEXT(compiler, "compiler it was built with"),
    BOOL(debug, "built without optimisation or with sanitizers: its timings mean nothing"),
    FIELD_END,
};
#undef T

#define T struct machine_cache
static const struct field cache_fields[] = {
    INT(level, "1, 2, 3, ..."),
    TEXT(kind, "data, instruction or unified"),
    INT(size_bytes, "size of one of them"),
    INT(count, "how many the machine has"),
    FIELD_END,
};
#undef T

#define T struct machine_isa
static const struct field isa_fields[] = {
    TEXT(name, "instruction set, as Linux spells it"),
    BOOL(advertised, "the processor says it has it"),
    BOOL(works, "an instruction of it ran in a child process with the right result"),
    TEXT(problem, "how the child ended, where it did not"),
    FIELD_END,
};
#undef T

#define T struct machine_kernel
static const struct field kernel_fields[] = {
    TEXT(operation, "what was tried: f32 matmul, bf16 matmul, bf16 convolution"),
    TEXT(cap, "ONEDNN_MAX_CPU_ISA it ran under; absent: none"),
    TEXT(kernel, "implementation the library chose"),
    BOOL(works, "it ended, with the right result"),
    TEXT(problem, "how it ended, where it did not"),
    FIELD_END,
};
#undef T

#define T struct machine_library
static const struct field library_fields[] = {
    TEXT(name, "name of the library"),
    TEXT(version, "its version"),
    TEXT(path, "file it was loaded from"),
    FIELD_SUB(FIELD_LIST, T, kernels, kernel_fields,
              "its operations, each tried in a child process"),
    FIELD_END,
};
#undef T

#define T struct machine_cpu
static const struct field cpu_fields[] = {
    TEXT(model, "model name"),
    TEXT(vendor, "manufacturer"),
    INT(sockets, "processor packages"),
    INT(cores, "physical cores of the machine"),
    INT(threads, "hardware threads of the machine"),
    INT(numa_nodes, "memory domains"),
    INT(allowed_threads, "hardware threads this process may use (affinity, cpuset)"),
    REAL(limit_cpus, "cgroup quota in CPUs; absent: none"),
    REAL(usable_cpus, "what counts: the smaller of allowed threads and quota"),
    INT(max_mhz, "highest clock the system names"),
    TEXT(governor, "frequency governor; several are separated by commas"),
    FIELD_SUB(FIELD_LIST, T, caches, cache_fields, "caches, one row per level and kind"),
    FIELD_SUB(FIELD_LIST, T, isa, isa_fields, "instruction sets, tried"),
    FIELD_SUB(FIELD_LIST, T, libraries, library_fields, "compute libraries, tried"),
    FIELD_END,
};
#undef T

#define T struct machine_memory
static const struct field memory_fields[] = {
    INT(total_bytes, "memory of the machine"),
    INT(available_bytes,
        "available without swapping, by the kernel's estimate and the cgroup's limit"),
    INT(limit_bytes, "cgroup limit; absent: none"),
    INT(usable_bytes, "what counts: the smaller of total and limit"),
    INT(swap_total_bytes, "swap space"),
    INT(swap_used_bytes, "swap space in use"),
    INT(shm_total_bytes, "size of /dev/shm"),
    INT(shm_free_bytes, "free in /dev/shm"),
    FIELD_END,
};
#undef T

#define T struct machine_disk
static const struct field disk_fields[] = {
    TEXT(folder, "the working folder"),
    TEXT(mount, "where its file system is mounted"),
    TEXT(filesystem, "type of the file system"),
    TEXT(device, "what is mounted"),
    TEXT(kind, "local, network or memory"),
    BOOL(rotational, "a disk with moving heads"),
    INT(total_bytes, "size of the file system"),
    INT(free_bytes, "free for this user"),
    FIELD_END,
};
#undef T

#define T struct machine_system
static const struct field system_fields[] = {
    TEXT(os, "distribution"),
    TEXT(kernel, "kernel release"),
    TEXT(virtualisation, "none (bare metal) or the hypervisor"),
    TEXT(container, "none or the kind of container"),
    TEXT(cgroup, "version of the control groups: v1 or v2"),
    BOOL(on_battery, "a battery feeds the machine right now"),
    REAL(load_1min, "mean number of runnable tasks over the last minute"),
    REAL(steal_percent, "CPU time the hypervisor gave to others since boot"),
    FIELD_END,
};
#undef T

#define T struct machine_gpu_process
static const struct field gpu_process_fields[] = {
    INT(pid, "process id; absent where the driver hides it"),
    TEXT(name, "its command"),
    INT(memory_bytes, "GPU memory it holds"),
    FIELD_END,
};
#undef T

#define T struct machine_mig
static const struct field mig_fields[] = {
    TEXT(name, "profile of the instance"),
    TEXT(uuid, "its identifier"),
    INT(memory_bytes, "its memory"),
    FIELD_END,
};
#undef T

#define T struct machine_gpu
static const struct field gpu_fields[] = {
    INT(index, "as its driver counts"),
    TEXT(vendor, "nvidia, amd or intel"),
    TEXT(name, "as its driver names it"),
    TEXT(uuid, "identifier of this very device"),
    TEXT(pci_address, "domain:bus:device.function"),
    TEXT(pci_id, "vendor:device, hexadecimal"),
    TEXT(driver, "driver version"),
    TEXT(cuda, "newest CUDA version the driver supports"),
    TEXT(compute_capability, "NVIDIA's generation number"),
    BOOL(works, "its driver answers"),
    TEXT(problem, "why it does not"),
    INT(memory_total_bytes, "device memory"),
    INT(memory_used_bytes, "device memory in use"),
    INT(pcie_generation, "PCIe generation of the link right now"),
    INT(pcie_generation_max, "highest that device and slot can do"),
    INT(pcie_width, "PCIe lanes right now"),
    INT(pcie_width_max, "most that device and slot can do"),
    INT(clock_sm_mhz, "processor clock right now"),
    INT(clock_sm_max_mhz, "highest processor clock"),
    INT(clock_memory_mhz, "memory clock right now"),
    INT(clock_memory_max_mhz, "highest memory clock"),
    INT(power_mw, "power draw right now"),
    INT(power_limit_mw, "power limit in force"),
    INT(power_limit_default_mw, "power limit as delivered"),
    INT(temperature_c, "temperature"),
    INT(use_percent, "share of time in which some kernel ran, as the driver reports it"),
    INT(performance_state, "0 is the fastest, 15 the slowest"),
    BOOL(ecc, "error-correcting memory is on"),
    BOOL(mig, "split into instances (MIG)"),
    BOOL(persistence, "the driver stays loaded between programs"),
    FIELD(FIELD_TEXTS, T, throttling, "why its clocks are held down right now"),
    FIELD_SUB(FIELD_LIST, T, mig_instances, mig_fields, "MIG instances"),
    FIELD_SUB(FIELD_LIST, T, processes, gpu_process_fields, "processes on it"),
    FIELD_END,
};
#undef T

#define T struct machine_gpu_library
static const struct field gpu_library_fields[] = {
    TEXT(name, "cuDNN, cuBLASLt or NCCL"),
    TEXT(version,
         "as it says itself; of cuBLASLt, or with a problem, as its file or package is named"),
    TEXT(path, "the file"),
    TEXT(place, "the loader's or a CUDA folder, or the Python environment it lies in"),
    TEXT(found_by, "loader, cuda or python: which search found it"),
    TEXT(problem, "how it ended when a child process opened it and asked for its version"),
    FIELD_END,
};
#undef T

#define T struct machine_slurm
static const struct field slurm_fields[] = {
    TEXT(job, "job id"),
    TEXT(partition, "partition"),
    TEXT(node, "node name"),
    TEXT(cluster, "cluster name"),
    FIELD_END,
};
#undef T

#define T struct machine_where
static const struct field where_fields[] = {
    TEXT(provider, "aws, gcp, azure, runpod or vast"),
    TEXT(source, "how that is known: metadata, environment or firmware"),
    BOOL(metadata_asked, "the clouds' metadata services were asked"),
    TEXT(instance_type, "the provider's name for this kind of machine"),
    TEXT(instance_id, "the provider's name for this very machine"),
    TEXT(region, "region"),
    TEXT(zone, "availability zone or data centre"),
    BOOL(spot, "can be taken away (spot, preemptible)"),
    TEXT(launched_at, "when it was started, UTC"),
    FIELD_IN(T, slurm, slurm_fields, "the Slurm job this runs in"),
    FIELD_END,
};
#undef T

#define T struct machine_gpu_bandwidth
static const struct field gpu_bandwidth_fields[] = {
    INT(index, "as the CUDA driver counts"),
    TEXT(name, "the device's name"),
    TEXT(pci_address, "where it is, to be found among the GPUs above"),
    REAL(to_device_pinned_bytes_per_s, "host to device, page-locked memory"),
    REAL(to_device_pageable_bytes_per_s, "host to device, ordinary memory"),
    REAL(from_device_pinned_bytes_per_s, "device to host, page-locked memory"),
    REAL(from_device_pageable_bytes_per_s, "device to host, ordinary memory"),
    INT(pcie_generation_loaded, "PCIe generation of the link while data moved"),
    INT(pcie_width_loaded, "PCIe lanes while data moved"),
    TEXT(problem, "why there are no figures"),
    FIELD_END,
};
#undef T

#define T struct machine_bandwidth
static const struct field bandwidth_fields[] = {
    INT(memory_threads, "threads that took part"),
    REAL(memory_read_bytes_per_s, "memory read by all threads together"),
    REAL(memory_write_bytes_per_s, "memory written past the caches"),
    REAL(memory_copy_bytes_per_s, "memory copied: bytes read plus bytes written"),
    REAL(disk_write_bytes_per_s, "sequential write to the working folder"),
    REAL(disk_read_bytes_per_s, "sequential read of the same file"),
    TEXT(disk_method, "direct (past the page cache) or fsync"),
    TEXT(disk_problem, "why there are no disk figures"),
    FIELD_SUB(FIELD_LIST, T, gpus, gpu_bandwidth_fields, "copies to and from each GPU"),
    FIELD_END,
};
#undef T

#define T struct machine_finding
static const struct field finding_fields[] = {
    TEXT(id, "stable name, for scripts"),
    TEXT(level, "problem, warning or note"),
    TEXT(evidence, "what was seen"),
    TEXT(consequence, "what it does to a measurement or a bill"),
    TEXT(remedy, "what to do about it"),
    FIELD_END,
};
#undef T

#define T struct machine
const struct field machine_fields[] = {
    TEXT(schema, "`" MACHINE_SCHEMA "`; the number grows when a key changes its meaning or goes"),
    TEXT(taken_at, "when the machine was looked at, UTC"),
    TEXT(fingerprint, "hash over what decides speed: identical machines have the same one"),
    FIELD_IN(T, fare, program_fields, "the program that looked"),
    FIELD_IN(T, cpu, cpu_fields, "processor"),
    FIELD_IN(T, memory, memory_fields, "memory"),
    FIELD_IN(T, disk, disk_fields, "the disk under the working folder"),
    FIELD_IN(T, system, system_fields, "operating system and what is below it"),
    FIELD_SUB(FIELD_LIST, T, gpus, gpu_fields, "graphics processors"),
    FIELD_SUB(FIELD_LIST, T, gpu_libraries, gpu_library_fields,
              "compute libraries that frameworks use on NVIDIA's GPUs; fare needs none of them"),
    FIELD_IN(T, where, where_fields, "cloud, cluster or marketplace it runs in"),
    FIELD_IN(T, bandwidth, bandwidth_fields, "measured with `--bandwidth`"),
    FIELD_SUB(FIELD_LIST, T, findings, finding_fields,
              "what will spoil a measurement or cost money"),
    FIELD_END,
};
#undef T

const char *machine_cpu_limit(const struct machine_cpu *cpu)
{
    bool quota = cpu->limit_cpus.known && !(cpu->allowed_threads.known &&
                                            (double)cpu->allowed_threads.v < cpu->limit_cpus.v);
    return quota ? "cgroup quota" : "affinity";
}

void machine_release(struct machine *machine)
{
    record_release(machine_fields, machine);
}
