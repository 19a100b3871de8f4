// SPDX-License-Identifier: Apache-2.0
// evidence: which runs of a workload tell the time of the training asked for, and which belong to
// another training: other data, another amount of data, another recipe, framework or year.
//
// Every quote uses one rule: comparable.h's verdict against a reference run, the same length and
// framework, and software at most a year apart. A stopped run is evidence only for itself. A run
// whose machine was assumed (--offer) is none: nobody knows where it ran.
#ifndef FARE_ADVISE_EVIDENCE_H
#define FARE_ADVISE_EVIDENCE_H

#include "advise/quote.h"
#include "workload/workload.h"

struct evidence_ask {
    const struct run *runs;
    size_t count;
    const struct run *reference;     // its training is asked for; null: the workload's
    const struct workload *workload; // (optional) chooses a reference on its real data
    bool asked;                      // the first run is the one quoted: it counts, whatever it is
    bool any_data;                   // of the same size: made samples take as long as real ones
};

// Fills `out` and `against`, each with room for `count` runs: the run quoted first, then the
// training asked for, then others. The caller releases labels and comparisons, also on failure.
int evidence_choose(const struct evidence_ask *ask, struct quote_evidence *out,
                    struct comparison *against, size_t *count, struct err *err) MUST_USE;

#endif
