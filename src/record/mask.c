// SPDX-License-Identifier: Apache-2.0
// One pass over the text: numbers, spaces and unknown keys are copied byte for byte.
#include "record/mask.h"

#include <string.h>

#include "record/read.h"

struct masking {
    const struct secrets *own;
    const char *text;
    size_t copied; // bytes of `text` that are in `out`
    struct buf *out;
    uint64_t lists; // a bit per level, the innermost lowest: a list, not an object
    size_t depth;
    bool stored;                 // skips fare's own figures
    bool skips;                  // the value of the last key
    struct buf key, label, last; // the last key; a label's name; the last text of a list
    struct buf now, as;          // the text at hand, and masked
};

static void swap(struct buf *a, struct buf *b)
{
    struct buf other = *a;
    *a = *b;
    *b = other;
}

// Behind the second quote of the text at `at`. `*plain`: what is between the quotes stands for
// itself.
static const char *text_end(const char *at, bool *plain)
{
    const char *p = at + 1;
    // Most of a text, quickly.
    while ((*p >= 'a' && *p <= '~') || (*p >= '#' && *p <= '[') || *p == '_' || *p == ' ')
        p++;
    for (*plain = true; *p && *p != '"'; p++) {
        *plain &= *p >= ' ' && *p <= '~' && *p != '\\';
        if (*p == '\\' && p[1])
            p++;
    }
    *plain &= *p == '"';
    return *p ? p + 1 : p;
}

// The text between the quotes of [at, end). `*good` is false if it is not valid.
static int read_text(const char *at, const char *end, bool plain, struct buf *to, bool *good,
                     struct err *err)
{
    *good = true;
    if (plain) {
        buf_reset(to);
        buf_add(to, at + 1, (size_t)(end - at) - 2);
        return buf_check(to, err);
    }
    struct err why = {0}; // large: not for every text
    int rc = record_read_string(at, (size_t)(end - at), to, &why);
    *good = rc == 0;
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

// The masked text takes the place of the one at [at, end).
static int replace(struct masking *w, const char *at, const char *end, struct err *err)
{
    json_auto_t *json = json_stringn(buf_str(&w->as), w->as.len);
    SCOPED(free_pointer) char *quoted = json ? json_dumps(json, JSON_ENCODE_ANY) : NULL;
    if (!quoted)
        return err_memory(err);
    buf_add(w->out, w->text + w->copied, (size_t)(at - w->text) - w->copied);
    buf_adds(w->out, quoted);
    w->copied = (size_t)(end - w->text);
    return 0;
}

// Whether the value of the last key is fare's own: names and figures of the machine and the run.
static bool is_own(const struct masking *w)
{
    static const char *const members[] = {
        "schema", "id",    "started",    "framework", "engine", "precision",   "net",
        "recipe", "ended", "machine",    "libraries", "phases", "projection",  "steady",
        "drift",  "use",   "epoch_list", "samples",   "stages", "step_plot_ms"};
    const char *key = buf_str(&w->key);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (*key == *members[i] && strcmp(key, members[i]) == 0)
            return true;
    return false;
}

static int one_text(struct masking *w, const char **p, struct err *err)
{
    const char *at = *p, *text;
    bool list = w->lists & 1, good, plain;
    *p = text_end(at, &plain);
    bool is_key = !list && (**p == ':' || (*p)[strspn(*p, " \t\r\n")] == ':');
    if (w->skips && !is_key)
        return 0;
    TRY(read_text(at, *p, plain, &w->now, &good, err));
    if (!good)
        return 0;
    if (is_key) {
        swap(&w->key, &w->now);
        w->skips = w->stored && w->depth == 1 && is_own(w);
        return 0;
    }
    bool names_label = !list && strcmp(buf_str(&w->key), "key") == 0;
    bool is_label = !list && strcmp(buf_str(&w->key), "value") == 0 && w->label.len > 0;
    text = buf_str(&w->now);
    buf_reset(&w->as);
    if (list)
        secret_mask_word(w->own, buf_str(&w->last), text, &w->as);
    else
        secret_mask(w->own,
                    names_label ? NULL
                    : is_label  ? buf_str(&w->label)
                                : buf_str(&w->key),
                    text, &w->as);
    TRY(buf_check(&w->as, err));
    if (strcmp(buf_str(&w->as), text) != 0)
        TRY(replace(w, at, *p, err));
    if (list || names_label)
        swap(list ? &w->last : &w->label, &w->now);
    return 0;
}

// Behind the object or list at `p`.
static const char *skip(const char *p)
{
    for (size_t depth = 0; *(p += strcspn(p, "\"[]{}"));) {
        if (*p == '"') {
            do
                p += 1 + strcspn(p + 1, "\"\\");
            while (*p == '\\' && *++p);
            p += *p == '"';
            continue;
        }
        depth += *p == '[' || *p == '{' ? 1 : -(size_t)1;
        p++;
        if (depth == 0)
            break;
    }
    return p;
}

static int mask(struct masking *w, struct err *err)
{
    int rc = 0;
    for (const char *p = w->text; rc == 0 && *(p += strcspn(p, "\"[]{}"));) {
        if (*p == '"') {
            rc = one_text(w, &p, err);
            continue;
        }
        bool opens = *p == '[' || *p == '{';
        if (opens && w->skips) {
            p = skip(p);
            continue;
        }
        w->depth += opens ? 1 : -(size_t)1;
        w->lists = opens ? w->lists << 1 | (*p == '[') : w->lists >> 1;
        buf_reset(&w->last);
        if (*p == '{')
            buf_reset(&w->label);
        p++;
    }
    if (rc == 0 && w->copied > 0)
        buf_adds(w->out, w->text + w->copied);
    if (rc == 0)
        rc = buf_check(w->out, err);
    buf_release(&w->key);
    buf_release(&w->label);
    buf_release(&w->last);
    buf_release(&w->now);
    buf_release(&w->as);
    return rc;
}

int mask_json(const struct secrets *own, const char *text, struct buf *out, struct err *err)
{
    struct masking w = {.own = own, .text = text, .out = out};
    return mask(&w, err);
}

int mask_stored(const char *text, struct buf *out, struct err *err)
{
    struct masking w = {.text = text, .out = out, .stored = true};
    return mask(&w, err);
}

int mask_run(const struct secrets *own, struct run *run, struct err *err)
{
    SCOPED(buf_release) struct buf line = {0}, masked = {0};
    struct run other = {0};
    int rc = record_to_line(run_fields, run, &line, err);
    if (rc == 0)
        rc = mask_json(own, buf_str(&line), &masked, err);
    if (rc == 0 && masked.len > 0) {
        rc = record_from_text(run_fields, buf_str(&masked), masked.len, &other, err);
        if (rc == 0) {
            record_release(run_fields, run);
            *run = other;
        } else {
            record_release(run_fields, &other);
        }
    }
    return rc;
}
