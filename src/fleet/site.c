// SPDX-License-Identifier: Apache-2.0
#include "fleet/site.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "fleet/dispatch.h"

enum { LOSSES_MOST = 4 };
#define LOOK_NS    (3 * NS_PER_S) // between two looks that do not wait by themselves
#define PAUSE_MOST 60             // s

// ---- queues

void line_add(struct line *line, struct item *item)
{
    item->next = NULL;
    if (line->last)
        line->last->next = item;
    else
        line->first = item;
    line->last = item;
}

struct item *line_take(struct line *line)
{
    struct item *item = line->first;
    line->first = item->next;
    if (!line->first)
        line->last = NULL;
    item->next = NULL;
    return item;
}

static void line_remove(struct line *line, struct item *item)
{
    struct item *before = NULL;
    for (struct item *i = line->first; i != item; i = i->next)
        before = i;
    if (before)
        before->next = item->next;
    else
        line->first = item->next;
    if (line->last == item)
        line->last = before;
    item->next = NULL;
}

// ---- words

static void say(struct dispatcher *d, const char *format, ...) PRINTF_LIKE(2, 3);
static void say(struct dispatcher *d, const char *format, ...)
{
    SCOPED(buf_release) struct buf text = {0};
    va_list args;
    if (!d->o->says)
        return;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    d->o->says(d->o->arg, buf_str(&text));
}

static void say_end(struct dispatcher *d, const struct fleet_site *s, const struct task *task)
{
    char time[32] = "";
    if (task->now.run_s.known)
        clock_words((int64_t)(task->now.run_s.v * 1e9), time, sizeof time);
    say(d, "%s on %s: %s%s%s%s%s", task->name, s->place->name, task->now.state,
        *time ? " after " : "", time, task->now.problem ? ": " : "",
        task->now.problem ? task->now.problem : "");
}

// ---- states

int site_note(struct dispatcher *d, const struct task *task, struct err *err)
{
    return state_note(d->state, task, err);
}

int site_finish(struct dispatcher *d, struct item *item, enum task_state state, const char *problem,
                struct err *err)
{
    TRY(text_set(&item->task->now.problem, problem, err));
    TRY(task_set_state(item->task, state, err));
    d->left--;
    return site_note(d, item->task, err);
}

// Back into the queue that it came from.
static int wait_again(struct dispatcher *d, struct fleet_site *s, struct item *item,
                      struct err *err)
{
    struct task *task = item->task;
    TRY(task_set_state(task, TASK_WAITING, err));
    if (!task->bound)
        TRY(text_set(&task->now.place, NULL, err));
    TRY(text_set(&task->now.handle, NULL, err));
    line_add(task->bound ? &s->waiting : &d->waiting, item);
    return site_note(d, task, err);
}

void site_set_open(struct dispatcher *d, struct fleet_site *s, bool open)
{
    open &= s->place->target->describe != NULL;
    d->open += open;
    d->open -= s->open;
    s->open = open;
}

void site_say_by_hand(struct dispatcher *d, struct fleet_site *s)
{
    SCOPED(buf_release) struct buf hand = {0};
    if (s->open && s->place->target->by_hand) {
        s->place->target->by_hand(&d->fleet, s->place, NULL, &hand);
        say(d, "the machine of %s may still be running and cost money; to end it: %s",
            s->place->name, buf_str(&hand));
    }
}

void site_set_active(struct dispatcher *d, struct fleet_site *s)
{
    bool active = s->at_work || (s->here.first && s->fails == 0 && !s->gone);
    d->active += active;
    d->active -= s->active;
    s->active = active;
}

static int cancel_waiting(struct dispatcher *d, struct line *line, enum task_state state,
                          const char *problem, struct err *err)
{
    while (line->first)
        TRY(site_finish(d, line_take(line), state, problem, err));
    return 0;
}

// A task that nothing more can be learned of. Where a person can end it, its problem says how.
static int abandon(struct dispatcher *d, struct fleet_site *s, struct item *item, const char *why,
                   struct err *err)
{
    SCOPED(buf_release) struct buf hand = {0};
    if (s->place->target->by_hand)
        s->place->target->by_hand(&d->fleet, s->place, item->task, &hand);
    item->task->now.unsettled = some_bool(true);
    int rc = site_finish(
        d, item, TASK_FAILED,
        short_text("%s; it may still run there%s%s", why, hand.len > 0 ? ": " : "", buf_str(&hand))
            .s,
        err);
    TRY(rc);
    say_end(d, s, item->task);
    return 0;
}

// The place cannot be used any more: what is there may still run.
static int give_up(struct dispatcher *d, struct fleet_site *s, struct err *err)
{
    struct short_text why = short_text("%s: %s", s->place->name, s->problem);
    s->gone = true;
    d->usable--;
    say(d, "%s is left out: %s", s->place->name, s->problem);
    site_say_by_hand(d, s);
    site_set_open(d, s, false);
    while (s->here.first) {
        struct item *item = line_take(&s->here);
        struct task *task = item->task;
        if (item->wish == WISH_CLEAN) { // its records are safe
            d->left--;
            say(d, "%s: the folder of %s may be left there", s->place->name, task->name);
            continue;
        }
        TRY(abandon(d, s, item, why.s, err));
    }
    s->begun = 0;
    TRY(cancel_waiting(d, &s->waiting, TASK_FAILED, why.s, err));
    if (d->usable == 0)
        TRY(cancel_waiting(d, &d->waiting, TASK_FAILED, short_text("no place is left: %s", why.s).s,
                           err));
    return 0;
}

static int64_t patience_ns(const struct dispatcher *d)
{
    const struct maybe_int given = d->fleet.dispatch->patience_ns;
    return given.known ? given.v : DISPATCH_PATIENCE_NS;
}

int site_failed(struct dispatcher *d, struct fleet_site *s, int code, const struct err *why,
                struct err *err)
{
    bool later = code == ERR_TIMEOUT || code == ERR_IO || code == ERR_MISSING;
    int64_t patience = patience_ns(d);
    if (!s->met)
        patience /= 10;
    bool same = strncmp(s->problem, why->text, sizeof s->problem - 1) == 0;
    snprintf(s->problem, sizeof s->problem, "%s", why->text);
    s->ready = false;
    if (s->fails++ == 0)
        s->failing_ns = d->now_ns;
    if (!later || d->now_ns - s->failing_ns >= patience)
        return give_up(d, s, err);
    int64_t pause = (int64_t)fmin(PAUSE_MOST, ldexp(1, s->fails < 7 ? s->fails - 1 : 6));
    if (!same)
        say(d, "%s: %s; trying again", s->place->name, s->problem);
    s->due_ns = d->now_ns + pause * NS_PER_S;
    return 0;
}

static void place_answered(struct dispatcher *d, struct fleet_site *s)
{
    if (s->fails > 0)
        say(d, "%s answers again", s->place->name);
    s->met = true;
    s->fails = 0;
    s->problem[0] = '\0';
}

// ---- answers

// It was ended from outside. What may be left of it goes first, then it starts anew.
static int lost(struct dispatcher *d, struct fleet_site *s, struct item *item,
                const struct task_report *report, struct err *err)
{
    bool often = item->task->now.attempts.v >= LOSSES_MOST;
    item->wish = WISH_CANCEL;
    item->after = often ? TASK_FAILED : TASK_WAITING;
    item->due_ns = item->asked_ns = 0;
    say(d, "%s on %s: lost%s", item->task->name, s->place->name,
        often ? " too often" : "; it starts again");
    if (!often)
        return 0;
    struct buf text = {0};
    buf_printf(&text, "ended from outside %d times", LOSSES_MOST);
    if (report->words.len > 0)
        buf_printf(&text, ", its last words: %.*s",
                   (int)(report->words.len < 300 ? report->words.len : 300),
                   buf_str(&report->words) +
                       (report->words.len < 300 ? 0 : report->words.len - 300));
    return text_take(&item->task->now.problem, &text, err);
}

static int ended(struct dispatcher *d, struct fleet_site *s, struct item *item,
                 const struct task_report *report, struct err *err)
{
    bool again = false;
    TRY(collect_end(d->fleet.dispatch, item->task, s->place, report, d->ledger, &again, err));
    if (again && item->task->now.attempts.v < 100) { // --save: it goes on from its checkpoint
        TRY(task_set_state(item->task, TASK_RUNNING, err));
        item->wish = WISH_CANCEL;
        item->after = TASK_WAITING;
        item->asked_ns = 0;
        say(d, "%s on %s: interrupted and saved; it starts again", item->task->name,
            s->place->name);
        return 0;
    }
    TRY(site_note(d, item->task, err)); // on the disk before its folder is removed
    s->begun--;
    item->wish = WISH_CLEAN;
    item->due_ns = 0;
    say_end(d, s, item->task);
    if (report->warning.len > 0)
        say(d, "%s on %s: %.300s", item->task->name, s->place->name, buf_str(&report->warning));
    return 0;
}

static int is_running(struct dispatcher *d, struct fleet_site *s, struct item *item,
                      const struct task_report *report, bool soon, struct err *err)
{
    struct task *task = item->task;
    if (report->handle[0])
        TRY(text_set(&task->now.handle, report->handle, err));
    if (task_state(task) == TASK_STARTING) {
        TRY(task_set_state(task, TASK_RUNNING, err));
        TRY(site_note(d, task, err));
        say(d, "%s on %s: %s", task->name, s->place->name,
            report->state == REPORT_QUEUED ? "queued" : "running");
    }
    if (report->run_s >= 0) {
        task->now.run_s = some_real(report->run_s);
        item->since_ns = d->now_ns - (int64_t)(report->run_s * 1e9);
    }
    item->wish = WISH_LOOK;
    // One that waits and yet came back at once would make a busy loop.
    bool again = s->place->target->look_waits && (s->verb == VERB_START || soon);
    item->due_ns = again ? 0 : d->now_ns + LOOK_NS;
    return 0;
}

static void say_left(struct dispatcher *d, const struct fleet_site *s,
                     const struct task_report *report)
{
    if (report->words.len > 0)
        say(d, "%s: a folder is left there: %s", s->place->name, buf_str(&report->words));
}

// After CANCEL: nothing of it runs there; or it still does, and is ended again as long as the place
// would be waited for.
static int cancelled(struct dispatcher *d, struct fleet_site *s, struct item *item,
                     const struct task_report *report, struct err *err)
{
    if (report->state != REPORT_ABSENT) {
        if (item->asked_ns == 0)
            item->asked_ns = d->now_ns;
        item->due_ns = d->now_ns + LOOK_NS;
        if (d->now_ns - item->asked_ns < patience_ns(d))
            return 0;
        line_remove(&s->here, item);
        s->begun--;
        return abandon(d, s, item, short_text("%s: cannot be ended", s->place->name).s, err);
    }
    say_left(d, s, report);
    line_remove(&s->here, item);
    s->begun--;
    item->task->now.unsettled = (struct maybe_bool){0};
    if (item->after == TASK_WAITING)
        return wait_again(d, s, item, err);
    item->task->now.cleaned = some_bool(true);
    struct short_text problem =
        short_text("%s", item->task->now.problem ? item->task->now.problem : "");
    TRY(site_finish(d, item, item->after, problem.s, err));
    say_end(d, s, item->task);
    return 0;
}

static int cleaned(struct dispatcher *d, struct fleet_site *s, struct item *item,
                   const struct task_report *report, struct err *err)
{
    say_left(d, s, report);
    line_remove(&s->here, item);
    item->task->now.cleaned = some_bool(!s->open);
    d->left--;
    return site_note(d, item->task, err);
}

// Its machine is gone, and with it what was left of its tasks.
static int closed(struct dispatcher *d, struct fleet_site *s, struct err *err)
{
    site_set_open(d, s, false);
    for (size_t i = 0; i < d->fleet.dispatch->tasks.count; i++) {
        struct task *task = &d->fleet.dispatch->tasks.items[i];
        if (!task_over(task) || !task->now.place || strcmp(task->now.place, s->place->name) != 0)
            continue;
        task->now.cleaned = some_bool(true);
        TRY(site_note(d, task, err));
    }
    return 0;
}

static int answered(struct dispatcher *d, struct fleet_site *s, struct item *item, int rc,
                    const struct task_report *report, bool soon, struct err *err)
{
    if (rc != 0) {
        // Refused, by its own word: it was not started, so another place may have it.
        if (s->verb != VERB_START || report->state != REPORT_ABSENT)
            return 0;
        line_remove(&s->here, item);
        s->begun--;
        item->task->now.attempts.v--;
        if (s->begun == 0)
            site_set_open(d, s, false);
        return wait_again(d, s, item, err);
    }
    if (s->verb == VERB_CLEAN)
        return cleaned(d, s, item, report, err);
    if (s->verb == VERB_CANCEL)
        return cancelled(d, s, item, report, err);
    switch (report->state) {
    case REPORT_QUEUED:
    case REPORT_RUNNING:
        return is_running(d, s, item, report, soon, err);
    case REPORT_ENDED:
        return ended(d, s, item, report, err);
    case REPORT_ABSENT:
    case REPORT_LOST:
        return lost(d, s, item, report, err);
    case REPORT_UNKNOWN:
        break;
    }
    item->due_ns = d->now_ns + LOOK_NS;
    return 0;
}

static int place_ready(struct dispatcher *d, struct fleet_site *s, struct err *err)
{
    if (s->place->target->no_bundle)
        s->place->needs_bundle = false;
    if (s->verb == VERB_BRING && s->place->needs_bundle) {
        struct err why = {0};
        err_set(&why, ERR_FAIL, "the bundle was copied and is not there");
        return site_failed(d, s, ERR_FAIL, &why, err);
    }
    if (s->verb == VERB_CHECK && s->place->needs_bundle)
        say(d, "%s: copying fare %s (%.1f MB)", s->place->name, d->fleet.dispatch->bundle.version,
            (double)d->fleet.dispatch->bundle.bytes.v / 1e6);
    s->ready = !s->place->needs_bundle;
    return 0;
}

int site_answered(struct dispatcher *d, struct fleet_site *s, const struct call_result *result,
                  struct err *err)
{
    struct err why = {0};
    size_t count = s->chosen.count;
    SCOPED(free_pointer) struct task_report *reports = calloc(count + 1, sizeof *reports);
    if (!reports)
        return err_memory(err);
    for (size_t i = 0; i < count; i++)
        reports[i].run_s = reports[i].queue_s = -1;
    int rc =
        s->place->target->read(&d->fleet, s->place, s->verb, &s->chosen, result, reports, &why);
    s->at_work = false;
    int code = rc, own = 0;
    bool prepares = s->verb == VERB_CHECK || s->verb == VERB_BRING;
    if (s->verb == VERB_START)
        s->unstarted = code != 0;
    if (code == 0 && !(prepares && s->unstarted))
        place_answered(d, s);
    if (code == 0 && prepares)
        own = place_ready(d, s, err);
    if (code == 0 && s->verb == VERB_CLOSE)
        own = closed(d, s, err);
    bool soon = result->wall_ns > FLEET_LOOK_S * NS_PER_S / 4;
    for (size_t i = 0; i < count; i++) {
        if (own == 0)
            own = answered(d, s, s->items[i], code, &reports[i], soon, err);
        task_report_release(&reports[i]);
    }
    if (own == 0 && code != 0)
        own = site_failed(d, s, code, &why, err);
    site_set_active(d, s);
    return own;
}
