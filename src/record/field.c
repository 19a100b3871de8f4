// SPDX-License-Identifier: Apache-2.0
#include "record/field.h"

#include <assert.h>
#include <float.h>
#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define HUNDRED_YEARS_S                 (100 * 366 * 86400.0)
#define UNKNOWN                         "unknown"
#define RANGE(name, least, most, words) const struct field_range name = {least, most, words}
RANGE(range_s, 0, HUNDRED_YEARS_S, "out of range: expected 0 to 100 years");
RANGE(range_ms, 0, HUNDRED_YEARS_S * 1e3, "out of range: expected 0 to 100 years");
RANGE(range_us, 0, HUNDRED_YEARS_S * 1e6, "out of range: expected 0 to 100 years");
RANGE(range_ns, 0, HUNDRED_YEARS_S * 1e9, "out of range: expected 0 to 100 years");
RANGE(range_count, 0, 1e18, "out of range: expected 0 to 10^18");
RANGE(range_devices, 0, 1e7, "out of range: expected 0 to 10,000,000");
RANGE(range_quantity, 0, 1e30, "out of range: expected 0 to 10^30");
RANGE(range_real, -(double)FLT_MAX, (double)FLT_MAX, "out of range: expected a number as f32 has");
RANGE(range_amount, 0, AMOUNT_MOST_USD, "out of range: expected 0 to 1000000000 USD");
RANGE(range_money, -1e10, 1e10, "not an amount of money that fits");
RANGE(range_share, 0, 1, "out of range: expected 0 to 1");
RANGE(range_percent, 0, 100, "out of range: expected 0 to 100");

struct maybe_real money_real(struct maybe_money amount)
{
    return amount.known ? some_real((double)amount.nano / MONEY_UNIT) : (struct maybe_real){0};
}

struct money_words money_exact(struct maybe_money amount)
{
    struct money_words out = {""};
    if (amount.known)
        money_text(amount.nano, out.s);
    return out;
}

struct money_words money_brief(struct maybe_money amount)
{
    struct money_words out = {""};
    if (amount.known)
        money_short(amount.nano, out.s);
    return out;
}

static bool record_is_empty(const struct field *fields, const void *record);
static json_t *record_to_json(const struct field *fields, const void *record, struct err *err);

// Bytes of a value that is one plain struct; 0 of all others.
static size_t plain_size(enum field_kind kind)
{
    static const size_t sizes[] = {[FIELD_INT] = sizeof(struct maybe_int),
                                   [FIELD_REAL] = sizeof(struct maybe_real),
                                   [FIELD_BOOL] = sizeof(struct maybe_bool),
                                   [FIELD_AMOUNT] = sizeof(struct maybe_money)};
    return sizes[kind];
}

static bool field_is_empty(const struct field *field, const void *at)
{
    switch (field->kind) {
    case FIELD_TEXT:
        return *(char *const *)at == NULL;
    case FIELD_INT:
        return !((const struct maybe_int *)at)->known;
    case FIELD_REAL:
        return !((const struct maybe_real *)at)->known ||
               !isfinite(((const struct maybe_real *)at)->v);
    case FIELD_BOOL:
        return !((const struct maybe_bool *)at)->known;
    case FIELD_AMOUNT:
        return !((const struct maybe_money *)at)->known &&
               !((const struct maybe_money *)at)->unknown;
    case FIELD_OBJECT:
        return record_is_empty(field->sub, at);
    case FIELD_LIST:
    case FIELD_TEXTS:
    case FIELD_REALS:
        return !((const struct list *)at)->known;
    }
    return true;
}

static bool record_is_empty(const struct field *fields, const void *record)
{
    for (; fields->name; fields++)
        if (!field_is_empty(fields, (const char *)record + fields->at))
            return false;
    return true;
}

// ---- bounds

static size_t text_most(const struct field *field)
{
    return field->kind == FIELD_TEXT && field->most ? field->most : TEXT_MOST;
}

static size_t list_most(const struct field *field)
{
    return field->most ? field->most : LIST_MOST;
}

int field_bound_text(const struct field *field, size_t bytes, struct err *err)
{
    if (bytes <= text_most(field))
        return 0;
    return err_set(err, ERR_FORMAT, "%s: more than %zu bytes", field->name, text_most(field));
}

int field_bound_list(const struct field *field, size_t count, struct err *err)
{
    if (count <= list_most(field))
        return 0;
    return err_set(err, ERR_FORMAT, "%s: more than %zu items", field->name, list_most(field));
}

int record_bound(const struct field *fields, const void *record, struct err *err)
{
    for (; fields->name; fields++) {
        const void *at = (const char *)record + fields->at;
        const struct list *list = at;
        if (fields->kind == FIELD_OBJECT)
            TRY(record_bound(fields->sub, at, err));
        if (fields->kind == FIELD_LIST || fields->kind == FIELD_TEXTS)
            TRY(field_bound_list(fields, list->count, err));
        for (size_t i = 0; fields->kind == FIELD_LIST && i < list->count; i++)
            TRY(record_bound(fields->sub, (const char *)list->items + i * fields->sub_size, err));
    }
    return 0;
}

bool field_fits(const struct field *field, double value)
{
    const struct field_range *range = field->range;
    return !range || (value >= range->least && value <= range->most);
}

bool amount_too_large(const char *text)
{
    int64_t nano = 0;
    int rc = money_parse(text, &nano, NULL);
    return rc == ERR_OVERFLOW || (rc == 0 && nano > AMOUNT_MOST_USD * MONEY_UNIT);
}

struct maybe_money field_amount(const struct field *field, const char *text)
{
    int64_t nano;
    bool fits = money_parse(text, &nano, NULL) == 0 && field_fits(field, (double)nano / MONEY_UNIT);
    bool unknown = field->range == &range_money && strcmp(text, UNKNOWN) == 0;
    return fits ? some_money(nano) : (struct maybe_money){.unknown = unknown};
}

// ---- writing

static json_t *text_to_json(const struct field *field, const char *text)
{
    static const char cut[] = "...";
    size_t len = strlen(text), most = text_most(field);
    if (len <= most)
        return json_string(text);
    SCOPED(buf_release) struct buf shown = {0};
    for (len = most - strlen(cut); len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80; len--)
        ; // to the start of a character
    buf_add(&shown, text, len);
    buf_adds(&shown, cut);
    return shown.failed ? NULL : json_string(buf_str(&shown));
}

static json_t *list_to_json(const struct field *field, const struct list *list, struct err *err)
{
    json_t *array = json_array();
    size_t most = list_most(field), count = list->count;
    if (field->kind == FIELD_REALS && count > most)
        count = most;
    for (size_t i = 0; array && i < count; i++) {
        json_t *item;
        if (field->kind == FIELD_TEXTS)
            item = text_to_json(field, ((char **)list->items)[i]);
        else if (field->kind == FIELD_REALS)
            item = json_real(((double *)list->items)[i * list->count / count]);
        else
            item = record_to_json(field->sub, (char *)list->items + i * field->sub_size, err);
        if (!item || json_array_append_new(array, item) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

static json_t *field_to_json(const struct field *field, const void *at, struct err *err)
{
    switch (field->kind) {
    case FIELD_TEXT:
        return text_to_json(field, *(char *const *)at);
    case FIELD_INT:
        return json_integer(((const struct maybe_int *)at)->v);
    case FIELD_REAL:
        return json_real(((const struct maybe_real *)at)->v);
    case FIELD_BOOL:
        return json_boolean(((const struct maybe_bool *)at)->v);
    case FIELD_AMOUNT:
        return json_string(((const struct maybe_money *)at)->unknown
                               ? UNKNOWN
                               : money_exact(*(const struct maybe_money *)at).s);
    case FIELD_OBJECT:
        return record_to_json(field->sub, at, err);
    case FIELD_LIST:
    case FIELD_TEXTS:
    case FIELD_REALS:
        return list_to_json(field, at, err);
    }
    return NULL;
}

static json_t *record_to_json(const struct field *fields, const void *record, struct err *err)
{
    json_t *object = json_object();
    for (; object && fields->name; fields++) {
        const void *at = (const char *)record + fields->at;
        if (field_is_empty(fields, at))
            continue;
        json_t *value = field_to_json(fields, at, err);
        if (!value || json_object_set_new(object, fields->name, value) != 0) {
            json_decref(object);
            object = NULL;
        }
    }
    if (!object)
        err_memory(err);
    return object;
}

static int add_dump(const char *bytes, size_t len, void *out)
{
    buf_add(out, bytes, len);
    return 0;
}

int json_to_text(const json_t *json, size_t flags, struct buf *out, struct err *err)
{
    // DBL_DIG digits preserve every decimal: 0.1 prints as 0.1, a day keeps its nanoseconds.
    int rc = json_dump_callback(json, add_dump, out, flags | JSON_REAL_PRECISION(DBL_DIG));
    return rc == 0 ? buf_check(out, err) : err_memory(err);
}

static int dump(const struct field *fields, const void *record, size_t flags, struct buf *out,
                struct err *err)
{
    json_auto_t *json = record_to_json(fields, record, err);
    return json ? json_to_text(json, flags, out, err) : ERR_MEMORY;
}

int record_to_text(const struct field *fields, const void *record, struct buf *out, struct err *err)
{
    return dump(fields, record, JSON_INDENT(2), out, err);
}

int record_to_line(const struct field *fields, const void *record, struct buf *out, struct err *err)
{
    return dump(fields, record, JSON_COMPACT, out, err);
}

// ---- copying and releasing

static int list_copy(const struct field *field, const struct list *list, struct list *copy,
                     struct err *err)
{
    copy->known = list->known;
    if (field->kind == FIELD_REALS)
        return list->known ? reals_set(copy, list->items, list->count, err) : 0;
    for (size_t i = 0; i < list->count; i++) {
        if (field->kind == FIELD_TEXTS) {
            TRY(texts_add(copy, ((char **)list->items)[i], err));
            continue;
        }
        void *item = list_add(copy, field->sub_size, err);
        TRY(item ? record_copy(field->sub, (char *)list->items + i * field->sub_size, item, err)
                 : ERR_MEMORY);
    }
    return 0;
}

int record_copy(const struct field *fields, const void *record, void *copy, struct err *err)
{
    for (; fields->name; fields++) {
        const void *from = (const char *)record + fields->at;
        void *to = (char *)copy + fields->at;
        if (field_is_empty(fields, from))
            continue;
        if (plain_size(fields->kind) > 0)
            memcpy(to, from, plain_size(fields->kind));
        else if (fields->kind == FIELD_TEXT)
            TRY(text_set(to, *(char *const *)from, err));
        else if (fields->kind == FIELD_OBJECT)
            TRY(record_copy(fields->sub, from, to, err));
        else
            TRY(list_copy(fields, from, to, err));
    }
    return 0;
}

static void list_release(const struct field *field, struct list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (field->kind == FIELD_TEXTS)
            free(((char **)list->items)[i]);
        else if (field->kind == FIELD_LIST)
            record_release(field->sub, (char *)list->items + i * field->sub_size);
    }
    free(list->items);
    list->items = NULL;
    list->count = 0;
    list->known = false;
}

void record_release(const struct field *fields, void *record)
{
    for (; fields->name; fields++) {
        void *at = (char *)record + fields->at;
        if (plain_size(fields->kind) > 0) {
            memset(at, 0, plain_size(fields->kind));
        } else if (fields->kind == FIELD_TEXT) {
            free(*(char **)at);
            *(char **)at = NULL;
        } else if (fields->kind == FIELD_OBJECT) {
            record_release(fields->sub, at);
        } else {
            list_release(fields, at);
        }
    }
}

// ---- a part of a table

// Whether one of the names is `path`, or below it.
static bool is_named(const char *names, const char *path, bool *whole)
{
    size_t len = strlen(path);
    for (size_t word; (word = strcspn(names, " ")) > 0; names += word, names += *names == ' ') {
        *whole = word == len;
        if (strncmp(names, path, len) == 0 && (*whole || names[len] == '.'))
            return true;
    }
    return false;
}

// Adds the chosen ones of `of`, to which `path` leads, and what they lead to.
static const struct field *choose(struct record_part *part, const struct field *of,
                                  const char *path)
{
    char name[128];
    bool whole;
    struct field *first = &part->fields[part->count];
    for (; of->name; of++) {
        snprintf(name, sizeof name, "%s%s", path, of->name);
        assert(part->count + 1 < sizeof part->fields / sizeof *part->fields);
        if (is_named(part->members, name, &whole) != part->without)
            part->fields[part->count++] = *of;
    }
    part->count++; // the end, whose name is null
    for (struct field *f = first; f->name; f++) {
        if (f->kind == FIELD_AMOUNT && part->any_amount)
            f->range = &range_money;
        snprintf(name, sizeof name, "%s%s", path, f->name);
        if (f->sub && is_named(part->members, name, &whole) && !whole) {
            snprintf(name, sizeof name, "%s%s.", path, f->name);
            f->sub = choose(part, f->sub, name);
        }
    }
    return first;
}

const struct field *record_part(struct record_part *part)
{
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&making);
    if (part->count == 0)
        choose(part, part->of, "");
    pthread_mutex_unlock(&making);
    return part->fields;
}

// ---- texts and lists

// Length of the character at `p`; 0 if invalid.
static size_t next_character(const unsigned char *p, size_t left, uint32_t *c)
{
    const char *text = (const char *)p;
    return utf8_bad(text, left < UTF8_MAX ? left : UTF8_MAX) > 0 ? utf8_next(text, left, c) : 0;
}

static size_t plain_ascii(const unsigned char *text)
{
    size_t len = 0;
    while (text[len] >= ' ' && text[len] < 0x7F)
        len++;
    return len;
}

int text_set(char **member, const char *text, struct err *err)
{
    SCOPED(buf_release) struct buf clean = {0};
    const unsigned char *p = (const unsigned char *)(text ? text : "");
    char *copy = NULL;
    while (isspace(*p))
        p++;
    size_t left = plain_ascii(p);
    if (left > 0 && !p[left] && p[left - 1] != ' ') { // as nearly all are
        copy = strndup((const char *)p, left);
        if (!copy)
            return err_memory(err);
        free(*member);
        *member = copy;
        return 0;
    }
    left += strlen((const char *)p + left);
    while (left > 0) {
        size_t len = plain_ascii(p); // copied at once
        buf_add(&clean, p, len);
        p += len;
        left -= len;
        if (left == 0)
            break;
        uint32_t c = 0;
        len = next_character(p, left, &c);
        if (len == 0 || utf8_steers(c))
            buf_addc(&clean, *p == '\t' || *p == '\n' ? ' ' : '?');
        else
            buf_add(&clean, p, len);
        len = len ? len : 1;
        p += len;
        left -= len;
    }
    buf_trim(&clean);
    if (clean.len > 0 || clean.failed) {
        copy = buf_take(&clean, err);
        if (!copy)
            return ERR_MEMORY;
    }
    free(*member);
    *member = copy;
    return 0;
}

int text_take(char **member, struct buf *text, struct err *err)
{
    int rc = buf_check(text, err);
    if (rc == 0)
        rc = text_set(member, buf_str(text), err);
    buf_release(text);
    return rc;
}

int texts_set(const struct text_pair *pairs, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        TRY(text_set(pairs[i].to, pairs[i].from, err));
    return 0;
}

void *list_add(void *list_, size_t item_size, struct err *err)
{
    struct list *list = list_;
    size_t count = list->count;
    if ((count & (count - 1)) == 0) { // the room is the next power of two: full at each of them
        void *items = realloc(list->items, (count ? count * 2 : 1) * item_size);
        if (!items) {
            err_memory(err);
            return NULL;
        }
        list->items = items;
    }
    list->known = true;
    void *item = (char *)list->items + count * item_size;
    memset(item, 0, item_size);
    list->count++;
    return item;
}

int texts_add(void *texts, const char *text, struct err *err)
{
    char *copy = NULL;
    TRY(text_set(&copy, text, err));
    if (!copy)
        return 0;
    char **item = list_add(texts, sizeof *item, err);
    if (!item) {
        free(copy);
        return ERR_MEMORY;
    }
    *item = copy;
    return 0;
}

int texts_take(void *texts, struct buf *text, struct err *err)
{
    int rc = buf_check(text, err);
    if (rc == 0)
        rc = texts_add(texts, buf_str(text), err);
    buf_release(text);
    return rc;
}

int reals_set(void *reals_, const double *values, size_t count, struct err *err)
{
    struct list *reals = reals_;
    double *copy = malloc((count ? count : 1) * sizeof *copy);
    if (!copy)
        return err_memory(err);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            copy[kept++] = values[i];
    free(reals->items);
    *reals = (struct list){.items = copy, .count = kept, .known = true};
    return 0;
}

void record_document(const struct field *fields, const char *prefix, struct buf *out)
{
    static const char *const kinds[] = {"text",          "integer",         "number",
                                        "true or false", "object",          "list",
                                        "list of texts", "list of numbers", "text"};
    for (; fields->name; fields++) {
        const char *list = fields->kind == FIELD_LIST ? "[]" : "";
        buf_printf(out, "| `%s%s%s` | %s | %s |\n", prefix, fields->name, list, kinds[fields->kind],
                   fields->doc);
        if (fields->sub) {
            char deeper[128];
            snprintf(deeper, sizeof deeper, "%s%s%s.", prefix, fields->name, list);
            record_document(fields->sub, deeper, out);
        }
    }
}
