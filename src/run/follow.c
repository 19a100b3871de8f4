// SPDX-License-Identifier: Apache-2.0
#include "run/follow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "run/counters.h"
#include "run/figures.h"
#include "run/parts.h"
#include "run/totals.h"

enum level {
    LEVEL_NONE,
    LEVEL_TRACE,
    LEVEL_READY,
    LEVEL_PATTERN,
    LEVEL_MLLOG, // from here on phases are reported with their start
    LEVEL_EVENTS
};

enum { MALFORMED = 80 }; // bytes of the first malformed line to show

#define LAST_S    10 // a bar without any word must last this long to end a sample
#define STEPS_MAX (INT64_C(1) << 53)

struct follow {
    struct follow_options options;
    regex_t pattern;
    bool has_pattern;
    struct meter *meter;
    bool stopped; // ignore further progress

    enum level level;
    struct maybe_int worker; // the one whose steps count
    const char *source;
    struct counters counters;
    struct totals totals;
    struct parts parts;
    struct figures figures;
    enum meter_phase phase;
    int64_t at_ns;         // the time of the current event; 0: now
    int64_t activity_ns;   // when follow_activity() was called last
    int64_t counted_epoch; // at the counter's last number
    bool epoch_pending;    // an epoch began, and the counter has not moved since

    int stage;
    int stages; // 0: none reported
    int64_t stage_steps[METER_STAGES_MAX];
    int64_t pending;       // steps not passed to the meter yet
    int64_t metered;       // steps passed to the meter, or pending
    int64_t unmetered;     // steps outside the training phase
    int64_t before;        // the first step number, less the steps counted with it
    int64_t epochs_before; // epochs before the first one of this run
    int64_t made_before;   // of `before`, made in this run
    bool second;           // a second step number was reported
    int64_t samples;       // of the metered steps
    int64_t inside;        // evaluation steps that the counter counted in this epoch

    int64_t batch, epoch_samples; // MLLOG's

    int64_t malformed;
    char first_malformed[MALFORMED + 1];
};

int follow_new(struct follow **follow, const struct follow_options *options, struct meter *meter,
               struct run *run, struct err *err)
{
    struct follow *f = *follow = calloc(1, sizeof *f);
    if (!f)
        return err_memory(err);
    f->options = *options;
    f->meter = meter;
    f->figures.run = run;
    f->totals.option_steps = f->counters.given_steps = options->total_steps;
    f->totals.option_epochs = f->counters.given_epochs = options->total_epochs;
    int rc = 0;
    if (options->step_pattern) {
        rc = event_pattern_compile(options->step_pattern, &f->pattern, err);
        f->has_pattern = rc == 0;
    }
    if (rc != 0) {
        follow_free(f);
        *follow = NULL;
    }
    return rc;
}

void follow_free(struct follow *follow)
{
    if (!follow)
        return;
    if (follow->has_pattern)
        regfree(&follow->pattern);
    free(follow);
}

// ---- the plan

static int64_t made(const struct follow *f)
{
    return f->metered + f->unmetered + f->made_before;
}

// Keeps products and sums of reported numbers far from overflow.
static int64_t bounded(double steps)
{
    return steps < 1e15 ? (int64_t)steps : 0;
}

// The position in the whole training, and the totals.
static int64_t find_totals(const struct follow *f, struct totals_found *found)
{
    int64_t at = f->before + f->metered + f->unmetered;
    totals_find(&f->totals, &f->counters, at, found);
    if (found->per_epoch && found->each > 0 && f->epochs_before > 0) {
        int64_t earlier = bounded((double)f->epochs_before * (double)found->each);
        if (found->total == 0 || at + earlier <= found->total)
            at += earlier;
    }
    return at;
}

static void find_whole(const struct follow *f, struct parts_whole *out)
{
    struct totals_found found;
    int64_t at = find_totals(f, &found);
    int64_t before = at - f->metered;
    *out = (struct parts_whole){.made = f->metered,
                                .total = found.total > 0 ? found.total - before : 0,
                                .before = before,
                                .each = found.each};
    const struct counter *c = counters_chosen(&f->counters);
    bool counts_epochs = c && (c->bar == TOTALS_EPOCH_BAR || c->counts == COUNTS_EPOCHS);
    if (!counts_epochs && found.epochs > 1)
        out->epochs = found.epochs - (found.each > 0 ? before / found.each : 0);
}

static void plan(struct follow *f)
{
    struct parts_whole whole;
    struct meter_plan p = {
        .stages = 1, .within = f->options.within, .max_s = f->options.max_s, .follows = true};
    find_whole(f, &whole);
    if (whole.total > 0) {
        int64_t next;
        p.stage_steps[0] = whole.total;
        for (int i = 0; i < f->stages; i++)
            p.stage_steps[i] = f->stage_steps[i];
        p.stages = f->stages > 0 ? f->stages : 1;
        p.evaluations =
            parts_expected(&f->parts, PART_EVALUATION, &whole, &p.doubt[METER_EVALUATE]);
        p.checkpoints =
            parts_expected(&f->parts, PART_CHECKPOINT, &whole, &p.doubt[METER_CHECKPOINT]);
        p.epoch_ends = parts_expected(&f->parts, PART_EPOCH_END, &whole, &p.doubt[METER_EPOCH_END]);
        p.may_add = parts_may_add(parts_unseen(&f->parts, &whole, &next));
    }
    meter_plan(f->meter, &p);
}

// ---- phases

static int64_t now_ns(const struct follow *f)
{
    int64_t now = clock_now_ns();
    return f->at_ns > 0 && f->at_ns < now ? f->at_ns : now;
}

static void count_part(struct follow *f, enum part part)
{
    if (part == PART_EVALUATION)
        meter_evaluated(f->meter, 1);
    else if (part == PART_CHECKPOINT)
        meter_checkpointed(f->meter);
    else
        meter_epoch_ended(f->meter);
}

// Passes the pending steps to the meter, with the parts between them and the last ones.
static void flush(struct follow *f)
{
    static const enum meter_phase phases[PARTS] = {METER_EPOCH_END, METER_EVALUATE,
                                                   METER_CHECKPOINT};
    int64_t part_ns[PARTS], at = meter_booked_ns(f->meter), now = now_ns(f);
    unsigned marks;
    if (f->pending == 0)
        return;
    int64_t took = now > at ? now - at : 0;
    int64_t train_ns =
        parts_split(&f->parts, took, f->pending, f->metered - f->pending, part_ns, &marks);
    if (train_ns < took)
        meter_at(f->meter, at += train_ns);
    meter_steps(f->meter, f->stage, f->pending);
    f->pending = 0;
    for (int i = 0; i < PARTS; i++) {
        if (part_ns[i] > 0) {
            meter_phase(f->meter, phases[i]);
            meter_at(f->meter, at += part_ns[i]);
        }
        if (marks & 1U << i)
            count_part(f, (enum part)i);
    }
    if (train_ns < took)
        meter_phase(f->meter, METER_TRAIN);
    meter_at(f->meter, f->at_ns);
}

static void set_phase(struct follow *f, enum meter_phase phase)
{
    if (phase == f->phase)
        return;
    flush(f);
    if (f->phase == METER_EVALUATE || f->phase == METER_CHECKPOINT) {
        enum part part = f->phase == METER_EVALUATE ? PART_EVALUATION : PART_CHECKPOINT;
        count_part(f, part);
        parts_ended(&f->parts, part, f->metered);
    }
    f->phase = phase;
    meter_phase(f->meter, phase);
}

// A sign of a part in the output. It belongs to the time after the steps before it, unless these
// took too long: a bar's line ends when the next one is drawn, which may be after the part.
static void mark(struct follow *f, enum part part, double took_s)
{
    if (!parts_late(&f->parts, now_ns(f) - meter_booked_ns(f->meter), f->pending))
        flush(f);
    if (f->phase == METER_TRAIN)
        parts_mark(&f->parts, part, meter_booked_ns(f->meter), now_ns(f), took_s);
    else
        f->parts.kinds[part].announced = true;
}

// A bar or line about something else than steps.
static void beside(struct follow *f, const struct event *e)
{
    enum meter_phase phase = (enum meter_phase)e->phase.v;
    double took_s = e->took_s.known ? e->took_s.v : 0;
    if (phase == METER_EVALUATE) {
        if (e->step.known)
            parts_bar(&f->parts, e->step.v, e->total_steps.known ? e->total_steps.v : 0);
        mark(f, PART_EVALUATION, took_s);
    } else if (phase == METER_CHECKPOINT) {
        mark(f, PART_CHECKPOINT, took_s);
    } else if (f->phase != METER_TRAIN) {
        set_phase(f, phase);
    }
}

// ---- steps

static void count(struct follow *f, int64_t steps, int64_t samples)
{
    if (f->metered + f->unmetered > STEPS_MAX)
        return;
    if (f->phase != METER_TRAIN) {
        // The meter has booked their time to another phase.
        set_phase(f, METER_TRAIN);
        f->unmetered += steps;
        return;
    }
    f->pending += steps;
    f->metered += steps;
    f->samples += samples;
}

// What was counted before was not the training.
static void forget_steps(struct follow *f)
{
    f->pending = f->metered = f->unmetered = f->made_before = f->samples = f->inside = 0;
    f->second = false;
    f->totals.passed = f->totals.epoch_steps = 0;
    struct parts fresh = {0};
    for (int i = 0; i < PARTS; i++) {
        fresh.kinds[i].every = f->parts.kinds[i].every;
        fresh.kinds[i].announced = f->parts.kinds[i].announced;
    }
    f->parts = fresh;
}

// Counting starts with this counter. Returns the steps to count now.
static int64_t start(struct follow *f, const struct event *e, const struct counters_report *r)
{
    const struct counter *c = counters_chosen(&f->counters);
    f->source = c->source;
    f->epochs_before = c->epoch && f->figures.epoch > 1 ? f->figures.epoch - 1 - c->restarts : 0;
    f->epochs_before = f->epochs_before > 0 ? f->epochs_before : 0;
    if (r->first && f->metered + f->unmetered == 0) {
        // After a reported start of training it is the first step; otherwise the time until the
        // first report is not a step time.
        int64_t one = f->phase == METER_TRAIN && e->step.v > 0;
        f->before = c->first - one;
        return one;
    }
    forget_steps(f);
    f->before = c->first;
    meter_restart(f->meter, c->began_ns);
    meter_at(f->meter, c->began_ns);
    f->phase = METER_TRAIN;
    meter_phase(f->meter, METER_TRAIN);
    meter_at(f->meter, f->at_ns);
    return c->made;
}

// Steps of the chosen counter. Marks ends of epochs.
static void count_chosen(struct follow *f, const struct counters_report *r, int64_t delta,
                         int64_t samples)
{
    struct totals_found found;
    if (delta > 0 && !f->second && !r->changed) {
        // Reports every 100 steps start at 100; a resumed training starts higher.
        f->second = true;
        f->made_before = f->before <= delta ? f->before : 0;
    }
    if (delta > 0 && parts_inside(&f->parts)) { // evaluation steps in the same bar
        f->inside += delta;
        if (f->inside > f->totals.inside)
            f->totals.inside = f->inside;
        return;
    }
    if (r->restarted) {
        mark(f, PART_EPOCH_END, 0);
        f->inside = 0;
    } else if (delta > 0) {
        f->totals.passed += f->epoch_pending;
        int64_t at = find_totals(f, &found);
        if (!found.per_epoch && found.each > 0 && at / found.each != (at + delta) / found.each)
            mark(f, PART_EPOCH_END, 0);
    }
    if (delta > 0) {
        f->epoch_pending = false;
        f->counted_epoch = f->figures.epoch;
    }
    count(f, delta, samples);
}

static void count_number(struct follow *f, const struct event *e, bool weak, int64_t samples)
{
    const struct counters_context context = {.now_ns = now_ns(f),
                                             .in_epoch = f->figures.epoch > 0,
                                             .again = f->counted_epoch > 0 &&
                                                      f->figures.epoch != f->counted_epoch,
                                             .weak = weak};
    struct counters_report r;
    f->counters.announced_steps =
        f->totals.log_steps > 0 ? f->totals.log_steps : f->totals.argument_steps;
    counters_add(&f->counters, e, &context, &r);
    if (!r.chosen) {
        if (r.jumped && counters_outer(&f->counters) == NULL)
            mark(f, PART_EVALUATION, 0);
        return;
    }
    int64_t delta = r.changed ? start(f, e, &r) : r.delta;
    count_chosen(f, &r, bounded((double)delta), samples);
}

// MLPerf logs count samples.
static void from_samples(struct follow *f, struct event *e)
{
    if (e->batch.known && e->batch.v > 0)
        f->batch = e->batch.v;
    if (e->epoch_samples.known)
        f->epoch_samples = e->epoch_samples.v;
    if (f->batch == 0 || e->step.known)
        return;
    if (e->all_samples.known) {
        e->step = some_int(e->all_samples.v / f->batch);
    } else if (e->epoch_ended && f->epoch_samples > 0) {
        e->steps = some_int((f->epoch_samples + f->batch - 1) / f->batch);
        f->totals.epoch_steps = e->steps.v;
    }
    if (e->steps.known)
        e->samples = some_int(bounded((double)e->steps.v * (double)f->batch));
}

static void count_steps(struct follow *f, enum level level, const struct event *e)
{
    int64_t world = e->world.known ? e->world.v : 1;
    int64_t samples = e->samples.known ? bounded((double)e->samples.v * (double)world) : 0;
    if (!e->step.known) {
        count(f, bounded((double)e->steps.v), samples);
        return;
    }
    struct event number = *e;
    if (level >= LEVEL_MLLOG) {
        number.bar = 0; // the worker's only counter; its total is the whole training's
        number.total_steps.known = false;
    }
    count_number(f, &number, false, samples);
}

// A line that tells the epoch only: after its end, if it has figures, or at its start.
static void count_epoch(struct follow *f, const struct event *e)
{
    const struct counter *c = counters_chosen(&f->counters);
    enum follow_total from;
    int64_t epochs = totals_epochs(&f->totals, &f->counters, &from);
    int64_t steps = f->totals.log_steps > 0 ? f->totals.log_steps : f->totals.argument_steps;
    bool figures =
        e->loss.known || e->test_loss.known || e->accuracy.known || e->test_accuracy.known;
    double at = e->epoch_at.known ? e->epoch_at.v : (double)(f->figures.epoch - !figures);
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
        number.step = some_int((int64_t)(at / (double)epochs * (double)steps + 0.5));
        number.total_steps = some_int(steps);
    }
    count_number(f, &number, true, 0);
}

// ---- lines

static void set_if(int64_t *to, struct maybe_int v)
{
    if (v.known && v.v > 0 && v.v < STEPS_MAX)
        *to = v.v;
}

// Totals and periods that the log announces.
static void note_announced(struct follow *f, enum level level, const struct event *e)
{
    if (!e->step.known || level >= LEVEL_MLLOG)
        set_if(&f->totals.log_steps, e->total_steps);
    set_if(&f->totals.log_epochs, e->epochs);
    set_if(&f->parts.kinds[PART_EVALUATION].every, e->eval_every);
    set_if(&f->parts.kinds[PART_CHECKPOINT].every, e->save_every);
    if (e->epoch_at.known && e->epoch_at.v > 0 && e->epoch_at.v < 1e9) {
        const struct counter *c = counters_chosen(&f->counters);
        f->totals.epoch_at = e->epoch_at.v;
        f->totals.epoch_step = c ? c->last : 0;
    }
}

static void note_epoch(struct follow *f, const struct event *e)
{
    struct totals_found found;
    find_totals(f, &found);
    bool with_steps = found.per_epoch || found.each == 0;
    int64_t steps = figures_epoch(&f->figures, e, made(f), with_steps);
    if (steps < 0)
        return;
    const struct counter *c = counters_chosen(&f->counters);
    f->epoch_pending = true;
    if (c && c->total > 0) // its restarts or its share show the ends of epochs
        return;
    if (steps > f->totals.epoch_steps)
        f->totals.epoch_steps = steps;
    if (c && !c->weak && steps > 0)
        mark(f, PART_EPOCH_END, 0);
}

static void raise_level(struct follow *f, enum level level, const struct event *e)
{
    f->level = level;
    f->source = e->source;
    f->totals.events = level == LEVEL_EVENTS;
    f->counters = (struct counters){.given_steps = f->options.total_steps,
                                    .given_epochs = f->options.total_epochs};
    f->totals.inside = f->totals.passed = 0;
}

static void apply(struct follow *f, enum level level, struct event *e)
{
    if (level < f->level)
        return;
    from_samples(f, e);
    bool exact = level >= LEVEL_MLLOG;
    bool other =
        e->counts == COUNTS_OTHER || (e->phase.known && e->phase.v != METER_TRAIN && !exact);
    bool steps = (e->step.known || e->steps.known) && !other;
    // Only the first worker that reported a step counts.
    if (f->worker.known && e->worker.known && e->worker.v != f->worker.v && level == f->level)
        return;
    if (steps && level > f->level)
        raise_level(f, level, e);
    if (steps && !f->worker.known)
        f->worker = e->worker;
    if (!other)
        note_announced(f, level, e);
    note_epoch(f, e);
    if (other && e->phase.known)
        beside(f, e);
    else if (exact && e->phase.known && !steps)
        set_phase(f, (enum meter_phase)e->phase.v);
    if (steps && e->stage.known && e->stage.v >= 1 && e->stage.v <= f->stages) {
        flush(f);
        f->stage = (int)e->stage.v - 1;
    }
    int64_t had = f->metered;
    if (steps)
        count_steps(f, level, e);
    else if (!exact && !other && (e->epoch.known || e->epoch_at.known))
        count_epoch(f, e);
    if (exact && e->phase.known && steps)
        set_phase(f, (enum meter_phase)e->phase.v);
    if (!exact && !other && f->metered == had && (e->test_loss.known || e->test_accuracy.known))
        mark(f, PART_EVALUATION, 0);
    if (!steps && !other && e->loss.known)
        counters_loss(&f->counters);
    figures_add(&f->figures, e,
                f->phase == METER_EVALUATE || (e->phase.known && e->phase.v == METER_EVALUATE));
}

static void note_malformed(struct follow *f, const char *line, size_t len)
{
    if (f->malformed++ > 0)
        return;
    len = len < MALFORMED ? len : MALFORMED;
    memcpy(f->first_malformed, line, len);
    f->first_malformed[len] = '\0';
}

// The program's description of itself.
static bool apply_about(struct follow *f, json_t *json)
{
    struct run told = {0};
    bool good = figures_about(&f->figures, json, &told);
    if (good && told.stages.count > 1 && told.stages.count <= METER_STAGES_MAX && f->stages == 0) {
        for (size_t i = 0; i < told.stages.count; i++)
            f->stage_steps[i] = told.stages.items[i].total_steps.v;
        f->stages = (int)told.stages.count; // the meter puts them into the record
    }
    if (good) {
        set_if(&f->totals.log_epochs, told.epochs);
        set_if(&f->totals.log_steps, told.total_steps);
        set_if(&f->totals.epoch_steps, told.steps_per_epoch);
    }
    record_release(run_fields, &told);
    return good;
}

static void handle(struct follow *f, enum level level, enum event_result result, const char *name,
                   const char *line, size_t len, struct event *e)
{
    if (result == EVENT_MALFORMED)
        note_malformed(f, line, len);
    if (result == EVENT_READ) {
        bool sane = e->at.known && e->at.v > 0 && e->at.v < 1e9;
        if (!e->source)
            e->source = name;
        if (e->about && !apply_about(f, e->about))
            note_malformed(f, line, len);
        f->at_ns = sane ? (int64_t)(e->at.v * 1e9) : 0;
        meter_at(f->meter, f->at_ns);
        apply(f, level, e);
        if (e->at.known)
            flush(f); // at the event's time
        meter_at(f->meter, f->at_ns = 0);
    }
    event_release(e);
}

void follow_event(struct follow *f, char *line, size_t len)
{
    struct event e = {0};
    if (f->stopped)
        return;
    enum event_result result = event_json.read(line, len, &e);
    handle(f, LEVEL_EVENTS, result, "events", line, len, &e);
}

void follow_output(struct follow *f, char *line, size_t len, bool ended)
{
    struct event e = {0};
    if (f->stopped)
        return;
    if (ended) {
        enum event_result result = event_mllog.read(line, len, &e);
        handle(f, LEVEL_MLLOG, result, "MLLOG", line, len, &e);
        if (result != EVENT_NONE)
            return;
    }
    if (len > EVENT_PATTERN_MAX || f->level > LEVEL_PATTERN)
        return;
    len = event_clean(line, len);
    if (f->has_pattern) {
        if (ended)
            handle(f, LEVEL_PATTERN, event_pattern_read(&f->pattern, line, len, &e),
                   "--step-pattern", line, len, &e);
        return;
    }
    for (const struct event_source *s = event_patterns; s->name; s++) {
        if (s->read(line, len, &e) != EVENT_READ)
            continue;
        if (!ended) // its figures count once the line is complete
            e.loss.known = e.accuracy.known = false;
        handle(f, LEVEL_READY, EVENT_READ, s->name, line, len, &e);
        return;
    }
}

void follow_trace(struct follow *f, int64_t steps, int64_t at_ns)
{
    if (f->stopped || f->level > LEVEL_TRACE || steps <= 0)
        return;
    struct event e = {.steps = some_int(steps), .source = "GPU kernels"};
    meter_at(f->meter, f->at_ns = at_ns);
    if (f->level == LEVEL_NONE) // the time before the first report is no step time
        set_phase(f, METER_TRAIN);
    apply(f, LEVEL_TRACE, &e);
    flush(f);
    meter_at(f->meter, f->at_ns = 0);
}

void follow_activity(struct follow *f, double busy)
{
    int64_t now = clock_now_ns();
    if (f->activity_ns > 0)
        counters_activity(&f->counters, busy, (double)(now - f->activity_ns) / 1e9);
    f->activity_ns = now;
}

// ---- the end of a sample

// Whether an announced part that did not occur yet comes before the time is over.
static bool part_comes(const struct follow *f, double elapsed_s)
{
    struct parts_whole whole;
    struct meter_outlook o;
    int64_t next;
    find_whole(f, &whole);
    if (parts_unseen(&f->parts, &whole, &next) == 0)
        return false;
    meter_outlook(f->meter, &o);
    return f->options.max_s <= 0 || next == 0 ||
           elapsed_s + (double)next * o.step_s < f->options.max_s;
}

bool follow_enough(struct follow *f)
{
    flush(f);
    plan(f);
    double elapsed_s = (double)(clock_now_ns() - meter_start_ns(f->meter)) / 1e9;
    bool over = f->options.max_s > 0 && elapsed_s >= f->options.max_s;
    bool enough = meter_enough(f->meter);
    if (!f->options.sample || !enough || over)
        return over && (f->options.at_the_latest || (f->options.sample && enough));
    if (f->level < LEVEL_PATTERN && f->level != LEVEL_TRACE && !counters_sure(&f->counters)) {
        const struct counter *c = counters_chosen(&f->counters);
        if (!c || clock_now_ns() - c->began_ns < LAST_S * NS_PER_S)
            return false;
    }
    return !part_comes(f, elapsed_s);
}

void follow_stop(struct follow *f)
{
    flush(f);
    plan(f);
    meter_stop(f->meter);
    f->stopped = true;
}

// ---- what is known

// Units of the counter in a step of the record.
static int64_t unit_of(const struct follow *f)
{
    const struct counter *c = counters_chosen(&f->counters);
    if (c && c->bar == TOTALS_EPOCH_BAR)
        return TOTALS_EPOCH;
    return c && c->counts == COUNTS_SAMPLES && f->batch > 0 ? f->batch : 1;
}

void follow_place(const struct follow *f, int64_t *step, int64_t *steps)
{
    struct totals_found found;
    int64_t unit = unit_of(f);
    *step = find_totals(f, &found) / unit;
    *steps = found.total / unit;
}

void follow_state(const struct follow *f, struct follow_state *out)
{
    const struct counter *c = counters_chosen(&f->counters);
    struct totals_found found;
    struct meter_outlook o;
    struct parts_whole whole;
    int64_t next, unit = unit_of(f), train_ns = meter_train_ns(f->meter);
    meter_outlook(f->meter, &o);
    find_totals(f, &found);
    find_whole(f, &whole);
    *out = (struct follow_state){.source = f->source,
                                 .epochs = c && c->counts == COUNTS_EPOCHS,
                                 .total_from = found.from,
                                 .unsteady = o.unsteady};
    if (c)
        memcpy(out->label, c->label, sizeof out->label);
    follow_place(f, &out->step, &out->total);
    if (o.steps > 0 && train_ns > 0)
        out->steps_per_s = (double)o.steps * 1e9 / (double)train_ns / (double)unit;
    out->unseen = f->level > LEVEL_NONE ? parts_unseen(&f->parts, &whole, &next) : 0;
}

// ---- the record

static void say(const struct follow *f, struct buf *says)
{
    if (f->malformed > 0)
        buf_printf(says, "%lld progress line%s could not be read and %s ignored; the first: %s\n",
                   (long long)f->malformed, f->malformed == 1 ? "" : "s",
                   f->malformed == 1 ? "was" : "were", f->first_malformed);
    if (f->level == LEVEL_NONE && f->has_pattern)
        buf_adds(says, "No line of the output matched --step-pattern: only the total time was "
                       "measured.\n");
    else if (f->level == LEVEL_NONE)
        buf_adds(says, "The command reported no progress: only the total time was measured. Let "
                       "it write events (share/python/fare.py, FARE_EVENTS), or match its step "
                       "lines with --step-pattern.\n");
}

static void scale(struct maybe_real *v, double by)
{
    v->v *= by;
}

// From units of the counter to steps.
static void convert(struct run *run, int64_t unit)
{
    scale(&run->step_ms, (double)unit);
    scale(&run->steady.step_ms, (double)unit);
    scale(&run->steady.low_ms, (double)unit);
    scale(&run->steady.high_ms, (double)unit);
    run->steady.first_step.v /= unit;
    run->steady.steps.v /= unit;
    for (size_t i = 0; i < run->step_plot_ms.count; i++)
        run->step_plot_ms.items[i] *= (double)unit;
}

static void fill_totals(const struct follow *f, struct run *run)
{
    const struct counter *c = counters_chosen(&f->counters);
    struct totals_found found;
    int64_t unit = unit_of(f);
    find_totals(f, &found);
    if (unit > 1)
        convert(run, unit);
    if (run->steps.known || made(f) > 0)
        run->steps = some_int(made(f) / unit);
    if (found.total > 0)
        run->total_steps = some_int(found.total / unit);
    bool counts_epochs = c && c->counts == COUNTS_EPOCHS;
    if (found.epochs > 0 || counts_epochs)
        run->epochs = some_int(counts_epochs ? found.total / unit : found.epochs);
    if (!run->steps_per_epoch.known && found.each > 0)
        run->steps_per_epoch = some_int(found.each / unit);
    run->first_loss = losses_first(&f->figures.all);
    run->last_loss = losses_last(&f->figures.all);
    if (!run->step_ms.known || run->step_ms.v <= 0)
        return;
    if (f->samples > 0 && f->metered > 0)
        run->samples_per_s =
            some_real((double)f->samples / (double)f->metered * 1e3 / run->step_ms.v);
    else if (c && c->counts == COUNTS_SAMPLES)
        run->samples_per_s = some_real((double)unit * 1e3 / run->step_ms.v);
    else if (run->batch.known && f->metered > 0 && !counts_epochs)
        run->samples_per_s = some_real((double)run->batch.v * 1e3 / run->step_ms.v);
    if (counts_epochs)
        run->epoch_s = some_real(run->step_ms.v / 1e3);
    else if (run->steps_per_epoch.known)
        run->epoch_s = some_real(run->step_ms.v * (double)run->steps_per_epoch.v / 1e3);
}

static int fill_progress(const struct follow *f, struct run_progress *out, struct err *err)
{
    static const char *const from[] = {NULL, "bar", "log", "arguments", "option", "events"};
    static const char *const parts[] = {"epoch end", "evaluation", "checkpoint"};
    const struct counter *c = counters_chosen(&f->counters);
    struct follow_state state;
    follow_state(f, &state);
    if (!state.source)
        return 0;
    bool samples = c && c->counts == COUNTS_SAMPLES && unit_of(f) == 1;
    TRY(text_set(&out->source, state.source, err));
    if (state.label[0])
        TRY(text_set(&out->counter, state.label, err));
    TRY(text_set(&out->counts, samples ? "samples" : state.epochs ? "epochs" : "steps", err));
    if (from[state.total_from])
        TRY(text_set(&out->total_from, from[state.total_from], err));
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        if (state.unseen & 1U << i)
            TRY(texts_add(&out->unseen, parts[i], err));
    if (state.unsteady)
        out->unsteady = some_bool(true);
    return 0;
}

// Books the time since the last steps to the part that began then.
static void close_part(struct follow *f)
{
    static const enum meter_phase phases[PARTS] = {METER_EPOCH_END, METER_EVALUATE,
                                                   METER_CHECKPOINT};
    flush(f);
    for (int i = PARTS - 1; i >= 0 && !f->stopped && f->phase == METER_TRAIN; i--)
        if (f->parts.marks & 1U << i) {
            meter_at(f->meter, meter_booked_ns(f->meter));
            meter_phase(f->meter, phases[i]);
            meter_at(f->meter, 0);
            return;
        }
}

int follow_finish(struct follow *f, bool finished, struct buf *says, struct err *err)
{
    struct run *run = f->figures.run;
    struct totals_found found;
    close_part(f);
    plan(f);
    find_totals(f, &found);
    figures_close(&f->figures, made(f), found.per_epoch || found.each == 0);
    int rc = meter_fill(f->meter, finished, run, err);
    if (rc == 0) {
        fill_totals(f, run);
        rc = fill_progress(f, &run->progress, err);
    }
    say(f, says);
    if (rc == 0 && f->figures.failed)
        rc = err_memory(err);
    return rc == 0 ? buf_check(says, err) : rc;
}

int follow_peek(struct follow *f, struct run *part, struct err *err)
{
    plan(f);
    TRY(meter_peek(f->meter, part, err));
    fill_totals(f, part);
    return fill_progress(f, &part->progress, err);
}
