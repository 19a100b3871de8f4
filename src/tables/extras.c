// SPDX-License-Identifier: Apache-2.0
#include "tables/extras.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "record/field.h"
#include "tables/currency.h"
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

// ---- rates

#define DAY_S INT64_C(86400)

struct rates {
    LIST_OF(struct rates_row) rows;
};

#define RATE(member) offsetof(struct rates_row, member)
static const struct column rate_columns[] = {
    {"provider", COLUMN_STRING, RATE(provider)},
    {"offer", COLUMN_STRING, RATE(offer), COLUMN_EMPTY},
    {"discount_percent", COLUMN_NANO, RATE(discount_permille), COLUMN_EMPTY, .most = 100},
    {"credit", COLUMN_NANO, RATE(credit), COLUMN_EMPTY, .most = 1e10},
    {"rate", COLUMN_NANO, RATE(rate), COLUMN_EMPTY, .most = 1e10, .empty = -1},
    {"currency", COLUMN_TEXT, RATE(currency), COLUMN_EMPTY},
    {"from", COLUMN_DAY, RATE(from), COLUMN_EMPTY},
    {"to", COLUMN_DAY, RATE(to), COLUMN_EMPTY, .empty = INT64_MAX},
    {0}};

static int check_own_rate(const struct columns_row *at, void *arg, struct err *err)
{
    struct rates_row *row = arg;
    row->line = csv_line(at->csv);
    if (row->discount_permille % (MONEY_UNIT / 10) != 0)
        return columns_fault(at, "discount_percent", err,
                             "expected per cent from 0 to 100, such as 12.5");
    row->discount_permille /= MONEY_UNIT / 10;
    if (row->currency && !currency_is_name(row->currency))
        return columns_fault(at, "currency", err, "expected a currency such as EUR");
    if (row->from >= row->to)
        return columns_fault(at, "to", err, "expected a date after 'from'");
    return row->currency ? 0 : text_set(&row->currency, "USD", err);
}

static const struct columns rate_table = {rate_columns, sizeof(struct rates_row), true,
                                          check_own_rate};

int rates_open(struct rates **out, const char *path, struct err *err)
{
    SCOPED(buf_release) struct buf own = {0};
    struct rates *rates = calloc(1, sizeof *rates);
    *out = NULL;
    int rc = !rates ? err_memory(err) : path ? 0 : files_own("rates.csv", &own, err);
    if (rc == 0)
        rc = columns_load(&rate_table, path ? path : buf_str(&own), true, rates, NULL, err);
    if (rc == 0)
        *out = rates;
    else
        rates_close(rates);
    return rc;
}

void rates_close(struct rates *rates)
{
    columns_free(&rate_table, rates);
}

// finding

size_t rates_count(const struct rates *rates)
{
    return rates->rows.count;
}

const struct rates_row *rates_row(const struct rates *rates, size_t i)
{
    return &rates->rows.items[i];
}

bool rates_holds(const struct rates_row *row, int day)
{
    int64_t on = day != 0 ? day : clock_date_s() / DAY_S;
    return on >= row->from && on < row->to;
}

bool rates_fits(const struct rates_row *row, const char *provider, const char *offer)
{
    return strcmp(row->provider, provider) == 0 &&
           (row->offer[0] == '\0' || fnmatch(row->offer, offer, 0) == 0);
}

const struct rates_row *rates_find(const struct rates *rates, const char *provider,
                                   const char *offer, int day)
{
    const struct rates_row *found = NULL;
    for (size_t i = 0; i < rates->rows.count; i++) {
        const struct rates_row *k = &rates->rows.items[i];
        bool credit_alone = k->credit > 0 && k->discount_permille == 0 && k->rate < 0;
        if (credit_alone || !rates_fits(k, provider, offer) || !rates_holds(k, day))
            continue;
        if (!found || k->offer[0] != '\0' || found->offer[0] == '\0')
            found = k;
    }
    return found;
}

const struct rates_row *rates_credit(const struct rates *rates, const char *provider,
                                     const char *offer, int day, const struct rates_row *after)
{
    bool behind = !after;
    for (size_t i = 0; i < rates->rows.count; i++) {
        const struct rates_row *k = &rates->rows.items[i];
        if (behind && k->credit > 0 && rates_fits(k, provider, offer) && rates_holds(k, day))
            return k;
        behind |= k == after;
    }
    return NULL;
}

// ---- support

struct support_row {
    char *framework, *version, *cuda, *vendor, *oldest, *newest, *source;
};

struct support {
    LIST_OF(struct support_row) rows; // the user's own first
};

// NVIDIA's, oldest first.
static const char *const architectures[] = {"kepler", "maxwell",   "pascal",        "volta",
                                            "turing", "ampere",    "ampere-dc",     "ada",
                                            "hopper", "blackwell", "blackwell-rtx", NULL};

#define SUPPORT(member) offsetof(struct support_row, member)
static const struct column support_columns[] = {
    {"framework", COLUMN_TEXT, SUPPORT(framework)},
    {"version", COLUMN_TEXT, SUPPORT(version), COLUMN_EMPTY},
    {"cuda", COLUMN_TEXT, SUPPORT(cuda), COLUMN_EMPTY},
    {"vendor", COLUMN_TEXT, SUPPORT(vendor), COLUMN_EMPTY},
    {"oldest", COLUMN_TEXT, SUPPORT(oldest), COLUMN_EMPTY, .words = architectures},
    {"newest", COLUMN_TEXT, SUPPORT(newest), COLUMN_EMPTY, .words = architectures},
    {"source", COLUMN_TEXT, SUPPORT(source), COLUMN_EMPTY},
    {"date", COLUMN_JOINED, SUPPORT(source), COLUMN_EMPTY},
    {0}};
static const struct columns support_table = {support_columns, sizeof(struct support_row), false,
                                             NULL};

int support_open(struct support **out, struct err *err)
{
    int rc;
    *out = columns_new(&support_table, "gpu-support.csv", "gpu-support.csv", &rc, err);
    return rc;
}

void support_close(struct support *support)
{
    columns_free(&support_table, support);
}

// -1: it is not in the list.
static int age_of(const char *architecture)
{
    for (int i = 0; architectures[i]; i++)
        if (strcmp(architectures[i], architecture) == 0)
            return i;
    return -1;
}

// "2.8" is before "2.11.0+cu130": the numbers count, not the letters.
static int compare_versions(const char *a, const char *b)
{
    for (int part = 0; part < 3; part++) {
        char *next_a, *next_b;
        long x = strtol(a, &next_a, 10), y = strtol(b, &next_b, 10);
        if (x != y)
            return x < y ? -1 : 1;
        a = *next_a == '.' ? next_a + 1 : "";
        b = *next_b == '.' ? next_b + 1 : "";
    }
    return 0;
}

// A row of CUDA's version counts before one of the framework's, a row of the framework before one
// of all; of several the newest that the program has reached.
static bool goes_before(const struct support_row *a, const struct support_row *b)
{
    bool own = strcmp(a->framework, "*") != 0;
    if (!b)
        return true;
    if (!a->cuda != !b->cuda)
        return a->cuda && (own || strcmp(b->framework, "*") == 0);
    if (own != (strcmp(b->framework, "*") != 0))
        return own;
    const char *x = a->cuda ? a->cuda : a->version, *y = b->cuda ? b->cuda : b->version;
    return x && (!y || compare_versions(x, y) > 0);
}

static const struct support_row *find_row(const struct support *support,
                                          const struct support_ask *ask)
{
    const struct support_row *best = NULL;
    for (size_t i = 0; i < support->rows.count; i++) {
        const struct support_row *row = &support->rows.items[i];
        bool named = ask->framework && strcmp(row->framework, ask->framework) == 0;
        if (!named && (strcmp(row->framework, "*") != 0 || !row->cuda))
            continue;
        if (row->cuda && (!ask->cuda || compare_versions(ask->cuda, row->cuda) < 0))
            continue;
        if (row->version &&
            (ask->cuda || !ask->version || compare_versions(ask->version, row->version) < 0))
            continue;
        if (goes_before(row, best))
            best = row;
    }
    return best;
}

static void describe_build(const struct support_ask *ask, char out[96])
{
    int version = ask->version ? (int)strcspn(ask->version, "+ ") : 0;
    const char *cuda = ask->cuda ? ask->cuda : "";
    int major = (int)strspn(cuda, "0123456789");
    int minor = cuda[major] == '.' ? 1 + (int)strspn(cuda + major + 1, "0123456789") : 0;
    snprintf(out, 96, "%.20s%s%.*s%s%.*s", ask->framework ? ask->framework : "the program",
             version ? " " : "", version > 20 ? 20 : version, ask->version ? ask->version : "",
             *cuda ? " for CUDA " : "", major + minor > 20 ? 20 : major + minor, cuda);
}

bool support_runs(const struct support *support, const struct support_ask *ask,
                  const struct device *device, char why[SUPPORT_WHY])
{
    const struct support_row *row = find_row(support, ask);
    char build[96];
    if (!device || (!row && !ask->cuda))
        return true;
    describe_build(ask, build);
    const char *vendor = ask->cuda ? "nvidia" : row->vendor; // whatever was built for CUDA
    if (vendor && strcmp(vendor, device->vendor) != 0) {
        snprintf(why, SUPPORT_WHY, "%s has no kernels for GPUs of %.20s", build, device->vendor);
        return false;
    }
    int age = row && strcmp(device->vendor, "nvidia") == 0 ? age_of(device->architecture) : -1;
    bool too_old = age >= 0 && row->oldest && age < age_of(row->oldest);
    bool too_new = age >= 0 && row->newest && age > age_of(row->newest);
    if (too_old || too_new)
        snprintf(why, SUPPORT_WHY, "%s %s %.20s, the %.40s is %s", build,
                 too_old ? "begins at" : "ends at", too_old ? row->oldest : row->newest,
                 device->name, device->architecture);
    return !too_old && !too_new;
}
