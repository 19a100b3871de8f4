// SPDX-License-Identifier: Apache-2.0
#include "advise/modelled.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/opt.h"
#include "base/units.h"
#include "bill/bill.h"

#define GIB       0x1p30
#define SEQ_USUAL 4096.0
#define SPREAD    2.0    // an interval wider than ×/÷ this is rough
#define EARLIEST  2022.0 // software before that is not in the fit
#define NEWEST    2025.0 // that of the fit

static const char *const method_words[MODEL_METHODS] = {"pretraining", "full fine-tuning", "LoRA",
                                                        "QLoRA"};

static bool is_tuned(const struct modelled *m) // with adapters
{
    return m->ask.question.run.method >= MODEL_LORA;
}

static const char *method_of(const struct model_plan *plan)
{
    return method_words[(int)plan->question.run.method];
}

// ---- words

// "50M", "1.5B", "512k", "1T"; 0: not such a number, or none above 0.
static double amount_of(const char *text)
{
    static const struct {
        char letter;
        double factor;
    } units[] = {{'k', 1e3}, {'m', 1e6}, {'b', 1e9}, {'g', 1e9}, {'t', 1e12}};
    const size_t digits = strspn(text, "0123456789.");
    char *end;
    double value = strtod(text, &end);
    if (digits == 0 || (size_t)(end - text) != digits)
        return 0;
    for (size_t i = 0; *end && i < sizeof units / sizeof *units; i++)
        if ((*end | 32) == units[i].letter) {
            value *= units[i].factor;
            end++;
            break;
        }
    return *end == '\0' && value >= 1 && value <= 1e18 ? floor(value) : 0;
}

static int take_amount(const char *name, const char *text, double *out, struct err *err)
{
    *out = text ? amount_of(text) : 0;
    return !text || *out > 0
               ? 0
               : err_set(err, ERR_USAGE, "'%s' takes a number of tokens such as 50M, not '%.40s'",
                         name, text);
}

// "micro=4,recompute=1,tp=2": members of struct model_layout.
static int take_layout(const char *name, const char *text, struct model_layout *out,
                       struct err *err)
{
    const struct {
        const char *name;
        double *to;
    } all[] = {{"micro", &out->micro},
               {"accumulate", &out->accumulate},
               {"recompute", &out->recompute},
               {"zero", &out->zero},
               {"tp", &out->tp},
               {"pp", &out->pp},
               {"cp", &out->cp},
               {"ep", &out->ep}};
    for (const char *at = text; at && *at;) {
        const size_t len = strcspn(at, ",");
        const char *number = memchr(at, '=', len);
        char *end = NULL;
        size_t i = 0;
        while (number && i < sizeof all / sizeof *all &&
               !((size_t)(number - at) == strlen(all[i].name) &&
                 strncmp(at, all[i].name, strlen(all[i].name)) == 0))
            i++;
        const double value = number ? strtod(number + 1, &end) : -1;
        if (!number || i == sizeof all / sizeof *all || end == number + 1 || end != at + len ||
            !(value >= 0)) {
            err_set(err, ERR_USAGE, "'%s' takes pins such as micro=4,recompute=1, not '%.*s'", name,
                    (int)(len < 40 ? len : 40), at);
            return err_hint(err, "micro, accumulate, recompute (0 to 1), zero (0 to 3), and the "
                                 "GPUs of a group: tp, pp, cp, ep");
        }
        *all[i].to = value;
        at += len + (at[len] == ',');
    }
    return 0;
}

// Names that contain the word, or else the nearest one.
static int unknown_model(const struct model_tables *tables, const char *word, struct err *err)
{
    enum { ALIKE = 5 };
    SCOPED(buf_release) struct buf found = {0};
    SCOPED(free_pointer) const char **names = calloc(tables->models.count + 1, sizeof *names);
    size_t count = 0;
    if (!names)
        return err_memory(err);
    for (size_t i = 0; i < tables->models.count; i++) {
        names[i] = tables->models.items[i].name;
        if (strcasestr(names[i], word) && count++ < ALIKE)
            buf_printf(&found, "%s%s", found.len > 0 ? ", " : "", names[i]);
    }
    const char *nearest = count > 0 ? NULL : opt_nearest(word, names);
    err_set(err, ERR_MISSING, "no model is called '%.100s'", word);
    return err_hint(err,
                    "%s%s%s%sa config.json will do as well, or a size such as 8b; 'fare workloads "
                    "models' lists the names",
                    count > 0 || nearest ? "there is " : "", nearest ? nearest : buf_str(&found),
                    count > ALIKE ? ", ..." : "", count > 0 || nearest ? "; " : "");
}

static int find_model(struct modelled *m, const char *word, struct err *err)
{
    struct err why = {0};
    const int rc = model_find(m->tables, word, &m->found, &why);
    if (rc == ERR_MISSING && !strchr(word, '/') && *word && !strchr("0123456789", *word))
        return unknown_model(m->tables, word, err);
    if (rc != 0)
        *err = why;
    return rc;
}

static int find_method(const struct modelled_words *w, enum model_method *out, struct err *err)
{
    *out = MODEL_LORA;
    for (int i = 0; w->method && model_methods[i]; i++)
        if (strcmp(model_methods[i], w->method) == 0) {
            *out = (enum model_method)i;
            return 0;
        }
    return w->method ? err_set(err, ERR_USAGE,
                               "'%s' takes pretrain, full, lora or qlora, not "
                               "'%.40s'",
                               w->page ? "method" : "--method", w->method)
                     : 0;
}

static int set_words(struct modelled *m, const struct modelled_words *w, struct err *err)
{
    struct model_ask *ask = &m->ask;
    enum model_method method;
    const bool page = w->page;
    if (!w->tokens) {
        err_set(err, ERR_USAGE, "%s is missing: on how many tokens does it train?",
                page ? "tokens" : "--tokens");
        return err_hint(err, "such as %s 50M: those of the data, times the epochs",
                        page ? "tokens" : "--tokens");
    }
    TRY(find_method(w, &method, err));
    const double context = m->found.context;
    *ask = model_ask(&m->found.shape, method,
                     w->seq > 0                           ? (double)w->seq
                     : context > 0 && context < SEQ_USUAL ? context
                                                          : SEQ_USUAL);
    TRY(take_amount(page ? "tokens" : "--tokens", w->tokens, &m->tokens, err));
    TRY(take_amount(page ? "batch_tokens" : "--batch-tokens", w->batch_tokens, &ask->batch_tokens,
                    err));
    TRY(take_layout(page ? "layout" : "--layout", w->layout, &ask->question.layout, err));
    if (w->rank > 0 && !is_tuned(m))
        return err_set(err, ERR_USAGE, "%s is for LoRA and QLoRA", page ? "rank" : "--rank");
    if (w->rank > 0)
        ask->question.run.rank = (double)w->rank;
    m->precision = w->precision ? w->precision : "bf16";
    if (strcmp(m->precision, "fp32") == 0 || strcmp(m->precision, "tf32") == 0)
        return err_set(err, ERR_USAGE,
                       "from a model's description, only bf16, fp16 and fp8 are "
                       "known, not %s",
                       m->precision);
    const double year = w->day > 0 ? 1970 + w->day / 365.2425 : NEWEST;
    ask->question.run.year = fmin(NEWEST, fmax(EARLIEST, year));
    return 0;
}

// With a GPU that surely is known; layouts that need more of them are refused by the planner.
static int check(const struct modelled *m, struct err *err)
{
    struct model_ask ask = m->ask;
    ask.question.gpu = (struct model_gpu){.peak = 100,
                                          .bandwidth = 1000,
                                          .memory = 80,
                                          .watts = 300,
                                          .link = 100,
                                          .net = 25,
                                          .fast = 1};
    ask.question.run.gpus = 1e5;
    ask.question.run.nodes = 1e5 / ask.box;
    const char *why = model_ask_check(&ask);
    return why ? err_set(err, ERR_USAGE, "%s: %s", m->found.name, why) : 0;
}

int modelled_open(struct modelled **out, const struct modelled_words *words, struct err *err)
{
    struct modelled *m = *out = calloc(1, sizeof *m);
    if (!m)
        return err_memory(err);
    TRY(model_tables_open(&m->tables, err));
    TRY(find_model(m, words->model, err));
    TRY(set_words(m, words, err));
    const struct model_shape *s = &m->found.shape;
    m->parameters = is_tuned(m) ? m->ask.question.run.rank * s->layers *
                                      (6 * s->hidden + (2 + s->gated) * s->ffn * s->experts)
                                : s->params;
    return check(m, err);
}

void modelled_close(struct modelled *m)
{
    if (!m)
        return;
    model_tables_close(m->tables);
    free(m);
}

// ---- the estimate

static void add_remedies(const struct modelled *m, const struct model_ask *ask, struct buf *out)
{
    static const char *const words[MODEL_REMEDIES] = {[MODEL_MICRO_1] = "with a micro batch of 1",
                                                      [MODEL_RECOMPUTE] = "with recomputation",
                                                      [MODEL_TO_LORA] = "as LoRA",
                                                      [MODEL_TO_QLORA] = "as QLoRA",
                                                      [MODEL_OPTIMIZER_8] =
                                                          "with an 8-bit optimizer"};
    struct model_remedy all[MODEL_REMEDIES];
    const size_t count = model_remedies(m->tables, ask, all);
    for (size_t i = 0; i < count; i++) {
        buf_adds(out, i == 0 ? "; fits " : i + 1 < count ? ", " : " or ");
        if (all[i].kind == MODEL_MORE_GPUS)
            buf_printf(out, "on %.0f GPUs", all[i].gpus);
        else
            buf_adds(out, words[all[i].kind]);
    }
}

static void refuse(struct estimate *out, const char *reason, const char *why)
{
    out->kind = ESTIMATE_IMPOSSIBLE;
    out->reason = reason;
    snprintf(out->why, sizeof out->why, "%s", why);
}

static void set_time(const struct modelled *m, const struct model_plan *plan, struct estimate *out)
{
    const double steps = fmax(1, m->tokens / plan->parts.tokens);
    out->time_s = steps * plan->parts.step_s;
    out->low_s = out->time_s * exp(-plan->half);
    out->high_s = out->time_s * exp(plan->half);
    out->kind = exp(plan->half) > SPREAD ? ESTIMATE_ROUGH : ESTIMATE_ESTIMATED;
    if (out->time_s * 1e9 > (double)BILL_LONGEST_NS)
        refuse(out, "longer than 50 years", "it would take more than 50 years");
}

void modelled_estimate(const struct modelled *m, const struct device *device, int gpus, int box,
                       int64_t memory_bytes, struct model_plan *plan, struct estimate *out)
{
    struct model_ask ask = m->ask;
    SCOPED(buf_release) struct buf text = {0};
    *plan = (struct model_plan){0};
    *out = (struct estimate){.modelled = true, .busy = -1};
    const char *why = model_ask_gpus(&ask, device, m->precision, gpus, box);
    if (!why && memory_bytes > 0)
        ask.question.gpu.memory = (double)memory_bytes / GIB;
    if (!why) {
        model_plan(m->tables, &ask, plan);
        why = plan->why;
    }
    if (why) {
        refuse(out, device ? "no estimate" : ESTIMATE_NO_GPU, why);
        return;
    }
    set_time(m, plan, out);
    buf_printf(&text, "needs %.3g of %.3g GB", plan->least_bytes / GIB, ask.question.gpu.memory);
    out->fit = plan->fit;
    if (plan->fit == ESTIMATE_FITS_NOT) {
        add_remedies(m, &ask, &text);
        refuse(out, ESTIMATE_NO_MEMORY, buf_str(&text));
    } else if (plan->fit != ESTIMATE_FITS) {
        snprintf(out->memory, sizeof out->memory, "%s", buf_str(&text));
    }
}

double modelled_host_bytes(const struct model_plan *plan)
{
    const struct model_question *q = &plan->question;
    return q->run.offload > 0 ? q->shape.params * (q->run.mixed > 0 ? 12 : 6) / q->run.nodes : 0;
}

// ---- in words

static void add_amount(double n, struct buf *out) // "50 M"
{
    static const struct {
        double least;
        const char *unit;
    } units[] = {{1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1e3, " k"}, {0, ""}};
    size_t i = 0;
    while (n < units[i].least)
        i++;
    buf_printf(out, "%.4g%s", n / fmax(units[i].least, 1), units[i].unit);
}

void modelled_title(const struct modelled *m, struct buf *out)
{
    const struct model_run *run = &m->ask.question.run;
    const char *word = method_words[(int)run->method];
    buf_printf(out, "%c%s", word[0] & ~32, word + 1);
    if (is_tuned(m))
        buf_printf(out, " (rank %.0f)", run->rank);
    if (m->found.typical) // "8b: as llama-3-8b"
        buf_printf(out, " of %.*s (as %s) on ", (int)strcspn(m->found.name, ":"), m->found.name,
                   m->found.model->name);
    else
        buf_printf(out, " of %s on ", m->found.name);
    add_amount(m->tokens, out);
    buf_adds(out, " tokens");
}

void modelled_layout(const struct model_plan *plan, struct buf *out)
{
    const struct model_layout *l = &plan->question.layout;
    const struct {
        double gpus;
        const char *words;
    } groups[] = {{l->tp, "tensor"}, {l->pp, "pipeline"}, {l->cp, "context"}, {l->ep, "expert"}};
    buf_printf(out, "micro batch %.0f", l->micro);
    if (l->accumulate > 1)
        buf_printf(out, " × %.0f", l->accumulate);
    if (l->recompute > 0)
        buf_adds(out, ", recomputation");
    if (plan->question.run.gpus > 1 && l->zero > 0)
        buf_printf(out, ", ZeRO %.0f", l->zero);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (groups[i].gpus > 1)
            buf_printf(out, ", %s parallel %.0f", groups[i].words, groups[i].gpus);
    if (plan->question.run.offload > 0)
        buf_adds(out, ", optimizer states in the host's memory");
}

int modelled_bill(const struct model_plan *plan, struct bill_model *out, struct err *err)
{
    const struct model_layout *l = &plan->question.layout;
    struct buf text = {0};
    out->memory_bytes = some_int((int64_t)plan->bytes.total);
    out->gpu_memory_bytes = some_int((int64_t)(plan->question.gpu.memory * GIB));
    out->tokens_per_s = some_real(plan->parts.tokens / plan->parts.step_s);
    out->step_s = some_real(plan->parts.step_s);
    out->step_tokens = some_int((int64_t)plan->parts.tokens);
    out->peak_share = some_real(plan->parts.share);
    out->micro_batch = some_int((int64_t)l->micro);
    out->accumulate = some_int((int64_t)l->accumulate);
    out->recompute = some_real(l->recompute);
    out->zero = some_int((int64_t)l->zero);
    out->tensor = some_int((int64_t)l->tp);
    out->pipeline = some_int((int64_t)l->pp);
    out->context = some_int((int64_t)l->cp);
    out->expert = some_int((int64_t)l->ep);
    out->offload = some_bool(plan->question.run.offload > 0);
    modelled_layout(plan, &text);
    return text_take(&out->layout, &text, err);
}

int modelled_quote(const struct modelled *m, struct quote_model *out, struct err *err)
{
    const struct model_run *run = &m->ask.question.run;
    const struct model_errors *errors =
        model_errors(m->tables, "planned", model_methods[(int)run->method]);
    out->parameters = some_int((int64_t)m->found.shape.params);
    out->active = some_int((int64_t)m->found.shape.active);
    out->tokens = some_int((int64_t)m->tokens);
    out->sequence = some_int((int64_t)run->seq);
    if (m->ask.batch_tokens > 0)
        out->batch_tokens = some_int((int64_t)m->ask.batch_tokens);
    if (is_tuned(m))
        out->rank = some_int((int64_t)run->rank);
    if (errors) {
        out->half = some_real(errors->half[ESTIMATE_90]);
        out->rows = some_int((int64_t)errors->rows);
        out->sources = some_int((int64_t)errors->sources);
    }
    return TEXTS_SET(err, {&out->name, m->found.name},
                     {&out->source, m->found.model ? m->found.model->source : NULL},
                     {&out->method, model_methods[(int)run->method]},
                     {&out->precision, m->precision});
}

// ---- --explain

static void add_seconds(const char *what, double s, struct buf *out)
{
    if (s > 0)
        buf_printf(out, ", %s %s", what, units_step(s * 1e3).s);
}

static void add_memory(const struct modelled *m, const struct model_plan *plan, struct buf *out)
{
    const struct model_bytes *b = &plan->bytes;
    const struct {
        const char *what;
        double bytes;
    } parts[] = {{"weights", b->weights},         {"gradients", b->gradients},
                 {"optimizer", b->optimizer},     {"adapters", b->adapters},
                 {"activations", b->activations}, {"logits", b->logits},
                 {"framework", b->framework}};
    const struct model_errors *errors = model_errors(m->tables, "memory", NULL);
    buf_printf(out, "memory: %.3g of %.3g GiB on each GPU at the peak: ", b->total / GIB,
               plan->question.gpu.memory);
    for (size_t i = 0, n = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].bytes > 0)
            buf_printf(out, "%s%s %.3g", n++ > 0 ? ", " : "", parts[i].what, parts[i].bytes / GIB);
    if (errors)
        buf_printf(out, "; ×/÷ %.2g with 90 %%, by %.0f rows", exp(errors->half[ESTIMATE_90]),
                   errors->rows);
    buf_adds(out, "\n");
}

static void add_time(const struct model_plan *plan, struct buf *out)
{
    const struct model_parts *p = &plan->parts;
    buf_printf(out, "step: %s, of which each micro batch %s", units_step(p->step_s * 1e3).s,
               units_step(p->micro * p->offset * 1e3).s);
    add_seconds("matrix products", p->products, out);
    add_seconds("attention", p->attention, out);
    add_seconds("element-wise", p->moved, out);
    add_seconds("4 bits", p->unpack, out);
    add_seconds("beside these: launches", p->launch, out);
    add_seconds("communication", p->gathered + p->tensor + p->expert + p->context, out);
    add_seconds("and once a step: optimizer", p->optimizer + p->offload, out);
    add_seconds("gradients", p->gradients, out);
    add_seconds("pipeline", p->bubble, out);
    buf_printf(out, "; framework and age × %.2f\n", p->offset);
}

void modelled_explain(const struct modelled *m, const struct model_plan *plan,
                      const struct estimate *e, struct buf *out)
{
    const struct model_question *q = &plan->question;
    const struct model_parts *p = &plan->parts;
    char words[ESTIMATE_WORDS];
    if (plan->parts.step_s <= 0) {
        buf_printf(out, "no estimate: %s\n", e->why);
        return;
    }
    buf_printf(out, "model: %s: ", m->found.name);
    add_amount(q->shape.params, out);
    buf_adds(out, " parameters");
    if (q->shape.active < q->shape.params) {
        buf_adds(out, ", of which a token meets ");
        add_amount(q->shape.active, out);
    }
    buf_printf(out, "; %.0f layers of %.0f; %s in %s, sequences of %s packed tokens\n",
               q->shape.layers, q->shape.hidden, method_of(plan), m->precision,
               units_grouped(short_text("%.0f", q->run.seq).s).s);
    buf_printf(out, "layout: %s: ", units_count((int64_t)q->run.gpus, "GPU").s);
    modelled_layout(plan, out);
    buf_adds(out, "; ");
    add_amount(p->tokens, out);
    buf_printf(out, " tokens a step; the fastest that fits of %zu\n", plan->tried);
    if (e->kind == ESTIMATE_IMPOSSIBLE) {
        add_memory(m, plan, out);
        buf_printf(out, "does not fit: %s\n", e->why);
        return;
    }
    buf_printf(out,
               "operations: %.3g a token, without those done again: %.0f %% of the peak of "
               "%.0f TFLOP/s\n",
               p->ops / p->tokens, 100 * p->share, q->gpu.peak * q->gpu.fast);
    add_time(plan, out);
    add_memory(m, plan, out);
    if (plan->fit != ESTIMATE_FITS)
        buf_printf(out, "GPU memory: it may not fit: %s\n", e->memory);
    buf_printf(out,
               "interval: ×/÷ %.2f: how far off predictions were for %.0f trainings of %s left "
               "out of the fit%s\n",
               exp(plan->half), plan->errors->rows,
               units_count((int64_t)plan->errors->sources, "source").s,
               q->gpu.amd > 0 ? "; wider, as none was on an AMD GPU" : "");
    estimate_words(e, words);
    buf_printf(out, "training: %s at %s tokens/s (%s to %s), %s, 90 %% interval\n",
               units_time(e->time_s).s, units_number(p->tokens / p->step_s).s,
               units_time(e->low_s).s, units_time(e->high_s).s, words);
}
