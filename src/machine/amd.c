// SPDX-License-Identifier: Apache-2.0
#include "machine/amd.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define DEVICE  "/sys/bus/pci/devices/%s/"
#define MHZ_MAX 100000 // higher values are garbage

int64_t amd_dpm_max_mhz(const char *text)
{
    int64_t most = 0;
    for (const char *line = text; line && *line;) {
        const char *end = strchr(line, '\n');
        const char *colon = memchr(line, ':', end ? (size_t)(end - line) : strlen(line));
        const char *p = colon ? colon + 1 : "";
        while (*p == ' ')
            p++;
        int64_t mhz = 0;
        int digits = 0;
        for (; isdigit((unsigned char)*p) && digits < 6; p++, digits++)
            mhz = mhz * 10 + (*p - '0');
        if (digits > 0 && strncasecmp(p, "mhz", 3) == 0 && mhz <= MHZ_MAX && mhz > most)
            most = mhz;
        line = end ? end + 1 : NULL;
    }
    return most;
}

// Reads a number from the device's folder in the record's unit. Absent if out of range.
static struct maybe_int number(struct tree *tree, const char *address, const char *file,
                               int64_t per, int64_t max)
{
    int64_t value;
    if (!tree_int(tree, &value, DEVICE "%s", address, file) || value < 0 || value / per > max)
        return (struct maybe_int){0};
    return some_int(value / per);
}

static struct maybe_int clock_max(struct tree *tree, const char *address, const char *file)
{
    struct buf text = {0};
    int64_t mhz = 0;
    if (tree_text(tree, &text, DEVICE "%s", address, file))
        mhz = amd_dpm_max_mhz(buf_str(&text));
    buf_release(&text);
    return mhz > 0 ? some_int(mhz) : (struct maybe_int){0};
}

// hwmon's units: microwatts, thousandths of a degree, hertz.
static void sensors_read(struct tree *tree, const char *address, struct machine_gpu *gpu)
{
    struct buf names = {0};
    if (!tree_list(tree, &names, DEVICE "hwmon", address) || names.len == 0) {
        buf_release(&names);
        return;
    }
    names.data[strcspn(names.data, "\n")] = '\0'; // a GPU has one sensor chip
    static const struct {
        const char *file;
        size_t at;
        int64_t per;
        int64_t max;
    } sensors[] = {
        {"power1_average", offsetof(struct machine_gpu, power_mw), 1000, 10000000},
        {"power1_input", offsetof(struct machine_gpu, power_mw), 1000, 10000000},
        {"power1_cap", offsetof(struct machine_gpu, power_limit_mw), 1000, 10000000},
        {"power1_cap_default", offsetof(struct machine_gpu, power_limit_default_mw), 1000,
         10000000},
        {"temp1_input", offsetof(struct machine_gpu, temperature_c), 1000, 300},
        {"freq1_input", offsetof(struct machine_gpu, clock_sm_mhz), 1000000, MHZ_MAX},
        {"freq2_input", offsetof(struct machine_gpu, clock_memory_mhz), 1000000, MHZ_MAX},
    };
    for (size_t i = 0; i < sizeof sensors / sizeof *sensors; i++) {
        struct maybe_int *value = (void *)((char *)gpu + sensors[i].at);
        char file[320];
        snprintf(file, sizeof file, "hwmon/%.255s/%s", names.data, sensors[i].file);
        if (!value->known)
            *value = number(tree, address, file, sensors[i].per, sensors[i].max);
    }
    buf_release(&names);
}

static void numbers_read(struct tree *tree, const char *address, struct machine_gpu *gpu)
{
    struct pci_link link;
    pci_link_read(tree, address, &link);
    gpu->pcie_generation = link.generation;
    gpu->pcie_generation_max = link.generation_max;
    gpu->pcie_width = link.width;
    gpu->pcie_width_max = link.width_max;
    gpu->memory_total_bytes = number(tree, address, "mem_info_vram_total", 1, INT64_MAX);
    gpu->memory_used_bytes = number(tree, address, "mem_info_vram_used", 1, INT64_MAX);
    gpu->use_percent = number(tree, address, "gpu_busy_percent", 1, 100);
    gpu->clock_sm_max_mhz = clock_max(tree, address, "pp_dpm_sclk");
    gpu->clock_memory_max_mhz = clock_max(tree, address, "pp_dpm_mclk");
    sensors_read(tree, address, gpu);
}

// ROCm names a device "GPU-" and the sixteen digits of its unique_id.
static int identity_read(struct tree *tree, const char *address, bool named,
                         struct machine_gpu *gpu, struct err *err)
{
    struct buf text = {0};
    int rc = 0;
    if (tree_text(tree, &text, DEVICE "unique_id", address) && text.len == 16 &&
        strspn(text.data, "0123456789abcdefABCDEF") == 16) {
        char uuid[32];
        snprintf(uuid, sizeof uuid, "GPU-%s", text.data);
        rc = text_set(&gpu->uuid, uuid, err);
    }
    if (rc == 0 && !named && tree_text(tree, &text, DEVICE "product_name", address) && text.len > 0)
        rc = text_set(&gpu->name, text.data, err);
    // Only AMD's out-of-tree driver has a version of its own.
    if (rc == 0 && tree_text(tree, &text, "/sys/module/amdgpu/version") && text.len > 0)
        rc = text_set(&gpu->driver, text.data, err);
    buf_release(&text);
    return rc;
}

static int problem_set(struct tree *tree, const struct pci_gpu *pci, struct machine_gpu *gpu,
                       struct err *err)
{
    char words[160] = "";
    if (pci->driver[0] == '\0')
        snprintf(words, sizeof words, "no kernel driver is bound to it: amdgpu is not loaded");
    else if (strcmp(pci->driver, "amdgpu") != 0)
        snprintf(words, sizeof words, "bound to the kernel driver %s, not amdgpu", pci->driver);
    else if (!tree_exists(tree, "/dev/kfd"))
        snprintf(words, sizeof words,
                 "amdgpu is bound to it, but /dev/kfd is missing: in a container, pass in "
                 "/dev/kfd and /dev/dri");
    gpu->works = some_bool(words[0] == '\0');
    return text_set(&gpu->problem, words, err);
}

int amd_gpu_read(struct tree *tree, const struct pci_gpu *pci, bool named, struct machine_gpu *gpu,
                 struct err *err)
{
    int rc = problem_set(tree, pci, gpu, err);
    if (rc == 0 && strcmp(pci->driver, "amdgpu") == 0) {
        rc = identity_read(tree, pci->address, named, gpu, err);
        numbers_read(tree, pci->address, gpu);
    }
    return rc != 0 ? rc : tree_check(tree, err);
}
