// SPDX-License-Identifier: Apache-2.0
#include "advise/estimate/model.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define GIB 0x1p30

const char *const model_methods[MODEL_METHODS + 1] = {"pretrain", "full", "lora", "qlora", NULL};
const char *const model_classes[MODEL_CLASSES + 1] = {"eager",  "fused", "compiled", "megatron",
                                                      "native", "xla",   NULL};

// ==== the question ====

static const struct limits {
    size_t at; // of the double in struct model_question
    double least, most;
    const char *why;
    bool free; // may be MODEL_FREE
} limits[] = {
#define OF(member) offsetof(struct model_question, member)
    {OF(shape.params), 1e3, 1e15, "a model must have 1000 to 1e15 parameters"},
    {OF(shape.active), 1e3, 1e15, "a model must have 1000 to 1e15 active parameters"},
    {OF(shape.layers), 1, 1e4, "a model must have 1 to 10000 layers"},
    {OF(shape.hidden), 1, 1e6, "a model's width must be 1 to 1000000"},
    {OF(shape.heads), 1, 1e5, "a model must have 1 to 100000 heads"},
    {OF(shape.kv), 1, 1e5, "a model must have 1 to 100000 key-value heads"},
    {OF(shape.head_size), 1, 1e5, "the size of a head must be 1 to 100000"},
    {OF(shape.ffn), 1, 1e7, "the feed-forward width must be 1 to 10000000"},
    {OF(shape.vocab), 1, 1e8, "the vocabulary must have 1 to 100000000 tokens"},
    {OF(shape.tied), 0, 1, "embeddings are tied or not"},
    {OF(shape.experts), 1, 1e5, "a model must have 1 to 100000 experts"},
    {OF(shape.chosen), 1, 1e5, "a token must have 1 to 100000 experts"},
    {OF(shape.gated), 0, 1, "the feed-forward part is gated or not"},
    {OF(shape.routed), 0, 1, "rows are routed or not"},
    {OF(gpu.peak), 1e-3, 1e6, "the GPU's rate in 16 bits is unknown"},
    {OF(gpu.bandwidth), 1e-3, 1e7, "the GPU's memory bandwidth is unknown"},
    {OF(gpu.memory), 1e-3, 1e6, "the size of the GPU's memory is unknown"},
    {OF(gpu.watts), 1, 1e5, "the GPU's power is unknown"},
    {OF(gpu.link), 1e-3, 1e6, "the link between the GPUs is unknown"},
    {OF(gpu.net), 1e-3, 1e6, "the network between the machines is unknown"},
    {OF(gpu.amd), 0, 1, "a GPU is AMD's or not"},
    {OF(gpu.fast), 0.1, 100, "the GPU's rate in this precision is unknown"},
    {OF(run.seq), 1, 1e7, "a sequence must have 1 to 10000000 tokens"},
    {OF(run.gpus), 1, 1e6, "there must be 1 to 1000000 GPUs"},
    {OF(run.nodes), 1, 1e6, "there must be 1 to 1000000 machines"},
    {OF(run.method), 0, MODEL_METHODS - 1, "the method is unknown"},
    {OF(run.class), MODEL_ANY, MODEL_CLASSES - 1, "the class of framework is unknown"},
    {OF(run.year), 2015, 2050, "the year must be 2015 to 2050"},
    {OF(run.loops), 0, 1, "experts are gone through one by one or not"},
    {OF(run.flash), 0, 1, "attention is fused or not"},
    {OF(run.offload), 0, 1, "states are in the host's memory or not", true},
    {OF(run.rank), 1, 1e5, "the rank of adapters must be 1 to 100000"},
    {OF(run.mixed), 0, 1, "weights are in fp32 or not"},
    {OF(run.reserved), 0, 1, "what is reserved counts or not"},
    {OF(run.chunked), 0, 1, "logits are whole or not"},
    {OF(layout.tp), 1, 1e6, "a tensor group must have 1 to 1000000 GPUs", true},
    {OF(layout.pp), 1, 1e4, "a pipeline must have 1 to 10000 stages", true},
    {OF(layout.cp), 1, 1e6, "a context group must have 1 to 1000000 GPUs", true},
    {OF(layout.ep), 1, 1e5, "an expert group must have 1 to 100000 GPUs", true},
    {OF(layout.zero), 0, 3, "the ZeRO stage must be 0 to 3", true},
    {OF(layout.recompute), 0, 1, "the recomputed share must be 0 to 1", true},
    {OF(layout.micro), 1e-6, 1e6, "a micro batch must have 1 to 1000000 sequences", true},
    {OF(layout.accumulate), 1, 1e9, "a step must have 1 to 1000000000 micro batches", true},
#undef OF
};

static double table_params(const struct model_shape *s) // of all embeddings
{
    return (s->tied > 0 ? 1 : 2) * s->vocab * s->hidden;
}

// Comparisons are written so that NaN fails them.
static const char *fault(const struct model_question *q, bool may_be_free)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        double v = 0;
        memcpy(&v, (const char *)q + limits[i].at, sizeof v);
        if (!(v >= limits[i].least && v <= limits[i].most) &&
            !(may_be_free && limits[i].free && v < 0 && v >= MODEL_FREE))
            return limits[i].why;
    }
    if (q->shape.active > q->shape.params)
        return "a model cannot have more active parameters than parameters";
    if (q->shape.kv > q->shape.heads)
        return "a model cannot have more key-value heads than heads";
    if (q->shape.chosen > q->shape.experts)
        return "a token cannot have more experts than there are";
    if (q->shape.active <= table_params(&q->shape))
        return "the embeddings alone have more parameters than the model";
    if (q->run.nodes > q->run.gpus)
        return "there cannot be more machines than GPUs";
    const struct model_layout *l = &q->layout;
    double groups = fmax(l->tp, 1) * fmax(l->pp, 1) * fmax(l->cp, 1);
    if (groups > q->run.gpus || fmax(l->ep, 1) > q->run.gpus)
        return "the layout needs more GPUs than there are";
    return NULL;
}

const char *model_ask_check(const struct model_ask *ask)
{
    const struct model_question *q = &ask->question;
    const char *why = fault(q, true);
    if (why)
        return why;
    if (!(ask->box >= 1 && ask->box <= 1e6))
        return "a machine must have 1 to 1000000 GPUs";
    if (!(ask->batch_tokens >= 0 && ask->batch_tokens <= 1e12))
        return "a batch must have 1 to 1e12 tokens";
    if (q->run.gpus != floor(q->run.gpus) || q->run.seq != floor(q->run.seq))
        return "GPUs and tokens are whole numbers";
    return NULL;
}

struct model_ask model_ask(const struct model_shape *shape, enum model_method method, double seq)
{
    struct model_ask ask = {
        .question = {.shape = *shape,
                     .run = {.seq = seq,
                             .gpus = 1,
                             .nodes = 1,
                             .method = method,
                             .class = method == MODEL_PRETRAIN ? MODEL_ANY : MODEL_EAGER,
                             .year = 2025,
                             .flash = 1,
                             .offload = MODEL_FREE,
                             .rank = 16,
                             .mixed = method == MODEL_PRETRAIN},
                     .layout = {MODEL_FREE, MODEL_FREE, MODEL_FREE, MODEL_FREE, MODEL_FREE,
                                MODEL_FREE, MODEL_FREE, MODEL_FREE}},
        .box = 8};
    return ask;
}

// As bench/model_predict.py has them, links().
static void set_links(struct model_gpu *gpu, const struct device *device)
{
    double host_gbs = device->host_mbs > 0 ? device->host_mbs / 1e3 : 16;
    bool nvlink = device->link_mbs > 0;
    bool ampere = device->architecture && strcmp(device->architecture, "ampere-dc") == 0;
    gpu->link = nvlink ? device->link_mbs / 2e3 : 0.75 * host_gbs / 2;
    gpu->net = !nvlink ? 12.5 : ampere ? 25 : 50;
}

const char *model_ask_gpus(struct model_ask *ask, const struct device *device,
                           const char *precision, double gpus, double box)
{
    const enum rate_precision of = precision ? rate_precision(precision) : RATE_BF16;
    const double bits = of == RATE_BF16 || of == RATE_FP16           ? 16
                        : of == RATE_FP8                             ? 8
                        : precision && !strcasecmp(precision, "fp4") ? 4
                                                                     : 0;
    if (!device)
        return "the GPU is unknown";
    double gflops = device->bf16_gflops > 0 ? device->bf16_gflops : device->fp16_gflops;
    if (bits == 0)
        return "only trainings in 16, 8 and 4 bits were measured";
    if (gflops <= 0)
        return "the GPU's rate in 16 bits is unknown";
    if (device->memory_mbs <= 0)
        return "the GPU's memory bandwidth is unknown";
    if (device->memory_mib <= 0)
        return "the size of the GPU's memory is unknown";
    if (device->watts <= 0)
        return "the GPU's power is unknown";
    if (!(gpus >= 1 && gpus <= 1e6 && box >= 0 && box <= 1e6))
        return "there must be 1 to 1000000 GPUs";
    struct model_gpu gpu = {.peak = gflops / 1e3,
                            .bandwidth = device->memory_mbs / 1e3,
                            .memory = device->memory_mib / 1024.0,
                            .watts = device->watts,
                            .amd = device->vendor && strcasecmp(device->vendor, "amd") == 0,
                            .fast = 1};
    if (bits < 16 && device->fp8_gflops > 0)
        gpu.fast = device->fp8_gflops / gflops;
    if (bits < 8 && device->architecture && strncmp(device->architecture, "blackwell", 9) == 0)
        gpu.fast *= 2; // others unpack 4 bits
    set_links(&gpu, device);
    bool rack = device->name &&
                (strncmp(device->name, "GB200", 5) == 0 || strncmp(device->name, "GB300", 5) == 0);
    ask->question.gpu = gpu;
    ask->box = box > 0 ? box : rack ? 72 : 8;
    ask->question.run.gpus = gpus;
    ask->question.run.nodes = ceil(gpus / ask->box);
    return NULL;
}

double model_batch_tokens(const struct model_question *q)
{
    const double params = q->shape.params;
    if (q->run.method >= MODEL_FULL)
        return fmax(64, q->run.gpus) * q->run.seq;
    return fmax(params <= 2e9     ? 0.5e6
                : params <= 5e9   ? 1e6
                : params <= 20e9  ? 2e6
                : params <= 150e9 ? 4e6
                                  : 8e6,
                q->run.gpus * q->run.seq);
}

// ==== time ====

// What the parts have in common.
struct work {
    bool full, many;    // all weights are trained; there are experts
    double table, body; // parameters of one table of embeddings, of the layers
    double tokens;      // of a micro batch on one tensor group
    double ranks;       // groups that see other data
    double stage, bandwidth, passes;
};

static struct work work_of(const struct model_question *q)
{
    const struct model_layout *l = &q->layout;
    bool full = q->run.method < MODEL_LORA;
    return (struct work){.full = full,
                         .many = q->shape.experts > 1,
                         .table = q->shape.vocab * q->shape.hidden,
                         .body = q->shape.params - table_params(&q->shape),
                         .tokens = l->micro * q->run.seq / l->cp,
                         .ranks = q->run.gpus / l->tp / l->pp / l->cp,
                         .stage = 1 / l->pp,
                         .bandwidth = q->gpu.bandwidth * 1e9,
                         .passes = (full ? 3 : 2) + l->recompute};
}

static void time_on_gpu(const struct model_time *c, const struct model_question *q,
                        const struct work *w, struct model_parts *out)
{
    const struct model_shape *s = &q->shape;
    const struct model_layout *l = &q->layout;
    const double flops = q->gpu.peak * 1e12, stage = w->stage, tokens = w->tokens;
    const double reached = flops * pow(q->gpu.peak / q->gpu.watts, -c->power);
    const double gain = q->gpu.fast == 1 ? 1 : pow(q->gpu.fast, c->fast); // the head has 16 bits
    const double active = s->active - table_params(s);
    // Products: the roofline of each, whose bytes over its operations are 1/rows + 1/columns +
    // 1/depth. An expert sees its own rows alone.
    const double intensity = flops / w->bandwidth;
    const double shared = tokens * (w->many ? s->chosen * l->ep / s->experts : 1);
    const double narrow =
        1 + c->narrow * intensity * l->tp * (1 / s->hidden + (w->many ? 1 / s->ffn : 0));
    const double body = 2 * active * w->passes * stage * (narrow + c->few * intensity / shared) *
                        (w->many ? c->sparse : 1) / gain;
    const double head = 2 * w->table * (w->full ? 3 : 2) * (stage + c->head * (1 - stage)) *
                        (narrow + c->few * intensity / tokens);
    out->products = c->products * tokens * (body + head) / l->tp / reached;
    const double pairs = 2 * q->run.seq * s->heads * s->head_size * s->layers * stage;
    out->attention = c->attention * exp(-c->flash * (q->run.year - 2025)) * tokens * pairs *
                     (3.5 + l->recompute) / l->tp / flops;
    // A step between products reads and writes a row; so does each of an expert's, and the logits
    // in fp32.
    const double rows = s->layers * stage * s->hidden * 34 * w->passes / 3 *
                        (w->many ? 1 + 0.5 * fmax(0, s->chosen - 1) : 1);
    const double scores = q->run.flash > 0 ? 0
                                           : c->scores * s->layers * stage * s->heads * q->run.seq *
                                                 10 * w->passes / 3;
    out->moved =
        tokens * (c->moved * (rows + 12 * s->vocab * stage) + scores) / l->tp / w->bandwidth;
    // 4 bits are read, 16 written, and read by the product.
    out->unpack = q->run.method == MODEL_QLORA
                      ? c->unpack * w->body * stage / l->tp * 6 * (2 + l->recompute) / w->bandwidth
                      : 0;
}

static double time_to_launch(const struct model_time *c, const struct model_question *q,
                             const struct work *w)
{
    double launches = q->shape.layers * w->stage * 12 * w->passes;
    if (w->many && q->run.loops > 0)
        launches *= pow(q->shape.experts / q->layout.ep, c->loop);
    if (!w->full)
        launches *= 1 + c->adapters;
    if (w->many)
        launches *= 1 + c->routing;
    return c->launch * 1e-6 * launches *
           (q->run.class == MODEL_EAGER    ? c->eager_launch
            : q->run.class == MODEL_NATIVE ? 1 / c->native_launch
                                           : 1);
}

static void time_to_talk(const struct model_time *c, const struct model_question *q,
                         const struct work *w, struct model_parts *out)
{
    const struct model_shape *s = &q->shape;
    const struct model_layout *l = &q->layout;
    const double box = q->run.gpus / q->run.nodes, inside = q->gpu.link * 1e9;
    const double beyond = q->run.nodes > 1 ? q->gpu.net * 1e9 : inside;
    const double reduced = s->layers * w->stage * w->tokens * s->hidden * 2;
    const double sums = 4 + 2 * l->recompute;
    out->tensor =
        c->tensor * reduced * sums * 2 * (l->tp - 1) / l->tp / (l->tp > box ? beyond : inside);
    if (l->tp > 1)
        out->tensor += c->meet * 1e-6 * s->layers * w->stage * sums;
    // A row goes to another machine once, whatever the number of its experts there.
    const double boxes = fmax(1, l->ep * l->tp / box);
    const double sent =
        s->chosen * (1 - 1 / l->ep) / inside + fmin(s->chosen, boxes) * (1 - 1 / boxes) / beyond;
    out->expert = c->expert * reduced * s->routed * 4 / l->tp * sent;
    out->context = c->tensor * reduced * 4 * (1 - 1 / l->cp) * 2 / inside;
    const double each = q->run.method == MODEL_QLORA ? 0.55 : 2; // bytes of a weight
    out->gathered = l->zero >= 3 ? c->gather * w->body * w->stage / l->tp * each *
                                       (w->full ? 3 : 2) * (1 - 1 / w->ranks) / beyond
                                 : 0;
    const double trained =
        w->full ? s->params / l->pp / l->tp / l->ep : 0.005 * s->params / l->pp / l->tp;
    const double own = trained / (l->zero >= 1 ? w->ranks : 1);
    out->optimizer = c->optimizer * own * 24 / w->bandwidth;
    out->gradients = l->zero < 3 ? c->gradients * trained * 4 * (1 - 1 / w->ranks) / beyond : 0;
    out->offload = q->run.offload > 0 ? c->offload * 1e-9 * own : 0;
}

static void take_time(const struct model_time *c, const struct model_question *q,
                      struct model_parts *out)
{
    const struct model_shape *s = &q->shape;
    const struct model_layout *l = &q->layout;
    const struct work w = work_of(q);
    const double classes[MODEL_CLASSES] = {c->eager,    c->fused,  c->compiled,
                                           c->megatron, c->native, c->xla};
    time_on_gpu(c, q, &w, out);
    out->launch = time_to_launch(c, q, &w);
    time_to_talk(c, q, &w, out);
    const double busy = out->products + out->attention + out->moved + out->unpack;
    out->micro = sqrt(busy * busy + out->launch * out->launch + out->gathered * out->gathered) +
                 out->tensor + out->expert + out->context;
    out->bubble = (l->pp - 1) * c->bubble * out->micro;
    out->offset = c->base * (q->run.class >= 0 ? classes[(int)q->run.class] : 1) *
                  (q->run.nodes > 1 ? pow(q->run.nodes, c->nodes) : 1) *
                  (q->gpu.amd > 0 ? c->amd : 1) * exp(-c->year * (q->run.year - 2025));
    out->step_s = out->offset * (l->accumulate * out->micro + out->bubble + out->optimizer +
                                 out->gradients + out->offload);
    out->tokens = l->micro * l->accumulate * w.ranks * q->run.seq;
    const double ops = 2 * (s->active - table_params(s) + w.table) * (w.full ? 3 : 2) +
                       2 * q->run.seq * s->heads * s->head_size * s->layers * 3;
    out->ops = ops * out->tokens;
    out->share = out->ops / (q->run.gpus * q->gpu.peak * 1e12 * q->gpu.fast * out->step_s);
}

double model_step(const struct model_tables *tables, const struct model_question *question,
                  struct model_parts *parts)
{
    struct model_parts own = {0};
    if (!fault(question, false))
        take_time(&tables->time, question, &own);
    if (!isfinite(own.step_s) || own.step_s <= 0)
        own = (struct model_parts){0};
    if (parts)
        *parts = own;
    return own.step_s;
}

// ==== memory ====

#define UNSURE 0.20 // ln: within this of a GPU's memory it is neither said to fit nor not to

// `states`: bytes of the optimizer's states ÷ the usual.
static void take_memory(const struct model_room *c, const struct model_question *q, double states,
                        struct model_bytes *out)
{
    const struct model_shape *s = &q->shape;
    const struct model_layout *l = &q->layout;
    const struct work w = work_of(q);
    const double part = 1 / l->tp / l->pp, tables = table_params(s);
    const double held = (w.body / l->ep + tables) * part;
    const double others = fmax(1, w.ranks / l->ep); // that share what ZeRO divides
    // fp32 weights, gradients and states, or all of it in bf16.
    const double mixed = w.full && q->run.mixed > 0 ? 2 : 1;
    const double stored = q->run.method == MODEL_QLORA ? (0.56 * w.body / l->ep + 2 * tables) * part
                                                       : held * 2 * mixed;
    // Of ZeRO 3, two layers and the embeddings are whole while they are used.
    const double whole =
        l->zero >= 3 && w.ranks > 1 ? (2 * w.body / s->layers / l->ep + w.table) / l->tp * 2 : 0;
    out->weights = c->weights * (stored / (l->zero >= 3 ? others : 1) + c->whole * whole);
    const double trained = w.full && q->run.offload <= 0 ? held * mixed : 0;
    const double first = l->zero >= 1 ? others : 1;
    const double width = 6 * s->hidden + (2 + s->gated) * s->ffn * fmin(s->experts, 8);
    out->adapters = w.full ? 0 : 16 * q->run.rank * s->layers * part * width / first;
    out->optimizer = c->optimizer * trained * 4 / first * states;
    const double gradients = c->gradients * trained * 2 / (l->zero >= 2 ? others : 1);
    const double update = c->update * trained * 2 / first;
    // What backward needs of a layer, at 2 bytes; with recomputation its input alone, and one layer
    // at a time.
    const double row = 2 * (c->rows * (7 + 6 * s->gated) * s->hidden +
                            c->inner * (2 + s->gated) * s->ffn * fmax(1, s->chosen)) +
                       (q->run.flash > 0 ? 0 : 5 * s->heads * q->run.seq);
    const double scores = c->logits * 8 * s->vocab * (q->run.chunked > 0 ? 0.02 : 1);
    const bool again = l->recompute >= 1;
    const double kept = (again ? 2 * s->hidden * c->kept : row * (1 - 0.7 * l->recompute)) *
                        s->layers / l->pp * fmin(l->pp, fmax(l->accumulate, 1));
    out->activations = w.tokens / l->tp * (kept + (again ? fmax(0, row - scores) : 0));
    out->logits = w.tokens / l->tp * scores;
    // Either the update's own needs or the activations are the peak.
    const double beside = l->accumulate > 1 ? gradients : 0;
    out->gradients = beside + fmax(0, gradients + update - beside - out->activations - out->logits);
    out->framework = c->base * GIB;
    out->reserved = q->run.reserved > 0 ? c->reserved * (out->activations + out->logits) + GIB : 0;
    out->total = out->weights + out->gradients + out->optimizer + out->adapters + out->activations +
                 out->logits + out->framework + out->reserved;
    out->low = out->total * exp(-UNSURE);
    out->high = out->total * exp(UNSURE);
}

void model_memory(const struct model_tables *tables, const struct model_question *question,
                  struct model_bytes *out)
{
    *out = (struct model_bytes){0};
    if (!fault(question, false))
        take_memory(&tables->memory, question, 1, out);
    if (!isfinite(out->high) || out->total <= 0)
        *out = (struct model_bytes){0};
}

enum estimate_fit model_fit(const struct model_bytes *bytes, const struct model_gpu *gpu)
{
    const double there = gpu->memory * GIB;
    if (!(bytes->total > 0 && there > 0))
        return ESTIMATE_FIT_UNKNOWN;
    return bytes->high <= there  ? ESTIMATE_FITS
           : bytes->low <= there ? ESTIMATE_FIT_UNSURE
                                 : ESTIMATE_FITS_NOT;
}

// ==== the planner ====

#define SPARE 0.94 // of a GPU's memory: the rest is the driver's, the framework's and fragments
enum { MICRO_MOST = 64, TUNING_MICRO_MOST = 8, STAGES_MOST = 16, LONG_SEQUENCE = 16384 };

struct search {
    const struct model_tables *tables;
    const struct model_ask *ask;
    double states;           // see take_memory()
    struct model_question q; // the layout that is tried
    double sequences;        // of a step
    double best, least;      // seconds per token of the fastest that fits, bytes of the smallest
    struct model_question fastest, smallest;
    size_t tried;
};

static void try_layout(struct search *s)
{
    struct model_bytes bytes;
    struct model_parts parts;
    take_memory(&s->tables->memory, &s->q, s->states, &bytes);
    s->tried++;
    if (bytes.total < s->least) {
        s->least = bytes.total;
        s->smallest = s->q;
    }
    if (!(bytes.total <= s->q.gpu.memory * GIB * SPARE))
        return;
    take_time(&s->tables->time, &s->q, &parts);
    if (parts.step_s / parts.tokens < s->best) {
        s->best = parts.step_s / parts.tokens;
        s->fastest = s->q;
    }
}

// Powers of two up to `most`, or the pinned number alone.
#define EACH(member, pinned, most)                                                                 \
    for (l->member = (pinned) > 0 ? (pinned) : 1; l->member <= ((pinned) > 0 ? (pinned) : (most)); \
         l->member *= 2)

static void try_batches(struct search *s, double ranks)
{
    struct model_layout *l = &s->q.layout;
    const struct model_layout *pin = &s->ask->question.layout;
    const bool tuning = s->q.run.method >= MODEL_FULL;
    const double most =
        fmin(tuning ? TUNING_MICRO_MOST : MICRO_MOST, fmax(1, floor(s->sequences / ranks)));
    EACH(micro, pin->micro, most)
    {
        l->accumulate =
            pin->accumulate > 0 ? pin->accumulate : fmax(1, rint(s->sequences / ranks / l->micro));
        try_layout(s);
    }
}

static void try_stages(struct search *s, double ranks)
{
    struct model_layout *l = &s->q.layout;
    const struct model_layout *pin = &s->ask->question.layout;
    const double zeros[] = {ranks > 1 ? 1 : 0, 3}, again[] = {0, 1};
    for (size_t z = 0; z < (pin->zero < 0 && ranks > 1 && l->pp == 1 ? 2 : 1); z++)
        // Recipes for fine-tuning recompute.
        for (size_t r = pin->recompute < 0 && s->q.run.method >= MODEL_FULL; r < 2; r++) {
            l->zero = pin->zero >= 0 ? pin->zero : zeros[z];
            l->recompute = pin->recompute >= 0 ? pin->recompute : again[r];
            try_batches(s, ranks);
            if (pin->recompute >= 0)
                break;
        }
}

static void try_all(struct search *s)
{
    const struct model_shape *shape = &s->q.shape;
    struct model_layout *l = &s->q.layout;
    const struct model_layout *pin = &s->ask->question.layout;
    const double gpus = s->q.run.gpus;
    s->best = s->least = HUGE_VAL;
    EACH(tp, pin->tp, fmin(fmin(s->ask->box, gpus), shape->kv))
    EACH(pp, pin->pp, fmin(fmin(floor(gpus / l->tp), shape->layers / 2), STAGES_MOST))
    EACH(cp, pin->cp, fmin(floor(gpus / l->tp / l->pp), s->q.run.seq > LONG_SEQUENCE ? 8 : 1))
    {
        const double ranks = gpus / l->tp / l->pp / l->cp;
        if (fmod(shape->heads, l->tp) != 0 || ranks < 1 || ranks != floor(ranks) ||
            l->pp > shape->layers)
            continue;
        EACH(ep, pin->ep, fmin(shape->experts, ranks))
        if (fmod(ranks, l->ep) == 0 && l->ep <= shape->experts)
            try_stages(s, ranks);
    }
}

static void plan(const struct model_tables *tables, const struct model_ask *ask, double states,
                 struct model_plan *out)
{
    struct search s = {tables, ask, states, ask->question};
    struct model_run *run = &s.q.run;
    const bool offload = run->offload < 0;
    *out = (struct model_plan){.why = model_ask_check(ask)};
    if (out->why)
        return;
    const double batch =
        ask->batch_tokens > 0 ? ask->batch_tokens : model_batch_tokens(&ask->question);
    s.sequences = fmax(1, rint(batch / run->seq));
    run->offload = fmax(0, run->offload);
    try_all(&s);
    // Adapters have next to no states.
    if (!isfinite(s.best) && s.tried > 0 && offload && run->method < MODEL_LORA && states == 1) {
        run->offload = 1;
        s.tried = 0;
        try_all(&s);
    }
    if (!isfinite(s.least)) {
        out->why = "no layout has what is pinned: groups must divide the GPUs, and a tensor group "
                   "the heads";
        return;
    }
    out->question = isfinite(s.best) ? s.fastest : s.smallest;
    out->tried = s.tried;
    out->least_bytes = s.least;
    struct model_bytes least = {
        .total = s.least, .low = s.least * exp(-UNSURE), .high = s.least * exp(UNSURE)};
    out->fit = model_fit(&least, &out->question.gpu);
    take_memory(&tables->memory, &out->question, states, &out->bytes);
    if (model_step(tables, &out->question, &out->parts) <= 0)
        *out = (struct model_plan){.why = "the formula gives no time"};
}

void model_plan(const struct model_tables *tables, const struct model_ask *ask,
                struct model_plan *out)
{
    const struct model_layout *pin = &ask->question.layout;
    plan(tables, ask, 1, out);
    if (out->why)
        return;
    out->given = pin->micro > 0 && pin->recompute >= 0 &&
                 (ask->question.run.gpus == 1 || (pin->tp > 0 && pin->pp > 0 && pin->zero >= 0));
    out->errors = model_errors(tables, out->given ? "given" : "planned",
                               model_methods[(int)ask->question.run.method]);
    if (!out->errors)
        *out = (struct model_plan){.why = "no error of such estimates is known"};
    else
        out->half = fmax(out->errors->half[ESTIMATE_90], ask->question.gpu.amd > 0 ? 0.8 : 0);
}

size_t model_remedies(const struct model_tables *tables, const struct model_ask *ask,
                      struct model_remedy out[MODEL_REMEDIES])
{
    const struct model_layout *pin = &ask->question.layout;
    const double method = ask->question.run.method;
    struct model_plan now, then;
    size_t count = 0;
    plan(tables, ask, 1, &now);
    if (now.why || now.fit == ESTIMATE_FITS)
        return 0;
    const bool applies[MODEL_REMEDIES] = {
        [MODEL_MICRO_1] = pin->micro > 1,
        [MODEL_RECOMPUTE] = pin->recompute >= 0 && pin->recompute < 1,
        [MODEL_TO_LORA] = method < MODEL_LORA,
        [MODEL_TO_QLORA] = method < MODEL_QLORA,
        [MODEL_OPTIMIZER_8] = method < MODEL_LORA,
        [MODEL_MORE_GPUS] = true,
    };
    for (enum model_remedy_kind kind = 0; kind < MODEL_REMEDIES; kind++) {
        struct model_ask with = *ask;
        struct model_run *run = &with.question.run;
        double states = 1, most = run->gpus;
        if (!applies[kind])
            continue;
        if (kind == MODEL_MICRO_1) {
            with.question.layout.micro = 1;
            with.question.layout.accumulate = MODEL_FREE;
        } else if (kind == MODEL_RECOMPUTE) {
            with.question.layout.recompute = 1;
        } else if (kind == MODEL_TO_LORA || kind == MODEL_TO_QLORA) {
            run->method = kind == MODEL_TO_LORA ? MODEL_LORA : MODEL_QLORA;
            run->mixed = 0;
        } else if (kind == MODEL_OPTIMIZER_8) { // two bytes a parameter, not eight or four
            states = run->mixed > 0 ? 0.25 : 0.5;
            run->offload = 0;
        } else {
            with.question.layout.zero = 3;
            with.question.layout.pp = fmax(1, pin->pp);
            most = 64;
            for (run->gpus = 2; run->gpus <= ask->question.run.gpus;)
                run->gpus *= 2;
        }
        for (; run->gpus <= most; run->gpus *= 2) {
            run->nodes = ceil(run->gpus / with.box);
            plan(tables, &with, states, &then);
            if (then.why || then.fit >= now.fit)
                continue;
            out[count++] = (struct model_remedy){kind, run->gpus, then.least_bytes, then.fit};
            break;
        }
    }
    return count;
}

const struct model_errors *model_errors(const struct model_tables *tables, const char *question,
                                        const char *method)
{
    for (size_t i = 0; i < tables->errors.count; i++) {
        const struct model_errors *e = &tables->errors.items[i];
        if (strcmp(e->question, question) == 0 &&
            (!e->method || !method ? e->method == method : strcmp(e->method, method) == 0))
            return e;
    }
    return NULL;
}
