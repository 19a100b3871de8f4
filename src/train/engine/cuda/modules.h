// SPDX-License-Identifier: Apache-2.0
// modules: kernels by name, each loaded when it is first asked for. They are PTX, made from *.cu by
// the build (kernel_texts in CMakeLists.txt).
//
// libcuda takes seconds to compile all kernels of a text, and a workload needs few of them.
// So a kernel is cut out of its text and compiled alone; libcuda keeps the result in its own cache
// on disk. Where there is machine code of the text for this GPU (scripts/pack-kernels makes it for
// the bundle), all of that is loaded instead, which takes milliseconds. It is found by the text's
// SHA-256, so it cannot belong to another version. If libcuda refuses it, as an old driver may, the
// text is compiled.
//
// Machine code lies in `kernels` beside the program, or where FARE_KERNELS says; `off` is nowhere.
#ifndef FARE_TRAIN_ENGINE_CUDA_MODULES_H
#define FARE_TRAIN_ENGINE_CUDA_MODULES_H

#include "base/buf.h"
#include "train/engine/cuda/driver.h"
#include "machine/libcuda.h"

struct ptx_text {
    const char *name;       // of the build's file, as sm_80_bf16
    const char *text, *end; // many kernels, and the zero behind them
    int capability;         // the compute capability it is for, and newer ones,
    bool alone;             // but no other if it has the instructions of sm_90a, say
    int version;            // of PTX: 70 is 7.0
    enum engine_precision precision;
};

// The newest kinds of GPU come first.
extern const struct ptx_text ptx_texts[];
extern const int ptx_text_count;
#define PTX_TEXTS_MAX 32

// Whether a GPU and its driver (13000 is CUDA 13.0) take it.
bool ptx_fits(const struct ptx_text *text, int capability, int driver,
              enum engine_precision precision);

struct ptx_kernel { // of a text
    const char *name;
    size_t name_bytes;
    const char *at, *end; // in the text; the end is where the next kernel begins
    void *function;       // null until it is loaded
};

struct ptx_kernels { // all of a text, in its order
    struct ptx_kernel *items;
    size_t count, cap;
};

struct modules { // of one GPU, until the process ends
    const struct libcuda *api;
    const struct gpu_about *about;
    int real; // the GPU's own capability, also where a test has lowered that of `about`
    struct loaded {
        struct ptx_kernels kernels; // empty until the text is looked through
        bool tried;                 // to find machine code
        void *packed;               // its module, or null
    } texts[PTX_TEXTS_MAX];
    int from_pack; // kernels that came from machine code
};

// Whether there are kernels for this GPU and precision.
bool modules_have(const struct modules *m, enum engine_precision precision);

// libcuda's handle of a kernel. ERR_FAIL: no text for this GPU has it, or libcuda cannot load it.
int modules_find(struct modules *m, enum engine_precision precision, const char *name,
                 void **function, struct err *err) MUST_USE;

// The kernels of a text; a text of one kernel and what all kernels share.
int modules_index(const struct ptx_text *text, struct ptx_kernels *out, struct err *err) MUST_USE;
int modules_cut(const struct ptx_text *text, const struct ptx_kernels *all,
                const struct ptx_kernel *kernel, struct buf *out, struct err *err) MUST_USE;

#endif
