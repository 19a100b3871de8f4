// SPDX-License-Identifier: Apache-2.0
// Several GPUs. The table has what public trainings reached; gradients that do not pass
// the link in time lower it.
#include <math.h>
#include <string.h>

#include "estimate/estimate.h"

#define GRADIENT_BYTES 4.0       // of a parameter: frameworks keep them in fp32
#define BACKWARD       (2.0 / 3) // its share of a step: twice the work of the forward pass

// The smallest row with that many GPUs; null: none.
static const struct estimate_scaling *row_of(const struct estimate_tables *tables, const char *link,
                                             int gpus)
{
    const struct estimate_scaling *best = NULL;
    for (size_t i = 0; i < tables->scalings.count; i++) {
        const struct estimate_scaling *s = &tables->scalings.items[i];
        if (strcmp(s->link, link) == 0 && s->gpus >= gpus && (!best || s->gpus < best->gpus))
            best = s;
    }
    return best;
}

// Seconds of a ring: every GPU sends and receives all gradients nearly twice.
static double ring_s(const struct device *device, int gpus, double parameters)
{
    double bytes_per_s = 1e6 * (device->link_mbs > 0 ? device->link_mbs / 2.0 : device->host_mbs);
    return bytes_per_s > 0 ? 2.0 * (gpus - 1) / gpus * parameters * GRADIENT_BYTES / bytes_per_s
                           : 0;
}

bool estimate_efficiency(const struct estimate_tables *tables, const struct estimate_place *place,
                         double parameters, double step_s, struct estimate_efficiency *out)
{
    const struct device *device = place->device;
    bool one_machine = place->machines <= 1;
    *out = (struct estimate_efficiency){1, 1, 1};
    if (place->gpus <= 1)
        return place->gpus == 1;
    const char *link = !one_machine ? "nodes" : device->link_mbs > 0 ? "nvlink" : "pcie";
    const struct estimate_scaling *row = row_of(tables, link, place->gpus);
    if (!row)
        return false;
    *out = (struct estimate_efficiency){row->median, row->low, row->high};
    bool known = parameters > 0 && step_s > 0 && isfinite(parameters) && isfinite(step_s);
    if (!known || !one_machine)
        return true;
    double waits_s = fmax(0, ring_s(device, place->gpus, parameters) - BACKWARD * step_s);
    double most = step_s / (step_s + waits_s);
    if (most < out->median) {
        out->low *= most / out->median;
        out->median = most;
    }
    out->high = fmin(out->high, most);
    return true;
}
