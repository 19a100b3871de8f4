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

#include "base/err.h"
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

// A hash of everything that decides speed: processor, caches, memory, limits, working instruction
// sets, GPUs and their limits. Names, serial numbers, addresses, versions and momentary values do
// not count, so identical machines share it.
int machine_fingerprint(struct machine *machine, struct err *err) MUST_USE;

// Findings of a machine: problems first, then warnings and notes, each in the order in which they
// are added. Lack of memory sticks in `rc`.
struct findings {
    struct machine *machine;
    struct err *err;
    int rc;
};
enum finding_level { PROBLEM, WARNING, NOTE };
void finding(struct findings *findings, enum finding_level level, const char *id,
             const char *consequence, const char *remedy, const char *evidence, ...)
    PRINTF_LIKE(6, 7);

// Appends to machine->findings: conditions that disturb a measurement or cost money.
int machine_diagnose(struct machine *machine, struct err *err) MUST_USE;

// ==== isolate ====
// Runs a probe that may hang or crash, as drivers do, in a process of its own.

typedef int probe_part(struct probe *probe, struct machine *machine, struct err *err);

// Runs `part` on a copy of `machine` in a child and returns the whole record in `got`, which the
// caller zeroes and releases. If the child hangs or crashes, `got` stays empty and `how` says so:
// "not finished within 30000 ms", "signal SIGSEGV". Fails only when memory runs out.
int probe_isolated(struct probe *probe, const struct machine *machine, probe_part *part,
                   int64_t timeout_ms, struct machine *got, struct buf *how,
                   struct err *err) MUST_USE;

// ==== inspect ====
// Probes this machine, or the recorded one that FARE_ROOT names, and judges it.

struct inspect_options {
    bool bandwidth; // measure memory, disk and GPU copies too
    bool no_cloud;  // do not ask for metadata
    bool libraries; // look for those that frameworks use on NVIDIA GPUs, where there may be one
};

// Whether FARE_ROOT names a recorded machine, which has no speed to measure.
bool inspect_recorded(void);

// The caller releases the record, also after a failure.
int machine_inspect(const struct inspect_options *options, struct machine *machine,
                    struct err *err) MUST_USE;

#endif
