// SPDX-License-Identifier: Apache-2.0
#include "fleet/dispatch.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/index.h"
#include "base/words.h"
#include "fleet/collect.h"

enum { LOSSES_MOST = 4 };
#define TICK_NS    (100 * NS_PER_MS)
#define DRAW_NS    (500 * NS_PER_MS)
#define LOOK_NS    (3 * NS_PER_S) // between two looks that do not wait by themselves
#define PAUSE_MOST 60             // s

// What is to be done about a task at its place.
enum wish { WISH_START, WISH_LOOK, WISH_CANCEL, WISH_CLEAN };
static const enum verb verb_of[] = {VERB_START, VERB_LOOK, VERB_CANCEL, VERB_CLEAN};

struct item { // a task
    struct task *task;
    struct item *next;
    enum wish wish;
    enum task_state after; // CANCEL: what it becomes then
    int64_t due_ns, since_ns;
    int64_t asked_ns; // CANCEL: first asked for; 0: not yet
};

struct line { // a queue of items
    struct item *first, *last;
};

struct site { // a place
    struct place *place;
    struct line waiting, here; // its bound tasks; those that are at the place
    size_t begun;
    bool ready; // checked, and the bundle is there
    bool gone;
    bool open; // something may be rented there
    bool at_work, active;
    bool met; // it has answered before
    enum verb verb;
    struct chosen chosen;
    struct item **items; // of `chosen`
    int fails;
    int64_t due_ns, failing_ns;
    char problem[300];
};

struct dispatcher {
    struct state *state;
    struct fleet fleet;
    struct ledger *ledger;
    const struct dispatch_options *o;
    struct calls *calls;
    struct item *items;
    struct site *sites;
    size_t site_count, usable, active, left; // left: tasks that are not over, or not cleaned
    size_t open;                             // places where something may be rented
    struct line waiting;                     // tasks for any place
    struct index names;                      // of the sites, by number
    int64_t now_ns, drawn_ns;
};

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
    stopped = number;
}

// ---- queues

static void line_add(struct line *line, struct item *item)
{
    item->next = NULL;
    if (line->last)
        line->last->next = item;
    else
        line->first = item;
    line->last = item;
}

static struct item *line_take(struct line *line)
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
    struct buf text = {0};
    va_list args;
    if (!d->o->says)
        return;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    d->o->says(d->o->arg, buf_str(&text));
    buf_release(&text);
}

static void say_end(struct dispatcher *d, const struct site *s, const struct task *task)
{
    char time[32] = "";
    if (task->now.run_s.known)
        clock_words((int64_t)(task->now.run_s.v * 1e9), time, sizeof time);
    say(d, "%s on %s: %s%s%s%s%s", task->name, s->place->name, task->now.state,
        *time ? " after " : "", time, task->now.problem ? ": " : "",
        task->now.problem ? task->now.problem : "");
}

// ---- states

static int note(struct dispatcher *d, const struct task *task, struct err *err)
{
    return state_note(d->state, task, err);
}

// A task that no longer waits for anything here or anywhere.
static int finish(struct dispatcher *d, struct item *item, enum task_state state,
                  const char *problem, struct err *err)
{
    TRY(text_set(&item->task->now.problem, problem, err));
    TRY(task_set_state(item->task, state, err));
    d->left--;
    return note(d, item->task, err);
}

// Back into the queue that it came from.
static int wait_again(struct dispatcher *d, struct site *s, struct item *item, struct err *err)
{
    struct task *task = item->task;
    TRY(task_set_state(task, TASK_WAITING, err));
    if (!task->bound)
        TRY(text_set(&task->now.place, NULL, err));
    TRY(text_set(&task->now.handle, NULL, err));
    line_add(task->bound ? &s->waiting : &d->waiting, item);
    return note(d, task, err);
}

// A place of a target that rents has a machine from the first start on, until CLOSE.
static void set_open(struct dispatcher *d, struct site *s, bool open)
{
    open &= s->place->target->describe != NULL;
    d->open += open;
    d->open -= s->open;
    s->open = open;
}

static void say_by_hand(struct dispatcher *d, struct site *s)
{
    struct buf hand = {0};
    if (s->open && s->place->target->by_hand) {
        s->place->target->by_hand(&d->fleet, s->place, NULL, &hand);
        say(d, "the machine of %s may still be running and cost money; to end it: %s",
            s->place->name, buf_str(&hand));
    }
    buf_release(&hand);
}

static void set_active(struct dispatcher *d, struct site *s)
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
        TRY(finish(d, line_take(line), state, problem, err));
    return 0;
}

// A task that nothing more can be learned of. Where a person can end it, its problem says how.
static int abandon(struct dispatcher *d, struct site *s, struct item *item, const char *why,
                   struct err *err)
{
    struct buf hand = {0};
    if (s->place->target->by_hand)
        s->place->target->by_hand(&d->fleet, s->place, item->task, &hand);
    item->task->now.unsettled = some_bool(true);
    int rc = finish(
        d, item, TASK_FAILED,
        words("%s; it may still run there%s%s", why, hand.len > 0 ? ": " : "", buf_str(&hand)).s,
        err);
    buf_release(&hand);
    TRY(rc);
    say_end(d, s, item->task);
    return 0;
}

// The place cannot be used any more: what is there may still run.
static int give_up(struct dispatcher *d, struct site *s, struct err *err)
{
    struct words why = words("%s: %s", s->place->name, s->problem);
    s->gone = true;
    d->usable--;
    say(d, "%s is left out: %s", s->place->name, s->problem);
    say_by_hand(d, s);
    set_open(d, s, false);
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
        TRY(cancel_waiting(d, &d->waiting, TASK_FAILED, words("no place is left: %s", why.s).s,
                           err));
    return 0;
}

static int64_t patience_ns(const struct dispatcher *d)
{
    const struct maybe_int given = d->fleet.dispatch->patience_ns;
    return given.known ? given.v : DISPATCH_PATIENCE_NS;
}

static int place_failed(struct dispatcher *d, struct site *s, int code, const struct err *why,
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

static void place_answered(struct dispatcher *d, struct site *s)
{
    if (s->fails > 0)
        say(d, "%s answers again", s->place->name);
    s->met = true;
    s->fails = 0;
    s->problem[0] = '\0';
}

// ---- answers

// It was ended from outside. What may be left of it goes first, then it starts anew.
static int lost(struct dispatcher *d, struct site *s, struct item *item,
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

static int ended(struct dispatcher *d, struct site *s, struct item *item,
                 const struct task_report *report, struct err *err)
{
    bool again = false;
    TRY(collect_end(item->task, s->place, report, d->ledger, &again, err));
    if (again && item->task->now.attempts.v < 100) { // --save: it goes on from its checkpoint
        TRY(task_set_state(item->task, TASK_RUNNING, err));
        item->wish = WISH_CANCEL;
        item->after = TASK_WAITING;
        item->asked_ns = 0;
        say(d, "%s on %s: interrupted and saved; it starts again", item->task->name,
            s->place->name);
        return 0;
    }
    TRY(note(d, item->task, err));
    TRY(state_flush(d->state, err));
    s->begun--;
    item->wish = WISH_CLEAN;
    item->due_ns = 0;
    say_end(d, s, item->task);
    if (report->warning.len > 0)
        say(d, "%s on %s: %.300s", item->task->name, s->place->name, buf_str(&report->warning));
    return 0;
}

static int is_running(struct dispatcher *d, struct site *s, struct item *item,
                      const struct task_report *report, bool soon, struct err *err)
{
    struct task *task = item->task;
    if (report->handle[0])
        TRY(text_set(&task->now.handle, report->handle, err));
    if (task_state(task) == TASK_STARTING) {
        TRY(task_set_state(task, TASK_RUNNING, err));
        TRY(note(d, task, err));
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

static void say_left(struct dispatcher *d, const struct site *s, const struct task_report *report)
{
    if (report->words.len > 0)
        say(d, "%s: a folder is left there: %s", s->place->name, buf_str(&report->words));
}

// After CANCEL: nothing of it runs there; or it still does, and is ended again as long as the place
// would be waited for.
static int cancelled(struct dispatcher *d, struct site *s, struct item *item,
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
        return abandon(d, s, item, words("%s: cannot be ended", s->place->name).s, err);
    }
    say_left(d, s, report);
    line_remove(&s->here, item);
    s->begun--;
    item->task->now.unsettled = (struct maybe_bool){0};
    if (item->after == TASK_WAITING)
        return wait_again(d, s, item, err);
    item->task->now.cleaned = some_bool(true);
    struct words problem = words("%s", item->task->now.problem ? item->task->now.problem : "");
    TRY(finish(d, item, item->after, problem.s, err));
    say_end(d, s, item->task);
    return 0;
}

static int cleaned(struct dispatcher *d, struct site *s, struct item *item,
                   const struct task_report *report, struct err *err)
{
    say_left(d, s, report);
    line_remove(&s->here, item);
    item->task->now.cleaned = some_bool(!s->open);
    d->left--;
    return note(d, item->task, err);
}

// Its machine is gone, and with it what was left of its tasks.
static int closed(struct dispatcher *d, struct site *s, struct err *err)
{
    set_open(d, s, false);
    for (size_t i = 0; i < d->fleet.dispatch->tasks.count; i++) {
        struct task *task = &d->fleet.dispatch->tasks.items[i];
        if (!task_over(task) || !task->now.place || strcmp(task->now.place, s->place->name) != 0)
            continue;
        task->now.cleaned = some_bool(true);
        TRY(note(d, task, err));
    }
    return 0;
}

static int answered(struct dispatcher *d, struct site *s, struct item *item, int rc,
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
            set_open(d, s, false);
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

static int place_ready(struct dispatcher *d, struct site *s, struct err *err)
{
    if (s->place->target->no_bundle)
        s->place->needs_bundle = false;
    if (s->verb == VERB_BRING && s->place->needs_bundle) {
        struct err why = {0};
        err_set(&why, ERR_FAIL, "the bundle was copied and is not there");
        return place_failed(d, s, ERR_FAIL, &why, err);
    }
    if (s->verb == VERB_CHECK && s->place->needs_bundle)
        say(d, "%s: copying fare %s (%.1f MB)", s->place->name, d->fleet.dispatch->bundle.version,
            (double)d->fleet.dispatch->bundle.bytes.v / 1e6);
    s->ready = !s->place->needs_bundle;
    return 0;
}

static int call_ended(struct dispatcher *d, struct site *s, const struct call_result *result,
                      struct err *err)
{
    struct err why = {0};
    size_t count = s->chosen.count;
    struct task_report *reports = calloc(count + 1, sizeof *reports);
    if (!reports)
        return err_memory(err);
    for (size_t i = 0; i < count; i++)
        reports[i].run_s = reports[i].queue_s = -1;
    int rc =
        s->place->target->read(&d->fleet, s->place, s->verb, &s->chosen, result, reports, &why);
    s->at_work = false;
    int code = rc, own = 0;
    if (code == 0 && (s->verb != VERB_CHECK || s->begun == 0)) // what failed was a start
        place_answered(d, s);
    if (code == 0 && (s->verb == VERB_CHECK || s->verb == VERB_BRING))
        own = place_ready(d, s, err);
    if (code == 0 && s->verb == VERB_CLOSE)
        own = closed(d, s, err);
    bool soon = result->wall_ns > FLEET_LOOK_S * NS_PER_S / 4;
    for (size_t i = 0; i < count; i++) {
        if (own == 0)
            own = answered(d, s, s->items[i], code, &reports[i], soon, err);
        task_report_release(&reports[i]);
    }
    free(reports);
    if (own == 0 && code != 0)
        own = place_failed(d, s, code, &why, err);
    set_active(d, s);
    return own;
}

// ---- what is next

// Starts the program for a verb at a place; `s->chosen` is set.
static int begin(struct dispatcher *d, struct site *s, enum verb verb, struct err *err)
{
    struct call call = {0};
    struct call_result nothing = {.exited = true};
    struct err why = {0};
    s->verb = verb;
    int rc = s->place->target->prepare(&d->fleet, s->place, verb, &s->chosen, &call, &why);
    bool none = rc == 0 && !call.argv, lost_disk = false;
    if (rc == 0 && verb == VERB_START) {
        rc = state_flush(d->state, &why);
        lost_disk = rc != 0;
    }
    if (rc == 0 && !none)
        rc = calls_start(d->calls, &call, s, &why);
    call_release(&call);
    if (none)
        return call_ended(d, s, &nothing, err);
    s->at_work = rc == 0;
    set_active(d, s);
    if (rc == 0)
        return 0;
    if (rc == ERR_MEMORY || lost_disk) {
        *err = why;
        return rc;
    }
    // The client program cannot be started: a missing one stays missing.
    rc = place_failed(d, s, rc == ERR_MISSING ? ERR_FAIL : rc, &why, err);
    set_active(d, s);
    return rc;
}

// Chooses the tasks here with this wish that are due: the first, or all where a target takes many.
static bool choose(struct dispatcher *d, struct site *s, enum wish wish)
{
    s->chosen.count = 0;
    for (struct item *item = s->here.first; item; item = item->next) {
        if (item->wish != wish || item->due_ns > d->now_ns || s->chosen.count >= s->place->at_once)
            continue;
        s->items[s->chosen.count] = item;
        s->chosen.tasks[s->chosen.count++] = item->task;
    }
    return s->chosen.count > 0;
}

// The next task that waits for this place.
static struct item *next_waiting(struct dispatcher *d, struct site *s)
{
    if (s->waiting.first)
        return line_take(&s->waiting);
    return d->waiting.first ? line_take(&d->waiting) : NULL;
}

static int assign(struct dispatcher *d, struct site *s, struct err *err)
{
    struct item *item;
    while (s->begun < s->place->at_once && (item = next_waiting(d, s)) != NULL) {
        struct task *task = item->task;
        int64_t made_s = 0;
        line_add(&s->here, item);
        s->begun++;
        set_open(d, s, true);
        item->wish = WISH_START;
        item->due_ns = item->since_ns = 0;
        task->now.attempts = some_int(task->now.attempts.v + 1);
        task->now.cleaned = (struct maybe_bool){0};
        if (d->fleet.dispatch->made && clock_parse(d->fleet.dispatch->made, &made_s))
            task->now.queue_s = some_real(fmax(0, (double)(clock_date_s() - made_s)));
        TRY(TEXTS_SET(err, {&task->now.place, s->place->name}, {&task->now.problem, NULL}));
        TRY(task_set_state(task, TASK_STARTING, err));
        TRY(note(d, task, err));
    }
    return 0;
}

static bool has_work(const struct dispatcher *d, const struct site *s)
{
    return s->begun < s->place->at_once && (s->waiting.first || d->waiting.first);
}

static int advance(struct dispatcher *d, struct site *s, struct err *err)
{
    static const enum wish order[] = {WISH_CANCEL, WISH_CLEAN, WISH_START, WISH_LOOK};
    if (s->at_work || s->gone || s->due_ns > d->now_ns)
        return 0;
    bool room = s->active || d->active < (size_t)d->fleet.dispatch->jobs.v;
    if (room && s->ready && has_work(d, s))
        TRY(assign(d, s, err));
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (choose(d, s, order[i])) {
            if (order[i] != WISH_START || s->ready)
                return begin(d, s, verb_of[order[i]], err);
            break; // check it first
        }
    bool wanted = has_work(d, s) || s->chosen.count > 0;
    s->chosen.count = 0;
    if (s->open && !wanted && !s->here.first)
        return begin(d, s, VERB_CLOSE, err);
    if (!room || !wanted || s->ready)
        return 0;
    return begin(d, s, s->place->needs_bundle ? VERB_BRING : VERB_CHECK, err);
}

// ---- the loop

static int cheaper(const void *a, const void *b)
{
    const struct site *x = a, *y = b;
    int64_t p = x->place->hour_nano, q = y->place->hour_nano;
    if ((p < 0) != (q < 0))
        return p < 0 ? 1 : -1; // unknown prices last
    return p != q ? (p > q) - (p < q) : (x->place > y->place) - (x->place < y->place);
}

static struct site *site_named(struct dispatcher *d, const char *name)
{
    size_t number = d->site_count;
    if (!name || index_number(&d->names, name, strlen(name), &number, NULL) != 0)
        return NULL;
    return number < d->site_count ? &d->sites[number] : NULL;
}

// A task of the plan that was begun before, or whose folder is still there.
static int continue_task(struct dispatcher *d, struct item *item, struct err *err)
{
    struct task *task = item->task;
    struct site *s = site_named(d, task->now.place);
    bool unsettled = task->now.unsettled.known && task->now.unsettled.v;
    bool begun = task_begun(task) || unsettled;
    bool dirty = task_over(task) && !begun && task->now.attempts.v > 0 &&
                 !(task->now.cleaned.known && task->now.cleaned.v) &&
                 task_state(task) != TASK_CANCELLED;
    if (!s || !(begun || dirty))
        return task_over(task) ? (d->left--, 0)
                               : finish(d, item, TASK_FAILED, "its place is not in the plan", err);
    line_add(&s->here, item);
    s->begun += begun;
    set_open(d, s, true);
    item->wish = dirty                               ? WISH_CLEAN
                 : d->o->cancel                      ? WISH_CANCEL
                 : task_state(task) == TASK_STARTING ? WISH_START
                                                     : WISH_LOOK;
    item->after = TASK_CANCELLED;
    if (unsettled) {
        task->now.unsettled = (struct maybe_bool){0};
        TRY(text_set(&task->now.problem, NULL, err));
        // Its start may never have been carried out; asking again is right either way.
        item->wish = d->o->cancel ? WISH_CANCEL : WISH_START;
        return task_set_state(task, TASK_STARTING, err);
    }
    return 0;
}

static int place_tasks(struct dispatcher *d, struct err *err)
{
    const struct dispatch *plan = d->fleet.dispatch;
    for (size_t i = 0; i < plan->tasks.count; i++) {
        struct item *item = &d->items[i];
        struct task *task = item->task = &plan->tasks.items[i];
        bool waits = task_state(task) == TASK_WAITING;
        if (waits && d->o->cancel) {
            TRY(finish(d, item, TASK_CANCELLED, NULL, err));
        } else if (!waits) {
            TRY(continue_task(d, item, err));
        } else if (!task->bound) {
            line_add(&d->waiting, item);
        } else {
            struct site *s = site_named(d, task->bound);
            if (s)
                line_add(&s->waiting, item);
            else
                TRY(finish(d, item, TASK_FAILED, "its place is not in the plan", err));
        }
    }
    return 0;
}

static int open_dispatcher(struct dispatcher *d, struct places *places, struct err *err)
{
    const struct dispatch *plan = d->fleet.dispatch;
    d->items = calloc(plan->tasks.count + 1, sizeof *d->items);
    d->sites = calloc(places->count + 1, sizeof *d->sites);
    if (!d->items || !d->sites)
        return err_memory(err);
    d->left = plan->tasks.count;
    d->site_count = d->usable = places->count;
    for (size_t i = 0; i < places->count; i++) {
        struct site *s = &d->sites[i];
        s->place = &places->items[i];
        if (s->place->target->unlimited)
            s->place->at_once = plan->tasks.count;
        s->items = calloc(s->place->at_once, sizeof *s->items);
        s->chosen.tasks = calloc(s->place->at_once, sizeof *s->chosen.tasks);
        if (!s->items || !s->chosen.tasks)
            return err_memory(err);
    }
    qsort(d->sites, d->site_count, sizeof *d->sites, cheaper);
    for (size_t i = 0; i < d->site_count; i++) {
        const char *name = d->sites[i].place->name;
        size_t number;
        TRY(index_number(&d->names, name, strlen(name), &number, err));
        if (number != i)
            return err_set(err, ERR_USAGE, "%s is given twice", name);
    }
    TRY(place_tasks(d, err));
    return calls_new(&d->calls, err);
}

static void close_dispatcher(struct dispatcher *d)
{
    calls_free(d->calls);
    for (size_t i = 0; d->sites && i < d->site_count; i++) {
        free(d->sites[i].items);
        free(d->sites[i].chosen.tasks);
    }
    free(d->sites);
    free(d->items);
    index_release(&d->names);
}

static int tick(struct dispatcher *d, struct err *err)
{
    for (size_t i = 0; i < d->site_count; i++)
        TRY(advance(d, &d->sites[i], err));
    TRY(state_flush(d->state, err));
    if (d->o->draw && d->now_ns - d->drawn_ns >= DRAW_NS) {
        d->drawn_ns = d->now_ns;
        d->o->draw(d->o->arg, d);
    }
    return 0;
}

static int loop(struct dispatcher *d, struct err *err)
{
    int rc = 0;
    while (rc == 0 && (d->left > 0 || d->open > 0) && !stopped) {
        struct call_result result = {0};
        void *site = NULL;
        d->now_ns = clock_now_ns();
        rc = tick(d, err);
        int64_t until = d->now_ns + TICK_NS;
        while (rc == 0 && (d->left > 0 || d->open > 0) && !stopped && d->now_ns < until) {
            int got = calls_wait(d->calls, until - d->now_ns, &result, &site, err);
            d->now_ns = clock_now_ns();
            rc = got < 0 ? got : 0;
            if (got <= 0)
                continue;
            rc = call_ended(d, site, &result, err);
            call_result_release(&result);
            result = (struct call_result){0};
            if (rc == 0)
                rc = advance(d, site, err);
        }
    }
    struct err late = {0};
    int flushed = state_flush(d->state, rc == 0 ? err : &late);
    return rc != 0 ? rc : flushed;
}

int dispatch_run(struct state *state, struct places *places, struct ledger *ledger,
                 const struct dispatch_options *options, bool *interrupted, struct err *err)
{
    struct dispatcher d = {
        .state = state, .fleet = {&state->dispatch, state->folder}, .ledger = ledger, .o = options};
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now = {.sa_handler = on_stop}, before[3];
    stopped = 0;
    for (int i = 0; i < 3; i++) {
        sigaction(numbers[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(numbers[i], &now, NULL);
    }
    int rc = open_dispatcher(&d, places, err);
    if (rc == 0)
        rc = loop(&d, err);
    if (rc == 0 && options->draw)
        options->draw(options->arg, &d);
    for (size_t i = 0; d.sites && i < d.site_count; i++)
        say_by_hand(&d, &d.sites[i]);
    close_dispatcher(&d);
    for (int i = 0; i < 3; i++)
        sigaction(numbers[i], &before[i], NULL);
    *interrupted = stopped != 0 && (d.left > 0 || d.open > 0);
    return rc;
}

// ---- for drawing

size_t dispatcher_sites(const struct dispatcher *d)
{
    return d->site_count;
}

const struct dispatch *dispatcher_dispatch(const struct dispatcher *d)
{
    return d->fleet.dispatch;
}

static const char *doing(const struct site *s)
{
    static const char *const words[VERBS] = {"checking",          "copying fare", "starting",
                                             "running",           "cancelling",   "cleaning up",
                                             "ending the machine"};
    if (s->gone)
        return "left out";
    if (s->fails > 0)
        return "no answer";
    if (s->at_work)
        return words[s->verb];
    return s->here.first ? "running" : "idle";
}

void dispatcher_site(const struct dispatcher *d, size_t i, struct site_view *view)
{
    const struct site *s = &d->sites[i];
    const struct item *first = s->here.first;
    *view = (struct site_view){.place = s->place,
                               .task = first ? first->task : NULL,
                               .here = s->begun,
                               .since_ns = first ? first->since_ns : 0,
                               .doing = doing(s),
                               .problem = s->problem[0] ? s->problem : NULL};
}
