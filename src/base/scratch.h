// SPDX-License-Identifier: Apache-2.0
// scratch: a folder for temporary files, removed with all of them at the end.
//
// If its process is killed, the next scratch_make() of the same user in the same place removes it.
// A file ".lock" marks the folder as fare's, and the lock on it ends with the last process that has
// it open. Folders without that file, or of other users, are left alone.
#ifndef FARE_BASE_SCRATCH_H
#define FARE_BASE_SCRATCH_H

#include "base/err.h"

struct scratch {
    char *path; // PLACE/fare-XXXXXX; null: none
    int lock;   // a process with a copy of it keeps the folder; only meaningful while `path` is set
};

int scratch_make(struct scratch *scratch, const char *place, struct err *err) MUST_USE;
void scratch_remove(struct scratch *scratch); // a zeroed struct is fine

#endif
