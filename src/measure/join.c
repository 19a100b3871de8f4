// SPDX-License-Identifier: Apache-2.0
#include "measure/join.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/join_parts.h"

enum {
    PORT_FIRST = 20000, // below those that systems give to clients
    PORTS = 12000,
};

// ---- what they have in common

const char *join_variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

bool join_place(struct worker *place)
{
    return worker_find(worker_own, NULL, place) && place->size > 1;
}

// What all processes of the job have in common, and no other job.
static void name_job(struct join *j)
{
    const char *slurm = join_variable("SLURM_JOB_ID"), *step = join_variable("SLURM_STEP_ID");
    const char *mpi = join_variable("PMIX_NAMESPACE");
    const char *address = join_variable("MASTER_ADDR"), *port = join_variable("MASTER_PORT");
    mpi = mpi ? mpi : join_variable("OMPI_MCA_ess_base_jobid");
    if (strcmp(j->place.by, "srun") == 0 && slurm)
        snprintf(j->job, sizeof j->job, "%u slurm %.30s.%.30s", getuid(), slurm, step ? step : "");
    else if (strcmp(j->place.by, "mpirun") == 0 && mpi)
        snprintf(j->job, sizeof j->job, "%u mpi %.60s", getuid(), mpi);
    else if (strcmp(j->place.by, "torchrun") == 0 && address)
        snprintf(j->job, sizeof j->job, "%u torch %.50s:%.10s", getuid(), address,
                 port ? port : "");
    else
        snprintf(j->job, sizeof j->job, "%u parent %d", getuid(), (int)getppid());
}

int join_port(const struct join *j, int attempt)
{
    uint8_t bytes[SHA256_BYTES];
    uint32_t number;
    join_prove(j->key, 'p', 0, NULL, 0, bytes); // nobody else can take it before
    memcpy(&number, bytes, sizeof number);
    return PORT_FIRST + (int)((number + (uint32_t)attempt) % PORTS);
}

socklen_t join_address(const struct join *j, struct sockaddr_un *to)
{
    uint8_t bytes[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES];
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    join_prove(j->key, 'p', 0, NULL, 0, bytes);
    sha256_hex(bytes, hex);
    int n = snprintf(to->sun_path + 1, sizeof to->sun_path - 1, "fare join %s", hex);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

// Of another machine's process the user cannot be asked for.
bool join_is_friend(const struct join *j, int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    return !j->local ||
           (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == getuid());
}

// ---- beginning and end

void join_release(struct join *j)
{
    explicit_bzero(j->key, sizeof j->key);
    pthread_mutex_destroy(&j->lock);
    pthread_cond_destroy(&j->news);
    free(j);
}

int join_new(struct join **join, const struct worker *place, struct err *err)
{
    struct join *j = *join = calloc(1, sizeof *j);
    pthread_condattr_t clock;
    if (!j)
        return err_memory(err);
    j->place = *place;
    j->listening = -1;
    j->local = place->nodes == 1;
    pthread_mutex_init(&j->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&j->news, &clock);
    pthread_condattr_destroy(&clock);
    name_job(j);
    int rc = join_find_key(j, err);
    if (rc == 0 && place->rank > 0)
        join_other_open(j);
    else if (rc == 0)
        rc = join_first_open(j, err);
    if (rc != 0) {
        join_free(j);
        *join = NULL;
    }
    return rc;
}

void join_free(struct join *j)
{
    if (!j)
        return;
    join_first_close(j);
    pthread_mutex_lock(&j->lock);
    bool running = j->started;
    j->gone = true;
    j->ending = true;
    pthread_cond_signal(&j->news);
    pthread_mutex_unlock(&j->lock);
    if (!running)
        join_release(j);
}
