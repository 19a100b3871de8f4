// SPDX-License-Identifier: Apache-2.0
// runner: one way to run something and fill its record. One file each, with one const table; the
// list of them is in measure.c.
#ifndef FARE_MEASURE_RUNNER_H
#define FARE_MEASURE_RUNNER_H

#include "measure/measure.h"

struct runner {
    bool (*takes)(const struct session *session); // the first in the list that returns true runs it
    bool in_process; // it trains in this process: --repeat starts a process per run
    // Runs and fills session->run. After a failure the record has `ended` and `problem`, unless
    // nothing began. The caller releases the session's meter and sampler.
    int (*run)(struct session *session, struct err *err);
};

// The runners, in the order of the calls to takes(): one row each.
#define RUNNERS(ROW)                                                                               \
    ROW(command)                                                                                   \
    ROW(framework)                                                                                 \
    ROW(l1)                                                                                        \
    ROW(native)
#define ROW(name) extern const struct runner runner_##name;
RUNNERS(ROW)
#undef ROW

// For runners on fare's engines: chooses the engine, starts the session, describes both in the
// record, and calls `work`. `precision` null: the engine's default.
struct engine_run {
    const struct engine *engine;
    struct engine_options options;
};
int engine_run(struct session *session, const char *precision, struct engine_run *with,
               int (*work)(struct session *session, struct err *err), struct err *err) MUST_USE;

// The engine that the options ask for, and its precision.
int engine_run_choose(const struct measure_options *options, const struct workload *workload,
                      const char *precision, struct engine_options *engine_options,
                      const struct engine **engine, struct err *err) MUST_USE;
// What all ranks of a group must agree on.
struct trainer_options;
void native_options(const struct measure_options *options, const struct data_pair *data,
                    struct trainer_options *with);

// Fill in the record's members about the workload and its data.
int describe_workload(const struct session *session, const char *framework,
                      struct err *err) MUST_USE;
int describe_variant(const struct session *s, struct err *err) MUST_USE;
int describe_data(const struct data_pair *data, struct run *run, struct err *err) MUST_USE;

// Whether a full run of the definition reached the result of a correct run. `target`: it trained on
// the definition's own set; other runs have no target.
void describe_reached(const struct session *session, bool target);

// After a failure, or a lack of memory for its words: `ended` and `problem`. Returns `rc`.
int describe_failure(struct run *run, int rc, struct err *err) MUST_USE;

// The sizes of l1 as its recipe: runs of other sizes are not comparable, in any framework.
int describe_l1(const struct measure_options *options, struct run *run, struct err *err) MUST_USE;

#endif
