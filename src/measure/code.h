// SPDX-License-Identifier: Apache-2.0
// code: what a user's command runs: its script, the git commit, the Python and its packages.
//
// Everything is read from files; the command's Python is not started. Only git itself can tell
// whether the tree is dirty: it is asked to write nothing, and killed after a second. Parts that
// cannot be found are absent: the Python of `uv run` or `conda run`, say, which these choose.
#ifndef FARE_MEASURE_CODE_H
#define FARE_MEASURE_CODE_H

#include "record/run.h"

// "train" for `env KEY=1 python -u dir/train.py --lr 1`, "llama.finetune" for `python -m
// llama.finetune`, else the program's name; never an argument of theirs.
int code_name(char *const *argv, char **name, struct err *err) MUST_USE;

// Fills a zeroed `code` for a command started in this folder.
int code_describe(char *const *argv, struct run_code *code, struct err *err) MUST_USE;

#endif
