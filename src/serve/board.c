// SPDX-License-Identifier: Apache-2.0
#include "serve/board.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "advise/quote_job.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "view/results.h"
#include "render/markup.h"
#include "view/offers.h"
#include "view/spending.h"
#include "advise/spend/spend.h"

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

static bool board_stops(struct board *board)
{
    pthread_mutex_lock(&board->lock);
    bool stops = board->stops;
    pthread_mutex_unlock(&board->lock);
    return stops;
}

// ---- counts

// The place of a value; that of all others if it is empty, too long, or one too many.
static size_t place_of(struct board_values *values, const char *value)
{
    size_t i = 0;
    if (!*value || strlen(value) >= BOARD_VALUE_BYTES)
        return BOARD_VALUES;
    while (i < values->count && strcmp(values->items[i], value) != 0)
        i++;
    if (i == values->count && i < BOARD_VALUES)
        snprintf(values->items[values->count++], BOARD_VALUE_BYTES, "%s", value);
    return i;
}

static int add_count(void *arg, const struct ledger_kind *kind, int64_t count, struct err *err)
{
    struct board_facets *f = arg;
    (void)err;
    size_t known = f->values[BOARD_TRAINING].count;
    size_t training = place_of(&f->values[BOARD_TRAINING], kind->training);
    size_t framework = place_of(&f->values[BOARD_FRAMEWORK], kind->framework);
    size_t ended = place_of(&f->values[BOARD_ENDED], kind->ended);
    if (training == known && training < BOARD_VALUES)
        f->named[training] = kind->named;
    else if (training < known && f->named[training] != kind->named)
        training = BOARD_VALUES; // a name like a workload's: its link would be another's
    f->runs[training][framework][ended] += count;
    return 0;
}

static int board_count(struct ledger *ledger, struct board_facets *out, struct err *err)
{
    return ledger_counts(ledger, add_count, out, err);
}

// ---- this month

static void show_spend(const struct spending *month, const char *since, struct buf *out)
{
    enum { PROJECTS = 6 };
    static const char *const others[] = {"user", "host", "offer"};
    SCOPED(doc_release) struct doc doc = {0};
    view_sums(&doc, month, PROJECTS, true);
    doc_html(out, &doc, 2);
    buf_adds(out, "<p>The same by");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        buf_printf(out, "%s <a href=\"/spend?by=%s&amp;since=%.10s\">%s</a>", i ? " or" : "",
                   others[i], since, others[i]);
    buf_adds(out, "</p>\n");
}

static int board_spend(struct ledger *ledger, struct market *market, struct board_figures *out,
                       struct err *err)
{
    static const enum spend_key keys[] = {SPEND_PROJECT};
    const struct spend_options options = {.keys = keys, .key_count = 1};
    SCOPED(spending_release) struct spending month = {0};
    char since[CLOCK_ISO_BYTES] = "";
    int64_t first_s = 0;
    if (clock_month(clock_date_s(), 0, &first_s))
        clock_iso(first_s, since);
    const struct ledger_filter filter = {.since = since};
    TRY(spend_sum(ledger, market, &filter, &options, &month, err));
    out->month_runs = month.total.runs.v;
    out->month_unknown = month.total.unknown.v;
    if (month.total.usd.known)
        snprintf(out->month_usd, sizeof out->month_usd, "%s", spending_amount(month.total.usd).s);
    if (month.total.usd.known)
        show_spend(&month, since, &out->spend);
    return 0;
}

// ---- the cheapest and the fastest machine

static void show_training(struct buf *out, const char *name, const struct quote *quote)
{
    struct buf link = {0};
    buf_adds(&link, "/quote?run=");
    markup_address(&link, name);
    html_choices(out, name, buf_str(&link), quote);
    buf_drop(out, &link);
}

// A training whose quote cannot be made (no time is known) is left out.
static int add_training(struct ledger *ledger, struct market *market, const char *name,
                        struct buf *out, struct err *err)
{
    struct err why = {0};
    SCOPED(quote_release) struct quote_job job = {.asked = !quote_is_workload(name)};
    job.ask.market = market;
    job.ask.max_age = QUOTE_MAX_AGE;
    job.ask.estimates = true;
    int rc = quote_load(&job, name, ledger, &why);
    if (rc == 0)
        rc = quote_assemble(&job, &why);
    if (rc == 0)
        show_training(out, name, &job.quote);
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

static int board_machines(struct board *board, struct ledger *ledger, struct market *market,
                          const struct board_facets *facets, struct buf *out, struct err *err)
{
    enum { TRAININGS = 6 };
    const struct board_values *names = &facets->values[BOARD_TRAINING];
    for (size_t i = 0; i < names->count && i < TRAININGS && !board_stops(board); i++)
        TRY(add_training(ledger, market, names->items[i], out, err));
    return 0;
}

// ---- prices that moved

static int board_moved(struct market *market, struct buf *out, struct err *err)
{
    struct moved moved;
    struct err why = {0};
    SCOPED(doc_release) struct doc doc = {0};
    int rc = moved_find(market, &moved, &why);
    if (rc == 0)
        view_moved(&doc, &moved, "/gpu?name=", "/offer?name=");
    doc_html(out, &doc, 2);
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

// ---- the thread

static int board_make(struct board *board, struct desk *desk, struct err *err)
{
    struct ledger *ledger = desk->ledger;
    struct market *market;
    struct board_facets facets = {0};
    SCOPED(release) struct board_figures figures = {0};
    TRY(site_market(board->site, desk, &market, err));
    TRY(board_count(ledger, &facets, err));
    TRY(board_spend(ledger, market, &figures, err));
    TRY(board_machines(board, ledger, market, &facets, &figures.machines, err));
    TRY(board_moved(market, &figures.moved, err));
    TRY(buf_check(&figures.spend, err));
    TRY(buf_check(&figures.machines, err));
    TRY(buf_check(&figures.moved, err));
    pthread_mutex_lock(&board->lock);
    struct board_figures old = board->figures;
    board->figures = figures;
    board->facets = facets;
    board->made = true;
    pthread_mutex_unlock(&board->lock);
    figures = old;
    return 0;
}

struct last_made { // what was made last
    struct buf stamp;
    int64_t at_ns, took_ns;
};

// A ledger that cannot be read now is tried again later; its own pages say what is wrong.
static void board_look(struct board *board, struct last_made *last)
{
    struct err err = {0};
    struct ledger *ledger;
    struct desk desk = {0};
    SCOPED(buf_release) struct buf stamp = {0};
    int64_t start_ns = clock_now_ns();
    int rc = site_ledger(board->site, &desk, &ledger, &err);
    if (rc == 0)
        rc = ledger_stamp(ledger, &stamp, &err);
    bool same = rc == 0 && strcmp(buf_str(&stamp), buf_str(&last->stamp)) == 0 &&
                last->stamp.len > 0 && start_ns - last->at_ns < AGE_S * NS_PER_S;
    if (rc == 0 && !same) {
        rc = board_make(board, &desk, &err);
        last->at_ns = clock_now_ns();
        last->took_ns = last->at_ns - start_ns;
        buf_release(&last->stamp);
        if (rc == 0) {
            last->stamp = stamp;
            stamp = (struct buf){0};
        }
    }
    site_give_back(board->site, &desk, rc);
}

static void *board_work(void *arg)
{
    struct board *board = arg;
    struct last_made last = {0};
    // Pages come first. The priority is that of this thread alone; without it, it is only slower.
    (void)!setpriority(PRIO_PROCESS, (id_t)gettid(), BEHIND);
    pthread_mutex_lock(&board->lock);
    while (!board->stops) {
        int64_t now = clock_now_ns();
        bool looked = board->looked_ns && now - board->looked_ns < LOOKED_S * NS_PER_S;
        bool rests = last.at_ns && now - last.at_ns < RESTS * last.took_ns;
        if (looked && !rests) {
            pthread_mutex_unlock(&board->lock);
            board_look(board, &last);
            pthread_mutex_lock(&board->lock);
        }
        if (!board->stops)
            (void)moment_wait(&board->wake, &board->lock, clock_now_ns() + NS_PER_S);
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
    moment_init(&board->wake);
    int rc = thread_start(&board->thread, 0, board_work, board, err);
    if (rc != 0) {
        pthread_cond_destroy(&board->wake);
        pthread_mutex_destroy(&board->lock);
        free(board);
        return rc;
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
