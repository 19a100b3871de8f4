// SPDX-License-Identifier: Apache-2.0
#include "advise/answer.h"

#include <stdlib.h>
#include <string.h>

#include "advise/verdict.h"
#include "bill/bill.h"

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool is_spot(const struct bill *bill)
{
    return same_text(bill->kind, "spot");
}

// Under an assumed rule, started hours decide, as in the order of bills.
static int64_t price_of(const struct answer_row *row)
{
    int64_t least = quote_least(row->bill);
    return row->bill->by_hours.known && row->bill->by_hours.nano > least ? row->bill->by_hours.nano
                                                                         : least;
}

// ---- one row for each machine

static int by_machine(const void *a, const void *b)
{
    const struct bill *x = *(const struct bill *const *)a, *y = *(const struct bill *const *)b;
    int order = strcmp(x->provider ? x->provider : "", y->provider ? y->provider : "");
    order = order != 0 ? order : strcmp(x->name ? x->name : "", y->name ? y->name : "");
    return order != 0 ? order : (int)(x->place.v > y->place.v) - (x->place.v < y->place.v);
}

static bool is_open(const struct bill *bill)
{
    return bill_is_bound(bill) && standing_of(bill) == STANDING_TRIAL;
}

// Which bills make rows.
enum taking { TAKE_LEADING, TAKE_BOUNDS, TAKE_OLD };

// Of a limit, what misses it is shown only where nothing keeps it.
static bool may_show(const struct bill *bill, enum taking taking, bool kept)
{
    bool misses = same_text(bill->deadline, "missed") || same_text(bill->budget, "missed");
    return !(kept && misses) && (taking == TAKE_BOUNDS ? is_open(bill)
                                 : taking == TAKE_OLD  ? standing_of(bill) == STANDING_OLD
                                                       : verdict_can_lead(bill));
}

static bool same_machine(const struct bill *a, const struct bill *b)
{
    return same_text(a->provider, b->provider) && same_text(a->name, b->name);
}

static bool has_machine(const struct answer_row *rows, size_t count, const struct bill *bill)
{
    for (size_t i = 0; i < count; i++)
        if (same_machine(rows[i].bill, bill))
            return true;
    return false;
}

// Of each kind of price the first, which is the cheapest place.
static void take_bill(struct answer_row *row, const struct bill *bill)
{
    const struct bill **to = is_spot(bill) ? &row->spot : &row->demand;
    *to = *to ? *to : bill;
    row->bill = row->demand ? row->demand : row->spot;
}

// Behind the first `have` rows, which are few, unless they have the machine. `bills` are sorted by
// machine. The number of all rows.
static size_t gather(const struct bill *const *bills, size_t count, enum taking taking,
                     struct answer_row *rows, size_t have)
{
    const struct bill *last = NULL;
    size_t found = have;
    bool kept = false;
    for (size_t i = 0; i < count; i++)
        kept |= may_show(bills[i], taking, true);
    for (size_t i = 0; i < count; i++) {
        if (!may_show(bills[i], taking, kept) || has_machine(rows, have, bills[i]))
            continue;
        if (!last || !same_machine(last, bills[i]))
            rows[found++] = (struct answer_row){.old = taking == TAKE_OLD};
        take_bill(&rows[found - 1], bills[i]);
        last = bills[i];
    }
    return found;
}

// Beside a price on demand, what is known of spot: a lower bound at least.
static void add_spot(struct answer_row *row, const struct bill *const *bills, size_t count)
{
    const struct bill *b = row->bill;
    const struct bill *const *first =
        bsearch(&b, bills, count, sizeof *bills, by_machine); // `b` itself
    while (first && first > bills && same_machine(first[-1], b))
        first--;
    for (; first && first < bills + count && !row->spot && same_machine(*first, b); first++)
        if (is_spot(*first) && is_open(*first))
            row->spot = *first;
}

// ---- the order, and the few

static int by_price(const void *a, const void *b)
{
    const struct answer_row *x = a, *y = b;
    if (!x->demand != !y->demand)
        return x->demand ? -1 : 1;
    int64_t p = price_of(x), q = price_of(y);
    if (p != q)
        return p < q ? -1 : 1;
    return x->bill->place.v < y->bill->place.v ? -1 : x->bill->place.v > y->bill->place.v;
}

// The GPUs that the training uses; machines without any are one kind.
static bool same_kind(const struct bill *a, const struct bill *b)
{
    double x = a->gpus_used.known ? (double)a->gpus_used.v : a->gpus.v,
           y = b->gpus_used.known ? (double)b->gpus_used.v : b->gpus.v;
    bool own = same_text(a->provider, "own") == same_text(b->provider, "own");
    return own && same_text(a->gpu, b->gpu) && (!a->gpu || x == y);
}

static bool has_bill(const struct answer_row *row, const struct verdict_leaders *leaders)
{
    for (size_t i = 0; i < sizeof leaders->bills / sizeof *leaders->bills; i++)
        if (leaders->bills[i] &&
            (leaders->bills[i] == row->demand || leaders->bills[i] == row->spot))
            return true;
    return false;
}

// Whether a row before it has the same kind of GPU.
static bool is_repeated(const struct answer_row *rows, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same_kind(rows[k].bill, rows[i].bill))
            return true;
    return false;
}

// Whether a row before it is a machine of the same provider with fewer of the same GPUs, as fast:
// nobody pays for GPUs that stay idle.
static bool is_idle(const struct answer_row *rows, size_t i)
{
    const struct bill *b = rows[i].bill;
    for (size_t k = 0; k < i && b->gpus_used.known && (double)b->gpus_used.v < b->gpus.v; k++) {
        const struct bill *a = rows[k].bill;
        if (same_kind(a, b) && same_text(a->provider, b->provider) && a->gpus.v < b->gpus.v &&
            a->time_s.v <= b->time_s.v)
            return true;
    }
    return false;
}

enum { PICK_TAKEN, PICK_LEADER, PICK_FRONTIER, PICK_CHEAP, PICK_REPEATED, PICK_IDLE, PICKS };

// What speaks for each row from `from` on.
static void weigh(const struct answer_row *rows, size_t from, size_t count,
                  const struct verdict_leaders *leaders, unsigned char *picks)
{
    double best_s = 0;
    for (size_t i = from; i < count; i++) {
        bool front = verdict_on_frontier(&best_s, rows[i].bill->time_s.v);
        picks[i] = has_bill(&rows[i], leaders) ? PICK_LEADER
                   : is_idle(rows, i)          ? PICK_IDLE
                   : is_repeated(rows, i)      ? PICK_REPEATED
                   : front                     ? PICK_FRONTIER
                                               : PICK_CHEAP;
    }
}

// The same number of rows, or `most`.
static size_t keep_few(struct answer_row *rows, size_t from, size_t count, unsigned char *picks,
                       size_t most)
{
    size_t left = most - from, kept = from;
    for (int pick = PICK_LEADER; pick < PICKS; pick++)
        for (size_t i = from; i < count && left > 0; i++)
            if (picks[i] == pick) {
                picks[i] = PICK_TAKEN;
                left--;
            }
    for (size_t i = from; i < count; i++)
        if (picks[i] == PICK_TAKEN)
            rows[kept++] = rows[i];
    return kept;
}

// Leaves out larger machines of which GPUs would be idle; how many.
static size_t drop_idle(struct answer *out, unsigned char *picks)
{
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++)
        if (picks[i] != PICK_IDLE) {
            picks[kept] = picks[i];
            out->rows[kept++] = out->rows[i];
        }
    const size_t idle = out->count - kept;
    out->count = kept;
    return idle;
}

// Of those at older prices the cheapest and the fastest, and others between: one cannot tell who
// would lead.
static size_t add_old(const struct bill *const *bills, size_t count, size_t most,
                      struct answer_row *rows, size_t have, unsigned char *picks)
{
    const size_t all = gather(bills, count, TAKE_OLD, rows, have);
    struct verdict_leaders ends = {0};
    if (all == have)
        return have;
    qsort(rows + have, all - have, sizeof *rows, by_price);
    ends.bills[0] = ends.bills[1] = rows[have].bill;
    for (size_t i = have; i < all; i++)
        if (rows[i].bill->time_s.v < ends.bills[1]->time_s.v)
            ends.bills[1] = rows[i].bill;
    weigh(rows, have, all, &ends, picks);
    return keep_few(rows, have, all, picks, most);
}

static struct answer_hidden count_hidden(const struct bill *const *bills, size_t count)
{
    struct answer_hidden h = {0};
    for (size_t i = 0; i < count; i++) {
        enum standing standing = standing_of(bills[i]);
        bool aged = bills[i]->price_old.v && !bill_price_doubtful(bills[i]);
        if (standing == STANDING_OLD || (standing == STANDING_HIDDEN && aged))
            h.old++;
        else if (standing == STANDING_HIDDEN)
            h.doubtful++;
        else if (standing == STANDING_TRIAL)
            h.unknown++;
    }
    return h;
}

int answer_make(const struct quote *quote, size_t most, struct answer *out, struct err *err)
{
    size_t count = quote_count(quote);
    SCOPED(free_pointer) const struct bill **ranked = quote_rows(quote, err);
    SCOPED(free_pointer) const struct bill **bills = calloc(count + 1, sizeof *bills);
    SCOPED(free_pointer) unsigned char *picks = calloc(count + 1, 1);
    *out = (struct answer){.rows = calloc(count + 1, sizeof *out->rows)};
    if (!ranked || !bills || !picks || !out->rows)
        return err_memory(err);
    const struct verdict_leaders leaders = verdict_leaders(quote, ranked);
    memcpy(bills, ranked, count * sizeof *bills);
    if (count > 1)
        qsort(bills, count, sizeof *bills, by_machine);
    out->hidden = count_hidden(bills, count);
    out->count = gather(bills, count, TAKE_LEADING, out->rows, 0);
    out->bounds = out->count == 0;
    if (out->bounds)
        out->count = gather(bills, count, TAKE_BOUNDS, out->rows, 0);
    if (out->count > 1)
        qsort(out->rows, out->count, sizeof *out->rows, by_price);
    weigh(out->rows, 0, out->count, &leaders, picks);
    out->hidden.idle = drop_idle(out, picks);
    out->machines = out->count;
    if (most > 0 && out->count > most)
        out->count = keep_few(out->rows, 0, out->count, picks, most);
    if (!out->bounds && out->count < ANSWER_FEWEST)
        out->count =
            add_old(bills, count, most > 0 ? most : ANSWER_ROWS, out->rows, out->count, picks);
    for (size_t i = 0; i < out->count; i++)
        add_spot(&out->rows[i], bills, count);
    return 0;
}

void answer_release(struct answer *answer)
{
    free(answer->rows);
    *answer = (struct answer){0};
}
