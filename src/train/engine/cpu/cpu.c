// SPDX-License-Identifier: Apache-2.0
// cpu: the engine for processors. oneDNN does the convolutions and matrix products, our own loops
// the rest, all on one team of threads (team.h). plan.h says how a net becomes a plan.
//
// A program has one plan, for whole batches. A partial batch uses it too, with zeros for the
// missing samples. Only with a batch norm, whose averages would count the zeros, does it need its
// own plan, made when the first partial batch comes. In a group a whole batch is the largest share
// that a rank has of the recipe's.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/engine/cpu/dnnl.h"
#include "train/engine/cpu/kernels.h"
#include "train/engine/cpu/params.h"
#include "train/engine/cpu/plan.h"
#include "train/engine/cpu/team.h"
#include "train/engine/engine.h"
#include "version.h"

#define PART_ROWS 1024

struct engine_program {
    struct net_layer *layers; // a copy: the caller may release its net
    int layer_count;
    enum net_loss loss;
    struct recipe recipe;
    struct engine_options options;
    int threads;
    bool has_norm;
    int stage;
    int64_t iteration;
    int64_t batch;       // samples of a step here
    struct group *group; // null: alone
    struct together together;
    struct params params;
    struct optimizer_walk optimizer;
    struct plan plan, rest; // rest: for a partial batch, with a batch norm
    bool *trains, *reaches; // (layer)
    double *rows;           // (batch)
};

// ---- making ----

static int cpu_available(const struct engine_options *options, struct err *err)
{
    if (options->precision == ENGINE_BF16)
        TRY(dnn_try_bf16(err));
    return dnn_open(err);
}

static void cpu_release(struct engine_program *program)
{
    if (!program)
        return;
    plan_release(&program->rest);
    plan_release(&program->plan);
    optimizer_release(&program->optimizer);
    params_release(&program->params);
    free(program->layers);
    free(program->trains);
    free(program->reaches);
    free(program->rows);
    free(program);
}

static int copy_net(struct engine_program *program, const struct net *net, struct err *err)
{
    size_t count = (size_t)net->layer_count;
    program->loss = net->loss;
    program->layers = malloc(count * sizeof *program->layers);
    program->trains = calloc(count, sizeof *program->trains);
    program->reaches = calloc(count, sizeof *program->reaches);
    program->rows = calloc((size_t)program->batch, sizeof *program->rows);
    if (!program->layers || !program->trains || !program->reaches || !program->rows)
        return err_memory(err);
    memcpy(program->layers, net->layers, count * sizeof *net->layers);
    program->layer_count = net->layer_count;
    for (int i = 0; i < net->layer_count; i++)
        program->has_norm |= net->layers[i].op == NET_BATCH_NORM;
    return params_init(&program->params, net, &program->recipe, err);
}

static struct plan_spec spec_of(struct engine_program *program, int64_t batch)
{
    return (struct plan_spec){.layers = program->layers,
                              .layer_count = program->layer_count,
                              .params = &program->params,
                              .batch = batch,
                              .bf16 = program->options.precision == ENGINE_BF16,
                              .exact = program->has_norm,
                              .ranks = group_place(program->group).size};
}

static int cpu_set_stage(struct engine_program *program, int stage, struct err *err)
{
    if (stage < 0 || stage >= program->recipe.stage_count)
        return err_set(err, ERR_FAIL, "there is no stage %d of %d", stage,
                       program->recipe.stage_count);
    const struct recipe_stage *now = &program->recipe.stages[stage];
    program->stage = stage;
    params_reset_states(&program->params);
    for (int i = 0; i < program->layer_count; i++) {
        const struct net_layer *layer = &program->layers[i];
        program->trains[i] = recipe_trains(now, layer);
        program->reaches[i] = program->trains[i];
        for (int k = 0; k < layer->input_count; k++)
            program->reaches[i] |= program->reaches[layer->inputs[k]];
    }
    optimizer_select(&program->optimizer, now->rate, program->trains);
    return 0;
}

// With one label per token some sequences at a time, at least PART_ROWS time steps: more would only
// take memory.
static int64_t samples_at_a_time(const struct engine_program *program)
{
    const struct net_layer *last = &program->layers[program->layer_count - 1];
    int64_t batch = program->batch, part = program->options.micro_batch;
    if (last->op != NET_TIED_HEAD)
        return batch;
    if (part == 0)
        part = (PART_ROWS + last->out.dim[0] - 1) / last->out.dim[0];
    return part < batch ? part : batch;
}

static int build_program(struct engine_program *program, const struct net *net, struct err *err)
{
    TRY(recipe_check(&program->recipe, net, err));
    TRY(copy_net(program, net, err));
    struct plan_spec spec = spec_of(program, samples_at_a_time(program));
    TRY(plan_init(&program->plan, &spec, err));
    TRY(params_allocate(&program->params, err));
    TRY(params_start(&program->params, program->options.seed, err));
    TRY(plan_bind(&program->plan, NULL, err));
    TRY(optimizer_init(&program->optimizer, &program->params, program->plan.passes, err));
    program->together = (struct together){
        .group = program->group, .params = &program->params, .trains = program->trains};
    TRY(together_check(program->group, &program->params, err));
    return cpu_set_stage(program, 0, err);
}

// An embedding without a tied head has its own optimizer, which knows none of these.
static int check_recipe(const struct net *net, const struct recipe *recipe, struct err *err)
{
    bool adamw = recipe->optimizer == OPTIMIZER_ADAMW;
    int tied = net->layers[net->layer_count - 1].tied;
    for (int i = 0; i < net->layer_count; i++)
        if (net->layers[i].op == NET_EMBEDDING && i != tied &&
            (adamw || recipe->clip > 0 || recipe->warmup > 0))
            return err_set(err, ERR_USAGE,
                           "layer '%s': the engine 'cpu' trains an embedding without a tied head "
                           "neither by AdamW nor with clipping or a schedule",
                           net->layers[i].name);
    if (recipe->clip > 0 && !adamw)
        return err_set(err, ERR_USAGE, "the engine 'cpu' clips gradients only with AdamW");
    return 0;
}

static int cpu_compile(const struct net *net, const struct recipe *recipe,
                       const struct engine_options *options, struct engine_program **out,
                       struct err *err)
{
    *out = NULL;
    TRY(net_check(net, err));
    TRY(cpu_available(options, err));
    TRY(check_recipe(net, recipe, err));
    struct engine_program *program = calloc(1, sizeof *program);
    if (!program)
        return err_memory(err);
    program->recipe = *recipe;
    program->options = *options;
    program->threads = team_set(options->threads);
    program->group = group_place(options->group).size > 1 ? options->group : NULL;
    program->batch = group_share_most(program->group, recipe->batch);
    int rc = build_program(program, net, err);
    if (rc != 0) {
        err_context(err, "net '%s'", net->name);
        cpu_release(program);
        return rc;
    }
    *out = program;
    return 0;
}

// ---- running ----

static int check_batch(const struct engine_program *program, const struct engine_batch *batch,
                       bool labelled, struct err *err)
{
    assert(batch->count >= !program->group && batch->count <= program->batch);
    if (batch->count == 0)
        return 0;
    return engine_check_batch(program->layers, program->layer_count, program->loss, batch, labelled,
                              err);
}

// The plan for a training step on `count` samples.
static int plan_for(struct engine_program *program, int64_t count, struct plan **plan,
                    struct err *err)
{
    *plan = &program->plan;
    if (!program->has_norm || count == program->batch || count == 0)
        return 0;
    *plan = &program->rest;
    if (program->rest.batch == count)
        return 0;
    plan_release(&program->rest);
    struct plan_spec spec = spec_of(program, count);
    int rc = plan_init(&program->rest, &spec, err);
    if (rc == 0)
        rc = plan_bind(&program->rest, &program->plan.arena, err);
    if (rc != 0)
        plan_release(&program->rest);
    return rc;
}

static struct loss loss_of(const struct engine_program *program, const struct plan *plan,
                           const struct engine_batch *batch, bool training)
{
    const struct value *last = &plan->values[plan->layer_count - 1];
    return (struct loss){.kind = program->loss,
                         .batch = plan->batch,
                         .count = batch->count,
                         .all = batch->all > 0 ? batch->all : batch->count,
                         .units = last->columns,
                         .z = last->out,
                         .z_bf16 = last->bf16,
                         .labels = batch->labels,
                         .weight = 1,
                         .grad = training ? last->grad : NULL,
                         .grad_bf16 = last->grad_bf16,
                         .rows = program->rows};
}

static struct pass pass_of(const struct engine_program *program, const struct engine_batch *batch,
                           bool training)
{
    return (struct pass){.batch = batch,
                         .training = training,
                         .seed = program->options.seed,
                         .iteration = program->iteration,
                         .trains = program->trains,
                         .reaches = program->reaches,
                         .group = program->group,
                         .all = batch->all > 0 ? batch->all : batch->count};
}

static int step_embeddings(struct engine_program *program, struct err *err)
{
    for (int i = 0; i < program->params.count; i++) {
        const struct slot *slot = &program->params.slots[i];
        if (!slot->embedding || !program->trains[slot->param.layer])
            continue;
        TRY(embedding_unite(slot->embedding, program->group, err));
        embedding_step(slot->embedding, program->iteration);
    }
    return 0;
}

// A rank without samples has gradients of zero.
static void clear_gradients(struct engine_program *program)
{
    struct params *params = &program->params;
    memset(params->grads, 0, (size_t)params->trained * sizeof *params->grads);
    for (int i = 0; i < params->count; i++)
        if (params->slots[i].embedding)
            embedding_look(params->slots[i].embedding, NULL, 0);
}

// A part of a batch: samples from `first` on, at most as many as the plan is for.
static struct engine_batch part_of(const struct engine_program *program,
                                   const struct engine_batch *batch, int64_t first)
{
    int64_t time = program->layers[program->layer_count - 1].out.dim[0];
    struct engine_batch part = *batch;
    part.count = batch->count - first;
    if (part.count > program->plan.batch)
        part.count = program->plan.batch;
    part.first += first;
    part.tokens += first * time;
    if (part.labels)
        part.labels += first * time;
    return part;
}

// One label per token: the parts of a batch one after the other. `odds`: (batch, classes) or null.
static int run_parts(struct engine_program *program, const struct engine_batch *batch,
                     bool training, struct engine_score *score, float *odds, struct err *err)
{
    const struct net_layer *last = &program->layers[program->layer_count - 1];
    for (int64_t first = 0; first < batch->count; first += program->plan.batch) {
        struct engine_batch part = part_of(program, batch, first);
        struct pass pass = pass_of(program, &part, training);
        pass.adds = first > 0;
        pass.labels = (batch->all > 0 ? batch->all : batch->count) * last->out.dim[0];
        if (training && first + program->plan.batch >= batch->count)
            pass.together = &program->together;
        pass.score = score;
        pass.odds = odds ? odds + first * last->units : NULL;
        TRY(plan_forward(&program->plan, &pass, err));
        if (training)
            TRY(plan_backward(&program->plan, &pass, err));
    }
    return 0;
}

static bool has_parts(const struct engine_program *program)
{
    return program->layers[program->layer_count - 1].op == NET_TIED_HEAD;
}

static int step_parts(struct engine_program *program, const struct engine_batch *batch,
                      struct engine_score *score, struct err *err)
{
    struct engine_score mine = {0};
    together_begin(&program->together);
    TRY(run_parts(program, batch, true, &mine, NULL, err));
    TRY(together_score(&program->together, &mine, err));
    TRY(together_finish(&program->together, score, err));
    optimizer_step(&program->optimizer, program->iteration);
    program->iteration++;
    return 0;
}

static int cpu_step(struct engine_program *program, const struct engine_batch *batch,
                    struct engine_score *score, struct err *err)
{
    struct plan *plan;
    team_set(program->threads);
    TRY(check_batch(program, batch, true, err));
    if (batch->count == 0)
        clear_gradients(program);
    if (has_parts(program))
        return step_parts(program, batch, score, err);
    TRY(plan_for(program, batch->count, &plan, err));
    struct engine_score mine = {0};
    struct pass pass = pass_of(program, batch, true);
    pass.together = &program->together;
    together_begin(&program->together);
    TRY(plan_forward(plan, &pass, err));
    struct loss loss = loss_of(program, plan, batch, true);
    if (batch->count > 0)
        loss_run(&loss, &mine);
    TRY(together_score(&program->together, &mine, err));
    TRY(plan_backward(plan, &pass, err));
    TRY(together_finish(&program->together, score, err));
    TRY(step_embeddings(program, err));
    optimizer_step(&program->optimizer, program->iteration);
    program->iteration++;
    return 0;
}

// Also checks the batch; one with a label per token has parts instead.
static int run_forward(struct engine_program *program, const struct engine_batch *batch,
                       bool labelled, struct engine_score *score, float *odds, struct err *err)
{
    team_set(program->threads);
    TRY(check_batch(program, batch, labelled, err));
    if (has_parts(program))
        return run_parts(program, batch, false, score, odds, err);
    struct pass pass = pass_of(program, batch, false);
    TRY(plan_forward(&program->plan, &pass, err));
    struct loss loss = loss_of(program, &program->plan, batch, false);
    if (odds)
        loss_predict(&loss, odds);
    else
        loss_run(&loss, score);
    return 0;
}

static int cpu_evaluate(struct engine_program *program, const struct engine_batch *batch,
                        struct engine_score *score, struct err *err)
{
    struct engine_score mine = {0};
    if (!program->group)
        return run_forward(program, batch, true, score, NULL, err);
    if (batch->count > 0)
        TRY(run_forward(program, batch, true, &mine, NULL, err));
    double sums[3] = {mine.loss, (double)mine.correct, (double)mine.count};
    TRY(group_sum_reals(program->group, sums, 3, err));
    score->loss += sums[0];
    score->correct += (int64_t)sums[1];
    score->count += (int64_t)sums[2];
    return 0;
}

static int cpu_predict(struct engine_program *program, const struct engine_batch *batch, float *out,
                       struct err *err)
{
    return run_forward(program, batch, false, NULL, out, err);
}

static void cpu_set_iteration(struct engine_program *program, int64_t iteration)
{
    program->iteration = iteration;
}

static int cpu_tensor_count(const struct engine_program *program)
{
    return tensors_count(&program->params.tensors);
}

static void cpu_tensor(const struct engine_program *program, int index,
                       struct engine_tensor *tensor)
{
    tensors_describe(&program->params.tensors, index, tensor);
}

static int cpu_read(struct engine_program *program, int index, float *values, struct err *err)
{
    (void)err;
    team_set(program->threads);
    params_read(&program->params, index, values);
    return 0;
}

static int cpu_write(struct engine_program *program, int index, const float *values,
                     struct err *err)
{
    (void)err;
    team_set(program->threads);
    params_write(&program->params, index, values);
    return 0;
}

static int cpu_distances(const struct engine_options *options, const float *a, const float *b,
                         int64_t n, int64_t m, int64_t dim, float *out, struct err *err)
{
    team_set(options->threads);
    return l1_distances(a, b, n, m, dim, out, err);
}

static double cpu_peak(const struct engine_options *options)
{
    team_set(options->threads);
    return l1_peak(0.3);
}

static bool cpu_library(int index, struct engine_library *library)
{
    memset(library, 0, sizeof *library);
    if (index == 0) {
        snprintf(library->name, sizeof library->name, "oneDNN");
        return dnn_describe(library->version, sizeof library->version, library->kernels,
                            sizeof library->kernels);
    }
    if (index > 1)
        return false;
    snprintf(library->name, sizeof library->name, "own kernels");
    snprintf(library->version, sizeof library->version, "%s", FARE_VERSION);
    snprintf(library->kernels, sizeof library->kernels, "%s", kernels()->name);
    return true;
}

static const struct engine_l1 cpu_l1 = {.distances = cpu_distances, .peak = cpu_peak};

const struct engine engine_cpu = {
    .name = "cpu",
    .precisions = 1U << ENGINE_F32 | 1U << ENGINE_BF16,
    .about = "oneDNN and own kernels on all cores",
    .groups = true,
    .available = cpu_available,
    .compile = cpu_compile,
    .release = cpu_release,
    .step = cpu_step,
    .evaluate = cpu_evaluate,
    .predict = cpu_predict,
    .set_stage = cpu_set_stage,
    .set_iteration = cpu_set_iteration,
    .tensor_count = cpu_tensor_count,
    .tensor = cpu_tensor,
    .read = cpu_read,
    .write = cpu_write,
    .product = cpu_product,
    .l1 = &cpu_l1,
    .library = cpu_library,
};
