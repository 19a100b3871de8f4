// SPDX-License-Identifier: Apache-2.0
// scan: a file or a folder tree on the disk as a manifest, every file hashed; for keep.h's files.
//
// A file whose size, inode and times are those of the last scan is not read again, unless it was
// changed within two seconds before that scan: clocks of file systems are coarse.
#ifndef FARE_GUARD_SCAN_H
#define FARE_GUARD_SCAN_H

#include "base/index.h"
#include "guard/manifest.h"

// A file that was hashed.
struct scan_memo {
    uint64_t device, inode;
    int64_t bytes, modified_ns, changed_ns;
    int64_t hashed_s; // the date
    uint8_t sum[SHA256_BYTES];
    uint8_t (*parts)[SHA256_BYTES];
};

struct scan {
    struct index paths; // number in `memos`
    struct scan_memo *memos;
    size_t count, cap;
    bool (*progress)(void *context, int64_t done_bytes); // (optional) false gives up
    void *context;
};

void scan_release(struct scan *scan);

// Fills items, name and `file` of a zeroed manifest. ERR_FORMAT: a file changed while it was read.
// Sockets, pipes and fare's own temporary files are left out; a link that leads out of the tree is
// taken as the file it leads to.
int scan_tree(struct scan *scan, const char *path, int64_t deadline_ns, struct manifest *manifest,
              struct err *err) MUST_USE;

// The same without reading files: sums are known only where they are remembered (`parts` null
// otherwise).
int scan_known(struct scan *scan, const char *path, struct manifest *manifest,
               struct err *err) MUST_USE;

// Hashes one file of the size `bytes`: the whole and its parts. ERR_FORMAT: it has another size.
int scan_hash(const char *path, int64_t bytes, uint8_t sum[SHA256_BYTES],
              uint8_t (**parts)[SHA256_BYTES], struct scan *scan, int64_t deadline_ns,
              struct err *err) MUST_USE;

#endif
