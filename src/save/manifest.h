// SPDX-License-Identifier: Apache-2.0
// manifest: what a checkpoint in a store consists of, and its marker; for keep.h's files.
//
// Manifests come from a store that others may write to. Reading one checks everything that is used
// later: paths stay within the tree, data lies where data lies, sums and sizes fit together.
#ifndef FARE_SAVE_MANIFEST_H
#define FARE_SAVE_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/sha256.h"

#define MANIFEST_DEPTH 64 // folders within folders, at most

enum manifest_kind { MANIFEST_FILE, MANIFEST_FOLDER, MANIFEST_LINK };

struct manifest_entry {
    enum manifest_kind kind;
    char *path;   // below the checkpoint: "a/b.bin"; of a checkpoint that is a file: ""
    char *target; // of a link
    mode_t mode;  // permissions
    // Of files:
    int64_t bytes;
    uint8_t sum[SHA256_BYTES];
    uint8_t (*parts)[SHA256_BYTES];
    char *data; // the object with its bytes; null while not known
};

struct manifest {
    char *job;
    char *name; // last part of the path that was saved
    int64_t epoch, number, date_s, step;
    bool file; // the checkpoint is a file: one entry with path ""
    // (optional, all or none) A small file beside it, with its text, and the folder of both below
    // the one for checkpoints, "" if it is that one ("beside" below).
    char *beside, *beside_text, *place;
    struct manifest_entry *items; // sorted by path; a folder stands before what is in it
    size_t count, cap;
};

void manifest_release(struct manifest *manifest); // a zeroed struct is fine

int64_t manifest_bytes(const struct manifest *manifest);
int64_t manifest_files(const struct manifest *manifest);
bool manifest_same(const struct manifest *a, const struct manifest *b); // the same tree

// The entry with that path of `len` bytes; null: none.
const struct manifest_entry *manifest_find(const struct manifest *manifest, const char *path,
                                           size_t len);

int manifest_write(const struct manifest *manifest, struct buf *out, struct err *err) MUST_USE;
int manifest_read(const char *text, struct manifest *manifest, struct err *err) MUST_USE;

// The marker: {"format", "job", "epoch", "number", "manifest": SHA-256 of its text}.
struct marker {
    char job[256];
    int64_t epoch, number;
    char sum[SHA256_HEX_BYTES]; // "": a base, which has no manifest
    bool passed;                // of a base: newer checkpoints were there and could not be used
};
int marker_write(const struct marker *marker, struct buf *out, struct err *err) MUST_USE;
bool marker_read(const char *text, struct marker *marker); // false: not one, or cut

// A path within the tree: no "..", no empty part, not absolute.
bool manifest_path_fits(const char *path);
// A link at `path` whose target stays within the tree, as far as it passes through no other link.
bool manifest_link_fits(const char *path, const char *target);

// ---- beside: the small file that some programs write beside a checkpoint, after it, and read
// first when they resume:
//
//     DeepSpeed             latest: the name of the folder, such as global_step100
//     Megatron-LM, verl     latest_checkpointed_iteration.txt: 100 for the folder iter_0000100 or
//                           global_step_100
//     Keras                 training_metadata.json: the epoch of latest.weights.h5
//                           (BackupAndRestore)
//
// It says that the checkpoint is complete, and is saved with it: such a program gets the folder
// that has both. (deepspeed/runtime/engine.py: save_checkpoint();
// megatron/training/checkpointing.py: get_checkpoint_tracker_filename();
// keras/src/callbacks/backup_and_restore.py.)

#define BESIDE_TEXT 512 // most bytes of such a file, and of its name

struct beside {
    const char *name; // of the file; null: there is none
    char text[BESIDE_TEXT];
    char item[BESIDE_TEXT]; // the file or folder that it belongs to, which may be gone
    int64_t modified_ns;    // by the file system
};

// The one in `folder`. False: there is none, or it says nothing.
bool beside_read(const char *folder, struct beside *out);

// A file of these names is of a checkpoint that is a folder, whatever the folder's name:
// "mp_rank_00_model_states.pt", "__0_0.distcp".
bool beside_is_shard(const char *name);

// A folder of this name gets a file beside it: "iter_0000100".
bool beside_is_awaited(const char *name);

#endif
