// SPDX-License-Identifier: Apache-2.0
// child: runs a user's command and handles its whole process tree: signals, waiting, ending.
//
// A keeper process sits between fare and the command. It only starts the command and reaps. It is
// the subreaper, so orphans of the command become its children: the sampler and child_signal_all()
// find all of them, and none of fare's own helpers. The keeper ends after the last process of the
// tree. If fare is killed, the command continues and the keeper relays its output; or, on request,
// the keeper kills the whole tree.
//
// In a terminal's foreground the command shares fare's process group, so that it can read from the
// terminal and receives its signals; otherwise it has a group of its own.
#ifndef FARE_FOLLOW_CHILD_H
#define FARE_FOLLOW_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct child_options {
    char *const *argv;
    char *const *env;
    int out, err; // its stdout and stderr
    struct child_stream {
        int from, to; // the other end of each, and where to relay it; -1: none
    } streams[2];
    int extra, extra_as; // another descriptor for it, and its number there; -1: none
    int hold;            // a lock that lasts as long as the tree, held by the keeper; -1: none
    bool own_group;
    bool ends_with_us;    // the tree is killed if fare is
    const sigset_t *mask; // the signals it starts with blocked
};

struct child {
    pid_t keeper; // 0: none
    pid_t pid;    // the command
    int status;   // readable if the keeper has a message; -1 once the whole tree has ended
    bool own_group;
    bool cut[2]; // child_cut() was called

    bool ended; // the command has ended, and the members below are valid
    int wait_status;
    long max_rss_kib; // of the command and the children it waited for
};

// Call it with all signals blocked. Fails if the program cannot be started.
int child_start(struct child *child, const struct child_options *options, struct err *err) MUST_USE;

// Reads the keeper's messages without waiting.
void child_read(struct child *child);

// The keeper closes its end of a stream: once we have closed ours, the command's writes fail.
void child_cut(struct child *child, int stream);

// Whether it is a signal that users and schedulers end programs with.
bool child_ends(int number);

// Signals the command's process group. After a signal that ends programs, stopped processes are
// continued: they would not receive it.
void child_signal(const struct child *child, int number);

// Whether every process that child_signal() reaches ignores it. What a program handles is for it to
// answer, and false where /proc cannot be read.
bool child_ignores(const struct child *child, int number);

// Signals every process of the tree, whatever its group, likewise. Returns their number, or as
// child_list().
int child_signal_all(const struct child *child, int number);

// The processes of the tree that run; the caller frees `*list`. Returns their number, or a negative
// code: ERR_MEMORY, or ERR_IO if /proc cannot be read.
struct child_process {
    pid_t pid, parent, group;
    int64_t cpu_ticks; // its own
    bool ours;         // always true in the list
};
int child_list(const struct child *child, struct child_process **list);

// Releases it, and reaps the keeper if it has ended.
void child_release(struct child *child);

// ---- signals: catches the signals meant for a user's command, to pass them on.
//
// Handlers write to a pipe, so that poll() can wait for signals too. Signals that were ignored at
// the start (nohup) stay ignored. Only one caller at a time: handlers belong to the process.

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
