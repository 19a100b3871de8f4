// SPDX-License-Identifier: Apache-2.0
// probe: detects the machine, part by part, and fills a struct machine.
//
// Each part is one file and one function below. A fact that cannot be read stays absent; the
// functions fail only when memory runs out. All input comes through `struct probe`, so that tests
// can substitute a recorded machine: files below the tree's root, the environment, NVML from the
// file that the variable FARE_NVML names, metadata from `metadata_url`.
#ifndef FARE_MACHINE_PROBE_H
#define FARE_MACHINE_PROBE_H

#include <stdbool.h>

#include "base/tree.h"
#include "record/machine.h"

struct probe {
    struct tree tree;         // root "": this machine; else a recorded machine's folder
    char *const *env;         // the environment, null-terminated
    const char *folder;       // the working folder; null if it was deleted
    const char *metadata_url; // null: the clouds' own addresses, none for a recorded machine;
                              // else "http://127.0.0.1:PORT"
    bool no_cloud;            // do not query metadata
    bool no_children;         // do not try instruction sets and libraries (a recorded machine)
};

int probe_cpu(struct probe *probe, struct machine_cpu *cpu, struct err *err) MUST_USE;
int probe_isa(struct probe *probe, struct machine_cpu *cpu, struct err *err) MUST_USE;
int probe_memory(struct probe *probe, struct machine_memory *memory, struct err *err) MUST_USE;
int probe_disk(struct probe *probe, struct machine_disk *disk, struct err *err) MUST_USE;
int probe_system(struct probe *probe, struct machine_system *system, struct err *err) MUST_USE;
int probe_ready(struct probe *probe, struct machine_system *system, struct err *err) MUST_USE;
int probe_gpus(struct probe *probe, struct machine *machine, struct err *err) MUST_USE;
int probe_where(struct probe *probe, struct machine_where *where, struct err *err) MUST_USE;

// Takes seconds. Needs cpu, memory and gpus.
int probe_bandwidth(struct probe *probe, struct machine *machine, struct err *err) MUST_USE;

// All of the above except bandwidth, then the fingerprint.
int probe_machine(struct probe *probe, struct machine *machine, struct err *err) MUST_USE;

// A hash of everything that decides speed: processor, caches, memory, limits, working instruction
// sets, GPUs and their limits. Names, serial numbers, addresses, versions and momentary values do
// not count, so identical machines share it.
int machine_fingerprint(struct machine *machine, struct err *err) MUST_USE;

// Appends to machine->findings: conditions that disturb a measurement or cost money.
int machine_diagnose(struct machine *machine, struct err *err) MUST_USE;

#endif
