// SPDX-License-Identifier: Apache-2.0
// net: a net is data, a graph of layers that an engine compiles.
//
// It is built in order, each layer naming the ones it reads, so that the list is sorted by
// construction. The building functions return the new layer's number; a mistake (a kernel larger
// than its input, say) sticks, later calls return -1, and net_check() reports it with the layer's
// name. Shapes are those of one sample: an image is channels × height × width, a sequence is
// time × features, a vector is features; the batch comes first and is not part of the net.
//
// Parameters carry the names and layouts of the PyTorch versions of the nets: convolutions are
// OIHW, dense weights out × in, an LSTM's are weight_ih_l0 (4H × in), weight_hh_l0 (4H × H) and
// bias_ih_l0 (4H) with gates in the order i f g o, the backward direction's end in _reverse.
// There is one bias per LSTM. An image is flattened as channels, height, width.
//
// Rules for all engines, beyond the comments below:
// - SAME padding is TensorFlow's: ceil(input / stride) outputs, an odd cell goes to the bottom and
//   the right. Cells outside are 0 to a convolution and do not exist for the pools.
// - Of equal cells under a maximum the first, row by row, gets the gradient. At 0, relu's slope
//   is 0.
// - Batch norm divides by sqrt(variance + epsilon): while training by the batch's biased variance,
//   while evaluating by the running one. running = decay × running + (1 - decay) × the batch's,
//   where the variance is the unbiased one (biased × n / (n - 1), n numbers per channel; as it is
//   where n = 1). That is what TensorFlow's slim does with its fused kernel, cuDNN and PyTorch.
// - An LSTM has sigmoid gates, tanh for candidate and output, and starts from zero. Both ways:
//   the forward direction's state after the last time step, then the state of the backward
//   direction, which begins at the end, after the first time step. With hard gates a gate is
//   0.2 z + 0.5, kept between 0 and 1; its slope is 0.2 between them and 0 from z = ± 2.5 on.
// - An auxiliary loss reads the net's outputs and those of an intermediate head, and passes on the
//   first. In a training step it adds weight × the gradient of the head's mean softmax
//   cross-entropy to the head's gradient. Reported loss and accuracy are those of the net's
//   outputs.
// - The gradient of an embedding counts as dense: an optimizer updates all rows in every step.
//
// A transformer's values are sequences (time × features, rank 2), and each of its layers treats the
// time steps alike:
// - position: y(t) = x(t) + weight(t); the table has `rows` >= time rows. The rows behind are
//   parameters like the others: their gradient is 0, weight decay applies.
// - layer norm: over the features of a time step, with the biased variance, divided by
//   sqrt(variance + epsilon); then times weight, plus bias.
// - linear: y(t) = x(t) W + b, with W in × units, as the Conv1D of transformers' GPT-2 has it.
// - attention: its input's features are q, k and v side by side, each `units` wide; head h has the
//   columns h × size ... of each, size = units / heads. Causal: time step t sees steps 0 ... t.
//   y = softmax(q k' / sqrt(size)) v. It has no weights: the projections are linear layers.
// - GELU: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))).
// - tied head: logits(t) = x(t) E', with E the weight (vocabulary × features) of the embedding
//   `tied`, whose gradient is the sum of both uses. It is the last layer; there is one label per
//   time step, and the loss is the mean over all labels of a batch. An engine may keep E with more
//   rows than the vocabulary, as its products like them (GPT-2's 50,257 as 50,304). Padding rows
//   are no parameters: no probability, no gradient, no state, not in read() and write(). Logits
//   need not exist as a whole: nobody but the loss reads them.
// - The weights start normal; see net_linear() and NET_DEVIATION.
#ifndef FARE_TRAIN_NET_NET_H
#define FARE_TRAIN_NET_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum net_op {
    NET_IMAGE,          // input: floats
    NET_TOKENS,         // input: whole numbers below `vocabulary`
    NET_ONE_HOT,        // tokens → time × vocabulary
    NET_EMBEDDING,      // tokens → time × units
    NET_LSTM,           // time × features → the last state: units, or 2 × units both ways
    NET_DENSE,          // any → units, with bias; optional relu
    NET_CONV,           // image → image; bias unless a batch norm follows; optional relu
    NET_BATCH_NORM,     // per channel; optional relu
    NET_MAX_POOL,       //
    NET_AVERAGE_POOL,   // cells outside the image do not count
    NET_GLOBAL_AVERAGE, // image → channels
    NET_DROPOUT,        // inverted: scaled while training, identity while evaluating
    NET_CONCAT,         // images of one height and width, along the channels
    NET_AUX,            // two vectors → the first; the second has a loss of its own
    // Of transformers: sequences to sequences.
    NET_POSITION,   // adds a learned vector for each time step
    NET_LAYER_NORM, // over the features of each time step
    NET_LINEAR,     // time × features → time × units, with bias
    NET_ATTENTION,  // time × (q, k, v) → time × units; causal, several heads
    NET_GELU,       // tanh form
    NET_ADD,        // two sequences of one shape → their sum
    NET_TIED_HEAD,  // time × features → time × vocabulary, with the weight of an embedding
};

enum net_loss {
    NET_SOFTMAX, // softmax and cross-entropy over the last layer's units
    NET_SIGMOID, // sigmoid and binary cross-entropy; one unit, labels 0 and 1
};

enum net_init { // how a parameter starts
    NET_ZERO,
    NET_ONE,
    NET_GLOROT,      // uniform, ± sqrt(6 / (fan in + fan out))
    NET_ORTHOGONAL,  // each gate's H × H block by itself
    NET_UNIFORM_005, // ± 0.05
    NET_LSTM_BIAS,   // zero, the forget gate's part 1
    NET_NORMAL,      // mean 0, standard deviation `deviation`
};

struct net_shape {
    int rank;   // 1 vector, 2 sequence, 3 image
    int dim[3]; // image: channels, height, width; sequence: time, features; tokens: time, 1
};

#define NET_NAME_BYTES 64
#define NET_INPUTS_MAX 4

struct net_layer {
    char name[NET_NAME_BYTES]; // "conv1", "mixed_5b.branch_0.conv"
    enum net_op op;
    int inputs[NET_INPUTS_MAX]; // numbers of earlier layers
    int input_count;
    struct net_shape out;
    int units;              // width of the output; convolution: output channels
    int kernel_h, kernel_w; // convolution, pools
    int stride;
    int pad_top, pad_left, pad_bottom, pad_right; // found by inference
    bool relu, bias, both_ways;
    bool hard_gates; // LSTM
    int vocabulary;
    int heads;     // attention
    int tied;      // tied head: the number of the embedding whose weight it uses; else -1
    float rate;    // dropout: the share that is dropped
    float decay;   // batch norm: of the running averages
    float epsilon; // batch norm, layer norm
    float weight;  // auxiliary loss
    int first_param, param_count;
    bool learns; // it, or a layer before it, is trained, so it needs a gradient
};

struct net_param {
    char name[NET_NAME_BYTES + 24]; // "conv1.weight"
    int layer;
    int rank;
    int64_t dim[4];
    enum net_init init;
    float deviation; // NET_NORMAL
    bool trained;    // false: a running average of a batch norm
    bool decayed;    // weight decay applies: weights of convolutions, dense and linear layers,
                     // positions, an embedding with a tied head
    int64_t count;   // product of dim
};

struct net {
    char name[NET_NAME_BYTES];
    struct net_layer *layers;
    int layer_count;
    struct net_param *params;
    int param_count;
    size_t layer_cap, param_cap; // what they have room for
    enum net_loss loss;          // of the last layer
    struct err problem;          // sticky
};

void net_init(struct net *net, const char *name);
void net_release(struct net *net);
int net_check(const struct net *net, struct err *err) MUST_USE;

// Each returns the new layer's number, or -1 after a mistake.
int net_image(struct net *net, int channels, int height, int width);
int net_tokens(struct net *net, int time, int vocabulary);
int net_one_hot(struct net *net, int from);
int net_embedding(struct net *net, int from, int units, const char *name);
int net_lstm(struct net *net, int from, int units, bool both_ways, const char *name);
int net_dense(struct net *net, int from, int units, bool relu, const char *name);

enum net_padding { NET_VALID, NET_SAME };
struct net_conv {
    int filters;
    int kernel_h, kernel_w;
    int stride; // 0 means 1
    enum net_padding padding;
    bool relu;
    bool no_bias;
};
int net_conv(struct net *net, int from, struct net_conv conv, const char *name);
int net_batch_norm(struct net *net, int from, float decay, float epsilon, bool relu,
                   const char *name);
int net_max_pool(struct net *net, int from, int size, int stride, enum net_padding padding);
int net_average_pool(struct net *net, int from, int size, int stride, enum net_padding padding);
int net_global_average(struct net *net, int from);
int net_dropout(struct net *net, int from, float rate);
int net_concat(struct net *net, const int *from, int count);
// The last layer of a net whose loss is softmax.
int net_aux(struct net *net, int from, int head, float weight);

// Layers of transformers. `deviation` is that of the weight's initial values; tables of positions
// and embeddings with a tied head have NET_DEVIATION.
#define NET_DEVIATION 0.02F
int net_position(struct net *net, int from, int rows, const char *name);
int net_layer_norm(struct net *net, int from, float epsilon, const char *name);
int net_linear(struct net *net, int from, int units, float deviation, const char *name);
int net_attention(struct net *net, int from, int heads, const char *name);
int net_gelu(struct net *net, int from, const char *name);
int net_add(struct net *net, int from, int other, const char *name);
// The last layer of a net whose loss is softmax.
int net_tied_head(struct net *net, int from, int embedding, const char *name);

// Gives an LSTM hard gates; -1 is ignored.
void net_set_hard_gates(struct net *net, int lstm);
void net_set_loss(struct net *net, enum net_loss loss);

int64_t net_shape_count(const struct net_shape *shape); // numbers in one sample of it
bool net_of_transformer(enum net_op op);                // one of NET_POSITION and those after it

// Labels of a sample, and the classes of a label, by the last layer (not for a sigmoid): 1 and its
// units, or one per time step and the vocabulary.
int net_labels(const struct net_layer *last);
int net_classes(const struct net_layer *last);

struct net_cost {                         // of one training step on a batch
    int64_t parameters;                   // trained ones
    double forward_flops, backward_flops; // a multiply-add is two
    double bytes; // least traffic: activations and parameters, each read and written as needed
};
void net_cost(const struct net *net, int64_t batch, struct net_cost *cost);

// Fills `values` (param->count of them) with the initial values of `param`, a function of the seed
// and its name: the same on every engine.
int net_init_param(const struct net_param *param, uint64_t seed, float *values,
                   struct err *err) MUST_USE;

// ==== recipe ====
// How a net is trained. Plain data, and the optimizers' exact rules.
//
// For a parameter p with gradient g (mean over the batch; plus weight_decay × p where the
// parameter is decayed), at iteration t = 0, 1, ...:
//   RMSPROP   a = rho a + (1 - rho) g²; p -= lr / (1 + decay t) × g / (√a + epsilon)
//   RMSPROP_MOMENTUM  a starts at 1; a = rho a + (1 - rho) g²; m = momentum m + lr g / √(a +
//   epsilon);
//             p -= m
//   ADADELTA  a = rho a + (1 - rho) g²; u = g √(d + epsilon) / √(a + epsilon); p -= lr u;
//             d = rho d + (1 - rho) u²
//   ADAM      m = rho m + (1 - rho) g; v = beta2 v + (1 - beta2) g²; k = lr √(1 - beta2^(t+1)) /
//             (1 - rho^(t+1)); p -= k m / (√v + epsilon)
//   ADAMW     weight decay is not part of g; p -= lr × weight_decay × p where the parameter is
//             decayed; m and v as ADAM; p -= lr / (1 - rho^(t+1)) × m / (√v / √(1 - beta2^(t+1)) +
//             epsilon). That is PyTorch's AdamW.
// State 0 is a (ADAM: m), state 1 is m, d or v; both start at 0 unless stated otherwise.
//
// With `clip`, the gradients of all parameters that the stage trains are scaled together before
// the optimizer: times min(1, clip / (norm + 1e-6)), where norm is the square root of the sum of
// all their squares.
//
// With `warmup`, lr rises and falls: recipe_rate().

enum optimizer {
    OPTIMIZER_RMSPROP,
    OPTIMIZER_RMSPROP_MOMENTUM,
    OPTIMIZER_ADADELTA,
    OPTIMIZER_ADAM,
    OPTIMIZER_ADAMW,
};

struct recipe_stage { // a part of the training with its own rate; each resets the state
    int64_t steps;    // 0: to the end of the epochs
    float rate;
    // (optional) Train only layers of this name, in any part of the net: "d" is "d" and "aux.d".
    // The text must outlive the programs compiled from the recipe.
    const char *only;
};

#define RECIPE_STAGES_MAX 2

struct recipe {
    enum optimizer optimizer;
    float rho;   // Adam, AdamW: beta 1
    float beta2; // Adam, AdamW
    float epsilon;
    float decay; // of the rate, per iteration
    float momentum;
    float weight_decay;
    int64_t batch;
    int64_t epochs; // 0: the stages' steps count
    struct recipe_stage stages[RECIPE_STAGES_MAX];
    int stage_count;
    float clip;     // of the gradients' global norm; 0: none
    int64_t warmup; // steps in which the rate rises; 0: no schedule
    float floor;    // of the schedule: the share of the rate at its end
};

// Checks batch and stages, and that each stage trains something in this net.
int recipe_check(const struct recipe *recipe, const struct net *net, struct err *err) MUST_USE;

// Whether a stage trains the parameters of this layer.
bool recipe_trains(const struct recipe_stage *stage, const struct net_layer *layer);

// The rate of a stage at iteration t, in double precision. Without a warm-up it is the stage's.
// With one: rate × (t + 1) / warmup for t < warmup, then half a cosine down to floor × rate at t =
// steps (those of the stage), and floor × rate from there on.
double recipe_rate(const struct recipe *recipe, int stage, int64_t t);

// State values per parameter value: 1 or 2.
static inline int recipe_states(const struct recipe *recipe)
{
    return recipe->optimizer == OPTIMIZER_RMSPROP ? 1 : 2;
}

#endif
