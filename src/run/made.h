// SPDX-License-Identifier: Apache-2.0
// made: the set that fare makes where there is no data, as a file for a program that trains in
// another framework: so both train on the same samples.
//
// It is one safetensors file in a temporary folder of its own ($TMPDIR, else /tmp), there until it
// is removed: nothing grows old in a cache, and two runs at once have one each. Tensors:
//   train.y  test.y   labels: I32 (count)
//   train.x  test.x   images: U8 (count, channels, height, width); texts: I32 (count, time)
//   train.tokens      in place of train.x where samples overlap: I32; sample i is the `time`
//                     tokens from i × stride on
// A set without a held-out part has no test.*. Texts are the set's name, identity, source and
// classes, and for texts vocabulary, time and, beside train.tokens, stride.
#ifndef FARE_RUN_MADE_H
#define FARE_RUN_MADE_H

#include <stdint.h>

#include "base/err.h"
#include "workload/workload.h"

struct made {
    char *folder;
    char *path;      // of the file, in that folder
    int64_t took_ns; // making the samples, which fare's own training does too; not writing them
};

// The same set as native_run() trains on without data. On failure nothing is left behind; the
// error says where there was no room. `threads` 0: as many as this process may use.
int made_write(struct made *made, const struct workload *workload, int threads,
               struct err *err) MUST_USE;
void made_remove(struct made *made); // a zeroed struct is fine

#endif
