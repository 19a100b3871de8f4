// SPDX-License-Identifier: Apache-2.0
// Google lists machine types and GPUs separately. A machine type with built-in GPUs gets their
// price added; an attachable GPU is combined with an N1 machine, which the offer's name states.
// Both must be priced in the same zone.
#include "price/skypilot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/money.h"

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
    words_release(&gcp->words);
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
