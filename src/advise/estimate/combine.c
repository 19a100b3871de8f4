// SPDX-License-Identifier: Apache-2.0
// Evidence beside the formula: reference runs, several sources, the errors that a user saw.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "advise/estimate/estimate.h"

#define LEAST_HALF 1e-3 // half-width as a logarithm: nothing is surer

// Own errors count one each, the table's as many as this; the interval is never narrower than this
// share of the table's.
#define TABLE_COUNTS 20.0
#define NARROWEST    0.7
#define WIDEST       10.0
#define LEVEL        0.9
#define BISECTIONS   50

static bool is_estimate(const struct estimate *e)
{
    return e->kind == ESTIMATE_ESTIMATED || e->kind == ESTIMATE_ROUGH;
}

static double up_of(const struct estimate *e)
{
    return log(e->high_s / e->time_s);
}

static double down_of(const struct estimate *e)
{
    return log(e->time_s / e->low_s);
}

static double half_of(const struct estimate *e)
{
    return fmax(log(e->high_s / e->low_s) / 2, LEAST_HALF);
}

static void set_interval(struct estimate *e, double down, double up)
{
    e->low_s = e->time_s * exp(-down);
    e->high_s = e->time_s * exp(up);
    estimate_set_kind(e);
}

// ---- reference runs

// A half-width in which the class's part becomes another's.
static double replaced(double half, double old, double new)
{
    return sqrt(fmax(half * half - old * old, 0) + new *new);
}

bool estimate_calibrate(const struct estimate_tables *tables,
                        const struct estimate_calibration *calibration, struct estimate *e)
{
    const struct estimate_constant *prior = estimate_constant(tables, "reference_prior");
    const struct estimate_errors *old = e->class;
    double count = (double)calibration->trainings;
    bool plain = is_estimate(e) && old && strcmp(old->trace, "no") == 0 && e->part_count == 0 &&
                 !e->guessed_precision;
    if (!plain || !prior || count == 0 || !isfinite(calibration->error))
        return false;
    const struct estimate_class class = {old->relation, old->bound, old->scale, "reference",
                                         old->kind};
    const struct estimate_errors *new = estimate_errors(tables, &class);
    if (!new)
        return false;
    double shift = exp(calibration->error * count / (count + prior->value));
    double from = log(old->factor[ESTIMATE_90]), to = log(new->factor[ESTIMATE_90]);
    double down = replaced(down_of(e), from, to), up = replaced(up_of(e), from, to);
    struct estimate calibrated = *e;
    calibrated.class = new;
    calibrated.device *= shift;
    calibrated.time_s *= shift;
    set_interval(&calibrated, down, up);
    if (!(calibrated.low_s > 0 && isfinite(calibrated.high_s)))
        return false;
    *e = calibrated;
    return true;
}

// ---- several sources

void estimate_combine(const struct estimate_tables *tables, const struct estimate *sources,
                      size_t count, double weights[ESTIMATE_SOURCES], struct estimate *out)
{
    const struct estimate_constant *c = estimate_constant(tables, "source_correlation");
    double sum = 0, middle = 0, least = half_of(&sources[0]);
    memset(weights, 0, ESTIMATE_SOURCES * sizeof *weights);
    *out = sources[0];
    if (!c || c->value > 1 || !is_estimate(out))
        count = 1;
    for (size_t i = 0; i < count; i++) {
        weights[i] = 1 / (half_of(&sources[i]) * half_of(&sources[i]));
        least = fmin(least, half_of(&sources[i]));
        sum += weights[i];
        middle += weights[i] * log(sources[i].time_s);
    }
    for (size_t i = 0; i < count; i++)
        weights[i] /= sum;
    if (count < 2)
        return;
    double half = sqrt(c->value * least * least + (1 - c->value) / sum);
    double down = down_of(out), up = up_of(out), share = half / half_of(out);
    out->time_s = exp(middle / sum);
    set_interval(out, down * share, up * share);
}

// ---- the errors that a user saw

// Share of the table's errors up to s half-widths, by its quantiles; nothing is known beyond the
// last of them.
static double table_share(const struct estimate_errors *class, double s)
{
    static const double levels[ESTIMATE_LEVELS] = {0.5, 0.8, 0.9, 0.95};
    double unit = log(class->factor[ESTIMATE_90]), at = 0, level = 0;
    for (size_t i = 0; i < ESTIMATE_LEVELS; i++) {
        double next = log(class->factor[i]) / unit;
        if (s < next)
            return level + (levels[i] - level) * (s - at) / (next - at);
        at = next;
        level = levels[i];
    }
    return level;
}

static bool covers(const struct estimate_errors *class, const double *errors, size_t count,
                   double s)
{
    double inside = TABLE_COUNTS * table_share(class, s);
    for (size_t i = 0; i < count; i++)
        inside += errors[i] <= s;
    return inside >= LEVEL * (TABLE_COUNTS + (double)count) - 1e-9;
}

double estimate_learn(const struct estimate_errors *class, const double *errors, size_t count)
{
    if (count == 0 || !(class->factor[ESTIMATE_90] > 1))
        return 1;
    double low = NARROWEST, unit = log(class->factor[ESTIMATE_90]);
    double high = fmax(log(class->factor[ESTIMATE_95]) / unit, 1);
    for (size_t i = 0; i < count; i++) {
        if (!(errors[i] >= 0 && isfinite(errors[i])))
            return 1;
        high = fmax(high, errors[i]);
    }
    if (covers(class, errors, count, low))
        return low;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = (low + high) / 2;
        *(covers(class, errors, count, middle) ? &high : &low) = middle;
    }
    return fmin(high, WIDEST);
}

void estimate_stretch(struct estimate *e, double factor)
{
    if (is_estimate(e) && factor > 0 && isfinite(factor))
        set_interval(e, down_of(e) * factor, up_of(e) * factor);
}

// Several GPUs: as many samples at the same batch per GPU. A ring carries the gradients in each
// step; the tables say what public trainings reached beside it.

#define GRADIENT_BYTES 4.0       // of a parameter: frameworks keep them in fp32
#define BACKWARD       (2.0 / 3) // its share of a step: twice the work of the forward pass
#define DATA_BOUND     0.1       // a run that waits longer for data, as a share of the step

struct link {
    const char *key; // of the tables
    const char *name;
    double bytes_per_s; // in one direction, by the data sheet; 0: unknown
};

static struct link link_of(const struct estimate_place *place)
{
    const struct device *d = place->device;
    if (place->machines > 1)
        return (struct link){"nodes", "the network", 0};
    if (d->link_mbs > 0)
        return (struct link){"nvlink", strcmp(d->vendor, "amd") == 0 ? "Infinity Fabric" : "NVLink",
                             d->link_mbs / 2.0 * 1e6};
    return (struct link){"pcie", "PCIe", d->host_mbs * 1e6};
}

// The smallest row with that many GPUs; null: none.
static const struct estimate_scaling *row_of(const struct estimate_tables *tables, const char *link,
                                             const char *bound, const char *parameters, int gpus)
{
    const struct estimate_scaling *best = NULL;
    for (size_t i = 0; i < tables->scalings.count; i++) {
        const struct estimate_scaling *s = &tables->scalings.items[i];
        if (strcmp(s->link, link) == 0 && strcmp(s->bound, bound) == 0 &&
            strcmp(s->parameters, parameters) == 0 && s->gpus >= gpus &&
            (!best || s->gpus < best->gpus))
            best = s;
    }
    return best;
}

// "pcie_reach"; `otherwise` if the table lacks it.
static double constant_of(const struct estimate_tables *tables, const char *link, const char *what,
                          double otherwise)
{
    char name[48];
    snprintf(name, sizeof name, "%s_%s", link, what);
    const struct estimate_constant *c = estimate_constant(tables, name);
    return c ? c->value : otherwise;
}

// Every GPU sends and receives all gradients nearly twice. A share of that is never hidden; the
// rest hides behind the backward pass as far as it fits.
static void set_ring(const struct estimate_tables *tables, const struct link *link, int gpus,
                     double parameters, double step_s, struct estimate_efficiency *out)
{
    out->bytes = parameters * GRADIENT_BYTES;
    out->reach = constant_of(tables, link->key, "reach", 1);
    out->step_s = step_s;
    out->ring_s = 2.0 * (gpus - 1) / gpus * out->bytes / (out->reach * link->bytes_per_s);
    out->exposed_s = fmax(constant_of(tables, link->key, "exposed", 0) * out->ring_s,
                          out->ring_s - BACKWARD * step_s);
    out->exposed_s = fmax(out->exposed_s, 0);
}

const char *estimate_efficiency(const struct estimate_tables *tables,
                                const struct estimate_place *place, const char *bound,
                                double parameters, double step_s, struct estimate_efficiency *out)
{
    struct link link = link_of(place);
    *out = (struct estimate_efficiency){.median = 1, .low = 1, .high = 1};
    if (place->gpus == 1)
        return NULL;
    if (place->machines <= 1 && link.bytes_per_s <= 0)
        return "how its GPUs are linked is not in the device table";
    // Nobody published how AMD's scale: the rows of all runs.
    const char *class = strcmp(place->device->vendor, "amd") == 0 ? "unknown" : bound;
    const struct estimate_scaling *known = row_of(tables, link.key, class, "known", place->gpus);
    const struct estimate_scaling *any = row_of(tables, link.key, class, "unknown", place->gpus);
    if (!any)
        return "nobody measured that many GPUs together";
    out->link = link.name;
    out->bytes_per_s = link.bytes_per_s;
    out->median = any->median;
    out->low = any->low;
    out->high = any->high;
    out->rows = any->rows;
    bool ring = parameters > 0 && isfinite(parameters) && step_s > 0 && isfinite(step_s) &&
                place->machines <= 1;
    if (!ring)
        return NULL;
    set_ring(tables, &link, place->gpus, parameters, step_s, out);
    double most = step_s / (step_s + out->exposed_s);
    if (known) { // no public training of the class went beyond the other row
        out->median = fmin(most * known->median, any->high);
        out->low = fmin(most * known->low, out->median);
        out->high = fmin(most * known->high, any->high);
        out->rows = known->rows;
    } else {
        double less = fmin(1, most / any->median);
        out->median *= less;
        out->low *= less;
        out->high = fmin(any->high, most);
    }
    return NULL;
}

// The step of one GPU from that of several: what is added to it depends on it. A run on n is at
// least as fast as on one.
static double step_of_one(const struct estimate_tables *tables, const struct estimate_place *from,
                          double parameters, double step_s)
{
    struct estimate_efficiency ring;
    if (from->gpus <= 1 || from->machines > 1 || !(parameters > 0))
        return step_s;
    struct link link = link_of(from);
    if (link.bytes_per_s <= 0)
        return step_s;
    set_ring(tables, &link, from->gpus, parameters, 0, &ring);
    double always_s = constant_of(tables, link.key, "exposed", 0) * ring.ring_s;
    double one_s = fmin(step_s - always_s, (step_s - ring.ring_s) / (1 - BACKWARD));
    return fmax(one_s, step_s / from->gpus);
}

const char *estimate_several(const struct estimate_tables *tables, const struct run *run,
                             const struct estimate_place *from, const struct estimate_place *to,
                             const char *bound, double device, struct estimate_several *out)
{
    static const struct estimate_efficiency one = {.median = 1, .low = 1, .high = 1};
    int gpus = from->gpus > 0 ? from->gpus : 1;
    *out = (struct estimate_several){one, one, 1, bound};
    if (to->gpus == 0 || (gpus == to->gpus && (from->machines > 1) == (to->machines > 1)))
        return NULL;
    if (to->gpus > gpus && run->account.data_share.known && run->account.data_share.v >= DATA_BOUND)
        return "the GPU waits for data during a tenth of the step or more: more GPUs do not make "
               "it faster unless data comes faster";
    double parameters = run->parameters.known ? (double)run->parameters.v : 0;
    double step_s = run->step_ms.known ? run->step_ms.v / 1e3 : 0;
    double one_s = step_of_one(tables, from, parameters, step_s);
    const char *fault = NULL;
    if (gpus > 1)
        fault = estimate_efficiency(tables, from, bound, parameters, one_s, &out->from);
    if (!fault)
        fault = estimate_efficiency(tables, to, bound, parameters, one_s * device, &out->to);
    out->factor = gpus * out->from.median / (to->gpus * out->to.median);
    return fault;
}

// Estimates in words.

void estimate_spread(const struct estimate *e, char out[ESTIMATE_SPREAD])
{
    double factor = fmax(e->high_s / e->time_s, e->time_s / e->low_s);
    if (e->kind == ESTIMATE_ESTIMATED)
        snprintf(out, ESTIMATE_SPREAD, "±%.0f %%", ceil(100 * (factor - 1) - 1e-9));
    else if (e->kind > ESTIMATE_ESTIMATED)
        snprintf(out, ESTIMATE_SPREAD, factor < 9.95 ? "×%.1f" : "×%.0f", factor);
    else
        *out = '\0';
}

void estimate_words(const struct estimate *e, char out[ESTIMATE_WORDS])
{
    static const char *const plain[] = {[ESTIMATE_UNKNOWN] = "unknown",
                                        [ESTIMATE_IMPOSSIBLE] = "does not fit",
                                        [ESTIMATE_MEASURED] = "measured",
                                        [ESTIMATE_BOUND] = "lower bound"};
    char spread[ESTIMATE_SPREAD];
    estimate_spread(e, spread);
    if (e->kind < ESTIMATE_ESTIMATED)
        snprintf(out, ESTIMATE_WORDS, "%s", plain[e->kind]);
    else
        snprintf(out, ESTIMATE_WORDS, "%s %s",
                 e->modelled                     ? "from the model"
                 : e->kind == ESTIMATE_ESTIMATED ? "estimated"
                                                 : "rough",
                 spread);
    size_t len = strlen(out);
    if (e->kind >= ESTIMATE_MEASURED && e->fit == ESTIMATE_FIT_UNSURE)
        snprintf(out + len, ESTIMATE_WORDS - len, ", may not fit");
}

static const char *say(const char *const pairs[][2], const char *word)
{
    for (size_t i = 0; pairs[i][0]; i++)
        if (strcmp(pairs[i][0], word) == 0)
            return pairs[i][1];
    return word;
}

void estimate_class_words(const struct estimate *e, struct buf *out)
{
    static const char *const words[][2] = {{"same", "the same architecture"},
                                           {"other", "another architecture"},
                                           {"amd", "another AMD GPU"},
                                           {"vendor", "another vendor"},
                                           {"cpu", "from a CPU to a CPU"},
                                           {NULL, NULL}},
                             *const bounds[][2] = {{"gpu", "bound by the GPU"},
                                                   {"mixed", "partly bound by the GPU"},
                                                   {"host", "bound by the host"},
                                                   {"unknown", "unknown whether bound by the GPU"},
                                                   {NULL, NULL}},
                             *const scales[][2] = {{"one", "one GPU"},
                                                   {"several", "several GPUs"},
                                                   {"nodes", "several machines"},
                                                   {NULL, NULL}},
                             *const traces[][2] = {{"no", "without a trace"},
                                                   {"sheet", "traced, with data-sheet rates"},
                                                   {"measured", "traced, with measured rates"},
                                                   {"reference", "corrected by reference runs"},
                                                   {NULL, NULL}};
    const struct estimate_errors *c = e->class;
    if (e->kind == ESTIMATE_BOUND) {
        buf_printf(out,
                   "from a CPU to a GPU, a lower bound, since a CPU does not show what a GPU waits "
                   "for: %s",
                   e->why);
        return;
    }
    if (!c) {
        buf_printf(out, "the same device");
        return;
    }
    buf_printf(out, "%s", say(words, c->relation));
    if (strcmp(c->relation, "cpu") != 0)
        buf_printf(out, ", %s, %s, %s", say(bounds, c->bound), say(scales, c->scale),
                   say(traces, c->trace));
    if (e->part)
        buf_adds(out, ", part of a GPU");
    if (e->unknown_processor)
        buf_adds(out, ", processor unknown");
    buf_printf(out, ": %.0f pairs", c->pairs);
}

static void add_ring(const struct estimate_efficiency *e, struct buf *out)
{
    buf_printf(out,
               "communication: %s of gradients (4 bytes a parameter) over %s, %.3g GB/s each "
               "way",
               units_bytes((int64_t)fmin(e->bytes, 1e18)).s, e->link, e->bytes_per_s / 1e9);
    if (e->reach < 1)
        buf_printf(out, ", %.0f %% of it reached", 100 * e->reach);
    buf_printf(out, ": %.3g ms, %.0f %% of a step of one GPU; %.0f %% of it overlaps\n",
               1e3 * e->ring_s, 100 * e->ring_s / e->step_s, 100 * (1 - e->exposed_s / e->ring_s));
}

void estimate_several_words(const struct estimate *e, const struct estimate_place *from,
                            const struct estimate_place *to, struct buf *out)
{
    const struct estimate_efficiency *a = &e->several.from, *b = &e->several.to;
    const struct estimate_efficiency *ring = b->ring_s > 0 ? b : a;
    if (to->gpus <= 1 && from->gpus <= 1)
        return;
    buf_printf(out, "GPUs: from %d to %d, the batch of each kept", from->gpus, to->gpus);
    if (a->link)
        buf_printf(out, "; efficiency of %d %.2f (%.2f to %.2f)", from->gpus, a->median, a->low,
                   a->high);
    if (b->link)
        buf_printf(out, "; efficiency of %d %.2f (%.2f to %.2f), %.0f rows", to->gpus, b->median,
                   b->low, b->high, b->rows);
    buf_adds(out, "\n");
    if (to->gpus > from->gpus && strcmp(e->several.bound, "host") == 0)
        buf_adds(out, "The host limits this run: more GPUs may bring little.\n");
    if (ring->ring_s > 0)
        add_ring(ring, out);
    else if (b->link)
        buf_printf(out,
                   "communication: over %s; the number of parameters or the step time is unknown, "
                   "so the efficiency is that of public trainings\n",
                   b->link);
}
