// SPDX-License-Identifier: Apache-2.0
#include "sample/gpm.h"

#include <math.h>

#include "base/clock.h"

enum { // nvmlGpmMetricId_t
    SM_UTIL = 2,
    ANY_TENSOR_UTIL = 5,
    DRAM_BW_UTIL = 10,
    PCIE_TX_PER_SEC = 20, // MiB/s
    PCIE_RX_PER_SEC = 21,
};
static const unsigned int asked[] = {SM_UTIL, ANY_TENSOR_UTIL, DRAM_BW_UTIL, PCIE_TX_PER_SEC,
                                     PCIE_RX_PER_SEC};
enum { ASKED = sizeof asked / sizeof *asked };

#define MIB_PER_S_MAX 1e6               // a terabyte a second: no such link
#define SHORTEST_NS   (100 * NS_PER_MS) // between two samples, by NVML's documentation

void gpm_close(struct gpm *gpm, const struct nvml_api *api)
{
    if (gpm->before)
        api->nvmlGpmSampleFree(gpm->before);
    if (gpm->now)
        api->nvmlGpmSampleFree(gpm->now);
    *gpm = (struct gpm){0};
}

void gpm_open(struct gpm *gpm, const struct nvml_api *api, struct nvml_device *device)
{
    struct nvml_gpm_support support = {.version = NVML_GPM_VERSION};
    *gpm = (struct gpm){0};
    if (!api->nvmlGpmQueryDeviceSupport || !api->nvmlGpmSampleAlloc || !api->nvmlGpmSampleFree ||
        !api->nvmlGpmSampleGet || !api->nvmlGpmMetricsGet ||
        api->nvmlGpmQueryDeviceSupport(device, &support) != NVML_SUCCESS || !support.supported)
        return;
    if (api->nvmlGpmSampleAlloc(&gpm->before) != NVML_SUCCESS)
        gpm->before = NULL;
    if (!gpm->before || api->nvmlGpmSampleAlloc(&gpm->now) != NVML_SUCCESS) {
        gpm->now = NULL;
        gpm_close(gpm, api);
    }
}

static struct maybe_real percent(const struct nvml_gpm_metric *m)
{
    // Counters of a short interval may come out a little over the whole.
    bool sane = m->code == NVML_SUCCESS && m->value >= 0 && m->value <= 101;
    return sane ? some_real(fmin(m->value, 100)) : (struct maybe_real){0};
}

static bool rate(const struct nvml_gpm_metric *m)
{
    return m->code == NVML_SUCCESS && m->value >= 0 && m->value <= MIB_PER_S_MAX;
}

// False: a failure.
static bool ask(struct gpm *gpm, const struct nvml_api *api, struct nvml_gpm_metrics *get)
{
    *get = (struct nvml_gpm_metrics){
        .version = NVML_GPM_VERSION, .count = ASKED, .before = gpm->before, .now = gpm->now};
    for (int i = 0; i < ASKED; i++)
        get->metrics[i] = (struct nvml_gpm_metric){.id = asked[i], .code = NVML_UNKNOWN};
    return api->nvmlGpmMetricsGet(get) == NVML_SUCCESS;
}

void gpm_read(struct gpm *gpm, const struct nvml_api *api, struct nvml_device *device,
              int64_t at_ns, struct gpm_activity *out)
{
    struct nvml_gpm_metrics get = {0};
    bool known = gpm->taken;
    *out = (struct gpm_activity){0};
    if (!gpm->now || (gpm->taken && at_ns - gpm->before_ns < SHORTEST_NS))
        return;
    if (api->nvmlGpmSampleGet(device, gpm->now) != NVML_SUCCESS ||
        (known && !ask(gpm, api, &get))) {
        gpm_close(gpm, api);
        return;
    }
    struct nvml_gpm_sample *oldest = gpm->before;
    gpm->before = gpm->now;
    gpm->now = oldest;
    gpm->before_ns = at_ns;
    gpm->taken = true;
    if (!known)
        return;
    out->sm_percent = percent(&get.metrics[0]);
    out->tensor_percent = percent(&get.metrics[1]);
    out->dram_percent = percent(&get.metrics[2]);
    if (rate(&get.metrics[3]) && rate(&get.metrics[4]))
        out->pcie_bytes_per_s =
            some_real((get.metrics[3].value + get.metrics[4].value) * (1 << 20));
}
