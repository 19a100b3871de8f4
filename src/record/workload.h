// SPDX-License-Identifier: Apache-2.0
// The record of a workload: its net, recipe and operation counts. All of it follows from the
// definition; nothing is measured.
#ifndef FARE_RECORD_WORKLOAD_H
#define FARE_RECORD_WORKLOAD_H

#include "record/field.h"

#define WORKLOADS_SCHEMA "fare.workloads/1"

struct workload_layer {
    char *name;
    char *op;
    char *output; // "32×26×26"
    struct maybe_int parameters;
};

struct workload_info {
    char *name;
    char *summary;
    char *origin;
    char *optimizer;
    struct maybe_int batch;
    struct maybe_int epochs;
    struct maybe_int steps; // if the definition counts steps, not epochs
    struct maybe_int parameters;
    struct maybe_real forward_flops; // per step
    struct maybe_real backward_flops;
    struct maybe_real bytes;
    struct maybe_real reach_accuracy;
    struct maybe_real reach_loss;
    LIST_OF(struct workload_layer) layers;
};

struct workload_list {
    char *schema;
    LIST_OF(struct workload_info) workloads;
};

extern const struct field workload_list_fields[];

#endif
