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
#include "base/csv.h"
#include "base/money.h"
#include "tables/files.h"

#define NAME_MAX_BYTES 96
#define NEVER          "never"

struct alias {
    char *key; // as made by plain()
    size_t device;
};

struct devices {
    struct device *devices; // their texts are owned
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

// The columns, and where their values go. MILLI: in thousandths; MEMORY: GiB as MiB, MiB as KiB.
enum kind { TEXT, DATE, UNTIL, PRECISIONS, WHOLE, MILLI, MEMORY }; // UNTIL: a date or "never"
static const struct {
    const char *name;
    enum kind kind;
    size_t offset;
} columns[] = {
#define COLUMN(name, kind, member)                                                                 \
    {                                                                                              \
        name, kind, offsetof(struct device, member)                                                \
    }
    COLUMN("name", TEXT, name),
    COLUMN("vendor", TEXT, vendor),
    COLUMN("architecture", TEXT, architecture),
    COLUMN("part_of", TEXT, part_of),
    COLUMN("lacks", PRECISIONS, lacks),
    COLUMN("offers", TEXT, offers),
    COLUMN("host_isa", TEXT, host_isa),
    COLUMN("trains_until", UNTIL, trains_until),
    COLUMN("trains_source", TEXT, trains_source),
    COLUMN("source", TEXT, source),
    COLUMN("rates_source", TEXT, rates_source),
    COLUMN("date", DATE, date),
    COLUMN("year", WHOLE, year),
    COLUMN("units", WHOLE, units),
    COLUMN("base_mhz", WHOLE, base_mhz),
    COLUMN("boost_mhz", WHOLE, boost_mhz),
    COLUMN("watts", WHOLE, watts),
    COLUMN("threads_per_core", WHOLE, threads_per_core),
    COLUMN("vector_bits", WHOLE, vector_bits),
    COLUMN("fp32_per_cycle", WHOLE, fp32_per_cycle),
    COLUMN("memory_channels", WHOLE, memory_channels),
    COLUMN("memory_gib", MEMORY, memory_mib),
    COLUMN("l2_mib", MEMORY, l2_kib),
    COLUMN("l3_mib", MEMORY, l3_kib),
    COLUMN("memory_gbs", MILLI, memory_mbs),
    COLUMN("link_gbs", MILLI, link_mbs),
    COLUMN("host_gbs", MILLI, host_mbs),
    COLUMN("fp64_tflops", MILLI, fp64_gflops),
    COLUMN("fp32_tflops", MILLI, fp32_gflops),
    COLUMN("tf32_tflops", MILLI, tf32_gflops),
    COLUMN("fp16_tflops", MILLI, fp16_gflops),
    COLUMN("bf16_tflops", MILLI, bf16_gflops),
    COLUMN("fp8_tflops", MILLI, fp8_gflops),
    COLUMN("int8_tops", MILLI, int8_gops),
#undef COLUMN
};
enum { COLUMNS = sizeof columns / sizeof *columns, ALIASES = COLUMNS };

static bool is_text(enum kind kind)
{
    return kind == TEXT || kind == DATE || kind == UNTIL || kind == PRECISIONS;
}

static int *number_of(struct device *device, size_t column)
{
    return (int *)(void *)((char *)device + columns[column].offset);
}

static char **text_of(struct device *device, size_t column)
{
    return (char **)(void *)((char *)device + columns[column].offset);
}

// Empty is 0: unknown.
static int read_number(const struct csv *csv, int at, enum kind kind, int *out, struct err *err)
{
    int64_t nano = 0;
    const char *text = csv_text(csv, at);
    *out = 0;
    if (!text || !*text)
        return 0;
    int rc = money_parse(text, &nano, err);
    if (rc == 0 && (nano < 0 || nano > 1000000 * MONEY_UNIT))
        rc = err_set(err, ERR_FORMAT, "'%s' is out of range", text);
    if (rc == 0 && kind == WHOLE && nano % MONEY_UNIT != 0)
        rc = err_set(err, ERR_FORMAT, "'%s' is not a whole number", text);
    if (rc != 0)
        return csv_context(csv, at, err);
    int64_t milli = nano / (MONEY_UNIT / 1000);
    *out = (int)(kind == WHOLE ? milli / 1000 : kind == MEMORY ? milli * 1024 / 1000 : milli);
    return 0;
}

static const char *const precisions[] = {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"};
enum { PRECISION_COUNT = sizeof precisions / sizeof *precisions };

static int read_text(const struct csv *csv, int at, enum kind kind, char **out, struct err *err)
{
    const char *text = csv_text(csv, at) ? csv_text(csv, at) : "", *list = text, *word;
    int64_t day;
    bool dated = kind == DATE || (kind == UNTIL && strcmp(text, NEVER) != 0);
    if (dated && *text && files_day(text, &day, err) != 0)
        return csv_context(csv, at, err);
    while (kind == PRECISIONS && *list) {
        size_t len = next_word(&list, &word), i = 0;
        while (i < PRECISION_COUNT && !is_word(word, len, precisions[i]))
            i++;
        if (i == PRECISION_COUNT)
            return csv_fault(csv, at, err, "'%.*s' is not a precision: tf32, bf16, ...",
                             len < 40 ? (int)len : 40, word);
    }
    *out = strdup(text);
    return *out ? 0 : err_memory(err);
}

static int add_row(struct devices *d, const struct csv *csv, const int *at, struct err *err)
{
    TRY(array_grow(&d->devices, d->count, &d->capacity, sizeof *d->devices, err));
    struct device *device = &d->devices[d->count++]; // its texts are released with `d`
    memset(device, 0, sizeof *device);
    for (size_t c = 0; c < COLUMNS; c++) {
        enum kind kind = columns[c].kind;
        TRY(is_text(kind) ? read_text(csv, at[c], kind, text_of(device, c), err)
                          : read_number(csv, at[c], kind, number_of(device, c), err));
    }
    if (!*device->name)
        return csv_fault(csv, at[0], err, "a device needs a name");
    int rc = add_alias(d, device->name, strlen(device->name), d->count - 1, err);
    if (rc == 0)
        rc = add_aliases(d, csv_text(csv, at[ALIASES]), d->count - 1, err);
    return rc == 0 ? 0 : csv_context(csv, -1, err);
}

static int read_table(struct devices *d, const char *path, struct err *err)
{
    struct csv csv;
    const char *names[COLUMNS + 1];
    int at[COLUMNS + 1];
    for (size_t c = 0; c < COLUMNS; c++)
        names[c] = columns[c].name;
    names[ALIASES] = "aliases";
    int rc = csv_open(&csv, path, NULL, err);
    if (rc != 0)
        return rc;
    rc = csv_find(&csv, names, COLUMNS + 1, 1, at, err);
    if (rc == 0)
        rc = csv_only(&csv, names, COLUMNS + 1, err);
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
    for (size_t i = 0; i < d->count; i++)
        derive_part(d, &d->devices[i]);
    *out = d;
    return 0;
}

void devices_close(struct devices *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->count; i++)
        for (size_t c = 0; c < COLUMNS; c++)
            if (is_text(columns[c].kind))
                free(*text_of(&d->devices[i], c));
    for (size_t i = 0; i < d->alias_count; i++)
        free(d->aliases[i].key);
    free(d->devices);
    free(d->aliases);
    free(d);
}

const struct device *device_at(const struct devices *d, size_t i)
{
    return d && i < d->count ? &d->devices[i] : NULL;
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
    for (size_t i = 0; d && i < d->count; i++)
        if (has_offer(d->devices[i].offers, offer))
            return &d->devices[i];
    return NULL;
}
