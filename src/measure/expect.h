// SPDX-License-Identifier: Apache-2.0
// expect: measured rates beside the specifications of the machine's devices (tables/device.h), and
// beside the share of them that others reached (tables/reached.h). A rate far below the usual is a
// finding, and so is a GPU that has less than its data sheet says: a slower slot, a lower power
// limit, a part of its memory.
//
// A device that the table lacks has no expectation.
#ifndef FARE_MEASURE_EXPECT_H
#define FARE_MEASURE_EXPECT_H

#include "base/buf.h"
#include "record/machine.h"

// Fills machine->expectations from its rates and bandwidth, and adds to its findings.
int expect_fill(struct machine *machine, struct err *err) MUST_USE;

// "GPU 0 memory 4.18 TB/s, 87 % of the data sheet's 4.8 TB/s; usual for this GPU: 83 to 89 %".
void expect_words(const struct machine_expectation *expectation, struct buf *out);

#endif
