// SPDX-License-Identifier: Apache-2.0
#include "measure/expect.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "machine/probe.h"
#include "tables/reached.h"

#define FAR_BELOW    0.85 // of the lowest usual share
#define SLOWER_SLOT  0.9  // of the card's own link
#define LOWER_POWER  0.95
#define LESS_MEMORY  0.85
#define PCIE_MOST    64000 // MB/s; a GPU with more has another link to its host
#define WHOLE_SOCKET 0.95  // of its cores: memory is then all its own

struct expecting {
    struct machine *machine;
    struct devices *devices;
    struct reached *reached;
    struct err *err;
    struct findings findings;
};

struct expect_measured {
    const char *device, *name, *operation, *precision;
    double per_s, specified;
    const char *specification;
    bool compared; // others measured in the same way
};

static bool is_gpu(const char *device)
{
    return strncmp(device, "gpu", 3) == 0;
}

// ---- in words

static struct units_text rate_words(const struct machine_expectation *x, double per_s)
{
    return x->unit && strcmp(x->unit, "flop/s") == 0 ? units_flops(per_s) : units_rate(per_s);
}

void expect_words(const struct machine_expectation *x, struct buf *out)
{
    static const char *const operations[][2] = {
        {"copy", "memory"}, {"to", "copies to it"}, {"from", "copies from it"}};
    const char *what = x->precision ? x->precision : x->operation;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        what = strcmp(x->operation, operations[i][0]) == 0 ? operations[i][1] : what;
    if (is_gpu(x->device))
        buf_printf(out, "GPU%s ", x->device + 3);
    const char *detail = strstr(x->specification, " (");
    size_t len = detail ? (size_t)(detail - x->specification) : strlen(x->specification);
    buf_printf(out, "%s %s, %.0f %% of the %.*s's %s%s", what, rate_words(x, x->per_s.v).s,
               100 * x->share.v, (int)len, x->specification, rate_words(x, x->specified_per_s.v).s,
               detail ? detail : "");
    if (x->usual_of)
        buf_printf(out, "; usual for %s: %.0f to %.0f %%", x->usual_of,
                   floor(100 * x->usual_low.v + 1e-9), ceil(100 * x->usual_high.v - 1e-9));
}

// ---- findings

static int find_far_below(struct expecting *e, const struct machine_expectation *x)
{
    bool gpu = is_gpu(x->device),
         link = strcmp(x->operation, "to") == 0 || strcmp(x->operation, "from") == 0;
    SCOPED(buf_release) struct buf evidence = {0};
    if (!x->usual_low.known || x->share.v >= FAR_BELOW * x->usual_low.v)
        return 0;
    expect_words(x, &evidence);
    TRY(buf_check(&evidence, e->err));
    finding(
        &e->findings, WARNING, "below-usual",
        link  ? "Data reaches the GPU more slowly than on machines of the same type."
        : gpu ? "A training takes longer here than on other machines with this GPU."
              : "A training on the CPU takes longer here than on other machines of this type.",
        link  ? "Check the link's width and generation under load (nvidia-smi -q), and run on the "
                "processor next to the GPU (numactl). On a rented machine, return it and take "
                "another."
        : gpu ? "Look for other programs on the GPU, throttling and a lowered power limit "
                "(nvidia-smi -q -d PERFORMANCE). On a rented machine, return it and take another."
              : "Measure again when no other program runs. If it stays, the machine is shared or "
                "lacks memory modules: take another.",
        "%s", buf_str(&evidence));
    return e->findings.rc;
}

// ---- expectations

static int add_expectation(struct expecting *e, const struct expect_measured *m)
{
    const struct device *device = device_find(e->devices, m->name);
    const char *kind = is_gpu(m->device) ? "gpu" : "cpu";
    struct reached_usual usual;
    if (!(m->per_s > 0 && m->specified > 0 && isfinite(m->per_s / m->specified)))
        return 0;
    struct machine_expectation *x = LIST_ADD(&e->machine->expectations, e->err);
    bool product = strcmp(m->operation, "product") == 0;
    if (!x || TEXTS_SET(e->err, {&x->device, m->device}, {&x->name, m->name},
                        {&x->operation, m->operation}, {&x->precision, m->precision},
                        {&x->unit, product ? "flop/s" : "byte/s"},
                        {&x->specification, m->specification}) != 0)
        return ERR_MEMORY;
    x->per_s = some_real(m->per_s);
    x->specified_per_s = some_real(m->specified);
    x->share = some_real(m->per_s / m->specified);
    if (!m->compared ||
        !reached_usual(e->reached, e->devices, kind, device, m->operation, m->precision, &usual))
        return 0;
    const char *vendor = device ? device->vendor : "";
    TRY(text_set(&x->usual_of,
                 usual.this_kind                 ? "this GPU"
                 : strcmp(kind, "cpu") == 0      ? "processors"
                 : strcmp(vendor, "nvidia") == 0 ? "NVIDIA GPUs"
                 : strcmp(vendor, "amd") == 0    ? "AMD GPUs"
                                                 : "GPUs",
                 e->err));
    x->usual_low = some_real(usual.low);
    x->usual_high = some_real(usual.high);
    x->usual_rows = some_int((int64_t)usual.rows);
    return find_far_below(e, x);
}

// "fp32" as the tables have it.
static const char *table_precision(const char *precision)
{
    return !precision                      ? NULL
           : strcmp(precision, "f32") == 0 ? "fp32"
           : strcmp(precision, "f16") == 0 ? "fp16"
                                           : precision;
}

// The fastest row of a device's products at a precision stands for all: libraries differ.
static bool is_fastest(const struct machine_rates *rates, const struct machine_rate *row)
{
    for (size_t i = 0; i < rates->list.count; i++) {
        const struct machine_rate *r = &rates->list.items[i];
        if (r != row && r->per_s.known && r->precision && strcmp(r->operation, "product") == 0 &&
            strcmp(r->device, row->device) == 0 && strcmp(r->precision, row->precision) == 0 &&
            (r->per_s.v > row->per_s.v || (r->per_s.v >= row->per_s.v && r < row)))
            return false;
    }
    return true;
}

static int gpu_rates(struct expecting *e)
{
    const struct machine_rates *rates = &e->machine->rates;
    for (size_t i = 0; i < rates->list.count; i++) {
        const struct machine_rate *r = &rates->list.items[i];
        const struct device *device = device_find(e->devices, r->name);
        bool product = strcmp(r->operation, "product") == 0;
        if (!device || !is_gpu(r->device) || !r->per_s.known ||
            (product && (!r->precision || !is_fastest(rates, r))))
            continue;
        const char *precision = product ? table_precision(r->precision) : NULL;
        const struct expect_measured m = {
            .device = r->device,
            .name = r->name,
            .operation = r->operation,
            .precision = precision,
            .per_s = r->per_s.v,
            .specified = reached_specified(device, r->operation, precision),
            .specification = "data sheet",
            .compared = !product || (r->by && strncmp(r->by, "cuBLASLt", 8) == 0)};
        TRY(add_expectation(e, &m));
    }
    return 0;
}

// GB/s of a lane, each way.
static double pcie_per_s(int64_t generation, int64_t width)
{
    static const double lane[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    bool known = generation > 0 && generation < (int64_t)(sizeof lane / sizeof *lane);
    return known && width > 0 && width <= 32 ? lane[generation] * 1e9 * (double)width : 0;
}

static int gpu_links(struct expecting *e)
{
    const struct machine_bandwidth *b = &e->machine->bandwidth;
    for (size_t i = 0; i < b->gpus.count; i++) {
        const struct machine_gpu_bandwidth *g = &b->gpus.items[i];
        const struct device *device = device_find(e->devices, g->name);
        struct short_text label = short_text("gpu %lld", (long long)g->index.v),
                          link = short_text("data sheet");
        double specified = device ? 1e6 * device->host_mbs : 0;
        double pcie = g->pcie_generation_loaded.known && g->pcie_width_loaded.known
                          ? pcie_per_s(g->pcie_generation_loaded.v, g->pcie_width_loaded.v)
                          : 0;
        if (pcie > 0 && (!device || device->host_mbs <= PCIE_MOST)) {
            specified = pcie;
            link = short_text("PCIe %lld.0 x%lld link", (long long)g->pcie_generation_loaded.v,
                              (long long)g->pcie_width_loaded.v);
        }
        const struct {
            const char *operation;
            struct maybe_real per_s;
        } ways[] = {{"to", g->to_device_pinned_bytes_per_s},
                    {"from", g->from_device_pinned_bytes_per_s}};
        for (size_t w = 0; w < 2; w++) {
            const struct expect_measured m = {.device = label.s,
                                              .name = g->name,
                                              .operation = ways[w].operation,
                                              .per_s = ways[w].per_s.known ? ways[w].per_s.v : 0,
                                              .specified = specified,
                                              .specification = link.s,
                                              .compared = true};
            TRY(add_expectation(e, &m));
        }
    }
    return 0;
}

// Rented machines have a part of a socket: its share of the memory is not known, and neither is a
// usual one.
static int processor(struct expecting *e)
{
    const struct machine_cpu *cpu = &e->machine->cpu;
    const struct device *device = device_find(e->devices, cpu->model);
    if (!device || !cpu->usable_cpus.known || !cpu->threads.known || !cpu->cores.known ||
        cpu->threads.v <= 0)
        return 0;
    double sockets = cpu->sockets.known && cpu->sockets.v > 0 ? (double)cpu->sockets.v : 1;
    double cores = cpu->usable_cpus.v * (double)cpu->cores.v / (double)cpu->threads.v;
    double mhz = device->boost_mhz > 0 ? device->boost_mhz : device->base_mhz;
    double all = sockets * device->units;
    bool whole = all > 0 && cores >= WHOLE_SOCKET * all;
    struct short_text has = short_text("data sheet"),
                      peak = short_text("processor (%.4g cores × %d operations × %.3g GHz)", cores,
                                        device->fp32_per_cycle, mhz / 1e3);
    if (!whole && all > 0)
        has = short_text("whole socket (%.4g of its %d cores are here)", cores / sockets,
                         device->units);
    else if (!whole)
        has = short_text("whole socket");
    for (size_t i = 0; i < e->machine->rates.list.count; i++) {
        const struct machine_rate *r = &e->machine->rates.list.items[i];
        bool copy = strcmp(r->operation, "copy") == 0;
        bool product = strcmp(r->operation, "product") == 0 && r->precision &&
                       strcmp(r->precision, "f32") == 0;
        if (strcmp(r->device, "cpu") != 0 || !r->per_s.known || !(copy || product))
            continue;
        const struct expect_measured m = {.device = "cpu",
                                          .name = cpu->model,
                                          .operation = r->operation,
                                          .precision = product ? "fp32" : NULL,
                                          .per_s = r->per_s.v,
                                          .specified =
                                              copy ? sockets * 1e6 * device->memory_mbs
                                                   : cores * device->fp32_per_cycle * mhz * 1e6,
                                          .specification = copy ? has.s : peak.s,
                                          .compared = product || whole};
        TRY(add_expectation(e, &m));
    }
    return 0;
}

// ---- facts that need no measurement

static void slot(struct expecting *e, const struct machine_gpu *g, const struct device *d,
                 const char *name)
{
    double has = g->pcie_generation_max.known && g->pcie_width_max.known
                     ? pcie_per_s(g->pcie_generation_max.v, g->pcie_width_max.v)
                     : 0;
    double sheet = 1e6 * d->host_mbs;
    if (has <= 0 || sheet <= 0 || d->host_mbs > PCIE_MOST || has >= SLOWER_SLOT * sheet)
        return;
    finding(&e->findings, NOTE, "pcie-slot",
            short_text("Copies to and from it take up to %.2g times as long as in a full slot.",
                       sheet / has)
                .s,
            "Trainings that wait for data gain from a machine with a faster slot.",
            "%s has a PCIe %lld.0 x%lld slot: %s each way, the data sheet has %s", name,
            (long long)g->pcie_generation_max.v, (long long)g->pcie_width_max.v, units_rate(has).s,
            units_rate(sheet).s);
}

static void power(struct expecting *e, const struct machine_gpu *g, const struct device *d,
                  const char *name)
{
    struct maybe_int limit = g->power_limit_default_mw;
    double watts = (double)limit.v / 1e3;
    if (!limit.known || d->watts <= 0 || watts <= 0 || watts >= LOWER_POWER * d->watts)
        return;
    finding(&e->findings, NOTE, "gpu-power-sheet",
            "Under full load its clocks are lower than the data sheet suggests.",
            "Compare it with measurements on this machine, not with the data sheet.",
            "%s has a power limit of %.0f W by default; the data sheet has %d W", name, watts,
            d->watts);
}

static void memory(struct expecting *e, const struct machine_gpu *g, const struct device *d,
                   const char *name)
{
    int64_t sheet = (int64_t)d->memory_mib << 20;
    struct maybe_int has = g->memory_total_bytes;
    if (!has.known || has.v <= 0 || sheet <= 0 || (double)has.v >= LESS_MEMORY * (double)sheet)
        return;
    finding(&e->findings, NOTE, "gpu-part", "It may be a part of a GPU that others use as well.",
            "Compare its price with that of a whole one.",
            "%s has %s of memory; the data sheet has %s", name, units_bytes(has.v).s,
            units_bytes(sheet).s);
}

static void facts(struct expecting *e)
{
    for (size_t i = 0; i < e->machine->gpus.count; i++) {
        const struct machine_gpu g = e->machine->gpus.items[i];
        const struct device *d = device_find(e->devices, g.name);
        if (!d || (g.works.known && !g.works.v) || (g.mig.known && g.mig.v))
            continue;
        struct short_text name = g.index.known
                                     ? short_text("GPU %lld (%.100s)", (long long)g.index.v, g.name)
                                     : short_text("the GPU (%.100s)", g.name);
        slot(e, &g, d, name.s);
        power(e, &g, d, name.s);
        memory(e, &g, d, name.s);
    }
}

static void expecting_release(struct expecting *e)
{
    reached_close(e->reached);
    devices_close(e->devices);
}

int expect_fill(struct machine *machine, struct err *err)
{
    SCOPED(expecting_release)
    struct expecting e = {
        .machine = machine, .err = err, .findings = {.machine = machine, .err = err}};
    machine->expectations.known =
        machine->rates.list.count > 0 || machine->bandwidth.gpus.count > 0;
    TRY(devices_open(&e.devices, err));
    TRY(reached_open(&e.reached, err));
    TRY(gpu_rates(&e));
    TRY(gpu_links(&e));
    TRY(processor(&e));
    facts(&e);
    return e.findings.rc;
}
