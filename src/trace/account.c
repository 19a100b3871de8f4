// SPDX-License-Identifier: Apache-2.0
#include "trace/account.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/stats.h"

// A step is left out from this multiple of the median on if something else happened in it: other
// kernels (an evaluation) or a large copy to the host (a checkpoint). Waiting for data is a part of
// the training, however long it takes.
#define LONG         2.5
#define LAUNCHES_OFF 0.05
#define SAVED_KIB    1024

enum {
    LOOK_AHEAD = 4,   // records after a gap in which data may come,
    SOON_NS = 200000, // if they start soon
    DATA_KIB = 4,     // smaller copies are parameters
};

static uint8_t busiest(const struct trace_item *items, size_t count)
{
    int64_t time_ns[256] = {0};
    uint8_t most = 0;
    for (size_t i = 0; i < count; i++)
        time_ns[items[i].device] += items[i].end_ns - items[i].start_ns;
    for (int d = 1; d < 256; d++)
        if (time_ns[d] > time_ns[most])
            most = (uint8_t)d;
    return most;
}

static bool brings_data(const struct trace_item *items, size_t count)
{
    int64_t until_ns = items[0].start_ns + SOON_NS;
    for (size_t i = 0; i < count && i < LOOK_AHEAD && items[i].start_ns <= until_ns; i++)
        if (items[i].kind == TRACE_COPY_IN && items[i].size >= DATA_KIB)
            return true;
    return false;
}

static enum account_gap kind_of_gap(int64_t gap_ns, int64_t step_ns, bool after_result, bool data)
{
    if (gap_ns <= ACCOUNT_SHORT_NS)
        return GAP_SHORT;
    if (data && gap_ns >= ACCOUNT_DATA_LEAST_NS &&
        (double)gap_ns >= ACCOUNT_DATA_SHARE * (double)step_ns)
        return GAP_DATA;
    return after_result ? GAP_SYNC : GAP_HOST;
}

// One step, from `begin_ns` to `end_ns`; `*next` is the first item at or after its begin.
// `*until_ns` is how far the device is busy, `*others_until_ns` how far with anything but
// collectives, `*result` whether a copy to the host was the last to end.
struct walk {
    const struct trace_item *items;
    size_t count, next;
    uint8_t device;
    int64_t until_ns, others_until_ns, step_ns;
    bool result;
};

struct step {
    int64_t launches, work_ns, saved_kib;
};

static void look_at_steps(const struct trace_item *items, size_t count, uint8_t device,
                          const struct pattern *pattern, struct step *steps)
{
    size_t next = 0;
    for (size_t i = 0; i < pattern->count; i++)
        for (; next < count && items[next].start_ns < pattern->ends[i]; next++) {
            const struct trace_item *item = &items[next];
            if (item->device != device || i == 0)
                continue;
            steps[i].launches += item->kind == TRACE_KERNEL;
            steps[i].work_ns += item->end_ns - item->start_ns;
            steps[i].saved_kib += item->kind == TRACE_COPY_OUT ? item->size : 0;
        }
}

// How much longer something runs within [*at_ns, end_ns) if it runs until `until_ns`.
static int64_t grow(int64_t *at_ns, int64_t start_ns, int64_t until_ns, int64_t end_ns)
{
    int64_t from = start_ns > *at_ns ? start_ns : *at_ns;
    int64_t until = until_ns < end_ns ? until_ns : end_ns;
    if (until <= from)
        return 0;
    *at_ns = until;
    return until - from;
}

static void see(struct walk *w, const struct trace_item *item)
{
    if (item->end_ns >= w->until_ns) {
        w->until_ns = item->end_ns;
        w->result = item->kind == TRACE_COPY_OUT;
    }
    if (item->class != CLASS_COLLECTIVE && item->end_ns > w->others_until_ns)
        w->others_until_ns = item->end_ns;
}

static void walk_step(struct walk *w, int64_t begin_ns, int64_t end_ns, bool counts,
                      struct account *a)
{
    int64_t at_ns = begin_ns, others_at_ns = begin_ns; // accounted for up to here
    int64_t busy_ns = grow(&at_ns, begin_ns, w->until_ns, end_ns);
    int64_t others_ns = grow(&others_at_ns, begin_ns, w->others_until_ns, end_ns);
    for (; w->next < w->count && w->items[w->next].start_ns < end_ns; w->next++) {
        const struct trace_item *item = &w->items[w->next];
        if (item->device != w->device)
            continue;
        if (item->start_ns > at_ns) {
            int64_t gap = item->start_ns - at_ns;
            bool data = brings_data(item, w->count - w->next);
            if (counts)
                a->gap_ns[kind_of_gap(gap, w->step_ns, w->result, data)] += gap;
            at_ns = item->start_ns;
        }
        busy_ns += grow(&at_ns, item->start_ns, item->end_ns, end_ns);
        if (item->class != CLASS_COLLECTIVE)
            others_ns += grow(&others_at_ns, item->start_ns, item->end_ns, end_ns);
        see(w, item);
        if (counts)
            a->work_ns[item->class][item->precision] += item->end_ns - item->start_ns;
    }
    if (!counts)
        return;
    if (end_ns > at_ns) // only where the step's end is on another device
        a->gap_ns[GAP_HOST] += end_ns - at_ns;
    a->busy_ns += busy_ns;
    a->exposed_ns += busy_ns - others_ns;
    a->covered_ns += end_ns - begin_ns;
    a->steps++;
}

static struct step usual_step(const struct step *steps, size_t count, double *scratch)
{
    struct step usual = {0};
    for (size_t i = 1; i < count; i++)
        scratch[i - 1] = (double)steps[i].launches;
    usual.launches = (int64_t)stats_median_of(scratch, count - 1);
    for (size_t i = 1; i < count; i++)
        scratch[i - 1] = (double)steps[i].work_ns;
    usual.work_ns = (int64_t)stats_median_of(scratch, count - 1);
    return usual;
}

static bool counts(const struct step *step, const struct step *usual, int64_t took_ns,
                   int64_t usual_ns)
{
    double off = fabs((double)(step->launches - usual->launches));
    bool alike = off <= LAUNCHES_OFF * (double)usual->launches && step->saved_kib < SAVED_KIB &&
                 (double)step->work_ns <= LONG * (double)usual->work_ns;
    return took_ns > 0 && (alike || (double)took_ns <= LONG * (double)usual_ns);
}

static void walk(struct walk *w, const struct pattern *pattern, const struct step *steps,
                 const struct step *usual, struct account *out)
{
    for (; w->next < w->count && w->items[w->next].start_ns < pattern->ends[0]; w->next++) {
        if (w->items[w->next].device == w->device)
            see(w, &w->items[w->next]);
    }
    for (size_t i = 1; i < pattern->count; i++) {
        int64_t begin = pattern->ends[i - 1], end = pattern->ends[i];
        walk_step(w, begin, end, counts(&steps[i], usual, end - begin, w->step_ns), out);
    }
}

int account_make(const struct trace_item *items, size_t count, const struct pattern *pattern,
                 struct account *out, struct err *err)
{
    *out = (struct account){0};
    if (pattern->count < 2)
        return 0;
    double *each = malloc(pattern->count * sizeof *each);
    struct step *steps = calloc(pattern->count, sizeof *steps);
    if (each && steps) {
        struct walk w = {items, count, 0, busiest(items, count), INT64_MIN, INT64_MIN, 0, false};
        look_at_steps(items, count, w.device, pattern, steps);
        struct step usual = usual_step(steps, pattern->count, each);
        out->launches = (double)usual.launches;
        for (size_t i = 1; i < pattern->count; i++)
            each[i - 1] = (double)(pattern->ends[i] - pattern->ends[i - 1]);
        w.step_ns = (int64_t)stats_median_of(each, pattern->count - 1);
        walk(&w, pattern, steps, &usual, out);
        out->step_ns = out->steps > 0 ? out->covered_ns / out->steps : 0;
    }
    int rc = each && steps ? 0 : err_memory(err);
    free(each);
    free(steps);
    return rc;
}

void account_add(struct account *to, const struct account *other)
{
    if (other->steps > to->steps) // few steps may not be whole ones
        to->launches = other->launches;
    to->steps += other->steps;
    to->covered_ns += other->covered_ns;
    to->step_ns = to->steps > 0 ? to->covered_ns / to->steps : 0;
    to->busy_ns += other->busy_ns;
    to->exposed_ns += other->exposed_ns;
    for (int i = 0; i < GAPS; i++)
        to->gap_ns[i] += other->gap_ns[i];
    for (int c = 0; c < CLASSES; c++)
        for (int p = 0; p < PRECISIONS; p++)
            to->work_ns[c][p] += other->work_ns[c][p];
}

static int larger_first(const void *a, const void *b)
{
    double one = ((const struct run_work *)a)->share.v, two = ((const struct run_work *)b)->share.v;
    return (one < two) - (one > two);
}

static const char *main_precision(const struct account *a)
{
    int64_t best_ns = 0;
    const char *best = NULL;
    for (int p = PRECISION_NONE + 1; p < PRECISIONS; p++) {
        int64_t ns = a->work_ns[CLASS_MATMUL][p] + a->work_ns[CLASS_CONVOLUTION][p] +
                     a->work_ns[CLASS_ATTENTION][p];
        if (ns > best_ns) {
            best_ns = ns;
            best = precision_names[p];
        }
    }
    return best;
}

static int record_work(const struct account *a, struct run_account *r, struct err *err)
{
    int64_t total_ns = 0;
    for (int c = 0; c < CLASSES; c++)
        for (int p = 0; p < PRECISIONS; p++)
            total_ns += a->work_ns[c][p];
    r->work.items = calloc(CLASSES * PRECISIONS, sizeof *r->work.items);
    if (!r->work.items)
        return err_memory(err);
    r->work.known = true;
    double busy = (double)a->busy_ns / (double)a->covered_ns;
    for (int c = 0; c < CLASSES; c++)
        for (int p = 0; p < PRECISIONS; p++) {
            if (a->work_ns[c][p] == 0)
                continue;
            struct run_work *w = &r->work.items[r->work.count++];
            w->share = some_real(busy * (double)a->work_ns[c][p] / (double)total_ns);
            TRY(TEXTS_SET(err, {&w->name, class_names[c]}, {&w->precision, precision_names[p]}));
        }
    qsort(r->work.items, r->work.count, sizeof *r->work.items, larger_first);
    return text_set(&r->precision, main_precision(a), err);
}

int64_t account_collectives_ns(const struct account *a)
{
    int64_t sum = 0;
    for (int p = 0; p < PRECISIONS; p++)
        sum += a->work_ns[CLASS_COLLECTIVE][p];
    return sum;
}

int account_record(const struct account *a, struct run_account *r, struct err *err)
{
    if (a->steps == 0 || a->covered_ns <= 0)
        return 0;
    double covered_ns = (double)a->covered_ns;
    r->steps = some_int(a->steps);
    r->traced_s = some_real(covered_ns / 1e9);
    r->step_ms = some_real((double)a->step_ns / 1e6);
    r->launches_per_step = some_real(a->launches);
    r->busy_share = some_real((double)a->busy_ns / covered_ns);
    if (account_collectives_ns(a) > 0)
        r->exposed_share = some_real((double)a->exposed_ns / covered_ns);
    r->data_share = some_real((double)a->gap_ns[GAP_DATA] / covered_ns);
    r->sync_share = some_real((double)a->gap_ns[GAP_SYNC] / covered_ns);
    r->host_share = some_real((double)a->gap_ns[GAP_HOST] / covered_ns);
    r->short_share = some_real((double)a->gap_ns[GAP_SHORT] / covered_ns);
    return record_work(a, r, err);
}
