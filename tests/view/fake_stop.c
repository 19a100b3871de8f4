// SPDX-License-Identifier: Apache-2.0
// Stops a program at its Nth change of files: preloaded (LD_PRELOAD), it counts the calls that
// create, write, rename or remove files, and at number STOP_AT ends the process before that call
// (STOP_HOW= kill), or lets this call and all later writes fail as on a full disk (STOP_HOW=full).
// The number of calls is written to STOP_COUNT at the end.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long calls;

// Whether this call is to fail.
static bool stopped(bool needs_space)
{
    const char *at = getenv("STOP_AT"), *how = getenv("STOP_HOW");
    calls++;
    if (!at || !how || calls < atol(at))
        return false;
    if (strcmp(how, "kill") == 0)
        _exit(137);
    if (!needs_space)
        return false;
    errno = ENOSPC;
    return true;
}

#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

static int open_at(const char *name, int dir, const char *path, int flags, va_list args)
{
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0;
    if ((flags & O_CREAT) && stopped(true))
        return -1;
    return REAL(int (*)(int, const char *, int, ...), name)(dir, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int fd = open_at("openat", dir, path, flags, args);
    va_end(args);
    return fd;
}

int openat64(int dir, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int fd = open_at("openat64", dir, path, flags, args);
    va_end(args);
    return fd;
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    if (fd > 2 && stopped(true))
        return -1;
    return REAL(ssize_t(*)(int, const void *, size_t), "write")(fd, bytes, len);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
    if (stopped(true))
        return -1;
    return REAL(int (*)(int, const char *, mode_t), "mkdirat")(dir, path, mode);
}

int renameat(int from, const char *old, int to, const char *path)
{
    if (stopped(true))
        return -1;
    return REAL(int (*)(int, const char *, int, const char *), "renameat")(from, old, to, path);
}

int unlinkat(int dir, const char *path, int flags)
{
    if (stopped(false))
        return -1;
    return REAL(int (*)(int, const char *, int), "unlinkat")(dir, path, flags);
}

__attribute__((destructor)) static void count(void)
{
    const char *path = getenv("STOP_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", calls);
        fclose(file);
    }
}
