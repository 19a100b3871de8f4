// SPDX-License-Identifier: Apache-2.0
// evidence: which runs of a workload tell the time of the training asked for, and which belong to
// another training: other data, another amount of data, another recipe, framework or year; and
// which run tells the time on an offer.
//
// Every quote uses one rule: comparable.h's verdict against a reference run, the same length and
// framework, and software at most a year apart. A stopped run is evidence only for itself. A run
// whose machine was assumed (--offer) is none: nobody knows where it ran.
//
// An offer matches a run on GPUs if it has the same GPU, at least as many and enough memory. It
// matches a run on CPUs if it is that instance type, or has the same processor and as many virtual
// CPUs. If several runs match, the nearest counts: one on that instance type, then one of the same
// provider, then the run asked for, then the user's own, then any other. Of several that are as
// near, on different machines, the run asked for counts, or else the median, and the others widen
// its interval.
#ifndef FARE_ADVISE_EVIDENCE_H
#define FARE_ADVISE_EVIDENCE_H

#include "advise/quote.h"
#include "ledger/ledger.h"
#include "train/workload/workload.h"

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

struct proof { // a run whose time is known
    const struct quote_evidence *from;
    const struct run *run;
    struct bill_time time;
    const struct device *device; // the GPU, or the processor of a run on CPUs; null: unknown
    bool asked;
    bool stopped;              // cut off: any other counts before it
    size_t runs;               // of this setting on this machine; it is their median
    const struct proof *again; // all of them, each for itself: the one asked for, then by time
    size_t again_count;
    int64_t low_ns, high_ns; // the ends of all their intervals
    int64_t gpus;            // 0: it ran on CPUs
    int64_t memory_bytes;    // of the host, at its peak; 0: unknown
};

struct proof_match { // of an offer
    const struct proof *proof;
    size_t runs;             // as near as this one, which is their median
    int64_t low_ns, high_ns; // the ends of all their intervals
};

struct proofs {
    const struct quote_ask *ask;
    const struct devices *devices;
    bool exact_gpus; // as asked
    int gpus;        // as asked; others are no proof, but estimates start from them
    struct proof *items;
    size_t count;
    struct proof *all;      // each run for itself: proof.again
    struct proof_hit *hits; // room for what proofs_find() finds, twice
};

// Runs without a known time are no proofs; of several runs of one setting on the same machine the
// median is one. `ask` must outlive them.
int proofs_gather(struct proofs *proofs, const struct quote_ask *ask, struct err *err) MUST_USE;
void proofs_release(struct proofs *proofs);

// Finds the nearest proof of each training for an offer. Returns that of the training asked for;
// null: nothing like the offer was measured.
const struct proof *proofs_find(const struct proofs *proofs, const struct offer *offer,
                                struct proof_match best[QUOTE_TRAININGS]);

// Whether the run was measured on a machine like the offer.
bool proof_fits(const struct proofs *proofs, const struct proof *proof, const struct offer *offer);

// How many of the machine it takes for so many GPUs; more than one only where the user asked for
// that (`together` of a quote).
int64_t proof_machines(const struct proofs *proofs, int64_t gpus, const struct offer *offer);

#define EVIDENCE_WHY 220
// Null: the offer is large enough for the run; else the reason in a few words, and `why`.
const char *proof_too_large(const struct proofs *proofs, const struct proof *proof,
                            const struct offer *offer, char why[EVIDENCE_WHY]);
const char *proof_no_memory(const struct proof *proof, const struct offer *offer,
                            char why[EVIDENCE_WHY]); // of the host alone

// Equal precision and batch, or both unknown.
bool evidence_same_setting(const struct run *a, const struct run *b);

// Whether the run was measured on that instance type. A machine without a GPU is not one with GPUs,
// whatever its label says.
bool evidence_measured_on(const struct run *run, const struct offer *offer);

const char *evidence_gpu(const struct run *run); // its name; null: none or unknown

// ---- runs of any training ----
//
// run_history: measured runs of any training, and which of them are the same training. Estimates
// learn from trainings that were measured on two devices.

#define HISTORY_OWN 201 // at most: the newest 200 of the ledger and one more

struct run_history {
    LIST_OF(struct run) runs; // with a known time; the ledger's, newest first, then published ones
    size_t own;               // of these: the ledger's
    size_t lent;              // the last of these: belong to the published set
};

// Reads the newest runs of the ledger (optional) that `which` (optional) selects, without their
// long lists. `first` (optional): the record of a run of the ledger that may be older.
int run_history_load(struct run_history *history, struct ledger *ledger,
                     const struct ledger_filter *which, const char *first,
                     struct err *err) MUST_USE;

// Adds the published runs, after the ledger's. They must outlive the history.
int run_history_lend(struct run_history *history, const struct published *all,
                     struct err *err) MUST_USE;

void run_history_release(struct run_history *history);

// The runs as proofs, in trainings numbered by their first run: workload or command, framework,
// precision, batch, data and length are equal as far as known. The user's come first.
struct trials {
    struct quote_evidence *evidence;
    struct proof *items;
    struct proof *all[2]; // what proof.again points to: of the user's runs, of others
    size_t count, own;
    const struct devices *devices;
};
int trials_make(struct trials *trials, const struct run_history *history, struct market *market,
                struct err *err) MUST_USE;
void trials_release(struct trials *trials);

// No library, apart from the driver, has another version (of two numbers) in the two runs, and they
// are at most a year apart.
bool run_history_same_software(const struct run *a, const struct run *b);

#endif
