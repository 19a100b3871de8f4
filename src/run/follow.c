// SPDX-License-Identifier: Apache-2.0
#include "run/follow.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "run/counters.h"
#include "run/losses.h"

enum level { LEVEL_NONE, LEVEL_TRACE, LEVEL_READY, LEVEL_PATTERN, LEVEL_MLLOG, LEVEL_EVENTS };

enum {
    EPOCHS = 10000, // in the record
    MALFORMED = 80, // bytes of the first malformed line to show
};

struct follow {
    struct follow_options options;
    regex_t pattern;
    bool has_pattern;
    struct meter *meter;
    struct run *run;
    bool failed;  // out of memory
    bool stopped; // ignore further progress

    enum level level;
    struct maybe_int worker; // the one whose steps count
    struct counters counters;
    enum meter_phase phase;

    int stage;
    int stages; // 0: none reported
    int64_t stage_steps[METER_STAGES_MAX];
    int64_t pending;     // steps not passed to the meter yet
    int64_t metered;     // steps passed to the meter, or pending
    int64_t unmetered;   // steps outside the training phase
    int64_t before;      // the first step number, less the steps counted with it
    int64_t made_before; // of those, made in this run
    bool second;         // a second step number was reported
    int64_t samples;     // of the metered steps

    int64_t bar_total;  // of the chosen bar
    bool bar_is_whole;  // it covers the whole training, not an epoch
    int64_t told_total; // of the whole training
    int64_t told_epochs;
    int64_t epoch_steps;
    int64_t batch, epoch_samples; // MLLOG's

    int64_t evaluations, evaluations_at; // their number, and the steps made at the last
    int64_t checkpoints, checkpoints_at;
    bool plan_changed;

    bool epochs_from_0;
    int64_t epoch;       // 0: none reported
    int64_t epoch_began; // steps made at its start
    double epoch_loss, epoch_accuracy;
    int64_t epoch_losses, epoch_accuracies;
    struct losses losses;

    const char *source;
    char label[FOLLOW_LABEL_BYTES];
    double busy; // as last reported

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
    f->run = run;
    f->plan_changed = true;
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

// ---- totals

static int64_t made(const struct follow *f)
{
    return f->metered + f->unmetered + f->made_before;
}

// Keeps products and sums of reported numbers far from overflow.
static int64_t bounded(double steps)
{
    return steps < 1e15 ? (int64_t)steps : 0;
}

static int64_t total_epochs(const struct follow *f)
{
    return f->options.total_epochs > 0 ? f->options.total_epochs : f->told_epochs;
}

static int64_t find_total(const struct follow *f, enum follow_total *from)
{
    int64_t each = f->bar_total > 0 && !f->bar_is_whole ? f->bar_total : f->epoch_steps;
    *from = FOLLOW_TOTAL_OPTION;
    if (f->options.total_steps > 0)
        return f->options.total_steps;
    *from = f->level == LEVEL_EVENTS  ? FOLLOW_TOTAL_EVENTS
            : f->options.total_epochs ? FOLLOW_TOTAL_OPTION
                                      : FOLLOW_TOTAL_BAR;
    if (f->bar_is_whole && f->bar_total > 0)
        return f->bar_total;
    if (total_epochs(f) > 0 && each > 0)
        return bounded((double)total_epochs(f) * (double)each);
    *from = f->told_total == 0         ? FOLLOW_TOTAL_UNKNOWN
            : f->level == LEVEL_EVENTS ? FOLLOW_TOTAL_EVENTS
                                       : FOLLOW_TOTAL_LOG;
    return f->told_total;
}

static int64_t total_steps(const struct follow *f)
{
    enum follow_total from;
    return find_total(f, &from);
}

// Extrapolates to `total` steps what happened `seen` times in `at` steps.
static int64_t expected(int64_t seen, int64_t at, int64_t total)
{
    if (seen == 0 || at == 0)
        return seen;
    int64_t all = bounded((double)seen * (double)total / (double)at + 0.5);
    return all > seen ? all : seen;
}

static void plan(struct follow *f)
{
    int64_t total = total_steps(f);
    struct meter_plan p = {
        .stages = 1, .within = f->options.within, .max_s = f->options.max_s, .follows = true};
    if (total > 0) {
        int64_t here = total - f->before - f->unmetered;
        p.stage_steps[0] = here > f->metered ? here : f->metered;
        for (int i = 0; i < f->stages; i++)
            p.stage_steps[i] = f->stage_steps[i];
        p.stages = f->stages > 0 ? f->stages : 1;
        p.evaluations = expected(f->evaluations, f->evaluations_at, total);
        p.checkpoints = expected(f->checkpoints, f->checkpoints_at, total);
    }
    meter_plan(f->meter, &p);
    f->plan_changed = false;
}

// ---- phases

static void flush(struct follow *f)
{
    if (f->pending > 0)
        meter_steps(f->meter, f->stage, f->pending);
    f->pending = 0;
}

static void set_phase(struct follow *f, enum meter_phase phase)
{
    if (phase == f->phase)
        return;
    flush(f);
    if (f->phase == METER_EVALUATE) {
        meter_evaluated(f->meter, 1);
        f->evaluations++;
        f->evaluations_at = made(f);
        f->plan_changed = true;
    } else if (f->phase == METER_CHECKPOINT) {
        meter_checkpointed(f->meter);
        f->checkpoints++;
        f->checkpoints_at = made(f);
        f->plan_changed = true;
    }
    f->phase = phase;
    meter_phase(f->meter, phase);
}

// ---- steps

static void count(struct follow *f, int64_t steps, int64_t samples)
{
    if (f->phase != METER_TRAIN) {
        // The meter has booked their time to another phase.
        set_phase(f, METER_TRAIN);
        f->unmetered += steps;
        f->plan_changed = true;
        return;
    }
    f->pending += steps;
    f->metered += steps;
    f->samples += samples;
}

// The number of new steps in the event; -1: it does not count.
static int64_t advance(struct follow *f, const struct event *e)
{
    bool new = false;
    int64_t delta = counters_advance(&f->counters, e, &new);
    if (delta < 0)
        return delta;
    if (new) {
        // After a reported start of training it is the first step; otherwise the time until the
        // first report is not a step time.
        delta = f->phase == METER_TRAIN && e->step.v > 0;
        f->before = e->step.v - delta;
        f->plan_changed = true;
    } else if (delta > 0 && !f->second) {
        // Reports every 100 steps start at 100; a resumed training starts higher.
        f->second = true;
        f->made_before = f->before <= delta ? f->before : 0;
    }
    return delta;
}

static void note_totals(struct follow *f, const struct event *e)
{
    if (e->bar != 0 || f->level == LEVEL_PATTERN) {
        // The total of a bar, or of the pattern ("of 469"): of one epoch if epochs are reported.
        bool whole = f->level == LEVEL_PATTERN && total_epochs(f) == 0;
        if (e->total_steps.known && f->bar_total != e->total_steps.v) {
            f->bar_total = e->total_steps.v;
            f->plan_changed = true;
        }
        f->bar_is_whole |= whole;
    } else if (e->total_steps.known && f->told_total != e->total_steps.v) {
        f->told_total = e->total_steps.v;
        f->plan_changed = true;
    }
}

static void count_steps(struct follow *f, const struct event *e)
{
    int64_t world = e->world.known ? e->world.v : 1;
    int64_t samples = e->samples.known ? bounded((double)e->samples.v * (double)world) : 0;
    int64_t steps = e->steps.known && !e->step.known ? e->steps.v : 0;
    if (e->step.known) {
        steps = advance(f, e);
        if (steps < 0)
            return;
        note_totals(f, e);
    }
    count(f, bounded((double)steps), samples);
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
        f->epoch_steps = e->steps.v;
    }
    if (e->steps.known)
        e->samples = some_int(bounded((double)e->steps.v * (double)f->batch));
}

// ---- losses and epochs

static void close_epoch(struct follow *f)
{
    if (f->epoch == 0 || f->run->epoch_list.count == 0)
        return;
    struct run_epoch *row = &f->run->epoch_list.items[f->run->epoch_list.count - 1];
    if (f->epoch_losses > 0)
        row->train_loss = some_real(f->epoch_loss / (double)f->epoch_losses);
    if (f->epoch_accuracies > 0)
        row->train_accuracy = some_real(f->epoch_accuracy / (double)f->epoch_accuracies);
    int64_t steps = made(f) - f->epoch_began;
    if (steps > 0 && !f->bar_is_whole) // epochs are reported between steps, not with them
        row->steps = some_int(steps);
    f->epoch_loss = f->epoch_accuracy = 0;
    f->epoch_losses = f->epoch_accuracies = 0;
}

static void set_epoch(struct follow *f, const struct event *e)
{
    if (e->epochs.known && e->epochs.v > 0 && f->told_epochs != e->epochs.v) {
        f->told_epochs = e->epochs.v;
        f->plan_changed = true;
    }
    if (!e->epoch.known || e->epoch.v >= INT64_C(1) << 53)
        return;
    if (f->epoch == 0 && e->epoch.v == 0)
        f->epochs_from_0 = true;
    int64_t epoch = e->epoch.v + f->epochs_from_0;
    if (epoch == f->epoch || epoch == 0)
        return;
    int64_t steps = made(f) - f->epoch_began;
    if (f->epoch > 0 && steps > f->epoch_steps && !f->bar_is_whole) {
        f->epoch_steps = steps;
        f->plan_changed = true;
    }
    close_epoch(f);
    f->epoch = epoch;
    f->epoch_began = made(f);
    if (f->run->epoch_list.count >= EPOCHS)
        return;
    struct run_epoch *row = LIST_ADD(&f->run->epoch_list, NULL);
    if (row)
        row->epoch = some_int(epoch);
    f->failed |= !row;
}

static struct maybe_real share_of(struct maybe_real told)
{
    bool good = told.known && told.v >= 0 && told.v <= 1;
    return good ? told : (struct maybe_real){0};
}

// Ignores an accuracy outside of 0 to 1, such as a percentage.
static void add_figures(struct follow *f, const struct event *e)
{
    struct maybe_real accuracy = share_of(e->accuracy);
    bool testing = f->phase == METER_EVALUATE; // a plain accuracy is then a test accuracy
    struct maybe_real test_loss = e->test_loss.known || !testing ? e->test_loss : e->loss;
    struct maybe_real test_accuracy =
        e->test_accuracy.known || !testing ? share_of(e->test_accuracy) : accuracy;
    if (e->loss.known && !testing) {
        losses_add(&f->losses, e->loss.v);
        f->epoch_loss += e->loss.v;
        f->epoch_losses++;
    }
    if (accuracy.known && !testing) {
        f->epoch_accuracy += accuracy.v;
        f->epoch_accuracies++;
    }
    if (test_accuracy.known)
        f->run->test_accuracy = test_accuracy;
    if (f->epoch == 0 || f->run->epoch_list.count == 0)
        return;
    struct run_epoch *row = &f->run->epoch_list.items[f->run->epoch_list.count - 1];
    if (test_loss.known)
        row->test_loss = test_loss;
    if (test_accuracy.known)
        row->test_accuracy = test_accuracy;
}

// ---- the program's description of itself

static void move_text(char **to, char **from)
{
    if (!*from)
        return;
    free(*to);
    *to = *from;
    *from = NULL;
}

static bool apply_about(struct follow *f, json_t *json)
{
    struct run told = {0}, *run = f->run;
    bool good = record_from_json(run_fields, json, &told, NULL) == 0;
    if (good) {
        move_text(&run->precision, &told.precision);
        move_text(&run->net, &told.net);
        move_text(&run->recipe, &told.recipe);
        if (told.data.name && !run->data.name) {
            run->data = told.data;
            memset(&told.data, 0, sizeof told.data);
        }
        if (told.libraries.count > 0 && run->libraries.count == 0) {
            run->libraries.items = told.libraries.items;
            run->libraries.count = told.libraries.count;
            run->libraries.known = true;
            memset(&told.libraries, 0, sizeof told.libraries);
        }
        if (told.stages.count > 1 && told.stages.count <= METER_STAGES_MAX && f->stages == 0) {
            for (size_t i = 0; i < told.stages.count; i++)
                f->stage_steps[i] = told.stages.items[i].total_steps.v;
            f->stages = (int)told.stages.count; // the meter puts them into the record
        }
#define TAKE(member) run->member = told.member.known ? told.member : run->member
        TAKE(batch);
        TAKE(parameters);
        TAKE(threads);
        TAKE(seed);
        TAKE(steps_per_epoch);
        TAKE(l1_pairs_per_s);
        TAKE(l1_largest_error);
#undef TAKE
        if (told.epochs.known)
            f->told_epochs = told.epochs.v;
        if (told.total_steps.known)
            f->told_total = told.total_steps.v;
        if (told.steps_per_epoch.known)
            f->epoch_steps = told.steps_per_epoch.v;
        f->plan_changed = true;
    }
    record_release(run_fields, &told);
    return good;
}

// ---- lines

static void note_malformed(struct follow *f, const char *line, size_t len)
{
    if (f->malformed++ > 0)
        return;
    len = len < MALFORMED ? len : MALFORMED;
    memcpy(f->first_malformed, line, len);
    f->first_malformed[len] = '\0';
}

static void apply(struct follow *f, enum level level, struct event *e)
{
    if (level < f->level)
        return;
    from_samples(f, e);
    bool steps = e->step.known || e->steps.known;
    // Only the first worker that reported a step counts.
    if (f->worker.known && e->worker.known && e->worker.v != f->worker.v && level == f->level)
        return;
    if (steps && level > f->level) {
        f->level = level;
        f->source = e->source;
        f->counters = (struct counters){0};
        f->bar_total = 0;
        f->bar_is_whole = false;
    }
    if (steps && !f->worker.known)
        f->worker = e->worker;
    if (steps && e->label) {
        size_t len = e->label_len < sizeof f->label ? e->label_len : sizeof f->label - 1;
        memcpy(f->label, e->label, len);
        f->label[len] = '\0';
    }
    set_epoch(f, e);
    if (e->phase.known && !steps)
        set_phase(f, (enum meter_phase)e->phase.v);
    if (steps && e->stage.known && e->stage.v >= 1 && e->stage.v <= f->stages) {
        flush(f);
        f->stage = (int)e->stage.v - 1;
    }
    if (steps)
        count_steps(f, e);
    if (e->phase.known && steps)
        set_phase(f, (enum meter_phase)e->phase.v);
    add_figures(f, e);
}

// Sets the meter's clock to the event's own time, if it has one.
static void set_meter_time(struct follow *f, const struct event *e)
{
    bool sane = e->at.known && e->at.v > 0 && e->at.v < 1e9;
    meter_at(f->meter, sane ? (int64_t)(e->at.v * 1e9) : 0);
}

static void handle(struct follow *f, enum level level, enum event_result result, const char *name,
                   const char *line, size_t len, struct event *e)
{
    if (result == EVENT_MALFORMED)
        note_malformed(f, line, len);
    if (result == EVENT_READ) {
        if (!e->source)
            e->source = name;
        if (e->about && !apply_about(f, e->about))
            note_malformed(f, line, len);
        set_meter_time(f, e);
        apply(f, level, e);
        if (e->at.known)
            flush(f); // at the event's time
        meter_at(f->meter, 0);
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
        // The Trainer has one bar for the whole training.
        if (strcmp(s->name, "Hugging Face Trainer") == 0 && !f->bar_is_whole) {
            f->bar_is_whole = true;
            f->plan_changed = true;
        }
        if (!ended) // its figures count once the line is complete
            e.loss.known = e.accuracy.known = false;
        handle(f, LEVEL_READY, EVENT_READ, s->name, line, len, &e);
        return;
    }
}

void follow_activity(struct follow *f, double busy)
{
    f->busy = busy;
}

void follow_trace(struct follow *f, int64_t steps, int64_t at_ns)
{
    if (f->stopped || f->level > LEVEL_TRACE || steps <= 0)
        return;
    struct event e = {.steps = some_int(steps), .source = FOLLOW_KERNELS};
    meter_at(f->meter, at_ns);
    apply(f, LEVEL_TRACE, &e);
    flush(f);
    meter_at(f->meter, 0);
}

bool follow_enough(struct follow *f)
{
    flush(f);
    if (f->plan_changed)
        plan(f);
    bool over = f->options.at_the_latest &&
                (double)(clock_now_ns() - meter_start_ns(f->meter)) >= f->options.max_s * NS_PER_S;
    return (meter_enough(f->meter) && f->options.sample) || over;
}

void follow_state(const struct follow *f, struct follow_state *out)
{
    struct meter_outlook o;
    meter_outlook(f->meter, &o);
    *out = (struct follow_state){.source = f->source};
    memcpy(out->label, f->label, sizeof out->label);
    follow_place(f, &out->step, &out->total);
    find_total(f, &out->total_from);
    int64_t train_ns = meter_train_ns(f->meter);
    if (f->metered > 0 && train_ns > 0)
        out->steps_per_s = (double)o.steps * 1e9 / (double)train_ns;
}

void follow_place(const struct follow *f, int64_t *step, int64_t *steps)
{
    *step = f->before + f->metered + f->unmetered;
    *steps = total_steps(f);
}

// ---- the end

void follow_stop(struct follow *f)
{
    flush(f);
    if (f->plan_changed)
        plan(f);
    meter_stop(f->meter);
    f->stopped = true;
}

static void say(const struct follow *f, struct buf *says)
{
    if (f->malformed > 0)
        buf_printf(says, "%lld progress line%s could not be read and %s ignored; the first: %s\n",
                   (long long)f->malformed, f->malformed == 1 ? "" : "s",
                   f->malformed == 1 ? "was" : "were", f->first_malformed);
    if (f->level == LEVEL_NONE && f->has_pattern)
        buf_adds(says, "No line of the output matched --step-pattern: only the total time was "
                       "measured.\n");
}

static void fill_totals(const struct follow *f, struct run *run)
{
    if (run->steps.known || made(f) > 0)
        run->steps = some_int(made(f));
    if (total_steps(f) > 0)
        run->total_steps = some_int(total_steps(f));
    if (total_epochs(f) > 0)
        run->epochs = some_int(total_epochs(f));
    int64_t each =
        f->bar_total > 0 && !f->bar_is_whole && total_epochs(f) > 0 ? f->bar_total : f->epoch_steps;
    if (!run->steps_per_epoch.known && each > 0)
        run->steps_per_epoch = some_int(each);
    run->first_loss = losses_first(&f->losses);
    run->last_loss = losses_last(&f->losses);
    if (!run->step_ms.known || run->step_ms.v <= 0)
        return;
    if (f->samples > 0 && f->metered > 0)
        run->samples_per_s =
            some_real((double)f->samples / (double)f->metered * 1e3 / run->step_ms.v);
    else if (run->batch.known && f->metered > 0)
        run->samples_per_s = some_real((double)run->batch.v * 1e3 / run->step_ms.v);
    if (run->steps_per_epoch.known)
        run->epoch_s = some_real(run->step_ms.v * (double)run->steps_per_epoch.v / 1e3);
}

static int fill_progress(const struct follow *f, struct run_progress *out, struct err *err)
{
    static const char *const from[] = {NULL, "bar", "log", "arguments", "option", "events"};
    static const char *const parts[] = {"epoch end", "evaluation", "checkpoint"};
    struct follow_state state;
    follow_state(f, &state);
    if (!state.source)
        return 0;
    TRY(text_set(&out->source, state.source, err));
    if (state.label[0])
        TRY(text_set(&out->counter, state.label, err));
    TRY(text_set(&out->counts, state.epochs ? "epochs" : "steps", err));
    if (from[state.total_from])
        TRY(text_set(&out->total_from, from[state.total_from], err));
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        if (state.unseen & 1U << i)
            TRY(texts_add(&out->unseen, parts[i], err));
    if (state.unsteady)
        out->unsteady = some_bool(true);
    return 0;
}

int follow_finish(struct follow *f, bool finished, struct buf *says, struct err *err)
{
    flush(f);
    if (f->plan_changed)
        plan(f);
    close_epoch(f);
    int rc = meter_fill(f->meter, finished, f->run, err);
    if (rc == 0) {
        fill_totals(f, f->run);
        rc = fill_progress(f, &f->run->progress, err);
    }
    say(f, says);
    if (rc == 0 && f->failed)
        rc = err_memory(err);
    return rc == 0 ? buf_check(says, err) : rc;
}

int follow_peek(struct follow *f, struct run *part, struct err *err)
{
    if (f->plan_changed)
        plan(f);
    TRY(meter_peek(f->meter, part, err));
    fill_totals(f, part);
    return fill_progress(f, &part->progress, err);
}
