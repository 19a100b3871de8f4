// SPDX-License-Identifier: Apache-2.0
// idx: sets of 28x28 images in the form that MNIST has (yann.lecun.com/exdb/mnist).
//
// A file is a magic number (0, 0, the type, the number of dimensions), the dimensions as big-endian
// 32-bit numbers, and the bytes. Images are type 8 (bytes) in 3 dimensions, labels in 1.
#ifndef FARE_TRAIN_DATA_PIXELS_H
#define FARE_TRAIN_DATA_PIXELS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"
#include "train/data/dataset.h"

#define IDX_SIDE 28

// One file, of images or of labels. The caller frees the bytes: (count, 28, 28), or (count).
int idx_file(const char *path, bool images, uint8_t **bytes, int64_t *count,
             uint8_t sum[SHA256_BYTES], struct err *err) MUST_USE;

// Any set of such images; its classes are one more than the highest label. See sets.h.
int idx_open(const char *dir, const struct data_options *options, struct data_pair *pair,
             struct err *err) MUST_USE;

// ==== cifar ====
// CIFAR-10 in its binary version (www.cs.toronto.edu/~kriz/cifar.html).
//
// A file is records of 3,073 bytes: the label, 0 to 9, then the red, green and blue planes of a
// 32x32 image. There is no header, so a wrong length or label is an error.

enum { CIFAR_SIDE = 32 };

// Appends one file's images to `set` (which the caller releases, also after a failure).
int cifar_file(const char *path, struct dataset *set, uint8_t sum[SHA256_BYTES],
               struct err *err) MUST_USE;

// See sets.h.
int cifar_open(const char *dir, const struct data_options *options, struct data_pair *pair,
               struct err *err) MUST_USE;

#endif
