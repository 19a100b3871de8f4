// SPDX-License-Identifier: Apache-2.0
#include "base/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/units.h"

#define REDRAW_NS   (100 * NS_PER_MS)
#define SETTLE_NS   (500 * NS_PER_MS) // before that a guess of the time left is worth nothing
#define BAR_MIN     8                 // columns; a shorter bar says nothing
#define BAR_MAX     40
#define LABEL_SHARE 0.6 // of the line, at most, for the label
#define LABEL_MIN   10
#define TIME_ROOM   16 // "59 min 59 s left"
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
    if (code < 0x20 || (code >= 0x7F && code < 0xA0))
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

// As much of `text` as fits; what cannot be shown is a question mark. Returns the columns taken.
static size_t add_label(struct buf *out, const char *text, size_t room)
{
    size_t used = 0;
    while (*text) {
        size_t columns = 1, len = character(text, &columns);
        if (used + columns > room)
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

// How much is done, in a width that does not change on the way, so that the bar stands still.
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

// What is left at the mean pace so far, or, when the end is not known, how long it has taken.
static void time_words(const struct progress_view *view, char *out, size_t size)
{
    out[0] = '\0';
    if (view->elapsed_ns < SETTLE_NS)
        return;
    if (view->total <= 0) {
        seconds(view->elapsed_ns / NS_PER_S, out, size);
        return;
    }
    if (view->done <= 0 || view->done >= view->total)
        return;
    double left_s = (double)view->elapsed_ns / NS_PER_S * (double)(view->total - view->done) /
                    (double)view->done;
    if (left_s > 100 * 86400) // a hundred days: no guess but a joke
        return;
    char words[48];
    seconds((int64_t)(left_s + 0.999), words, sizeof words);
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

// In order of importance: the share done (or the amount, where the whole is not known), a name,
// the time, the bar, the amounts.
void progress_render(const struct progress_view *view, size_t width, struct buf *out)
{
    if (width < PROGRESS_MIN_WIDTH)
        return;
    size_t room = width - 1, begun = out->len;
    bool known = view->total > 0;
    char percent[16], amount[80], time[64];
    snprintf(percent, sizeof percent, "%3d %%", share(view, 100));
    amounts(view, amount, sizeof amount);
    time_words(view, time, sizeof time);

    const char *main = known ? percent : amount;
    size_t left = room > strlen(main) + 2 ? room - strlen(main) - 2 : 0;
    size_t share_of_room = (size_t)((double)room * LABEL_SHARE);
    size_t label_room = share_of_room > LABEL_MIN ? share_of_room : LABEL_MIN;
    left -= add_label(out, view->label, left < label_room ? left : label_room);

    bool with_time = left >= TIME_ROOM + 2;
    left -= with_time ? TIME_ROOM + 2 : 0;
    bool with_amount =
        known && view->unit != PROGRESS_TIME && left >= strlen(amount) + 2 + BAR_MIN + 2;
    left -= with_amount ? strlen(amount) + 2 : 0;
    if (known && left >= BAR_MIN + 2) {
        buf_adds(out, out->len > begun ? "  " : "");
        add_bar(out, view, left - 2 < BAR_MAX ? left - 2 : BAR_MAX);
    }
    buf_printf(out, "%s%s", out->len > begun ? "  " : "", main);
    if (with_amount)
        buf_printf(out, "  %s", amount);
    if (with_time && *time)
        buf_printf(out, "  %s", time);
}

static bool utf8_locale(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value) // the first that is set decides
            return strcasestr(value, "UTF-8") || strcasestr(value, "utf8");
    }
    return false;
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

static void draw(struct progress *progress)
{
    // A job in the background would be stopped for writing, or would spoil another's screen.
    pid_t front = tcgetpgrp(progress->fd);
    if (front > 0 && front != getpgrp())
        return;
    struct buf line = {0};
    buf_adds(&line, WIPE);
    progress_render(&progress->view, terminal_width(progress->fd), &line);
    bool worth = !line.failed && (progress->drawn || line.len > strlen(WIPE));
    if (worth && fs_write_fd(progress->fd, line.data, line.len, "the terminal", NULL) != 0)
        progress->on = false; // it is gone
    progress->drawn |= worth;
    buf_release(&line);
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

void progress_end(struct progress *progress)
{
    if (progress->on && progress->drawn &&
        fs_write_fd(progress->fd, WIPE, strlen(WIPE), "the terminal", NULL) != 0)
        progress->drawn = false;
    progress->on = false;
}
