// SPDX-License-Identifier: Apache-2.0
// sources: the time of a training on a kind of machine, from all measured runs that tell it: the
// nearest first, corrected by reference runs, combined by their intervals.
#ifndef FARE_ADVISE_SOURCES_H
#define FARE_ADVISE_SOURCES_H

#include "advise/estimate/estimate.h"
#include "advise/estimate/rates.h"
#include "advise/evidence.h"

struct estimate_source {
    const struct proof *proof;
    struct estimate_place from, to;
    size_t references; // trainings that were measured on both devices
    double corrected;  // they changed the time by this factor
    double weight;     // its share
};

struct estimated {
    const struct proof *proof; // the nearest source; null: no run has a time
    struct estimate_place from, to;
    struct estimate estimate; // from all sources
    struct estimate_source sources[ESTIMATE_SOURCES];
    size_t source_count;
    const struct proof *apart; // a run whose own estimate does not meet the others'; null: none
    struct estimate_time apart_time;
    size_t learnt_from;            // past estimates
    double learnt;                 // they changed the half-width by this factor
    const struct model_plan *plan; // from a model's description; null: from runs
};

// A training measured on two devices with the same software: what the estimate missed.
struct reference {
    const struct device *from, *to;
    int gpus;
    enum rate_precision precision;
    const char *bound, *net;
    size_t training, pairs;
    double error; // log(measured / estimated), the mean of its pairs
};

struct references {
    struct reference *items;
    size_t count, cap;
};

struct sources_ask {
    const struct estimate_tables *tables;
    const struct devices *devices;
    const struct references *references; // (optional)
    const struct proof *proofs;
    size_t proof_count;
    size_t training;       // of the sources
    const struct run *run; // (optional) runs of its precision and batch come first
    const struct device *gpu;
    const struct device *processor; // without a GPU; null: unknown
    int vcpus_milli;                // there; 0: with a GPU
    double share;                   // of one GPU's time; 0: all of it
    int gpus;                       // the same
    int used;                       // of them; 0: as many as the run did
    int machines;                   // with these GPUs in all, as the run's had; 0: one
    int64_t gpu_memory_bytes;
    bool measured; // made after the run was measured there: no source on this GPU, as many GPUs, no
                   // references of the training itself
};

// A run uses as many GPUs there as it did, or all if there are fewer; one from a processor uses
// one. A run that used all its virtual CPUs uses all there, any other as many as it did. Sources
// are combined if they have one precision and batch and differ in their device. The interval spans
// the estimates of all runs with that precision and batch, also if they do not overlap. A lower
// bound counts only where no run gives more.
void sources_estimate(const struct sources_ask *ask, struct estimated *out);

bool estimated_known(const struct estimated *estimated); // there is a time

// The part of a run's time that the device decides, with its interval.
struct estimate_time sources_time(const struct bill_time *time);
bool sources_scales(const char *part); // whether this part of it does

// past: estimates that would have been made for runs of the ledger, each from the user's other runs
// of the same training and without it, and how far off they were. Nothing is stored: they follow
// from the runs.

#define PAST_SCHEMA "fare.estimates/1"

struct past_estimate {
    char *run, *machine; // that was measured
    char *from, *source; // the nearest source: its id and machine
    struct maybe_int sources;
    struct maybe_real time_s, low_s, high_s, measured_s;
    struct maybe_real error; // estimated ÷ measured - 1
    struct maybe_bool within;
    char *relation; // of the devices
};

struct past_summary {
    char *schema;
    struct maybe_int count, within;
    struct maybe_real median_error; // of the absolute errors
    LIST_OF(struct past_estimate) estimates;
};

extern const struct field past_estimate_fields[], past_summary_fields[];

struct past;

// `history` and `market` must outlive it.
int past_open(struct past **out, const struct run_history *history, struct market *market,
              const struct estimate_tables *tables, struct err *err) MUST_USE;
void past_close(struct past *past); // null is fine

const struct references *past_references(const struct past *past);

// For a run on GPUs of the history, by its id. `out` is zeroed before; it stays so if no other run
// tells.
int past_find(const struct past *past, const char *id, struct past_estimate *out,
              struct err *err) MUST_USE;

// All of them, once for each training and machine, newest first.
int past_list(const struct past *past, struct past_summary *out, struct err *err) MUST_USE;

// Changes the interval by the errors of past estimates between devices so related.
void past_teach(const struct past *past, struct estimated *estimated);

#endif
