// SPDX-License-Identifier: Apache-2.0
#include "measure/ranks.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "machine/cgroup.h"
#include "measure/runner.h"
#include "train/trainer.h"

#define HOST_BYTES 64

// What rank 0 tells the others.
struct rank_order {
    bool end;
    int size;
    char workload[32];
    int64_t batch, seed;
};

int ranks_open(struct group **group, int most, struct err *err)
{
    *group = NULL;
    TRY(group_joinable() > 1 ? group_join(group, err)
        : most > 1           ? group_fork(group, most, err)
                             : 0);
    if (group_place(*group).rank > 0) { // rank 0 decides for all what signals mean
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
    }
    return 0;
}

// ---- threads

struct rank_seat {
    char host[HOST_BYTES];
    cpu_set_t cpus;
    int usable;
};

int ranks_threads(struct group *group, int64_t *threads, struct err *err)
{
    int size = group_place(group).size;
    struct rank_seat mine;
    SCOPED(free_pointer) struct rank_seat *all = calloc((size_t)size, sizeof *all);
    memset(&mine, 0, sizeof mine);
    gethostname(mine.host, sizeof mine.host - 1);
    sched_getaffinity(0, sizeof mine.cpus, &mine.cpus);
    mine.usable = cpus_usable();
    int rc = all ? group_gather(group, &mine, sizeof mine, all, err) : err_memory(err);
    int least = 0;
    for (int i = 0; rc == 0 && i < size; i++) {
        int sharing = 0;
        for (int k = 0; k < size; k++)
            sharing += memcmp(&all[i], &all[k], sizeof *all) == 0;
        int each = all[i].usable / sharing > 0 ? all[i].usable / sharing : 1;
        least = least == 0 || each < least ? each : least;
    }
    *threads = least;
    return rc;
}

// ---- rank 0

static int tell(struct group *group, struct rank_order *order, struct err *err)
{
    int most = group_most(group);
    TRY(group_use(group, most, err));
    TRY(group_broadcast(group, order, sizeof *order, err));
    return order->end ? 0 : group_use(group, order->size, err);
}

int ranks_lead(struct group *group, const struct measure_options *o,
               const struct measure_what *what, int size, struct err *err)
{
    struct rank_order order = {
        .size = size > 0 ? size : group_most(group), .batch = what->batch, .seed = o->seed};
    if (!group)
        return 0;
    snprintf(order.workload, sizeof order.workload, "%s", what->workload->name);
    return tell(group, &order, err);
}

void ranks_close(struct group *group)
{
    struct rank_order order = {.end = true};
    if (group && tell(group, &order, NULL) != 0)
        group_fail(group, "rank 0 ended");
    group_free(group);
}

// ---- the others

// As rank 0 in native.c, without a record.
static int train(struct group *group, const struct measure_options *o,
                 const struct rank_order *order, struct err *err)
{
    const struct workload *workload = workload_find(order->workload, err);
    struct engine_options options = {
        .seed = (uint64_t)order->seed, .micro_batch = o->micro_batch, .group = group};
    const struct engine *engine;
    SCOPED(data_release) struct data_pair data = {0};
    struct meter *meter;
    int64_t threads = o->threads;
    if (!workload)
        return ERR_USAGE;
    TRY(engine_run_choose(o, workload, o->precision, &options, &engine, err));
    if (threads == 0)
        TRY(ranks_threads(group, &threads, err));
    options.threads = engine_threads((int)threads);
    TRY(engine->available(&options, err));
    TRY(workload_data_open(workload, o->data, &o->variant, options.threads, &data, err));
    TRY(meter_new(&meter, clock_now_ns(), err));
    const struct run_plan plan = {.full = o->full, .steps = o->steps};
    struct trainer_options with = {.engine = engine,
                                   .engine_options = options,
                                   .data = &data,
                                   .workload_options = o->variant,
                                   .meter = meter,
                                   .plan = &plan,
                                   .batch = order->batch};
    native_options(o, &data, &with);
    SCOPED(trainer_result_release) struct trainer_result result = {0};
    int rc = trainer_run(workload, &with, &result, err);
    meter_free(meter);
    return rc;
}

int ranks_follow(struct group *group, const struct measure_options *o, struct err *err)
{
    for (;;) {
        struct rank_order order = {0};
        TRY(tell(group, &order, err)); // it is told
        if (order.end)
            return 0;
        if (group_place(group).rank >= order.size)
            continue;
        int rc = train(group, o, &order, err);
        if (rc != 0)
            group_fail(group, err->text);
        TRY(rc);
    }
}
