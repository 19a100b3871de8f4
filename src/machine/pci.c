// SPDX-License-Identifier: Apache-2.0
#include "machine/pci.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/fs.h"

#define DEVICES         "/sys/bus/pci/devices"
#define CHAIN_MAX       16 // bridges above a device; six is already a lot
#define CLASS_BRIDGE    0x0604
#define CLASS_DISPLAY   0x03   // base class of VGA (0300), 3D (0302) and other displays (0380)
#define CLASS_OTHER     0x0380 // "display controller": compute boards without an output
#define CLASS_PROCESSOR 0x1200 // "processing accelerator": AMD's MI300

static bool hex_digits(const char **cursor, int least, int most, uint32_t *out)
{
    uint32_t value = 0;
    int count = 0;
    for (; count < most && isxdigit((unsigned char)**cursor); count++, (*cursor)++) {
        int c = tolower((unsigned char)**cursor);
        value = value * 16 + (uint32_t)(isdigit(c) ? c - '0' : c - 'a' + 10);
    }
    *out = value;
    return count >= least;
}

static bool id_parse(const char *text, uint16_t *out)
{
    uint32_t value;
    if (!hex_digits(&text, 4, 4, &value) || *text != '\0')
        return false;
    *out = (uint16_t)value;
    return true;
}

// Columns are found by name: order and extra columns do not matter.
static int rows_read(struct pci_names *names, struct csv *csv, struct err *err)
{
    int vendor = csv_column(csv, "vendor"), device = csv_column(csv, "device");
    int name = csv_column(csv, "name"), kind = csv_column(csv, "kind");
    int rc = 0;
    while (vendor >= 0 && device >= 0 && name >= 0 && (rc = csv_next(csv, err)) > 0) {
        struct pci_name row = {0};
        const char *kind_text = csv_text(csv, kind);
        if (!id_parse(csv_text(csv, vendor), &row.vendor) ||
            !id_parse(csv_text(csv, device), &row.device))
            continue;
        row.integrated = kind_text && strcmp(kind_text, "integrated") == 0;
        rc = text_set(&row.name, csv_text(csv, name), err);
        if (rc != 0)
            break;
        if (!row.name)
            continue;
        struct pci_name *item = LIST_ADD(&names->rows, err);
        if (!item) {
            free(row.name);
            return ERR_MEMORY;
        }
        *item = row;
    }
    return rc;
}

int pci_names_read(struct pci_names *names, const char *path, struct err *err)
{
    struct err why = {0};
    SCOPED(buf_release) struct buf beside = {0};
    struct csv csv;
    int rc = 0;
    if (!path) {
        rc = folder_share(&beside, &why);
        buf_adds(&beside, "/devices/pci-gpus.csv");
        if (rc == 0)
            rc = buf_check(&beside, &why);
        path = buf_str(&beside);
    }
    if (rc == 0)
        rc = csv_open(&csv, path, NULL, &why);
    if (rc == 0) {
        rc = rows_read(names, &csv, &why);
        csv_release(&csv);
    }
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

void pci_names_release(struct pci_names *names)
{
    for (size_t i = 0; i < names->rows.count; i++)
        free(names->rows.items[i].name);
    free(names->rows.items);
    memset(names, 0, sizeof *names);
}

const struct pci_name *pci_names_find(const struct pci_names *names, uint16_t vendor,
                                      uint16_t device)
{
    for (size_t i = 0; i < names->rows.count; i++)
        if (names->rows.items[i].vendor == vendor && names->rows.items[i].device == device)
            return &names->rows.items[i];
    return NULL;
}

bool pci_address_normalise(const char *text, char out[PCI_ADDRESS_BYTES])
{
    uint32_t domain, bus, device, function;
    out[0] = '\0';
    if (!hex_digits(&text, 1, 8, &domain) || *text++ != ':')
        return false;
    if (!hex_digits(&text, 2, 2, &bus) || *text++ != ':')
        return false;
    if (!hex_digits(&text, 2, 2, &device) || *text++ != '.')
        return false;
    if (!hex_digits(&text, 1, 1, &function) || *text != '\0' || device > 31 || function > 7)
        return false;
    snprintf(out, PCI_ADDRESS_BYTES, "%04x:%02x:%02x.%x", domain, bus, device, function);
    return true;
}

int pci_link_generation(const char *text)
{
    // Rates of PCI Express generations 1 to 7, in tenths of GT/s.
    static const int tenths[] = {25, 50, 80, 160, 320, 640, 1280};
    int value = 0, digits = 0;
    for (; isdigit((unsigned char)*text) && digits < 4; text++, digits++)
        value = value * 10 + (*text - '0');
    value *= 10;
    if (digits > 0 && text[0] == '.' && isdigit((unsigned char)text[1])) {
        value += text[1] - '0';
        text += 2;
    }
    if (digits == 0 || strncmp(text, " GT/s", 5) != 0)
        return 0;
    for (size_t i = 0; i < sizeof tenths / sizeof *tenths; i++)
        if (value == tenths[i])
            return (int)i + 1;
    return 0;
}

// Reads a number from a device's folder. False if missing or out of range.
static bool device_int(struct tree *tree, const char *address, const char *file, int64_t max,
                       int64_t *out)
{
    return tree_int(tree, out, DEVICES "/%s/%s", address, file) && *out >= 0 && *out <= max;
}

static void driver_read(struct tree *tree, struct pci_gpu *gpu)
{
    SCOPED(buf_release) struct buf link = {0};
    if (tree_link(tree, &link, DEVICES "/%s/driver", gpu->address)) {
        const char *slash = strrchr(buf_str(&link), '/');
        snprintf(gpu->driver, sizeof gpu->driver, "%s", slash ? slash + 1 : buf_str(&link));
    }
}

static bool can_compute(const struct pci_gpu *gpu, int64_t class, const struct pci_name *known)
{
    bool display = class >> 16 == CLASS_DISPLAY;
    switch (gpu->vendor) {
    case PCI_NVIDIA:
        return display;
    case PCI_AMD:
        return (display || class >> 8 == CLASS_PROCESSOR) && !(known && known->integrated);
    case PCI_INTEL:
        // Devices on bus 0 are part of the processor, whatever their class.
        return display && !strstr(gpu->address, ":00:") && (known || class >> 8 == CLASS_OTHER) &&
               !(known && known->integrated);
    default:
        return false;
    }
}

static int by_address(const void *a_, const void *b_)
{
    const struct pci_gpu *a = a_, *b = b_;
    size_t a_len = strlen(a->address), b_len = strlen(b->address);
    if (a_len != b_len)
        return a_len < b_len ? -1 : 1;
    return strcmp(a->address, b->address);
}

int pci_gpus_read(struct tree *tree, const struct pci_names *names, struct pci_gpus *gpus,
                  struct err *err)
{
    SCOPED(buf_release) struct buf list = {0};
    if (tree_list(tree, &list, DEVICES)) {
        char *cursor = list.data;
        for (char *line; (line = text_line(&cursor));) {
            struct pci_gpu gpu = {0};
            int64_t class, vendor, device;
            if (!pci_address_normalise(line, gpu.address) || strcmp(line, gpu.address) != 0 ||
                !device_int(tree, line, "class", 0xffffff, &class) ||
                !device_int(tree, line, "vendor", 0xffff, &vendor) ||
                !device_int(tree, line, "device", 0xffff, &device))
                continue;
            gpu.vendor = (uint16_t)vendor;
            gpu.device = (uint16_t)device;
            if (!can_compute(&gpu, class, pci_names_find(names, gpu.vendor, gpu.device)))
                continue;
            driver_read(tree, &gpu);
            struct pci_gpu *item = LIST_ADD(&gpus->items, err);
            if (!item)
                return ERR_MEMORY;
            *item = gpu;
        }
    }
    if (gpus->items.count > 1)
        qsort(gpus->items.items, gpus->items.count, sizeof *gpus->items.items, by_address);
    return tree_check(tree, err);
}

void pci_gpus_release(struct pci_gpus *gpus)
{
    free(gpus->items.items);
    memset(gpus, 0, sizeof *gpus);
}

int pci_gpu_describe(const struct pci_gpu *pci, const struct pci_names *names,
                     struct machine_gpu *gpu, struct err *err)
{
    bool amd = pci->vendor == PCI_AMD, nvidia = pci->vendor == PCI_NVIDIA;
    const struct pci_name *known = pci_names_find(names, pci->vendor, pci->device);
    char id[16], name[64];
    snprintf(id, sizeof id, "%04x:%04x", pci->vendor, pci->device);
    snprintf(name, sizeof name, "%s GPU %s", nvidia ? "NVIDIA" : amd ? "AMD" : "Intel", id);
    return TEXTS_SET(err,
                     {&gpu->vendor, nvidia ? "nvidia"
                                    : amd  ? "amd"
                                           : "intel"},
                     {&gpu->name, known ? known->name : name}, {&gpu->pci_address, pci->address},
                     {&gpu->pci_id, id});
}

// Lists the addresses from the root port down to the device, as in its sysfs path:
// "../../../devices/pci0000:00/0000:00:01.1/0000:41:00.0". Returns the count, at least one.
static int chain_read(struct tree *tree, const char *address,
                      char chain[CHAIN_MAX][PCI_ADDRESS_BYTES])
{
    SCOPED(buf_release) struct buf link = {0};
    int count = 0;
    if (tree_link(tree, &link, DEVICES "/%s", address)) {
        char *cursor = link.data;
        while (count < CHAIN_MAX && cursor && *cursor) {
            char *slash = strchr(cursor, '/');
            if (slash)
                *slash = '\0';
            count += pci_address_normalise(cursor, chain[count]);
            cursor = slash ? slash + 1 : NULL;
        }
    }
    if (count == 0 || strcmp(chain[count - 1], address) != 0) {
        snprintf(chain[0], PCI_ADDRESS_BYTES, "%s", address);
        count = 1;
    }
    return count;
}

static struct maybe_int speed_read(struct tree *tree, const char *address, const char *file)
{
    SCOPED(buf_release) struct buf text = {0};
    int generation = 0;
    if (tree_text(tree, &text, DEVICES "/%s/%s", address, file))
        generation = pci_link_generation(buf_str(&text));
    return generation > 0 ? some_int(generation) : (struct maybe_int){0};
}

static struct maybe_int width_read(struct tree *tree, const char *address, const char *file)
{
    int64_t lanes; // 0 and 255 mean "unknown"
    if (device_int(tree, address, file, 32, &lanes) && lanes > 0)
        return some_int(lanes);
    return (struct maybe_int){0};
}

static struct maybe_int smaller(struct maybe_int a, struct maybe_int b)
{
    return !b.known || (a.known && a.v <= b.v) ? a : b;
}

void pci_link_read(struct tree *tree, const char *address, struct pci_link *link)
{
    char chain[CHAIN_MAX][PCI_ADDRESS_BYTES];
    int at = chain_read(tree, address, chain) - 1;
    for (int64_t vendor, class; at > 0; at--) {
        if (!device_int(tree, chain[at - 1], "vendor", 0xffff, &vendor) || vendor != PCI_AMD ||
            !device_int(tree, chain[at - 1], "class", 0xffffff, &class) ||
            class >> 8 != CLASS_BRIDGE)
            break;
    }
    link->generation = speed_read(tree, chain[at], "current_link_speed");
    link->width = width_read(tree, chain[at], "current_link_width");
    link->generation_max = speed_read(tree, chain[at], "max_link_speed");
    link->width_max = width_read(tree, chain[at], "max_link_width");
    if (at > 0) {
        const char *port = chain[at - 1];
        link->generation_max =
            smaller(link->generation_max, speed_read(tree, port, "max_link_speed"));
        link->width_max = smaller(link->width_max, width_read(tree, port, "max_link_width"));
    }
}

// ==== amd ====

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
    if (!tree_int(tree, &value, DEVICES "/%s/%s", address, file) || value < 0 || value / per > max)
        return (struct maybe_int){0};
    return some_int(value / per);
}

static struct maybe_int clock_max(struct tree *tree, const char *address, const char *file)
{
    SCOPED(buf_release) struct buf text = {0};
    int64_t mhz = 0;
    if (tree_text(tree, &text, DEVICES "/%s/%s", address, file))
        mhz = amd_dpm_max_mhz(buf_str(&text));
    return mhz > 0 ? some_int(mhz) : (struct maybe_int){0};
}

// hwmon's units: microwatts, thousandths of a degree, hertz.
static void sensors_read(struct tree *tree, const char *address, struct machine_gpu *gpu)
{
    SCOPED(buf_release) struct buf names = {0};
    if (!tree_list(tree, &names, DEVICES "/%s/hwmon", address) || names.len == 0)
        return;
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
    SCOPED(buf_release) struct buf text = {0};
    if (tree_text(tree, &text, DEVICES "/%s/unique_id", address) && text.len == 16 &&
        strspn(text.data, "0123456789abcdefABCDEF") == 16) {
        char uuid[32];
        snprintf(uuid, sizeof uuid, "GPU-%s", text.data);
        TRY(text_set(&gpu->uuid, uuid, err));
    }
    if (!named && tree_text(tree, &text, DEVICES "/%s/product_name", address) && text.len > 0)
        TRY(text_set(&gpu->name, text.data, err));
    // Only AMD's out-of-tree driver has a version of its own.
    if (tree_text(tree, &text, "/sys/module/amdgpu/version") && text.len > 0)
        TRY(text_set(&gpu->driver, text.data, err));
    return 0;
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
    TRY(problem_set(tree, pci, gpu, err));
    if (strcmp(pci->driver, "amdgpu") == 0) {
        TRY(identity_read(tree, pci->address, named, gpu, err));
        numbers_read(tree, pci->address, gpu);
    }
    return tree_check(tree, err);
}
