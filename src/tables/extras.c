// SPDX-License-Identifier: Apache-2.0
#include "tables/extras.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "record/field.h"
#include "tables/columns.h"
#include "tables/files.h"

enum { DAY_S = 86400 };

#define START(member) offsetof(struct startup_row, member)
#define IMAGE(member) offsetof(struct boot_image, member)
#define HOST(member)  offsetof(struct hosts_row, member)
#define TASK(member)  offsetof(struct scheduling_row, member)

// ---- start-up

struct startups {
    LIST_OF(struct startup_row) rows; // the user's own first
};

static const char *const machines[] = {"vm", "container", "bare-metal", "any", NULL};
static const char *const parts[] = {"boot", "image", "kernels", NULL};

static const struct column startup_columns[] = {
    {"provider", COLUMN_TEXT, START(provider)},
    {"machine", COLUMN_TEXT, START(machine), .words = machines},
    {"part", COLUMN_TEXT, START(part), .words = parts},
    {"seconds", COLUMN_NANO, START(ns), .most = DAY_S},
    {"low", COLUMN_NANO, START(low_ns), .most = DAY_S},
    {"high", COLUMN_NANO, START(high_ns), .most = DAY_S},
    {"source", COLUMN_TEXT, START(source), COLUMN_EMPTY},
    {"date", COLUMN_JOINED, START(source), COLUMN_EMPTY},
    {0}};

static int check_startup(const struct columns_row *at, void *arg, struct err *err)
{
    const struct startup_row *row = arg;
    return row->low_ns <= row->ns && row->ns <= row->high_ns
               ? 0
               : columns_fault(at, "low", err, "expected low, seconds and high in ascending order");
}

static const struct columns startup_table = {startup_columns, sizeof(struct startup_row), false,
                                             check_startup};

int startups_open(struct startups **out, struct err *err)
{
    int rc;
    *out = columns_new(&startup_table, "startup.csv", "startup.csv", &rc, err);
    return rc;
}

void startups_close(struct startups *startups)
{
    columns_free(&startup_table, startups);
}

// A provider rents out the kind of machine that its own row says, and whole machines.
static const char *kind_of(const struct startups *startups, const struct offer *offer)
{
    if (offer->bare_metal)
        return "bare-metal";
    for (size_t i = 0; i < startups->rows.count; i++) {
        const struct startup_row *row = &startups->rows.items[i];
        if (strcmp(row->provider, offer->provider) == 0 && strcmp(row->machine, "any") != 0 &&
            strcmp(row->machine, "bare-metal") != 0)
            return row->machine;
    }
    return "vm";
}

const struct startup_row *startup_find(const struct startups *startups, const struct offer *offer,
                                       const char *part)
{
    const struct startup_row *general = NULL;
    const char *kind = kind_of(startups, offer);
    for (size_t i = 0; i < startups->rows.count; i++) {
        const struct startup_row *row = &startups->rows.items[i];
        bool any = strcmp(row->machine, "any") == 0;
        if (strcmp(row->part, part) != 0 || (!any && strcmp(row->machine, kind) != 0))
            continue;
        if (strcmp(row->provider, offer->provider) == 0)
            return row;
        if (!general && strcmp(row->provider, "*") == 0)
            general = row;
    }
    return general;
}

// ---- images

struct boot_images {
    LIST_OF(struct boot_image) rows; // the user's own first
};

static const struct column image_columns[] = {
    {"provider", COLUMN_TEXT, IMAGE(provider)},
    {"image", COLUMN_TEXT, IMAGE(image)},
    {"machine", COLUMN_TEXT, IMAGE(machine),
     .words = (const char *const[]){"vm", "container", NULL}},
    {"driver", COLUMN_TEXT, IMAGE(driver), COLUMN_ABSENT},
    {"cuda", COLUMN_TEXT, IMAGE(cuda), COLUMN_ABSENT},
    {"pytorch", COLUMN_TEXT, IMAGE(pytorch), COLUMN_ABSENT},
    {"holds", COLUMN_TEXT, IMAGE(holds), COLUMN_ABSENT},
    {"disk_gb", COLUMN_WHOLE, IMAGE(disk_gb), COLUMN_ABSENT, NULL, 1, 1e6, -1},
    {"source", COLUMN_TEXT, IMAGE(source), COLUMN_ABSENT},
    {"date", COLUMN_JOINED, IMAGE(source), COLUMN_ABSENT},
    {0}};
static const struct columns image_table = {image_columns, sizeof(struct boot_image), false, NULL};

int boot_images_open(struct boot_images **out, struct err *err)
{
    int rc;
    *out = columns_new(&image_table, "images.csv", "images.csv", &rc, err);
    return rc;
}

void boot_images_close(struct boot_images *images)
{
    columns_free(&image_table, images);
}

const struct boot_image *boot_images_find(const struct boot_images *images, const char *provider,
                                          size_t index)
{
    for (size_t i = 0; i < images->rows.count; i++)
        if (strcmp(images->rows.items[i].provider, provider) == 0 && index-- == 0)
            return &images->rows.items[i];
    return NULL;
}

// ---- links

struct links {
    LIST_OF(struct link_row) rows; // the user's own first
};

static const struct column link_columns[] = {
    {"provider", COLUMN_TEXT, offsetof(struct link_row, provider)},
    {"machine", COLUMN_TEXT, offsetof(struct link_row, machine)},
    {"link", COLUMN_TEXT, offsetof(struct link_row, link)},
    {"source", COLUMN_TEXT, offsetof(struct link_row, source), COLUMN_EMPTY},
    {"date", COLUMN_JOINED, offsetof(struct link_row, source), COLUMN_EMPTY},
    {0}};
static const struct columns link_table = {link_columns, sizeof(struct link_row), false, NULL};

int links_open(struct links **out, struct err *err)
{
    int rc;
    *out = columns_new(&link_table, "links.csv", "links.csv", &rc, err);
    return rc;
}

void links_close(struct links *links)
{
    columns_free(&link_table, links);
}

const char *links_find(const struct links *links, const struct offer *offer)
{
    for (size_t i = 0; i < links->rows.count; i++)
        if (strcmp(links->rows.items[i].provider, offer->provider) == 0 &&
            strcmp(links->rows.items[i].machine, offer->name) == 0)
            return links->rows.items[i].link;
    return NULL;
}

// ---- remarks

static const struct column remark_columns[] = {
    {"provider", COLUMN_TEXT, offsetof(struct remark, provider)},
    {"date", COLUMN_DATE, offsetof(struct remark, date)},
    {"remark", COLUMN_TEXT, offsetof(struct remark, text)},
    {0}};
static const struct columns remark_table = {remark_columns, sizeof(struct remark), false, NULL};

int remarks_read(struct remarks *out, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    TRY(files_own("providers-remarks.csv", &path, err));
    return columns_load(&remark_table, buf_str(&path), true, out, NULL, err);
}

void remarks_release(struct remarks *remarks)
{
    columns_release(&remark_table, remarks);
}

// ---- hosts

struct hosts {
    LIST_OF(struct hosts_row) rows; // the user's own first
};

static const struct column host_columns[] = {
    {"gpu", COLUMN_TEXT, HOST(gpu), COLUMN_EMPTY},
    {"share", COLUMN_NANO, HOST(share), .least = 1, .most = 100},
    {"machine", COLUMN_TEXT, HOST(machine), COLUMN_EMPTY},
    {"source", COLUMN_TEXT, HOST(source), COLUMN_EMPTY},
    {"date", COLUMN_JOINED, HOST(source), COLUMN_EMPTY},
    {0}};
static const struct columns host_table = {host_columns, sizeof(struct hosts_row), false, NULL};

int hosts_open(struct hosts **out, struct err *err)
{
    int rc;
    *out = columns_new(&host_table, "power.csv", "power.csv", &rc, err);
    return rc;
}

void hosts_close(struct hosts *hosts)
{
    columns_free(&host_table, hosts);
}

const struct hosts_row *hosts_find(const struct hosts *hosts, const char *gpu)
{
    for (size_t i = 0; i < hosts->rows.count; i++) {
        const struct hosts_row *row = &hosts->rows.items[i];
        if (!row->gpu || (gpu && strstr(gpu, row->gpu)))
            return row;
    }
    return NULL;
}

// ---- scheduling

struct scheduling_row {
    char *provider, *from, *source;
    bool own; // a provider in the user's file has no rows from the shipped one
    int64_t day;
    struct scheduling prices;
};

struct schedulings {
    LIST_OF(struct scheduling_row) rows; // the user's own first
};

#define AMOUNT(member)                                                                             \
    {                                                                                              \
#member, COLUMN_NANO, TASK(prices.member), COLUMN_EMPTY, NULL, 0, 1e9, -1                  \
    }
#define COUNT(member)                                                                              \
    {                                                                                              \
#member, COLUMN_WHOLE, TASK(prices.member), COLUMN_EMPTY, NULL, 0, 1e12, -1                \
    }
static const struct column scheduling_columns[] = {
    {"provider", COLUMN_TEXT, TASK(provider)},
    {"from", COLUMN_DAY, TASK(day)},
    {"from", COLUMN_STRING, TASK(from)},
    {"source", COLUMN_TEXT, TASK(source), COLUMN_EMPTY},
    AMOUNT(disk_rate),
    COUNT(free_disk_gb),
    COUNT(rules),
    AMOUNT(rule_rate),
    COUNT(free_rules),
    COUNT(function_ms),
    AMOUNT(function_rate),
    {"function_unit_ms", COLUMN_WHOLE, TASK(prices.function_unit_ms), COLUMN_EMPTY, NULL, 1, 1e12,
     -1},
    COUNT(free_function_ms),
    AMOUNT(fixed_server),
    {0}};

static int finish_scheduling(const struct columns_row *at, void *arg, struct err *err)
{
    struct scheduling_row *row = arg;
    struct buf source = {0};
    row->own = at->own;
    row->prices.since = (int)row->day;
    row->prices.disk_stopped_rate = -1;
    buf_printf(&source, "%s: %s", row->from, row->source ? row->source : "");
    TRY(text_take(&row->source, &source, err));
    row->prices.source = row->source;
    return 0;
}

static const struct columns scheduling_table = {scheduling_columns, sizeof(struct scheduling_row),
                                                false, finish_scheduling};

int schedulings_open(struct schedulings **out, const char *shipped, const char *own,
                     struct err *err)
{
    int rc;
    *out = NULL;
    if (!shipped) {
        *out = columns_new(&scheduling_table, "scheduling.csv", "scheduling.csv", &rc, err);
        return rc;
    }
    struct schedulings *s = calloc(1, sizeof *s);
    rc = s ? columns_load(&scheduling_table, own, true, s, NULL, err) : err_memory(err);
    if (rc == 0)
        rc = columns_load(&scheduling_table, shipped, false, s, NULL, err);
    if (rc == 0)
        *out = s;
    else
        schedulings_close(s);
    return rc;
}

void schedulings_close(struct schedulings *s)
{
    columns_free(&scheduling_table, s);
}

struct scheduling scheduling_find(const struct schedulings *s, const char *provider, int day)
{
    const struct scheduling_row *best = NULL;
    int64_t on = day != 0 ? day : clock_date_s() / DAY_S;
    for (size_t i = 0; i < s->rows.count; i++) {
        const struct scheduling_row *row = &s->rows.items[i];
        if (strcmp(row->provider, provider) == 0 &&
            (!best || (best->own == row->own && files_applies(row->day, best->day, on))))
            best = row;
    }
    return best ? best->prices : SCHEDULING_UNKNOWN;
}
