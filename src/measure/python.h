// SPDX-License-Identifier: Apache-2.0
// python: the version of a Python and of the packages installed for it, from its files.
#ifndef FARE_MEASURE_PYTHON_H
#define FARE_MEASURE_PYTHON_H

#include "record/run.h"

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

bool python_is(const char *program); // by its name

#endif
