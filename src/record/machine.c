// SPDX-License-Identifier: Apache-2.0
#include "record/machine.h"

#define RECORD_TABLES
#include "record/machine.def"

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
