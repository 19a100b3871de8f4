// SPDX-License-Identifier: Apache-2.0
#include "base/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/tree.h"
#include "base/units.h"

// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`. Both are short.
static size_t distance(const char *a, const char *b)
{
    enum { MAX = 40 };
    size_t n = strlen(a), m = strlen(b);
    if (n >= MAX || m >= MAX)
        return MAX;
    size_t d[MAX][MAX];
    for (size_t i = 0; i <= n; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= m; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    }
    return d[n][m];
}

const char *opt_nearest(const char *word, const char *const *words)
{
    const char *nearest = NULL;
    size_t len = strlen(word);
    size_t best = len / 3 + 1; // one more than allowed
    if (best < 2)
        best = 2;
    for (; *words; words++) {
        size_t d = distance(word, *words);
        if (len >= 2 && strncmp(word, *words, len) == 0)
            d = 1; // the beginning of it
        if (d < best) {
            best = d;
            nearest = *words;
        }
    }
    return nearest;
}

static bool is_word(const char *word, const char *text, size_t len)
{
    return word && strlen(word) == len && memcmp(word, text, len) == 0;
}

static const struct opt *find_name(const struct opt *const *tables, const char *name, size_t len)
{
    const struct opt *renamed = NULL;
    for (; *tables; tables++)
        for (const struct opt *opt = *tables; opt->name; opt++) {
            if (is_word(opt->name, name, len))
                return opt;
            if (is_word(opt->was, name, len))
                renamed = opt;
        }
    return renamed;
}

static const struct opt *find_letter(const struct opt *const *tables, char letter)
{
    for (; *tables; tables++)
        for (const struct opt *opt = *tables; opt->name; opt++)
            if (opt->letter == letter)
                return opt;
    return NULL;
}

const struct opt *opt_find(const struct opt *const *tables, const char *arg)
{
    if (strncmp(arg, "--", 2) == 0)
        return find_name(tables, arg + 2, strcspn(arg + 2, "="));
    return arg[0] == '-' && arg[1] != '\0' ? find_letter(tables, arg[1]) : NULL;
}

const char *opt_choice(const struct opt *opt, size_t i)
{
    return opt->choice ? opt->choice(i) : opt->choices[i];
}

// `arg` as it was typed, with this many dashes before the name.
static int unknown(const struct opt *const *tables, const char *arg, size_t dashes, struct err *err)
{
    const char *word = arg + dashes;
    size_t len = strcspn(word, "=");
    const char *names[128];
    size_t count = 0;
    for (; *tables; tables++)
        for (const struct opt *opt = *tables; opt->name && count < 127; opt++)
            names[count++] = opt->name;
    names[count] = NULL;
    char name[64] = "";
    if (len < sizeof name)
        memcpy(name, word, len);
    const char *nearest = opt_nearest(name, names);
    int rc = err_set(err, ERR_USAGE, "unknown option '%.*s'", (int)(dashes + len), arg);
    if (nearest)
        err_hint(err, "did you mean '--%s'?", nearest);
    return rc;
}

static int set_choice(const struct opt *opt, const char *name, const char *text, const char **at,
                      struct err *err)
{
    enum { MOST = 64 };
    const char *words[MOST] = {NULL}, *word;
    SCOPED(buf_release) struct buf list = {0};
    for (size_t i = 0; (word = opt_choice(opt, i)); i++) {
        if (strcmp(word, text) == 0) {
            *at = word;
            return 0;
        }
        if (i < MOST - 1)
            words[i] = word;
        buf_printf(&list, "%s%s", i ? ", " : "", word);
    }
    err_set(err, ERR_USAGE, "'%s' takes one of %s, not '%s'", name, buf_str(&list), text);
    const char *nearest = opt_nearest(text, words);
    if (nearest)
        err_hint(err, "did you mean '%s'?", nearest);
    return ERR_USAGE;
}

static int set_text(struct opt_texts *texts, const char *text, struct err *err)
{
    const char **items = realloc(texts->items, (texts->count + 1) * sizeof *items);
    if (!items)
        return err_memory(err);
    texts->items = items;
    texts->items[texts->count++] = text;
    return 0;
}

static bool parse_duration(const struct opt *opt, const char *text, int64_t *ns)
{
    int64_t bare;
    if (opt->bare_ns == 0 || !text_int(text, &bare))
        return clock_parse_duration(text, ns);
    return bare >= 0 && !__builtin_mul_overflow(bare, opt->bare_ns, ns);
}

int opt_set(const struct opt *opt, const char *name, const char *text, void *values,
            struct err *err)
{
    void *at = (char *)values + opt->at;
    const char *wanted = NULL;
    int64_t number = 0;
    bool good = false;
    switch (opt->kind) {
    case OPT_FLAG:
        *(bool *)at = true;
        return 0;
    case OPT_TEXT:
        *(const char **)at = text;
        return 0;
    case OPT_TEXTS:
        return set_text(at, text, err);
    case OPT_CHOICE:
        return set_choice(opt, name, text, at, err);
    case OPT_COUNT:
        wanted = opt->least > 0 ? "a whole number, 1 or more" : "a whole number, 0 or more";
        good = text_int(text, &number);
        break;
    case OPT_DURATION:
        wanted = opt->least > 0 ? "a time above 0 such as 90s, 1h30m or 3d"
                                : "a time such as 90s, 1h30m or 3d";
        good = parse_duration(opt, text, &number);
        break;
    case OPT_BYTES:
        wanted = opt->least > 0 ? "a size above 0 such as 512M, 100GB or 16GiB"
                                : "a size such as 512M, 100GB or 16GiB";
        good = units_parse_bytes(text, &number);
        break;
    }
    if (good && number >= opt->least) {
        *(int64_t *)at = number;
        return 0;
    }
    return err_set(err, ERR_USAGE, "'%s' takes %s, not '%s'", name, wanted, text);
}

static int set(const struct opt *opt, const char *text, void *values, struct err *err)
{
    char name[64];
    snprintf(name, sizeof name, "--%s", opt->name);
    return opt_set(opt, name, text, values, err);
}

static int lacks_value(const struct opt *opt, struct err *err)
{
    return err_set(err, ERR_USAGE, "'--%s' needs a value: --%s %s", opt->name, opt->name,
                   opt->value ? opt->value : "VALUE");
}

// One "--name", with its value here or in `next`; `*took_next` tells which. `*renamed` becomes the
// option if this is the name that it had before.
static int parse_long(const struct opt *const *tables, const char *arg, const char *next,
                      void *values, bool *took_next, const struct opt **renamed, struct err *err)
{
    const char *name = arg + 2;
    size_t len = strcspn(name, "=");
    const struct opt *opt = find_name(tables, name, len);
    if (!opt)
        return unknown(tables, arg, 2, err);
    if (!is_word(opt->name, name, len))
        *renamed = opt;
    bool has_value = name[len] == '=';
    if (opt->kind == OPT_FLAG) {
        if (has_value)
            return err_set(err, ERR_USAGE, "'--%s' takes no value", opt->name);
        return set(opt, NULL, values, err);
    }
    if (has_value)
        return set(opt, name + len + 1, values, err);
    if (opt->takes && (!next || !opt->takes(next)))
        return set(opt, "", values, err);
    if (!next)
        return lacks_value(opt, err);
    *took_next = true;
    return set(opt, next, values, err);
}

// One "-abc": flags, the last of which may take a value from the rest or from `next`.
static int parse_short(const struct opt *const *tables, const char *arg, const char *next,
                       void *values, bool *took_next, struct err *err)
{
    for (const char *p = arg + 1; *p; p++) {
        const struct opt *opt = find_letter(tables, *p);
        if (!opt && arg[2] != '\0') // "-json": a long name with one dash, or something like it
            return unknown(tables, arg, 1, err);
        if (!opt)
            return err_set(err, ERR_USAGE, "unknown option '-%c'", *p);
        if (opt->kind == OPT_FLAG) {
            TRY(set(opt, NULL, values, err));
            continue;
        }
        if (p[1] != '\0')
            return set(opt, p + 1, values, err);
        if (!next)
            return lacks_value(opt, err);
        *took_next = true;
        return set(opt, next, values, err);
    }
    return 0;
}

int opt_parse(const struct opt *const *tables, int argc, char **argv, void *values, bool leading,
              struct opt_rest *rest, int *used, struct err *err)
{
    memset(rest, 0, sizeof *rest);
    rest->args = calloc((size_t)argc + 1, sizeof *rest->args);
    if (!rest->args)
        return err_memory(err);
    int i = 0;
    for (; i < argc; i++) {
        const char *arg = argv[i];
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        bool took_next = false;
        int rc = 0;
        if (strcmp(arg, "--") == 0) {
            rest->command = argv + i + 1;
            i = argc;
            break;
        }
        if (arg[0] != '-' || arg[1] == '\0') {
            if (leading)
                break;
            rest->args[rest->count++] = arg;
        } else if (arg[1] == '-') {
            rc = parse_long(tables, arg, next, values, &took_next, &rest->renamed, err);
        } else {
            rc = parse_short(tables, arg, next, values, &took_next, err);
        }
        if (rc != 0)
            return rc;
        i += took_next;
    }
    if (used)
        *used = i;
    return 0;
}

void opt_release(const struct opt *const *tables, void *values, struct opt_rest *rest)
{
    for (; *tables; tables++)
        for (const struct opt *opt = *tables; opt->name; opt++)
            if (opt->kind == OPT_TEXTS) {
                struct opt_texts *texts = (struct opt_texts *)((char *)values + opt->at);
                free(texts->items);
                memset(texts, 0, sizeof *texts);
            }
    free(rest->args);
    memset(rest, 0, sizeof *rest);
}
