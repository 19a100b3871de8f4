// SPDX-License-Identifier: Apache-2.0
#include "run/figures.h"

#include <stdlib.h>
#include <string.h>

static struct run_epoch *last_row(struct figures *f)
{
    size_t count = f->run->epoch_list.count;
    return f->epoch > 0 && count > 0 ? &f->run->epoch_list.items[count - 1] : NULL;
}

void figures_close(struct figures *f, int64_t made, bool with_steps)
{
    struct run_epoch *row = last_row(f);
    if (!row)
        return;
    if (f->losses > 0)
        row->train_loss = some_real(f->loss / (double)f->losses);
    if (f->accuracies > 0)
        row->train_accuracy = some_real(f->accuracy / (double)f->accuracies);
    if (f->epoch_began >= 0 && made > f->epoch_began && with_steps)
        row->steps = some_int(made - f->epoch_began);
    f->loss = f->accuracy = 0;
    f->losses = f->accuracies = 0;
}

int64_t figures_epoch(struct figures *f, const struct event *e, int64_t made, bool with_steps)
{
    if (!e->epoch.known || e->epoch.v < 0 || e->epoch.v >= INT64_C(1) << 53)
        return -1;
    if (f->epoch == 0 && e->epoch.v == 0)
        f->epochs_from_0 = true;
    int64_t epoch = e->epoch.v + f->epochs_from_0;
    if (epoch == f->epoch || epoch == 0)
        return -1;
    int64_t steps = f->epoch == 0 ? -1 : f->epoch_began < 0 ? 0 : made - f->epoch_began;
    figures_close(f, made, with_steps);
    f->epoch = epoch;
    f->epoch_began = made;
    if (f->run->epoch_list.count >= RUN_EPOCHS_MOST)
        return steps;
    struct run_epoch *row = LIST_ADD(&f->run->epoch_list, NULL);
    if (row)
        row->epoch = some_int(epoch);
    f->failed |= !row;
    return steps;
}

static struct maybe_real share_of(struct maybe_real told)
{
    bool good = told.known && told.v >= 0 && told.v <= 1;
    return good ? told : (struct maybe_real){0};
}

void figures_add(struct figures *f, const struct event *e, bool testing)
{
    struct maybe_real accuracy = share_of(e->accuracy);
    struct maybe_real test_loss = e->test_loss.known || !testing ? e->test_loss : e->loss;
    struct maybe_real test_accuracy =
        e->test_accuracy.known || !testing ? share_of(e->test_accuracy) : accuracy;
    if (e->loss.known && !testing) {
        losses_add(&f->all, e->loss.v);
        f->loss += e->loss.v;
        f->losses++;
    }
    if (accuracy.known && !testing) {
        f->accuracy += accuracy.v;
        f->accuracies++;
    }
    if (test_accuracy.known)
        f->run->test_accuracy = test_accuracy;
    struct run_epoch *row = last_row(f);
    if (row && test_loss.known)
        row->test_loss = test_loss;
    if (row && test_accuracy.known)
        row->test_accuracy = test_accuracy;
}

static void move_text(char **to, char **from)
{
    if (!*from)
        return;
    free(*to);
    *to = *from;
    *from = NULL;
}

bool figures_about(struct figures *f, json_t *json, struct run *told)
{
    struct run *run = f->run;
    if (record_from_json(run_fields, json, told, NULL) != 0)
        return false;
    move_text(&run->precision, &told->precision);
    move_text(&run->net, &told->net);
    move_text(&run->recipe, &told->recipe);
    if (told->data.name && !run->data.name) {
        run->data = told->data;
        memset(&told->data, 0, sizeof told->data);
    }
    if (told->libraries.count > 0 && run->libraries.count == 0) {
        run->libraries.items = told->libraries.items;
        run->libraries.count = told->libraries.count;
        run->libraries.known = true;
        memset(&told->libraries, 0, sizeof told->libraries);
    }
#define TAKE(member) run->member = told->member.known ? told->member : run->member
    TAKE(batch);
    TAKE(parameters);
    TAKE(threads);
    TAKE(seed);
    TAKE(steps_per_epoch);
    TAKE(l1_transfer_ms);
    TAKE(l1_calculation_ms);
    TAKE(l1_pairs_per_s);
    TAKE(l1_largest_error);
#undef TAKE
    return true;
}
