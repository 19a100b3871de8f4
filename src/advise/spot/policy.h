// SPDX-License-Identifier: Apache-2.0
// policy: when to use a spot machine, an on-demand one or none, if a training must end in time.
//
// Time is in ticks, the samples of a trace (availability.h), each of POLICY_UNITS units. At the
// start of a tick a policy knows whether a spot machine can be had for this tick, and nothing of
// later ones. A machine that is started needs `delay` before it works. docs/spot.md has the rules;
// a second implementation in tests/advise/spot follows the same page. Everything is in integers.
//
//   greedy   spot whenever there is one, else wait, until only on demand can still make it
//   uniform  Uniform Progress (Wu and others, "Can't Be Late", NSDI 2024), as its authors' program
//   has
//            it: on demand when behind a straight line from start to deadline; back to spot when it
//            can be had and the work is ahead of the line by two delays
//   planned  ours: the cheapest plan on average, if the chances of losing and of getting a spot
//            machine within a tick are those of the past
//   best     the cheapest with hindsight; no policy can know it
//
// The first three never miss a deadline that an on-demand machine alone would meet.
#ifndef FARE_ADVISE_SPOT_POLICY_H
#define FARE_ADVISE_SPOT_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define POLICY_UNITS  10      // of a tick
#define POLICY_DEMAND 1000000 // the price of a unit on demand

enum policy { POLICY_GREEDY, POLICY_UNIFORM, POLICY_PLANNED, POLICY_BEST, POLICIES };
extern const char *const policy_words[POLICIES];

struct policy_job {
    const unsigned char *available; // by tick, 1: can be had; it begins again at its end
    size_t ticks;
    const unsigned char *past; // (optional) by tick, what was seen before: `planned` learns from it
    size_t past_ticks;
    size_t deadline; // in ticks
    int64_t work;    // in units, with its checkpoints; above 0
    int64_t delay; // in units; 0 or more: before a machine works, with the work that is done again
    int64_t reserve;    // in units: the delay at worst, for the promise; at least `delay`
    int64_t spot_price; // of a unit, where that on demand is POLICY_DEMAND
};

struct policy_result {
    bool finished;
    int64_t spot_units, demand_units; // paid
    int64_t starts;                   // of machines
    int64_t end;                      // in units after the start
    int64_t cost;
};

// Whether an on-demand machine alone meets the deadline: the promise.
bool policy_can(const struct policy_job *job);

// A plan for `planned`; one is for any start. ERR_FORMAT for one too large to make.
#define POLICY_CELLS_MOST ((size_t)400 << 20)
struct policy_plan;
int policy_plan_new(const struct policy_job *job, struct policy_plan **out,
                    struct err *err) MUST_USE;
void policy_plan_free(struct policy_plan *plan); // null is fine

// Starts at tick `start` of the trace. `plan` is for `planned` alone. Not for `best`.
void policy_run(enum policy policy, const struct policy_job *job, const struct policy_plan *plan,
                size_t start, struct policy_result *result);

// The lowest cost with hindsight; -1: the deadline cannot be met.
int policy_best(const struct policy_job *job, size_t start, int64_t *cost,
                struct err *err) MUST_USE;

// theory: how often to write a checkpoint, and how long a training then takes, if interruptions
// come at random with a constant rate (exponentially distributed times between them).
//
// `cost` is the time of one checkpoint, `mean` the mean time between interruptions, all in the same
// unit; both above 0. The replay (replay.h) needs no such assumption.

// The work between two checkpoints. Young (1974): √(2·cost·mean). Daly (2006) of higher order; from
// cost = 2·mean on, `mean`.
double theory_young(double cost, double mean);
double theory_daly(double cost, double mean);

// The mean time of `work` in segments of `interval`, each followed by a checkpoint. After an
// interruption a machine needs `restart` before it goes on from the last checkpoint; that may be
// interrupted too. Without the first start. Infinite if it is too large to be a number.
double theory_expected(double work, double interval, double cost, double restart, double mean);

// The same for a training that writes no checkpoints: an interruption loses all of it.
double theory_unsaved(double work, double restart, double mean);

#endif
