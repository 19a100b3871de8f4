// SPDX-License-Identifier: Apache-2.0
// find: the checkpoints that a job writes into its folder.
//
// An item is a file with a checkpoint's name, or a folder such as checkpoint-500 with all that is
// below it; logs and other files beside them are none. finder_look() compares the folder with the
// last look: what was there before the job started is old, what changes is being written. An item
// counts when it is complete by its own format, or has been quiet: files that keep their
// length and times for `quiet_ns`, or after which the job began another one; and for longer
// (`silent_ns`) where nothing at all is known. In a folder with a file that names the newest
// checkpoint (manifest.h, "beside"), that one alone counts.
#ifndef FARE_SAVE_FIND_H
#define FARE_SAVE_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "save/manifest.h"

struct finder;

struct find_item {
    const char *path; // the finder's, until the next look
    int64_t step;     // by its name; -1: not known
    int64_t bytes;
    int64_t began_ns;            // by clock_now_ns(): when a change of it was first seen
    int64_t whole_ns;            // when it was found complete
    uint64_t state;              // of its files: what finder_took() remembers
    const struct beside *beside; // (optional) the finder's: to be saved with it
};

// `path` is the folder, which need not exist yet; or one file, if it is one or has a checkpoint's
// name.
int finder_open(struct finder **out, const char *path, struct err *err) MUST_USE;
void finder_free(struct finder *finder); // null is fine

// Looks once. True: `item` is the newest complete one that was not taken. It has been quiet for
// `quiet_ns`; where nothing is known of its format, for `silent_ns`. `*writing` (optional): one is
// being written now. Parts that cannot be read are left out. `until_ns` (0: now): quiet times end
// here, because the program was killed: a file it did not finish stays as it is for ever.
bool finder_look(struct finder *finder, int64_t quiet_ns, int64_t silent_ns, int64_t until_ns,
                 struct find_item *item, bool *writing);

// Whether its files are still as they were in the look: a save must not mix two checkpoints.
bool finder_same(struct finder *finder, const struct find_item *item);

// Where the item lies below the folder: "" or "backup". Added to `out`, which must be empty.
const char *finder_place(const struct finder *finder, const struct find_item *item,
                         struct buf *out);

// The item is saved; it counts again when it changes. Older ones do not count any more.
void finder_took(struct finder *finder, const struct find_item *item);

// A program says by itself that this is complete: it counts at the next look.
int finder_told(struct finder *finder, const char *path, struct err *err) MUST_USE;

// A name that programs give to checkpoints: "checkpoint-500", "ckpt", "last.pt".
bool find_is_name(const char *name);

// The step in a checkpoint's name: "checkpoint-500", "epoch=3-step=1000.ckpt"; -1: none.
int64_t find_step(const char *name);

// ---- whole: whether a checkpoint is complete, by its own format.
//
//     zip           PyTorch (.pt, .pth), Lightning (.ckpt), Keras 3 (.keras): the directory at its
//                   end, which is written last, fits the file's length
//     safetensors   the header says where the last tensor ends
//     HDF5          Keras 2 (.h5): the superblock says how long the file is
//     folders       Hugging Face's Trainer: trainer_state.json, and all shards that an index names;
//                   torch.distributed.checkpoint: .metadata; DeepSpeed in Lightning: latest; every
//                   file in them whole as above
//
// Other files and folders say nothing about themselves: they count once they have been quiet,
// sooner where the kernel says that nobody has them open for writing.

enum whole {
    WHOLE_NO,      // of a known format, and something is missing
    WHOLE_UNKNOWN, // of no known format
    WHOLE_LIKELY,  // nothing is missing, but its format does not say that nothing follows
    WHOLE_YES,
};

// A file that cannot be read is WHOLE_NO.
enum whole whole_file(const char *path);
enum whole whole_folder(const char *path);

// By its name a file or folder that a program has not finished: ".x", "x.tmp", "tmp-checkpoint-5".
bool whole_is_temporary(const char *name);

#endif
