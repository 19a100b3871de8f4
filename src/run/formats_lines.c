// SPDX-License-Identifier: Apache-2.0
// Log lines, by one grammar. Counters are known words with a number: "iter 10", "step=40",
// "Epoch: [0][ 10/5005]", "num_updates": "1400". Figures are known words with a value: "lm loss:
// 2.37E+00". A few words say what a line is about. scan_line() collects them, and judge() decides
// what the line reports. A counter alone is not progress: "Step 3/10 : RUN pip install" has no
// figure.
#include <string.h>

#include "run/formats_scan.h"
#include "run/meter.h"

#define OTHERS_MAX      4 // unknown words in a report of a checkpoint: more are prose
#define WORD_CHARACTERS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static void move(struct maybe_real *to, struct maybe_real *from)
{
    if (to->known)
        return;
    *to = *from;
    from->known = false;
}

static void mark(struct scan *s, enum meter_phase phase, bool begins)
{
    struct event *e = s->event;
    e->phase = some_int(phase);
    e->begins = begins;
    if (s->step.known) {
        e->at_step = some_int(s->step.at);
        if (s->step.total > 0 && !s->step.evaluates && !s->epoch)
            e->total_steps = some_int(s->step.total);
    }
    if (phase == METER_EVALUATE && !s->seen[ROLE_TRAIN]) {
        move(&e->test_loss, &e->loss);
        move(&e->test_accuracy, &e->accuracy);
    }
}

static void count(struct scan *s)
{
    struct event *e = s->event;
    e->step = some_int(s->step.at);
    if (s->step.total > 0)
        e->total_steps = some_int(s->step.total);
    e->counts = s->step.counts;
    if (s->step.evaluates)
        mark(s, METER_EVALUATE, false);
    e->at_step.known = false;
    bool named = s->step.label_len > 0;
    if (named) {
        e->label = s->step.label;
        e->label_len = s->step.label_len;
    }
    e->bar = formats_counter(named ? s->step.label : "bare", named ? s->step.label_len : 4,
                             s->step.evaluates);
    // {"step": 10, "total_steps": 1000, "loss": 2.5}
    struct event told = {0};
    if (s->seen[ROLE_PLURAL] && s->step.total == 0 && !e->phase.known &&
        formats_announced(s->line, (size_t)(s->end - s->line), &told) && told.total_steps.known &&
        told.total_steps.v >= e->step.v)
        e->total_steps = told.total_steps;
}

static bool judge_step(struct scan *s, bool trains, bool tests)
{
    bool pure = s->others == 0 && s->step.total > 0;
    if (!trains && !tests && !s->tempo && !pure && s->step.rank < 10)
        return false;
    if (s->step.evaluates && s->step.total > 0)
        count(s);
    else if (s->step.evaluates || (tests && !s->learns && (!trains || !s->tempo)))
        mark(s, METER_EVALUATE, false);
    else
        count(s);
    return true;
}

static bool judge_epoch(struct scan *s, bool trains, bool tests)
{
    struct event *e = s->event;
    if (s->fraction)
        return trains || tests;
    if (s->test || (tests && !trains)) {
        if (!trains && !tests)
            return false;
        mark(s, METER_EVALUATE, false);
    } else if (trains || s->seen[ROLE_DONE]) {
        e->step = e->epoch;
        e->total_steps = e->epochs;
        e->counts = COUNTS_EPOCHS;
        e->bar = formats_counter("epoch", 5, 0);
        e->epoch_ended = true;
    } else {
        // "ggml_opt_fit: epoch 0001/0002:", "(trainer:184) INFO: 8/20epoch started. Estimated time"
        bool ends = s->epoch_end && !s->epoch_end[strcspn(s->epoch_end, WORD_CHARACTERS)];
        return s->others == 0 || (e->epochs.known && ends && s->others <= 1) ||
               (e->epochs.known && s->seen[ROLE_BEGIN] && s->others <= OTHERS_MAX);
    }
    return true;
}

static bool judge(struct scan *s)
{
    struct event *e = s->event;
    bool trains = e->loss.known || e->accuracy.known || s->diverged;
    bool tests = e->test_loss.known || e->test_accuracy.known;
    const bool *seen = s->seen;
    if (!s->step.known && s->bare.known && (trains || tests)) {
        s->step = s->bare;
        e->epoch = e->epoch.known ? e->epoch : s->bare.epoch;
        s->epoch |= s->bare.epoch.known;
    }
    if ((seen[ROLE_SAVING] || seen[ROLE_SAVED]) && seen[ROLE_MODEL] && !seen[ROLE_NOT] &&
        s->others <= OTHERS_MAX && !(s->step.known && trains)) {
        mark(s, METER_CHECKPOINT, !seen[ROLE_SAVED] && !seen[ROLE_DONE]);
        return true;
    }
    if (s->step.known && judge_step(s, trains, tests))
        return true;
    if (s->epoch && judge_epoch(s, trains, tests))
        return true;
    bool now = seen[ROLE_NOW] || (seen[ROLE_BEGIN] && seen[ROLE_EVALUATION]);
    now = now && s->leads && !seen[ROLE_NOT] && !s->tempo && s->others <= 1 + 2 * seen[ROLE_BEGIN];
    if (now && !s->epoch && !s->step.known) {
        mark(s, METER_EVALUATE, true);
        return true;
    }
    if (seen[ROLE_PLURAL] && !seen[ROLE_OVER] && !trains && !tests &&
        formats_announced(s->line, (size_t)(s->end - s->line), e))
        return true;
    if (s->epoch || s->step.known)
        return false;
    // A line that begins far to the right is the rest of a bar that a terminal wrapped.
    if ((tests || (s->test && trains)) && strspn(s->line, " ") < 16) {
        mark(s, METER_EVALUATE, false);
        return true;
    }
    if (e->loops && s->others <= OTHERS_MAX)
        return true;
    // "  • Loss: 0.0912", between the steps of other lines
    return e->generates || (e->loss.known && s->others == 0 && !s->test);
}

// Only an evaluation or a checkpoint that ended took a time.
static void drop_time(struct event *event)
{
    if (!event->phase.known || event->step.known)
        event->took_s.known = false;
}

static void name_source(const char *line, struct event *event)
{
    static const struct {
        const char *text, *name;
    } sources[] = {
        {"consumed samples:", "Megatron"},
        {"d2.utils.events", "detectron2"},
        {"completed step:", "MaxText"},
        {"[titan]", "torchtitan"},
        {"num_updates", "fairseq"},
        {"reduced_train_loss", "NeMo"},
        {"mmengine", "MMEngine"},
        {"[Rank 0] step=", "DeepSpeed"},
        {"It/sec", "MLX"},
        {"remaining:", "CatBoost"},
        {", mfu ", "nanoGPT"},
        {"[TRAIN] epoch: ", "PaddleSeg"},
        {"ppdet.engine", "PaddleDetection"},
        {"ppocr INFO", "PaddleOCR"},
        {"epoch:train:", "ESPnet"},
        {"train_opt_callback", "llama.cpp"},
        {"response_length/mean", "verl"},
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources && !event->source; i++)
        if (strstr(line, sources[i].text))
            event->source = sources[i].name;
    // Its iterations count through all epochs.
    event->whole = event->source && strcmp(event->source, "PaddleSeg") == 0;
}

enum event_result formats_line(const char *line, size_t len, struct event *event)
{
    if (len > EVENT_PATTERN_MAX)
        return EVENT_NONE;
    struct scan s = {.line = line, .end = line + len, .event = event};
    scan_line(&s);
    if (!judge(&s)) {
        *event = (struct event){0};
        return EVENT_NONE;
    }
    drop_time(event);
    name_source(line, event);
    return EVENT_READ;
}

// Hugging Face's Trainer, with numbers or, since version 5, texts:
//
//     {'loss': 0.5213, 'grad_norm': 1.2, 'learning_rate': 1e-05, 'epoch': 0.5}
//     {'eval_loss': '0.41', 'eval_runtime': '12.3', 'epoch': '1'}
enum event_result formats_trainer(const char *line, size_t len, struct event *event)
{
    const char *p = formats_blanks(line);
    if (p[0] != '{' || p[1] != '\'' || len > EVENT_PATTERN_MAX)
        return EVENT_NONE;
    struct scan s = {.line = line, .end = line + len, .event = event};
    scan_line(&s);
    bool tests = event->test_loss.known || event->test_accuracy.known || event->took_s.known;
    if (!s.epoch || strstr(p, "'train_runtime'")) {
        *event = (struct event){0};
        return EVENT_NONE;
    }
    if (!s.fraction) { // '1' instead of '1.0'
        event->epoch_at = some_real((double)event->epoch.v);
        event->epoch = some_int(event->epoch.v > 0 ? event->epoch.v : 1);
    }
    if (tests && !event->loss.known)
        mark(&s, METER_EVALUATE, false);
    else if (s.step.known)
        count(&s);
    drop_time(event);
    return EVENT_READ;
}
