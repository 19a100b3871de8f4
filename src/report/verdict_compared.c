// SPDX-License-Identifier: Apache-2.0
// The verdict on the rows of the comparison: the cheapest and the fastest, what equals them, and
// what cannot be told from them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "report/verdict.h"

// ---- names

// Whether a piece of a row's detail is a hash or a cut text.
static bool is_internal(const char *piece)
{
    static const char *const starts[] = {"data ", "machine ", "net "};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(piece, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

// Appends "box + fare (bf16, machine 2a4b7c9d)" without such pieces.
static void add_plain(const char *label, struct buf *out)
{
    const char *piece = NULL, *before = " (";
    for (const char *at = strstr(label, " ("); at; at = strstr(at + 1, " ("))
        piece = at; // the detail is last
    size_t len = strlen(label);
    if (!piece || label[len - 1] != ')') {
        buf_adds(out, label);
        return;
    }
    buf_add(out, label, (size_t)(piece - label));
    for (piece += 2; piece < label + len - 1;) {
        const char *end = strstr(piece, ", ");
        end = end ? end : label + len - 1;
        if (!is_internal(piece)) {
            buf_adds(out, before);
            buf_add(out, piece, (size_t)(end - piece));
            before = ", ";
        }
        piece = end + (*end == ',' ? 2 : 0);
    }
    buf_adds(out, *before == ',' ? ")" : "");
}

void verdict_label(const struct compare_row *row, struct buf *out)
{
    struct buf label = {0};
    compare_label(row, &label);
    add_plain(buf_str(&label), out);
    buf_drop(out, &label);
}

// ---- rows that can win

enum { COST, TIME, MEASURES };

static const struct words {
    const char *least, *both, *noun, *equal, *equals;
} words[MEASURES] = {
    [COST] = {"costs the least", "the cheapest", "cost", "costs the same", "cost the same"},
    [TIME] = {"is the fastest", "the fastest", "time", "is as fast", "are as fast"},
};

struct figure {
    struct maybe_real value, low, high;
    struct maybe_real ratio;
};

struct contender {
    const struct compare_row *row;    // of one workload
    const struct page_mean_row *mean; // or over several
    bool base;
    int64_t runs;
    struct figure figures[MEASURES];
};

struct contest {
    struct contender *items;
    size_t count;
    size_t best[MEASURES]; // `count`: nothing is known
};

static void set_row(struct contender *c, const struct compare_row *row)
{
    struct figure *cost = &c->figures[COST], *time = &c->figures[TIME];
    *c = (struct contender){.row = row, .base = row->base.v, .runs = row->runs.v};
    cost->ratio = row->money.ratio;
    time->ratio = row->time.ratio;
    if (row->cost.lower_bound.v) { // it wins nothing
        cost->ratio = (struct maybe_real){0};
    } else if (row->cost.nano_usd.known) {
        cost->value = some_real((double)row->cost.nano_usd.v / 1e9);
        cost->low = money_real(row->cost.low_usd);
        cost->high = money_real(row->cost.high_usd);
    } else { // of relative speeds, only ratios are known
        cost->value = row->money.ratio;
    }
    if (row->time_s.value.known) {
        time->value = row->time_s.value;
        time->low = row->time_s.low;
        time->high = row->time_s.high;
    } else {
        time->value = row->time.ratio;
    }
}

static void set_mean(struct contender *c, const struct page_mean_row *mean)
{
    const struct page_mean *const all[MEASURES] = {[COST] = &mean->cost, [TIME] = &mean->time};
    *c = (struct contender){.mean = mean, .base = mean->base.v, .runs = mean->runs.v};
    for (int m = 0; m < MEASURES; m++)
        c->figures[m] = (struct figure){all[m]->ratio, all[m]->low, all[m]->high, all[m]->ratio};
}

static size_t least_of(const struct contest *c, int measure, size_t but)
{
    size_t best = c->count;
    for (size_t i = 0; i < c->count; i++) {
        const struct figure *f = &c->items[i].figures[measure];
        if (i != but && f->value.known &&
            (best == c->count || f->value.v < c->items[best].figures[measure].value.v))
            best = i;
    }
    return best;
}

// ---- sentences

static void add_contender(const struct contender *c, struct buf *out)
{
    if (c->mean)
        add_plain(c->mean->name, out);
    else
        verdict_label(c->row, out);
}

// ", $2.38 a training" or ", about 1 h 04 min"
static void add_value(const struct contender *c, int measure, struct buf *out)
{
    char cost[MONEY_BYTES];
    if (!c->row)
        return;
    if (measure == COST && c->row->cost.nano_usd.known) {
        money_short(c->row->cost.nano_usd.v, cost);
        buf_printf(out, ", $%s a training", cost);
    } else if (measure == TIME && c->row->time_s.value.known) {
        buf_printf(out, ", %s", strcmp(c->row->kind, "projected") == 0 ? "about " : "");
        verdict_time(out, c->row->time_s.value.v);
    }
}

static bool same_name(const struct contender *a, const struct contender *b)
{
    struct buf first = {0}, second = {0};
    add_contender(a, &first);
    add_contender(b, &second);
    bool same = strcmp(buf_str(&first), buf_str(&second)) == 0;
    buf_release(&first);
    buf_release(&second);
    return same;
}

// A name that only a hash tells from others is not enough.
static void add_base(const struct contest *c, const struct contender *best, struct buf *out)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->items[i].base && !same_name(&c->items[i], best)) {
            add_contender(&c->items[i], out);
            return;
        }
    buf_adds(out, "the base");
}

static void add_winner(const struct contest *c, int measure, struct buf *out)
{
    const struct contender *best = &c->items[c->best[measure]];
    size_t alike = 0;
    for (size_t i = 0; i < c->count; i++)
        alike += same_name(best, &c->items[i]);
    add_contender(best, out);
    if (alike > 1)
        buf_printf(out, " (one of %zu of that name)", alike);
}

// " (0.7308 of the cost of p2.xlarge)"; of the base, how far the next is.
static void add_ratio(const struct contest *c, int measure, struct buf *out)
{
    const struct contender *best = &c->items[c->best[measure]];
    const struct figure *f = &best->figures[measure];
    const char *noun = words[measure].noun;
    if (!best->base) {
        if (!f->ratio.known)
            return;
        buf_printf(out, " (%.4f of the %s of ", f->ratio.v, noun);
        add_base(c, best, out);
        buf_adds(out, ")");
        return;
    }
    size_t next = least_of(c, measure, c->best[measure]);
    buf_adds(out, " (the base");
    if (next < c->count && c->items[next].figures[measure].ratio.known) {
        buf_adds(out, "; next is ");
        add_contender(&c->items[next], out);
        buf_printf(out, " at %.4f of its %s", c->items[next].figures[measure].ratio.v, noun);
    }
    buf_adds(out, ")");
}

static void add_best(const struct contest *c, int measure, struct buf *out)
{
    add_value(&c->items[c->best[measure]], measure, out);
    add_ratio(c, measure, out);
}

static bool overlaps(const struct figure *a, const struct figure *b)
{
    return a->high.known && (b->low.known ? b->low.v : b->value.v) <= a->high.v;
}

// Those that equal the best, and those that it cannot be told from.
static void add_ties(const struct contest *c, int measure, struct buf *out)
{
    const struct contender *best = &c->items[c->best[measure]];
    const struct contender *equal = NULL, *near = NULL;
    size_t equals = 0, nears = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct contender *other = &c->items[i];
        const struct figure *f = &other->figures[measure];
        if (other == best || !f->value.known)
            continue;
        if (f->value.v == best->figures[measure].value.v) {
            equal = other;
            equals++;
        } else if (overlaps(&best->figures[measure], f)) {
            near = other;
            nears++;
        }
    }
    if (equals == 1) {
        buf_addc(out, ' ');
        add_contender(equal, out);
        buf_printf(out, " %s.", words[measure].equal);
    } else if (equals > 1) {
        buf_printf(out, " %zu others %s.", equals, words[measure].equals);
    }
    if (nears == 0)
        return;
    buf_printf(out, " The %s of ", words[measure].noun);
    add_contender(best, out);
    buf_adds(out, " cannot be told from that of ");
    if (nears == 1)
        add_contender(near, out);
    else
        buf_printf(out, "%zu others", nears);
    buf_adds(out, ": the 95 % intervals overlap.");
}

// A single run without an interval does not show how much runs differ.
static bool by_chance(const struct contest *c, int measure)
{
    return c->best[measure] < c->count && c->items[c->best[measure]].runs <= 1 &&
           !c->items[c->best[measure]].figures[measure].high.known;
}

static void say_best(struct contest *c, struct buf *out)
{
    bool known[MEASURES];
    for (int m = 0; m < MEASURES; m++) {
        c->best[m] = least_of(c, m, c->count);
        known[m] = c->best[m] < c->count;
    }
    if (known[COST] && known[TIME] && c->best[COST] == c->best[TIME]) {
        add_winner(c, COST, out);
        for (int m = 0; m < MEASURES; m++) {
            buf_printf(out, "%s%s", m == 0 ? " is both " : " and ", words[m].both);
            add_best(c, m, out);
        }
    } else {
        for (int m = 0; m < MEASURES; m++) {
            if (!known[m])
                continue;
            buf_adds(out, m > 0 && known[COST] ? ", and " : "");
            add_winner(c, m, out);
            buf_printf(out, " %s", words[m].least);
            add_best(c, m, out);
        }
    }
    buf_adds(out, ".");
    for (int m = 0; m < MEASURES; m++)
        if (known[m])
            add_ties(c, m, out);
    if (by_chance(c, COST) || by_chance(c, TIME))
        buf_adds(out, " One run each: could be chance.");
}

// Whether there are two, with something to compare.
static bool has_best(const struct contest *c)
{
    return c->count > 1 &&
           (least_of(c, COST, c->count) < c->count || least_of(c, TIME, c->count) < c->count);
}

// ---- over all workloads, or of one

static bool say_means(const struct page_means *means, struct buf *out)
{
    struct contest c = {.items = calloc(means->rows.count + 1, sizeof *c.items)};
    out->failed |= !c.items;
    for (size_t i = 0; c.items && i < means->rows.count; i++)
        if (!means->rows.items[i].noisy.v)
            set_mean(&c.items[c.count++], &means->rows.items[i]);
    bool can = has_best(&c);
    if (can) {
        buf_printf(out, "By the geometric mean over %zu workloads that all %zu ran, ",
                   means->workloads.count, means->rows.count);
        say_best(&c, out);
    }
    free(c.items);
    return can;
}

static bool say_rows(const struct compare_workload *w, bool named, struct buf *out)
{
    struct contest c = {.items = calloc(w->rows.count + 1, sizeof *c.items)};
    size_t unsure = 0;
    out->failed |= !c.items;
    for (size_t i = 0; c.items && i < w->rows.count; i++) {
        const struct compare_row *row = &w->rows.items[i];
        unsure += row->noisy.v || row->stopped.v;
        if (!compare_can_win(row))
            continue;
        set_row(&c.items[c.count], row);
        c.count += c.items[c.count].figures[COST].value.known ||
                   c.items[c.count].figures[TIME].value.known || row->base.v;
    }
    bool can = has_best(&c);
    if (can) {
        buf_printf(out, "Of the %zu compared%s%s", c.count, named ? " for " : "",
                   named ? w->workload : "");
        if (unsure > 0)
            buf_printf(out, " (%zu more %s noisy or stopped)", unsure, unsure == 1 ? "is" : "are");
        buf_adds(out, ", ");
        say_best(&c, out);
    }
    free(c.items);
    return can;
}

// Of l1 the parts count too: a row may have nothing else.
static void say_parts(const struct compare_workload *w, struct buf *out)
{
    for (size_t i = 0; i < w->sentences.count; i++)
        if (strncmp(w->sentences.items[i], "Transfer ", 9) == 0 ||
            strncmp(w->sentences.items[i], "Calculation ", 12) == 0)
            buf_printf(out, " %s", w->sentences.items[i]);
}

// ---- in one sentence, for a title

static void gather_rows(struct contest *c, const struct compare_workload *w)
{
    for (size_t i = 0; i < w->rows.count; i++) {
        if (!compare_can_win(&w->rows.items[i]))
            continue;
        set_row(&c->items[c->count], &w->rows.items[i]);
        c->count++;
    }
}

// "0.50 of the time", "2.00 times the time"; false if it is not known, or could be chance.
static bool title_ratio(const struct contender *c, int measure, struct buf *out)
{
    const struct compare_against *against = measure == TIME ? &c->row->time : &c->row->money;
    bool chance = against->low.known && against->low.v <= 1 && against->high.v >= 1;
    if (!against->ratio.known || chance || (measure == COST && c->row->cost.lower_bound.v))
        return false;
    buf_printf(out, "%.3g %s the %s", against->ratio.v, against->ratio.v < 1 ? "of" : "times",
               words[measure].noun);
    return true;
}

// "cnn: box-2 takes 2.00 times the time and 0.5 of the cost of box-1"
static void title_of_two(const struct contest *c, struct buf *out)
{
    const struct contender *base = &c->items[c->items[0].base ? 0 : 1];
    const struct contender *other = &c->items[c->items[0].base ? 1 : 0];
    struct buf ratios[MEASURES] = {{0}};
    bool time = title_ratio(other, TIME, &ratios[TIME]);
    bool cost = title_ratio(other, COST, &ratios[COST]);
    add_contender(other, out);
    if (time || cost) {
        buf_printf(out, " takes %s%s%s of ", buf_str(&ratios[TIME]), time && cost ? " and " : "",
                   buf_str(&ratios[COST]));
        add_contender(base, out);
    } else {
        buf_adds(out, " and ");
        add_contender(base, out);
        buf_adds(out, " cannot be told apart");
    }
    buf_drop(out, &ratios[TIME]);
    buf_drop(out, &ratios[COST]);
}

// Whether another one's interval overlaps that of the best.
static bool is_tied(const struct contest *c, int measure)
{
    const struct contender *best = &c->items[c->best[measure]];
    for (size_t i = 0; i < c->count; i++) {
        const struct figure *f = &c->items[i].figures[measure];
        if (&c->items[i] != best && f->value.known &&
            (f->value.v == best->figures[measure].value.v || overlaps(&best->figures[measure], f)))
            return true;
    }
    return false;
}

// "box-1 is the fastest of 6, box-2 the cheapest"; what is tied is not said.
static void title_of_many(struct contest *c, struct buf *out)
{
    bool known[MEASURES];
    for (int m = 0; m < MEASURES; m++) {
        c->best[m] = least_of(c, m, c->count);
        known[m] = c->best[m] < c->count && !is_tied(c, m);
    }
    if (known[TIME]) {
        add_contender(&c->items[c->best[TIME]], out);
        buf_printf(out, " is the fastest%s of %zu",
                   known[COST] && c->best[COST] == c->best[TIME] ? " and the cheapest" : "",
                   c->count);
    }
    if (!known[COST] || (known[TIME] && c->best[COST] == c->best[TIME])) {
        if (!known[TIME])
            buf_printf(out, "none of %zu is ahead: the intervals overlap", c->count);
        return;
    }
    buf_adds(out, known[TIME] ? ", " : "");
    add_contender(&c->items[c->best[COST]], out);
    buf_adds(out, known[TIME] ? " the cheapest" : " is the cheapest");
    if (!known[TIME])
        buf_printf(out, " of %zu", c->count);
}

static const struct compare_row *fastest_of(const struct compare_workload *w)
{
    const struct compare_row *best = NULL;
    for (size_t i = 0; i < w->rows.count; i++) {
        const struct compare_row *row = &w->rows.items[i];
        if (compare_can_win(row) && row->time_s.value.known &&
            (!best || row->time_s.value.v < best->time_s.value.v))
            best = row;
    }
    return best;
}

// "box + fare is the fastest in 3 of 5 workloads", whatever the batch and the precision.
static void title_of_workloads(const struct compare *c, struct buf *out)
{
    const struct compare_row *winner = NULL;
    size_t compared = 0, most = 0;
    for (size_t i = 0; i < c->workloads.count; i++) {
        const struct compare_row *best = fastest_of(&c->workloads.items[i]);
        size_t won = 0;
        if (!best || c->workloads.items[i].rows.count < 2)
            continue;
        compared++;
        for (size_t k = 0; k < c->workloads.count; k++) {
            const struct compare_row *other =
                c->workloads.items[k].rows.count > 1 ? fastest_of(&c->workloads.items[k]) : NULL;
            won += other && strcmp(other->machine, best->machine) == 0 &&
                   strcmp(other->framework, best->framework) == 0;
        }
        winner = won > most ? best : winner;
        most = won > most ? won : most;
    }
    if (compared < 2)
        return;
    const struct compare_row plain = {.machine = winner->machine, .framework = winner->framework};
    verdict_label(&plain, out);
    buf_printf(out, " is the fastest in %zu of %zu workloads", most, compared);
}

void verdict_title(const struct page *page, struct buf *out)
{
    const struct compare *compare = &page->compare;
    const struct compare_workload *only = NULL;
    struct contest c = {0};
    size_t compared = 0, most = page->means.rows.count;
    for (size_t i = 0; i < compare->workloads.count; i++)
        if (compare->workloads.items[i].rows.count > 1) {
            only = &compare->workloads.items[i];
            compared++;
        }
    most = compared == 1 && only->rows.count > most ? only->rows.count : most;
    c.items = calloc(most + 1, sizeof *c.items);
    out->failed |= !c.items;
    if (c.items && compared == 1 && compare->workloads.count == 1)
        gather_rows(&c, only);
    else if (c.items)
        for (size_t i = 0; i < page->means.rows.count; i++)
            if (!page->means.rows.items[i].noisy.v)
                set_mean(&c.items[c.count++], &page->means.rows.items[i]);
    bool rows = c.count > 1 && c.items[0].row;
    if (has_best(&c)) {
        if (rows)
            buf_printf(out, "%s: ", only->workload);
        else
            buf_printf(out, "Over %zu workloads, ", page->means.workloads.count);
        if (rows && c.count == 2 && (c.items[0].base || c.items[1].base))
            title_of_two(&c, out);
        else
            title_of_many(&c, out);
    } else {
        title_of_workloads(compare, out);
    }
    free(c.items);
}

void verdict_compared(const struct page *page, struct buf *out)
{
    const struct compare *c = &page->compare;
    const struct compare_workload *only = NULL;
    size_t compared = 0;
    for (size_t i = 0; i < c->workloads.count; i++)
        if (c->workloads.items[i].sentences.count > 0) {
            only = &c->workloads.items[i];
            compared++;
        }
    if (page->means.rows.count > 0 && say_means(&page->means, out))
        return;
    if (compared == 1 && say_rows(only, c->workloads.count > 1, out)) {
        say_parts(only, out);
        return;
    }
    for (size_t i = 0; i < c->sentences.count; i++)
        buf_printf(out, "%s%s", i ? " " : "", c->sentences.items[i]);
    if (c->sentences.count == 0 && c->workloads.count == 1 && compared == 1) // noisy, or l1
        buf_adds(out, only->sentences.items[0]);
}
