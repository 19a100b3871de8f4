// SPDX-License-Identifier: Apache-2.0
#include "follow/shapes.h"

#include <string.h>

#include "follow/formats.h"

#define COLUMNS_MAX 32

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
static bool read_header(const struct cells *cells, struct log_columns *out)
{
    struct log_columns found = {.count = cells->count};
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

enum event_result columns_read(struct log_columns *c, const char *line, size_t len,
                               struct event *event)
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

// ---- Lines of one shape

struct numbers {
    int64_t v[SHAPES_NUMBERS];
    bool slash[SHAPES_NUMBERS]; // a number behind a slash follows
    const char *at[SHAPES_NUMBERS];
    size_t count;
    uint32_t id;
};

// Whether commas stand between columns, "0,4.0,0.003", not in numbers: "1,000 of 12,000".
static bool has_columns(const char *line, const char *end)
{
    for (const char *p = line; (p = memchr(p, ',', (size_t)(end - p))); p++) {
        size_t digits = strspn(p + 1, "0123456789");
        if (p > line && formats_digit(p[-1]) && digits > 0 && (digits != 3 || p[4] == '.'))
            return true;
    }
    return false;
}

// A run of digits, points, colons, commas and dashes. Only plain digits are a number that may
// count: not 0.25, 12:30:05 or 2025-03-06.
static const char *read_number(const char *p, const char *end, struct numbers *out, bool attached,
                               bool columns)
{
    const char *start = p, *inside = columns ? ".:-" : ".:,-";
    bool plain = !attached;
    while (p < end &&
           (formats_digit(*p) || (p + 1 < end && strchr(inside, *p) && formats_digit(p[1])))) {
        plain &= formats_digit(*p);
        p++;
    }
    int64_t v;
    plain =
        plain && !(p < end && (formats_letter(*p) || *p == '%')) && formats_digits(start, &v) == p;
    if (plain && out->count < SHAPES_NUMBERS) {
        if (out->count > 0 && start[-1] == '/' && out->at[out->count - 1])
            out->slash[out->count - 1] = true;
        out->at[out->count] = start;
        out->v[out->count++] = v;
    }
    return p;
}

// The bytes of a blank, a sign or a piece of a bar, which grows: "[====>   ]", "|█████▌    |"; 0:
// of none.
static size_t bar_piece(const char *p)
{
    if (strncmp(p, "\xe2\x96", 2) == 0 && p[2] != '\0') // block elements
        return 3;
    return *p && strchr(" -=>#.*~", *p) ? 1 : 0;
}

// Hashes the line with each number as one character, without its bars.
static bool read_shape(const char *line, size_t len, struct numbers *out)
{
    const char *end = line + len;
    uint32_t hash = 2166136261U;
    bool columns = has_columns(line, end);
    for (const char *p = line; p < end;) {
        unsigned char c = (unsigned char)*p;
        if (formats_digit(*p)) {
            bool attached = p > line && (formats_in_word(p[-1]) || p[-1] == '.');
            p = read_number(p, end, out, attached, columns);
            c = '0';
        } else {
            size_t drawn = bar_piece(p);
            p += drawn > 0 ? drawn : 1;
            if (drawn > 0)
                continue;
        }
        hash = (hash ^ c) * 16777619U;
    }
    out->id = hash | 1U;
    return out->count > 0;
}

static struct line_shape *shapes_find(struct shapes *s, const struct numbers *n)
{
    struct line_shape *oldest = &s->items[0];
    for (size_t i = 0; i < SHAPES_MAX; i++) {
        struct line_shape *shape = &s->items[i];
        if (shape->id == n->id)
            return shape;
        if (shape->used < oldest->used)
            oldest = shape;
    }
    *oldest = (struct line_shape){.id = n->id};
    return oldest;
}

static void add(struct line_shape *shape, const struct numbers *n)
{
    for (size_t i = 0; i < n->count; i++) {
        int64_t step = n->v[i] - shape->numbers[i].last;
        bool first = shape->lines == 0;
        shape->numbers[i].fixed = first || (shape->numbers[i].fixed && step == 0);
        bool rises = !first && step > 0;
        bool even = rises && step == shape->numbers[i].step;
        shape->numbers[i].rises = rises ? shape->numbers[i].rises + 1 : 0;
        shape->numbers[i].even = rises ? shape->numbers[i].even + even : 0;
        shape->numbers[i].step = step;
        shape->numbers[i].last = n->v[i];
        bool below = n->slash[i] && i + 1 < n->count && n->v[i] <= n->v[i + 1];
        shape->numbers[i].below = below && (first || shape->numbers[i].below);
    }
    shape->lines++;
}

// A number counts once it has risen in each of the last lines, nearly always by as much.
static uint32_t find_counter(const struct line_shape *shape, const struct numbers *n)
{
    size_t best = SHAPES_NUMBERS;
    for (size_t i = 0; i < n->count; i++) {
        if (shape->numbers[i].rises + 1 < SHAPES_LINES ||
            shape->numbers[i].even * 4 < (shape->numbers[i].rises - 1) * 3)
            continue;
        if (best == SHAPES_NUMBERS || shape->numbers[i].below > shape->numbers[best].below)
            best = i;
    }
    return best < SHAPES_NUMBERS ? (uint32_t)best + 1 : 0;
}

// It remains the counter when it restarts, as with each epoch, but not when it goes astray.
static void keep_counter(struct line_shape *shape, const struct numbers *n)
{
    if (shape->counter > 0) {
        bool usual = shape->numbers[shape->counter - 1].step == shape->usual;
        shape->misses = !usual ? shape->misses + 1 : shape->misses > 0 ? shape->misses - 1 : 0;
        if (shape->misses > SHAPES_LINES)
            shape->counter = 0;
    }
    if (shape->counter == 0) {
        shape->counter = find_counter(shape, n);
        shape->misses = 0;
        if (shape->counter > 0)
            shape->usual = shape->numbers[shape->counter - 1].step;
    }
}

enum event_result shapes_read(struct shapes *s, const char *line, size_t len, struct event *event)
{
    struct numbers n = {0};
    if (len > SHAPES_BYTES || !read_shape(line, len, &n))
        return EVENT_NONE;
    struct line_shape *shape = shapes_find(s, &n);
    shape->used = ++s->clock;
    add(shape, &n);
    keep_counter(shape, &n);
    size_t i = shape->counter;
    if (i-- == 0)
        return EVENT_NONE;
    event->step = some_int(n.v[i]);
    if (shape->numbers[i].below && shape->numbers[i + 1].fixed)
        event->total_steps = some_int(n.v[i + 1]);
    event->bar = n.id;
    event->source = "regular lines";
    return EVENT_READ;
}
