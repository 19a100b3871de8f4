// SPDX-License-Identifier: Apache-2.0
#include "record/flat.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// The field at the end of a path; its offset, through objects, is added to `*at`.
static const struct field *find(const struct field *fields, const char *path, size_t *at)
{
    size_t len = strcspn(path, ".");
    while (fields->name && (strncmp(fields->name, path, len) != 0 || fields->name[len]))
        fields++;
    assert(fields->name); // a path is a literal
    *at += fields->at;
    return path[len] ? find(fields->sub, path + len + 1, at) : fields;
}

const struct field *flat_part(const struct field *fields, const char *path)
{
    size_t at = 0;
    return find(fields, path, &at)->sub;
}

void flat_heads(struct csv_writer *w, const struct flat_column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        csv_put(w, columns[i].head);
}

static void put_texts(struct csv_writer *w, char *const *items, size_t count)
{
    struct buf joined = {0};
    for (size_t i = 0; i < count; i++)
        buf_printf(&joined, "%s%s", i ? "; " : "", items[i]);
    csv_put_text(w, buf_str(&joined));
    buf_drop(w->out, &joined);
}

static void put(struct csv_writer *w, const struct field *field, const void *at)
{
    char text[40] = "";
    const struct maybe_real *real = at;
    const struct maybe_int *whole = at;
    const struct maybe_bool *yes = at;
    const LIST_OF(char *) *texts = at;
    switch (field->kind) {
    case FIELD_TEXT:
        csv_put_text(w, *(char *const *)at);
        return;
    case FIELD_TEXTS:
        put_texts(w, texts->items, texts->count);
        return;
    case FIELD_INT:
        if (whole->known)
            snprintf(text, sizeof text, "%lld", (long long)whole->v);
        break;
    case FIELD_REAL:
        if (real->known && isfinite(real->v))
            snprintf(text, sizeof text, "%.*g", DBL_DIG, real->v);
        break;
    case FIELD_BOOL:
        if (yes->known)
            snprintf(text, sizeof text, "%s", yes->v ? "true" : "false");
        break;
    case FIELD_AMOUNT:
        snprintf(text, sizeof text, "%s", money_exact(*(const struct maybe_money *)at).s);
        break;
    case FIELD_OBJECT:
    case FIELD_LIST:
    case FIELD_REALS:
        assert(false); // a field of CSV is one value
    }
    csv_put(w, text);
}

void flat_put(struct csv_writer *w, const struct field *fields, const void *record,
              const struct flat_column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        const struct field *field = find(fields, columns[i].path, &at);
        put(w, field, (const char *)record + at);
    }
}
