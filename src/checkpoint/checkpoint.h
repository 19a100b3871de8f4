// SPDX-License-Identifier: Apache-2.0
// checkpoint: a training in a file, so that it can go on as if it had never stopped.
//
// The file is a safetensors file (checkpoint/safetensors.h) with every tensor of the engine's
// program, parameters and optimizer state, and texts that say what the training is of and where it
// stands. Shuffling, dropout and augmentation are functions of the seed and of these places, so
// there is no other state. docs/checkpoints.md describes the file for people.
//
// A resumed run must be the same training: workload, data, net, recipe and seed are compared, and
// the first difference is the error. Engine, precision and threads may differ, since a run may
// continue on another machine; then it no longer ends in the same bits, and a note says so.
#ifndef FARE_CHECKPOINT_CHECKPOINT_H
#define FARE_CHECKPOINT_CHECKPOINT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "engine/engine.h"

#define CHECKPOINT_FORMAT "fare.checkpoint/1"

// What a training is of. Everything is the caller's.
struct checkpoint_subject {
    const char *workload;      // "mlp"
    const char *data;          // its name, for people: "MNIST (idx)"
    const char *data_identity; // what decides whether it is the same
    const struct net *net;
    const struct recipe *recipe;
    const struct engine *engine;
    struct engine_options options; // threads: as many as are used, not 0
};

// Where it stands.
struct checkpoint_place {
    int64_t epoch;             // that it is in, from 0
    int64_t step;              // steps of this epoch that are done
    int64_t iteration;         // steps that are done in all: the number of the next one
    int phase;                 // of the recipe
    struct engine_score score; // of this epoch's steps so far
};

// Writes all of it, whole or not at all.
int checkpoint_save(const char *path, const struct checkpoint_subject *subject,
                    struct engine_program *program, const struct checkpoint_place *place,
                    struct err *err) MUST_USE;

// Puts a program that was compiled for `subject` where the file says: phase, tensors, iteration.
// Everything is checked before the first tensor is written. What differs without forbidding to go
// on is added to `notes`, a line each. After a failure the program may be half one and half the
// other: release it.
int checkpoint_restore(const char *path, const struct checkpoint_subject *subject,
                       struct engine_program *program, struct checkpoint_place *place,
                       struct buf *notes, struct err *err) MUST_USE;

// Only the parameters, from any safetensors file: those whose name and shape match are loaded and
// counted, the others of the net and of the file are listed in `left`, a line each ("head.weight:
// 1001×1536 in the file, 5×1536 here"). PyTorch adds two biases in an LSTM where a net here has
// one: its bias_hh is added to bias_ih. A file in which nothing matches is an error.
int checkpoint_load_parameters(const char *path, const struct engine *engine,
                               struct engine_program *program, int *loaded, struct buf *left,
                               struct err *err) MUST_USE;

// SHA-256 over the layers, the loss and the parameters' names and shapes.
void checkpoint_fingerprint(const struct net *net, char out[SHA256_HEX_BYTES]);

// The recipe in words of "name=value"; numbers read back exactly. Without the epochs: a training
// may go on longer than was first planned.
void checkpoint_recipe_text(const struct recipe *recipe, struct buf *out);

// ---- Folders of them (checkpoint_folder.c)

// DIR/NAME-000000001234.safetensors. `name` is the workload's; one folder can hold several.
int checkpoint_path(const char *dir, const char *name, int64_t iteration, struct buf *out,
                    struct err *err) MUST_USE;

// The path of the whole checkpoint of that name with the highest iteration. 1: found; 0: there is
// none, or no folder; negative: an error. Files that are not whole are passed over, with a line
// in `damaged` (optional) each. Temporary files of a writer that was killed are not looked at.
int checkpoint_newest(const char *dir, const char *name, struct buf *path, struct buf *damaged,
                      struct err *err) MUST_USE;

// Removes what is older than the `keep` newest whole ones, at least 1. Files with an iteration
// over `current` (the one just saved) are another training's: they are not counted and stay.
// Temporary files that nobody has written to for an hour go too.
int checkpoint_prune(const char *dir, const char *name, int keep, int64_t current,
                     struct err *err) MUST_USE;

#endif
