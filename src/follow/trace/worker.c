// SPDX-License-Identifier: Apache-2.0
#include "follow/trace/worker.h"

#include <stdlib.h>
#include <string.h>

// The first number is the variable that only processes of a job have: a script of a Slurm job has
// SLURM_PROCID, but no step.
static const struct {
    const char *by, *size, *rank, *local_size, *nodes;
} launchers[] = {
    {"torchrun", "WORLD_SIZE", "RANK", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE"},
    {"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
     "OMPI_MCA_orte_num_nodes"},
    {"mpirun", "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS", NULL},
    {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", NULL, "SLURM_STEP_NUM_NODES"},
};

// -1 if it is missing or no number from `least` to WORKER_SIZE_MOST.
static int number(worker_get *get, const void *context, const char *name, int least)
{
    const char *text = name ? get(context, name) : NULL;
    int value = 0;
    if (!text || !*text)
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > WORKER_SIZE_MOST)
            return -1;
        value = value * 10 + (*text - '0');
    }
    return value >= least && value <= WORKER_SIZE_MOST ? value : -1;
}

bool worker_find(worker_get *get, const void *context, struct worker *place)
{
    *place = (struct worker){0};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        int size = number(get, context, launchers[i].size, 1);
        int rank = number(get, context, launchers[i].rank, 0);
        int local = number(get, context, launchers[i].local_size, 1);
        int nodes = number(get, context, launchers[i].nodes, 1);
        if (size <= place->size || rank < 0 || rank >= size)
            continue;
        local = local > 0 && local <= size ? local : 0;
        nodes = nodes > 0 && nodes <= size ? nodes : local > 0 ? (size + local - 1) / local : 0;
        *place = (struct worker){launchers[i].by, rank, size, nodes};
    }
    return place->by != NULL;
}

const char *worker_own(const void *unused, const char *name)
{
    (void)unused;
    return getenv(name);
}

const char *worker_block(const void *block, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = block; *at; at += strlen(at) + 1)
        if (strncmp(at, name, len) == 0 && at[len] == '=')
            return at + len + 1;
    return NULL;
}
