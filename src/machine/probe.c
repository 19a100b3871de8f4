// SPDX-License-Identifier: Apache-2.0
// probe: runs all parts. Trials that fork come first, before the program starts threads.
#include "machine/probe.h"

int probe_machine(struct probe *probe, struct machine *machine, struct err *err)
{
    int rc = probe_cpu(probe, &machine->cpu, err);
    if (rc == 0)
        rc = probe_isa(probe, &machine->cpu, err);
    if (rc == 0)
        rc = probe_memory(probe, &machine->memory, err);
    if (rc == 0)
        rc = probe_disk(probe, &machine->disk, err);
    if (rc == 0)
        rc = probe_system(probe, &machine->system, err);
    if (rc == 0)
        rc = probe_gpus(probe, machine, err);
    if (rc == 0)
        rc = probe_where(probe, &machine->where, err);
    if (rc == 0)
        rc = machine_fingerprint(machine, err);
    return rc;
}
