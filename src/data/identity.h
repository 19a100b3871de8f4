// SPDX-License-Identifier: Apache-2.0
// identity: a sum that identifies a data set, whatever its folder, file names and packing.
//
// The SHA-256 of a list with one line per file, "SUM  NAME\n", where SUM is the SHA-256 of its
// unpacked contents and NAME its name in the public set: what `sha256sum FILES | sha256sum` prints.
// Names and order: idx.c, cifar.c, reviews.c (train before test); "tweets.csv"; "text.txt";
// CLASS/FILE.jpg, sorted.
#ifndef FARE_DATA_IDENTITY_H
#define FARE_DATA_IDENTITY_H

#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"

struct identity {
    struct sha256 sha;
};

void identity_init(struct identity *identity);
void identity_add(struct identity *identity, const uint8_t sum[SHA256_BYTES], const char *name);

// The text, to be freed by the caller; null and `err` when there is no memory.
char *identity_text(struct identity *identity, struct err *err) MUST_USE;

#endif
