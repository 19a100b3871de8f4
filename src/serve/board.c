// SPDX-License-Identifier: Apache-2.0
#include "serve/board.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/board_parts.h"

enum { LOOKED_S = 30, RESTS = 20, AGE_S = 60, BEHIND = 10 };

struct board {
    struct site *site;
    pthread_t thread;
    pthread_mutex_t lock; // guards the rest
    pthread_cond_t wake;
    bool stops, made;
    int64_t looked_ns; // when somebody looked last; 0: never
    struct board_facets facets;
    struct board_figures figures;
};

static void release(struct board_figures *figures)
{
    buf_release(&figures->spend);
    buf_release(&figures->machines);
    buf_release(&figures->moved);
}

// ---- the thread

static int make(struct board *board, struct desk *desk, struct err *err)
{
    struct ledger *ledger = desk->ledger;
    struct market *market;
    struct board_facets facets = {0};
    struct board_figures figures = {0};
    int rc = site_market(board->site, desk, &market, err);
    if (rc == 0)
        rc = board_count(ledger, &facets, err);
    if (rc == 0)
        rc = board_spend(ledger, market, &figures, err);
    if (rc == 0)
        rc = board_machines(board, ledger, market, &facets, &figures.machines, err);
    if (rc == 0)
        rc = board_moved(market, &figures.moved, err);
    if (rc == 0)
        rc = buf_check(&figures.spend, err);
    if (rc == 0)
        rc = buf_check(&figures.machines, err);
    if (rc == 0)
        rc = buf_check(&figures.moved, err);
    if (rc == 0) {
        pthread_mutex_lock(&board->lock);
        struct board_figures old = board->figures;
        board->figures = figures;
        board->facets = facets;
        board->made = true;
        pthread_mutex_unlock(&board->lock);
        figures = old;
    }
    release(&figures);
    return rc;
}

struct last { // what was made last
    struct buf stamp;
    int64_t at_ns, took_ns;
};

// A ledger that cannot be read now is tried again later; its own pages say what is wrong.
static void look(struct board *board, struct last *last)
{
    struct err err = {0};
    struct ledger *ledger;
    struct desk desk = {0};
    struct buf stamp = {0};
    int64_t start_ns = clock_now_ns();
    int rc = site_ledger(board->site, &desk, &ledger, &err);
    if (rc == 0)
        rc = ledger_stamp(ledger, &stamp, &err);
    bool same = rc == 0 && strcmp(buf_str(&stamp), buf_str(&last->stamp)) == 0 &&
                last->stamp.len > 0 && start_ns - last->at_ns < AGE_S * NS_PER_S;
    if (rc == 0 && !same) {
        rc = make(board, &desk, &err);
        last->at_ns = clock_now_ns();
        last->took_ns = last->at_ns - start_ns;
        buf_release(&last->stamp);
        if (rc == 0) {
            last->stamp = stamp;
            stamp = (struct buf){0};
        }
    }
    site_give_back(board->site, &desk, rc);
    buf_release(&stamp);
}

static void *work(void *arg)
{
    struct board *board = arg;
    struct last last = {0};
    // Pages come first. The priority is that of this thread alone; without it, it is only slower.
    (void)!setpriority(PRIO_PROCESS, (id_t)gettid(), BEHIND);
    pthread_mutex_lock(&board->lock);
    while (!board->stops) {
        int64_t now = clock_now_ns();
        bool looked = board->looked_ns && now - board->looked_ns < LOOKED_S * NS_PER_S;
        bool rests = last.at_ns && now - last.at_ns < RESTS * last.took_ns;
        if (looked && !rests) {
            pthread_mutex_unlock(&board->lock);
            look(board, &last);
            pthread_mutex_lock(&board->lock);
        }
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        if (!board->stops)
            pthread_cond_timedwait(&board->wake, &board->lock, &until);
    }
    pthread_mutex_unlock(&board->lock);
    buf_release(&last.stamp);
    return NULL;
}

int board_new(struct board **out, struct site *site, struct err *err)
{
    struct board *board = calloc(1, sizeof *board);
    *out = NULL;
    if (!board)
        return err_memory(err);
    board->site = site;
    pthread_mutex_init(&board->lock, NULL);
    pthread_cond_init(&board->wake, NULL);
    int failed = pthread_create(&board->thread, NULL, work, board);
    if (failed) {
        pthread_cond_destroy(&board->wake);
        pthread_mutex_destroy(&board->lock);
        free(board);
        return err_errno(err, failed, "cannot start a thread");
    }
    *out = board;
    return 0;
}

void board_stop(struct board *board)
{
    if (!board)
        return;
    pthread_mutex_lock(&board->lock);
    board->stops = true;
    pthread_cond_signal(&board->wake);
    pthread_mutex_unlock(&board->lock);
}

bool board_stops(struct board *board)
{
    pthread_mutex_lock(&board->lock);
    bool stops = board->stops;
    pthread_mutex_unlock(&board->lock);
    return stops;
}

void board_free(struct board *board)
{
    if (!board)
        return;
    board_stop(board);
    pthread_join(board->thread, NULL);
    pthread_cond_destroy(&board->wake);
    pthread_mutex_destroy(&board->lock);
    release(&board->figures);
    free(board);
}

// ---- reading

// Notes that somebody looks; the first time wakes the thread.
static bool looks(struct board *board)
{
    bool first = board->looked_ns == 0;
    board->looked_ns = clock_now_ns();
    if (first || !board->made)
        pthread_cond_signal(&board->wake);
    return board->made;
}

bool board_facets(struct board *board, struct board_facets *out)
{
    if (!board)
        return false;
    pthread_mutex_lock(&board->lock);
    bool made = looks(board);
    if (made)
        *out = board->facets;
    pthread_mutex_unlock(&board->lock);
    return made;
}

bool board_figures(struct board *board, struct board_figures *out)
{
    *out = (struct board_figures){0};
    if (!board)
        return false;
    pthread_mutex_lock(&board->lock);
    bool made = looks(board);
    if (made) {
        const struct board_figures *f = &board->figures;
        out->month_runs = f->month_runs;
        out->month_unknown = f->month_unknown;
        memcpy(out->month_usd, f->month_usd, sizeof out->month_usd);
        buf_add(&out->spend, buf_str(&f->spend), f->spend.len);
        buf_add(&out->machines, buf_str(&f->machines), f->machines.len);
        buf_add(&out->moved, buf_str(&f->moved), f->moved.len);
    }
    pthread_mutex_unlock(&board->lock);
    return made;
}
