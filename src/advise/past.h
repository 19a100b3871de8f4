// SPDX-License-Identifier: Apache-2.0
// past: estimates that would have been made for runs of the ledger, each from the user's other runs
// of the same training and without it, and how far off they were. Nothing is stored: they follow
// from the runs.
#ifndef FARE_ADVISE_PAST_H
#define FARE_ADVISE_PAST_H

#include "advise/sources.h"

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
