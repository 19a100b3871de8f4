// SPDX-License-Identifier: Apache-2.0
// estimates: the time of a training on offers where nobody measured it, from the run that tells it
// best: the one whose estimate has the narrowest interval.
//
// Offers with the same GPU, number and memory share an estimate: a book has many offers. So do
// those without GPUs that have the same processor and as many virtual CPUs; they need a run on
// CPUs. A run uses as many GPUs there as were asked for (proofs->gpus); else as many as it did, or
// all if there are fewer; one from a processor uses one. A run that used all its virtual CPUs uses
// all there, any other as many as it did.
#ifndef FARE_ADVISE_ESTIMATES_H
#define FARE_ADVISE_ESTIMATES_H

#include "advise/evidence.h"
#include "estimate/estimate.h"

struct estimated {
    const struct proof *proof; // the source; null: no run has a time
    struct estimate_place from, to;
    struct estimate estimate;
};

struct estimates;

// `proofs` must outlive the result. Reads the tables of estimates.
int estimates_open(struct estimates **out, const struct proofs *proofs, struct err *err) MUST_USE;
void estimates_close(struct estimates *estimates); // null is fine

// `*out` stays valid until estimates_close(); its kind may be unknown or impossible. Null: the
// offer has neither a whole GPU nor a processor that is known.
int estimates_find(struct estimates *estimates, const struct offer *offer,
                   const struct estimated **out, struct err *err) MUST_USE;

bool estimated_known(const struct estimated *estimated); // there is a time

// Turns the source's time on an offer, with start-up, into the estimated one. `own` is the source's
// without start-up.
void estimated_time(const struct estimated *estimated, const struct bill_time *own,
                    struct bill_time *time);

// Source, split, factors and class in about ten lines.
void estimated_explain(const struct estimated *estimated, struct buf *out);

#endif
