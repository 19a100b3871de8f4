// SPDX-License-Identifier: Apache-2.0
// One run's record: the members a comparison reads, and its time and cost.
#include "advise/compare_parts.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "record/read.h"

enum { HEAD_MAX = 96 };

// The tables of a run without its long lists, and of its epochs alone: most of a record's text is
// passed over.
static void reduced(struct field out[HEAD_MAX], const char *const *names, bool with)
{
    size_t count = 0;
    for (const struct field *f = run_fields; f->name; f++) {
        bool listed = false;
        for (size_t i = 0; names[i]; i++)
            listed |= strcmp(f->name, names[i]) == 0;
        assert(count + 1 < HEAD_MAX);
        if (listed == with)
            out[count++] = *f;
    }
    out[count] = (struct field){.name = NULL};
}

static struct field head_table[HEAD_MAX], epoch_table[HEAD_MAX];
static pthread_once_t tables_made = PTHREAD_ONCE_INIT; // comparisons are made in several threads

static void make_tables(void)
{
    // What neither the table nor comparable.h asks for.
    static const char *const rest[] = {"schema",
                                       "source",
                                       "seed",
                                       "step_flops",
                                       "program",
                                       "libraries",
                                       "exit_code",
                                       "signal",
                                       "steps_per_epoch",
                                       "step_ms",
                                       "samples_per_s",
                                       "epoch_s",
                                       "first_loss",
                                       "last_loss",
                                       "l1_pairs_per_s",
                                       "l1_share_of_peak",
                                       "l1_largest_error",
                                       "peak_memory_bytes",
                                       "steady",
                                       "stages",
                                       "checks",
                                       "drift",
                                       "epoch_list",
                                       "step_plot_ms",
                                       "samples",
                                       NULL};
    static const char *const only[] = {"epoch_list", NULL};
    reduced(head_table, rest, false);
    reduced(epoch_table, only, true);
}

const struct field *compare_run_fields(void)
{
    pthread_once(&tables_made, make_tables);
    return head_table;
}

static const struct field *epoch_fields(void)
{
    pthread_once(&tables_made, make_tables);
    return epoch_table;
}

static bool in_range(double s)
{
    return s >= 0 && s < 9e9; // what nanoseconds hold
}

// Of a run that was trained to the end; the epochs of a log that says nothing else.
static int full_time(const char *text, size_t len, const struct run *run, struct maybe_int *ns,
                     struct err *err)
{
    *ns = run->phases.wall_ns;
    if (ns->known)
        return 0;
    struct run epochs = {0};
    int rc = record_from_kept(epoch_fields(), text, len, &epochs, err);
    int64_t sum = 0;
    bool timed = epochs.epoch_list.count > 0;
    for (size_t i = 0; i < epochs.epoch_list.count; i++) {
        const struct run_epoch *e = &epochs.epoch_list.items[i];
        timed &= e->train_ns.known && !__builtin_add_overflow(sum, e->train_ns.v, &sum);
        timed &= !e->test_ns.known || !__builtin_add_overflow(sum, e->test_ns.v, &sum);
    }
    if (rc == 0 && timed)
        *ns = some_int(sum);
    record_release(run_fields, &epochs);
    return rc;
}

static int cost_of(const struct price *price, double s, int64_t *nano, bool *costed,
                   struct err *err)
{
    struct err why = {0};
    int rc = price_cost(price, llround(s * 1e9), nano, &why);
    if (rc == ERR_OVERFLOW || rc == ERR_FORMAT) { // too long, or too dear, to be a sum of money
        *costed = false;
        return 0;
    }
    if (rc != 0 && err)
        *err = why;
    return rc;
}

// What the labels say of a speed; 0: nothing that makes sense.
static double relative_speed(const struct run *run)
{
    const char *text = run_label(run, "relative_speed");
    char *end = NULL;
    double speed = text && run_label(run, "relative_to") ? strtod(text, &end) : 0;
    return end && end != text && *end == '\0' && speed > 1e-6 && speed < 1e9 ? speed : 0;
}

static int fill_relative(const struct run *run, const struct price *price, struct part *part,
                         struct err *err)
{
    double speed = relative_speed(run);
    int64_t hour;
    int rc = 0;
    if (speed == 0)
        return 0;
    part->timed = part->relative = true;
    part->time_s = 1 / speed;
    part->costed = price->known;
    if (part->costed) {
        rc = cost_of(price, 3600, &hour, &part->costed, err);
        if (rc == 0 && part->costed)
            part->relative_cost = (double)hour / speed;
    }
    return rc;
}

// A sample that made every step ends where the training does.
static bool all_steps(const struct run *run)
{
    return run->steps.known && run->total_steps.known && run->steps.v >= run->total_steps.v;
}

int compare_part_fill(const char *text, size_t len, const struct run *run,
                      const struct price *price, struct part *part, struct err *err)
{
    struct maybe_int ns = {0};
    const struct run_projection *p = &run->projection;
    bool full = run->full.known && run->full.v;
    int rc = full ? full_time(text, len, run, &ns, err) : 0;
    if (rc != 0)
        return rc;
    part->timed = ns.known && ns.v >= 0;
    part->accuracy = run->test_accuracy;
    part->early = !full && run->test_accuracy.known && !all_steps(run);
    part->gpu_percent = run->use.gpu_percent;
    part->share_of_peak = run->use.share_of_peak;
    if (part->timed) {
        part->time_s = (double)ns.v / 1e9;
    } else if (p->wall_s.known && in_range(p->wall_s.v)) {
        part->timed = true;
        part->time_s = p->wall_s.v;
        if (p->low_s.known && p->high_s.known && p->low_s.v > 0 && in_range(p->high_s.v) &&
            p->low_s.v <= p->wall_s.v && p->high_s.v >= p->wall_s.v) {
            part->time_low = p->low_s.v;
            part->time_high = p->high_s.v;
        }
    }
    if (!part->timed)
        return fill_relative(run, price, part, err);
    if (!price->known)
        return 0;
    part->costed = true;
    if (ns.known) { // to the nanosecond
        struct err why = {0};
        rc = price_cost(price, ns.v, &part->cost, &why);
        part->costed = rc == 0;
        rc = 0;
    } else {
        rc = cost_of(price, part->time_s, &part->cost, &part->costed, err);
    }
    if (rc == 0 && part->time_high > 0)
        rc = cost_of(price, part->time_low, &part->cost_low, &part->costed, err);
    if (rc == 0 && part->time_high > 0)
        rc = cost_of(price, part->time_high, &part->cost_high, &part->costed, err);
    return rc;
}
