// SPDX-License-Identifier: Apache-2.0
// workload: something that trains: a net, data, a recipe, and the check that a correct run passes.
//
// One file per workload ends in one const table row; the registry is a const array. The
// definitions are those of the scripts behind published results, so that runs compare with them.
#ifndef FARE_TRAIN_WORKLOAD_WORKLOAD_H
#define FARE_TRAIN_WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "train/data/batcher.h"
#include "train/data/dataset.h"
#include "train/engine/engine.h"
#include "train/net/net.h"
#include "record/workload.h"

enum workload_metric {
    WORKLOAD_ACCURACY, // on the held-out part, after the last epoch: at least `reach`
    WORKLOAD_LOSS,     // mean over the last epoch's training steps: at most `reach`
    WORKLOAD_FALLS,    // the loss falls; there is no published figure
    WORKLOAD_L1,       // no training: distances within 1e-5 of the reference
};

// Choices that a definition leaves open; zero is the default of each.
struct workload_options {
    bool hard_gates;  // the gates of LSTMs are hard sigmoids, as in the plain LSTM of old Keras
    bool auxiliary;   // Inception's second head, whose loss counts 0.4 while training
    const char *size; // gpt2: "124m" ...; null: that
    int64_t context;  // gpt2: time steps; 0: 1024
};

struct workload {
    const char *name;
    const char *summary; // one line
    const char *origin;  // where the definition comes from, for people
    const char *data;    // the name of its set (train/data/sets.h)
    struct recipe recipe;
    bool shift_flip, flip, centre_unit; // see train/data/batcher.h
    enum workload_metric metric;
    double reach;       // a correct full training on its set reaches this; mean of three seeds
    int64_t made_train; // samples to generate if there is no data
    int64_t made_test;
    bool bf16_on_gpu; // its default precision there
    bool heavy;       // too much for a small machine: bare fare leaves it out with a note
    struct workload_options takes; // the options that apply to it, any value
    double temperature;            // of generated text; 0: it writes none
    // Null for l1. Adds the layers to an empty net; mistakes stick in it.
    void (*build)(struct net *net, const struct data_pair *data,
                  const struct workload_options *options);
};

extern const struct workload *const workloads[]; // ends with null

// Null and ERR_USAGE, with "did you mean" if a name is similar.
const struct workload *workload_find(const char *name, struct err *err);

// ERR_USAGE if an option is set that does not apply to this workload. Here and below null options
// are the defaults.
int workload_check_options(const struct workload *workload, const struct workload_options *options,
                           struct err *err) MUST_USE;

// Whether `reach` applies to this set: not to a generated one, a part, or another of the same
// form.
bool workload_is_target(const struct workload *workload, const struct data_pair *data);

// What the options change, in words for the record ("350m, context 256"), appended to `out`;
// nothing where they are the definition's.
void workload_variant(const struct workload_options *options, struct buf *out);

// The set in `data` (the user's --data; null: the folder of `fare workloads data get`). Without
// `data` and a fetched set, generates one for this workload.
int workload_data_open(const struct workload *workload, const char *data,
                       const struct workload_options *options, int threads, struct data_pair *out,
                       struct err *err) MUST_USE;

// The net for this data; checks the options.
int workload_net(const struct workload *workload, const struct data_pair *data,
                 const struct workload_options *options, struct net *net, struct err *err) MUST_USE;

// The net for the public set, without loading any data.
int workload_net_as_defined(const struct workload *workload, const struct workload_options *options,
                            struct net *net, struct err *err) MUST_USE;

struct batcher_options workload_batches(const struct workload *workload, uint64_t seed,
                                        bool training, int threads);

// Inception v4's layers, for `classes`; the others' nets are a few lines in their own files.
void inception_build(struct net *net, int classes, bool auxiliary);

// Text from a trained net, appended to `out`: `count` tokens after a start drawn from the data.
// Tokens that the data has no text for are printed as numbers.
struct workload_text {
    int64_t batch; // the program's
    uint64_t seed;
    double temperature; // flattens (over 1) or sharpens the odds
    int64_t count;
};
int workload_generate(const struct engine *engine, struct engine_program *program,
                      const struct data_pair *data, const struct workload_text *text,
                      struct buf *out, struct err *err) MUST_USE;

// The workloads, in the order of lists: one row each.
#define WORKLOADS(ROW)                                                                             \
    ROW(l1)                                                                                        \
    ROW(mlp)                                                                                       \
    ROW(cnn)                                                                                       \
    ROW(cifar)                                                                                     \
    ROW(imdb)                                                                                      \
    ROW(textgen)                                                                                   \
    ROW(tweets)                                                                                    \
    ROW(inception)                                                                                 \
    ROW(gpt2)
#define ROW(name) extern const struct workload workload_##name;
WORKLOADS(ROW)
#undef ROW

// ==== gpt2 ====
// The net of the workload, for tests and benchmarks of engines too.

#define GPT2_VOCABULARY 50257
#define GPT2_CONTEXT    1024 // rows of the table of positions, and the default number of time steps

struct gpt2_size {
    const char *name;
    int layers, heads, width;
};

#define GPT2_SIZE "124m"

// The four published sizes, and "3m" for quick tests; the last has no name.
extern const struct gpt2_size gpt2_sizes[];
const char *gpt2_size_name(size_t i); // for option tables: null behind the last

// Adds the layers to an empty net; mistakes stick in it. `context` may be below GPT2_CONTEXT: then
// the last positions are not used.
void gpt2_build(struct net *net, const struct gpt2_size *size, int context, int vocabulary);

// ==== describe ====
// A workload as a record, for lists and pages.

// With `layers`, layer by layer. The caller releases the record, also after a failure.
int workload_describe(const struct workload *workload, bool layers, struct workload_info *info,
                      struct err *err) MUST_USE;

#endif
