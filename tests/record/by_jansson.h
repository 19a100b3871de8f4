// SPDX-License-Identifier: Apache-2.0
// Reads a record by way of jansson's tree: a second reader, which record/read.h is held against.
#ifndef FARE_TESTS_BY_JANSSON_H
#define FARE_TESTS_BY_JANSSON_H

#include <jansson.h>
#include <stdlib.h>

#include "record/field.h"

static int record_from_json(const struct field *fields, json_t *json, void *record,
                            struct err *err);

static int wrong_type(const struct field *field, const char *expected, struct err *err)
{
    return err_set(err, ERR_FORMAT, "%s: expected %s", field->name, expected);
}

static int reals_from_json(const struct field *field, json_t *json, struct list *list,
                           struct err *err)
{
    size_t count = json_array_size(json);
    double *values = calloc(count ? count : 1, sizeof *values);
    if (!values)
        return err_memory(err);
    list->items = values;
    for (size_t i = 0; i < count; i++) {
        json_t *item = json_array_get(json, i);
        if (!json_is_number(item))
            return wrong_type(field, "a list of numbers", err);
        if (field_fits(field, json_number_value(item)))
            values[list->count++] = json_number_value(item);
    }
    return 0;
}

static int list_from_json(const struct field *field, json_t *json, struct list *list,
                          struct err *err)
{
    if (!json_is_array(json))
        return wrong_type(field, "a list", err);
    size_t index;
    json_t *item;
    list->known = true;
    TRY(field_bound_list(field, json_array_size(json), err));
    if (field->kind == FIELD_REALS)
        return reals_from_json(field, json, list, err);
    json_array_foreach(json, index, item)
    {
        int rc = 0;
        if (field->kind == FIELD_TEXTS) {
            if (!json_is_string(item))
                rc = wrong_type(field, "a list of texts", err);
            else
                rc = field_bound_text(field, json_string_length(item), err);
            if (rc == 0)
                rc = texts_add(list, json_string_value(item), err);
        } else {
            void *record = list_add(list, field->sub_size, err);
            if (!record)
                return ERR_MEMORY;
            rc = record_from_json(field->sub, item, record, err);
            if (rc != 0)
                err_context(err, "%s[%zu]", field->name, index);
        }
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int field_from_json(const struct field *field, json_t *json, void *at, struct err *err)
{
    switch (field->kind) {
    case FIELD_TEXT:
    case FIELD_AMOUNT:
        if (!json_is_string(json))
            return wrong_type(field, "a text", err);
        TRY(field_bound_text(field, json_string_length(json), err));
        if (field->kind == FIELD_TEXT)
            return text_set(at, json_string_value(json), err);
        *(struct maybe_money *)at = field_amount(field, json_string_value(json));
        return 0;
    case FIELD_INT:
        if (!json_is_integer(json))
            return wrong_type(field, "an integer", err);
        if (field_fits(field, (double)json_integer_value(json)))
            *(struct maybe_int *)at = some_int(json_integer_value(json));
        return 0;
    case FIELD_REAL:
        if (!json_is_number(json))
            return wrong_type(field, "a number", err);
        if (field_fits(field, json_number_value(json)))
            *(struct maybe_real *)at = some_real(json_number_value(json));
        return 0;
    case FIELD_BOOL:
        if (!json_is_boolean(json))
            return wrong_type(field, "true or false", err);
        *(struct maybe_bool *)at = some_bool(json_is_true(json));
        return 0;
    case FIELD_OBJECT: {
        int rc = record_from_json(field->sub, json, at, err);
        if (rc != 0)
            err_context(err, "%s", field->name);
        return rc;
    }
    case FIELD_LIST:
    case FIELD_TEXTS:
    case FIELD_REALS:
        return list_from_json(field, json, at, err);
    }
    return ERR_FAIL;
}

int record_from_json(const struct field *fields, json_t *json, void *record, struct err *err)
{
    if (!json_is_object(json))
        return err_set(err, ERR_FORMAT, "expected an object");
    for (; fields->name; fields++) {
        json_t *value = json_object_get(json, fields->name);
        if (!value)
            continue;
        int rc = field_from_json(fields, value, (char *)record + fields->at, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

#endif
