// SPDX-License-Identifier: Apache-2.0
#include "measure/watch.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/money.h"

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

void watch_hide(struct watch *w)
{
    progress_hide(&w->progress);
}

void watch_end(struct watch *w)
{
    progress_end(&w->progress);
}
