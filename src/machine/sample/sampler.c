// SPDX-License-Identifier: Apache-2.0
#include "machine/sample/sampler.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/proc.h"
#include "machine/sample/source.h"
#include "machine/sample/tasks.h"
#include "machine/sample/totals.h"

#define INTERVAL_S     0.5
#define END_LIMIT_NS   (2 * NS_PER_S)      // for both threads together
#define STACK_BYTES    ((size_t)512 << 10) // mostly for the drivers' libraries
#define LANE_SOURCES   8
#define COST_SMOOTHING 8 // readings averaged for the cost

// A thread and all its memory, so that it can be abandoned. Members below the mutex are shared; the
// others belong to the thread while it runs.
struct lane {
    enum lane_kind kind;
    struct sample_place place;
    int64_t interval_ns;
    const struct source *sources[LANE_SOURCES];
    void *states[LANE_SOURCES];
    int source_count;
    struct sample_reading reading;
    int64_t readings;
    struct gpu gpus[GPUS_MAX];
    char *root;

    pthread_mutex_t mutex;
    pthread_cond_t wake; // signals `end` to the thread and `done` to the caller
    bool end;            // stop requested
    bool begun;          // its sources have answered
    bool done;           // the thread no longer touches the lane
    bool left_behind;    // abandoned: the thread frees the lane
    struct totals totals;
};

struct sampler {
    struct lane *lanes[LANES];
    pthread_t threads[LANES];
    bool running[LANES];
    int64_t start_ns;
    bool gpu_silent; // its driver stopped responding
    char *cuda_visible, *amd_visible;
    double cpus;
    // The counters at the last call of sampler_busy().
    struct mean gpus_then[GPUS_MAX], sm_then[GPUS_MAX];
    struct maybe_real run_cpu_then_s;
    int64_t then_ns;
};

static void source_end(const struct source *source, void *state)
{
    if (source->close)
        source->close(state);
    free(state);
}

static void lane_end_sources(struct lane *lane)
{
    for (int i = 0; i < lane->source_count; i++)
        source_end(lane->sources[i], lane->states[i]);
    lane->source_count = 0;
}

static void lane_free(struct lane *lane)
{
    if (!lane)
        return;
    lane_end_sources(lane);
    tasks_free(lane->place.tasks);
    pthread_cond_destroy(&lane->wake);
    pthread_mutex_destroy(&lane->mutex);
    free(lane->totals.history.figures);
    free(lane->root);
    free(lane);
}

// Reads without the lock, because a driver may never return; adds up with it.
static void lane_read(struct lane *lane, bool last)
{
    memset(&lane->reading, 0, sizeof lane->reading);
    lane->reading.at_ns = clock_now_ns();
    lane->reading.number = lane->readings++;
    lane->reading.last = last;
    if (lane->place.tasks)
        tasks_read(lane->place.tasks);
    for (int i = 0; i < lane->source_count; i++)
        lane->sources[i]->read(lane->states[i], &lane->place, &lane->reading);
    pthread_mutex_lock(&lane->mutex);
    lane->begun = true;
    lane->totals.gpu_count = lane->place.gpu_count;
    lane->totals.gpus_known = lane->place.gpus_known;
    memcpy(lane->totals.gpus, lane->gpus, sizeof lane->gpus);
    totals_add(&lane->totals, &lane->reading);
    pthread_mutex_unlock(&lane->mutex);
}

// True if the thread must stop.
static bool lane_sleep(struct lane *lane, int64_t until_ns)
{
    pthread_mutex_lock(&lane->mutex);
    while (!lane->end && moment_wait(&lane->wake, &lane->mutex, until_ns))
        ;
    bool end = lane->end;
    pthread_mutex_unlock(&lane->mutex);
    return end;
}

static void drop_source(struct lane *lane, int at)
{
    source_end(lane->sources[at], lane->states[at]);
    lane->source_count--;
    for (int i = at; i < lane->source_count; i++) {
        lane->sources[i] = lane->sources[i + 1];
        lane->states[i] = lane->states[i + 1];
    }
}

static void lane_begin(struct lane *lane)
{
    for (int i = 0; i < lane->source_count;) {
        const struct source *source = lane->sources[i];
        if (source->begin && !source->begin(lane->states[i], &lane->place))
            drop_source(lane, i);
        else
            i++;
    }
    if (lane->readings == 0 && lane->source_count > 0)
        lane_read(lane, false);
}

static void *lane_main(void *arg)
{
    struct lane *lane = arg;
    lane_begin(lane);
    int64_t due_ns = clock_now_ns(), cost_ns = 0;
    while (lane->source_count > 0) {
        // Sleeps until an absolute time, so that readings do not drift. Late ones are skipped.
        int64_t now = clock_now_ns(), least = (int64_t)((double)cost_ns / SAMPLER_SHARE);
        int64_t step = least > lane->interval_ns ? least : lane->interval_ns;
        due_ns = due_ns + step > now ? due_ns + step : now + step;
        bool end = lane_sleep(lane, due_ns);
        int64_t before_ns = clock_thread_ns();
        lane_read(lane, end);
        int64_t took_ns = clock_thread_ns() - before_ns;
        cost_ns += (took_ns - cost_ns) / COST_SMOOTHING;
        if (end)
            break;
    }
    lane_end_sources(lane); // closing a library may hang like any other call, so it happens here
    pthread_mutex_lock(&lane->mutex);
    lane->done = true;
    bool left_behind = lane->left_behind;
    pthread_cond_broadcast(&lane->wake);
    pthread_mutex_unlock(&lane->mutex);
    if (left_behind)
        lane_free(lane);
    return NULL;
}

static int add_source(struct lane *lane, const struct source *source, struct err *err)
{
    void *state = calloc(1, source->size);
    if (!state)
        return err_memory(err);
    struct err why = {0};
    int rc = source->open ? source->open(state, &lane->place, &why) : 0;
    if (rc != 0) {
        source_end(source, state);
        return rc == ERR_MEMORY ? err_memory(err) : 0;
    }
    lane->sources[lane->source_count] = source;
    lane->states[lane->source_count++] = state;
    return 0;
}

static int lane_new(struct lane **out, enum lane_kind kind, const struct sampler_options *options,
                    struct err *err)
{
    struct lane *lane = calloc(1, sizeof *lane);
    *out = NULL;
    if (!lane)
        return err_memory(err);
    pthread_mutex_init(&lane->mutex, NULL);
    moment_init(&lane->wake);
    *out = lane;
    lane->kind = kind;
    double interval_s = options->interval_s > 0 ? options->interval_s : INTERVAL_S;
    lane->interval_ns = (int64_t)(interval_s * (double)NS_PER_S);
    lane->place.pid = options->pid != 0 ? options->pid : getpid();
    lane->place.gpus = lane->gpus;
    struct figure_history *history = &lane->totals.history;
    history->width = kind == LANE_HOST ? HOST_FIGURES : GPUS_MAX * CARD_FIGURES;
    history->figures =
        calloc((size_t)HISTORY_POINTS * (size_t)history->width, sizeof *history->figures);
    lane->root = text_copy(options->root, err);
    if (!history->figures || !lane->root)
        return err_memory(err);
    lane->place.tree.root = lane->root;
    int rc = kind == LANE_HOST
                 ? tasks_new(&lane->place.tasks, &lane->place.tree, lane->place.pid, err)
                 : 0;
    rc = rc == ERR_MISSING ? 0 : rc;
    for (int i = 0; rc == 0 && sources[i]; i++)
        if (sources[i]->lane == kind)
            rc = add_source(lane, sources[i], err);
    if (rc == 0 && kind == LANE_HOST)
        lane_read(lane, false);
    return rc;
}

// The first of these that is set.
static int copy_variable(char **out, char *const *env, const char *name, const char *other,
                         struct err *err)
{
    const char *value = env_value(env, name);
    value = value || !other ? value : env_value(env, other);
    *out = value ? text_copy(value, err) : NULL;
    return value && !*out ? ERR_MEMORY : 0;
}

int sampler_start(struct sampler **out, const struct sampler_options *options, struct err *err)
{
    *out = NULL;
    struct sampler *s = calloc(1, sizeof *s);
    if (!s)
        return err_memory(err);
    s->start_ns = options->start_ns;
    s->cpus = options->cpus;
    int rc = copy_variable(&s->cuda_visible, options->env, "CUDA_VISIBLE_DEVICES", NULL, err);
    if (rc == 0)
        rc = copy_variable(&s->amd_visible, options->env, "HIP_VISIBLE_DEVICES",
                           "ROCR_VISIBLE_DEVICES", err);
    for (int i = 0; rc == 0 && i < LANES; i++)
        if (i != LANE_GPU || !options->no_gpus)
            rc = lane_new(&s->lanes[i], (enum lane_kind)i, options, err);
    for (int i = 0; rc == 0 && i < LANES; i++) {
        if (!s->lanes[i])
            continue;
        rc = thread_start(&s->threads[i], STACK_BYTES, lane_main, s->lanes[i], err);
        s->running[i] = rc == 0;
    }
    if (rc != 0)
        sampler_free(s);
    else
        *out = s;
    return rc;
}

static void lane_end(struct lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    lane->end = true;
    pthread_cond_broadcast(&lane->wake);
    pthread_mutex_unlock(&lane->mutex);
}

// False if the thread did not end in time; it then owns the lane. `silent`: it had answered before,
// so this is not just a slow driver and a short run.
static bool lane_wait(struct lane *lane, pthread_t thread, int64_t until_ns, bool *silent)
{
    pthread_mutex_lock(&lane->mutex);
    while (!lane->done && moment_wait(&lane->wake, &lane->mutex, until_ns))
        ;
    bool done = lane->done;
    lane->left_behind = !done;
    *silent = !done && lane->begun;
    pthread_mutex_unlock(&lane->mutex);
    if (done)
        pthread_join(thread, NULL);
    else
        pthread_detach(thread);
    return done;
}

// Ends the threads and drops one that hangs. (Only the GPU lane, the last one, can.)
static void end_all(struct sampler *s)
{
    int64_t until_ns = clock_now_ns() + END_LIMIT_NS;
    for (int i = 0; i < LANES; i++)
        if (s->running[i])
            lane_end(s->lanes[i]);
    for (int i = 0; i < LANES; i++) {
        if (s->running[i] && !lane_wait(s->lanes[i], s->threads[i], until_ns, &s->gpu_silent))
            s->lanes[i] = NULL;
        s->running[i] = false;
    }
}

static struct totals_context context_of(const struct sampler *s)
{
    return (struct totals_context){.start_ns = s->start_ns,
                                   .cuda_visible = s->cuda_visible,
                                   .amd_visible = s->amd_visible,
                                   .gpu_silent = s->gpu_silent};
}

static int copy_totals(struct lane *lane, struct totals **out, struct err *err)
{
    *out = NULL;
    if (!lane)
        return 0;
    struct totals *copy = *out = malloc(sizeof *copy);
    size_t bytes = (size_t)HISTORY_POINTS * (size_t)lane->totals.history.width *
                   sizeof *lane->totals.history.figures;
    struct mean *figures = malloc(bytes);
    if (!copy || !figures) {
        free(figures);
        free(copy);
        *out = NULL;
        return err_memory(err);
    }
    pthread_mutex_lock(&lane->mutex);
    *copy = lane->totals;
    memcpy(figures, lane->totals.history.figures, bytes);
    pthread_mutex_unlock(&lane->mutex);
    copy->history.figures = figures;
    return 0;
}

static void free_totals(struct totals *totals)
{
    if (totals)
        free(totals->history.figures);
    free(totals);
}

int sampler_peek(struct sampler *s, struct run *run, struct err *err)
{
    const struct totals_context context = context_of(s);
    struct totals *host = NULL, *gpu = NULL;
    int rc = copy_totals(s->lanes[LANE_HOST], &host, err);
    if (rc == 0)
        rc = copy_totals(s->lanes[LANE_GPU], &gpu, err);
    if (rc == 0)
        rc = totals_fill(host, gpu, &context, run, err);
    if (rc == 0)
        totals_steady(host, gpu, &context, run);
    free_totals(host);
    free_totals(gpu);
    return rc;
}

static void add_since(struct mean *to, const struct mean *now, struct mean *then)
{
    to->sum += now->sum - then->sum;
    to->seconds += now->seconds - then->seconds;
    *then = *now;
}

// False if the run uses no GPU; `busy` is what they did since the last call, `sm` what their
// multiprocessors did.
static bool gpus_busy(struct sampler *s, struct lane *lane, struct mean *busy, struct mean *sm,
                      bool *sm_known)
{
    const struct totals_context context = context_of(s);
    const struct totals *t = &lane->totals;
    bool used[GPUS_MAX] = {false};
    pthread_mutex_lock(&lane->mutex);
    bool any = totals_used(t, &context, used) > 0;
    for (int i = 0; i < t->gpu_count; i++) {
        struct mean unused = {0};
        add_since(used[i] ? busy : &unused, &t->cards[i].use, &s->gpus_then[i]);
        add_since(used[i] ? sm : &unused, &t->cards[i].sm, &s->sm_then[i]);
        *sm_known |= used[i] && t->cards[i].sm.seconds > 0;
    }
    pthread_mutex_unlock(&lane->mutex);
    return any;
}

static void cpus_busy(struct sampler *s, struct lane *lane, struct mean *busy)
{
    const struct totals *t = &lane->totals;
    pthread_mutex_lock(&lane->mutex);
    struct maybe_real now = t->last.run_cpu_s,
                      then = s->then_ns > 0 ? s->run_cpu_then_s : t->first.run_cpu_s;
    int64_t then_ns = s->then_ns > 0 ? s->then_ns : t->first.at_ns;
    double cpus = s->cpus > 0 ? s->cpus : (double)t->last.cpus.v;
    s->run_cpu_then_s = now;
    s->then_ns = t->last.at_ns;
    pthread_mutex_unlock(&lane->mutex);
    if (!now.known || !then.known || cpus <= 0)
        return;
    busy->sum = 100 * (now.v - then.v) / cpus;
    busy->seconds = (double)(s->then_ns - then_ns) * 1e-9;
}

enum sampler_busy sampler_busy(struct sampler *s, double *share, struct maybe_real *work)
{
    struct lane *host = s->lanes[LANE_HOST], *gpu = s->lanes[LANE_GPU];
    struct mean cpus = {0}, gpus = {0}, sm = {0};
    bool sm_known = false;
    bool on_gpu = gpu && gpus_busy(s, gpu, &gpus, &sm, &sm_known);
    *work = (struct maybe_real){0};
    if (host)
        cpus_busy(s, host, &cpus);
    const struct mean *busy = on_gpu ? &gpus : &cpus;
    if (busy->seconds <= 0)
        return SAMPLER_UNKNOWN;
    *share = fmin(busy->sum / busy->seconds / 100, 1);
    if (on_gpu && !sm_known)
        *work = some_real(*share);
    else if (on_gpu && sm.seconds > 0)
        *work = some_real(fmin(sm.sum / sm.seconds / 100, 1));
    return on_gpu ? SAMPLER_GPUS : SAMPLER_CPUS;
}

double sampler_others(struct sampler *s)
{
    struct lane *host = s->lanes[LANE_HOST];
    if (!host)
        return 0;
    pthread_mutex_lock(&host->mutex);
    const struct sample_reading *first = &host->totals.first, *last = &host->totals.last;
    double own_s = last->run_cpu_s.v - first->run_cpu_s.v;
    double busy_s = last->busy_cpu_s.v - first->busy_cpu_s.v;
    double all_s = last->all_cpu_s.v - first->all_cpu_s.v;
    bool known = first->run_cpu_s.known && first->busy_cpu_s.known && first->all_cpu_s.known;
    pthread_mutex_unlock(&host->mutex);
    return known && all_s > 0 ? fmax(fmin(busy_s - own_s, own_s), 0) / all_s : 0;
}

struct maybe_int sampler_written(struct sampler *s)
{
    struct lane *host = s->lanes[LANE_HOST];
    struct maybe_int bytes = {0};
    if (host) {
        pthread_mutex_lock(&host->mutex);
        bytes = host->totals.last.disk_write_bytes;
        pthread_mutex_unlock(&host->mutex);
    }
    return bytes;
}

int sampler_finish(struct sampler *s, struct run *run, struct err *err)
{
    end_all(s);
    const struct totals_context context = context_of(s);
    struct lane *host = s->lanes[LANE_HOST], *gpu = s->lanes[LANE_GPU];
    return totals_fill(host ? &host->totals : NULL, gpu ? &gpu->totals : NULL, &context, run, err);
}

void sampler_steady(const struct sampler *s, struct run *run)
{
    const struct totals_context context = context_of(s);
    const struct lane *host = s->lanes[LANE_HOST], *gpu = s->lanes[LANE_GPU];
    totals_steady(host ? &host->totals : NULL, gpu ? &gpu->totals : NULL, &context, run);
}

void sampler_free(struct sampler *s)
{
    if (!s)
        return;
    end_all(s);
    for (int i = 0; i < LANES; i++)
        lane_free(s->lanes[i]);
    free(s->cuda_visible);
    free(s->amd_visible);
    free(s);
}
