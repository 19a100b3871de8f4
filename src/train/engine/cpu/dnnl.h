// SPDX-License-Identifier: Apache-2.0
// dnnl: oneDNN 2.x, opened at run time, and its primitives as the engine uses them.
//
// The library is opened once and stays open. All calls come from the thread that runs the program's
// step; inside they use the team's threads. A primitive here has its arguments bound: their memory
// is fixed when a plan is made, and running it allocates nothing.
//
// The engine uses the library's instruction sets, so ONEDNN_MAX_CPU_ISA caps both.
#ifndef FARE_TRAIN_ENGINE_CPU_DNNL_H
#define FARE_TRAIN_ENGINE_CPU_DNNL_H

#include <dnnl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "train/engine/engine.h"

// Opens the library and makes its engine. If the processor advertises AMX, child processes first
// try the library's kernels, and only those that work are used. Safe to call again.
int dnn_open(struct err *err) MUST_USE;

// Checks that the library's bfloat16 kernels work here; the error says why not. The first call
// tries them in child processes (about 50 ms).
int dnn_try_bf16(struct err *err) MUST_USE;

// Channels that lie together in an image: 16 with AVX-512, else 8. After dnn_open().
int dnn_block(void);
dnnl_format_tag_t dnn_image_tag(void); // the layout of such images

// Its version ("2.6.3") and the instruction set of its kernels ("avx512_core"); false before
// dnn_open().
bool dnn_describe(char *version, size_t version_size, char *kernels, size_t kernels_size);

// Describes a tensor; the arguments are ours, so it cannot fail.
dnnl_memory_desc_t dnn_tensor(int dims, const int64_t *dim, bool bf16, dnnl_format_tag_t tag);
bool dnn_same(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b);
size_t dnn_bytes(const dnnl_memory_desc_t *md);

// The offset of element `at` in a tensor of a blocked layout, in numbers.
int64_t dnn_offset(const dnnl_memory_desc_t *md, const int64_t *at);

enum { DNN_ARGS_MAX = 6 };

struct dnn_primitive { // zeroed: none
    const char *what;  // "convolution forward", for errors
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[DNN_ARGS_MAX];
    int arg_count;
};

void dnn_release(struct dnn_primitive *p);

enum dnn_way { DNN_FORWARD, DNN_DATA, DNN_WEIGHTS }; // back: of the input, of the parameters

// Each sets p->desc. `hint` is the forward primitive, which the ways back need. A combination that
// the library does not have is ERR_MISSING.
struct dnn_conv {
    dnnl_alg_kind_t algorithm;
    dnnl_memory_desc_t src, weights, bias, dst; // bias.ndims 0: none
    dnnl_dims_t strides, pad_before, pad_after;
    bool relu; // forward
};
int dnn_conv(struct dnn_primitive *p, enum dnn_way way, const struct dnn_conv *c,
             const struct dnn_primitive *hint, struct err *err) MUST_USE;

struct dnn_dense {
    dnnl_memory_desc_t src, weights, bias, dst;
    bool relu;
};
int dnn_dense(struct dnn_primitive *p, enum dnn_way way, const struct dnn_dense *d,
              const struct dnn_primitive *hint, struct err *err) MUST_USE;

int dnn_reorder(struct dnn_primitive *p, const dnnl_memory_desc_t *from,
                const dnnl_memory_desc_t *to, struct err *err) MUST_USE;

// c (m × n) = a b, or c + a b with `add`. Row i of a (m × k) begins at `at` + i `row`; `turned` it
// is stored as k × m. Likewise b (k × n). Uses the team's threads, but inside team_run() only the
// calling one. The library allocates what it needs for the call.
struct dnn_product {
    struct {
        int64_t m, n, k;
    } size;
    struct {
        const float *at;
        int64_t row;
        bool turned;
    } a, b;
    struct {
        float *at;
        int64_t row;
    } c;
    bool add;
};
int dnn_multiply(const struct dnn_product *p, struct err *err) MUST_USE;

// The same with both matrices in bfloat16 at `a` and `b`, without gaps between rows; the sums and c
// are f32.
int dnn_multiply_bf16(const struct dnn_product *p, const uint16_t *a, const uint16_t *b,
                      struct err *err) MUST_USE;

// The layout the library chose for an argument (dnnl_query_src_md, ...), and its scratch memory.
dnnl_memory_desc_t dnn_chosen(const struct dnn_primitive *p, dnnl_query_t which);

// Whether the library has only its reference code for it, which is slower by a factor of ten and
// more.
bool dnn_is_reference(const struct dnn_primitive *p);
size_t dnn_scratch_bytes(const struct dnn_primitive *p);

// Compiles the primitive, then binds its arguments one by one.
int dnn_compile(struct dnn_primitive *p, struct err *err) MUST_USE;
int dnn_bind(struct dnn_primitive *p, int arg, const dnnl_memory_desc_t *md, void *data,
             struct err *err) MUST_USE;
int dnn_bind_scratch(struct dnn_primitive *p, void *data, struct err *err) MUST_USE;
int dnn_rebind(struct dnn_primitive *p, int arg, const void *data, struct err *err) MUST_USE;

int dnn_run(struct dnn_primitive *p, struct err *err) MUST_USE;

// engine.product of the cpu engine (train/engine/engine.h).
int cpu_product(const struct engine_options *options, struct engine_product *out,
                struct err *err) MUST_USE;

#endif
