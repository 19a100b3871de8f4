// SPDX-License-Identifier: Apache-2.0
// plan: a net compiled for one batch size: where each layer's output lies, and the ops to run.
//
// Every layer has a value (its output and, while training, its gradient) and an op that computes
// it. Images lie in the engine's blocked layout (params.h), everything else as rows, one per
// sample. Several values may share memory: a concatenation's inputs are slices of it if their
// layers can write those, dropout and an auxiliary loss work in place, and a convolution's gradient
// overwrites its output if a batch norm is the only reader. Everything else is placed in one arena
// by its lifetime in a step: layer l runs forward at time l and backward at time 2 L - l, the loss
// at time L.
//
// An op is made in two stages: make() chooses primitives and declares what memory it needs when;
// plan_bind() sets the pointers to it and calls bind(). The first plan chooses a parameter's
// layout; later plans of the same program use it.
#ifndef FARE_TRAIN_ENGINE_CPU_PLAN_H
#define FARE_TRAIN_ENGINE_CPU_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "train/engine/cpu/arena.h"
#include "train/engine/cpu/dnnl.h"
#include "train/engine/cpu/params.h"
#include "train/engine/cpu/passes.h"
#include "train/engine/engine.h"

struct value {
    bool image;       // blocked; otherwise rows
    bool given;       // in the caller's memory, which changes with each batch (f32 images as rows)
    bool absent;      // never in memory: its reader works without it (tokens, embeddings)
    bool bf16;        // the output
    bool grad_bf16;   // its gradient
    bool relu_later;  // the reader applies this layer's relu mask on the way back
    bool grad_in_out; // the gradient overwrites the output
    struct image_layout as;   // if it is an image
    int64_t columns;          // numbers of a sample, padding included
    int readers, last_reader; // how many layers read it, and the last one
    int home;                 // the layer in whose memory it lies
    int64_t offset;           // numbers, from the beginning of that
    void *out, *grad;
};

struct pass { // one run through a plan
    const struct engine_batch *batch;
    bool training;
    uint64_t seed;
    int64_t iteration;
    const bool *trains;  // (layer) the gradients of its parameters are wanted
    const bool *reaches; // (layer) the gradient of its output is wanted
    // With one label per token. The batch is a part of a step's, whose gradients are summed.
    bool adds;                  // not the first part: add to the parameters' gradients
    int64_t labels;             // of the whole step, for the mean
    struct engine_score *score; // the head adds to it
    float *odds;                // predict(): the head's outputs go there
    // In a group: samples of the batch of all ranks, whose gradients are summed. A rank without any
    // runs only the ops that talk to the others.
    struct group *group;
    int64_t all;
    struct together *together; // (optional) sums the gradients
};

struct op;
struct plan;

struct op_job { // what the threads work on
    struct op *op;
    const struct pass *pass;
};

// All are optional. A pass is either a function or work for all threads (team.h), of an op_job.
struct op_class {
    size_t size; // of its own struct, which is zeroed and begins with struct op
    int (*forward)(struct op *op, const struct pass *pass, struct err *err);
    int (*backward)(struct op *op, const struct pass *pass, struct err *err);
    void (*forward_work)(void *job, int thread, int threads);
    void (*backward_work)(void *job, int thread, int threads);
    int (*make)(struct op *op, struct err *err);
    int (*bind)(struct op *op, struct err *err); // has memory now
    bool talks; // to the other ranks of a group, so it runs even without samples
    void (*release)(struct op *op); // frees what the struct points to
};

struct op { // the beginning of every op's own struct
    const struct op_class *class;
    struct plan *plan;
    const struct net_layer *layer;
    int number; // of the layer
};

struct plan {
    const struct net_layer *layers; // the program's
    int layer_count;
    struct params *params;
    const struct passes *passes;
    int64_t batch;
    bool bf16; // images and what is computed from them
    int block;
    bool exact; // whole batches only, so nothing has to be cleared
    int ranks;  // that train together
    struct value *values;
    struct op **ops;
    struct buffer *outs, *grads; // (layer) spans by home, until they become buffers
    struct arena arena;
    uint16_t *rounded[2];     // the factors of a product in bf16,
    int64_t rounded_space[2]; // and the space for them; made by the first step
};

// `exact`: the batch is always full. The parameters need no memory yet.
struct plan_spec {
    const struct net_layer *layers;
    int layer_count;
    struct params *params;
    int64_t batch;
    bool bf16, exact;
    int ranks; // that train together
};
int plan_init(struct plan *plan, const struct plan_spec *spec, struct err *err) MUST_USE;
void plan_release(struct plan *plan);

// Call it once the parameters have memory. `memory` of another plan, which never runs at the same
// time, is used if it is large enough; null: the plan gets its own.
int plan_bind(struct plan *plan, const struct arena *memory, struct err *err) MUST_USE;

int plan_forward(struct plan *plan, const struct pass *pass, struct err *err) MUST_USE;
int plan_backward(struct plan *plan, const struct pass *pass, struct err *err) MUST_USE;

// ---- for ops ----

enum plan_when { PLAN_FORWARD, PLAN_BACKWARD };
int plan_time(const struct plan *plan, int layer, enum plan_when when);

// A layer's output, or its gradient, is needed when `layer` runs.
void plan_needs_out(struct plan *plan, int of, int layer, enum plan_when when);
void plan_needs_grad(struct plan *plan, int of, int layer, enum plan_when when);

// Memory for one op: from its layer's forward or backward pass until the backward pass, or only
// while it runs. `pointer` is that of a pointer in the op, which plan_bind() sets.
int plan_buffer(const struct op *op, size_t bytes, enum plan_when from, enum plan_when to,
                void *pointer, struct err *err) MUST_USE;

static inline struct value *plan_input(const struct op *op, int which)
{
    return &op->plan->values[op->layer->inputs[which]];
}

static inline struct value *plan_output(const struct op *op)
{
    return &op->plan->values[op->number];
}

static inline struct slot *plan_slot(const struct op *op, int which)
{
    return &op->plan->params->slots[op->layer->first_param + which];
}

// Whether this op adds to its input's gradient: it is not the first to write it.
static inline bool plan_adds(const struct op *op, int which)
{
    return plan_input(op, which)->last_reader != op->number;
}

static inline bool plan_wants_input(const struct op *op, const struct pass *pass, int which)
{
    return pass->reaches[op->layer->inputs[which]];
}

// Time steps of all samples of the batch, for the ops of transformers: a part of a batch has fewer.
static inline int64_t plan_rows(const struct op *op, const struct pass *pass)
{
    return pass->batch->count * op->layer->out.dim[0];
}

// Numbers of a value in memory, for a whole batch.
static inline int64_t plan_numbers(const struct plan *plan, const struct value *value)
{
    return plan->batch * value->columns;
}

// A product of whole matrices, in the plan's precision: with bf16 both are rounded first.
int plan_multiply(struct plan *plan, const struct dnn_product *product, struct err *err) MUST_USE;

// dy = 0 where y <= 0, and to += from, on all threads.
void plan_relu_back(const struct plan *plan, const struct value *value);
void plan_add(const struct plan *plan, void *to, const void *from, int64_t count, bool bf16);

// ---- the ops ----

extern const struct op_class input_class, pool_class, drop_class, concat_class; // images.c
extern const struct op_class norm_class, owned_class;                           // norm.c, owned.c
extern const struct op_class dense_class, conv_class;                           // linear.c
extern const struct op_class one_hot_class, embedding_class, lstm_class;        // sequence.c
extern const struct op_class aux_class;                                         // loss.c
// Of transformers: rows.c (tied embeddings, positions, layer norms, linear layers, GELU, sums),
// attention.c, head.c.
extern const struct op_class token_class, position_class, layer_norm_class, affine_class,
    gelu_class, add_class, attention_class, head_class;

// Whether a dense layer can be `owned`: rows of f32, enough units for all threads.
bool owned_suits(const struct plan *plan, int number);

// ---- the loss of a batch's outputs, its gradient, and the score: loss.c ----

struct loss {
    enum net_loss kind;
    int64_t batch, count; // rows, and how many are samples
    int64_t all;          // samples in the mean: of all ranks
    int64_t units;
    const void *z; // (batch, units): the logits
    bool z_bf16;
    const int32_t *labels;
    float weight; // of the gradient
    void *grad;   // (batch, units) of the mean loss, or null; other rows become zero
    bool grad_bf16;
    double *rows; // (batch) work space, so that the sum does not depend on the threads
};

void loss_run(const struct loss *loss, struct engine_score *score);

// Probabilities of the samples: out (count, units).
void loss_predict(const struct loss *loss, float *out);

// ---- together.c: a step's gradients, summed over a group's ranks beside the way back ----
//
// Gradients lie in the order of the layers and are finished from the last to the first. Whenever
// TOGETHER_BUCKET of them are, the group begins to sum them.

#define TOGETHER_BUCKET (256 << 10) // numbers

struct together {
    struct group *group; // null: alone, and everything here does nothing
    struct params *params;
    const bool *trains; // (layer)
    int next;           // the slots up to this one are not finished
    int64_t from, to;   // finished numbers that are not being summed yet
    double score[3];    // being summed
};

// All ranks must lay out their parameters alike and split their work alike, or they would come to
// different numbers. An error names one that does not.
int together_check(struct group *group, const struct params *params, struct err *err) MUST_USE;

void together_begin(struct together *together);
// The gradients of this layer and of all after it are finished.
int together_layer(struct together *together, int layer, struct err *err) MUST_USE;
// This rank's part of the score; one that no other rank has replaces it with that of all.
int together_score(struct together *together, const struct engine_score *mine,
                   struct err *err) MUST_USE;
// Waits for the sums, and adds the score of all ranks.
int together_finish(struct together *together, struct engine_score *score,
                    struct err *err) MUST_USE;

#endif
