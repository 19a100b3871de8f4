// SPDX-License-Identifier: Apache-2.0
// run_words: sentences about one run: its machine before it began, figures that were put right, how
// it trained, and how far to trust it. Each appends nothing if there is nothing to say.
#ifndef FARE_VIEW_RUN_WORDS_H
#define FARE_VIEW_RUN_WORDS_H

#include "base/buf.h"
#include "record/run.h"

// "1 min 15 s, from its launch until cloud-init finished; not charged to this run"
void run_words_boot(const struct run *run, struct buf *out);

// "idle for 36 min 00 s since the machine was ready; not billed"
void run_words_idle(const struct run *run, struct buf *out);

// "boot and cost, recorded wrongly before; the cost is computed again"
void run_words_corrected(const struct run *run, struct buf *out);

// The parts of l1: "transfer 70 ms, calculation 190 ms". Follows what stands there already.
void run_words_l1(const struct run *run, struct buf *out);

// Of a run with one label per token: tokens a second, share of the peak and energy.
void run_words_tokens(const struct run *run, struct buf *out);

// Of several processes: the number of ranks and machines, and where the time of their steps went.
void run_words_ranks(const struct run *run, struct buf *out);

// Where a command's steps and their total come from, and what is not seen yet: "steps and their
// total from tqdm ('Training')"
void run_words_progress(const struct run *run, struct buf *out);

// How far the projections on the way were off: "-1.2 % after 10 s, +0.1 % after 30 s"
void run_words_checks(const struct run *run, struct buf *out);

#endif
