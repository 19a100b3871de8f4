// SPDX-License-Identifier: Apache-2.0
#include "estimate/traced.h"

#include <math.h>
#include <string.h>

#include "trace/account.h"

// The rate that a class of kernels follows, and its row in classes.csv.
enum rate { BY_MATRIX, BY_MEMORY, BY_HOST_BUS, BY_LINK };
static const struct {
    enum rate rate;
    const char *powers;
} follows[CLASSES] = {
    [CLASS_MATMUL] = {BY_MATRIX, "gemm"},
    [CLASS_CONVOLUTION] = {BY_MATRIX, "conv"},
    [CLASS_ATTENTION] = {BY_MATRIX, "attention"},
    [CLASS_ELEMENTWISE] = {BY_MEMORY, "elementwise"},
    [CLASS_OPTIMIZER] = {BY_MEMORY, "optimizer"},
    [CLASS_WITHIN] = {BY_MEMORY, "copy"},
    [CLASS_UNKNOWN] = {BY_MEMORY, "elementwise"},
    [CLASS_IN] = {BY_HOST_BUS, NULL},
    [CLASS_OUT] = {BY_HOST_BUS, NULL},
    [CLASS_COLLECTIVE] = {BY_LINK, NULL},
};

struct scaling {
    const struct estimate_tables *tables;
    const struct estimate_model *model;
    const struct estimate_place *from, *to;
};

bool traced_known(const struct run *run)
{
    const struct run_account *a = &run->account;
    return a->busy_share.known && a->busy_share.v > 0 && a->work.count > 0 &&
           a->work.count <= ESTIMATE_PARTS;
}

// A rate that was measured on a GPU there; 0: none.
static double reached(const struct machine_rates *rates, const char *operation,
                      enum rate_precision precision)
{
    for (size_t i = 0; rates && i < rates->list.count; i++) {
        const struct machine_rate *r = &rates->list.items[i];
        enum rate_precision its = rate_precision(r->precision);
        bool fits = precision == RATE_UNKNOWN || its == precision ||
                    (its == RATE_BF16 && precision == RATE_FP16); // the same units
        if (fits && r->per_s.known && isfinite(r->per_s.v) && r->per_s.v > 0 && r->device &&
            strncmp(r->device, "gpu", 3) == 0 && r->operation &&
            strcmp(r->operation, operation) == 0)
            return r->per_s.v;
    }
    return 0;
}

static double quotient(double a, double b) // 0: unknown
{
    return a > 0 && b > 0 && isfinite(a / b) ? a / b : 0;
}

double traced_copies(const struct estimate_place *from, const struct estimate_place *to)
{
    return quotient(reached(to->rates, "copy", RATE_UNKNOWN),
                    reached(from->rates, "copy", RATE_UNKNOWN));
}

static double link_of(const struct device *d)
{
    return d->link_mbs > 0 ? d->link_mbs / 2.0 : d->host_mbs;
}

// Between clocks or parts of one model the measured rate alone says too little: small kernels
// follow units × clock.
static double with_units(const struct scaling *s, const char *class, double ratio)
{
    const struct estimate_powers *p = estimate_powers(s->tables, class);
    double units = quotient(s->from->device->units * s->from->clock_mhz,
                            s->to->device->units * s->to->clock_mhz);
    bool same = strcmp(s->from->device->name, s->to->device->name) == 0;
    return p && same && units > 0 ? pow(ratio, p->matrix + p->memory) * pow(units, p->units)
                                  : ratio;
}

static double factor_of(const struct scaling *s, enum trace_class class,
                        enum rate_precision precision, bool *measured)
{
    const struct device *a = s->from->device, *b = s->to->device;
    bool matrix = follows[class].rate == BY_MATRIX;
    *measured = false;
    if (follows[class].rate == BY_HOST_BUS)
        return quotient(a->host_mbs, b->host_mbs);
    if (follows[class].rate == BY_LINK)
        return quotient(link_of(a), link_of(b));
    const char *operation = matrix ? "product" : "copy";
    enum rate_precision asked = matrix ? precision : RATE_UNKNOWN;
    double rates = matrix && asked == RATE_UNKNOWN
                       ? 0
                       : quotient(reached(s->to->rates, operation, asked),
                                  reached(s->from->rates, operation, asked));
    *measured = rates > 0;
    if (*measured)
        return with_units(s, follows[class].powers, 1 / rates);
    if (matrix)
        return quotient(rate_effective(s->model, a, precision),
                        rate_effective(s->model, b, precision));
    return quotient(a->memory_mbs, b->memory_mbs);
}

static enum trace_class class_of(const char *name)
{
    for (int i = 0; name && i < CLASSES; i++)
        if (strcmp(name, class_names[i]) == 0)
            return (enum trace_class)i;
    return CLASS_UNKNOWN;
}

// A step that waits for the host takes its time there, too, at the speed of that host's threads.
// Waiting for data stays as it was; waiting for an unknown reason does not get shorter.
static double host_time(const struct run *run, const struct scaling *s)
{
    double speed = quotient(s->from->thread_ops_per_s, s->to->thread_ops_per_s);
    double data = run->account.data_share.v, unseen = run->account.unseen_share.v;
    speed = speed > 0 ? speed : 1;
    return data + unseen * fmax(speed, 1) + fmax(1 - data - unseen, 0) * speed;
}

double traced_ratio(const struct estimate_tables *tables, const struct estimate_model *model,
                    const struct run *run, const struct estimate_place *from,
                    const struct estimate_place *to, enum rate_precision precision, bool gpu_bound,
                    struct estimate *out, bool *measured)
{
    const struct scaling s = {tables, model, from, to};
    double here = 0, there = 0;
    *measured = true;
    out->part_count = 0;
    for (size_t i = 0; i < run->account.work.count && i < ESTIMATE_PARTS; i++) {
        const struct run_work *w = &run->account.work.items[i];
        enum rate_precision own = rate_precision(w->precision);
        struct estimate_part part = {.name = w->name, .precision = w->precision};
        part.share = w->share.known ? w->share.v : 0;
        part.factor =
            factor_of(&s, class_of(w->name), own == RATE_UNKNOWN ? precision : own, &part.measured);
        if (to->share > 0 && to->share < 1 && follows[class_of(w->name)].rate <= BY_MEMORY)
            part.factor /= to->share;
        if (part.share == 0)
            continue;
        if (!(part.share > 0 && part.share <= 1) || part.factor <= 0)
            return 0;
        here += part.share;
        there += part.share * part.factor;
        *measured &= part.measured;
        out->parts[out->part_count++] = part;
    }
    double ratio = quotient(there, here);
    if (gpu_bound || ratio == 0)
        return ratio;
    return fmax(host_time(run, &s), run->account.busy_share.v * ratio);
}
