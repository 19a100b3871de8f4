// SPDX-License-Identifier: Apache-2.0
// handover: a set that fare opened or made, as a file for a program that trains in another
// framework: so both train on the same samples, cleaned, split and cropped alike.
//
// It is one safetensors file in a temporary folder of its own ($TMPDIR, else /tmp), there until it
// is removed: nothing grows old in a cache, and two runs at once have one each. For each part P,
// "train" and, where there is a held-out part, "test":
//   P.y       labels: I32 (count)
//   P.x       images: U8 (count, channels, height, width); texts of one length: I32 (count, time)
//   P.tokens  other texts, in place of P.x: I32, all of them in a row, with either
//   P.starts  I64 (count + 1): sample i is the tokens from starts[i] to starts[i + 1], at most
//             `time` of them, with zeros behind; or
//   `stride`  a text of the header: sample i is the `time` tokens from i × stride on
// Texts of the header are the set's name, identity, source and classes; where samples are texts
// also vocabulary and time. Images are decoded, or drawn, a few at a time and never all held.
#ifndef FARE_MEASURE_HANDOVER_H
#define FARE_MEASURE_HANDOVER_H

#include <stdint.h>

#include "base/err.h"
#include "data/dataset.h"
#include "run/plan.h"

struct handover {
    char *folder;
    char *path;      // of the file, in that folder
    int64_t took_ns; // decoding and drawing, which fare's own training does too; not writing
};

// `threads` decode images; 0: as many as this process may use. On failure nothing is left behind;
// an error for want of space says how much is needed, where, and that TMPDIR names another place.
// Where the plan is over before it is written, it returns 0, and there is no path.
int handover_write(struct handover *handover, const struct data_pair *data,
                   const struct run_plan *plan, int threads, struct err *err) MUST_USE;
void handover_remove(struct handover *handover); // a zeroed struct is fine

#endif
