// SPDX-License-Identifier: Apache-2.0
#include "run/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"

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
        ioctl(r->from, TIOCGWINSZ, &its) != 0 || memcmp(&ours, &its, sizeof ours) == 0)
        return false;
    return ioctl(r->from, TIOCSWINSZ, &ours) == 0;
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
