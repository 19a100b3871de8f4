// SPDX-License-Identifier: Apache-2.0
// Several GPUs: as many samples at the same batch per GPU. A ring carries the gradients in each
// step; the tables say what public trainings reached beside it.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "estimate/estimate.h"

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
