// SPDX-License-Identifier: Apache-2.0
// cupti: the few functions of NVIDIA's profiling library that we call, found in the process at run
// time, and the common beginnings of its activity records. They are the same in CUDA 11, 12 and 13:
// new versions append members.
#ifndef FARE_FOLLOW_TRACE_INJECT_CUPTI_H
#define FARE_FOLLOW_TRACE_INJECT_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CUPTI_KIND_MEMCPY = 1,
    CUPTI_KIND_MEMSET = 2,
    CUPTI_KIND_KERNEL = 3,
    CUPTI_KIND_CONCURRENT_KERNEL = 10,
};

enum { CUPTI_DOMAIN_RUNTIME = 2, CUPTI_SITE_EXIT = 1 };

enum { CUPTI_COPY_HTOD = 1, CUPTI_COPY_DTOH = 2 };

struct cupti_kernel {
    uint32_t kind;
    uint32_t ignored[3];
    uint64_t start, end; // 0: not known
    uint64_t completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    uint32_t ignored2[5];
    int64_t grid_id;
    const char *name; // mangled
    uint32_t ignored3[11];
    uint32_t graph; // of which it was launched, from CUDA 11.6 on; 0: none
};

struct cupti_copy { // memset records begin the same way
    uint32_t kind;
    uint8_t copy, ignored[3];
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
};

_Static_assert(offsetof(struct cupti_kernel, start) == 16, "start");
_Static_assert(offsetof(struct cupti_kernel, device) == 40, "device");
_Static_assert(offsetof(struct cupti_kernel, grid) == 52, "grid");
_Static_assert(offsetof(struct cupti_kernel, name) == 104, "name");
_Static_assert(offsetof(struct cupti_kernel, graph) == 156, "graph");
_Static_assert(offsetof(struct cupti_copy, device) == 32, "device");

typedef void cupti_requested(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void cupti_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                             size_t valid);

// A CUDA function is called; `site` is the first member of its data.
typedef void cupti_called(void *data, uint32_t domain, uint32_t function, const uint32_t *site);

#endif
