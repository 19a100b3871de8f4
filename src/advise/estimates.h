// SPDX-License-Identifier: Apache-2.0
// estimates: the time of a training on offers where nobody measured it, from the runs that tell it
// (sources.h), with an interval that learns from past estimates (past.h).
//
// Offers with the same GPU, number and memory share an estimate: a book has many offers. So do
// those without GPUs that have the same processor and as many virtual CPUs; they need a run on
// CPUs. --gpus (proofs->gpus) asks for a number of GPUs.
#ifndef FARE_ADVISE_ESTIMATES_H
#define FARE_ADVISE_ESTIMATES_H

#include "advise/sources.h"

struct estimates;

// `proofs` must outlive the result. Reads the tables of estimates.
int estimates_open(struct estimates **out, const struct proofs *proofs, struct err *err) MUST_USE;
void estimates_close(struct estimates *estimates); // null is fine

// `*out` stays valid until estimates_close(); its kind may be unknown or impossible. Null: the
// offer has no GPU and no run was on CPUs, or the number of its GPUs or virtual CPUs is nothing
// that can be estimated.
int estimates_find(struct estimates *estimates, const struct offer *offer,
                   const struct estimated **out, struct err *err) MUST_USE;

// Turns the source's time on an offer, with start-up, into the estimated one. `own` is the source's
// without start-up.
void estimated_time(const struct estimated *estimated, const struct bill_time *own,
                    struct bill_time *time);

// If a run lies apart from the others: which, and what it says.
void estimated_apart(const struct estimated *estimated, struct buf *out);

// Source, split, factors and class in about ten lines.
void estimated_explain(const struct estimated *estimated, struct buf *out);

#endif
