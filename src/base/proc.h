// SPDX-License-Identifier: Apache-2.0
// proc: work in a forked child, because it may crash or never end.
//
// For a CPU instruction that may fault, or a library that may. proc_start_call() starts a child,
// proc_finish() waits for it, so several can run side by side. The child leads a process group of
// its own, which is killed at the time limit. Its stdout and stderr are kept up to a cap; beyond
// that they are read and dropped, so that a talkative child never blocks.
#ifndef FARE_BASE_PROC_H
#define FARE_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define PROC_KEEP_MAX ((size_t)1 << 20) // bytes kept of each stream, unless told otherwise

struct proc_options {
    int64_t timeout_ms; // 0: no limit
    size_t keep_max;    // (optional) bytes kept of each stream; 0: PROC_KEEP_MAX
};

struct proc {
    pid_t pid;    // 0 when there is none
    int out, err; // our ends of its pipes; -1 when closed
    int pidfd;    // -1 where the kernel has none (before 5.3)
    int64_t started_ns;
    int64_t stop_ns; // when to kill it; 0: never
    bool timed_out;
    struct proc_options options;
};

struct proc_result {
    bool exited; // with exit_code; otherwise by `signal`
    int exit_code;
    int signal;
    bool timed_out; // killed at our time limit
    int64_t timeout_ms;
    int64_t wall_ns;
    struct buf out;      // its stdout
    struct buf err_text; // its stderr
};

// Runs `call` in a child; its result is the exit code. stdin is empty, stdout is flushed at the
// end. The child leaves no core file, skips exit handlers, and ends with the thread that started
// it.
int proc_start_call(struct proc *proc, int (*call)(void *context), void *context,
                    const struct proc_options *options, struct err *err) MUST_USE;

// Waits for its end. Fails only when the waiting itself does; `result` says how the child ended.
int proc_finish(struct proc *proc, struct proc_result *result, struct err *err) MUST_USE;

// Ends the child (SIGKILL to its group) and forgets it. A zeroed struct is fine.
void proc_kill(struct proc *proc);

void proc_result_release(struct proc_result *result);

// Whether PATH has a program of this name; false for a name with a slash.
bool proc_in_path(const char *name);

// The value of a variable in an environment ("NAME=value", null at the end); null: it is not there,
// or there is no environment.
const char *env_value(char *const *env, const char *name);

// "exit code 3", "signal SIGILL", "not finished within 500 ms", for messages.
void proc_result_words(const struct proc_result *result, struct buf *out);

// ==== resident ====
// For a process that watches for hours with little in memory.

// From now on buffers of a megabyte and more go back to the system when they are freed, and threads
// share one arena. By default the allocator keeps them for the next time, in an arena per thread.
void resident_keep_little(void);

// Gives back what is resident and not needed now: free memory of the allocator, and pages of
// programs and libraries that were read from their files and never changed. A page that is needed
// again comes from the page cache. Takes about a millisecond; call it when a large piece of work is
// done, from any thread. Never fails: without /proc/self/smaps only the allocator gives back.
void resident_trim(void);

// The same if more than that is resident; asking takes some microseconds.
void resident_trim_above(size_t bytes);

#endif
