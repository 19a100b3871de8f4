// SPDX-License-Identifier: Apache-2.0
#include "measure/native.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "data/fetch.h"
#include "engine/cpu/team.h"
#include "measure/partial.h"
#include "run/peak.h"
#include "sample/sampler.h"

#define SAMPLE_TEST 1000 // samples that are evaluated at the end of a sample
#define ROOM_OF_L1  INT64_C(4000000000)
#define L1_SECONDS  3 // passes of l1 are repeated for about so long
#define L1_PASSES   5 // and at least so often
#define L1_WHOLE    4 // passes that are the whole of it, as in PyTorch's script
#define SHOW_NS     (100 * NS_PER_MS)

// What the training of one workload has at hand.
struct job {
    const struct workload *workload;
    const struct native_options *options;
    const struct engine *engine;
    struct engine_options engine_options;
    struct data_pair data;
    struct meter *meter;
    struct sampler *sampler;
    struct partial partial;
    const struct trainer_progress *progress; // while it trains
    int64_t show_ns;                         // when it is shown next
    struct run *run;
    struct buf *says;
};

// ---- data

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

// DIR/mnist where that is a folder, else DIR: one --data serves `fare run all`, and a folder with
// just the files serves one workload.
int native_data_dir(const struct workload *workload, const char *data, struct buf *dir,
                    struct err *err)
{
    const char *name = data_set_name(workload->data);
    if (data) {
        buf_printf(dir, "%s/%s", data, name);
        if (buf_check(dir, NULL) == 0 && is_folder(buf_str(dir)))
            return 1;
        buf_reset(dir);
        buf_adds(dir, data);
        return buf_check(dir, err) == 0 ? 1 : ERR_MEMORY;
    }
    // What `fare workloads data get` fetched.
    int rc = data_cache_dir(name, dir, err);
    return rc != 0 ? rc : is_folder(buf_str(dir));
}

int native_data_open(const struct workload *workload, const char *dir, int threads,
                     struct data_pair *data, struct err *err)
{
    const struct data_options options = {
        .dir = dir,
        .seed = 1, // of made sets: the same data whatever the training's seed
        .made_train = workload->made_train,
        .made_test = workload->made_test,
        .threads = threads,
    };
    return data_open(workload->data, &options, data, err);
}

static int load_data(struct job *job, struct err *err)
{
    struct buf dir = {0};
    meter_phase(job->meter, METER_LOAD);
    int found = native_data_dir(job->workload, job->options->data, &dir, err);
    int rc = found < 0 ? found : 0;
    if (rc == 0)
        rc = native_data_open(job->workload, found > 0 ? buf_str(&dir) : NULL,
                              job->engine_options.threads, &job->data, err);
    meter_phase(job->meter, METER_SETUP);
    buf_release(&dir);
    return rc;
}

// ---- what is known before it starts

int native_describe_data(const struct data_pair *data, struct run *run, struct err *err)
{
    struct run_data *to = &run->data;
    int rc = text_set(&to->name, data->name, err);
    if (rc == 0 && data->source)
        rc = text_set(&to->source, data->source, err);
    if (rc == 0 && data->identity)
        rc = text_set(&to->identity, data->identity, err);
    to->made = some_bool(data->made);
    to->train_samples = some_int(data->train.count);
    to->test_samples = some_int(data->test.count);
    to->classes = some_int(data->train.classes);
    if (data->train.time > 0) {
        to->time = some_int(data->train.time);
        to->vocabulary = some_int(data->train.vocabulary);
    }
    return rc;
}

static const char *precision_name(enum engine_precision precision)
{
    return precision == ENGINE_BF16 ? "bf16" : precision == ENGINE_TF32 ? "tf32" : "f32";
}

static int describe(struct job *job, struct err *err)
{
    struct run *run = job->run;
    run->threads = some_int(job->engine_options.threads);
    run->seed = some_int(job->options->seed);
    run->full = some_bool(false); // until it came to its end
    const char *name = job->workload->name;
    int rc = run->name ? 0 : text_set(&run->name, name, err);
    if (rc == 0)
        rc = text_set(&run->workload, name, err);
    if (rc == 0)
        rc = text_set(&run->framework, "fare", err);
    if (rc == 0)
        rc = text_set(&run->engine, job->engine->name, err);
    if (rc == 0 && job->options->variant.hard_gates)
        rc = text_set(&run->variant, "hard gates", err);
    if (rc == 0 && job->options->variant.auxiliary)
        rc = text_set(&run->variant, "auxiliary head", err);
    if (rc == 0)
        rc = text_set(&run->precision, precision_name(job->engine_options.precision), err);
    return rc;
}

// After the engine was opened: before, it does not know its libraries.
static int describe_libraries(struct job *job, struct err *err)
{
    struct engine_library library;
    int rc = 0;
    for (int i = 0; rc == 0 && job->engine->library && job->engine->library(i, &library); i++) {
        struct run_library *to = LIST_ADD(&job->run->libraries, err);
        if (!to)
            return ERR_MEMORY;
        rc = text_set(&to->name, library.name, err);
        if (rc == 0)
            rc = text_set(&to->version, library.version, err);
        if (rc == 0)
            rc = text_set(&to->kernels, library.kernels, err);
    }
    return rc;
}

// ---- training

static int finished(void *context, struct engine_program *program, struct err *err)
{
    struct job *job = context;
    if (job->options->generate == 0 || job->workload->data != DATA_TEXT)
        return 0;
    int64_t batch = job->options->batch > 0 ? job->options->batch : job->workload->recipe.batch;
    int rc = textgen_write(job->engine, program, &job->data, batch, (uint64_t)job->options->seed,
                           0.5, job->options->generate, job->says, err);
    buf_addc(job->says, '\n');
    return rc;
}

static int note_epochs(struct run *run, const struct trainer_result *result, struct err *err)
{
    for (int64_t i = 0; i < result->epoch_count; i++) {
        const struct trainer_epoch *e = &result->epochs[i];
        if (e->steps == 0) // it is being trained
            continue;
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

static int note_net(struct job *job, const struct trainer_result *r, struct err *err)
{
    struct run *run = job->run;
    char net[SHA256_HEX_BYTES + 8];
    snprintf(net, sizeof net, "sha256:%s", r->net);
    int rc = text_set(&run->net, net, err);
    if (rc == 0)
        rc = text_set(&run->recipe, buf_str(&r->recipe), err);
    run->parameters = some_int(r->cost.parameters);
    run->step_flops = some_real(r->cost.forward_flops + r->cost.backward_flops);
    run->total_steps = some_int(r->total_steps);
    run->epochs = some_int(r->total_epochs);
    run->steps_per_epoch = some_int(r->steps_per_epoch);
    const struct recipe *recipe = &job->workload->recipe;
    for (size_t i = 0; rc == 0 && i < run->stages.count; i++)
        if (recipe->phases[i].only)
            rc = text_set(&run->stages.items[i].only, recipe->phases[i].only, err);
    return rc;
}

static int note_result(struct job *job, const struct trainer_result *r, struct err *err)
{
    struct run *run = job->run;
    if (r->steps == 0)
        return 0;
    double train_s = (double)meter_train_ns(job->meter) / 1e9;
    run->samples_per_s = some_real((double)r->samples / train_s);
    run->epoch_s = some_real(run->step_ms.v * (double)r->steps_per_epoch / 1e3);
    run->use.data_wait_ns = some_int(r->data_wait_ns);
    run->first_loss = some_real(r->first_loss);
    run->last_loss = some_real(r->last_loss);
    if (!isfinite(r->last_loss))
        return run_taint(run, "the loss is not a number any more: the training ran away", err);
    return 0;
}

// Whether a full run on the real data did what a correct one does. On other data nobody knows.
static void note_reached(struct job *job, const struct trainer_result *r)
{
    struct run *run = job->run;
    const struct workload *w = job->workload;
    const struct native_options *o = job->options;
    if (!o->full || !r->finished || job->data.made || o->epochs > 0 || o->batch > 0 ||
        run->epoch_list.count == 0)
        return;
    const struct run_epoch *last = &run->epoch_list.items[run->epoch_list.count - 1];
    if (w->metric == WORKLOAD_ACCURACY && last->test_accuracy.known)
        run->reached = some_bool(last->test_accuracy.v >= w->reach);
    if (w->metric == WORKLOAD_LOSS)
        run->reached = some_bool(last->train_loss.v <= w->reach);
    if (w->metric == WORKLOAD_FALLS)
        run->reached = some_bool(run->last_loss.v < run->first_loss.v);
}

// ---- what is kept in case of a kill

// `p` is null before the first step, and for what has none.
static void look(const struct job *job, const struct trainer_progress *p, struct live *live)
{
    const struct native_options *o = job->options;
    bool timed = !o->full && o->steps == 0 && job->workload->metric != WORKLOAD_L1;
    const struct live_plan plan = {.price = o->price,
                                   .part = !o->full,
                                   .max_s = timed ? o->max_s : 0,
                                   .early = o->within > 0,
                                   .until_ns = o->until_ns};
    live_look(&plan, job->meter, p ? p->step : 0, p ? p->steps : 0, live);
}

static int fill_part(void *context, struct run *part, struct err *err)
{
    struct job job = *(const struct job *)context;
    const struct trainer_progress *p = job.progress;
    struct live live;
    job.run = part;
    look(&job, p, &live);
    int rc = live_fill(&live, job.options->price, &part->live, err);
    if (rc == 0)
        rc = meter_peek(job.meter, part, err);
    if (rc == 0)
        rc = sampler_peek(job.sampler, part, err);
    if (rc == 0 && p)
        rc = note_net(&job, p->result, err);
    if (rc == 0 && p)
        rc = note_result(&job, p->result, err);
    if (rc == 0 && p)
        rc = note_epochs(part, p->result, err);
    if (p) {
        part->first_loss = losses_first(p->losses);
        part->last_loss = losses_last(p->losses);
    }
    return rc;
}

static void keep_part(struct job *job)
{
    partial_keep(&job->partial, job->run, fill_part, job);
}

static void forward_progress(void *context, const struct trainer_progress *progress)
{
    struct job *job = context;
    const struct native_options *o = job->options;
    int64_t now_ns = clock_now_ns();
    bool shown = o->progress && now_ns >= job->show_ns, kept = partial_due(&job->partial);
    if (!shown && !kept)
        return;
    meter_phase(job->meter, METER_IDLE);
    if (shown) {
        struct live live;
        look(job, progress, &live);
        o->progress(o->context, progress, &live);
        job->show_ns = now_ns + SHOW_NS;
    }
    job->progress = progress;
    if (kept)
        keep_part(job);
    job->progress = NULL;
    meter_phase(job->meter, progress->evaluating ? METER_EVALUATE : METER_TRAIN);
}

static int train(struct job *job, struct err *err)
{
    const struct native_options *o = job->options;
    const struct trainer_options options = {
        .engine = job->engine,
        .engine_options = job->engine_options,
        .data = &job->data,
        .workload_options = o->variant,
        .meter = job->meter,
        .sample = !o->full,
        .within = o->within,
        .max_s = o->max_s,
        .until_ns = o->until_ns,
        .epochs = o->epochs,
        .batch = o->batch,
        .max_steps = o->steps,
        .max_test = o->full ? 0 : SAMPLE_TEST,
        .dir = o->checkpoint,
        .save_every = o->checkpoint_every,
        .resume = o->resume,
        .from = o->from,
        .stop = o->stop,
        .progress = forward_progress,
        .context = job,
        .finished = finished,
    };
    struct trainer_result result;
    job->run->batch = some_int(o->batch > 0 ? o->batch : job->workload->recipe.batch);
    int rc = trainer_run(job->workload, &options, &result, err);
    bool whole = rc == 0 && o->full && result.finished && !result.stopped;
    job->run->full = some_bool(whole);
    int filled = meter_fill(job->meter, whole, job->run, err);
    rc = rc != 0 ? rc : filled;
    if (rc == 0)
        rc = note_net(job, &result, err);
    if (rc == 0)
        rc = note_result(job, &result, err);
    if (rc == 0)
        rc = note_epochs(job->run, &result, err);
    if (rc == 0) {
        const char *ended = result.stopped ? "stopped" : whole ? "finished" : "sampled";
        rc = text_set(&job->run->ended, ended, err);
        note_reached(job, &result);
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

static bool l1_stopped(const struct native_options *o)
{
    return (o->stop && *o->stop) || (o->until_ns > 0 && clock_now_ns() >= o->until_ns);
}

// Passes over all pairs, and between them the loop that tells what the processor could do: shared
// machines drift, so both must be seen at the same time.
static int l1_passes(struct job *job, const float *a, const float *b, float *out,
                     int64_t *fastest_ns, double *peak, double *copied, struct err *err)
{
    const struct native_options *o = job->options;
    int64_t end_ns = clock_now_ns() + INT64_C(1000000000) * L1_SECONDS;
    int rc = 0;
    *fastest_ns = INT64_MAX;
    *peak = *copied = 0;
    for (int pass = 0; rc == 0 && (pass < L1_PASSES || clock_now_ns() < end_ns); pass++) {
        if (l1_stopped(o))
            break;
        meter_phase(job->meter, METER_TRAIN);
        int64_t began_ns = clock_now_ns();
        struct engine_l1_times times = {0};
        rc = job->engine->l1(&job->engine_options, a, b, o->n, o->m, o->dim, out, &times, err);
        int64_t took_ns = clock_now_ns() - began_ns;
        if (times.calculation > 0)
            took_ns = (int64_t)(times.calculation * 1e9);
        double bytes = (double)((o->n + o->m) * o->dim) * sizeof *a;
        if (times.to_device > 0)
            *copied = fmax(*copied, bytes / times.to_device);
        meter_steps(job->meter, 0, 1);
        *fastest_ns = took_ns < *fastest_ns ? took_ns : *fastest_ns;
        meter_phase(job->meter, METER_IDLE);
        if (partial_due(&job->partial))
            keep_part(job);
        if (job->engine->l1_peak)
            *peak = fmax(*peak, job->engine->l1_peak(&job->engine_options));
    }
    meter_phase(job->meter, METER_EVALUATE);
    return rc;
}

int native_describe_l1(const struct native_options *o, struct run *run, struct err *err)
{
    char words[96];
    snprintf(words, sizeof words, "n=%lld m=%lld dim=%lld passes=%d", (long long)o->n,
             (long long)o->m, (long long)o->dim, L1_WHOLE);
    return text_set(&run->recipe, words, err);
}

// Where the engine's copies are fastest, or memory of one's own.
static float *l1_room(const struct job *job, int64_t count, float **own)
{
    const struct engine *engine = job->engine;
    int64_t bytes = count * (int64_t)sizeof **own;
    float *room = engine->host_room ? engine->host_room(&job->engine_options, bytes) : NULL;
    *own = room ? NULL : malloc((size_t)bytes);
    return room ? room : *own;
}

static int run_l1(struct job *job, struct err *err)
{
    const struct native_options *o = job->options;
    int64_t n = o->n, m = o->m, dim = o->dim, fastest_ns;
    double peak, copied;
    if (!job->engine->l1)
        return err_set(err, ERR_USAGE, "the engine %s has no l1", job->engine->name);
    if (n <= 0 || m <= 0 || dim <= 0 || n > 1 << 20 || m > 1 << 20 || dim > 1 << 20 ||
        n > ROOM_OF_L1 / m)
        return err_set(err, ERR_USAGE,
                       "--n, --m and --dim must be at least 1, and n × m below 4e9");
    if (job->engine->load_kernels) {
        meter_phase(job->meter, METER_KERNELS);
        int rc = job->engine->load_kernels(NULL, &job->engine_options, err);
        if (rc != 0)
            return rc;
    }
    meter_plan(job->meter, &(struct meter_plan){.stage_steps = {L1_WHOLE}, .stages = 1});
    meter_phase(job->meter, METER_LOAD);
    float *own_a, *own_b;
    float *a = l1_room(job, n * dim, &own_a), *b = l1_room(job, m * dim, &own_b);
    float *out = malloc((size_t)(n * m) * sizeof *out);
    int rc = a && b && out ? 0 : err_memory(err);
    if (rc == 0) {
        fill_uniform(a, n * dim, (uint64_t)o->seed);
        fill_uniform(b, m * dim, (uint64_t)o->seed + 1);
        memset(out, 0, (size_t)(n * m) * sizeof *out); // its pages, before the clock runs
        rc = l1_passes(job, a, b, out, &fastest_ns, &peak, &copied, err);
    }
    struct run *run = job->run;
    if (rc == 0 && fastest_ns < INT64_MAX) {
        double rate = (double)n * (double)m * (double)dim / ((double)fastest_ns / 1e9);
        run->l1_pairs_per_s = some_real(rate);
        if (peak > 0)
            run->l1_share_of_peak = some_real(rate / peak);
        if (copied > 0)
            run->l1_copy_bytes_per_s = some_real(copied);
        run->l1_largest_error = some_real(l1_error(a, b, out, n, m, dim));
        run->reached = some_bool(run->l1_largest_error.v <= job->workload->reach);
    }
    free(own_a);
    free(own_b);
    free(out);
    if (job->engine->host_free)
        job->engine->host_free();
    int filled = meter_fill(job->meter, false, run, err);
    rc = rc != 0 ? rc : filled;
    run->total_steps = some_int(L1_WHOLE);
    if (rc == 0)
        rc = native_describe_l1(o, run, err);
    if (rc == 0)
        rc = text_set(&run->ended, l1_stopped(o) ? "stopped" : "sampled", err);
    return rc;
}

// ---- together

// So that the peak is this run's own and not that of one before it in the same process.
static void reset_peak_memory(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    // Where it cannot be reset, the peak is that of the process so far.
    (void)!write(fd, "5\n", 2);
    close(fd);
}

static int64_t peak_memory(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long long kib = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %lld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib * 1024;
}

static int measure(struct job *job, struct err *err)
{
    bool l1 = job->workload->metric == WORKLOAD_L1;
    int rc = workload_check_options(job->workload, &job->options->variant, err);
    if (rc == 0)
        rc = job->engine->available(&job->engine_options, err);
    if (rc != 0 && job->engine == &engine_cuda && !job->options->engine)
        err_hint(err, "--engine cpu trains on the CPU; 'fare check' tells what is there");
    if (rc == 0)
        rc = describe(job, err);
    if (rc == 0)
        rc = describe_libraries(job, err);
    if (rc == 0)
        keep_part(job);
    if (rc == 0 && !l1)
        rc = load_data(job, err);
    if (rc == 0 && !l1)
        rc = native_describe_data(&job->data, job->run, err);
    if (rc == 0)
        keep_part(job);
    if (rc == 0)
        rc = l1 ? run_l1(job, err) : train(job, err);
    return rc;
}

// The CPU where there is no GPU. One that is there and cannot be used is an error, when the engine
// is asked: figures of the CPU are not what such a machine was rented for. On a GPU the default is
// tf32, where it has that. l1 only adds, in f32.
static int choose_engine(struct job *job, struct err *err)
{
    const struct native_options *o = job->options;
    bool l1 = job->workload->metric == WORKLOAD_L1;
    const char *wanted = l1 ? "f32" : o->precision;
    bool any = !wanted || strcmp(wanted, "f32") == 0;
    enum engine_precision precision = any                           ? ENGINE_F32
                                      : strcmp(wanted, "bf16") == 0 ? ENGINE_BF16
                                                                    : ENGINE_TF32;
    job->engine_options =
        (struct engine_options){.precision = precision, .seed = (uint64_t)o->seed};
    job->engine = o->engine ? engine_find(o->engine, err) : &engine_cuda;
    if (!job->engine)
        return ERR_USAGE;
    if (job->engine == &engine_cuda) {
        struct engine_options tf32 = job->engine_options;
        tf32.precision = ENGINE_TF32;
        if (!wanted && engine_cuda.available(&tf32, NULL) == 0)
            job->engine_options = tf32;
        else if (!o->engine && engine_cuda.available(&job->engine_options, NULL) == ERR_MISSING)
            job->engine = &engine_cpu;
    }
    if (l1 && o->precision && strcmp(o->precision, "f32") != 0)
        buf_printf(job->says, "l1 is in f32, whatever --precision says\n");
    if (job->engine != &engine_cuda && precision == ENGINE_TF32)
        return err_set(err, ERR_USAGE, "the engine '%s' has f32 and bf16; tf32 is for GPUs",
                       job->engine->name);
    return 0;
}

int native_check_gpu(struct err *err)
{
    const struct engine_options any = {.precision = ENGINE_F32};
    int rc = engine_cuda.available(&any, err);
    return rc == ERR_MISSING ? 0 : rc;
}

int native_run(const struct workload *workload, const struct native_options *options,
               struct run *run, struct buf *says, struct err *err)
{
    struct job job = {.workload = workload, .options = options, .run = run, .says = says};
    int chosen = choose_engine(&job, err);
    if (chosen != 0)
        return chosen;
    job.engine_options.threads = team_set((int)options->threads);
    reset_peak_memory();
    int64_t start_ns = options->start_ns ? options->start_ns : clock_now_ns();
    int rc = meter_new(&job.meter, start_ns, err);
    if (rc != 0)
        return rc;
    const struct sampler_options look = {
        .root = "", .start_ns = start_ns, .no_gpus = job.engine != &engine_cuda};
    rc = sampler_start(&job.sampler, &look, err);
    partial_begin(&job.partial, options->journal, start_ns);
    if (rc == 0)
        rc = measure(&job, err);
    partial_end(&job.partial);
    struct err late = {0};
    if (job.sampler && sampler_finish(job.sampler, run, &late) != 0 && rc == 0)
        rc = err_set(err, late.code, "%s", late.text);
    run->peak_memory_bytes = some_int(peak_memory());
    run_derive(run);
    peak_derive(run);
    if (rc != 0) { // what is known is kept, and that it failed
        struct err other = {0};
        if (text_set(&run->ended, "failed", &other) != 0 ||
            text_set(&run->problem, err->text, &other) != 0)
            err_memory(err);
    }
    meter_free(job.meter);
    data_release(&job.data);
    return rc;
}
