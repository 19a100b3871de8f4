// SPDX-License-Identifier: Apache-2.0
#include "machine/sample/totals.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/nvml.h"
#include "record/field.h"
#include "record/run.h"

static struct mean *figures_of(const struct figure_history *h, int point)
{
    return h->figures + (ptrdiff_t)point * h->width;
}

static struct maybe_real value_of(struct mean mean)
{
    return mean.seconds > 0 ? some_real(mean.sum / mean.seconds) : (struct maybe_real){0};
}

static void mean_add(struct mean *mean, struct maybe_real value, double seconds)
{
    if (value.known) {
        mean->sum += value.v * seconds;
        mean->seconds += seconds;
    }
}

void history_halve(struct figure_history *h)
{
    int half = (h->count + 1) / 2;
    for (int p = 0; p < half; p++) {
        struct mean *to = figures_of(h, p);
        h->when[p] = h->when[2 * p];
        memmove(to, figures_of(h, 2 * p), (size_t)h->width * sizeof *to);
        if (2 * p + 1 >= h->count)
            break;
        const struct mean *other = figures_of(h, 2 * p + 1);
        h->when[p].to_ns = h->when[2 * p + 1].to_ns;
        for (int f = 0; f < h->width; f++) {
            to[f].sum += other[f].sum;
            to[f].seconds += other[f].seconds;
        }
    }
    memset(figures_of(h, half), 0,
           (size_t)(h->count - half) * (size_t)h->width * sizeof *h->figures);
    h->count = half;
}

void history_add(struct figure_history *h, int64_t from_ns, int64_t to_ns,
                 const struct maybe_real *values)
{
    if (to_ns <= from_ns)
        return;
    h->stride = h->stride > 0 ? h->stride : 1;
    if (h->count == 0 || h->taken >= h->stride) {
        if (h->count == HISTORY_POINTS) {
            history_halve(h);
            h->stride *= 2;
        }
        h->when[h->count] = (struct stretch){from_ns, to_ns};
        h->count++;
        h->taken = 0;
    }
    struct mean *figures = figures_of(h, h->count - 1);
    double seconds = (double)(to_ns - from_ns) * 1e-9;
    h->when[h->count - 1].to_ns = to_ns;
    h->taken++;
    for (int f = 0; f < h->width; f++)
        mean_add(&figures[f], values[f], seconds);
}

struct maybe_real history_at(const struct figure_history *h, int point, int figure)
{
    assert(point < h->count && figure < h->width);
    return value_of(figures_of(h, point)[figure]);
}

static struct mean history_all(const struct figure_history *h, int figure)
{
    struct mean all = {0};
    for (int p = 0; p < h->count; p++) {
        all.sum += figures_of(h, p)[figure].sum;
        all.seconds += figures_of(h, p)[figure].seconds;
    }
    return all;
}

struct maybe_real history_mean(const struct figure_history *h, int figure)
{
    return value_of(history_all(h, figure));
}

double history_sum(const struct figure_history *h, int figure)
{
    return history_all(h, figure).sum;
}

struct maybe_real history_between(const struct figure_history *h, int figure, int64_t from_ns,
                                  int64_t to_ns)
{
    struct mean all = {0};
    for (int p = 0; p < h->count; p++) {
        const struct stretch *when = &h->when[p];
        int64_t from = when->from_ns > from_ns ? when->from_ns : from_ns;
        int64_t to = when->to_ns < to_ns ? when->to_ns : to_ns;
        if (to <= from)
            continue;
        double part = (double)(to - from) / (double)(when->to_ns - when->from_ns);
        all.sum += part * figures_of(h, p)[figure].sum;
        all.seconds += part * figures_of(h, p)[figure].seconds;
    }
    return value_of(all);
}

// ---- Sums

#define CARD_WATTS_MAX 10000 // a faster energy counter is broken

#define SHORTEST_S 0.05

// A counter's rate since the last reading.
static struct maybe_real rate(struct maybe_real then, struct maybe_real now, double seconds,
                              double scale)
{
    return then.known && now.known ? some_real((now.v - then.v) * scale / seconds)
                                   : (struct maybe_real){0};
}

static struct maybe_real real_of(struct maybe_int v)
{
    return v.known ? some_real((double)v.v) : (struct maybe_real){0};
}

static void host_add(struct totals *t, const struct sample_reading *now)
{
    const struct sample_reading *then = &t->last;
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

static void cards_add(struct totals *t, const struct sample_reading *now)
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
static void keep(struct sample_reading *last, const struct sample_reading *now)
{
    struct sample_reading before = *last;
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

void totals_add(struct totals *t, const struct sample_reading *reading)
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

// ---- Fills the run's record from the totals: figures, samples for plots, and taints.

#define SAMPLES_MAX 200 // per record

// Thresholds for taints. Beyond them a figure may be off by 1 % or more, too much to compare
// machines.
//
// An idle machine's daemons use some hundredths of a CPU, more on larger machines.
#define JUDGED_S        1.0 // CPU time counts in ticks of 10 ms: shorter runs tell nothing
#define OTHER_CPUS_MIN  0.1
#define OTHER_SHARE_MIN 0.02 // of the machine's CPUs
// Of all CPU time; less is the hypervisor's own housekeeping.
#define STEAL_SHARE_MIN 0.01
// Of the run's wall time.
#define QUOTA_SHARE_MIN 0.01
// Of the readings. Throttled clocks are 10 to 20 % lower, so 5 % of the time changes the mean by 1
// %.
#define THROTTLE_SHARE_MIN 0.05

struct filler {
    const struct totals *host, *gpu;
    const struct totals_context *context;
    struct run *run;
    bool used[GPUS_MAX];
    int used_count;
};

bool visible_names(const char *list, const struct gpu *gpu)
{
    if (!list)
        return true;
    for (const char *at = list;;) {
        while (*at == ' ')
            at++;
        size_t len = strcspn(at, ", ");
        if (len == 0)
            return false;
        if (strspn(at, "0123456789") == len && len < 6) {
            if (strtol(at, NULL, 10) == gpu->index)
                return true;
        } else if (len > 4 && strncmp(at, "GPU-", 4) == 0) {
            if (strncmp(at, gpu->uuid, len) == 0)
                return true;
        } else {
            return false; // -1, NoDevFiles, MIG-...
        }
        at += len + strspn(at + len, " ");
        if (*at != ',')
            return false;
        at++;
    }
}

int totals_used(const struct totals *t, const struct totals_context *context, bool used[GPUS_MAX])
{
    bool seen = false;
    int count = 0;
    for (int i = 0; i < t->gpu_count; i++)
        seen |= t->gpus[i].ours;
    for (int i = 0; i < t->gpu_count; i++) {
        const struct gpu *gpu = &t->gpus[i];
        const char *list = gpu->vendor == GPU_AMD ? context->amd_visible : context->cuda_visible;
        used[i] = seen ? gpu->ours : t->cards[i].busy && !gpu->others && visible_names(list, gpu);
        count += used[i];
    }
    return count;
}

static struct filler filler_of(const struct totals *host, const struct totals *gpu,
                               const struct totals_context *context, struct run *run)
{
    struct filler f = {
        .host = host, .gpu = context->gpu_silent ? NULL : gpu, .context = context, .run = run};
    f.used_count = f.gpu ? totals_used(f.gpu, context, f.used) : 0;
    return f;
}

static struct maybe_int grown(struct maybe_int then, struct maybe_int now)
{
    if (!then.known || !now.known)
        return (struct maybe_int){0};
    return some_int(now.v > then.v ? now.v - then.v : 0);
}

static struct maybe_real grown_real(struct maybe_real then, struct maybe_real now)
{
    if (!then.known || !now.known)
        return (struct maybe_real){0};
    return some_real(now.v > then.v ? now.v - then.v : 0);
}

static int taint(struct filler *f, struct err *err, const char *format, ...) PRINTF_LIKE(3, 4);
static int taint(struct filler *f, struct err *err, const char *format, ...)
{
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return run_taint(f->run, text, err);
}

static int fill_host(struct filler *f, struct err *err)
{
    const struct totals *t = f->host;
    struct run_use *use = &f->run->use;
    const struct sample_reading *first = &t->first, *last = &t->last;
    double seconds = (double)(last->at_ns - first->at_ns) * 1e-9;
    use->samples = some_int(t->readings);
    if (t->readings < 2)
        return 0;
    use->interval_s = some_real(seconds / (double)(t->readings - 1));
    struct maybe_real cpu = grown_real(first->run_cpu_s, last->run_cpu_s);
    struct maybe_real busy = grown_real(first->busy_cpu_s, last->busy_cpu_s);
    struct maybe_real steal = grown_real(first->steal_cpu_s, last->steal_cpu_s);
    struct maybe_real all = grown_real(first->all_cpu_s, last->all_cpu_s);
    double others = cpu.known && busy.known && busy.v > cpu.v ? (busy.v - cpu.v) / seconds : 0;
    if (cpu.known)
        use->cpu_percent = some_real(100 * cpu.v / seconds);
    if (cpu.known && busy.known)
        use->other_cpu_percent = some_real(100 * others);
    if (steal.known && all.known && all.v > 0)
        use->steal_percent = some_real(100 * steal.v / all.v);
    use->memory_peak_bytes = last->memory_peak_bytes;
    use->disk_read_bytes = grown(first->disk_read_bytes, last->disk_read_bytes);
    use->disk_write_bytes = grown(first->disk_write_bytes, last->disk_write_bytes);
    use->network_in_bytes = grown(first->network_in_bytes, last->network_in_bytes);
    use->network_out_bytes = grown(first->network_out_bytes, last->network_out_bytes);
    use->throttled_ns = grown(first->throttled_ns, last->throttled_ns);
    use->cpu_energy_j = grown_real(first->cpu_energy_j, last->cpu_energy_j);

    double cpus = last->cpus.known ? (double)last->cpus.v : 1;
    if (seconds >= JUDGED_S && others >= OTHER_CPUS_MIN && others >= OTHER_SHARE_MIN * cpus)
        TRY(taint(f, err, "other programs used %.1f CPUs on average", others));
    if (seconds >= JUDGED_S && use->steal_percent.known &&
        use->steal_percent.v >= 100 * STEAL_SHARE_MIN)
        TRY(taint(f, err, "the hypervisor took %.0f %% of the CPU time", use->steal_percent.v));
    double held_s = use->throttled_ns.known ? (double)use->throttled_ns.v * 1e-9 : 0;
    if (held_s >= QUOTA_SHARE_MIN * seconds && held_s > 0)
        TRY(taint(f, err, "the cgroup's CPU quota throttled the run for %.1f s", held_s));
    return 0;
}

static struct maybe_real card_mean(const struct totals *t, int gpu, int figure)
{
    return history_mean(&t->history, gpu * CARD_FIGURES + figure);
}

static struct maybe_real card_energy(const struct totals *t, int gpu)
{
    const struct card_totals *card = &t->cards[gpu];
    if (t->first.gpus[gpu].energy_mj.known && !card->energy_broken && t->readings > 1)
        return some_real(card->energy_j);
    struct maybe_real power = card_mean(t, gpu, CARD_POWER);
    return power.known ? some_real(history_sum(&t->history, gpu * CARD_FIGURES + CARD_POWER))
                       : power;
}

static int taint_throttled(struct filler *f, const struct gpu *gpu, int64_t readings, int64_t of,
                           const char *by, struct err *err)
{
    double share = of > 0 ? (double)readings / (double)of : 0;
    if (share < THROTTLE_SHARE_MIN)
        return 0;
    return taint(f, err, "GPU %d" RUN_THROTTLED "%s in %.0f %% of the samples", gpu->index, by,
                 100 * share);
}

static int taint_card(struct filler *f, int i, struct err *err)
{
    const struct gpu *gpu = &f->gpu->gpus[i];
    const struct card_totals *card = &f->gpu->cards[i];
    int64_t of = card->reasons_readings;
    TRY(taint_throttled(f, gpu, card->heat_readings, of, "heat", err));
    TRY(taint_throttled(f, gpu, card->limit_readings, of, "its power limit", err));
    TRY(taint_throttled(f, gpu, card->slow_readings, of, "its hardware", err));
    if (gpu->others)
        TRY(taint(f, err, "another program used GPU %d", gpu->index));
    if (gpu->lost)
        TRY(taint(f, err, "GPU %d was lost during the run", gpu->index));
    return 0;
}

static int fill_card(struct filler *f, int i, struct err *err)
{
    const struct totals *t = f->gpu;
    const struct card_totals *card = &t->cards[i];
    struct run_gpu *out = LIST_ADD(&f->run->use.gpu_list, err);
    if (!out)
        return ERR_MEMORY;
    out->index = some_int(t->gpus[i].index);
    out->use_percent = card_mean(t, i, CARD_USE);
    out->memory_peak_bytes = card->memory_peak_bytes;
    out->power_w = card_mean(t, i, CARD_POWER);
    out->energy_j = card_energy(t, i);
    out->clock_mhz = card_mean(t, i, CARD_CLOCK);
    out->temperature_max_c = card->temperature_max_c;
    struct maybe_real pcie = card_mean(t, i, CARD_PCIE);
    if (pcie.known)
        out->pcie_bytes =
            some_int((int64_t)(pcie.v * 1e-9 * (double)(t->last.at_ns - t->first.at_ns)));
    TRY(text_set(&out->name, t->gpus[i].name, err));
    TRY(text_set(&out->uuid, t->gpus[i].uuid, err));
    out->throttling.known = card->reasons_readings > 0;
    for (int r = 0; r < NVML_REASONS; r++)
        for (int b = 0; b < THROTTLE_BITS; b++)
            if (nvml_reasons[r].bit == 1ULL << b && card->throttle_readings[b] > 0)
                TRY(texts_add(&out->throttling, nvml_reasons[r].words, err));
    return taint_card(f, i, err);
}

static int fill_cards(struct filler *f, struct err *err)
{
    struct run_use *use = &f->run->use;
    if (!f->gpu || !f->gpu->gpus_known)
        return 0;
    use->gpus = some_int(f->used_count);
    use->gpu_list.known = true;
    double percent = 0, energy_j = 0;
    bool percent_known = f->used_count > 0, energy_known = f->used_count > 0;
    for (int i = 0; i < f->gpu->gpu_count; i++) {
        if (!f->used[i])
            continue;
        TRY(fill_card(f, i, err));
        const struct run_gpu *gpu = &use->gpu_list.items[use->gpu_list.count - 1];
        percent += gpu->use_percent.v;
        percent_known &= gpu->use_percent.known;
        energy_j += gpu->energy_j.v;
        energy_known &= gpu->energy_j.known; // a partial sum would mislead
        larger(&use->gpu_memory_peak_bytes, gpu->memory_peak_bytes);
    }
    if (percent_known)
        use->gpu_percent = some_real(percent / f->used_count);
    if (energy_known)
        use->gpu_energy_j = some_real(energy_j);
    return 0;
}

// Sum and maximum of the known values over the GPUs used.
struct over {
    double sum, most;
    int count;
};

static struct over over_used(const struct filler *f, int figure, const struct stretch *when)
{
    struct over over = {0};
    for (int i = 0; f->gpu && i < f->gpu->gpu_count; i++) {
        struct maybe_real v = {0};
        if (f->used[i])
            v = history_between(&f->gpu->history, i * CARD_FIGURES + figure, when->from_ns,
                                when->to_ns);
        if (!v.known)
            continue;
        over.sum += v.v;
        over.most = over.count == 0 || v.v > over.most ? v.v : over.most;
        over.count++;
    }
    return over;
}

static void fill_sample(const struct filler *f, int point, struct run_sample *out)
{
    const struct figure_history *h = &f->host->history;
    const struct stretch *when = &h->when[point];
    int64_t middle = when->from_ns + (when->to_ns - when->from_ns) / 2;
    out->at_s = some_real((double)(middle - f->context->start_ns) * 1e-9);
    out->cpu_percent = history_at(h, point, HOST_CPU);
    out->other_cpu_percent = history_at(h, point, HOST_OTHER);
    struct maybe_real memory = history_at(h, point, HOST_MEMORY);
    if (memory.known)
        out->memory_bytes = some_int((int64_t)memory.v);
    struct over use = over_used(f, CARD_USE, when), held = over_used(f, CARD_MEMORY, when),
                power = over_used(f, CARD_POWER, when), clock = over_used(f, CARD_CLOCK, when),
                heat = over_used(f, CARD_HEAT, when);
    struct maybe_real package = history_at(h, point, HOST_POWER);
    if (use.count > 0)
        out->gpu_percent = some_real(use.sum / use.count);
    if (held.count > 0)
        out->gpu_memory_bytes = some_int((int64_t)held.sum);
    if (power.count > 0 || package.known)
        out->power_w = some_real(power.sum + package.v);
    if (clock.count > 0)
        out->clock_mhz = some_real(clock.sum / clock.count);
    if (heat.count > 0)
        out->temperature_c = some_real(heat.most);
}

static int fill_samples(struct filler *f, struct err *err)
{
    const struct figure_history *h = &f->host->history;
    f->run->samples.known = true;
    for (int p = 0; p < h->count && p < SAMPLES_MAX; p++) {
        struct run_sample *sample = LIST_ADD(&f->run->samples, err);
        if (!sample)
            return ERR_MEMORY;
        fill_sample(f, p, sample);
    }
    return 0;
}

int totals_fill(struct totals *host, const struct totals *gpu, const struct totals_context *context,
                struct run *run, struct err *err)
{
    struct filler f = filler_of(host, gpu, context, run);
    while (host && host->history.count > SAMPLES_MAX)
        history_halve(&host->history);
    if (host)
        TRY(fill_host(&f, err));
    TRY(fill_cards(&f, err));
    if (host)
        TRY(fill_samples(&f, err));
    if (context->gpu_silent)
        TRY(taint(&f, err, "the GPU driver stopped responding: GPU use is unknown"));
    return 0;
}

// Other programs leave the run alone while they fit on the CPUs that it may not use.
static void fill_crowded(const struct filler *f, const struct stretch *when)
{
    struct maybe_real others =
        history_between(&f->host->history, HOST_OTHER, when->from_ns, when->to_ns);
    struct maybe_int cpus = f->host->last.cpus;
    struct maybe_real usable = f->run->machine.usable_cpus;
    double spare = cpus.known && usable.known ? fmax(0, 100 * ((double)cpus.v - usable.v)) : 0;
    if (others.known)
        f->run->use.steady.crowded_percent = some_real(fmax(0, others.v - spare));
}

void totals_steady(const struct totals *host_totals, const struct totals *gpu,
                   const struct totals_context *context, struct run *run)
{
    const struct filler f = filler_of(host_totals, gpu, context, run);
    const struct run_steady *steady = &run->steady;
    struct run_activity *out = &run->use.steady;
    if (!steady->from_s.known || !steady->to_s.known)
        return;
    const struct stretch when = {context->start_ns + (int64_t)(steady->from_s.v * 1e9),
                                 context->start_ns + (int64_t)(steady->to_s.v * 1e9)};
    const struct {
        int figure;
        struct maybe_real *to;
    } host[] = {{HOST_CPU, &out->cpu_percent},
                {HOST_WORKERS, &out->workers_cpu_percent},
                {HOST_DISK_WAIT, &out->disk_waiting},
                {HOST_STALLED, &out->io_pressure_percent}},
      cards[] = {{CARD_USE, &out->gpu_percent},
                 {CARD_SM, &out->sm_percent},
                 {CARD_TENSOR, &out->tensor_percent},
                 {CARD_DRAM, &out->dram_percent},
                 {CARD_LINK, &out->pcie_bytes_per_s}};
    for (size_t i = 0; f.host && i < sizeof host / sizeof *host; i++)
        *host[i].to = history_between(&f.host->history, host[i].figure, when.from_ns, when.to_ns);
    if (f.host)
        fill_crowded(&f, &when);
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        struct over over = over_used(&f, cards[i].figure, &when);
        if (over.count > 0 && over.count == f.used_count)
            *cards[i].to = some_real(over.sum / over.count);
    }
}
