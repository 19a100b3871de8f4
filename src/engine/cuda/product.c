// SPDX-License-Identifier: Apache-2.0
// A product of square matrices with the kernel of dense layers, alone on the GPU.
#include "engine/cuda/product.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/cuda/driver.h"
#include "engine/cuda/plan/products.h"
#include "engine/product.h"

struct job {
    struct cuda *cuda;
    device_ptr a, b, y;
    struct launch launch;
};

static int prepare(void *context, int64_t size, struct err *err)
{
    struct job *job = context;
    struct device device = cuda_device(job->cuda);
    gpu_product(&device, job->a, job->b, job->y, (int)size, &job->launch);
    return cuda_bind(job->cuda, &(struct launches){&job->launch, 1, 1}, err);
}

static int run(void *context, int64_t times, double *seconds, struct err *err)
{
    struct job *job = context;
    TRY(cuda_mark(job->cuda, 0, err));
    for (int64_t i = 0; i < times; i++)
        TRY(cuda_launch(job->cuda, &job->launch, err));
    TRY(cuda_mark(job->cuda, 1, err));
    return cuda_between(job->cuda, seconds, err);
}

static int fill(struct job *job, struct err *err)
{
    int64_t count = (int64_t)PRODUCT_SIZE_MAX * PRODUCT_SIZE_MAX;
    float *values = malloc((size_t)count * sizeof *values);
    int rc = values ? 0 : err_memory(err);
    for (device_ptr *to[] = {&job->a, &job->b, &job->y}, **at = to; rc == 0 && at < to + 3; at++)
        rc = cuda_alloc(job->cuda, count * 4, *at, err);
    if (rc == 0) {
        product_fill(values, count);
        rc = cuda_upload(job->cuda, job->a, values, count * 4, err);
    }
    if (rc == 0)
        rc = cuda_upload(job->cuda, job->b, values, count * 4, err);
    if (rc == 0)
        rc = cuda_sync(job->cuda, err);
    free(values);
    return rc;
}

int cuda_product(const struct engine_options *options, struct engine_product *out, struct err *err)
{
    struct job job = {0};
    const struct product_work work = {.context = &job, .prepare = prepare, .run = run};
    int rc = cuda_open(options->precision, &job.cuda, err);
    if (rc == 0)
        rc = fill(&job, err);
    if (rc == 0)
        rc = product_time(&work, out, err);
    snprintf(out->kernel, sizeof out->kernel, "fare's %s",
             job.launch.name ? job.launch.name : "kernels");
    cuda_close(job.cuda);
    return rc;
}
