// SPDX-License-Identifier: Apache-2.0
// What --bandwidth measures: memory and disk here, then the way to the GPUs. On a recorded machine
// there is no memory or disk to measure.
#include "machine/cudaband.h"
#include "machine/hostband.h"
#include "machine/probe.h"

int probe_bandwidth(struct probe *probe, struct machine *machine, struct err *err)
{
    bool recorded = *probe->tree.root != '\0';
    int rc = 0;
    if (!recorded)
        rc = memory_bandwidth(machine, &machine->bandwidth, err);
    if (rc == 0 && !recorded)
        rc = disk_bandwidth(probe->folder, &machine->bandwidth, err);
    if (rc == 0)
        rc = cuda_bandwidth(probe, machine, err);
    return rc;
}
