// SPDX-License-Identifier: Apache-2.0
// watch: a run in progress: the line on the terminal with progress, end time and cost; in a log,
// where there is no terminal, a line of text now and then.
#ifndef FARE_MEASURE_WATCH_H
#define FARE_MEASURE_WATCH_H

#include "base/progress.h"
#include "measure/live.h"

// Draws on stderr or `fd` if that is a terminal; a zeroed struct draws nothing.
struct watch {
    struct progress progress;
    const char *name; // of the run; must live as long
    int64_t number;   // of several like it; 0: the only one
    int fd;           // instead of stderr, if not 0
    pid_t group;      // may draw here too: a run in a separate process draws for its parent
    bool begun;
    double before_s; // of the command's runs before this one
    double told_s;   // when a line of text was last written, counted likewise; 0: never
    char note[120], end[24], cost[48], costs[72];
};

// `note`: more about it, as progress.h has it.
void watch_show(struct watch *watch, const struct live *live, const char *note);

// For logs: if stderr is no terminal, writes a line there after 10 s, 30 s and a minute, then at
// twice the time, at most five minutes apart. Waits a little for the end of a line that the command
// has not finished (`within_a_line`). True if it wrote. watch_due(): whether it would, by the time
// of this run.
bool watch_due(const struct watch *watch, double elapsed_s);
bool watch_tell(struct watch *watch, const struct live *live, bool within_a_line);

// Writes lines of text now, each behind "fare: ". True if it wrote.
bool watch_say(struct watch *watch, const char *lines, bool within_a_line);

// Another process has written the lines due so far.
void watch_told(struct watch *watch, double elapsed_s);

// "step 1200 of 3000", "in epoch 3 of 15"; false: no progress seen.
bool watch_place(const struct live *live, struct buf *out);

// "after 8 min 03 s: step 1200 of 3000 (40 %), loss 0.412, 12 min 05 s left (± 2 %), 0.61 of 1.30
// USD"
void watch_words(const struct live *live, struct buf *out);

void watch_hide(struct watch *watch);
void watch_end(struct watch *watch);

#endif
