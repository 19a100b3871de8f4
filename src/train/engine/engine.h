// SPDX-License-Identifier: Apache-2.0
// engine: trains a net. One table per engine; the registry is a const array.
//
// An engine compiles a net and a recipe for a batch size into a program, which makes training
// steps, evaluates, and gives access to its tensors. A program owns all its memory and allocates
// none after compile(). The same seed, options and batches give the same results to the bit.
#ifndef FARE_TRAIN_ENGINE_ENGINE_H
#define FARE_TRAIN_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "train/engine/group.h"
#include "train/net/net.h"

enum engine_precision { ENGINE_F32, ENGINE_BF16, ENGINE_TF32 };

struct engine_options {
    int threads; // 0: all this process may use
    enum engine_precision precision;
    uint64_t seed; // of the initial parameters and of dropout
    // Samples of a step that are computed at a time, for nets with one label per token: the
    // gradients of the parts are summed, and the step is that of the whole batch but for rounding.
    // 0: the engine chooses, as many as its memory holds.
    int64_t micro_batch;
    // The processes that train together, or null. The recipe's batch is that of all of them; each
    // rank's batches have its share of the samples (group_share()), and every rank makes every step
    // and every evaluation. Gradients are summed, and scores are those of all ranks. A GPU engine
    // uses the GPU of the rank's local number.
    struct group *group;
};

// Some samples in host memory. `count` may be less than the program's batch (the last of an epoch):
// the buffers always hold a whole batch, of which the first `count` samples are used.
struct engine_batch {
    int64_t count;
    const float *image;    // (batch, channels, height, width), or null
    const int32_t *tokens; // (batch, time), or null
    const int32_t *labels; // (batch), or (batch, time) with one label per token
    int position; // predict() with one label per token: the time step whose outputs are wanted
    // Instead of these: numbers of samples in the set given to load(). A step uses the training
    // set, an evaluation the held-out set.
    const uint32_t *samples;
    // Also the images' bytes, or tokens and labels, if load() was given neither pixels nor tokens.
    const uint8_t *bytes; // (batch, channels, height, width), or null
    uint32_t augment[4];  // key and stream of the random words that shift and flip images
    // With a group: the samples of the batch of all ranks, and which of them is the first here. 0:
    // `count`, as without a group. A rank's `count` may be 0 if others have some.
    int64_t all, first;
};

// A data set for an engine to keep, and how to form samples from it (rules: train/data/batcher.h).
// It has pixels or tokens, valid until load() returns; with neither, the samples' bytes (or tokens
// and labels, for a net with one label per token) come with each batch.
struct engine_set {
    int64_t count;
    int channels, height, width;
    const uint8_t *pixels; // (count, channels, height, width)
    float scale[256];      // value of each byte
    bool shift_flip, flip;
    int time;
    const int32_t *tokens;
    int64_t token_count, token_stride;
    const int64_t *starts; // (count + 1), or null
    const int32_t *labels; // (count)
};

struct engine_score {
    double loss;     // summed over the labels: one per sample, or one per token
    int64_t correct; // labels that are the best class, or on the right side of one half
    int64_t count;   // of labels
};

enum engine_role { ENGINE_PARAMETER, ENGINE_STATE };

// A tensor of a program, in the net's layout whatever the engine's own.
struct engine_tensor {
    char name[NET_NAME_BYTES + 40]; // "conv1.weight"; state: "conv1.weight.state0"
    enum engine_role role;
    int rank;
    int64_t dim[4];
    int64_t count;
};

struct engine_library {
    char name[32], version[32], kernels[48];
};

struct engine_l1_times { // seconds
    double to_device, calculation;
};

// L1 distances: only for the workload l1.
struct engine_l1 {
    // (optional) Loads the kernels first: some drivers compile them at their first use.
    int (*load_kernels)(const struct engine_options *options, struct err *err);
    // A pass: out (n × m) between the rows of a (n × dim) and b (m × dim), all in host memory. An
    // engine with a separate device copies and calculates at the same time.
    int (*distances)(const struct engine_options *options, const float *a, const float *b,
                     int64_t n, int64_t m, int64_t dim, float *out, struct err *err);
    // (optional) Of a separate device: times copying a and b to it, then calculating all of the
    // result, one after the other with nothing beside them. The result stays there.
    int (*times)(const struct engine_options *options, const float *a, const float *b, int64_t n,
                 int64_t m, int64_t dim, struct engine_l1_times *times, struct err *err);
    // (optional) Its peak on this machine: pairs of elements per second in a loop that uses
    // registers only.
    double (*peak)(const struct engine_options *options);
    // (optional) Host memory that the device can copy directly; null if there is none. What passes
    // need on the device is then kept between them. host_free() releases all of it.
    void *(*host_alloc)(const struct engine_options *options, int64_t bytes);
    void (*host_free)(void);
};

// A product of matrices, size × size by size × size: the rate this engine reaches is
// 2 × size³ ÷ seconds.
struct engine_product {
    int64_t size;
    double seconds;
    int threads;     // of a processor; 0: of a GPU
    char kernel[96]; // "oneDNN 2.6.0 avx512_core", "fare's gemm_forward_wide"
};

// A vendor's library of matrix products, which frameworks use, to compare with. It may hang or
// crash: callers run it in a child process.
struct blas; // an open one
struct engine_blas {
    const char *name;     // as the machine's record has it: "cuBLASLt"
    const char *variable; // of the environment: another file, or "off"
    // Opens that file, on the first GPU. An error says why it cannot be used.
    int (*open)(const char *file, struct blas **out, struct err *err);
    void (*close)(struct blas *blas);    // null is fine
    const char *(*precision)(int index); // "f32", "tf32", …; null beyond the last
    // Times products of 4096 and 8192 with that precision, for about half a second, and keeps the
    // better. Their results are compared with the host's. ERR_MISSING: the GPU or the library lacks
    // the precision. out->kernel names the library, also after an error.
    int (*product)(struct blas *blas, int precision, struct engine_product *out, struct err *err);
};

struct engine_program; // each engine has its own

struct engine {
    const char *name;    // "ref", "cpu"
    const char *about;   // one line
    bool gpu;            // it computes on a GPU
    bool groups;         // it can train in a group of processes
    unsigned precisions; // a bit 1 << ENGINE_x for each it has
    // Whether it can run here; else an error that says why not.
    int (*available)(const struct engine_options *options, struct err *err);
    int (*compile)(const struct net *net, const struct recipe *recipe,
                   const struct engine_options *options, struct engine_program **program,
                   struct err *err);
    void (*release)(struct engine_program *program); // null is fine
    // (optional) Loads the kernels for a net before anything else: some drivers compile them at
    // their first use.
    int (*load_kernels)(const struct net *net, const struct recipe *recipe,
                        const struct engine_options *options, struct err *err);
    // One training step; adds the net's score before the update to `score`.
    int (*step)(struct engine_program *program, const struct engine_batch *batch,
                struct engine_score *score, struct err *err);
    int (*evaluate)(struct engine_program *program, const struct engine_batch *batch,
                    struct engine_score *score, struct err *err);
    // (optional) load() keeps a set, for training or held out; batches may then give sample
    // numbers, and their steps and evaluations may still be running when the call returns.
    // collect() waits until at most `leave` of them are left, adds the scores of the others and
    // says how many.
    int64_t (*free_bytes)(struct engine_program *program); // for sets
    int (*load)(struct engine_program *program, const struct engine_set *set, bool held_out,
                struct err *err);
    int (*collect)(struct engine_program *program, int64_t leave, struct engine_score *score,
                   int64_t *steps, struct err *err);
    // The last layer's outputs after softmax or sigmoid: (batch, units). For printing text. With
    // one label per token, those of time step batch->position alone.
    int (*predict)(struct engine_program *program, const struct engine_batch *batch, float *out,
                   struct err *err);
    // The recipe's stage; resets the optimizer's state. Programs start in stage 0.
    int (*set_stage)(struct engine_program *program, int stage, struct err *err);
    // The number of the next step: for the rate's decay, Adam's correction and dropout.
    void (*set_iteration)(struct engine_program *program, int64_t iteration);
    int (*tensor_count)(const struct engine_program *program);
    void (*tensor)(const struct engine_program *program, int index, struct engine_tensor *tensor);
    int (*read)(struct engine_program *program, int index, float *values, struct err *err);
    int (*write)(struct engine_program *program, int index, const float *values, struct err *err);
    // (optional) The libraries in use, for the record: name, version and chosen kernels of library
    // `index`; false beyond the last. After available() or compile().
    bool (*library)(int index, struct engine_library *library);
    // (optional) With a group: where the steps' time went that was not calculation, since
    // compile(); without this slot it is the group's own count. False: not known.
    bool (*group_times)(struct engine_program *program, struct group_times *times);
    // (optional) Times a large product at options->precision, for about a second. A precision that
    // this machine lacks is ERR_MISSING or ERR_USAGE. out->kernel may be set after an error too.
    int (*product)(const struct engine_options *options, struct engine_product *out,
                   struct err *err);
    const struct engine_blas *blas; // (optional)
    const struct engine_l1 *l1;     // (optional)
};

// The engines, in the order in which they are tried if the user names none: one row each.
#define ENGINES(ROW)                                                                               \
    ROW(cuda)                                                                                      \
    ROW(cpu)                                                                                       \
    ROW(ref)
#define ROW(name) extern const struct engine engine_##name;
ENGINES(ROW)
#undef ROW

// For option tables: the names of the engines and of the precisions, each ends with null.
extern const char *const engine_names[];
extern const char *const engine_precisions[]; // in the order of enum engine_precision

// The engine of that name, or without one (null) the GPU's if there is a GPU, else the CPU's. A GPU
// that cannot be used is still chosen, and available() says why: such a machine was not rented for
// its CPU. `precision` null: tf32 on a GPU that has it, else f32; the choice is stored in
// options->precision. ERR_USAGE for names and precisions that do not exist.
int engine_choose(const char *name, const char *precision, struct engine_options *options,
                  const struct engine **engine, struct err *err) MUST_USE;

// How many threads engines use from now on, of so many wanted; 0: as many as this process may use
// (cgroup limit and affinity).
int engine_threads(int wanted);

// For engines: checks that every label and token of a batch is in the net's range; ERR_FORMAT names
// the first that is not. Engines use them as indices, and data may be hostile.
int engine_check_batch(const struct net_layer *layers, int layer_count, enum net_loss loss,
                       const struct engine_batch *batch, bool labelled, struct err *err) MUST_USE;

// Dropout: the rate as a threshold for 32 random bits. Every engine draws the same mask; see
// train/engine/shared.h.
uint32_t engine_dropout_threshold(float rate);

#endif
