// SPDX-License-Identifier: Apache-2.0
// call: other programs (ssh, sbatch, sky, kubectl), many at a time, without waiting for any.
//
// A call is an argument vector, its standard input and a time limit. The pool starts it, feeds it,
// keeps what it writes up to a cap, and hands back its result. One thread and one epoll descriptor
// serve all of them. Each call leads a session of its own, so that Ctrl-C does not reach it and it
// cannot ask at the terminal; its whole group is killed at the time limit.
#ifndef FARE_FLEET_CALL_H
#define FARE_FLEET_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define CALL_KEEP_MAX ((size_t)1 << 20) // bytes kept of each stream, unless told otherwise

struct call {
    char **argv; // null-terminated, on the heap; null: nothing to run
    size_t argc, capacity;
    struct buf input; // its standard input, and then
    char *input_file; // (optional) this file
    int64_t limit_ns; // 0: CALL_LIMIT_NS
    size_t keep_max;  // 0: CALL_KEEP_MAX
    bool failed;      // sticky, as in buf.h: no memory for an argument
};
#define CALL_LIMIT_NS INT64_C(120000000000)

void call_arg(struct call *call, const char *arg); // appends a copy
void call_argf(struct call *call, const char *format, ...) PRINTF_LIKE(2, 3);
void call_args(struct call *call, char *const *args); // null-terminated
int call_check(const struct call *call, struct err *err) MUST_USE;
void call_release(struct call *call);

struct call_result {
    bool exited; // with exit_code; otherwise by `signal`
    int exit_code, signal;
    bool timed_out;
    bool cut; // it wrote more than keep_max
    int64_t wall_ns;
    struct buf out, err_text; // its stdout and stderr
};
void call_result_release(struct call_result *result);

// Appends how it ended, with the last line of its stderr: "ssh: connect to host a port 22:
// Connection refused (exit code 255)".
void call_words(const struct call_result *result, struct buf *out);

struct calls; // the pool

int calls_new(struct calls **out, struct err *err) MUST_USE;
void calls_free(struct calls *calls); // kills what still runs; null is fine

// Starts it and takes its contents. `tag` comes back with the result.
int calls_start(struct calls *calls, struct call *call, void *tag, struct err *err) MUST_USE;

// Waits up to `wait_ns` (0: not at all) for the first end of a call; signals end the wait too.
// 1: `result` and `tag` are filled; 0: none has ended; negative: the waiting failed.
int calls_wait(struct calls *calls, int64_t wait_ns, struct call_result *result, void **tag,
               struct err *err) MUST_USE;

size_t calls_running(const struct calls *calls);

// The same for one call, waited for.
int call_run(struct call *call, struct call_result *result, struct err *err) MUST_USE;

#endif
