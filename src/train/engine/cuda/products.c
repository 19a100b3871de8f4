// SPDX-License-Identifier: Apache-2.0
// Products of square matrices, alone on the GPU: with the kernel of dense layers, and by cuBLASLt,
// the library that frameworks use on NVIDIA GPUs. Nothing else of fare needs that.
//
// cuBLASLt is opened at run time; NVIDIA's headers are not needed to build. Functions, constants
// and structures are declared by its documentation; versions 11 to 13 share them. Descriptors are
// opaque pointers, matrices have column-major order, 0 is success.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/engine/cuda/driver.h"
#include "train/engine/cuda/program.h"
#include "train/engine/shared.h"
#include "machine/libraries.h"

// ---- own kernels ----

struct own_job {
    struct gpu_context *gpu;
    device_ptr a, b, y;
    struct launch launch;
};

static int own_prepare(void *context, int64_t size, struct err *err)
{
    struct own_job *job = context;
    struct gpu_device device = gpu_device(job->gpu);
    gpu_product(&device, job->a, job->b, job->y, (int)size, &job->launch);
    return gpu_bind(job->gpu, &(struct launches){&job->launch, 1, 1}, err);
}

static int own_run(void *context, int64_t times, double *seconds, struct err *err)
{
    struct own_job *job = context;
    TRY(gpu_mark(job->gpu, 0, err));
    for (int64_t i = 0; i < times; i++)
        TRY(gpu_launch(job->gpu, &job->launch, err));
    TRY(gpu_mark(job->gpu, 1, err));
    return gpu_between(job->gpu, seconds, err);
}

static int own_fill(struct own_job *job, struct err *err)
{
    int64_t count = (int64_t)PRODUCT_SIZE_MAX * PRODUCT_SIZE_MAX;
    SCOPED(free_pointer) float *values = malloc((size_t)count * sizeof *values);
    if (!values)
        return err_memory(err);
    for (device_ptr *to[] = {&job->a, &job->b, &job->y}, **at = to; at < to + 3; at++)
        TRY(gpu_alloc(job->gpu, count * 4, *at, err));
    product_fill(values, count);
    TRY(gpu_upload(job->gpu, job->a, values, count * 4, err));
    TRY(gpu_upload(job->gpu, job->b, values, count * 4, err));
    return gpu_sync(job->gpu, err);
}

int cuda_product(const struct engine_options *options, struct engine_product *out, struct err *err)
{
    struct own_job job = {0};
    const struct product_work work = {.context = &job, .prepare = own_prepare, .run = own_run};
    int rc = gpu_open(&cuda_driver, options->precision, &job.gpu, err);
    if (rc == 0)
        rc = own_fill(&job, err);
    if (rc == 0)
        rc = product_time(&work, out, err);
    snprintf(out->kernel, sizeof out->kernel, "fare's %s",
             job.launch.name ? job.launch.name : "kernels");
    gpu_close(job.gpu);
    return rc;
}

// ---- cuBLASLt ----

#define SIZE_LEAST 4096
#define SIZE_MOST  8192
#define WORKSPACE  ((int64_t)32 << 20) // bytes
#define BLOCK      (1 << 20)           // numbers that repeat in the matrices
#define COMPARED   16                  // results of each product

enum { STATUS_ARCH_MISMATCH = 8, STATUS_NOT_SUPPORTED = 15 };
enum { COMPUTE_32F = 68, COMPUTE_32F_FAST_TF32 = 77 };
enum { TYPE_32F = 0, TYPE_16F = 2, TYPE_16BF = 14, TYPE_8F_E4M3 = 28 };
enum { DESC_TRANS_A = 3, DESC_A_SCALE = 17, DESC_B_SCALE = 18 };
enum { PREF_WORKSPACE = 1, OP_T = 1 };

struct blas_algo {
    uint64_t data[8];
};

struct heuristic { // cublasLtMatmulHeuristicResult_t, 96 bytes, and room for a larger one
    struct blas_algo algo;
    size_t workspace;
    int state;
    float waves;
    int reserved[44];
};

#define FUNCTIONS(F)                                                                               \
    F(DL_REQUIRED, size_t, cublasLtGetVersion, (void))                                             \
    F(DL_OPTIONAL, const char *, cublasLtGetStatusName, (int))                                     \
    F(DL_REQUIRED, int, cublasLtCreate, (void **))                                                 \
    F(DL_REQUIRED, int, cublasLtDestroy, (void *))                                                 \
    F(DL_REQUIRED, int, cublasLtMatmulDescCreate, (void **, int, int))                             \
    F(DL_REQUIRED, int, cublasLtMatmulDescDestroy, (void *))                                       \
    F(DL_REQUIRED, int, cublasLtMatmulDescSetAttribute, (void *, int, const void *, size_t))       \
    F(DL_REQUIRED, int, cublasLtMatrixLayoutCreate, (void **, int, uint64_t, uint64_t, int64_t))   \
    F(DL_REQUIRED, int, cublasLtMatrixLayoutDestroy, (void *))                                     \
    F(DL_REQUIRED, int, cublasLtMatmulPreferenceCreate, (void **))                                 \
    F(DL_REQUIRED, int, cublasLtMatmulPreferenceDestroy, (void *))                                 \
    F(DL_REQUIRED, int, cublasLtMatmulPreferenceSetAttribute, (void *, int, const void *, size_t)) \
    F(DL_REQUIRED, int, cublasLtMatmulAlgoGetHeuristic,                                            \
      (void *, void *, void *, void *, void *, void *, void *, int, struct heuristic *, int *))    \
    F(DL_REQUIRED, int, cublasLtMatmul,                                                            \
      (void *, void *, const void *, const void *, void *, const void *, void *, const void *,     \
       const void *, void *, void *, void *, const struct blas_algo *, void *, size_t, void *))

struct blas_api {
#define MEMBER(need, type, name, args) type(*name) args;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

enum { F32, TF32, BF16, F16, FP8, PRECISIONS };

static const struct blas_form {
    const char *name;
    int type, compute, bytes, exponent, mantissa; // bits
    int out;                                      // the form of the results
    int capability;                               // least, of the GPU
    int64_t version;                              // least, of the library
} forms[PRECISIONS] = {
    [F32] = {"f32", TYPE_32F, COMPUTE_32F, 4, 8, 23, F32, 0, 0},
    [TF32] = {"tf32", TYPE_32F, COMPUTE_32F_FAST_TF32, 4, 8, 23, F32, 80, 0},
    [BF16] = {"bf16", TYPE_16BF, COMPUTE_32F, 2, 8, 7, BF16, 80, 0},
    [F16] = {"f16", TYPE_16F, COMPUTE_32F, 2, 5, 10, F16, 0, 0},
    [FP8] = {"fp8", TYPE_8F_E4M3, COMPUTE_32F, 1, 4, 3, BF16, 89, 120000},
};

struct blas {
    struct dl dl;
    struct blas_api api;
    struct gpu_context *gpu;
    void *handle;
    int64_t version;
    char name[48];
    float *values; // BLOCK of them
};

static const char *blas_precision(int index)
{
    return index < PRECISIONS ? forms[index].name : NULL;
}

static int blas_check(const struct blas *c, int status, const char *call, struct err *err)
{
    const char *name = NULL;
    if (status == 0)
        return 0;
    if (c->api.cublasLtGetStatusName)
        name = c->api.cublasLtGetStatusName(status);
    int code =
        status == STATUS_ARCH_MISMATCH || status == STATUS_NOT_SUPPORTED ? ERR_MISSING : ERR_FAIL;
    return err_set(err, code, "%s failed with %s%s%d%s", call, name ? name : "status ",
                   name ? " (" : "", status, name ? ")" : "");
}
#define LT(c, name, err, ...) blas_check((c), (c)->api.name(__VA_ARGS__), #name, (err))

// ---- opening ----

// 13.1.0 is 130100; before 11.11, 11.4.2 was 11402.
static int blas_take_version(struct blas *c, struct err *err)
{
    char text[32];
    c->version = (int64_t)c->api.cublasLtGetVersion();
    int64_t major = c->version >= 100000 ? c->version / 10000 : c->version < 11000 ? 10 : 11;
    library_version(c->version, major < 1000 ? (int)major : 0, text, sizeof text);
    snprintf(c->name, sizeof c->name, "cuBLASLt%s%s", *text ? " " : "", text);
    return c->version >= 11000 ? 0 : err_set(err, ERR_FAIL, "%s is older than 11.0", c->name);
}

static void blas_close(struct blas *c)
{
    if (!c)
        return;
    if (c->handle)
        (void)c->api.cublasLtDestroy(c->handle);
    gpu_close(c->gpu);
    free(c->values);
    free(c); // the library stays open: it may have threads
}

static int blas_open(const char *file, struct blas **out, struct err *err)
{
#define SYMBOL(need, type, name, args) {#name, offsetof(struct blas_api, name), need},
    static const struct dl_symbol symbols[] = {FUNCTIONS(SYMBOL)};
#undef SYMBOL
    const char *const names[] = {file, NULL};
    const struct dl_spec spec = {.what = "cuBLASLt",
                                 .names = names,
                                 .symbols = symbols,
                                 .symbol_count = sizeof symbols / sizeof *symbols};
    *out = NULL;
    struct blas *c = calloc(1, sizeof *c);
    if (!c)
        return err_memory(err);
    c->values = malloc(BLOCK * sizeof *c->values);
    int rc = c->values ? dl_open(&c->dl, &spec, &c->api, err) : err_memory(err);
    if (rc == 0)
        rc = blas_take_version(c, err);
    if (rc == 0)
        rc = gpu_open(&cuda_driver, ENGINE_F32, &c->gpu, err);
    if (rc == 0)
        rc = LT(c, cublasLtCreate, err, &c->handle);
    if (rc == 0)
        *out = c;
    else
        blas_close(c);
    return rc;
}

// ---- numbers ----

// Rounds *value, which lies between -1 and 1, towards zero.
static uint32_t blas_encode(const struct blas_form *form, float *value)
{
    uint32_t bits;
    int dropped = 23 - form->mantissa;
    memcpy(&bits, value, sizeof bits);
    int exponent = (int)(bits >> 23 & 255) - 127 + (1 << (form->exponent - 1)) - 1;
    bits = exponent > 0 ? bits >> dropped << dropped : 0;
    memcpy(value, &bits, sizeof bits);
    if (bits == 0)
        return 0;
    return bits >> 31 << (form->exponent + form->mantissa) | (uint32_t)exponent << form->mantissa |
           (bits & 0x7fffff) >> dropped;
}

static double blas_decode(const struct blas_form *form, const unsigned char *at)
{
    uint32_t code = 0;
    memcpy(&code, at, (size_t)form->bytes);
    uint32_t ones = (1u << form->exponent) - 1;
    uint32_t exponent = code >> form->mantissa & ones, part = code & ((1u << form->mantissa) - 1);
    if (exponent == ones)
        return (double)NAN;
    double value = ldexp(part, -form->mantissa) + (exponent > 0);
    value = ldexp(value, (int)(exponent > 0 ? exponent : 1) - (int)(ones / 2));
    return code >> (form->exponent + form->mantissa) & 1 ? -value : value;
}

// ---- products ----

struct blas_job {
    struct blas *lib;
    const struct blas_form *form;
    device_ptr a, b, d, workspace, scale;
    void *desc, *in, *out; // the layouts of a and b; of d
    struct heuristic chosen;
};

static void blas_release(struct blas_job *job)
{
    const struct blas_api *api = &job->lib->api;
    if (job->desc)
        (void)api->cublasLtMatmulDescDestroy(job->desc);
    if (job->in)
        (void)api->cublasLtMatrixLayoutDestroy(job->in);
    if (job->out)
        (void)api->cublasLtMatrixLayoutDestroy(job->out);
    job->desc = job->in = job->out = NULL;
}

// d = a^T × b: the only order of fp8.
static int blas_describe(struct blas_job *job, int64_t size, struct err *err)
{
    const struct blas *c = job->lib;
    const struct blas_form *form = job->form, *out = &forms[form->out];
    const int transposed = OP_T;
    uint64_t n = (uint64_t)size;
    blas_release(job);
    TRY(LT(c, cublasLtMatmulDescCreate, err, &job->desc, form->compute, TYPE_32F));
    TRY(LT(c, cublasLtMatmulDescSetAttribute, err, job->desc, DESC_TRANS_A, &transposed,
           sizeof transposed));
    for (int i = DESC_A_SCALE; form == &forms[FP8] && i <= DESC_B_SCALE; i++)
        TRY(LT(c, cublasLtMatmulDescSetAttribute, err, job->desc, i, &job->scale,
               sizeof job->scale));
    TRY(LT(c, cublasLtMatrixLayoutCreate, err, &job->in, form->type, n, n, size));
    return LT(c, cublasLtMatrixLayoutCreate, err, &job->out, out->type, n, n, size);
}

static int blas_choose(struct blas_job *job, struct err *err)
{
    const struct blas *c = job->lib;
    const uint64_t workspace = WORKSPACE;
    void *preference = NULL;
    int found = 0;
    TRY(LT(c, cublasLtMatmulPreferenceCreate, err, &preference));
    int rc = LT(c, cublasLtMatmulPreferenceSetAttribute, err, preference, PREF_WORKSPACE,
                &workspace, sizeof workspace);
    if (rc == 0)
        rc = LT(c, cublasLtMatmulAlgoGetHeuristic, err, c->handle, job->desc, job->in, job->in,
                job->out, job->out, preference, 1, &job->chosen, &found);
    if (rc == 0 && found < 1)
        rc = err_set(err, ERR_MISSING, "%s has no algorithm for %s", c->name, job->form->name);
    if (rc == 0)
        rc = blas_check(c, job->chosen.state, "cublasLtMatmulAlgoGetHeuristic", err);
    if (rc == 0 && job->chosen.workspace > workspace)
        rc = err_set(err, ERR_FAIL, "%s wants a workspace of %zu bytes", c->name,
                     job->chosen.workspace);
    (void)c->api.cublasLtMatmulPreferenceDestroy(preference);
    return rc;
}

static void *at(device_ptr ptr)
{
    return (void *)(uintptr_t)ptr;
}

static int blas_multiply(struct blas_job *job, struct err *err)
{
    const struct blas *c = job->lib;
    const float one = 1, zero = 0;
    return LT(c, cublasLtMatmul, err, c->handle, job->desc, &one, at(job->a), job->in, at(job->b),
              job->in, &zero, at(job->d), job->out, at(job->d), job->out, &job->chosen.algo,
              at(job->workspace), (size_t)WORKSPACE, cuda_of(c->gpu)->streams[GPU_KERNELS]);
}

// A library that does nothing would seem fast. Sums of 4096 products are about 20, and 1365 for
// the first, which is one of squares.
static int blas_compare(struct blas_job *job, int64_t size, struct err *err)
{
    const struct blas_form *out = &forms[job->form->out];
    const float *a = job->lib->values;
    unsigned char got[COMPARED * sizeof(float)];
    TRY(blas_multiply(job, err));
    TRY(gpu_download(job->lib->gpu, got, job->d, (int64_t)COMPARED * out->bytes, err));
    for (int i = 0; i < COMPARED; i++) {
        double want = 0, is = blas_decode(out, got + i * out->bytes);
        for (int64_t k = 0; k < size; k++)
            want += (double)a[i * size + k] * (double)a[k];
        if (!(fabs(is - want) <= 1 + 0.02 * fabs(want)))
            return err_set(err, ERR_FAIL, "%s calculates wrongly: %g instead of %g", job->lib->name,
                           is, want);
    }
    return 0;
}

static int blas_prepare(void *context, int64_t size, struct err *err)
{
    struct blas_job *job = context;
    TRY(blas_describe(job, size, err));
    TRY(blas_choose(job, err));
    return blas_compare(job, size, err);
}

static int blas_run(void *context, int64_t times, double *seconds, struct err *err)
{
    struct blas_job *job = context;
    struct gpu_context *gpu = job->lib->gpu;
    TRY(gpu_mark(gpu, 0, err));
    for (int64_t i = 0; i < times; i++)
        TRY(blas_multiply(job, err));
    TRY(gpu_mark(gpu, 1, err));
    return gpu_between(gpu, seconds, err);
}

static int64_t blas_bytes_for(const struct blas_form *form, int64_t size)
{
    return size * size * (2 * form->bytes + forms[form->out].bytes) + WORKSPACE;
}

static int blas_allocate(struct blas_job *job, int64_t size, struct err *err)
{
    struct gpu_context *gpu = job->lib->gpu;
    int64_t count = size * size;
    TRY(gpu_alloc(gpu, sizeof(float), &job->scale, err));
    TRY(gpu_alloc(gpu, count * job->form->bytes, &job->a, err));
    TRY(gpu_alloc(gpu, count * job->form->bytes, &job->b, err));
    TRY(gpu_alloc(gpu, count * forms[job->form->out].bytes, &job->d, err));
    return gpu_alloc(gpu, WORKSPACE, &job->workspace, err);
}

// Both matrices hold the same numbers.
static int blas_fill(struct blas_job *job, int64_t size, struct err *err)
{
    static const float one = 1;
    struct gpu_context *gpu = job->lib->gpu;
    float *values = job->lib->values;
    size_t each = (size_t)job->form->bytes;
    int64_t bytes = BLOCK * job->form->bytes, all = size * size * job->form->bytes;
    SCOPED(free_pointer) unsigned char *codes = malloc((size_t)bytes);
    if (!codes)
        return err_memory(err);
    product_fill(values, BLOCK);
    for (size_t i = 0; i < BLOCK; i++) {
        uint32_t code = blas_encode(job->form, &values[i]);
        memcpy(codes + i * each, &code, each);
    }
    TRY(gpu_upload(gpu, job->scale, &one, sizeof one, err));
    for (int64_t from = 0; from < all; from += bytes) {
        TRY(gpu_upload(gpu, job->a + (device_ptr)from, codes, bytes, err));
        TRY(gpu_upload(gpu, job->b + (device_ptr)from, codes, bytes, err));
    }
    return gpu_sync(gpu, err);
}

static int blas_product(struct blas *c, int precision, struct engine_product *out, struct err *err)
{
    const struct blas_form *form = &forms[precision];
    const struct gpu_about *about = &c->gpu->about;
    struct blas_job job = {.lib = c, .form = form};
    const struct product_work work = {.context = &job, .prepare = blas_prepare, .run = blas_run};
    snprintf(out->kernel, sizeof out->kernel, "%s", c->name);
    if (10 * about->major + about->minor < form->capability || c->version < form->version)
        return err_set(err, ERR_MISSING, "%s or %s has no %s", about->name, c->name, form->name);
    int64_t most =
        gpu_memory_left(c->gpu) < blas_bytes_for(form, SIZE_MOST) ? SIZE_LEAST : SIZE_MOST;
    int rc = blas_allocate(&job, most, err);
    if (rc == 0)
        rc = blas_fill(&job, most, err);
    if (rc == 0)
        rc = product_time_best(&work, SIZE_LEAST, most, out, err);
    blas_release(&job);
    gpu_free(c->gpu);
    return rc;
}

const struct engine_blas cuda_blas = {.name = "cuBLASLt",
                                      .variable = "FARE_CUBLASLT",
                                      .open = blas_open,
                                      .close = blas_close,
                                      .precision = blas_precision,
                                      .product = blas_product};
