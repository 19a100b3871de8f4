// SPDX-License-Identifier: Apache-2.0
// model: time and memory of a training from the model's description: no script, no run, no GPU.
// bench/model_predict.py has the formulas and is the reference they are tested against,
// bench/model_fit.py makes the tables.
//
//     struct model_found found;
//     TRY(model_find(tables, "llama-3-8b", &found, err));            // or a config.json, or "8b"
//     struct model_ask ask = model_ask(&found.shape, MODEL_LORA, 4096);
//     const char *why = model_ask_gpus(&ask, device, "bf16", 8, 8);  // 8 GPUs, 8 in a machine
//     struct model_plan plan;
//     if (!why)
//         model_plan(tables, &ask, &plan);                           // layout, time, memory, range
//
// All but the readers are pure functions of their arguments and allocate nothing. Numbers are
// doubles, as formulas want them: bytes, seconds, counts. What is not known is unknown, with a
// reason: never a best case, never NaN.
#ifndef FARE_ADVISE_ESTIMATE_MODEL_H
#define FARE_ADVISE_ESTIMATE_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "advise/estimate/rates.h"
#include "advise/estimate/estimate.h"
#include "base/err.h"
#include "record/field.h"
#include "tables/device.h"

// ==== the question ====

enum model_method { MODEL_PRETRAIN, MODEL_FULL, MODEL_LORA, MODEL_QLORA, MODEL_METHODS };
extern const char *const model_methods[MODEL_METHODS + 1]; // "pretrain", ..., then a null
// Of frameworks: see model-time.csv. MODEL_ANY: not known.
enum model_class {
    MODEL_ANY = -1,
    MODEL_EAGER,
    MODEL_FUSED,
    MODEL_COMPILED,
    MODEL_MEGATRON,
    MODEL_NATIVE,
    MODEL_XLA,
    MODEL_CLASSES
};
extern const char *const model_classes[MODEL_CLASSES + 1]; // "eager", ..., then a null

struct model_shape {
    double params, active; // all; those that a token meets
    double layers, hidden; // hidden: the width
    double heads, kv, head_size;
    double ffn;             // width of the feed-forward part, of one expert if there are any
    double vocab, tied;     // tied: 1 if input and output embeddings are one table
    double experts, chosen; // 1 and 1: none
    double gated, routed;   // 0 or 1: three matrices, not two; rows travel to experts
};

struct model_gpu {    // as model_ask_gpus() takes it from the data sheet
    double peak;      // dense TFLOP/s in 16 bits
    double bandwidth; // of memory, GB/s
    double memory;    // GiB
    double watts;     // of the board
    double link, net; // GB/s in one direction: inside a machine, beyond it
    double amd;       // 0 or 1: no row of the fit has one; the interval is wider
    double fast;      // peak in the precision of the products ÷ that in 16 bits; at least 1
};

// Only the part beyond model_ask()'s arguments is worth touching: it has what nobody says.
struct model_run {
    double seq;         // tokens of a sequence
    double gpus, nodes; // in all; machines
    double method;      // enum model_method
    double class;       // enum model_class
    double year;        // 2025.0: how old the software is
    double loops;       // experts are gone through one by one
    double flash;       // attention is fused
    double offload;     // the optimizer's states are in the host's memory
    double rank;        // of adapters
    double mixed;       // fp32 weights and states; 0: all of it in bf16
    double reserved;    // as nvidia-smi shows it, with what the allocator keeps
    double chunked;     // logits are never whole
};

struct model_layout {
    double tp, pp, cp, ep; // GPUs of a tensor, pipeline, context and expert group
    double zero;           // ZeRO stage of the rest: 0, 1, 2, 3 (FSDP)
    double recompute;      // share of the forward pass that backward does again: 0, 0.15, 0.5, 1
    double micro;          // sequences of a micro batch
    double accumulate;     // micro batches of a step
};

struct model_question {
    struct model_shape shape;
    struct model_gpu gpu;
    struct model_run run;
    struct model_layout layout;
};

// What a person asks. `question.layout` and `question.run.offload` have what is pinned and
// MODEL_FREE for what the planner may choose.
#define MODEL_FREE (-1.0)
struct model_ask {
    struct model_question question;
    double box;          // GPUs of a machine
    double batch_tokens; // of a step; 0: what is usual (model_batch_tokens())
};

// A question with all of the layout free and what is usual for the rest: software of 2025, class
// eager for fine-tuning, rank 16, fp32 weights for pretraining alone.
struct model_ask model_ask(const struct model_shape *shape, enum model_method method, double seq);

// Puts that many GPUs of a kind into it; `box`: of one machine, 0: 8 (72 of a GB200). `precision`:
// "bf16" (or "fp16"), "fp8", "fp4". Null, or why there is no estimate on this GPU: "its memory
// bandwidth is unknown".
const char *model_ask_gpus(struct model_ask *ask, const struct device *device,
                           const char *precision, double gpus, double box);

double model_batch_tokens(const struct model_question *question); // of a step, where nobody says

// Null, or what is wrong with it: "the sequence must have 1 to 10000000 tokens". model_plan(),
// model_step() and model_memory() of a wrong question are unknown.
const char *model_ask_check(const struct model_ask *ask);

// ==== tables ====
//
// share/estimate/model-*.csv and share/models.csv; the user's files of the same names in
// ~/.config/fare win (of coefficients row by row).

// Coefficients: X(name). Those of the first lists are factors, kept as exp(value).
#define MODEL_TIME_FACTORS(X)                                                                      \
    X(base)                                                                                        \
    X(products)                                                                                    \
    X(sparse)                                                                                      \
    X(attention)                                                                                   \
    X(scores)                                                                                      \
    X(moved)                                                                                       \
    X(launch)                                                                                      \
    X(eager_launch)                                                                                \
    X(native_launch)                                                                               \
    X(unpack)                                                                                      \
    X(tensor)                                                                                      \
    X(meet)                                                                                        \
    X(expert)                                                                                      \
    X(gather)                                                                                      \
    X(bubble)                                                                                      \
    X(optimizer)                                                                                   \
    X(gradients) X(offload) X(amd) X(eager) X(fused) X(compiled) X(megatron) X(native) X(xla)
#define MODEL_TIME_TERMS(X)                                                                        \
    X(fast)                                                                                        \
    X(power) X(narrow) X(few) X(head) X(flash) X(adapters) X(routing) X(loop) X(nodes) X(year)
#define MODEL_MEMORY_FACTORS(X)                                                                    \
    X(weights)                                                                                     \
    X(whole) X(gradients) X(optimizer) X(update) X(rows) X(inner) X(kept) X(logits) X(base)
#define MODEL_MEMORY_TERMS(X) X(reserved)
#define MODEL_MEMBER(name)    double name;
struct model_time {
    MODEL_TIME_FACTORS(MODEL_MEMBER) MODEL_TIME_TERMS(MODEL_MEMBER)
};
struct model_room {
    MODEL_MEMORY_FACTORS(MODEL_MEMBER) MODEL_MEMORY_TERMS(MODEL_MEMBER)
};
#undef MODEL_MEMBER

struct model_errors {             // how far off predictions of left-out sources were
    char *question;               // "given": layout and micro batch; "planned"; "memory"
    char *method;                 // null: any
    double half[ESTIMATE_LEVELS]; // |ln(predicted / measured)|
    double rows, sources;         // behind it
};

struct model_row {        // a row of models.csv
    char *name, *aliases; // "llama-3-8b"; "llama3-8b;meta-llama-3-8b"; aliases null: none
    double params, active, layers, hidden, heads, kv, head_size, ff_width, matrices;
    double experts, chosen, shared, expert_width, dense_layers, attention; // 0: none
    double vocab, positions, context, tied;
    char *source, *date;
};

struct model_tables {
    struct model_time time;
    struct model_room memory;
    LIST_OF(struct model_errors) errors;
    LIST_OF(struct model_row) models; // by name
};

int model_tables_open(struct model_tables **out, struct err *err) MUST_USE;
void model_tables_close(struct model_tables *tables); // null is fine

// ==== models ====

struct model_found {
    struct model_shape shape;
    const struct model_row *model; // the table's row; null: a config.json
    bool typical;                  // a size was asked for: the row nearest to it
    char name[200];                // "llama-3-8b", "8b: as llama-3-8b", "mistral in my/config.json"
    double context;                // tokens that it is made for; 0: unknown
};

// By name or alias ("meta-llama/Meta-Llama-3-8B-Instruct" is llama-3-8b), by size ("8b", "124m") or
// from a config.json or a folder with one. ERR_MISSING or ERR_FORMAT, with what would do.
int model_find(const struct model_tables *tables, const char *text, struct model_found *out,
               struct err *err) MUST_USE;

struct model_shape model_shape(const struct model_row *model);

// A config.json of the transformers library, of at most MODEL_CONFIG_MOST bytes. The error names
// the key: "'num_hidden_layers' must be a number from 1 to 10000". `name` gets its model_type.
enum { MODEL_CONFIG_MOST = 1 << 20 };
int model_config(const char *text, size_t len, struct model_shape *out, double *context,
                 char name[64], struct err *err) MUST_USE;

// ==== answers to a question whose layout is whole ====

struct model_parts { // of a step, in seconds; what runs side by side is joined, so it is not a sum
    // Of a micro batch.
    double products, attention, moved, unpack; // on the GPU: matrices, attention, the rest, 4 bits
    double launch;                             // what the host needs to start it all
    double gathered, tensor, expert, context;  // communication
    double micro;                              // all of it
    // Of a step.
    double bubble, optimizer, gradients, offload;
    double offset; // factor on all of it: framework, year, machines
    double step_s; // offset × (accumulate × micro + the others)
    double tokens; // of a step, all GPUs
    double ops;    // useful operations of a step: without what is computed again
    double share;  // of the peak that they reach
};
// Seconds of a step, 0: unknown. `parts` (optional).
double model_step(const struct model_tables *tables, const struct model_question *question,
                  struct model_parts *parts);

struct model_bytes { // on one GPU at the peak
    double weights, gradients, optimizer, adapters, activations, logits, framework, reserved;
    double total, low, high; // 0: unknown; low and high: beyond them it does not fit, or fits
};
void model_memory(const struct model_tables *tables, const struct model_question *question,
                  struct model_bytes *out);

// By low and high against the memory of the GPU.
enum estimate_fit model_fit(const struct model_bytes *bytes, const struct model_gpu *gpu);

// ==== the planner ====
//
// Tries all layouts that are usual for the model, GPU and count, and takes the fastest per token
// that fits; what is pinned narrows them. If none fits, the same with the optimizer's states in
// the host's memory; if none fits then, the smallest.

struct model_plan {
    const char *why;                // no estimate: the reason, and nothing else is set
    struct model_question question; // with the layout that was chosen
    struct model_parts parts;
    struct model_bytes bytes;
    // Of what is asked: fits if some layout surely does. Where it is ESTIMATE_FITS and model_fit()
    // of these bytes is unsure, a smaller micro batch is the way out.
    enum estimate_fit fit;
    double least_bytes; // of the smallest layout
    size_t tried;
    bool given;                        // layout and micro batch were pinned
    const struct model_errors *errors; // behind the range; null: no row
    double half;                       // with 90 %: the time lies within step_s × e^±half
};
void model_plan(const struct model_tables *tables, const struct model_ask *ask,
                struct model_plan *out);

// What would make it fit, each by itself, in the order that people try it.
enum model_remedy_kind {
    MODEL_MICRO_1, // sequences of a micro batch
    MODEL_RECOMPUTE,
    MODEL_TO_LORA,
    MODEL_TO_QLORA,
    MODEL_OPTIMIZER_8, // an optimizer whose states have 8 bits
    MODEL_MORE_GPUS,   // `gpus` of them, with ZeRO 3
    MODEL_REMEDIES
};
struct model_remedy {
    enum model_remedy_kind kind;
    double gpus;           // the smallest number that does
    double bytes;          // on one GPU then
    enum estimate_fit fit; // fits, or unsure
};
// Those that help, the number of them; 0: none does, or it fits as it is.
size_t model_remedies(const struct model_tables *tables, const struct model_ask *ask,
                      struct model_remedy out[MODEL_REMEDIES]);

// The row behind a range; null: none. `method` null: of memory.
const struct model_errors *model_errors(const struct model_tables *tables, const char *question,
                                        const char *method);

#endif
