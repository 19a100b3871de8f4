// SPDX-License-Identifier: Apache-2.0
#include "sample/totals.h"

#define CARD_WATTS_MAX 10000 // a faster energy counter is broken

#define SHORTEST_S 0.05

static struct maybe_real difference(struct maybe_real then, struct maybe_real now)
{
    return then.known && now.known ? some_real(now.v - then.v) : (struct maybe_real){0};
}

// A counter's rate since the last reading.
static struct maybe_real rate(struct maybe_real then, struct maybe_real now, double seconds,
                              double scale)
{
    struct maybe_real by = difference(then, now);
    return by.known ? some_real(by.v * scale / seconds) : by;
}

static struct maybe_real real_of(struct maybe_int v)
{
    return v.known ? some_real((double)v.v) : (struct maybe_real){0};
}

static void host_add(struct totals *t, const struct reading *now)
{
    const struct reading *then = &t->last;
    double seconds = (double)(now->at_ns - then->at_ns) * 1e-9;
    // The last interval may be short. CPU time counts in ticks of 10 ms: a few of them tell
    // nothing.
    if (now->last && seconds < SHORTEST_S)
        return;
    struct maybe_real v[HOST_FIGURES] = {
        [HOST_CPU] = rate(then->run_cpu_s, now->run_cpu_s, seconds, 100),
        [HOST_OTHER] = rate(then->busy_cpu_s, now->busy_cpu_s, seconds, 100),
        [HOST_MEMORY] = real_of(now->memory_bytes),
        [HOST_POWER] = rate(then->cpu_energy_j, now->cpu_energy_j, seconds, 1),
        [HOST_WORKERS] = rate(then->workers_cpu_s, now->workers_cpu_s, seconds, 100),
        [HOST_DISK_WAIT] = rate(then->disk_wait_s, now->disk_wait_s, seconds, 1),
        [HOST_STALLED] = rate(then->io_stalled_s, now->io_stalled_s, seconds, 100),
    };
    // The two clocks differ by a tick; without this an idle machine would show -1 %.
    v[HOST_OTHER].known &= v[HOST_CPU].known;
    v[HOST_OTHER].v = v[HOST_OTHER].v > v[HOST_CPU].v ? v[HOST_OTHER].v - v[HOST_CPU].v : 0;
    history_add(&t->history, then->at_ns, now->at_ns, v);
}

static void energy_add(struct card_totals *card, struct maybe_int then, struct maybe_int now,
                       double seconds)
{
    if (!then.known && !now.known)
        return;
    if (!then.known || !now.known || now.v < then.v ||
        (double)(now.v - then.v) * 1e-3 > CARD_WATTS_MAX * (seconds + 0.1))
        card->energy_broken = true;
    else
        card->energy_j += (double)(now.v - then.v) * 1e-3;
}

static void larger(struct maybe_int *have, struct maybe_int now)
{
    if (now.known && (!have->known || now.v > have->v))
        *have = now;
}

static void throttle_add(struct card_totals *card, struct maybe_int bits)
{
    enum { POWER_CAP = 0x04, SLOWDOWN = 0x08, HEAT = 0x20 | 0x40, BRAKE = 0x80 };
    if (!bits.known)
        return;
    card->reasons_readings++;
    for (int b = 0; b < THROTTLE_BITS; b++)
        card->throttle_readings[b] += bits.v >> b & 1;
    bool heat = bits.v & HEAT, limit = bits.v & (POWER_CAP | BRAKE);
    card->heat_readings += heat;
    card->limit_readings += limit;
    card->slow_readings += (bits.v & SLOWDOWN) && !heat && !limit; // no reason given
}

static void mean_add(struct mean *mean, struct maybe_real value, double seconds)
{
    if (value.known) {
        mean->sum += value.v * seconds;
        mean->seconds += seconds;
    }
}

static void cards_add(struct totals *t, const struct reading *now)
{
    struct maybe_real v[GPUS_MAX * CARD_FIGURES] = {0};
    double seconds = (double)(now->at_ns - t->last.at_ns) * 1e-9;
    for (int i = 0; i < t->gpu_count; i++) {
        struct card_totals *card = &t->cards[i];
        const struct gpu_reading *then = &t->last.gpus[i], *gpu = &now->gpus[i];
        larger(&card->memory_peak_bytes, gpu->memory_bytes);
        larger(&card->temperature_max_c, gpu->temperature_c);
        throttle_add(card, gpu->throttle_bits);
        card->busy |= gpu->use_percent.known && gpu->use_percent.v > 0;
        if (t->readings > 0) {
            mean_add(&card->use, gpu->use_percent, seconds);
            mean_add(&card->sm, gpu->activity.sm_percent, seconds);
        }
        if (t->readings > 0 && !t->gpus[i].lost)
            energy_add(card, then->energy_mj, gpu->energy_mj, seconds);
        struct maybe_real *figures = &v[i * CARD_FIGURES];
        figures[CARD_USE] = gpu->use_percent;
        figures[CARD_MEMORY] = real_of(gpu->memory_bytes);
        figures[CARD_POWER] = gpu->power_w;
        figures[CARD_CLOCK] = gpu->clock_mhz;
        figures[CARD_HEAT] = real_of(gpu->temperature_c);
        figures[CARD_PCIE] = gpu->pcie_bytes_per_s;
        figures[CARD_SM] = gpu->activity.sm_percent;
        figures[CARD_TENSOR] = gpu->activity.tensor_percent;
        figures[CARD_DRAM] = gpu->activity.dram_percent;
        figures[CARD_LINK] = gpu->activity.pcie_bytes_per_s;
    }
    if (t->readings > 0)
        history_add(&t->history, t->last.at_ns, now->at_ns, v);
}

// Counters keep their last known value: an ended process keeps its use.
static void keep(struct reading *last, const struct reading *now)
{
    struct reading before = *last;
    *last = *now;
    if (!now->run_cpu_s.known)
        last->run_cpu_s = before.run_cpu_s;
    if (!now->workers_cpu_s.known)
        last->workers_cpu_s = before.workers_cpu_s;
    if (!now->disk_wait_s.known)
        last->disk_wait_s = before.disk_wait_s;
    if (!now->memory_peak_bytes.known)
        last->memory_peak_bytes = before.memory_peak_bytes;
    if (!now->disk_read_bytes.known)
        last->disk_read_bytes = before.disk_read_bytes;
    if (!now->disk_write_bytes.known)
        last->disk_write_bytes = before.disk_write_bytes;
}

void totals_add(struct totals *t, const struct reading *reading)
{
    if (t->readings > 0 && reading->at_ns <= t->last.at_ns)
        return;
    if (t->history.width == HOST_FIGURES) {
        if (t->readings > 0)
            host_add(t, reading);
    } else {
        cards_add(t, reading);
    }
    if (t->readings == 0)
        t->first = *reading;
    keep(&t->last, reading);
    t->readings++;
}
