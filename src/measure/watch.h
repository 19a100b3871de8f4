// SPDX-License-Identifier: Apache-2.0
// watch: the line on the terminal about a run that goes on: progress, when it ends, what it costs.
#ifndef FARE_MEASURE_WATCH_H
#define FARE_MEASURE_WATCH_H

#include "base/progress.h"
#include "measure/live.h"

// It is drawn on stderr, or on `fd`, where that is a terminal; a zeroed one draws nothing.
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
