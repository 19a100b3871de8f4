// SPDX-License-Identifier: Apache-2.0
#include "guard/lease.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/clock.h"
#include "base/rng.h"
#include "guard/lease_claim.h"

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
    int event;
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
    uint64_t one = 1;
    if (lease->lost.code)
        return;
    if (by)
        err_set(&lease->lost, ERR_FAIL, "%s%.200s (epoch %lld, ours was %lld)", why,
                by->host[0] ? by->host : "another machine", (long long)by->epoch,
                (long long)lease->self.epoch);
    else
        err_set(&lease->lost, ERR_FAIL, "%s", why);
    if (write(lease->event, &one, sizeof one) != sizeof one)
        return; // it is readable already
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

static void *run(void *lease_)
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
    int failed = pthread_create(&lease->thread, NULL, run, lease);
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
    lease->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return lease->event >= 0 ? 0 : err_set(err, ERR_IO, "cannot make an event");
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
    lease->event = -1;
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
    if (lease->event >= 0)
        close(lease->event);
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

int lease_fd(const struct lease *lease)
{
    return lease->event;
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

int64_t lease_left_ns(struct lease *lease)
{
    pthread_mutex_lock(&lease->lock);
    int64_t left_ns = state_of(lease) ? 0 : lease->valid_ns - lease_now_ns();
    pthread_mutex_unlock(&lease->lock);
    return left_ns;
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
