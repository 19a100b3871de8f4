// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

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
