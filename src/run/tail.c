// SPDX-License-Identifier: Apache-2.0
#include "run/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/tree.h"

enum { FREE_EACH = 1 << 20, READS_MAX = 64 };

static void watch_file(struct tail *t)
{
    if (t->watch < 0)
        t->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (t->watch >= 0 && inotify_add_watch(t->watch, t->path, IN_MODIFY) < 0) {
        close(t->watch);
        t->watch = -1;
    }
}

static bool make_folder(struct tail *t, const char *place, struct err *err)
{
    struct buf path = {0};
    struct err why = {0};
    int rc = scratch_make(&t->folder, place, &why);
    if (rc != 0) {
        if (rc == ERR_MEMORY)
            err_memory(err);
        return false;
    }
    buf_printf(&path, "%s/events", t->folder.path);
    t->path = buf_take(&path, err);
    if (!t->path)
        return false;
    t->fd = open(t->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return t->fd >= 0;
}

static int open_own(struct tail *t, struct err *err)
{
    const char *places[] = {getenv("TMPDIR"), "/tmp", "/dev/shm"};
    struct err memory = {0};
    for (size_t i = 0; i < sizeof places / sizeof *places && memory.code == 0; i++) {
        if (!places[i] || places[i][0] != '/')
            continue;
        if (make_folder(t, places[i], &memory)) {
            watch_file(t);
            return 0;
        }
        if (memory.code == 0)
            tail_release(t);
    }
    if (memory.code == 0)
        return 0;
    tail_release(t);
    return err_memory(err);
}

static int open_descriptor(struct tail *t, const char *number, struct err *err)
{
    int64_t as;
    if (!text_int(number, &as) || as < 3 || as > 1000) {
        err_set(err, ERR_USAGE, "FARE_EVENTS is 'fd:%s', not a descriptor from 3 to 1000", number);
        return err_hint(err, "unset it, and fare uses a file of its own");
    }
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_errno(err, errno, "cannot make a pipe");
    t->fd = ends[0];
    t->inside = ends[1];
    t->inside_as = (int)as;
    fcntl(t->fd, F_SETFL, O_NONBLOCK);
    return 0;
}

// A file named by the user may exist with old lines, or be created later.
static int open_named(struct tail *t, const char *path, struct err *err)
{
    t->path = text_copy(path, err);
    if (!t->path)
        return ERR_MEMORY;
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        t->at = st.st_size;
    return 0;
}

int tail_open(struct tail *t, const char *named, struct err *err)
{
    *t = (struct tail){.fd = -1, .inside = -1, .watch = -1};
    if (!named || !*named)
        return open_own(t, err);
    int rc = strncmp(named, "fd:", 3) == 0 ? open_descriptor(t, named + 3, err)
                                           : open_named(t, named, err);
    if (rc != 0)
        tail_release(t);
    return rc;
}

void tail_started(struct tail *t)
{
    if (t->inside >= 0)
        close(t->inside);
    t->inside = -1;
}

void tail_release(struct tail *t)
{
    if (!t->path && !t->folder.path && t->fd <= 0 && t->inside <= 0)
        return; // zeroed, or released
    tail_started(t);
    if (t->fd >= 0)
        close(t->fd);
    if (t->watch >= 0)
        close(t->watch);
    scratch_remove(&t->folder);
    free(t->path);
    *t = (struct tail){.fd = -1, .inside = -1, .watch = -1};
}

static void look_for_file(struct tail *t)
{
    if (t->fd >= 0 || !t->path)
        return;
    t->fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (t->fd >= 0)
        watch_file(t);
}

static void empty_watch(struct tail *t)
{
    char events[4096];
    while (t->watch >= 0 && read(t->watch, events, sizeof events) > 0)
        ;
}

void tail_read(struct tail *t, tail_fn *each, void *context)
{
    look_for_file(t);
    if (t->fd < 0)
        return;
    empty_watch(t);
    struct stat st;
    if (t->path && fstat(t->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < t->at)
        t->at = 0; // it was truncated
    char bytes[16384];
    // Limited: the command may write as fast as we read.
    for (int i = 0; i < READS_MAX; i++) {
        ssize_t got =
            t->path ? pread(t->fd, bytes, sizeof bytes, t->at) : read(t->fd, bytes, sizeof bytes);
        if (got < 0 && t->path && errno == ESPIPE) // the user named a FIFO
            got = read(t->fd, bytes, sizeof bytes);
        if (got == 0 && !t->path) { // no writer is left
            close(t->fd);
            t->fd = -1;
        }
        if (got <= 0)
            break;
        t->at += got;
        each(context, bytes, (size_t)got);
    }
    if (t->folder.path && t->at - t->freed >= FREE_EACH &&
        fallocate(t->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, t->freed, t->at - t->freed) ==
            0)
        t->freed = t->at;
}

// Whether the file ends within a line that nobody is writing just now.
static bool ends_in_a_line(int fd)
{
    struct stat st;
    char last = '\n';
    for (int i = 0; i < 3; i++) {
        if (fstat(fd, &st) != 0 || st.st_size == 0 || pread(fd, &last, 1, st.st_size - 1) != 1 ||
            last == '\n')
            return false;
        clock_sleep_ns(NS_PER_MS);
    }
    return true;
}

// Opened anew each time: the command may have replaced the file. The kernel keeps appends apart.
bool tail_tell(struct tail *t, const char *line)
{
    struct stat st;
    char text[1024] = "\n";
    int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = t->path ? open(t->path, t->fd < 0 ? flags | O_CREAT : flags, 0600) : -1;
    size_t len = strlen(line);
    bool told = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && len + 1 < sizeof text;
    if (told) { // a line that the command has not ended must not spoil this one
        size_t skip = ends_in_a_line(fd);
        memcpy(text + skip, line, len);
        told = write(fd, text, skip + len) == (ssize_t)(skip + len);
    }
    if (fd >= 0)
        close(fd);
    return told;
}

int64_t tail_written(struct tail *t)
{
    look_for_file(t);
    struct stat st;
    bool file = t->fd >= 0 && t->path && fstat(t->fd, &st) == 0 && S_ISREG(st.st_mode);
    return file ? st.st_size : 0;
}
