// SPDX-License-Identifier: Apache-2.0
// estimate: the time of a measured run on a machine where nobody measured it, with an interval and
// a class. docs/estimating.md defines the model and says how far off it was.
//
// Pure functions: they read the run, the device table and advise/estimate/rates.h, and nothing
// else. A figure that cannot be computed (a missing rate, zero bandwidth, NaN) is unknown, with a
// reason.
#ifndef FARE_ADVISE_ESTIMATE_ESTIMATE_H
#define FARE_ADVISE_ESTIMATE_ESTIMATE_H

#include "base/buf.h"
#include "tables/device.h"
#include "record/run.h"

// ---- tables: the coefficients, classes and errors of estimates: share/estimate/*.csv, made by
// bench/estimate_fit.py and described in docs/estimating.md. Rows of the user's files of the same
// names in ~/.config/fare/estimate come first, so that they win.

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

enum estimate_kind {
    ESTIMATE_UNKNOWN,    // no figure: `why`
    ESTIMATE_IMPOSSIBLE, // it would not run there: `why`
    ESTIMATE_MEASURED,   // the same device and number of them
    ESTIMATE_BOUND,      // at least this long, and nobody knows how much longer: `why`
    ESTIMATE_ESTIMATED,
    ESTIMATE_ROUGH, // an order of magnitude: another vendor or processor, or over ×/÷ 2
};

// Whether the GPU's memory suffices (advise/estimate/rates.h).
enum estimate_fit {
    ESTIMATE_FITS,
    ESTIMATE_FIT_UNSURE,
    ESTIMATE_FIT_UNKNOWN,
    ESTIMATE_FITS_NOT,
};

// Where a run was measured, or would run. Zero: unknown.
struct estimate_place {
    const struct device *device;       // the GPU, or the processor of a run on CPUs; null: unknown
    int gpus;                          // used, in all; 0: runs on CPUs
    double share;                      // of one GPU's time, 0.125; 0: all of it
    int machines;                      // used; 0: one
    double cpus;                       // hardware threads: in use by a run on CPUs, else there
    double cpus_most;                  // that it may use if no other program does; 0: the same
    int64_t gpu_memory_bytes;          // of one GPU; 0: as the device has
    const struct machine_rates *rates; // (optional) measured there
    double clock_mhz;                  // of the GPU, measured
    double thread_ops_per_s;           // speed of one thread, measured
};

#define ESTIMATE_PARTS 24
struct estimate_part {            // of the step, as measured
    const char *name, *precision; // the run's own texts; precision null: none
    double share;                 // of the step
    double factor;                // its time there ÷ its time here
    bool measured;                // by rates measured on both
};

// Several GPUs: samples/s of n over n times those of one, at the same batch per GPU.
struct estimate_efficiency {
    double median, low, high; // 90 %
    double rows;              // public trainings behind it
    const char *link;         // "NVLink"; null: one GPU
    double bytes_per_s;       // of the link in one direction, by the data sheet; 0: unknown
    // The gradients in each step, if the number of parameters is known; else 0.
    double bytes, reach;              // reach: share of the link's rate that they get
    double step_s, ring_s, exposed_s; // of one GPU; on the link; of that, what the step waits for
};

struct estimate_several {
    struct estimate_efficiency from, to;
    double factor;     // time of as many samples there ÷ here, on the same device
    const char *bound; // the source's, as in bounds.csv
};

// The interval holds with 90 %. A lower bound is all of time_s, low_s and high_s.
struct estimate {
    enum estimate_kind kind;
    const char *reason; // without a figure: `why` in a few words, the same for all machines
    char why[200];
    enum estimate_fit fit;
    char memory[200];                           // why it may not fit, or why that is unknown
    double time_s, low_s, high_s;               // for as many samples, at the same batch per GPU
    double device;                              // time of a step there ÷ here
    struct estimate_several several;            // the change of the number of GPUs
    bool guessed_precision;                     // unknown: the range of the usual ones
    bool part;                                  // of a GPU: rough
    bool modelled;                              // from a model's description, not from a run
    bool unknown_processor;                     // there: a middling one is assumed
    const char *net;                            // its kind; null: unknown
    double busy;                                // share; negative: unknown
    const struct estimate_errors *class;        // null: measured on this device
    struct estimate_part parts[ESTIMATE_PARTS]; // traced runs; else none
    size_t part_count;
};

struct estimate_time {   // of a step or of the training, in seconds
    double s, low, high; // low and high: 95 %; 0: no interval
};

// The place of a measured run. Its texts and rates belong to the run.
struct estimate_place estimate_place_of(const struct run *run, const struct devices *devices);

void estimate_make(const struct estimate_tables *tables, const struct run *run,
                   const struct estimate_place *from, const struct estimate_place *to,
                   const struct estimate_time *time, struct estimate *out);

// Evidence beside the formula, in this order. Each leaves an estimate without a time as it is.

// Trainings of the same kind of net that were measured on both devices with the same software,
// number of GPUs and precision, bound by the same.
struct estimate_calibration {
    size_t trainings;
    double error; // mean of log(measured / estimated)
};

// Corrects the estimate of an untraced run by them and gives it its class's interval for that.
// False, without a change: there are none, or no such class.
bool estimate_calibrate(const struct estimate_tables *tables,
                        const struct estimate_calibration *calibration, struct estimate *estimate);

// One estimate from several for the same place and training, the narrowest first, by inverse
// variance in the logarithm. They share the target's error, so the interval stays near the
// narrowest: docs/estimating.md. `weights` get their shares.
#define ESTIMATE_SOURCES 4
void estimate_combine(const struct estimate_tables *tables, const struct estimate *sources,
                      size_t count, double weights[ESTIMATE_SOURCES], struct estimate *out);

// By which factor the half-width (as a logarithm) of a class changes with the errors that the user
// saw, each ÷ the half-width of its estimate.
double estimate_learn(const struct estimate_errors *class, const double *errors, size_t count);
void estimate_stretch(struct estimate *estimate, double factor); // the interval

void estimate_set_kind(struct estimate *estimate); // by its class and interval

#define ESTIMATE_NO_MEMORY "not enough GPU memory"
#define ESTIMATE_NO_GPU    "no GPU"
#define ESTIMATE_NEEDS_CPU "only a run on a CPU tells the time on a processor"

// "measured", "estimated ±16 %", "rough ×2.4, may not fit", "unknown", "does not fit".
#define ESTIMATE_WORDS 40
// How far off it may be, with 90 %: "±30 %", "×3.4"; "": it is no estimate.
enum { ESTIMATE_SPREAD = 24 };
void estimate_spread(const struct estimate *e, char out[ESTIMATE_SPREAD]);
void estimate_words(const struct estimate *estimate, char out[ESTIMATE_WORDS]);

// "another architecture, bound by the GPU, one GPU, without a trace: 390 pairs".
void estimate_class_words(const struct estimate *estimate, struct buf *out);

// Null, or why it is unknown. `bound` as in bounds.csv; `step_s` (0: unknown): of one GPU. In one
// machine the gradients of `parameters` (0: unknown) cross the link in each step.
const char *estimate_efficiency(const struct estimate_tables *tables,
                                const struct estimate_place *place, const char *bound,
                                double parameters, double step_s, struct estimate_efficiency *out);

// From the run's number of GPUs to another; `device`: the time of a step there ÷ here. Null, or why
// it is unknown.
const char *estimate_several(const struct estimate_tables *tables, const struct run *run,
                             const struct estimate_place *from, const struct estimate_place *to,
                             const char *bound, double device, struct estimate_several *out);

// Numbers, efficiency and communication, each on a line; nothing if both are one GPU.
void estimate_several_words(const struct estimate *estimate, const struct estimate_place *from,
                            const struct estimate_place *to, struct buf *out);

#endif
