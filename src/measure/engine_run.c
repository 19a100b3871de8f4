// SPDX-License-Identifier: Apache-2.0
// engine_run: code shared by the runners of workloads.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "measure/ranks.h"
#include "measure/runner.h"

int describe_workload(const struct session *s, const char *framework, struct err *err)
{
    struct run *run = s->run;
    TRY(run->name ? 0 : text_set(&run->name, s->workload->name, err));
    TRY(text_set(&run->workload, s->workload->name, err));
    return text_set(&run->framework, framework, err);
}

int describe_variant(const struct session *s, struct err *err)
{
    struct buf variant = {0};
    workload_variant(&s->o->variant, &variant);
    int rc = buf_check(&variant, err);
    if (rc == 0 && variant.len > 0)
        rc = text_set(&s->run->variant, buf_str(&variant), err);
    buf_release(&variant);
    return rc;
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

// Anew after the work: only then is it known where kernels came from.
static int describe_libraries(struct run *run, const struct engine *engine, struct err *err)
{
    struct engine_library library;
    int rc = 0;
    for (int i = 0; rc == 0 && engine->library && engine->library(i, &library); i++) {
        struct run_library *to = NULL;
        for (size_t k = 0; k < run->libraries.count && !to; k++)
            if (run->libraries.items[k].name &&
                strcmp(run->libraries.items[k].name, library.name) == 0)
                to = &run->libraries.items[k];
        if (!to)
            to = LIST_ADD(&run->libraries, err);
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
    int rc = describe_workload(s, "fare", err);
    if (rc == 0)
        rc = describe_variant(s, err);
    if (rc == 0)
        rc = text_set(&run->engine, e->engine->name, err);
    if (rc == 0)
        rc = text_set(&run->precision, engine_precisions[e->options.precision], err);
    return rc == 0 ? describe_libraries(run, e->engine, err) : rc;
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
    if (rc == 0)
        rc = describe_engine(s, e, err); // its libraries are known once it is available
    if (rc == 0)
        session_keep(s);
    if (rc == 0)
        rc = work(s, err);
    return rc == 0 ? describe_libraries(s->run, e->engine, err) : rc;
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
    struct err other = {0};
    if (rc != 0 && (text_set(&s->run->ended, "failed", &other) != 0 ||
                    text_set(&s->run->problem, err->text, &other) != 0))
        err_memory(err);
    return rc;
}
