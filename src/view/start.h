// SPDX-License-Identifier: Apache-2.0
// start: sentences about a machine before a run began, and about figures that were put right.
#ifndef FARE_VIEW_START_H
#define FARE_VIEW_START_H

#include "base/buf.h"
#include "record/run.h"

// Each appends nothing if there is nothing to say.

// "1 min 15 s, from its launch until cloud-init finished; not charged to this run"
void start_boot_words(const struct run *run, struct buf *out);

// "idle for 36 min 00 s since the machine was ready; not billed"
void start_idle_words(const struct run *run, struct buf *out);

// "boot and cost, recorded wrongly before; the cost is computed again"
void start_corrected_words(const struct run *run, struct buf *out);

#endif
