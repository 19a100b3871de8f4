// SPDX-License-Identifier: Apache-2.0
// kernels: the argument structure of each kernel, for the host and the device.
//
// Every value of a net is rows × pitch numbers. A row is a pixel of a sample (in the order sample,
// row, column), a time step of a sample, or a sample; it has the value's channels, features or
// units, padded with zeros to the pitch, a multiple of four. Weights match: a convolution's are
// units × taps × pitch of the input, a dense layer's units × pixels × pitch of the input, an LSTM's
// have the four gates of a unit together.
#ifndef FARE_TRAIN_ENGINE_CUDA_KERNELS_H
#define FARE_TRAIN_ENGINE_CUDA_KERNELS_H

#define CUDA_DROPS_MAX 8
#define CUDA_JOBS_MAX  6

// The numbers of the current step, at a fixed address: the arguments of kernels in a graph cannot
// change.
struct cuda_now {
    int count;           // samples in the batch
    int total, first;    // over all ranks: samples in the batch, and those before this rank's
    int step;            // its number, which decides its row
    int age;             // optimizer steps before this one, for lazy rows
    float rate;          // of the optimizer, with decay or Adam's correction
    float rises[2];      // AdamW: what its two means are multiplied by, as they start at zero
    int position;        // of the time step that is predicted from
    int from;            // first of its samples in the set; negative: they have sample numbers
    unsigned augment[4]; // key and stream
    unsigned drop[CUDA_DROPS_MAX][4]; // likewise
};

struct cuda_drop {
    const struct cuda_now *now;
    int slot; // negative: nothing is dropped
    unsigned threshold;
    float scale;
};

struct cuda_score { // of one sample; the host adds them up
    float loss;
    int right;
};

// Copies samples of a set to the input: their numbers follow cuda_now in the row of the step table.
struct cuda_gather {
    const char *table; // rows of `row_bytes`: a cuda_now, then sample numbers
    int rows, row_bytes;
    struct cuda_now *now;
    int *next_step;
    const unsigned char *pixels; // of the set: (samples, channels, height, width)
    const float *scale;          // of the 256 values
    const int *tokens;           // of the set
    const long long *starts;     // or null: samples are `stride` apart
    long long stride;
    const int *set_labels;
    float *image; // the net's input
    int *out_tokens, *labels;
    int batch, channels, height, width, time;
    int padded, pixel_pitch, channel_pitch,
        sample_pitch; // of the input; padded: channels with padding
    int shift, flip;  // at random: shift by up to a tenth, mirror
};

// A product of matrices, one of which may be the windows of an image.
//   forward   y (rows of y, units) = x windows × weights^T, + bias, relu, dropout
//   back      dx (rows of x, inputs) = dy windows × weights, masked by x after relu
//   weights   dw (units, taps × inputs) = dy^T × x windows, in parts of the rows
struct cuda_gemm {
    int m, n, k;
    const float *a, *b; // forward: x, weights; back: dy, weights; weights: x, dy
    float *y;
    long long part; // numbers between the parts of a result (split-K)
    int ldb, ldy;
    int parts, per_part; // of k
    // The image in memory, and its windows.
    int height, width, pitch;  // of a's image
    int out_height, out_width; // of the rows that m (weights: k) counts
    int taps, kernel_w, stride, top, left;
    int tap_pitch;          // back: of a weight's taps
    int units, units_pitch; // units of the layer; back: of dy's rows
    // forward
    const float *bias;
    int relu, columns; // columns: of the value, without the pitch
    struct cuda_drop drop;
    // back
    const float *mask; // or null
    float mask_scale;
    int add;
    // weights
    float *bias_grad;
    int fused; // the epilogue does the optimizer's step: the gradient is in one part
    int decayed;
    long long at, bias_at; // of the parameters, for it
    int tiles_m, tiles_n;  // blocks of this job: tiles_m × tiles_n × parts
    int first;             // the first block of it
};

// The same on Hopper, for windows over images whose channels are in boxes of 32: a block takes
// bands of rows of the result, one after the other.
struct cuda_windows {
    struct cuda_gemm job;
    int start_y, start_x; // where the first pixel's window begins
    int rows, bands, all; // of a band; bands of a sample, and of all samples
    const void *map_a;    // tensor map, on the GPU: of the image
    int chunks, lines;    // boxes of a pixel's channels; lines of such a box in shared memory
    int stages;           // forward, back: bands in shared memory
    // weights
    const void *map_b; // of dy
    int pixels;        // of a band that are counted
};

// The optimizer's numbers, and where parameters and state lie.
struct cuda_optimizer {
    const struct cuda_now *now;
    float *p, *state0, *state1;
    unsigned short *rounded; // p as bf16, or null
    int kind;
    float rho, beta2, epsilon, momentum, weight_decay;
};

struct cuda_gemms {
    int count;
    struct cuda_optimizer optimizer;
    struct cuda_gemm job[CUDA_JOBS_MAX];
};

// Sums the parts of a forward product and does its epilogue.
struct cuda_finish {
    const float *parts;
    long long part;
    int count, rows, n, pitch, columns;
    float *y;
    const float *bias;
    int relu;
    struct cuda_drop drop;
};

// A pool over an image; with `drop`, dropout after it.
struct cuda_pool {
    const float *x;
    const float *dy, *y; // back: y after dropout, where the layer before has relu
    float *out;          // forward: y; back: dx
    int batch, channels, pitch, height, width, out_height, out_width;
    int size_h, size_w, stride, top, left;
    int average;
    int relu; // back: of the layer before it
    int add;
    struct cuda_drop drop;
};

// Element by element over a value.
enum cuda_each_kind {
    CUDA_EACH_DROP,      // y = x or 0, by the mask of the step
    CUDA_EACH_RELU_BACK, // dy = 0 if y is not positive, else times scale
};
struct cuda_each {
    int kind;
    const float *x;
    float *y;
    int rows, pitch, columns;
    int pixels;      // of an image: dropout counts channels before pixels
    int sample_rows; // rows of a sample
    int add;
    float scale;
    struct cuda_drop drop;
};

// Part of the channels of a value, to or from part of another's.
struct cuda_copy {
    const float *from;
    float *to;
    int rows, count, from_pitch, to_pitch, from_at, to_at, add;
};

// The mean over the pixels of an image, or its gradient.
struct cuda_mean {
    const float *x;
    float *y;
    int batch, pixels, pitch, back, add;
};

struct cuda_one_hot {
    const int *tokens;
    float *y;
    int rows, pitch;
};

// Batch norm: sums of a part of the rows, then the channels, then every number.
struct cuda_norm {
    const float *x, *dy;
    float *y;       // forward: the result; back: dx
    float *sums;    // (parts, 2, pitch) in double's place: two floats each
    double *totals; // (2, pitch): their totals over all ranks, or null without others
    float *mean, *inverse;
    const float *weight, *bias;
    float *weight_grad, *bias_grad;
    float *running_mean, *running_var;
    const float *out; // back: the result, for relu
    const struct cuda_now *now;
    int pixels; // of a sample; now->count samples are here, now->total in the batch
    int rows, pitch, channels, parts;
    float epsilon, decay;
    int relu, training, add;
};

struct cuda_loss {
    const struct cuda_now *now;
    int *next_step; // or null: not counted
    struct cuda_score *scores;
    int rows; // of the ring
    const float *z;
    float *dz;  // or null
    float *out; // or null: probabilities
    const int *labels;
    int batch, units, pitch, sigmoid;
    float weight; // of the gradient
    int add, scored;
};

// The head: last dense layer, loss, and the gradient back through both; for few units.
enum { CUDA_HEAD_INPUTS = 512, CUDA_HEAD_UNITS = 64 };
struct cuda_head {
    const struct cuda_now *now;
    int *next_step;
    struct cuda_score *scores;
    int rows; // of the ring
    const float *x, *weight, *bias;
    float *x_out;   // x after dropout, or null
    float *dz, *dx; // or null
    float *out;     // or null: probabilities
    const int *labels;
    int batch, inputs, columns, units, pitch, sigmoid, masked, scored;
    float mask_scale;
    struct cuda_drop drop;
};

// Numbers per block of the optimizer. A gradient of more than a few parts is summed by several
// threads, and a block does that much less of it.
enum { CUDA_CHUNK = 1024, CUDA_FEW_PARTS = 8, CUDA_SUMMERS = 4 };

struct cuda_param { // as the optimizer sees it
    const float *grad;
    long long part; // numbers between its parts
    int parts;      // 0: not trained now
    int decayed;
    long long at, end; // in the arena
};

struct cuda_optimize {
    struct cuda_optimizer optimizer;
    const struct cuda_param *params;
    const int *chunk_param; // which parameter a chunk belongs to
    const long long *chunk_at;
};

// Several ranks: adds the parts of gradients up where the sum over ranks takes them.
enum { CUDA_FOLDS_MAX = 32 };
struct cuda_fold {
    const float *from;
    float *to;
    long long part, size; // numbers between parts, and of a part
    int parts;
    int first; // its first block; a block does CUDA_CHUNK numbers
};
struct cuda_folds {
    int count;
    struct cuda_fold job[CUDA_FOLDS_MAX];
};

// Several ranks: a step's score over all of them. And of the step before, how long the GPU had
// nothing to do but to wait for sums: here, and at the rank where that was shortest, for which the
// others waited.
struct cuda_total {
    float loss, right;
    float own_ns, least_ns;
};
struct cuda_totals {
    const struct cuda_now *now;
    const struct cuda_score *scores; // (ring, batch)
    float *sums;                     // loss, right, each rank's own_ns: here, later over all ranks
    struct cuda_total *totals;       // (ring)
    unsigned *ready; // when gradients were: the low bits of the GPU's clock, nanoseconds
    float *waited;   // own_ns of this step
    int ring, batch;
    int rank, ranks, training;
};

// A table whose rows are lazy with Adam: unused rows catch up later.
struct cuda_embed {
    const struct cuda_now *now;
    const int *tokens;
    int positions, units, pitch, vocabulary;
    float *table, *state0, *state1;
    int *age;           // of each row: optimizer steps it has seen
    const float *rates; // Adam's, of the first `known` steps
    int known;
    const float *dy;
    float *y;
    int lazy;
    float rate; // after the known ones
    float rho, beta2, epsilon, momentum;
    float shares[3]; // of the first, fourth and last of eight steps caught up at once
    int kind;
    float *grad; // if rows are not lazy
    // Positions sorted by token; the first position of a token has the start and count of all.
    int *order, *first, *count; // count: 0 for the others
};

struct cuda_lstm {
    const float *xz; // (samples, time, ways × 4 units): the gates' sums from the input, with bias
    const float *weight; // (ways, 4 units, units), gates of a unit together
    void *packed;        // the same for tensor cores: (ways, 8 units × units) halves
    void *waste;         // 32 bytes per unit, for unused output
    // If the input is one-hot: each token's part of the gates' sums, and what it is made of.
    float *table; // (vocabulary, ways × 4 units), instead of xz; or null
    const int *tokens;
    const float *x_weight, *x_bias;
    int x_pitch, vocabulary;
    float *y;     // forward: (samples, pitch); back: its gradient
    float *gates; // (ways, samples × time, 4 units): halves where the precision allows
    float *cell;  // (ways, samples × time, units)
    float *state; // (ways, samples × time, units): what the step began with
    float *dz;    // (samples, time, ways × 4 units)
    int samples, time, units, pitch, ways, hard, keep;
    int pitch_units; // of a row of weights, and of the states
};

// ---- images in bf16: rows of a pixel's channels, with a pitch that is a multiple of 8 ----

// Pixels of a result whose windows have the same cells: all of them, or on the way back with a
// stride every so many in both directions.
enum { CUDA_CLASSES = 4 };
struct cuda_image_class {
    const void *map;      // of the windows' cells, on the GPU
    int first;            // block
    int m;                // pixels in all samples
    int height, width;    // pixels of a sample
    int y, x;             // the first of them in the result
    int start_y, start_x; // where its window begins
    int cells_h, cells_w; // of a window
    int tap;              // of the weights, for the first cell
};

// A product one of whose operands is the windows of an image (image_conv.cu, hopper_conv.cu).
struct cuda_image_conv {
    int m, n, k;             // of the product; n and depth are multiples of 8
    const unsigned short *a; // forward: x; back: dy; weights: dy
    const unsigned short *b; // forward, back: weights; weights: x
    void *y;                 // weights: f32, in parts; else bf16
    float *sums;             // forward: (tiles of m, 2, n), or null
    const struct cuda_now *now;
    int pixels;               // of a sample of the result; now->count samples are in the batch
    int height, width, pitch; // of the image with the windows
    int depth;                // channels of a tap
    int out_height, out_width, taps, kernel_w, stride, top, left;
    int units, units_pitch; // units of the layer; weights: pitch of dy
    int ldb, tap_pitch, ldy;
    int add;      // back: to y
    int per_part; // weights: pixels of a part
    long long part;
    int tiles_m, tiles_n;
    // Hopper: tensor maps, on the GPU; k in boxes of 64 numbers.
    const void *map_a, *map_b; // forward, back: map_b of the weights; weights: of dy and x
    int chunks;                // boxes of a tap
    int tap_down, tap_right;   // from one cell of a window to the next
    int every;                 // back: a class has every so many pixels of the result
    int classes;
    struct cuda_image_class of[CUDA_CLASSES];
};

// Batch norm. A channel's sums give the factors of y = relu(scale × z + shift), and on the way back
// of dz = scale × d + by_z × z + rest, which overwrites z.
struct cuda_image_norm {
    unsigned short *z, *y;
    const unsigned short *dy;
    float *sums;    // (parts, 2, channels)
    double *totals; // (2, channels): their totals over all ranks, or null without others
    float *mean, *inverse, *scale, *shift, *by_z, *rest;
    const float *weight, *bias;
    float *weight_grad, *bias_grad, *running_mean, *running_var;
    const struct cuda_now *now;
    int rows, pixels, z_pitch, pitch, channels, columns, parts; // columns: channels without padding
    float epsilon, decay;
    int relu, training;
};

enum { CUDA_WALK = 9 }; // pixels of a row per thread

// `out` is the smaller image or its gradient, `in` the larger one or its gradient.
struct cuda_image_pool {
    unsigned short *in, *out;
    unsigned char *chosen; // (pixels of out, channels): the largest cell of the window
    int batch, channels, in_pitch, out_pitch, height, width, out_height, out_width;
    int size_h, size_w, stride, top, left, add, back;
};

struct cuda_image_mean {
    unsigned short *image;
    float *vector;
    int batch, pixels, channels, image_pitch, pitch, add;
};

struct cuda_image_round {
    const float *from;
    unsigned short *to;
    long long count;
};

// ---- transformers: values in bf16, rows of a token's numbers ----

enum cuda_product_kind {
    CUDA_PRODUCT_PLAIN,     // y = a b + bias, in bf16
    CUDA_PRODUCT_GELU,      // before = a b + bias; y = gelu(before)
    CUDA_PRODUCT_GELU_BACK, // y = a b × gelu'(before)
    CUDA_PRODUCT_WIDE,      // y = a b, in f32, in parts of k
    CUDA_PRODUCT_SUM,       // y += a b, likewise
};

// A product of two matrices of bf16: y (m, n) = a × b. Which of them lies transposed is in the
// kernel's name: nt: a is (m, k), b (n, k); nn: (m, k), (k, n); tn: (k, m), (k, n). Pitches are
// multiples of 8.
struct cuda_product {
    const void *map_a, *map_b; // Hopper: tensor maps, on the GPU
    const unsigned short *a, *b;
    void *y;
    unsigned short *before;
    const float *bias; // zeros where there is none
    float *sums;       // Hopper, GELU_BACK: (tiles_m, n): of each 128 rows of y
    long long part;    // numbers between parts of y
    int m, n, k;
    int lda, ldb, ldy;
    int parts, per_part; // of k; per_part is a multiple of 64
    int kind;            // enum cuda_product_kind
    int tiles_m, tiles_n;
};

// Causal attention. A token's row of `qkv` has q, k and v of all heads, 64 numbers each.
enum { CUDA_HEAD_WIDTH = 64 };
struct cuda_attention {
    const void *map_qkv, *map_d; // Hopper: tensor maps of qkv and d_out, on the GPU
    const unsigned short *qkv, *out, *d_out;
    unsigned short *y; // forward: (tokens, heads × 64); back: the gradient of qkv
    float *log_sum;    // (samples, heads, time): logarithm of the sum of exponentials, base 2
    float *delta;      // (samples, heads, time): of out × d_out
    float *sums; // Hopper, back: (samples × time ÷ 64, 3 × heads × 64): of each 64 rows of y
    int samples, heads, time;
};

// Layer norm of rows, after the sum of two. Back: the gradient of the sum, which is that of both.
enum { CUDA_ROW_MAX = 2048 }; // columns
struct cuda_row_norm {
    const unsigned short *x, *more; // forward: x + more (or null) is normed
    unsigned short *sum;            // forward: x + more, if there is more; back: what was normed
    unsigned short *y;              // forward: the result
    const unsigned short *dy;       // back
    unsigned short *d_sum;          // back: dx is added to it, or (first) stored
    float *mean, *inverse;          // (rows)
    const float *weight, *bias;
    float *sums; // back: (parts, 3, columns): of dy × normed, of dy, of d_sum
    int rows, columns, first;
    float epsilon;
};

struct cuda_column_sums {
    const unsigned short *x;
    float *sums; // (parts, columns)
    int rows, columns;
};

// Adds parts up: three results of `columns` numbers each, or null.
struct cuda_sum_parts {
    const float *parts;
    float *to[3];
    int count, columns; // a part has as many columns for each result that there may be
    int results;        // in a part
    int add;
};

// Copies the tokens and labels of a batch from staging, and the row of the step table.
struct cuda_text_gather {
    const char *table;
    int rows, row_bytes;
    struct cuda_now *now;
    const int *next_step;
    const int *from; // (slots, tokens then labels)
    int *tokens, *labels;
    int batch, time;
};

// Token and position embedding. Back: their gradients; `order` as in cuda_embed.
struct cuda_token_embed {
    const int *tokens;
    const float *table, *positions;
    unsigned short *y; // back: its gradient
    float *d_table, *d_positions;
    const int *order, *first, *count;
    int samples, time, columns;
    int add; // to d_positions
};

// Softmax and cross-entropy of rows of logits, which become their gradient.
enum { CUDA_LOGITS_MAX = 50560 }; // of a row, in shared memory
struct cuda_token_loss {
    const struct cuda_now *now;
    unsigned short *logits;              // (rows, pitch)
    const int *labels;                   // of these rows
    struct cuda_score *scores;           // (rows)
    int rows, first, units, pitch, time; // first: of these rows, in the batch
    int gradient;                        // write it
};

// A sample's sums of the scores of its tokens.
struct cuda_text_scores {
    const struct cuda_now *now;
    int *next_step; // or null: not counted
    const struct cuda_score *tokens;
    struct cuda_score *scores;
    int ring, batch, time, first; // first: of these samples
};

// Softmax of one row of logits per sample.
struct cuda_text_predict {
    const struct cuda_now *now;
    const unsigned short *logits;
    float *out;
    int units, pitch;
};

// One row of each sample, the one that is predicted from.
struct cuda_text_pick {
    const struct cuda_now *now;
    const unsigned short *x;
    unsigned short *y;
    int time, columns;
};

// AdamW with the gradients' global norm clipped (train/net/net.h): sums of squares, each of every
// `sums`-th chunk, the factor, the step.
struct cuda_adamw {
    struct cuda_optimize all;
    float *squares; // (sums)
    float *factor;
    int chunks, sums;
    float clip; // 0: none
};

struct cuda_l1 {
    const float *a;
    float *b; // l1_swap: neighbours change places, as l1 takes them
    float *out;
    int n, m, dim;
};

struct cuda_fill {
    float *to;
    float value;
    long long count;
};

#endif
