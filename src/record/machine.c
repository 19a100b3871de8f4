// SPDX-License-Identifier: Apache-2.0
#include "record/machine.h"

#include "record/table.h"

#define T struct machine_program
static const struct field program_fields[] = {
    TEXT(version, "version of fare"),
    TEXT(build, "commit it was built from"),
    TEXT(compiler, "compiler it was built with"),
    BOOL(debug, "built without optimisation or with sanitizers: timings are meaningless"),
    FIELD_END,
};
#undef T

#define T struct machine_cache
static const struct field cache_fields[] = {
    INT(level, "1, 2, 3, ..."),
    TEXT(kind, "data, instruction or unified"),
    INT(size_bytes, "size of one cache"),
    INT(count, "number of such caches"),
    FIELD_END,
};
#undef T

#define T struct machine_isa
static const struct field isa_fields[] = {
    TEXT(name, "instruction set, as Linux spells it"),
    BOOL(advertised, "the processor advertises it"),
    BOOL(works, "tested in a child process, with the right result"),
    TEXT(problem, "how the test failed"),
    FIELD_END,
};
#undef T

#define T struct machine_kernel
static const struct field kernel_fields[] = {
    TEXT(operation, "operation tested: f32 matmul, bf16 matmul, bf16 convolution"),
    TEXT(cap, "value of ONEDNN_MAX_CPU_ISA; absent: not set"),
    TEXT(kernel, "implementation the library chose"),
    BOOL(works, "it gave the right result"),
    TEXT(problem, "how it failed"),
    FIELD_END,
};
#undef T

#define T struct machine_library
static const struct field library_fields[] = {
    TEXT(name, "name of the library"),
    TEXT(version, "its version"),
    TEXT(path, "file it was loaded from"),
    FIELD_SUB(FIELD_LIST, T, kernels, kernel_fields, "operations, each tested in a child process"),
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
    INT(numa_nodes, "NUMA nodes"),
    INT(allowed_threads, "hardware threads this process may use (affinity, cpuset)"),
    REAL(limit_cpus, "cgroup quota in CPUs; absent: none"),
    REAL(usable_cpus, "the smaller of allowed threads and quota"),
    INT(max_mhz, "highest clock, by the system"),
    TEXT(governor, "frequency governor; several are separated by commas"),
    FIELD_SUB(FIELD_LIST, T, caches, cache_fields, "caches, one row per level and kind"),
    FIELD_SUB(FIELD_LIST, T, isa, isa_fields, "instruction sets, tested"),
    FIELD_SUB(FIELD_LIST, T, libraries, library_fields, "compute libraries, tested"),
    FIELD_END,
};
#undef T

#define T struct machine_memory
static const struct field memory_fields[] = {
    INT(total_bytes, "memory of the machine"),
    INT(available_bytes,
        "available without swapping, by the kernel's estimate and the cgroup's limit"),
    INT(limit_bytes, "cgroup limit; absent: none"),
    INT(usable_bytes, "the smaller of total and limit"),
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
    TEXT(mount, "mount point"),
    TEXT(filesystem, "file system type"),
    TEXT(device, "mounted device or share"),
    TEXT(kind, "local, network or memory"),
    BOOL(rotational, "a hard disk"),
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
    BOOL(on_battery, "running on battery"),
    REAL(load_1min, "load average over the last minute"),
    REAL(steal_percent, "CPU time stolen by the hypervisor since boot"),
    FIELD_END,
};
#undef T

#define T struct machine_gpu_process
static const struct field gpu_process_fields[] = {
    INT(pid, "process id; absent if the driver hides it"),
    TEXT(name, "its command"),
    INT(memory_bytes, "GPU memory in use"),
    FIELD_END,
};
#undef T

#define T struct machine_mig
static const struct field mig_fields[] = {
    TEXT(name, "profile"),
    TEXT(uuid, "UUID"),
    INT(memory_bytes, "its memory"),
    FIELD_END,
};
#undef T

#define T struct machine_gpu
static const struct field gpu_fields[] = {
    INT(index, "the driver's number"),
    TEXT(vendor, "nvidia, amd or intel"),
    TEXT(name, "the driver's name for it"),
    TEXT(uuid, "UUID"),
    TEXT(pci_address, "domain:bus:device.function"),
    TEXT(pci_id, "vendor:device, hexadecimal"),
    TEXT(driver, "driver version"),
    TEXT(cuda, "newest CUDA version the driver supports"),
    TEXT(compute_capability, "NVIDIA's generation number"),
    BOOL(works, "its driver answers"),
    TEXT(problem, "why it does not work"),
    INT(memory_total_bytes, "device memory"),
    INT(memory_used_bytes, "device memory in use"),
    INT(pcie_generation, "current PCIe generation of the link"),
    INT(pcie_generation_max, "highest generation that device and slot support"),
    INT(pcie_width, "current PCIe lanes"),
    INT(pcie_width_max, "most lanes that device and slot support"),
    INT(clock_sm_mhz, "current SM clock"),
    INT(clock_sm_max_mhz, "highest SM clock"),
    INT(clock_memory_mhz, "current memory clock"),
    INT(clock_memory_max_mhz, "highest memory clock"),
    INT(power_mw, "current power draw"),
    INT(power_limit_mw, "current power limit"),
    INT(power_limit_default_mw, "default power limit"),
    INT(temperature_c, "temperature"),
    INT(use_percent, "utilisation: share of time with a kernel running, by the driver"),
    INT(performance_state, "0 is the fastest, 15 the slowest"),
    BOOL(ecc, "ECC memory is on"),
    BOOL(mig, "split into MIG instances"),
    BOOL(persistence, "the driver stays loaded between programs"),
    FIELD(FIELD_TEXTS, T, throttling, "current reasons for throttling"),
    FIELD_SUB(FIELD_LIST, T, mig_instances, mig_fields, "MIG instances"),
    FIELD_SUB(FIELD_LIST, T, processes, gpu_process_fields, "processes using it"),
    FIELD_END,
};
#undef T

#define T struct machine_gpu_library
static const struct field gpu_library_fields[] = {
    TEXT(name, "cuDNN, cuBLASLt or NCCL"),
    TEXT(
        version,
        "reported by the library; for cuBLASLt, or after a problem, from the file or package name"),
    TEXT(path, "file"),
    TEXT(place, "the loader's or CUDA folder, or the Python environment"),
    TEXT(found_by, "search that found it: loader, cuda or python"),
    TEXT(problem, "why asking it for its version failed"),
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
    TEXT(source, "source of this: metadata, environment or firmware"),
    BOOL(metadata_asked, "the metadata services were queried"),
    TEXT(instance_type, "the provider's name for this type"),
    TEXT(instance_id, "the provider's id of this machine"),
    TEXT(region, "region"),
    TEXT(zone, "availability zone or data centre"),
    BOOL(spot, "spot or preemptible: the provider can reclaim it"),
    TEXT(launched_at, "launch time, UTC"),
    FIELD_IN(T, slurm, slurm_fields, "the Slurm job"),
    FIELD_END,
};
#undef T

#define T struct machine_gpu_bandwidth
static const struct field gpu_bandwidth_fields[] = {
    INT(index, "the CUDA driver's number"),
    TEXT(name, "device name"),
    TEXT(pci_address, "PCI address, as in `gpus`"),
    REAL(to_device_pinned_bytes_per_s, "host to device, page-locked memory"),
    REAL(to_device_pageable_bytes_per_s, "host to device, pageable memory"),
    REAL(from_device_pinned_bytes_per_s, "device to host, page-locked memory"),
    REAL(from_device_pageable_bytes_per_s, "device to host, pageable memory"),
    INT(pcie_generation_loaded, "PCIe generation of the link during a copy"),
    INT(pcie_width_loaded, "PCIe lanes during a copy"),
    TEXT(problem, "why nothing was measured"),
    FIELD_END,
};
#undef T

#define T struct machine_bandwidth
static const struct field bandwidth_fields[] = {
    INT(memory_threads, "threads used"),
    REAL(memory_read_bytes_per_s, "memory read, all threads together"),
    REAL(memory_write_bytes_per_s, "memory write with streaming stores"),
    REAL(memory_copy_bytes_per_s, "memory copy: bytes read plus bytes written"),
    REAL(disk_write_bytes_per_s, "sequential write to the working folder"),
    REAL(disk_read_bytes_per_s, "sequential read of the same file"),
    TEXT(disk_method, "direct (bypassing the page cache) or fsync"),
    TEXT(disk_problem, "why the disk was not measured"),
    FIELD_SUB(FIELD_LIST, T, gpus, gpu_bandwidth_fields, "copies to and from each GPU"),
    FIELD_END,
};
#undef T

#define T struct machine_finding
static const struct field finding_fields[] = {
    TEXT(id, "stable name, for scripts"), TEXT(level, "problem, warning or note"),
    TEXT(evidence, "what was found"),     TEXT(consequence, "effect on a measurement or a bill"),
    TEXT(remedy, "what to do about it"),  FIELD_END,
};
#undef T

#define T struct machine
const struct field machine_fields[] = {
    TEXT(schema,
         "`" MACHINE_SCHEMA "`; the number increases when a key changes its meaning or disappears"),
    TEXT(taken_at, "time of the check, UTC"),
    TEXT(fingerprint, "hash of everything that decides speed: identical machines share it"),
    FIELD_IN(T, fare, program_fields, "the program that checked"),
    FIELD_IN(T, cpu, cpu_fields, "processor"),
    FIELD_IN(T, memory, memory_fields, "memory"),
    FIELD_IN(T, disk, disk_fields, "the disk under the working folder"),
    FIELD_IN(T, system, system_fields, "operating system and virtualisation"),
    FIELD_SUB(FIELD_LIST, T, gpus, gpu_fields, "GPUs"),
    FIELD_SUB(FIELD_LIST, T, gpu_libraries, gpu_library_fields,
              "compute libraries that frameworks use on NVIDIA GPUs; fare needs none of them"),
    FIELD_IN(T, where, where_fields, "cloud, cluster or marketplace"),
    FIELD_IN(T, bandwidth, bandwidth_fields, "measured with `--bandwidth`"),
    FIELD_SUB(FIELD_LIST, T, findings, finding_fields,
              "conditions that disturb a measurement or cost money"),
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
