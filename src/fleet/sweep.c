// SPDX-License-Identifier: Apache-2.0
#include "fleet/sweep.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static void setting_release(struct sweep_setting *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->values[i]);
    free(s->values);
    free(s->name);
}

void sweep_release(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++)
        setting_release(&sweep->settings[i]);
    free(sweep->settings);
    *sweep = (struct sweep){0};
}

static int add_value(struct sweep_setting *s, const char *value, size_t len, struct err *err)
{
    if (s->count >= SWEEP_MOST)
        return err_set(err, ERR_USAGE, "--sweep %s: more than %d values", s->name, SWEEP_MOST);
    TRY(array_grow(&s->values, s->count, &s->capacity, sizeof *s->values, err));
    s->values[s->count] = strndup(value, len);
    if (!s->values[s->count])
        return err_memory(err);
    s->count++;
    return 0;
}

// "1..8", upwards or downwards. False: it is no range.
static bool is_range(const char *text, size_t len, long long *from, long long *to)
{
    char copy[64], *end;
    if (len >= sizeof copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    char *dots = strstr(copy, "..");
    if (!dots || dots == copy || !dots[2] || isspace((unsigned char)copy[0]) ||
        isspace((unsigned char)dots[2]))
        return false;
    errno = 0;
    *from = strtoll(copy, &end, 10);
    if (end != dots)
        return false;
    *to = strtoll(dots + 2, &end, 10);
    return *end == '\0' && errno == 0;
}

// "0.1..0.5", "1..8..2", "1..": of a number's characters, and yet no range of whole numbers. As a
// text it would be one value, which nobody means.
static int check_dots(const struct sweep_setting *s, const char *text, size_t len, struct err *err)
{
    if (strspn(text, "0123456789.+-eE") < len || !memmem(text, len, "..", 2) ||
        strcspn(text, "0123456789") >= len)
        return 0;
    err_set(err, ERR_USAGE, "--sweep %s: '%.*s' is not a range", s->name,
            (int)(len < 60 ? len : 60), text);
    return err_hint(err,
                    "a range has two whole numbers, as 1..8; write others one by one: 0.1,0.5");
}

static int add_values(struct sweep_setting *s, const char *text, struct err *err)
{
    for (;;) {
        size_t len = strcspn(text, ",");
        long long from, to;
        if (is_range(text, len, &from, &to)) {
            for (long long v = from;; v += from <= to ? 1 : -1) {
                char value[32];
                TRY(add_value(s, value, (size_t)snprintf(value, sizeof value, "%lld", v), err));
                if (v == to)
                    break;
            }
        } else {
            TRY(check_dots(s, text, len, err));
            TRY(add_value(s, text, len, err));
        }
        if (text[len] == '\0')
            return 0;
        text += len + 1;
    }
}

int sweep_add(struct sweep *sweep, const char *text, struct err *err)
{
    const char *equals = strchr(text, '=');
    size_t len = equals ? (size_t)(equals - text) : 0;
    bool name = len > 0 && len < 64 && !isdigit((unsigned char)*text);
    for (size_t i = 0; i < len; i++)
        name &= isalnum((unsigned char)text[i]) || text[i] == '_' || text[i] == '-';
    if (!name || *text == '-' || !equals[1]) {
        err_set(err, ERR_USAGE, "--sweep: '%.100s' is not NAME=VALUE,...", text);
        return err_hint(err, "for example --sweep lr=0.1,0.01 or --sweep seed=1..8");
    }
    if (!sweep->count)
        sweep->combinations = 1;
    TRY(array_grow(&sweep->settings, sweep->count, &sweep->capacity, sizeof *sweep->settings, err));
    struct sweep_setting *s = &sweep->settings[sweep->count];
    *s = (struct sweep_setting){.name = strndup(text, len)};
    int rc = s->name ? add_values(s, equals + 1, err) : err_memory(err);
    for (size_t i = 0; rc == 0 && i < sweep->count; i++)
        if (strcmp(sweep->settings[i].name, s->name) == 0)
            rc = err_set(err, ERR_USAGE, "--sweep %s is given twice", s->name);
    if (rc == 0 && sweep->combinations > SWEEP_MOST / s->count)
        rc = err_set(err, ERR_USAGE, "--sweep: more than %d combinations", SWEEP_MOST);
    if (rc != 0) {
        setting_release(s);
        return rc;
    }
    sweep->combinations *= s->count;
    sweep->count++;
    return 0;
}

const char *sweep_value(const struct sweep *sweep, size_t combination, size_t setting)
{
    for (size_t i = sweep->count; i-- > setting + 1;)
        combination /= sweep->settings[i].count;
    const struct sweep_setting *s = &sweep->settings[setting];
    return s->values[combination % s->count];
}

// The setting whose {NAME} begins here; -1: none.
static long setting_at(const struct sweep *sweep, const char *text)
{
    for (size_t i = 0; *text == '{' && i < sweep->count; i++) {
        size_t len = strlen(sweep->settings[i].name);
        if (strncmp(text + 1, sweep->settings[i].name, len) == 0 && text[len + 1] == '}')
            return (long)i;
    }
    return -1;
}

void sweep_fill(const struct sweep *sweep, size_t combination, const char *word, struct buf *out)
{
    while (*word) {
        long setting = setting_at(sweep, word);
        if (setting < 0) {
            buf_addc(out, *word++);
            continue;
        }
        buf_adds(out, sweep_value(sweep, combination, (size_t)setting));
        word += strlen(sweep->settings[setting].name) + 2;
    }
}

int sweep_check(const struct sweep *sweep, char *const *command, struct err *err)
{
    for (size_t i = 0; i < sweep->count; i++) {
        bool used = false;
        for (char *const *word = command; *word && !used; word++)
            for (const char *p = *word; *p && !used; p++)
                used = setting_at(sweep, p) == (long)i;
        if (!used) {
            err_set(err, ERR_USAGE, "--sweep %s: no word of the command has {%s}",
                    sweep->settings[i].name, sweep->settings[i].name);
            return err_hint(err, "for example: -- python train.py --%s {%s}",
                            sweep->settings[i].name, sweep->settings[i].name);
        }
    }
    return 0;
}
