// SPDX-License-Identifier: Apache-2.0
// agree: the ranks of a group stay together in a training.
//
// What depends on time or signals, rank 0 decides for all. They meet about every AGREE_NS, after
// the same number of steps and evaluated batches. Alone (a null group), nothing is agreed on.
#ifndef FARE_RUN_AGREE_H
#define FARE_RUN_AGREE_H

#include "engine/engine.h"
#include "run/meter.h"
#include "run/plan.h"

struct checkpoint_place;
struct data_pair;

#define AGREE_NS 50000000LL

// What rank 0 decides.
struct agreement {
    bool stop, enough, save;
    int64_t wait; // ticks until the next meeting
};

struct agree {
    struct group *group; // null: alone
    struct agreement now;
    int64_t ticks, meet_at;         // steps and evaluated batches so far, and when they meet next
    int64_t met_ns;                 // the last time
    struct group_times times, last; // of the steps; of the group, at the last look
};

bool agree_leads(const struct agree *agree); // rank 0, and whoever is alone

// All ranks must have an engine that can, and the same data: a machine without the set's files
// would train on a generated one.
int agree_check(const struct agree *agree, const struct engine *engine,
                const struct data_pair *data, struct err *err) MUST_USE;

// After each step or evaluated batch. *met: the ranks just met; always, alone.
int agree_tick(struct agree *agree, const struct run_plan *plan, struct meter *meter, bool *met,
               struct err *err) MUST_USE;

// Rank 0's place and tensors for all: only it needs to see a checkpoint's file.
int agree_parameters(const struct agree *agree, const struct engine *engine,
                     struct engine_program *program, struct checkpoint_place *place,
                     struct err *err) MUST_USE;

// The time that the group took since the last call: counted to the steps, or not.
void agree_times(struct agree *agree, const struct engine *engine, struct engine_program *program,
                 bool steps);
// The mean over the ranks.
int agree_mean_times(struct agree *agree, struct group_times *mean, struct err *err) MUST_USE;

#endif
