// SPDX-License-Identifier: Apache-2.0
// err: what went wrong, in words that can be shown to a person as they are.
//
// A function that can fail returns 0 or one of the negative codes below and takes a
// `struct err *` last. The first error wins: a later err_set() on the same struct keeps the
// first text, so clean-up code may fail without hiding the cause. The texts live inside the
// struct, so that "out of memory" can be reported when there is none. A null `err` is allowed
// everywhere and means that the caller wants only the code.
//
// The text says what failed: "cannot open 'x.csv': no such file or directory". The hint says
// what to do about it: "check the path, or pass --data DIR". No full stop at either end.
#ifndef FARE_BASE_ERR_H
#define FARE_BASE_ERR_H

#include <stdarg.h>

enum {
    ERR_FAIL = -1,     // anything without a specific code
    ERR_USAGE = -2,    // the user asked for something that does not exist: exit code 2
    ERR_MEMORY = -3,   // an allocation failed, or a cap was reached
    ERR_MISSING = -4,  // a file, library, symbol or host that is not there
    ERR_FORMAT = -5,   // input that does not follow its format
    ERR_TIMEOUT = -6,  // a deadline passed
    ERR_IO = -7,       // the system refused or cut a read or a write
    ERR_OVERFLOW = -8, // a number left its range
    ERR_KEPT = -9,     // saved work is there and cannot be used: exit code 74
};

struct err {
    int code; // 0 as long as nothing failed
    char text[512];
    char hint[256];
};

#define MUST_USE          __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

// A local variable that is released on every way out of its block: `SCOPED(buf_release) struct buf
// text = {0};`. The last declared goes first. What is handed on must leave a zeroed struct behind.
#define SCOPED(release) __attribute__((cleanup(release)))
void free_pointer(void *pointer); // SCOPED(free_pointer) char *copy = ...;

// Returns the step's code from the calling function if the step fails. For functions that have
// nothing to release but what is SCOPED; the others keep `rc` and continue to their clean-up.
#define TRY(step)                                                                                  \
    do {                                                                                           \
        int try_rc = (step);                                                                       \
        if (try_rc != 0)                                                                           \
            return try_rc;                                                                         \
    } while (0)

// Each returns `code`, so that `return err_set(err, ERR_FORMAT, ...)` reads as one step.
int err_set(struct err *err, int code, const char *format, ...) PRINTF_LIKE(3, 4);
int err_setv(struct err *err, int code, const char *format, va_list args) PRINTF_LIKE(3, 0);

// Appends ": " and the system's words for `number` (an errno value). ENOENT and its like become
// ERR_MISSING, ENOMEM becomes ERR_MEMORY, ETIMEDOUT ERR_TIMEOUT, the rest ERR_IO.
int err_errno(struct err *err, int number, const char *format, ...) PRINTF_LIKE(3, 4);

int err_memory(struct err *err); // "out of memory"

// Says what to do; the first hint wins. Returns err->code (ERR_FAIL where `err` is null).
int err_hint(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

// The text and the hint of another error, as `code`.
int err_pass(struct err *err, int code, const struct err *from);

// Puts "context: " before the text, as an error travels up: "line 3: bad number '1x'".
int err_context(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
