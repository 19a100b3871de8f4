// SPDX-License-Identifier: Apache-2.0
// The first fare process of a job: it listens, and takes what the others tell.
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/join_parts.h"

enum {
    SILENT_S = 15,   // a process that says nothing for so long is lost
    ABSENT_S = 10,   // for one that never came, after our command ended
    PATIENCE_S = 60, // for the others to end; FARE_JOIN
    STRANGERS = 16,  // connections that did not say who they are
};

static int listen_here(const struct join *j)
{
    int fd = -1;
    if (j->local) {
        struct sockaddr_un to;
        socklen_t len = join_address(j, &to);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && (bind(fd, (struct sockaddr *)&to, len) != 0 || listen(fd, 128) != 0)) {
            close(fd);
            fd = -1;
        }
        return fd;
    }
    for (int i = 0; i < JOIN_PORT_TRIES && fd < 0; i++) {
        struct sockaddr_in6 to = {.sin6_family = AF_INET6,
                                  .sin6_port = htons((uint16_t)join_port(j, i))};
        struct sockaddr_in to4 = {.sin_family = AF_INET, .sin_port = to.sin6_port};
        int both = 0, again = 1;
        fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        bool six = fd >= 0;
        if (!six)
            fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            return -1;
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
        if (bind(fd, six ? (struct sockaddr *)&to : (struct sockaddr *)&to4,
                 six ? sizeof to : sizeof to4) != 0 ||
            listen(fd, 128) != 0) {
            close(fd);
            fd = -1;
        }
    }
    return fd;
}

static void drop(struct join *j, struct join_peer *p)
{
    struct join_seat *seat = p->seat > 0 ? &j->seats[p->seat - 1] : NULL;
    if (seat && seat->state == JOIN_HERE)
        seat->state = JOIN_LOST;
    close(p->fd);
    free(p->in);
    *p = (struct join_peer){.fd = -1};
}

static void answer(const struct join_peer *p, char letter)
{
    if (send(p->fd, &letter, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) {
        // It will find the connection closed.
    }
}

static void accept_some(struct join *j)
{
    for (int i = 0; i < j->peer_count; i++) {
        if (j->peers[i].fd >= 0)
            continue;
        int fd = accept4(j->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        struct join_message *in = join_is_friend(j, fd) ? malloc(sizeof *in) : NULL;
        if (!in) {
            close(fd);
            continue;
        }
        j->peers[i] = (struct join_peer){.fd = fd, .heard_ns = clock_now_ns(), .in = in};
        if (j->stopping)
            answer(&j->peers[i], JOIN_STOP);
    }
}

// Times are sums since some beginning; differences of them must not overflow.
static bool is_possible(const struct rank_times *r)
{
    return r->covered_ns >= 0 && r->covered_ns <= INT64_MAX / 4 && r->open_ns >= -1 &&
           r->open_ns <= r->covered_ns && r->all_ns >= -1 && r->all_ns <= r->covered_ns;
}

bool join_valid(const struct join *j, const struct join_message *m)
{
    bool valid = m->magic == JOIN_MAGIC && m->bytes == sizeof *m && m->kind <= JOIN_END &&
                 memcmp(m->job, j->job, sizeof j->job) == 0 &&
                 memchr(m->host, '\0', sizeof m->host) && m->seats == j->place.size &&
                 m->seat > 0 && m->seat < m->seats && m->count >= 0 && m->count <= RANK_TIMES_MOST;
    for (int i = 0; valid && i < m->count; i++)
        valid = is_possible(&m->ranks[i]);
    return valid;
}

// A seat belongs to the first that came as it.
static bool take(struct join *j, struct join_peer *p)
{
    const struct join_message *m = p->in;
    if (!join_valid(j, m) || (p->seat != 0 && p->seat != m->seat))
        return false;
    struct join_seat *seat = &j->seats[m->seat - 1];
    if (p->seat == 0 && seat->state != JOIN_ABSENT && seat->state != JOIN_LOST)
        return false;
    size_t bytes = (size_t)m->count * sizeof *m->ranks;
    struct rank_times *ranks = malloc(bytes > 0 ? bytes : 1);
    if (ranks) { // without memory the figures stay as they were
        memcpy(ranks, m->ranks, bytes);
        free(seat->ranks);
        seat->ranks = ranks;
        seat->count = m->count;
    }
    p->seat = m->seat;
    seat->state = m->kind == JOIN_END ? JOIN_ENDED : JOIN_HERE;
    seat->status = m->status;
    snprintf(seat->host, sizeof seat->host, "%s", m->host);
    answer(p, JOIN_HEARD);
    return true;
}

// False: the connection is over.
static bool hear(struct join *j, struct join_peer *p)
{
    for (;;) {
        ssize_t n = recv(p->fd, (char *)p->in + p->have, sizeof *p->in - p->have, MSG_DONTWAIT);
        if (n <= 0)
            return n < 0 && (errno == EAGAIN || errno == EINTR);
        p->heard_ns = clock_now_ns();
        p->have += (size_t)n;
        if (p->have < sizeof *p->in)
            continue;
        p->have = 0;
        if (!take(j, p))
            return false;
    }
}

const struct join_seat *join_look(struct join *j, int *count)
{
    *count = j->place.size - 1;
    if (j->listening >= 0)
        accept_some(j);
    int64_t now_ns = clock_now_ns();
    for (int i = 0; i < j->peer_count; i++) {
        struct join_peer *p = &j->peers[i];
        int64_t most_ns = (p->seat > 0 ? SILENT_S : JOIN_TIMEOUT_S) * NS_PER_S;
        if (p->fd >= 0 && (!hear(j, p) || now_ns - p->heard_ns > most_ns))
            drop(j, p);
    }
    return j->seats;
}

void join_stop(struct join *j)
{
    if (j->place.rank > 0)
        return;
    j->stopping = true;
    for (int i = 0; i < j->peer_count; i++)
        if (j->peers[i].fd >= 0)
            answer(&j->peers[i], JOIN_STOP);
}

static int patience_s(void)
{
    const char *text = join_variable("FARE_JOIN");
    long s = text ? strtol(text, NULL, 10) : 0;
    return s > 0 && s <= 3600 ? (int)s : PATIENCE_S;
}

void join_wait(struct join *j, bool (*hurry)(void))
{
    int64_t began_ns = clock_now_ns();
    int patience = patience_s(), absent_s = patience < ABSENT_S ? patience : ABSENT_S;
    if (j->place.rank > 0 || j->listening < 0)
        return;
    for (int64_t passed_ns = 0; passed_ns < patience * NS_PER_S && !hurry();
         passed_ns = clock_now_ns() - began_ns) {
        int count, here = 0, absent = 0;
        const struct join_seat *seats = join_look(j, &count);
        for (int i = 0; i < count; i++) {
            here += seats[i].state == JOIN_HERE;
            absent += seats[i].state == JOIN_ABSENT;
        }
        if (here == 0 && (absent == 0 || passed_ns > absent_s * NS_PER_S))
            return;
        clock_sleep_ns(20 * NS_PER_MS);
    }
}

int join_first_open(struct join *j, struct err *err)
{
    j->peer_count = j->place.size - 1 + STRANGERS;
    j->peers = calloc((size_t)j->peer_count, sizeof *j->peers);
    j->seats = calloc((size_t)j->place.size, sizeof *j->seats);
    if (!j->peers || !j->seats)
        return err_memory(err);
    for (int i = 0; i < j->peer_count; i++)
        j->peers[i].fd = -1;
    j->listening = listen_here(j);
    return 0;
}

void join_first_close(struct join *j)
{
    for (int i = 0; j->peers && i < j->peer_count; i++)
        if (j->peers[i].fd >= 0)
            drop(j, &j->peers[i]);
    for (int i = 0; j->seats && i < j->place.size - 1; i++)
        free(j->seats[i].ranks);
    if (j->listening >= 0)
        close(j->listening);
    free(j->peers);
    free(j->seats);
}
