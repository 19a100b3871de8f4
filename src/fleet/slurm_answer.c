// SPDX-License-Identifier: Apache-2.0
// What Slurm's programs answer. Everything in it is checked: what has another form is passed over.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "fleet/slurm_parts.h"

void slurm_pairs_release(struct slurm_pairs *pairs)
{
    free(pairs->items);
    *pairs = (struct slurm_pairs){0};
}

static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '+';
}

// Copies a word of plain characters; the number of bytes, 0 if there is none or no room.
static size_t take(const char *text, size_t len, char *out, size_t size)
{
    size_t n = 0;
    while (n < len && is_plain(text[n]))
        n++;
    if (n >= size)
        return 0;
    memcpy(out, text, n);
    out[n] = '\0';
    return n;
}

static bool read_pair(const char *line, size_t len, const char *word, struct slurm_pair *pair)
{
    size_t at = strlen(word);
    if (len <= at || memcmp(line, word, at) != 0 || line[at] != ' ')
        return false;
    at++;
    size_t n = take(line + at, len - at, pair->key, sizeof pair->key);
    at += n;
    if (n == 0 || at >= len || line[at] != ' ')
        return false;
    at++;
    n = take(line + at, len - at, pair->value, sizeof pair->value);
    return n > 0 && at + n == len;
}

static int by_key(const void *left, const void *right)
{
    const struct slurm_pair *a = left, *b = right;
    return strcmp(a->key, b->key);
}

int slurm_pairs_read(struct slurm_pairs *pairs, const char *word, const char *text, size_t len,
                     struct err *err)
{
    const char *end = text + len;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        if (!newline)
            break; // cut
        TRY(array_grow(&pairs->items, pairs->count, &pairs->capacity, sizeof *pairs->items, err));
        if (read_pair(text, (size_t)(newline - text), word, &pairs->items[pairs->count]))
            pairs->count++;
        text = newline + 1;
    }
    if (pairs->count > 0)
        qsort(pairs->items, pairs->count, sizeof *pairs->items, by_key);
    return 0;
}

const char *slurm_pairs_find(const struct slurm_pairs *pairs, const char *key)
{
    struct slurm_pair want;
    if (pairs->count == 0 || take(key, strlen(key), want.key, sizeof want.key) != strlen(key))
        return NULL;
    const struct slurm_pair *found =
        bsearch(&want, pairs->items, pairs->count, sizeof want, by_key);
    return found ? found->value : NULL;
}

// squeue(1), "JOB STATE CODES". What is not here runs, or is about to. The array's script leaves a
// result however its measurement ended, so a job that FAILED or is COMPLETED without one was not
// launched, or was cut off.
enum report_state slurm_meaning(const char *state, bool *limit)
{
    static const struct {
        const char *state;
        enum report_state means;
        bool limit;
    } states[] = {
        {"PENDING", REPORT_QUEUED, false},      {"REQUEUED", REPORT_QUEUED, false},
        {"REQUEUE_HOLD", REPORT_QUEUED, false}, {"REQUEUE_FED", REPORT_QUEUED, false},
        {"SPECIAL_EXIT", REPORT_QUEUED, false}, {"RESV_DEL_HOLD", REPORT_QUEUED, false},
        {"NODE_FAIL", REPORT_LOST, false},      {"PREEMPTED", REPORT_LOST, false},
        {"BOOT_FAIL", REPORT_LOST, false},      {"REVOKED", REPORT_LOST, false},
        {"TIMEOUT", REPORT_ENDED, true},        {"DEADLINE", REPORT_ENDED, true},
        {"OUT_OF_MEMORY", REPORT_ENDED, false}, {"FAILED", REPORT_LOST, false},
        {"COMPLETED", REPORT_LOST, false},      {"CANCELLED", REPORT_ENDED, false},
    };
    *limit = false;
    if (!state)
        return REPORT_LOST;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(state, states[i].state) == 0) {
            *limit = states[i].limit;
            return states[i].means;
        }
    return REPORT_RUNNING;
}

// Slurm's own words (src/common/slurm_errno.c), whatever the language.
bool slurm_passing(const char *text)
{
    static const char *const words[] = {
        "Unable to contact slurm controller",
        "Socket timed out",
        "Zero Bytes were transmitted",
        "Connection refused",
        "Connection timed out",
        "Communication connection failure",
        "Resource temporarily unavailable",
        "temporarily unable to accept job",
        "job submit limit", // "Job violates accounting/QOS policy (job submit limit, ..."
        "SubmitJob",        // QOSMaxSubmitJobPerUserLimit and its like
        "in standby mode",
        "Unexpected message received",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

// ---- types of nodes

// "gpu:a100:4(S:0-1)" to "gpu:a100:1", "gpu:4" to "gpu:1". False: not a GPU.
static bool gres_of(const char *text, size_t len, struct buf *out)
{
    const char *colon = memchr(text, ':', len);
    size_t type = 0;
    if (len < 3 || strncmp(text, "gpu", 3) != 0 || (len > 3 && text[3] != ':' && text[3] != '('))
        return false;
    buf_adds(out, "gpu:");
    if (colon) {
        const char *word = colon + 1, *end = text + len;
        while (word + type < end && (is_plain(word[type]) || word[type] == '.'))
            type++;
        if (strspn(word, "0123456789") >= type)
            type = 0; // a count
        buf_add(out, word, type);
    }
    buf_adds(out, type > 0 ? ":1" : "1");
    return true;
}

static void features_of(const char *text, size_t len, struct buf *out)
{
    for (size_t i = 0; i < len; i++)
        buf_addc(out, text[i] == ',' ? '&' : text[i]);
}

static bool seen(const struct buf *all, const struct buf *value)
{
    struct buf line = {0};
    buf_printf(&line, "\n%s\n", buf_str(value));
    bool found = strstr(buf_str(all), buf_str(&line)) != NULL;
    buf_release(&line);
    return found;
}

int slurm_types(const char *text, bool gres, int (*add)(void *arg, const char *value, struct err *),
                void *arg, struct err *err)
{
    struct buf all = {0}, value = {0};
    int rc = 0;
    buf_addc(&all, '\n');
    while (*text && rc == 0) {
        size_t line = strcspn(text, "\n"), len = gres ? strcspn(text, ",\n") : line;
        buf_reset(&value);
        bool good = gres ? gres_of(text, len, &value) : len > 0 && strncmp(text, "(null)", 6) != 0;
        if (!gres && good)
            features_of(text, len, &value);
        if (good && !seen(&all, &value)) {
            buf_printf(&all, "%s\n", buf_str(&value));
            rc = add(arg, buf_str(&value), err);
        }
        text += len;
        text += *text != '\0';
    }
    if (rc == 0)
        rc = buf_check(&all, err);
    buf_release(&value);
    buf_release(&all);
    return rc;
}
