// SPDX-License-Identifier: Apache-2.0
#include "save/lease.h"

#include <ctype.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "record/field.h"

#define LEASE_FORMAT "fare.lease/1"

// The highest epoch as it is now.
struct lease_view {
    int64_t seen_ns;            // before it was asked for
    struct lease_holder holder; // epoch 0: none
    struct lease_beat beat;
};

#define EPOCH_DIGITS 10

static int lease_claim_write(const struct lease_holder *holder, struct buf *out, struct err *err)
{
    char *host = NULL, *job = NULL; // without control characters
    int rc = TEXTS_SET(err, {&host, holder->host}, {&job, holder->job});
    if (rc == 0)
        rc = store_json(json_pack("{s:s, s:I, s:s, s:s, s:s}", "format", LEASE_FORMAT, "epoch",
                                  (json_int_t)holder->epoch, "id", holder->id, "host",
                                  host ? host : "", "job", job ? job : ""),
                        out, err);
    free(host), free(job);
    return rc;
}

static int lease_beat_write(const struct lease_beat *beat, struct buf *out, struct err *err)
{
    return store_json(json_pack("{s:s, s:I, s:s}", "format", LEASE_FORMAT, "count",
                                (json_int_t)beat->count, "state",
                                beat->done    ? "done"
                                : beat->ended ? "released"
                                              : "held"),
                      out, err);
}

static json_t *load(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    const char *format = json_string_value(json_object_get(json, "format"));
    if (format && strcmp(format, LEASE_FORMAT) == 0)
        return json;
    json_decref(json);
    return NULL;
}

static void copy(json_t *json, const char *name, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(json, name));
    snprintf(out, size, "%s", text ? text : "");
    for (char *p = out; *p; p++) // for messages
        if ((unsigned char)*p < 32 || *p == 127)
            *p = '?';
}

bool lease_claim_read(const char *text, struct lease_holder *holder)
{
    json_t *json = load(text);
    bool ours = json != NULL;
    if (ours) {
        copy(json, "id", holder->id, sizeof holder->id);
        copy(json, "host", holder->host, sizeof holder->host);
        copy(json, "job", holder->job, sizeof holder->job);
    }
    json_decref(json);
    return ours;
}

bool lease_beat_read(const char *text, struct lease_beat *beat)
{
    json_t *json = load(text), *count = json_object_get(json, "count");
    const char *state = json_string_value(json_object_get(json, "state"));
    bool ours = json_is_integer(count) && json_integer_value(count) >= 0 && state;
    if (ours)
        *beat = (struct lease_beat){.count = json_integer_value(count),
                                    .ended = strcmp(state, "held") != 0,
                                    .done = strcmp(state, "done") == 0};
    json_decref(json);
    return ours;
}

void lease_name(int64_t epoch, const char *what, char out[STORE_NAME_BYTES])
{
    snprintf(out, STORE_NAME_BYTES, "lease/%0*lld/%s", EPOCH_DIGITS, (long long)epoch, what);
}

int64_t lease_name_read(const char *name, const char **what)
{
    int64_t epoch = 0;
    if (strncmp(name, "lease/", 6) != 0)
        return 0;
    name += 6;
    for (int i = 0; i < EPOCH_DIGITS; i++, name++) {
        if (!isdigit((unsigned char)*name))
            return 0;
        epoch = epoch * 10 + (*name - '0');
    }
    if (*name != '/')
        return 0;
    *what = name + 1;
    return epoch;
}

// ---- Looking at the epochs in the store, and claiming the next

// Goes on while the machine sleeps.
static int64_t lease_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

// Reads an object that may be gone, cut or someone else's: "" then.
static int read_text(struct store *store, const char *name, struct buf *text, int64_t deadline_ns,
                     struct err *err)
{
    struct err why = {0};
    buf_reset(text);
    int rc = store_get(store, name, BOUND_MARKER, text, deadline_ns, &why);
    if (rc == ERR_MISSING || rc == ERR_FORMAT) {
        buf_reset(text);
        return 0;
    }
    return rc == 0 ? 0 : err_pass(err, rc, &why);
}

// The claims and beats among objects of one epoch. Of several claims the lowest ID's is the
// holder's; only a holder beats.
static int read_epoch(struct store *store, const struct store_list *list, int64_t epoch,
                      struct lease_view *view, int64_t deadline_ns, struct err *err)
{
    struct buf text = {0};
    const char *what;
    bool claimed = false;
    int rc = 0;
    view->holder = (struct lease_holder){.epoch = epoch};
    view->beat = (struct lease_beat){.count = -1};
    for (size_t i = 0; rc == 0 && i < list->count; i++) {
        const char *name = list->items[i].name;
        struct lease_beat beat;
        if (lease_name_read(name, &what) != epoch)
            continue;
        bool is_claim = strncmp(what, "claim", 5) == 0, is_beat = strncmp(what, "beat.", 5) == 0;
        if ((!is_claim || claimed) && !is_beat)
            continue;
        rc = read_text(store, name, &text, deadline_ns, err);
        if (rc == 0 && is_claim)
            claimed = lease_claim_read(buf_str(&text), &view->holder);
        else if (rc == 0 && lease_beat_read(buf_str(&text), &beat) && beat.count > view->beat.count)
            view->beat = beat;
    }
    view->holder.ended = view->beat.ended;
    view->holder.done = view->beat.done;
    buf_release(&text);
    return rc;
}

static int64_t highest_of(const struct store_list *list)
{
    int64_t highest = 0;
    const char *what;
    for (size_t i = 0; i < list->count; i++) {
        int64_t epoch = lease_name_read(list->items[i].name, &what);
        highest = epoch > highest ? epoch : highest;
    }
    return highest;
}

static int lease_look(struct store *store, struct lease_view *view, int64_t deadline_ns,
                      struct err *err)
{
    struct store_list list = {0};
    *view = (struct lease_view){.seen_ns = lease_now_ns(), .beat = {.count = -1}};
    int rc = store_list(store, "lease/", &list, deadline_ns, err);
    int64_t epoch = highest_of(&list);
    if (rc == 0 && epoch > 0)
        rc = read_epoch(store, &list, epoch, view, deadline_ns, err);
    store_list_release(&list);
    return rc;
}

// Whether an epoch after `epoch` was claimed, and by whom.
static int lease_ousted(struct store *store, int64_t epoch, bool *ousted, struct lease_holder *by,
                        int64_t deadline_ns, struct err *err)
{
    struct store_list list = {0};
    struct lease_view view = {0};
    char under[STORE_NAME_BYTES];
    lease_name(epoch + 1, "", under); // epochs are claimed one after the other
    int rc = store_list(store, under, &list, deadline_ns, err);
    *ousted = rc == 0 && list.count > 0;
    if (*ousted)
        rc = read_epoch(store, &list, epoch + 1, &view, deadline_ns, err);
    *by = view.holder;
    store_list_release(&list);
    return rc;
}

// Without conditions: lease.h, "Claiming".
static int claim_in_time(struct store *store, const struct lease_view *view, int64_t window_ns,
                         struct lease_holder *self, const struct buf *text, bool *won,
                         int64_t deadline_ns, struct err *err)
{
    char name[STORE_NAME_BYTES], what[64], under[STORE_NAME_BYTES];
    const char *other;
    struct store_list list = {0};
    snprintf(what, sizeof what, "claim.%s", self->id);
    lease_name(self->epoch, what, name);
    lease_name(self->epoch, "", under);
    TRY(store_put(store, name, text->data, text->len, deadline_ns, err));
    if (lease_now_ns() - view->seen_ns > window_ns)
        return 0; // too late to count
    clock_sleep_ns(2 * window_ns);
    int rc = store_list(store, under, &list, deadline_ns, err);
    bool there = false, lowest = true;
    for (size_t i = 0; rc == 0 && i < list.count; i++) {
        if (lease_name_read(list.items[i].name, &other) != self->epoch ||
            strncmp(other, "claim", 5) != 0)
            continue;
        there |= strcmp(other, what) == 0;
        lowest &= strcmp(other, what) >= 0;
    }
    *won = there && lowest;
    store_list_release(&list);
    return rc;
}

// Claims the epoch after `view`'s for `self`, whose epoch it sets. `*won` false: another has it.
static int lease_claim(struct store *store, const struct lease_view *view, int64_t window_ns,
                       struct lease_holder *self, bool *won, int64_t deadline_ns, struct err *err)
{
    struct buf text = {0};
    char name[STORE_NAME_BYTES];
    bool exclusive = false;
    *won = false;
    self->epoch = view->holder.epoch + 1;
    lease_name(self->epoch, "claim", name);
    int rc = store_exclusive(store, &exclusive, deadline_ns, err);
    if (rc == 0)
        rc = lease_claim_write(self, &text, err);
    if (rc == 0 && exclusive)
        rc = store_create(store, name, text.data, text.len, won, deadline_ns, err);
    else if (rc == 0)
        rc = claim_in_time(store, view, window_ns, self, &text, won, deadline_ns, err);
    buf_release(&text);
    return rc;
}

// ---- The lease

#define BEAT_MS     10000
#define HOLD_MS     30000
#define PATIENCE_MS 60000
#define CALL_MS     100  // between calls of `waiting`
#define LOOK_MOST   2000 // ms between two looks at another's beat

struct lease {
    struct store *store;
    struct lease_holder self, before;
    int64_t beat_ns, hold_ns, patience_ns;
    void (*around_beat)(void *context);
    void *context;
    pthread_t thread;
    bool beating;         // the thread runs
    pthread_mutex_t lock; // of the rest
    pthread_cond_t changed;
    bool quit;
    int64_t count;
    int64_t valid_ns; // until then, by lease_now_ns()
    struct err lost;  // code 0: held
};

// ---- Life

static void lose(struct lease *lease, const char *why, const struct lease_holder *by)
{
    if (lease->lost.code)
        return;
    if (by)
        err_set(&lease->lost, ERR_FAIL, "%s%.200s (epoch %lld, ours was %lld)", why,
                by->host[0] ? by->host : "another machine", (long long)by->epoch,
                (long long)lease->self.epoch);
    else
        err_set(&lease->lost, ERR_FAIL, "%s", why);
}

// With the lock.
static int state_of(struct lease *lease)
{
    if (!lease->lost.code && lease_now_ns() >= lease->valid_ns)
        lose(lease,
             "the lease ran out: no beat reached the store in time, and another machine may take "
             "over",
             NULL);
    return lease->lost.code;
}

static int write_beat(struct lease *lease, const struct lease_beat *beat, int64_t deadline_ns,
                      struct err *err)
{
    char name[STORE_NAME_BYTES], what[64];
    struct buf text = {0};
    snprintf(what, sizeof what, "beat.%s", lease->self.id);
    lease_name(lease->self.epoch, what, name);
    int rc = lease_beat_write(beat, &text, err);
    if (rc == 0)
        rc = store_put(lease->store, name, text.data, text.len, deadline_ns, err);
    buf_release(&text);
    return rc;
}

// One beat. It counts from its start, and only if it was written while the lease was valid.
static void beat(struct lease *lease)
{
    struct err err = {0};
    struct lease_holder by;
    bool ousted = false;
    int64_t start_ns = lease_now_ns();
    pthread_mutex_lock(&lease->lock);
    struct lease_beat next = {.count = ++lease->count};
    int64_t deadline_ns = clock_now_ns() + (lease->valid_ns - start_ns);
    pthread_mutex_unlock(&lease->lock);
    int rc = write_beat(lease, &next, deadline_ns, &err);
    pthread_mutex_lock(&lease->lock);
    if (rc == 0 && state_of(lease) == 0)
        lease->valid_ns = start_ns + lease->hold_ns;
    pthread_mutex_unlock(&lease->lock);
    // Another one can have taken over only after a long silence, but looking is cheap.
    rc = lease_ousted(lease->store, lease->self.epoch, &ousted, &by, deadline_ns, &err);
    pthread_mutex_lock(&lease->lock);
    if (rc == 0 && ousted)
        lose(lease, "the job was taken over by ", &by);
    pthread_mutex_unlock(&lease->lock);
}

// Until `until_ns` of lease_now_ns(), or the end. With the lock.
static void sleep_until(struct lease *lease, int64_t until_ns)
{
    while (!lease->quit && !lease->lost.code) {
        int64_t left_ns = until_ns - lease_now_ns();
        if (left_ns <= 0)
            return;
        struct timespec at;
        clock_gettime(CLOCK_MONOTONIC, &at);
        at.tv_sec += (at.tv_nsec + left_ns) / NS_PER_S;
        at.tv_nsec = (at.tv_nsec + left_ns) % NS_PER_S;
        pthread_cond_timedwait(&lease->changed, &lease->lock, &at);
    }
}

static void *lease_thread(void *lease_)
{
    struct lease *lease = lease_;
    pthread_mutex_lock(&lease->lock);
    sleep_until(lease, lease->valid_ns - lease->hold_ns + lease->beat_ns); // the first is written
    while (!lease->quit && state_of(lease) == 0) {
        int64_t start_ns = lease_now_ns();
        pthread_mutex_unlock(&lease->lock);
        if (lease->around_beat)
            lease->around_beat(lease->context);
        beat(lease);
        if (lease->around_beat)
            lease->around_beat(lease->context);
        pthread_mutex_lock(&lease->lock);
        // After a failure it is not yet time for the next beat, but there may be none left.
        bool late = lease->valid_ns < start_ns + lease->hold_ns;
        int64_t wait_ns = late ? lease->beat_ns / 4 : lease->beat_ns;
        int64_t until_ns = start_ns + wait_ns;
        sleep_until(lease, until_ns < lease->valid_ns ? until_ns : lease->valid_ns);
    }
    pthread_mutex_unlock(&lease->lock);
    return NULL;
}

static int start_thread(struct lease *lease, struct err *err)
{
    int failed = pthread_create(&lease->thread, NULL, lease_thread, lease);
    if (failed)
        return err_errno(err, failed, "cannot start a thread");
    lease->beating = true;
    return 0;
}

static void stop_thread(struct lease *lease)
{
    pthread_mutex_lock(&lease->lock);
    lease->quit = true;
    pthread_cond_broadcast(&lease->changed);
    pthread_mutex_unlock(&lease->lock);
    if (lease->beating)
        pthread_join(lease->thread, NULL);
    lease->beating = false;
}

// ---- Waiting for the holder before

static int tell(const struct lease_options *o, const struct lease_holder *holder, int64_t left_ns,
                struct err *err)
{
    if (!o->waiting || o->waiting(o->context, holder, left_ns / NS_PER_MS))
        return 0;
    return err_set(err, ERR_FAIL, "stopped while waiting for the machine that runs this job");
}

static int is_live(const struct lease *lease, const struct lease_holder *holder, struct err *err)
{
    err_set(err, ERR_USAGE, "'%.100s' is running on %.200s already", holder->job,
            holder->host[0] ? holder->host : "another machine");
    return err_hint(err, "its checkpoints are in '%.150s': end it there, or save elsewhere",
                    store_shown(lease->store));
}

// Until the holder in `view` has ended or is taken for dead; `view` is what was seen last.
static int outwait(struct lease *lease, const struct lease_options *o, struct lease_view *view,
                   int64_t deadline_ns, struct err *err)
{
    int64_t look_ns = lease->beat_ns / 4, most_ns = LOOK_MOST * NS_PER_MS;
    look_ns = look_ns < most_ns ? look_ns : most_ns;
    int64_t still_since_ns = lease_now_ns(); // after the first look
    bool first = true;
    while (view->holder.epoch > 0 && !view->beat.ended) {
        struct lease_view next;
        int64_t left_ns = still_since_ns + lease->patience_ns - view->seen_ns;
        if (!first && left_ns <= 0)
            return 0;
        for (int64_t end_ns = lease_now_ns() + look_ns; lease_now_ns() < end_ns;) {
            TRY(tell(o, &view->holder, left_ns, err));
            int64_t rest_ns = end_ns - lease_now_ns();
            clock_sleep_ns(rest_ns < CALL_MS * NS_PER_MS ? rest_ns : CALL_MS * NS_PER_MS);
        }
        if (deadline_ns && clock_now_ns() >= deadline_ns)
            return err_set(err, ERR_TIMEOUT, "%.200s still holds the lease of '%.150s'",
                           view->holder.host, store_shown(lease->store));
        TRY(lease_look(lease->store, &next, deadline_ns, err));
        bool moved = next.holder.epoch != view->holder.epoch || next.beat.count != view->beat.count;
        if (moved && o->no_wait && next.beat.count > 0 && !next.beat.ended)
            return is_live(lease, &next.holder, err);
        if (moved)
            still_since_ns = lease_now_ns();
        *view = next;
        first = false;
    }
    return 0;
}

// ---- Beginning and end

static int prepare(struct lease *lease, const struct lease_options *o, struct err *err)
{
    pthread_condattr_t steady;
    uint8_t random[16];
    pthread_mutex_init(&lease->lock, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&lease->changed, &steady);
    pthread_condattr_destroy(&steady);
    lease->around_beat = o->around_beat;
    lease->context = o->context;
    lease->beat_ns = (o->beat_ms ? o->beat_ms : BEAT_MS) * NS_PER_MS;
    lease->hold_ns = (o->hold_ms ? o->hold_ms : HOLD_MS) * NS_PER_MS;
    lease->patience_ns = (o->patience_ms ? o->patience_ms : PATIENCE_MS) * NS_PER_MS;
    if (lease->hold_ns < 2 * lease->beat_ns || lease->patience_ns < 2 * lease->hold_ns)
        return err_set(err, ERR_USAGE,
                       "a lease is held for at least two beats, and others wait for "
                       "at least twice as long");
    rng_entropy(random, sizeof random);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(lease->self.id + 2 * i, 3, "%02x", random[i]);
    if (o->host)
        snprintf(lease->self.host, sizeof lease->self.host, "%s", o->host);
    else if (gethostname(lease->self.host, sizeof lease->self.host - 1) != 0)
        lease->self.host[0] = '\0';
    snprintf(lease->self.job, sizeof lease->self.job, "%s", o->job ? o->job : "");
    return 0;
}

// The first beat: without it nothing is held.
static int first_beat(struct lease *lease, int64_t claimed_ns, bool *held, struct err *err)
{
    int64_t start_ns = lease_now_ns(), left_ns = claimed_ns + lease->hold_ns - start_ns;
    *held = false;
    if (left_ns <= 0)
        return 0;
    lease->count = 1;
    TRY(write_beat(lease, &(struct lease_beat){.count = 1}, clock_now_ns() + left_ns, err));
    *held = lease_now_ns() < claimed_ns + lease->hold_ns;
    lease->valid_ns = start_ns + lease->hold_ns;
    return 0;
}

static int acquire(struct lease *lease, const struct lease_options *o, int64_t deadline_ns,
                   struct err *err)
{
    int64_t lost = -1; // the epoch after which a claim was lost
    int again = 0;
    for (bool held = false; !held;) {
        struct lease_view view;
        bool won = false;
        TRY(lease_look(lease->store, &view, deadline_ns, err));
        TRY(outwait(lease, o, &view, deadline_ns, err));
        lease->before = view.holder;
        int64_t claimed_ns = lease_now_ns();
        TRY(lease_claim(lease->store, &view, lease->hold_ns / 4, &lease->self, &won, deadline_ns,
                        err));
        again = won || view.holder.epoch != lost ? 0 : again + 1;
        lost = won ? -1 : view.holder.epoch;
        if (again == BOUND_CLAIMS) {
            err_set(err, ERR_FORMAT, "'%.150s' does not list what was written to it",
                    store_shown(lease->store));
            return err_hint(err, "nothing was changed: are its lists complete?");
        }
        if (won)
            TRY(first_beat(lease, claimed_ns, &held, err));
        TRY(tell(o, &view.holder, 0, err));
    }
    return start_thread(lease, err);
}

int lease_acquire(struct lease **out, struct store *store, const struct lease_options *options,
                  int64_t deadline_ns, struct err *err)
{
    struct lease *lease = calloc(1, sizeof *lease);
    if (!lease)
        return err_memory(err);
    lease->store = store;
    int rc = prepare(lease, options, err);
    if (rc == 0)
        rc = acquire(lease, options, deadline_ns, err);
    if (rc != 0)
        lease_free(lease);
    else
        *out = lease;
    return rc;
}

void lease_free(struct lease *lease)
{
    if (!lease)
        return;
    stop_thread(lease);
    pthread_cond_destroy(&lease->changed);
    pthread_mutex_destroy(&lease->lock);
    free(lease);
}

int64_t lease_epoch(const struct lease *lease)
{
    return lease->self.epoch;
}

const struct lease_holder *lease_before(const struct lease *lease)
{
    return &lease->before;
}

int lease_check(struct lease *lease, struct err *err)
{
    pthread_mutex_lock(&lease->lock);
    int rc = state_of(lease);
    if (rc != 0 && err && !err->code)
        *err = lease->lost;
    pthread_mutex_unlock(&lease->lock);
    return rc;
}

int lease_confirm(struct lease *lease, int64_t deadline_ns, struct err *err)
{
    bool ousted = false;
    struct lease_holder by;
    TRY(lease_ousted(lease->store, lease->self.epoch, &ousted, &by, deadline_ns, err));
    if (ousted) {
        pthread_mutex_lock(&lease->lock);
        lose(lease, "the job was taken over by ", &by);
        pthread_mutex_unlock(&lease->lock);
    }
    return lease_check(lease, err);
}

int lease_give_up(struct lease *lease, enum lease_end how, int64_t deadline_ns, struct err *err)
{
    stop_thread(lease);
    struct lease_beat last = {.count = lease->count + 1, .ended = true, .done = how == LEASE_DONE};
    int rc = write_beat(lease, &last, deadline_ns, err);
    pthread_mutex_lock(&lease->lock);
    lose(lease, "the lease was given up", NULL);
    pthread_mutex_unlock(&lease->lock);
    return rc;
}
