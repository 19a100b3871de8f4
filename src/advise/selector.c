// SPDX-License-Identifier: Apache-2.0
#include "advise/selector.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static char *trimmed(const char *text, size_t len, struct err *err)
{
    while (len > 0 && *text == ' ')
        text++, len--;
    while (len > 0 && text[len - 1] == ' ')
        len--;
    char *copy = strndup(text, len);
    if (!copy)
        err_memory(err);
    return copy;
}

int selector_init(struct selector *s, const char *text, size_t len, struct err *err)
{
    memset(s, 0, sizeof *s);
    s->text = trimmed(text, len, err);
    if (!s->text)
        return ERR_MEMORY;
    if (s->text[0] == '\0') {
        selector_release(s);
        return err_set(err, ERR_USAGE, "a run, label, machine or framework is missing");
    }
    // "GPU+" is a machine of that name; "GPU++tensorflow" is a framework on it.
    const char *plus = strrchr(s->text, '+');
    if (!plus || plus == s->text || plus[1] == '\0')
        return 0;
    s->machine = trimmed(s->text, (size_t)(plus - s->text), err);
    s->framework = trimmed(plus + 1, strlen(plus + 1), err);
    if (!s->machine || !s->framework) {
        selector_release(s);
        return ERR_MEMORY;
    }
    return 0;
}

void selector_release(struct selector *s)
{
    free(s->text);
    free(s->machine);
    free(s->framework);
    memset(s, 0, sizeof *s);
}

static bool joins(char a, char b)
{
    return isalnum((unsigned char)a) && isalnum((unsigned char)b);
}

static enum selector_fit fits_name(const char *word, const char *name)
{
    bool letters = false; // punctuation alone matches nothing
    for (const char *p = word; *p; p++)
        letters |= (*p & 0x80) != 0 || isalnum((unsigned char)*p);
    if (!name || !letters)
        return SELECTOR_NOT;
    if (strcasecmp(word, name) == 0)
        return SELECTOR_NAME;
    size_t len = strlen(word), have = strlen(name);
    for (size_t at = 0; at + len <= have; at++)
        if (strncasecmp(name + at, word, len) == 0 && (at == 0 || !joins(name[at - 1], word[0])) &&
            !joins(word[len - 1], name[at + len]))
            return SELECTOR_WORDS;
    return SELECTOR_NOT;
}

static enum selector_fit fits_machine(const char *word, const struct run *run)
{
    const char *const names[] = {run->machine.name, run->machine.gpu, run_gpu_name(run),
                                 run->machine.instance_type, run->machine.cpu};
    enum selector_fit best = SELECTOR_NOT;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        enum selector_fit fit = fits_name(word, names[i]);
        best = fit > best ? fit : best;
    }
    return best;
}

static bool has_label(const struct run *run, const char *text)
{
    const char *equals = strchr(text, '=');
    for (size_t i = 0; equals && i < run->labels.count; i++) {
        const struct run_label *label = &run->labels.items[i];
        size_t len = (size_t)(equals - text);
        if (label->key && label->value && strlen(label->key) == len &&
            memcmp(label->key, text, len) == 0 && strcmp(label->value, equals + 1) == 0)
            return true;
    }
    return false;
}

bool selector_is_id(const char *word, const char *id)
{
    size_t len = strlen(word);
    if (strcmp(word, id) == 0)
        return true;
    const char *tail = strrchr(id, '-');
    return len >= 4 && (strncmp(id, word, len) == 0 || (tail && strncmp(tail + 1, word, len) == 0));
}

enum selector_fit selector_fits(const struct selector *s, const struct run *run)
{
    if (run->id && selector_is_id(s->text, run->id))
        return SELECTOR_ID;
    if (has_label(run, s->text))
        return SELECTOR_LABEL;
    enum selector_fit fit = fits_machine(s->text, run);
    if (fit < SELECTOR_NAME && s->machine && run->framework &&
        strcasecmp(s->framework, run->framework) == 0) {
        enum selector_fit both = fits_machine(s->machine, run);
        fit = both > fit ? both : fit;
    }
    if (fit == SELECTOR_NOT && run->framework && strcasecmp(s->text, run->framework) == 0)
        return SELECTOR_FRAMEWORK;
    return fit;
}
