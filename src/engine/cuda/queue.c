// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/queue.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "engine/cuda/plan/images.h"
#include "engine/dropout.h"

// Steps of a graph. Between two graphs the GPU waits, and the first step of each for its samples;
// so steps are queued until there are enough for a long one, but those of small nets only: graphs
// of many launches take long to make, and memory.
#define FEW          8
#define LONGEST      32
#define LAUNCHES_MAX (FEW * PLAN_SMALL)
static const int lengths[PROGRAM_LENGTHS] = {1, FEW, LONGEST};

// ---- what changes from step to step ----

static float rate_at(const struct engine_program *program, int64_t t)
{
    const struct recipe *r = &program->recipe;
    float rate = r->phases[program->phase].rate;
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
                             .tick = program->tick,
                             .from = -1,
                             .age = (int)program->iteration,
                             .rate = training ? rate_at(program, program->iteration) : 0};
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

int cuda_set_ages(struct engine_program *program, int64_t age, struct err *err)
{
    const struct gpu_plan *plan = &program->plan;
    program->seen = age;
    if (plan->catch_up.count == 0)
        return 0;
    int32_t number = (int32_t)age;
    struct cuda_fill fill = {.to = on_gpu(plan->ages),
                             .count = program->layers[plan->embedding].vocabulary};
    memcpy(&fill.value, &number, sizeof number); // its bits: what is filled are words
    struct launch launch;
    int64_t blocks = (fill.count + 255) / 256;
    int rc = cuda_launch_make(program->cuda, "fill", (unsigned)(blocks < 1024 ? blocks : 1024), 1,
                              256, 0, &fill, sizeof fill, &launch, err);
    return rc == 0 ? cuda_launch(program->cuda, &launch, err) : rc;
}

int cuda_settle(struct engine_program *program, struct err *err)
{
    struct gpu_plan *plan = &program->plan;
    if (plan->catch_up.count == 0)
        return 0;
    struct cuda_now now = {.age = (int)program->seen, .tick = program->tick};
    int rc = cuda_upload(program->cuda, plan->now, &now, sizeof now, err);
    if (rc == 0)
        rc = gpu_plan_launch(plan, &plan->catch_up, err);
    return rc == 0 ? cuda_set_ages(program, program->seen, err) : rc;
}

// ---- the queue ----

static int copy_rows(struct engine_program *program, int from, int to, struct err *err)
{
    int rc = 0;
    while (rc == 0 && from < to) {
        int row = from % PROGRAM_ROWS,
            count = to - from < PROGRAM_ROWS - row ? to - from : PROGRAM_ROWS - row;
        rc = cuda_upload(program->cuda, program->table + (device_ptr)(row * program->row_bytes),
                         program->rows + row * program->row_bytes, count * program->row_bytes, err);
        from += count;
    }
    return rc;
}

// So many steps. The first one's samples are gathered before it; those of the next one while a step
// goes back, once its scores have said that the next row of the table is to come.
static int train_graph(struct engine_program *program, int steps, struct graph **out,
                       struct err *err)
{
    const struct gpu_plan *plan = &program->plan;
    struct graph_part parts[3 * LONGEST];
    int count = 0;
    for (int i = 0; i < steps; i++) {
        int now = i % plan->side_count, next = (i + 1) % plan->side_count;
        const struct plan_side *side = &plan->sides[now];
        const struct launches *back = &side->backward[program->phase];
        bool gathered = i > 0 && plan->side_count > 1, ahead = i + 1 < steps && next != now;
        if (!gathered)
            parts[count++] =
                (struct graph_part){.items = &program->gather[now], .count = 1, .round = true};
        parts[count++] = (struct graph_part){
            .items = side->forward.items, .count = side->forward.count, .round = gathered};
        parts[count++] = (struct graph_part){.items = back->items,
                                             .count = back->count,
                                             .beside = ahead ? &program->gather[next] : NULL};
    }
    return cuda_graph_new(program->cuda, parts, count, out, err);
}

// Which of the graphs is the longest one of at most so many steps.
static int length_for(const struct engine_program *program, int steps)
{
    int launches = gpu_plan_launches(&program->plan, program->phase), which = 0;
    for (int i = 1; i < PROGRAM_LENGTHS; i++)
        if (lengths[i] <= steps && lengths[i] * launches <= LAUNCHES_MAX)
            which = i;
    return which;
}

// All that the phase needs, so that none is made between steps later.
static int make_graphs(struct engine_program *program, bool evaluate, struct err *err)
{
    const struct launches *list = &program->plan.evaluate;
    int phase = program->phase, rc = 0;
    if (evaluate && !program->evaluate) {
        const struct graph_part parts[] = {
            {.items = &program->gather_held_out, .count = 1, .round = true},
            {.items = list->items, .count = list->count},
        };
        return cuda_graph_new(program->cuda, parts, 2, &program->evaluate, err);
    }
    for (int i = evaluate ? -1 : length_for(program, LONGEST); rc == 0 && i >= 0; i--)
        if (!program->train[phase][i])
            rc = train_graph(program, lengths[i], &program->train[phase][i], err);
    return rc;
}

// The next of what is queued, as many steps at once as can be.
static int launch_some(struct engine_program *program, struct err *err)
{
    bool evaluates = program->evaluates[program->launched % PROGRAM_ROWS];
    int same = 1;
    while (!evaluates && same < LONGEST && program->launched + same < program->tick &&
           !program->evaluates[(program->launched + same) % PROGRAM_ROWS])
        same++;
    int which = length_for(program, same), rc = make_graphs(program, evaluates, err);
    struct graph *graph = evaluates ? program->evaluate : program->train[program->phase][which];
    if (rc == 0)
        rc = cuda_graph_launch(program->cuda, graph, err);
    program->launched += evaluates ? 1 : lengths[which];
    return rc;
}

static int launch_queued(struct engine_program *program, struct err *err)
{
    int rc = copy_rows(program, program->launched, program->tick, err);
    while (rc == 0 && program->launched < program->tick)
        rc = launch_some(program, err);
    if (rc != 0)
        return rc;
    int which = program->point_count++ % CUDA_POINTS;
    program->points[which] = program->launched;
    return cuda_point(program->cuda, which, err);
}

int cuda_drain(struct engine_program *program, int64_t leave, struct err *err)
{
    int64_t batch = program->recipe.batch, bytes = batch * (int64_t)sizeof *program->scores;
    if (program->tick - program->done <= leave)
        return 0;
    int rc = program->launched < program->tick - leave ? launch_queued(program, err) : 0;
    // The first point behind what is asked for.
    int end = program->launched, which = -1;
    for (int i = program->point_count - 1; i >= 0 && i > program->point_count - CUDA_POINTS; i--) {
        int at = program->points[i % CUDA_POINTS];
        if (at < program->tick - leave || at <= program->done)
            break;
        end = at;
        which = i % CUDA_POINTS;
    }
    if (rc == 0 && end == program->launched && end < program->tick) // else the GPU would run dry
        rc = launch_queued(program, err);
    if (rc == 0)
        rc = which >= 0 ? cuda_wait(program->cuda, which, err) : cuda_sync(program->cuda, err);
    for (int from = program->done; rc == 0 && from < end;) {
        int row = from % PROGRAM_ROWS,
            count = end - from < PROGRAM_ROWS - row ? end - from : PROGRAM_ROWS - row;
        rc = cuda_fetch(program->cuda, program->scores + row * batch,
                        program->plan.scores + (device_ptr)(row * bytes), count * bytes, err);
        from += count;
    }
    for (; rc == 0 && program->done < end; program->done++) {
        int row = program->done % PROGRAM_ROWS;
        const struct cuda_score *score = program->scores + row * batch;
        for (int i = 0; i < program->counts[row]; i++) {
            program->waiting.loss += (double)score[i].loss;
            program->waiting.correct += score[i].right;
        }
        program->waiting.count += program->counts[row];
        program->waiting_steps++;
    }
    return rc;
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

// The batch's images on their way, while the GPU is busy with those before it.
static int feed(struct engine_program *program, const struct engine_batch *batch, int turn,
                struct err *err)
{
    int64_t size = program->recipe.batch;
    uint8_t *bytes = program->feed + turn * program->fed_bytes;
    int32_t *labels = program->feed_labels + turn * size;
    int rc = check_labels(program, batch->labels, batch->count, err);
    if (rc == 0)
        rc = cuda_turn_wait(program->cuda, turn, err);
    if (rc != 0)
        return rc;
    memcpy(bytes, batch->bytes, (size_t)(program->fed_bytes / size * batch->count));
    memcpy(labels, batch->labels, (size_t)batch->count * sizeof *labels);
    rc = cuda_turn_fill(program->cuda, turn, program->fed + (device_ptr)(turn * program->fed_bytes),
                        bytes, program->fed_bytes, err);
    return rc == 0 ? cuda_turn_fill(program->cuda, turn,
                                    program->fed_labels + (device_ptr)(turn * size) * 4, labels,
                                    size * 4, err)
                   : rc;
}

int cuda_queue(struct engine_program *program, const struct engine_batch *batch, bool training,
               struct err *err)
{
    int turn = program->tick % CUDA_TURNS;
    assert(
        (training ? program->gather : &program->gather_held_out)->function); // load() came before
    int rc = program->tick - program->done >= PROGRAM_ROWS - 1
                 ? cuda_drain(program, PROGRAM_ROWS / 2, err)
                 : 0;
    if (rc == 0 && training && program->iteration != program->seen) {
        rc = cuda_drain(program, 0, err);
        if (rc == 0)
            rc = cuda_settle(program, err);
        if (rc == 0)
            rc = cuda_set_ages(program, program->iteration, err);
    }
    if (rc != 0)
        return rc;
    char *row = program->rows + program->tick % PROGRAM_ROWS * program->row_bytes;
    struct cuda_now now;
    cuda_fill_now(program, batch, training, &now);
    if (batch->bytes) {
        now.from = (int)(turn * program->recipe.batch);
        rc = feed(program, batch, turn, err);
        if (rc != 0)
            return rc;
    }
    memcpy(row, &now, sizeof now);
    memcpy(row + sizeof now, batch->samples, (size_t)batch->count * 4);
    program->evaluates[program->tick % PROGRAM_ROWS] = !training;
    program->counts[program->tick % PROGRAM_ROWS] = (int)batch->count;
    program->tick++;
    if (training) {
        program->iteration++;
        program->seen = program->iteration;
    }
    if (batch->bytes) {
        rc = launch_queued(program, err);
        return rc == 0 ? cuda_turn_used(program->cuda, turn, err) : rc;
    }
    int enough = lengths[length_for(program, LONGEST)];
    return program->tick - program->launched >= enough ? launch_queued(program, err) : 0;
}

int cuda_collect(struct engine_program *program, int64_t leave, struct engine_score *score,
                 int64_t *steps, struct err *err)
{
    int rc = cuda_drain(program, leave, err);
    score->loss += program->waiting.loss;
    score->correct += program->waiting.correct;
    score->count += program->waiting.count;
    *steps = program->waiting_steps;
    program->waiting = (struct engine_score){0};
    program->waiting_steps = 0;
    return rc;
}

// ---- sets ----

static int load_part(struct engine_program *program, const void *from, int64_t bytes,
                     device_ptr *out, struct err *err)
{
    *out = 0;
    if (!from)
        return 0;
    int rc = cuda_alloc(program->cuda, bytes, out, err);
    if (rc == 0)
        rc = cuda_upload(program->cuda, *out, from, bytes, err);
    return rc == 0 ? cuda_sync(program->cuda, err) : rc;
}

// Labels and tokens may come from anywhere, and a wrong one would be read past the end.
static int check_set(const struct engine_program *program, const struct engine_set *from,
                     struct err *err)
{
    int rc = check_labels(program, from->labels, from->count, err);
    for (int64_t i = 0; rc == 0 && from->tokens && i < from->token_count; i++)
        if (from->tokens[i] < 0 || from->tokens[i] >= program->layers[0].vocabulary)
            return err_set(err, ERR_FORMAT, "token %d is not in the vocabulary of %d",
                           from->tokens[i], program->layers[0].vocabulary);
    return rc;
}

int64_t cuda_room(struct engine_program *program)
{
    return cuda_memory_left(program->cuda) - 512LL * 1024 * 1024; // for others, and the driver
}

// Room for batches that come one by one, for both sets.
static int make_turns(struct engine_program *program, const struct engine_set *set, struct err *err)
{
    int64_t batch = program->recipe.batch;
    void *host[2] = {0};
    if (program->fed)
        return 0;
    program->fed_bytes = batch * set->channels * set->height * set->width;
    int rc = cuda_alloc(program->cuda, CUDA_TURNS * program->fed_bytes, &program->fed, err);
    if (rc == 0)
        rc = cuda_alloc(program->cuda, CUDA_TURNS * batch * 4, &program->fed_labels, err);
    if (rc == 0)
        rc = cuda_alloc_host(program->cuda, CUDA_TURNS * program->fed_bytes, &host[0], err);
    if (rc == 0)
        rc = cuda_alloc_host(program->cuda, CUDA_TURNS * batch * 4, &host[1], err);
    program->feed = host[0];
    program->feed_labels = host[1];
    return rc;
}

int cuda_load(struct engine_program *program, const struct engine_set *from, bool held_out,
              struct err *err)
{
    const struct value *in = &program->plan.values[0];
    const struct gpu_plan *plan = &program->plan;
    bool flat = image_is_flat(program->layers, program->layer_count, 0);
    int64_t pixels = (int64_t)from->height * from->width;
    device_ptr part[5] = {0};
    bool fed = !from->pixels && !from->tokens;
    int rc = fed ? make_turns(program, from, err) : check_set(program, from, err);
    if (rc == 0)
        rc = load_part(program, from->pixels, from->count * from->channels * pixels, &part[0], err);
    if (rc == 0)
        rc = load_part(program, from->tokens ? NULL : from->scale, sizeof from->scale, &part[1],
                       err);
    if (rc == 0)
        rc = load_part(program, from->tokens, from->token_count * 4, &part[2], err);
    if (rc == 0)
        rc = load_part(program, from->starts, (from->count + 1) * 8, &part[3], err);
    if (rc == 0 && !fed)
        rc = load_part(program, from->labels, from->count * 4, &part[4], err);
    if (rc != 0)
        return rc;
    if (fed) {
        part[0] = program->fed;
        part[4] = program->fed_labels;
    }
    struct cuda_gather gather = {.table = on_gpu(program->table),
                                 .rows = PROGRAM_ROWS,
                                 .row_bytes = (int)program->row_bytes,
                                 .tick = on_gpu(plan->tick),
                                 .pixels = on_gpu(part[0]),
                                 .scale = on_gpu(part[1]),
                                 .tokens = on_gpu(part[2]),
                                 .starts = on_gpu(part[3]),
                                 .stride = from->token_stride,
                                 .set_labels = on_gpu(part[4]),
                                 .batch = (int)program->recipe.batch,
                                 .channels = from->channels,
                                 .height = from->height,
                                 .width = from->width,
                                 .time = from->time,
                                 .padded = flat ? from->channels : in->pitch,
                                 .pixel_pitch = flat ? 1 : in->pitch,
                                 .channel_pitch = flat ? (int)pixels : 1,
                                 .sample_pitch = in->rows * in->pitch,
                                 .shift = from->shift_flip,
                                 .flip = from->flip};
    for (int i = 0; rc == 0 && i < (held_out ? 1 : plan->side_count); i++) {
        const struct plan_side *side = &plan->sides[i];
        gather.now = on_gpu(side->now);
        gather.image = on_gpu(side->image);
        gather.out_tokens = on_gpu(side->tokens);
        gather.labels = on_gpu(side->labels);
        rc = cuda_launch_make(program->cuda, plan->images ? "image_gather" : "gather",
                              (unsigned)program->recipe.batch, plan->images ? 32 : 1, 256, 0,
                              &gather, sizeof gather,
                              held_out ? &program->gather_held_out : &program->gather[i], err);
    }
    return rc;
}
