// SPDX-License-Identifier: Apache-2.0
// The writing half of safetensors.h.
#include "checkpoint/safetensors.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "record/field.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensors lie in the file as in memory");

#define LENGTH_BYTES 8
#define ALIGNMENT    8 // of the data; spaces pad the header

// A JSON text; `clean` is UTF-8 without control characters.
static void add_quoted(struct buf *out, const char *clean)
{
    buf_addc(out, '"');
    for (; *clean; clean++) {
        if (*clean == '"' || *clean == '\\')
            buf_addc(out, '\\');
        buf_addc(out, *clean);
    }
    buf_addc(out, '"');
}

static int add_texts(struct buf *out, const struct safetensors_text *texts, int count,
                     struct err *err)
{
    buf_adds(out, "\"__metadata__\":{");
    for (int i = 0; i < count; i++) {
        char *key = NULL, *value = NULL;
        int rc = text_set(&key, texts[i].key, err);
        if (rc == 0)
            rc = text_set(&value, texts[i].value, err);
        if (rc == 0) {
            buf_adds(out, i ? "," : "");
            add_quoted(out, key ? key : "");
            buf_addc(out, ':');
            add_quoted(out, value ? value : "");
        }
        free(key);
        free(value);
        if (rc != 0)
            return rc;
    }
    buf_addc(out, '}');
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// Refuses a file that we could not read back.
static int check_names(const struct safetensors_entry *entries, int count, struct err *err)
{
    int rc = 0;
    const char **names = malloc(((size_t)count + 1) * sizeof *names);
    if (!names)
        return err_memory(err);
    for (int i = 0; rc == 0 && i < count; i++) {
        char *clean = NULL;
        names[i] = entries[i].name;
        rc = text_set(&clean, names[i], err);
        if (rc == 0 && strcmp(clean ? clean : "", names[i]) != 0)
            rc = err_set(err, ERR_FORMAT, "'%.64s' cannot be a tensor's name", clean ? clean : "");
        free(clean);
    }
    if (rc == 0 && count > 0)
        qsort(names, (size_t)count, sizeof *names, by_text);
    for (int i = 1; rc == 0 && i < count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            rc = err_set(err, ERR_FORMAT, "two tensors are called '%.64s'", names[i]);
    free(names);
    return rc;
}

static int bytes_of(const char *type)
{
    if (type && strcmp(type, "U8") == 0)
        return 1;
    if (type && strcmp(type, "I16") == 0)
        return 2;
    return type && strcmp(type, "I64") == 0 ? 8 : 4;
}

static int make_header(struct buf *out, const struct safetensors_text *texts, int text_count,
                       const struct safetensors_entry *entries, int count, int64_t *total,
                       struct err *err)
{
    *total = 0;
    buf_fill(out, '\0', LENGTH_BYTES);
    buf_addc(out, '{');
    TRY(text_count > 0 ? add_texts(out, texts, text_count, err) : 0);
    for (int i = 0; i < count; i++) {
        const struct safetensors_entry *e = &entries[i];
        int64_t bytes = bytes_of(e->type);
        for (int d = 0; d < e->rank; d++)
            bytes *= e->dim[d]; // of what lies in memory or on a disk: no overflow
        buf_adds(out, text_count > 0 || i > 0 ? "," : "");
        add_quoted(out, e->name);
        buf_printf(out, ":{\"dtype\":\"%s\",\"shape\":[", e->type ? e->type : "F32");
        for (int d = 0; d < e->rank; d++)
            buf_printf(out, "%s%" PRId64, d ? "," : "", e->dim[d]);
        buf_printf(out, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}", *total, *total + bytes);
        *total += bytes;
    }
    buf_addc(out, '}');
    buf_fill(out, ' ', (ALIGNMENT - out->len % ALIGNMENT) % ALIGNMENT);
    TRY(buf_check(out, err));
    uint64_t length = out->len - LENGTH_BYTES;
    memcpy(out->data, &length, LENGTH_BYTES);
    return 0;
}

int safetensors_begin(struct safetensors_writer *w, const char *path,
                      const struct safetensors_text *texts, int text_count,
                      const struct safetensors_entry *entries, int count, struct err *err)
{
    memset(w, 0, sizeof *w);
    struct buf header = {0};
    int rc = check_names(entries, count, err);
    if (rc == 0)
        rc = make_header(&header, texts, text_count, entries, count, &w->left, err);
    if (rc == 0)
        rc = fs_begin(&w->file, path, 0666, err);
    if (rc == 0) {
        rc = fs_add(&w->file, header.data, header.len, err);
        if (rc != 0)
            fs_abandon(&w->file);
    }
    buf_release(&header);
    return rc;
}

int safetensors_add_bytes(struct safetensors_writer *w, const void *bytes, int64_t len,
                          struct err *err)
{
    assert(len >= 0 && len <= w->left);
    w->left -= len;
    return fs_add(&w->file, bytes, (size_t)len, err);
}

int safetensors_add(struct safetensors_writer *w, const float *values, int64_t count,
                    struct err *err)
{
    return safetensors_add_bytes(w, values, count * (int64_t)sizeof *values, err);
}

int safetensors_commit(struct safetensors_writer *w, struct err *err)
{
    assert(w->left == 0);
    return fs_commit(&w->file, err);
}

void safetensors_abandon(struct safetensors_writer *w)
{
    fs_abandon(&w->file);
}
