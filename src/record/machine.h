// SPDX-License-Identifier: Apache-2.0
// The record of a machine, filled by src/machine/ and printed by `fare check`. Plain data; units
// are in the names. Absent (null text, unknown number, unknown list) means not known.
#ifndef FARE_RECORD_MACHINE_H
#define FARE_RECORD_MACHINE_H

#include "record/field.h"

#define MACHINE_SCHEMA "fare.machine/1"

#include "record/machine.def"

static inline void machine_release(struct machine *machine)
{
    record_release(machine_fields, machine);
}

// Why usable_cpus is below the machine's threads: "cgroup quota" or "affinity".
const char *machine_cpu_limit(const struct machine_cpu *cpu);

#endif
