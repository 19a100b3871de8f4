// SPDX-License-Identifier: Apache-2.0
// fs: files, read whole and written whole or not at all.
//
// A written file appears under its name only when every byte of it is on the disk: it is
// written to a temporary file in the same folder, fsync'ed, renamed, and the folder fsync'ed.
// A process killed in between leaves the old file as it was, and at most a stray ".fare-tmp-*"
// beside it, which is never read. This holds for regular files and new ones: a device or a pipe is
// written through, "-" and "/dev/stdout" are standard output, and a link is followed.
#ifndef FARE_BASE_FS_H
#define FARE_BASE_FS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

// Appends the whole file to `out`; one of over `max` bytes is an error.
int fs_read(const char *path, size_t max, struct buf *out, struct err *err) MUST_USE;

// The same for a regular file below an open folder; anything else is ERR_FORMAT. Unless `follow`, a
// link in the last place of the path is not followed.
int fs_read_at(int dir, const char *path, bool follow, size_t max, struct buf *out,
               struct err *err) MUST_USE;

// Whether it is a regular file: reading a pipe would take its bytes from another reader.
bool fs_is_file(const char *path);

int fs_write(const char *path, const void *bytes, size_t len, struct err *err) MUST_USE;

// A replaced file keeps its mode. A new file gets 0666, or `mode`, less the user's mask.
//
// The same in pieces. Begin, add as often as needed, then commit; or abandon, which leaves no
// trace. After a failed add or commit, abandon. A zeroed struct can be abandoned.
struct fs_writer {
    char *path;      // where it will appear
    char *temporary; // where it is now; null: it is written through
    int fd;          // -1 when closed; only meaningful while `path` is set
};
int fs_begin(struct fs_writer *w, const char *path, mode_t mode, struct err *err) MUST_USE;
int fs_add(struct fs_writer *w, const void *bytes, size_t len, struct err *err) MUST_USE;
int fs_commit(struct fs_writer *w, struct err *err) MUST_USE;
void fs_abandon(struct fs_writer *w);

// Whether writing to `path` goes to standard output: "-", "/dev/stdout" and links to it.
bool fs_is_stdout(const char *path);

// Where the user may not use `path` because it, or the first folder above it that there is, belongs
// to another: hints at that one, as whom a container would have to run.
void fs_hint_owner(const char *path, struct err *err);

// "WHAT 'PATH': " and the system's words for `number`, with that hint if it is EACCES.
int fs_refused(const char *what, const char *path, int number, struct err *err);

// Writes every byte to an open descriptor, past short writes and EINTR. `name` is for the error.
int fs_write_fd(int fd, const void *bytes, size_t len, const char *name, struct err *err) MUST_USE;

int fs_mkdirs(const char *path, struct err *err) MUST_USE; // like mkdir -p

// The same for files and folders of the user alone (0600, 0700), whatever the user's mask. Those
// that exist keep their mode.
int fs_write_private(const char *path, const void *bytes, size_t len, struct err *err) MUST_USE;

// The same in a folder that others may write to: whatever has the name already, a link, a pipe or
// another's file, is replaced and not written to.
int fs_put_private(const char *path, const void *bytes, size_t len, struct err *err) MUST_USE;
int fs_mkdirs_private(const char *path, struct err *err) MUST_USE;

// The part of a path behind its last slash: "b" of "/a/b".
const char *fs_name(const char *path);

void fs_close(int *fd); // SCOPED(fs_close) int fd = open(...); below 0: none

// What is in a folder: SCOPED(fs_close_folder) DIR *dir = opendir(path), then fs_next(dir) until it
// is null. "." and ".." are left out; a null `dir` has nothing. `errno` is 0 at the end, unless the
// folder could not be read to there.
DIR *fs_names(int folder); // of an open folder, which stays open; null: it cannot be read
const char *fs_next(DIR *dir);
void fs_close_folder(DIR **dir);

// Removes a file or a folder with all that is in it, as far as that is possible; links are removed,
// not followed. What is not there is fine.
void fs_remove_tree(const char *path);

// The folder of the running program, without a slash at the end: that of build/fare, or the
// bundle's lib/. It is found by where this code is mapped from, because for the kernel the bundle's
// program is its loader. `../share` from it holds data.
int fs_program_dir(struct buf *out, struct err *err) MUST_USE;

// ==== folders ====
// Where a user's files are, by the XDG base directory standard.

// Append $XDG_DATA_HOME/fare (~/.local/share/fare) or $XDG_CONFIG_HOME/fare (~/.config/fare). The
// standard says that relative ones are ignored. ERR_MISSING where there is no home either.
// FARE_HOME, if it is an absolute path, is the folder of data itself: measurements that leave
// nothing behind set it.
int folder_data(struct buf *out, struct err *err) MUST_USE;
int folder_config(struct buf *out, struct err *err) MUST_USE;

// Appends the folder of the data that comes with the program: FARE_SHARE, or share/ beside it.
int folder_share(struct buf *out, struct err *err) MUST_USE;

// Appends a path with ~ for the user's home.
void folder_short(struct buf *out, const char *path);

// ==== scratch ====
// A folder for temporary files, removed with all of them at the end.
//
// If its process is killed, the next scratch_make() of the same user in the same place removes it.
// A file ".lock" marks the folder as fare's, and the lock on it ends with the last process that has
// it open. Folders without that file, or of other users, are left alone.

struct scratch {
    char *path; // PLACE/fare-XXXXXX; null: none
    int lock;   // a process with a copy of it keeps the folder; only meaningful while `path` is set
};

int scratch_make(struct scratch *scratch, const char *place, struct err *err) MUST_USE;
void scratch_remove(struct scratch *scratch); // a zeroed struct is fine

#endif
