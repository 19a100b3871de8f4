// SPDX-License-Identifier: Apache-2.0
// builder: a plan under construction, and the files that add launches to it.
#ifndef FARE_TRAIN_ENGINE_CUDA_PLAN_BUILDER_H
#define FARE_TRAIN_ENGINE_CUDA_PLAN_BUILDER_H

#include "train/engine/cuda/plan/plan.h"

#define TAPS_MAX 32 // cells of a convolution's kernel

// The first failure sticks in `rc`; further calls do nothing.
struct builder {
    struct gpu_plan *plan;
    struct launches *to;
    struct cuda_gemms weights[3]; // jobs that will share a launch
    int weight_blocks[3];
    bool training;
    int part;                // of a transformer's batch, which goes through the net in parts
    bool *reaches, *written; // (layers): wants a gradient; has one
    int last_sum;            // over ranks, a launch, or -1
    int64_t unsummed;        // numbers of gradients from the first one that no launch sums yet
    int64_t ready;           // numbers from which on gradients are complete
    int lazy_reader;         // forked launch that reads what the optimizer changes, or -1
    int *writer, *reader;    // (layers): last launch that wrote it, that read its gradient; or -1
    bool forked_weights;     // launches that the optimizer must wait for
    int rc;
    struct err *err;
};

void gpu_plan_add(struct builder *b, const char *kernel, int64_t x, int64_t y, unsigned threads,
                  unsigned shared, const void *args, size_t size);
// One thread per number, 256 per block.
void gpu_plan_each(struct builder *b, const char *kernel, int64_t numbers, const void *args,
                   size_t size);
// Memory on the GPU, uninitialised; zeroed for padding that is read but never written.
device_ptr gpu_plan_alloc(struct builder *b, int64_t bytes);
device_ptr gpu_plan_alloc_zeros(struct builder *b, int64_t bytes);
void gpu_plan_upload(struct builder *b, device_ptr to, const void *from, int64_t bytes);
// A tensor map, on the GPU.
void *gpu_plan_map(struct builder *b, const struct mapped_tensor *tensor);

// Makes the last launch a fork, which later launches do not wait for; or a join of all forks.
void gpu_plan_fork(const struct builder *b);
void gpu_plan_join(const struct builder *b);

bool gpu_is_joined(const struct gpu_plan *plan, int layer);         // a concatenation reads it
struct cuda_drop gpu_plan_drop(const struct builder *b, int layer); // a layer of -1: none
struct cuda_optimizer gpu_plan_optimizer(const struct gpu_plan *plan);

static inline void *on_gpu(device_ptr ptr)
{
    return (void *)(uintptr_t)ptr; // only kernels dereference it
}

// From now on the gradient has a value: later writers add to it.
static inline void wrote(const struct builder *b, int layer, bool back)
{
    if (back)
        b->written[layer] = true;
}

static inline bool has_relu(const struct net_layer *layer)
{
    return (layer->op == NET_DENSE || layer->op == NET_CONV) && layer->relu;
}

static inline int pad8(int n)
{
    return (n + 7) / 8 * 8;
}

static inline int64_t tiles(int64_t n, int size)
{
    return (n + size - 1) / size;
}

// ---- layers.c ----
//
// Launches of pools, dropout, relu, concatenation, average and batch norm in f32. `back`:
// the gradient of the input, if a layer before needs one.

void gpu_pool(struct builder *b, int layer, bool back);
void gpu_drop(struct builder *b, int layer, bool back);
void gpu_relu_back(struct builder *b, int layer);
void gpu_concat(struct builder *b, int layer, bool back);
void gpu_mean(struct builder *b, int layer, bool back);
void gpu_norm(struct builder *b, int layer, bool back);

// ---- loss_optimizer.c ----
//
// Launches of the loss, where the way back begins, and of the optimizer, its end.

// Whether one kernel, the head, can do the last layer, the loss and the way back through both.
bool gpu_has_head(const struct gpu_plan *plan);
// The head, or the loss alone. Without labels: probabilities, and no score.
void gpu_loss(struct builder *b, bool labelled);
void gpu_aux_back(struct builder *b, int layer); // of an auxiliary head
// One optimizer step for all parameters whose layer trains, except lazy rows, and weights whose
// products do it in their epilogue.
void gpu_optimize(struct builder *b, const bool *trains); // trains: (layers)

// ---- ranks.c ----
//
// Launches that only several ranks need, each with a GPU and its part of the batch: sums
// over all of them (struct launch). With one rank these functions do nothing.
//
// Gradients that are summed lie in one piece of memory in the order of the layers. The way back
// goes from the last layer to the first, so what is complete grows from the end. Whenever there is
// enough of it, a bucket, a launch sums it beside the rest of the way back. The step's score lies
// behind the gradients and is summed with the first bucket, as is what each rank waited in the step
// before.
//
// One sum follows the other, in the same order at all ranks, as NCCL demands.

#define RANKS_BUCKET (16 << 20) // bytes

void ranks_memory(struct builder *b);
// Memory for a block's gradient, after its number of parts is known.
void ranks_gradient(struct builder *b, struct gpu_block *block);

// The score of the step: sums it up here; without a way back, over all ranks.
void ranks_score(struct builder *b);

// The way back begins; has a layer's gradients complete; ends: what follows waits for all sums. In
// between go two stamps of the clock, the time that sums took beyond the way back.
void ranks_begin(struct builder *b);
void ranks_ready(struct builder *b, int layer);
void ranks_end(struct builder *b);

// Sums numbers of f64 over the ranks, and later launches wait for it.
void ranks_sum_reals(struct builder *b, device_ptr at, int64_t count);

// ---- products.c ----
//
// Matrix products of dense layers, convolutions and an LSTM's inputs: one forward, one
// back to the input, one for the weights' gradient (gemm.cu).
//
// Convolutions are implicit: kernels walk through the windows, nothing is laid out before. The tile
// sizes depend on how many blocks there are for the GPU's processors.

struct gpu_linear {          // a layer's product: where its operands lie
    int layer, units, pitch; // pitch: of the output
    device_ptr y, dy;
    const struct gpu_block *block;
};

struct gpu_linear gpu_linear_of(const struct gpu_plan *plan, int layer);

// `drop`: the dropout layer behind it, or -1.
void gpu_linear_forward(struct builder *b, const struct gpu_linear *l, bool relu, int drop);
// The gradient of a layer's input from that of its output.
void gpu_linear_back(struct builder *b, const struct gpu_linear *l);
void gpu_linear_weights(struct builder *b, const struct gpu_linear *l);

// Products for weights share a launch with others of their group: those in one part, whose tiles
// are small because their epilogue does the optimizer's work; plain ones in parts; convolutions.
enum weights_group { WEIGHTS_WHOLE, WEIGHTS_IN_PARTS, WEIGHTS_OF_WINDOWS };

void gpu_weights_add(struct builder *b, struct cuda_gemm *g);
void gpu_weights_flush(struct builder *b, enum weights_group group);
void gpu_weights_flush_all(struct builder *b);

// The number of parts of a weights' gradient (split-K), the same for all stages. `second`: an
// LSTM's weights for the state.
int gpu_weights_parts(const struct gpu_plan *plan, int layer, bool second);

// ---- sequences.c ----
//
// Launches for tokens: embedding, one-hot, LSTM.
//
// Rows of an embedding are lazy: one that a batch does not use keeps its age, and catches up when
// it is next used, exactly as if Adam had updated it in every step. An LSTM's time steps are one
// kernel, after the product for its inputs; one-hot inputs are a table lookup instead.

// Memory, and the list that brings all rows up to date.
void gpu_embedding_memory(struct builder *b, int layer);
void gpu_embedding_forward(struct builder *b, int layer);
// Sorts positions by token; forked, since only the table's update needs it.
void gpu_embedding_order(struct builder *b, int layer);
void gpu_embedding_back(struct builder *b, int layer);

void gpu_one_hot(struct builder *b, int layer);

void gpu_lstm_memory(struct builder *b, int layer);
void gpu_lstm_forward(struct builder *b, int layer);
void gpu_lstm_back(struct builder *b, int layer, bool trains);

// ---- images.c ----
//
// Launches for nets whose images stay in bf16 from the input to the global average:
// convolutions followed by batch norm, pools and concatenations, in the precision bf16.
//
// That halves the bytes, and tensor cores need no conversion. A concatenation costs nothing: its
// inputs are written to their place in it, and so are their gradients. On the way back the gradient
// of a convolution's result overwrites the result; other gradients share memory when their
// lifetimes allow it. Weights and optimizer are f32; the optimizer also writes weights as bf16.

// Whether the net is one of these.
bool images_in_bf16(const struct net_layer *layers, int count, enum engine_precision precision);

// Pitches and memory of the images.
void images_memory(struct builder *b);

// A layer's launches; false if the layer has nothing to do with images.
bool images_layer(struct builder *b, int layer, bool back, bool trains);

// ---- image_conv.c ----
//
// Launches for the convolutions of images in bf16 (images.c), as products of matrices
// in tiles. Hopper has kernels of its own (hopper_images.cu); a convolution whose channels would
// leave them half empty takes the others (image_conv.cu).

// Each adds one launch; who it waits for is up to the caller.
void image_conv_forward(struct builder *b, int layer);
void image_conv_back(struct builder *b, int layer);
void image_conv_weights(struct builder *b, int layer);

// Rows of a tile of the forward product: each tile has sums of its columns.
int image_conv_rows(const struct gpu_plan *plan, int layer);
// Of a weights' gradient.
int image_conv_parts(const struct gpu_plan *plan, int layer);

// ---- text.c ----
//
// Launches for transformers: nets that end in a head tied to their embedding, in bf16.
//
// Values are bf16, a row per token. Weights, gradients of weights and the optimizer are f32; the
// optimizer also writes the weights as bf16. GELU is part of the product before it, and a sum of
// the residual path part of the layer norm after it. Logits exist for some rows at a time: their
// loss, their gradient and both products that read it follow each other.
//
// A batch may be too large for memory: then the step goes through it in parts (micro-batches),
// whose gradients are summed.
//
// On compute capability 9.0 products and attention are kernels with that chip's own instructions
// (hopper.cu), which read through tensor maps; elsewhere those of text.cu.

// What a transformer needs that this engine has; ERR_USAGE names the layer and what is not.
int text_check(const struct net_layer *layers, int count, const struct gpu_device *device,
               struct err *err) MUST_USE;

// Rows of the table of tokens, with padding that products like.
int64_t text_table_rows(int vocabulary);

// Memory of all values, gradients and weights' gradients; chooses the micro-batch.
void text_memory(struct builder *b);

// A layer of the part of the batch at hand (builder.part); the head and its loss, with its way
// back in training, or probabilities; the sum of all parts' scores.
void text_layer(struct builder *b, int layer, bool back);
void text_loss(struct builder *b, bool labelled);
void text_scores(struct builder *b);

#endif
