// SPDX-License-Identifier: Apache-2.0
// The queue of a group: callers add calls, the group's thread makes them in order and keeps the
// time. Kinds of groups know nothing of threads.
#include "train/engine/group.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "train/engine/group_back.h"

#define CALLS   1024              // in the queue at most
#define LOOK_NS (100 * NS_PER_MS) // between looks at the other ranks

enum call_kind { BARRIER, BROADCAST, GATHER, SUM, USE };

struct group_call {
    enum call_kind kind;
    void *data;
    const void *mine; // GATHER
    int64_t count;    // bytes, or numbers
    bool reals;
    int64_t began_ns, arrived_ns, done_ns;
};

struct group {
    const struct group_back *back;
    void *own;
    struct group_place place;
    int most; // ranks at the beginning
    pthread_t thread;
    bool begun, started; // began; has a thread
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct group_call calls[CALLS]; // call n lies at n % CALLS
    int64_t asked, made, taken;     // numbers of calls: queued, finished, accounted for
    bool ending, failed;
    struct err err; // of the failure
    struct group_times times;
    int64_t looked_ns;
};

// ---- failure ----

// The first failure wins, and the others are told.
static void group_failed(struct group *g, const struct err *err, bool tell)
{
    pthread_mutex_lock(&g->lock);
    bool first = !g->failed;
    if (first) {
        g->err = *err;
        g->failed = true;
    }
    pthread_cond_broadcast(&g->work);
    pthread_cond_broadcast(&g->done);
    pthread_mutex_unlock(&g->lock);
    if (first && tell)
        g->back->tell(g->own, err->text);
}

static int failure(struct group *g, struct err *err)
{
    pthread_mutex_lock(&g->lock);
    int rc = g->failed ? g->err.code : 0;
    if (rc != 0 && err && err->code == 0)
        *err = g->err;
    pthread_mutex_unlock(&g->lock);
    return rc;
}

int group_look(struct group *g, struct err *err)
{
    TRY(failure(g, err));
    int64_t now_ns = clock_now_ns();
    if (now_ns - g->looked_ns < LOOK_NS)
        return 0;
    g->looked_ns = now_ns;
    return g->back->look(g->own, err);
}

// ---- the thread ----

static int make_call(struct group *g, struct group_call *call, struct err *err)
{
    call->began_ns = call->arrived_ns = clock_now_ns();
    if (call->kind == USE) {
        struct group_place place = g->place;
        place.size = (int)call->count;
        TRY(g->back->use(g, g->own, &place, err));
        pthread_mutex_lock(&g->lock);
        g->place = place;
        pthread_mutex_unlock(&g->lock);
        return 0;
    }
    TRY(g->back->arrive(g, g->own, err));
    call->arrived_ns = clock_now_ns();
    switch (call->kind) {
    case BARRIER:
    case USE:
        return 0;
    case BROADCAST:
        return g->back->broadcast(g, g->own, call->data, (size_t)call->count, err);
    case GATHER:
        return g->back->gather(g, g->own, call->mine, (size_t)call->count, call->data, err);
    case SUM:
        return g->back->sum(g, g->own, call->data, call->count, call->reals, err);
    }
    return 0;
}

// Waits for a call, and looks after the others meanwhile. Null: the group ends.
static struct group_call *next_call(struct group *g)
{
    struct group_call *call = NULL;
    pthread_mutex_lock(&g->lock);
    while (!call && !g->failed && !(g->ending && g->made == g->asked)) {
        if (g->made < g->asked) {
            call = &g->calls[g->made % CALLS];
            break;
        }
        (void)moment_wait(&g->work, &g->lock, clock_now_ns() + LOOK_NS);
        pthread_mutex_unlock(&g->lock);
        struct err err = {0};
        if (group_look(g, &err) != 0)
            group_failed(g, &err, true);
        pthread_mutex_lock(&g->lock);
    }
    pthread_mutex_unlock(&g->lock);
    return call;
}

static void *serve_calls(void *group)
{
    struct group *g = group;
    struct err err = {0};
    struct group_place place = g->place;
    int rc = g->back->begin(g->own, &place, &err);
    pthread_mutex_lock(&g->lock);
    g->place = place;
    g->most = place.size;
    g->begun = rc == 0;
    pthread_cond_broadcast(&g->done);
    pthread_mutex_unlock(&g->lock);
    if (rc != 0) {
        group_failed(g, &err, false);
        return NULL;
    }
    for (struct group_call *call = next_call(g); call; call = next_call(g)) {
        rc = make_call(g, call, &err);
        if (rc != 0) {
            group_failed(g, &err, true);
            break;
        }
        call->done_ns = clock_now_ns();
        pthread_mutex_lock(&g->lock);
        g->made++;
        pthread_cond_broadcast(&g->done);
        pthread_mutex_unlock(&g->lock);
    }
    g->back->end(g, g->own, failure(g, NULL) == 0);
    return NULL;
}

// ---- beginning and ending ----

// A thread that is still in begin() cannot be ended: it and the group's memory stay.
static int await_begin(struct group *g, int64_t patience_ns, struct err *err)
{
    int64_t until_ns = patience_ns > 0 ? clock_now_ns() + patience_ns : INT64_MAX;
    bool in_time = true;
    pthread_mutex_lock(&g->lock);
    while (in_time && !g->begun && !g->failed)
        in_time = moment_wait(&g->done, &g->lock, until_ns);
    pthread_mutex_unlock(&g->lock);
    if (in_time)
        return 0;
    return err_set(err, ERR_TIMEOUT, "not all processes of this run came within %lld s",
                   (long long)(patience_ns / NS_PER_S));
}

int group_new(struct group **out, const struct group_back *back, void *own, int64_t patience_ns,
              struct err *err)
{
    *out = NULL;
    struct group *g = calloc(1, sizeof *g);
    if (!g) {
        back->release(own);
        return err_memory(err);
    }
    g->back = back;
    g->own = own;
    pthread_mutex_init(&g->lock, NULL);
    moment_init(&g->work);
    moment_init(&g->done);
    int said = pthread_create(&g->thread, NULL, serve_calls, g);
    int rc = said == 0 ? 0 : err_errno(err, said, "cannot start a thread");
    g->started = rc == 0;
    if (rc == 0)
        TRY(await_begin(g, patience_ns, err));
    if (rc == 0)
        rc = failure(g, err);
    if (rc != 0)
        group_free(g);
    else
        *out = g;
    return rc;
}

void group_free(struct group *g)
{
    if (!g)
        return;
    if (g->started) {
        pthread_mutex_lock(&g->lock);
        g->ending = true;
        pthread_cond_broadcast(&g->work);
        pthread_mutex_unlock(&g->lock);
        pthread_join(g->thread, NULL);
    }
    g->back->release(g->own);
    pthread_cond_destroy(&g->work);
    pthread_cond_destroy(&g->done);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

void group_fail(struct group *g, const char *text)
{
    if (!g)
        return;
    struct err err = {0};
    err_set(&err, ERR_FAIL, "rank %d: %s", g->place.rank, text);
    group_failed(g, &err, true);
}

int group_check(struct group *g, struct err *err)
{
    return g ? failure(g, err) : 0;
}

// ---- who is in it ----

struct group_place group_place(const struct group *g)
{
    return g ? g->place : (struct group_place){.size = 1, .local_size = 1, .nodes = 1};
}

int group_most(const struct group *g)
{
    return g ? g->most : 1;
}

const char *group_kind(const struct group *g)
{
    return g ? g->back->name : NULL;
}

void group_share(const struct group *g, int64_t count, int64_t *first, int64_t *part)
{
    struct group_place place = group_place(g);
    part_of(count, place.rank, place.size, first, part);
}

int64_t group_share_most(const struct group *g, int64_t count)
{
    int size = group_place(g).size;
    return (count + size - 1) / size;
}

// ---- calls ----

// Where the caller's waiting went: the parts of finished calls since `from_ns`. With the lock held.
static void account(struct group *g, int64_t from_ns)
{
    for (; g->taken < g->made; g->taken++) {
        const struct group_call *call = &g->calls[g->taken % CALLS];
        int64_t began_ns = call->began_ns > from_ns ? call->began_ns : from_ns;
        int64_t arrived_ns = call->arrived_ns > from_ns ? call->arrived_ns : from_ns;
        if (call->kind == USE || call->done_ns <= from_ns)
            continue;
        g->times.waiting_ns += arrived_ns - began_ns;
        g->times.communication_ns += call->done_ns - arrived_ns;
    }
}

int group_wait(struct group *g, struct err *err)
{
    if (!g)
        return 0;
    int64_t from_ns = clock_now_ns();
    pthread_mutex_lock(&g->lock);
    while (!g->failed && g->made < g->asked)
        pthread_cond_wait(&g->done, &g->lock);
    account(g, from_ns);
    pthread_mutex_unlock(&g->lock);
    return failure(g, err);
}

static int start_call(struct group *g, struct group_call call, struct err *err)
{
    pthread_mutex_lock(&g->lock);
    while (!g->failed && g->asked - g->taken == CALLS) {
        if (g->made == g->taken)
            pthread_cond_wait(&g->done, &g->lock);
        account(g, INT64_MAX);
    }
    if (!g->failed) {
        g->calls[g->asked++ % CALLS] = call;
        pthread_cond_signal(&g->work);
    }
    pthread_mutex_unlock(&g->lock);
    return failure(g, err);
}

// A rank that is the only one in use has nobody to talk to.
static bool is_alone(const struct group *g)
{
    return !g || g->place.size == 1;
}

static int call_now(struct group *g, struct group_call call, struct err *err)
{
    if (is_alone(g) && !(g && call.kind == USE))
        return group_check(g, err);
    TRY(start_call(g, call, err));
    return group_wait(g, err);
}

int group_use(struct group *g, int size, struct err *err)
{
    return call_now(g, (struct group_call){.kind = USE, .count = size}, err);
}

int group_barrier(struct group *g, struct err *err)
{
    return call_now(g, (struct group_call){.kind = BARRIER}, err);
}

int group_broadcast(struct group *g, void *data, size_t bytes, struct err *err)
{
    return call_now(
        g, (struct group_call){.kind = BROADCAST, .data = data, .count = (int64_t)bytes}, err);
}

int group_gather(struct group *g, const void *mine, size_t bytes, void *all, struct err *err)
{
    if (is_alone(g))
        memcpy(all, mine, bytes);
    return call_now(
        g, (struct group_call){.kind = GATHER, .mine = mine, .data = all, .count = (int64_t)bytes},
        err);
}

int group_sum(struct group *g, float *values, int64_t count, struct err *err)
{
    return call_now(g, (struct group_call){.kind = SUM, .data = values, .count = count}, err);
}

int group_sum_reals(struct group *g, double *values, int64_t count, struct err *err)
{
    return call_now(
        g, (struct group_call){.kind = SUM, .data = values, .count = count, .reals = true}, err);
}

int group_sum_start(struct group *g, float *values, int64_t count, struct err *err)
{
    if (is_alone(g))
        return group_check(g, err);
    return start_call(g, (struct group_call){.kind = SUM, .data = values, .count = count}, err);
}

int group_sum_reals_start(struct group *g, double *values, int64_t count, struct err *err)
{
    if (is_alone(g))
        return group_check(g, err);
    return start_call(
        g, (struct group_call){.kind = SUM, .data = values, .count = count, .reals = true}, err);
}

void group_times(struct group *g, struct group_times *times)
{
    *times = (struct group_times){0};
    if (!g)
        return;
    pthread_mutex_lock(&g->lock);
    *times = g->times;
    pthread_mutex_unlock(&g->lock);
}

// ---- watching processes ----
//
// Processes of this machine that must not die, watched by descriptors: a number of a process may
// become another's, a descriptor may not.

struct group_watch {
    int count;
    int gone; // a rank that was dead before it could be watched, or -1
    struct pollfd *fds;
};

int group_watch_new(struct group_watch **out, int count, struct err *err)
{
    struct group_watch *w = calloc(1, sizeof *w);
    struct pollfd *fds = calloc((size_t)count + 1, sizeof *fds);
    *out = w;
    if (!w || !fds) {
        free(fds);
        free(w);
        *out = NULL;
        return err_memory(err);
    }
    *w = (struct group_watch){.count = count, .gone = -1, .fds = fds};
    for (int i = 0; i < count; i++)
        fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    return 0;
}

void group_watch_free(struct group_watch *w)
{
    if (!w)
        return;
    for (int i = 0; i < w->count; i++)
        if (w->fds[i].fd >= 0)
            close(w->fds[i].fd);
    free(w->fds);
    free(w);
}

void group_watch_add(struct group_watch *w, int rank, pid_t pid)
{
    w->fds[rank].fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (w->fds[rank].fd < 0 && errno == ESRCH)
        w->gone = rank;
}

int group_watch_dead(struct group_watch *w)
{
    if (w->gone >= 0 || poll(w->fds, (nfds_t)w->count, 0) <= 0)
        return w->gone;
    for (int i = 0; i < w->count && w->gone < 0; i++)
        if (w->fds[i].revents != 0)
            w->gone = i;
    return w->gone;
}
