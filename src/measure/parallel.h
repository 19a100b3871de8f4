// SPDX-License-Identifier: Apache-2.0
// parallel: a command that trains in several processes (torchrun, accelerate, mpirun, srun), as one
// run: how many they are, and how a step's time is divided into calculation, communication and
// waiting.
//
// How many they are is what their launcher told them (follow/trace/worker.h). How long each of them
// is in exchanges comes from the GPU's records of NCCL (follow/trace/trace.h) and from the calls of
// MPI and gloo (follow/trace/exchanges.h); of other fare processes of the same job from what those
// tell (join.h).
//
// All ranks make the same steps, so a rank's time in exchanges is short where its calculation is
// long. What the slowest rank spends in them is communication; what the others spend more is
// waiting for it.
#ifndef FARE_MEASURE_PARALLEL_H
#define FARE_MEASURE_PARALLEL_H

#include "measure/join.h"
#include "measure/sampling.h"
#include "measure/session.h"
#include "follow/child.h"
#include "follow/follow.h"

struct parallel;

enum { PARALLEL_VARIABLES = 2 }; // of the command's environment

// Before the command starts. `*parallel` is null if nothing of the kind is to be expected.
int parallel_open(struct parallel **parallel, const struct session *session, char *const *argv,
                  struct err *err) MUST_USE;
void parallel_free(struct parallel *parallel); // null is fine, here and below

// Adds entries for the command's environment to a list; returns its length.
size_t parallel_environment(const struct parallel *parallel, char **list, size_t count);

// While it runs, often. Fails for lack of memory only.
int parallel_work(struct parallel *parallel, const struct child *child, const struct follow *follow,
                  const struct tracing *tracing) MUST_USE;

// The first fare process of the job ended its command as it was asked to: the others end too.
enum sampling_end parallel_stopped(const struct parallel *parallel); // why
void parallel_stop(const struct parallel *parallel, enum sampling_end why);

// After the command's end, once the step time is known: waits for the other fare processes until
// `hurry` says so, and fills the record. `status`: as from wait().
int parallel_finish(struct parallel *parallel, int status, bool (*hurry)(void), struct run *run,
                    struct buf *says, struct err *err) MUST_USE;
// The exit code where our command succeeded, and another one's failed or its fare was lost; else 0.
int parallel_exit_code(const struct parallel *parallel);

// What follows from the times of `count` ranks, of `ranks` there are; for tests too. `begin` and
// `end` are their times at the first step and at the last, rank by rank.
int parallel_derive(const struct rank_times *begin, const struct rank_times *end, int count,
                    int64_t ranks, struct run *run, struct err *err) MUST_USE;

#endif
