// SPDX-License-Identifier: Apache-2.0
// totals: adds up a lane's readings and fills the run's record from them.
//
// Pure arithmetic: no thread, clock or file. totals_add() allocates nothing.
//
// Of several GPUs, the run used those on which one of its processes was seen. If none was seen
// anywhere (NVML may hide them in containers, AMD's driver never shows them), it used those that
// were busy, had no foreign process, and are in CUDA_VISIBLE_DEVICES (AMD: HIP_VISIBLE_DEVICES,
// ROCR_VISIBLE_DEVICES) if set.
#ifndef FARE_MACHINE_SAMPLE_TOTALS_H
#define FARE_MACHINE_SAMPLE_TOTALS_H

#include <stdint.h>

#include "record/run.h"
#include "machine/sample/source.h"

// ---- history: figures over time in bounded memory.
//
// A point holds the time-weighted mean of each figure over an interval. When the points run out,
// neighbours are merged and each point then covers twice as many readings. Overall means and
// integrals stay exact.

#define HISTORY_POINTS 400 // twice as many as a record keeps

struct stretch {
    int64_t from_ns, to_ns;
};

struct mean {
    double sum, seconds; // of value × seconds; 0 seconds: unknown
};

struct figure_history {
    int width; // figures per point
    int count;
    int64_t stride; // readings per point
    int64_t taken;  // readings in the last point
    struct stretch when[HISTORY_POINTS];
    struct mean *figures; // (HISTORY_POINTS, width), zeroed, owned by the caller
};

// The values from `from_ns` to `to_ns`, which follows the previous call's interval.
void history_add(struct figure_history *history, int64_t from_ns, int64_t to_ns,
                 const struct maybe_real *values);

void history_halve(struct figure_history *history); // merges neighbours

struct maybe_real history_at(const struct figure_history *history, int point, int figure);
struct maybe_real history_mean(const struct figure_history *history, int figure); // over all points
double history_sum(const struct figure_history *history, int figure); // of value × seconds

// The mean from `from_ns` to `to_ns`, over the points that overlap.
struct maybe_real history_between(const struct figure_history *history, int figure, int64_t from_ns,
                                  int64_t to_ns);

// ---- totals

enum {
    HOST_CPU,
    HOST_OTHER,
    HOST_MEMORY,
    HOST_POWER,
    HOST_WORKERS,
    HOST_DISK_WAIT,
    HOST_STALLED,
    HOST_FIGURES
};
enum {
    CARD_USE,
    CARD_MEMORY,
    CARD_POWER,
    CARD_CLOCK,
    CARD_HEAT,
    CARD_PCIE,
    CARD_SM,
    CARD_TENSOR,
    CARD_DRAM,
    CARD_LINK, // PCIe too, but by GPM
    CARD_FIGURES
};

#define THROTTLE_BITS 8

struct card_totals {
    struct maybe_int memory_peak_bytes;
    struct maybe_int temperature_max_c;
    double energy_j;          // from its counter
    bool energy_broken;       // the counter stopped, went back or ran impossibly fast
    bool busy;                // in some reading
    struct mean use;          // percent, over all readings
    struct mean sm;           // the same of its multiprocessors, by GPM
    int64_t reasons_readings; // readings with throttling information
    int64_t throttle_readings[THROTTLE_BITS]; // by bit number
    int64_t heat_readings, limit_readings, slow_readings;
};

struct totals {
    int64_t readings;
    struct sample_reading first, last; // last: the last known value of each member
    struct gpu gpus[GPUS_MAX];
    int gpu_count;
    bool gpus_known;
    struct card_totals cards[GPUS_MAX];
    struct figure_history history; // the host's figures, then CARD_FIGURES per GPU
};

void totals_add(struct totals *totals, const struct sample_reading *reading);

// True if a list such as CUDA_VISIBLE_DEVICES names this GPU, by number or UUID prefix; null names
// all. Numbers follow NVML's order, which is CUDA's if all GPUs are alike or CUDA_DEVICE_ORDER is
// PCI_BUS_ID. As in CUDA, entries after a bad one are ignored.
bool visible_names(const char *list, const struct gpu *gpu);

struct totals_context {
    int64_t start_ns;         // the run's
    const char *cuda_visible; // null: not set
    const char *amd_visible;
    bool gpu_silent; // the GPU driver stopped responding: ignore its figures
};

// Marks the GPUs that the run used and returns their number.
int totals_used(const struct totals *gpu, const struct totals_context *context,
                bool used[GPUS_MAX]);

// Either lane may be null. Merges the points of `host` to fit a record. Fails only when memory runs
// out.
int totals_fill(struct totals *host, const struct totals *gpu, const struct totals_context *context,
                struct run *run, struct err *err) MUST_USE;

// Fills run->use.steady: means from run->steady.from_s to to_s, if known. Points of the history
// that lie partly inside count in part.
void totals_steady(const struct totals *host, const struct totals *gpu,
                   const struct totals_context *context, struct run *run);

#endif
