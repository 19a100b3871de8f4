// SPDX-License-Identifier: Apache-2.0
// AMD GPUs, from the amdgpu driver's files below /sys/bus/pci/devices (Documentation/gpu/amdgpu in
// the kernel). They show neither processes nor throttling reasons.
#include "machine/pci.h"

#include <stdio.h>
#include <string.h>

#include "sample/proc_file.h"
#include "sample/source.h"

#define DEVICE "/sys/bus/pci/devices/%s/"

// A GPU that is being reset or suspended returns an error or all ones. These limits reject such
// values.
enum { MHZ_MAX = 100000, WATTS_MAX = 10000, CELSIUS_MAX = 300 };

enum { BUSY, MEMORY, POWER, ENERGY, CLOCK, HEAT, FILES };

struct card {
    struct proc_file files[FILES];
};

struct amd {
    int first;
    int count;
    struct card cards[GPUS_MAX];
};

static void open_files(struct card *card, struct tree *tree, const char *address, const char *hwmon)
{
    struct proc_file *f = card->files;
    proc_file_open(&f[BUSY], tree, DEVICE "gpu_busy_percent", address);
    proc_file_open(&f[MEMORY], tree, DEVICE "mem_info_vram_used", address);
    if (!hwmon)
        return;
    if (!proc_file_open(&f[POWER], tree, DEVICE "hwmon/%s/power1_average", address, hwmon))
        proc_file_open(&f[POWER], tree, DEVICE "hwmon/%s/power1_input", address, hwmon);
    proc_file_open(&f[ENERGY], tree, DEVICE "hwmon/%s/energy1_input", address, hwmon);
    proc_file_open(&f[CLOCK], tree, DEVICE "hwmon/%s/freq1_input", address, hwmon);
    proc_file_open(&f[HEAT], tree, DEVICE "hwmon/%s/temp1_input", address, hwmon);
}

static int add_card(struct amd *amd, struct place *place, const struct pci_gpu *pci,
                    const struct pci_names *names, struct err *err)
{
    struct machine machine = {0};
    struct machine_gpu *about = LIST_ADD(&machine.gpus, err);
    if (!about)
        return ERR_MEMORY;
    struct buf hwmon = {0};
    bool named = pci_names_find(names, pci->vendor, pci->device) != NULL;
    int rc = pci_gpu_describe(pci, names, about, err);
    if (rc == 0)
        rc = amd_gpu_read(&place->tree, pci, named, about, err);
    if (rc == 0 && about->works.v) {
        bool listed = tree_list(&place->tree, &hwmon, DEVICE "hwmon", pci->address);
        if (listed && hwmon.len > 0)
            hwmon.data[strcspn(hwmon.data, "\n")] = '\0'; // a GPU has one sensor chip
        open_files(&amd->cards[amd->count], &place->tree, pci->address,
                   listed && hwmon.len > 0 ? hwmon.data : NULL);
        struct gpu *gpu = &place->gpus[place->gpu_count++];
        *gpu = (struct gpu){.vendor = GPU_AMD, .index = amd->count++};
        snprintf(gpu->name, sizeof gpu->name, "%s", about->name ? about->name : "");
        snprintf(gpu->uuid, sizeof gpu->uuid, "%s", about->uuid ? about->uuid : "");
    }
    buf_release(&hwmon);
    machine_release(&machine);
    return rc != 0 ? rc : tree_check(&place->tree, err);
}

static int amd_open(void *state, struct place *place, struct err *err)
{
    struct amd *amd = state;
    if (!tree_exists(&place->tree, "/sys/module/amdgpu"))
        return ERR_MISSING;
    struct pci_names names = {0};
    struct pci_gpus bus = {0};
    amd->first = place->gpu_count;
    int rc = pci_names_read(&names, NULL, err);
    if (rc == 0)
        rc = pci_gpus_read(&place->tree, &names, &bus, err);
    for (size_t i = 0; rc == 0 && i < bus.items.count && place->gpu_count < GPUS_MAX; i++)
        if (bus.items.items[i].vendor == PCI_AMD)
            rc = add_card(amd, place, &bus.items.items[i], &names, err);
    pci_gpus_release(&bus);
    pci_names_release(&names);
    if (rc == 0 && amd->count == 0)
        return ERR_MISSING;
    place->gpus_known |= rc == 0;
    return rc;
}

static struct maybe_real number(const struct proc_file *file, double per, double max)
{
    int64_t v;
    if (!proc_file_int(file, &v) || v < 0 || (double)v / per > max)
        return (struct maybe_real){0};
    return some_real((double)v / per);
}

static struct maybe_int whole(struct maybe_real v)
{
    return v.known ? some_int((int64_t)v.v) : (struct maybe_int){0};
}

static void amd_read(void *state, struct place *place, struct reading *reading)
{
    struct amd *amd = state;
    (void)place;
    for (int i = 0; i < amd->count; i++) {
        const struct proc_file *f = amd->cards[i].files;
        struct gpu_reading *out = &reading->gpus[amd->first + i];
        out->use_percent = number(&f[BUSY], 1, 100);
        out->memory_bytes = whole(number(&f[MEMORY], 1, 9e15));
        out->power_w = number(&f[POWER], 1e6, WATTS_MAX);      // from microwatts
        out->energy_mj = whole(number(&f[ENERGY], 1e3, 9e15)); // from microjoules
        out->clock_mhz = number(&f[CLOCK], 1e6, MHZ_MAX);      // from hertz
        out->temperature_c = whole(number(&f[HEAT], 1e3, CELSIUS_MAX));
    }
}

static void amd_close(void *state)
{
    struct amd *amd = state;
    for (int i = 0; i < amd->count; i++)
        for (int f = 0; f < FILES; f++)
            proc_file_close(&amd->cards[i].files[f]);
}

const struct source source_amdgpu = {
    .name = "amdgpu",
    .lane = LANE_GPU,
    .size = sizeof(struct amd),
    .open = amd_open,
    .read = amd_read,
    .close = amd_close,
};
