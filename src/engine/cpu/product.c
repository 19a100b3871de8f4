// SPDX-License-Identifier: Apache-2.0
// A product of square matrices by oneDNN, in the layouts that it prefers.
#include "engine/cpu/product.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/cpu/dnnl.h"
#include "engine/cpu/team.h"
#include "engine/product.h"

enum { A, B, Y, SCRATCH, PARTS };

struct job {
    bool bf16;
    struct dnn_primitive primitive;
    void *memory[PARTS];
};

static void release(struct job *job)
{
    dnn_release(&job->primitive);
    for (int i = 0; i < PARTS; i++) {
        free(job->memory[i]);
        job->memory[i] = NULL;
    }
}

static void *aligned(size_t bytes)
{
    return aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
}

// Whatever the layout, it is a matrix of such numbers; in bf16 a number is the upper half of an
// f32, so that two of them have one's room.
static int fill(struct job *job, int part, const dnnl_memory_desc_t *md, struct err *err)
{
    size_t bytes = dnn_bytes(md), count = bytes / (job->bf16 ? 2 : 4);
    float *values = malloc(count * sizeof *values);
    uint8_t *to = job->memory[part] = aligned(bytes);
    if (!values || !to) {
        free(values);
        return err_memory(err);
    }
    product_fill(values, (int64_t)count);
    if (!job->bf16)
        memcpy(to, values, count * 4);
    for (size_t i = 0; job->bf16 && i < count; i++)
        memcpy(to + 2 * i, (const uint8_t *)&values[i] + 2, 2);
    free(values);
    return 0;
}

static int prepare(void *context, int64_t size, struct err *err)
{
    struct job *job = context;
    struct dnn_primitive *p = &job->primitive;
    const int64_t dim[2] = {size, size};
    dnnl_memory_desc_t any = dnn_tensor(2, dim, job->bf16, dnnl_format_tag_any);
    const struct dnn_dense dense = {.src = any, .weights = any, .dst = any};
    static const struct {
        dnnl_query_t which;
        int arg;
    } operands[] = {[A] = {dnnl_query_src_md, DNNL_ARG_SRC},
                    [B] = {dnnl_query_weights_md, DNNL_ARG_WEIGHTS},
                    [Y] = {dnnl_query_dst_md, DNNL_ARG_DST}};
    release(job);
    TRY(dnn_dense_forward(p, &dense, err));
    TRY(dnn_compile(p, err));
    for (int i = A; i <= Y; i++) {
        dnnl_memory_desc_t md = dnn_chosen(p, operands[i].which);
        TRY(fill(job, i, &md, err));
        TRY(dnn_bind(p, operands[i].arg, &md, job->memory[i], err));
    }
    job->memory[SCRATCH] = aligned(dnn_scratch_bytes(p));
    return job->memory[SCRATCH] ? dnn_bind_scratch(p, job->memory[SCRATCH], err) : err_memory(err);
}

static int run(void *context, int64_t times, double *seconds, struct err *err)
{
    struct job *job = context;
    int64_t began_ns = clock_now_ns();
    for (int64_t i = 0; i < times; i++)
        TRY(dnn_run(&job->primitive, err));
    *seconds = (double)(clock_now_ns() - began_ns) * 1e-9;
    return 0;
}

int cpu_product(const struct engine_options *options, struct engine_product *out, struct err *err)
{
    struct job job = {.bf16 = options->precision == ENGINE_BF16};
    const struct product_work work = {.context = &job, .prepare = prepare, .run = run};
    out->threads = team_set(options->threads);
    TRY(dnn_open(err));
    if (job.bf16)
        TRY(dnn_try_bf16(err));
    int rc = product_time(&work, out, err);
    char version[32], kernels[48];
    if (rc == 0 && dnn_describe(version, sizeof version, kernels, sizeof kernels))
        snprintf(out->kernel, sizeof out->kernel, "oneDNN %s %s", version, kernels);
    release(&job);
    return rc;
}
