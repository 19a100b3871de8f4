// SPDX-License-Identifier: Apache-2.0
// What tests/follow/trace/traced.c asks of the stand-in for CUPTI (fake_cupti.c).
#ifndef FARE_TESTS_TRACE_FAKE_CUPTI_H
#define FARE_TESTS_TRACE_FAKE_CUPTI_H

#include <stdint.h>

// A kernel (kind 10), copy (1) or memory set (2) ended; nothing happens if its kind is off.
struct fake_record {
    uint32_t kind;
    const char *name;
    int copy; // 1: to the device, 2: to the host, 8: on it
    uint64_t start, end, bytes;
    uint32_t device, stream;
    int32_t blocks;
    uint32_t graph;
};

#endif
