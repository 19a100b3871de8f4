// SPDX-License-Identifier: Apache-2.0
// check: this machine, its abilities, and causes of noisy measurements or extra cost.
#include "cmd/check.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "machine/probe.h"
#include "measure/expect.h"
#include "measure/rates.h"

// ==== a machine as text ====
// Unknown facts are left out, unless a reader would take silence for "none".

static void counted(struct buf *row, struct maybe_int count, const char *noun)
{
    if (count.known)
        out_part(row, "%s", units_count(count.v, noun).s);
}

static void cpu_caches(struct buf *row, const struct machine_cpu *cpu)
{
    for (size_t i = 0; i < cpu->caches.count; i++) {
        const struct machine_cache *c = &cpu->caches.items[i];
        if (c->kind && strcmp(c->kind, "instruction") == 0)
            continue;
        if (c->count.known && c->count.v > 1)
            out_part(row, "L%lld %lld x %s", (long long)c->level.v, (long long)c->count.v,
                     units_bytes(c->size_bytes.v).s);
        else
            out_part(row, "L%lld %s", (long long)c->level.v, units_bytes(c->size_bytes.v).s);
    }
}

static void cpu_trials(struct out *out, const struct machine_cpu *cpu, struct buf *row)
{
    for (size_t i = 0; i < cpu->isa.count; i++)
        if (cpu->isa.items[i].works.known && cpu->isa.items[i].works.v)
            out_part(row, "%s%s", row->len ? "" : "tried and working: ", cpu->isa.items[i].name);
    out_parts(out, NULL, row);
    for (size_t i = 0; i < cpu->libraries.count; i++) {
        const struct machine_library *lib = &cpu->libraries.items[i];
        for (size_t k = 0; k < lib->kernels.count; k++) {
            const struct machine_kernel *kernel = &lib->kernels.items[k];
            bool works = kernel->works.known && kernel->works.v;
            buf_printf(row, "%s%s", row->len ? ", " : "", kernel->operation);
            if (kernel->cap)
                buf_printf(row, " capped at %s", kernel->cap);
            if (works)
                buf_printf(row, " by %s", kernel->kernel ? kernel->kernel : "an unnamed kernel");
            else
                buf_printf(row, " fails (%s)", kernel->problem ? kernel->problem : "wrong result");
        }
        struct buf line = {0};
        buf_printf(&line, "%s %s: %s", lib->name, lib->version ? lib->version : "", buf_str(row));
        row->failed |= line.failed;
        buf_reset(row);
        out_parts(out, NULL, &line);
    }
}

static void cpu(struct out *out, const struct machine_cpu *cpu, struct buf *row)
{
    out_part(row, "%s", cpu->model ? cpu->model : "unknown model");
    counted(row, cpu->sockets, "socket");
    counted(row, cpu->cores, "core");
    counted(row, cpu->threads, "thread");
    if (cpu->numa_nodes.known && cpu->numa_nodes.v > 1)
        counted(row, cpu->numa_nodes, "NUMA node");
    out_parts(out, "CPU", row);
    if (cpu->usable_cpus.known && cpu->threads.known && cpu->usable_cpus.v < (double)cpu->threads.v)
        out_row(out, NULL, "%.4g usable (%s)", cpu->usable_cpus.v, machine_cpu_limit(cpu));
    cpu_caches(row, cpu);
    if (cpu->max_mhz.known)
        out_part(row, "up to %lld MHz", (long long)cpu->max_mhz.v);
    if (cpu->governor)
        out_part(row, "governor %s", cpu->governor);
    out_parts(out, NULL, row);
    cpu_trials(out, cpu, row);
}

static void memory(struct out *out, const struct machine_memory *m, struct buf *row)
{
    if (m->total_bytes.known)
        out_part(row, "%s", units_bytes(m->total_bytes.v).s);
    if (m->limit_bytes.known && m->total_bytes.known && m->limit_bytes.v < m->total_bytes.v)
        out_part(row, "limited to %s", units_bytes(m->limit_bytes.v).s);
    if (m->available_bytes.known)
        out_part(row, "%s available", units_bytes(m->available_bytes.v).s);
    if (m->swap_total_bytes.known && m->swap_total_bytes.v == 0)
        out_part(row, "no swap");
    else if (m->swap_total_bytes.known && m->swap_used_bytes.known)
        out_part(row, "swap %s, %s used", units_bytes(m->swap_total_bytes.v).s,
                 units_bytes(m->swap_used_bytes.v).s);
    if (m->shm_total_bytes.known)
        out_part(row, "/dev/shm %s", units_bytes(m->shm_total_bytes.v).s);
    out_parts(out, "Memory", row);
}

static void disk(struct out *out, const struct machine_disk *d, struct buf *row)
{
    if (d->filesystem)
        out_part(row, "%s%s%s", d->filesystem, d->device ? " on " : "", d->device ? d->device : "");
    if (d->kind)
        out_part(row, "%s", d->kind);
    else if (d->filesystem)
        out_part(row, "local or network: unknown");
    if (d->rotational.known)
        out_part(row, "%s", d->rotational.v ? "moving heads" : "no moving heads");
    if (d->free_bytes.known && d->total_bytes.known)
        out_part(row, "%s of %s free", units_bytes(d->free_bytes.v).s,
                 units_bytes(d->total_bytes.v).s);
    out_parts(out, "Disk", row);
}

static void system_row(struct out *out, const struct machine_system *s, struct buf *row)
{
    if (s->os)
        out_part(row, "%s", s->os);
    if (s->kernel)
        out_part(row, "kernel %s", s->kernel);
    if (s->virtualisation)
        out_part(row, "%s",
                 strcmp(s->virtualisation, "none") == 0 ? "bare metal" : s->virtualisation);
    if (s->container && strcmp(s->container, "none") != 0)
        out_part(row, "in a container (%s)", s->container);
    if (s->on_battery.known && s->on_battery.v)
        out_part(row, "on battery");
    out_parts(out, "System", row);
}

// The facts that equal GPUs share.
static void gpu_kind(const struct machine_gpu *g, struct buf *row)
{
    out_part(row, "%s", g->name ? g->name : g->pci_id ? g->pci_id : "unknown model");
    if (g->memory_total_bytes.known)
        out_part(row, "%s", units_bytes(g->memory_total_bytes.v).s);
    if (g->works.known && !g->works.v)
        out_part(row, "DOES NOT WORK");
    if (g->driver)
        out_part(row, "driver %s", g->driver);
    if (g->cuda)
        out_part(row, "CUDA %s", g->cuda);
    if (g->pcie_generation_max.known && g->pcie_width_max.known)
        out_part(row, "PCIe up to %lld.0 x%lld", (long long)g->pcie_generation_max.v,
                 (long long)g->pcie_width_max.v);
    if (g->clock_sm_max_mhz.known)
        out_part(row, "up to %lld MHz", (long long)g->clock_sm_max_mhz.v);
    if (g->power_limit_mw.known)
        out_part(row, "up to %.0f W", (double)g->power_limit_mw.v / 1000);
    if (g->ecc.known)
        out_part(row, "ECC %s", g->ecc.v ? "on" : "off");
    for (size_t i = 0; i < g->mig_instances.count; i++)
        out_part(row, "%s%s", i ? "" : "MIG ",
                 g->mig_instances.items[i].name ? g->mig_instances.items[i].name : "instance");
}

// A figure of each: "0 98 - % in use", a dash if it is unknown.
static void gpu_figures(const struct machine_gpu *gpus, size_t count, size_t member,
                        const char *unit, struct buf *row)
{
    bool any = false;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            const void *at = (const char *)&gpus[i] + member;
            struct maybe_int v = *(const struct maybe_int *)at;
            any |= v.known;
            if (pass == 1 && v.known)
                buf_printf(row, "%lld ", (long long)v.v);
            else if (pass == 1)
                buf_adds(row, "- ");
        }
        if (!any)
            return;
        if (pass == 0 && row->len > 0)
            buf_adds(row, ", ");
    }
    buf_adds(row, unit);
}

// Eight equal GPUs take two lines, not sixteen.
static void gpus(struct out *out, const struct machine *m, struct buf *row)
{
    SCOPED(buf_release) struct buf next = {0};
    for (size_t first = 0, count; first < m->gpus.count; first += count) {
        const struct machine_gpu *g = &m->gpus.items[first];
        gpu_kind(g, row);
        for (count = 1; first + count < m->gpus.count; count++) {
            buf_reset(&next);
            gpu_kind(&m->gpus.items[first + count], &next);
            if (strcmp(buf_str(row), buf_str(&next)) != 0)
                break;
        }
        char label[32] = "GPU";
        if (g->index.known && count == 1)
            snprintf(label, sizeof label, "GPU %lld", (long long)g->index.v);
        else if (g->index.known)
            snprintf(label, sizeof label, "GPU %lld-%lld", (long long)g->index.v,
                     (long long)(g->index.v + (int64_t)count) - 1);
        if (count > 1)
            out_row(out, label, "%zu x %s", count, buf_str(row));
        else
            out_row(out, label, "%s", buf_str(row));
        buf_reset(row);
        gpu_figures(g, count, offsetof(struct machine_gpu, use_percent), "% in use", row);
        gpu_figures(g, count, offsetof(struct machine_gpu, temperature_c), "°C", row);
        out_parts(out, NULL, row);
    }
    if (m->gpus.count == 0)
        out_row(out, "GPU", "none");
    out->text.failed |= next.failed;
}

// A line for each place: "cuDNN 9.19.0, NCCL 2.28.9 in /opt/env".
static void libraries(struct out *out, const struct machine *m, struct buf *row)
{
    const char *label = "Libraries";
    for (size_t i = 0; i < m->gpu_libraries.count; i++) {
        const struct machine_gpu_library *l = &m->gpu_libraries.items[i];
        const char *place = l->place ? l->place : "";
        const char *next = i + 1 < m->gpu_libraries.count ? l[1].place : NULL;
        out_part(row, "%s%s%s", l->name ? l->name : "unknown", l->version ? " " : "",
                 l->version ? l->version : "");
        if (l->problem)
            buf_printf(row, " (does not answer: %s)", l->problem);
        if (next && strcmp(place, next) == 0)
            continue;
        buf_printf(row, " in %s", place);
        out_parts(out, label, row);
        label = NULL;
    }
}

static void where(struct out *out, const struct machine_where *w, struct buf *row)
{
    if (w->provider) {
        out_part(row, "%s%s%s", w->provider, w->instance_type ? " " : "",
                 w->instance_type ? w->instance_type : "");
        if (w->zone || w->region)
            out_part(row, "%s", w->zone ? w->zone : w->region);
        if (w->spot.known)
            out_part(row, "%s", w->spot.v ? "spot" : "on demand");
        if (w->launched_at)
            out_part(row, "started %s", w->launched_at);
        out_part(row, "known by %s", w->source ? w->source : "its environment");
    } else {
        out_part(row, "no cloud that fare knows%s",
                 w->metadata_asked.known && !w->metadata_asked.v ? " (metadata not asked)" : "");
    }
    out_parts(out, "Where", row);
    if (w->slurm.job) {
        out_part(row, "Slurm job %s", w->slurm.job);
        if (w->slurm.partition)
            out_part(row, "partition %s", w->slurm.partition);
        if (w->slurm.node)
            out_part(row, "node %s", w->slurm.node);
        out_parts(out, NULL, row);
    }
}

static void rate(struct buf *row, const char *name, struct maybe_real bytes_per_s)
{
    if (bytes_per_s.known)
        out_part(row, "%s %s", name, units_rate(bytes_per_s.v).s);
}

static void bandwidth(struct out *out, const struct machine_bandwidth *b, struct buf *row)
{
    rate(row, "memory read", b->memory_read_bytes_per_s);
    rate(row, "write", b->memory_write_bytes_per_s);
    rate(row, "copy", b->memory_copy_bytes_per_s);
    counted(row, b->memory_threads, "thread");
    out_parts(out, "Measured", row);
    rate(row, "disk write", b->disk_write_bytes_per_s);
    rate(row, "read", b->disk_read_bytes_per_s);
    if (b->disk_method && row->len)
        out_part(row, "%s",
                 strcmp(b->disk_method, "direct") == 0 ? "past the page cache" : "with fsync");
    if (b->disk_problem)
        out_part(row, "disk not measured: %s", b->disk_problem);
    out_parts(out, NULL, row);
    for (size_t i = 0; i < b->gpus.count; i++) {
        const struct machine_gpu_bandwidth *g = &b->gpus.items[i];
        out_part(row, "GPU %lld", (long long)g->index.v);
        rate(row, "pinned to it", g->to_device_pinned_bytes_per_s);
        rate(row, "from it", g->from_device_pinned_bytes_per_s);
        rate(row, "pageable to it", g->to_device_pageable_bytes_per_s);
        rate(row, "from it", g->from_device_pageable_bytes_per_s);
        if (g->problem)
            out_part(row, "not measured: %s", g->problem);
        out_parts(out, NULL, row);
    }
}

// `expected`: the share of the data sheet has a line of its own.
static void product(const struct machine_rate *r, bool expected, struct buf *row)
{
    buf_printf(row, "%s%s%s", row->len ? ", " : "", r->precision ? r->precision : "",
               r->precision ? " " : "");
    if (!r->per_s.known) {
        buf_printf(row, "not measured: %s", r->problem ? r->problem : "unknown");
        return;
    }
    buf_printf(row, "%s (%lld × %lld", units_flops(r->per_s.v).s, (long long)r->size.v,
               (long long)r->size.v);
    if (r->share_of_peak.known && !expected)
        buf_printf(row, ", %.0f %% of the data sheet", 100 * r->share_of_peak.v);
    buf_adds(row, ")");
}

static void products_row(struct out *out, const struct machine_rate *r, const char *by,
                         struct buf *row)
{
    struct buf line = {0};
    bool gpu = strncmp(r->device, "gpu", 3) == 0;
    buf_printf(&line, "%s%s%smatrix product %s", gpu ? "GPU" : "", gpu ? r->device + 3 : "",
               gpu ? " " : "", buf_str(row));
    line.failed |= row->failed;
    if (by)
        out_part(&line, "by %s", by);
    counted(&line, r->threads, "thread");
    out_parts(out, NULL, &line);
    buf_release(&line);
    buf_release(row);
}

// All precisions of a device in one row for each library or kernel. Rows without one belong to the
// others around them.
static void products(struct out *out, const struct machine_rates *rates, const char *device,
                     bool expected, struct buf *row)
{
    const struct machine_rate *last = NULL;
    const char *by = NULL;
    for (size_t i = 0; i < rates->list.count; i++) {
        const struct machine_rate *r = &rates->list.items[i];
        if (strcmp(r->operation, "product") != 0 || strcmp(r->device, device) != 0)
            continue;
        if (last && by && r->by && strcmp(by, r->by) != 0) {
            products_row(out, last, by, row);
            by = NULL;
            last = NULL;
        }
        product(r, expected, row);
        by = r->by ? r->by : by;
        last = r->per_s.known || !last ? r : last;
    }
    if (last)
        products_row(out, last, by, row);
}

static void rates(struct out *out, const struct machine *m, struct buf *row)
{
    const struct machine_rates *rates = &m->rates;
    if (rates->measured_at && !m->bandwidth.memory_threads.known)
        out_row(out, "Measured", "%s, by 'fare check --bandwidth'", rates->measured_at);
    for (size_t i = 0; i < rates->list.count; i++) {
        const struct machine_rate *r = &rates->list.items[i];
        bool first = i == 0 || strcmp(r->device, rates->list.items[i - 1].device) != 0;
        if (strcmp(r->operation, "multiply-add") == 0 && r->per_s.known)
            out_row(out, NULL, "one thread %.3g billion multiply-adds/s", r->per_s.v / 1e9);
        if (strcmp(r->operation, "copy") == 0 && strncmp(r->device, "gpu", 3) == 0)
            out_row(out, NULL, "GPU%s copy within its memory %s, %s", r->device + 3,
                    units_rate(r->per_s.v).s, units_bytes(r->size.v).s);
        if (first)
            products(out, rates, r->device, m->expectations.count > 0, row);
    }
}

static void expectations(struct out *out, const struct machine *m, struct buf *row)
{
    for (size_t i = 0; i < m->expectations.count; i++) {
        expect_words(&m->expectations.items[i], row);
        out_parts(out, i == 0 ? "Expected" : NULL, row);
    }
}

static void findings(struct out *out, const struct machine *machine)
{
    if (machine->findings.count == 0) {
        out_printf(out, "\n");
        out_styled(out, OUT_GREEN, "Found nothing that would make measurements noisy.");
        out_printf(out, "\n");
        return;
    }
    out_printf(out, "\n");
    out_styled(out, OUT_BOLD, "%s",
               out->width < 43 ? "Causes of noise or cost"
                               : "Causes of noisy measurements or extra cost");
    out_printf(out, "\n");
    for (size_t i = 0; i < machine->findings.count; i++) {
        const struct machine_finding *f = &machine->findings.items[i];
        bool problem = strcmp(f->level, "problem") == 0;
        bool warning = strcmp(f->level, "warning") == 0;
        out_styled(out, problem ? OUT_RED : warning ? OUT_YELLOW : OUT_DIM, "%-10s", f->level);
        out_wrap_here(out, 10, f->evidence);
        out_wrap(out, 10, f->consequence);
        out_printf(out, "        → ");
        out_wrap_here(out, 10, f->remedy);
    }
}

void check_text(struct out *out, const struct machine *m)
{
    struct buf row = {0};
    cpu(out, &m->cpu, &row);
    memory(out, &m->memory, &row);
    disk(out, &m->disk, &row);
    system_row(out, &m->system, &row);
    gpus(out, m, &row);
    libraries(out, m, &row);
    where(out, &m->where, &row);
    bandwidth(out, &m->bandwidth, &row);
    rates(out, m, &row);
    expectations(out, m, &row);
    if (m->fingerprint)
        out_row(out, "Kind", "%s (machines that should be equally fast share this)",
                m->fingerprint);
    findings(out, m);
}

// ==== the command ====

static int strict_result(const struct machine *machine, struct err *err)
{
    for (size_t i = 0; i < machine->findings.count; i++) {
        const struct machine_finding *f = &machine->findings.items[i];
        if (strcmp(f->level, "problem") == 0) {
            int rc = err_set(err, ERR_FAIL, "this machine has a problem: %s", f->evidence);
            err_hint(err, "%s", f->remedy);
            return rc;
        }
    }
    return 0;
}

// Rates that cannot be kept are still printed.
static int measure_rates(struct machine *machine, struct err *err)
{
    struct err why = {0};
    SCOPED(buf_release) struct buf words = {0};
    TRY(rates_measure(machine, err));
    if (rates_keep(&machine->rates, &why) != 0) {
        buf_printf(&words, "the rates are not kept for later runs: %s\n", why.text);
        out_complain(buf_str(&words));
    }
    return 0;
}

// A device table that cannot be read does not stop the check.
static int compare_with_sheets(struct machine *machine, struct err *err)
{
    struct err why = {0};
    SCOPED(buf_release) struct buf words = {0};
    int rc = expect_fill(machine, &why);
    if (rc == ERR_MEMORY)
        return err_memory(err);
    if (rc != 0) {
        buf_printf(&words, "not compared with the data sheets: %s\n", why.text);
        out_complain(buf_str(&words));
    }
    return 0;
}

struct check_options {
    struct cmd_common common;
    bool bandwidth;
    bool no_cloud;
    bool strict;
};

static int check(const struct check_options *options, struct out *out, struct err *err)
{
    const struct inspect_options inspect = {
        .bandwidth = options->bandwidth, .no_cloud = options->no_cloud, .libraries = true};
    SCOPED(machine_release) struct machine machine = {0};
    TRY(machine_inspect(&inspect, &machine, err));
    if (!inspect_recorded())
        TRY(options->bandwidth ? measure_rates(&machine, err)
                               : rates_recall(machine.fingerprint, &machine.rates, err));
    TRY(compare_with_sheets(&machine, err));
    if (options->common.json)
        TRY(out_record(out, machine_fields, &machine, err));
    else
        check_text(out, &machine);
    if (options->strict)
        TRY(strict_result(&machine, err));
    return 0;
}

#define AT(member) offsetof(struct check_options, member)
static const struct opt options_table[] = {
    {"bandwidth", 'b', OPT_FLAG, NULL, NULL, AT(bandwidth), NULL,
     "also measure memory, disk, GPU copies and matrix products, and compare them with the data "
     "sheets; takes seconds, writes a file of up to 256 MiB to the working folder, which it "
     "deletes, and keeps the rates for later checks and for the records of later runs"},
    {"no-cloud", 0, OPT_FLAG, NULL, NULL, AT(no_cloud), NULL,
     "do not query the cloud's metadata service"},
    {"strict", 0, OPT_FLAG, NULL, NULL, AT(strict), NULL,
     "exit with 1 if a finding is a problem, for scripts that start a paid run"},
    {NULL},
};
#undef AT

static const struct cmd_example examples[] = {
    {"fare check", "look at this machine before you pay for a run on it"},
    {"fare check --bandwidth", "measure its memory, disk, GPUs and matrix products too"},
    {"fare check --json | jq .gpus", "for scripts: one JSON object"},
    {"fare check --strict && python train.py",
     "train only if no finding is a problem; warnings do not count"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    {"FARE_METADATA", "Address to use instead of the clouds' metadata services, or off"},
    {"FARE_NVML", "File to open as the NVIDIA management library"},
    {"FARE_CUDA", "File to open as the CUDA driver library"},
    {"FARE_CUBLASLT", "File to open as cuBLASLt instead of those found, or off"},
    {"FARE_ONEDNN", "File to open as oneDNN"},
    {"FARE_HWLOC", "File to open as hwloc"},
    {"FARE_ROOT",
     "Folder with the /proc and /sys of a recorded machine to check instead of this one"},
    {NULL, NULL},
};

static int run(const struct cmd_call *call, struct err *err)
{
    return check(call->options, call->out, err);
}

const struct command cmd_check = {
    .name = "check",
    .group = "Measure",
    .summary = "this machine, its abilities, and causes of noisy measurements",
    .about = "Looks at the processor, memory, disk, GPUs and the cloud around them, tries the "
             "instruction sets and libraries that training uses, and lists causes of noisy "
             "measurements and extra cost, with remedies. Rates measured by --bandwidth, now or "
             "before, are compared with the data sheets and with what others reached; a rate far "
             "below is a finding. Without --bandwidth it changes nothing, and takes "
             "under a second if the drivers answer.",
    .options = options_table,
    .options_size = sizeof(struct check_options),
    .examples = examples,
    .variables = variables,
    .run = run,
};
