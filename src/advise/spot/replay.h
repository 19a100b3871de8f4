// SPDX-License-Identifier: Apache-2.0
// replay: a training on spot machines, started many times over: what it costs, when it ends.
//
// docs/spot.md ("What spot will cost") is the definition; a second implementation in
// tests/advise/spot follows the same page. Machines are taken away as a trace says, or at random
// with a constant rate; the price is the rule's, or follows a history. Both begin again at their
// end. Everything is in integers, so a replay of a trace is the same everywhere.
#ifndef FARE_ADVISE_SPOT_REPLAY_H
#define FARE_ADVISE_SPOT_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bill/charge.h"
#include "advise/spot/hazard.h"
#include "advise/spot/history.h"

#define REPLAY_COUNT    10000  // of one offer
#define REPLAY_LATE     20     // times start-up and work: a share of replays ends later than that
#define REPLAY_LIMIT    1000   // likewise: one that needs longer is given up
#define REPLAY_MACHINES 100000 // so is one that needs more

// A price over time, with its integral, so that the price of any stretch is found by two searches.
struct replay_prices {
    size_t count;
    int64_t *at_ns;     // after the first change
    int64_t *nano_hour; // from then on
    __int128 *sum;      // nano × ns / hour up to then
    int64_t length_ns;
};

// ERR_FORMAT for a series without a price, or whose times do not ascend.
int replay_prices_init(struct replay_prices *prices, const struct spot_series *series,
                       struct err *err) MUST_USE;
void replay_prices_release(struct replay_prices *prices);

// The mean price of an hour over `length_ns` (above 0) from `from_ns` on, rounded half up.
int64_t replay_price(const struct replay_prices *prices, int64_t from_ns, int64_t length_ns);

struct replay {
    // The training.
    int64_t work_ns;              // without checkpoints and start-up; above 0
    int64_t interval_ns;          // of work between checkpoints; 0: it writes none
    int64_t checkpoint_ns;        // to write one
    int64_t first_ns, restart_ns; // start-up before the work: at first, and on each later machine
    int64_t notice_ns;            // used to write a checkpoint if it is long enough; 0: not used
    // The machine.
    const struct availability *trace; // null: random
    int64_t mean_ns;                  // random: between interruptions; 0: none
    int64_t life_ns;                  // the provider ends it after this time; 0: it does not
    uint64_t seed;
    // The bill.
    const struct rule *rule;
    const struct replay_prices *prices; // null: the rule's price
    bool prorated;
    int64_t start_s, storage_gb, discount_permille;
    // Fall-back: on demand from the moment on at which a further spot machine, lost at the worst
    // time, could make it late. Kept whenever an on-demand machine alone would keep it.
    const struct rule *demand; // null: none
    int64_t deadline_ns;
    size_t count; // replays: number i of a trace starts at i/count of it
};

struct replay_result {
    int64_t wall_ns;    // from the order of the first machine
    int64_t charged_ns; // by the rules, of all machines, on demand included
    int64_t demand_ns;
    int64_t lost_ns; // work that was done again, or for nothing
    int64_t interruptions;
    int64_t nano; // in the rule's currency
    bool finished;
};

int replay_one(const struct replay *replay, size_t index, struct replay_result *result,
               struct err *err) MUST_USE;

// The time without any interruption, start-up and checkpoints included.
int64_t replay_uninterrupted_ns(const struct replay *replay);

struct replay_quantiles {
    int64_t low, middle, high; // 10, 50 and 90 %
};
struct replay_quantiles replay_quantiles_of(int64_t *values, size_t count); // sorts them

struct replay_summary {
    size_t count, finished;
    size_t late; // not at an end after REPLAY_LATE times start-up and work
    // Of all. One that was given up counts up to then: if any was, these are lower bounds.
    struct replay_quantiles wall_ns, nano;
    double mean_wall_ns, mean_nano, mean_charged_ns, mean_interruptions, mean_lost_ns;
};

// All replays. Quantiles are order statistics: of n sorted values the one numbered ⌈p·n⌉ from 1.
int replay_all(const struct replay *replay, struct replay_summary *summary,
               struct err *err) MUST_USE;

// The interval around `from_ns`, in steps of 10 %, whose mean bill is lowest.
int replay_best_interval(const struct replay *replay, int64_t from_ns, int64_t *best_ns,
                         struct err *err) MUST_USE;

#endif
