// SPDX-License-Identifier: Apache-2.0
// tables: the coefficients, classes and errors of estimates: share/estimate/*.csv, made by
// bench/estimate_fit.py and described in docs/estimating.md. Rows of the user's files of the same
// names in ~/.config/fare/estimate come first, so that they win.
#ifndef FARE_ADVISE_ESTIMATE_TABLES_H
#define FARE_ADVISE_ESTIMATE_TABLES_H

#include "base/err.h"
#include "record/field.h"

struct estimate_model { // time = matrix / rate + memory / bandwidth + units / (units × clock)
    char *kind;
    double matrix, memory, units;
    double clock_power;            // of base over boost clock
    double matrix_unit_efficiency; // share of their peak that matrix units reach, beside plain ones
};

struct estimate_pattern { // a word in a workload's name or command that tells the kind of net
    char *pattern, *kind;
};

struct estimate_bound {
    char *bound;
    double busy_from, busy_below; // share of time with a kernel running; -1: no limit
    double power;                 // how far such a run follows its GPU
};

struct estimate_powers { // of the rates that a class of kernels follows, on one GPU model
    char *name;
    double matrix, memory, units;
};

enum { ESTIMATE_50, ESTIMATE_80, ESTIMATE_90, ESTIMATE_95, ESTIMATE_LEVELS };

struct estimate_errors { // how far off estimates of a class were
    char *relation, *bound, *scale, *trace, *kind;
    double median_percent, p90_percent;
    double factor[ESTIMATE_LEVELS]; // the true time lay between t / factor and t × factor
    double pairs;                   // behind it
    char *sources, *borrowed;       // borrowed (optional): widened by another class
};

struct estimate_scaling {           // samples/s of n GPUs over n times those of one
    char *link;                     // nvlink, pcie, nodes
    char *bound;                    // as in bounds.csv
    char *parameters;               // "known": over the efficiency of the ring of gradients
    double gpus, median, low, high; // 90 % of the rows lay between low and high
    double rows;
};

struct estimate_launches { // what a step costs the host, at least
    char *framework;       // pytorch; "unknown"
    char *net;             // a workload, a kind of net or "unknown"
    double launches;       // of kernels, in a step
    double launch_us;      // time from one to the next
    double step_us;        // beside them
};

struct estimate_constant {
    char *name;
    double value;
};

struct estimate_tables {
    LIST_OF(struct estimate_model) models;
    LIST_OF(struct estimate_pattern) patterns;
    LIST_OF(struct estimate_bound) bounds;
    LIST_OF(struct estimate_powers) classes;
    LIST_OF(struct estimate_errors) errors;
    LIST_OF(struct estimate_scaling) scalings;
    LIST_OF(struct estimate_launches) launches;
    LIST_OF(struct estimate_constant) constants;
};

// Reads all tables. ERR_FORMAT names file, line and column.
int estimate_tables_open(struct estimate_tables **out, struct err *err) MUST_USE;
void estimate_tables_close(struct estimate_tables *tables); // null is fine

// The first row with that key; null: none.
const struct estimate_model *estimate_model(const struct estimate_tables *tables, const char *kind);
// By busy share; negative: unknown.
const struct estimate_bound *estimate_bound(const struct estimate_tables *tables, double busy);
const struct estimate_powers *estimate_powers(const struct estimate_tables *tables,
                                              const char *name);
const struct estimate_constant *estimate_constant(const struct estimate_tables *tables,
                                                  const char *name);
const struct estimate_launches *estimate_launches(const struct estimate_tables *tables,
                                                  const char *framework, const char *net);

struct estimate_class {
    const char *relation, *bound, *scale, *trace, *kind;
};
const struct estimate_errors *estimate_errors(const struct estimate_tables *tables,
                                              const struct estimate_class *class);

// The kind of net whose pattern occurs in the text, ignoring case; null: none.
const char *estimate_kind_of(const struct estimate_tables *tables, const char *text);

#endif
