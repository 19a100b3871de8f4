// SPDX-License-Identifier: Apache-2.0
// keep: checkpoints in a store: saved whole or not at all, found again, verified, fetched.
//
// A checkpoint is a file or a folder tree (regular files, folders, symbolic links within it). It is
// number N of epoch E (lease.h), in these objects:
//     saves/EEEEEEEEEE-NNNNNN/manifest   JSON: the job, and every file with size, mode, SHA-256 of
//     the
//                                        whole and of each part, and the object that has its bytes
//     data/EEEEEEEEEE-NNNNNN/SHA256      the bytes of one file, named by their hash
//     saves/EEEEEEEEEE-NNNNNN/complete   the marker: the SHA-256 of the manifest; written last
// A file whose bytes an earlier checkpoint has is not sent again: the manifest names that object.
// So a cut save harms nothing: it has no marker. It is continued by the next save of the same
// contents, also by another machine.
//
// Which counts as newest. Of the checkpoints of this job with a marker: the highest (E, N), but one
// of epoch E counts only if for every epoch F > E of this job with a `base` it is not newer than
// that base (lease.h, "Fencing"). A checkpoint that turns out to be bad (marker without manifest,
// wrong hash, missing data; looked at three times) is passed over with a note, and the next older
// one is taken. Where none is left, that is an error and not a start from the beginning: a store
// can be wrong for a while, and so can this machine.
//
// What is deleted. After a save that is safe: complete checkpoints of this job beyond the last
// `last`, and incomplete or fenced ones of this job from older epochs; their data unless a
// remaining checkpoint names it. By exact name, from manifests of this job. Nothing else is ever
// deleted: not other jobs' checkpoints, not objects that are in no manifest, not unreadable ones or
// what is older than those (they may share data), not those that a start passed over (its base says
// so).
// The marker goes first, then the data, the manifest last, so that a cut deletion leaves no
// checkpoint that looks whole, and can be continued.
#ifndef FARE_SAVE_KEEP_H
#define FARE_SAVE_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "save/store.h"

#define KEEP_MANIFEST "fare.save/1" // format of manifest and marker
#define KEEP_FILES    100000        // most files in a checkpoint

struct keep;

struct keep_options {
    const char *job;     // the job's identity: checkpoints of others are left alone; 1 to 255 bytes
    int last;            // (optional) complete checkpoints to keep; 0: KEEP_LAST
    struct lease *lease; // (optional) null: for reading only; keep_save() then fails
    bool start_over;     // (optional) use none of the checkpoints that are there
    bool expects;        // (optional) the job's last start saved one
    int64_t patience_ns; // (optional) see keep_fetch(); 0: KEEP_PATIENCE_NS
    // (optional) Called during saves and fetches, ten times a second; false gives up with ERR_FAIL.
    bool (*progress)(void *context, const char *doing, int64_t done_bytes, int64_t total_bytes);
    void *context;
};

// Store and lease stay the caller's and must outlive it. Asks nothing of the network.
int keep_open(struct keep **out, struct store *store, const struct keep_options *options,
              struct err *err) MUST_USE;
void keep_free(struct keep *keep); // null is fine

// A checkpoint as found in the store.
struct keep_entry {
    int64_t epoch, number;
    int64_t date_s; // by the clock of the machine that saved it: for people only
    int64_t step;   // as the job said; -1: not known
    int64_t bytes, files;
};

// Finds the newest checkpoint that counts, fetches it below the folder `dir` (created) and verifies
// every hash. A saved file is then dir/NAME, a saved folder the tree dir/NAME, where NAME is the
// last part of the path that was saved; `*path` is set to it (free it), or to the folder that it is
// in if a file was saved beside it, which is then written too. An older checkpoint of that name is
// replaced; its files with the right hash are not fetched again. Where anything else is there, the
// checkpoint stays in the folder of fare's own in `dir` that it was fetched into.
//
// With a lease it then writes the epoch's base: call it once, after lease_acquire() and before the
// job starts, also where no checkpoint is expected.
//
// 1: found; 0: none (*path null). `notes` gets a line for each checkpoint that was passed over, and
// one if other jobs' checkpoints are there. Errors: the store could not be asked, the lease was
// lost. A store that cannot be asked never means "none".
// ERR_KEPT: there are checkpoints, and after `patience_ns` of trying none could be used (damaged,
// gone, no room or no folder for it here). Nothing was changed or deleted.
int keep_fetch(struct keep *keep, const char *dir, struct keep_entry *entry, char **path,
               struct buf *notes, int64_t deadline_ns, struct err *err) MUST_USE;

// What is to be saved.
struct keep_source {
    const char *path;            // a file or folder
    int64_t step;                // the job's position, or -1
    const struct beside *beside; // (optional) the file beside it, and the folder of both below
    const char *place;           // the one for checkpoints
    // (optional) Asked when all of it was hashed: false if it has changed since it was judged.
    bool (*same)(void *context);
    void *context;
};

struct keep_saved {
    struct keep_entry entry;
    int64_t sent_bytes, sent_files; // over the network, this time
    int64_t hash_ns, send_ns;       // time spent hashing and sending
    bool same;                      // nothing changed since the last save: nothing was written
};

// Saves a file or folder. Returns 0 when it is safe: every byte is in the store, the
// marker is written, and no newer epoch had been claimed after that. The tree must not change
// meanwhile: if it does it is ERR_FORMAT, and nothing is marked.
// ERR_TIMEOUT: `deadline_ns` came first; saving the same again continues. ERR_FAIL: the lease is
// lost, or `progress` said so. Pruning follows a save that is safe; where that fails, `notes`
// (optional) says so, and the save is safe all the same.
// Not to be called from two threads at once.
int keep_save(struct keep *keep, const struct keep_source *source, struct keep_saved *saved,
              struct buf *notes, int64_t deadline_ns, struct err *err) MUST_USE;

#endif
