// SPDX-License-Identifier: Apache-2.0
// The record of a run: what was trained, on what, how fast and how well. Plain data; src/run/ and
// src/cmd/ fill it. Figures that were measured and those derived from them are told apart in the
// fields' descriptions.
#ifndef FARE_RECORD_RUN_H
#define FARE_RECORD_RUN_H

#include "record/field.h"
#include "record/machine.h"

#define RUN_SCHEMA    "fare.run/1"
#define RUNS_SCHEMA   "fare.runs/1"
#define REPORT_SCHEMA "fare.report/1"

struct run_data {
    char *name;
    char *source;
    char *identity;
    struct maybe_bool made; // procedural: not to be compared with results on the real set
    struct maybe_int train_samples;
    struct maybe_int test_samples;
    struct maybe_int classes;
    struct maybe_int time; // texts: tokens of a sample
    struct maybe_int vocabulary;
};

struct run_epoch {
    struct maybe_int epoch; // from 1
    struct maybe_int steps;
    struct maybe_real train_loss;
    struct maybe_real train_accuracy;
    struct maybe_real test_loss;
    struct maybe_real test_accuracy;
    struct maybe_int train_ns;
    struct maybe_int test_ns;
};

struct run {
    char *schema;
    char *workload;
    char *engine;
    char *precision;
    struct maybe_int threads;
    struct maybe_int seed;
    struct maybe_int batch;
    struct run_data data;
    struct maybe_bool full;    // trained to the end; else a sample
    struct maybe_bool stopped; // by the user
    struct maybe_int steps;    // made in this run
    struct maybe_int steps_per_epoch;
    struct maybe_int epochs; // of the full training
    struct maybe_real step_ms;
    struct maybe_real samples_per_s;
    struct maybe_real epoch_s;
    struct maybe_real first_loss;
    struct maybe_real last_loss;
    struct maybe_real test_accuracy;
    struct maybe_bool reached; // full runs on the real data: what a correct run reaches
    struct maybe_int load_ns;
    struct maybe_int compile_ns;
    struct maybe_int train_ns;
    struct maybe_int evaluate_ns;
    struct maybe_int checkpoint_ns;
    struct maybe_int peak_memory_bytes;
    struct maybe_real l1_pairs_per_s; // l1: differences per second
    struct maybe_real l1_largest_error;
    char *problem; // it failed: why
    LIST_OF(struct run_epoch) epoch_list;
};

struct runs { // what `fare run` prints
    char *schema;
    LIST_OF(struct run) runs;
};

struct report { // what bare `fare` prints
    char *schema;
    struct machine machine;
    LIST_OF(struct run) runs;
};

extern const struct field run_fields[], runs_fields[], report_fields[];

#endif
