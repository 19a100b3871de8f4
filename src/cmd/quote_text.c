// SPDX-License-Identifier: Apache-2.0
// A quote for people: sentences, then the table; one offer as a bill.
#include "cmd/quote.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"

#define ROWS 15 // without --all

static void short_money(const char *amount, char out[MONEY_BYTES])
{
    int64_t nano = 0;
    if (amount && money_parse(amount, &nano, NULL) == 0)
        money_short(nano, out);
    else
        snprintf(out, MONEY_BYTES, "?");
}

// "0.52", or "0.52 (0.51-0.53)" where there is an interval that shows; "0.52 of 1.52" after
// credits.
static void cost_words(const struct bill *b, bool interval, char *out, size_t size)
{
    char low[MONEY_BYTES], high[MONEY_BYTES], total[2 * MONEY_BYTES + 4];
    short_money(b->total, total);
    if (interval && b->before_credit) {
        short_money(b->before_credit, low);
        snprintf(total + strlen(total), MONEY_BYTES + 4, " of %s", low);
    }
    short_money(b->low, low);
    short_money(b->high, high);
    if (interval && b->low && b->high && strcmp(low, high) != 0)
        snprintf(out, size, "%s (%s-%s)", total, low, high);
    else
        snprintf(out, size, "%s", total);
}

static void time_words(const struct bill *b, char *out, size_t size)
{
    clock_words((int64_t)(b->time_s.v * 1e9), out, size);
}

static void age_words(const struct bill *b, bool days, char *out, size_t size)
{
    if (!days)
        snprintf(out, size, "%s", b->price_old.known && b->price_old.v ? "OLD" : "");
    else if (b->price_own.v)
        snprintf(out, size, "yours");
    else if (b->price_old.known && b->price_old.v)
        snprintf(out, size, "OLD: %s", units_count(b->price_age_days.v, "day").s);
    else
        snprintf(out, size, "%s", units_count(b->price_age_days.v, "day").s);
}

enum { GPUS, TIME, COST, WITH_YOU, AGE, COLUMNS };

// What gives way on a narrow terminal, each with those before it.
enum room { ROOM_FOR_ALL, NO_GPUS, NO_INTERVALS, NO_AGES, NO_TIME };

// The end of a name tells spot from on demand, the beginning whose it is: what is cut is between.
static void short_name(const struct bill *b, int width, char *out, size_t size)
{
    const char *kind = b->kind && strcmp(b->kind, "on-demand") != 0 ? b->kind : "";
    snprintf(out, size, "%s", b->offer);
    if (out_columns(out) <= width)
        return;
    snprintf(out, size, "%s/%s%s%s", b->provider, b->name, *kind ? ":" : "", kind);
    int tail = (int)strlen(kind) + (*kind ? 1 : 0);
    if (out_columns(out) > width && width > tail + 4)
        snprintf(out, size, "%.*s…%s%s", width - tail - 1, b->offer, *kind ? ":" : "", kind);
}

static void waiting_words(const struct bill *b, char *out, size_t size)
{
    int64_t total = bill_total(b), waiting = 0;
    char text[MONEY_BYTES];
    out[0] = '\0';
    if (!b->waiting || money_parse(b->waiting, &waiting, NULL) != 0 ||
        money_add(total, waiting, &total, NULL) != 0)
        return;
    money_short(total, text);
    snprintf(out, size, "%s", text);
}

static void fill_cells(const struct bill *b, enum room room, char cells[COLUMNS][64])
{
    memset(cells, 0, COLUMNS * sizeof *cells);
    if (b->gpu && b->gpus.known)
        snprintf(cells[GPUS], sizeof cells[GPUS], "%g×%s", b->gpus.v, b->gpu);
    if (b->gpus_used.known && b->gpus.known && (double)b->gpus_used.v < b->gpus.v)
        snprintf(cells[GPUS], sizeof cells[GPUS], "%lld of %g×%s", (long long)b->gpus_used.v,
                 b->gpus.v, b->gpu ? b->gpu : "");
    time_words(b, cells[TIME], sizeof cells[TIME]);
    cells[COST][0] = '~';
    cost_words(b, room < NO_INTERVALS, cells[COST] + b->price_estimated.v, sizeof cells[COST] - 1);
    if (b->incomplete.v || b->tariff_assumed.v) {
        size_t len = strlen(cells[COST]);
        snprintf(cells[COST] + len, sizeof cells[COST] - len, "*");
    }
    waiting_words(b, cells[WITH_YOU], sizeof cells[WITH_YOU]);
    age_words(b, room < NO_AGES, cells[AGE], sizeof cells[AGE]);
}

static void show_cells(struct out *out, const int *widths, int name_width, const char *name,
                       char cells[COLUMNS][64])
{
    out_cell(out, name_width, name);
    if (widths[GPUS] > 0)
        out_cell(out, widths[GPUS], cells[GPUS]);
    if (widths[TIME] > 0) {
        out_cell_right(out, widths[TIME], cells[TIME]);
        out_printf(out, "  ");
    }
    out_cell(out, widths[COST], cells[COST]);
    if (widths[WITH_YOU] > 0)
        out_cell(out, widths[WITH_YOU], cells[WITH_YOU]);
}

static void show_row(struct out *out, const struct bill *b, enum room room, const int *widths,
                     int name_width)
{
    char cells[COLUMNS][64];
    char name[256];
    fill_cells(b, room, cells);
    short_name(b, name_width, name, sizeof name);
    show_cells(out, widths, name_width, name, cells);
    out_styled(out, b->price_old.known && b->price_old.v ? OUT_YELLOW : OUT_DIM, "%s", cells[AGE]);
    buf_trim(&out->text);
    out_printf(out, "\n");
}

// The rates of exchange behind the rows, each once, with their dates: one may be OLD.
static void say_exchange(struct out *out, const struct quote *q, size_t rows)
{
    enum { MOST = 8 };
    const char *said[MOST];
    size_t count = 0;
    for (size_t i = 0; i < rows && count < MOST; i++) {
        const char *text = q->bills.items[i].exchange;
        for (size_t k = 0; text && k < count; k++)
            text = strcmp(said[k], text) == 0 ? NULL : text;
        if (text) {
            said[count++] = text;
            out_wrap(out, 0, text);
        }
    }
}

// The widths of the columns, and what is left for the name.
static int measure(const struct out *out, const struct quote *q, size_t rows, enum room room,
                   int widths[COLUMNS])
{
    static const char *const heads[COLUMNS] = {"GPUs", "time", "USD", "with you", "seen"};
    int sum = 1;
    for (int c = 0; c < COLUMNS; c++)
        widths[c] = (int)strlen(heads[c]);
    for (size_t i = 0; i < rows; i++) {
        char cells[COLUMNS][64];
        fill_cells(&q->bills.items[i], room, cells);
        for (int c = 0; c < COLUMNS; c++)
            widths[c] = out_columns(cells[c]) > widths[c] ? out_columns(cells[c]) : widths[c];
    }
    if (!q->bills.items[0].waiting)
        widths[WITH_YOU] = 0;
    if (room >= NO_GPUS)
        widths[GPUS] = 0;
    if (room >= NO_TIME)
        widths[TIME] = 0;
    for (int c = 0; c < COLUMNS; c++)
        sum += widths[c] + (widths[c] > 0);
    return out->width - sum;
}

static void show_table(struct out *out, const struct quote *q, size_t rows)
{
    enum { NAME_LEAST = 12 };
    int widths[COLUMNS], name_width;
    bool marked = false, estimated = false, credited = false;
    enum room room = out->width < 64 ? NO_GPUS : ROOM_FOR_ALL; // the name says more
    rows = rows < q->bills.count ? rows : q->bills.count;
    while ((name_width = measure(out, q, rows, room, widths)) < NAME_LEAST && room < NO_TIME)
        room++;
    name_width = name_width < NAME_LEAST ? NAME_LEAST : name_width;
    for (size_t i = 0; i < rows; i++) {
        estimated |= q->bills.items[i].price_estimated.v;
        credited |= q->bills.items[i].before_credit != NULL;
        marked |= q->bills.items[i].incomplete.v || q->bills.items[i].tariff_assumed.v;
    }
    show_cells(out, widths, name_width, "offer",
               (char[COLUMNS][64]){"GPUs", "time", "USD", "with you", "seen"});
    out_printf(out, room < NO_AGES ? "seen\n" : "\n");
    for (size_t i = 0; i < rows; i++)
        show_row(out, &q->bills.items[i], room, widths, name_width);
    if (marked)
        out_wrap(out, 0,
                 "* the provider's rules are not known (per second was assumed), or have no price "
                 "for something that was asked for: --offer shows what.");
    if (estimated)
        out_wrap(out, 0, "~ the price is estimated: nobody published it. --offer says from what.");
    if (credited && room < NO_INTERVALS)
        out_wrap(out, 0, "A of B: A is left of B after your credits.");
    say_exchange(out, q, rows);
    if (q->bills.count > rows)
        out_printf(out, "%zu more; --all shows them.\n", q->bills.count - rows);
}

// ---- one bill

static const char *period(int64_t per_s)
{
    static const struct {
        int64_t s;
        const char *words;
    } known[] = {{1, "a second"},
                 {60, "a minute"},
                 {3600, "an hour"},
                 {86400, "a day"},
                 {2592000, "a month of 30 days"},
                 {2628000, "a month of 730 hours"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].s == per_s)
            return known[i].words;
    return "its period";
}

// "  storage           100 GB        0.011574074"; on a narrow terminal the middle stands below.
static void show_line(struct out *out, const char *what, const char *how, const char *amount)
{
    enum { HOW = 16, AMOUNT = 18, WHAT = 36, NARROW = 60 };
    bool below = out->width < NARROW;
    int room = out->width - AMOUNT - 4 - (below ? 0 : HOW + 1);
    out_printf(out, "  ");
    out_cell(out, room > WHAT ? WHAT : room, what);
    if (!below)
        out_cell(out, HOW, how ? how : "");
    out_cell_right(out, AMOUNT, amount);
    out_printf(out, "\n");
    if (below && how && *how)
        out_wrap(out, 4, how);
}

static void show_bill(struct out *out, const struct bill *b)
{
    char total[MONEY_BYTES], high[MONEY_BYTES], line[240];
    struct buf head = {0};
    out_styled(out, OUT_BOLD, "%s", b->offer);
    out_printf(out, "\n");
    buf_printf(&head, "%s%s %s for %s%s%s", b->price_estimated.v ? "estimated: " : "", b->rate,
               b->currency, period(b->per_s.v),
               !b->price_own.v ? ", seen "
               : b->price_date ? ", your own rate since "
                               : ", your own rate",
               b->price_date ? b->price_date : "");
    if (b->price_old.v)
        buf_printf(&head, " (OLD: %s)", units_count(b->price_age_days.v, "day").s);
    buf_printf(&head, "; the time is that of run %s on %s, %s", b->run,
               b->machine ? b->machine : "an unknown machine", b->basis);
    out_wrap(out, 2, buf_str(&head));
    out->text.failed |= head.failed;
    buf_release(&head);
    out_wrap(out, 2, b->words ? b->words : "");
    if (b->exchange)
        out_wrap(out, 2, b->exchange);
    out_printf(out, "\n");
    for (size_t i = 0; i < b->items.count; i++) {
        const struct bill_item *item = &b->items.items[i];
        if (b->before_credit && i + 1 == b->items.count) // the last
            show_line(out, "before credit", "", b->before_credit);
        show_line(out, item->what, item->how, item->amount);
    }
    time_words(b, line, sizeof line);
    show_line(out, "total, without tax", line, b->total);
    short_money(b->low, total);
    short_money(b->high, high);
    snprintf(line, sizeof line, "95 %% interval of the time: %s to %s USD", total, high);
    if (b->low && b->high && strcmp(total, high) != 0)
        out_wrap(out, 2, line);
    if (b->waiting) {
        short_money(b->waiting, total);
        snprintf(line, sizeof line, "your waiting, not in the total: %s USD", total);
        out_wrap(out, 2, line);
    }
    if (b->tariff_assumed.known && b->tariff_assumed.v)
        out_wrap(out, 2, "This provider's rules are not known: per second was assumed.");
    if (b->basis && strcmp(b->basis, "assumed") == 0)
        out_wrap(out, 2,
                 "The time was measured on another machine, and is assumed to be the same here.");
    for (size_t i = 0; i < b->notes.count; i++) {
        out_printf(out, "  - ");
        out_wrap_here(out, 4, b->notes.items[i]);
    }
}

// ---- all of it

static bool filtered(const struct quote_options *o)
{
    return o->gpu || o->provider || o->region || o->kind || o->max_age != QUOTE_MAX_AGE;
}

static void say_nothing_fits(struct out *out, const struct quote_job *job,
                             const struct quote_options *o)
{
    const struct run *run = job->runs.count > 0 ? &job->runs.items[0] : NULL;
    struct bill_time time;
    if (!run) {
        out_wrap(out, 0,
                 "Nothing was measured of this workload, and nobody published it. 'fare run' "
                 "measures it.");
    } else if (filtered(o)) {
        out_wrap(out, 0,
                 "Nothing that --gpu, --provider, --region, --kind and --max-age leave was "
                 "measured.");
    } else if (!bill_time_of(run, &time) && run_label(run, "relative_speed")) {
        out_wrap(out, 0,
                 "Of this training only speeds relative to each other are known, no time, so there "
                 "is no bill. 'fare compare' says what they make of the costs.");
    } else if (!bill_time_of(run, &time)) {
        out_wrap(out, 0,
                 "How long the whole training takes is not known: the run ended early and could "
                 "not be projected. Let it tell its total (--total-steps), or run it --full.");
    } else {
        char text[400], words[48];
        const struct run_machine *m = &run->machine;
        const char *none = job->quote.outdated
                               ? ""
                               : " No offer in the book is known to be the same: name one with "
                                 "--offer PROVIDER/NAME, which declares that this machine is it.";
        clock_words(time.total_ns, words, sizeof words);
        snprintf(text, sizeof text, "The whole training takes %s on the machine measured (%s).%s",
                 words,
                 m->instance_type ? m->instance_type
                 : m->gpu         ? m->gpu
                 : m->cpu         ? m->cpu
                                  : "unknown",
                 none);
        out_wrap(out, 0, text);
    }
}

// A price that is too old to count, and what the deadline makes of it all.
static void say_more(struct out *out, const struct quote_job *job)
{
    const struct quote *q = &job->quote;
    struct bill_time time;
    struct buf text = {0};
    if (q->outdated)
        buf_printf(&text, "%s '--max-age %lld' lets it count.", q->advice.items[0],
                   (long long)q->outdated_days.v);
    if (text.len > 0)
        out_wrap(out, 0, buf_str(&text));
    // The first is about offers, where there is a time to look for them with.
    for (size_t i = quote_base(&job->ask, &time) ? 1 : 0; i < q->advice.count; i++)
        out_wrap(out, 0, q->advice.items[i]);
    out->text.failed |= text.failed;
    buf_release(&text);
}

// The run asked for has no time of its own: what follows is of others.
static void say_of_others(struct out *out, const struct quote_job *job)
{
    struct bill_time time;
    if (!job->asked || quote_base(&job->ask, &time))
        return;
    out_wrap(out, 0,
             "How long the whole training takes on this run's machine is not known: it ended early "
             "and could not be projected. These are the times of other runs of the same training.");
    out_printf(out, "\n");
}

static void say_rest(struct out *out, const struct quote *q, const struct quote_options *o)
{
    for (size_t i = 0; i < q->misfits.count; i++) {
        struct buf line = {0};
        buf_printf(&line, "%s: %s", q->misfits.items[i].offer, q->misfits.items[i].why);
        out_wrap(out, 0, buf_str(&line));
        out->text.failed |= line.failed;
        buf_release(&line);
    }
    char text[240] = "Tax is left out.";
    if (q->not_measured.known && q->not_measured.v > 0)
        snprintf(text, sizeof text, "%s%s %s not measured, and so not guessed. Tax is left out.",
                 units_count(q->not_measured.v, "other offer").s, filtered(o) ? " like these" : "",
                 q->not_measured.v == 1 ? "is" : "are");
    out_printf(out, "\n");
    out_wrap(out, 0, text);
}

static void show_title(struct out *out, const struct quote_job *job)
{
    const struct quote *q = &job->quote;
    struct buf rest = {0}, all = {0};
    buf_printf(&rest, ", the whole training%s%s%s", q->date ? ", prices of " : "",
               q->date ? q->date : "",
               job->ask.wishes.prorated ? ", prorated (nobody charges so)" : "");
    buf_printf(&all, "%s%s", q->workload, buf_str(&rest));
    if (out_columns(buf_str(&all)) <= out->width) {
        out_styled(out, OUT_BOLD, "%s", q->workload);
        out_printf(out, "%s\n", buf_str(&rest));
    } else {
        out_wrap(out, 0, buf_str(&all));
    }
    out_printf(out, "\n");
    out->text.failed |= rest.failed || all.failed;
    buf_release(&rest);
    buf_release(&all);
}

void quote_show(struct out *out, const struct quote_job *job, const struct quote_options *o)
{
    const struct quote *q = &job->quote;
    show_title(out, job);
    if (q->bills.count > 0 && !o->offer)
        say_of_others(out, job);
    if (q->bills.count == 0 && q->misfits.count == 0)
        say_nothing_fits(out, job, o);
    if (q->bills.count == 0)
        say_more(out, job);
    if (q->bills.count == 1 && o->offer) {
        show_bill(out, &q->bills.items[0]);
        if (q->advice.count > 1)
            out_printf(out, "\n");
        for (size_t i = 1; i < q->advice.count; i++) // the first is the bill once more
            out_wrap(out, 0, q->advice.items[i]);
    } else if (q->bills.count > 0) {
        for (size_t i = 0; i < q->advice.count; i++)
            out_wrap(out, 0, q->advice.items[i]);
        out_printf(out, "\n");
        show_table(out, q, o->all ? SIZE_MAX : ROWS);
    }
    say_rest(out, q, o);
}
