// SPDX-License-Identifier: Apache-2.0
// A stand-in for cuBLASLt 13.1.0 on the stand-in for a GPU, whose memory is the host's. It checks
// what the real one would refuse, and calculates the first 16 results of a product.
// FAKE_CUBLAS_FAIL=CALL:STATUS makes that call fail. FAKE_CUBLAS=none finds no algorithm, lazy does
// nothing in a product, crash crashes there, large wants a gibibyte of workspace, old is 10.2.2.
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is(const char *what)
{
    const char *text = getenv("FAKE_CUBLAS");
    return text && strcmp(text, what) == 0;
}

static int fails(const char *call)
{
    const char *text = getenv("FAKE_CUBLAS_FAIL");
    size_t len = strlen(call);
    return text && strncmp(text, call, len) == 0 && text[len] == ':' ? atoi(text + len + 1) : 0;
}
#define CALL()                                                                                     \
    do {                                                                                           \
        int status = fails(__func__);                                                              \
        if (status)                                                                                \
            return status;                                                                         \
    } while (0)

struct desc {
    int compute, scale_type, transposed_a, transposed_b;
    int done; // its product was calculated
    const float *scales[2];
};

struct layout {
    int type;
    uint64_t rows, columns;
    int64_t pitch;
};

struct preference {
    uint64_t workspace;
};

struct result { // as cublasLt.h has it in CUDA 11 to 13
    uint64_t algo[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

size_t cublasLtGetVersion(void)
{
    puts("a library that prints");
    return is("old") ? 10202 : 130100;
}

const char *cublasLtGetStatusName(int status)
{
    return status == 15 ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_OF_THE_STAND_IN";
}

static int make(void **out, size_t size)
{
    *out = calloc(1, size);
    return *out ? 0 : 3;
}

static int destroy(void *which)
{
    if (!which)
        abort();
    free(which);
    return 0;
}

int cublasLtCreate(void **handle)
{
    CALL();
    return make(handle, 1);
}

int cublasLtDestroy(void *handle)
{
    return destroy(handle);
}

int cublasLtMatmulDescCreate(void **out, int compute, int scale_type)
{
    CALL();
    if (make(out, sizeof(struct desc)) != 0)
        return 3;
    *(struct desc *)*out = (struct desc){.compute = compute, .scale_type = scale_type};
    return 0;
}

int cublasLtMatmulDescDestroy(void *desc)
{
    return destroy(desc);
}

int cublasLtMatmulDescSetAttribute(void *desc_, int which, const void *value, size_t size)
{
    struct desc *desc = desc_;
    CALL();
    if (size != (which == 3 || which == 4 ? sizeof(int) : sizeof(void *)))
        return 7;
    if (which == 3)
        memcpy(&desc->transposed_a, value, size);
    else if (which == 4)
        memcpy(&desc->transposed_b, value, size);
    else if (which == 17 || which == 18)
        memcpy(&desc->scales[which - 17], value, size);
    else
        return 7;
    return 0;
}

int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns, int64_t pitch)
{
    CALL();
    if (make(out, sizeof(struct layout)) != 0)
        return 3;
    *(struct layout *)*out = (struct layout){type, rows, columns, pitch};
    return 0;
}

int cublasLtMatrixLayoutDestroy(void *layout)
{
    return destroy(layout);
}

int cublasLtMatmulPreferenceCreate(void **out)
{
    CALL();
    return make(out, sizeof(struct preference));
}

int cublasLtMatmulPreferenceDestroy(void *preference)
{
    return destroy(preference);
}

int cublasLtMatmulPreferenceSetAttribute(void *preference, int which, const void *value,
                                         size_t size)
{
    CALL();
    if (which != 1 || size != sizeof(uint64_t))
        return 7;
    memcpy(preference, value, size);
    return 0;
}

// The pairs of types that the documentation of cublasLtMatmul() lists for sums in f32.
static int known(const struct desc *desc, const struct layout *in, const struct layout *out)
{
    int fp8 = in->type == 28;
    if (desc->scale_type != 0 || (desc->compute == 77 && in->type != 0))
        return 0;
    if (fp8)
        return out->type == 14 && desc->transposed_a && !desc->transposed_b && desc->scales[0] &&
               desc->scales[1] && *desc->scales[0] == 1 && *desc->scales[1] == 1;
    return in->type == out->type && (in->type == 0 || in->type == 2 || in->type == 14) &&
           !desc->scales[0] && (desc->compute == 68 || desc->compute == 77);
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d,
                                   void *preference_, int wanted, void *results, int *found)
{
    const struct preference *preference = preference_;
    struct result result = {.algo = {77}, .workspace = is("large") ? 1 << 30 : 4096};
    CALL();
    if (!handle || wanted < 1 || preference->workspace != 32 << 20)
        return 7;
    if (c != d || !known(desc, a, d) || !known(desc, b, d))
        return 15;
    *found = is("none") ? 0 : 1;
    memcpy(results, &result, sizeof result);
    return 0;
}

// Numbers of a type, slowly: sign, exponent and mantissa one by one.
static double number(int type, const unsigned char *from, int64_t at)
{
    static const struct {
        int type, bytes, exponent;
    } types[] = {{0, 4, 8}, {2, 2, 5}, {14, 2, 8}, {28, 1, 4}};
    int i = 0;
    while (types[i].type != type)
        i++;
    uint32_t code = 0;
    for (int k = types[i].bytes - 1; k >= 0; k--)
        code = code << 8 | from[at * types[i].bytes + k];
    int bits = 8 * types[i].bytes, mantissa = bits - 1 - types[i].exponent;
    int exponent = (int)((code >> mantissa) & ((1u << types[i].exponent) - 1));
    double part = (double)(code & ((1u << mantissa) - 1)) / (double)(1u << mantissa);
    double value = exponent == 0 ? ldexp(part, 2 - (1 << (types[i].exponent - 1)))
                                 : ldexp(1 + part, exponent + 1 - (1 << (types[i].exponent - 1)));
    return code >> (bits - 1) ? -value : value;
}

static void put(int type, unsigned char *to, int64_t at, double value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if (type == 0) {
        memcpy(to + 4 * at, &bits, 4);
        return;
    }
    uint16_t code = (uint16_t)(bits >> 16);
    if (type == 2) {
        int exponent;
        double part = frexp(fabs(value), &exponent); // 0.5 to 1
        code = value == 0 ? 0
                          : (uint16_t)((value < 0 ? 0x8000 : 0) | (exponent + 14) << 10 |
                                       (int)((2 * part - 1) * 1024));
    }
    memcpy(to + 2 * at, &code, 2);
}

int cublasLtMatmul(void *handle, void *desc_, const float *alpha, const void *a, void *a_layout,
                   const void *b, void *b_layout, const float *beta, const void *c, void *c_layout,
                   void *d, void *d_layout, const uint64_t *algo, void *workspace, size_t bytes,
                   void *stream)
{
    struct desc *desc = desc_;
    const struct layout *in = a_layout, *out = d_layout;
    CALL();
    if (is("crash"))
        raise(SIGSEGV);
    if (!handle || !stream || !workspace || bytes < 4096 || *algo != 77 || *alpha != 1 ||
        *beta != 0 || c != d || c_layout != d_layout || b_layout != a_layout ||
        in->rows != (uint64_t)in->pitch || out->rows != (uint64_t)out->pitch)
        return 7;
    if (is("lazy"))
        return 0;
    if (desc->done) // the same product again has the same results
        return 0;
    desc->done = 1;
    for (int64_t i = 0; i < 16; i++) {
        double sum = 0;
        for (int64_t k = 0; k < in->pitch; k++)
            sum += number(in->type, a, desc->transposed_a ? i * in->pitch + k : k * in->pitch + i) *
                   number(in->type, b, k);
        put(out->type, d, i, sum);
    }
    return 0;
}
