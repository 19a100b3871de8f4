// SPDX-License-Identifier: Apache-2.0
// pattern: finds a training's steps in the order of its kernels.
//
// Kernels of an optimizer run together once per step, however many batches it accumulates, and
// never in an evaluation. Where none is recognised (XLA's are fused into others), the steps are
// what most kernels agree on: a kernel's launches come in bursts, one per step, with the layers
// inside; the number of bursts that most names share is the number of steps. The names must take
// turns, so that the trials of an autotuner are none.
#ifndef FARE_TRACE_PATTERN_H
#define FARE_TRACE_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/ring.h"

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

#endif
