// SPDX-License-Identifier: Apache-2.0
// evidence: which runs of a workload tell the time of the training asked for, and which are about
// another training: other data or another amount of them, another recipe, framework or year.
//
// One rule for every quote: comparable.h's verdict against a reference run, and the same length,
// framework and age of the software (at most a year apart). A stopped run tells only its own time.
// A run whose machine was assumed (--offer) is no evidence: nobody knows where it ran.
#ifndef FARE_ADVISE_EVIDENCE_H
#define FARE_ADVISE_EVIDENCE_H

#include "advise/quote.h"
#include "workload/workload.h"

struct evidence_ask {
    const struct run *runs;
    size_t count;
    const struct run *reference;     // its training is asked for; null: the workload's
    const struct workload *workload; // (optional) chooses a reference on its real data
    bool asked;                      // the first run is quoted itself: whatever it is, it counts
    bool any_data;                   // of the same size: made samples take as long as real ones
};

// Fills `out` and `against`, each with room for `count` runs. A run that is quoted itself comes
// first, then the training asked for, then others. The caller releases labels and comparisons,
// also on failure.
int evidence_choose(const struct evidence_ask *ask, struct quote_evidence *out,
                    struct comparison *against, size_t *count, struct err *err) MUST_USE;

#endif
