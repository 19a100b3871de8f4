// SPDX-License-Identifier: Apache-2.0
// whole: whether a checkpoint is complete, by its own format.
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
#ifndef FARE_GUARD_WHOLE_H
#define FARE_GUARD_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

enum whole {
    WHOLE_NO,      // of a known format, and something is missing
    WHOLE_UNKNOWN, // of no known format
    WHOLE_LIKELY,  // nothing is missing, but its format does not say that nothing follows
    WHOLE_YES,
};

// A file that cannot be read is WHOLE_NO.
enum whole whole_file(const char *path);

// A folder with all that is below it, up to WHOLE_FILES files.
#define WHOLE_FILES 20000
enum whole whole_folder(const char *path);

// By its name a file or folder that a program has not finished: ".x", "x.tmp", "tmp-checkpoint-5".
bool whole_is_temporary(const char *name);

#endif
