// SPDX-License-Identifier: Apache-2.0
// import: SkyPilot's catalogues (vms.csv), one file per cloud, columns in any order. Known errors
// in them are corrected and counted; tests/price/test_skypilot.c has an example of each.
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "price/skypilot.h"

// Those that are needed first.
enum { TYPE, GPU, GPUS, PRICE, REGION, VCPUS, MEMORY, INFO, SPOT, ZONE, COLUMNS };
static const char *const columns[COLUMNS] = {
    "InstanceType", "AcceleratorName", "AcceleratorCount", "Price",     "Region",
    "vCPUs",        "MemoryGiB",       "GpuInfo",          "SpotPrice", "AvailabilityZone"};

static bool knows(const char *head, size_t len)
{
    (void)len;
    static const char *const names[] = {"InstanceType", "AcceleratorName", "Price", "Region"};
    return format_has_columns(head, names, sizeof names / sizeof *names);
}

// ---- one offer ----

static int add_kind(struct import *im, const struct sky_row *row, enum offer_kind kind,
                    int64_t rate, struct err *err)
{
    struct offer offer = format_offer(im);
    offer.name = row->type;
    offer.region = row->region;
    offer.zone = row->zone;
    offer.kind = kind;
    offer.rate = rate;
    offer.gpus_milli = row->gpus_milli;
    offer.gpu_memory_mib = row->gpu_memory_mib;
    offer.gpu = format_gpu(im, row->gpu, offer.gpus_milli, &offer.gpu_memory_mib);
    offer.vcpus_milli = row->vcpus_milli;
    offer.memory_mib = row->memory_mib;
    offer.bare_metal = format_is_bare_metal(row->type);
    if (*row->gpu && im->devices && !format_device(im, row->gpu))
        format_noted(im, row->line, "a GPU that is not in share/devices: name unchanged", row->gpu);
    return format_add_listed(im, &offer, err);
}

int sky_add(struct import *im, const struct sky_row *given, struct err *err)
{
    struct sky_row row = *given;
    if (row.has_price && row.price == 0) {
        format_left_out(im, row.line, "a price of 0", row.type);
        row.has_price = false;
    }
    if (row.has_spot && row.spot == 0) {
        format_noted(im, row.line, "a spot price of 0: no spot offer", row.type);
        row.has_spot = false;
    }
    if (row.has_spot && row.has_price && row.spot == row.price &&
        strcmp(im->provider, "runpod") == 0) {
        format_noted(im, row.line, "a spot price equal to on demand: no spot offer", row.type);
        row.has_spot = false;
    }
    if (row.has_spot && row.has_price && row.spot > row.price)
        format_noted(im, row.line, "a spot price above on demand: kept", row.type);
    if (row.has_spot && !row.has_price && !given->has_price)
        format_noted(im, row.line, "only a spot price", row.type);
    int rc = 0;
    if (row.has_price)
        rc = add_kind(im, &row, OFFER_ON_DEMAND, row.price, err);
    if (rc == 0 && row.has_spot)
        rc = add_kind(im, &row, OFFER_SPOT, row.spot, err);
    if (!row.has_price && !row.has_spot && !given->has_price)
        format_left_out(im, row.line, "no price", row.type);
    return rc;
}

// ---- the GPUs of a row ----

// The number after 'key': in a Python literal; -1 if there is none.
static int64_t literal_number(const char *info, const char *key)
{
    const char *p = info;
    size_t len = strlen(key);
    while ((p = strstr(p, key))) {
        const char *q = p + len;
        bool quoted = p > info && (p[-1] == '\'' || p[-1] == '"') && q[0] == p[-1];
        q += quoted ? 1 + strspn(q + 1, " ") : 0;
        if (quoted && *q == ':') {
            q += 1 + strspn(q + 1, " ");
            int64_t value = 0;
            size_t digits = strspn(q, "0123456789");
            for (size_t i = 0; i < digits && i < 10; i++)
                value = value * 10 + (q[i] - '0');
            return digits > 0 && digits <= 10 ? value : -1;
        }
        p += len;
    }
    return -1;
}

static int64_t ratio(int64_t a, int64_t b) // in per cent, at least 100
{
    return a > b ? a * 100 / (b > 0 ? b : 1) : b * 100 / (a > 0 ? a : 1);
}

// The string after the first 'Name': in a Python literal; "" if there is none.
static void literal_name(const char *info, char out[64])
{
    static const char key[] = "'Name': '";
    const char *p = strstr(info, key);
    size_t len = p ? strcspn(p + sizeof key - 1, "'") : 0;
    snprintf(out, 64, "%.*s", len < 64 ? (int)len : 0, p ? p + sizeof key - 1 : "");
}

// The GPU in the machine's name: "H100_NVL" of "1x-H100_NVL-32-65536", "h100_pcie" of
// "gpu_1x_h100_pcie".
static void name_in_type(const char *type, char out[64])
{
    const char *p = type;
    while ((p = strchr(p, 'x')) &&
           !(p > type && p[-1] >= '0' && p[-1] <= '9' && (p[1] == '-' || p[1] == '_')))
        p++;
    size_t len = p ? strcspn(p + 2, "-") : 0;
    snprintf(out, 64, "%.*s", len < 64 ? (int)len : 0, p ? p + 2 : "");
}

// "H100" in one column may be "H100 PCIe" in another, which is a different GPU. Uses the more
// specific name, which is not shorter, if its memory matches ("A100" with 80 GB has a less specific
// one).
static bool use_name(struct import *im, struct sky_row *row, const char *name)
{
    const struct device *plain = format_device(im, row->gpu);
    const struct device *device = strlen(name) >= strlen(row->gpu) ? format_device(im, name) : NULL;
    if (!device || plain == device ||
        (row->gpu_memory_mib > 0 && ratio(row->gpu_memory_mib, device->memory_mib) >= 125))
        return false;
    row->gpu = name;
    format_noted(im, row->line, "a GPU with a more exact name in another column", name);
    return true;
}

// Memory in MiB as the row has it; 0: unknown. Some catalogues give GB instead.
static int64_t listed_memory(const char *info, bool *in_gb)
{
    int64_t size = literal_number(info, "SizeInMiB");
    *in_gb = size > 0 && size < 1024;
    return size <= 0 || size > 1 << 26 ? 0 : *in_gb ? size * 1024 : size;
}

// Memory of one GPU in MiB; 0: unknown. Some catalogues have that of all GPUs instead.
static int memory_of(struct import *im, const struct sky_row *row, const char *info, bool totals)
{
    bool in_gb;
    int64_t size = listed_memory(info, &in_gb), gpus = row->gpus_milli / 1000;
    if (in_gb)
        format_noted(im, row->line, "a GPU memory in GB labelled MiB", row->type);
    if (gpus < 2 || size == 0)
        return (int)size;
    const struct device *device = format_device(im, row->gpu);
    int64_t own = device ? device->memory_mib : 0;
    bool whole = totals;
    bool all = literal_number(info, "TotalGpuMemoryInMiB") == size ||
               strcmp(im->provider, "primeintellect") == 0; // and gives a multiple as the total
    if (!totals && all) {
        if (own == 0)
            return 0; // could be one GPU's or all
        whole = ratio(size / gpus, own) < ratio(size, own);
    } else if (!totals) {
        whole = format_is_total(im, row->gpu, row->gpus_milli, (int)size);
    }
    if (whole)
        format_noted(im, row->line, "the memory of all GPUs given for one", row->type);
    return (int)(whole ? size / gpus : size);
}

// Known errors in the catalogue. Source: Azure's pages on the sizes of ND-H100-v5 (8
// GPUs) and NVv4 (from an eighth of a GPU to a whole one).
static const struct {
    const char *type;
    int listed_milli, gpus_milli;
} corrections[] = {
    {"Standard_ND96isr_H100_v5", 12000, 8000},
    {"Standard_NV4as_v4", 1000, 125},
    {"Standard_NV8as_v4", 1000, 250},
    {"Standard_NV16as_v4", 1000, 500},
};

// Boards that the catalogue names by their chip alone. Source: Azure's pages on the sizes of NC
// A100 v4 ("PCIe A100 GPU (80GB)") and NCads H100 v5 ("PCIe H100 GPU (94GB)").
static const struct {
    const char *types, *gpu;
} boards[] = {
    {"Standard_NC*_A100_v4", "A100-80GB-PCIE"},
    {"Standard_NC*_H100_v5", "H100-NVL"},
};

static void correct(struct import *im, struct sky_row *row)
{
    for (size_t i = 0; i < sizeof boards / sizeof *boards; i++)
        if (*row->gpu && fnmatch(boards[i].types, row->type, 0) == 0) {
            row->gpu = boards[i].gpu;
            format_noted(im, row->line, "a GPU without its form: added", row->type);
        }
    for (size_t i = 0; i < sizeof corrections / sizeof *corrections; i++) {
        if (strcmp(row->type, corrections[i].type) != 0 ||
            row->gpus_milli != corrections[i].listed_milli)
            continue;
        format_noted(im, row->line,
                     corrections[i].gpus_milli < 1000 ? "a whole GPU instead of a fraction: "
                                                        "corrected"
                                                      : "12 GPUs instead of 8: corrected",
                     row->type);
        row->gpus_milli = corrections[i].gpus_milli;
    }
}

// "H100_NVLINK_80GB::8": @ and : start region and kind in the name of an offer.
static const char *nameable(const char *type, char out[128])
{
    if (!strpbrk(type, "@:"))
        return type;
    snprintf(out, 128, "%s", type);
    for (char *c = out; (c = strpbrk(c, "@:")) != NULL;)
        *c = '_';
    return out;
}

// ---- the file ----

struct table {
    struct csv csv;
    int at[COLUMNS];
    bool totals; // memory is that of all GPUs
    struct gcp gcp;
};

static int read_row(struct table *t, struct sky_row *row, struct err *err)
{
    const struct csv *csv = &t->csv;
    *row = (struct sky_row){.line = csv_line(csv)};
    TRY(FORMAT_FIELDS(csv, t->at, err, {TYPE, .word = &row->type}, {GPU, .word = &row->gpu},
                      {REGION, .word = &row->region}, {ZONE, .word = &row->zone},
                      {GPUS, .milli = &row->gpus_milli}, {VCPUS, .milli = &row->vcpus_milli},
                      {MEMORY, .gib = &row->memory_mib}));
    row->region += strspn(row->region, ", "); // Vast's: ", US, NA" without a town
    TRY(format_price(csv, t->at[PRICE], &row->price, &row->has_price, err));
    return format_price(csv, t->at[SPOT], &row->spot, &row->has_spot, err);
}

static int add_row(struct import *im, struct table *t, bool google, struct err *err)
{
    struct sky_row row;
    TRY(read_row(t, &row, err));
    im->report->rows++;
    const char *info = csv_text(&t->csv, t->at[INFO]);
    if (*row.gpu && format_is_other(row.gpu)) {
        format_left_out(im, row.line, "an accelerator that is not a GPU", row.gpu);
        return 0;
    }
    if (*row.type == '\0' && *row.gpu == '\0') {
        format_left_out(im, row.line, "neither a machine nor a GPU", row.region);
        return 0;
    }
    if (*row.gpu && row.gpus_milli == 0)
        row.gpus_milli = 1000;
    if (*row.gpu == '\0')
        row.gpus_milli = 0;
    correct(im, &row);
    char told[64], typed[64], named[128];
    row.type = nameable(row.type, named);
    if (info && *info == '{') {
        row.gpu_memory_mib = memory_of(im, &row, info, t->totals);
        literal_name(info, told);
        name_in_type(row.type, typed);
        if (!use_name(im, &row, told))
            use_name(im, &row, typed);
    }
    bool is_part = false;
    if (google)
        TRY(gcp_add(&t->gcp, &row, &is_part, err));
    else if (*row.type == '\0') {
        format_left_out(im, row.line, "a GPU without a machine", row.gpu);
        is_part = true;
    }
    return !is_part ? sky_add(im, &row, err) : 0;
}

enum { MODELS = 256 };

struct model { // as first seen
    char gpu[64];
    int64_t gpus_milli, size;
};

// Compares a row with an earlier one of the same GPU but another number of them: 1 if the memory
// grows with the number, -1 if it does not, 0 if that cannot be told.
static int grows(struct model *models, size_t *count, const struct sky_row *row, int64_t size)
{
    size_t i = 0;
    while (i < *count && strcmp(models[i].gpu, row->gpu) != 0)
        i++;
    if (i == *count) {
        if (i < MODELS && strlen(row->gpu) < sizeof models->gpu) {
            models[i] = (struct model){.gpus_milli = row->gpus_milli, .size = size};
            snprintf(models[i].gpu, sizeof models[i].gpu, "%s", row->gpu);
            ++*count;
        }
        return 0;
    }
    const struct model *m = &models[i];
    if (m->gpus_milli == row->gpus_milli)
        return 0;
    return size * m->gpus_milli == m->size * row->gpus_milli ? 1 : -1;
}

// Whether this file states the memory of all GPUs of a machine: of every GPU that is there in
// several numbers, it grows with the number.
static int find_totals(struct import *im, bool *totals, struct err *err)
{
    struct table t = {0};
    struct model *models = malloc(MODELS * sizeof *models);
    size_t count = 0, growing = 0, others = 0;
    int rc = models ? format_csv(im, &t.csv, err) : err_memory(err);
    if (rc != 0) {
        free(models);
        return rc;
    }
    rc = csv_find(&t.csv, columns, COLUMNS, REGION + 1, t.at, err);
    while (rc == 0 && (rc = csv_next(&t.csv, err)) > 0) {
        struct sky_row row;
        bool in_gb;
        const char *info = csv_text(&t.csv, t.at[INFO]);
        int64_t size = info && *info == '{' ? listed_memory(info, &in_gb) : 0;
        rc = size > 0 ? read_row(&t, &row, err) : 0;
        if (rc != 0 || size == 0 || row.gpus_milli < 1000)
            continue;
        int told = grows(models, &count, &row, size);
        growing += told > 0;
        others += told < 0;
    }
    *totals = growing > 0 && others == 0;
    free(models);
    csv_release(&t.csv);
    return rc;
}

static int read_catalogue(struct import *im, struct err *err)
{
    struct table t = {0};
    TRY(find_totals(im, &t.totals, err));
    int rc = format_csv(im, &t.csv, err);
    if (rc != 0)
        return rc;
    size_t first = im->stock->count;
    bool google = strcmp(im->provider, "gcp") == 0;
    rc = csv_find(&t.csv, columns, COLUMNS, REGION + 1, t.at, err);
    while (rc == 0 && (rc = csv_next(&t.csv, err)) > 0)
        rc = add_row(im, &t, google, err);
    if (rc == 0 && google)
        rc = gcp_finish(&t.gcp, im, err);
    // Among these clouds only AWS has spot prices per zone.
    if (rc == 0)
        rc = stock_join_zones(im->stock, first, "aws", err);
    stock_mark_copies(im->stock, first);
    im->report->offers = im->stock->count - first;
    gcp_release(&t.gcp);
    csv_release(&t.csv);
    return rc;
}

const struct price_format format_skypilot = {
    .name = "skypilot",
    .knows = knows,
    .read = read_catalogue,
};
