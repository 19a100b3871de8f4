// SPDX-License-Identifier: Apache-2.0
// beside: the small file that some programs write beside a checkpoint, after it, and read first
// when they resume:
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
#ifndef FARE_GUARD_BESIDE_H
#define FARE_GUARD_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

#define BESIDE_TEXT 512 // most bytes of such a file, and of its name

struct beside {
    const char *name; // of the file; null: there is none
    char text[BESIDE_TEXT];
    char item[BESIDE_TEXT]; // the file or folder that it belongs to, which may be gone
    int64_t modified_ns;    // by the file system
};

// The one in `folder`. False: there is none, or it says nothing.
bool beside_read(const char *folder, struct beside *out);

// The name of such a file: "latest".
bool beside_is_name(const char *name);

// A file of these names is of a checkpoint that is a folder, whatever the folder's name:
// "mp_rank_00_model_states.pt", "__0_0.distcp".
bool beside_is_shard(const char *name);

// A folder of this name gets a file beside it: "iter_0000100".
bool beside_is_awaited(const char *name);

#endif
