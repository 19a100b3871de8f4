// SPDX-License-Identifier: Apache-2.0
// python: the version of a Python and of the packages installed for it, from its files.
#ifndef FARE_MEASURE_PYTHON_H
#define FARE_MEASURE_PYTHON_H

#include "record/run.h"

// Sets `python` and `packages` of `code`. `program`: a Python, or a script that names one in its
// first line (#!); looked for in PATH unless it has a slash. Others change nothing.
int python_describe(const char *program, struct run_code *code, struct err *err) MUST_USE;

#endif
