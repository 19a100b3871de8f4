// SPDX-License-Identifier: Apache-2.0
// injection: what makes CUDA load fare's library (trace/inject) into a command's processes: the
// folder for their rings, and two variables of the environment; or why it is not done.
#ifndef FARE_TRACE_INJECTION_H
#define FARE_TRACE_INJECTION_H

#include "base/buf.h"
#include "base/scratch.h"

struct injection {
    struct scratch folder; // without a path: none
    struct buf library_entry, folder_entry;
    char *environment[3]; // "NAME=value"; null-terminated
    const char *off;      // for a person; null: it is on
};

// `library` replaces the library's path (for tests). Fails only for lack of memory. What was opened
// is to be released even after a failure.
int injection_open(struct injection *injection, const char *library, struct err *err) MUST_USE;
void injection_release(struct injection *injection);

#endif
