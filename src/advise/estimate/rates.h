// SPDX-License-Identifier: Apache-2.0
// rates: what a device's data sheet promises to a training: matrix rate at a precision, memory
// bandwidth, units and clocks; and the time that the fitted formula makes of them.
//
// A rate that is missing, zero or not a number makes the result unknown (0), never a figure.
#ifndef FARE_ADVISE_ESTIMATE_RATES_H
#define FARE_ADVISE_ESTIMATE_RATES_H

#include <stdbool.h>

#include "advise/estimate/estimate.h"
#include "base/err.h"
#include "record/field.h"
#include "tables/device.h"

#define ESTIMATE_PRECISIONS(X)                                                                     \
    X(FP64, "fp64", "f64")                                                                         \
    X(FP32, "fp32", "f32")                                                                         \
    X(TF32, "tf32", "tf32")                                                                        \
    X(FP16, "fp16", "f16")                                                                         \
    X(BF16, "bf16", "bf16")                                                                        \
    X(FP8, "fp8", "fp8")

enum rate_precision {
#define X(name, text, other) RATE_##name,
    ESTIMATE_PRECISIONS(X)
#undef X
        RATE_PRECISIONS,
    RATE_UNKNOWN = RATE_PRECISIONS,
};
extern const char *const rate_names[RATE_PRECISIONS]; // as devices have them: "fp32"

// From a record's word, "f32" or "fp32"; RATE_UNKNOWN for null and any other.
enum rate_precision rate_precision(const char *text);

// The same as the model sees it: times the clock that the device holds and the share that matrix
// units reach.
double rate_effective(const struct estimate_model *model, const struct device *device,
                      enum rate_precision precision);

// Units × the clock in GHz that they hold; 0: unknown.
double rate_units(const struct estimate_model *model, const struct device *device);

// What a step takes, in units that cancel between devices; 0: unknown.
double rate_time(const struct estimate_model *model, const struct device *device,
                 enum rate_precision precision);

// The first figure of a GPU that rate_time() lacks, "boost clock"; null: none.
const char *rate_missing(const struct device *device, enum rate_precision precision);

// fp32 TFLOP/s of that many hardware threads, at the middle of base and boost clock; 0: unknown.
double rate_cpu(const struct device *device, double threads);

// traced: scales a step class by class, from the GPU's own account of it (run.account).

bool traced_known(const struct run *run); // the run has an account that can be scaled

// The rate of copies on a GPU there ÷ here, as measured; 0: not measured on both.
double traced_copies(const struct estimate_place *from, const struct estimate_place *to);

// Time of a step there ÷ here, 0 if unknown; fills the estimate's parts. `precision`: of kernels
// whose name does not tell theirs. `gpu_bound`: all of the step follows the GPU; otherwise the host
// takes its time in any case. `measured`: all rates were measured on both.
double traced_ratio(const struct estimate_tables *tables, const struct estimate_model *model,
                    const struct run *run, const struct estimate_place *from,
                    const struct estimate_place *to, enum rate_precision precision, bool gpu_bound,
                    struct estimate *out, bool *measured);

// least: from a run on CPUs, the least time that it takes on GPUs. A CPU does not show what a GPU
// waits for, so there is no more to say: docs/estimating.md.

struct least_ask {
    const struct estimate_tables *tables;
    const struct run *run;
    const struct estimate_place *to;
    double time_s;     // of the training, as measured
    double cpu_tflops; // of the CPUs that it used; 0: unknown
};

// Turns `out`, with its `net`, into a lower bound; ESTIMATE_UNKNOWN: there is none.
void least_make(const struct least_ask *ask, struct estimate *out);

// ---- memory ----
//
// memory: whether a training fits into the memory of other GPUs.
//
// The driver's peak counts what a framework's allocator keeps for later: up to 1.4 times a GPU's
// memory it is unsure. Where no peak is known (a run on a CPU, a published result), that is said;
// GPUs are left out on which the weights alone do not fit, by the size in the net's name ("70b").

// Below tables with such rows.
#define MEMORY_UNKNOWN                                                                             \
    "How much GPU memory it needs is unknown: on some of these machines it may not fit."
#define MEMORY_UNSURE                                                                              \
    "may not fit: the run held more GPU memory than there is; some of it may be its allocator's "  \
    "cache."

// The most that the run held on one GPU, in bytes; 0: unknown.
int64_t estimate_memory_need(const struct run *run);

// `why` for all but ESTIMATE_FITS: "unknown: the run was on a CPU, and the A100 has 40 GiB". A null
// `from` is unknown.
enum estimate_fit estimate_memory(const struct run *run, const struct estimate_place *from,
                                  const struct estimate_place *to, char why[200]);

#endif
