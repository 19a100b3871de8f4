// SPDX-License-Identifier: Apache-2.0
// group: the processes that train one net together, and what they say to each other.
//
// Each process is a rank from 0 to size - 1. Every rank makes the same calls in the same order. A
// thread of the group's own makes all of them, one after the other: a sum can go on beside
// calculations, and a rank that died is noticed while the others calculate.
//
// There are two kinds. group_fork() makes processes of one machine, which share memory.
// group_join() joins those that mpirun or srun started; MPI is opened at run time.
//
// Sums are made in the order of the ranks, so that all ranks get the same bits, and the same ones
// each time. A null group is a process alone: all calls do nothing and succeed.
//
// A rank that fails says so with group_fail(). One that was killed, froze or lost its network is
// found by the others within GROUP_SILENCE_S. After either, all calls of all ranks fail with an
// error that names the rank; none waits for ever.
#ifndef FARE_TRAIN_ENGINE_GROUP_H
#define FARE_TRAIN_ENGINE_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define GROUP_SILENCE_S 15
#define GROUP_SIZE_MAX  4096

struct group;

struct group_place {
    int rank, size;
    int local_rank; // among the ranks of this machine: the number of its GPU
    int local_size; // how many ranks this machine has
    int nodes;      // machines
};

// Where calls that were waited for spent their time, since the group began.
struct group_times {
    int64_t waiting_ns;       // until the slowest rank came
    int64_t communication_ns; // until the data had come too
};

// ---- beginning and ending ----

// Makes size - 1 further processes; the caller becomes rank 0, and each of the others returns from
// this call as well. To be called before anything starts threads, OpenMP or CUDA. A rank other
// than 0 dies with rank 0.
int group_fork(struct group **out, int size, struct err *err) MUST_USE;

// Joins the processes that mpirun or srun started; *out is null if neither started this one, or
// started it alone. ERR_MISSING without an MPI that can be used, ERR_TIMEOUT if a rank does not
// come.
int group_join(struct group **out, struct err *err) MUST_USE;

// Whether mpirun or srun started this process with others, and how many they are together (1).
int group_joinable(void);

// From now on the first `size` ranks are the group; the others only wait in their next group_use().
// All ranks call it, with any size up to that of the beginning.
int group_use(struct group *group, int size, struct err *err) MUST_USE;

// Waits for all ranks, unless the group failed; null is fine. In rank 0 of group_fork() it reaps
// the other processes; those still have to end themselves.
void group_free(struct group *group);

// For a rank that cannot go on: the others end with this text. The first failure wins.
void group_fail(struct group *group, const char *text);

// 0 as long as all ranks are well. Does not wait: for those who wait for something else, such as a
// GPU that waits for another one.
int group_check(struct group *group, struct err *err) MUST_USE;

// ---- who is in it ----

struct group_place group_place(const struct group *group);
int group_most(const struct group *group);         // ranks at the beginning
const char *group_kind(const struct group *group); // "local", "mpi"; null: alone

// The part of `count` samples that a rank computes: [*first, *first + *part). The parts are
// contiguous, in the order of the ranks, and differ by at most one; some are empty if there are
// fewer samples than ranks.
void group_share(const struct group *group, int64_t count, int64_t *first, int64_t *part);
int64_t group_share_most(const struct group *group, int64_t count); // of any rank

// ---- saying things to each other; memory is the host's ----

int group_barrier(struct group *group, struct err *err) MUST_USE;
// Rank 0's bytes, at every rank.
int group_broadcast(struct group *group, void *data, size_t bytes, struct err *err) MUST_USE;
// Every rank's bytes at every rank: all (size, bytes).
int group_gather(struct group *group, const void *mine, size_t bytes, void *all,
                 struct err *err) MUST_USE;
// The sum over the ranks, in place.
int group_sum(struct group *group, float *values, int64_t count, struct err *err) MUST_USE;
int group_sum_reals(struct group *group, double *values, int64_t count, struct err *err) MUST_USE;

// The same sum beside calculations: the values belong to the group until group_wait(), which waits
// for all that was started.
int group_sum_start(struct group *group, float *values, int64_t count, struct err *err) MUST_USE;
int group_sum_reals_start(struct group *group, double *values, int64_t count,
                          struct err *err) MUST_USE;
int group_wait(struct group *group, struct err *err) MUST_USE;

void group_times(struct group *group, struct group_times *times);

#endif
