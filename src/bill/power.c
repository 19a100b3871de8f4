// SPDX-License-Identifier: Apache-2.0
#include "bill/power.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"

#define NS_PER_HOUR (3600 * NS_PER_S)
#define MW_PER_KW   INT64_C(1000000)
#define MJ_PER_KWH  INT64_C(3600000000) // millijoules
#define MOST_W      1e6

// Sums over the GPUs used; below 0: not measured.
static double gpu_watts(const struct run *run)
{
    double watts = -1, wall_s = (double)run->phases.wall_ns.v / 1e9;
    for (size_t i = 0; i < run->use.gpu_list.count; i++) {
        struct maybe_real w = run->use.gpu_list.items[i].power_w;
        if (w.known)
            watts = fmax(watts, 0) + w.v;
    }
    if (watts < 0 && run->use.gpu_energy_j.known && wall_s > 0)
        watts = run->use.gpu_energy_j.v / wall_s;
    return watts;
}

static double cpu_watts(const struct run *run)
{
    double wall_s = (double)run->phases.wall_ns.v / 1e9;
    return run->use.cpu_energy_j.known && wall_s > 0 ? run->use.cpu_energy_j.v / wall_s : -1;
}

static const char *gpu_name(const struct run *run)
{
    const struct run_use *use = &run->use;
    return use->gpu_list.count > 0 && use->gpu_list.items[0].name ? use->gpu_list.items[0].name
                                                                  : run->machine.gpu;
}

// The rest of the host is not measured: its share is assumed, or the processors' own if more.
static int with_host(struct market *market, const struct run *run, double gpus, double cpus,
                     struct power *out, struct err *err)
{
    const struct hosts *hosts;
    TRY(market_hosts(market, &hosts, err));
    const struct hosts_row *row = hosts_find(hosts, gpu_name(run));
    double share = row ? (double)row->share / MONEY_UNIT : 1;
    double watts = fmax(gpus * share, gpus + fmax(cpus, 0));
    if (!(watts > 0 && watts < MOST_W))
        return 0;
    out->mw = llround(watts * 1000);
    if (row && gpus * share >= watts)
        snprintf(out->how, sizeof out->how,
                 "from %.0f W measured at the GPUs, × %g for the rest of a %s", gpus, share,
                 row->machine ? row->machine : "machine");
    else
        snprintf(out->how, sizeof out->how, "GPUs%s measured, without the rest of the machine",
                 cpus > 0 ? " and processors" : "");
    return 0;
}

int power_of_run(struct market *market, const struct run *run, const struct power_given *given,
                 struct power *out, struct err *err)
{
    double gpus = gpu_watts(run), cpus = cpu_watts(run);
    *out = (struct power){.mw = -1};
    if (given->busy_mw >= 0) {
        out->mw = given->busy_mw;
        snprintf(out->how, sizeof out->how, "as given");
    } else if (gpus > 0) {
        return with_host(market, run, gpus, cpus, out, err);
    } else if (cpus > 0 && cpus < MOST_W) {
        out->mw = llround(cpus * 1000);
        snprintf(out->how, sizeof out->how, "processors measured, without the rest of the machine");
    }
    return 0;
}

double power_kwh(int64_t mw, int64_t ns)
{
    return (double)mw / MW_PER_KW * ((double)ns / NS_PER_HOUR);
}

int power_cost(int64_t mw, int64_t ns, int64_t kwh, int64_t *nano_usd, struct err *err)
{
    __int128 mj = (__int128)mw * ns / NS_PER_S;
    if (mj > INT64_MAX)
        return err_set(err, ERR_OVERFLOW, "more power than there is");
    return money_scale(kwh, (int64_t)mj, MJ_PER_KWH, MONEY_HALF_EVEN, nano_usd, err);
}

void power_words(const struct power *power, int64_t ns, int64_t kwh, struct buf *out)
{
    char text[MONEY_BYTES];
    int64_t cost = 0;
    if (power->mw < 0) {
        buf_adds(out, "unknown");
        return;
    }
    if (kwh >= 0 && power_cost(power->mw, ns, kwh, &cost, NULL) == 0) {
        money_short(cost, text);
        buf_printf(out, "%s USD for ", text);
    }
    buf_printf(out, "%.3g kWh (%.0f W, %s)", power_kwh(power->mw, ns), (double)power->mw / 1000,
               power->how);
}
