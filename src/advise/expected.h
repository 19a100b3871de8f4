// SPDX-License-Identifier: Apache-2.0
// expected: by how much one GPU should be faster than another, by their data sheets, beside the
// measured times of a training on both.
#ifndef FARE_ADVISE_EXPECTED_H
#define FARE_ADVISE_EXPECTED_H

#include "base/buf.h"
#include "tables/device.h"
#include "record/run.h"

struct expected; // the tables behind it

// `devices` must outlive it.
int expected_open(struct expected **out, const struct devices *devices, struct err *err) MUST_USE;
void expected_close(struct expected *expected); // null is fine

// Appends "expected 1.9 × (1.3 to 2.8 ×) by the data sheets, measured 1.4 ×: as expected". `faster`
// is the measured quotient, base over run. Nothing if the GPUs are the same or not known, their
// numbers differ, or nobody recorded how busy the run's GPU was.
void expected_words(const struct expected *expected, const struct run *base, const struct run *run,
                    double faster, struct buf *out);

#endif
