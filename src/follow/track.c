// SPDX-License-Identifier: Apache-2.0
#include "follow/track.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/stats.h"
#include "train/meter.h"

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

// Whether `steps` steps reported now, `ns` after the last report, took over twice their usual time.
static bool parts_late(const struct parts *p, int64_t ns, int64_t steps)
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

// A part that was reported with its start and end.
static void parts_ended(struct parts *p, enum part part, int64_t made)
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

// ---- The GPU's share

#define LEAST_S    0.4  // of an entry
#define FEW        12   // fewer entries show nothing
#define GROWTH     0.15 // from the first third to the last
#define BETWEEN    0.05 // from the first to the second
#define FASTER     3
#define MOST       5.0
#define BUSY_PARTS 100

static void halve(struct busy *b)
{
    for (int i = 0; i < BUSY_MAX / 2; i++) {
        double s = b->seconds[2 * i] + b->seconds[2 * i + 1];
        b->share[i] =
            (b->share[2 * i] * b->seconds[2 * i] + b->share[2 * i + 1] * b->seconds[2 * i + 1]) / s;
        b->seconds[i] = s;
    }
    b->count = BUSY_MAX / 2;
    b->least_s *= 2;
}

// The GPU was busy for `share` of the last `seconds`.
static void busy_add(struct busy *b, double share, double seconds)
{
    if (!(seconds > 0) || !isfinite(seconds) || !(share >= 0 && share <= 1))
        return;
    if (b->count == 0)
        b->least_s = LEAST_S;
    int last = b->count - 1;
    if (b->count > 0 && b->seconds[last] < b->least_s) {
        double s = b->seconds[last] + seconds;
        b->share[last] = (b->share[last] * b->seconds[last] + share * seconds) / s;
        b->seconds[last] = s;
        return;
    }
    if (b->count == BUSY_MAX)
        halve(b);
    b->share[b->count] = share;
    b->seconds[b->count++] = seconds;
}

static double mean(const struct busy *b, int from, int to, double *seconds)
{
    double sum = 0, s = 0;
    for (int i = from; i < to; i++) {
        sum += b->share[i] * b->seconds[i];
        s += b->seconds[i];
    }
    *seconds += s;
    return sum / s;
}

// 0: it does not grow. Otherwise the most by which the coming `left_s` seconds of steps may take
// longer, as a share of them: the growth may become three times as fast.
static double busy_growth(const struct busy *b, double left_s)
{
    double span_s = 0;
    if (b->count < FEW || !(left_s > 0))
        return 0;
    double first = mean(b, 0, b->count / 3, &span_s);
    double second = mean(b, b->count / 3, 2 * b->count / 3, &span_s);
    double third = mean(b, 2 * b->count / 3, b->count, &span_s);
    if (second - first < BETWEEN || third < second || third - first < GROWTH)
        return 0;
    double per_s = (third - first) / (span_s * 2 / 3);
    double now = third + per_s * span_s / 6, sum = 0;
    for (int i = 0; i < BUSY_PARTS; i++) // a step takes longer once the GPU has no time left
        sum += fmax(0, now + FASTER * per_s * left_s * (i + 0.5) / BUSY_PARTS - 1);
    return fmin(fmax(sum / BUSY_PARTS, 0.01), MOST);
}

// ---- How far it is

#define STEPS_MAX (INT64_C(1) << 53)

// ---- the plan

int64_t track_made(const struct track *t)
{
    return t->metered + t->unmetered + t->made_before;
}

// Keeps products and sums of reported numbers far from overflow.
static int64_t bounded(double steps)
{
    return steps < 1e15 ? (int64_t)steps : 0;
}

int64_t track_place(const struct track *t, struct totals_found *found)
{
    int64_t at = t->before + t->metered + t->unmetered;
    totals_find(&t->totals, &t->counters, at, found);
    if (found->per_epoch && found->each > 0 && t->epochs_before > 0) {
        int64_t earlier = bounded((double)t->epochs_before * (double)found->each);
        if (found->total == 0 || at + earlier <= found->total)
            at += earlier;
    }
    return at;
}

void track_whole(const struct track *t, struct parts_whole *out)
{
    struct totals_found found;
    int64_t at = track_place(t, &found);
    int64_t before = at - t->metered;
    *out = (struct parts_whole){.made = t->metered,
                                .total = found.total > 0 ? found.total - before : 0,
                                .before = before,
                                .each = found.each};
    if (!found.counts_epochs && found.epochs > 1)
        out->epochs = found.epochs - (found.each > 0 ? before / found.each : 0);
}

#define SAVED_BYTES (INT64_C(8) << 20)
#define SAVED_TIMES 4

// The first seconds of a training are no measure: kernels are chosen, caches fill.
#define SETTLED_S 3.0

void track_busy(struct track *t, double share, double seconds)
{
    struct meter_outlook o;
    meter_outlook(t->meter, &o);
    if (t->phase == METER_TRAIN && o.steps > 0 && o.elapsed_s - o.before_s > SETTLED_S)
        busy_add(&t->busy, share, seconds);
}

double track_growth(const struct track *t)
{
    struct parts_whole whole;
    struct meter_outlook o;
    track_whole(t, &whole);
    meter_outlook(t->meter, &o);
    double left = (double)(whole.total - t->metered);
    return busy_growth(&t->busy, left > 0 && o.step_s > 0 ? left * o.step_s : 1);
}

void track_plan(struct track *t)
{
    struct parts_whole whole;
    struct totals_found found;
    struct meter_plan p = {.stages = 1, .within = t->within, .max_s = t->max_s, .follows = true};
    track_place(t, &found);
    track_whole(t, &whole);
    if (whole.total > 0) {
        int64_t next;
        p.stage_steps[0] = whole.total;
        for (int i = 0; i < t->stages; i++)
            p.stage_steps[i] = t->stage_steps[i];
        p.stages = t->stages > 0 ? t->stages : 1;
        p.evaluations =
            parts_expected(&t->parts, PART_EVALUATION, &whole, &p.doubt[METER_EVALUATE]);
        p.checkpoints =
            parts_expected(&t->parts, PART_CHECKPOINT, &whole, &p.doubt[METER_CHECKPOINT]);
        p.epoch_ends = parts_expected(&t->parts, PART_EPOCH_END, &whole, &p.doubt[METER_EPOCH_END]);
        unsigned unseen = parts_unseen(&t->parts, &whole, &next);
        p.may_add = parts_may_add(&t->parts, unseen, &p.may_save) + track_growth(t);
        p.may_add += found.doubt;
        p.may_save += found.doubt;
        if (whole.total > whole.made)
            p.may_add += (double)found.more / (double)(whole.total - whole.made);
        p.others = t->others >= METER_OTHERS_LEAST ? t->others : 0;
        p.lengthens = t->lengthens;
        struct meter_outlook o;
        meter_outlook(t->meter, &o);
        if (unseen && next < INT64_MAX)
            p.part_s = (double)next * o.step_s;
    }
    meter_plan(t->meter, &p);
}

// ---- phases

static const enum meter_phase part_phases[PARTS] = {METER_EPOCH_END, METER_EVALUATE,
                                                    METER_CHECKPOINT};

static int64_t now_ns(const struct track *t)
{
    int64_t now = clock_now_ns();
    return t->at_ns > 0 && t->at_ns < now ? t->at_ns : now;
}

static void count_part(struct track *t, enum part part)
{
    if (part == PART_EVALUATION)
        meter_evaluated(t->meter, 1);
    else if (part == PART_CHECKPOINT)
        meter_checkpointed(t->meter);
    else
        meter_epoch_ended(t->meter);
}

// Whether the time since the last report was a checkpoint that the program did not mention: late
// steps, and far more written than usual.
static bool saved(struct track *t, int64_t took_ns)
{
    int64_t bytes = t->written - t->reported;
    int64_t usual = t->reports > 0 ? t->reported / t->reports : 0;
    t->reported = t->written;
    t->reports++;
    return t->parts.marks == 0 && bytes >= SAVED_BYTES && bytes / SAVED_TIMES > usual &&
           parts_late(&t->parts, took_ns, t->pending);
}

// The program told how long the training goes on.
static void note_left(struct track *t)
{
    const struct counter *c = counters_chosen(&t->counters);
    struct totals_found found;
    if (t->left_s.known && c && t->phase == METER_TRAIN) {
        bool from_0 = t->before == 0; // then the first line is after one step
        const struct totals_line line = {
            .n = (double)(track_place(t, &found) + from_0),
            .before = t->second && t->made_before < t->before ? (double)t->before : 0,
            .at_s = (double)meter_train_ns(t->meter) / 1e9,
            .left_s = t->left_s.v,
            .unit_s = t->left_unit_s};
        totals_add_left(&t->totals, &line);
    }
    t->left_s.known = false;
}

static void flush_steps(struct track *t)
{
    int64_t part_ns[PARTS], at = meter_booked_ns(t->meter), now = now_ns(t);
    unsigned marks;
    if (t->pending == 0)
        return;
    int64_t took = now > at ? now - at : 0;
    if (saved(t, took))
        track_mark(t, PART_CHECKPOINT);
    int64_t train_ns =
        parts_split(&t->parts, took, t->pending, t->metered - t->pending, part_ns, &marks);
    if (train_ns < took)
        meter_at(t->meter, at += train_ns);
    meter_steps(t->meter, t->stage, t->pending);
    t->pending = 0;
    for (int i = 0; i < PARTS; i++) {
        if (part_ns[i] > 0) {
            meter_phase(t->meter, part_phases[i]);
            meter_at(t->meter, at += part_ns[i]);
        }
        if (marks & 1U << i)
            count_part(t, (enum part)i);
    }
    if (train_ns < took)
        meter_phase(t->meter, METER_TRAIN);
    meter_at(t->meter, t->at_ns);
}

void track_flush(struct track *t)
{
    flush_steps(t);
    note_left(t);
}

void track_phase(struct track *t, enum meter_phase phase)
{
    if (phase == t->phase)
        return;
    track_flush(t);
    if (t->phase == METER_EVALUATE || t->phase == METER_CHECKPOINT) {
        enum part part = t->phase == METER_EVALUATE ? PART_EVALUATION : PART_CHECKPOINT;
        count_part(t, part);
        parts_ended(&t->parts, part, t->metered);
    }
    t->phase = phase;
    meter_phase(t->meter, phase);
}

// A mark belongs to the time after the steps before it, unless these
// took too long: a bar's line ends when the next one is drawn, which may be after the part.
static void mark(struct track *t, const struct parts_sign *sign)
{
    if (!parts_late(&t->parts, now_ns(t) - meter_booked_ns(t->meter), t->pending))
        track_flush(t);
    if (t->phase == METER_TRAIN)
        parts_mark(&t->parts, sign, meter_booked_ns(t->meter), now_ns(t));
    else
        t->parts.kinds[sign->part].announced = true;
}

void track_mark(struct track *t, enum part part)
{
    mark(t, &(struct parts_sign){.part = part});
}

void track_beside(struct track *t, const struct event *e)
{
    enum meter_phase phase = (enum meter_phase)e->phase.v;
    struct parts_sign sign = {.part = phase == METER_CHECKPOINT ? PART_CHECKPOINT : PART_EVALUATION,
                              .took_s = e->took_s.known ? e->took_s.v : 0};
    if (e->at_step.known && e->at_step.v > t->before)
        sign.at = e->at_step.v - t->before;
    if (phase == METER_EVALUATE && e->step.known)
        parts_bar(&t->parts, e->step.v, e->total_steps.known ? e->total_steps.v : 0);
    const struct counter *c = counters_chosen(&t->counters);
    if (phase == METER_EVALUATE && e->at_step.known && (!c || c->weak)) {
        t->parts.kinds[PART_EVALUATION].announced = true;
        track_number(t,
                     &(struct event){.bar = TOTALS_AT_BAR, .step = e->at_step, .source = e->source},
                     true, 0);
    } else if (phase == METER_EVALUATE || phase == METER_CHECKPOINT) {
        mark(t, &sign);
    } else if (t->phase != METER_TRAIN) {
        track_phase(t, phase);
    }
}

// ---- steps

void track_steps(struct track *t, int64_t steps, int64_t samples)
{
    if (t->metered + t->unmetered > STEPS_MAX)
        return;
    if (t->phase != METER_TRAIN) {
        // The meter has booked their time to another phase.
        track_phase(t, METER_TRAIN);
        t->unmetered += steps;
        return;
    }
    t->pending += steps;
    t->metered += steps;
    t->samples += samples;
}

void track_restart(struct track *t, int64_t at_ns)
{
    t->pending = t->metered = t->unmetered = t->before = t->made_before = 0;
    t->samples = t->inside = 0;
    t->second = false;
    t->totals.passed = t->totals.epoch_steps = 0;
    t->totals.left = (struct totals_left){0};
    struct parts fresh = {0};
    for (int i = 0; i < PARTS; i++) {
        fresh.kinds[i].every = t->parts.kinds[i].every;
        fresh.kinds[i].announced = t->parts.kinds[i].announced;
    }
    t->parts = fresh;
    t->busy = (struct busy){0};
    t->starts++;
    meter_restart(t->meter, at_ns);
    meter_at(t->meter, at_ns);
    t->phase = METER_TRAIN;
    meter_phase(t->meter, METER_TRAIN);
    meter_at(t->meter, t->at_ns);
}

// Counting starts with this counter. Returns the steps to count now.
static int64_t start(struct track *t, const struct event *e, const struct counters_report *r)
{
    const struct counter *c = counters_chosen(&t->counters);
    t->source = c->source;
    t->epochs_before = c->epoch && t->epoch > 1 ? t->epoch - 1 - c->restarts : 0;
    t->epochs_before = t->epochs_before > 0 ? t->epochs_before : 0;
    if (r->first && t->metered + t->unmetered == 0) {
        // After a reported start of training it is the first step; otherwise the time until the
        // first report is not a step time.
        int64_t one = t->phase == METER_TRAIN && e->step.v > 0;
        t->before = c->first - one;
        return one;
    }
    track_restart(t, c->began_ns);
    t->before = c->first;
    t->made_before = c->first <= c->made ? c->first : 0;
    t->second = c->made > 0;
    return c->made;
}

// Steps of the chosen counter. Marks ends of epochs.
static void count_chosen(struct track *t, const struct counters_report *r, int64_t delta,
                         int64_t samples)
{
    struct totals_found found;
    if (delta > 0 && !t->second && !r->changed) {
        // Reports every 100 steps start at 100; a resumed training starts higher.
        t->second = true;
        t->made_before = t->before <= delta ? t->before : 0;
    }
    if (delta > 0) {
        int64_t inside;
        delta = parts_outside(&t->parts, delta, &inside);
        t->inside += inside;
        if (inside > 0) // bars skip numbers: whole evaluations
            t->totals.inside = parts_evaluations(&t->parts, t->inside);
    }
    if (r->restarted) {
        track_mark(t, PART_EPOCH_END);
        t->inside = 0;
    } else if (delta > 0) {
        t->totals.passed += t->epoch_pending;
        int64_t at = track_place(t, &found);
        if (!found.per_epoch && found.each > 0 && at / found.each != (at + delta) / found.each)
            track_mark(t, PART_EPOCH_END);
    }
    if (delta > 0)
        t->epoch_pending = false;
    track_steps(t, delta, samples);
}

void track_number(struct track *t, const struct event *e, bool weak, int64_t samples)
{
    const struct counters_context context = {
        .now_ns = now_ns(t), .epoch = t->epoch, .drawn = t->drawn, .weak = weak};
    struct counters_report r;
    t->counters.announced_steps =
        t->totals.log_steps > 0 ? t->totals.log_steps : t->totals.argument_steps;
    counters_add(&t->counters, e, &context, &r);
    if (!r.chosen) {
        if (!counters_chosen(&t->counters) && t->phase == METER_SETUP)
            track_phase(t, METER_LOAD);
        if (r.jumped && counters_outer(&t->counters) == NULL)
            track_mark(t, PART_EVALUATION);
        return;
    }
    int64_t delta = r.changed ? start(t, e, &r) : r.delta;
    count_chosen(t, &r, bounded((double)delta), samples);
}

// A line that tells the epoch only: after its end, if it has figures, or at its start.
void track_epoch(struct track *t, const struct event *e)
{
    const struct counter *c = counters_chosen(&t->counters);
    enum follow_total from;
    int64_t epochs = totals_epochs(&t->totals, &t->counters, &from);
    int64_t steps = t->totals.log_steps > 0 ? t->totals.log_steps : t->totals.argument_steps;
    bool figures =
        e->loss.known || e->test_loss.known || e->accuracy.known || e->test_accuracy.known;
    double at = e->epoch_at.known ? e->epoch_at.v : (double)(t->epoch - !figures);
    if ((c && !c->weak) || !(at >= 0 && at < 1e9))
        return;
    struct event number = {.bar = TOTALS_EPOCH_BAR,
                           .step = some_int((int64_t)(at * TOTALS_EPOCH + 0.5)),
                           .counts = COUNTS_EPOCHS,
                           .loss = e->loss,
                           .source = e->source};
    if (e->epoch_at.known && epochs > 0 && steps > 0) {
        number.bar = TOTALS_STEP_BAR;
        number.counts = COUNTS_STEPS;
        number.step = some_int(bounded(at / (double)epochs * (double)steps + 0.5));
        number.total_steps = some_int(steps);
    }
    track_number(t, &number, true, 0);
}
int64_t track_unit(const struct track *t)
{
    const struct counter *c = counters_chosen(&t->counters);
    if (c && c->bar == TOTALS_EPOCH_BAR)
        return TOTALS_EPOCH;
    return c && c->counts == COUNTS_SAMPLES && t->batch > 0 ? t->batch : 1;
}

void track_close(struct track *t)
{
    track_flush(t);
    for (int i = PARTS - 1; i >= 0 && t->phase == METER_TRAIN; i--)
        if (t->parts.marks & 1U << i) {
            meter_at(t->meter, meter_booked_ns(t->meter));
            meter_phase(t->meter, part_phases[i]);
            meter_at(t->meter, 0);
            return;
        }
}
