// SPDX-License-Identifier: Apache-2.0
// The machine's GPUs, from the PCI bus and the drivers: NVIDIA's from NVML, AMD's from sysfs,
// Intel's discrete ones from the bus alone. A GPU on the bus without a working driver is listed
// with works = false and the reason. Exception: inside a container the bus shows all of the host's
// GPUs, but NVML only those passed in. The others belong to someone else and are left out.
#include <stdio.h>
#include <string.h>

#include "machine/nvml.h"
#include "machine/pci.h"
#include "machine/probe.h"

#define PASS_IN "in a container, pass the GPU in"

struct gpu_search {
    struct probe *probe;
    struct machine *machine;
    struct pci_names names;
    struct pci_gpus bus;
    struct nvml nvml;
    char module[64];  // version of NVIDIA's kernel module; "" if not loaded
    const char *dead; // (optional) how NVML hung or crashed; it is not called again
};

// nvmlInit can take seconds per GPU if the driver is not kept loaded.
#define DRIVER_LIMIT_MS 60000

static bool in_container(const struct gpu_search *s)
{
    const char *known = s->machine->system.container;
    if (known)
        return strcmp(known, "none") != 0;
    return tree_exists(&s->probe->tree, "/.dockerenv") ||
           tree_exists(&s->probe->tree, "/run/.containerenv");
}

static void module_read(struct gpu_search *s)
{
    struct tree *tree = &s->probe->tree;
    SCOPED(buf_release) struct buf text = {0};
    if (tree_text(tree, &text, "/sys/module/nvidia/version") ||
        tree_text(tree, &text, "/proc/driver/nvidia/version"))
        nvml_module_version(buf_str(&text), s->module, sizeof s->module);
}

static struct machine_gpu *add_from_bus(struct gpu_search *s, const struct pci_gpu *pci,
                                        struct err *err)
{
    struct machine_gpu *gpu = LIST_ADD(&s->machine->gpus, err);
    if (!gpu || pci_gpu_describe(pci, &s->names, gpu, err) != 0)
        return NULL;
    return gpu;
}

static int add_broken(struct gpu_search *s, const struct pci_gpu *pci, const char *problem,
                      struct err *err)
{
    struct machine_gpu *gpu = add_from_bus(s, pci, err);
    if (!gpu)
        return ERR_MEMORY;
    gpu->works = some_bool(false);
    TRY(text_set(&gpu->problem, problem, err));
    if (pci->vendor == PCI_NVIDIA)
        TRY(text_set(&gpu->driver, s->module, err));
    return 0;
}

// If another driver holds an NVIDIA GPU, this is usually the whole explanation.
static bool held_by_other(const struct pci_gpu *pci, char *out, size_t size)
{
    if (pci->driver[0] == '\0' || strcmp(pci->driver, "nvidia") == 0)
        return false;
    bool reserved = strstr(pci->driver, "vfio") != NULL;
    snprintf(out, size, "bound to the kernel driver %s, not NVIDIA's%s", pci->driver,
             reserved ? ": reserved for a virtual machine" : "");
    return true;
}

// Explains why NVML did not open or start, for one GPU.
static void explain(const struct gpu_search *s, const struct pci_gpu *pci, const struct err *why,
                    char *out, size_t size)
{
    bool container = in_container(s);
    enum nvml_return init = s->nvml.init;
    if (held_by_other(pci, out, size))
        return;
    if (init == NVML_VERSION_MISMATCH && s->module[0] && s->nvml.version[0])
        snprintf(out, size,
                 "driver %s is loaded but its library is version %s "
                 "(nvmlInit: Driver/library version mismatch)",
                 s->module, s->nvml.version);
    else if (init == NVML_DRIVER_NOT_LOADED)
        snprintf(out, size, "no NVIDIA driver is loaded (nvmlInit: Driver Not Loaded)%s%s",
                 container ? ": " : "", container ? PASS_IN : "");
    else if (init != NVML_SUCCESS)
        snprintf(out, size, "%s%s%s", why->text, container ? ": " : "", container ? PASS_IN : "");
    else if (container && strncmp(why->text, "cannot open", 11) != 0)
        snprintf(out, size, "on the PCI bus, but without a driver library: %s", PASS_IN);
    else if (s->module[0])
        snprintf(out, size, "driver %s is loaded, but %s", s->module, why->text);
    else if (pci->driver[0])
        snprintf(out, size, "NVIDIA's driver is bound to it, but %s", why->text);
    else
        snprintf(out, size, "no NVIDIA driver is loaded: %s", why->text);
}

static int nvidia_broken(struct gpu_search *s, const struct err *why, struct err *err)
{
    for (size_t i = 0; i < s->bus.items.count; i++) {
        const struct pci_gpu *pci = &s->bus.items.items[i];
        char words[400];
        if (pci->vendor != PCI_NVIDIA)
            continue;
        explain(s, pci, why, words, sizeof words);
        TRY(add_broken(s, pci, words, err));
    }
    return 0;
}

static struct machine_gpu *listed(struct gpu_search *s, const char *address)
{
    for (size_t i = 0; i < s->machine->gpus.count; i++) {
        struct machine_gpu *gpu = &s->machine->gpus.items[i];
        if (gpu->pci_address && strcmp(gpu->pci_address, address) == 0)
            return gpu;
    }
    return NULL;
}

// The first GPU that NVML lists without an address.
static struct machine_gpu *without_address(struct gpu_search *s)
{
    for (size_t i = 0; i < s->machine->gpus.count; i++) {
        struct machine_gpu *gpu = &s->machine->gpus.items[i];
        if (!gpu->pci_address && gpu->works.known && !gpu->works.v)
            return gpu;
    }
    return NULL;
}

// Adds the NVIDIA GPUs that only the bus shows. NVML may count a GPU that it cannot reach: both
// lists are ordered by address, so these pair up. NVIDIA's driver may not hold a GPU. All others
// belong to someone else (see above).
static int nvidia_rest(struct gpu_search *s, struct err *err)
{
    size_t answered = s->machine->gpus.count;
    for (size_t i = 0; i < s->bus.items.count; i++) {
        const struct pci_gpu *pci = &s->bus.items.items[i];
        char words[256];
        if (pci->vendor != PCI_NVIDIA || listed(s, pci->address))
            continue;
        struct machine_gpu *lost = without_address(s);
        if (held_by_other(pci, words, sizeof words))
            TRY(add_broken(s, pci, words, err));
        else if (pci->driver[0] == '\0')
            TRY(add_broken(s, pci, "NVIDIA's driver is loaded, but not bound to it", err));
        else if (lost)
            TRY(pci_gpu_describe(pci, &s->names, lost, err));
        else if (answered == 0)
            TRY(add_broken(s, pci,
                           "NVIDIA's driver is bound to it, but its library lists no GPU: " PASS_IN,
                           err));
    }
    return 0;
}

// Reports a library that hangs or crashes even if the bus shows no GPU.
static int nvidia_dead(struct gpu_search *s, struct err *err)
{
    struct err why = {0};
    err_set(&why, ERR_FAIL, "its library does not answer (%s)", s->dead);
    size_t before = s->machine->gpus.count;
    int rc = nvidia_broken(s, &why, err);
    if (rc != 0 || s->machine->gpus.count > before)
        return rc;
    struct machine_gpu *gpu = LIST_ADD(&s->machine->gpus, err);
    if (!gpu)
        return ERR_MEMORY;
    gpu->works = some_bool(false);
    rc = text_set(&gpu->vendor, "nvidia", err);
    return rc != 0 ? rc : text_set(&gpu->problem, why.text, err);
}

static int nvidia_read(struct gpu_search *s, struct err *err)
{
    struct err why = {0};
    module_read(s);
    if (s->dead)
        return nvidia_dead(s, err);
    int rc = nvml_open(&s->nvml, &s->probe->tree, &why);
    if (rc == ERR_MEMORY)
        return err_memory(err);
    if (rc != 0)
        return nvidia_broken(s, &why, err);
    rc = nvml_read_gpus(&s->nvml, &s->probe->tree, s->machine, err);
    return rc != 0 ? rc : nvidia_rest(s, err);
}

// Intel's drivers offer no common place for more than presence.
static int intel_add(struct gpu_search *s, const struct pci_gpu *pci, struct err *err)
{
    if (strcmp(pci->driver, "i915") != 0 && strcmp(pci->driver, "xe") != 0)
        return add_broken(s, pci, "no Intel kernel driver (xe or i915) is bound to it", err);
    struct machine_gpu *gpu = add_from_bus(s, pci, err);
    if (!gpu)
        return ERR_MEMORY;
    gpu->works = some_bool(true);
    return 0;
}

static int others_read(struct gpu_search *s, uint16_t vendor, struct err *err)
{
    int64_t index = 0;
    for (size_t i = 0; i < s->bus.items.count; i++) {
        const struct pci_gpu *pci = &s->bus.items.items[i];
        if (pci->vendor != vendor)
            continue;
        if (vendor == PCI_INTEL) {
            TRY(intel_add(s, pci, err));
            continue;
        }
        bool named = pci_names_find(&s->names, pci->vendor, pci->device) != NULL;
        struct machine_gpu *gpu = add_from_bus(s, pci, err);
        if (!gpu)
            return ERR_MEMORY;
        TRY(amd_gpu_read(&s->probe->tree, pci, named, gpu, err));
        if (gpu->works.v)
            gpu->index = some_int(index++);
    }
    return 0;
}

static void search_release(struct gpu_search *s)
{
    nvml_close(&s->nvml);
    pci_gpus_release(&s->bus);
    pci_names_release(&s->names);
}

static int read_all(struct probe *probe, const char *dead, struct machine *machine, struct err *err)
{
    SCOPED(search_release) struct gpu_search s = {.probe = probe, .machine = machine, .dead = dead};
    machine->gpus.known = true;
    TRY(pci_names_read(&s.names, NULL, err));
    TRY(pci_gpus_read(&probe->tree, &s.names, &s.bus, err));
    TRY(nvidia_read(&s, err));
    TRY(others_read(&s, PCI_AMD, err));
    TRY(others_read(&s, PCI_INTEL, err));
    return tree_check(&probe->tree, err);
}

static int read_here(struct probe *probe, struct machine *machine, struct err *err)
{
    return read_all(probe, NULL, machine, err);
}

int probe_gpus(struct probe *probe, struct machine *machine, struct err *err)
{
    if (probe->no_children)
        return read_here(probe, machine, err);
    SCOPED(machine_release) struct machine got = {0};
    SCOPED(buf_release) struct buf how = {0};
    TRY(probe_isolated(probe, machine, read_here, DRIVER_LIMIT_MS, &got, &how, err));
    if (how.len > 0) {
        TRY(read_all(probe, buf_str(&how), machine, err));
    } else {
        machine->gpus = got.gpus;
        machine->gpus.known = true;
        memset(&got.gpus, 0, sizeof got.gpus);
    }
    return 0;
}
