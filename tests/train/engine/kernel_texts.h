// SPDX-License-Identifier: Apache-2.0
// Kernels that are written by hand, for the tests of the machine that runs them (ptx/ptx.h).
#ifndef FARE_TESTS_ENGINE_KERNEL_TEXTS_H
#define FARE_TESTS_ENGINE_KERNEL_TEXTS_H

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/engine/ptx/ptx.h"

enum { ROOM = 1 << 14 };

static _Alignas(256) unsigned char memory[ROOM]; // what kernels may use of this program's

static inline struct ptx_memory find_memory(uint64_t address)
{
    uint64_t from = (uint64_t)(uintptr_t)memory;
    return address >= from && address < from + ROOM ? (struct ptx_memory){from, from + ROOM, NULL}
                                                    : (struct ptx_memory){0};
}

// A kernel `k` with registers of each kind, whose argument is where the memory begins: %rd0. %r0 is
// the thread's number, %rd1 the place of its word.
static const char head[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                           ".extern .shared .align 16 .b8 launched[];\n"
                           ".visible .entry k(\n\t.param .align 8 .b8 k_param_0[8]\n)\n"
                           ".maxntid 256, 1, 1\n";
static const char registers[] = "{\n"
                                ".reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<40>;\n"
                                ".reg .f32 %f<40>;\n.reg .b64 %rd<20>;\n.reg .f64 %d<9>;\n"
                                "ld.param.u64 %rd0, [k_param_0];\nmov.u32 %r0, %tid.x;\n"
                                "mul.wide.u32 %rd1, %r0, 4;\nadd.s64 %rd1, %rd0, %rd1;\n";

static char why[300];

static const char *directives = ""; // that the kernels have beside the number of threads

// The text of a kernel stays where it is for good: it is kept by it.
static inline bool launch_text(const char *body, struct ptx_launch launch, const void *begin)
{
    size_t bytes = sizeof head + strlen(directives) + sizeof registers + strlen(body) + 16;
    char *text = malloc(bytes);
    assert_non_null(text);
    snprintf(text, bytes, "%s%s%s%s\nret;\n}\n", head, directives, registers, body);
    const struct ptx_kernel *k = ptx_kernel(text, "k", why, sizeof why);
    uint64_t args[] = {(uint64_t)(uintptr_t)begin};
    launch.args = args;
    if (!k)
        free(text);
    return k && ptx_run(k, &launch, why, sizeof why);
}

static inline bool run_text(const char *body, unsigned blocks, unsigned threads, unsigned shared)
{
    struct ptx_launch launch = {blocks, 1, threads, shared, NULL, find_memory, NULL};
    return launch_text(body, launch, memory);
}

static inline void runs(const char *body, unsigned threads)
{
    if (!run_text(body, 1, threads, 4096))
        fail_msg("%s", why);
}

static inline void fails(const char *body, unsigned threads, const char *because)
{
    if (run_text(body, 1, threads, 4096))
        fail_msg("this must fail (%s):\n%s", because, body);
    if (!strstr(why, because))
        fail_msg("\"%s\" has no \"%s\"", why, because);
}

static inline uint32_t word(int i)
{
    uint32_t x;
    memcpy(&x, memory + 4 * i, 4);
    return x;
}

static inline float number(int i)
{
    float x;
    memcpy(&x, memory + 4 * i, 4);
    return x;
}

static inline void put(int i, float x)
{
    memcpy(memory + 4 * i, &x, 4);
}

static const char copy_16[] = // of the first 512 bytes of memory, into shared memory
    "shl.b32 %r1, %r0, 4; cvt.u64.u32 %rd2, %r1; add.s64 %rd3, %rd0, %rd2;\n"
    "cp.async.cg.shared.global [%r1], [%rd3], 16, 16;\ncp.async.commit_group;\n";

#endif
