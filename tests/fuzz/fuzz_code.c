// SPDX-License-Identifier: Apache-2.0
// Any command line, its words ending in NUL as in /proc/PID/cmdline: it has a name, which is part
// of one of its words.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/code.h"

enum { WORDS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *argv[WORDS + 1] = {NULL}, *name = NULL;
    struct err err = {0};
    size_t count = 0;
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *at = text; at <= text + size && count < WORDS; at += strlen(at) + 1)
        argv[count++] = at;

    assert(code_name(argv, &name, &err) == 0);
    bool found = !name || size > 1000;
    for (size_t i = 0; i < size; i++)
        found |= data[i] >= 0x7F || (data[i] > 0 && data[i] < ' ');
    for (size_t i = 0; i < count && !found; i++)
        found = strstr(argv[i], name) != NULL;
    assert(found);
    (void)code_launches(argv);
    free(name);
    free(text);
    return 0;
}
