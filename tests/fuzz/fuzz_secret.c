// SPDX-License-Identifier: Apache-2.0
// Any text, masked: valid UTF-8 stays valid. As a word of a command: a password beside it is gone.
// As a record: JSON stays JSON.
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "record/mask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
    struct buf out = {0};
    secret_mask(NULL, NULL, text, &out);
    if (utf8_bad(text, strlen(text)) == strlen(text))
        assert(utf8_bad(buf_str(&out), out.len) == out.len);
    buf_release(&out);
}

static void check_planted(const char *text)
{
    json_t *json = json_pack("{s:[s, s, s]}", "command", text, "--password", "Planted7Secret");
    char *line = json ? json_dumps(json, 0) : NULL; // null: not UTF-8
    struct buf out = {0};
    struct err err = {0};
    if (line) {
        assert(mask_json(NULL, line, &out, &err) == 0);
        assert(!strstr(buf_str(&out), "Planted7Secret") || strstr(text, "Planted7Secret"));
    }
    free(line);
    json_decref(json);
    buf_release(&out);
}

static void check_json(const char *text)
{
    struct buf out = {0};
    struct err err = {0};
    assert(mask_json(NULL, text, &out, &err) == 0);
    json_t *before = json_loads(text, 0, NULL), *after = json_loads(buf_str(&out), 0, NULL);
    assert(out.len == 0 || !before || after);
    json_decref(before);
    json_decref(after);
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    check_text(text);
    check_planted(text);
    check_json(text);
    free(text);
    return 0;
}
