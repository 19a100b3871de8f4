// SPDX-License-Identifier: Apache-2.0
// trace: records what the GPU does in a user's command, by the library that CUDA loads into it
// (trace/inject), and turns the records into steps and into the run's account.
//
// A failure never harms the command or the measurement: it only says why there is no account.
// Memory is bounded: of each of the first few processes the newest records are kept.
#ifndef FARE_FOLLOW_TRACE_TRACE_H
#define FARE_FOLLOW_TRACE_TRACE_H

#include <stdbool.h>

#include "record/run.h"
#include "follow/trace/account.h"

struct trace;

// Makes the folder for the rings. `library` replaces the library's path (for tests); null: beside
// the program. Fails only for lack of memory; otherwise trace_why_off() says why it is off.
int trace_new(struct trace **trace, const char *library, struct err *err) MUST_USE;
void trace_free(struct trace *trace); // removes the folder; null is fine

// Entries for the command's environment, "NAME=value"; null-terminated, and empty if it is off.
// Owned by the trace.
char *const *trace_environment(const struct trace *trace);

// Reads what is new; call it several times a second. `*steps` is the number of steps found since
// the last call, and `*at_ns` when the last of them ended (clock_now_ns).
int trace_read(struct trace *trace, int64_t *steps, int64_t *at_ns, struct err *err) MUST_USE;

// What to record; at first nothing. A record costs the program up to 6 µs, so it records in bursts,
// which together take at most 1 % of the time since the process began to use CUDA. Bursts for an
// account end when it is good enough. Bursts for the steps go on: the driver numbers all launches,
// so that steps between two bursts are counted too.
enum trace_want { TRACE_NOTHING, TRACE_ACCOUNT, TRACE_STEPS };
void trace_record(struct trace *trace, enum trace_want want);

// Whether the GPU is the bottleneck, as far as its driver tells. CUPTI before CUDA 12.6 cannot be
// detached, so programs that wait for the host are not recorded with it.
void trace_gpu_bound(struct trace *trace, bool gpu_bound);

// Launches did not tell how many steps there were between bursts: their number is derived from the
// step time.
bool trace_by_time(const struct trace *trace);

// The account is good enough to turn it off, and so is the time of steps that it does not cover.
bool trace_enough(const struct trace *trace);

// After the command's end: reads and analyses the rest; trace_read() then gives the last steps.
int trace_end(struct trace *trace, struct err *err) MUST_USE;

// Then: when the process whose steps count exited, by itself (clock_now_ns), or when trace_end()
// was called. On a busy machine fare notices an exit a tenth of a second late, or more.
int64_t trace_exit_ns(const struct trace *trace);

// Processes whose steps have collectives (NCCL); `list` has room for TRACE_RANKS. Returns their
// number.
enum { TRACE_RANKS = 32 };
struct trace_rank {
    int rank, size; // of the parallel job; -1: unknown
    int pid;
    int64_t covered_ns; // the time of its steps, as long as they are on average,
    int64_t exposed_ns; // and of that with nothing but collectives
};
int trace_ranks(const struct trace *trace, struct trace_rank *list);

int trace_account(struct trace *trace, struct run_account *account, struct err *err) MUST_USE;

// ---- rings: reads one traced process's ring (follow/trace/ring.h) into a window of its newest
// records, sorted. The file is the command's: every figure in it is checked, and it is read, never
// mapped, since it could be cut short at any time.

enum { RING_WINDOW = 1 << 18 }; // records kept

struct ring {
    int fd;       // -1: not open
    bool damaged; // not read any more
    struct trace_header header;
    int64_t opened_ns; // soon after the process began to use CUDA
    uint64_t read;     // records
    struct kernel_class classes[TRACE_NAMES];
    uint32_t names;           // classified
    uint64_t base_ns;         // CUPTI's time of the first record
    struct trace_item *items; // times from there on
    size_t count, sorted;
};

// Zero if there is none (yet), one if it is open now.
int ring_open(struct ring *ring, const char *folder, int number);
void ring_close(struct ring *ring);

int ring_read(struct ring *ring, struct err *err) MUST_USE;
void ring_sort(struct ring *ring);
void ring_want(const struct ring *ring, uint32_t records);

// An item's time on CLOCK_MONOTONIC.
int64_t ring_clock(const struct ring *ring, int64_t item_ns);

#endif
