// SPDX-License-Identifier: Apache-2.0
// The cuda engine: programs on an NVIDIA GPU.
//
// Batches of sample numbers of a loaded set are queued (queue.c), so that the GPU never waits for
// the host. Batches in host memory are copied and done at once; tests and odd inputs use that.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "train/engine/cuda/program.h"

// ---- parameters between host and GPU ----

// A tensor in the net's layout, read or written.
static int transfer(const struct gpu_params *p, struct gpu_context *gpu, int index, float *values,
                    bool to_net, struct err *err)
{
    struct gpu_tensor tensor = gpu_params_find(p, index);
    int64_t bytes = tensor.count * (int64_t)sizeof(float);
    SCOPED(free_pointer) float *arena = malloc((size_t)bytes);
    if (!arena)
        return err_memory(err);
    // Read before writing too: padding between the numbers keeps its values.
    TRY(gpu_download(gpu, arena, tensor.at, bytes, err));
    gpu_params_convert(tensor.slot, arena, values, to_net);
    if (to_net)
        return 0;
    TRY(gpu_upload(gpu, tensor.at, arena, bytes, err));
    if (tensor.rounded) {
        struct launch launch;
        gpu_params_round(p, &tensor, &launch);
        TRY(gpu_launch_now(gpu, &launch, err));
    }
    return gpu_sync(gpu, err);
}

static int init_params(const struct gpu_params *p, struct gpu_context *gpu, uint64_t seed,
                       struct err *err)
{
    for (int i = 0; i < p->count; i++) {
        const struct net_param *param = &p->slots[i].param;
        SCOPED(free_pointer) float *values = malloc((size_t)param->count * sizeof *values);
        if (!values)
            return err_memory(err);
        TRY(net_init_param(param, seed, values, err));
        TRY(transfer(p, gpu, i, values, false, err));
    }
    return 0;
}

static int init_states(const struct gpu_params *p, struct gpu_context *gpu, struct err *err)
{
    float first = p->recipe.optimizer == OPTIMIZER_RMSPROP_MOMENTUM ? 1 : 0;
    int64_t bytes = p->size * (int64_t)sizeof(float);
    SCOPED(free_pointer) float *values = malloc((size_t)bytes);
    if (!values)
        return err_memory(err);
    for (int k = 0; k < p->states; k++) {
        for (int64_t i = 0; i < p->size; i++)
            values[i] = k == 0 ? first : 0;
        TRY(gpu_upload(gpu, p->state[k], values, bytes, err));
        TRY(gpu_sync(gpu, err));
    }
    return 0;
}

// ---- making ----

static int cuda_available(const struct engine_options *options, struct err *err)
{
    struct gpu_about about;
    gpu_choose(group_place(options->group).local_rank);
    TRY(gpu_look(&cuda_driver, options->precision, &about, err));
    return group_place(options->group).size > 1 ? cuda_driver.ranks->available(err) : 0;
}

static void cuda_release(struct engine_program *program)
{
    if (!program)
        return;
    // Graphs go before what sums over ranks, unless a rank failed: then sums would never end.
    if (program->plan.device.several && program->gpu && gpu_sync(program->gpu, NULL) != 0)
        cuda_driver.ranks->abandon(program->gpu);
    for (int i = 0; program->gpu && i < RECIPE_STAGES_MAX; i++)
        for (int k = 0; k < PROGRAM_LENGTHS; k++)
            gpu_graph_free(program->gpu, program->train[i][k]);
    if (program->gpu)
        gpu_graph_free(program->gpu, program->evaluate);
    gpu_plan_free(&program->plan);
    gpu_params_free(&program->params);
    gpu_close(program->gpu);
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
    const struct gpu_value *in = &program->plan.values[0];
    return program->recipe.batch * in->rows * in->pitch;
}

// Tests set it, to have several buckets in small nets.
static int64_t bucket_bytes(void)
{
    const char *text = getenv("FARE_BUCKET_BYTES");
    int64_t bytes;
    return text && text_int(text, &bytes) ? bytes : 0;
}

static int bind_lists(struct gpu_context *gpu, struct gpu_plan *plan, struct err *err)
{
    struct launches *lists[PLAN_LISTS];
    gpu_plan_lists(plan, lists);
    for (int i = 0; i < PLAN_LISTS; i++)
        TRY(gpu_bind(gpu, lists[i], err));
    return 0;
}

static int build_program(struct engine_program *program, const struct net *net, struct err *err)
{
    size_t count = (size_t)net->layer_count;
    struct group *group = program->options.group;
    TRY(recipe_check(&program->recipe, net, err));
    program->recipe.batch = gpu_rank_batch(group, program->recipe.batch);
    int64_t batch = program->recipe.batch;
    program->loss = net->loss;
    program->layer_count = net->layer_count;
    program->layers = malloc(count * sizeof *program->layers);
    if (!program->layers)
        return err_memory(err);
    memcpy(program->layers, net->layers, count * sizeof *program->layers);
    gpu_choose(group_place(group).local_rank);
    TRY(gpu_open(&cuda_driver, program->options.precision, &program->gpu, err));
    struct gpu_context *gpu = program->gpu;
    struct gpu_device device = gpu_device(gpu);
    gpu_rank_device(group, &device);
    if (device.several)
        TRY(cuda_driver.ranks->join(gpu, group, err));
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
    TRY(bind_lists(gpu, &program->plan, err));
    program->row_bytes = (int64_t)(sizeof(struct cuda_now) + (size_t)batch * 4 + 15) / 16 * 16;
    TRY(gpu_alloc(gpu, PROGRAM_ROWS * program->row_bytes, &program->table, err));
    void *host[4];
    const int64_t bytes[4] = {PROGRAM_ROWS * program->row_bytes,
                              PROGRAM_ROWS * batch * (int64_t)sizeof *program->totals,
                              input_numbers(program) * 4, batch * program->plan.values[0].rows * 4};
    for (int i = 0; i < 4; i++)
        TRY(gpu_alloc_host(gpu, bytes[i] + 4 * batch, &host[i], err));
    program->rows = host[0];
    program->scores = host[1];
    program->totals = host[1];
    program->host_input = host[2];
    program->host_words = host[3];
    return init_params(&program->params, gpu, program->options.seed, err);
}

static int cuda_set_stage(struct engine_program *program, int stage, struct err *err);

static int refuse_net(const struct net *net, const struct recipe *recipe, struct err *err)
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
    TRY(refuse_net(net, recipe, err));
    struct engine_program *program = calloc(1, sizeof *program);
    if (!program)
        return err_memory(err);
    program->recipe = *recipe;
    program->options = *options;
    int rc = build_program(program, net, err);
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
    const struct gpu_value *in = &program->plan.values[0];
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
        TRY(gpu_upload(program->gpu, plan->values[0].out, program->host_input,
                       input_numbers(program) * (plan->images ? 2 : 4), err));
    }
    int time = program->layers[0].out.dim[0];
    int32_t *words = program->host_words;
    if (batch->tokens && plan->tokens) {
        memset(words, 0, (size_t)(size * time) * 4);
        memcpy(words, batch->tokens, (size_t)(batch->count * time) * 4);
        TRY(gpu_upload(program->gpu, plan->tokens, words, size * time * 4, err));
        TRY(gpu_sync(program->gpu, err));
    }
    int64_t labels = cuda_labels(program);
    memset(words, 0, (size_t)(size * labels) * 4);
    if (labelled)
        memcpy(words, batch->labels, (size_t)(batch->count * labels) * 4);
    TRY(gpu_upload(program->gpu, plan->labels, words, size * labels * 4, err));
    struct cuda_now now;
    cuda_fill_now(program, batch, training, &now);
    TRY(gpu_upload(program->gpu, plan->now, &now, sizeof now, err));
    return gpu_sync(program->gpu, err);
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
        rc = gpu_launch_list(program->gpu, &plan->buffers[0].forward, err);
    if (rc == 0)
        rc = gpu_launch_list(program->gpu, &plan->buffers[0].backward[program->stage], err);
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
    TRY(gpu_launch_list(program->gpu, &program->plan.evaluate, err));
    return take_score(program, batch, false, score, err);
}

static int cuda_predict(struct engine_program *program, const struct engine_batch *batch,
                        float *out, struct err *err)
{
    const struct gpu_plan *plan = &program->plan;
    int units = plan->values[plan->layer_count - 1].columns;
    TRY(put_batch(program, batch, false, false, err));
    TRY(gpu_launch_list(program->gpu, &plan->predict, err));
    return gpu_download(program->gpu, out, plan->probabilities, batch->count * units * 4, err);
}

// ---- state ----

static int cuda_set_stage(struct engine_program *program, int stage, struct err *err)
{
    if (stage < 0 || stage >= program->recipe.stage_count)
        return err_set(err, ERR_FAIL, "there is no stage %d of %d", stage,
                       program->recipe.stage_count);
    TRY(cuda_drain(program, 0, err));
    TRY(init_states(&program->params, program->gpu, err));
    program->stage = stage;
    return cuda_set_ages(program, program->iteration, err);
}

static void cuda_set_iteration(struct engine_program *program, int64_t iteration)
{
    program->iteration = iteration;
}

static int cuda_tensor_count(const struct engine_program *program)
{
    return tensors_count(&program->params.tensors);
}

static void cuda_tensor(const struct engine_program *program, int index,
                        struct engine_tensor *tensor)
{
    tensors_describe(&program->params.tensors, index, tensor);
}

static int cuda_read(struct engine_program *program, int index, float *values, struct err *err)
{
    TRY(cuda_drain(program, 0, err));
    TRY(cuda_update_lazy_rows(program, err));
    return transfer(&program->params, program->gpu, index, values, true, err);
}

static int cuda_write(struct engine_program *program, int index, const float *values,
                      struct err *err)
{
    TRY(cuda_drain(program, 0, err));
    TRY(cuda_update_lazy_rows(program, err));
    return transfer(&program->params, program->gpu, index, (float *)(uintptr_t)values, false, err);
}

static bool cuda_group_times(struct engine_program *program, struct group_times *times)
{
    *times = (struct group_times){.waiting_ns = (int64_t)program->waiting_ns,
                                  .communication_ns = (int64_t)program->communication_ns};
    return program->plan.device.several;
}

static bool cuda_library(int index, struct engine_library *library)
{
    return cuda_driver.library(index, library);
}

// ---- kernels ahead ----
//
// Which kernels a net needs is only known from its plan, so one is made that gets no memory on the
// GPU. They stay loaded until the process ends.

// Addresses without memory behind them: a plan never reads from the GPU.
static int no_alloc(void *driver, int64_t bytes, bool zeroed, device_ptr *out, struct err *err)
{
    device_ptr *next = driver;
    (void)zeroed;
    (void)err;
    *out = *next;
    *next += (device_ptr)(bytes + 255) / 256 * 256;
    return 0;
}

static int bind_one(struct gpu_context *gpu, struct launch *launch, struct err *err)
{
    return gpu_bind(gpu, &(struct launches){.items = launch, .count = 1}, err);
}

// The launches that are in no list.
static int bind_others(struct gpu_context *gpu, const struct gpu_plan *plan, struct err *err)
{
    struct launch launch;
    gpu_gather(plan, 0, &(struct engine_set){0}, &(struct gpu_set){0}, 0, 0, &launch);
    TRY(bind_one(gpu, &launch, err));
    if (plan->catch_up.count > 0) {
        gpu_set_ages(plan, 0, &launch);
        TRY(bind_one(gpu, &launch, err));
    }
    if (!plan->params->rounded)
        return 0;
    struct gpu_tensor tensor = gpu_params_find(plan->params, 0);
    gpu_params_round(plan->params, &tensor, &launch);
    return bind_one(gpu, &launch, err);
}

static int cuda_load_kernels(const struct net *net, const struct recipe *recipe,
                             const struct engine_options *options, struct err *err)
{
    struct gpu_context *gpu;
    struct gpu_params params = {0};
    device_ptr next = 1 << 20;
    TRY(net_check(net, err));
    TRY(recipe_check(recipe, net, err));
    gpu_choose(group_place(options->group).local_rank);
    TRY(gpu_open(&cuda_driver, options->precision, &gpu, err));
    struct gpu_device device = gpu_device(gpu);
    gpu_rank_device(options->group, &device);
    device.driver = &next;
    device.alloc = no_alloc;
    device.upload = NULL;
    device.map = NULL;
    device.memory_left = NULL;
    struct gpu_plan plan = {.device = device,
                            .layers = net->layers,
                            .layer_count = net->layer_count,
                            .loss = net->loss,
                            .batch = gpu_rank_batch(options->group, recipe->batch),
                            .params = &params};
    int rc = gpu_params_new(&params, net, recipe, &device, err);
    if (rc == 0)
        rc = gpu_plan_new(&plan, 1, err);
    if (rc == 0)
        rc = bind_lists(gpu, &plan, err);
    if (rc == 0)
        rc = bind_others(gpu, &plan, err);
    gpu_plan_free(&plan);
    gpu_params_free(&params);
    gpu_close(gpu);
    return rc;
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
    .blas = &cuda_blas,
    .l1 = &cuda_engine_l1,
    .load_kernels = cuda_load_kernels,
    .library = cuda_library,
    .group_times = cuda_group_times,
};
