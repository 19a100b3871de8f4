// SPDX-License-Identifier: Apache-2.0
// account: where the GPU's time goes in a training step: its work by class, and why it waits.
//
// Only whole steps count, and none that is much longer than the others: those hold an evaluation, a
// checkpoint or a compilation. Where several devices are used, the busiest one stands for all.
#ifndef FARE_FOLLOW_TRACE_ACCOUNT_H
#define FARE_FOLLOW_TRACE_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "record/run.h"
#include "follow/trace/ring.h"

// ---- classes: what a GPU does in a kernel, and in which precision, by the kernel's name.
//
// Names come from cuBLAS, cuDNN, CUTLASS, PyTorch, Triton, XLA, NCCL and others, mangled or not.
// They are no interface: an unknown one is "other", and a precision that the name does not tell is
// unknown.

#define TRACE_CLASSES(X)                                                                           \
    X(MATMUL, "matrix products")                                                                   \
    X(CONVOLUTION, "convolutions")                                                                 \
    X(ATTENTION, "attention")                                                                      \
    X(ELEMENTWISE, "element-wise and reductions")                                                  \
    X(OPTIMIZER, "optimizer")                                                                      \
    X(COLLECTIVE, "collectives")                                                                   \
    X(IN, "copies to the GPU")                                                                     \
    X(OUT, "copies from the GPU")                                                                  \
    X(WITHIN, "copies on the GPU")                                                                 \
    X(UNKNOWN, "other")

#define TRACE_PRECISIONS(X)                                                                        \
    X(NONE, 0)                                                                                     \
    X(F64, "f64")                                                                                  \
    X(F32, "f32")                                                                                  \
    X(TF32, "tf32")                                                                                \
    X(BF16, "bf16")                                                                                \
    X(F16, "f16")                                                                                  \
    X(FP8, "fp8")                                                                                  \
    X(FP4, "fp4")                                                                                  \
    X(INT8, "int8")

enum trace_class {
#define X(name, text) CLASS_##name,
    TRACE_CLASSES(X)
#undef X
        CLASSES
};
enum trace_precision {
#define X(name, text) PRECISION_##name,
    TRACE_PRECISIONS(X)
#undef X
        PRECISIONS
};

extern const char *const class_names[CLASSES];
extern const char *const precision_names[PRECISIONS]; // null: unknown

struct kernel_class {
    unsigned char class;     // enum trace_class
    unsigned char precision; // enum trace_precision; of products, convolutions and attention
};

struct kernel_class classify_kernel(const char *name);

// ---- pattern: finds a training's steps in the order of its kernels.
//
// Kernels of an optimizer run together once per step, however many batches it accumulates, and
// never in an evaluation. Where none is recognised (XLA's are fused into others), the steps are
// what most kernels agree on: a kernel's launches come in bursts, one per step, with the layers
// inside; the number of bursts that most names share is the number of steps. The names must take
// turns, so that the trials of an autotuner are none.

// A record, with its class looked up.
struct trace_item {
    int64_t start_ns, end_ns;
    uint32_t key;          // the name's index, or TRACE_NAMES + kind for copies
    uint32_t size, launch; // as in struct trace_record
    uint8_t kind, class, precision, device;
};

enum { TRACE_KEYS = TRACE_NAMES + TRACE_KINDS, PATTERN_LEAST = 4 };

struct pattern {
    int64_t *ends;      // when each step's optimizer, or another fixed point of the step, ended
    uint32_t *launches; // the last launch before
    size_t count;       // 0, or at least PATTERN_LEAST
};

// The items must be sorted by start. The last step counts only if others follow it.
int pattern_find(const struct trace_item *items, size_t count, struct pattern *out,
                 struct err *err) MUST_USE;
void pattern_release(struct pattern *pattern);

// ---- account

enum account_gap { GAP_DATA, GAP_SYNC, GAP_HOST, GAP_SHORT, GAPS };

struct account {
    int64_t steps, covered_ns, step_ns;
    int64_t busy_ns, gap_ns[GAPS];
    int64_t exposed_ns;                   // of busy_ns: nothing but collectives runs
    int64_t work_ns[CLASSES][PRECISIONS]; // sums of times, which may overlap
    double launches;                      // per step, median
};

// The items must be sorted by start. Without steps the result is zero.
int account_make(const struct trace_item *items, size_t count, const struct pattern *pattern,
                 struct account *out, struct err *err) MUST_USE;

// Adds up several processes' accounts.
void account_add(struct account *to, const struct account *other);

// Time in collectives, which may overlap.
int64_t account_collectives_ns(const struct account *account);

int account_record(const struct account *account, struct run_account *record,
                   struct err *err) MUST_USE;

#endif
