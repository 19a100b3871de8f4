// SPDX-License-Identifier: Apache-2.0
// file: notices that an open SQLite file was removed or replaced. Internal to the ledger.
//
// Writes to such a file would be lost. SQLite keeps its write-ahead log beside the file, so a log
// that was left behind must not be applied to the file that took its place.
#ifndef FARE_LEDGER_FILE_H
#define FARE_LEDGER_FILE_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

// A file as it was when it was opened. All zero: none.
struct file {
    bool known, writable;
    dev_t device;
    ino_t inode, log; // the file's, and its write-ahead log's
    off_t size;
    struct timespec changed;
};

void file_note(struct file *file, const char *path);

// Whether `path` is now another file, or none. A file that can only be read may be open without
// locks (sqlite.c): there any change counts.
bool file_replaced(const struct file *file, const char *path);

// Removes the log that a replaced file left behind. Call it before closing that file.
void file_forget_log(const struct file *file, const char *path);

#endif
