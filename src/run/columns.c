// SPDX-License-Identifier: Apache-2.0
#include "run/columns.h"

#include <string.h>

#include "run/formats.h"

struct cells {
    const char *at[COLUMNS_MAX];
    size_t len[COLUMNS_MAX];
    int count;
};

// Cuts a line at its commas; false if there are none, or too many.
static bool cut(const char *line, size_t len, struct cells *out)
{
    const char *p = line, *end = line + len;
    for (out->count = 0; out->count < COLUMNS_MAX; p++) {
        const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;
        const char *start = formats_blanks(p);
        size_t n = start < stop ? (size_t)(stop - start) : 0;
        while (n > 0 && (start[n - 1] == ' ' || start[n - 1] == '\r'))
            n--;
        out->at[out->count] = start;
        out->len[out->count++] = n;
        if (!comma)
            return out->count > 1;
        p = comma;
    }
    return false;
}

// A header has one word in each column, and one of them counts.
static bool read_header(const struct cells *cells, struct columns *out)
{
    struct columns found = {.count = cells->count};
    for (int i = 0; i < cells->count; i++) {
        char word[FORMATS_WORD];
        size_t n;
        int rank;
        bool test;
        const char *at = cells->at[i], *end = at + cells->len[i],
                   *slash = memrchr(at, '/', cells->len[i]);
        if (cells->len[i] == 0 || !formats_letter(*at) || memchr(at, ' ', cells->len[i]))
            return false;
        at = slash ? slash + 1 : at; // "train/loss"
        if (formats_word(at, end, word, &n) != at || at + n != end || n >= FORMATS_WORD)
            continue;
        enum formats_role role = formats_role(word, n, &rank, &test);
        test |= strncmp(cells->at[i], "val", 3) == 0;
        int *place = role == ROLE_EPOCH              ? &found.epoch
                     : role == ROLE_STEP             ? &found.step
                     : role == ROLE_LOSS && test     ? &found.test_loss
                     : role == ROLE_LOSS             ? &found.loss
                     : role == ROLE_ACCURACY && test ? &found.test_accuracy
                     : role == ROLE_ACCURACY         ? &found.accuracy
                                                     : NULL;
        if (place && *place == 0)
            *place = i + 1;
    }
    if (found.step == 0 && found.epoch == 0)
        return false;
    *out = found;
    return true;
}

static struct maybe_real real_of(const struct cells *cells, int place)
{
    double v;
    const char *at = place > 0 ? cells->at[place - 1] : NULL;
    bool good = at && formats_real(at, &v) == at + cells->len[place - 1];
    return good ? some_real(v) : (struct maybe_real){0};
}

static struct maybe_int count_of(const struct cells *cells, int place)
{
    int64_t v;
    const char *at = place > 0 ? cells->at[place - 1] : NULL;
    bool good = at && formats_digits(at, &v) == at + cells->len[place - 1];
    return good ? some_int(v) : (struct maybe_int){0};
}

enum event_result columns_read(struct columns *c, const char *line, size_t len, struct event *event)
{
    struct cells cells;
    if (len > EVENT_PATTERN_MAX || !memchr(line, ',', len) || !cut(line, len, &cells) ||
        read_header(&cells, c) || cells.count != c->count)
        return EVENT_NONE;
    struct event e = {.epoch = count_of(&cells, c->epoch),
                      .loss = real_of(&cells, c->loss),
                      .test_loss = real_of(&cells, c->test_loss),
                      .accuracy = real_of(&cells, c->accuracy),
                      .test_accuracy = real_of(&cells, c->test_accuracy),
                      .source = "comma-separated values"};
    e.step = c->step > 0 ? count_of(&cells, c->step) : e.epoch;
    if (!e.step.known)
        return EVENT_NONE;
    e.counts = c->step > 0 ? COUNTS_STEPS : COUNTS_EPOCHS;
    e.epoch_ended = c->step == 0;
    e.bar = formats_counter("columns", 7, 0);
    *event = e;
    return EVENT_READ;
}
