// SPDX-License-Identifier: Apache-2.0
#include "fleet/place_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

void place_words_release(struct place_words *words)
{
    free(words->text);
    *words = (struct place_words){0};
}

static int usage(const char *target, const char *const *keys, const char *problem,
                 const char *setting, struct err *err)
{
    struct buf list = {0};
    err_set(err, ERR_USAGE, "--on %s: %s%s%.80s%s", target, problem, *setting ? " '" : "", setting,
            *setting ? "'" : "");
    for (size_t i = 0; keys[i]; i++)
        buf_printf(&list, "%s%s=", i > 0 ? ", " : "", keys[i]);
    err_hint(err, "settings come after commas: %s", buf_str(&list));
    buf_release(&list);
    return ERR_USAGE;
}

static bool steers(const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        uint32_t c;
        i += utf8_next(text + i, len - i, &c);
        if (utf8_steers(c))
            return true;
    }
    return false;
}

// One "key=value".
static int read_one(struct place_words *words, const char *target, char *setting,
                    const char *const *keys, struct err *err)
{
    char *equals = strchr(setting, '=');
    size_t len = equals ? (size_t)(equals - setting) : 0;
    for (size_t i = 0; keys[i] && equals; i++)
        if (strlen(keys[i]) == len && strncmp(keys[i], setting, len) == 0) {
            if (words->values[i])
                return usage(target, keys, "given twice:", keys[i], err);
            if (equals[1] == '\0')
                return usage(target, keys, "a setting without a value:", keys[i], err);
            words->values[i] = equals + 1;
            return 0;
        }
    return usage(target, keys, "unknown setting", *setting ? setting : ",", err);
}

int place_words_read(struct place_words *words, const char *target, const char *value,
                     const char *const *keys, struct err *err)
{
    *words = (struct place_words){0};
    words->text = text_copy(value ? value : "", err);
    if (!words->text)
        return ERR_MEMORY;
    size_t len = strlen(words->text);
    int rc = 0;
    if (utf8_bad(words->text, len) != len || steers(words->text, len))
        rc = usage(target, keys, "a value has characters that cannot be printed", "", err);
    words->head = words->text;
    char *next = strchr(words->text, ',');
    while (rc == 0 && next) {
        char *setting = next + 1;
        *next = '\0';
        next = strchr(setting, ',');
        if (next)
            *next = '\0';
        rc = read_one(words, target, setting, keys, err);
        if (next)
            *next = ','; // the loop cuts it again
    }
    if (rc != 0)
        place_words_release(words);
    return rc;
}
