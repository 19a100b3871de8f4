// SPDX-License-Identifier: Apache-2.0
#include "sample/proc_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool proc_file_open(struct proc_file *file, const struct tree *tree, const char *format, ...)
{
    char path[PATH_MAX];
    int root = snprintf(path, sizeof path, "%s", tree->root);
    va_list args;
    va_start(args, format);
    int rest = root >= 0 && (size_t)root < sizeof path
                   ? vsnprintf(path + root, sizeof path - (size_t)root, format, args)
                   : -1;
    va_end(args);
    if (rest < 0 || (size_t)root + (size_t)rest >= sizeof path)
        return false;
    proc_file_close(file);
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    file->open = file->fd >= 0;
    return file->open;
}

void proc_file_close(struct proc_file *file)
{
    if (file->open)
        close(file->fd);
    file->open = false;
}

size_t proc_file_read(const struct proc_file *file, char *text, size_t size)
{
    size_t len = 0;
    while (file->open && len + 1 < size) {
        ssize_t got = pread(file->fd, text + len, size - 1 - len, (off_t)len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        len += (size_t)got;
    }
    text[len] = '\0';
    return len;
}

bool proc_file_int(const struct proc_file *file, int64_t *out)
{
    char text[64];
    return proc_file_read(file, text, sizeof text) > 0 && text_int(text, out);
}

bool text_number(const char **cursor, int64_t *out)
{
    const char *p = *cursor;
    while (*p != '\0' && *p != '\n' && !isdigit((unsigned char)*p))
        p++;
    if (!isdigit((unsigned char)*p)) {
        *cursor = p;
        return false;
    }
    bool negative = p > *cursor && p[-1] == '-';
    int64_t value = 0;
    for (; isdigit((unsigned char)*p); p++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *p - '0', &value))
            value = INT64_MAX;
    *out = negative ? -value : value;
    *cursor = p;
    return true;
}

bool text_keyed(const char *text, const char *key, int64_t *out)
{
    size_t len = strlen(key);
    for (const char *line = text; line && *line;) {
        if (strncmp(line, key, len) == 0 &&
            (line[len] == ' ' || line[len] == '\t' || line[len] == ':')) {
            const char *at = line + len;
            return text_number(&at, out);
        }
        const char *end = strchr(line, '\n');
        line = end ? end + 1 : NULL;
    }
    return false;
}
