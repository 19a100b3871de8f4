// SPDX-License-Identifier: Apache-2.0
// check --bandwidth: measures memory, disk and the link to each GPU. A recorded machine has no
// memory or disk to measure.
#include <string.h>

#include "machine/isolate.h"
#include "machine/bandwidth_cuda.h"
#include "machine/bandwidth_host.h"
#include "machine/probe.h"

#define CUDA_LIMIT_MS 120000 // eight GPUs without persistence mode take 30 s to start

// The driver may hang or crash, so it runs in a process of its own.
static int gpus_isolated(struct probe *probe, struct machine *machine, struct err *err)
{
    struct machine got = {0};
    struct buf how = {0};
    struct machine_bandwidth *band = &machine->bandwidth;
    int rc = probe_isolated(probe, machine, cuda_bandwidth, CUDA_LIMIT_MS, &got, &how, err);
    if (rc == 0 && how.len > 0) {
        struct machine_gpu_bandwidth *row = LIST_ADD(&band->gpus, err);
        rc = row ? text_set(&row->problem, buf_str(&how), err) : ERR_MEMORY;
    } else if (rc == 0) {
        band->gpus = got.bandwidth.gpus;
        memset(&got.bandwidth.gpus, 0, sizeof got.bandwidth.gpus);
    }
    buf_release(&how);
    machine_release(&got);
    return rc;
}

int probe_bandwidth(struct probe *probe, struct machine *machine, struct err *err)
{
    bool recorded = *probe->tree.root != '\0';
    if (!recorded)
        TRY(memory_bandwidth(machine, &machine->bandwidth, err));
    if (!recorded && probe->folder)
        TRY(disk_bandwidth(probe->folder, &machine->bandwidth, err));
    else if (!recorded)
        TRY(text_set(&machine->bandwidth.disk_problem, "the working folder was deleted", err));
    return recorded ? cuda_bandwidth(probe, machine, err) : gpus_isolated(probe, machine, err);
}
