// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"

#define THREADS_MAX 16

struct parallel_loop {
    void (*work)(void *context, int64_t from, int64_t to);
    void *context;
    int64_t count, piece;
    _Atomic int64_t next;
};

static void *do_pieces(void *loop_)
{
    struct parallel_loop *loop = loop_;
    for (;;) {
        int64_t from = atomic_fetch_add(&loop->next, loop->piece);
        if (from >= loop->count)
            return NULL;
        int64_t to = from + loop->piece;
        loop->work(loop->context, from, to < loop->count ? to : loop->count);
    }
}

void parallel_for(int threads, int64_t count, void (*work)(void *context, int64_t from, int64_t to),
                  void *context)
{
    pthread_t others[THREADS_MAX];
    int started = 0;
    threads = threads > THREADS_MAX ? THREADS_MAX : threads;
    struct parallel_loop loop = {.work = work, .context = context, .count = count};
    loop.piece = count / (threads * INT64_C(16)) + 1; // small enough to even out
    while (started < threads - 1 && loop.piece < count &&
           pthread_create(&others[started], NULL, do_pieces, &loop) == 0)
        started++;
    do_pieces(&loop);
    for (int i = 0; i < started; i++)
        pthread_join(others[i], NULL);
}

int thread_start(pthread_t *thread, size_t stack_bytes, void *(*work)(void *), void *context,
                 struct err *err)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    if (stack_bytes > 0)
        pthread_attr_setstacksize(&attributes, stack_bytes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int number = pthread_create(thread, &attributes, work, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return number == 0 ? 0 : err_errno(err, number, "cannot start a thread");
}

void moment_init(pthread_cond_t *condition)
{
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &steady);
    pthread_condattr_destroy(&steady);
}

bool moment_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t until_ns)
{
    struct timespec until = {.tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S};
    return pthread_cond_timedwait(condition, lock, &until) != ETIMEDOUT;
}
