// SPDX-License-Identifier: Apache-2.0
#include "base/shell.h"

#include <stdlib.h>
#include <string.h>

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
