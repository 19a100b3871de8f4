// SPDX-License-Identifier: Apache-2.0
// fingerprint: one short name for all machines of a kind, a hash of the text below. The number in
// its first line changes when the recipe does.
#include "machine/probe.h"

#include <math.h>

#include "base/sha256.h"

// Firmware and kernel reserve a few per cent, so identical machines show different sizes. Rounding
// up to four significant bits restores the installed size.
static int64_t rounded(int64_t bytes)
{
    if (bytes <= 0)
        return 0;
    int exponent;
    double mantissa = frexp((double)bytes, &exponent); // 0.5 <= mantissa < 1
    return (int64_t)ldexp(ceil(mantissa * 16) / 16, exponent);
}

static void add_int(struct buf *text, const char *name, struct maybe_int value)
{
    if (value.known)
        buf_printf(text, "%s=%lld\n", name, (long long)value.v);
}

static void add_text(struct buf *text, const char *name, const char *value)
{
    if (value)
        buf_printf(text, "%s=%s\n", name, value);
}

static void add_cpu(struct buf *text, const struct machine_cpu *cpu)
{
    add_text(text, "cpu", cpu->model);
    add_int(text, "sockets", cpu->sockets);
    add_int(text, "cores", cpu->cores);
    add_int(text, "threads", cpu->threads);
    add_int(text, "numa", cpu->numa_nodes);
    if (cpu->usable_cpus.known)
        buf_printf(text, "usable=%.2f\n", cpu->usable_cpus.v);
    for (size_t i = 0; i < cpu->caches.count; i++) {
        const struct machine_cache *c = &cpu->caches.items[i];
        buf_printf(text, "cache L%lld %s %lld x %lld\n", (long long)c->level.v,
                   c->kind ? c->kind : "", (long long)c->size_bytes.v, (long long)c->count.v);
    }
    // If a set could not be tried, trust the processor: the fingerprint must not depend on a
    // process limit.
    for (size_t i = 0; i < cpu->isa.count; i++) {
        const struct machine_isa *isa = &cpu->isa.items[i];
        const struct maybe_bool *has = isa->works.known ? &isa->works : &isa->advertised;
        if (has->known && has->v)
            add_text(text, "isa", isa->name);
    }
}

static void add_gpu(struct buf *text, const struct machine_gpu *gpu)
{
    buf_printf(text, "gpu=%s %s\n",
               gpu->name     ? gpu->name
               : gpu->pci_id ? gpu->pci_id
                             : "",
               gpu->works.known && gpu->works.v ? "works" : "");
    if (gpu->memory_total_bytes.known)
        buf_printf(text, "gpu memory=%lld\n", (long long)rounded(gpu->memory_total_bytes.v));
    add_int(text, "gpu link", gpu->pcie_generation_max);
    add_int(text, "gpu lanes", gpu->pcie_width_max);
    add_int(text, "gpu clock", gpu->clock_sm_max_mhz);
    add_int(text, "gpu memory clock", gpu->clock_memory_max_mhz);
    add_int(text, "gpu power", gpu->power_limit_mw);
    if (gpu->ecc.known)
        buf_printf(text, "gpu ecc=%d\n", gpu->ecc.v);
    for (size_t i = 0; i < gpu->mig_instances.count; i++)
        add_text(text, "gpu instance", gpu->mig_instances.items[i].name);
}

int machine_fingerprint(struct machine *machine, struct err *err)
{
    struct buf text = {0};
    buf_adds(&text, "fare machine 1\n");
    add_cpu(&text, &machine->cpu);
    if (machine->memory.usable_bytes.known)
        buf_printf(&text, "memory=%lld\n", (long long)rounded(machine->memory.usable_bytes.v));
    for (size_t i = 0; i < machine->gpus.count; i++)
        add_gpu(&text, &machine->gpus.items[i]);
    add_text(&text, "virtualisation", machine->system.virtualisation);

    int rc = buf_check(&text, err);
    if (rc == 0) {
        char hex[SHA256_HEX_BYTES];
        sha256_hex_of(buf_str(&text), text.len, hex);
        hex[16] = '\0'; // 64 bits: unique enough, and short enough to read out
        rc = text_set(&machine->fingerprint, hex, err);
    }
    buf_release(&text);
    return rc;
}
