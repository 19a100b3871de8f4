// SPDX-License-Identifier: Apache-2.0
#include "fleet/dispatch.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/site.h"

#define TICK_NS  (100 * NS_PER_MS)
#define ROUND_NS (50 * NS_PER_MS) // between two rounds, unless the last one was longer ago
#define DRAW_NS  (500 * NS_PER_MS)

static const enum verb verb_of[] = {VERB_START, VERB_LOOK, VERB_CANCEL, VERB_CLEAN};

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
    stopped = number;
}

// ---- what is next

// Orders a verb at a place for the next round; `s->chosen` is set.
static void order(struct dispatcher *d, struct fleet_site *s, enum verb verb)
{
    s->verb = verb;
    s->at_work = true;
    site_set_active(d, s);
    s->next_ordered = NULL;
    *d->ordered_end = s;
    d->ordered_end = &s->next_ordered;
}

// Starts the program for the verb that was ordered.
static int begin_verb(struct dispatcher *d, struct fleet_site *s, struct err *err)
{
    SCOPED(call_release) struct call call = {0};
    struct call_result nothing = {.exited = true};
    struct err why = {0};
    int rc = s->place->target->prepare(&d->fleet, s->place, s->verb, &s->chosen, &call, &why);
    bool none = rc == 0 && !call.argv;
    if (rc == 0 && !none)
        rc = calls_start(d->calls, &call, s, &why);
    if (none)
        return site_answered(d, s, &nothing, err);
    if (rc == 0)
        return 0;
    s->at_work = false;
    if (rc == ERR_MEMORY) {
        *err = why;
        return rc;
    }
    // The client program cannot be started: a missing one stays missing.
    rc = site_failed(d, s, rc == ERR_MISSING ? ERR_FAIL : rc, &why, err);
    site_set_active(d, s);
    return rc;
}

// Begins all that was ordered. What was noted is on the disk before: no task starts unknown to the
// next dispatcher, and no folder is removed before its end is known. A disk is forced once for all.
static int round_begin(struct dispatcher *d, struct err *err)
{
    struct fleet_site *s = d->ordered, *next;
    d->ordered = NULL;
    d->ordered_end = &d->ordered;
    d->round_ns = d->now_ns;
    TRY(state_flush(d->state, err));
    for (; s; s = next) {
        next = s->next_ordered;
        TRY(begin_verb(d, s, err));
    }
    return 0;
}

// Chooses the tasks here with this wish that are due: the first, or all where a target takes many.
static bool choose_items(struct dispatcher *d, struct fleet_site *s, enum wish wish)
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
static struct item *next_waiting(struct dispatcher *d, struct fleet_site *s)
{
    if (s->waiting.first)
        return line_take(&s->waiting);
    return d->waiting.first ? line_take(&d->waiting) : NULL;
}

static int assign(struct dispatcher *d, struct fleet_site *s, struct err *err)
{
    struct item *item;
    while (s->begun < s->place->at_once && (item = next_waiting(d, s)) != NULL) {
        struct task *task = item->task;
        int64_t made_s = 0;
        line_add(&s->here, item);
        s->begun++;
        site_set_open(d, s, true);
        item->wish = WISH_START;
        item->due_ns = item->since_ns = 0;
        task->now.attempts = some_int(task->now.attempts.v + 1);
        task->now.cleaned = (struct maybe_bool){0};
        if (d->fleet.dispatch->made && clock_parse(d->fleet.dispatch->made, &made_s))
            task->now.queue_s = some_real(fmax(0, (double)(clock_date_s() - made_s)));
        TRY(TEXTS_SET(err, {&task->now.place, s->place->name}, {&task->now.problem, NULL}));
        TRY(task_set_state(task, TASK_STARTING, err));
        TRY(site_note(d, task, err));
    }
    return 0;
}

static bool has_work(const struct dispatcher *d, const struct fleet_site *s)
{
    return s->begun < s->place->at_once && (s->waiting.first || d->waiting.first);
}

// Orders what is next at this place, if something is.
static int advance(struct dispatcher *d, struct fleet_site *s, struct err *err)
{
    static const enum wish by_rank[] = {WISH_CANCEL, WISH_CLEAN, WISH_START, WISH_LOOK};
    if (s->at_work || s->gone || s->due_ns > d->now_ns)
        return 0;
    bool room = s->active || d->active < (size_t)d->fleet.dispatch->jobs.v;
    if (room && s->ready && has_work(d, s))
        TRY(assign(d, s, err));
    for (size_t i = 0; i < sizeof by_rank / sizeof *by_rank; i++)
        if (choose_items(d, s, by_rank[i])) {
            if (by_rank[i] == WISH_START && !s->ready)
                break; // check it first
            order(d, s, verb_of[by_rank[i]]);
            return 0;
        }
    bool wanted = has_work(d, s) || s->chosen.count > 0;
    s->chosen.count = 0;
    if (s->open && !wanted && !s->here.first)
        order(d, s, VERB_CLOSE);
    else if (room && wanted && !s->ready)
        order(d, s, s->place->needs_bundle ? VERB_BRING : VERB_CHECK);
    return 0;
}

// ---- the loop

static int cheaper(const void *a, const void *b)
{
    const struct fleet_site *x = a, *y = b;
    int64_t p = x->place->hour_nano, q = y->place->hour_nano;
    if ((p < 0) != (q < 0))
        return p < 0 ? 1 : -1; // unknown prices last
    return p != q ? (p > q) - (p < q) : (x->place > y->place) - (x->place < y->place);
}

static struct fleet_site *site_named(struct dispatcher *d, const char *name)
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
    struct fleet_site *s = site_named(d, task->now.place);
    bool unsettled = task_unsettled(task), dirty = task_left(task);
    bool begun = task_begun(task) || unsettled;
    if (!s || !(begun || dirty))
        return task_over(task)
                   ? (d->left--, 0)
                   : site_finish(d, item, TASK_FAILED, "its place is not in the plan", err);
    line_add(&s->here, item);
    s->begun += begun;
    site_set_open(d, s, true);
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
            TRY(site_finish(d, item, TASK_CANCELLED, NULL, err));
        } else if (!waits) {
            TRY(continue_task(d, item, err));
        } else if (!task->bound) {
            line_add(&d->waiting, item);
        } else {
            struct fleet_site *s = site_named(d, task->bound);
            if (s)
                line_add(&s->waiting, item);
            else
                TRY(site_finish(d, item, TASK_FAILED, "its place is not in the plan", err));
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
    d->ordered_end = &d->ordered;
    d->left = plan->tasks.count;
    d->site_count = d->usable = places->count;
    for (size_t i = 0; i < places->count; i++) {
        struct fleet_site *s = &d->sites[i];
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
    TRY(round_begin(d, err));
    if (d->o->draw && d->now_ns - d->drawn_ns >= DRAW_NS) {
        d->drawn_ns = d->now_ns;
        d->o->draw(d->o->arg, d);
    }
    return 0;
}

static bool goes_on(const struct dispatcher *d)
{
    return (d->left > 0 || d->open > 0) && !stopped;
}

// Answers, and what follows from them, until the next tick.
static int answers(struct dispatcher *d, int64_t until, struct err *err)
{
    while (goes_on(d) && d->now_ns < until) {
        struct call_result result = {0};
        void *site = NULL;
        int64_t round_ns = d->round_ns + ROUND_NS;
        int64_t wake_ns = d->ordered && round_ns < until ? round_ns : until;
        int64_t wait_ns = wake_ns > d->now_ns ? wake_ns - d->now_ns : 0;
        int got = calls_wait(d->calls, wait_ns, &result, &site, err);
        d->now_ns = clock_now_ns();
        if (got < 0)
            return got;
        int rc = 0;
        if (got > 0) {
            rc = site_answered(d, site, &result, err);
            call_result_release(&result);
            if (rc == 0)
                rc = advance(d, site, err);
        }
        if (rc == 0 && d->ordered && d->now_ns >= round_ns)
            rc = round_begin(d, err);
        TRY(rc);
    }
    return 0;
}

static int loop(struct dispatcher *d, struct err *err)
{
    int rc = 0;
    while (rc == 0 && goes_on(d)) {
        d->now_ns = clock_now_ns();
        rc = tick(d, err);
        if (rc == 0)
            rc = answers(d, d->now_ns + TICK_NS, err);
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
        site_say_by_hand(&d, &d.sites[i]);
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

static const char *doing(const struct fleet_site *s)
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
    const struct fleet_site *s = &d->sites[i];
    const struct item *first = s->here.first;
    *view = (struct site_view){.place = s->place,
                               .task = first ? first->task : NULL,
                               .here = s->begun,
                               .since_ns = first ? first->since_ns : 0,
                               .doing = doing(s),
                               .problem = s->problem[0] ? s->problem : NULL};
}
