// SPDX-License-Identifier: Apache-2.0
// patterns: parses the progress output of common training tools. Hand-written instead of regular
// expressions, so that a hundred megabytes of output cost next to nothing. tests/run/test_event.c
// has an example of each format.
#include "run/event.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "run/meter.h"

// ---- helpers

static const char *spaces(const char *p)
{
    while (*p == ' ')
        p++;
    return p;
}

// Parses the digits at `p`; returns their end, or null if there are none or too many.
static const char *digits(const char *p, int64_t *out)
{
    int64_t v = 0;
    const char *start = p;
    while (isdigit((unsigned char)*p) && p - start < 15)
        v = v * 10 + (*p++ - '0');
    if (p == start || isdigit((unsigned char)*p))
        return NULL;
    *out = v;
    return p;
}

static bool real_at(const char *p, struct maybe_real *out)
{
    p = spaces(p);
    if (*p == '\'' || *p == '"')
        p++;
    char *end;
    double v = strtod(p, &end);
    if (end == p || !isfinite(v))
        return false;
    *out = some_real(v);
    return true;
}

// The value of "KEY<separator>number", KEY being a whole word.
static bool metric(const char *line, const char *key, const char *separator, struct maybe_real *out)
{
    size_t len = strlen(key), gap = strlen(separator);
    for (const char *p = strstr(line, key); p; p = strstr(p + 1, key)) {
        unsigned char before = p > line ? (unsigned char)p[-1] : ' ';
        if (isalnum(before) || before == '_' || before == '/' || before == '.')
            continue;
        if (strncmp(p + len, separator, gap) == 0 && real_at(p + len + gap, out))
            return true;
    }
    return false;
}

// Common names for the same four figures.
static void metrics(const char *line, const char *separator, struct event *event)
{
    static const char *const loss[] = {"loss", "train_loss", "train/loss", "train_loss_step", NULL};
    static const char *const accuracy[] = {"accuracy",
                                           "acc",
                                           "train_acc",
                                           "train_accuracy",
                                           "train/acc",
                                           "train/accuracy",
                                           "sparse_categorical_accuracy",
                                           "categorical_accuracy",
                                           "binary_accuracy",
                                           NULL};
    static const char *const test_loss[] = {"val_loss", "val/loss", "eval_loss", "test_loss", NULL};
    static const char *const test_accuracy[] = {"val_accuracy",
                                                "val_acc",
                                                "val/acc",
                                                "eval_accuracy",
                                                "test_accuracy",
                                                "test_acc",
                                                "val_sparse_categorical_accuracy",
                                                "val_categorical_accuracy",
                                                NULL};
    for (size_t i = 0; loss[i] && !event->loss.known; i++)
        metric(line, loss[i], separator, &event->loss);
    for (size_t i = 0; accuracy[i] && !event->accuracy.known; i++)
        metric(line, accuracy[i], separator, &event->accuracy);
    for (size_t i = 0; test_loss[i] && !event->test_loss.known; i++)
        metric(line, test_loss[i], separator, &event->test_loss);
    for (size_t i = 0; test_accuracy[i] && !event->test_accuracy.known; i++)
        metric(line, test_accuracy[i], separator, &event->test_accuracy);
}

// Identifies a bar: a hash (FNV-1a) of its words without numbers, and its total.
static uint32_t bar_of(const char *words, size_t len, int64_t total)
{
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < len; i++)
        if (isalpha((unsigned char)words[i]))
            hash = (hash ^ (unsigned char)words[i]) * 16777619U;
    for (int i = 0; i < 8; i++, total >>= 8)
        hash = (hash ^ (uint32_t)(total & 0xff)) * 16777619U;
    return hash | 1U;
}

static bool has_word(const char *text, size_t len, const char *const *words)
{
    for (; *words; words++) {
        size_t n = strlen(*words);
        for (size_t i = 0; i + n <= len; i++)
            if (strncasecmp(text + i, *words, n) == 0)
                return true;
    }
    return false;
}

// ---- tqdm, and so Lightning and Hugging Face's Trainer
//
//     Epoch 2:  45%|████▌     | 211/469 [00:03<00:04, 65.2it/s, v_num=0, loss=0.1]
//     375it [00:12, 29.5it/s]

// The phase of a bar that is not training; -1 if it is.
static int other_phase(const char *words, size_t len)
{
    static const char *const evaluating[] = {"valid", "eval", "test", "predict", "sanity", NULL};
    static const char *const loading[] = {"load",    "fetch",   "map",    "token",
                                          "generat", "extract", "filter", "cach",
                                          "shard",   "prepar",  "resolv", NULL};
    static const char *const saving[] = {"saving", "checkpoint", "upload", NULL};
    return has_word(words, len, saving)       ? METER_CHECKPOINT
           : has_word(words, len, evaluating) ? METER_EVALUATE
           : has_word(words, len, loading)    ? METER_LOAD
                                              : -1;
}

// "[00:12<00:21, 29.5it/s, loss=0.5]"; bars of bytes, files or examples do not count steps.
static bool counts_steps(const char *times)
{
    return *times == '[' && (strstr(times, "it/s") || strstr(times, "s/it") ||
                             strstr(times, "step") || strstr(times, "batch"));
}

static void fill_bar(const char *words, size_t len, int64_t done, int64_t total,
                     const char *postfix, struct event *event)
{
    int phase = other_phase(words, len);
    if (phase >= 0) {
        event->phase = some_int(phase);
        return;
    }
    int64_t epoch;
    if (len > 6 && strncmp(words, "Epoch ", 6) == 0 && digits(words + 6, &epoch))
        event->epoch = some_int(epoch);
    event->step = some_int(done);
    if (total > 0)
        event->total_steps = some_int(total);
    event->bar = bar_of(words, len, total);
    metrics(postfix, "=", event);
}

static enum event_result read_tqdm(const char *line, size_t len, struct event *event)
{
    if (len > EVENT_PATTERN_MAX || !memchr(line, '[', len))
        return EVENT_NONE;
    const char *bar = strstr(line, "%|");
    int64_t done, total = 0;
    if (!bar) {
        const char *p = strstr(line, "it [");
        if (!p || !counts_steps(p + 3))
            return EVENT_NONE;
        const char *start = p;
        while (start > line && isdigit((unsigned char)start[-1]))
            start--;
        if (digits(start, &done) != p)
            return EVENT_NONE;
        fill_bar(line, (size_t)(start - line), done, 0, p, event);
        return EVENT_READ;
    }
    const char *words_end = bar;
    while (words_end > line && isdigit((unsigned char)words_end[-1]))
        words_end--;
    const char *p = strchr(bar + 2, '|');
    p = p ? digits(spaces(p + 1), &done) : NULL;
    p = p && *p == '/' ? digits(p + 1, &total) : NULL;
    if (!p || !counts_steps(spaces(p)) || total == 0 || done > total)
        return EVENT_NONE;
    fill_bar(line, (size_t)(words_end - line), done, total, p, event);
    return EVENT_READ;
}

// ---- Lightning with rich
//
//     Epoch 0/2  ━━━━━━━━━━━━━━━━ 145/200 0:00:01 • 0:00:00 826.49it/s train_loss: 1.126

static enum event_result read_rich(const char *line, size_t len, struct event *event)
{
    int64_t epoch, last, done, total;
    const char *p = spaces(line);
    if (len > EVENT_PATTERN_MAX || strncmp(p, "Epoch ", 6) != 0)
        return EVENT_NONE;
    p = digits(p + 6, &epoch);
    p = p && *p == '/' ? digits(p + 1, &last) : NULL;
    if (!p || (unsigned char)*(p = spaces(p)) != 0xe2) // one of ━ ╸ ╺
        return EVENT_NONE;
    while (*p == ' ' || (unsigned char)*p >= 0x80)
        p++;
    p = digits(p, &done);
    p = p && *p == '/' ? digits(p + 1, &total) : NULL;
    if (!p || total == 0 || done > total || epoch > last)
        return EVENT_NONE;
    event->epoch = some_int(epoch);
    event->epochs = some_int(last + 1); // counted from 0
    event->step = some_int(done);
    event->total_steps = some_int(total);
    event->bar = bar_of("rich", 4, total);
    metrics(p, ": ", event);
    return EVENT_READ;
}

// ---- Keras
//
//     Epoch 3/20
//     118/469 [======>.....] - ETA: 3s - loss: 0.2312 - accuracy: 0.9301     (version 2)
//     118/469 ━━━━━━━━━━━━━━━━━━━━ 1s 3ms/step - accuracy: 0.8557 - loss: 0.5021   (version 3)

static bool looks_like_bar(const char *p)
{
    p = spaces(p);
    if (*p == '[')
        return p[1] == '=' || p[1] == '>' || p[1] == '.';
    return strncmp(p, "\xe2\x94\x81", 3) == 0; // ━
}

static enum event_result read_keras(const char *line, size_t len, struct event *event)
{
    if (len > EVENT_PATTERN_MAX)
        return EVENT_NONE;
    int64_t first, second;
    const char *p = spaces(line);
    if (strncmp(p, "Epoch ", 6) == 0) {
        p = digits(p + 6, &first);
        p = p && *p == '/' ? digits(p + 1, &second) : NULL;
        if (!p || *spaces(p) != '\0' || first == 0 || second == 0)
            return EVENT_NONE;
        event->epoch = some_int(first);
        event->epochs = some_int(second);
        return EVENT_READ;
    }
    p = digits(p, &first);
    if (!p || *p != '/')
        return EVENT_NONE;
    bool open = strncmp(p + 1, "Unknown", 7) == 0; // the first epoch of a generator
    p = open ? p + 8 : digits(p + 1, &second);
    if (!p || !looks_like_bar(p) || (!open && (second == 0 || first > second)))
        return EVENT_NONE;
    event->step = some_int(first);
    if (!open)
        event->total_steps = some_int(second);
    event->bar = bar_of("keras", 5, 0);
    metrics(p, ": ", event);
    return EVENT_READ;
}

// ---- Hugging Face's Trainer
//
//     {'loss': 0.5213, 'grad_norm': 1.2, 'learning_rate': 1e-05, 'epoch': 0.5}
//     {'eval_loss': 0.41, 'eval_accuracy': 0.87, 'epoch': 1.0}

static enum event_result read_trainer(const char *line, size_t len, struct event *event)
{
    const char *p = spaces(line);
    struct maybe_real epoch = {0};
    if (len > EVENT_PATTERN_MAX || p[0] != '{' || p[1] != '\'' ||
        !metric(p, "epoch", "':", &epoch) || strstr(p, "'train_runtime'"))
        return EVENT_NONE;
    // 0.5 is the middle of epoch 1, 1.0 its end.
    if (epoch.v >= 0 && epoch.v < 1e9)
        event->epoch = some_int(epoch.v > 0 ? (int64_t)ceil(epoch.v) : 1);
    metrics(p, "':", event);
    return EVENT_READ;
}

const struct event_source event_patterns[] = {
    {"tqdm", read_tqdm},   {"Lightning", read_rich},
    {"Keras", read_keras}, {"Hugging Face Trainer", read_trainer},
    {NULL, NULL},
};

// ---- the user's own pattern

int event_pattern_compile(const char *pattern, regex_t *out, struct err *err)
{
    struct buf text = {.max = 64 << 10};
    for (const char *p = pattern; *p; p++) {
        if (p[0] == '\\' && p[1] == 'd') {
            buf_adds(&text, "[0-9]");
            p++;
        } else {
            buf_addc(&text, *p);
            if (p[0] == '\\' && p[1])
                buf_addc(&text, *++p);
        }
    }
    int rc = buf_check(&text, err);
    int failed = rc == 0 ? regcomp(out, buf_str(&text), REG_EXTENDED) : 0;
    if (failed == REG_ESPACE) {
        rc = err_memory(err);
    } else if (failed != 0) {
        char why[128];
        regerror(failed, out, why, sizeof why);
        rc = err_set(err, ERR_USAGE, "--step-pattern '%s' is not a regular expression: %s", pattern,
                     why);
        err_hint(err, "use the syntax of grep -E: 'step ([0-9]+)/([0-9]+)'");
    }
    buf_release(&text);
    return rc;
}

static void group(const char *line, const regmatch_t *at, struct maybe_int *out)
{
    int64_t v;
    if (at->rm_so >= 0 && digits(line + at->rm_so, &v) == line + at->rm_eo)
        *out = some_int(v);
}

enum event_result event_pattern_read(const regex_t *pattern, const char *line, size_t len,
                                     struct event *event)
{
    regmatch_t at[3];
    if (len > EVENT_PATTERN_MAX || regexec(pattern, line, 3, at, 0) != 0)
        return EVENT_NONE;
    if (pattern->re_nsub == 0) {
        event->steps = some_int(1);
        return EVENT_READ;
    }
    group(line, &at[1], &event->step);
    if (pattern->re_nsub > 1)
        group(line, &at[2], &event->total_steps);
    return event->step.known ? EVENT_READ : EVENT_MALFORMED;
}
