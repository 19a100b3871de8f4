// SPDX-License-Identifier: Apache-2.0
// join: the fare processes that mpirun, srun or a cluster started together, each with its own part
// of one command: `srun -N2 fare run -- python train.py`. The first one keeps the record; the
// others tell it about their processes about once a second, and how they ended.
//
// On one machine they talk over a socket in memory, of this user alone; on several over TCP, at a
// port that follows from the job's number. The first one never waits for the others while its
// command runs, and a while after it.
#ifndef FARE_MEASURE_JOIN_H
#define FARE_MEASURE_JOIN_H

#include "base/buf.h"
#include "measure/rank_times.h"
#include "trace/worker.h"

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

// In all of them. Fails only for lack of memory; what is wrong is known at the end.
int join_new(struct join **join, const struct worker *place, struct err *err) MUST_USE;
void join_free(struct join *join); // null is fine

// In the first one, often: reads what came. The seats are those from 1 on, `*count` of them.
const struct join_seat *join_look(struct join *join, int *count);
// All others are to end their commands.
void join_stop(struct join *join);
// After the command: waits for the others to end, until `hurry` says so.
void join_wait(struct join *join, bool (*hurry)(void));

// In the others, often: what the first one is to know.
void join_tell(struct join *join, const struct rank_times *ranks, int count);
bool join_stopped(struct join *join); // it wants us to end
// How our command ended, as from wait(). False: the first one did not hear it; `why` has a line.
bool join_ended(struct join *join, int status, struct buf *why);

#endif
