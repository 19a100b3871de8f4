// SPDX-License-Identifier: Apache-2.0
// handover: writes a set that fare opened or generated to a file, for a program that trains in
// another framework, so that both train on the same samples, cleaned, split and cropped alike.
//
// It is one safetensors file in a new temporary folder ($TMPDIR, else /tmp), until it is removed:
// there is no stale cache, and each of two simultaneous runs has its own. For each part P, "train"
// and, if there is a held-out part, "test":
//   P.y       labels: I32 (count)
//   P.x       images: U8 (count, channels, height, width); texts of one length: I32 (count, time)
//   P.tokens  other texts, instead of P.x: I32, all concatenated, with either
//   P.starts  I64 (count + 1): sample i is the tokens from starts[i] to starts[i + 1], at most
//             `time` of them, padded with zeros; or
//   `stride`  a text of the header: sample i is the `time` tokens from i × stride on
// With one label per token there is no P.y, and P.tokens is I16 (the bits of unsigned numbers):
// sample i is the `time` tokens from i × time on, its labels are those one further on. Texts of the
// header are the set's name, identity, source and classes; if samples are texts, also vocabulary
// and time. Images are decoded or drawn a few at a time, never all held in memory.
//
// A second file holds the start of fare's own training, so that the first losses agree too:
//   order     I32 (epochs, count): the samples of each epoch by number, as they are trained on; of
//             the first HANDOVER_ORDERS epochs at most, after which they repeat
//   the net's trained parameters: F32, by name and in the order and layouts of a checkpoint
#ifndef FARE_MEASURE_HANDOVER_H
#define FARE_MEASURE_HANDOVER_H

#include <stdint.h>

#include "base/err.h"
#include "base/fs.h"
#include "train/data/dataset.h"
#include "train/net/net.h"
#include "train/plan.h"

#define HANDOVER_ORDERS 20

struct handover {
    struct scratch folder;
    char *path;      // of the file, in that folder
    char *start;     // of the second one
    int64_t took_ns; // decoding and drawing, which fare's own training does too; not writing
};

// `threads` decode images; 0: as many as this process may use. On failure no file is left behind;
// if space is short, the error names the size, the folder, and TMPDIR. If the plan is over before
// the file is written, returns 0 without a path.
int handover_write(struct handover *handover, const struct data_pair *data,
                   const struct run_plan *plan, int threads, struct err *err) MUST_USE;

// Adds the second file to the folder, for `epochs` epochs of shuffled samples.
int handover_start(struct handover *handover, const struct net *net, const struct dataset *train,
                   uint64_t seed, int64_t epochs, struct err *err) MUST_USE;

void handover_remove(struct handover *handover); // a zeroed struct is fine

#endif
