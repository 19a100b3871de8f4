// SPDX-License-Identifier: Apache-2.0
#include "run/parts.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/stats.h"

#define BIT(part) (1U << (part))

// Of the training's time, what parts take that were not seen: docs/projection.md has the reasons.
#define EVALUATION_MOST   0.35
#define EVALUATION_INSIDE 0.10
#define CHECKPOINT_MOST   0.15

// What exceeds the usual step time is a part if it is over half a step, and not just noise.
#define PART_LEAST 0.5
#define PART_SHARE 0.05

// ---- marks

void parts_mark(struct parts *p, const struct parts_sign *sign, int64_t since_ns, int64_t now_ns)
{
    double took_s = sign->took_s;
    if (p->marks == 0)
        p->last_ns = since_ns;
    // A mark comes at the end of its part, or on the way: the time since the last one is its own.
    double s = took_s > 0 && took_s < 1e9 ? took_s : (double)(now_ns - p->last_ns) / 1e9;
    p->weight_s[sign->part] += s > 0 ? s : 0;
    p->last_ns = now_ns;
    p->marks |= BIT(sign->part);
    if (sign->at > 0)
        p->at[sign->part] = sign->at;
}

void parts_bar(struct parts *p, int64_t step, int64_t total)
{
    p->bar_moved |= step != p->bar_last || total != p->bar_total;
    p->bar_last = step;
    p->bar_total = total;
}

int64_t parts_outside(struct parts *p, int64_t steps, int64_t *inside)
{
    bool moved = p->bar_moved, open = p->bar_last < p->bar_total;
    int64_t suspect = p->suspect;
    *inside = p->suspect = 0;
    p->bar_moved = false;
    if (moved && (suspect > 0 || p->inside)) {
        p->inside = true;
        *inside = steps + suspect;
        return 0;
    }
    p->inside = false;
    if (!moved || !open)
        return steps + suspect;
    p->suspect = steps;
    return 0;
}

int64_t parts_evaluations(const struct parts *p, int64_t inside)
{
    int64_t each = p->bar_total > 0 ? p->bar_total : 1, n = (inside + each / 2) / each;
    return n > 1 ? n * each : each;
}

// ---- intervals

static double usual_ns(const struct parts *p)
{
    double values[PARTS_USUAL];
    size_t n = p->usual_count < PARTS_USUAL ? (size_t)p->usual_count : PARTS_USUAL;
    if (n == 0)
        return 0;
    memcpy(values, p->usual_ns, n * sizeof *values);
    return stats_median_of(values, n);
}

bool parts_late(const struct parts *p, int64_t ns, int64_t steps)
{
    double usual = usual_ns(p) * (double)steps;
    return usual > 0 && (double)ns > 2 * usual;
}

static void count(struct parts_kind *kind, int64_t made, int64_t steps, bool with_epoch)
{
    if (kind->seen++ == 0) {
        kind->first = made;
        kind->width = steps;
    }
    kind->last = made;
    kind->with_epoch += with_epoch;
}

void parts_ended(struct parts *p, enum part part, int64_t made)
{
    count(&p->kinds[part], made, 0, false);
}

int64_t parts_split(struct parts *p, int64_t ns, int64_t steps, int64_t made,
                    int64_t part_ns[PARTS], unsigned *marks)
{
    memset(part_ns, 0, PARTS * sizeof *part_ns);
    *marks = 0;
    if (p->marks == 0) {
        p->usual_ns[p->usual_count++ % PARTS_USUAL] = (double)ns / (double)steps;
        return ns;
    }
    double step = usual_ns(p), usual = step * (double)steps, rest = (double)ns - usual;
    double weights = 0;
    // The end of an epoch with an evaluation in it is the evaluation's time.
    if (p->marks & ~BIT(PART_EPOCH_END))
        p->weight_s[PART_EPOCH_END] = 0;
    for (int i = 0; i < PARTS; i++)
        weights += p->weight_s[i];
    bool divide = usual > 0 && rest > fmax(PART_LEAST * step, PART_SHARE * usual);
    *marks = divide ? p->marks : 0;
    for (int i = 0; i < PARTS; i++) {
        double share = weights > 0 ? p->weight_s[i] / weights : i == PART_EPOCH_END;
        if (divide)
            part_ns[i] = (int64_t)(rest * share);
        bool stated = p->at[i] >= made && p->at[i] <= made + steps && p->at[i] > 0;
        if (divide && p->marks & BIT(i))
            count(&p->kinds[i], stated ? p->at[i] : made, stated ? 0 : steps,
                  (p->marks & BIT(PART_EPOCH_END)) != 0);
        else if (p->marks & BIT(i))
            p->kinds[i].included++;
    }
    memset(p->weight_s, 0, sizeof p->weight_s);
    memset(p->at, 0, sizeof p->at);
    p->marks = 0;
    return divide ? (int64_t)usual : ns;
}

// ---- the whole

// The step between two of them; 0: unknown.
static double period(const struct parts_kind *k, const struct parts_whole *w)
{
    if (k->seen >= 2 && k->last > k->first)
        return (double)(k->last - k->first) / (double)(k->seen - 1);
    return k->every > 0 ? (double)k->every : k->seen == 1 ? (double)(k->first + w->before) : 0;
}

static bool by_epochs(const struct parts_kind *k, const struct parts_whole *w)
{
    return w->epochs > 0 && (k->seen > 0 ? k->with_epoch == k->seen : k->every == 0);
}

int64_t parts_expected(const struct parts *p, enum part part, const struct parts_whole *w,
                       double *doubt)
{
    const struct parts_kind *k = &p->kinds[part];
    *doubt = 0;
    double each = period(k, w), left = (double)(w->total - w->made);
    double since = (double)(w->made - k->last), more = 0;
    if (part == PART_EPOCH_END || by_epochs(k, w))
        return k->seen > 0 && w->epochs > k->seen ? w->epochs : k->seen;
    if (k->seen == 0 || left <= 0)
        return k->seen;
    if (k->seen == 1 && k->every == 0 && since > each) {
        // It occurred once, and not again for longer than before: it may come again at any time.
        more = floor(left / since / 2 + 0.5);
        *doubt = fmax(more, left / since - more);
    } else if (each > 0) {
        more = floor((since + left) / each + 1e-9);
        if (k->seen == 1 && k->every == 0) // it was somewhere in its interval
            *doubt = more * fmin((double)k->width / each, 1);
        if (fabs(fmod((double)(w->total + w->before) + each / 2, each) - each / 2) <= 1)
            *doubt += 1; // the last one falls on the end: it may be left out
    }
    return k->seen + (int64_t)fmin(more, 1e12);
}

// Steps between two of them, as announced; 0: unknown.
static int64_t announced_every(const struct parts *p, enum part part, const struct parts_whole *w)
{
    return part == PART_EPOCH_END || p->kinds[part].every == 0 ? w->each : p->kinds[part].every;
}

// Steps until the first one is expected; 0: unknown, -1: it does not occur any more.
static int64_t next_of(const struct parts *p, enum part part, const struct parts_whole *w)
{
    int64_t each = announced_every(p, part, w);
    if (each <= 0)
        return 0;
    int64_t at = w->before + w->made, next = each - at % each;
    return at + next > w->before + w->total ? -1 : next;
}

unsigned parts_unseen(const struct parts *p, const struct parts_whole *w, int64_t *next)
{
    unsigned unseen = 0;
    *next = INT64_MAX;
    for (int i = 0; i < PARTS; i++) {
        const struct parts_kind *k = &p->kinds[i];
        bool expected = i == PART_EPOCH_END ? w->epochs > 1 : k->announced || k->every > 0;
        int64_t n = next_of(p, (enum part)i, w);
        if (!expected || k->seen > 0 || k->included > 0 || (n < 0 && k->every > 0))
            continue;
        unseen |= BIT(i);
        if (n >= 0 && n < *next)
            *next = n;
    }
    return unseen;
}

bool parts_due(const struct parts *p, unsigned unseen, const struct parts_whole *w)
{
    int64_t at = w->before + w->made;
    for (int i = 0; i < PARTS; i++) {
        int64_t each = announced_every(p, (enum part)i, w);
        if (unseen & BIT(i) && each > 0 && at > 0 && at % each == 0)
            return true;
    }
    return false;
}

double parts_may_add(const struct parts *p, unsigned unseen, double *save)
{
    const struct parts_kind *evaluation = &p->kinds[PART_EVALUATION];
    double add = unseen & (BIT(PART_EPOCH_END) | BIT(PART_EVALUATION)) ? EVALUATION_MOST : 0;
    // A validation was announced, and the training's bar may count its steps, too.
    *save = unseen & BIT(PART_EVALUATION) && evaluation->announced && evaluation->every == 0
                ? EVALUATION_INSIDE
                : 0;
    return add + (unseen & BIT(PART_CHECKPOINT) ? CHECKPOINT_MOST : 0);
}
