// SPDX-License-Identifier: Apache-2.0
#include "price/device.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/folders.h"
#include "base/money.h"

#define NAME_MAX_BYTES 96

struct alias {
    char *key; // as made by plain()
    size_t device;
};

struct devices {
    struct device *devices; // name and source are owned
    size_t count, room;
    struct alias *aliases;
    size_t alias_count, alias_room;
};

// "NVIDIA A100-SXM4-80GB" → "a100sxm480gb": letters and digits only, without makers' names. False
// if the result is empty or too long.
static bool plain(const char *text, size_t len, char out[NAME_MAX_BYTES])
{
    static const char *const makers[] = {"nvidia",   "amd",   "tesla", "geforce", "quadro",
                                         "instinct", "intel", "r",     "tm",      "cpu"};
    size_t n = 0, word = 0;                     // start of the last word
    const char *clock = memchr(text, '@', len); // "... CPU @ 2.90GHz"
    len = clock ? (size_t)(clock - text) : len;
    for (size_t i = 0; i <= len; i++) {
        unsigned char c = i < len ? (unsigned char)text[i] : ' ';
        if (isalnum(c)) {
            if (n + 1 >= NAME_MAX_BYTES)
                return false;
            out[n++] = (char)tolower(c);
            continue;
        }
        for (size_t m = 0; m < sizeof makers / sizeof *makers; m++)
            if (n - word == strlen(makers[m]) && memcmp(out + word, makers[m], n - word) == 0)
                n = word;
        word = n;
    }
    out[n] = '\0';
    return n > 0;
}

// ---- reading

static int add_alias(struct devices *d, const char *text, size_t len, size_t device,
                     struct err *err)
{
    char key[NAME_MAX_BYTES];
    if (!plain(text, len, key))
        return len == 0 ? 0 : err_set(err, ERR_FORMAT, "'%.*s' is not a name", (int)len, text);
    if (d->alias_count == d->alias_room) {
        size_t room = d->alias_room ? 2 * d->alias_room : 64;
        struct alias *larger = realloc(d->aliases, room * sizeof *larger);
        if (!larger)
            return err_memory(err);
        d->aliases = larger;
        d->alias_room = room;
    }
    char *copy = strdup(key);
    if (!copy)
        return err_memory(err);
    d->aliases[d->alias_count++] = (struct alias){copy, device};
    return 0;
}

static int add_aliases(struct devices *d, const char *list, size_t device, struct err *err)
{
    int rc = 0;
    while (rc == 0 && list && *list) {
        size_t len = strcspn(list, ";");
        rc = add_alias(d, list, len, device, err);
        list += len + (list[len] == ';');
    }
    return rc;
}

// A decimal in thousandths: "19.5" TFLOP/s → 19500 GFLOP/s. Empty is 0: unknown.
static int thousandths(const struct csv *csv, int column, int *out, struct err *err)
{
    int64_t nano = 0;
    const char *text = csv_text(csv, column);
    *out = 0;
    if (!text || !*text)
        return 0;
    int rc = money_parse(text, &nano, err);
    if (rc == 0 && (nano < 0 || nano > 1000000 * MONEY_UNIT))
        rc = err_set(err, ERR_FORMAT, "'%s' is out of range", text);
    if (rc != 0)
        return csv_context(csv, column, err);
    *out = (int)(nano / (MONEY_UNIT / 1000));
    return 0;
}

enum { NAME, ALIASES, MEMORY, FP32, TF32, BF16, WATTS, YEAR, SOURCE, OFFERS, COLUMNS };
static const char *const columns[COLUMNS] = {
    "name",        "aliases", "memory_gib", "fp32_tflops", "tf32_tflops",
    "bf16_tflops", "watts",   "year",       "source",      "offers"};

static int add_row(struct devices *d, const struct csv *csv, const int *at, struct err *err)
{
    if (d->count == d->room) {
        size_t room = d->room ? 2 * d->room : 64;
        struct device *larger = realloc(d->devices, room * sizeof *larger);
        if (!larger)
            return err_memory(err);
        d->devices = larger;
        d->room = room;
    }
    struct device device = {0};
    int memory = 0, watts = 0, year = 0;
    int rc = thousandths(csv, at[MEMORY], &memory, err);
    if (rc == 0)
        rc = thousandths(csv, at[FP32], &device.fp32_gflops, err);
    if (rc == 0)
        rc = thousandths(csv, at[TF32], &device.tf32_gflops, err);
    if (rc == 0)
        rc = thousandths(csv, at[BF16], &device.bf16_gflops, err);
    if (rc == 0)
        rc = thousandths(csv, at[WATTS], &watts, err);
    if (rc == 0)
        rc = thousandths(csv, at[YEAR], &year, err);
    if (rc != 0)
        return rc;
    device.memory_mib = (int)((int64_t)memory * 1024 / 1000);
    device.watts = watts / 1000;
    device.year = year / 1000;
    device.name = strdup(csv_text(csv, at[NAME]));
    device.source = strdup(csv_text(csv, at[SOURCE]) ? csv_text(csv, at[SOURCE]) : "");
    device.offers = strdup(csv_text(csv, at[OFFERS]) ? csv_text(csv, at[OFFERS]) : "");
    d->devices[d->count++] = device; // now owned by `d`
    if (!device.name || !device.source || !device.offers)
        return err_memory(err);
    rc = add_alias(d, device.name, strlen(device.name), d->count - 1, err);
    if (rc == 0)
        rc = add_aliases(d, csv_text(csv, at[ALIASES]), d->count - 1, err);
    return rc == 0 ? 0 : csv_context(csv, -1, err);
}

static int read_table(struct devices *d, const char *path, struct err *err)
{
    struct csv csv;
    int at[COLUMNS];
    int rc = csv_open(&csv, path, NULL, err);
    if (rc != 0)
        return rc;
    for (int i = 0; i < COLUMNS; i++)
        at[i] = csv_column(&csv, columns[i]);
    rc = csv_need(&csv, "name", &at[NAME], err);
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0)
        rc = add_row(d, &csv, at, err);
    csv_release(&csv);
    return rc;
}

static int by_key(const void *a, const void *b)
{
    const struct alias *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order ? order : (x->device > y->device) - (x->device < y->device);
}

// The user's own file is read first, so it wins.
static int read_own(struct devices *d, const char *name, struct err *err)
{
    struct buf path = {0};
    struct err why = {0};
    int rc = folder_config(&path, &why);
    buf_printf(&path, "/%s", name);
    if (rc == 0)
        rc = buf_check(&path, &why);
    if (rc == 0)
        rc = read_table(d, buf_str(&path), &why);
    buf_release(&path);
    if (rc == 0 || rc == ERR_MISSING)
        return 0;
    if (err)
        *err = why;
    return rc;
}

static int read_shipped(struct devices *d, const char *name, struct err *err)
{
    struct buf path = {0};
    int rc = folder_share(&path, err);
    buf_printf(&path, "/devices/%s", name);
    if (rc == 0)
        rc = buf_check(&path, err);
    if (rc == 0)
        rc = read_table(d, buf_str(&path), err);
    buf_release(&path);
    return rc;
}

int devices_open(struct devices **out, struct err *err)
{
    struct devices *d = calloc(1, sizeof *d);
    *out = NULL;
    if (!d)
        return err_memory(err);
    int rc = read_own(d, "gpus.csv", err);
    if (rc == 0)
        rc = read_own(d, "cpus.csv", err);
    if (rc == 0)
        rc = read_shipped(d, "gpus.csv", err);
    if (rc == 0)
        rc = read_shipped(d, "cpus.csv", err);
    if (rc != 0) {
        devices_close(d);
        return rc;
    }
    if (d->alias_count > 0)
        qsort(d->aliases, d->alias_count, sizeof *d->aliases, by_key);
    *out = d;
    return 0;
}

void devices_close(struct devices *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->count; i++) {
        free(d->devices[i].name);
        free(d->devices[i].source);
        free(d->devices[i].offers);
    }
    for (size_t i = 0; i < d->alias_count; i++)
        free(d->aliases[i].key);
    free(d->devices);
    free(d->aliases);
    free(d);
}

const struct device *device_find(const struct devices *d, const char *text)
{
    char key[NAME_MAX_BYTES];
    if (!d || !text || !plain(text, strlen(text), key))
        return NULL;
    size_t low = 0, high = d->alias_count;
    while (low < high) { // lower bound
        size_t middle = low + (high - low) / 2;
        if (strcmp(d->aliases[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == d->alias_count || strcmp(d->aliases[low].key, key) != 0)
        return NULL;
    return &d->devices[d->aliases[low].device];
}

static bool has_offer(const char *patterns, const char *offer)
{
    char pattern[NAME_MAX_BYTES];
    while (*patterns) {
        size_t len = strcspn(patterns, ";");
        if (len < sizeof pattern) {
            memcpy(pattern, patterns, len);
            pattern[len] = '\0';
            if (fnmatch(pattern, offer, 0) == 0)
                return true;
        }
        patterns += len + (patterns[len] == ';');
    }
    return false;
}

const struct device *device_of_offer(const struct devices *d, const char *provider,
                                     const char *name)
{
    char offer[2 * NAME_MAX_BYTES];
    if ((size_t)snprintf(offer, sizeof offer, "%s/%s", provider, name) >= sizeof offer)
        return NULL;
    for (size_t i = 0; d && i < d->count; i++)
        if (has_offer(d->devices[i].offers, offer))
            return &d->devices[i];
    return NULL;
}
