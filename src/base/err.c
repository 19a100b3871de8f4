// SPDX-License-Identifier: Apache-2.0
#include "base/err.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int err_setv(struct err *err, int code, const char *format, va_list args)
{
    if (err && err->code == 0) {
        err->code = code;
        vsnprintf(err->text, sizeof err->text, format, args);
    }
    return code;
}

int err_set(struct err *err, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_setv(err, code, format, args);
    va_end(args);
    return code;
}

static int code_of_errno(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
        return ERR_MISSING;
    case ENOMEM:
        return ERR_MEMORY;
    case ETIMEDOUT:
        return ERR_TIMEOUT;
    default:
        return ERR_IO;
    }
}

int err_errno(struct err *err, int number, const char *format, ...)
{
    int code = code_of_errno(number);
    if (!err || err->code != 0)
        return code;
    va_list args;
    va_start(args, format);
    err_setv(err, code, format, args);
    va_end(args);

    char words[100];
    const char *said = strerror_r(number, words, sizeof words); // the GNU variant
    char reason[104];
    snprintf(reason, sizeof reason, ": %s", said);
    // The system's words begin with a capital; here they end a sentence.
    if (!isupper((unsigned char)reason[3]))
        reason[2] = (char)tolower((unsigned char)reason[2]);
    // A path may be longer than the text. Then its end is cut, never the reason.
    size_t len = strlen(err->text), most = sizeof err->text - sizeof reason;
    if (len > most) {
        len = most;
        memcpy(err->text + len - 3, "...", 3);
    }
    memcpy(err->text + len, reason, strlen(reason) + 1);
    return code;
}

int err_memory(struct err *err)
{
    return err_set(err, ERR_MEMORY, "out of memory");
}

int err_hint(struct err *err, const char *format, ...)
{
    if (!err)
        return ERR_FAIL;
    if (err->hint[0] == '\0') {
        va_list args;
        va_start(args, format);
        vsnprintf(err->hint, sizeof err->hint, format, args);
        va_end(args);
    }
    return err->code;
}

int err_pass(struct err *err, int code, const struct err *from)
{
    bool first = err && err->code == 0;
    err_set(err, code, "%s", from->text);
    if (first && from->hint[0])
        err_hint(err, "%s", from->hint);
    return code;
}

int err_context(struct err *err, const char *format, ...)
{
    if (!err)
        return ERR_FAIL;
    char context[256];
    va_list args;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);

    char text[sizeof err->text];
    memcpy(text, err->text, sizeof text);
    size_t len = strlen(context);
    memcpy(err->text, context, len);
    snprintf(err->text + len, sizeof err->text - len, ": %s", text);
    return err->code;
}

void free_pointer(void *pointer)
{
    void *memory; // whatever it points to
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}
