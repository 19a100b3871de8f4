// SPDX-License-Identifier: Apache-2.0
#include "price/device.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/csv.h"
#include "base/money.h"
#include "price/files.h"

#define NAME_MAX_BYTES 96

struct alias {
    char *key; // as made by plain()
    size_t device;
};

struct devices {
    struct device *devices; // name and source are owned
    size_t count, capacity;
    struct alias *aliases;
    size_t alias_count, alias_capacity;
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
    TRY(array_grow(&d->aliases, d->alias_count, &d->alias_capacity, sizeof *d->aliases, err));
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
    struct device device = {0};
    int memory = 0, watts = 0, year = 0;
    const struct {
        int column, *to;
    } numbers[] = {{MEMORY, &memory},
                   {FP32, &device.fp32_gflops},
                   {TF32, &device.tf32_gflops},
                   {BF16, &device.bf16_gflops},
                   {WATTS, &watts},
                   {YEAR, &year}};
    int rc = array_grow(&d->devices, d->count, &d->capacity, sizeof *d->devices, err);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && rc == 0; i++)
        rc = thousandths(csv, at[numbers[i].column], numbers[i].to, err);
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
    rc = csv_find(&csv, columns, COLUMNS, NAME + 1, at, err);
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

static int read_file(struct devices *d, bool own, const char *name, struct err *err)
{
    struct buf path = {0};
    int rc = own ? files_own(name, &path, err) : files_shipped(name, &path, err);
    if (rc == 0 && (!own || (path.len > 0 && access(buf_str(&path), F_OK) == 0)))
        rc = read_table(d, buf_str(&path), err);
    buf_release(&path);
    return rc;
}

int devices_open(struct devices **out, struct err *err)
{
    static const struct {
        bool own; // read first, so that they win
        const char *name;
    } files[] = {{true, "gpus.csv"},
                 {true, "cpus.csv"},
                 {false, "devices/gpus.csv"},
                 {false, "devices/cpus.csv"}};
    struct devices *d = calloc(1, sizeof *d);
    *out = NULL;
    int rc = d ? 0 : err_memory(err);
    for (size_t i = 0; i < sizeof files / sizeof *files && rc == 0; i++)
        rc = read_file(d, files[i].own, files[i].name, err);
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

// "PCIE-32GB": forms of a board and sizes of its memory, not another model such as "Ada".
static bool is_form(const char *words)
{
    static const char *const forms[] = {"SXM*", "PCIE", "NVL", "[0-9]*GB"};
    char word[NAME_MAX_BYTES];
    while (*words) {
        size_t len = strcspn(words, "-");
        bool known = false;
        snprintf(word, sizeof word, "%.*s", (int)len, words);
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
            known |= fnmatch(forms[i], word, FNM_CASEFOLD) == 0;
        if (!known)
            return false;
        words += len + (words[len] == '-');
    }
    return true;
}

size_t device_family(const struct devices *d, const char *text, const struct device **out,
                     size_t most)
{
    const struct device *first = device_find(d, text);
    char asked[NAME_MAX_BYTES], name[NAME_MAX_BYTES];
    size_t count = 0;
    if (!first || most == 0)
        return 0;
    out[count++] = first;
    if (!plain(text, strlen(text), asked) || !plain(first->name, strlen(first->name), name) ||
        strcmp(asked, name) != 0)
        return count;
    size_t len = strlen(first->name);
    for (size_t i = 0; i < d->count && count < most; i++) {
        const struct device *other = &d->devices[i];
        bool fits = strncasecmp(other->name, first->name, len) == 0 && other->name[len] == '-' &&
                    is_form(other->name + len + 1);
        for (size_t j = 0; fits && j < count; j++) // the user's own table may repeat a row
            fits = strcasecmp(out[j]->name, other->name) != 0;
        if (fits)
            out[count++] = other;
    }
    return count;
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
