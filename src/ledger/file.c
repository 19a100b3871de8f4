// SPDX-License-Identifier: Apache-2.0
#include "ledger/file.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BESIDE_BYTES = PATH_MAX + 8 };

static const char *beside(const char *path, const char *end, char out[BESIDE_BYTES])
{
    snprintf(out, BESIDE_BYTES, "%s%s", path, end);
    return out;
}

static ino_t log_of(const char *path)
{
    char log[BESIDE_BYTES];
    struct stat st;
    return stat(beside(path, "-wal", log), &st) == 0 ? st.st_ino : 0;
}

void file_note(struct file *file, const char *path)
{
    struct stat st;
    *file = (struct file){0};
    if (stat(path, &st) != 0)
        return;
    *file = (struct file){.known = true,
                          .writable = access(path, W_OK) == 0,
                          .device = st.st_dev,
                          .inode = st.st_ino,
                          .log = log_of(path),
                          .size = st.st_size,
                          .changed = st.st_mtim};
}

bool file_replaced(const struct file *file, const char *path)
{
    struct stat st;
    if (!file->known)
        return false;
    if (stat(path, &st) != 0 || st.st_dev != file->device || st.st_ino != file->inode)
        return true;
    return !file->writable &&
           (st.st_size != file->size || st.st_mtim.tv_sec != file->changed.tv_sec ||
            st.st_mtim.tv_nsec != file->changed.tv_nsec);
}

void file_forget_log(const struct file *file, const char *path)
{
    char log[BESIDE_BYTES];
    if (!file->writable || file->log == 0 || log_of(path) != file->log || access(path, F_OK) != 0)
        return;
    unlink(beside(path, "-wal", log));
    unlink(beside(path, "-shm", log));
}
