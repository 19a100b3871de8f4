// SPDX-License-Identifier: Apache-2.0
// A disk with errors, preloaded into fare alone (not into the job that it runs):
//     FAKE_DISK=ERRNO:FOLDER
// EACCES: nothing below the folder can be opened, looked at, made or renamed. ENOSPC: nothing can
// be made or written. EIO, and any other: names are there, but their bytes cannot be read or
// written.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES, MAKES, BYTES, WRITES }; // what a call does

static bool below(const char *path, const char *folder)
{
    char real[4096];
    size_t len = strlen(folder);
    if (path[0] != '/') {
        if (!getcwd(real, sizeof real))
            return false;
        strncat(real, "/", sizeof real - strlen(real) - 1);
        strncat(real, path, sizeof real - strlen(real) - 1);
        path = real;
    }
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

// Whether a call of that kind on that path fails; sets errno.
static bool fails(int kind, const char *path)
{
    const char *disk = getenv("FAKE_DISK");
    char *folder;
    if (!disk || !path || strncmp(program_invocation_short_name, "fare", 4) != 0)
        return false;
    int number = (int)strtol(disk, &folder, 10);
    bool hit = number == EACCES   ? kind == NAMES || kind == MAKES
               : number == ENOSPC ? kind == MAKES || kind == WRITES
                                  : kind == BYTES || kind == WRITES;
    if (!hit || *folder != ':' || !below(path, folder + 1))
        return false;
    errno = number;
    return true;
}

static bool fd_fails(int kind, int fd)
{
    char link[64], path[4096];
    if (!getenv("FAKE_DISK"))
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);
    path[len < 0 ? 0 : len] = '\0';
    return fails(kind, path);
}

// Paths at a folder's descriptor are looked at by that folder.
static bool at_fails(int kind, int dir, const char *path)
{
    return path[0] == '/' || dir == AT_FDCWD ? fails(kind, path) : fd_fails(kind, dir);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define MODE(flags, mode)                                                                          \
    do {                                                                                           \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        mode = (flags) & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;                         \
        va_end(list);                                                                              \
    } while (0)

int open(const char *path, int flags, ...)
{
    mode_t mode;
    MODE(flags, mode);
    return fails(flags & O_CREAT ? MAKES : NAMES, path) ? -1 : REAL(open)(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    mode_t mode;
    MODE(flags, mode);
    return at_fails(flags & O_CREAT ? MAKES : NAMES, dir, path)
               ? -1
               : REAL(openat)(dir, path, flags, mode);
}

DIR *opendir(const char *path)
{
    return fails(NAMES, path) || fails(BYTES, path) ? NULL : REAL(opendir)(path);
}

int stat(const char *restrict path, struct stat *restrict st)
{
    return fails(NAMES, path) ? -1 : REAL(stat)(path, st);
}

int lstat(const char *restrict path, struct stat *restrict st)
{
    return fails(NAMES, path) ? -1 : REAL(lstat)(path, st);
}

int mkdir(const char *path, mode_t mode)
{
    return fails(MAKES, path) ? -1 : REAL(mkdir)(path, mode);
}

int rename(const char *from, const char *to)
{
    return fails(MAKES, to) ? -1 : REAL(rename)(from, to);
}

int link(const char *from, const char *to)
{
    return fails(MAKES, to) ? -1 : REAL(link)(from, to);
}

ssize_t read(int fd, void *bytes, size_t len)
{
    return fd_fails(BYTES, fd) ? -1 : REAL(read)(fd, bytes, len);
}

ssize_t pread(int fd, void *bytes, size_t len, off_t at)
{
    return fd_fails(BYTES, fd) ? -1 : REAL(pread)(fd, bytes, len, at);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    return fd_fails(WRITES, fd) ? -1 : REAL(write)(fd, bytes, len);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    return fd_fails(WRITES, fd) ? -1 : REAL(pwrite)(fd, bytes, len, at);
}

int fsync(int fd)
{
    return fd_fails(WRITES, fd) ? -1 : REAL(fsync)(fd);
}

// What a build with _FORTIFY_SOURCE calls instead.
int __open_2(const char *path, int flags)
{
    return open(path, flags);
}

int __openat_2(int dir, const char *path, int flags)
{
    return openat(dir, path, flags);
}

ssize_t __read_chk(int fd, void *bytes, size_t len, size_t room)
{
    (void)room;
    return read(fd, bytes, len);
}

ssize_t __pread_chk(int fd, void *bytes, size_t len, off_t at, size_t room)
{
    (void)room;
    return pread(fd, bytes, len, at);
}
