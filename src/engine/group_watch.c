// SPDX-License-Identifier: Apache-2.0
// Processes of this machine that must not die, watched by descriptors: a number of a process may
// become another's, a descriptor may not.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/group_back.h"

struct group_watch {
    int count;
    int gone; // a rank that was dead before it could be watched, or -1
    struct pollfd *fds;
};

int group_watch_new(struct group_watch **out, int count, struct err *err)
{
    struct group_watch *w = calloc(1, sizeof *w);
    struct pollfd *fds = calloc((size_t)count + 1, sizeof *fds);
    *out = w;
    if (!w || !fds) {
        free(fds);
        free(w);
        *out = NULL;
        return err_memory(err);
    }
    *w = (struct group_watch){.count = count, .gone = -1, .fds = fds};
    for (int i = 0; i < count; i++)
        fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    return 0;
}

void group_watch_free(struct group_watch *w)
{
    if (!w)
        return;
    for (int i = 0; i < w->count; i++)
        if (w->fds[i].fd >= 0)
            close(w->fds[i].fd);
    free(w->fds);
    free(w);
}

void group_watch_add(struct group_watch *w, int rank, pid_t pid)
{
    w->fds[rank].fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (w->fds[rank].fd < 0 && errno == ESRCH)
        w->gone = rank;
}

int group_watch_dead(struct group_watch *w)
{
    if (w->gone >= 0 || poll(w->fds, (nfds_t)w->count, 0) <= 0)
        return w->gone;
    for (int i = 0; i < w->count && w->gone < 0; i++)
        if (w->fds[i].revents != 0)
            w->gone = i;
    return w->gone;
}
