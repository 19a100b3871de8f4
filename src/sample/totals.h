// SPDX-License-Identifier: Apache-2.0
// totals: what a lane's looks add up to, and the figures and taints of a run's record from them.
//
// Pure arithmetic over looks: no thread, no clock, no file. totals_add() allocates nothing.
//
// Which GPUs the run used, where there are several:
//   1. those on which one of its processes was seen;
//   2. where none was seen anywhere (inside containers NVML may hide them, AMD's driver never
//   tells):
//      those that were busy at some look, on which nobody else's process was seen, and which
//      CUDA_VISIBLE_DEVICES (AMD: HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES), if set, names.
#ifndef FARE_SAMPLE_TOTALS_H
#define FARE_SAMPLE_TOTALS_H

#include "record/run.h"
#include "sample/history.h"
#include "sample/source.h"

enum { HOST_CPU, HOST_OTHER, HOST_MEMORY, HOST_POWER, HOST_FIGURES };
enum { CARD_USE, CARD_MEMORY, CARD_POWER, CARD_CLOCK, CARD_HEAT, CARD_PCIE, CARD_FIGURES };

#define THROTTLE_BITS 8

struct card_totals {
    struct maybe_int memory_peak_bytes;
    struct maybe_int temperature_max_c;
    double energy_j;                       // by its counter
    bool energy_broken;                    // the counter stopped, went back or ran impossibly fast
    bool busy;                             // at some look
    int64_t reasons_looks;                 // at which the driver said whether clocks were held down
    int64_t throttle_looks[THROTTLE_BITS]; // by the bit's place
    int64_t heat_looks, limit_looks, slow_looks;
};

struct totals {
    int64_t looks;
    struct look first, last; // last: each member as it was last known
    struct gpu gpus[GPUS_MAX];
    int gpu_count;
    bool gpus_known;
    struct card_totals cards[GPUS_MAX];
    struct history history; // its figures: the host's; then CARD_FIGURES for each GPU
};

void totals_add(struct totals *totals, const struct look *look);

// Does a list such as CUDA_VISIBLE_DEVICES name this GPU? By number or by the beginning of its
// UUID; numbers go by NVML's order, which is CUDA's where all GPUs are alike or CUDA_DEVICE_ORDER
// is PCI_BUS_ID. A null list names all; as in CUDA, what follows a bad entry counts no more.
bool visible_names(const char *list, const struct gpu *gpu);

struct totals_context {
    int64_t start_ns;         // the run's
    const char *cuda_visible; // null: not set
    const char *amd_visible;
    bool gpu_silent; // the GPUs' driver no longer answered: of them nothing counts
};

// Either lane may be null. Merges the points of `host` to what a record keeps. Fails only when
// memory runs out.
int totals_fill(struct totals *host, const struct totals *gpu, const struct totals_context *context,
                struct run *run, struct err *err) MUST_USE;

#endif
