// SPDX-License-Identifier: Apache-2.0
// keep_parts: what keep.c, keep_fetch.c and keep_save.c share (others include keep.h).
#ifndef FARE_SAVE_KEEP_PARTS_H
#define FARE_SAVE_KEEP_PARTS_H

#include "base/array.h"
#include "save/keep.h"
#include "save/manifest.h"

// ---- scan: a file or a folder tree on the disk as a manifest, every file hashed; for keep.h's
// files.
//
// A file whose size, inode and times are those of the last scan is not read again, unless it was
// changed within two seconds before that scan: clocks of file systems are coarse.

// A file that was hashed.
struct scan_memo {
    uint64_t device, inode;
    int64_t bytes, modified_ns, changed_ns;
    int64_t hashed_s; // the date
    uint8_t sum[SHA256_BYTES];
    uint8_t (*parts)[SHA256_BYTES];
};

struct tree_scan {
    struct index paths; // number in `memos`
    struct scan_memo *memos;
    size_t count, cap;
    bool (*progress)(void *context, int64_t done_bytes); // (optional) false gives up
    void *context;
};

void scan_release(struct tree_scan *scan);

// Hashes one file of the size `bytes`: the whole and its parts. ERR_FORMAT: it has another size.
int scan_hash(const char *path, int64_t bytes, uint8_t sum[SHA256_BYTES],
              uint8_t (**parts)[SHA256_BYTES], struct tree_scan *scan, int64_t deadline_ns,
              struct err *err) MUST_USE;

// ---- keep

// A checkpoint in the store, as far as it is known.
struct save {
    int64_t epoch, number;
    bool has_manifest, has_marker;
    bool ours;     // of this job, as marker or manifest say
    bool loaded;   // `manifest` was read and fits its marker
    bool bad;      // it turned out not to be whole: left alone
    bool fenced;   // a later epoch began from an older one
    bool passed;   // that epoch could not use it: never deleted
    bool verified; // its data was fetched and compared, or sent, by this process
    bool counts;   // has a marker, is ours, and no later epoch began from an older one
    char sum[SHA256_HEX_BYTES];
    struct manifest manifest;
};

struct keep {
    struct store *store;
    struct lease *lease;
    char *job;
    int last;
    bool (*progress)(void *context, const char *doing, int64_t done_bytes, int64_t total_bytes);
    void *context;

    bool loaded;        // the list below was read from the store
    struct save *saves; // by (epoch, number), oldest first
    size_t count, cap;
    int64_t foreign;           // checkpoints of other jobs
    int64_t number;            // of this epoch's last one
    bool start_over, expected; // keep_options; expected: or the last epoch began from one, or there
                               // is data of one
    bool passed;               // this epoch left checkpoints behind that it could not use
    int64_t patience_ns;
    struct keep_entry unusable; // the newest of those that none could be used of
    struct tree_scan scan;

    const char *doing; // for the progress
    int64_t done_bytes, total_bytes;
    int64_t fetched_bytes; // over the network, whole files or not
};

// The progress of a save or a fetch (store_file.progress; `context` is the keep): `done_bytes` more
// than what is done. False gives up.
bool keep_told(void *context, int64_t done_bytes);

// "saves/EEEEEEEEEE-NNNNNN/complete", "data/EEEEEEEEEE-NNNNNN/SHA256"
void keep_name(const char *kind, int64_t epoch, int64_t number, const char *what,
               char out[STORE_NAME_BYTES]);

// Reads the list of checkpoints and decides which count. `notes` (optional) gets a line for each
// marker that cannot be read.
int keep_load(struct keep *keep, struct buf *notes, int64_t deadline_ns, struct err *err) MUST_USE;

// Reads and checks the manifest of a checkpoint. ERR_FORMAT, ERR_MISSING: it is not whole.
int keep_manifest(struct keep *keep, struct save *save, int64_t deadline_ns,
                  struct err *err) MUST_USE;

// A new one at the end of the list; null if memory runs out.
struct save *keep_add(struct keep *keep, int64_t epoch, int64_t number, struct err *err) MUST_USE;

void keep_entry_of(const struct save *save, struct keep_entry *entry);

// Deletes what keep.h says. Failures go to `notes`.
void keep_prune(struct keep *keep, struct buf *notes, int64_t deadline_ns);

#endif
