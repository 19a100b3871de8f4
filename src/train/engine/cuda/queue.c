// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cuda/program.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "train/engine/shared.h"

// Steps per graph. The GPU idles between two graphs, and each graph's first step waits for its
// samples; so steps are queued until there are enough for a long graph. Only for small nets: graphs
// of many launches take long to make, and memory.
#define STEPS_MEDIUM 8
#define STEPS_MAX    32
#define LAUNCHES_MAX (STEPS_MEDIUM * PLAN_SMALL)
static const int lengths[PROGRAM_LENGTHS] = {1, STEPS_MEDIUM, STEPS_MAX};

// ---- numbers that change from step to step ----

static float rate_at(const struct engine_program *program, int64_t t)
{
    const struct recipe *r = &program->recipe;
    float rate = (float)recipe_rate(r, program->stage, t);
    if (r->optimizer == OPTIMIZER_ADAM)
        return (float)adam_rate(rate, pow((double)r->rho, (double)t + 1),
                                pow((double)r->beta2, (double)t + 1));
    if (r->optimizer == OPTIMIZER_RMSPROP)
        return (float)((double)rate / (1 + (double)r->decay * (double)t));
    return rate;
}

void cuda_fill_now(const struct engine_program *program, const struct engine_batch *batch,
                   bool training, struct cuda_now *now)
{
    *now = (struct cuda_now){.count = (int)batch->count,
                             .total = (int)(batch->all > 0 ? batch->all : batch->count),
                             .first = (int)batch->first,
                             .step = program->queued,
                             .from = -1,
                             .age = (int)program->iteration,
                             .rate = training ? rate_at(program, program->iteration) : 0};
    now->position = batch->position;
    if (training && program->recipe.optimizer == OPTIMIZER_ADAMW) {
        double t = (double)program->iteration + 1;
        now->rises[0] = (float)(1 / (1 - pow((double)program->recipe.rho, t)));
        now->rises[1] = (float)(1 / sqrt(1 - pow((double)program->recipe.beta2, t)));
    }
    memcpy(now->augment, batch->augment, sizeof now->augment);
    for (int i = 0; training && i < program->plan.drop_count; i++) {
        struct dropout drop;
        int layer = program->plan.drop_slots[i];
        dropout_init(&drop, program->options.seed, layer, program->iteration,
                     program->layers[layer].rate);
        memcpy(now->drop[i], drop.key, sizeof drop.key);
        memcpy(now->drop[i] + 2, drop.stream, sizeof drop.stream);
    }
}

void cuda_fill_counts(struct engine_program *program, const struct engine_batch *batch,
                      bool training)
{
    int row = program->queued % PROGRAM_ROWS;
    program->evaluates[row] = !training;
    program->counts[row] = (int)batch->count;
    program->all_counts[row] = (int)(batch->all > 0 ? batch->all : batch->count);
}

int cuda_set_ages(struct engine_program *program, int64_t age, struct err *err)
{
    const struct gpu_plan *plan = &program->plan;
    program->lazy_iteration = age;
    if (plan->catch_up.count == 0)
        return 0;
    struct launch launch;
    gpu_set_ages(plan, age, &launch);
    return gpu_launch_now(program->gpu, &launch, err);
}

int cuda_update_lazy_rows(struct engine_program *program, struct err *err)
{
    struct gpu_plan *plan = &program->plan;
    if (plan->catch_up.count == 0)
        return 0;
    struct cuda_now now = {.age = (int)program->lazy_iteration, .step = program->queued};
    TRY(gpu_upload(program->gpu, plan->now, &now, sizeof now, err));
    TRY(gpu_launch_list(program->gpu, &plan->catch_up, err));
    return cuda_set_ages(program, program->lazy_iteration, err);
}

// ---- the queue ----

// How many of `count` rows follow each other in the ring from this one on.
static int rows_together(int row, int count)
{
    return count < PROGRAM_ROWS - row ? count : PROGRAM_ROWS - row;
}

static int copy_rows(struct engine_program *program, int from, int to, struct err *err)
{
    for (int count; from < to; from += count) {
        int row = from % PROGRAM_ROWS;
        count = rows_together(row, to - from);
        TRY(gpu_upload(program->gpu, program->table + (device_ptr)(row * program->row_bytes),
                       program->rows + row * program->row_bytes, count * program->row_bytes, err));
    }
    return 0;
}

// The first step's samples are gathered before it; those of each later step while the step before
// it runs backward, after its loss kernel, which advances the table's row.
static int train_graph(struct engine_program *program, int steps, struct graph **out,
                       struct err *err)
{
    const struct gpu_plan *plan = &program->plan;
    struct graph_stage stages[3 * STEPS_MAX];
    int count = 0;
    for (int i = 0; i < steps; i++) {
        int now = i % plan->buffer_count, next = (i + 1) % plan->buffer_count;
        const struct plan_buffer *buffer = &plan->buffers[now];
        const struct launches *back = &buffer->backward[program->stage];
        bool gathered = i > 0 && plan->buffer_count > 1, ahead = i + 1 < steps && next != now;
        if (!gathered)
            stages[count++] =
                (struct graph_stage){.items = &program->gather[now], .count = 1, .barrier = true};
        stages[count++] = (struct graph_stage){
            .items = buffer->forward.items, .count = buffer->forward.count, .barrier = gathered};
        stages[count++] = (struct graph_stage){.items = back->items,
                                               .count = back->count,
                                               .concurrent = ahead ? &program->gather[next] : NULL};
    }
    return gpu_graph_new(program->gpu, stages, count, out, err);
}

// Which graph is the longest of at most `steps`. Several ranks have graphs of one step: NCCL
// demands that all launch the same ones, and how many steps wait at each depends on its clock.
static int length_for(const struct engine_program *program, int steps)
{
    if (program->plan.device.several)
        return 0;
    int launches = gpu_plan_launches(&program->plan, program->stage), which = 0;
    for (int i = 1; i < PROGRAM_LENGTHS; i++)
        if (lengths[i] <= steps && lengths[i] * launches <= LAUNCHES_MAX)
            which = i;
    return which;
}

// All graphs that the stage needs, so that none is made between later steps.
static int make_graphs(struct engine_program *program, bool evaluate, struct err *err)
{
    const struct launches *list = &program->plan.evaluate;
    int stage = program->stage;
    if (evaluate && !program->evaluate) {
        const struct graph_stage stages[] = {
            {.items = &program->gather_held_out, .count = 1, .barrier = true},
            {.items = list->items, .count = list->count},
        };
        return gpu_graph_new(program->gpu, stages, 2, &program->evaluate, err);
    }
    for (int i = evaluate ? -1 : length_for(program, STEPS_MAX); i >= 0; i--)
        if (!program->train[stage][i])
            TRY(train_graph(program, lengths[i], &program->train[stage][i], err));
    return 0;
}

// The next queued steps, as many at once as a graph has.
static int launch_some(struct engine_program *program, struct err *err)
{
    bool evaluates = program->evaluates[program->launched % PROGRAM_ROWS];
    int same = 1;
    while (!evaluates && same < STEPS_MAX && program->launched + same < program->queued &&
           !program->evaluates[(program->launched + same) % PROGRAM_ROWS])
        same++;
    int which = length_for(program, same), rc = make_graphs(program, evaluates, err);
    struct graph *graph = evaluates ? program->evaluate : program->train[program->stage][which];
    if (rc == 0)
        rc = gpu_graph_launch(program->gpu, graph, err);
    program->launched += evaluates ? 1 : lengths[which];
    return rc;
}

static int launch_queued(struct engine_program *program, struct err *err)
{
    TRY(copy_rows(program, program->launched, program->queued, err));
    while (program->launched < program->queued)
        TRY(launch_some(program, err));
    int event = program->event_count++ % GPU_EVENTS;
    program->events[event] = program->launched;
    return gpu_event_record(program->gpu, event, err);
}

int64_t cuda_labels(const struct engine_program *program)
{
    return program->plan.is_text ? program->plan.values[0].rows : 1;
}

// ---- scores ----

// Of the steps up to `end`: those of the samples, or with several ranks the total of each step.
static int fetch_scores(struct engine_program *program, int end, struct err *err)
{
    const struct gpu_plan *plan = &program->plan;
    bool several = plan->device.several;
    int64_t bytes = several ? (int64_t)sizeof *program->totals
                            : program->recipe.batch * (int64_t)sizeof *program->scores;
    char *to = several ? (char *)program->totals : (char *)program->scores;
    device_ptr at = several ? plan->totals : plan->scores;
    for (int from = program->done, count; from < end; from += count) {
        int row = from % PROGRAM_ROWS;
        count = rows_together(row, end - from);
        TRY(gpu_fetch(program->gpu, to + row * bytes, at + (device_ptr)(row * bytes), count * bytes,
                      err));
    }
    return 0;
}

static void add_scores(struct engine_program *program, int row)
{
    const struct cuda_score *score = program->scores + row * program->recipe.batch;
    for (int i = 0; i < program->counts[row]; i++) {
        program->uncollected.loss += (double)score[i].loss;
        program->uncollected.correct += score[i].right;
    }
}

static void add_total(struct engine_program *program, int row)
{
    const struct cuda_total *total = &program->totals[row];
    program->uncollected.loss += (double)total->loss;
    program->uncollected.correct += (int64_t)total->right;
    if (program->evaluates[row])
        return;
    program->communication_ns += (double)total->least_ns;
    program->waiting_ns += (double)(total->own_ns - total->least_ns);
}

int cuda_drain(struct engine_program *program, int64_t leave, struct err *err)
{
    if (program->queued - program->done <= leave)
        return 0;
    if (program->launched < program->queued - leave)
        TRY(launch_queued(program, err));
    // The first event after the steps that must be done.
    int end = program->launched, event = -1;
    for (int i = program->event_count - 1; i >= 0 && i > program->event_count - GPU_EVENTS; i--) {
        int at = program->events[i % GPU_EVENTS];
        if (at < program->queued - leave || at <= program->done)
            break;
        end = at;
        event = i % GPU_EVENTS;
    }
    if (end == program->launched && end < program->queued) // else the GPU would idle
        TRY(launch_queued(program, err));
    TRY(event >= 0 ? gpu_event_wait(program->gpu, event, err) : gpu_sync(program->gpu, err));
    TRY(fetch_scores(program, end, err));
    for (; program->done < end; program->done++) {
        int row = program->done % PROGRAM_ROWS;
        if (program->plan.device.several)
            add_total(program, row);
        else
            add_scores(program, row);
        program->uncollected.count += program->all_counts[row] * cuda_labels(program);
        program->uncollected_steps++;
    }
    return 0;
}

static int check_labels(const struct engine_program *program, const int32_t *labels, int64_t count,
                        struct err *err)
{
    const struct net_layer *last = &program->layers[program->layer_count - 1];
    int classes = program->loss == NET_SIGMOID ? 2 : last->out.dim[0];
    for (int64_t i = 0; i < count; i++)
        if (labels[i] < 0 || labels[i] >= classes)
            return err_set(err, ERR_FORMAT, "label %d of sample %lld is not one of %d classes",
                           labels[i], (long long)i, classes);
    return 0;
}

// Tokens, then labels, of a batch.
static int stage_text(struct engine_program *program, const struct engine_batch *batch, int slot,
                      struct err *err)
{
    int64_t numbers = program->staged_bytes / 8, there = batch->count * cuda_labels(program);
    int32_t *to = (int32_t *)(void *)(program->host_staged + slot * program->staged_bytes);
    TRY(engine_check_batch(program->layers, program->layer_count, program->loss, batch, true, err));
    TRY(gpu_staging_wait(program->gpu, slot, err));
    memcpy(to, batch->tokens, (size_t)there * 4);
    memcpy(to + numbers, batch->labels, (size_t)there * 4);
    return gpu_staging_upload(program->gpu, slot,
                              program->staged + (device_ptr)(slot * program->staged_bytes), to,
                              program->staged_bytes, err);
}

// Uploads the batch's images while the GPU works on earlier steps.
static int stage_batch(struct engine_program *program, const struct engine_batch *batch, int slot,
                       struct err *err)
{
    int64_t size = program->recipe.batch;
    uint8_t *bytes = program->host_staged + slot * program->staged_bytes;
    int32_t *labels = program->host_staged_labels + slot * size;
    TRY(check_labels(program, batch->labels, batch->count, err));
    TRY(gpu_staging_wait(program->gpu, slot, err));
    memcpy(bytes, batch->bytes, (size_t)(program->staged_bytes / size * batch->count));
    memcpy(labels, batch->labels, (size_t)batch->count * sizeof *labels);
    TRY(gpu_staging_upload(program->gpu, slot,
                           program->staged + (device_ptr)(slot * program->staged_bytes), bytes,
                           program->staged_bytes, err));
    return gpu_staging_upload(program->gpu, slot,
                              program->staged_labels + (device_ptr)(slot * size) * 4, labels,
                              size * 4, err);
}

int cuda_queue(struct engine_program *program, const struct engine_batch *batch, bool training,
               struct err *err)
{
    int slot = program->queued % GPU_STAGING_SLOTS;
    assert((training ? program->gather : &program->gather_held_out)->function); // load() was called
    if (program->queued - program->done >= PROGRAM_ROWS - 1)
        TRY(cuda_drain(program, PROGRAM_ROWS / 2, err));
    if (training && program->iteration != program->lazy_iteration) {
        TRY(cuda_drain(program, 0, err));
        TRY(cuda_update_lazy_rows(program, err));
        TRY(cuda_set_ages(program, program->iteration, err));
    }
    char *row = program->rows + program->queued % PROGRAM_ROWS * program->row_bytes;
    struct cuda_now now;
    cuda_fill_now(program, batch, training, &now);
    bool text = program->plan.is_text, staged = batch->bytes || text;
    if (staged) {
        now.from = text ? slot : (int)(slot * program->recipe.batch);
        TRY((text ? stage_text : stage_batch)(program, batch, slot, err));
    }
    memcpy(row, &now, sizeof now);
    memcpy(row + sizeof now, batch->samples, (size_t)batch->count * 4);
    cuda_fill_counts(program, batch, training);
    program->queued++;
    if (training) {
        program->iteration++;
        program->lazy_iteration = program->iteration;
    }
    if (staged) {
        TRY(launch_queued(program, err));
        return gpu_staging_release(program->gpu, slot, err);
    }
    int enough = lengths[length_for(program, STEPS_MAX)];
    return program->queued - program->launched >= enough ? launch_queued(program, err) : 0;
}

int cuda_collect(struct engine_program *program, int64_t leave, struct engine_score *score,
                 int64_t *steps, struct err *err)
{
    int rc = cuda_drain(program, leave, err);
    score->loss += program->uncollected.loss;
    score->correct += program->uncollected.correct;
    score->count += program->uncollected.count;
    *steps = program->uncollected_steps;
    program->uncollected = (struct engine_score){0};
    program->uncollected_steps = 0;
    return rc;
}

// ---- sets ----

static int load_part(struct engine_program *program, const void *from, int64_t bytes,
                     device_ptr *out, struct err *err)
{
    *out = 0;
    if (!from)
        return 0;
    TRY(gpu_alloc(program->gpu, bytes, out, err));
    TRY(gpu_upload(program->gpu, *out, from, bytes, err));
    return gpu_sync(program->gpu, err);
}

// Labels and tokens are input: kernels use them as indices.
static int check_set(const struct engine_program *program, const struct engine_set *from,
                     struct err *err)
{
    TRY(check_labels(program, from->labels, from->count, err));
    for (int64_t i = 0; from->tokens && i < from->token_count; i++)
        if (from->tokens[i] < 0 || from->tokens[i] >= program->layers[0].vocabulary)
            return err_set(err, ERR_FORMAT, "token %d is not in the vocabulary of %d",
                           from->tokens[i], program->layers[0].vocabulary);
    return 0;
}

int64_t cuda_free_bytes(struct engine_program *program)
{
    return gpu_memory_left(program->gpu) - 512LL * 1024 * 1024; // for other programs and libcuda
}

// Staging for batches that come one by one, for both sets.
static int make_staging(struct engine_program *program, const struct engine_set *set,
                        struct err *err)
{
    int64_t batch = program->recipe.batch;
    void *host[2] = {0};
    if (program->staged)
        return 0;
    program->staged_bytes = program->plan.is_text
                                ? batch * cuda_labels(program) * 8
                                : batch * set->channels * set->height * set->width;
    TRY(gpu_alloc(program->gpu, GPU_STAGING_SLOTS * program->staged_bytes, &program->staged, err));
    TRY(gpu_alloc(program->gpu, GPU_STAGING_SLOTS * batch * 4, &program->staged_labels, err));
    TRY(gpu_alloc_host(program->gpu, GPU_STAGING_SLOTS * program->staged_bytes, &host[0], err));
    TRY(gpu_alloc_host(program->gpu, GPU_STAGING_SLOTS * batch * 4, &host[1], err));
    program->host_staged = host[0];
    program->host_staged_labels = host[1];
    return 0;
}

int cuda_load(struct engine_program *program, const struct engine_set *from, bool held_out,
              struct err *err)
{
    const struct gpu_plan *plan = &program->plan;
    int64_t pixels = (int64_t)from->height * from->width;
    struct gpu_set set = {0};
    bool staged = plan->is_text || (!from->pixels && !from->tokens);
    TRY(staged ? make_staging(program, from, err) : check_set(program, from, err));
    TRY(load_part(program, from->pixels, from->count * from->channels * pixels, &set.pixels, err));
    if (!from->tokens && !plan->is_text)
        TRY(load_part(program, from->scale, sizeof from->scale, &set.scale, err));
    TRY(load_part(program, from->tokens, from->token_count * 4, &set.tokens, err));
    TRY(load_part(program, from->starts, (from->count + 1) * 8, &set.starts, err));
    if (staged) {
        set.tokens = program->staged;
        set.pixels = program->staged;
        set.labels = program->staged_labels;
    } else {
        TRY(load_part(program, from->labels, from->count * 4, &set.labels, err));
    }
    for (int i = 0; i < (held_out ? 1 : plan->buffer_count); i++) {
        struct launch *gather = held_out ? &program->gather_held_out : &program->gather[i];
        gpu_gather(plan, i, from, &set, program->table, program->row_bytes, gather);
        TRY(gpu_bind(program->gpu, &(struct launches){.items = gather, .count = 1}, err));
    }
    return 0;
}
