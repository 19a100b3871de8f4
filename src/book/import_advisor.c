// SPDX-License-Identifier: Apache-2.0
// import: AWS's spot advisor: how often machines of a type were interrupted in the last month (one
// of five ranges), and the saving against on demand. Stored beside the prices.
#include <jansson.h>
#include <string.h>

#include "base/utf8.h"
#include "book/book.h"
#include "book/format.h"

enum { RANGES = 16, JSON_MAX = 128 << 20 };

static bool knows(const char *head, size_t len)
{
    size_t start = strspn(head, " \t\r\n");
    return start < len && head[start] == '{' && strstr(head, "\"spot_advisor\"");
}

struct risk_range {
    int low, high; // per cent
};

// In "index 1, max 11, label 5-10%" the label has the bounds.
static bool bounds_of(const char *label, struct risk_range *out)
{
    int n[2] = {0, 0}, count = 0;
    for (const char *p = label; *p && count < 2;) {
        if (*p < '0' || *p > '9') {
            p++;
            continue;
        }
        for (; *p >= '0' && *p <= '9' && n[count] < 1000; p++)
            n[count] = n[count] * 10 + (*p - '0');
        count++;
    }
    if (count == 1)
        *out = *label == '>' ? (struct risk_range){n[0], 100} : (struct risk_range){0, n[0]};
    else
        *out = (struct risk_range){n[0], n[1]};
    return count > 0 && out->low <= out->high && out->high <= 100;
}

static int read_ranges(const json_t *document, struct risk_range ranges[RANGES], struct err *err)
{
    const json_t *list = json_object_get(document, "ranges");
    for (int i = 0; i < RANGES; i++)
        ranges[i] = (struct risk_range){-1, -1};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        json_int_t index = json_integer_value(json_object_get(item, "index"));
        const char *label = json_string_value(json_object_get(item, "label"));
        if (!json_is_integer(json_object_get(item, "index")) || index < 0 || index >= RANGES ||
            !label || !bounds_of(label, &ranges[index]))
            return err_set(err, ERR_FORMAT, "ranges[%zu] is not a range", i);
    }
    return json_array_size(list) > 0 ? 0 : err_set(err, ERR_FORMAT, "it has no ranges");
}

static bool is_name(const char *text)
{
    size_t len = strlen(text);
    if (len == 0 || len > 64 || utf8_bad(text, len) != len)
        return false;
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

// The line of that machine and region in the file; jansson does not report it.
static size_t line_of(const struct import *im, const char *region, const char *type)
{
    const char *const names[] = {"spot_advisor", region, type};
    const char *at = im->text;
    size_t line = 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        SCOPED(buf_release) struct buf key = {0};
        buf_printf(&key, "\"%s\"", names[i]);
        const char *found = strstr(at, buf_str(&key));
        for (; found && at < found; at++)
            line += *at == '\n';
    }
    return line;
}

static int add_risk(struct import *im, const struct risk_range ranges[RANGES], const char *region,
                    const char *type, const json_t *value, struct err *err)
{
    const json_t *r = json_object_get(value, "r"), *s = json_object_get(value, "s");
    json_int_t index = json_integer_value(r), saving = json_integer_value(s);
    im->report->rows++;
    if (!is_name(region) || !is_name(type) || !json_is_integer(r) || index < 0 || index >= RANGES ||
        ranges[index].low < 0)
        return err_set(err, ERR_FORMAT, "line %zu, %.64s, %.64s: not an interruption rate",
                       line_of(im, region, type), region, type);
    if (s && (!json_is_integer(s) || saving < 0 || saving > 100))
        return err_set(err, ERR_FORMAT, "line %zu, %.64s, %.64s: not a saving in per cent",
                       line_of(im, region, type), region, type);
    const struct offer_risk risk = {
        .low_percent = ranges[index].low,
        .high_percent = ranges[index].high,
        .saving_percent = s ? (int)saving : -1,
        .day = im->day,
        .source = im->source,
    };
    int rc = stock_add_risk(im->stock, "aws", type, region, &risk, err);
    im->report->offers += rc == 0;
    return rc;
}

static int each_region(struct import *im, const json_t *document, struct err *err)
{
    struct risk_range ranges[RANGES];
    json_t *regions = json_object_get(document, "spot_advisor"), *systems, *types, *value;
    const char *region, *system, *type;
    int rc = read_ranges(document, ranges, err);
    if (rc == 0 && !json_is_object(regions))
        rc = err_set(err, ERR_FORMAT, "spot_advisor is not an object");
    json_object_foreach(regions, region, systems)
    {
        json_object_foreach(systems, system, types)
        {
            bool linux_too = strcmp(system, "Linux") == 0;
            if (rc == 0 && !linux_too)
                format_left_out(im, 0, "another system than Linux", region);
            json_object_foreach(types, type, value)
            {
                if (rc == 0 && linux_too)
                    rc = add_risk(im, ranges, region, type, value, err);
            }
        }
    }
    return rc;
}

static int read_advisor(struct import *im, struct err *err)
{
    json_error_t why;
    if (im->len > JSON_MAX)
        return err_set(err, ERR_FORMAT, "%.200s is larger than %d MiB", im->name, JSON_MAX >> 20);
    json_auto_t *document = json_loadb(im->text, im->len, 0, &why);
    if (!document)
        return json_error_code(&why) == json_error_out_of_memory
                   ? err_memory(err)
                   : err_set(err, ERR_FORMAT, "%.200s, line %d: %s", im->name, why.line, why.text);
    int rc = each_region(im, document, err);
    if (rc == ERR_FORMAT)
        err_context(err, "%.200s", im->name);
    return rc;
}

const struct price_format format_aws_spot_advisor = {
    .name = "aws-spot-advisor",
    .knows = knows,
    .read = read_advisor,
};
