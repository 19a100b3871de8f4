// SPDX-License-Identifier: Apache-2.0
// dispatch: brings the tasks of a dispatch to its places and their records into the ledger.
//
// One thread, one loop: each place has at most one program at work for it (call.h), and what that
// one answers decides what is next. A place that does not answer is asked again after 1, 2, 4 ...
// 60 s until the dispatch's patience is over (a tenth of it, if it never answered); the others do
// not wait for it. Every change is on disk (state.h) before it is acted on, so the loop can be
// killed at any point and begun again.
//
// Each task ends as done (its records are in the ledger), failed (with the reason) or cancelled.
#ifndef FARE_FLEET_DISPATCH_H
#define FARE_FLEET_DISPATCH_H

#include "fleet/state.h"
#include "fleet/target.h"
#include "ledger/ledger.h"

#define DISPATCH_JOBS        64
#define DISPATCH_PATIENCE_NS (INT64_C(600) * 1000000000)

struct dispatcher;

struct dispatch_options {
    bool cancel; // end every task instead, and collect nothing
    void *arg;
    // (optional) A line for people: what has become of a task or a place.
    void (*says)(void *arg, const char *line);
    // (optional) About twice a second.
    void (*draw)(void *arg, const struct dispatcher *dispatcher);
};

// 0 once every task is over; `*interrupted` if SIGINT, SIGTERM or SIGHUP ended it before. The
// `places` are those of the plan, in its order; `ledger` is open for writing. Errors are those of
// this machine: the ledger or the disk.
int dispatch_run(struct state *state, struct places *places, struct ledger *ledger,
                 const struct dispatch_options *options, bool *interrupted,
                 struct err *err) MUST_USE;

// ---- for drawing

struct site_view {
    const struct place *place;
    const struct task *task; // the first of those that are there; null: none
    size_t here;             // how many are there
    int64_t since_ns;        // of the first one's start; 0: none
    const char *doing;   // "checking", "copying fare", "running", "no answer", "idle", "left out"
    const char *problem; // the last one, while it lasts; or null
};
size_t dispatcher_sites(const struct dispatcher *dispatcher);
void dispatcher_site(const struct dispatcher *dispatcher, size_t i, struct site_view *view);
const struct dispatch *dispatcher_dispatch(const struct dispatcher *dispatcher);

#endif
