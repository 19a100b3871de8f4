// SPDX-License-Identifier: Apache-2.0
// The cuda engine: programs on an NVIDIA GPU.
//
// Batches of sample numbers of a loaded set are queued (queue.h), so that the GPU never waits for
// the host. Batches in host memory are copied and done at once; tests and odd inputs use that.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "engine/cuda/l1.h"
#include "engine/cuda/nccl.h"
#include "engine/cuda/preload.h"
#include "engine/cuda/product.h"
#include "engine/cuda/plan/text.h"
#include "engine/cuda/queue.h"
#include "engine/cuda/ranks.h"
#include "engine/cuda/transfer.h"
#include "version.h"

static struct cuda_about last_about; // the GPU opened last, for the record

// ---- making ----

static int cuda_available(const struct engine_options *options, struct err *err)
{
    struct cuda_about about;
    cuda_choose(group_place(options->group).local_rank);
    TRY(cuda_look(options->precision, &about, err));
    last_about = about;
    return group_place(options->group).size > 1 ? nccl_available(err) : 0;
}

static void cuda_release(struct engine_program *program)
{
    if (!program)
        return;
    // Graphs go before what sums over ranks, unless a rank failed: then sums would never end.
    if (program->plan.device.several && program->cuda && cuda_sync(program->cuda, NULL) != 0)
        cuda_abandon(program->cuda);
    for (int i = 0; program->cuda && i < RECIPE_STAGES_MAX; i++)
        for (int k = 0; k < PROGRAM_LENGTHS; k++)
            cuda_graph_free(program->cuda, program->train[i][k]);
    if (program->cuda)
        cuda_graph_free(program->cuda, program->evaluate);
    gpu_plan_free(&program->plan);
    gpu_params_free(&program->params);
    cuda_close(program->cuda);
    free(program->layers);
    free(program);
}

static uint16_t bf16_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static int64_t input_numbers(const struct engine_program *program)
{
    const struct value *in = &program->plan.values[0];
    return program->recipe.batch * in->rows * in->pitch;
}

// Tests set it, to have several buckets in small nets.
static int64_t bucket_bytes(void)
{
    const char *text = getenv("FARE_BUCKET_BYTES");
    int64_t bytes;
    return text && text_int(text, &bytes) ? bytes : 0;
}

static int build(struct engine_program *program, const struct net *net, struct err *err)
{
    size_t count = (size_t)net->layer_count;
    struct group *group = program->options.group;
    TRY(recipe_check(&program->recipe, net, err));
    program->recipe.batch = cuda_rank_batch(group, program->recipe.batch);
    int64_t batch = program->recipe.batch;
    program->loss = net->loss;
    program->layer_count = net->layer_count;
    program->layers = malloc(count * sizeof *program->layers);
    if (!program->layers)
        return err_memory(err);
    memcpy(program->layers, net->layers, count * sizeof *program->layers);
    cuda_choose(group_place(group).local_rank);
    TRY(cuda_open(program->options.precision, &program->cuda, err));
    struct cuda *cuda = program->cuda;
    last_about = *cuda_about(cuda);
    struct device device = cuda_device(cuda);
    cuda_rank_device(group, &device);
    if (device.several)
        TRY(cuda_join(cuda, group, err));
    TRY(gpu_params_new(&program->params, net, &program->recipe, &device, err));
    program->plan = (struct gpu_plan){.device = device,
                                      .layers = program->layers,
                                      .layer_count = program->layer_count,
                                      .loss = net->loss,
                                      .batch = batch,
                                      .params = &program->params,
                                      .text.micro = program->options.micro_batch,
                                      .bucket_bytes = bucket_bytes()};
    TRY(gpu_plan_new(&program->plan, PROGRAM_ROWS, err));
    struct launches *lists[PLAN_LISTS];
    gpu_plan_lists(&program->plan, lists);
    for (int i = 0; i < PLAN_LISTS; i++)
        TRY(cuda_bind(cuda, lists[i], err));
    program->row_bytes = (int64_t)(sizeof(struct cuda_now) + (size_t)batch * 4 + 15) / 16 * 16;
    TRY(cuda_alloc(cuda, PROGRAM_ROWS * program->row_bytes, &program->table, err));
    void *host[4];
    const int64_t bytes[4] = {PROGRAM_ROWS * program->row_bytes,
                              PROGRAM_ROWS * batch * (int64_t)sizeof *program->totals,
                              input_numbers(program) * 4, batch * program->plan.values[0].rows * 4};
    for (int i = 0; i < 4; i++)
        TRY(cuda_alloc_host(cuda, bytes[i] + 4 * batch, &host[i], err));
    program->rows = host[0];
    program->scores = host[1];
    program->totals = host[1];
    program->host_input = host[2];
    program->host_words = host[3];
    return cuda_init_params(&program->params, cuda, program->options.seed, err);
}

static int cuda_set_stage(struct engine_program *program, int stage, struct err *err);

static int refuse(const struct net *net, const struct recipe *recipe, struct err *err)
{
    bool text = text_net(net->layers, net->layer_count),
         adamw = recipe->optimizer == OPTIMIZER_ADAMW;
    for (int i = 0; i < net->layer_count && !text; i++)
        if (net_of_transformer(net->layers[i].op))
            return err_set(
                err, ERR_USAGE,
                "net '%s', layer '%s': the cuda engine trains transformers that end in a "
                "tied head only",
                net->name, net->layers[i].name);
    if (text != adamw || (recipe->clip > 0 && !adamw))
        return err_set(err, ERR_USAGE,
                       "net '%s': the cuda engine trains transformers with AdamW, and other nets "
                       "without it and without clipping",
                       net->name);
    return 0;
}

static int cuda_compile(const struct net *net, const struct recipe *recipe,
                        const struct engine_options *options, struct engine_program **out,
                        struct err *err)
{
    *out = NULL;
    TRY(net_check(net, err));
    TRY(refuse(net, recipe, err));
    struct engine_program *program = calloc(1, sizeof *program);
    if (!program)
        return err_memory(err);
    program->recipe = *recipe;
    program->options = *options;
    int rc = build(program, net, err);
    if (rc == 0)
        rc = cuda_set_stage(program, 0, err);
    if (rc != 0) {
        err_context(err, "net '%s'", net->name);
        cuda_release(program);
        return rc;
    }
    *out = program;
    return 0;
}

// ---- batches of the host ----

static void stage_image(const struct engine_program *program, const struct engine_batch *batch)
{
    const struct value *in = &program->plan.values[0];
    const struct net_shape *shape = &program->layers[0].out;
    int64_t numbers = net_shape_count(shape), pixels = in->rows;
    memset(program->host_input, 0, (size_t)input_numbers(program) * 4);
    for (int64_t i = 0; i < batch->count; i++) {
        const float *from = batch->image + i * numbers;
        float *to = program->host_input + i * in->rows * in->pitch;
        if (in->rows == 1) {
            memcpy(to, from, (size_t)numbers * 4);
            continue;
        }
        uint16_t *rounded = (uint16_t *)program->host_input + i * in->rows * in->pitch;
        for (int c = 0; c < in->columns; c++)
            for (int64_t p = 0; p < pixels; p++) {
                if (program->plan.images)
                    rounded[p * in->pitch + c] = bf16_of(from[c * pixels + p]);
                else
                    to[p * in->pitch + c] = from[c * pixels + p];
            }
    }
}

static int put_batch(struct engine_program *program, const struct engine_batch *batch,
                     bool training, bool labelled, struct err *err)
{
    const struct gpu_plan *plan = &program->plan;
    int64_t size = program->recipe.batch;
    assert(batch->count >= (batch->all > 0 ? 0 : 1) && batch->count <= size);
    TRY(engine_check_batch(program->layers, program->layer_count, program->loss, batch, labelled,
                           err));
    TRY(cuda_drain(program, 0, err));
    if (training && program->iteration != program->lazy_iteration) {
        TRY(cuda_update_lazy_rows(program, err));
        TRY(cuda_set_ages(program, program->iteration, err));
    }
    if (batch->image && !plan->tokens) {
        stage_image(program, batch);
        TRY(cuda_upload(program->cuda, plan->values[0].out, program->host_input,
                        input_numbers(program) * (plan->images ? 2 : 4), err));
    }
    int time = program->layers[0].out.dim[0];
    int32_t *words = program->host_words;
    if (batch->tokens && plan->tokens) {
        memset(words, 0, (size_t)(size * time) * 4);
        memcpy(words, batch->tokens, (size_t)(batch->count * time) * 4);
        TRY(cuda_upload(program->cuda, plan->tokens, words, size * time * 4, err));
        TRY(cuda_sync(program->cuda, err));
    }
    int64_t labels = cuda_labels(program);
    memset(words, 0, (size_t)(size * labels) * 4);
    if (labelled)
        memcpy(words, batch->labels, (size_t)(batch->count * labels) * 4);
    TRY(cuda_upload(program->cuda, plan->labels, words, size * labels * 4, err));
    struct cuda_now now;
    cuda_fill_now(program, batch, training, &now);
    TRY(cuda_upload(program->cuda, plan->now, &now, sizeof now, err));
    return cuda_sync(program->cuda, err);
}

// The score of the step just launched.
static int take_score(struct engine_program *program, const struct engine_batch *batch,
                      bool training, struct engine_score *score, struct err *err)
{
    cuda_fill_counts(program, batch, training);
    program->launched = ++program->queued;
    TRY(cuda_drain(program, 0, err));
    int64_t steps;
    return cuda_collect(program, 0, score, &steps, err);
}

static int cuda_step(struct engine_program *program, const struct engine_batch *batch,
                     struct engine_score *score, struct err *err)
{
    if (batch->samples)
        return cuda_queue(program, batch, true, err);
    struct gpu_plan *plan = &program->plan;
    int rc = put_batch(program, batch, true, true, err);
    if (rc == 0)
        rc = cuda_launch_list(program->cuda, &plan->buffers[0].forward, err);
    if (rc == 0)
        rc = cuda_launch_list(program->cuda, &plan->buffers[0].backward[program->stage], err);
    if (rc == 0)
        rc = take_score(program, batch, true, score, err);
    program->iteration++;
    program->lazy_iteration = program->iteration;
    return rc;
}

static int cuda_evaluate(struct engine_program *program, const struct engine_batch *batch,
                         struct engine_score *score, struct err *err)
{
    if (batch->samples)
        return cuda_queue(program, batch, false, err);
    TRY(put_batch(program, batch, false, true, err));
    TRY(cuda_launch_list(program->cuda, &program->plan.evaluate, err));
    return take_score(program, batch, false, score, err);
}

static int cuda_predict(struct engine_program *program, const struct engine_batch *batch,
                        float *out, struct err *err)
{
    const struct gpu_plan *plan = &program->plan;
    int units = plan->values[plan->layer_count - 1].columns;
    TRY(put_batch(program, batch, false, false, err));
    TRY(cuda_launch_list(program->cuda, &plan->predict, err));
    return cuda_download(program->cuda, out, plan->probabilities, batch->count * units * 4, err);
}

// ---- state ----

static int cuda_set_stage(struct engine_program *program, int stage, struct err *err)
{
    if (stage < 0 || stage >= program->recipe.stage_count)
        return err_set(err, ERR_FAIL, "there is no stage %d of %d", stage,
                       program->recipe.stage_count);
    TRY(cuda_drain(program, 0, err));
    TRY(cuda_init_states(&program->params, program->cuda, err));
    program->stage = stage;
    return cuda_set_ages(program, program->iteration, err);
}

static void cuda_set_iteration(struct engine_program *program, int64_t iteration)
{
    program->iteration = iteration;
}

static int cuda_tensor_count(const struct engine_program *program)
{
    return gpu_params_tensor_count(&program->params);
}

static void cuda_tensor(const struct engine_program *program, int index,
                        struct engine_tensor *tensor)
{
    gpu_params_tensor(&program->params, index, tensor);
}

static int cuda_read(struct engine_program *program, int index, float *values, struct err *err)
{
    TRY(cuda_drain(program, 0, err));
    TRY(cuda_update_lazy_rows(program, err));
    return cuda_read_tensor(&program->params, program->cuda, index, values, err);
}

static int cuda_write(struct engine_program *program, int index, const float *values,
                      struct err *err)
{
    TRY(cuda_drain(program, 0, err));
    TRY(cuda_update_lazy_rows(program, err));
    return cuda_write_tensor(&program->params, program->cuda, index, values, err);
}

static bool cuda_group_times(struct engine_program *program, struct group_times *times)
{
    *times = (struct group_times){.waiting_ns = (int64_t)program->waiting_ns,
                                  .communication_ns = (int64_t)program->communication_ns};
    return program->plan.device.several;
}

static bool cuda_library(int index, struct engine_library *library)
{
    memset(library, 0, sizeof *library);
    if (index == 0) {
        snprintf(library->name, sizeof library->name, "CUDA driver");
        snprintf(library->version, sizeof library->version, "%d.%d", last_about.driver / 1000,
                 last_about.driver % 1000 / 10);
        snprintf(library->kernels, sizeof library->kernels, "sm_%d%d", last_about.major,
                 last_about.minor);
        return true;
    }
    if (index == 2 && *nccl_version()) {
        snprintf(library->name, sizeof library->name, "NCCL");
        snprintf(library->version, sizeof library->version, "%s", nccl_version());
        return true;
    }
    if (index > 1)
        return false;
    snprintf(library->name, sizeof library->name, "own kernels");
    snprintf(library->version, sizeof library->version, "%s", FARE_VERSION);
    snprintf(library->kernels, sizeof library->kernels, "%s",
             cuda_kernels_packed() ? "machine code" : "PTX");
    return true;
}

const struct engine engine_cuda = {
    .name = "cuda",
    .gpu = true,
    .groups = true,
    .precisions = 1U << ENGINE_F32 | 1U << ENGINE_BF16 | 1U << ENGINE_TF32,
    .about = "own kernels on an NVIDIA GPU; needs only its driver, and NCCL for several",
    .available = cuda_available,
    .compile = cuda_compile,
    .release = cuda_release,
    .step = cuda_step,
    .evaluate = cuda_evaluate,
    .free_bytes = cuda_free_bytes,
    .load = cuda_load,
    .collect = cuda_collect,
    .predict = cuda_predict,
    .set_stage = cuda_set_stage,
    .set_iteration = cuda_set_iteration,
    .tensor_count = cuda_tensor_count,
    .tensor = cuda_tensor,
    .read = cuda_read,
    .write = cuda_write,
    .product = cuda_product,
    .l1 = &cuda_engine_l1,
    .load_kernels = cuda_load_kernels,
    .library = cuda_library,
    .group_times = cuda_group_times,
};
