// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_release(struct buf *buf)
{
    free(buf->data);
    buf->data = NULL;
    buf->len = 0;
    buf->cap = 0;
    buf->failed = false;
}

void buf_drop(struct buf *to, struct buf *piece)
{
    to->failed |= piece->failed;
    buf_release(piece);
}

void buf_reset(struct buf *buf)
{
    buf->len = 0;
    buf->failed = false;
    if (buf->data)
        buf->data[0] = '\0';
}

const char *buf_str(const struct buf *buf)
{
    return buf->data ? buf->data : "";
}

char *buf_reserve(struct buf *buf, size_t len)
{
    size_t max = buf->max ? buf->max : BUF_DEFAULT_MAX;
    if (buf->failed || len > max || buf->len > max - len) {
        buf->failed = true;
        return NULL;
    }
    size_t need = buf->len + len + 1;
    if (need > buf->cap) {
        size_t cap = buf->cap ? buf->cap : 64;
        while (cap < need)
            cap *= 2;
        char *data = realloc(buf->data, cap);
        if (!data) {
            buf->failed = true;
            return NULL;
        }
        buf->data = data;
        buf->cap = cap;
    }
    return buf->data + buf->len;
}

void buf_advance(struct buf *buf, size_t len)
{
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void buf_add(struct buf *buf, const void *bytes, size_t len)
{
    char *space = buf_reserve(buf, len);
    if (!space)
        return;
    if (len > 0)
        memcpy(space, bytes, len);
    buf_advance(buf, len);
}

void buf_adds(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void buf_addc(struct buf *buf, char c)
{
    buf_add(buf, &c, 1);
}

void buf_fill(struct buf *buf, char c, size_t count)
{
    char *space = buf_reserve(buf, count);
    if (!space)
        return;
    memset(space, c, count);
    buf_advance(buf, count);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vprintf(buf, format, args);
    va_end(args);
}

void buf_vprintf(struct buf *buf, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    char *space = len < 0 ? NULL : buf_reserve(buf, (size_t)len);
    if (space) {
        vsnprintf(space, (size_t)len + 1, format, again);
        buf_advance(buf, (size_t)len);
    } else {
        buf->failed = true;
    }
    va_end(again);
}

void buf_trim(struct buf *buf)
{
    while (buf->len > 0 && isspace((unsigned char)buf->data[buf->len - 1]))
        buf->data[--buf->len] = '\0';
}

int buf_check(const struct buf *buf, struct err *err)
{
    if (!buf->failed)
        return 0;
    return err_memory(err);
}

char *buf_take(struct buf *buf, struct err *err)
{
    if (!buf->failed && !buf->data)
        buf_add(buf, "", 0);
    if (buf_check(buf, err) != 0) {
        buf_release(buf);
        return NULL;
    }
    char *data = buf->data;
    buf->data = NULL;
    buf_release(buf);
    return data;
}

char *text_copy(const char *text, struct err *err)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    if (!copy) {
        err_memory(err);
        return NULL;
    }
    memcpy(copy, text, size);
    return copy;
}
