// SPDX-License-Identifier: Apache-2.0
// Measurements elsewhere while they go on: a line for each change; on a terminal also a table of
// the places, redrawn in place. All of it goes to stderr.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/money.h"
#include "cmd/fleet.h"
#include "cmd/table.h"

enum { ROWS_MOST = 16 };
#define TELL_NS (60 * NS_PER_S) // between two lines of totals where there is no terminal

void fleet_live_begin(struct fleet_live *live, const struct places *places)
{
    const char *kind = getenv("TERM");
    *live = (struct fleet_live){.places = places, .told_ns = clock_now_ns()};
    live->terminal = isatty(STDERR_FILENO) && kind && strcmp(kind, "dumb") != 0;
}

static void clear(struct fleet_live *live)
{
    if (live->drawn > 0)
        fprintf(stderr, "\x1b[%dA\r\x1b[J", live->drawn);
    live->drawn = 0;
}

void fleet_live_says(void *arg, const char *line)
{
    struct fleet_live *live = arg;
    clear(live);
    out_complain(line);
}

static int rows_of_terminal(void)
{
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 8)
        return ROWS_MOST;
    return size.ws_row - 4 < ROWS_MOST ? size.ws_row - 4 : ROWS_MOST;
}

// Places with something to show come first; the rest is counted.
static bool is_busy(const struct site_view *view)
{
    return view->task || view->problem || strcmp(view->doing, "idle") != 0;
}

static void add_row(struct table *table, const struct site_view *view)
{
    char time[24] = "", price[40] = "";
    if (view->since_ns > 0)
        clock_words((clock_now_ns() - view->since_ns) / NS_PER_S * NS_PER_S, time, sizeof time);
    if (view->place->hour_nano >= 0) {
        char amount[MONEY_BYTES];
        money_short(view->place->hour_nano, amount);
        snprintf(price, sizeof price, "%s USD/h", amount);
    }
    const char *cells[] = {view->place->name, view->doing, time, price,
                           view->problem ? view->problem
                           : view->task  ? view->task->name
                                         : ""};
    table_row(table, view->problem ? OUT_YELLOW : OUT_PLAIN, cells, NULL);
}

static void draw_table(struct fleet_live *live, const struct dispatcher *d)
{
    static const struct table_column columns[] = {{NULL, TABLE_LEFT, 0, 12},
                                                  {NULL, TABLE_LEFT, 0, 0},
                                                  {NULL, TABLE_RIGHT, 1, 0},
                                                  {NULL, TABLE_RIGHT, 2, 0},
                                                  {NULL, TABLE_LEFT, 3, 8}};
    struct table table = TABLE(columns);
    struct out out;
    struct buf totals = {0};
    int most = rows_of_terminal(), shown = 0;
    size_t busy = 0;
    out_init(&out, NULL);
    out.fd = STDERR_FILENO;
    for (size_t i = 0; i < dispatcher_sites(d); i++) {
        struct site_view view;
        dispatcher_site(d, i, &view);
        busy += is_busy(&view);
        if (is_busy(&view) && shown < most) {
            add_row(&table, &view);
            shown++;
        }
    }
    table_print(&table, &out);
    if (busy > (size_t)shown)
        out_printf(&out, "and %zu more\n", busy - (size_t)shown);
    fleet_totals(dispatcher_dispatch(d), live->places, &totals);
    out_styled(&out, OUT_BOLD, "%s", buf_str(&totals));
    out_printf(&out, "\n");
    clear(live);
    for (const char *p = buf_str(&out.text); (p = strchr(p, '\n')) != NULL; p++)
        live->drawn++;
    struct err ignored = {0};
    if (out_write(&out, &ignored) != 0)
        live->terminal = false;
    buf_release(&totals);
    out_release(&out);
}

void fleet_live_draw(void *arg, const struct dispatcher *d)
{
    struct fleet_live *live = arg;
    int64_t now = clock_now_ns();
    if (live->terminal) {
        draw_table(live, d);
    } else if (now - live->told_ns >= TELL_NS) {
        SCOPED(buf_release) struct buf totals = {0};
        live->told_ns = now;
        fleet_totals(dispatcher_dispatch(d), live->places, &totals);
        out_complain(buf_str(&totals));
    }
}

void fleet_live_end(struct fleet_live *live)
{
    clear(live);
    fflush(stderr);
}
