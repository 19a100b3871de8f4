// SPDX-License-Identifier: Apache-2.0
#include "follow/follow.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ledger/mlperf.h"
#include "follow/formats.h"
#include "follow/track.h"
#include "record/read.h"

struct follow_figures {
    struct run *run;
    bool failed; // out of memory
    bool epochs_from_0;
    int64_t epoch;       // 0: none reported
    int64_t epoch_began; // steps made at its start; -1: unknown
    double loss, accuracy;
    int64_t losses, accuracies; // their number in the epoch
    struct losses all;
};

enum level {
    LEVEL_NONE,
    LEVEL_TRACE,
    LEVEL_READY,
    LEVEL_PATTERN,
    LEVEL_MLLOG, // from here on phases are reported with their start
    LEVEL_EVENTS
};

enum { MALFORMED = 80 }; // bytes of the first malformed line to show

struct follow {
    struct follow_options options;
    regex_t pattern;
    bool has_pattern;
    bool stopped; // ignore further progress

    enum level level;
    struct maybe_int worker; // the one whose steps count
    struct log_columns columns;
    struct shapes shapes;
    struct track track;
    struct follow_figures figures;
    int64_t activity_ns;   // when follow_activity() was called last
    int64_t epoch_samples; // MLLOG's
    const struct mlperf *benchmark;
    int64_t sum; // of the steps reported without a number

    int64_t malformed;
    char first_malformed[MALFORMED + 1];
};

static struct run_epoch *last_row(struct follow_figures *f)
{
    size_t count = f->run->epoch_list.count;
    return f->epoch > 0 && count > 0 ? &f->run->epoch_list.items[count - 1] : NULL;
}

// Ends the last epoch.
static void figures_close(struct follow_figures *f, int64_t made, bool with_steps)
{
    struct run_epoch *row = last_row(f);
    if (!row)
        return;
    if (f->losses > 0)
        row->train_loss = some_real(f->loss / (double)f->losses);
    if (f->accuracies > 0)
        row->train_accuracy = some_real(f->accuracy / (double)f->accuracies);
    if (f->epoch_began >= 0 && made > f->epoch_began && with_steps)
        row->steps = some_int(made - f->epoch_began);
    f->loss = f->accuracy = 0;
    f->losses = f->accuracies = 0;
}

// The event may start an epoch after `made` steps. Returns the steps of the epoch that ended, 0 if
// they are unknown, -1 if none did. `with_steps`: epochs are reported between steps, not on the
// way, so their steps count.
static int64_t figures_epoch(struct follow_figures *f, const struct event *e, int64_t made,
                             bool with_steps)
{
    if (!e->epoch.known || e->epoch.v < 0 || e->epoch.v >= INT64_C(1) << 53)
        return -1;
    if (f->epoch == 0 && e->epoch.v == 0)
        f->epochs_from_0 = true;
    int64_t epoch = e->epoch.v + f->epochs_from_0;
    if (epoch == f->epoch || epoch == 0)
        return -1;
    int64_t steps = f->epoch == 0 ? -1 : f->epoch_began < 0 ? 0 : made - f->epoch_began;
    figures_close(f, made, with_steps);
    f->epoch = epoch;
    f->epoch_began = made;
    if (f->run->epoch_list.count >= RUN_EPOCHS_MOST)
        return steps;
    struct run_epoch *row = LIST_ADD(&f->run->epoch_list, NULL);
    if (row)
        row->epoch = some_int(epoch);
    f->failed |= !row;
    return steps;
}

static struct maybe_real share_of(struct maybe_real told)
{
    bool good = told.known && told.v >= 0 && told.v <= 1;
    return good ? told : (struct maybe_real){0};
}

// Losses and accuracies; `testing`: plain ones are those of an evaluation. Ignores an accuracy
// outside of 0 to 1, such as a percentage.
static void figures_add(struct follow_figures *f, const struct event *e, bool testing)
{
    struct maybe_real accuracy = share_of(e->accuracy);
    struct maybe_real test_loss = e->test_loss.known || !testing ? e->test_loss : e->loss;
    struct maybe_real test_accuracy =
        e->test_accuracy.known || !testing ? share_of(e->test_accuracy) : accuracy;
    if (e->loss.known && !testing) {
        losses_add(&f->all, e->loss.v);
        f->loss += e->loss.v;
        f->losses++;
    }
    if (accuracy.known && !testing) {
        f->accuracy += accuracy.v;
        f->accuracies++;
    }
    if (test_accuracy.known)
        f->run->test_accuracy = test_accuracy;
    struct run_epoch *row = last_row(f);
    if (row && test_loss.known)
        row->test_loss = test_loss;
    if (row && test_accuracy.known)
        row->test_accuracy = test_accuracy;
}

static void move_text(char **to, char **from)
{
    if (!*from)
        return;
    free(*to);
    *to = *from;
    *from = NULL;
}

// Members of the record that the program tells; those of the whole training go to `told`, which the
// caller releases (record_release). False if they cannot be read.
static bool figures_about(struct follow_figures *f, const char *json, struct run *told)
{
    struct run *run = f->run;
    if (record_from_text(run_fields, json, strlen(json), told, NULL) != 0)
        return false;
    move_text(&run->precision, &told->precision);
    move_text(&run->net, &told->net);
    move_text(&run->recipe, &told->recipe);
    if (told->data.name && !run->data.name) {
        run->data = told->data;
        memset(&told->data, 0, sizeof told->data);
    }
    if (told->libraries.count > 0 && run->libraries.count == 0) {
        run->libraries.items = told->libraries.items;
        run->libraries.count = told->libraries.count;
        run->libraries.known = true;
        memset(&told->libraries, 0, sizeof told->libraries);
    }
#define TAKE(member) run->member = told->member.known ? told->member : run->member
    TAKE(batch);
    TAKE(parameters);
    TAKE(threads);
    TAKE(seed);
    TAKE(steps_per_epoch);
    TAKE(l1_transfer_ms);
    TAKE(l1_calculation_ms);
    TAKE(l1_pairs_per_s);
    TAKE(l1_largest_error);
#undef TAKE
    return true;
}

// ---- Following

#define SAMPLE_SHARE 0.1
#define SAMPLE_S     20
#define LAST_S       10 // a bar without any word must last this long to end a sample
#define STEPS_MAX    (INT64_C(1) << 53)

static void set_if(int64_t *to, struct maybe_int v)
{
    if (v.known && v.v > 0 && v.v < STEPS_MAX)
        *to = v.v;
}

static void note_periods(struct follow *f, const struct event *e)
{
    set_if(&f->track.parts.kinds[PART_EVALUATION].every, e->eval_every);
    set_if(&f->track.parts.kinds[PART_CHECKPOINT].every, e->save_every);
}

// Totals in the command line. Hugging Face's scripts, which have --num_train_epochs, draw one bar
// for the whole training.
static void read_arguments(struct follow *f, char *const *argv)
{
    struct event e = {0};
    if (!arguments_read(argv, &e))
        return;
    struct training_totals *t = &f->track.totals;
    set_if(&t->argument_steps, e.total_steps);
    set_if(&t->argument_epochs, e.epochs);
    note_periods(f, &e);
    for (; *argv; argv++)
        t->arguments_whole |=
            strstr(*argv, "num_train_epochs") || strstr(*argv, "num-train-epochs");
}

int follow_new(struct follow **follow, const struct follow_options *options, struct meter *meter,
               struct run *run, struct err *err)
{
    struct follow *f = *follow = calloc(1, sizeof *f);
    if (!f)
        return err_memory(err);
    f->options = *options;
    f->track.meter = meter;
    f->track.within = options->sample ? options->within : 0;
    f->track.max_s = options->sample ? options->max_s : 0;
    f->figures.run = run;
    f->track.totals.option_steps = f->track.counters.given_steps = options->total_steps;
    f->track.totals.option_epochs = f->track.counters.given_epochs = options->total_epochs;
    if (options->argv)
        read_arguments(f, options->argv);
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

// Keeps products and sums of reported numbers far from overflow.
static int64_t bounded(double steps)
{
    return steps < 1e15 ? (int64_t)steps : 0;
}

// ---- steps

// MLPerf logs count samples.
static void from_samples(struct follow *f, struct event *e)
{
    if (e->batch.known && e->batch.v > 0)
        f->track.batch = e->batch.v;
    if (e->epoch_samples.known)
        f->epoch_samples = e->epoch_samples.v;
    if (f->track.batch == 0 || e->step.known)
        return;
    if (e->all_samples.known) {
        e->step = some_int(e->all_samples.v / f->track.batch);
    } else if (e->epoch_ended && f->epoch_samples > 0) {
        e->steps = some_int((f->epoch_samples + f->track.batch - 1) / f->track.batch);
        f->track.totals.epoch_steps = e->steps.v;
    }
    if (e->steps.known)
        e->samples = some_int(bounded((double)e->steps.v * (double)f->track.batch));
}

static void count_steps(struct follow *f, enum level level, const struct event *e)
{
    int64_t world = e->world.known ? e->world.v : 1;
    int64_t samples = e->samples.known ? bounded((double)e->samples.v * (double)world) : 0;
    bool output = level == LEVEL_READY || level == LEVEL_PATTERN;
    if (!e->step.known && !output) {
        track_steps(&f->track, bounded((double)e->steps.v), samples);
        return;
    }
    struct event number = *e;
    if (!e->step.known) {
        f->sum += f->sum < STEPS_MAX ? bounded((double)e->steps.v) : 0;
        number.bar = TOTALS_SUM_BAR;
        number.step = some_int(f->sum);
    } else if (e->counts == COUNTS_EPOCHS && e->epoch_ended) {
        number.step.v += f->figures.epochs_from_0; // epoch 0 has ended
    } else if (level >= LEVEL_MLLOG) {
        number.bar = 0; // the worker's only counter; its total is the whole training's
        number.total_steps.known = false;
    }
    bool weak = e->source && strcmp(e->source, "regular lines") == 0;
    track_number(&f->track, &number, weak, samples);
    if (e->epoch_ended && !e->step.known)
        set_if(&f->track.totals.epoch_steps, e->steps);
}

// ---- lines

// Totals and periods that the log announces.
static void note_announced(struct follow *f, enum level level, const struct event *e)
{
    if (!e->step.known || level >= LEVEL_MLLOG)
        set_if(&f->track.totals.log_steps, e->total_steps);
    set_if(&f->track.totals.log_epochs, e->epochs);
    bool rich = e->source && strcmp(e->source, "Lightning") == 0; // counts them all
    f->track.totals.log_from_0 |= e->epochs.known && e->epoch.known && e->epoch.v == 0 && !rich;
    note_periods(f, e);
    if (e->epoch_at.known && e->epoch_at.v > 0 && e->epoch_at.v < 1e9) {
        const struct counter *c = counters_chosen(&f->track.counters);
        f->track.totals.epoch_at = e->epoch_at.v;
        f->track.totals.epoch_step = c ? c->last : 0;
    }
}

// Whether epochs are reported between steps, not on the way of a counter of the whole training.
static bool follow_between_steps(const struct follow *f)
{
    const struct counter *c = counters_chosen(&f->track.counters);
    struct totals_found found;
    track_place(&f->track, &found);
    return !c || c->total == 0 || found.per_epoch;
}

static void note_epoch(struct follow *f, const struct event *e)
{
    if (!e->epoch.known)
        return;
    int64_t steps = figures_epoch(&f->figures, e, track_made(&f->track), follow_between_steps(f));
    f->track.epoch = f->figures.epoch;
    if (steps < 0)
        return;
    const struct counter *c = counters_chosen(&f->track.counters);
    f->track.epoch_pending = true;
    if (c && c->total > 0) // its restarts or its share show the ends of epochs
        return;
    if (steps > f->track.totals.epoch_steps)
        f->track.totals.epoch_steps = steps;
    if (c && !c->weak && steps > 0)
        track_mark(&f->track, PART_EPOCH_END);
}

static void raise_level(struct follow *f, enum level level, const struct event *e)
{
    f->level = level;
    f->track.source = e->source;
    f->track.totals.events = level == LEVEL_EVENTS;
    f->track.counters = (struct counters){.given_steps = f->options.total_steps,
                                          .given_epochs = f->options.total_epochs};
    f->track.totals.inside = f->track.totals.passed = 0;
}

// The epochs of another bar are not those of the training: OpenRLHF's "Train epoch [1/1]" within
// each step of "Episode [1/20]".
static void ignore_foreign(const struct follow *f, struct event *e)
{
    const struct counter *c = counters_chosen(&f->track.counters);
    if (c && c->epochs && c->counts == COUNTS_STEPS && e->bar && e->bar != c->bar)
        e->epoch.known = e->epochs.known = false;
}

static void apply(struct follow *f, enum level level, struct event *e)
{
    if (level < f->level)
        return;
    from_samples(f, e);
    ignore_foreign(f, e);
    bool exact = level >= LEVEL_MLLOG;
    bool other =
        e->counts == COUNTS_OTHER || (e->phase.known && e->phase.v != METER_TRAIN && !exact);
    bool steps = (e->step.known || e->steps.known) && !other;
    // Only the first worker that reported a step counts.
    if (f->worker.known && e->worker.known && e->worker.v != f->worker.v && level == f->level)
        return;
    bool epoch = !exact && !other && !steps && (e->epoch.known || e->epoch_at.known);
    if ((steps || epoch || e->at_step.known) && level > f->level)
        raise_level(f, level, e);
    if (steps && !f->worker.known)
        f->worker = e->worker;
    if (!other)
        note_announced(f, level, e);
    note_epoch(f, e);
    if (other && e->phase.known)
        track_beside(&f->track, e);
    else if (exact && e->phase.known && !steps)
        track_phase(&f->track, (enum meter_phase)e->phase.v);
    if (steps && e->stage.known && e->stage.v >= 1 && e->stage.v <= f->track.stages) {
        track_flush(&f->track);
        f->track.stage = (int)e->stage.v - 1;
    }
    int64_t had = f->track.metered, starts = f->track.starts;
    if (steps)
        count_steps(f, level, e);
    else if (epoch)
        track_epoch(&f->track, e);
    f->track.lengthens |= e->generates;
    f->track.totals.loops |= e->loops && !exact;
    if (steps && e->left_s.known && counters_chosen(&f->track.counters) &&
        counters_chosen(&f->track.counters)->bar == e->bar) {
        f->track.left_s = e->left_s;
        f->track.left_unit_s = e->left_unit_s;
    }
    if (f->track.starts != starts)
        f->figures.epoch_began = -1; // its steps were not all counted
    if (exact && e->phase.known && steps)
        track_phase(&f->track, (enum meter_phase)e->phase.v);
    if (!exact && !other && f->track.metered == had &&
        (e->test_loss.known || e->test_accuracy.known))
        track_mark(&f->track, PART_EVALUATION);
    if (!steps && !other && e->loss.known)
        counters_loss(&f->track.counters);
    figures_add(&f->figures, e,
                f->track.phase == METER_EVALUATE ||
                    (e->phase.known && e->phase.v == METER_EVALUATE));
}

// A line with a quality does not name its benchmark.
static void name_quality(struct follow *f, struct event *e)
{
    if (e->benchmark)
        f->benchmark = e->benchmark;
    if (!e->quality.known)
        return;
    enum mlperf_kind kind = mlperf_kind(f->benchmark, e->quality.v);
    if (kind == MLPERF_ACCURACY)
        e->test_accuracy = e->quality;
    else if (kind == MLPERF_LOSS)
        e->test_loss = e->quality;
}

static void note_malformed(struct follow *f, const char *line, size_t len)
{
    if (f->malformed++ > 0)
        return;
    len = len < MALFORMED ? len : MALFORMED;
    memcpy(f->first_malformed, line, len);
    event_clean(f->first_malformed, len);
}

// The program's description of itself.
static bool apply_about(struct follow *f, const char *json)
{
    struct run told = {0};
    bool good = figures_about(&f->figures, json, &told);
    if (good && told.stages.count > 1 && told.stages.count <= METER_STAGES_MAX &&
        f->track.stages == 0) {
        for (size_t i = 0; i < told.stages.count; i++)
            f->track.stage_steps[i] = told.stages.items[i].total_steps.v;
        f->track.stages = (int)told.stages.count; // the meter puts them into the record
    }
    if (good) {
        set_if(&f->track.totals.log_epochs, told.epochs);
        set_if(&f->track.totals.log_steps, told.total_steps);
        set_if(&f->track.totals.epoch_steps, told.steps_per_epoch);
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
        f->track.at_ns = sane ? (int64_t)(e->at.v * 1e9) : 0;
        meter_at(f->track.meter, f->track.at_ns);
        name_quality(f, e);
        apply(f, level, e);
        if (e->at.known)
            track_flush(&f->track); // at the event's time
        meter_at(f->track.meter, f->track.at_ns = 0);
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
    const struct event_source *s = event_patterns;
    while (s->name && s->read(line, len, &e) != EVENT_READ)
        s++;
    if (!ended) // its figures count once the line is complete
        e.loss.known = e.accuracy.known = false;
    f->track.drawn = s == event_patterns; // the first one reads bars
    bool found = s->name || (ended && (columns_read(&f->columns, line, len, &e) == EVENT_READ ||
                                       shapes_read(&f->shapes, line, len, &e) == EVENT_READ));
    if (found)
        handle(f, LEVEL_READY, EVENT_READ, s->name, line, len, &e);
}

// Whether the output has no counter but a bar that nothing speaks for and that stopped long ago.
static bool has_only_loaded(const struct follow *f)
{
    const struct counter *c = counters_chosen(&f->track.counters);
    return f->level == LEVEL_READY && (!c || (!counters_sure(&f->track.counters) &&
                                              clock_now_ns() - c->moved_ns > LAST_S * NS_PER_S));
}

void follow_trace(struct follow *f, int64_t steps, int64_t at_ns)
{
    bool loaded = has_only_loaded(f);
    if (f->stopped || (f->level > LEVEL_TRACE && !loaded) || steps <= 0)
        return;
    struct event e = {.steps = some_int(steps), .source = FOLLOW_KERNELS};
    meter_at(f->track.meter, f->track.at_ns = at_ns);
    if (loaded) {
        raise_level(f, LEVEL_TRACE, &e);
        track_restart(&f->track, at_ns);
    }
    apply(f, LEVEL_TRACE, &e);
    track_flush(&f->track);
    meter_at(f->track.meter, f->track.at_ns = 0);
}

void follow_activity(struct follow *f, double busy, struct maybe_real work)
{
    int64_t now = clock_now_ns();
    double seconds = (double)(now - f->activity_ns) / 1e9;
    if (f->activity_ns > 0)
        counters_activity(&f->track.counters, busy, seconds);
    if (f->activity_ns > 0 && work.known && !f->stopped)
        track_busy(&f->track, work.v, seconds);
    f->activity_ns = now;
}

void follow_others(struct follow *f, double share)
{
    f->track.others = share;
}

void follow_written(struct follow *f, int64_t bytes)
{
    f->track.written = bytes;
}

// ---- the end of a sample

// Whether an announced part that did not occur yet comes before the time is over.
static bool part_comes(const struct follow *f, double elapsed_s)
{
    struct parts_whole whole;
    struct meter_outlook o;
    int64_t next;
    track_whole(&f->track, &whole);
    if (parts_unseen(&f->track.parts, &whole, &next) == 0)
        return false;
    meter_outlook(f->track.meter, &o);
    return f->options.max_s <= 0 || next == 0 ||
           elapsed_s + (double)next * o.step_s < f->options.max_s;
}

// Step times may change on the way: a sample has a tenth of the training, or 20 s if that is less.
static bool is_short(const struct follow *f)
{
    struct meter_outlook o;
    meter_outlook(f->track.meter, &o);
    double least_s = o.wall_s * SAMPLE_SHARE < SAMPLE_S ? o.wall_s * SAMPLE_SHARE : SAMPLE_S;
    return o.elapsed_s - o.before_s < least_s;
}

bool follow_enough(struct follow *f)
{
    track_flush(&f->track);
    track_plan(&f->track);
    double elapsed_s = (double)(clock_now_ns() - meter_start_ns(f->track.meter)) / 1e9;
    bool over = f->options.max_s > 0 && elapsed_s >= f->options.max_s;
    bool enough = meter_enough(f->track.meter);
    if (!f->options.sample || !enough || over)
        return over && (f->options.at_the_latest || (f->options.sample && enough));
    if (f->level < LEVEL_PATTERN && f->level != LEVEL_TRACE && !counters_sure(&f->track.counters)) {
        const struct counter *c = counters_chosen(&f->track.counters);
        if (!c || clock_now_ns() - c->began_ns < LAST_S * NS_PER_S)
            return false;
    }
    return !is_short(f) && !part_comes(f, elapsed_s);
}

void follow_stop(struct follow *f)
{
    track_flush(&f->track);
    track_plan(&f->track);
    meter_stop(f->track.meter);
    f->stopped = true;
}

// ---- what is known

// The current step, counting those before this run, and the last one; 0: unknown.
static void follow_place(const struct follow *f, int64_t *step, int64_t *steps)
{
    struct totals_found found;
    int64_t unit = track_unit(&f->track);
    *step = track_place(&f->track, &found) / unit;
    *steps = found.total / unit;
}

// The time until a part that comes `s` seconds after the last steps reported; 0: it is overdue.
static double until_part_s(const struct follow *f, double s)
{
    double since_s = (double)(clock_now_ns() - meter_booked_ns(f->track.meter)) / 1e9;
    double left_s = s - since_s;
    return left_s > 0.1 ? left_s : left_s > -LAST_S ? 0.1 : 0;
}

void follow_state(const struct follow *f, struct follow_state *out)
{
    const struct counter *c = counters_chosen(&f->track.counters);
    struct totals_found found;
    struct meter_outlook o;
    struct parts_whole whole;
    int64_t next, unit = track_unit(&f->track), train_ns = meter_train_ns(f->track.meter);
    meter_outlook(f->track.meter, &o);
    track_place(&f->track, &found);
    track_whole(&f->track, &whole);
    *out = (struct follow_state){.source = f->track.source,
                                 .epochs = found.counts_epochs,
                                 .total_from = found.from,
                                 .unsteady = o.unsteady || track_growth(&f->track) > 0,
                                 .lengthens = f->track.lengthens};
    if (c)
        memcpy(out->label, c->label, sizeof out->label);
    follow_place(f, &out->step, &out->total);
    out->loss = f->figures.all.latest;
    if (o.steps > 0 && train_ns > 0)
        out->steps_per_s = (double)o.steps * 1e9 / (double)train_ns / (double)unit;
    out->unseen = f->level > LEVEL_NONE ? parts_unseen(&f->track.parts, &whole, &next) : 0;
    if (parts_due(&f->track.parts, out->unseen, &whole))
        out->part_s = until_part_s(f, 0);
    else if (out->unseen && next > 0 && next < INT64_MAX)
        out->part_s = until_part_s(f, (double)next * o.step_s);
    const unsigned parts = 1U << PART_EVALUATION | 1U << PART_CHECKPOINT;
    out->in_part = (f->track.parts.marks & parts) || f->track.phase == METER_EVALUATE ||
                   f->track.phase == METER_CHECKPOINT;
    out->left = f->track.totals.left.n > 0 && !f->track.totals.left.of_epochs;
}

// ---- The record of a command that was followed: totals, losses, where they come from.

static void follow_say(const struct follow *f, struct buf *says)
{
    if (f->malformed > 0)
        buf_printf(says, "%lld progress line%s could not be read and %s ignored; the first: %s\n",
                   (long long)f->malformed, f->malformed == 1 ? "" : "s",
                   f->malformed == 1 ? "was" : "were", f->first_malformed);
    if (f->level == LEVEL_NONE && f->has_pattern)
        buf_adds(says, "No line of the output matched --step-pattern: only the total time was "
                       "measured.\n");
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
    const struct counter *c = counters_chosen(&f->track.counters);
    struct totals_found found;
    int64_t unit = track_unit(&f->track);
    track_place(&f->track, &found);
    if (unit > 1)
        convert(run, unit);
    if (run->steps.known || track_made(&f->track) > 0)
        run->steps = some_int(track_made(&f->track) / unit);
    if (found.total > 0)
        run->total_steps = some_int(found.total / unit);
    int64_t epochs = found.counts_epochs ? found.total / unit : found.epochs;
    if (epochs > 0)
        run->epochs = some_int(epochs);
    if (!run->steps_per_epoch.known && found.each > 0)
        run->steps_per_epoch = some_int(found.each / unit);
    run->first_loss = losses_first(&f->figures.all);
    run->last_loss = losses_last(&f->figures.all);
    run->latest_loss = f->figures.all.latest;
    if (!run->step_ms.known || run->step_ms.v <= 0)
        return;
    if (f->track.samples > 0 && f->track.metered > 0)
        run->samples_per_s =
            some_real((double)f->track.samples / (double)f->track.metered * 1e3 / run->step_ms.v);
    else if (c && c->counts == COUNTS_SAMPLES)
        run->samples_per_s = some_real((double)unit * 1e3 / run->step_ms.v);
    else if (run->batch.known && f->track.metered > 0 && !found.counts_epochs)
        run->samples_per_s = some_real((double)run->batch.v * 1e3 / run->step_ms.v);
    if (found.counts_epochs)
        run->epoch_s = some_real(run->step_ms.v / 1e3);
    else if (run->steps_per_epoch.known)
        run->epoch_s = some_real(run->step_ms.v * (double)run->steps_per_epoch.v / 1e3);
}

static int fill_progress(const struct follow *f, struct run_progress *out, struct err *err)
{
    static const char *const from[] = {NULL,     "bar",    "log",      "arguments",
                                       "option", "events", "time left"};
    static const char *const parts[] = {"epoch end", "evaluation", "checkpoint"};
    const struct counter *c = counters_chosen(&f->track.counters);
    struct follow_state state;
    follow_state(f, &state);
    if (!state.source)
        return 0;
    bool samples = c && c->counts == COUNTS_SAMPLES && track_unit(&f->track) == 1;
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
    if (state.lengthens)
        out->lengthens = some_bool(true);
    return 0;
}

int follow_finish(struct follow *f, bool finished, struct buf *says, struct err *err)
{
    struct run *run = f->figures.run;
    if (!f->stopped)
        track_close(&f->track);
    track_plan(&f->track);
    figures_close(&f->figures, track_made(&f->track), follow_between_steps(f));
    int rc = meter_fill(f->track.meter, finished, run, err);
    if (rc == 0) {
        fill_totals(f, run);
        rc = fill_progress(f, &run->progress, err);
    }
    follow_say(f, says);
    if (rc == 0 && f->figures.failed)
        rc = err_memory(err);
    return rc == 0 ? buf_check(says, err) : rc;
}

int follow_peek(struct follow *f, struct run *part, struct err *err)
{
    track_plan(&f->track);
    TRY(meter_peek(f->track.meter, part, err));
    fill_totals(f, part);
    return fill_progress(f, &part->progress, err);
}
