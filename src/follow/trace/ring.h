// SPDX-License-Identifier: Apache-2.0
// ring: the file through which a traced process hands its GPU's records to fare.
//
// The injected library (trace/inject) creates one file per process in the folder that TRACE_FOLDER
// names, maps it and writes; fare reads it with pread() and writes only `wanted` and `tail`. Both
// sides are of one build: the version is checked, nothing is converted. The writer never waits: if
// fare is slow, records are dropped and counted.
#ifndef FARE_FOLLOW_TRACE_RING_H
#define FARE_FOLLOW_TRACE_RING_H

#include <stdint.h>

#define TRACE_FOLDER "FARE_TRACE" // environment variable
#define TRACE_MAGIC  UINT64_C(0x3165636172746566)

enum {
    TRACE_RINGS = 32,        // files per run: "0.ring" to "31.ring"
    TRACE_RECORDS = 1 << 17, // a power of two
    TRACE_NAMES = 4096,      // the first is empty: a record without a name
    TRACE_NAME_BYTES = 480,  // longer names are cut
    TRACE_TEXT_BYTES = 1 << 19,
    TRACE_DETACH_SINCE = 24, // CUPTI's version: detaching it is known to be safe, from CUDA 12.6 on
};

enum trace_kind {
    TRACE_KERNEL,
    TRACE_COPY_IN,     // host to device
    TRACE_COPY_OUT,    // device to host
    TRACE_COPY_WITHIN, // device to device, also to another one
    TRACE_SET,
    TRACE_KINDS,
};

enum trace_state {
    TRACE_WAITING, // until fare wants records
    TRACE_RECORDING,
    TRACE_ENOUGH,   // as many records as were wanted; waits until none are
    TRACE_LIMIT,    // from here on it does not begin again: too long or too many records
    TRACE_UNREAD,   // fare does not read any more
    TRACE_NO_CUPTI, // there is none
    TRACE_OTHER,    // another profiler
    TRACE_FAILED,   // CUPTI refused
};

struct trace_record {
    uint64_t start_ns;    // CUPTI's clock
    uint32_t duration_ns; // at most 4.3 s
    uint32_t name;        // of a kernel: index into the names
    uint32_t size;        // kernels: blocks in the grid; copies: KiB, rounded up
    uint16_t stream;
    uint8_t device;
    uint8_t kind;    // enum trace_kind
    uint32_t launch; // of a kernel: the driver's count of launches, recorded or not
};

struct trace_name {
    uint32_t at, len; // in the text
};

// Every member has one writer.
struct trace_header {
    uint64_t magic;
    uint32_t version; // sizeof(struct trace_file)
    uint32_t pid;
    uint32_t state;     // enum trace_state
    uint32_t cupti;     // its version
    uint64_t head;      // records written; the last TRACE_RECORDS of them are in the file
    uint64_t dropped;   // records that did not fit; estimated where a buffer was missing
    uint64_t cupti_ns;  // the same moment by CUPTI's clock ...
    uint64_t clock_ns;  // ... and by CLOCK_MONOTONIC
    uint32_t names;     // including the empty one
    uint32_t text_used; // bytes
    int32_t rank, size; // of the process in a parallel job (follow/trace/worker.h); -1: it has none
    uint64_t ended_ns;  // when it exited, by CLOCK_MONOTONIC; 0: it runs, or was killed
    // written by fare:
    uint32_t wanted; // this many records from now on, at least; 0: do not record
    uint32_t unused;
    uint64_t tail; // records read
};

struct trace_file {
    struct trace_header header;
    struct trace_name names[TRACE_NAMES];
    char text[TRACE_TEXT_BYTES];
    struct trace_record records[TRACE_RECORDS];
};

#endif
