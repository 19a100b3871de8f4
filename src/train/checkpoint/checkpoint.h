// SPDX-License-Identifier: Apache-2.0
// checkpoint: the state of a training in a file, so that it can resume as if it had never stopped.
//
// It is a safetensors file (safetensors.h) with every tensor of the engine's program, parameters
// and optimizer state, and texts that describe the training and its position. Shuffling, dropout
// and augmentation are functions of the seed and the position, so there is no other state.
// docs/checkpoints.md describes the file for users.
//
// A resumed run must be the same training: workload, data, net, recipe and seed are compared, and
// the first difference is the error. Engine, precision and threads may differ, since a run may
// continue on another machine; then the result is not the same to the bit, and a note says so.
#ifndef FARE_TRAIN_CHECKPOINT_CHECKPOINT_H
#define FARE_TRAIN_CHECKPOINT_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "train/checkpoint/safetensors.h"
#include "train/engine/engine.h"
#include "train/net/net.h"

#define CHECKPOINT_FORMAT "fare.checkpoint/1"

// The training. All pointers are the caller's.
struct checkpoint_subject {
    const char *workload;      // "mlp"
    const char *data;          // its name, for messages: "mnist"
    const char *data_identity; // decides whether it is the same
    const struct net *net;
    const struct recipe *recipe;
    const struct engine *engine;
    struct engine_options options; // threads: the number in use, not 0
};

// Its position.
struct checkpoint_place {
    int64_t epoch;             // current, from 0
    int64_t step;              // completed steps of this epoch
    int64_t iteration;         // completed steps in all
    int stage;                 // of the recipe
    struct engine_score score; // of this epoch so far
};

// The file appears complete or not at all.
int checkpoint_save(const char *path, const struct checkpoint_subject *subject,
                    struct engine_program *program, const struct checkpoint_place *place,
                    struct err *err) MUST_USE;

// Sets phase, tensors and iteration of a program compiled for `subject`. Everything is checked
// before the first tensor is written. Differences that do not prevent resuming are added to
// `notes`, a line each. After a failure the program may be partly restored: release it.
int checkpoint_restore(const char *path, const struct checkpoint_subject *subject,
                       struct engine_program *program, struct checkpoint_place *place,
                       struct buf *notes, struct err *err) MUST_USE;

// SHA-256 over the layers, the loss and the parameters' names and shapes.
void checkpoint_fingerprint(const struct net *net, char out[SHA256_HEX_BYTES]);

// The recipe as "name=value" words; numbers read back exactly. Without the epochs, so that a
// training may be extended.
void checkpoint_recipe_text(const struct recipe *recipe, struct buf *out);

// ---- Parameters alone (parameters.c)

// From any safetensors file with fare's names or those of a public Inception v4 (checkpoint.h),
// whatever its workload, recipe or position. A classifier for other classes, or none, is left
// untrained; so are single tensors that the file lacks. `notes` gets a line for each, `loaded` the
// count of those loaded. ERR_FORMAT if under 95 % of the other tensors fit, with three examples.
// PyTorch's LSTM has two biases, a net here has one: bias_hh is added to bias_ih. After a failure
// the program may be partly loaded: release it.
int checkpoint_load_parameters(const char *path, const struct checkpoint_subject *subject,
                               struct engine_program *program, int *loaded, struct buf *notes,
                               struct err *err) MUST_USE;

// ---- Folders of them (checkpoint.c)

// DIR/NAME-000000001234.safetensors. `name` is the workload's; one folder can hold several.
int checkpoint_path(const char *dir, const char *name, int64_t iteration, struct buf *out,
                    struct err *err) MUST_USE;

// The path of the complete checkpoint of that name with the highest iteration. 1: found; 0: none,
// or no folder; negative: an error. Incomplete files are skipped, with a line in `damaged`
// (optional) each. Temporary files of killed writers are ignored.
int checkpoint_newest(const char *dir, const char *name, struct buf *path, struct buf *damaged,
                      struct err *err) MUST_USE;

// Removes all but the `keep` newest complete ones, at least 1. Files with an iteration over
// `current` (the one just saved) belong to another training: they are not counted and stay.
// Temporary files unchanged for an hour are removed too.
int checkpoint_prune(const char *dir, const char *name, int keep, int64_t current,
                     struct err *err) MUST_USE;

// The format that a file says it has; null: none. A GPT-2's says it under another key.
struct safetensors;

// Beside the checkpoints of a GPT-2: config.json and model.safetensors, a link to `checkpoint`, so
// that GPT2LMHeadModel.from_pretrained(dir) opens it. Other nets get nothing.
int checkpoint_for_transformers(const char *dir, const char *checkpoint, const struct net *net,
                                struct err *err) MUST_USE;

// ==== names ====
// Which tensor of a safetensors file belongs to which parameter of a net.
//
// A file has fare's own names (for GPT-2 those of the transformers library, with or without
// "transformer." in front) or, for Inception v4, those of one of its public versions: timm and
// Cadene's pretrained-models (the same names), TF-Slim, or the Keras ports, whose layers have
// numbers only. A table in parameters.c has a row for each convolution. "module." and "model." in
// front,
// ":0" at the end and a repeated layer ("conv2d_1/conv2d_1/kernel:0") do not matter, nor does '/'
// or '.' between the parts.

enum names_style { NAMES_OWN, NAMES_PYTORCH, NAMES_SLIM, NAMES_KERAS, NAMES_STYLES };

extern const char *const names_styles[NAMES_STYLES]; // for messages: "timm", "TF-Slim"

struct names {
    enum names_style style;
    const struct safetensors_tensor **found; // of each parameter of the net; null: none
};

// `st` must outlive it. ERR_FORMAT where the file mixes two styles, or has two tensors for one
// parameter. A zeroed struct can be released.
int names_init(struct names *names, const struct safetensors *st, const struct net *net,
               struct err *err) MUST_USE;
void names_release(struct names *names);

#endif
