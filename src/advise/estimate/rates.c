// SPDX-License-Identifier: Apache-2.0
#include "advise/estimate/rates.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/units.h"
#include "follow/trace/account.h"
#include "tables/files.h"

#define MATRIX_UNITS_FROM 1.3 // times the fp32 rate: only special units reach that
#define BASE_OVER_BOOST   0.7 // for an unknown base clock

#define X(name, text, other) text,
const char *const rate_names[RATE_PRECISIONS] = {ESTIMATE_PRECISIONS(X)};
#undef X

enum rate_precision rate_precision(const char *text)
{
#define X(name, text, other) other,
    static const char *const others[RATE_PRECISIONS] = {ESTIMATE_PRECISIONS(X)};
#undef X
    for (int i = 0; text && i < RATE_PRECISIONS; i++)
        if (strcmp(text, rate_names[i]) == 0 || strcmp(text, others[i]) == 0)
            return (enum rate_precision)i;
    return RATE_UNKNOWN;
}

// These compute fp16 in plain units, packed at best; frameworks gain nothing by it.
static bool has_matrix_units(const struct device *device)
{
    static const char *const without[] = {"kepler", "maxwell", "pascal", "gcn5", "rdna1", "rdna2"};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (strcmp(device->architecture, without[i]) == 0)
            return false;
    return true;
}

// TFLOP/s of matrix products; 0: unknown. A device without units for the precision computes in
// fp32. `by_matrix_units` (optional): special units do it.
static double rate_matrix(const struct device *d, enum rate_precision precision,
                          bool *by_matrix_units)
{
    const int listed[RATE_PRECISIONS] = {
        [RATE_FP64] = d->fp64_gflops,
        [RATE_FP32] = d->fp32_gflops,
        [RATE_TF32] = d->tf32_gflops,
        [RATE_FP16] = d->fp16_gflops,
        [RATE_FP8] = d->fp8_gflops,
        [RATE_BF16] = d->bf16_gflops ? d->bf16_gflops : d->fp16_gflops};
    int rate = precision < RATE_PRECISIONS ? listed[precision] : 0;
    if (precision != RATE_FP64 && (rate <= 0 || !has_matrix_units(d)))
        rate = d->fp32_gflops;
    if (by_matrix_units)
        *by_matrix_units = rate > MATRIX_UNITS_FROM * d->fp32_gflops;
    return rate > 0 && precision < RATE_PRECISIONS ? rate / 1e3 : 0;
}

// How far the device holds its boost clock; 0: unknown.
static double held_clock(const struct estimate_model *model, const struct device *d)
{
    if (d->boost_mhz <= 0)
        return 0;
    double base = d->base_mhz > 0 ? d->base_mhz : BASE_OVER_BOOST * d->boost_mhz;
    return pow(base / d->boost_mhz, model->clock_power);
}

double rate_effective(const struct estimate_model *model, const struct device *d,
                      enum rate_precision precision)
{
    bool matrix_units;
    double rate = rate_matrix(d, precision, &matrix_units) * held_clock(model, d);
    return matrix_units ? rate * model->matrix_unit_efficiency : rate;
}

double rate_units(const struct estimate_model *model, const struct device *d)
{
    return d->units * (d->boost_mhz / 1e3) * held_clock(model, d);
}

double rate_time(const struct estimate_model *model, const struct device *d,
                 enum rate_precision precision)
{
    double rate = rate_effective(model, d, precision), bandwidth = d->memory_mbs / 1e3;
    double units = rate_units(model, d);
    if (!(rate > 0 && bandwidth > 0 && units > 0))
        return 0;
    double time = model->matrix / rate + model->memory / bandwidth + model->units / units;
    return isfinite(time) ? time : 0;
}

const char *rate_missing(const struct device *d, enum rate_precision precision)
{
    const struct {
        const char *words;
        double value;
    } needed[] = {{"memory bandwidth", d->memory_mbs},
                  {"number of multiprocessors", d->units},
                  {"boost clock", d->boost_mhz},
                  {"matrix rate", rate_matrix(d, precision, NULL)}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (needed[i].value <= 0)
            return needed[i].words;
    return NULL;
}

double rate_cpu(const struct device *d, double threads)
{
    bool both = d->base_mhz > 0 && d->boost_mhz > 0;
    double mhz = both ? (d->base_mhz + d->boost_mhz) / 2.0 : fmax(d->base_mhz, d->boost_mhz);
    double per_core = d->threads_per_core > 0 ? d->threads_per_core : 2;
    double ops = d->fp32_per_cycle > 0 ? d->fp32_per_cycle : d->vector_bits / 32.0 * 4;
    double rate = threads / per_core * ops * mhz / 1e6;
    return isfinite(rate) && rate > 0 ? rate : 0;
}

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

#define UNKNOWN     "unknown"
#define STAGE_LEAST (1.0 / 3) // of a step's operations: a stage that trains a part, forward alone
#define CACHED_MOST 256e6     // bytes of a step that may stay in the GPU's cache

struct lower {
    double s;
    char why[sizeof((struct estimate *)0)->why];
};

static const struct run_library *find_package(const struct run *run, const char *name)
{
    for (size_t i = 0; i < run->code.packages.count; i++) {
        const struct run_library *package = &run->code.packages.items[i];
        if (package->name && strcmp(package->name, name) == 0)
            return package;
    }
    return NULL;
}

// As launches.csv names it. A command's is what its script's text shows, else what its Python has,
// if that is one only. PyTorch 1 was quicker from one operation to the next.
static const char *framework_of(const struct run *run)
{
    static const char *const known[][2] = {{"fare", "fare"},
                                           {"pytorch", "pytorch"},
                                           {"transformers", "pytorch"},
                                           {"keras:torch", "pytorch"}};
    const char *name = run->framework ? run->framework : "";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i][0]) == 0)
            return known[i][1];
    const struct run_library *torch = find_package(run, "torch");
    if (strcmp(name, "command") != 0 || !torch)
        return UNKNOWN;
    const char *loop = run->code.loop;
    if (loop && strcmp(loop, "pytorch") != 0)
        return loop;
    bool old = torch->version && strncmp(torch->version, "1.", 2) == 0;
    bool others = find_package(run, "tensorflow") || find_package(run, "jax");
    return old || (others && !loop) ? UNKNOWN : "pytorch";
}

static const struct estimate_launches *launches_of(const struct least_ask *ask, const char *kind)
{
    const char *framework = framework_of(ask->run);
    const char *const nets[] = {ask->run->workload, kind, UNKNOWN};
    const struct estimate_launches *found = NULL;
    for (size_t i = 0; i < sizeof nets / sizeof *nets && !found; i++)
        found = nets[i] ? estimate_launches(ask->tables, framework, nets[i]) : NULL;
    return found ? found : estimate_launches(ask->tables, UNKNOWN, UNKNOWN);
}

static double steps_of(const struct run *run) // 0: unknown
{
    if (run->total_steps.known)
        return (double)run->total_steps.v;
    return run->full.known && run->full.v && run->steps.known ? (double)run->steps.v : 0;
}

// TFLOP/s of the GPU at the precision in which it is fastest, of those that nets train in.
static double peak_of(const struct device *device)
{
    static const enum rate_precision usual[] = {RATE_FP32, RATE_TF32, RATE_FP16, RATE_BF16};
    double most = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        most = fmax(most, rate_matrix(device, usual[i], NULL));
    return most;
}

// The host starts one kernel after the other.
static struct lower by_launches(const struct least_ask *ask, const char *kind)
{
    const struct estimate_launches *l = launches_of(ask, kind);
    struct lower lower = {0};
    double steps = steps_of(ask->run);
    if (!l || steps <= 0)
        return lower;
    double us = l->step_us + l->launches * l->launch_us;
    bool graph = l->step_us <= 0;
    lower.s = steps * us / 1e6;
    snprintf(lower.why, sizeof lower.why, "%s, at least %.3g ms each: %.0f %s of %g µs%s",
             units_count((int64_t)steps, "step").s, us / 1e3, l->launches,
             graph ? "kernels one after the other" : "launches by the host", l->launch_us,
             graph ? "" : ", and its own work");
    return lower;
}

// fare knows the operations of its own nets. 16 bits are the least that they are stored in.
static struct lower by_work(const struct least_ask *ask)
{
    const struct run *run = ask->run;
    double share = run->stages.count > 0 ? STAGE_LEAST : 1, peak = peak_of(ask->to->device);
    double bandwidth = ask->to->device->memory_mbs * 1e6, s = 0;
    struct lower lower = {0};
    if (run->step_flops.known && peak > 0)
        s = run->step_flops.v / (peak * 1e12);
    if (run->step_bytes.known && run->step_bytes.v > CACHED_MOST && bandwidth > 0)
        s = fmax(s, run->step_bytes.v / 2 / bandwidth);
    lower.s = s * share * steps_of(run);
    snprintf(lower.why, sizeof lower.why, "its operations and bytes at the full rates of the %.60s",
             ask->to->device->name);
    return lower;
}

// No training was seen to gain more.
static struct lower by_peaks(const struct least_ask *ask)
{
    const struct estimate_constant *share = estimate_constant(ask->tables, "cpu_to_gpu_least");
    double peak = peak_of(ask->to->device);
    struct lower lower = {0};
    if (!share || peak <= 0)
        return lower;
    lower.s = share->value * ask->time_s * ask->cpu_tflops / peak;
    snprintf(lower.why, sizeof lower.why,
             "%.2g of the time by peak rates, %.3g TFLOP/s of the CPUs used and %.4g of the %.60s",
             share->value, ask->cpu_tflops, peak, ask->to->device->name);
    return lower;
}

void least_make(const struct least_ask *ask, struct estimate *out)
{
    const struct lower lowers[] = {by_launches(ask, out->net), by_work(ask), by_peaks(ask)};
    const struct lower *most = NULL;
    for (size_t i = 0; i < sizeof lowers / sizeof *lowers; i++)
        if (isfinite(lowers[i].s) && lowers[i].s > (most ? most->s : 0))
            most = &lowers[i];
    if (!most) {
        out->kind = ESTIMATE_UNKNOWN;
        out->reason = "no estimate";
        snprintf(out->why, sizeof out->why,
                 "a CPU does not show what a GPU waits for, and the number of steps is not known");
        return;
    }
    out->kind = ESTIMATE_BOUND;
    out->time_s = out->low_s = out->high_s = most->s / (ask->to->gpus > 1 ? ask->to->gpus : 1);
    out->device = out->time_s / ask->time_s;
    snprintf(out->why, sizeof out->why, "%s", most->why);
}

// ---- memory of GPUs
// Whether the memory of other GPUs suffices.

// The driver's peak counts what a framework's allocator keeps for later, and the context: 1.33
// times what was in use, of PyTorch's. Beyond this no cache explains it.
#define CACHE 1.4

int64_t estimate_memory_need(const struct run *run)
{
    int64_t peak = run->use.gpu_memory_peak_bytes.known ? run->use.gpu_memory_peak_bytes.v : 0;
    for (size_t i = 0; i < run->use.gpu_list.count; i++) {
        struct maybe_int one = run->use.gpu_list.items[i].memory_peak_bytes;
        peak = one.known && one.v > peak ? one.v : peak;
    }
    return peak;
}

// Of one GPU, or of its share; 0: unknown.
static int64_t memory_of(const struct estimate_place *place)
{
    if (place->gpus == 0 || place->gpu_memory_bytes > 0 || !place->device)
        return place->gpus == 0 ? 0 : place->gpu_memory_bytes;
    double share = place->share > 0 && place->share < 1 ? place->share : 1;
    return (int64_t)((double)((int64_t)place->device->memory_mib << 20) * share);
}

// "llama2_70b_lora", "meta-llama/Llama-2-70b-hf": 70 billion; 0: it names no size.
static double billions_in(const char *name)
{
    for (const char *at = name; at && *at; at++) {
        char *end;
        if (!isdigit((unsigned char)*at) ||
            (at > name && (isalnum((unsigned char)at[-1]) || at[-1] == '.')))
            continue;
        double size = strtod(at, &end);
        if ((*end == 'b' || *end == 'B') && !isalnum((unsigned char)end[1]) && size < 1e5)
            return size;
    }
    return 0;
}

// Weights as trainings keep them: in 16 bits, unless something says that they are smaller.
static double bytes_per_weight(const struct run *run)
{
    static const char *const small[] = {"qlora", "4bit", "4-bit", "nf4", "int4", "fp4"},
                             *const eight[] = {"8bit", "8-bit", "int8", "fp8"};
    double bytes = 2;
    for (size_t i = 0; i < run->command.count + 4; i++) {
        const char *const own[] = {run->workload, run->name, run->precision,
                                   run->account.precision};
        const char *text = i < 4 ? own[i] : run->command.items[i - 4];
        for (size_t k = 0; text && k < sizeof eight / sizeof *eight; k++)
            bytes = strcasestr(text, eight[k]) ? fmin(bytes, 1) : bytes;
        for (size_t k = 0; text && k < sizeof small / sizeof *small; k++)
            bytes = strcasestr(text, small[k]) ? 0.5 : bytes;
    }
    return bytes;
}

static double weights_bytes(const struct run *run) // 0: unknown
{
    double billions = billions_in(run->workload);
    if (billions == 0)
        billions = billions_in(run->name);
    for (size_t i = 0; i < run->command.count && billions == 0; i++)
        billions = billions_in(run->command.items[i]);
    return billions > 0 ? billions * 1e9 * bytes_per_weight(run) : 0;
}

static void say_batch(const struct run *run, int64_t has, int64_t needs, char why[200])
{
    double fits =
        run->batch.known ? floor((double)run->batch.v * ((double)has / (double)needs)) : 0;
    size_t len = strlen(why);
    if (fits >= 1)
        snprintf(why + len, 200 - len, "; a batch of at most %.0f instead of %lld could fit", fits,
                 (long long)run->batch.v);
}

// By the size in its name, and by what the run's GPUs have, which sufficed.
static enum estimate_fit unknown_need(const struct run *run, const struct estimate_place *from,
                                      const struct estimate_place *to, int64_t has, char why[200])
{
    double weights = weights_bytes(run), all = (double)has * to->gpus;
    int64_t most = from ? memory_of(from) : 0;
    if (weights > all) {
        snprintf(why, 200, "its weights alone take %s, %d × %s %s %s",
                 units_bytes((int64_t)weights).s, to->gpus, to->device->name,
                 to->gpus == 1 ? "has" : "have", units_bytes((int64_t)all).s);
        return ESTIMATE_FITS_NOT;
    }
    if (most > 0 && has >= most && to->gpus >= from->gpus)
        return ESTIMATE_FITS;
    snprintf(why, 200, "%s, and the %s has %s",
             from && from->gpus == 0 ? "unknown: the run was on a CPU" : "unknown",
             to->device->name, units_bytes(has).s);
    return ESTIMATE_FIT_UNKNOWN;
}

enum estimate_fit estimate_memory(const struct run *run, const struct estimate_place *from,
                                  const struct estimate_place *to, char why[200])
{
    int64_t has = memory_of(to), needs = estimate_memory_need(run);
    bool exact = run->framework && strcmp(run->framework, "fare") == 0; // it keeps nothing
    why[0] = '\0';
    if (to->gpus == 0 || !to->device)
        return ESTIMATE_FITS;
    if (has == 0) {
        snprintf(why, 200, "unknown: how much the %s has is", to->device->name);
        return ESTIMATE_FIT_UNKNOWN;
    }
    if (needs == 0)
        return unknown_need(run, from, to, has, why);
    if (needs <= has)
        return ESTIMATE_FITS;
    if (!exact && (double)needs <= CACHE * (double)has) {
        snprintf(why, 200,
                 "may not suffice: the run held %s, of which some may be its allocator's cache; "
                 "the %s has %s",
                 units_bytes(needs).s, to->device->name, units_bytes(has).s);
        return ESTIMATE_FIT_UNSURE;
    }
    snprintf(why, 200, "needs %s of GPU memory, the %s has %s", units_bytes(needs).s,
             to->device->name, units_bytes(has).s);
    say_batch(run, has, needs, why);
    return ESTIMATE_FITS_NOT;
}

// ==== the coefficients ====

#define TEXT(type, member, title)                                                                  \
    {                                                                                              \
        title, COLUMN_TEXT, offsetof(struct type, member)                                          \
    }
#define NUMBER(type, member, title, from, to)                                                      \
    {                                                                                              \
        .name = title, .kind = COLUMN_REAL, .at = offsetof(struct type, member), .least = from,    \
        .most = to                                                                                 \
    }

static const struct column model_columns[] = {
    TEXT(estimate_model, kind, "kind"),
    NUMBER(estimate_model, matrix, "matrix", 1e-9, 1e9),
    NUMBER(estimate_model, memory, "memory", 0, 1e9),
    NUMBER(estimate_model, units, "units", 0, 1e9),
    NUMBER(estimate_model, clock_power, "clock_power", -4, 4),
    NUMBER(estimate_model, matrix_unit_efficiency, "matrix_unit_efficiency", 0.01, 4),
    {0}};
static const struct column pattern_columns[] = {
    TEXT(estimate_pattern, pattern, "pattern"), TEXT(estimate_pattern, kind, "kind"), {0}};
static const struct column bound_columns[] = {
    TEXT(estimate_bound, bound, "bound"),
    {"busy_from", COLUMN_REAL, offsetof(struct estimate_bound, busy_from), COLUMN_EMPTY, NULL, 0, 1,
     -1},
    {"busy_below", COLUMN_REAL, offsetof(struct estimate_bound, busy_below), COLUMN_EMPTY, NULL, 0,
     1, -1},
    NUMBER(estimate_bound, power, "power", 0, 2),
    {0}};
static const struct column class_columns[] = {TEXT(estimate_powers, name, "class"),
                                              NUMBER(estimate_powers, matrix, "matrix", 0, 2),
                                              NUMBER(estimate_powers, memory, "memory", 0, 2),
                                              NUMBER(estimate_powers, units, "units", 0, 2),
                                              {0}};
static const struct column error_columns[] = {
    TEXT(estimate_errors, relation, "relation"),
    TEXT(estimate_errors, bound, "bound"),
    TEXT(estimate_errors, scale, "scale"),
    TEXT(estimate_errors, trace, "trace"),
    TEXT(estimate_errors, kind, "kind"),
    NUMBER(estimate_errors, median_percent, "median_percent", 0, 1e6),
    NUMBER(estimate_errors, p90_percent, "p90_percent", 0, 1e6),
    NUMBER(estimate_errors, factor[ESTIMATE_50], "factor50", 1, 1e6),
    NUMBER(estimate_errors, factor[ESTIMATE_80], "factor80", 1, 1e6),
    NUMBER(estimate_errors, factor[ESTIMATE_90], "factor90", 1, 1e6),
    NUMBER(estimate_errors, factor[ESTIMATE_95], "factor95", 1, 1e6),
    NUMBER(estimate_errors, pairs, "pairs", 0, 1e9),
    TEXT(estimate_errors, sources, "sources"),
    {"borrowed", COLUMN_TEXT, offsetof(struct estimate_errors, borrowed), COLUMN_EMPTY},
    {0}};
static const struct column scaling_columns[] = {
    TEXT(estimate_scaling, link, "link"),
    TEXT(estimate_scaling, bound, "bound"),
    TEXT(estimate_scaling, parameters, "parameters"),
    NUMBER(estimate_scaling, gpus, "gpus", 2, 1e6),
    NUMBER(estimate_scaling, median, "median", 0.001, 4),
    NUMBER(estimate_scaling, low, "low90", 0.001, 4),
    NUMBER(estimate_scaling, high, "high90", 0.001, 4),
    NUMBER(estimate_scaling, rows, "rows", 0, 1e9),
    {0}};
static const struct column launch_columns[] = {
    TEXT(estimate_launches, framework, "framework"),
    TEXT(estimate_launches, net, "net"),
    NUMBER(estimate_launches, launches, "launches", 0, 1e6),
    NUMBER(estimate_launches, launch_us, "launch_us", 0, 1e6),
    NUMBER(estimate_launches, step_us, "step_us", 0, 1e9),
    {0}};
static const struct column constant_columns[] = {
    TEXT(estimate_constant, name, "name"), NUMBER(estimate_constant, value, "value", 0, 1e9), {0}};

static int check_pattern(const struct columns_row *at, void *row, struct err *err)
{
    const struct estimate_pattern *p = row;
    return estimate_model(at->arg, p->kind)
               ? 0
               : columns_fault(at, "kind", err, "no such kind in model.csv");
}

static int check_errors(const struct columns_row *at, void *row, struct err *err)
{
    const struct estimate_errors *e = row;
    for (size_t i = 1; i < ESTIMATE_LEVELS; i++)
        if (e->factor[i] < e->factor[i - 1])
            return columns_fault(at, NULL, err, "expected factors in ascending order");
    return 0;
}

static int check_scaling(const struct columns_row *at, void *row, struct err *err)
{
    const struct estimate_scaling *s = row;
    return s->low <= s->median && s->median <= s->high
               ? 0
               : columns_fault(at, NULL, err,
                               "expected low90, median and high90 in ascending order");
}

static const struct file {
    const char *name;
    struct columns columns;
    size_t list;
} files[] = {
#define FILE_OF(name, columns, list, check)                                                        \
    {                                                                                              \
        "estimate/" name ".csv",                                                                   \
            {columns, sizeof *((struct estimate_tables *)0)->list.items, false, check},            \
            offsetof(struct estimate_tables, list)                                                 \
    }
    FILE_OF("model", model_columns, models, NULL), // before kinds, which it checks
    FILE_OF("kinds", pattern_columns, patterns, check_pattern),
    FILE_OF("bounds", bound_columns, bounds, NULL),
    FILE_OF("classes", class_columns, classes, NULL),
    FILE_OF("errors", error_columns, errors, check_errors),
    FILE_OF("scaling", scaling_columns, scalings, check_scaling),
    FILE_OF("launches", launch_columns, launches, NULL),
    FILE_OF("constants", constant_columns, constants, NULL),
#undef FILE_OF
};
enum { FILES = sizeof files / sizeof *files };

int estimate_tables_open(struct estimate_tables **out, struct err *err)
{
    struct estimate_tables *tables = calloc(1, sizeof *tables);
    *out = NULL;
    int rc = tables ? 0 : err_memory(err);
    for (size_t i = 0; i < FILES && rc == 0; i++)
        rc = columns_both(&files[i].columns, files[i].name, files[i].name,
                          (char *)tables + files[i].list, tables, err);
    if (rc == 0 && !estimate_model(tables, "unknown"))
        rc = err_set(err, ERR_FORMAT, "estimate/model.csv: expected a row of kind 'unknown'");
    if (rc == 0)
        *out = tables;
    else
        estimate_tables_close(tables);
    return rc;
}

void estimate_tables_close(struct estimate_tables *tables)
{
    for (size_t f = 0; tables && f < FILES; f++)
        columns_release(&files[f].columns, (char *)tables + files[f].list);
    free(tables);
}

const struct estimate_model *estimate_model(const struct estimate_tables *tables, const char *kind)
{
    for (size_t i = 0; i < tables->models.count; i++)
        if (strcmp(tables->models.items[i].kind, kind) == 0)
            return &tables->models.items[i];
    return NULL;
}

const struct estimate_bound *estimate_bound(const struct estimate_tables *tables, double busy)
{
    for (size_t i = 0; i < tables->bounds.count; i++) {
        const struct estimate_bound *b = &tables->bounds.items[i];
        bool unknown = b->busy_from < 0;
        if (busy >= 0
                ? !unknown && busy >= b->busy_from && (b->busy_below < 0 || busy < b->busy_below)
                : unknown)
            return b;
    }
    return NULL;
}

const struct estimate_powers *estimate_powers(const struct estimate_tables *tables,
                                              const char *name)
{
    for (size_t i = 0; i < tables->classes.count; i++)
        if (strcmp(tables->classes.items[i].name, name) == 0)
            return &tables->classes.items[i];
    return NULL;
}

const struct estimate_errors *estimate_errors(const struct estimate_tables *tables,
                                              const struct estimate_class *class)
{
    for (size_t i = 0; i < tables->errors.count; i++) {
        const struct estimate_errors *e = &tables->errors.items[i];
        if (strcmp(e->relation, class->relation) == 0 && strcmp(e->bound, class->bound) == 0 &&
            strcmp(e->scale, class->scale) == 0 && strcmp(e->trace, class->trace) == 0 &&
            strcmp(e->kind, class->kind) == 0)
            return e;
    }
    return NULL;
}

const struct estimate_launches *estimate_launches(const struct estimate_tables *tables,
                                                  const char *framework, const char *net)
{
    for (size_t i = 0; i < tables->launches.count; i++) {
        const struct estimate_launches *l = &tables->launches.items[i];
        if (strcmp(l->framework, framework) == 0 && strcmp(l->net, net) == 0)
            return l;
    }
    return NULL;
}

const struct estimate_constant *estimate_constant(const struct estimate_tables *tables,
                                                  const char *name)
{
    for (size_t i = 0; i < tables->constants.count; i++)
        if (strcmp(tables->constants.items[i].name, name) == 0)
            return &tables->constants.items[i];
    return NULL;
}

// strcasestr() prepares a search through long texts, which takes longer than one through these.
static bool holds(const char *text, const char *part)
{
    const size_t len = strlen(part);
    for (; *text; text++)
        if ((*text | 32) == (*part | 32) && strncasecmp(text, part, len) == 0)
            return true;
    return false;
}

const char *estimate_kind_of(const struct estimate_tables *tables, const char *text)
{
    for (size_t i = 0; text && i < tables->patterns.count; i++)
        if (holds(text, tables->patterns.items[i].pattern))
            return tables->patterns.items[i].kind;
    return NULL;
}
