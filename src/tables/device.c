// SPDX-License-Identifier: Apache-2.0
#include "tables/device.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "record/field.h"
#include "tables/files.h"

#define NAME_MAX_BYTES 96

struct alias {
    char *key; // as made by plain()
    size_t device;
};

struct devices {
    LIST_OF(struct device) list; // the user's own first
    struct alias *aliases;
    size_t alias_count, alias_capacity;
    int most_watts;
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

// The next word of "tf32;bf16" at `*list`; its length, and `*list` after it.
static size_t next_word(const char **list, const char **word)
{
    size_t len = strcspn(*list, ";");
    *word = *list;
    *list += len + ((*list)[len] == ';');
    return len;
}

static bool is_word(const char *word, size_t len, const char *other)
{
    return strlen(other) == len && memcmp(word, other, len) == 0;
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
    const char *word;
    while (list && *list) {
        size_t len = next_word(&list, &word);
        TRY(add_alias(d, word, len, device, err));
    }
    return 0;
}

static const char *const precisions[] = {"fp64", "fp32", "tf32", "fp16",
                                         "bf16", "fp8",  "int8", NULL};
static const char *const never[] = {"never", NULL};

#define AT(member) offsetof(struct device, member)
#define TEXT(name, member)                                                                         \
    {                                                                                              \
        name, COLUMN_STRING, AT(member), COLUMN_ABSENT                                             \
    }
#define NUMBER(name, kind, member)                                                                 \
    {                                                                                              \
        name, COLUMN_##kind, AT(member), COLUMN_ABSENT, NULL, 0, 1e6                               \
    }
static const struct column columns[] = {
    {"name", COLUMN_STRING, AT(name)},
    TEXT("vendor", vendor),
    TEXT("architecture", architecture),
    TEXT("part_of", part_of),
    TEXT("lacks", lacks),
    TEXT("offers", offers),
    TEXT("host_isa", host_isa),
    {"trains_until", COLUMN_DATE, AT(trains_until), COLUMN_ABSENT, never},
    TEXT("trains_source", trains_source),
    TEXT("source", source),
    TEXT("rates_source", rates_source),
    {"date", COLUMN_DATE, AT(date), COLUMN_ABSENT},
    NUMBER("year", INT, year),
    NUMBER("units", INT, units),
    NUMBER("base_mhz", INT, base_mhz),
    NUMBER("boost_mhz", INT, boost_mhz),
    NUMBER("watts", INT, watts),
    NUMBER("threads_per_core", INT, threads_per_core),
    NUMBER("vector_bits", INT, vector_bits),
    NUMBER("fp32_per_cycle", INT, fp32_per_cycle),
    NUMBER("memory_channels", INT, memory_channels),
    NUMBER("memory_gib", KIBI, memory_mib),
    NUMBER("l2_mib", KIBI, l2_kib),
    NUMBER("l3_mib", KIBI, l3_kib),
    NUMBER("memory_gbs", MILLI, memory_mbs),
    NUMBER("link_gbs", MILLI, link_mbs),
    NUMBER("host_gbs", MILLI, host_mbs),
    NUMBER("fp64_tflops", MILLI, fp64_gflops),
    NUMBER("fp32_tflops", MILLI, fp32_gflops),
    NUMBER("tf32_tflops", MILLI, tf32_gflops),
    NUMBER("fp16_tflops", MILLI, fp16_gflops),
    NUMBER("bf16_tflops", MILLI, bf16_gflops),
    NUMBER("fp8_tflops", MILLI, fp8_gflops),
    NUMBER("int8_tops", MILLI, int8_gops),
    TEXT("aliases", aliases),
    {0}};

static int check_device(const struct columns_row *at, void *row, struct err *err)
{
    const struct device *device = row;
    struct devices *d = at->arg;
    const char *list = device->lacks, *word;
    while (*list) {
        size_t len = next_word(&list, &word), i = 0;
        while (precisions[i] && !is_word(word, len, precisions[i]))
            i++;
        if (!precisions[i])
            return columns_fault(at, "lacks", err, "'%.*s' is not a precision: tf32, bf16, ...",
                                 len < 40 ? (int)len : 40, word);
    }
    int rc = add_alias(d, device->name, strlen(device->name), d->list.count - 1, err);
    if (rc == 0)
        rc = add_aliases(d, device->aliases, d->list.count - 1, err);
    return rc == 0 ? 0 : csv_context(at->csv, -1, err);
}

static const struct columns table = {columns, sizeof(struct device), true, check_device};

static int by_key(const void *a, const void *b)
{
    const struct alias *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order ? order : (x->device > y->device) - (x->device < y->device);
}

// A share of a whole GPU's figure; 0: unknown.
static int share_of(int whole, int part, int of)
{
    return of > 0 && part > 0 && part <= of ? (int)((int64_t)whole * part / of) : 0;
}

// Multi-instance GPU: a part has multiprocessors and slices of the memory for itself, so its
// products follow the first, bandwidth and cache the second, and its clock is the GPU's. Not the
// links: parts have none among themselves, and share that to the host.
static void derive_part(const struct devices *d, struct device *part)
{
    const struct device *whole = *part->part_of ? device_find(d, part->part_of) : NULL;
    if (!whole || *whole->part_of)
        return;
    const struct {
        int *to, from, share, of;
    } figures[] = {
        {&part->base_mhz, whole->base_mhz, 1, 1},
        {&part->boost_mhz, whole->boost_mhz, 1, 1},
        {&part->memory_mbs, whole->memory_mbs, part->memory_mib, whole->memory_mib},
        {&part->l2_kib, whole->l2_kib, part->memory_mib, whole->memory_mib},
        {&part->fp64_gflops, whole->fp64_gflops, part->units, whole->units},
        {&part->fp32_gflops, whole->fp32_gflops, part->units, whole->units},
        {&part->tf32_gflops, whole->tf32_gflops, part->units, whole->units},
        {&part->fp16_gflops, whole->fp16_gflops, part->units, whole->units},
        {&part->bf16_gflops, whole->bf16_gflops, part->units, whole->units},
        {&part->fp8_gflops, whole->fp8_gflops, part->units, whole->units},
        {&part->int8_gops, whole->int8_gops, part->units, whole->units},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (*figures[i].to == 0)
            *figures[i].to = share_of(figures[i].from, figures[i].share, figures[i].of);
}

int devices_open(struct devices **out, struct err *err)
{
    // Both of the user's first, so that they win.
    static const char *const own[] = {"gpus.csv", "cpus.csv"};
    static const char *const shipped[] = {"devices/gpus.csv", "devices/cpus.csv"};
    struct devices *d = calloc(1, sizeof *d);
    SCOPED(buf_release) struct buf path = {0};
    *out = NULL;
    int rc = d ? 0 : err_memory(err);
    for (size_t i = 0; i < 4 && rc == 0; i++) {
        buf_reset(&path);
        rc = i < 2 ? files_own(own[i], &path, err) : files_shipped(shipped[i - 2], &path, err);
        if (rc == 0)
            rc = columns_load(&table, buf_str(&path), i < 2, &d->list, d, err);
    }
    if (rc != 0) {
        devices_close(d);
        return rc;
    }
    if (d->alias_count > 0)
        qsort(d->aliases, d->alias_count, sizeof *d->aliases, by_key);
    for (size_t i = 0; i < d->list.count; i++) {
        derive_part(d, &d->list.items[i]);
        if (d->list.items[i].watts > d->most_watts)
            d->most_watts = d->list.items[i].watts;
    }
    *out = d;
    return 0;
}

void devices_close(struct devices *d)
{
    if (!d)
        return;
    columns_release(&table, &d->list);
    for (size_t i = 0; i < d->alias_count; i++)
        free(d->aliases[i].key);
    free(d->aliases);
    free(d);
}

const struct device *device_at(const struct devices *d, size_t i)
{
    return d && i < d->list.count ? &d->list.items[i] : NULL;
}

int devices_most_watts(const struct devices *d)
{
    return d ? d->most_watts : 0;
}

bool device_trains(const struct device *device, int day)
{
    int64_t until;
    if (!*device->trains_until)
        return true;
    return files_day(device->trains_until, &until, NULL) == 0 && day < until;
}

bool device_lacks(const struct device *device, const char *precision)
{
    const char *list = device->lacks, *word;
    while (*list) {
        size_t len = next_word(&list, &word);
        if (is_word(word, len, precision))
            return true;
    }
    return false;
}

int device_gflops(const struct device *d, const char *precision)
{
    const struct {
        const char *names[2];
        int gflops;
    } rates[] = {{{"fp32", "f32"}, d->fp32_gflops},
                 {{"tf32", "tf32"}, d->tf32_gflops > 0 ? d->tf32_gflops : d->fp32_gflops},
                 {{"fp16", "f16"}, d->fp16_gflops},
                 {{"bf16", "bf16"}, d->bf16_gflops},
                 {{"fp8", "fp8"}, d->fp8_gflops},
                 {{"fp64", "f64"}, d->fp64_gflops}};
    for (size_t i = 0; precision && i < sizeof rates / sizeof *rates; i++)
        if (strcmp(precision, rates[i].names[0]) == 0 || strcmp(precision, rates[i].names[1]) == 0)
            return rates[i].gflops;
    return 0;
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
    return &d->list.items[d->aliases[low].device];
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
    for (size_t i = 0; i < d->list.count && count < most; i++) {
        const struct device *other = &d->list.items[i];
        bool fits = strncasecmp(other->name, first->name, len) == 0 && other->name[len] == '-' &&
                    is_form(other->name + len + 1);
        for (size_t j = 0; fits && j < count; j++) // the user's own table may repeat a row
            fits = strcasecmp(out[j]->name, other->name) != 0;
        if (fits)
            out[count++] = other;
    }
    return count;
}

// Most patterns differ from an offer before their first wildcard, and a book has many offers.
static bool has_offer(const char *patterns, const char *offer)
{
    char pattern[NAME_MAX_BYTES];
    const char *word;
    while (*patterns) {
        size_t len = next_word(&patterns, &word);
        if (len >= sizeof pattern || strncmp(word, offer, strcspn(word, "*?[;")) != 0)
            continue;
        snprintf(pattern, sizeof pattern, "%.*s", (int)len, word);
        if (fnmatch(pattern, offer, 0) == 0)
            return true;
    }
    return false;
}

const struct device *device_of_offer(const struct devices *d, const char *provider,
                                     const char *name)
{
    char offer[2 * NAME_MAX_BYTES];
    if ((size_t)snprintf(offer, sizeof offer, "%s/%s", provider, name) >= sizeof offer)
        return NULL;
    for (size_t i = 0; d && i < d->list.count; i++)
        if (has_offer(d->list.items[i].offers, offer))
            return &d->list.items[i];
    return NULL;
}
