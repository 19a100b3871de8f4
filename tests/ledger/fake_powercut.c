// SPDX-License-Identifier: Apache-2.0
// A power cut at the Nth write: preloaded into a process (LD_PRELOAD), it counts the calls that
// change files below CUT_DIR and ends the process at number CUT_AT, before that call. CUT_MODE says
// what of the earlier calls was on the disk by then:
//     keep   all of it, as when only the process is killed
//     lose   only what fsync() had forced out: every later write, creation, renaming and removal is
//            undone, the newest first
//     some   each of these with even chances, by CUT_SEED: disks and file systems reorder
// Creating folders counts as done. SQLite's -shm files are left alone: they hold nothing that
// lasts.
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { WRITE, CREATE, RENAME, UNLINK };
struct change {
    enum kind kind;
    bool durable;
    ino_t inode; // of the file; of the folder for the others
    char path[512], other[512];
    off_t at, size; // size: of the file before
    size_t len;     // of what was there before
    char *old;
};
static struct change changes[4096];
static int count;
static long calls;

static bool below(const char *path)
{
    const char *dir = getenv("CUT_DIR");
    return dir && path && strncmp(path, dir, strlen(dir)) == 0 && !strstr(path, "-shm");
}

static bool path_of(int fd, char path[512], struct stat *st)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, 511);
    if (len <= 0)
        return false;
    path[len] = '\0';
    return below(path) && fstat(fd, st) == 0;
}

static ino_t folder_of(const char *path)
{
    char dir[512];
    struct stat st;
    snprintf(dir, sizeof dir, "%s", path);
    *strrchr(dir, '/') = '\0';
    return stat(dir, &st) == 0 ? st.st_ino : 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// What was written to a file goes with it to its new name.
static void moved(const char *from, const char *to)
{
    for (int i = 0; i < count; i++)
        if (changes[i].kind == WRITE && strcmp(changes[i].path, from) == 0)
            snprintf(changes[i].path, sizeof changes[i].path, "%s", to);
}

static void undo(const struct change *c)
{
    if (c->kind == WRITE) {
        int fd = REAL(open)(c->path, O_WRONLY);
        if (fd < 0)
            return;
        if (c->len > 0 && REAL(pwrite)(fd, c->old, c->len, c->at) < 0)
            _exit(99);
        if (REAL(ftruncate)(fd, c->size) != 0)
            _exit(99);
        close(fd);
    } else if (c->kind == CREATE) {
        REAL(unlink)(c->path);
    } else if (c->kind == RENAME) {
        REAL(rename)(c->other, c->path);
        moved(c->other, c->path);
    } else {
        REAL(rename)(c->other, c->path); // the removed file had been kept under another name
    }
}

static void count_call(void)
{
    const char *at = getenv("CUT_AT"), *mode = getenv("CUT_MODE"), *seed = getenv("CUT_SEED");
    if (++calls != (at ? strtol(at, NULL, 10) : 0))
        return;
    srand(seed ? (unsigned)strtol(seed, NULL, 10) : 1);
    for (int i = count - 1; i >= 0 && mode && strcmp(mode, "keep") != 0; i--)
        if (!changes[i].durable && (strcmp(mode, "lose") == 0 || rand() % 2))
            undo(&changes[i]);
    kill(getpid(), SIGKILL);
}

static struct change *note(enum kind kind)
{
    if (count == 4096)
        _exit(98);
    changes[count].kind = kind;
    return &changes[count++];
}

static void note_write(int fd, off_t at, size_t len)
{
    char path[512];
    struct stat st;
    if (!path_of(fd, path, &st) || !S_ISREG(st.st_mode))
        return;
    count_call();
    struct change *c = note(WRITE);
    snprintf(c->path, sizeof c->path, "%s", path);
    c->inode = st.st_ino;
    c->at = at < 0 ? lseek(fd, 0, SEEK_CUR) : at;
    c->size = st.st_size;
    c->old = malloc(len + 1);
    int again = REAL(open)(path, O_RDONLY);
    ssize_t had = again >= 0 ? pread(again, c->old, len, c->at) : -1;
    close(again);
    c->len = had > 0 ? (size_t)had : 0;
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    note_write(fd, -1, len);
    return REAL(write)(fd, bytes, len);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    note_write(fd, at, len);
    return REAL(pwrite)(fd, bytes, len, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off_t at)
{
    note_write(fd, at, len);
    return REAL(pwrite)(fd, bytes, len, at);
}

int ftruncate(int fd, off_t size)
{
    struct stat st;
    char path[512];
    if (path_of(fd, path, &st) && st.st_size > size)
        note_write(fd, size, (size_t)(st.st_size - size));
    else
        note_write(fd, size, 0);
    return REAL(ftruncate)(fd, size);
}

int ftruncate64(int fd, off_t size)
{
    return ftruncate(fd, size);
}

static void note_sync(int fd)
{
    char path[512];
    struct stat st;
    if (!path_of(fd, path, &st))
        return;
    count_call();
    for (int i = 0; i < count; i++)
        if (changes[i].inode == st.st_ino && (changes[i].kind == WRITE) == !S_ISDIR(st.st_mode))
            changes[i].durable = true;
}

int fsync(int fd)
{
    note_sync(fd);
    return 0; // the disk is not what is tested, and waiting for it takes long
}

int fdatasync(int fd)
{
    note_sync(fd);
    return 0;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? (mode_t)va_arg(args, int) : 0;
    va_end(args);
    struct stat st;
    if ((flags & O_CREAT) && below(path) && stat(path, &st) != 0) {
        count_call();
        struct change *c = note(CREATE);
        snprintf(c->path, sizeof c->path, "%s", path);
        c->inode = folder_of(path);
    }
    return REAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? (mode_t)va_arg(args, int) : 0;
    va_end(args);
    return open(path, flags, mode);
}

int rename(const char *from, const char *to)
{
    if (below(to)) {
        count_call();
        struct change *c = note(RENAME);
        snprintf(c->path, sizeof c->path, "%s", from);
        snprintf(c->other, sizeof c->other, "%s", to);
        c->inode = folder_of(to);
        moved(from, to);
    }
    return REAL(rename)(from, to);
}

int unlink(const char *path)
{
    if (below(path) && access(path, F_OK) == 0) {
        count_call();
        struct change *c = note(UNLINK);
        snprintf(c->path, sizeof c->path, "%s", path);
        snprintf(c->other, sizeof c->other, "%.480s.removed-%d", path, count);
        c->inode = folder_of(path);
        return REAL(rename)(path, c->other);
    }
    return REAL(unlink)(path);
}
