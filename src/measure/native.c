// SPDX-License-Identifier: Apache-2.0
// native: trains a workload with one of fare's own engines.
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "guard/guard.h"
#include "measure/runner.h"
#include "measure/saving.h"
#include "run/trainer.h"

#define SAMPLE_TEST   1000 // samples evaluated at the end of a sampled run
#define SAMPLE_STREAM 8    // of a text with one label per token
#define SHOW_NS       (100 * NS_PER_MS)
#define LOOK_NS       (20 * NS_PER_MS)

struct native {
    struct engine_run with;
    struct data_pair data;
    const struct trainer_progress *progress; // while the journal's record is written
    int64_t show_ns;                         // when progress is shown next
    bool log;                                // lines of text instead
    int64_t look_ns;                         // when saving_look() is called next
    struct run_wish wish;
};

// ---- the record

static int note_epochs(struct run *run, const struct trainer_result *result, struct err *err)
{
    for (int64_t i = 0; i < result->epoch_count; i++) {
        const struct run_epoch *epoch = &result->epochs[i];
        if (!epoch->steps.v) // in progress
            continue;
        if (epoch->test_accuracy.known)
            run->test_accuracy = epoch->test_accuracy;
        if (run->epoch_list.count == RUN_EPOCHS_MOST)
            continue;
        struct run_epoch *row = LIST_ADD(&run->epoch_list, err);
        if (!row)
            return ERR_MEMORY;
        *row = *epoch;
    }
    return 0;
}

static int note_net(const struct session *s, const struct trainer_result *r, struct run *run,
                    struct err *err)
{
    char net[SHA256_HEX_BYTES + 8];
    snprintf(net, sizeof net, "sha256:%s", r->net);
    TRY(text_set(&run->net, net, err));
    TRY(text_set(&run->recipe, buf_str(&r->recipe), err));
    run->parameters = some_int(r->cost.parameters);
    run->step_flops = some_real(r->cost.forward_flops + r->cost.backward_flops);
    run->step_bytes = some_real(r->cost.bytes);
    run->total_steps = some_int(r->total_steps);
    if (((const struct native *)s->runner)->data.train.stream)
        run->step_tokens = some_int(run->batch.v * run->data.time.v);
    run->epochs = some_int(r->total_epochs);
    run->steps_per_epoch = some_int(r->steps_per_epoch);
    const struct recipe *recipe = &s->workload->recipe;
    for (size_t i = 0; i < run->stages.count; i++)
        if (recipe->stages[i].only)
            TRY(text_set(&run->stages.items[i].only, recipe->stages[i].only, err));
    return 0;
}

static int note_result(const struct session *s, const struct trainer_result *r, struct run *run,
                       struct err *err)
{
    if (r->steps == 0)
        return 0;
    double train_s = (double)meter_train_ns(s->meter) / 1e9;
    run->samples_per_s = some_real((double)r->samples / train_s);
    run->epoch_s = some_real(run->step_ms.v * (double)r->steps_per_epoch / 1e3);
    run->use.data_wait_ns = some_int(r->data_wait_ns);
    if (r->has_times) {
        double steps = (double)r->steps * 1e6;
        double waiting = (double)r->times.waiting_ns / steps;
        double communication = (double)r->times.communication_ns / steps;
        run->step_waiting_ms = some_real(waiting);
        run->step_communication_ms = some_real(communication);
        run->step_calculation_ms = some_real(fmax(0, run->step_ms.v - waiting - communication));
    }
    run->first_loss = some_real(r->first_loss);
    run->last_loss = some_real(r->last_loss);
    if (!isfinite(r->last_loss))
        return run_taint(run, "the loss is not a number any more: the training diverged", err);
    return 0;
}

static int note_all(const struct session *s, const struct trainer_result *r, struct run *run,
                    struct err *err)
{
    TRY(note_net(s, r, run, err));
    TRY(note_result(s, r, run, err));
    return note_epochs(run, r, err);
}

static int note_end(const struct session *s, const struct trainer_result *r, struct err *err)
{
    const char *by = r->stopped          ? (run_plan_interrupted(&s->plan) ? "signal" : "max-spend")
                     : s->run->full.v    ? NULL
                     : s->plan.steps > 0 ? "steps"
                     : r->timed_out      ? "max-time"
                     : r->finished       ? NULL
                                         : "within";
    const char *ended = r->stopped       ? run_plan_ended(&s->plan)
                        : s->run->full.v ? "finished"
                                         : "sampled";
    TRY(text_set(&s->run->ended, ended, err));
    return by ? text_set(&s->run->stopped_by, by, err) : 0;
}

// ---- between steps

static int fill(const struct session *s, struct run *part, struct err *err)
{
    const struct trainer_progress *p = ((const struct native *)s->runner)->progress;
    TRY(meter_peek(s->meter, part, err));
    if (p)
        TRY(note_all(s, p->result, part, err));
    if (p) {
        part->first_loss = losses_first(p->losses);
        part->last_loss = losses_last(p->losses);
    }
    return 0;
}

static void show(struct session *s, const struct trainer_progress *p)
{
    struct live live;
    char note[120];
    snprintf(note, sizeof note, "epoch %lld/%lld%s  loss %.3f  %.1f %% right  %.0f/s",
             (long long)p->epoch + 1, (long long)p->epochs, p->evaluating ? " test" : "", p->loss,
             p->accuracy * 100, p->samples_per_s);
    s->loss = some_real(p->loss);
    session_look(s, &live);
    watch_show(&s->watch, &live, note);
    watch_tell(&s->watch, &live, false);
}

static double since_start(const struct session *s, int64_t now_ns)
{
    return (double)(now_ns - s->start_ns) / 1e9;
}

// A checkpoint, or the end, if the machine or the lease goes.
static void keep_safe(struct session *s, int64_t now_ns)
{
    struct native *n = s->runner;
    struct buf lines = {0};
    if (!s->saving || now_ns < n->look_ns)
        return;
    n->look_ns = now_ns + LOOK_NS;
    if (s->plan.stop && *s->plan.stop == SIGTERM)
        (void)!saving_signal(s->saving, SIGTERM);
    unsigned wishes = saving_look(s->saving, &lines);
    n->wish.save |= (wishes & GUARD_SAVE) != 0;
    n->wish.end |= (wishes & (GUARD_TELL | GUARD_END | GUARD_KILL)) != 0;
    if (lines.len > 0)
        watch_say(&s->watch, buf_str(&lines), false);
    buf_release(&lines);
}

static void progress(void *context, const struct trainer_progress *p)
{
    struct session *s = context;
    struct native *n = s->runner;
    int64_t now_ns = clock_now_ns();
    keep_safe(s, now_ns);
    bool shown = s->watch.progress.on ? now_ns >= n->show_ns
                                      : n->log && watch_due(&s->watch, since_start(s, now_ns));
    bool kept = session_due(s);
    if (!shown && !kept)
        return;
    meter_phase(s->meter, METER_IDLE);
    s->step = p->step;
    s->steps = p->steps;
    if (shown) {
        show(s, p);
        n->show_ns = now_ns + SHOW_NS;
    }
    n->progress = p;
    if (kept)
        session_keep(s);
    n->progress = NULL;
    meter_phase(s->meter, p->evaluating ? METER_EVALUATE : METER_TRAIN);
}

static int finished(void *context, struct engine_program *program, struct err *err)
{
    struct session *s = context;
    const struct native *n = s->runner;
    if (s->o->generate == 0 || s->workload->temperature == 0)
        return 0;
    const struct workload_text text = {.batch = s->run->batch.v,
                                       .seed = (uint64_t)s->o->seed,
                                       .temperature = s->workload->temperature,
                                       .count = s->o->generate};
    TRY(workload_generate(n->with.engine, program, &n->data, &text, s->says, err));
    buf_addc(s->says, '\n');
    return 0;
}

// ---- together

void native_options(const struct measure_options *o, const struct data_pair *data,
                    struct trainer_options *with)
{
    with->epochs = o->epochs;
    with->max_test = o->full ? 0 : data->test.stream ? SAMPLE_STREAM : SAMPLE_TEST;
    with->dir = o->save ? o->save : o->checkpoint;
    with->save_every = o->checkpoint_every;
    with->resume = o->resume || o->save;
    with->from = o->from;
}

static int train(struct session *s, struct err *err)
{
    const struct measure_options *o = s->o;
    const struct native *n = s->runner;
    struct trainer_options options = {
        .engine = n->with.engine,
        .engine_options = n->with.options,
        .data = &n->data,
        .workload_options = o->variant,
        .meter = s->meter,
        .plan = &s->plan,
        .batch = s->batch,
        .alone = !s->saving,
        .progress = progress,
        .context = s,
        .finished = finished,
    };
    native_options(o, &n->data, &options);
    if (s->saving)
        options.dir = saving_folder(s->saving);
    struct trainer_result result;
    s->run->batch = some_int(s->batch > 0 ? s->batch : s->workload->recipe.batch);
    int rc = trainer_run(s->workload, &options, &result, err);
    bool whole = rc == 0 && o->full && result.finished && !result.stopped;
    s->run->full = some_bool(whole);
    int filled = meter_fill(s->meter, whole, s->run, err);
    rc = rc != 0 ? rc : filled;
    if (rc == 0)
        rc = note_all(s, &result, s->run, err);
    if (rc == 0)
        rc = note_end(s, &result, err);
    if (rc == 0) {
        describe_reached(s, workload_is_target(s->workload, &n->data));
        buf_adds(s->says, buf_str(&result.notes));
    }
    trainer_result_release(&result);
    return rc;
}

static int work(struct session *s, struct err *err)
{
    struct native *n = s->runner;
    meter_phase(s->meter, METER_LOAD);
    int rc = workload_data_open(s->workload, s->o->data, &s->o->variant, n->with.options.threads,
                                &n->data, err);
    meter_phase(s->meter, METER_SETUP);
    if (rc == 0)
        rc = describe_data(&n->data, s->run, err);
    if (rc == 0)
        session_keep(s);
    return rc == 0 ? train(s, err) : rc;
}

static int run(struct session *s, struct err *err)
{
    struct native n = {.log = !isatty(s->watch.fd > 0 ? s->watch.fd : STDERR_FILENO)};
    s->runner = &n;
    s->fill = fill;
    s->plan.wish = s->saving ? &n.wish : NULL;
    if (s->saving)
        TRY(saving_start(s->saving, err));
    int rc = engine_run(s, s->o->precision, &n.with, work, err);
    n.look_ns = 0; // a signal may have ended it since the last look
    keep_safe(s, clock_now_ns());
    data_release(&n.data);
    return rc;
}

static bool takes(const struct session *s)
{
    return s->workload != NULL;
}

const struct runner runner_native = {.takes = takes, .in_process = true, .run = run};
