// SPDX-License-Identifier: Apache-2.0
// A command line: words separated by NUL bytes. Also sizes, which are an option's value.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/opt.h"
#include "base/units.h"

struct values {
    bool flag;
    const char *text, *choice;
    int64_t count, time, size;
    struct opt_texts texts;
};
static const char *const choices[] = {"auto", "always", NULL};
#define AT(m) offsetof(struct values, m)
static const struct opt table[] = {
    {"flag", 'f', OPT_FLAG, NULL, NULL, AT(flag), NULL, ""},
    {"text", 't', OPT_TEXT, "X", NULL, AT(text), NULL, ""},
    {"choice", 'c', OPT_CHOICE, "X", choices, AT(choice), NULL, ""},
    {"count", 'n', OPT_COUNT, "X", NULL, AT(count), NULL, ""},
    {"time", 0, OPT_DURATION, "X", NULL, AT(time), NULL, ""},
    {"size", 0, OPT_BYTES, "X", NULL, AT(size), NULL, ""},
    {"label", 'l', OPT_TEXTS, "X", NULL, AT(texts), NULL, ""},
    {NULL},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct opt *const tables[] = {table, NULL};
    char *words = malloc(size + 1);
    char *argv[64];
    int argc = 0;
    if (!words)
        return 0;
    memcpy(words, data, size);
    words[size] = '\0';
    for (size_t at = 0; at < size && argc < 63; at += strlen(words + at) + 1)
        argv[argc++] = words + at;
    argv[argc] = NULL;
    for (int leading = 0; leading < 2; leading++) {
        struct values values = {0};
        struct opt_rest rest;
        struct err err = {0};
        int used = 0;
        int rc = opt_parse(tables, argc, argv, &values, leading, &rest, &used, &err);
        if (rc == 0 && (values.count < 0 || values.size < 0 || values.time < 0 || used > argc))
            abort();
        if (rc != 0 && err.text[0] == '\0')
            abort(); // an error without words
        opt_release(tables, &values, &rest);
    }
    int64_t bytes;
    if (argc > 0 && units_parse_bytes(argv[0], &bytes) && units_bytes(bytes).s[0] == '\0')
        abort();
    free(words);
    return 0;
}
