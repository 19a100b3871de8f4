// SPDX-License-Identifier: Apache-2.0
#include "advise/spot/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "bill/charge.h"

#define HOUR_NS      (3600 * NS_PER_S)
#define MEAN_MOST_NS ((int64_t)1 << 60)

// ---- prices

int replay_prices_init(struct replay_prices *p, const struct spot_series *series, struct err *err)
{
    *p = (struct replay_prices){.count = series->count};
    if (series->count == 0)
        return err_set(err, ERR_FORMAT, "a price history without a price");
    p->at_ns = calloc(series->count, sizeof *p->at_ns);
    p->nano_hour = calloc(series->count, sizeof *p->nano_hour);
    p->sum = calloc(series->count + 1, sizeof *p->sum);
    int rc = p->at_ns && p->nano_hour && p->sum ? 0 : err_memory(err);
    const struct spot_change *c = series->changes;
    for (size_t i = 0; rc == 0 && i <= series->count; i++) {
        int64_t at_s = i < series->count ? c[i].at_s : series->until_s;
        if (i > 0 && (at_s <= c[i - 1].at_s || at_s - c[0].at_s > INT64_MAX / 4 / NS_PER_S))
            rc = err_set(err, ERR_FORMAT, "the times of a price history do not ascend");
        int64_t at_ns = rc == 0 ? (at_s - c[0].at_s) * NS_PER_S : 0;
        if (rc == 0 && i > 0)
            p->sum[i] = p->sum[i - 1] + (__int128)c[i - 1].nano_usd * (at_ns - p->at_ns[i - 1]);
        if (i == series->count) {
            p->length_ns = at_ns;
        } else if (rc == 0) {
            p->at_ns[i] = at_ns;
            p->nano_hour[i] = c[i].nano_usd;
        }
    }
    if (rc != 0)
        replay_prices_release(p);
    return rc;
}

void replay_prices_release(struct replay_prices *p)
{
    free(p->at_ns);
    free(p->nano_hour);
    free(p->sum);
    *p = (struct replay_prices){0};
}

// The integral from the start to `at_ns`, over any number of repetitions.
static __int128 until(const struct replay_prices *p, int64_t at_ns)
{
    int64_t rounds = at_ns / p->length_ns, rest = at_ns % p->length_ns;
    size_t low = 0, high = p->count; // the change that applies is in [low, high)
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (p->at_ns[middle] <= rest)
            low = middle;
        else
            high = middle;
    }
    return rounds * p->sum[p->count] + p->sum[low] +
           (__int128)p->nano_hour[low] * (rest - p->at_ns[low]);
}

int64_t replay_price(const struct replay_prices *p, int64_t from_ns, int64_t length_ns)
{
    __int128 sum = until(p, from_ns + length_ns) - until(p, from_ns);
    return (int64_t)((2 * sum + length_ns) / (2 * (__int128)length_ns));
}

// ---- one replay

struct going { // a replay in progress; times are after its start
    const struct replay *r;
    struct replay_result *result;
    struct rng rng;
    int64_t trace_ns, prices_ns; // where in them it started
    size_t span;                 // of the trace: none before it is of use
    int64_t round_ns;            // repetitions of the trace so far
    int64_t now_ns, left_ns;     // left: work that is not saved
    int64_t saved_ns;            // the last time that some was saved
};

// The time of that work with a checkpoint between two intervals.
static int64_t with_checkpoints(const struct replay *r, int64_t work_ns)
{
    if (r->interval_ns == 0 || work_ns == 0)
        return work_ns;
    return work_ns + (work_ns - 1) / r->interval_ns * r->checkpoint_ns;
}

int64_t replay_uninterrupted_ns(const struct replay *r)
{
    return r->first_ns + with_checkpoints(r, r->work_ns);
}

// The next machine: when it can be had and when it is taken away; false: never.
static bool next_of_trace(struct going *g, int64_t *from_ns, int64_t *until_ns)
{
    const struct availability *a = g->r->trace;
    if (a->count == 0)
        return false;
    for (;;) { // in the trace's own time
        int64_t now = g->now_ns + g->trace_ns - g->round_ns;
        if (g->span == a->count) {
            g->span = 0;
            g->round_ns += a->length_ns;
            continue;
        }
        const struct availability_span *s = &a->up[g->span];
        if (s->until_ns <= now) {
            g->span++;
            continue;
        }
        int64_t shift = g->round_ns - g->trace_ns;
        *from_ns = (s->from_ns > now ? s->from_ns : now) + shift;
        *until_ns = s->until_ns + shift;
        // A stretch that reaches the end goes on at the beginning, if that is one too.
        if (s->until_ns == a->length_ns && a->up[0].from_ns == 0)
            *until_ns = a->count == 1 && s->from_ns == 0 ? INT64_MAX
                                                         : a->up[0].until_ns + a->length_ns + shift;
        return true;
    }
}

static void next_at_random(struct going *g, int64_t *from_ns, int64_t *until_ns)
{
    *from_ns = g->now_ns;
    *until_ns = INT64_MAX;
    if (g->r->mean_ns == 0)
        return;
    double draw = -log1p(-rng_double(&g->rng)) * (double)g->r->mean_ns;
    if (draw < (double)(INT64_MAX / 4))
        *until_ns = g->now_ns + (int64_t)(draw + 0.5);
}

static int charge(struct going *g, const struct rule *by, int64_t from_ns, int64_t length_ns,
                  bool taken, struct err *err)
{
    const struct replay *r = g->r;
    const struct charge_use use = {.start_s = r->start_s + from_ns / NS_PER_S,
                                   .length_ns = length_ns,
                                   .interrupted = taken,
                                   .prorated = r->prorated,
                                   .storage_gb = r->storage_gb,
                                   .storage_ns = length_ns,
                                   .discount_permille = r->discount_permille};
    struct rule rule = *by;
    struct charge charged;
    if (length_ns == 0)
        return 0;
    if (r->prices && by == r->rule) {
        rule.rate = replay_price(r->prices, g->prices_ns + from_ns, length_ns);
        rule.per_ns = HOUR_NS;
    }
    TRY(charge_use(&rule, &use, &charged, err));
    g->result->charged_ns += charged.charged_ns;
    return money_add(g->result->nano, charged.total, &g->result->nano, err);
}

// The work that is safe when a machine is taken away after `up_ns` of work and checkpoints.
static int64_t saved_ns(const struct replay *r, int64_t up_ns)
{
    int64_t cycle = r->interval_ns + r->checkpoint_ns;
    if (r->interval_ns == 0 || up_ns <= 0)
        return 0;
    if (r->notice_ns < r->checkpoint_ns || r->notice_ns == 0)
        return up_ns / cycle * r->interval_ns;
    int64_t told = up_ns - r->notice_ns; // it writes one at once, or ends the one it writes
    if (told <= 0)
        return 0;
    int64_t into = told % cycle;
    return told / cycle * r->interval_ns + (into < r->interval_ns ? into : r->interval_ns);
}

// The work done until then, saved or not.
static int64_t done_ns(const struct replay *r, int64_t up_ns)
{
    int64_t cycle = r->interval_ns + r->checkpoint_ns;
    if (up_ns <= 0)
        return 0;
    if (r->interval_ns == 0)
        return up_ns;
    int64_t into = up_ns % cycle;
    return up_ns / cycle * r->interval_ns + (into < r->interval_ns ? into : r->interval_ns);
}

// One machine; `*done`: the training has ended.
static int use_machine(struct going *g, int64_t from_ns, int64_t until_ns, bool *done,
                       struct err *err)
{
    const struct replay *r = g->r;
    int64_t startup = g->result->interruptions == 0 ? r->first_ns : r->restart_ns;
    int64_t needed = startup + with_checkpoints(r, g->left_ns);
    if (r->life_ns > 0 && until_ns - from_ns > r->life_ns)
        until_ns = from_ns + r->life_ns;
    *done = needed <= until_ns - from_ns;
    if (*done) {
        g->now_ns = from_ns + needed;
        return charge(g, r->rule, from_ns, needed, false, err);
    }
    int64_t up = until_ns - from_ns - startup, saved = saved_ns(r, up), did = done_ns(r, up);
    if (did > g->left_ns)
        did = g->left_ns;
    g->left_ns -= saved;
    if (saved > 0)
        g->saved_ns = until_ns;
    g->result->lost_ns += did > saved ? did - saved : 0;
    g->result->interruptions++;
    g->now_ns = until_ns;
    return charge(g, r->rule, from_ns, until_ns - from_ns, true, err);
}

// The first stretch that ends after the start.
static size_t first_span(const struct availability *a, int64_t at_ns)
{
    size_t low = 0, high = a->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (a->up[middle].until_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Whether only an on-demand machine is sure to keep the deadline, and when it starts: a spot
// machine could start up, and be lost just before its first checkpoint is whole. Waiting ends when
// on demand would come too late.
static bool must_fall_back(struct going *g, int64_t from_ns, int64_t *start_ns)
{
    const struct replay *r = g->r;
    int64_t startup = g->result->interruptions == 0 ? r->first_ns : r->restart_ns;
    int64_t alone = r->restart_ns + with_checkpoints(r, g->left_ns), first;
    int64_t cycle = r->interval_ns > 0 ? r->interval_ns + r->checkpoint_ns : g->left_ns;
    if (__builtin_add_overflow(from_ns, startup + cycle + alone, &first))
        first = INT64_MAX;
    if (first <= r->deadline_ns)
        return false;
    int64_t latest = r->deadline_ns - alone;
    *start_ns = from_ns < latest ? from_ns : latest > g->now_ns ? latest : g->now_ns;
    return true;
}

static int fall_back(struct going *g, int64_t start_ns, struct err *err)
{
    const struct replay *r = g->r;
    int64_t startup = g->result->interruptions == 0 ? r->first_ns : r->restart_ns;
    int64_t needed = startup + with_checkpoints(r, g->left_ns);
    g->now_ns = start_ns + needed;
    g->result->demand_ns = needed;
    g->result->finished = true;
    return charge(g, r->demand, start_ns, needed, false, err);
}

static void begin(struct going *g, const struct replay *r, size_t index)
{
    struct rng all;
    if (r->trace) {
        g->trace_ns = (int64_t)((__int128)r->trace->length_ns * index / r->count);
        g->span = first_span(r->trace, g->trace_ns);
    }
    if (r->prices)
        g->prices_ns = (int64_t)((__int128)r->prices->length_ns * index / r->count);
    rng_init(&all, r->seed);
    rng_split(&all, "spot", index, &g->rng);
    g->left_ns = r->work_ns;
}

static int64_t times_ns(const struct replay *r, int64_t times)
{
    int64_t ns = 0;
    return __builtin_mul_overflow(r->first_ns + r->work_ns, times, &ns) ? INT64_MAX : ns;
}

// Whether it will not end in any time that matters. A trace that has been tried from end to end
// without saving anything does not help the next time either.
static bool give_up(const struct going *g)
{
    const struct availability *trace = g->r->trace;
    if (g->r->demand || g->result->interruptions >= REPLAY_MACHINES)
        return g->result->interruptions >= REPLAY_MACHINES; // a fall-back ends it in time
    return g->now_ns >= times_ns(g->r, REPLAY_LIMIT) ||
           (trace && g->now_ns - g->saved_ns > trace->length_ns);
}

int replay_one(const struct replay *r, size_t index, struct replay_result *result, struct err *err)
{
    struct going g = {.r = r, .result = result};
    int64_t from_ns = INT64_MAX, until_ns = INT64_MAX, start_ns;
    *result = (struct replay_result){0};
    begin(&g, r, index);
    while (!result->finished && !give_up(&g)) {
        if (!r->trace)
            next_at_random(&g, &from_ns, &until_ns);
        else if (!next_of_trace(&g, &from_ns, &until_ns) && !r->demand)
            break;
        if (r->demand && must_fall_back(&g, from_ns, &start_ns))
            TRY(fall_back(&g, start_ns, err));
        else
            TRY(use_machine(&g, from_ns, until_ns, &result->finished, err));
    }
    result->wall_ns = g.now_ns;
    return 0;
}

// ---- many

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int64_t at(const int64_t *sorted, size_t count, size_t percent)
{
    size_t rank = (percent * count + 99) / 100;
    return sorted[rank > 0 ? rank - 1 : 0];
}

struct replay_quantiles replay_quantiles_of(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, by_size);
    return (struct replay_quantiles){at(values, count, 10), at(values, count, 50),
                                     at(values, count, 90)};
}

static int sum_up(const struct replay *r, int64_t *wall, int64_t *nano, struct replay_summary *s,
                  struct err *err)
{
    __int128 taken = 0, lost = 0, charged = 0, walls = 0, nanos = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct replay_result one;
        TRY(replay_one(r, i, &one, err));
        taken += one.interruptions;
        lost += one.lost_ns;
        charged += one.charged_ns;
        walls += one.wall_ns;
        nanos += one.nano;
        wall[i] = one.wall_ns;
        nano[i] = one.nano;
        s->finished += one.finished;
        s->late += !one.finished || one.wall_ns > times_ns(r, REPLAY_LATE);
    }
    s->mean_interruptions = (double)taken / (double)r->count;
    s->mean_lost_ns = (double)lost / (double)r->count;
    s->mean_charged_ns = (double)charged / (double)r->count;
    s->mean_wall_ns = (double)walls / (double)r->count;
    s->mean_nano = (double)nanos / (double)r->count;
    s->wall_ns = replay_quantiles_of(wall, r->count);
    s->nano = replay_quantiles_of(nano, r->count);
    return 0;
}

int replay_all(const struct replay *r, struct replay_summary *s, struct err *err)
{
    SCOPED(free_pointer) int64_t *values = calloc(2 * (r->count + 1), sizeof *values);
    *s = (struct replay_summary){.count = r->count};
    if (!values)
        return err_memory(err);
    return sum_up(r, values, values + r->count + 1, s, err);
}

// Steps of 10 % around `from_ns`, from a sixteenth to sixteen times, as long as the bill falls: it
// has one minimum but for steps, so each direction ends after a few without a better one.
int replay_best_interval(const struct replay *replay, int64_t from_ns, int64_t *best_ns,
                         struct err *err)
{
    enum { PATIENCE = 4, MOST = 30 };
    struct replay r = *replay;
    struct replay_summary s;
    double best = HUGE_VAL;
    size_t most = 0;
    *best_ns = from_ns;
    for (int direction = -1; direction <= 1; direction += 2) {
        int since = 0;
        for (int i = direction < 0 ? 0 : 1; i < MOST && since < PATIENCE; i++, since++) {
            double wanted = (double)from_ns * pow(1.1, direction * i);
            if (wanted < 1 || wanted > (double)MEAN_MOST_NS)
                break;
            r.interval_ns = (int64_t)wanted;
            TRY(replay_all(&r, &s, err));
            if (s.finished < most || s.finished == 0 || (s.finished == most && s.mean_nano >= best))
                continue;
            most = s.finished;
            best = s.mean_nano;
            *best_ns = r.interval_ns;
            since = -1;
        }
    }
    return 0;
}
