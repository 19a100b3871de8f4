// SPDX-License-Identifier: Apache-2.0
#include "fleet/plan.h"

#include <string.h>

#include "base/array.h"
#include "bill/market.h"

// ---- tasks

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

// The script, if an interpreter runs one; else the program.
static const char *program_of(char *const *command)
{
    static const char *const interpreters[] = {"python", "bash", "sh", "node", "perl", "ruby"};
    const char *name = base_of(command[0]);
    for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++)
        if (strncmp(name, interpreters[i], strlen(interpreters[i])) == 0 && command[1] &&
            command[1][0] != '-')
            return base_of(command[1]);
    return name;
}

static struct task *add_task(struct dispatch *dispatch, const struct place *bound, struct err *err)
{
    struct task *task = LIST_ADD(&dispatch->tasks, err);
    if (!task)
        return NULL;
    task->number = some_int((int64_t)dispatch->tasks.count);
    if (task_set_state(task, TASK_WAITING, err) != 0 ||
        (bound && text_set(&task->bound, bound->name, err) != 0))
        return NULL;
    return task;
}

static int set_command(struct task *task, const struct plan_what *what, size_t combination,
                       struct err *err)
{
    SCOPED(buf_release) struct buf name = {0};
    const struct sweep *sweep = what->sweep;
    buf_adds(&name, program_of(what->command));
    for (size_t i = 0; i < sweep->count; i++) {
        const char *value = sweep_value(sweep, combination, i);
        struct task_setting *setting = LIST_ADD(&task->settings, err);
        TRY(setting ? text_set(&setting->name, sweep->settings[i].name, err) : ERR_MEMORY);
        TRY(task_word_set(&setting->value, value, err));
        buf_printf(&name, " %s=%.60s", sweep->settings[i].name, value);
    }
    for (char *const *word = what->command; *word; word++) {
        SCOPED(buf_release) struct buf filled = {0};
        sweep_fill(sweep, combination, *word, &filled);
        TRY(buf_check(&filled, err));
        TRY(task_word_add(&task->command, buf_str(&filled), err));
    }
    return text_take(&task->name, &name, err);
}

static int add_tasks(struct dispatch *dispatch, const struct plan_what *what,
                     const struct place *bound, struct err *err)
{
    size_t combinations = what->sweep->count > 0 ? what->sweep->combinations : 1;
    for (size_t i = 0; what->command && i < combinations; i++) {
        struct task *task = add_task(dispatch, bound, err);
        TRY(task ? set_command(task, what, i, err) : ERR_MEMORY);
    }
    for (size_t i = 0; i < what->workload_count; i++) {
        struct task *task = add_task(dispatch, bound, err);
        TRY(task ? TEXTS_SET(err, {&task->workload, what->workloads[i]},
                             {&task->name, what->workloads[i]})
                 : ERR_MEMORY);
    }
    return 0;
}

int plan_make(struct dispatch *dispatch, const struct plan_what *what, const struct places *places,
              struct err *err)
{
    bool any = what->sweep->count > 0;
    for (size_t i = 0; i < places->count; i++) {
        const struct place *place = &places->items[i];
        struct dispatch_place *to = LIST_ADD(&dispatch->places, err);
        TRY(to ? TEXTS_SET(err, {&to->name, place->name}, {&to->offer, place->offer}) : ERR_MEMORY);
        if (place->hour_nano >= 0)
            to->per_hour = some_money(place->hour_nano);
        if (!any)
            TRY(add_tasks(dispatch, what, place, err));
    }
    return any ? add_tasks(dispatch, what, NULL, err) : 0;
}

// ---- places

void plan_unique(struct places *places)
{
    SCOPED(index_release) struct index names = {0};
    size_t kept = 0;
    for (size_t i = 0; i < places->count; i++) {
        struct place *place = &places->items[i];
        size_t number = kept;
        if (index_number(&names, place->name, strlen(place->name), &number, NULL) == 0 &&
            number < kept) {
            target_release(place);
            continue;
        }
        struct place moved = *place;
        places->items[kept++] = moved;
    }
    places->count = kept;
}

int plan_prices(struct places *places, struct err *err)
{
    struct market *market = places->market;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < places->count; i++) {
        struct place *place = &places->items[i];
        struct offer offer;
        struct priced priced;
        struct wishes wishes = {0};
        if (!place->offer)
            continue;
        rc = market_find(market, place->offer, 0, &offer, err);
        if (rc == 0)
            rc = market_price(market, &offer, &wishes, &priced, err);
        if (rc == 0)
            rc = priced_hour(&priced, &place->hour_nano, err);
        if (rc != 0)
            err_context(err, "%s", place->name);
    }
    return rc;
}

int plan_places(const struct dispatch *dispatch, struct places *places, struct err *err)
{
    for (size_t i = 0; i < dispatch->places.count; i++) {
        const struct dispatch_place *from = &dispatch->places.items[i];
        size_t before = places->count;
        TRY(target_parse(from->name, places, err));
        if (places->count != before + 1)
            return err_set(err, ERR_FORMAT, "the plan of a dispatch is damaged: place '%s'",
                           from->name);
        struct place *place = &places->items[before];
        if (from->offer && !place->offer) {
            place->offer = text_copy(from->offer, err);
            TRY(place->offer ? 0 : ERR_MEMORY);
        }
        if (from->per_hour.known)
            place->hour_nano = from->per_hour.nano;
    }
    return 0;
}
