// SPDX-License-Identifier: Apache-2.0
// watch: a run that goes on, on its own terminal: one line with what is done, when it will end, and
// what it costs until then.
#ifndef FARE_CMD_WATCH_H
#define FARE_CMD_WATCH_H

#include "advise/pricing.h"
#include "base/progress.h"
#include "measure/measure.h"
#include "measure/live.h"

// What this machine costs, for bills while a run goes on: --offer, or the offer that the machine is
// by its metadata, as advise/pricing.h finds it. A zeroed one knows no price.
struct watch_price {
    struct live_price live;
    struct pricing *pricing;
    struct price price;
    char offer[800];
};

// Where the price is not known, or cannot be found out, there is none: that is no error. `run` has
// its machine and start.
void watch_price_open(struct watch_price *price, const struct measure_options *options,
                      const struct run *run);
void watch_price_close(struct watch_price *price);

// On a terminal says whose price it is, once for each.
void watch_price_say(struct watch_price *price);

// Appends what a run that is over has cost, and what its whole training does: "0.10 USD for this
// run, 2.03 USD for the whole training; derived from ...". False: no price, or no time, is known.
bool watch_price_bill(const struct watch_price *price, const struct run *run, struct buf *out);

// The line. It is drawn on stderr, or on `fd`, where that is a terminal; a zeroed one draws
// nothing.
struct watch {
    struct progress progress;
    const char *name; // of the run; must live as long
    int fd;           // in place of stderr, where it is not 0
    pid_t group;      // that draws here too: a run in a process of its own draws for its parent
    bool begun;
    char note[120], end[24], cost[48], costs[72];
};

// `note`: more about it, as progress.h has it.
void watch_show(struct watch *watch, const struct live *live, const char *note);
void watch_hide(struct watch *watch);
void watch_end(struct watch *watch);

#endif
