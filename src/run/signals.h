// SPDX-License-Identifier: Apache-2.0
// signals: catches the signals meant for a user's command, to pass them on.
//
// Handlers write to a pipe, so that poll() can wait for signals too. Signals that were ignored at
// the start (nohup) stay ignored. Only one caller at a time: handlers belong to the process.
#ifndef FARE_RUN_SIGNALS_H
#define FARE_RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "base/err.h"

struct signals_one {
    int number;
    bool from_kernel; // the terminal sent it, to the whole group
};

// Installs the handlers and blocks every signal; `mask` gets the previous mask. With `stops`,
// catches SIGTSTP and SIGCONT too; otherwise they act on fare as on the command.
int signals_begin(bool stops, sigset_t *mask, struct err *err) MUST_USE;
void signals_unblock(const sigset_t *mask);

// Restores the previous handlers. With `hold`, signals that schedulers and users send to programs
// in general (not Ctrl-C) wait for signals_release(): there is something to finish first.
void signals_end(bool hold);
void signals_release(void); // raises the last one that came; without a hold, does nothing

int signals_fd(void);
bool signals_next(struct signals_one *one); // false if there is none

#endif
