// SPDX-License-Identifier: Apache-2.0
// batcher: the samples of a set in shuffled order, in batches for an engine.
//
// The order is a function of (seed, epoch) and the augmentation of (seed, epoch, sample) alone, so
// a resumed run continues exactly by seeking. After batcher_new() only libjpeg allocates.
#ifndef FARE_TRAIN_DATA_BATCHER_H
#define FARE_TRAIN_DATA_BATCHER_H

#include "train/data/dataset.h"

// What a batch holds: a net's input values; the images' bytes, for an engine that scales and moves
// them itself; or only the numbers of its samples, for an engine that holds the set.
enum batch_form { BATCH_VALUES, BATCH_BYTES, BATCH_NUMBERS };

struct batcher_options {
    int64_t batch;
    uint64_t seed;
    bool shuffle;
    bool shift_flip;  // CIFAR: shifts of up to 10 % (edge pixels repeated), horizontal flips
    bool flip;        // flowers: horizontal flips
    bool centre_unit; // pixels to -1 ... 1; else 0 ... 1
    int threads;      // for decoding ahead; 0: as many as this process may use
    enum batch_form form;
    int rank, ranks; // this one's part of each batch (base/parallel.h); 0 ranks: all of it
};

struct batch {
    int64_t count;       // samples in it; the last of an epoch may have fewer than the rest
    int64_t all, first;  // of the ranks together, and which of those is the first here
    float *image;        // (batch, channels, height, width), or null
    uint8_t *bytes;      // the same, not scaled, moved or flipped; or null
    int32_t *tokens;     // (batch, time), or null
    int32_t *labels;     // (batch), or (batch, time) of a stream
    uint32_t *samples;   // (batch): their numbers in the set
    uint32_t augment[4]; // key and stream of the epoch's random words: sample i has words 4 i ... 4
                         // i + 3
};

// The set must outlive it. One without samples has no batches.
struct batcher;
int batcher_new(struct batcher **batcher, const struct dataset *set,
                const struct batcher_options *options, struct err *err) MUST_USE;
void batcher_free(struct batcher *batcher);

int64_t batcher_steps(const struct batcher *batcher); // batches in an epoch

// Fills `order` (`count` numbers) with the samples of an epoch, which counts from 0, as they come
// when they are shuffled.
void batcher_order(uint64_t seed, int64_t epoch, uint32_t *order, int64_t count);

// The value of byte `v` of an image.
float batcher_scale(const struct batcher_options *options, int v);

// The next batch is number `step` of `epoch`; both count from 0. A step beyond the epoch's last
// is ERR_USAGE; the number of steps itself is the end of the epoch.
int batcher_seek(struct batcher *batcher, int64_t epoch, int64_t step, struct err *err) MUST_USE;

// The next batch, valid until the next call. 1: there is one; 0: the epoch is over, and the next
// call begins another; negative: an error in a sample of this batch.
int batcher_next(struct batcher *batcher, struct batch *batch, struct err *err) MUST_USE;

#endif
