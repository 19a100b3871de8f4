// SPDX-License-Identifier: Apache-2.0
// modules: kernels by name, each loaded when it is first asked for.
//
// libcuda takes seconds to compile all kernels of a text (ptx.h), and a workload needs few of them.
// So a kernel is cut out of its text and compiled alone; libcuda keeps the result in its own cache
// on disk. Where there is machine code of the text for this GPU (scripts/pack-kernels makes it for
// the bundle), all of that is loaded instead, which takes milliseconds. It is found by the text's
// SHA-256, so it cannot belong to another version. If libcuda refuses it, as an old driver may, the
// text is compiled.
//
// Machine code lies in `kernels` beside the program, or where FARE_KERNELS says; `off` is nowhere.
#ifndef FARE_ENGINE_CUDA_MODULES_H
#define FARE_ENGINE_CUDA_MODULES_H

#include "base/buf.h"
#include "engine/cuda/driver.h"
#include "engine/cuda/ptx.h"
#include "machine/libcuda.h"

struct kernel { // of a text
    const char *name;
    size_t name_bytes;
    const char *at, *end; // in the text; the end is where the next kernel begins
    void *function;       // null until it is loaded
};

struct kernels { // all of a text, in its order
    struct kernel *items;
    size_t count, cap;
};

struct modules { // of one GPU, until the process ends
    const struct libcuda *api;
    const struct cuda_about *about;
    int real; // the GPU's own capability, also where a test has lowered that of `about`
    struct loaded {
        struct kernels kernels; // empty until the text is looked through
        bool tried;             // to find machine code
        void *packed;           // its module, or null
    } texts[PTX_TEXTS_MAX];
    int from_pack; // kernels that came from machine code
};

// Whether there are kernels for this GPU and precision.
bool modules_have(const struct modules *m, enum engine_precision precision);

// libcuda's handle of a kernel. ERR_FAIL: no text for this GPU has it, or libcuda cannot load it.
int modules_find(struct modules *m, enum engine_precision precision, const char *name,
                 void **function, struct err *err) MUST_USE;

// The kernels of a text; a text of one kernel and what all kernels share.
int modules_index(const struct ptx_text *text, struct kernels *out, struct err *err) MUST_USE;
int modules_cut(const struct ptx_text *text, const struct kernels *all, const struct kernel *kernel,
                struct buf *out, struct err *err) MUST_USE;

#endif
