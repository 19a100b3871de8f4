// SPDX-License-Identifier: Apache-2.0
// git: the commit and the repository's name of a folder, from git's own files.
//
// Only git itself can tell whether the tree is dirty: it is asked to write nothing, and killed
// after a second.
#ifndef FARE_MEASURE_GIT_H
#define FARE_MEASURE_GIT_H

#include "record/run.h"

// Sets `commit` and `dirty` of `code` if the folder (an absolute path) is in a work tree.
int git_describe(const char *folder, struct run_code *code, struct err *err) MUST_USE;

// Appends the name of the repository that holds the folder: that of its remote 'origin', without
// ".git", or of its main work tree's folder. Nothing if there is none.
void git_name(const char *folder, struct buf *name);

#endif
