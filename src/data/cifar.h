// SPDX-License-Identifier: Apache-2.0
// cifar: CIFAR-10 in its binary version (www.cs.toronto.edu/~kriz/cifar.html).
//
// A file is records of 3,073 bytes: the label, 0 to 9, then the red, green and blue planes of a
// 32x32 image. There is no header, so a wrong length or label is an error.
#ifndef FARE_DATA_CIFAR_H
#define FARE_DATA_CIFAR_H

#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"
#include "data/dataset.h"

enum { CIFAR_SIDE = 32 };

// Appends one file's images to `set` (which the caller releases, also after a failure).
int cifar_file(const char *path, struct dataset *set, uint8_t sum[SHA256_BYTES],
               struct err *err) MUST_USE;

// See sets.h.
int cifar_open(const char *dir, const struct data_options *options, struct data_pair *pair,
               struct err *err) MUST_USE;

#endif
