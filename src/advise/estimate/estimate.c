// SPDX-License-Identifier: Apache-2.0
#include "advise/estimate/estimate.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/estimate/rates.h"

#define LEVEL         ESTIMATE_90
#define FROM_95_TO_90 (1.645 / 1.960) // half-widths of a normal distribution
#define LEAST_CPUS    0.1             // a run that uses less waits for something else
#define ROUGH_FROM    2.0             // an interval as wide as this is an order of magnitude
#define NO_FIGURE     "no estimate"
#define NO_DEVICE     "the run's record names neither its GPU nor its processor"

// Other programs that used this share of the CPUs, while nearly none was idle, may have slowed the
// run down: it would use more of them alone. How many is unknown, and beyond NOISY_MOST between the
// two times nothing is said. Threads that wait for each other lose more than their share.
#define NOISY_FROM  0.1
#define CPUS_FULL   0.9
#define NOISY_POWER 2
#define NOISY_MOST  8.0
#define TOO_NOISY                                                                                  \
    "other programs used so much of the CPUs that the run's own share is unknown: measure again "  \
    "while nothing else runs"

// A processor that the device table lacks: vectors of 256 bits, two multiply-adds a cycle, and as
// many cycles as half its thread's multiply-adds. Adds a factor of two to the interval.
#define ASSUMED_OPS_PER_CYCLE 32
#define ASSUMED_FACTOR        2.0

// Processors farther apart than those of the pairs widen the interval by as much as a large net
// follows them more than the small ones there.
#define CPU_SPAN   15.0
#define CPU_UNSURE 0.4

struct making {
    const struct estimate_tables *tables;
    const struct run *run;
    const struct estimate_place *from, *to;
    const struct estimate_model *model;
    const struct estimate_bound *bound;
    struct estimate *out;
    const char *relation;
    bool traced, measured; // by the account; with measured rates
    double range, assumed; // widen the interval: logarithms
    double idle;           // the others that share the GPU may be: widens it downwards
    double noisy;          // between the times with few and with many threads: a logarithm
};

static void unknown(struct estimate *out, enum estimate_kind kind, const char *reason,
                    const char *why)
{
    struct estimate none = {.kind = kind, .reason = reason, .busy = out->busy, .net = out->net};
    snprintf(none.why, sizeof none.why, "%s", why);
    *out = none;
}

// ---- the source

static bool on_gpu(const struct run *run)
{
    if (run->engine && strcmp(run->engine, "cuda") != 0) // although there may be one
        return false;
    return (run->use.gpus.known && run->use.gpus.v > 0) ||
           (!run->use.gpus.known && run_gpu_name(run));
}

// By other programs, of the CPUs that the run could have used.
static double taken_by_others(const struct run *run)
{
    const struct run_use *use = &run->use;
    double steal = use->steal_percent.known ? use->steal_percent.v / 100 : 0;
    double taken = use->steady.crowded_percent.known ? use->steady.crowded_percent.v / 100
                   : use->other_cpu_percent.known    ? use->other_cpu_percent.v / 100
                                                     : 0;
    return taken + steal * run->machine.usable_cpus.v;
}

static void set_cpus_used(const struct run *run, struct estimate_place *place)
{
    const struct run_use *use = &run->use;
    double usable = place->cpus, others = taken_by_others(run);
    if (use->steady.cpu_percent.known)
        place->cpus = fmin(usable, use->steady.cpu_percent.v / 100);
    if (place->cpus < usable && others >= NOISY_FROM * usable &&
        place->cpus + others >= CPUS_FULL * usable)
        place->cpus_most = usable;
}

struct estimate_place estimate_place_of(const struct run *run, const struct devices *devices)
{
    const struct run_machine *m = &run->machine;
    struct estimate_place place = {.rates = &m->rates};
    if (on_gpu(run)) {
        int64_t gpus = run->use.gpus.known ? run->use.gpus.v : m->gpus.known ? m->gpus.v : 1;
        place.gpus = gpus >= 1 && gpus <= 1024 ? (int)gpus : 0;
        place.device = device_find(devices, run_gpu_name(run));
        if (m->gpu_memory_bytes.known)
            place.gpu_memory_bytes = m->gpu_memory_bytes.v;
        if (run->use.gpu_list.count > 0 && run->use.gpu_list.items[0].clock_mhz.known)
            place.clock_mhz = run->use.gpu_list.items[0].clock_mhz.v;
    } else {
        place.device = device_find(devices, m->cpu);
    }
    if (m->usable_cpus.known)
        place.cpus = m->usable_cpus.v;
    if (place.gpus == 0)
        set_cpus_used(run, &place);
    if (m->thread_ops_per_s.known)
        place.thread_ops_per_s = m->thread_ops_per_s.v;
    return place;
}

static const char *net_of(const struct estimate_tables *tables, const struct run *run)
{
    const char *kind = estimate_kind_of(tables, run->workload);
    if (!kind)
        kind = estimate_kind_of(tables, run->name);
    for (size_t i = 0; i < run->command.count && !kind; i++)
        kind = estimate_kind_of(tables, run->command.items[i]);
    return kind;
}

static double busy_of(const struct run *run)
{
    if (run->account.busy_share.known)
        return run->account.busy_share.v;
    return run->use.steady.gpu_percent.known ? run->use.steady.gpu_percent.v / 100 : -1;
}

static enum rate_precision precision_of(const struct run *run)
{
    enum rate_precision own = rate_precision(run->precision);
    return own != RATE_UNKNOWN ? own : rate_precision(run->account.precision);
}

// ---- what would not work

static const char *lacks(const struct run *run, const struct device *device)
{
    enum rate_precision p = precision_of(run);
    bool replaced = p == RATE_FP32 || p == RATE_TF32; // fp32 does it
    return p != RATE_UNKNOWN && !replaced && device_lacks(device, rate_names[p]) ? rate_names[p]
                                                                                 : NULL;
}

// By which factor a part of its time slows a GPU down.
static double slowed_by_share(const struct estimate_place *place)
{
    return place->share > 0 && place->share < 1 ? 1 / place->share : 1;
}

// Null: the run would work there, as far as known; else the reason in a few words, and `why`.
static const char *misfit_of(const struct making *m, char why[200])
{
    const struct run *run = m->run;
    const struct estimate_place *to = m->to;
    if (to->gpus == 0 || !to->device)
        return NULL;
    if (m->out->fit == ESTIMATE_FITS_NOT) {
        snprintf(why, 200, "%s", m->out->memory);
        return ESTIMATE_NO_MEMORY;
    }
    if (run->framework && strcmp(run->framework, "fare") == 0 && *to->device->vendor &&
        strcmp(to->device->vendor, "nvidia") != 0) {
        snprintf(why, 200, "fare has no engine for the %s", to->device->name);
        return "no engine for the GPU";
    }
    const char *precision = lacks(run, to->device);
    if (!precision)
        return NULL;
    snprintf(why, 200, "trains in %s, which the %s does not have", precision, to->device->name);
    return "a precision that the GPU lacks";
}

// ---- the ratio of two devices

static const char *relation_of(const struct estimate_place *from, const struct estimate_place *to)
{
    const struct device *a = from->device, *b = to->device;
    if (from->gpus == 0)
        return "cpu";
    if (!*a->vendor || !*b->vendor || !*a->architecture || !*b->architecture)
        return NULL;
    if (strcmp(a->vendor, b->vendor) != 0)
        return "vendor";
    if (strcmp(a->vendor, "nvidia") != 0)
        return strcmp(a->vendor, "amd") == 0 ? "amd" : NULL;
    return strcmp(a->architecture, b->architecture) == 0 ? "same" : "other";
}

static double step_ms(const struct run *run) // 0: unknown
{
    return run->steady.step_ms.known ? run->steady.step_ms.v
           : run->step_ms.known      ? run->step_ms.v
                                     : 0;
}

// A GPU at another clock is another device: all but the memory follows the clock, and the memory
// the copies that were measured.
static struct device at_its_clock(const struct making *m)
{
    struct device d = *m->to->device;
    double clock = m->from->clock_mhz > 0 ? m->to->clock_mhz / m->from->clock_mhz : 0;
    if (strcmp(d.name, m->from->device->name) != 0 || !(clock > 0 && isfinite(clock)))
        return d;
    double copies = traced_copies(m->from, m->to);
    int *const follow[] = {&d.base_mhz,    &d.boost_mhz,   &d.fp64_gflops, &d.fp32_gflops,
                           &d.tf32_gflops, &d.fp16_gflops, &d.bf16_gflops, &d.fp8_gflops};
    for (size_t i = 0; i < sizeof follow / sizeof *follow; i++)
        *follow[i] = (int)fmin(*follow[i] * clock, INT_MAX);
    if (copies > 0)
        d.memory_mbs = (int)fmin(d.memory_mbs * copies, INT_MAX);
    return d;
}

// The share of an l1 pass that goes over the host bus; negative: another run.
static double share_copied(const struct run *run)
{
    double ms = step_ms(run);
    double share = run->l1_calculation_ms.known && ms > 0 ? run->l1_calculation_ms.v / ms : -1;
    return share >= 0 && share <= 1 ? 1 - share : -1;
}

// fare's own nets say how many operations and bytes a step has. The rest of it, which small kernels
// take, follows units × clock. 0: the run has no such counts.
static double own_ratio(struct making *m, const struct device *to, enum rate_precision precision)
{
    const struct run *r = m->run;
    const struct device *from = m->from->device;
    double step_s = step_ms(r) / 1e3;
    double rates[2] = {rate_effective(m->model, from, precision),
                       rate_effective(m->model, to, precision)};
    double units[2] = {rate_units(m->model, from), rate_units(m->model, to)};
    if (!r->framework || strcmp(r->framework, "fare") != 0 || !r->step_flops.known ||
        !r->step_bytes.known || !(step_s > 0))
        return 0;
    double products = r->step_flops.v / (rates[0] * 1e12) / step_s;
    double memory = r->step_bytes.v / (from->memory_mbs * 1e6) / step_s;
    double most = fmax(products + memory, 1); // counts and clock may disagree
    if (!(products >= 0 && memory >= 0 && isfinite(most)))
        return 0;
    const struct estimate_part parts[] = {
        {"matrix products", r->precision, products / most, rates[0] / rates[1], false},
        {"memory", NULL, memory / most, (double)from->memory_mbs / to->memory_mbs, false},
        {"small kernels", NULL, 1 - (products + memory) / most, units[0] / units[1], false}};
    double ratio = 0;
    m->out->part_count = sizeof parts / sizeof *parts;
    memcpy(m->out->parts, parts, sizeof parts);
    for (size_t i = 0; i < m->out->part_count; i++) {
        m->out->parts[i].factor *= slowed_by_share(m->to);
        ratio += parts[i].share * m->out->parts[i].factor;
    }
    return ratio;
}

// 0: unknown.
static double gpu_ratio(struct making *m, enum rate_precision precision)
{
    if (m->traced)
        return traced_ratio(m->tables, m->model, m->run, m->from, m->to, precision,
                            strcmp(m->bound->bound, "gpu") == 0, m->out, &m->measured);
    struct device to = at_its_clock(m);
    double here = rate_time(m->model, m->from->device, precision), slower = slowed_by_share(m->to);
    double there = rate_time(m->model, &to, precision) * slower, copied = share_copied(m->run);
    double bus = to.host_mbs > 0 ? (double)m->from->device->host_mbs / to.host_mbs : 0;
    if (!(here > 0 && there > 0))
        return 0;
    if (copied >= 0)
        return bus > 0 ? copied * bus + (1 - copied) * there / here : 0;
    double fitted = pow(there / here, m->bound->power), own = own_ratio(m, &to, precision);
    if (!(own > 0 && isfinite(own)))
        return fitted;
    m->range = fabs(log(own / fitted)) / 2; // nobody measured such nets on two models
    return own;
}

// If the precision is unknown: the middle of the usual ones, and half their range on top of the
// interval.
static double any_precision(struct making *m)
{
    static const enum rate_precision usual[] = {RATE_FP32, RATE_FP16, RATE_TF32};
    enum rate_precision known = precision_of(m->run);
    if (known != RATE_UNKNOWN)
        return gpu_ratio(m, known);
    double low = (double)INFINITY, high = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        double ratio = gpu_ratio(m, usual[i]);
        low = fmin(low, ratio);
        high = fmax(high, ratio);
    }
    if (low <= 0)
        return 0;
    m->out->guessed_precision = high > low;
    m->range = log(high / low) / 2;
    return sqrt(low * high);
}

// As fast as the middle of the device table's processors, and as uncertain as they differ.
static double middling_rate(struct making *m, double cpus)
{
    const struct estimate_constant *gflops = estimate_constant(m->tables, "cpu_middling_gflops");
    const struct estimate_constant *factor = estimate_constant(m->tables, "cpu_middling_factor");
    if (!gflops || !factor || factor->value < 1)
        return 0;
    m->assumed = hypot(m->assumed, log(factor->value));
    m->out->unknown_processor = true;
    return cpus * gflops->value / 1e3;
}

// TFLOP/s of the processor; 0: unknown.
static double cpu_rate(struct making *m, const struct estimate_place *place)
{
    if (place == m->to && !place->device)
        return middling_rate(m, place->cpus);
    if (place->device && place->device->vector_bits > 0) {
        double listed = rate_cpu(place->device, place->cpus);
        if (listed > 0)
            return listed;
    }
    m->assumed = hypot(m->assumed, log(ASSUMED_FACTOR));
    double rate = place->cpus / 2 * ASSUMED_OPS_PER_CYCLE * place->thread_ops_per_s / 2 / 1e12;
    return isfinite(rate) && rate > 0 ? rate : 0;
}

// The time of a step by Amdahl's law, whose serial part is that of one thread's.
static double with_threads(double serial, double threads)
{
    return serial + (1 - serial) / threads;
}

// If others used the CPUs, between a run that has no more threads than it used, and one that would
// use all and was slowed down.
static double cpu_ratio(struct making *m)
{
    const struct estimate_place *from = m->from, *to = m->to;
    const struct estimate_constant *power = estimate_constant(m->tables, "cpu_power");
    const struct estimate_constant *serial = estimate_constant(m->tables, "cpu_serial");
    if (from->cpus < LEAST_CPUS)
        return 0;
    double here = cpu_rate(m, from), there = cpu_rate(m, to), threads = to->cpus / from->cpus;
    if (!(here > 0 && there > 0 && threads > 0 && power && serial))
        return 0;
    m->range += CPU_UNSURE * fmax(0, fabs(log(here / there)) - log(CPU_SPAN));
    double ratio = pow(here / there * threads, power->value), s = serial->value;
    double few = with_threads(s, to->cpus) / with_threads(s, from->cpus);
    if (!(from->cpus_most > from->cpus))
        return ratio * few;
    double all = with_threads(s, fmax(to->cpus_most, to->cpus)) / with_threads(s, from->cpus_most) *
                 pow(from->cpus / from->cpus_most, NOISY_POWER);
    m->noisy = fabs(log(few / all));
    m->range += m->noisy / 2;
    return ratio * sqrt(few * all);
}

// ---- class and interval

static const struct estimate_errors *class_of(const struct making *m)
{
    struct estimate_class class = {m->relation, "unknown", "one", "no", "unknown"};
    if (m->from->gpus == 0)
        return estimate_errors(m->tables, &class);
    bool nodes = m->from->machines > 1 || m->to->machines > 1;
    bool several = m->from->gpus > 1 || m->to->gpus > 1;
    const struct estimate_errors *own = NULL;
    class.bound = m->bound->bound;
    class.scale = nodes ? "nodes" : several ? "several" : "one";
    class.trace = m->measured ? "measured" : "sheet";
    class.kind = "known";
    if (m->traced)
        own = estimate_errors(m->tables, &class);
    class.trace = "no";
    class.kind = m->out->net ? "known" : "unknown";
    return own ? own : estimate_errors(m->tables, &class);
}

// Takes the interval of the run itself, of the class and of the numbers of GPUs together; all are
// half-widths as logarithms.
static void set_interval(struct making *m, const struct estimate_time *time,
                         const struct estimate_efficiency *a, const struct estimate_efficiency *b)
{
    struct estimate *out = m->out;
    double half = out->class ? log(out->class->factor[LEVEL]) : 0;
    bool known = time->low > 0 && time->high >= time->low && isfinite(time->high / time->low);
    double run = known ? log(time->high / time->low) / 2 : 0;
    half = hypot(hypot(half, run * FROM_95_TO_90), m->assumed) + m->range;
    double up = hypot(half, hypot(log(b->median / b->low), log(a->high / a->median)));
    double down = hypot(half, hypot(log(b->high / b->median), log(a->median / a->low)));
    down = hypot(down, m->idle);
    out->low_s = out->time_s * exp(-down);
    out->high_s = out->time_s * exp(up);
    estimate_set_kind(out);
}

void estimate_set_kind(struct estimate *e)
{
    const char *relation = e->class ? e->class->relation : "same";
    bool near = strcmp(relation, "same") == 0 || strcmp(relation, "other") == 0;
    bool sure = fmax(e->high_s / e->time_s, e->time_s / e->low_s) < ROUGH_FROM;
    e->kind = near && sure && !e->part ? ESTIMATE_ESTIMATED : ESTIMATE_ROUGH;
}

// ---- all of it

static bool same_device(const struct making *m)
{
    bool other_clock = m->to->clock_mhz > 0 || (m->to->rates && m->to->rates->list.count > 0);
    return m->from->gpus > 0 && m->to->gpus > 0 && !other_clock && slowed_by_share(m->to) == 1 &&
           strcmp(m->from->device->name, m->to->device->name) == 0;
}

// The time of as many samples: more GPUs need fewer steps of the same batch per GPU.
static void finish(struct making *m, const struct estimate_time *time)
{
    struct estimate *out = m->out;
    const struct estimate_bound *bound =
        estimate_bound(m->tables, m->from->gpus > 0 ? out->busy : -1);
    const char *fault =
        estimate_several(m->tables, m->run, m->from, m->to, bound ? bound->bound : "unknown",
                         out->device, &out->several);
    if (fault) {
        unknown(out, ESTIMATE_UNKNOWN, NO_FIGURE, fault);
        return;
    }
    out->time_s = time->s * out->device * out->several.factor;
    set_interval(m, time, &out->several.from, &out->several.to);
    if (!(out->time_s > 0 && isfinite(out->high_s) && out->low_s > 0))
        unknown(out, ESTIMATE_UNKNOWN, NO_FIGURE, "the rates of the devices give no figure");
}

// By the CPU time that it used: threads that waited for others used some of it for nothing.
static void make_least(struct making *m, const struct estimate_time *time)
{
    if (run_unknown_device(m->run)) {
        unknown(m->out, ESTIMATE_UNKNOWN, NO_FIGURE, NO_DEVICE);
        return;
    }
    double rate = m->from->cpus >= LEAST_CPUS ? cpu_rate(m, m->from) : 0;
    if (m->from->cpus_most > m->from->cpus)
        rate *= m->from->cpus / m->from->cpus_most;
    const struct least_ask ask = {
        .tables = m->tables,
        .run = m->run,
        .to = m->to,
        .time_s = time->s,
        .cpu_tflops = m->assumed > 0 ? rate / ASSUMED_FACTOR : rate,
    };
    m->out->part = slowed_by_share(m->to) > 1 || *m->to->device->part_of;
    least_make(&ask, m->out);
}

static const char *ratio_of(struct making *m)
{
    struct estimate *out = m->out;
    if (m->from->gpus == 0) {
        out->device = cpu_ratio(m);
        return m->noisy > log(NOISY_MOST)   ? TOO_NOISY
               : out->device > 0            ? NULL
               : run_unknown_device(m->run) ? NO_DEVICE
               : m->from->cpus > 0 && m->from->cpus < LEAST_CPUS
                   ? "the run hardly used its processor: it waits for something else"
                   : "the speed of the processor is not known";
    }
    bool waits = share_copied(m->run) > 0.5; // for the host's memory and its bus
    m->bound = estimate_bound(m->tables, waits ? 0 : out->busy);
    m->model = estimate_model(m->tables, out->net ? out->net : "unknown");
    if (!m->bound || !m->model)
        return "the tables of estimates have no row for it";
    m->traced = traced_known(m->run);
    out->device = any_precision(m);
    if (out->device > 0 && isfinite(out->device))
        return NULL;
    for (int i = 0; i < 2; i++) {
        const struct device *d = (i == 0 ? m->to : m->from)->device;
        enum rate_precision known = precision_of(m->run);
        const char *missing = rate_missing(d, known == RATE_UNKNOWN ? RATE_FP32 : known);
        if (!missing)
            continue;
        snprintf(out->why, sizeof out->why, "the %s of the %.80s is not known", missing, d->name);
        return out->why;
    }
    return "a rate of one of the GPUs is not known";
}

void estimate_make(const struct estimate_tables *tables, const struct run *run,
                   const struct estimate_place *from, const struct estimate_place *to,
                   const struct estimate_time *time, struct estimate *out)
{
    char why[200];
    struct making m = {.tables = tables, .run = run, .from = from, .to = to, .out = out};
    *out = (struct estimate){.busy = busy_of(run), .net = net_of(tables, run)};
    if (!(time->s > 0 && isfinite(time->s))) {
        unknown(out, ESTIMATE_UNKNOWN, NO_FIGURE, "the run's own time is not known");
        return;
    }
    bool processor = to->gpus == 0 && to->cpus > 0; // may be unknown
    if ((!to->device && !processor) || (from->gpus > 0 && !from->device)) {
        unknown(out, ESTIMATE_UNKNOWN, NO_FIGURE, "the device is not in the device table");
        return;
    }
    out->fit = estimate_memory(run, from, to, out->memory);
    const char *misfit = misfit_of(&m, why);
    if (misfit) {
        unknown(out, ESTIMATE_IMPOSSIBLE, misfit, why);
        return;
    }
    if (same_device(&m)) {
        out->device = 1;
        finish(&m, time);
        if (from->gpus == to->gpus && (from->machines > 1) == (to->machines > 1)) {
            out->kind = ESTIMATE_MEASURED;
            out->low_s = time->low > 0 ? time->low : time->s;
            out->high_s = time->high > 0 ? time->high : time->s;
        }
        return;
    }
    if (from->gpus > 0 && to->gpus == 0) {
        unknown(out, ESTIMATE_UNKNOWN, ESTIMATE_NO_GPU, ESTIMATE_NEEDS_CPU);
        return;
    }
    if (from->gpus == 0 && to->gpus > 0) {
        make_least(&m, time);
        return;
    }
    m.relation = relation_of(from, to);
    m.idle = log(slowed_by_share(to));
    out->part = to->gpus > 0 && (m.idle > 0 || *to->device->part_of);
    const char *fault = m.relation ? ratio_of(&m) : "such a pair of devices was never compared";
    if (!fault && !(out->class = class_of(&m)))
        fault = "nobody knows how far off such an estimate is";
    if (fault)
        unknown(out, ESTIMATE_UNKNOWN, NO_FIGURE, fault);
    else
        finish(&m, time);
}
