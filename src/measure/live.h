// SPDX-License-Identifier: Apache-2.0
// live: how far a run is that goes on: what is done, when it will end, what it costs until then.
//
// For its terminal and for the record that is kept meanwhile (run/partial.h), so that both say the
// same. What the machine costs is the caller's to know; where nobody does there is no money.
// Looking allocates nothing.
#ifndef FARE_RUN_LIVE_H
#define FARE_RUN_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/run.h"
#include "run/meter.h"

struct live_price {    // of the machine; without `cost` it is not known
    const char *offer; // whose it is, and where from, for people
    int64_t hour;      // nano-USD
    int64_t before_ns; // paid for before the run's start: the machine's boot
    // What so long a use costs, in nano-USD; must not allocate.
    int (*cost)(const void *price, int64_t ns, int64_t *nano_usd, struct err *err);
    const void *price;
};

struct live_plan {
    const struct live_price *price; // (optional)
    bool part;                      // it ends before the whole training does
    double max_s;                   // after so long, where that is set
    bool early;                     // or before, when enough is known
    int64_t until_ns;               // by clock_now_ns(), it ends at the latest; 0: never
};

struct live {
    double elapsed_s;
    int64_t step, steps;            // of this run; steps 0: not known
    double left_s;                  // below 0: not known
    bool at_most;                   // it may end earlier
    bool timed;                     // its time says how much is done, not its steps
    int64_t bill, projected, whole; // nano-USD; below 0: not known
};

void live_look(const struct live_plan *plan, const struct meter *meter, int64_t step, int64_t steps,
               struct live *out);

// How much is done, 0 to 1; below 0: not known.
double live_share(const struct live *live);

int live_fill(const struct live *live, const struct live_price *price, struct run_live *out,
              struct err *err) MUST_USE;

#endif
