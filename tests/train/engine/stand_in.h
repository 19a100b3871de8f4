// SPDX-License-Identifier: Apache-2.0
// stand_in: for tests of the cuda engine that need no GPU.
#ifndef FARE_TESTS_ENGINE_STAND_IN_H
#define FARE_TESTS_ENGINE_STAND_IN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The driver is fake_gpu.so, which lies beside the test's program.
static inline void take_stand_in(const char *program)
{
    char path[4096];
    const char *slash = strrchr(program, '/');
    snprintf(path, sizeof path, "%.*s/fake_gpu.so", (int)(slash ? slash - program : 1),
             slash ? program : ".");
    setenv("FARE_CUDA", path, 1);
}

#endif
