// SPDX-License-Identifier: Apache-2.0
// Announcements: lines that name a total of the whole training before it begins.
//
//     [INFO|trainer.py:2413] 2025-03-06 12:04:09,914 >>   Total optimization steps = 1,000
//     O^O/ \_/ \    Num examples = 467 | Num Epochs = 5 | Total steps = 290
//     num epochs / epoch数: 10
//     Starting training..., iters: 3000
//
// The names are those of command-line options (run/arguments.h), which configurations printed by a
// program have too.
#include <string.h>

#include "run/arguments.h"
#include "run/formats.h"

#define WORDS 4 // of the longest name: number_of_iterations, total optimization steps

// The value behind a name: "= 3", ": 1,000", " 10 (warmup 2)", " / epoch数: 10"; null if none.
static const char *value_behind(const char *p, int64_t *value, bool *table)
{
    p += *p == '"' || *p == '\'';
    p = formats_blanks(p);
    *table = *p == '|';
    if (p[0] == '/' && p[1] == ' ' && !formats_digit(p[2])) {
        p = strchr(p, ':');
        if (!p)
            return NULL;
    }
    if (*p == ':' || *p == '=' || *p == '|')
        p++;
    p = formats_blanks(p);
    if (*p == ':' || *p == '=') // "x = = 3" is none
        return NULL;
    p += *p == '"' && formats_digit(p[1]); // Flair: max_epochs: "8"
    p = formats_count(p, value);
    return p && *p != '/' && *p != '-' && *p != ':' && *p != '_' ? p : NULL;
}

struct name {
    char text[WORDS * FORMATS_WORD];
    size_t starts[WORDS]; // of the last words in it
    bool fresh[WORDS];    // whether a line or a part of it begins with that word
    size_t words;
};

static void add_word(struct name *name, const char *word, bool fresh)
{
    if (name->words == WORDS) {
        size_t drop = name->starts[1];
        memmove(name->text, name->text + drop, strlen(name->text + drop) + 1);
        for (size_t i = 1; i < WORDS; i++) {
            name->starts[i - 1] = name->starts[i] - drop;
            name->fresh[i - 1] = name->fresh[i];
        }
        name->words--;
    }
    size_t used = name->words > 0 ? strlen(name->text) : 0, len = strlen(word);
    if (used > 0)
        name->text[used++] = '_';
    memcpy(name->text + used, word, len + 1);
    name->starts[name->words] = used;
    name->fresh[name->words++] = fresh;
}

bool formats_announced(const char *line, size_t len, struct event *event)
{
    struct event told = {0};
    struct name name = {0};
    char word[FORMATS_WORD];
    size_t n;
    bool any = false;
    const char *end = line + len, *last = line;
    for (const char *p = line; (p = formats_word(p, end, word, &n)); p += n) {
        // Words of one name stand next to each other.
        bool next = name.words > 0 && p == last + 1 && (*last == ' ' || *last == '-');
        bool fresh = !next;
        if (!next)
            name.words = 0;
        last = p + n;
        if (n >= FORMATS_WORD)
            continue;
        add_word(&name, word, fresh);
        int64_t value;
        bool table;
        if (!value_behind(p + n, &value, &table))
            continue;
        for (size_t i = 0; i < name.words; i++) {
            enum arguments_place place = name.fresh[i] && !table ? PLACE_START : PLACE_ANY;
            if (arguments_take(name.text + name.starts[i], value, place, &told)) {
                any |= value > 0;
                break;
            }
        }
    }
    if (!any)
        return false;
    *event = told;
    return true;
}
