// SPDX-License-Identifier: Apache-2.0
// import: AWS's spot price history: the output of `aws ec2 describe-spot-price-history` (one
// object, or one object per line), or a table. The file lists changes: a price is valid until the
// next change or the end of the file. The book has one row per day, so the last change of a day
// counts.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "price/format.h"
#include "price/instance.h"
#include "price/words.h"

enum { JSON_MAX = 256 << 20 };

struct change {
    uint32_t type, zone;
    int64_t at_s;
    int64_t rate;
};

struct changes {
    struct words words;
    struct change *items;
    size_t count, cap;
    struct instances *instances; // null: not looked up
};

static const char *const table_columns[] = {"timestamp", "availability_zone", "instance_type",
                                            "spot_price"};

static bool knows(const char *head, size_t len)
{
    size_t start = strspn(head, " \t\r\n");
    return format_has_columns(head, table_columns, 4) ||
           (start < len && head[start] == '{' && strstr(head, "\"SpotPrice"));
}

// ---- collecting ----

static int add_change(struct changes *c, const char *when, const char *zone, const char *type,
                      const char *price, struct err *err)
{
    struct change change;
    if (!clock_parse(when, &change.at_s) || change.at_s < 0)
        return err_set(err, ERR_FORMAT, "'%.40s' is not a time", when);
    if (*zone == '\0' || *type == '\0' || strlen(zone) > 64 || strlen(type) > 64)
        return err_set(err, ERR_FORMAT, "a price without machine or zone");
    TRY(format_decimal(price, &change.rate, err));
    TRY(words_add(&c->words, type, &change.type, err));
    TRY(words_add(&c->words, zone, &change.zone, err));
    TRY(array_grow(&c->items, c->count, &c->cap, sizeof change, err));
    c->items[c->count++] = change;
    return 0;
}

static int read_csv(struct import *im, struct changes *c, struct err *err)
{
    struct csv csv;
    int at[4];
    int rc = format_csv(im, &csv, err);
    if (rc != 0)
        return rc;
    rc = csv_find(&csv, table_columns, 4, 4, at, err);
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0) {
        const char *text[4];
        rc = 0;
        for (int i = 0; i < 4 && rc == 0; i++)
            rc = format_word(&csv, at[i], &text[i], err);
        im->report->rows++;
        if (rc == 0 && *text[3] == '\0') {
            format_left_out(im, csv_line(&csv), "no price", text[2]);
        } else if (rc == 0) {
            rc = add_change(c, text[0], text[1], text[2], text[3], err);
            if (rc != 0)
                csv_context(&csv, -1, err);
        }
    }
    csv_release(&csv);
    return rc;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static bool clean(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

static int add_object(struct import *im, struct changes *c, const json_t *object, size_t line,
                      struct err *err)
{
    const char *type = text_of(object, "InstanceType"), *zone = text_of(object, "AvailabilityZone");
    const char *system = text_of(object, "ProductDescription");
    im->report->rows++;
    if (!json_is_object(object) || !clean(type) || !clean(zone))
        return err_set(err, ERR_FORMAT, "not a spot price");
    if (*system && strncmp(system, "Linux/UNIX", 10) != 0) {
        format_left_out(im, line, "another system than Linux", type);
        return 0;
    }
    return add_change(c, text_of(object, "Timestamp"), zone, type, text_of(object, "SpotPrice"),
                      err);
}

static int add_value(struct import *im, struct changes *c, const json_t *value, size_t line,
                     struct err *err)
{
    const json_t *list = json_object_get(value, "SpotPriceHistory");
    if (!list)
        return add_object(im, c, value, line, err);
    int rc = json_is_array(list) ? 0 : err_set(err, ERR_FORMAT, "SpotPriceHistory is not a list");
    for (size_t i = 0; i < json_array_size(list) && rc == 0; i++) {
        rc = add_object(im, c, json_array_get(list, i), line, err);
        if (rc == ERR_FORMAT)
            err_context(err, "SpotPriceHistory[%zu]", i);
    }
    return rc;
}

// A sequence of JSON values, with or without newlines between them.
static int read_json(struct import *im, struct changes *c, struct err *err)
{
    if (im->len > JSON_MAX)
        return err_set(err, ERR_FORMAT, "%.200s is larger than %d MiB", im->name, JSON_MAX >> 20);
    const char *p = im->text, *end = im->text + im->len;
    size_t line = 1;
    int rc = 0;
    while (rc == 0) {
        for (; p < end && strchr(" \t\r\n", *p) && *p; p++)
            line += *p == '\n';
        if (p == end)
            break;
        json_error_t why;
        json_t *value = json_loadb(p, (size_t)(end - p), JSON_DISABLE_EOF_CHECK, &why);
        if (value) {
            rc = add_value(im, c, value, line, err);
        } else {
            line += why.line > 0 ? (size_t)why.line - 1 : 0;
            rc = json_error_code(&why) == json_error_out_of_memory
                     ? err_memory(err)
                     : err_set(err, ERR_FORMAT, "%s", why.text);
        }
        json_decref(value);
        if (rc == ERR_FORMAT || rc == ERR_OVERFLOW)
            err_context(err, "%.200s, line %zu", im->name, line);
        for (int left = rc == 0 ? why.position : 0; left > 0 && p < end; left--)
            line += *p++ == '\n';
    }
    return rc;
}

// ---- days ----

static int by_thing(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    if (a->zone != b->zone)
        return a->zone < b->zone ? -1 : 1;
    if (a->at_s != b->at_s)
        return a->at_s < b->at_s ? -1 : 1;
    return a->rate < b->rate ? -1 : a->rate > b->rate;
}

static int day_of(const struct change *c)
{
    return (int)(c->at_s / 86400);
}

// "us-east-1" of "us-east-1a".
static void region_of(const char *zone, char out[72])
{
    size_t len = strlen(zone);
    while (len > 1 && zone[len - 1] >= 'a' && zone[len - 1] <= 'z')
        len--;
    if (len == 1 || zone[len - 1] < '0' || zone[len - 1] > '9')
        len = strlen(zone);
    memcpy(out, zone, len);
    out[len] = '\0';
}

static void set_machine(struct import *im, const struct instance *machine, struct offer *offer)
{
    offer->gpus_milli = machine->count_milli;
    offer->gpu_memory_mib = machine->gpu_memory_mib;
    offer->gpu = format_gpu(im, machine->accelerator, machine->count_milli, &offer->gpu_memory_mib);
    offer->vcpus_milli = machine->vcpus_milli;
    offer->memory_mib = machine->memory_mib;
}

// The changes of one machine in one zone.
static int add_days(struct import *im, const struct changes *c, size_t from, size_t to, int last,
                    struct err *err)
{
    char region[72];
    struct offer offer = format_offer(im);
    offer.provider = "aws";
    offer.name = words_text(&c->words, c->items[from].type);
    offer.zone = words_text(&c->words, c->items[from].zone);
    region_of(offer.zone, region);
    offer.region = region;
    offer.kind = OFFER_SPOT;
    const struct instance *machine = instance_find(c->instances, "aws", offer.name);
    if (machine && format_is_other(machine->accelerator)) {
        for (size_t i = from; i < to; i++)
            format_left_out(im, 0, "an accelerator that is not a GPU", offer.name);
        return 0;
    }
    if (machine)
        set_machine(im, machine, &offer);
    else if (im->devices)
        format_noted(im, 0,
                     "a type that is not in share/devices: known if the book has another "
                     "offer of it",
                     offer.name);
    offer.bare_metal = format_is_bare_metal(offer.name);
    for (size_t i = from; i < to; i++) {
        bool same_day = i + 1 < to && day_of(&c->items[i]) == day_of(&c->items[i + 1]);
        if (same_day) {
            format_noted(im, 0, "several changes on one day: the last one counts", offer.name);
            continue;
        }
        if (c->items[i].rate == 0) {
            format_left_out(im, 0, "a price of 0", offer.name);
            continue;
        }
        offer.rate = c->items[i].rate;
        offer.since = day_of(&c->items[i]);
        offer.day = i + 1 < to ? day_of(&c->items[i + 1]) - 1 : last;
        TRY(format_add(im, &offer, err));
    }
    return 0;
}

static int read_history(struct import *im, struct err *err)
{
    struct changes c = {0};
    bool table =
        !strchr("{[", im->text[strspn(im->text, " \t\r\n")]); // an empty file is not a table
    int rc = table ? read_csv(im, &c, err) : read_json(im, &c, err);
    int last = 0;
    if (rc == 0 && im->devices)
        rc = instances_open(&c.instances, err);
    for (size_t i = 0; i < c.count; i++)
        last = day_of(&c.items[i]) > last ? day_of(&c.items[i]) : last;
    if (c.count > 0)
        qsort(c.items, c.count, sizeof *c.items, by_thing);
    for (size_t i = 0, end; i < c.count && rc == 0; i = end) {
        end = i;
        while (end < c.count && c.items[end].type == c.items[i].type &&
               c.items[end].zone == c.items[i].zone)
            end++;
        rc = add_days(im, &c, i, end, last, err);
    }
    im->report->day = last > 0 ? last : im->day;
    instances_close(c.instances);
    words_release(&c.words);
    free(c.items);
    return rc;
}

const struct price_format format_aws_spot = {
    .name = "aws-spot",
    .knows = knows,
    .read = read_history,
};
