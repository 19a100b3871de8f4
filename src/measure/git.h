// SPDX-License-Identifier: Apache-2.0
// git: the commit of a folder, from git's own files.
//
// Only git itself can tell whether the tree is dirty: it is asked to write nothing, and killed
// after a second.
#ifndef FARE_MEASURE_GIT_H
#define FARE_MEASURE_GIT_H

#include "record/run.h"

// Sets `commit` and `dirty` of `code` if the folder (an absolute path) is in a work tree.
int git_describe(const char *folder, struct run_code *code, struct err *err) MUST_USE;

#endif
