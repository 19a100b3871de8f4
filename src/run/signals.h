// SPDX-License-Identifier: Apache-2.0
// signals: those that are meant for a command of the user's, taken in order to be passed on.
//
// Handlers write into a pipe, which poll() can wait for beside everything else. Signals that were
// ignored when we started stay ignored (nohup). One user at a time: handlers belong to a process.
#ifndef FARE_RUN_SIGNALS_H
#define FARE_RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "base/err.h"

struct signals_one {
    int number;
    bool from_kernel; // the terminal sent it, to the whole group
};

// Installs the handlers and blocks every signal; `mask` is what was blocked before. With `stops`,
// SIGTSTP and SIGCONT are taken too: otherwise they act on us as on the command.
int signals_begin(bool stops, sigset_t *mask, struct err *err) MUST_USE;
void signals_unblock(const sigset_t *mask);
void signals_end(void); // the handlers from before

int signals_fd(void);
bool signals_next(struct signals_one *one); // false when there is none

#endif
