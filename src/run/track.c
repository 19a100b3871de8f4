// SPDX-License-Identifier: Apache-2.0
#include "run/track.h"

#include "base/clock.h"

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
