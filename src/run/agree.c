// SPDX-License-Identifier: Apache-2.0
#include "run/agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "checkpoint/checkpoint.h"
#include "data/dataset.h"

#define TICKS_MOST 128 // between two meetings

bool agree_leads(const struct agree *a)
{
    return group_place(a->group).rank == 0;
}

int agree_check(const struct agree *a, const struct engine *engine, const struct data_pair *data,
                struct err *err)
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

int agree_tick(struct agree *a, const struct run_plan *plan, struct meter *meter, bool *met,
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

int agree_parameters(const struct agree *a, const struct engine *engine,
                     struct engine_program *program, struct checkpoint_place *place,
                     struct err *err)
{
    int64_t most = 1;
    int count = engine->tensor_count(program), stage = place->stage, rc = 0;
    struct engine_tensor tensor;
    TRY(group_broadcast(a->group, place, sizeof *place, err));
    if (place->stage != stage)
        TRY(engine->set_stage(program, place->stage, err));
    for (int i = 0; i < count; i++) {
        engine->tensor(program, i, &tensor);
        most = tensor.count > most ? tensor.count : most;
    }
    float *values = malloc((size_t)most * sizeof *values);
    if (!values)
        return err_memory(err);
    for (int i = 0; rc == 0 && i < count; i++) {
        engine->tensor(program, i, &tensor);
        if (agree_leads(a))
            rc = engine->read(program, i, values, err);
        if (rc == 0)
            rc = group_broadcast(a->group, values, (size_t)tensor.count * sizeof *values, err);
        if (rc == 0 && !agree_leads(a))
            rc = engine->write(program, i, values, err);
    }
    free(values);
    return rc;
}

void agree_times(struct agree *a, const struct engine *engine, struct engine_program *program,
                 bool steps)
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

int agree_mean_times(struct agree *a, struct group_times *mean, struct err *err)
{
    double sums[2] = {(double)a->times.waiting_ns, (double)a->times.communication_ns};
    int size = group_place(a->group).size;
    TRY(group_sum_reals(a->group, sums, 2, err));
    *mean = (struct group_times){.waiting_ns = (int64_t)(sums[0] / size),
                                 .communication_ns = (int64_t)(sums[1] / size)};
    return 0;
}
