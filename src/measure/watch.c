// SPDX-License-Identifier: Apache-2.0
#include "measure/watch.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"

// The end time in local time: "10:32", with the day if it is not today.
static const char *end_words(double left_s, char *out, size_t size)
{
    time_t now = (time_t)clock_date_s(), then = now + (time_t)left_s;
    struct tm today, that;
    out[0] = '\0';
    if (left_s < 0 || left_s > 100 * 86400.0 || !localtime_r(&now, &today) ||
        !localtime_r(&then, &that))
        return NULL;
    bool other = today.tm_yday != that.tm_yday || today.tm_year != that.tm_year;
    return strftime(out, size, other ? "%b %e %H:%M" : "%H:%M", &that) > 0 ? out : NULL;
}

static void money_words(struct watch *w, const struct live *live)
{
    char bill[MONEY_BYTES], projected[MONEY_BYTES];
    struct progress_view *view = &w->progress.view;
    view->cost = view->costs = NULL;
    if (live->bill < 0)
        return;
    money_short(live->bill, bill);
    snprintf(w->cost, sizeof w->cost, "%s USD", bill);
    view->cost = w->cost;
    if (live->projected < 0)
        return;
    money_short(live->projected, projected);
    snprintf(w->costs, sizeof w->costs, "%s of %s USD", bill, projected);
    view->costs = w->costs;
}

static void begin(struct watch *w, const struct live *live)
{
    tzset(); // now, not during the training
    progress_begin(&w->progress, w->fd > 0 ? w->fd : STDERR_FILENO, w->name, PROGRESS_TIME, 0);
    w->progress.group = w->group;
    w->progress.begun_ns = clock_now_ns() - (int64_t)(live->elapsed_s * 1e9);
    w->begun = true;
}

void watch_show(struct watch *w, const struct live *live, const char *note)
{
    struct progress_view *view = &w->progress.view;
    if (!w->name || (w->begun && !progress_due(&w->progress)))
        return;
    if (!w->begun)
        begin(w, live);
    if (!w->progress.on)
        return;
    bool counted = !live->timed && live->steps > 0;
    snprintf(w->note, sizeof w->note, "%s", note);
    view->note = w->note;
    view->unit = counted ? PROGRESS_COUNT : PROGRESS_TIME;
    view->left_ns = live->left_s >= 0 ? (int64_t)(live->left_s * 1e9) + 1 : -1;
    view->at_most = live->at_most;
    view->end = end_words(live->left_s, w->end, sizeof w->end);
    money_words(w, live);
    if (counted)
        progress_update(&w->progress, live->step, live->steps);
    else if (live->timed) // in milliseconds
        progress_update(&w->progress, (int64_t)(live->elapsed_s * 1e3),
                        (int64_t)((live->elapsed_s + live->left_s) * 1e3) + 1);
    else
        progress_update(&w->progress, 0, 0);
}

// ---- in logs

#define MOST_S     300.0
#define PATIENCE_S 5.0 // for the end of the command's line

static double next_s(double told_s)
{
    static const double first_s[] = {10, 30, 60};
    for (size_t i = 0; i < sizeof first_s / sizeof *first_s; i++)
        if (told_s < first_s[i])
            return first_s[i];
    return told_s + fmin(told_s, MOST_S);
}

bool watch_due(const struct watch *w, double elapsed_s)
{
    return w->before_s + elapsed_s >= next_s(w->told_s);
}

void watch_told(struct watch *w, double elapsed_s)
{
    while (watch_due(w, elapsed_s))
        w->told_s = next_s(w->told_s);
}

static void add_time(struct buf *out, double seconds, double half_s, const char *after)
{
    char time[24];
    clock_words((int64_t)(fmin(seconds, 9e9) * 1e9), time, sizeof time);
    buf_printf(out, "%s%s", time, after);
    double percent = seconds > 0 ? half_s / seconds * 100 : 0;
    if (percent > 0 && percent < 100)
        buf_printf(out, " (± %.*f %%)", percent < 1.95 ? 1 : 0, percent);
    else if (percent >= 100)
        buf_adds(out, " (still uncertain)");
}

static const char *noun_of(const struct live *live)
{
    return live->noun ? live->noun : "step";
}

bool watch_place(const struct live *live, struct buf *out)
{
    // Steps are counted when they end; an epoch is long, so the one that runs is named.
    bool epochs = strcmp(noun_of(live), "epoch") == 0;
    bool within = epochs && (live->steps == 0 || live->step < live->steps);
    if (live->step <= 0 && !(epochs && live->rate > 0))
        return false;
    buf_printf(out, "%s%s %lld", within ? "in " : "", noun_of(live),
               (long long)live->step + within);
    if (live->steps > 0)
        buf_printf(out, " of %lld", (long long)live->steps);
    return true;
}

void watch_words(const struct live *live, struct buf *out)
{
    char bill[MONEY_BYTES], end[MONEY_BYTES];
    bool sample = live->timed && live->at_most;
    buf_adds(out, "after ");
    add_time(out, live->elapsed_s, 0, ": ");
    if (!watch_place(live, out))
        buf_adds(out, "no progress seen");
    else if (live->steps > 0)
        buf_printf(out, " (%d %%)", (int)(100 * (double)live->step / (double)live->steps));
    if (live->steps <= 0 && live->rate > 0)
        buf_printf(out, ", %s", units_pace(live->rate, noun_of(live)).s);
    if (live->loss.known)
        buf_printf(out, ", loss %.4g", live->loss.v);
    if (sample && live->whole_s > 0) {
        buf_adds(out, ", the whole training takes ");
        add_time(out, live->whole_s, live->half_s, "");
    }
    if (live->left_s >= 0) {
        buf_adds(out, sample ? ", at most " : ", ");
        add_time(out, live->left_s, live->timed ? 0 : live->half_s,
                 sample ? " left of the sample" : " left");
    }
    int64_t all = sample ? live->whole : live->projected;
    if (live->bill < 0)
        return;
    money_short(live->bill, bill);
    money_short(all, end);
    if (all >= 0)
        buf_printf(out, ", %s of %s USD", bill, end);
    else
        buf_printf(out, ", %s USD", bill);
}

bool watch_tell(struct watch *w, const struct live *live, bool within_a_line)
{
    int fd = w->fd > 0 ? w->fd : STDERR_FILENO;
    if (!watch_due(w, live->elapsed_s - (within_a_line ? PATIENCE_S : 0)) || isatty(fd) ||
        poll(&(struct pollfd){fd, POLLOUT, 0}, 1, 0) <= 0)
        return false;
    struct buf line = {0};
    buf_printf(&line, "%sfare: %s", within_a_line ? "\n" : "", w->name);
    if (w->number > 0)
        buf_printf(&line, ", run %lld,", (long long)w->number);
    buf_addc(&line, ' ');
    watch_words(live, &line);
    buf_addc(&line, '\n');
    ssize_t put = line.failed ? -1 : write(fd, line.data, line.len);
    buf_release(&line);
    w->told_s = w->before_s + live->elapsed_s;
    return put > 0;
}

bool watch_say(struct watch *w, const char *lines, bool within_a_line)
{
    int fd = w->fd > 0 ? w->fd : STDERR_FILENO;
    struct buf text = {0};
    buf_adds(&text, within_a_line ? "\n" : "");
    for (size_t len; *lines; lines += len + (lines[len] == '\n')) {
        len = strcspn(lines, "\n");
        buf_printf(&text, "fare: %.*s\n", (int)len, lines);
    }
    watch_hide(w);
    ssize_t put = text.failed || poll(&(struct pollfd){fd, POLLOUT, 0}, 1, 0) <= 0
                      ? -1
                      : write(fd, text.data, text.len);
    buf_release(&text);
    return put > 0;
}

void watch_hide(struct watch *w)
{
    progress_hide(&w->progress);
}

void watch_end(struct watch *w)
{
    progress_end(&w->progress);
}
