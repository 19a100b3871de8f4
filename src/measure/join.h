// SPDX-License-Identifier: Apache-2.0
// join: the fare processes that mpirun, srun or a cluster started together, each with its own part
// of one command: `srun -N2 fare run -- python train.py`. The first one keeps the record; the
// others tell it about their processes about once a second, and how they ended.
//
// On one machine they talk over a socket in memory, of this user alone; on several over TCP. Both
// sides prove a secret of the job before anything else is read, and every message after that: from
// FARE_JOIN_SECRET_FILE, FARE_JOIN_SECRET, mpirun, or a file of the user's that is made when it is
// first needed. Strangers, however many, are dropped. The first one never waits for the others
// while its command runs, and a while after it.
#ifndef FARE_MEASURE_JOIN_H
#define FARE_MEASURE_JOIN_H

#include <stdint.h>

#include "base/buf.h"
#include "follow/trace/worker.h"

// ---- How long one process of a parallel command was in exchanges with the others, so far.

enum { RANK_TIMES_MOST = 256 }; // of one fare process

enum rank_times_by { RANK_MPI = 1, RANK_GLOO = 2, RANK_NCCL = 4 }; // bits

struct rank_times {
    int32_t rank, size; // -1: unknown
    int32_t pid;
    uint32_t by;        // enum rank_times_by
    int64_t covered_ns; // the time so far, from any beginning; NCCL: that of the recorded steps
    int64_t open_ns;    // of it in exchanges that no calculation hides; -1: unknown
    int64_t all_ns;     // of it in exchanges; -1: unknown
};

// ---- join

// Another fare process, as the first one knows it.
struct join_seat {
    enum { JOIN_ABSENT, JOIN_HERE, JOIN_ENDED, JOIN_LOST } state;
    char host[64];
    int status; // as from wait(), if ended
    struct rank_times *ranks;
    int count;
};

struct join;

// The place that this process has among several fare processes; false: it is the only one.
bool join_place(struct worker *place);

// In all of them. Fails for lack of memory and for a secret that the user gave and that cannot be
// used; what else is wrong is known at the end.
int join_new(struct join **join, const struct worker *place, struct err *err) MUST_USE;
void join_free(struct join *join); // null is fine

// In the first one, often: reads what came. The seats are those from 1 on, `*count` of them.
const struct join_seat *join_look(struct join *join, int *count);
// All others are to end their commands; `why` (not 0) is for them to know.
void join_stop(struct join *join, uint8_t why);
// For when one did not come: who was refused, if anybody; where the secret of the job is from.
void join_say_refused(const struct join *join, struct buf *out);
void join_say_secret(const struct join *join, struct buf *out);
// After the command: waits for the others to end, until `hurry` says so.
void join_wait(struct join *join, bool (*hurry)(void));

// In the others, often: what the first one is to know.
void join_tell(struct join *join, const struct rank_times *ranks, int count);
uint8_t join_stopped(struct join *join); // why it wants us to end; 0: it does not
// How our command ended, as from wait(). False: the first one did not hear it; `why` has a line.
bool join_ended(struct join *join, int status, struct buf *why);

#endif
