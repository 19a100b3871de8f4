// SPDX-License-Identifier: Apache-2.0
// A stand-in for oneDNN 2.x with the few functions that the trial calls: plain loops that compute
// what is asked, and faults on demand. FAKE_DNNL says which:
//   "sigill"         bfloat16 primitives raise SIGILL unless ONEDNN_MAX_CPU_ISA is set, which is
//                    what the real library does on machines whose AMX is half there
//   "wrong"          one result is off by one
//   "unimplemented"  there is no bfloat16
//   "broken"         creating an engine fails
#include <dnnl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct dnnl_memory {
    dnnl_memory_desc_t desc;
    void *data;
};
struct dnnl_primitive_desc {
    enum { REORDER, MATMUL, CONVOLUTION } kind;
    dnnl_memory_desc_t source, weights, result;
};
struct dnnl_primitive {
    struct dnnl_primitive_desc desc;
};

static bool told(const char *what)
{
    const char *said = getenv("FAKE_DNNL");
    return said && strcmp(said, what) == 0;
}

const dnnl_version_t *dnnl_version(void)
{
    static const dnnl_version_t version = {.major = 2, .minor = 99, .patch = 7, .hash = "fake"};
    return &version;
}

dnnl_status_t dnnl_engine_create(dnnl_engine_t *engine, dnnl_engine_kind_t kind, size_t index)
{
    *engine = NULL;
    return told("broken") || kind != dnnl_cpu || index != 0 ? dnnl_runtime_error : dnnl_success;
}

dnnl_status_t dnnl_stream_create(dnnl_stream_t *stream, dnnl_engine_t engine, unsigned flags)
{
    (void)engine;
    (void)flags;
    *stream = NULL;
    return dnnl_success;
}

dnnl_status_t dnnl_stream_wait(dnnl_stream_t stream)
{
    (void)stream;
    return dnnl_success;
}

dnnl_status_t dnnl_memory_desc_init_by_tag(dnnl_memory_desc_t *md, int ndims,
                                           const dnnl_dims_t dims, dnnl_data_type_t type,
                                           dnnl_format_tag_t tag)
{
    (void)tag; // here every layout is the plain one
    memset(md, 0, sizeof *md);
    md->ndims = ndims;
    md->data_type = type;
    for (int i = 0; i < ndims; i++)
        md->dims[i] = dims[i];
    return dnnl_success;
}

static size_t elements(const dnnl_memory_desc_t *md)
{
    size_t count = 1;
    for (int i = 0; i < md->ndims; i++)
        count *= (size_t)md->dims[i];
    return count;
}

dnnl_status_t dnnl_memory_create(dnnl_memory_t *memory, const dnnl_memory_desc_t *md,
                                 dnnl_engine_t engine, void *handle)
{
    (void)engine;
    *memory = calloc(1, sizeof **memory);
    (*memory)->desc = *md;
    (*memory)->data = handle == DNNL_MEMORY_ALLOCATE ? calloc(elements(md), 4) : handle;
    return dnnl_success;
}

dnnl_status_t dnnl_matmul_desc_init(dnnl_matmul_desc_t *desc, const dnnl_memory_desc_t *source,
                                    const dnnl_memory_desc_t *weights,
                                    const dnnl_memory_desc_t *bias,
                                    const dnnl_memory_desc_t *result)
{
    (void)bias;
    memset(desc, 0, sizeof *desc);
    desc->primitive_kind = dnnl_matmul;
    desc->src_desc = *source;
    desc->weights_desc = *weights;
    desc->dst_desc = *result;
    return dnnl_success;
}

dnnl_status_t dnnl_convolution_forward_desc_init(
    dnnl_convolution_desc_t *desc, dnnl_prop_kind_t prop, dnnl_alg_kind_t algorithm,
    const dnnl_memory_desc_t *source, const dnnl_memory_desc_t *weights,
    const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *result, const dnnl_dims_t strides,
    const dnnl_dims_t padding_l, const dnnl_dims_t padding_r)
{
    (void)prop, (void)algorithm, (void)bias;
    memset(desc, 0, sizeof *desc);
    if (strides[0] != 1 || strides[1] != 1 || padding_l[0] != 1 || padding_r[1] != 1)
        return dnnl_invalid_arguments;
    desc->primitive_kind = dnnl_convolution;
    desc->src_desc = *source;
    desc->weights_desc = *weights;
    desc->dst_desc = *result;
    return dnnl_success;
}

dnnl_status_t dnnl_primitive_desc_create(dnnl_primitive_desc_t *pd, const_dnnl_op_desc_t op,
                                         const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                         const_dnnl_primitive_desc_t hint)
{
    (void)attr, (void)engine, (void)hint;
    struct dnnl_primitive_desc *made = calloc(1, sizeof *made);
    if (*(const dnnl_primitive_kind_t *)op == dnnl_matmul) {
        const dnnl_matmul_desc_t *matmul = op;
        made->kind = MATMUL;
        made->source = matmul->src_desc;
        made->weights = matmul->weights_desc;
        made->result = matmul->dst_desc;
    } else {
        const dnnl_convolution_desc_t *convolution = op;
        made->kind = CONVOLUTION;
        made->source = convolution->src_desc;
        made->weights = convolution->weights_desc;
        made->result = convolution->dst_desc;
    }
    *pd = made;
    bool bf16 = made->source.data_type == dnnl_bf16;
    return bf16 && told("unimplemented") ? dnnl_unimplemented : dnnl_success;
}

dnnl_status_t
dnnl_reorder_primitive_desc_create(dnnl_primitive_desc_t *pd, const dnnl_memory_desc_t *from,
                                   dnnl_engine_t from_engine, const dnnl_memory_desc_t *to,
                                   dnnl_engine_t to_engine, const_dnnl_primitive_attr_t attr)
{
    (void)from_engine, (void)to_engine, (void)attr;
    *pd = calloc(1, sizeof **pd);
    (*pd)->kind = REORDER;
    (*pd)->source = *from;
    (*pd)->result = *to;
    return dnnl_success;
}

dnnl_status_t dnnl_primitive_desc_query(const_dnnl_primitive_desc_t pd, dnnl_query_t what,
                                        int index, void *result)
{
    (void)pd, (void)index;
    if (what != dnnl_query_impl_info_str)
        return dnnl_unimplemented;
    *(const char **)result = getenv("ONEDNN_MAX_CPU_ISA") ? "fake:capped" : "fake:amx";
    return dnnl_success;
}

const dnnl_memory_desc_t *dnnl_primitive_desc_query_md(const_dnnl_primitive_desc_t pd,
                                                       dnnl_query_t what, int index)
{
    (void)index;
    return what == dnnl_query_weights_md ? &pd->weights : NULL;
}

dnnl_status_t dnnl_primitive_create(dnnl_primitive_t *primitive, const_dnnl_primitive_desc_t pd)
{
    *primitive = calloc(1, sizeof **primitive);
    (*primitive)->desc = *pd;
    return dnnl_success;
}

static float value(const struct dnnl_memory *memory, dnnl_dim_t at)
{
    if (memory->desc.data_type == dnnl_f32)
        return ((const float *)memory->data)[at];
    uint32_t bits = (uint32_t)((const uint16_t *)memory->data)[at] << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void matmul(const struct dnnl_memory *a, const struct dnnl_memory *b, float *c)
{
    dnnl_dim_t M = a->desc.dims[0], K = a->desc.dims[1], N = b->desc.dims[1];
    for (dnnl_dim_t m = 0; m < M; m++)
        for (dnnl_dim_t n = 0; n < N; n++) {
            double sum = 0;
            for (dnnl_dim_t k = 0; k < K; k++)
                sum += (double)value(a, m * K + k) * (double)value(b, k * N + n);
            c[m * N + n] = (float)sum;
        }
}

// Scatters every source pixel into the results it touches: the other way round from the trial's
// own loop, so that a mistake there does not repeat here.
static void convolve(const struct dnnl_memory *s, const struct dnnl_memory *w, float *out)
{
    dnnl_dim_t I = s->desc.dims[1], H = s->desc.dims[2], W = s->desc.dims[3];
    dnnl_dim_t O = w->desc.dims[0], KH = w->desc.dims[2], KW = w->desc.dims[3];
    memset(out, 0, (size_t)(O * H * W) * sizeof *out);
    for (dnnl_dim_t at = 0; at < H * W * I; at++) {
        dnnl_dim_t i = at % I, x = at / I % W, y = at / I / W;
        for (dnnl_dim_t tap = 0; tap < KH * KW; tap++) {
            dnnl_dim_t oy = y + 1 - tap / KW, ox = x + 1 - tap % KW;
            if (oy < 0 || oy >= H || ox < 0 || ox >= W)
                continue;
            for (dnnl_dim_t o = 0; o < O; o++)
                out[(oy * W + ox) * O + o] += value(s, at) * value(w, (o * I + i) * KH * KW + tap);
        }
    }
}

dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                     int count, const dnnl_exec_arg_t *args)
{
    (void)stream;
    const struct dnnl_primitive_desc *desc = &primitive->desc;
    if (desc->kind == REORDER) {
        size_t size = desc->source.data_type == dnnl_f32 ? 4 : 2;
        memcpy(args[1].memory->data, args[0].memory->data, elements(&desc->source) * size);
        return count == 2 ? dnnl_success : dnnl_invalid_arguments;
    }
    bool bf16 = desc->source.data_type == dnnl_bf16;
    if (bf16 && told("sigill") && !getenv("ONEDNN_MAX_CPU_ISA"))
        raise(SIGILL);
    float *out = args[2].memory->data;
    if (desc->kind == MATMUL)
        matmul(args[0].memory, args[1].memory, out);
    else
        convolve(args[0].memory, args[1].memory, out);
    out[17] += told("wrong");
    return count == 3 ? dnnl_success : dnnl_invalid_arguments;
}
