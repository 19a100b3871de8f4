// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local bool lost;

int buf_lost(struct err *err)
{
    return lost ? err_memory(err) : 0;
}

void buf_lost_forget(void)
{
    lost = false;
}

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
            buf->failed = lost = true;
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

void buf_line(struct buf *buf, const char *format, ...)
{
    size_t from = buf->len;
    va_list args;
    va_start(args, format);
    buf_vprintf(buf, format, args);
    va_end(args);
    if (buf->len > from)
        utf8_calm(buf->data + from, buf->len - from, "");
    buf_addc(buf, '\n');
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

bool text_ends(const char *text, const char *end)
{
    size_t len = strlen(text), tail = strlen(end);
    return len >= tail && strcmp(text + len - tail, end) == 0;
}

// ==== words ====

struct short_text short_text(const char *format, ...)
{
    struct short_text w;
    va_list args;
    va_start(args, format);
    vsnprintf(w.s, sizeof w.s, format, args);
    va_end(args);
    return w;
}

bool text_same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

// ==== shell ====

void shell_quote(struct buf *out, const char *word)
{
    buf_addc(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buf_adds(out, "'\\''");
        else
            buf_addc(out, *word);
    }
    buf_addc(out, '\'');
}

void shell_word(struct buf *out, const char *word)
{
    bool plain = *word && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789-_./:@=+,")] == '\0';
    if (plain)
        buf_adds(out, word);
    else
        shell_quote(out, word);
}

void shell_quote_all(struct buf *out, char *const *words)
{
    for (; *words; words++) {
        buf_addc(out, ' ');
        shell_quote(out, *words);
    }
}

void shell_set(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "%s=", name);
    shell_quote(out, value);
    buf_addc(out, '\n');
}

char **shell_split(const char *text)
{
    size_t len = strlen(text), most = len / 2 + 2; // words, with the null
    char **words = malloc(most * sizeof *words + len + 1);
    if (!words)
        return NULL;
    char *copy = (char *)(words + most);
    size_t count = 0;
    memcpy(copy, text, len + 1);
    for (size_t i = 0; i < len;) {
        if (copy[i] == ' ') {
            i++;
            continue;
        }
        words[count++] = copy + i;
        i += strcspn(copy + i, " ");
        copy[i++] = '\0';
    }
    words[count] = NULL;
    if (count > 0)
        return words;
    free(words);
    return NULL;
}

// ==== base64 ====

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_write(struct buf *out, const void *bytes, size_t len)
{
    const uint8_t *from = bytes;
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t n = (uint32_t)from[i] << 16 | (uint32_t)(left > 1 ? from[i + 1] : 0) << 8 |
                     (uint32_t)(left > 2 ? from[i + 2] : 0);
        buf_addc(out, letters[n >> 18]);
        buf_addc(out, letters[n >> 12 & 63]);
        buf_addc(out, left > 1 ? letters[n >> 6 & 63] : '=');
        buf_addc(out, left > 2 ? letters[n & 63] : '=');
    }
}

int base64_value(char c)
{
    const char *found = c ? strchr(letters, c) : NULL;
    return found ? (int)(found - letters) : -1;
}

bool base64_read(const char *text, size_t len, struct buf *out)
{
    if (len == 0 || len % 4 != 0)
        return false;
    for (size_t i = 0; i < len; i += 4) {
        bool last = i + 4 == len;
        int pad = last && text[i + 3] == '=' ? text[i + 2] == '=' ? 2 : 1 : 0;
        uint32_t n = 0;
        for (int k = 0; k < 4; k++) {
            int v = k >= 4 - pad ? 0 : base64_value(text[i + (size_t)k]);
            if (v < 0)
                return false;
            n = n << 6 | (uint32_t)v;
        }
        const char three[3] = {(char)(n >> 16), (char)(n >> 8), (char)n};
        buf_add(out, three, (size_t)(3 - pad));
    }
    return true;
}
