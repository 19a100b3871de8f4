// SPDX-License-Identifier: Apache-2.0
// native: trains a workload with one of fare's own engines.
#include "measure/runner.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "save/guard.h"
#include "measure/ranks.h"
#include "measure/saving.h"
#include "measure/session.h"
#include "train/trainer.h"

// ---- engine_run: code shared by the runners of workloads.

int describe_workload(const struct session *s, const char *framework, struct err *err)
{
    struct run *run = s->run;
    TRY(run->name ? 0 : text_set(&run->name, s->workload->name, err));
    TRY(text_set(&run->workload, s->workload->name, err));
    return text_set(&run->framework, framework, err);
}

int describe_variant(const struct session *s, struct err *err)
{
    SCOPED(buf_release) struct buf variant = {0};
    workload_variant(&s->o->variant, &variant);
    TRY(buf_check(&variant, err));
    return variant.len > 0 ? text_set(&s->run->variant, buf_str(&variant), err) : 0;
}

int describe_data(const struct data_pair *data, struct run *run, struct err *err)
{
    struct run_data *to = &run->data;
    TRY(text_set(&to->name, data->name, err));
    if (data->source)
        TRY(text_set(&to->source, data->source, err));
    if (data->identity)
        TRY(text_set(&to->identity, data->identity, err));
    to->made = some_bool(data->made);
    to->train_samples = some_int(data->train.count);
    to->test_samples = some_int(data->test.count);
    to->classes = some_int(data->train.classes);
    if (data->train.time > 0) {
        to->time = some_int(data->train.time);
        to->vocabulary = some_int(data->train.vocabulary);
    }
    return 0;
}

void describe_reached(const struct session *s, bool target)
{
    struct run *run = s->run;
    const struct workload *w = s->workload;
    if (!target || !run->full.v || s->o->epochs > 0 || s->batch > 0 || run->epoch_list.count == 0)
        return;
    const struct run_epoch *last = &run->epoch_list.items[run->epoch_list.count - 1];
    if (w->metric == WORKLOAD_ACCURACY && last->test_accuracy.known)
        run->reached = some_bool(last->test_accuracy.v >= w->reach);
    if (w->metric == WORKLOAD_LOSS && last->train_loss.known)
        run->reached = some_bool(last->train_loss.v <= w->reach);
    if (w->metric == WORKLOAD_FALLS && run->last_loss.known)
        run->reached = some_bool(run->last_loss.v < run->first_loss.v);
}

int describe_failure(struct run *run, int rc, struct err *err)
{
    struct err other = {0};
    text_set(&run->ended, "failed", &other);
    text_set(&run->problem, err->text, &other);
    return other.code != 0 ? err_memory(err) : rc;
}

// Anew after the work: only then is it known where kernels came from.
static int describe_libraries(struct run *run, const struct engine *engine, struct err *err)
{
    struct engine_library library;
    for (int i = 0; engine->library && engine->library(i, &library); i++) {
        struct run_library *to = NULL;
        for (size_t k = 0; k < run->libraries.count && !to; k++)
            if (run->libraries.items[k].name &&
                strcmp(run->libraries.items[k].name, library.name) == 0)
                to = &run->libraries.items[k];
        if (!to)
            to = LIST_ADD(&run->libraries, err);
        if (!to)
            return ERR_MEMORY;
        TRY(text_set(&to->name, library.name, err));
        TRY(text_set(&to->version, library.version, err));
        TRY(text_set(&to->kernels, library.kernels, err));
    }
    return 0;
}

static int describe_engine(const struct session *s, const struct engine_run *e, struct err *err)
{
    struct run *run = s->run;
    run->threads = some_int(e->options.threads);
    struct group_place place = group_place(s->o->group);
    if (place.size > 1) {
        run->ranks = some_int(place.size);
        run->nodes = some_int(place.nodes);
    }
    run->seed = some_int(s->o->seed);
    run->full = some_bool(false); // until it finishes
    TRY(describe_workload(s, "fare", err));
    TRY(describe_variant(s, err));
    TRY(text_set(&run->engine, e->engine->name, err));
    TRY(text_set(&run->precision, engine_precisions[e->options.precision], err));
    return describe_libraries(run, e->engine, err);
}

// Resets the peak, so that it is not that of an earlier run in the same process. If that fails, it
// is the peak of the process so far.
static void reset_peak_memory(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
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

static int work_on(struct session *s, const struct engine_run *e,
                   int (*work)(struct session *session, struct err *err), struct err *err)
{
    int rc = workload_check_options(s->workload, &s->o->variant, err);
    if (rc == 0)
        rc = e->engine->available(&e->options, err);
    if (rc != 0 && e->engine->gpu && !s->o->engine)
        err_hint(err, "--engine cpu trains on the CPU; 'fare check' shows the problem");
    TRY(rc);
    TRY(describe_engine(s, e, err)); // its libraries are known once it is available
    session_keep(s);
    TRY(work(s, err));
    return describe_libraries(s->run, e->engine, err);
}

int engine_run_choose(const struct measure_options *o, const struct workload *workload,
                      const char *precision, struct engine_options *options,
                      const struct engine **engine, struct err *err)
{
    TRY(engine_choose(o->engine, precision, options, engine, err));
    if (!precision && (*engine)->gpu && workload->bf16_on_gpu)
        options->precision = ENGINE_BF16;
    return 0;
}

// The ranks of a group divide this machine's CPUs.
static int choose_threads(const struct session *s, struct engine_run *e, struct err *err)
{
    int64_t threads = s->o->threads;
    if (threads == 0 && group_place(s->o->group).size > 1)
        TRY(ranks_threads(s->o->group, &threads, err));
    e->options.threads = engine_threads((int)threads);
    return 0;
}

int engine_run(struct session *s, const char *precision, struct engine_run *e,
               int (*work)(struct session *session, struct err *err), struct err *err)
{
    e->options = (struct engine_options){
        .seed = (uint64_t)s->o->seed, .micro_batch = s->o->micro_batch, .group = s->o->group};
    TRY(engine_run_choose(s->o, s->workload, precision, &e->options, &e->engine, err));
    TRY(choose_threads(s, e, err));
    int rc;
    reset_peak_memory();
    s->watch.name = s->workload->name;
    watch_show(&s->watch, &(struct live){.left_s = -1, .bill = -1, .projected = -1}, "");
    // The other ranks of this machine are our children, or count for themselves.
    bool forked = s->o->group && strcmp(group_kind(s->o->group), "local") == 0;
    rc = session_start(s, forked ? getpid() : 0, e->engine->gpu, 0, err);
    if (rc == 0)
        rc = work_on(s, e, work, err);
    struct err late = {0};
    if (session_finish(s, &late) != 0 && rc == 0)
        rc = err_pass(err, late.code, &late);
    s->run->peak_memory_bytes = some_int(peak_memory());
    if (e->engine->gpu && s->run->ranks.known)
        s->run->use.gpus = s->run->ranks;
    return rc == 0 ? 0 : describe_failure(s->run, rc, err);
}

// ---- l1: times the distances between all pairs of two sets of vectors. Nothing is trained.

#define RESULT_MAX INT64_C(4000000000) // numbers
#define SIDE_MAX   (1 << 20)
#define SECONDS    3 // how long passes are repeated
#define PASSES     5 // at least
#define HURRIED    3 // the same where the user gives a time
#define WHOLE      4 // passes of the whole l1_run, as in PyTorch's script
#define PAIRS      4096

struct l1 {
    struct engine_run with;
    float *a, *b, *out;
    float *own_a, *own_b, *own_out; // where the engine has no host memory for them
    int64_t fastest_ns;
    struct engine_l1_times apart; // the fastest of each; 0: no separate device
    double peak;                  // per second
};

int describe_l1(const struct measure_options *o, struct run *l1_run, struct err *err)
{
    char words[96];
    snprintf(words, sizeof words, "n=%lld m=%lld dim=%lld passes=%d", (long long)o->n,
             (long long)o->m, (long long)o->dim, WHOLE);
    return text_set(&l1_run->recipe, words, err);
}

static void fill_uniform(float *values, int64_t count, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed);
    for (int64_t i = 0; i < count; i++)
        values[i] = rng_float(&rng);
}

// The largest relative error over pairs spread through the whole result.
static double largest_error(const struct l1 *l, const struct measure_options *o)
{
    double largest = 0;
    for (int64_t k = 0; k < PAIRS; k++) {
        int64_t i = k * 7919 % o->n, j = k * 104729 % o->m;
        double sum = 0;
        for (int64_t d = 0; d < o->dim; d++)
            sum += fabs((double)l->a[i * o->dim + d] - (double)l->b[j * o->dim + d]);
        double error = fabs((double)l->out[i * o->m + j] - sum) / (sum > 0 ? sum : 1);
        largest = fmax(largest, error);
    }
    return largest;
}

static int pass(struct session *s, struct l1 *l, struct err *err)
{
    const struct measure_options *o = s->o;
    meter_phase(s->meter, METER_TRAIN);
    int64_t began_ns = clock_now_ns();
    int rc = l->with.engine->l1->distances(&l->with.options, l->a, l->b, o->n, o->m, o->dim, l->out,
                                           err);
    int64_t took_ns = clock_now_ns() - began_ns;
    meter_steps(s->meter, 0, 1);
    l->fastest_ns = took_ns < l->fastest_ns ? took_ns : l->fastest_ns;
    meter_phase(s->meter, METER_IDLE);
    return rc;
}

static double faster(double best, double now)
{
    return best > 0 && best < now ? best : now;
}

// A pass copies and calculates at the same time, so each is timed by itself outside of it.
static int time_apart(const struct session *s, struct l1 *l, struct err *err)
{
    const struct measure_options *o = s->o;
    const struct engine_l1 *engine = l->with.engine->l1;
    struct engine_l1_times now = {0};
    if (!engine->times)
        return 0;
    TRY(engine->times(&l->with.options, l->a, l->b, o->n, o->m, o->dim, &now, err));
    l->apart.to_device = faster(l->apart.to_device, now.to_device);
    l->apart.calculation = faster(l->apart.calculation, now.calculation);
    return 0;
}

// Alternates with what is timed apart and the loop that measures the processor's peak: shared
// machines drift, so all must be measured at the same time.
static int passes(struct session *s, struct l1 *l, struct err *err)
{
    const struct engine_l1 *engine = l->with.engine->l1;
    int64_t given_ns = s->o->max_time_ns, most_ns = SECONDS * NS_PER_S;
    int64_t end_ns = clock_now_ns() + (given_ns > 0 && given_ns < most_ns ? given_ns : most_ns);
    int least = given_ns > 0 ? HURRIED : PASSES, rc = 0;
    for (int i = 0; rc == 0 && (i < least || clock_now_ns() < end_ns) && !run_plan_over(&s->plan);
         i++) {
        rc = pass(s, l, err);
        if (session_due(s))
            session_keep(s);
        if (rc == 0)
            rc = time_apart(s, l, err);
        if (rc == 0 && engine->peak)
            l->peak = fmax(l->peak, engine->peak(&l->with.options));
    }
    meter_phase(s->meter, METER_EVALUATE);
    return rc;
}

static void l1_note_result(const struct session *s, const struct l1 *l)
{
    const struct measure_options *o = s->o;
    struct run *l1_run = s->run;
    if (l->fastest_ns == INT64_MAX)
        return;
    double transfer = l->apart.to_device;
    double calculation =
        l->apart.calculation > 0 ? l->apart.calculation : (double)l->fastest_ns / 1e9;
    double rate = (double)o->n * (double)o->m * (double)o->dim / calculation;
    l1_run->l1_transfer_ms = some_real(transfer * 1e3);
    l1_run->l1_calculation_ms = some_real(calculation * 1e3);
    l1_run->l1_pairs_per_s = some_real(rate);
    if (l->peak > 0)
        l1_run->l1_share_of_peak = some_real(rate / l->peak);
    double bytes = (double)((o->n + o->m) * o->dim) * sizeof *l->a;
    if (transfer > 0)
        l1_run->l1_copy_bytes_per_s = some_real(bytes / transfer);
    l1_run->l1_largest_error = some_real(largest_error(l, o));
    l1_run->reached = some_bool(l1_run->l1_largest_error.v <= s->workload->reach);
}

// The engine's host memory, which it copies fastest, or else ordinary memory.
static float *allocate(const struct engine_run *with, int64_t count, float **own)
{
    const struct engine_l1 *engine = with->engine->l1;
    int64_t bytes = count * (int64_t)sizeof **own;
    float *memory = engine->host_alloc ? engine->host_alloc(&with->options, bytes) : NULL;
    *own = memory ? NULL : malloc((size_t)bytes);
    return memory ? memory : *own;
}

static int calculate(struct session *s, struct l1 *l, struct err *err)
{
    const struct measure_options *o = s->o;
    meter_phase(s->meter, METER_LOAD);
    l->a = allocate(&l->with, o->n * o->dim, &l->own_a);
    l->b = allocate(&l->with, o->m * o->dim, &l->own_b);
    l->out = allocate(&l->with, o->n * o->m, &l->own_out);
    if (!l->a || !l->b || !l->out)
        return err_memory(err);
    fill_uniform(l->a, o->n * o->dim, (uint64_t)o->seed);
    fill_uniform(l->b, o->m * o->dim, (uint64_t)o->seed + 1);
    memset(l->out, 0, (size_t)(o->n * o->m) * sizeof *l->out); // map its pages before timing
    if (l->own_out && l->with.engine->l1->host_alloc)
        buf_printf(s->says, "the result's memory could not be page-locked: copies to it, and so "
                            "the passes, take longer\n");
    TRY(passes(s, l, err));
    l1_note_result(s, l);
    return 0;
}

static int l1_work(struct session *s, struct err *err)
{
    struct l1 *l = s->runner;
    const struct measure_options *o = s->o;
    const struct engine_l1 *engine = l->with.engine->l1;
    if (!engine)
        return err_set(err, ERR_USAGE, "the engine %s has no l1", l->with.engine->name);
    if (o->n <= 0 || o->m <= 0 || o->dim <= 0 || o->n > SIDE_MAX || o->m > SIDE_MAX ||
        o->dim > SIDE_MAX || o->n > RESULT_MAX / o->m)
        return err_set(err, ERR_USAGE,
                       "--n, --m and --dim must be at least 1, and n × m below 4e9");
    int rc = 0;
    if (engine->load_kernels) {
        meter_phase(s->meter, METER_KERNELS);
        rc = engine->load_kernels(&l->with.options, err);
    }
    meter_plan(s->meter, &(struct meter_plan){.stage_steps = {WHOLE}, .stages = 1});
    if (rc == 0)
        rc = calculate(s, l, err);
    free(l->own_a);
    free(l->own_b);
    free(l->own_out);
    if (engine->host_free)
        engine->host_free();
    int filled = meter_fill(s->meter, false, s->run, err);
    rc = rc != 0 ? rc : filled;
    s->run->total_steps = some_int(WHOLE);
    if (rc == 0)
        rc = describe_l1(o, s->run, err);
    bool over = run_plan_over(&s->plan);
    return rc == 0 ? text_set(&s->run->ended, over ? run_plan_ended(&s->plan) : "sampled", err)
                   : rc;
}

static int l1_run(struct session *s, struct err *err)
{
    struct l1 l = {.fastest_ns = INT64_MAX};
    s->runner = &l;
    s->plan.max_s = 0; // limited by passes, not time
    if (s->o->precision && strcmp(s->o->precision, "f32") != 0)
        buf_printf(s->says, "l1 ignores --precision and uses f32\n");
    return engine_run(s, "f32", &l.with, l1_work, err);
}

static bool l1_takes(const struct session *s)
{
    return s->workload && s->workload->metric == WORKLOAD_L1;
}

const struct runner runner_l1 = {.takes = l1_takes, .in_process = true, .run = l1_run};

// ---- fare's own workloads

#define SAMPLE_TEST   1000 // samples evaluated at the end of a sampled run
#define SAMPLE_STREAM 8    // of a text with one label per token
#define SHOW_NS       (100 * NS_PER_MS)
#define LOOK_NS       (20 * NS_PER_MS)

struct native {
    struct engine_run with;
    struct data_pair data;
    const struct trainer_progress *progress; // while the journal's record is written
    int64_t show_ns;                         // when progress is shown next
    bool log;                                // lines of text instead
    int64_t look_ns;                         // when saving_look() is called next
    struct run_wish wish;
};

// ---- the record

static int note_epochs(struct run *run, const struct trainer_result *result, struct err *err)
{
    for (int64_t i = 0; i < result->epoch_count; i++) {
        const struct run_epoch *epoch = &result->epochs[i];
        if (!epoch->steps.v) // in progress
            continue;
        if (epoch->test_accuracy.known)
            run->test_accuracy = epoch->test_accuracy;
        if (run->epoch_list.count == RUN_EPOCHS_MOST)
            continue;
        struct run_epoch *row = LIST_ADD(&run->epoch_list, err);
        if (!row)
            return ERR_MEMORY;
        *row = *epoch;
    }
    return 0;
}

static int note_net(const struct session *s, const struct trainer_result *r, struct run *run,
                    struct err *err)
{
    char net[SHA256_HEX_BYTES + 8];
    snprintf(net, sizeof net, "sha256:%s", r->net);
    TRY(text_set(&run->net, net, err));
    TRY(text_set(&run->recipe, buf_str(&r->recipe), err));
    run->parameters = some_int(r->cost.parameters);
    run->step_flops = some_real(r->cost.forward_flops + r->cost.backward_flops);
    run->step_bytes = some_real(r->cost.bytes);
    run->total_steps = some_int(r->total_steps);
    if (((const struct native *)s->runner)->data.train.stream)
        run->step_tokens = some_int(run->batch.v * run->data.time.v);
    run->epochs = some_int(r->total_epochs);
    run->steps_per_epoch = some_int(r->steps_per_epoch);
    const struct recipe *recipe = &s->workload->recipe;
    for (size_t i = 0; i < run->stages.count; i++)
        if (recipe->stages[i].only)
            TRY(text_set(&run->stages.items[i].only, recipe->stages[i].only, err));
    return 0;
}

static int note_result(const struct session *s, const struct trainer_result *r, struct run *run,
                       struct err *err)
{
    if (r->steps == 0)
        return 0;
    double train_s = (double)meter_train_ns(s->meter) / 1e9;
    run->samples_per_s = some_real((double)r->samples / train_s);
    run->epoch_s = some_real(run->step_ms.v * (double)r->steps_per_epoch / 1e3);
    run->use.data_wait_ns = some_int(r->data_wait_ns);
    if (r->has_times) {
        double steps = (double)r->steps * 1e6;
        double waiting = (double)r->times.waiting_ns / steps;
        double communication = (double)r->times.communication_ns / steps;
        run->step_waiting_ms = some_real(waiting);
        run->step_communication_ms = some_real(communication);
        run->step_calculation_ms = some_real(fmax(0, run->step_ms.v - waiting - communication));
    }
    run->first_loss = some_real(r->first_loss);
    run->last_loss = some_real(r->last_loss);
    if (!isfinite(r->last_loss))
        return run_taint(run, "the loss is not a number any more: the training diverged", err);
    return 0;
}

static int note_all(const struct session *s, const struct trainer_result *r, struct run *run,
                    struct err *err)
{
    TRY(note_net(s, r, run, err));
    TRY(note_result(s, r, run, err));
    return note_epochs(run, r, err);
}

static int note_end(const struct session *s, const struct trainer_result *r, struct err *err)
{
    const char *by = r->stopped          ? (run_plan_interrupted(&s->plan) ? "signal" : "max-spend")
                     : s->run->full.v    ? NULL
                     : s->plan.steps > 0 ? "steps"
                     : r->timed_out      ? "max-time"
                     : r->finished       ? NULL
                                         : "within";
    const char *ended = r->stopped       ? run_plan_ended(&s->plan)
                        : s->run->full.v ? "finished"
                                         : "sampled";
    TRY(text_set(&s->run->ended, ended, err));
    return by ? text_set(&s->run->stopped_by, by, err) : 0;
}

// ---- between steps

static int native_fill(const struct session *s, struct run *part, struct err *err)
{
    const struct trainer_progress *p = ((const struct native *)s->runner)->progress;
    TRY(meter_peek(s->meter, part, err));
    if (!p)
        return 0;
    TRY(note_all(s, p->result, part, err));
    part->first_loss = losses_first(p->losses);
    part->last_loss = losses_last(p->losses);
    return 0;
}

static void native_show(struct session *s, const struct trainer_progress *p)
{
    struct live live;
    char note[120];
    snprintf(note, sizeof note, "epoch %lld/%lld%s  loss %.3f  %.1f %% right  %.0f/s",
             (long long)p->epoch + 1, (long long)p->epochs, p->evaluating ? " test" : "", p->loss,
             p->accuracy * 100, p->samples_per_s);
    s->loss = some_real(p->loss);
    session_look(s, &live);
    watch_show(&s->watch, &live, note);
    watch_tell(&s->watch, &live, false);
}

static double since_start(const struct session *s, int64_t now_ns)
{
    return (double)(now_ns - s->start_ns) / 1e9;
}

// A checkpoint, or the end, if the machine or the lease goes.
static void native_keep_safe(struct session *s, int64_t now_ns)
{
    struct native *n = s->runner;
    SCOPED(buf_release) struct buf lines = {0};
    if (!s->saving || now_ns < n->look_ns)
        return;
    n->look_ns = now_ns + LOOK_NS;
    if (s->plan.stop && *s->plan.stop == SIGTERM)
        (void)!saving_signal(s->saving, SIGTERM);
    unsigned wishes = saving_look(s->saving, &lines);
    n->wish.save |= (wishes & GUARD_SAVE) != 0;
    n->wish.end |= (wishes & (GUARD_TELL | GUARD_END | GUARD_KILL)) != 0;
    if (lines.len > 0)
        watch_say(&s->watch, buf_str(&lines), false);
}

static void progress(void *context, const struct trainer_progress *p)
{
    struct session *s = context;
    struct native *n = s->runner;
    int64_t now_ns = clock_now_ns();
    native_keep_safe(s, now_ns);
    bool shown = s->watch.progress.on ? now_ns >= n->show_ns
                                      : n->log && watch_due(&s->watch, since_start(s, now_ns));
    bool kept = session_due(s);
    if (!shown && !kept)
        return;
    meter_phase(s->meter, METER_IDLE);
    s->step = p->step;
    s->steps = p->steps;
    if (shown) {
        native_show(s, p);
        n->show_ns = now_ns + SHOW_NS;
    }
    n->progress = p;
    if (kept)
        session_keep(s);
    n->progress = NULL;
    meter_phase(s->meter, p->evaluating ? METER_EVALUATE : METER_TRAIN);
}

static int finished(void *context, struct engine_program *program, struct err *err)
{
    struct session *s = context;
    const struct native *n = s->runner;
    if (s->o->generate == 0 || s->workload->temperature == 0)
        return 0;
    const struct workload_text text = {.batch = s->run->batch.v,
                                       .seed = (uint64_t)s->o->seed,
                                       .temperature = s->workload->temperature,
                                       .count = s->o->generate};
    TRY(workload_generate(n->with.engine, program, &n->data, &text, s->says, err));
    buf_addc(s->says, '\n');
    return 0;
}

// ---- together

void native_options(const struct measure_options *o, const struct data_pair *data,
                    struct trainer_options *with)
{
    with->epochs = o->epochs;
    with->max_test = o->full ? 0 : data->test.stream ? SAMPLE_STREAM : SAMPLE_TEST;
    with->dir = o->save ? o->save : o->checkpoint;
    with->save_every = o->checkpoint_every;
    with->resume = o->resume || o->save;
    with->from = o->from;
}

static int train(struct session *s, struct err *err)
{
    const struct measure_options *o = s->o;
    const struct native *n = s->runner;
    struct trainer_options options = {
        .engine = n->with.engine,
        .engine_options = n->with.options,
        .data = &n->data,
        .workload_options = o->variant,
        .meter = s->meter,
        .plan = &s->plan,
        .batch = s->batch,
        .alone = !s->saving,
        .progress = progress,
        .context = s,
        .finished = finished,
    };
    native_options(o, &n->data, &options);
    if (s->saving)
        options.dir = saving_folder(s->saving);
    struct trainer_result result;
    s->run->batch = some_int(s->batch > 0 ? s->batch : s->workload->recipe.batch);
    int rc = trainer_run(s->workload, &options, &result, err);
    bool whole = rc == 0 && o->full && result.finished && !result.stopped;
    s->run->full = some_bool(whole);
    int filled = meter_fill(s->meter, whole, s->run, err);
    rc = rc != 0 ? rc : filled;
    if (rc == 0)
        rc = note_all(s, &result, s->run, err);
    if (rc == 0)
        rc = note_end(s, &result, err);
    if (rc == 0) {
        describe_reached(s, workload_is_target(s->workload, &n->data));
        buf_adds(s->says, buf_str(&result.notes));
    }
    trainer_result_release(&result);
    return rc;
}

static int native_work(struct session *s, struct err *err)
{
    struct native *n = s->runner;
    meter_phase(s->meter, METER_LOAD);
    int rc = workload_data_open(s->workload, s->o->data, &s->o->variant, n->with.options.threads,
                                &n->data, err);
    meter_phase(s->meter, METER_SETUP);
    TRY(rc);
    TRY(describe_data(&n->data, s->run, err));
    session_keep(s);
    return train(s, err);
}

static int native_run(struct session *s, struct err *err)
{
    struct native n = {.log = !isatty(s->watch.fd > 0 ? s->watch.fd : STDERR_FILENO)};
    s->runner = &n;
    s->fill = native_fill;
    s->plan.wish = s->saving ? &n.wish : NULL;
    if (s->saving)
        TRY(saving_start(s->saving, err));
    int rc = engine_run(s, s->o->precision, &n.with, native_work, err);
    n.look_ns = 0; // a signal may have ended it since the last look
    native_keep_safe(s, clock_now_ns());
    data_release(&n.data);
    return rc;
}

static bool native_takes(const struct session *s)
{
    return s->workload != NULL;
}

const struct runner runner_native = {.takes = native_takes, .in_process = true, .run = native_run};
