// SPDX-License-Identifier: Apache-2.0
// code: what a user's command runs: its script, the git commit, the Python and its packages.
//
// Everything is read from files; the command's Python is not started. Before the run the command
// line tells. The Python of `uv run` or `conda run`, which these choose, is known once it runs
// (python.h). Parts that cannot be found are absent.
#ifndef FARE_MEASURE_CODE_H
#define FARE_MEASURE_CODE_H

#include "measure/python.h"

// "train" for `env KEY=1 python -u dir/train.py --lr 1` and for `python -m torch.distributed.run
// train.py`, "llama.finetune" for `python -m llama.finetune`, else the program's name; never an
// argument of theirs.
int code_name(char *const *argv, char **name, struct err *err) MUST_USE;

// Fills a zeroed `code` for a command started in this folder.
int code_describe(char *const *argv, struct run_code *code, struct err *err) MUST_USE;

// With what a Python of the command was seen to run: its interpreter, version and packages, and its
// script where the command line told none.
int code_observe(char *const *argv, const struct python_place *place, struct run_code *code,
                 struct err *err) MUST_USE;

// Whether this Python only starts others: torchrun, accelerate, poetry.
bool code_launches(char *const *argv);

// ---- git: the commit and the repository's name of a folder, from git's own files.
//
// Only git itself can tell whether the tree is dirty: it is asked to write nothing, and killed
// after a second.

// Appends the name of the repository that holds the folder: that of its remote 'origin', without
// ".git", or of its main work tree's folder. Nothing if there is none.
void git_name(const char *folder, struct buf *name);

#endif
