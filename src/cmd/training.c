// SPDX-License-Identifier: Apache-2.0
#include "cmd/training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/progress.h"
#include "base/rng.h"
#include "data/fetch.h"
#include "engine/cpu/team.h"
#include "run/trainer.h"

volatile sig_atomic_t training_stop;

static void on_signal(int number)
{
    (void)number;
    training_stop = 1;
}

void training_catch(void)
{
    training_stop = 0;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

// What the training of one workload has at hand.
struct job {
    const struct workload *workload;
    const struct training_options *options;
    const struct engine *engine;
    struct engine_options engine_options;
    struct data_pair data;
    struct progress progress;
    char label[160];
    struct run *run;
    struct buf *says;
};

// ---- data

// DIR/mnist where that is a folder, else DIR: one --data serves `fare run all`, and a folder with
// just the files serves one workload.
int training_data_dir(const struct workload *workload, const struct training_options *options,
                      struct buf *dir, struct err *err)
{
    const char *name = data_set_name(workload->data);
    struct stat st;
    if (options->data) {
        buf_printf(dir, "%s/%s", options->data, name);
        if (buf_check(dir, NULL) == 0 && stat(buf_str(dir), &st) == 0 && S_ISDIR(st.st_mode))
            return 1;
        buf_reset(dir);
        buf_adds(dir, options->data);
        return buf_check(dir, err) == 0 ? 1 : ERR_MEMORY;
    }
    // What `fare workloads data get` fetched.
    int rc = data_cache_dir(name, dir, err);
    if (rc != 0)
        return rc;
    return stat(buf_str(dir), &st) == 0 && S_ISDIR(st.st_mode);
}

static int load_data(struct job *job, struct err *err)
{
    struct buf dir = {0};
    int found = training_data_dir(job->workload, job->options, &dir, err);
    int rc = found < 0 ? found : 0;
    int64_t began_ns = clock_now_ns();
    const struct workload *w = job->workload;
    const struct data_options options = {
        .dir = found > 0 ? buf_str(&dir) : NULL,
        .seed = 1, // of made sets: the same data whatever the training's seed
        .made_train = w->made_train,
        .made_test = w->made_test,
        .threads = job->engine_options.threads,
    };
    if (rc == 0)
        rc = data_open(w->data, &options, &job->data, err);
    job->run->phases.load_ns = some_int(clock_now_ns() - began_ns);
    buf_release(&dir);
    return rc;
}

static int describe(struct job *job, struct err *err)
{
    struct run *run = job->run;
    const struct data_pair *data = &job->data;
    run->threads = some_int(job->engine_options.threads);
    run->seed = some_int(job->options->seed);
    int rc = text_set(&run->schema, RUN_SCHEMA, err);
    if (rc == 0)
        rc = text_set(&run->workload, job->workload->name, err);
    if (rc == 0)
        rc = text_set(&run->engine, job->engine->name, err);
    if (rc == 0)
        rc = text_set(&run->precision,
                      job->engine_options.precision == ENGINE_BF16 ? "bf16" : "f32", err);
    if (rc == 0 && data->name)
        rc = text_set(&run->data.name, data->name, err);
    if (rc == 0 && data->source)
        rc = text_set(&run->data.source, data->source, err);
    if (rc == 0 && data->identity)
        rc = text_set(&run->data.identity, data->identity, err);
    if (data->name) {
        run->batch = some_int(job->workload->recipe.batch);
        run->data.made = some_bool(data->made);
        run->data.train_samples = some_int(data->train.count);
        run->data.test_samples = some_int(data->test.count);
        run->data.classes = some_int(data->train.classes);
        if (data->train.time > 0) {
            run->data.time = some_int(data->train.time);
            run->data.vocabulary = some_int(data->train.vocabulary);
        }
    }
    return rc;
}

// ---- training

static void show(void *context, const struct trainer_progress *p)
{
    struct job *job = context;
    if (!job->progress.on)
        return;
    snprintf(job->label, sizeof job->label, "%s %lld/%lld %s loss %.4f acc %.1f %% %.0f/s",
             job->workload->name, (long long)p->epoch + 1, (long long)p->epochs,
             p->evaluating ? "test" : "train", p->loss, p->accuracy * 100, p->samples_per_s);
    progress_update(&job->progress, p->step, p->steps);
}

static int finished(void *context, struct engine_program *program, struct err *err)
{
    struct job *job = context;
    if (job->options->generate == 0 || job->workload->data != DATA_TEXT)
        return 0;
    int rc =
        textgen_write(job->engine, program, &job->data, job->workload->recipe.batch,
                      (uint64_t)job->options->seed, 0.5, job->options->generate, job->says, err);
    buf_addc(job->says, '\n');
    return rc;
}

static int note_epochs(struct run *run, const struct trainer_result *result, struct err *err)
{
    for (int64_t i = 0; i < result->epoch_count; i++) {
        const struct trainer_epoch *e = &result->epochs[i];
        struct run_epoch *row = LIST_ADD(&run->epoch_list, err);
        if (!row)
            return ERR_MEMORY;
        row->epoch = some_int(result->first_epoch + i + 1);
        row->steps = some_int(e->steps);
        row->train_loss = some_real(e->train_loss);
        row->train_accuracy = some_real(e->train_accuracy);
        row->train_ns = some_int(e->train_ns);
        if (e->tested) {
            row->test_loss = some_real(e->test_loss);
            row->test_accuracy = some_real(e->test_accuracy);
            row->test_ns = some_int(e->test_ns);
            run->test_accuracy = row->test_accuracy;
        }
    }
    return 0;
}

static void note_speed(struct job *job, const struct trainer_result *r)
{
    struct run *run = job->run;
    int64_t samples = 0;
    for (int64_t i = 0; i < r->epoch_count; i++)
        samples += r->epochs[i].steps_here * job->workload->recipe.batch;
    run->steps = some_int(r->steps);
    run->steps_per_epoch = some_int(r->steps_per_epoch);
    run->phases.setup_ns = some_int(r->compile_ns);
    run->phases.train_ns = some_int(r->train_ns);
    run->phases.evaluate_ns = some_int(r->test_ns);
    if (r->saves > 0)
        run->phases.checkpoint_ns = some_int(r->save_ns);

    if (r->steps == 0)
        return;
    run->step_ms = some_real((double)r->train_ns / 1e6 / (double)r->steps);
    run->samples_per_s = some_real((double)samples / ((double)r->train_ns / 1e9));
    run->epoch_s = some_real(run->step_ms.v * (double)r->steps_per_epoch / 1e3);
    run->first_loss = some_real(r->first_loss);
    run->last_loss = some_real(r->last_loss);
}

// Whether a full run on the real data did what a correct one does. On other data nobody knows.
static void note_reached(struct job *job)
{
    struct run *run = job->run;
    const struct workload *w = job->workload;
    if (!run->full.v || (run->ended && strcmp(run->ended, "finished") != 0) || job->data.made ||
        job->options->epochs > 0 || run->epoch_list.count == 0)
        return;
    const struct run_epoch *last = &run->epoch_list.items[run->epoch_list.count - 1];
    if (w->metric == WORKLOAD_ACCURACY && last->test_accuracy.known)
        run->reached = some_bool(last->test_accuracy.v >= w->reach);
    if (w->metric == WORKLOAD_LOSS)
        run->reached = some_bool(last->train_loss.v <= w->reach);
    if (w->metric == WORKLOAD_FALLS)
        run->reached = some_bool(run->last_loss.v < run->first_loss.v);
}

static int train(struct job *job, struct err *err)
{
    const struct training_options *o = job->options;
    const struct trainer_options options = {
        .engine = job->engine,
        .engine_options = job->engine_options,
        .data = &job->data,
        .epochs = o->epochs,
        .max_steps = o->full        ? 0
                     : o->steps > 0 ? o->steps
                                    : job->workload->sample_steps,
        .max_test = o->full ? 0 : 1000,
        .dir = o->checkpoint,
        .save_every = o->checkpoint_every,
        .resume = o->resume,
        .from = o->from,
        .stop = &training_stop,
        .progress = show,
        .context = job,
        .finished = finished,
    };
    struct trainer_result result;
    job->run->full = some_bool(o->full);
    job->run->epochs = some_int(o->epochs > 0 ? o->epochs : job->workload->recipe.epochs);
    progress_begin(&job->progress, STDERR_FILENO, job->label, PROGRESS_COUNT, 0);
    int rc = trainer_run(job->workload, &options, &result, err);
    progress_end(&job->progress);
    if (rc == 0) {
        note_speed(job, &result);
        rc = text_set(&job->run->ended,
                      result.stopped ? "stopped"
                      : o->full      ? "finished"
                                     : "sampled",
                      err);
    }
    if (rc == 0) {
        rc = note_epochs(job->run, &result, err);
        note_reached(job);
        buf_adds(job->says, buf_str(&result.notes));
    }
    trainer_result_release(&result);
    return rc;
}

// ---- l1

static void fill_uniform(float *values, int64_t count, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed);
    for (int64_t i = 0; i < count; i++)
        values[i] = rng_float(&rng);
}

// The largest relative error over pairs spread through the whole result.
static double l1_error(const float *a, const float *b, const float *out, int64_t n, int64_t m,
                       int64_t dim)
{
    double largest = 0;
    for (int64_t k = 0; k < 4096; k++) {
        int64_t i = k * 7919 % n, j = k * 104729 % m;
        double sum = 0;
        for (int64_t d = 0; d < dim; d++)
            sum += fabs((double)a[i * dim + d] - (double)b[j * dim + d]);
        double error = fabs((double)out[i * m + j] - sum) / (sum > 0 ? sum : 1);
        largest = fmax(largest, error);
    }
    return largest;
}

static int run_l1(struct job *job, struct err *err)
{
    const struct training_options *o = job->options;
    int64_t n = o->n, m = o->m, dim = o->dim;
    if (!job->engine->l1)
        return err_set(err, ERR_USAGE, "the engine %s has no l1", job->engine->name);
    if (n <= 0 || m <= 0 || dim <= 0 || n > 1 << 20 || m > 1 << 20 || dim > 1 << 20 ||
        n > INT64_C(4000000000) / m)
        return err_set(err, ERR_USAGE,
                       "--n, --m and --dim must be at least 1, and n × m below 4e9");
    float *a = malloc((size_t)(n * dim) * sizeof *a), *b = malloc((size_t)(m * dim) * sizeof *b);
    float *out = malloc((size_t)(n * m) * sizeof *out);
    int rc = a && b && out ? 0 : err_memory(err);
    int64_t best_ns = INT64_MAX;
    if (rc == 0) {
        fill_uniform(a, n * dim, (uint64_t)o->seed);
        fill_uniform(b, m * dim, (uint64_t)o->seed + 1);
        memset(out, 0, (size_t)(n * m) * sizeof *out); // its pages, before the clock runs
    }
    for (int pass = 0; rc == 0 && pass < 3 && !training_stop; pass++) {
        int64_t began_ns = clock_now_ns();
        rc = job->engine->l1(&job->engine_options, a, b, n, m, dim, out, err);
        int64_t took_ns = clock_now_ns() - began_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
    }
    if (rc == 0 && best_ns < INT64_MAX) {
        double seconds = (double)best_ns / 1e9;
        job->run->step_ms = some_real(seconds * 1e3);
        job->run->l1_pairs_per_s = some_real((double)n * (double)m * (double)dim / seconds);
        job->run->l1_largest_error = some_real(l1_error(a, b, out, n, m, dim));
        job->run->reached = some_bool(job->run->l1_largest_error.v <= job->workload->reach);
    }
    free(a);
    free(b);
    free(out);
    return rc;
}

// ---- together

int training_run(const struct workload *workload, const struct training_options *options,
                 struct run *run, struct buf *says, struct err *err)
{
    struct job job = {.workload = workload, .options = options, .run = run, .says = says};
    job.engine = engine_find(options->engine ? options->engine : "cpu", err);
    if (!job.engine)
        return ERR_USAGE;
    job.engine_options = (struct engine_options){
        .threads = team_set((int)options->threads),
        .precision = options->precision && strcmp(options->precision, "bf16") == 0 ? ENGINE_BF16
                                                                                   : ENGINE_F32,
        .seed = (uint64_t)options->seed,
    };
    int rc = job.engine->available(&job.engine_options, err);
    bool l1 = workload->metric == WORKLOAD_L1;
    if (rc == 0 && !l1)
        rc = load_data(&job, err);
    if (rc == 0)
        rc = describe(&job, err);
    if (rc == 0)
        rc = l1 ? run_l1(&job, err) : train(&job, err);
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        run->peak_memory_bytes = some_int((int64_t)usage.ru_maxrss * 1024);
    data_release(&job.data);
    return rc;
}

// ---- the table

static void cell(struct buf *row, int width, const char *text)
{
    buf_printf(row, "%*s", width, text);
}

static void number(char out[24], int digits, struct maybe_real v)
{
    if (v.known)
        snprintf(out, 24, "%.*f", digits, v.v);
    else
        snprintf(out, 24, "-");
}

static void outcome(char out[48], const struct run *run)
{
    if (run->problem)
        snprintf(out, 48, "failed");
    else if (run->l1_largest_error.known)
        snprintf(out, 48, "error %.1e", run->l1_largest_error.v);
    else if (run->test_accuracy.known)
        snprintf(out, 48, "%.2f %% right", run->test_accuracy.v * 100);
    else if (run->last_loss.known)
        snprintf(out, 48, "loss %.3f", run->last_loss.v);
    else
        snprintf(out, 48, "-");
}

void training_table(struct out *out, const struct run *runs, size_t count)
{
    out_styled(out, OUT_BOLD, "%-10s %-22s %11s %10s %10s  %s", "workload", "data", "samples/s",
               "ms/step", "epoch", "result");
    out_printf(out, "\n");
    for (size_t i = 0; i < count; i++) {
        const struct run *r = &runs[i];
        char speed[24], step[24], epoch[24] = "-", result[48], data[24] = "-";
        number(speed, 0, r->samples_per_s);
        number(step, 2, r->step_ms);
        if (r->epoch_s.known)
            clock_words((int64_t)(r->epoch_s.v * 1e9), epoch, sizeof epoch);
        if (r->data.name)
            snprintf(data, sizeof data, "%.22s", r->data.name);
        outcome(result, r);
        struct buf row = {0};
        buf_printf(&row, "%-10s %-22s ", r->workload ? r->workload : "", data);
        cell(&row, 11, speed);
        buf_addc(&row, ' ');
        cell(&row, 10, step);
        buf_addc(&row, ' ');
        cell(&row, 10, epoch);
        buf_printf(&row, "  %s", result);
        out_printf(out, "%s\n", buf_str(&row));
        out->text.failed |= row.failed;
        buf_release(&row);
    }
}
