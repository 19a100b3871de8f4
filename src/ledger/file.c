// SPDX-License-Identifier: Apache-2.0
#include "ledger/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

enum { BESIDE_BYTES = PATH_MAX + 8, LOCK_MS = 2000 };

static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER;
static struct file *opened; // in this process

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

static void remove_log(const char *path)
{
    char name[BESIDE_BYTES];
    unlink(beside(path, "-wal", name));
    unlink(beside(path, "-shm", name));
}

// Keeps other threads and programs of fare from doing the same at once, lest one removes the log
// that another has just begun. Somebody else may hold a lock on the folder: after a while it goes
// on without.
static int lock_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s/", slash ? (int)(slash - path) : 0, path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int ms = 0; fd >= 0 && ms < LOCK_MS && flock(fd, LOCK_EX | LOCK_NB) != 0; ms++)
        clock_sleep_ns(NS_PER_MS);
    return fd;
}

// A file that is open keeps its log's inode from being given to another.
static bool is_anothers_log(const struct stat *st, ino_t log)
{
    bool found = false;
    pthread_mutex_lock(&listing);
    for (const struct file *f = opened; f; f = f->next)
        found |= f->device == st->st_dev && f->log == log && f->inode != st->st_ino;
    pthread_mutex_unlock(&listing);
    return found;
}

void file_clear(const char *path, bool make)
{
    struct stat st;
    int lock = lock_folder(path);
    if (stat(path, &st) == 0) {
        ino_t log = log_of(path);
        if (log != 0 && is_anothers_log(&st, log))
            remove_log(path);
    } else if (make && errno == ENOENT) {
        remove_log(path);
        // SQLite would make it with the user's mask; its other files take their mode from this one.
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0) { // else SQLite says why it cannot
            (void)!fchmod(fd, 0600);
            close(fd);
        }
    }
    if (lock >= 0)
        close(lock);
}

void file_note(struct file *file, const char *path)
{
    struct stat st;
    file_release(file);
    if (stat(path, &st) != 0)
        return;
    *file = (struct file){.known = true,
                          .writable = access(path, W_OK) == 0,
                          .device = st.st_dev,
                          .inode = st.st_ino,
                          .size = st.st_size,
                          .changed = st.st_mtim};
    pthread_mutex_lock(&listing);
    file->next = opened;
    opened = file;
    pthread_mutex_unlock(&listing);
}

void file_note_log(struct file *file, const char *path)
{
    pthread_mutex_lock(&listing);
    file->log = log_of(path);
    pthread_mutex_unlock(&listing);
}

void file_release(struct file *file)
{
    pthread_mutex_lock(&listing);
    for (struct file **at = &opened; *at; at = &(*at)->next)
        if (*at == file) {
            *at = file->next;
            break;
        }
    pthread_mutex_unlock(&listing);
    *file = (struct file){0};
}

bool file_replaced(const struct file *file, const char *path)
{
    struct stat st;
    if (!file->known)
        return false;
    if (stat(path, &st) != 0 || st.st_dev != file->device || st.st_ino != file->inode)
        return true;
    if (file->writable)
        return file->log != 0 && log_of(path) != file->log;
    return st.st_size != file->size || st.st_mtim.tv_sec != file->changed.tv_sec ||
           st.st_mtim.tv_nsec != file->changed.tv_nsec;
}
