// SPDX-License-Identifier: Apache-2.0
// ranks: several processes that train one workload, as one run.
//
// Rank 0 measures: it has the record, the terminal and the ledger, and tells the other ranks what
// to train next. Those are in ranks_follow() until it is over.
#ifndef FARE_MEASURE_RANKS_H
#define FARE_MEASURE_RANKS_H

#include "train/engine/group.h"
#include "measure/measure.h"

// The processes of this run: those that mpirun or srun started, or `most` made here; *group is null
// if there is only this one. Before anything starts threads.
int ranks_open(struct group **group, int most, struct err *err) MUST_USE;

// In ranks other than 0: trains along until rank 0 is done.
int ranks_follow(struct group *group, const struct measure_options *options,
                 struct err *err) MUST_USE;

// In rank 0: all take part in the next run, with `size` ranks (0: all of them).
int ranks_lead(struct group *group, const struct measure_options *options,
               const struct measure_what *what, int size, struct err *err) MUST_USE;
// In rank 0, at the end. Frees the group; null is fine.
void ranks_close(struct group *group);

// Threads for each rank, if the user gave no number: the CPUs that it may use, divided among the
// ranks that share them. The same number for all.
int ranks_threads(struct group *group, int64_t *threads, struct err *err) MUST_USE;

#endif
