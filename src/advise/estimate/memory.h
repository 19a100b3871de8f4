// SPDX-License-Identifier: Apache-2.0
// memory: whether a training fits into the memory of other GPUs.
//
// The driver's peak counts what a framework's allocator keeps for later: up to 1.4 times a GPU's
// memory it is unsure. Where no peak is known (a run on a CPU, a published result), that is said;
// GPUs are left out on which the weights alone do not fit, by the size in the net's name ("70b").
#ifndef FARE_ADVISE_ESTIMATE_MEMORY_H
#define FARE_ADVISE_ESTIMATE_MEMORY_H

#include "advise/estimate/estimate.h"

// Below tables with such rows.
#define MEMORY_UNKNOWN                                                                             \
    "How much GPU memory it needs is unknown: on some of these machines it may not fit."
#define MEMORY_UNSURE                                                                              \
    "may not fit: the run held more GPU memory than there is; some of it may be its allocator's "  \
    "cache."

// `why` for all but ESTIMATE_FITS: "unknown: the run was on a CPU, and the A100 has 40 GiB". A null
// `from` is unknown.
enum estimate_fit estimate_memory(const struct run *run, const struct estimate_place *from,
                                  const struct estimate_place *to, char why[200]);

#endif
