// SPDX-License-Identifier: Apache-2.0
// file: notices that an open SQLite file was removed or replaced. Internal to the ledger.
//
// Writes to such a file would be lost. SQLite keeps its write-ahead log and the log's index beside
// the file, under its name, and has no means to tell whose they are: what a file leaves behind must
// not be applied to the one that takes its place. A process knows the logs of the files that it has
// open, by any of its threads. A log of a file that only other programs have open cannot be told
// from the new file's own.
#ifndef FARE_LEDGER_FILE_H
#define FARE_LEDGER_FILE_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

// A file as it was when it was opened. All zero: none. The struct must not move between file_note()
// and file_release().
struct file {
    bool known, writable;
    dev_t device;
    ino_t inode, log; // the file's, and its write-ahead log's (0: none)
    off_t size;
    struct timespec changed;
    struct file *next; // of those that are open in this process
};

// Removes the log beside a file if it is known to be another's: before the one is opened, and
// before the other is closed. With `make`, makes a file that only its user may read if there is
// none.
void file_clear(const char *path, bool make);

void file_note(struct file *file, const char *path);     // before it is opened,
void file_note_log(struct file *file, const char *path); // after that, and
void file_release(struct file *file);                    // before it is closed

// Whether `path` is now another file, or none, or its log is not the one that is open: moved away
// and back, perhaps. A file that can only be read may be open without locks (sqlite.c): there any
// change counts.
bool file_replaced(const struct file *file, const char *path);

#endif
