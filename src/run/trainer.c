// SPDX-License-Identifier: Apache-2.0
#include "run/trainer.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "run/checkpoint.h"

#define KEEP_CHECKPOINTS 2
#define LOSS_WINDOWS     10 // first and last loss are means over a tenth of the steps

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
    int64_t last_step;   // where this run ends
    int64_t steps_per_epoch;
    int64_t epochs;
    int64_t epoch_began_ns;
    int64_t epoch_began_step; // of this epoch, when its clock started
    double *losses;           // of the steps made here, for the first and last tenth
    struct trainer_result *result;
};

static bool stopped(const struct trainer *t)
{
    return t->o->stop && *t->o->stop;
}

static struct engine_batch for_engine(const struct batch *b)
{
    return (struct engine_batch){
        .count = b->count, .image = b->image, .tokens = b->tokens, .labels = b->labels};
}

static void tell(const struct trainer *t, bool evaluating)
{
    if (!t->o->progress)
        return;
    const struct engine_score *s = &t->place.score;
    double count = s->count > 0 ? (double)s->count : 1;
    double seconds = (double)(clock_now_ns() - t->epoch_began_ns) / 1e9;
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
    };
    t->o->progress(t->o->context, &p);
}

// Which phase of the recipe a step belongs to.
static int phase_of(const struct recipe *recipe, int64_t iteration)
{
    int phase = 0;
    while (phase + 1 < recipe->phase_count && recipe->phases[phase].steps > 0 &&
           iteration >= recipe->phases[phase].steps) {
        iteration -= recipe->phases[phase].steps;
        phase++;
    }
    return phase;
}

static int64_t steps_of_phases(const struct recipe *recipe)
{
    int64_t steps = 0;
    for (int i = 0; i < recipe->phase_count; i++)
        steps += recipe->phases[i].steps;
    return steps;
}

static int plan(struct trainer *t, struct err *err)
{
    t->steps_per_epoch = batcher_steps(t->train);
    // A training that counts steps takes whole batches only: batch norm sees all of them.
    bool by_steps = t->recipe.epochs == 0;
    if (by_steps && t->o->data->train.count >= t->recipe.batch)
        t->steps_per_epoch = t->o->data->train.count / t->recipe.batch;
    if (t->steps_per_epoch == 0)
        return err_set(err, ERR_FORMAT, "the data has no samples to train on");
    t->epochs = t->o->epochs > 0 ? t->o->epochs : t->recipe.epochs;
    t->total_steps = t->epochs * t->steps_per_epoch;
    if (by_steps && t->o->epochs == 0) {
        t->total_steps = steps_of_phases(&t->recipe);
        t->epochs = (t->total_steps + t->steps_per_epoch - 1) / t->steps_per_epoch;
    }
    t->last_step = t->total_steps;
    if (t->o->max_steps > 0 && t->o->max_steps < t->last_step)
        t->last_step = t->o->max_steps;
    t->losses = calloc((size_t)t->last_step, sizeof *t->losses);
    t->result->epochs = calloc((size_t)t->epochs + 1, sizeof *t->result->epochs);
    t->result->steps_per_epoch = t->steps_per_epoch;
    return t->losses && t->result->epochs ? 0 : err_memory(err);
}

static int resume(struct trainer *t, struct err *err)
{
    struct buf path = {0};
    int rc = checkpoint_newest(t->o->dir, t->workload->name, &path, &t->result->notes, err);
    if (rc > 0) {
        rc = checkpoint_restore(buf_str(&path), &t->subject, t->program, &t->place,
                                &t->result->notes, err);
        if (rc == 0)
            buf_printf(&t->result->notes, "resumed from %s, step %lld\n", buf_str(&path),
                       (long long)t->place.iteration);
    } else if (rc == 0) {
        buf_printf(&t->result->notes, "no checkpoint of %s in %s: started from the beginning\n",
                   t->workload->name, t->o->dir);
    }
    buf_release(&path);
    return rc;
}

// A new training among an old one's checkpoints would have its own taken for the older ones.
static int refuse_used_folder(const struct trainer *t, struct err *err)
{
    struct buf path = {0};
    int rc = checkpoint_newest(t->o->dir, t->workload->name, &path, NULL, err);
    if (rc > 0) {
        rc = err_set(err, ERR_USAGE, "'%s' already holds a training of %s: %s", t->o->dir,
                     t->workload->name, buf_str(&path));
        err_hint(err, "--resume goes on with it; a new one needs another folder");
    }
    buf_release(&path);
    return rc;
}

static int prepare(struct trainer *t, struct err *err)
{
    const struct trainer_options *o = t->o;
    int rc = workload_net(t->workload, o->data, &o->workload_options, &t->net, err);
    if (rc != 0)
        return rc;
    int64_t began_ns = clock_now_ns();
    rc = t->engine->compile(&t->net, &t->recipe, &o->engine_options, &t->program, err);
    t->result->compile_ns = clock_now_ns() - began_ns;
    if (rc != 0)
        return rc;
    t->subject = (struct checkpoint_subject){.workload = t->workload->name,
                                             .data = o->data->name,
                                             .data_identity = o->data->identity,
                                             .net = &t->net,
                                             .recipe = &t->recipe,
                                             .engine = t->engine,
                                             .options = o->engine_options};
    int threads = o->engine_options.threads;
    struct batcher_options batches =
        workload_batches(t->workload, o->engine_options.seed, true, threads);
    rc = batcher_new(&t->train, &o->data->train, &batches, err);
    if (rc == 0 && o->data->test.count > 0) {
        batches = workload_batches(t->workload, o->engine_options.seed, false, threads);
        rc = batcher_new(&t->test, &o->data->test, &batches, err);
    }
    if (rc == 0)
        rc = plan(t, err);
    if (rc == 0 && o->from) {
        int loaded = 0;
        rc = checkpoint_load_parameters(o->from, t->engine, t->program, &loaded, &t->result->notes,
                                        err);
        buf_printf(&t->result->notes, "%d tensors loaded from %s\n", loaded, o->from);
    }
    if (rc == 0 && o->dir)
        rc = fs_mkdirs(o->dir, err);
    if (rc == 0 && o->dir)
        rc = o->resume ? resume(t, err) : refuse_used_folder(t, err);
    if (rc == 0)
        rc = batcher_seek(t->train, t->place.epoch, t->place.step, err);
    return rc;
}

static int save(struct trainer *t, struct err *err)
{
    if (!t->o->dir)
        return 0;
    int64_t began_ns = clock_now_ns();
    struct buf path = {0};
    int rc = checkpoint_path(t->o->dir, t->workload->name, t->place.iteration, &path, err);
    if (rc == 0)
        rc = checkpoint_save(buf_str(&path), &t->subject, t->program, &t->place, err);
    if (rc == 0)
        rc = checkpoint_prune(t->o->dir, t->workload->name, KEEP_CHECKPOINTS, t->place.iteration,
                              err);
    buf_release(&path);
    t->result->save_ns += clock_now_ns() - began_ns;
    t->result->saves++;
    return rc;
}

// One step. 1: made; 0: the epoch is over; negative: an error.
static int step(struct trainer *t, struct err *err)
{
    struct batch batch;
    if (t->place.step >= t->steps_per_epoch)
        return 0;
    int rc = batcher_next(t->train, &batch, err);
    if (rc <= 0)
        return rc;
    int phase = phase_of(&t->recipe, t->place.iteration);
    if (phase != t->place.phase) {
        rc = t->engine->set_phase(t->program, phase, err);
        if (rc != 0)
            return rc;
        t->place.phase = phase;
    }
    double before = t->place.score.loss;
    struct engine_batch in = for_engine(&batch);
    t->engine->set_iteration(t->program, t->place.iteration);
    rc = t->engine->step(t->program, &in, &t->place.score, err);
    if (rc != 0)
        return rc;
    t->losses[t->result->steps++] = (t->place.score.loss - before) / (double)in.count;
    t->place.step++;
    t->place.iteration++;
    return 1;
}

static int evaluate(struct trainer *t, struct trainer_epoch *epoch, struct err *err)
{
    if (!t->test)
        return 0;
    int64_t began_ns = clock_now_ns();
    struct engine_score score = {0};
    int rc = batcher_seek(t->test, 0, 0, err);
    while (rc == 0 && !stopped(t) && (t->o->max_test == 0 || score.count < t->o->max_test)) {
        struct batch batch;
        rc = batcher_next(t->test, &batch, err);
        if (rc <= 0)
            break;
        struct engine_batch in = for_engine(&batch);
        rc = t->engine->evaluate(t->program, &in, &score, err);
        tell(t, true);
    }
    epoch->test_ns = clock_now_ns() - began_ns;
    t->result->test_ns += epoch->test_ns;
    if (rc < 0)
        return rc;
    if (score.count > 0 && !stopped(t)) {
        epoch->tested = true;
        epoch->test_loss = score.loss / (double)score.count;
        epoch->test_accuracy = (double)score.correct / (double)score.count;
    }
    return 0;
}

static bool save_is_due(const struct trainer *t)
{
    return t->o->save_every > 0 && t->place.iteration % t->o->save_every == 0;
}

// The steps of an epoch that are left, up to the end of the run or a signal.
static int run_steps(struct trainer *t, struct trainer_epoch *epoch, struct err *err)
{
    t->epoch_began_ns = clock_now_ns();
    t->epoch_began_step = t->place.step;
    int64_t saving_ns = t->result->save_ns;
    int rc = 1;
    while (rc > 0 && t->place.iteration < t->last_step && !stopped(t)) {
        rc = step(t, err);
        if (rc > 0) {
            tell(t, false);
            if (save_is_due(t) && t->place.step < t->steps_per_epoch) {
                int saved = save(t, err);
                rc = saved != 0 ? saved : rc;
            }
        }
    }
    epoch->train_ns = clock_now_ns() - t->epoch_began_ns - (t->result->save_ns - saving_ns);
    epoch->steps_here = t->place.step - t->epoch_began_step;
    epoch->steps = t->place.step;
    epoch->whole = t->place.step >= t->steps_per_epoch;
    t->result->train_ns += epoch->train_ns;
    const struct engine_score *s = &t->place.score;
    epoch->samples = s->count;
    if (s->count > 0) {
        epoch->train_loss = s->loss / (double)s->count;
        epoch->train_accuracy = (double)s->correct / (double)s->count;
    }
    return rc < 0 ? rc : 0;
}

static int run_epochs(struct trainer *t, struct err *err)
{
    int rc = 0;
    t->result->first_epoch = t->place.epoch;
    while (rc == 0 && t->place.iteration < t->last_step && !stopped(t)) {
        struct trainer_epoch *epoch = &t->result->epochs[t->result->epoch_count++];
        rc = run_steps(t, epoch, err);
        bool ended = t->place.iteration >= t->last_step;
        if (rc == 0 && !stopped(t) && (epoch->whole || ended))
            rc = evaluate(t, epoch, err);
        if (rc == 0 && epoch->whole) {
            t->place.epoch++;
            t->place.step = 0;
            t->place.score = (struct engine_score){0};
            rc = batcher_seek(t->train, t->place.epoch, 0, err);
        }
        // At the end of an epoch the place is the beginning of the next.
        if (rc == 0 && (epoch->whole || ended || stopped(t)))
            rc = save(t, err);
    }
    t->result->stopped = stopped(t);
    return rc;
}

static double mean(const double *values, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += values[i];
    return count > 0 ? sum / (double)count : 0;
}

int trainer_run(const struct workload *workload, const struct trainer_options *options,
                struct trainer_result *result, struct err *err)
{
    struct trainer t = {.workload = workload,
                        .o = options,
                        .engine = options->engine,
                        .recipe = workload->recipe,
                        .result = result};
    memset(result, 0, sizeof *result);
    int rc = prepare(&t, err);
    if (rc == 0)
        rc = run_epochs(&t, err);
    if (rc == 0) {
        int64_t tenth = (result->steps + LOSS_WINDOWS - 1) / LOSS_WINDOWS;
        result->first_loss = mean(t.losses, tenth);
        result->last_loss = mean(t.losses + result->steps - tenth, tenth);
        if (options->finished && !result->stopped)
            rc = options->finished(options->context, t.program, err);
    }
    if (rc == 0)
        rc = buf_check(&result->notes, err);
    batcher_free(t.train);
    batcher_free(t.test);
    if (t.program)
        t.engine->release(t.program);
    net_release(&t.net);
    free(t.losses);
    return rc;
}

void trainer_result_release(struct trainer_result *result)
{
    free(result->epochs);
    buf_release(&result->notes);
    memset(result, 0, sizeof *result);
}
