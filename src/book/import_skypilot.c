// SPDX-License-Identifier: Apache-2.0
// import: SkyPilot's catalogues (vms.csv), one file per cloud, columns in any order. Known errors
// in them are corrected and counted; tests/book/test_skypilot.c has an example of each.
#include <fnmatch.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/money.h"
#include "book/format.h"
#include "book/stock.h"

// A row, or several combined.
struct sky_row {
    const char *type, *gpu, *region, *zone;
    int gpus_milli, gpu_memory_mib, vcpus_milli, memory_mib;
    int64_t price, spot;
    bool has_price, has_spot;
    size_t line;
};

int sky_add(struct import *import, const struct sky_row *row, struct err *err) MUST_USE;

// Google's catalogue lists GPUs and machines separately (skypilot_gcp.c).
struct gcp_part {
    uint32_t type, gpu, region, zone; // words
    struct sky_row row;               // its strings are not valid
    bool used;
};
struct gcp {
    struct index words;
    struct gcp_part *hosts, *gpus;
    size_t host_count, host_cap, gpu_count, gpu_cap;
};

// A zeroed struct is empty. `*is_part` is set if the row is not an offer by itself: gcp_finish()
// combines it with others.
int gcp_add(struct gcp *gcp, const struct sky_row *row, bool *is_part, struct err *err) MUST_USE;
int gcp_finish(struct gcp *gcp, struct import *import, struct err *err) MUST_USE;
void gcp_release(struct gcp *gcp);
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
    if (row.has_price)
        TRY(add_kind(im, &row, OFFER_ON_DEMAND, row.price, err));
    if (row.has_spot)
        TRY(add_kind(im, &row, OFFER_SPOT, row.spot, err));
    if (!row.has_price && !row.has_spot && !given->has_price)
        format_left_out(im, row.line, "no price", row.type);
    return 0;
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

static int read_sky_row(struct table *t, struct sky_row *row, struct err *err)
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

static int add_sky_row(struct import *im, struct table *t, bool google, struct err *err)
{
    struct sky_row row;
    TRY(read_sky_row(t, &row, err));
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
    SCOPED(free_pointer) struct model *models = malloc(MODELS * sizeof *models);
    size_t count = 0, growing = 0, others = 0;
    int rc = models ? format_csv(im, &t.csv, err) : err_memory(err);
    if (rc != 0)
        return rc;
    rc = csv_find(&t.csv, columns, COLUMNS, REGION + 1, t.at, err);
    while (rc == 0 && (rc = csv_next(&t.csv, err)) > 0) {
        struct sky_row row;
        bool in_gb;
        const char *info = csv_text(&t.csv, t.at[INFO]);
        int64_t size = info && *info == '{' ? listed_memory(info, &in_gb) : 0;
        rc = size > 0 ? read_sky_row(&t, &row, err) : 0;
        if (rc != 0 || size == 0 || row.gpus_milli < 1000)
            continue;
        int told = grows(models, &count, &row, size);
        growing += told > 0;
        others += told < 0;
    }
    *totals = growing > 0 && others == 0;
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
        rc = add_sky_row(im, &t, google, err);
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

// Google lists machine types and GPUs separately. A machine type with built-in GPUs gets their
// price added; an attachable GPU is combined with an N1 machine, which the offer's name states.
// Both must be priced in the same zone.

// Machine types with built-in GPUs. The name gives their number ("a2-highgpu-4g"), or the vCPUs do.
// Source: cloud.google.com/compute/docs/gpus, machine types by GPU.
static const struct {
    const char *family;
    const char *gpu; // as the catalogue calls it
} families[] = {
    {"a2-highgpu-", "A100"},  {"a2-megagpu-", "A100"},        {"a2-ultragpu-", "A100-80GB"},
    {"a3-highgpu-", "H100"},  {"a3-edgegpu-", "H100"},        {"a3-megagpu-", "H100-MEGA"},
    {"a3-ultragpu-", "H200"}, {"a4-highgpu-", "B200"},        {"a4x-highgpu-", "GB200"},
    {"g2-standard-", "L4"},   {"g4-standard-", "RTXPRO6000"},
};

// The number of GPUs, in thousandths, by vCPUs.
static const struct {
    const char *family;
    int vcpus, gpus_milli;
} by_vcpus[] = {
    {"g2-standard-", 4, 1000},  {"g2-standard-", 8, 1000},   {"g2-standard-", 12, 1000},
    {"g2-standard-", 16, 1000}, {"g2-standard-", 32, 1000},  {"g2-standard-", 24, 2000},
    {"g2-standard-", 48, 4000}, {"g2-standard-", 96, 8000},  {"g4-standard-", 6, 125},
    {"g4-standard-", 12, 250},  {"g4-standard-", 24, 500},   {"g4-standard-", 48, 1000},
    {"g4-standard-", 96, 2000}, {"g4-standard-", 192, 4000}, {"g4-standard-", 384, 8000},
};

// GPUs that can be attached to an N1 machine. We take 8 vCPUs for each, which Google allows for all
// of them (limits: K80 8, V100 12, P100 16, P4 24, T4 48).
static const char *const attachable[] = {"K80", "P4", "T4", "P100", "V100"};
enum { HOST_VCPUS = 8 };

static const char *gpu_of_type(const char *type)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strncmp(type, families[i].family, strlen(families[i].family)) == 0)
            return families[i].gpu;
    return NULL;
}

static int gpus_of_type(const char *type, int vcpus_milli)
{
    for (size_t i = 0; i < sizeof by_vcpus / sizeof *by_vcpus; i++)
        if (strncmp(type, by_vcpus[i].family, strlen(by_vcpus[i].family)) == 0 &&
            by_vcpus[i].vcpus * 1000 == vcpus_milli)
            return by_vcpus[i].gpus_milli;
    const char *dash = strchr(type, '-');
    dash = dash ? strchr(dash + 1, '-') : NULL;
    int count = 0;
    const char *p = dash ? dash + 1 : "";
    for (; *p >= '0' && *p <= '9' && count < 1000; p++)
        count = count * 10 + (*p - '0');
    return *p == 'g' ? count * 1000 : 0;
}

static bool is_attachable(const char *gpu)
{
    for (size_t i = 0; i < sizeof attachable / sizeof *attachable; i++)
        if (strcmp(gpu, attachable[i]) == 0)
            return true;
    return false;
}

static int add_part(struct gcp *gcp, struct gcp_part **list, size_t *count, size_t *cap,
                    const struct sky_row *row, struct err *err)
{
    struct gcp_part part = {.row = *row};
    const char *const texts[] = {row->type, row->gpu, row->region, row->zone};
    uint32_t *const numbers[] = {&part.type, &part.gpu, &part.region, &part.zone};
    for (int i = 0; i < 4; i++)
        TRY(words_add(&gcp->words, texts[i], numbers[i], err));
    TRY(array_grow(list, *count, cap, sizeof part, err));
    (*list)[(*count)++] = part;
    return 0;
}

int gcp_add(struct gcp *gcp, const struct sky_row *row, bool *is_part, struct err *err)
{
    *is_part = *row->type == '\0' || gpu_of_type(row->type) != NULL;
    if (*row->type == '\0')
        return add_part(gcp, &gcp->gpus, &gcp->gpu_count, &gcp->gpu_cap, row, err);
    if (*is_part || strncmp(row->type, "n1-standard-", 12) == 0)
        return add_part(gcp, &gcp->hosts, &gcp->host_count, &gcp->host_cap, row, err);
    return 0;
}

void gcp_release(struct gcp *gcp)
{
    index_release(&gcp->words);
    free(gcp->hosts);
    free(gcp->gpus);
    *gcp = (struct gcp){0};
}

// ---- combining ----

#define BY(member)                                                                                 \
    if (a->member != b->member)                                                                    \
    return a->member < b->member ? -1 : 1

static int by_gpu(const void *left, const void *right)
{
    const struct gcp_part *a = left, *b = right;
    BY(gpu);
    BY(zone);
    BY(row.gpus_milli);
    return 0;
}

static int by_type(const void *left, const void *right)
{
    const struct gcp_part *a = left, *b = right;
    BY(type);
    BY(zone);
    return 0;
}

// Adds a price if both have one.
static int add_prices(struct sky_row *to, const struct sky_row *more, struct err *err)
{
    to->has_price &= more->has_price;
    to->has_spot &= more->has_spot;
    TRY(to->has_price ? money_add(to->price, more->price, &to->price, err) : 0);
    if (to->has_spot)
        TRY(money_add(to->spot, more->spot, &to->spot, err));
    return 0;
}

static int add_together(const struct gcp *gcp, struct import *im, const struct gcp_part *host,
                        const struct gcp_part *gpu, const char *name, struct err *err)
{
    struct sky_row row = host->row;
    row.type = name;
    row.gpu = words_text(&gcp->words, gpu->gpu);
    row.region = words_text(&gcp->words, host->region);
    row.zone = words_text(&gcp->words, host->zone);
    row.gpus_milli = gpu->row.gpus_milli;
    row.gpu_memory_mib = gpu->row.gpu_memory_mib;
    TRY(add_prices(&row, &gpu->row, err));
    return sky_add(im, &row, err);
}

// A machine type with its built-in GPUs.
static int finish_host(struct gcp *gcp, struct import *im, const struct gcp_part *host,
                       struct err *err)
{
    const char *type = words_text(&gcp->words, host->type), *gpu = gpu_of_type(type);
    if (!gpu)
        return 0;
    struct gcp_part key = {.zone = host->zone,
                           .row.gpus_milli = gpus_of_type(type, host->row.vcpus_milli)};
    TRY(words_add(&gcp->words, gpu, &key.gpu, err));
    type = words_text(&gcp->words, host->type); // words_add() may have moved it
    struct gcp_part *part =
        gcp->gpu_count > 0 ? bsearch(&key, gcp->gpus, gcp->gpu_count, sizeof key, by_gpu) : NULL;
    if (part) {
        part->used = true;
        return add_together(gcp, im, host, part, type, err);
    }
    if (key.row.gpus_milli % 1000 != 0)
        format_left_out(im, host->row.line, "a fraction of a GPU without a price", type);
    else
        format_left_out(im, host->row.line, "no price for its GPUs in this zone", type);
    return 0;
}

// An attachable GPU with an N1 machine.
static int finish_gpu(struct gcp *gcp, struct import *im, struct gcp_part *part, struct err *err)
{
    const char *gpu = words_text(&gcp->words, part->gpu);
    if (part->used)
        return 0;
    if (!is_attachable(gpu) || part->row.gpus_milli < 1000 || part->row.gpus_milli % 1000 != 0) {
        format_left_out(im, part->row.line, "a GPU price without a machine to attach it to", gpu);
        return 0;
    }
    char type[32], name[64];
    int gpus = part->row.gpus_milli / 1000;
    snprintf(type, sizeof type, "n1-standard-%d", gpus * HOST_VCPUS);
    struct gcp_part key = {.zone = part->zone};
    TRY(words_add(&gcp->words, type, &key.type, err));
    gpu = words_text(&gcp->words, part->gpu);
    const struct gcp_part *host =
        gcp->host_count > 0 ? bsearch(&key, gcp->hosts, gcp->host_count, sizeof key, by_type)
                            : NULL;
    if (!host) {
        format_left_out(im, part->row.line, "a GPU price without a machine to attach it to", gpu);
        return 0;
    }
    snprintf(name, sizeof name, "%s+%dx%s", type, gpus, gpu);
    format_noted(im, part->row.line, "a price for the GPU alone: an N1 machine added", name);
    return add_together(gcp, im, host, part, name, err);
}

int gcp_finish(struct gcp *gcp, struct import *im, struct err *err)
{
    if (gcp->gpu_count > 0)
        qsort(gcp->gpus, gcp->gpu_count, sizeof *gcp->gpus, by_gpu);
    if (gcp->host_count > 0)
        qsort(gcp->hosts, gcp->host_count, sizeof *gcp->hosts, by_type);
    for (size_t i = 0; i < gcp->host_count; i++)
        TRY(finish_host(gcp, im, &gcp->hosts[i], err));
    for (size_t i = 0; i < gcp->gpu_count; i++)
        TRY(finish_gpu(gcp, im, &gcp->gpus[i], err));
    return 0;
}
