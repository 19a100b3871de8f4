// SPDX-License-Identifier: Apache-2.0
// import: AWS's spot price history: the output of `aws ec2 describe-spot-price-history` (one
// object, or one object per line), or a table. The file lists changes: a price is valid until the
// next change or the end of the file. The book gets all of them, and the last of each day as the
// price of that day.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/err.h"
#include "record/field.h"
#include "tables/files.h"
#include "book/format.h"
#include "book/stock.h"

// Machine types, from share/devices/instances.csv.
struct instance {
    char *provider, *name;
    char *accelerator;  // a GPU, or another accelerator
    int count_milli;    // of them
    int gpu_memory_mib; // of one; 0: the GPU's own
    int vcpus_milli, memory_mib;
};

#define AT(member) offsetof(struct instance, member)
static const struct column instance_columns[] = {
    {"provider", COLUMN_STRING, AT(provider)},
    {"name", COLUMN_STRING, AT(name)},
    {"accelerator", COLUMN_STRING, AT(accelerator), COLUMN_EMPTY},
    {"count", COLUMN_MILLI, AT(count_milli), COLUMN_EMPTY, NULL, 0, 1e6},
    {"gpu_memory_gib", COLUMN_KIBI, AT(gpu_memory_mib), COLUMN_EMPTY, NULL, 0, 1e6},
    {"vcpus", COLUMN_MILLI, AT(vcpus_milli), COLUMN_EMPTY, NULL, 0, 1e6},
    {"memory_gib", COLUMN_KIBI, AT(memory_mib), COLUMN_EMPTY, NULL, 0, 1e6},
    {0}};
static const struct columns instance_table = {instance_columns, sizeof(struct instance), false,
                                              NULL};

#define DAY_S   INT64_C(86400)
#define SLACK_S DAY_S // clocks differ

struct change {
    uint32_t type, zone;
    int64_t at_s;
    int64_t rate;
};

struct changes {
    struct index words;
    struct change *items;
    size_t count, cap;
    LIST_OF(struct instance) instances; // empty: not looked up
    int64_t latest_s;                   // a later time is a mistake
    int64_t first_s, last_s;            // of all of them
    struct image_change *series;        // room for one machine in one zone
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

static int add_change(struct import *im, struct changes *c, size_t line, const char *when,
                      const char *zone, const char *type, const char *price, struct err *err)
{
    struct change change;
    if (!clock_parse(when, &change.at_s) || change.at_s < 0)
        return err_set(err, ERR_FORMAT, "'%.40s' is not a time", when);
    if (*zone == '\0' || *type == '\0' || strlen(zone) > 64 || strlen(type) > 64)
        return err_set(err, ERR_FORMAT, "a price without machine or zone");
    TRY(format_decimal(price, &change.rate, err));
    if (change.rate == 0 || change.at_s > c->latest_s) {
        format_left_out(im, line, change.rate == 0 ? "a price of 0" : "a time in the future", type);
        return 0;
    }
    TRY(words_add(&c->words, type, &change.type, err));
    TRY(words_add(&c->words, zone, &change.zone, err));
    TRY(array_grow(&c->items, c->count, &c->cap, sizeof change, err));
    c->first_s = c->count == 0 || change.at_s < c->first_s ? change.at_s : c->first_s;
    c->last_s = change.at_s > c->last_s ? change.at_s : c->last_s;
    c->items[c->count++] = change;
    return 0;
}

struct source { // the text, then the rest of the file
    const struct import *im;
    size_t given;
};

static ptrdiff_t read_source(void *arg, void *into, size_t size, struct err *err)
{
    struct source *s = arg;
    size_t left = s->im->len - s->given;
    if (left == 0)
        return s->im->rest ? gzip_read(s->im->rest, into, size, err) : 0;
    size = left < size ? left : size;
    memcpy(into, s->im->text + s->given, size);
    s->given += size;
    return (ptrdiff_t)size;
}

static int read_csv(struct import *im, struct changes *c, struct err *err)
{
    SCOPED(csv_release) struct csv csv = {0};
    struct source source = {im, 0};
    const char *text[4];
    int at[4], rc;
    TRY(csv_init(&csv, im->name, read_source, &source, NULL, err));
    TRY(csv_find(&csv, table_columns, 4, 4, at, err));
    while ((rc = csv_next(&csv, err)) > 0) {
        for (int i = 0; i < 4; i++)
            TRY(format_word(&csv, at[i], &text[i], err));
        im->report->rows++;
        if (*text[3] == '\0')
            format_left_out(im, csv_line(&csv), "no price", text[2]);
        else if (add_change(im, c, csv_line(&csv), text[0], text[1], text[2], text[3], err) != 0)
            return csv_context(&csv, -1, err);
    }
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
    return add_change(im, c, line, text_of(object, "Timestamp"), zone, type,
                      text_of(object, "SpotPrice"), err);
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

// The file, read value by value through a window.
struct spot_reading {
    struct import *im;
    struct changes *c;
    struct buf window;
    const char *at, *end; // what is left of it
    size_t line;
    bool ended; // there is no more than the window has
    int rc;     // of reading the file
    struct err *err;
};

enum { WINDOW = 256 << 10, CHUNK = 64 << 10 };

// Reads on until there are `ahead` bytes, or the file ends. A failure ends it too, and sticks.
static void look_ahead(struct spot_reading *r, size_t ahead)
{
    size_t left = (size_t)(r->end - r->at);
    if (r->ended || left >= ahead)
        return;
    if (left > 0)
        memmove(r->window.data, r->at, left);
    r->window.len = left;
    ahead = ahead < WINDOW ? WINDOW : ahead;
    while (!r->ended && r->window.len < ahead) {
        char *into = buf_reserve(&r->window, CHUNK);
        ptrdiff_t got = into ? gzip_read(r->im->rest, into, CHUNK, r->err) : err_memory(r->err);
        r->ended = got <= 0;
        r->rc = got < 0 ? (int)got : 0;
        if (got > 0)
            buf_advance(&r->window, (size_t)got);
    }
    r->at = buf_str(&r->window);
    r->end = r->at + r->window.len;
}

static void skip(struct spot_reading *r, size_t count)
{
    for (; count > 0 && r->at < r->end; count--)
        r->line += *r->at++ == '\n';
}

// The next byte that is not a space; 0 at the end.
static char peek(struct spot_reading *r)
{
    for (;; skip(r, 1)) {
        if (r->at == r->end)
            look_ahead(r, WINDOW);
        if (r->at == r->end || !*r->at || !strchr(" \t\r\n", *r->at))
            return r->at < r->end ? *r->at : '\0';
    }
}

static bool take(struct spot_reading *r, char byte)
{
    bool there = peek(r) == byte && r->at < r->end;
    skip(r, there);
    return there;
}

// Parses one value and goes behind it. The caller decreases its count.
static int next_value(struct spot_reading *r, json_t **out, struct err *err)
{
    json_error_t why;
    look_ahead(r, CHUNK);
    for (;; look_ahead(r, SIZE_MAX)) { // a value may be larger than the window
        *out = json_loadb(r->at, (size_t)(r->end - r->at), JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY,
                          &why);
        if (*out || r->ended)
            break;
    }
    if (*out) {
        skip(r, (size_t)why.position);
        return 0;
    }
    r->line += why.line > 0 ? (size_t)why.line - 1 : 0;
    return json_error_code(&why) == json_error_out_of_memory
               ? err_memory(err)
               : err_set(err, ERR_FORMAT, "%s", why.text);
}

// Whether the text goes on with {"SpotPriceHistory":[, and if so, goes behind that.
static bool take_list(struct spot_reading *r)
{
    static const char key[] = "\"SpotPriceHistory\"";
    look_ahead(r, CHUNK);
    struct spot_reading ahead = *r;
    ahead.ended = true; // the window stays as it is
    if (!take(&ahead, '{') || peek(&ahead) != '"' ||
        (size_t)(ahead.end - ahead.at) < sizeof key - 1 ||
        memcmp(ahead.at, key, sizeof key - 1) != 0)
        return false;
    skip(&ahead, sizeof key - 1);
    if (!take(&ahead, ':') || !take(&ahead, '['))
        return false;
    r->at = ahead.at;
    r->line = ahead.line;
    return true;
}

// What follows the list in its object: NextToken.
static int end_object(struct spot_reading *r, struct err *err)
{
    while (take(r, ',')) {
        for (int part = 0; part < 2; part++) { // a key and its value
            json_t *value = NULL;
            peek(r);
            TRY(next_value(r, &value, err));
            json_decref(value);
            if (part == 0 && !take(r, ':'))
                return err_set(err, ERR_FORMAT, "':' is missing");
        }
    }
    return take(r, '}') ? 0 : err_set(err, ERR_FORMAT, "'}' is missing: the file was cut off");
}

// The document of the AWS CLI, one price at a time: as a whole it takes ten times its size.
static int read_list(struct spot_reading *r, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && peek(r) != ']'; i++) {
        json_t *value = NULL;
        size_t line = r->line;
        rc = next_value(r, &value, err);
        if (rc == 0)
            rc = add_object(r->im, r->c, value, line, err);
        json_decref(value);
        if (rc == 0 && !take(r, ',') && peek(r) != ']')
            rc = err_set(err, ERR_FORMAT, "']' is missing: the file was cut off");
        if (rc == ERR_FORMAT || rc == ERR_OVERFLOW)
            err_context(err, "SpotPriceHistory[%zu]", i);
    }
    skip(r, rc == 0);
    return rc == 0 ? end_object(r, err) : rc;
}

// A sequence of JSON values, with or without newlines between them.
static int read_json(struct import *im, struct changes *c, struct err *err)
{
    struct spot_reading r = {.im = im, .c = c, .line = 1, .ended = !im->rest, .err = err};
    r.window.max = SIZE_MAX / 2;
    buf_add(&r.window, im->text, im->len);
    int rc = buf_check(&r.window, err);
    r.at = buf_str(&r.window);
    r.end = r.at + r.window.len;
    while (rc == 0 && peek(&r) | (r.at < r.end)) {
        size_t line = r.line;
        json_t *value = NULL;
        if (take_list(&r)) {
            rc = read_list(&r, err);
            line = r.line;
        } else {
            rc = next_value(&r, &value, err);
            line = rc == 0 ? line : r.line;
            if (rc == 0)
                rc = add_value(im, c, value, line, err);
        }
        json_decref(value);
        if (rc == ERR_FORMAT || rc == ERR_OVERFLOW)
            err_context(err, "%.200s, line %zu", im->name, line);
    }
    buf_release(&r.window);
    return r.rc != 0 ? r.rc : rc;
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
    return (int)(c->at_s / DAY_S);
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

// Adds the price of each day, and all changes.
static int add_prices(struct import *im, const struct changes *c, size_t from, size_t to,
                      struct offer *offer, struct err *err)
{
    size_t before = im->report->offers;
    for (size_t i = from; i < to; i++) {
        const struct change *now = &c->items[i], *next = i + 1 < to ? now + 1 : NULL;
        c->series[i - from] = (struct image_change){now->at_s, now->rate};
        if (next && next->at_s == now->at_s && next->rate != now->rate)
            format_noted(im, 0, "two prices at the same second: the higher one counts",
                         offer->name);
        if (next && day_of(now) == day_of(next))
            continue;
        offer->rate = now->rate;
        offer->since = day_of(now);
        offer->day = next ? day_of(next) - 1 : (int)(c->last_s / DAY_S);
        TRY(format_add(im, offer, err));
    }
    im->report->offers = before + (to - from); // all were imported, not only those of days
    return stock_add_series(im->stock, offer, c->series, to - from, c->first_s, c->last_s + 1, err);
}

static const struct instance *find_instance(const struct changes *c, const char *name)
{
    for (size_t i = 0; i < c->instances.count; i++) {
        const struct instance *one = &c->instances.items[i];
        if (strcmp(one->name, name) == 0 && strcmp(one->provider, "aws") == 0)
            return one;
    }
    return NULL;
}

// The changes of one machine in one zone.
static int add_machine(struct import *im, const struct changes *c, size_t from, size_t to,
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
    const struct instance *machine = find_instance(c, offer.name);
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
    return add_prices(im, c, from, to, &offer, err);
}

static int read_history(struct import *im, struct err *err)
{
    struct changes c = {.latest_s = clock_date_s() + SLACK_S};
    SCOPED(buf_release) struct buf types = {0};
    bool table =
        !strchr("{[", im->text[strspn(im->text, " \t\r\n")]); // an empty file is not a table
    int rc = table ? read_csv(im, &c, err) : read_json(im, &c, err);
    if (rc == 0 && im->devices)
        rc = files_shipped("devices/instances.csv", &types, err);
    if (rc == 0 && im->devices)
        rc = columns_load(&instance_table, buf_str(&types), false, &c.instances, NULL, err);
    if (rc == 0 && !(c.series = malloc((c.count + 1) * sizeof *c.series)))
        rc = err_memory(err);
    if (c.count > 0)
        qsort(c.items, c.count, sizeof *c.items, by_thing);
    for (size_t i = 0, end; i < c.count && rc == 0; i = end) {
        end = i;
        while (end < c.count && c.items[end].type == c.items[i].type &&
               c.items[end].zone == c.items[i].zone)
            end++;
        rc = add_machine(im, &c, i, end, err);
    }
    im->report->day = c.count > 0 ? (int)(c.last_s / DAY_S) : im->day;
    columns_release(&instance_table, &c.instances);
    index_release(&c.words);
    free(c.items);
    free(c.series);
    return rc;
}

const struct price_format format_aws_spot = {
    .name = "aws-spot",
    .knows = knows,
    .read = read_history,
    .streams = true,
};
