// SPDX-License-Identifier: Apache-2.0
#include "follow/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/tree.h"

#define RELAY_BYTES    ((size_t)64 << 10)
#define RELAY_DROP_MAX (INT64_C(64) << 20)

enum { ASSUMED_ROWS = 24, ASSUMED_COLUMNS = 80 };

// A pseudo-terminal in raw mode with our terminal's size and settings: ours processes the output.
static bool open_terminal(struct relay *r)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave = -1;
    char name[128];
    if (master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0 &&
        ptsname_r(master, name, sizeof name) == 0)
        slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios settings;
    if (slave < 0 || tcgetattr(slave, &settings) != 0) {
        if (master >= 0)
            close(master);
        if (slave >= 0)
            close(slave);
        return false;
    }
    settings.c_oflag &= ~(tcflag_t)OPOST;
    settings.c_lflag &= ~(tcflag_t)ECHO;
    tcsetattr(slave, TCSANOW, &settings);
    r->from = master;
    r->inside = slave;
    r->terminal = true;
    relay_resize(r);
    return true;
}

// O_NONBLOCK on `to` itself would be seen by every process that shares it. Where writes may block,
// poll() promises room for PIPE_BUF bytes: terminals, sockets, pipes that cannot be opened again.
static void open_target(struct relay *r)
{
    struct stat st;
    char name[32];
    bool known = fstat(r->to, &st) == 0;
    r->pipe = -1;
    if (known && S_ISFIFO(st.st_mode)) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", r->to);
        r->pipe = open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    }
    bool waits = !known || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(r->to);
    r->most = waits && r->pipe < 0 ? PIPE_BUF : RELAY_BYTES;
}

int relay_open(struct relay *r, int to, struct err *err)
{
    *r = (struct relay){.from = -1, .inside = -1, .to = to};
    r->buffer = malloc(RELAY_BYTES);
    if (!r->buffer)
        return err_memory(err);
    open_target(r);
    int ends[2];
    if (!isatty(to) || !open_terminal(r)) {
        if (pipe2(ends, O_CLOEXEC) != 0) {
            int rc = err_errno(err, errno, "cannot make a pipe");
            relay_release(r);
            return rc;
        }
        r->from = ends[0];
        r->inside = ends[1];
    }
    fcntl(r->from, F_SETFL, O_NONBLOCK);
    return 0;
}

void relay_release(struct relay *r)
{
    if (!r->buffer)
        return;
    relay_started(r);
    if (r->from >= 0)
        close(r->from);
    if (r->pipe >= 0)
        close(r->pipe);
    free(r->buffer);
    *r = (struct relay){0};
}

void relay_started(struct relay *r)
{
    if (r->inside >= 0)
        close(r->inside);
    r->inside = -1;
}

bool relay_resize(struct relay *r)
{
    struct winsize ours, its;
    if (!r->terminal || r->from < 0 || ioctl(r->to, TIOCGWINSZ, &ours) != 0 ||
        ioctl(r->from, TIOCGWINSZ, &its) != 0)
        return false;
    // Some containers' terminals have no size: in no rows tqdm draws no bar, and its total is lost.
    ours.ws_row = ours.ws_row > 0 ? ours.ws_row : ASSUMED_ROWS;
    ours.ws_col = ours.ws_col > 0 ? ours.ws_col : ASSUMED_COLUMNS;
    return memcmp(&ours, &its, sizeof ours) != 0 && ioctl(r->from, TIOCSWINSZ, &ours) == 0;
}

bool relay_pending(const struct relay *r)
{
    return r->len > 0;
}

static void note_waiting(struct relay *r, bool waiting)
{
    if (waiting == (r->waiting_since_ns != 0))
        return;
    int64_t now = clock_now_ns();
    if (!waiting)
        r->blocked_ns += now - r->waiting_since_ns;
    r->waiting_since_ns = waiting ? now : 0;
}

static void hand_on(struct relay *r)
{
    struct pollfd to = {r->to, POLLOUT, 0};
    int fd = r->pipe >= 0 ? r->pipe : r->to;
    if (r->before && r->len > 0 && !r->lost)
        r->before(r->context);
    while (r->len > 0) {
        size_t piece = r->len < r->most ? r->len : r->most;
        ssize_t put = r->lost ? (ssize_t)r->len : write(fd, r->buffer + r->at, piece);
        if (put < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        if (put < 0) {
            r->lost = errno;
            put = (ssize_t)r->len;
        }
        if (put > 0)
            r->last = r->buffer[r->at + (size_t)put - 1];
        r->at += (size_t)put;
        r->len -= (size_t)put;
        if (r->len > 0 && poll(&to, 1, 0) <= 0)
            return;
    }
}

void relay_end_line(struct relay *r)
{
    if (r->lost || r->last == '\0' || r->last == '\n')
        return;
    ssize_t ignored = write(r->to, "\n", 1);
    (void)ignored;
}

static void drop(struct relay *r, int64_t bytes)
{
    r->dropped += bytes;
    if (r->lost != EPIPE || r->dropped <= RELAY_DROP_MAX)
        return;
    close(r->from);
    r->from = -1;
    r->cut = true;
}

void relay_work(struct relay *r, bool writable, relay_fn *each, void *context)
{
    if (r->len > 0 && (writable || r->lost))
        hand_on(r);
    note_waiting(r, r->len > 0);
    if (r->len > 0 || r->from < 0)
        return;
    ssize_t got = read(r->from, r->buffer, RELAY_BYTES);
    if (got > 0) {
        r->at = 0;
        r->len = (size_t)got;
        struct pollfd to = {r->to, POLLOUT, 0};
        if (r->lost || poll(&to, 1, 0) > 0) // write at once: a kill would lose it
            hand_on(r);
        each(context, r->buffer, (size_t)got);
        if (r->lost)
            drop(r, got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(r->from); // a terminal ends with the error EIO
        r->from = -1;
    }
}

// ---- The events file

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
