// SPDX-License-Identifier: Apache-2.0
// probe: runs all parts. Trials that fork come first, before the program starts threads.
#include "machine/probe.h"

int probe_machine(struct probe *probe, struct machine *machine, struct err *err)
{
    TRY(probe_cpu(probe, &machine->cpu, err));
    TRY(probe_isa(probe, &machine->cpu, err));
    TRY(probe_memory(probe, &machine->memory, err));
    TRY(probe_disk(probe, &machine->disk, err));
    TRY(probe_system(probe, &machine->system, err));
    TRY(probe_gpus(probe, machine, err));
    TRY(probe_where(probe, &machine->where, err));
    return machine_fingerprint(machine, err);
}
