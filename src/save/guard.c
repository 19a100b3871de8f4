// SPDX-License-Identifier: Apache-2.0
#include "save/guard.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/proc.h"
#include "save/find.h"
#include "save/keep.h"
#include "save/lease.h"
#include "save/saver.h"
#include "save/store.h"
#include "record/read.h"

#define NAME "history/%010lld"

static int history_write(struct store *store, const struct run_attempt *a, int64_t deadline_ns,
                         struct err *err)
{
    char name[STORE_NAME_BYTES];
    SCOPED(buf_release) struct buf text = {0};
    snprintf(name, sizeof name, NAME, (long long)a->epoch.v);
    TRY(record_to_line(run_attempt_fields, a, &text, err));
    return store_put(store, name, buf_str(&text), text.len, deadline_ns, err);
}

// Work lost by a start with the figures it has.
static void history_lost(struct run_attempt *a)
{
    bool finished = a->ended && strcmp(a->ended, "finished") == 0;
    if (!a->wall_s.known)
        return;
    double lost_s = a->wall_s.v - (a->saved_s.known ? a->saved_s.v : 0);
    a->lost_s = some_real(finished || lost_s < 0 ? 0 : lost_s);
}

static int read_one(struct store *store, const char *name, const char *job,
                    struct run_saving *saving, int64_t deadline_ns, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    struct run_attempt one = {0};
    int rc = store_get(store, name, BOUND_ATTEMPT, &text, deadline_ns, err);
    if (rc == 0)
        rc = record_from_text(run_attempt_fields, buf_str(&text), text.len, &one, err);
    bool ours = rc == 0 && one.epoch.known && one.job && strcmp(one.job, job) == 0;
    if (ours && (!one.ended || strcmp(one.ended, "running") == 0)) {
        rc = text_set(&one.ended, "killed", err);
        one.taken = some_bool(true);
        history_lost(&one);
    }
    struct run_attempt *row = ours && rc == 0 ? LIST_ADD(&saving->attempts, err) : NULL;
    if (ours && rc == 0 && !row)
        rc = ERR_MEMORY;
    if (row)
        *row = one;
    else
        record_release(run_attempt_fields, &one);
    return rc == ERR_MISSING || rc == ERR_FORMAT ? 0 : rc; // that one is left out
}

// Appends the starts before `epoch` to saving->attempts, the oldest first; those of other jobs and
// unreadable ones are left out. One that still says "running" was killed: its last word counts.
static int history_read(struct store *store, const char *job, int64_t epoch,
                        struct run_saving *saving, int64_t deadline_ns, struct err *err)
{
    SCOPED(store_list_release) struct store_list list = {0};
    char mine[STORE_NAME_BYTES];
    snprintf(mine, sizeof mine, NAME, (long long)epoch);
    saving->attempts.known = true;
    int rc = store_list(store, "history/", &list, deadline_ns, err);
    for (size_t i = 0; rc == 0 && i < list.count; i++)
        if (strcmp(list.items[i].name, mine) < 0) {
            struct err why = {0};
            rc = read_one(store, list.items[i].name, job, saving, deadline_ns, &why);
            if (rc != 0 && err)
                *err = why;
        }
    return rc;
}

static bool add_money(struct maybe_money one, int64_t *sum)
{
    *sum += one.nano;
    return one.known;
}

int history_total(struct run_saving *s, struct err *err)
{
    int64_t usd = 0, on_demand = 0;
    const char *seen = NULL; // the oldest price
    int64_t paid = 0, rented = 0, count = (int64_t)s->attempts.count;
    s->interruptions = some_int(0);
    s->wall_s = s->lost_s = some_real(0);
    for (size_t i = 0; i < s->attempts.count; i++) {
        const struct run_attempt *a = &s->attempts.items[i];
        bool ended =
            a->ended && (strcmp(a->ended, "finished") == 0 || strcmp(a->ended, "running") == 0);
        s->interruptions.v += !ended;
        s->wall_s.v += a->wall_s.v;
        s->lost_s.v += a->lost_s.v;
        bool known = add_money(a->usd, &usd);
        paid += known;
        rented += known && add_money(a->on_demand_usd, &on_demand);
        if (a->on_demand_seen && (!seen || strcmp(a->on_demand_seen, seen) < 0))
            seen = a->on_demand_seen;
    }
    if (paid > 0)
        s->usd = some_money(usd);
    if (paid > 0 && paid < count)
        s->unpriced = some_int(count - paid);
    if (rented == 0 || rented != paid)
        return 0;
    s->on_demand_usd = some_money(on_demand);
    return text_set(&s->on_demand_seen, seen, err);
}

// ---- The guard

#define CHECK_NS   (30 * NS_PER_S) // to try the store
#define QUIET_NS   (2 * NS_PER_S)
#define FINAL_NS   (600 * NS_PER_S) // for the last checkpoint, where no notice hurries
#define RESERVE_NS (2 * NS_PER_S)   // for saving, where nothing was measured yet
#define WRITE_NS   (20 * NS_PER_S)  // for a job that writes a checkpoint when it is ended
#define LAST_NS    (500 * NS_PER_MS)
#define END_NS     (20 * NS_PER_S)   // for the history and the lease
#define COST_NS    (20 * NS_PER_S)   // between two updates of the cost
#define RESIDENT   ((size_t)6 << 20) // bytes: more than that is too much while nothing happens

struct guard {
    struct guard_options o;
    struct store *store;
    struct lease *lease;
    struct keep *keep;
    struct finder *finder;
    struct saver *saver;
    struct notices *notices;
    char *resume;
    struct keep_entry entry;
    bool done;
    struct run_saving before; // earlier starts
    pthread_mutex_t lock;     // of `attempt`, which the saver's thread writes to the store
    struct run_attempt attempt;

    int64_t start_ns;
    struct notice notice; // in force and passed on
    int64_t told_ns;      // 0: no notice is in force
    bool risk_told, end_told, kill;
    struct guard_look last;
    int64_t asked_ns; // when the job was last asked for a checkpoint
    int64_t cost_ns;
    struct buf says;
};

// ---- before the job

static bool keep_progress(void *context, const char *doing, int64_t done_bytes, int64_t total_bytes)
{
    struct guard *g = context;
    (void)done_bytes, (void)total_bytes;
    if (g->saver)
        return !saver_stopped(g->saver) && lease_check(g->lease, NULL) == 0;
    return !g->o.waiting || g->o.waiting(g->o.context, doing);
}

static bool lease_waiting(void *context, const struct lease_holder *holder, int64_t left_ms)
{
    struct guard *g = context;
    char words[400];
    if (!g->o.waiting)
        return true;
    snprintf(words, sizeof words,
             "waiting until the machine that runs it ends or dies%s%s (%.0f s)",
             holder->host[0] ? ": " : "", holder->host, (double)left_ms / 1e3);
    return g->o.waiting(g->o.context, words);
}

static void trim(const struct guard *g)
{
    if (g->o.watches)
        resident_trim();
}

// TLS brings back pages of its libraries at each beat: before it, there must be room for them.
static void trim_around_beat(void *context)
{
    const struct guard *g = context;
    if (g->o.watches)
        resident_trim_above(RESIDENT);
}

static int acquire(struct guard *g, struct buf *says, struct err *err)
{
    int64_t hold_ms = g->o.lease_ns / NS_PER_MS;
    const struct lease_options o = {.job = g->o.job,
                                    .beat_ms = hold_ms / 3,
                                    .hold_ms = hold_ms,
                                    .patience_ms = 2 * hold_ms,
                                    .waiting = lease_waiting,
                                    .around_beat = trim_around_beat,
                                    .context = g,
                                    .no_wait = g->o.no_wait};
    TRY(lease_acquire(&g->lease, g->store, &o, 0, err));
    const struct lease_holder *before = lease_before(g->lease);
    bool ours = before->epoch > 0 && strcmp(before->job, g->o.job) == 0;
    g->done = ours && before->done;
    if (before->epoch > 0 && !ours)
        buf_printf(says, "%s was last used by another job, '%s': its checkpoints are left alone\n",
                   store_shown(g->store), before->job);
    return 0;
}

static int begin_attempt(struct guard *g, struct err *err)
{
    char now[CLOCK_ISO_BYTES];
    clock_iso(clock_date_s(), now);
    g->attempt.epoch = some_int(lease_epoch(g->lease));
    g->attempt.wall_s = some_real(0);
    if (g->resume && g->entry.step >= 0)
        g->attempt.from_step = some_int(g->entry.step);
    return TEXTS_SET(err, {&g->attempt.job, g->o.job}, {&g->attempt.run, g->o.run},
                     {&g->attempt.host, g->o.host}, {&g->attempt.started, now},
                     {&g->attempt.ended, "running"});
}

static int open_all(struct guard *g, struct buf *says, struct err *err)
{
    const struct guard_options *o = &g->o;
    TRY(notices_check(o->notices.wanted, err));
    TRY(store_open(&g->store, o->save, NULL, err));
    TRY(store_check(g->store, clock_now_ns() + CHECK_NS, err));
    TRY(acquire(g, says, err));
    TRY(history_read(g->store, o->job, lease_epoch(g->lease), &g->before,
                     clock_now_ns() + BOUND_HISTORY_NS, err));
    size_t starts = g->before.attempts.count;
    const struct keep_options keep = {.job = o->job,
                                      .last = o->keep,
                                      .lease = g->lease,
                                      .start_over = o->start_over,
                                      .expects = starts > 0 &&
                                                 g->before.attempts.items[starts - 1].saves.v > 0,
                                      .patience_ns = o->patience_ns,
                                      .progress = keep_progress,
                                      .context = g};
    TRY(keep_open(&g->keep, g->store, &keep, err));
    if (g->done)
        return 0;
    int rc = keep_fetch(g->keep, o->fetch, &g->entry, &g->resume, says, 0, err);
    if (rc < 0)
        return rc;
    TRY(begin_attempt(g, err));
    TRY(history_write(g->store, &g->attempt, 0, err));
    return notices_open(&g->notices, &o->notices, err);
}

int guard_open(struct guard **out, const struct guard_options *options, struct buf *says,
               struct err *err)
{
    struct guard *g = calloc(1, sizeof *g);
    *out = g;
    if (!g)
        return err_memory(err);
    g->o = *options;
    resident_keep_little();
    pthread_mutex_init(&g->lock, NULL);
    int rc = open_all(g, says, err);
    if (rc != 0) {
        if (g->lease)
            (void)!lease_give_up(g->lease, LEASE_RELEASED, clock_now_ns() + CHECK_NS, NULL);
        guard_free(g);
        *out = NULL;
    }
    return rc;
}

const char *guard_resume(const struct guard *g)
{
    return g->resume;
}

int64_t guard_resume_step(const struct guard *g)
{
    return g->resume ? g->entry.step : -1;
}

bool guard_done(const struct guard *g)
{
    return g->done;
}

size_t guard_starts(const struct guard *g)
{
    return g->before.attempts.count + 1;
}

// ---- the history

static void set_figures(struct guard *g, struct run_attempt *a)
{
    struct saver_state st;
    saver_state(g->saver, &st);
    a->wall_s = some_real((double)(clock_now_ns() - g->start_ns) / 1e9);
    a->saves = some_int(st.saves);
    a->sent_bytes = some_int(st.sent_bytes);
    if (st.whole_ns > 0)
        a->saved_s = some_real((double)(st.began_ns - g->start_ns) / 1e9);
    if (st.whole_ns > 0 && st.step >= 0)
        a->saved_step = some_int(st.step);
    history_lost(a);
}

// In the saver's thread: after a save, and once a minute.
static void note(void *context)
{
    struct guard *g = context;
    pthread_mutex_lock(&g->lock);
    set_figures(g, &g->attempt);
    struct run_attempt copy = {0};
    int rc = record_copy(run_attempt_fields, &g->attempt, &copy, NULL);
    pthread_mutex_unlock(&g->lock);
    if (rc == 0 && lease_check(g->lease, NULL) == 0)
        (void)!history_write(g->store, &copy, clock_now_ns() + END_NS, NULL);
    record_release(run_attempt_fields, &copy);
    store_rest(g->store);
    trim(g);
}

static void update_cost(struct guard *g)
{
    int64_t now_ns = clock_now_ns();
    if (!g->o.cost || now_ns < g->cost_ns)
        return;
    g->cost_ns = now_ns + COST_NS;
    pthread_mutex_lock(&g->lock);
    set_figures(g, &g->attempt);
    g->attempt.taken = some_bool(true); // as it would be if nothing more were heard of it
    (void)!g->o.cost(g->o.context, &g->attempt, NULL);
    pthread_mutex_unlock(&g->lock);
}

// ---- while it runs

int guard_start(struct guard *g, struct err *err)
{
    g->start_ns = g->asked_ns = clock_now_ns();
    TRY(finder_open(&g->finder, g->o.checkpoints, err));
    store_rest(g->store);
    trim(g);
    const struct saver_options o = {.keep = g->keep,
                                    .finder = g->finder,
                                    .every_ns = g->o.every_ns,
                                    .between_ns = g->o.between_ns,
                                    .quiet_ns = g->o.quiet_ns > 0 ? g->o.quiet_ns : QUIET_NS,
                                    .note = note,
                                    .context = g};
    return saver_start(&g->saver, &o, err);
}

// How long before the end of the machine the job must have been told to end.
static int64_t reserve(const struct saver_state *st, const struct notice *n)
{
    int64_t lead_ns = n->until_ns - n->seen_ns;
    int64_t save_ns = st->save_ns > 0 ? st->save_ns + st->save_ns / 2 + NS_PER_S : RESERVE_NS;
    int64_t write_ns = st->write_ns > 0 ? 2 * st->write_ns + 5 * NS_PER_S : WRITE_NS;
    int64_t all_ns = save_ns + write_ns;
    return all_ns < lead_ns / 2 ? all_ns : lead_ns / 2;
}

// The notice in force: a source's, or the budget's end.
static void find_notice(struct guard *g, const struct saver_state *st, struct notice *n)
{
    notices_look(g->notices, n);
    if (g->o.until_ns == 0)
        return;
    struct notice spent = {.kind = NOTICE_END,
                           .source = "max-spend",
                           .seen_ns = g->start_ns,
                           .until_ns = g->o.until_ns,
                           .told = true,
                           .words = "the budget is spent"};
    // Its lead is our own choice: what saving takes, but not most of the budget.
    int64_t lead_ns = reserve(st, &spent), most_ns = (g->o.until_ns - g->start_ns) / 4;
    spent.seen_ns = g->o.until_ns - (lead_ns < most_ns ? lead_ns : most_ns);
    if (clock_now_ns() >= spent.seen_ns && (n->kind != NOTICE_END || n->until_ns > g->o.until_ns))
        *n = spent;
}

static unsigned on_end(struct guard *g, const struct notice *n, const struct saver_state *st)
{
    unsigned wishes = 0;
    int64_t now_ns = clock_now_ns();
    if (g->told_ns == 0) {
        g->told_ns = now_ns;
        wishes |= GUARD_TELL;
    }
    if (g->told_ns == now_ns || n->until_ns != g->notice.until_ns)
        saver_hurry(g->saver, n->until_ns);
    g->notice = *n;
    bool safe = st->whole_ns > 0 && st->began_ns >= g->told_ns;
    bool late = now_ns >= n->until_ns - reserve(st, n);
    snprintf(g->last.why, sizeof g->last.why, "%s", n->words);
    g->last.by = strcmp(n->source, "max-spend") == 0 ? n->source : "notice";
    if ((safe || late) && !g->end_told) {
        g->end_told = true;
        wishes |= GUARD_END;
    }
    int64_t save_ns = st->save_ns > 0 ? st->save_ns : LAST_NS;
    if (g->end_told && now_ns >= n->until_ns - (save_ns < LAST_NS ? LAST_NS : save_ns))
        wishes |= GUARD_KILL; // what it has written until now can still be saved
    return wishes;
}

static unsigned on_notice(struct guard *g, const struct notice *n, const struct saver_state *st)
{
    if (n->kind == NOTICE_END)
        return on_end(g, n, st);
    unsigned wishes = 0;
    if (g->told_ns > 0 && !g->end_told) {
        g->told_ns = 0;
        saver_hurry(g->saver, 0);
        wishes |= GUARD_RECALL;
    }
    if (n->kind == NOTICE_RISK && !g->risk_told) {
        g->risk_told = true;
        buf_printf(&g->says, "%s: saving a checkpoint\n", n->words);
        wishes |= GUARD_SAVE;
    }
    return wishes;
}

unsigned guard_look(struct guard *g, struct guard_look *look)
{
    struct saver_state st;
    struct notice n;
    struct err err = {0};
    if (g->kill || lease_check(g->lease, &err) != 0) {
        if (!g->kill) {
            g->kill = true;
            g->last.by = "lease";
            snprintf(g->last.why, sizeof g->last.why, "%s", err.text);
        }
        *look = g->last;
        return GUARD_KILL;
    }
    saver_state(g->saver, &st);
    find_notice(g, &st, &n);
    unsigned wishes = on_notice(g, &n, &st);
    int64_t now_ns = clock_now_ns();
    int64_t since_ns = st.written_ns > g->asked_ns ? st.written_ns : g->asked_ns;
    if (g->told_ns == 0 && now_ns - since_ns >= st.every_ns)
        wishes |= GUARD_SAVE;
    if (wishes & GUARD_SAVE)
        g->asked_ns = now_ns;
    update_cost(g);
    *look = g->last;
    look->notice = g->notice;
    return wishes;
}

bool guard_signal(struct guard *g, int number)
{
    return notices_signal(g->notices, number);
}

void guard_told(struct guard *g, const char *path)
{
    saver_told(g->saver, path);
}

void guard_says(struct guard *g, struct buf *out)
{
    buf_adds(out, buf_str(&g->says));
    buf_reset(&g->says);
    saver_says(g->saver, out);
}

void guard_words(const struct guard *g, char *out, size_t size)
{
    notices_words(g->notices, out, size);
}

// ---- after it

static void say_what_is_safe(struct guard *g, const struct guard_end *end, struct buf *says)
{
    struct saver_state st;
    char age[24], step[40] = "";
    saver_state(g->saver, &st);
    if (st.whole_ns == 0 && g->resume) {
        buf_printf(says, "no new checkpoint was saved in this start: it can resume from the one it "
                         "began with\n");
        return;
    }
    if (st.whole_ns == 0) {
        buf_printf(says, "no checkpoint was saved: there was none in %s\n", g->o.checkpoints);
        return;
    }
    if (st.step >= 0)
        snprintf(step, sizeof step, " of step %lld", (long long)st.step);
    clock_words(clock_now_ns() - st.began_ns, age, sizeof age);
    if (end->done)
        buf_printf(says, "%lld checkpoint%s saved in %s\n", (long long)st.saves,
                   st.saves == 1 ? " was" : "s were", store_shown(g->store));
    else
        buf_printf(says, "the checkpoint%s, %s old, is safe in %s: the same command resumes it%s\n",
                   step, age, store_shown(g->store), end->taken ? " on another machine" : "");
    if (st.written_ns > st.whole_ns)
        buf_adds(says, "a newer checkpoint was complete but could not be saved in time\n");
}

static int fill_saving(struct guard *g, struct run_saving *out, struct err *err)
{
    struct saver_state st;
    char words[200];
    saver_state(g->saver, &st);
    notices_words(g->notices, words, sizeof words);
    out->every_s = some_real((double)st.every_ns / 1e9);
    out->between_s = some_real((double)g->o.between_ns / 1e9);
    if (st.write_ns > 0)
        out->cost_s = some_real((double)st.write_ns / 1e9);
    if (st.save_ns > 0)
        out->send_s = some_real((double)st.save_ns / 1e9);
    TRY(TEXTS_SET(err, {&out->place, store_shown(g->store)}, {&out->job, g->o.job},
                  {&out->notices, words}, {&out->between_from, g->o.between_from},
                  {&out->every_from, g->o.every_ns > 0 ? "given" : "Daly's formula"}));
    out->attempts = g->before.attempts;
    g->before.attempts.items = NULL;
    g->before.attempts.count = 0;
    struct run_attempt *row = LIST_ADD(&out->attempts, err);
    if (!row)
        return ERR_MEMORY;
    *row = g->attempt;
    g->attempt = (struct run_attempt){0};
    return history_total(out, err);
}

static int end_attempt(struct guard *g, const struct guard_end *end, struct err *err)
{
    struct run_attempt *a = &g->attempt;
    set_figures(g, a);
    a->taken = some_bool(end->taken);
    TRY(TEXTS_SET(err, {&a->ended, end->ended}, {&a->why, end->why}));
    history_lost(a);
    if (g->o.cost)
        TRY(g->o.cost(g->o.context, a, err));
    return 0;
}

static void give_up(struct guard *g, const struct guard_end *end, struct buf *says)
{
    struct err err = {0};
    int64_t until_ns = clock_now_ns() + END_NS;
    if (end->lost)
        return;
    if (history_write(g->store, &g->attempt, until_ns, &err) != 0)
        buf_printf(says, "the history of the job could not be written: %s\n", err.text);
    err = (struct err){0};
    if (lease_give_up(g->lease, end->done ? LEASE_DONE : LEASE_RELEASED, until_ns, &err) != 0)
        buf_printf(says, "the lease could not be given up: %s\n", err.text);
}

int guard_finish(struct guard *g, const struct guard_end *end, struct run_saving *saving,
                 struct buf *says, struct err *err)
{
    int64_t until_ns = clock_now_ns() + FINAL_NS;
    if (!g->saver) { // the job was never started
        (void)!lease_give_up(g->lease, LEASE_RELEASED, clock_now_ns() + END_NS, NULL);
        return 0;
    }
    if (g->told_ns > 0 && strcmp(g->notice.source, "max-spend") != 0)
        until_ns = g->notice.until_ns;
    if (end->lost)
        saver_stop(g->saver);
    else
        saver_finish(g->saver, end->clean, until_ns);
    int rc = end_attempt(g, end, err);
    guard_says(g, says);
    if (!end->lost)
        say_what_is_safe(g, end, says);
    give_up(g, end, says);
    return rc == 0 ? fill_saving(g, saving, err) : rc;
}

void guard_free(struct guard *g)
{
    if (!g)
        return;
    notices_close(g->notices);
    saver_free(g->saver);
    finder_free(g->finder);
    keep_free(g->keep);
    lease_free(g->lease);
    store_free(g->store);
    pthread_mutex_destroy(&g->lock);
    record_release(run_attempt_fields, &g->attempt);
    for (size_t i = 0; i < g->before.attempts.count; i++)
        record_release(run_attempt_fields, &g->before.attempts.items[i]);
    free(g->before.attempts.items);
    buf_release(&g->says);
    free(g->resume);
    free(g);
}
