// SPDX-License-Identifier: Apache-2.0
#include "data/lines.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE ((size_t)256 << 10)

int lines_open(struct lines *lines, const char *path, int64_t max_bytes, size_t max_line,
               struct err *err)
{
    memset(lines, 0, sizeof *lines);
    TRY(gzip_open(&lines->gzip, path, max_bytes, err));
    lines->max_line = max_line;
    lines->size = FIRST_SIZE;
    lines->buffer = malloc(lines->size);
    if (!lines->buffer) {
        lines_release(lines);
        return err_memory(err);
    }
    return 0;
}

void lines_release(struct lines *lines)
{
    gzip_release(&lines->gzip);
    free(lines->buffer);
    memset(lines, 0, sizeof *lines);
}

// Makes space behind the rest, then reads. *more is 0 at the end of the file.
static int read_more(struct lines *lines, size_t *more, struct err *err)
{
    if (lines->at > 0) {
        memmove(lines->buffer, lines->buffer + lines->at, lines->filled - lines->at);
        lines->filled -= lines->at;
        lines->at = 0;
    }
    if (lines->filled + 1 >= lines->size) { // one byte stays free for a NUL
        char *bigger = realloc(lines->buffer, lines->size * 2);
        if (!bigger)
            return err_memory(err);
        lines->buffer = bigger;
        lines->size *= 2;
    }
    ptrdiff_t got = gzip_read(&lines->gzip, lines->buffer + lines->filled,
                              lines->size - lines->filled - 1, err);
    if (got < 0)
        return (int)got;
    lines->filled += (size_t)got;
    *more = (size_t)got;
    return 0;
}

int lines_next(struct lines *lines, struct err *err)
{
    lines->offset = lines->gzip.given - (int64_t)(lines->filled - lines->at);
    lines->number++;
    size_t looked = 0, more = 1;
    char *end = NULL;
    for (;;) {
        size_t have = lines->filled - lines->at;
        if (have > looked)
            end = memchr(lines->buffer + lines->at + looked, '\n', have - looked);
        looked = have;
        if ((end ? (size_t)(end - lines->buffer) - lines->at : have) > lines->max_line) {
            err_set(err, ERR_FORMAT, "longer than %zu bytes", lines->max_line);
            lines_context(lines, err);
            return ERR_FORMAT;
        }
        if (end || more == 0)
            break;
        int rc = read_more(lines, &more, err);
        if (rc != 0)
            return rc;
    }
    if (!end && lines->at == lines->filled)
        return 0;
    lines->text = lines->buffer + lines->at;
    lines->len = end ? (size_t)(end - lines->text) : looked;
    lines->at += lines->len + (end ? 1 : 0);
    if (lines->len > 0 && lines->text[lines->len - 1] == '\r')
        lines->len--;
    lines->text[lines->len] = '\0';
    return 1;
}

int lines_context(const struct lines *lines, struct err *err)
{
    return err_context(err, "'%s', line %lld", lines->gzip.path, (long long)lines->number);
}
