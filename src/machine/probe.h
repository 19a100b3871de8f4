// SPDX-License-Identifier: Apache-2.0
// probe: finds out what machine this is, part by part, and fills a struct machine.
//
// Each part is one file and one function below. A fact that cannot be had is left absent; the
// functions fail only when memory runs out or the probing itself is impossible. Everything they
// read comes through `struct probe`, so that tests can put a recorded machine in its place:
// files below the tree's root, the environment from `env`, NVML from the file that the
// variable FARE_NVML names, metadata from `metadata_url`.
#ifndef FARE_MACHINE_PROBE_H
#define FARE_MACHINE_PROBE_H

#include <stdbool.h>

#include "base/tree.h"
#include "record/machine.h"

struct probe {
    struct tree tree;         // root "" for this machine; else the folder of a recorded one
    char *const *env;         // the environment, null-terminated
    const char *folder;       // the working folder whose disk counts; null: it is gone
    const char *metadata_url; // null: the clouds' own addresses, and none for a recorded machine;
                              // else "http://127.0.0.1:PORT"
    bool no_cloud;            // do not ask for metadata at all
    bool no_children;         // do not try instruction sets and libraries (a recorded machine)
};

int probe_cpu(struct probe *probe, struct machine_cpu *cpu, struct err *err) MUST_USE;
int probe_isa(struct probe *probe, struct machine_cpu *cpu, struct err *err) MUST_USE;
int probe_memory(struct probe *probe, struct machine_memory *memory, struct err *err) MUST_USE;
int probe_disk(struct probe *probe, struct machine_disk *disk, struct err *err) MUST_USE;
int probe_system(struct probe *probe, struct machine_system *system, struct err *err) MUST_USE;
int probe_gpus(struct probe *probe, struct machine *machine, struct err *err) MUST_USE;
int probe_where(struct probe *probe, struct machine_where *where, struct err *err) MUST_USE;

// Measures; takes seconds. Needs cpu, memory and gpus filled in.
int probe_bandwidth(struct probe *probe, struct machine *machine, struct err *err) MUST_USE;

// All of the above except bandwidth, then the fingerprint.
int probe_machine(struct probe *probe, struct machine *machine, struct err *err) MUST_USE;

// A hash over what decides speed: processor, caches, memory, limits, instruction sets that work,
// GPUs and their limits. Not over names, serial numbers, addresses, versions or anything that
// changes from minute to minute: two identical machines have the same one.
int machine_fingerprint(struct machine *machine, struct err *err) MUST_USE;

// What will spoil a measurement or cost money; appends to machine->findings.
int machine_diagnose(struct machine *machine, struct err *err) MUST_USE;

#endif
