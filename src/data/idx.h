// SPDX-License-Identifier: Apache-2.0
// idx: sets of 28x28 images in the form that MNIST has (yann.lecun.com/exdb/mnist).
//
// A file is a magic number (0, 0, the type, the number of dimensions), the dimensions as big-endian
// 32-bit numbers, and the bytes. Images are type 8 (bytes) in 3 dimensions, labels in 1.
#ifndef FARE_DATA_IDX_H
#define FARE_DATA_IDX_H

#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"
#include "data/dataset.h"

#define IDX_SIDE 28

// One file. The caller frees the bytes: (count, 28, 28), or (count).
int idx_images(const char *path, uint8_t **pixels, int64_t *count, uint8_t sum[SHA256_BYTES],
               struct err *err) MUST_USE;
int idx_labels(const char *path, uint8_t **labels, int64_t *count, uint8_t sum[SHA256_BYTES],
               struct err *err) MUST_USE;

// Any set of such images; its classes are one more than the highest label. See sets.h.
int idx_open(const char *dir, const struct data_options *options, struct data_pair *pair,
             struct err *err) MUST_USE;

#endif
