// SPDX-License-Identifier: Apache-2.0
// proc: other processes, with pipes, time limits and an end that is always reached.
//
// Two ways in: proc_start() runs a program, proc_start_call() runs one of our functions in a
// forked child, for work that may crash (a CPU instruction that faults, a library that does).
// Both hand back a struct proc to proc_finish(), so several can run side by side. The child is
// the leader of a process group of its own; at the time limit the group gets SIGTERM, and
// SIGKILL after `grace_ms`. What it wrote to stdout and stderr is kept up to a cap and the rest
// read and dropped, so that a talkative child never blocks. Whoever gives input ignores SIGPIPE,
// as main() does: a child need not read it.
#ifndef FARE_BASE_PROC_H
#define FARE_BASE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define PROC_KEEP_MAX ((size_t)1 << 20) // bytes kept of each stream, unless told otherwise

// The texts and arrays must live until proc_finish().
struct proc_options {
    const char *input;   // (optional) text for its stdin; otherwise stdin is /dev/null
    const char *dir;     // (optional) folder to start in
    char *const *env;    // (optional) whole environment, null-terminated; null: ours
    int64_t timeout_ms;  // 0: no limit
    int64_t grace_ms;    // between SIGTERM and SIGKILL; 0: SIGKILL at once
    size_t keep_max;     // (optional) bytes kept of each stream; 0: PROC_KEEP_MAX
    bool inherit_output; // its stdout and stderr are ours; nothing is kept
};

struct proc {
    pid_t pid;        // 0 when there is none
    int in, out, err; // our ends of its pipes; -1 when closed
    int pidfd;        // -1 where the kernel has none (before 5.3)
    size_t sent;      // bytes of the input it took
    int64_t started_ns;
    int64_t stop_ns; // when to act next; 0: never
    bool stopping;   // SIGTERM went out
    bool timed_out;
    struct proc_options options;
};

struct proc_result {
    bool exited; // ended by itself, with exit_code; otherwise by `signal`
    int exit_code;
    int signal;
    bool timed_out; // ended by our time limit
    int64_t timeout_ms;
    int64_t wall_ns;
    struct buf out;      // what it wrote to stdout
    struct buf err_text; // and to stderr
};

// A program that cannot be started is an error here, not exit code 127 later.
int proc_start(struct proc *proc, const char *const *argv, const struct proc_options *options,
               struct err *err) MUST_USE;

// The child ends when the thread that started it does. `call` runs in the child with stdout and
// stderr going to the parent; its result is the exit code. The child leaves no core file and skips
// exit handlers; stdout is flushed at its end.
int proc_start_call(struct proc *proc, int (*call)(void *context), void *context,
                    const struct proc_options *options, struct err *err) MUST_USE;

// Waits for the end. Fails only when the waiting itself does; how the child ended is in `result`.
int proc_finish(struct proc *proc, struct proc_result *result, struct err *err) MUST_USE;

// Ends the child (SIGKILL to its group) and forgets it. A zeroed struct is fine.
void proc_kill(struct proc *proc);

// proc_start() and proc_finish() in one.
int proc_run(const char *const *argv, const struct proc_options *options,
             struct proc_result *result, struct err *err) MUST_USE;

void proc_result_release(struct proc_result *result);

// "exit code 3", "signal SIGILL", "no end within 500 ms", for messages.
void proc_result_words(const struct proc_result *result, struct buf *out);

#endif
