// SPDX-License-Identifier: Apache-2.0
#include "base/progress.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/units.h"
#include "base/utf8.h"

#define REDRAW_NS   (100 * NS_PER_MS)
#define SETTLE_NS   (500 * NS_PER_MS) // no estimate of the time left before that
#define BAR_MIN     8                 // columns; a shorter bar says nothing
#define BAR_MAX     40
#define LABEL_SHARE 0.6 // of the line, at most, for the label
#define LABEL_MIN   10
#define LABEL_LEAST 4  // columns of it
#define TIME_WIDTH  16 // "59 min 59 s left"
#define SHORT_WIDTH 13 // "23:59:59 left"
#define COST_WIDTH  10 // "0.0123 USD"
#define COSTS_WIDTH 20 // "0.0123 of 0.0345 USD"
#define WIPE        "\r\x1b[K"

// One character of UTF-8: its length in bytes and its columns. Bad bytes and control characters
// have length 0. (Wide ones after Unicode's EastAsianWidth: blocks, not single characters.)
static size_t character(const char *text, size_t *columns)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t len = *p < 0x80 ? 1 : *p < 0xC2 ? 0 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : *p < 0xF5 ? 4 : 0;
    uint32_t code = len == 1 ? *p : len ? *p & (0x7Fu >> len) : 0;
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3F);
    }
    if (utf8_steers(code))
        return 0;
    bool wide = (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
                (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
                (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60) ||
                (code >= 0xFFE0 && code <= 0xFFE6) || (code >= 0x1F300 && code <= 0x1FAFF) ||
                (code >= 0x20000 && code <= 0x3FFFD);
    bool combining = code >= 0x300 && code <= 0x36F;
    *columns = combining ? 0 : wide ? 2 : 1;
    return len;
}

// As much of `text` as fits, with question marks for what cannot be shown. Returns the columns.
static size_t add_label(struct buf *out, const char *text, size_t width)
{
    size_t used = 0;
    while (*text) {
        size_t columns = 1, len = character(text, &columns);
        if (used + columns > width)
            break;
        if (len == 0)
            buf_addc(out, '?');
        else
            buf_add(out, text, len);
        used += columns;
        text += len ? len : 1;
    }
    return used;
}

// How much is done, in constant width, so that the bar does not move.
static void amounts(const struct progress_view *view, char *out, size_t size)
{
    char done[UNITS_TEXT], total[UNITS_TEXT];
    int64_t some = view->done > 0 ? view->done : 0;
    if (view->unit == PROGRESS_BYTES) {
        snprintf(done, sizeof done, "%8s", units_bytes(some).s);
        snprintf(total, sizeof total, "%s", units_bytes(view->total).s);
    } else {
        snprintf(total, sizeof total, "%" PRId64, view->total);
        snprintf(done, sizeof done, "%*" PRId64, (int)strlen(total), some);
    }
    if (view->total > 0)
        snprintf(out, size, "%s of %s", done, total);
    else
        snprintf(out, size, "%s", done + strspn(done, " "));
}

// How many of `parts` equal parts are done, rounded down: the last one only at the very end.
static int share(const struct progress_view *view, int parts)
{
    if (view->total <= 0 || view->done <= 0)
        return 0;
    if (view->done >= view->total)
        return parts;
    int full = (int)((double)view->done * parts / (double)view->total);
    return full < parts ? full : parts - 1;
}

// In whole seconds: tenths would only flicker.
static void seconds(int64_t whole_s, char *out, size_t size)
{
    if (whole_s < 60)
        snprintf(out, size, "%" PRId64 " s", whole_s);
    else
        clock_words(whole_s * NS_PER_S, out, size);
}

// "1:12", "23:59:59"
static void short_seconds(int64_t whole_s, char *out, size_t size)
{
    long long s = (long long)whole_s;
    if (s < 3600)
        snprintf(out, size, "%lld:%02lld", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, size, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, size, "%lldd %02lldh", s / 86400, s / 3600 % 24);
}

// The time left in whole seconds; below 0: not known.
static int64_t left_s(const struct progress_view *view)
{
    double left = -1;
    if (view->left_ns > 0)
        left = (double)view->left_ns / NS_PER_S;
    else if (view->left_ns == 0 && view->total > 0 && view->done > 0 && view->done < view->total &&
             view->elapsed_ns >= SETTLE_NS)
        left = (double)view->elapsed_ns / NS_PER_S * (double)(view->total - view->done) /
               (double)view->done;
    bool absurd = left > 100 * 86400; // over a hundred days: no estimate
    return left < 0 || absurd ? -1 : (int64_t)(left + 0.999);
}

// The time left, or the time so far where the end is not known.
static void time_words(const struct progress_view *view, bool brief, char *out, size_t size)
{
    char words[48];
    int64_t left = left_s(view);
    out[0] = '\0';
    if (left < 0 && view->total <= 0 && view->unit != PROGRESS_TIME &&
        view->elapsed_ns >= SETTLE_NS)
        seconds(view->elapsed_ns / NS_PER_S, out, size);
    if (left < 0)
        return;
    if (brief)
        short_seconds(left, words, sizeof words);
    else
        seconds(left, words, sizeof words);
    snprintf(out, size, "%s left", words);
}

static void add_bar(struct buf *out, const struct progress_view *view, size_t columns)
{
    size_t full = (size_t)share(view, (int)columns);
    if (view->colour)
        buf_adds(out, "\x1b[36m");
    for (size_t i = 0; i < full; i++)
        buf_adds(out, view->unicode ? "\u2501" : "#");
    if (view->colour)
        buf_adds(out, "\x1b[2m");
    for (size_t i = full; i < columns; i++)
        buf_adds(out, view->unicode ? "\u2500" : ".");
    if (view->colour)
        buf_adds(out, "\x1b[0m");
}

static size_t columns_of(const char *text)
{
    size_t sum = 0;
    while (*text) {
        size_t columns = 1, len = character(text, &columns);
        sum += columns;
        text += len ? len : 1;
    }
    return sum;
}

// Uses up `columns` and two for the gap, if that many are left.
static bool claim(size_t *left, size_t columns)
{
    bool fits = *left >= columns + 2;
    *left -= fits ? columns + 2 : 0;
    return fits;
}

static size_t at_least(const char *text, size_t columns)
{
    size_t own = text ? columns_of(text) : 0;
    return own > columns ? own : columns;
}

// The end of the last piece of `note` that fits.
static const char *fitting(const char *note, size_t *left)
{
    const char *end = note;
    while (*end) {
        const char *gap = end[1] ? strstr(end + 2, "  ") : NULL;
        size_t len = gap ? (size_t)(gap - end) : strlen(end);
        char piece[80];
        snprintf(piece, sizeof piece, "%.*s", (int)len, end);
        if (len >= sizeof piece || !claim(left, columns_of(piece) - (end > note ? 2 : 0)))
            break;
        end += len;
    }
    return end;
}

struct layout { // the parts that fit
    char percent[16], amount[80], time[64], end[16];
    const char *main; // the share done, or the amount
    const char *cost;
    const char *note_end;
    size_t label, bar; // columns
    bool with_amount, at_most;
};

// Width of the time left in its short form; hours count only where there are some.
static size_t short_width(const struct progress_view *view)
{
    return left_s(view) < 3600 ? SHORT_WIDTH - 3 : SHORT_WIDTH;
}

// The label gets no more than its share, and leaves space for the cost where there is one.
static size_t label_columns(const struct progress_view *view, size_t width, size_t left)
{
    size_t columns = columns_of(view->label), most = (size_t)((double)width * LABEL_SHARE);
    most = most > LABEL_MIN && !view->cost ? most : LABEL_MIN;
    size_t need = short_width(view) + 2 + at_least(view->cost, COST_WIDTH) + 2;
    if (view->cost && left >= need + LABEL_LEAST && left - need < most)
        most = left - need;
    most = most < left ? most : left;
    return columns < most ? columns : most;
}

// The time left, in words or short; the cost must fit beside it.
static void lay_out_time(const struct progress_view *view, struct layout *l, size_t *left)
{
    size_t cost = view->cost ? at_least(view->cost, COST_WIDTH) + 2 : 0;
    bool words = *left >= TIME_WIDTH + 2 + cost;
    time_words(view, !words && cost > 0, l->time, sizeof l->time);
    if (!claim(left, at_least(l->time, words || cost == 0 ? TIME_WIDTH : short_width(view))))
        l->time[0] = '\0';
}

// In order of importance: the share done (or the amount, without a total), the label, the time, the
// cost, the bar, the cost in the end, the time of the end, the note, the amounts. A part that
// changes its width gets that of its longest form, so that the bar does not move.
static void lay_out(const struct progress_view *view, size_t width, struct layout *l)
{
    bool known = view->total > 0;
    snprintf(l->percent, sizeof l->percent, "%3d %%", share(view, 100));
    amounts(view, l->amount, sizeof l->amount);
    if (!known && view->unit == PROGRESS_TIME)
        seconds(view->elapsed_ns > 0 ? view->elapsed_ns / NS_PER_S : 0, l->amount,
                sizeof l->amount);
    l->main = known ? l->percent : l->amount;
    size_t left = width > strlen(l->main) + 2 ? width - strlen(l->main) - 2 : 0;
    size_t label = columns_of(view->label);
    l->label = label_columns(view, width, left);
    left -= l->label;
    lay_out_time(view, l, &left);
    size_t cost = at_least(view->cost, COST_WIDTH), costs = at_least(view->costs, COSTS_WIDTH);
    if (view->cost && claim(&left, cost))
        l->cost = view->cost;
    bool bar = known && claim(&left, BAR_MIN);
    l->bar = bar ? BAR_MIN : 0;
    if (l->cost && view->costs && costs >= cost && left >= costs - cost) {
        l->cost = view->costs;
        left -= costs - cost;
    }
    bool shows_end = view->end && left_s(view) >= 0 && l->time[0];
    if (shows_end && left >= 1 + strlen(view->end) + 2) {
        snprintf(l->end, sizeof l->end, " (%s)", view->end);
        left -= strlen(l->end);
    }
    l->at_most = shows_end && view->at_most && left >= strlen("at most ");
    left -= l->at_most ? strlen("at most ") : 0;
    l->note_end = view->note ? fitting(view->note, &left) : NULL;
    bool counts = known && view->unit != PROGRESS_TIME;
    l->with_amount = counts && (bar || left >= BAR_MIN + 2) && claim(&left, strlen(l->amount));
    size_t more = label - l->label < left ? label - l->label : left;
    l->label += view->cost ? more : 0;
    left -= view->cost ? more : 0;
    size_t widest = BAR_MAX - l->bar;
    l->bar += bar ? (left < widest ? left : widest) : 0;
}

static void add_part(struct buf *out, size_t begun, const char *text)
{
    if (text && *text)
        buf_printf(out, "%s%s", out->len > begun ? "  " : "", text);
}

void progress_render(const struct progress_view *view, size_t width, struct buf *out)
{
    if (width < PROGRESS_MIN_WIDTH)
        return;
    size_t begun = out->len;
    struct layout l = {0};
    lay_out(view, width - 1, &l);
    add_label(out, view->label, l.label);
    if (l.note_end && l.note_end > view->note) {
        buf_adds(out, out->len > begun ? "  " : "");
        buf_add(out, view->note, (size_t)(l.note_end - view->note));
    }
    if (l.bar > 0) {
        buf_adds(out, out->len > begun ? "  " : "");
        add_bar(out, view, l.bar);
    }
    add_part(out, begun, l.main);
    add_part(out, begun, l.with_amount ? l.amount : NULL);
    add_part(out, begun, l.at_most ? "at most" : NULL);
    if (l.time[0])
        buf_printf(out, "%s%s%s", l.at_most ? " " : "  ", l.time, l.end);
    add_part(out, begun, l.cost);
}

static size_t terminal_width(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    long value = columns ? strtol(columns, NULL, 10) : 0;
    return value > 0 && value < 10000 ? (size_t)value : 80;
}

void progress_begin(struct progress *progress, int fd, const char *label, enum progress_unit unit,
                    int64_t total)
{
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    memset(progress, 0, sizeof *progress);
    progress->on = isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
    progress->fd = fd;
    progress->begun_ns = clock_now_ns();
    progress->view = (struct progress_view){.label = label,
                                            .unit = unit,
                                            .total = total,
                                            .colour = !(no_colour && *no_colour),
                                            .unicode = utf8_locale()};
    progress_update(progress, 0, total);
}

// A job in the background would be stopped for writing, or would write over another program's
// screen; after Ctrl-S a write would block until Ctrl-Q.
static bool can_draw(const struct progress *progress)
{
    struct pollfd to = {progress->fd, POLLOUT, 0};
    pid_t front = tcgetpgrp(progress->fd);
    bool behind = front > 0 && front != getpgrp() && front != progress->group;
    return !behind && poll(&to, 1, 0) > 0;
}

static void put(struct progress *progress, const char *text, size_t len)
{
    if (fs_write_fd(progress->fd, text, len, "the terminal", NULL) != 0)
        progress->on = false; // it is gone
}

static void draw(struct progress *progress)
{
    struct buf *line = &progress->line, *shown = &progress->shown;
    if (!can_draw(progress))
        return;
    buf_reset(line);
    buf_adds(line, WIPE);
    progress_render(&progress->view, terminal_width(progress->fd), line);
    bool worth = !line->failed && (progress->drawn || line->len > strlen(WIPE));
    bool same = progress->drawn && strcmp(buf_str(line), buf_str(shown)) == 0;
    if (!worth || same)
        return;
    put(progress, line->data, line->len);
    progress->drawn = true;
    struct buf other = *line;
    *line = *shown;
    *shown = other;
}

bool progress_due(const struct progress *progress)
{
    return progress->on && clock_now_ns() - progress->drawn_ns >= REDRAW_NS;
}

void progress_update(struct progress *progress, int64_t done, int64_t total)
{
    if (!progress->on)
        return;
    int64_t now_ns = clock_now_ns();
    progress->view.done = done;
    progress->view.total = total;
    progress->view.elapsed_ns = now_ns - progress->begun_ns;
    if (progress->drawn && now_ns - progress->drawn_ns < REDRAW_NS)
        return;
    progress->drawn_ns = now_ns;
    draw(progress);
}

void progress_hide(struct progress *progress)
{
    if (progress->on && progress->drawn)
        put(progress, WIPE, strlen(WIPE));
    progress->drawn = false;
}

void progress_end(struct progress *progress)
{
    progress_hide(progress);
    progress->on = false;
    buf_release(&progress->line);
    buf_release(&progress->shown);
}
