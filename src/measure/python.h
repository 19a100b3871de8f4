// SPDX-License-Identifier: Apache-2.0
// python: the version of a Python and of the packages installed for it, from its files.
#ifndef FARE_MEASURE_PYTHON_H
#define FARE_MEASURE_PYTHON_H

#include "record/run.h"
#include "follow/child.h"

struct python_place {
    const char *program; // a Python, or a script that names one in its first line (#!); looked for
                         // in PATH unless it has a slash

    // (optional) Of a Python that runs: its working folder, its environment ("NAME=VALUE", each
    // ending in NUL, the last in two), its file, and folders of packages it has opened, one per
    // line.
    const char *folder, *environment, *running, *opened;
};

// Sets `interpreter`, `python` and `packages` of `code`. A program that is no Python changes
// nothing.
int python_describe(const struct python_place *place, struct run_code *code,
                    struct err *err) MUST_USE;

// ---- interpreter: the Python that does a command's work, found among its processes.
//
// Launchers (uv, poetry, conda, torchrun, shell scripts) choose a Python by rules of their own. The
// process that runs needs no such rules: its file, its first argument and its environment are those
// by which Python itself finds its packages. Of several the one with the most CPU time counts, and
// one that only launches others counts last.

// A zeroed struct is ready.
struct interpreter {
    int64_t due_ns;   // of the next look
    struct buf known; // what the last one described
};

// Looks after 50 ms, then in growing intervals, since a launcher comes first and packages are
// opened later; `now`: also if none is due.
int interpreter_look(struct interpreter *it, const struct child *child, int64_t start_ns, bool now,
                     struct run_code *code, struct err *err) MUST_USE;
void interpreter_release(struct interpreter *it);

#endif
