// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "train/checkpoint/checkpoint.h"
#include "train/data/batcher.h"
#include "train/data/dataset.h"
#include "train/data/images.h"
#include "train/engine/engine.h"
#include "record/run.h"
#include "train/meter.h"
#include "train/plan.h"

// ---- The ranks of a group stay together in a training.
//
// What depends on time or signals, rank 0 decides for all. They meet about every AGREE_NS, after
// the same number of steps and evaluated batches. Alone (a null group), nothing is agreed on.

#define AGREE_NS 50000000LL

// What rank 0 decides.
struct agreement {
    bool stop, enough, save;
    int64_t wait; // ticks until the next meeting
};

struct agree {
    struct group *group; // null: alone
    struct agreement now;
    int64_t ticks, meet_at;         // steps and evaluated batches so far, and when they meet next
    int64_t met_ns;                 // the last time
    struct group_times times, last; // of the steps; of the group, at the last look
};

#define TICKS_MOST 128 // between two meetings

// rank 0, and a process that is alone
static bool agree_leads(const struct agree *a)
{
    return group_place(a->group).rank == 0;
}

// All ranks must have an engine that can, and the same data: a machine without the set's files
// would train on a generated one.
static int agree_check(const struct agree *a, const struct engine *engine,
                       const struct data_pair *data, struct err *err)
{
    char first[160], mine[160];
    if (!a->group)
        return 0;
    if (!engine->groups)
        return err_set(err, ERR_USAGE, "the engine '%s' cannot train in several processes",
                       engine->name);
    memset(mine, 0, sizeof mine);
    snprintf(mine, sizeof mine, "%s %s", data->name, data->identity ? data->identity : "");
    memcpy(first, mine, sizeof first);
    TRY(group_broadcast(a->group, first, sizeof first, err));
    if (strcmp(first, mine) != 0)
        return err_set(err, ERR_USAGE, "it has other data (%.60s) than rank 0 (%.60s)", mine,
                       first);
    return 0;
}

static void decide(struct agree *a, const struct run_plan *plan, struct meter *meter)
{
    int64_t now_ns = clock_now_ns(), each_ns = (now_ns - a->met_ns) / (a->now.wait + 1);
    int64_t wait = each_ns > 0 ? AGREE_NS / each_ns : TICKS_MOST;
    int64_t most = 2 * a->now.wait + 1; // the first meetings are close together
    most = most < TICKS_MOST ? most : TICKS_MOST;
    a->now = (struct agreement){.stop = run_plan_over(plan),
                                .enough = meter_enough(meter),
                                .save = plan->wish && plan->wish->save,
                                .wait = wait < most ? wait : most};
    a->met_ns = now_ns;
}

// After each step or evaluated batch. *met: the ranks just met; always, alone.
static int agree_tick(struct agree *a, const struct run_plan *plan, struct meter *meter, bool *met,
                      struct err *err)
{
    *met = !a->group || a->ticks++ >= a->meet_at;
    if (!a->group || !*met)
        return 0;
    if (agree_leads(a))
        decide(a, plan, meter);
    TRY(group_broadcast(a->group, &a->now, sizeof a->now, err));
    a->meet_at = a->ticks + a->now.wait;
    return 0;
}

// Rank 0's place and tensors for all: only it needs to see a checkpoint's file.
static int agree_parameters(const struct agree *a, const struct engine *engine,
                            struct engine_program *program, struct checkpoint_place *place,
                            struct err *err)
{
    int64_t most = 1;
    int count = engine->tensor_count(program), stage = place->stage;
    struct engine_tensor tensor;
    TRY(group_broadcast(a->group, place, sizeof *place, err));
    if (place->stage != stage)
        TRY(engine->set_stage(program, place->stage, err));
    for (int i = 0; i < count; i++) {
        engine->tensor(program, i, &tensor);
        most = tensor.count > most ? tensor.count : most;
    }
    SCOPED(free_pointer) float *values = malloc((size_t)most * sizeof *values);
    if (!values)
        return err_memory(err);
    for (int i = 0; i < count; i++) {
        engine->tensor(program, i, &tensor);
        if (agree_leads(a))
            TRY(engine->read(program, i, values, err));
        TRY(group_broadcast(a->group, values, (size_t)tensor.count * sizeof *values, err));
        if (!agree_leads(a))
            TRY(engine->write(program, i, values, err));
    }
    return 0;
}

// The time that the group took since the last call: counted to the steps, or not.
static void agree_times(struct agree *a, const struct engine *engine,
                        struct engine_program *program, bool steps)
{
    struct group_times now = {0};
    if (!a->group || !program)
        return;
    if (!engine->group_times || !engine->group_times(program, &now))
        group_times(a->group, &now);
    if (steps) {
        a->times.waiting_ns += now.waiting_ns - a->last.waiting_ns;
        a->times.communication_ns += now.communication_ns - a->last.communication_ns;
    }
    a->last = now;
}

// The mean over the ranks.
static int agree_mean_times(struct agree *a, struct group_times *mean, struct err *err)
{
    double sums[2] = {(double)a->times.waiting_ns, (double)a->times.communication_ns};
    int size = group_place(a->group).size;
    TRY(group_sum_reals(a->group, sums, 2, err));
    *mean = (struct group_times){.waiting_ns = (int64_t)(sums[0] / size),
                                 .communication_ns = (int64_t)(sums[1] / size)};
    return 0;
}

// ---- The training

#define KEEP_CHECKPOINTS 2
#define PROBE_STEPS      10 // then evaluate a few batches, to know the cost
#define PROBE_BATCHES    8
#define LOOK_STEPS       128 // collect from an engine with a queue after at most this many steps
#define LOOK_NS          50000000LL // or this time

struct trainer {
    const struct workload *workload;
    const struct trainer_options *o;
    const struct engine *engine;
    struct net net;
    struct recipe recipe;
    struct engine_program *program;
    struct batcher *train, *test;
    struct checkpoint_subject subject;
    struct checkpoint_place place;
    int64_t total_steps; // of the whole training
    int64_t last_step;   // of this run
    int64_t steps_per_epoch;
    int64_t epochs;
    int64_t epoch_began_ns;
    int64_t epoch_began_step; // of this epoch, when its clock started
    struct losses losses;
    int stage;   // of the recipe
    bool jumps;  // a sample that spends some steps in each stage, whatever their length
    bool enough; // a sample that is over
    bool probed;
    enum batch_form form; // of the batches for the engine; other than values: it has a queue
    int64_t queued;       // steps since the last collect
    int64_t asked_ns;     // time of the last collect
    int64_t look_steps;   // steps between collects
    bool looked;          // just now
    struct agree agree;   // with the other ranks
    struct trainer_result *result;
};

static bool stopped(const struct trainer *t)
{
    return t->agree.group ? t->agree.now.stop : run_plan_over(t->o->plan);
}

static struct engine_batch for_engine(const struct trainer *t, const struct batch *b)
{
    bool values = t->form == BATCH_VALUES;
    struct engine_batch batch = {
        .count = b->count, .labels = b->labels, .all = b->all, .first = b->first};
    batch.image = b->image;
    batch.tokens = b->tokens;
    batch.bytes = b->bytes;
    batch.samples = values ? NULL : b->samples;
    memcpy(batch.augment, b->augment, sizeof batch.augment);
    return batch;
}

static void tell_progress(const struct trainer *t, bool evaluating)
{
    if (!t->o->progress)
        return;
    const struct engine_score *s = &t->place.score;
    double count = s->count > 0 ? (double)s->count : 1;
    int64_t now_ns = clock_now_ns();
    double seconds = (double)(now_ns - t->epoch_began_ns) / 1e9;
    double here = (double)((t->place.step - t->epoch_began_step) * t->recipe.batch);
    const struct trainer_progress p = {
        .step = t->place.iteration,
        .steps = t->last_step,
        .epoch = t->place.epoch,
        .epochs = t->epochs,
        .loss = s->loss / count,
        .accuracy = (double)s->correct / count,
        .samples_per_s = seconds > 0 ? here / seconds : 0,
        .evaluating = evaluating,
        .result = t->result,
        .losses = &t->losses,
    };
    t->o->progress(t->o->context, &p);
}

// Which stage of the recipe a step belongs to.
static int stage_of(const struct recipe *recipe, int64_t iteration)
{
    int stage = 0;
    while (stage + 1 < recipe->stage_count && recipe->stages[stage].steps > 0 &&
           iteration >= recipe->stages[stage].steps) {
        iteration -= recipe->stages[stage].steps;
        stage++;
    }
    return stage;
}

static int64_t steps_of_stages(const struct recipe *recipe)
{
    int64_t steps = 0;
    for (int i = 0; i < recipe->stage_count; i++)
        steps += recipe->stages[i].steps;
    return steps;
}

static int plan_training(struct trainer *t, struct err *err)
{
    t->steps_per_epoch = batcher_steps(t->train);
    // A training counted in steps uses whole batches only, for batch norm.
    bool by_steps = t->recipe.epochs == 0;
    if (by_steps && t->o->data->train.count >= t->recipe.batch)
        t->steps_per_epoch = t->o->data->train.count / t->recipe.batch;
    if (t->steps_per_epoch == 0)
        return err_set(err, ERR_FORMAT, "the data has no samples to train on");
    t->epochs = t->o->epochs > 0 ? t->o->epochs : t->recipe.epochs;
    t->total_steps = t->epochs * t->steps_per_epoch;
    if (by_steps && t->o->epochs == 0) {
        t->total_steps = steps_of_stages(&t->recipe);
        t->epochs = (t->total_steps + t->steps_per_epoch - 1) / t->steps_per_epoch;
    }
    t->last_step = t->total_steps;
    const struct run_plan *p = t->o->plan;
    if (!p->full && p->steps > 0 && p->steps < t->last_step)
        t->last_step = p->steps;
    // A sample's checkpoint is the beginning of the training, so it cannot jump.
    t->jumps = !p->full && t->recipe.stage_count > 1 && !t->o->dir;
    t->result->epochs = calloc((size_t)t->epochs + 1, sizeof *t->result->epochs);
    t->result->steps_per_epoch = t->steps_per_epoch;
    t->result->total_steps = t->total_steps;
    t->result->total_epochs = t->epochs;
    return t->result->epochs ? 0 : err_memory(err);
}

// The rest of the training, for the meter: a resumed run begins in the middle.
static void plan_meter(struct trainer *t)
{
    const struct trainer_options *o = t->o;
    struct meter_plan plan = {.stages = t->recipe.stage_count,
                              .within = o->plan->within,
                              .max_s = o->plan->max_s,
                              .calibrate = true};
    int64_t done = t->place.iteration, left = t->total_steps;
    for (int i = 0; i < t->recipe.stage_count && i < METER_STAGES_MAX; i++) {
        int64_t steps = t->recipe.stages[i].steps > 0 ? t->recipe.stages[i].steps : left;
        steps = steps < left ? steps : left;
        left -= steps;
        int64_t before = done < steps ? done : steps;
        done -= before;
        plan.stage_steps[i] = steps - before;
    }
    int64_t epochs_left = t->epochs - t->place.epoch;
    plan.evaluations = t->test ? epochs_left * o->data->test.count : 0;
    if (o->dir) {
        plan.checkpoints = epochs_left;
        if (o->save_every > 0)
            plan.checkpoints += (t->total_steps - t->place.iteration) / o->save_every;
    }
    meter_plan(o->meter, &plan);
}

static int resume(struct trainer *t, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    int found = checkpoint_newest(t->o->dir, t->workload->name, &path, &t->result->notes, err);
    if (found == 0)
        buf_printf(&t->result->notes, "no checkpoint of %s in %s: started from the beginning\n",
                   t->workload->name, t->o->dir);
    if (found <= 0)
        return found;
    TRY(checkpoint_restore(buf_str(&path), &t->subject, t->program, &t->place, &t->result->notes,
                           err));
    buf_printf(&t->result->notes, "resumed from %s, step %lld\n", buf_str(&path),
               (long long)t->place.iteration);
    // One that was killed may have left more of them; a finished training saves no more.
    return checkpoint_prune(t->o->dir, t->workload->name, KEEP_CHECKPOINTS, t->place.iteration,
                            err);
}

// Checkpoints of a new training could be mistaken for those of an old one in the same folder.
static int refuse_used_folder(const struct trainer *t, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    int rc = checkpoint_newest(t->o->dir, t->workload->name, &path, NULL, err);
    if (rc > 0) {
        rc = err_set(err, ERR_USAGE, "'%s' already holds a training of %s: %s", t->o->dir,
                     t->workload->name, buf_str(&path));
        err_hint(err, "--resume continues it; a new training needs another folder");
    }
    return rc;
}

// ---- data for the engine ----

static int64_t image_bytes(const struct dataset *set)
{
    return set->count * set->channels * set->height * set->width;
}

// An engine with its own memory gets the sets once, if they fit; images that do not fit are sent
// batch by batch while it trains.
static enum batch_form choose_form(const struct trainer *t)
{
    const struct data_pair *data = t->o->data;
    if (!t->engine->load)
        return BATCH_VALUES;
    if (data->train.stream)
        return BATCH_BYTES; // of any length, and small beside the work on it
    if (data->train.time > 0)
        return BATCH_NUMBERS;
    return image_bytes(&data->train) + image_bytes(&data->test) <= t->engine->free_bytes(t->program)
               ? BATCH_NUMBERS
               : BATCH_BYTES;
}

void trainer_set(const struct dataset *from, const uint8_t *pixels,
                 const struct batcher_options *batches, struct engine_set *set)
{
    *set = (struct engine_set){.count = from->count,
                               .channels = from->channels,
                               .height = from->height,
                               .width = from->width,
                               .pixels = pixels,
                               .shift_flip = batches->shift_flip,
                               .flip = batches->flip,
                               .time = from->time,
                               .tokens = from->tokens,
                               .token_stride = from->token_stride,
                               .starts = from->starts,
                               .labels = from->labels};
    for (int v = 0; v < 256; v++)
        set->scale[v] = batcher_scale(batches, v);
    if (from->stream)
        set->token_stride = 0; // they come with each batch
    if (from->tokens && from->count > 0)
        set->token_count = from->starts ? from->starts[from->count]
                                        : (from->count - 1) * from->token_stride + from->time;
}

// The time is that of the way to the device.
static int give_set(struct trainer *t, const struct dataset *from, const uint8_t *pixels,
                    const struct batcher_options *batches, bool held_out, struct err *err)
{
    struct engine_set set;
    trainer_set(from, pixels, batches, &set);
    meter_phase(t->o->meter, METER_DEVICE);
    int rc = t->engine->load(t->program, &set, held_out, err);
    meter_phase(t->o->meter, METER_SETUP);
    return rc;
}

// Images in files are decoded first.
static int load_set(struct trainer *t, const struct dataset *from,
                    const struct batcher_options *batches, bool held_out, struct err *err)
{
    if (t->form == BATCH_BYTES || !from->files)
        return give_set(t, from, t->form == BATCH_BYTES ? NULL : from->pixels, batches, held_out,
                        err);
    SCOPED(free_pointer) uint8_t *pixels = malloc((size_t)image_bytes(from) + 1);
    if (!pixels)
        return err_memory(err);
    meter_phase(t->o->meter, METER_LOAD);
    int rc = images_read(from->files, 0, from->count, t->o->engine_options.threads, pixels, err);
    meter_phase(t->o->meter, METER_SETUP);
    if (rc == 0)
        rc = give_set(t, from, pixels, batches, held_out, err);
    return rc;
}

// The samples of one part, as batches and, if the engine keeps sets, on the device.
static int open_part(struct trainer *t, const struct dataset *set, bool training,
                     struct batcher **out, struct err *err)
{
    const struct engine_options *o = &t->o->engine_options;
    struct batcher_options batches = workload_batches(t->workload, o->seed, training, o->threads);
    batches.batch = t->recipe.batch;
    batches.form = t->form;
    batches.rank = group_place(t->agree.group).rank;
    batches.ranks = group_place(t->agree.group).size;
    TRY(batcher_new(out, set, &batches, err));
    return t->form == BATCH_VALUES ? 0 : load_set(t, set, &batches, !training, err);
}

// What a training begins with, if not from the beginning.
static int load_start(struct trainer *t, struct err *err)
{
    const struct trainer_options *o = t->o;
    if (o->from) {
        int loaded = 0;
        TRY(checkpoint_load_parameters(o->from, &t->subject, t->program, &loaded, &t->result->notes,
                                       err));
        buf_printf(&t->result->notes, "%d tensors loaded from %s\n", loaded, o->from);
    }
    if (o->dir) {
        TRY(fs_mkdirs(o->dir, err));
        TRY(o->resume ? resume(t, err) : refuse_used_folder(t, err));
    }
    return 0;
}

static int prepare_training(struct trainer *t, struct err *err)
{
    const struct trainer_options *o = t->o;
    TRY(agree_check(&t->agree, t->engine, o->data, err));
    TRY(workload_net(t->workload, o->data, &o->workload_options, &t->net, err));
    checkpoint_fingerprint(&t->net, t->result->net);
    checkpoint_recipe_text(&t->recipe, &t->result->recipe);
    net_cost(&t->net, t->recipe.batch, &t->result->cost);
    if (t->engine->load_kernels) {
        meter_phase(o->meter, METER_KERNELS);
        int rc = t->engine->load_kernels(&t->net, &t->recipe, &o->engine_options, err);
        meter_phase(o->meter, METER_SETUP);
        TRY(rc);
    }
    TRY(t->engine->compile(&t->net, &t->recipe, &o->engine_options, &t->program, err));
    t->subject = (struct checkpoint_subject){.workload = t->workload->name,
                                             .data = o->data->name,
                                             .data_identity = o->data->identity,
                                             .net = &t->net,
                                             .recipe = &t->recipe,
                                             .engine = t->engine,
                                             .options = o->engine_options};
    t->form = choose_form(t);
    t->look_steps = 1;
    TRY(open_part(t, &o->data->train, true, &t->train, err));
    if (o->data->test.count > 0)
        TRY(open_part(t, &o->data->test, false, &t->test, err));
    TRY(plan_training(t, err));
    if (agree_leads(&t->agree))
        TRY(load_start(t, err));
    if (t->agree.group && (o->from || o->dir))
        TRY(agree_parameters(&t->agree, t->engine, t->program, &t->place, err));
    TRY(batcher_seek(t->train, t->place.epoch, t->place.step, err));
    t->stage = t->place.stage;
    plan_meter(t);
    return 0;
}

// Waits for all but `leave` of the queued steps and takes their scores. Leaving some keeps the
// engine busy.
static int ask_engine(struct trainer *t, int64_t leave, struct err *err)
{
    int64_t steps = 0;
    if (t->queued <= leave)
        return 0;
    struct engine_score before = t->place.score;
    int rc = t->engine->collect(t->program, leave, &t->place.score, &steps, err);
    t->queued -= steps;
    if (rc != 0 || steps == 0)
        return rc;
    meter_steps(t->o->meter, t->stage, steps);
    double count = (double)(t->place.score.count - before.count);
    for (int64_t i = 0; count > 0 && i < steps; i++)
        losses_add(&t->losses, (t->place.score.loss - before.loss) / count);
    // The first collects are close together, to notice a slow start.
    int64_t now_ns = clock_now_ns(), each_ns = (now_ns - t->asked_ns) / steps;
    t->asked_ns = now_ns;
    int64_t most = each_ns > 0 ? LOOK_NS / each_ns : LOOK_STEPS;
    t->look_steps = t->look_steps * 2 < most ? t->look_steps * 2 : most;
    t->look_steps = t->look_steps < 1 ? 1 : t->look_steps > LOOK_STEPS ? LOOK_STEPS : t->look_steps;
    return 0;
}

// Before a change of phase: queued steps belong to the old phase.
static int ask_of_stage(struct trainer *t, struct err *err)
{
    int stage = t->stage;
    t->stage = t->place.stage;
    int rc = ask_engine(t, 0, err);
    t->stage = stage;
    return rc;
}

static int write_checkpoint(struct trainer *t, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    TRY(checkpoint_path(t->o->dir, t->workload->name, t->place.iteration, &path, err));
    TRY(checkpoint_save(buf_str(&path), &t->subject, t->program, &t->place, err));
    if (t->o->alone)
        TRY(checkpoint_for_transformers(t->o->dir, buf_str(&path), &t->net, err));
    return checkpoint_prune(t->o->dir, t->workload->name, KEEP_CHECKPOINTS, t->place.iteration,
                            err);
}

static int save_checkpoint(struct trainer *t, struct err *err)
{
    if (!t->o->dir)
        return 0;
    TRY(ask_engine(t, 0, err));
    meter_phase(t->o->meter, METER_CHECKPOINT);
    int rc = agree_leads(&t->agree) ? write_checkpoint(t, err) : 0;
    if (t->o->plan->wish)
        t->o->plan->wish->save = false;
    t->agree.now.save = false;
    meter_checkpointed(t->o->meter);
    meter_phase(t->o->meter, METER_IDLE);
    return rc;
}

// One step. 1: done; 0: the epoch is over; negative: an error.
static int make_step(struct trainer *t, struct err *err)
{
    struct batch batch;
    if (t->place.step >= t->steps_per_epoch)
        return 0;
    int64_t asked_ns = clock_now_ns();
    int rc = batcher_next(t->train, &batch, err);
    t->result->data_wait_ns += clock_now_ns() - asked_ns;
    if (rc <= 0)
        return rc;
    if (!t->jumps)
        t->stage = stage_of(&t->recipe, t->place.iteration);
    if (t->stage != t->place.stage) {
        TRY(ask_of_stage(t, err));
        TRY(t->engine->set_stage(t->program, t->stage, err));
        t->place.stage = t->stage;
    }
    const struct engine_score before = t->place.score;
    struct engine_batch in = for_engine(t, &batch);
    t->engine->set_iteration(t->program, t->place.iteration);
    TRY(t->engine->step(t->program, &in, &t->place.score, err));
    t->result->steps++;
    t->result->samples += in.all;
    t->place.step++;
    t->place.iteration++;
    if (t->form == BATCH_VALUES) {
        meter_steps(t->o->meter, t->stage, 1);
        losses_add(&t->losses, (t->place.score.loss - before.loss) /
                                   (double)(t->place.score.count - before.count));
        return 1;
    }
    bool last = t->place.step == t->steps_per_epoch || t->place.iteration == t->last_step;
    int64_t leave = last ? 0 : t->look_steps / 2;
    t->looked = ++t->queued >= t->look_steps + leave || last;
    if (t->looked)
        TRY(ask_engine(t, leave, err));
    return 1;
}

// Evaluates up to `most` samples of the held-out part, or all (0).
static int score_test(struct trainer *t, int64_t most, struct engine_score *score, struct err *err)
{
    meter_phase(t->o->meter, METER_EVALUATE);
    int rc = batcher_seek(t->test, 0, 0, err);
    for (int64_t seen = 0; rc == 0 && !stopped(t) && (most == 0 || seen < most);) {
        struct batch batch;
        rc = batcher_next(t->test, &batch, err);
        if (rc <= 0)
            break;
        struct engine_batch in = for_engine(t, &batch);
        rc = t->engine->evaluate(t->program, &in, score, err);
        meter_evaluated(t->o->meter, in.all);
        seen += in.all;
        tell_progress(t, true);
        bool met;
        if (rc == 0)
            rc = agree_tick(&t->agree, t->o->plan, t->o->meter, &met, err);
    }
    int64_t ignored;
    if (rc == 0 && t->form != BATCH_VALUES)
        rc = t->engine->collect(t->program, 0, score, &ignored, err);
    meter_phase(t->o->meter, METER_IDLE);
    return rc < 0 ? rc : 0;
}

// A sample evaluates only a part, unless it reached the end of the training.
static int evaluate(struct trainer *t, struct run_epoch *epoch, struct err *err)
{
    if (!t->test)
        return 0;
    int64_t began_ns = clock_now_ns();
    struct engine_score score = {0};
    int64_t most = t->place.iteration >= t->total_steps ? 0 : t->o->max_test;
    TRY(score_test(t, most, &score, err));
    if (score.count > 0 && !stopped(t)) {
        epoch->test_ns = some_int(clock_now_ns() - began_ns);
        epoch->test_loss = some_real(score.loss / (double)score.count);
        epoch->test_accuracy = some_real((double)score.correct / (double)score.count);
    }
    return 0;
}

static bool save_is_due(const struct trainer *t)
{
    const struct run_wish *wish = t->o->plan->wish;
    return (t->o->save_every > 0 && t->place.iteration % t->o->save_every == 0) ||
           (t->agree.group ? t->agree.now.save : wish && wish->save);
}

// Once, early: evaluates a few batches to learn the cost. Changes no state.
static int probe_evaluation(struct trainer *t, struct err *err)
{
    struct engine_score score = {0};
    t->probed = true;
    TRY(ask_engine(t, 0, err));
    int64_t batches = t->o->data->test.stream ? 1 : PROBE_BATCHES; // its samples are long
    int rc = t->test ? score_test(t, batches * t->recipe.batch, &score, err) : 0;
    meter_phase(t->o->meter, METER_TRAIN);
    t->asked_ns = clock_now_ns();
    return rc;
}

// Whether the sample continues, in the next stage if there is one.
static bool goes_on(struct trainer *t)
{
    int last = t->recipe.stage_count - 1;
    int64_t share = t->last_step * (t->stage + 1) / t->recipe.stage_count;
    bool enough = t->agree.group ? t->agree.now.enough : meter_enough(t->o->meter);
    if (t->o->plan->full)
        return true;
    if (t->o->plan->steps > 0)
        enough = t->jumps && t->stage < last && t->place.iteration >= share;
    if (!enough)
        return true;
    if (t->jumps && t->stage < last) {
        t->stage++;
        t->agree.now.enough = false;
        return true;
    }
    t->enough = t->o->plan->steps == 0;
    double elapsed_s = (double)(clock_now_ns() - meter_start_ns(t->o->meter)) / 1e9;
    t->result->timed_out = t->enough && elapsed_s >= t->o->plan->max_s;
    return !t->enough;
}

// Between two steps: progress, the first evaluation, a checkpoint.
static int between(struct trainer *t, struct err *err)
{
    int rc = 0;
    tell_progress(t, false);
    if (!t->probed && t->result->steps >= PROBE_STEPS) {
        agree_times(&t->agree, t->engine, t->program, true);
        rc = probe_evaluation(t, err);
        agree_times(&t->agree, t->engine, t->program, false);
    }
    if (rc == 0 && save_is_due(t) && t->place.step < t->steps_per_epoch) {
        rc = save_checkpoint(t, err);
        meter_phase(t->o->meter, METER_TRAIN);
    }
    return rc;
}

// The steps of an epoch that are left, up to the end of the run or a signal.
static int run_steps(struct trainer *t, struct run_epoch *epoch, struct err *err)
{
    t->epoch_began_ns = clock_now_ns();
    t->epoch_began_step = t->place.step;
    t->asked_ns = t->epoch_began_ns;
    meter_phase(t->o->meter, METER_TRAIN);
    int64_t before_ns = meter_train_ns(t->o->meter);
    agree_times(&t->agree, t->engine, t->program, false);
    int rc = 1;
    while (rc > 0 && t->place.iteration < t->last_step && !stopped(t)) {
        rc = make_step(t, err);
        if (rc <= 0)
            break;
        bool met;
        int other = agree_tick(&t->agree, t->o->plan, t->o->meter, &met, err);
        bool looked = t->agree.group ? met : t->form == BATCH_VALUES || t->looked;
        if (other == 0 && !looked && !save_is_due(t))
            continue;
        if (other == 0)
            other = between(t, err);
        if (other != 0)
            rc = other;
        else if (!goes_on(t))
            break;
    }
    int asked = rc < 0 ? 0 : ask_engine(t, 0, err);
    if (asked != 0)
        rc = asked;
    agree_times(&t->agree, t->engine, t->program, true);
    meter_phase(t->o->meter, METER_IDLE);
    const struct engine_score *s = &t->place.score;
    double count = s->count > 0 ? (double)s->count : 1;
    *epoch = (struct run_epoch){.epoch = some_int(t->place.epoch + 1),
                                .steps = some_int(t->place.step),
                                .train_loss = some_real(s->loss / count),
                                .train_accuracy = some_real((double)s->correct / count),
                                .train_ns = some_int(meter_train_ns(t->o->meter) - before_ns)};
    return rc < 0 ? rc : 0;
}

static int run_epochs(struct trainer *t, struct err *err)
{
    int rc = 0;
    while (rc == 0 && t->place.iteration < t->last_step && !t->enough && !stopped(t)) {
        struct run_epoch *epoch = &t->result->epochs[t->result->epoch_count++];
        rc = run_steps(t, epoch, err);
        bool ended = t->enough || t->place.iteration >= t->last_step;
        bool whole = t->place.step >= t->steps_per_epoch;
        if (rc == 0 && !stopped(t) && (whole || ended))
            rc = evaluate(t, epoch, err);
        if (rc == 0 && whole) {
            t->place.epoch++;
            t->place.step = 0;
            t->place.score = (struct engine_score){0};
            rc = batcher_seek(t->train, t->place.epoch, 0, err);
        }
        // The end of an epoch is the beginning of the next.
        if (rc == 0 && (whole || ended || stopped(t)))
            rc = save_checkpoint(t, err);
    }
    t->result->stopped = stopped(t);
    t->result->finished = t->place.iteration >= t->total_steps;
    return rc;
}

// A schedule is as long as the training.
static void plan_schedule(struct trainer *t)
{
    int64_t each = t->o->data->train.count / t->recipe.batch;
    if (t->recipe.warmup > 0 && t->o->epochs > 0)
        t->recipe.stages[0].steps = t->o->epochs * (each > 0 ? each : 1);
}

static int train(struct trainer *t, struct err *err)
{
    struct trainer_result *result = t->result;
    TRY(prepare_training(t, err));
    TRY(run_epochs(t, err));
    if (t->agree.group) {
        TRY(agree_mean_times(&t->agree, &result->times, err));
        result->has_times = true;
    }
    result->first_loss = losses_first(&t->losses).v;
    result->last_loss = losses_last(&t->losses).v;
    if (t->o->finished && !result->stopped)
        TRY(t->o->finished(t->o->context, t->program, err));
    TRY(buf_check(&result->notes, err));
    return buf_check(&result->recipe, err);
}

int trainer_run(const struct workload *workload, const struct trainer_options *options,
                struct trainer_result *result, struct err *err)
{
    struct trainer t = {.workload = workload,
                        .o = options,
                        .engine = options->engine,
                        .recipe = workload->recipe,
                        .agree.group = group_place(options->engine_options.group).size > 1
                                           ? options->engine_options.group
                                           : NULL,
                        .result = result};
    memset(result, 0, sizeof *result);
    if (options->batch > 0)
        t.recipe.batch = options->batch;
    plan_schedule(&t);
    int rc = train(&t, err);
    if (rc != 0)
        group_fail(t.agree.group, err ? err->text : "failed");
    batcher_free(t.train);
    batcher_free(t.test);
    if (t.program)
        t.engine->release(t.program);
    net_release(&t.net);
    return rc;
}

void trainer_result_release(struct trainer_result *result)
{
    free(result->epochs);
    buf_release(&result->recipe);
    buf_release(&result->notes);
    memset(result, 0, sizeof *result);
}
