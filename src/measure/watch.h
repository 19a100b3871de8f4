// SPDX-License-Identifier: Apache-2.0
// watch: the line on the terminal about a run in progress: progress, end time, cost.
#ifndef FARE_MEASURE_WATCH_H
#define FARE_MEASURE_WATCH_H

#include "base/progress.h"
#include "measure/live.h"

// Draws on stderr or `fd` if that is a terminal; a zeroed struct draws nothing.
struct watch {
    struct progress progress;
    const char *name; // of the run; must live as long
    int fd;           // instead of stderr, if not 0
    pid_t group;      // may draw here too: a run in a separate process draws for its parent
    bool begun;
    char note[120], end[24], cost[48], costs[72];
};

// `note`: more about it, as progress.h has it.
void watch_show(struct watch *watch, const struct live *live, const char *note);
void watch_hide(struct watch *watch);
void watch_end(struct watch *watch);

#endif
