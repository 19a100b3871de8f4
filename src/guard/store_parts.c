// SPDX-License-Identifier: Apache-2.0
// Parts of a file on several threads; the calling thread waits, and reports the progress.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "guard/store_kind.h"

#define THREADS_MAX 32
#define REPORT_MS   100

struct pool {
    const struct store_work *work;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int64_t next;       // part to look at
    int64_t done_bytes; // of the file
    int running;        // threads
    atomic_bool stop;
    int rc;
    struct err err;
};

static void fail(struct pool *pool, int rc, const struct err *err)
{
    if (pool->rc == 0) {
        pool->rc = rc;
        pool->err = *err;
    }
    atomic_store(&pool->stop, true);
}

// The next part that is not done, or -1. With the lock.
static int64_t take(struct pool *pool)
{
    const struct store_work *work = pool->work;
    while (pool->next < work->count && work->done[pool->next])
        pool->next++;
    return pool->next < work->count && !atomic_load(&pool->stop) ? pool->next++ : -1;
}

static void *run(void *pool_)
{
    struct pool *pool = pool_;
    const struct store_work *work = pool->work;
    struct err err = {0};
    void *buffer = malloc((size_t)store_part_bytes(work->file->bytes));
    int rc = buffer ? 0 : err_memory(&err);
    pthread_mutex_lock(&pool->lock);
    for (int64_t part; rc == 0 && (part = take(pool)) >= 0;) {
        pthread_mutex_unlock(&pool->lock);
        rc = work->one(work->context, part, buffer, &pool->stop, &err);
        pthread_mutex_lock(&pool->lock);
        work->done[part] = rc == 0;
        pool->done_bytes += rc == 0 ? store_part_len(work->file->bytes, part) : 0;
    }
    if (rc != 0)
        fail(pool, rc, &err);
    pool->running--;
    pthread_cond_signal(&pool->moved);
    pthread_mutex_unlock(&pool->lock);
    free(buffer);
    return NULL;
}

// Until all threads have ended. With the lock.
static void watch(struct pool *pool)
{
    const struct store_file *file = pool->work->file;
    while (pool->running > 0) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += REPORT_MS * NS_PER_MS;
        until.tv_sec += until.tv_nsec / NS_PER_S;
        until.tv_nsec %= NS_PER_S;
        pthread_cond_timedwait(&pool->moved, &pool->lock, &until);
        int64_t done = pool->done_bytes;
        pthread_mutex_unlock(&pool->lock);
        bool go_on = !file->progress || file->progress(file->context, done);
        pthread_mutex_lock(&pool->lock);
        if (!go_on && pool->running > 0) {
            struct err err = {0};
            err_set(&err, ERR_FAIL, "stopped");
            fail(pool, ERR_FAIL, &err);
        }
    }
}

int store_work(const struct store_work *work, struct err *err)
{
    pthread_t threads[THREADS_MAX];
    pthread_condattr_t steady;
    struct pool pool = {.work = work};
    int started = 0, wanted = work->threads < THREADS_MAX ? work->threads : THREADS_MAX;
    int64_t open = 0;
    for (int64_t i = 0; i < work->count; i++) {
        pool.done_bytes += work->done[i] ? store_part_len(work->file->bytes, i) : 0;
        open += !work->done[i];
    }
    wanted = open < wanted ? (int)open : wanted;
    pthread_mutex_init(&pool.lock, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&pool.moved, &steady);
    pthread_mutex_lock(&pool.lock);
    while (started < wanted && pthread_create(&threads[started], NULL, run, &pool) == 0)
        started++, pool.running++;
    if (started == 0 && wanted > 0)
        pool.rc = err_errno(&pool.err, EAGAIN, "cannot start a thread");
    watch(&pool);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_cond_destroy(&pool.moved);
    pthread_condattr_destroy(&steady);
    pthread_mutex_destroy(&pool.lock);
    if (pool.rc != 0 && err && !err->code)
        *err = pool.err;
    return pool.rc;
}
