// SPDX-License-Identifier: Apache-2.0
// exchanges: the time that processes of a parallel command spend in exchanges with each other, by a
// library that is loaded into them (LD_PRELOAD, trace/preload): MPI's functions, and gloo's within
// PyTorch.
//
// Each process that makes such a call writes one small file in the folder that EXCHANGES_FOLDER
// names; both sides are of one build. NCCL's exchanges are kernels, which follow/trace/trace.h
// records.
#ifndef FARE_FOLLOW_TRACE_EXCHANGES_H
#define FARE_FOLLOW_TRACE_EXCHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define EXCHANGES_FOLDER "FARE_EXCHANGES" // environment variable
#define EXCHANGES_MAGIC  UINT64_C(0x31736c6c61637466)

enum { EXCHANGES_MOST = 256 }; // files per run: "0.exchanges" to "255.exchanges"

enum exchanges_by { EXCHANGES_MPI = 1, EXCHANGES_GLOO = 2 }; // bits

struct exchanges_file {
    uint64_t magic;
    uint32_t version; // sizeof(struct exchanges_file)
    uint32_t turn;    // odd while it is written; changes with every write
    uint32_t pid;
    int32_t rank, size; // -1: unknown
    uint32_t by;        // enum exchanges_by
    uint64_t count;     // calls that ended
    // Times on CLOCK_MONOTONIC. `open_ns`: the main thread was in a call, or blocked while another
    // thread was in one; `all_ns`: any thread was in one, overlapping calls counted once. `_since`:
    // it is so since then; 0: it is not.
    uint64_t open_ns, open_since_ns;
    uint64_t all_ns, all_since_ns;
    uint64_t waits; // of the main thread while another one was in a call
    uint64_t other; // calls by other threads
};

// ---- in fare

struct exchanges;

// How long one process was in exchanges until `at_ns`.
struct exchanges_one {
    int pid, rank, size; // rank and size: -1 if unknown
    unsigned by;
    int64_t at_ns;           // CLOCK_MONOTONIC
    int64_t open_ns, all_ns; // as in the file
    bool hidden;             // the calls of threads beside the training's: open_ns is unknown
};

// Makes the folder; `library` replaces the library's path (for tests). Fails only for lack of
// memory; without a folder or library exchanges_environment() is empty.
int exchanges_new(struct exchanges **calls, const char *library, struct err *err) MUST_USE;
void exchanges_free(struct exchanges *calls); // null is fine

// "NAME=value", null-terminated, owned by the calls.
char *const *exchanges_environment(const struct exchanges *calls);

// What a file's content at `now` means after the last one of it; false: it cannot be.
bool exchanges_judge(const struct exchanges_file *file, int64_t now, struct exchanges_one *last);

// The processes so far; `list` has room for EXCHANGES_MOST. What a file holds is the command's:
// figures that cannot be are left out. Returns their number.
int exchanges_read(struct exchanges *calls, struct exchanges_one *list);

#endif
