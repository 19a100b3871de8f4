// SPDX-License-Identifier: Apache-2.0
// The first fare process of a job: it listens, and takes what the others tell.
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/join_parts.h"

enum {
    SILENT_S = 15,     // a process that says nothing for so long is lost
    ABSENT_S = 10,     // for one that never came or was lost, after our command ended
    PATIENCE_S = 60,   // for the others to end; FARE_JOIN
    STRANGERS = 64,    // connections that did not prove who they are; more push out older ones
    ACCEPT_MOST = 256, // at one look
    BACKLOG = 1024,
};

static int listen_here(const struct join *j)
{
    int fd = -1;
    if (j->local) {
        struct sockaddr_un to;
        socklen_t len = join_address(j, &to);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && (bind(fd, (struct sockaddr *)&to, len) != 0 || listen(fd, BACKLOG) != 0)) {
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
            listen(fd, BACKLOG) != 0) {
            close(fd);
            fd = -1;
        }
    }
    return fd;
}

static void note_refused(struct join *j, const char *from, const char *why)
{
    j->refused++;
    j->refused_why = why;
    snprintf(j->refused_from, sizeof j->refused_from, "%s", from);
}

static void drop(struct join *j, struct join_peer *p)
{
    struct join_seat *seat = p->seat > 0 ? &j->seats[p->seat - 1] : NULL;
    if (seat && seat->state == JOIN_HERE)
        seat->state = JOIN_LOST;
    if (!seat)
        note_refused(j, p->from,
                     p->wrong ? "it does not know the job's secret"
                     : p->in  ? "it proved nothing after its hello"
                              : "it said nothing");
    close(p->fd);
    free(p->in);
    *p = (struct join_peer){.fd = -1};
}

static void answer(struct join_peer *p, char letter, uint8_t why)
{
    struct join_answer a = {.letter = letter, .why = why};
    join_prove(p->session.key, 'a', p->session.answers++, &a, offsetof(struct join_answer, proof),
               a.proof);
    if (send(p->fd, &a, sizeof a, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof a) {
        // It will find the connection closed.
    }
}

// For a new connection; those that proved the secret are never pushed out by those that did not.
static struct join_peer *free_place(struct join *j)
{
    struct join_peer *oldest = NULL;
    for (int i = 0; i < j->peer_count; i++) {
        struct join_peer *p = &j->peers[i];
        if (p->fd < 0)
            return p;
        if (p->seat == 0 && (!oldest || (!p->in && oldest->in) ||
                             (!p->in == !oldest->in && p->heard_ns < oldest->heard_ns)))
            oldest = p;
    }
    if (oldest)
        drop(j, oldest);
    return oldest;
}

// "10.0.0.7", "user 1004".
static void name_stranger(const struct join *j, int fd, const struct sockaddr *address,
                          socklen_t len, char *out, size_t size)
{
    static const char mapped[] = "::ffff:";
    struct ucred peer = {0};
    socklen_t bytes = sizeof peer;
    char text[INET6_ADDRSTRLEN + 32] = "an unknown address";
    if (j->local && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0)
        snprintf(text, sizeof text, "user %u", (unsigned)peer.uid);
    else if (!j->local)
        getnameinfo(address, len, text, sizeof text, NULL, 0, NI_NUMERICHOST);
    size_t skip = strncmp(text, mapped, strlen(mapped)) == 0 ? strlen(mapped) : 0;
    snprintf(out, size, "%s", text + skip);
}

static bool hear(struct join *j, struct join_peer *p);

static void accept_some(struct join *j)
{
    for (int i = 0; i < ACCEPT_MOST; i++) {
        struct sockaddr_storage address;
        socklen_t len = sizeof address;
        struct join_peer new = {.heard_ns = clock_now_ns()}, *p;
        new.fd =
            accept4(j->listening, (struct sockaddr *)&address, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (new.fd < 0)
            return;
        name_stranger(j, new.fd, (struct sockaddr *)&address, len, new.from, sizeof new.from);
        if (!join_is_friend(j, new.fd)) {
            note_refused(j, new.from, "it is another user's");
            close(new.fd);
        } else if (!(p = free_place(j))) {
            close(new.fd);
        } else {
            *p = new;
            if (!hear(j, p)) // before others push it out
                drop(j, p);
        }
    }
}

// Answers a hello that proves the secret. It may be one that was recorded: the seat is taken by
// the first message, which proves the connection.
static bool greet(struct join *j, struct join_peer *p)
{
    const struct join_hello *h = &p->hello;
    struct join_welcome welcome;
    p->wrong = h->magic != JOIN_MAGIC || h->seats != j->place.size || h->seat <= 0 ||
               h->seat >= h->seats ||
               !join_proves(j->key, 'h', 0, h, offsetof(struct join_hello, proof), h->proof);
    if (p->wrong || !join_draw(welcome.nonce) || !(p->in = malloc(sizeof *p->in)))
        return false;
    join_bind(j, h, &welcome, welcome.proof, &p->session);
    if (send(p->fd, &welcome, sizeof welcome, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof welcome)
        return false;
    if (j->stopping)
        answer(p, JOIN_STOP, j->stopping);
    return true;
}

// Times are sums since some beginning; differences of them must not overflow.
static bool is_possible(const struct rank_times *r)
{
    return r->covered_ns >= 0 && r->covered_ns <= INT64_MAX / 4 && r->open_ns >= -1 &&
           r->open_ns <= r->covered_ns && r->all_ns >= -1 && r->all_ns <= r->covered_ns;
}

bool join_valid(const struct join_message *m)
{
    bool valid = m->bytes == sizeof *m && m->kind <= JOIN_END &&
                 memchr(m->host, '\0', sizeof m->host) && m->count >= 0 &&
                 m->count <= RANK_TIMES_MOST;
    for (int i = 0; valid && i < m->count; i++)
        valid = is_possible(&m->ranks[i]);
    return valid;
}

// A seat belongs to the first that came as it.
static bool take(struct join *j, struct join_peer *p)
{
    const struct join_message *m = p->in;
    p->wrong = !join_proves(p->session.key, 'm', p->session.messages++, m,
                            offsetof(struct join_message, proof), m->proof);
    if (p->wrong || !join_valid(m))
        return false;
    struct join_seat *seat = &j->seats[p->hello.seat - 1];
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
    p->seat = p->hello.seat;
    p->heard_ns = clock_now_ns();
    seat->state = m->kind == JOIN_END ? JOIN_ENDED : JOIN_HERE;
    seat->status = m->status;
    snprintf(seat->host, sizeof seat->host, "%s", m->host);
    answer(p, JOIN_HEARD, 0);
    return true;
}

// False: the connection is over.
static bool hear(struct join *j, struct join_peer *p)
{
    for (;;) {
        size_t all = p->in ? sizeof *p->in : sizeof p->hello;
        char *to = p->in ? (char *)p->in : (char *)&p->hello;
        ssize_t n = recv(p->fd, to + p->have, all - p->have, MSG_DONTWAIT);
        if (n <= 0)
            return n < 0 && (errno == EAGAIN || errno == EINTR);
        p->have += (size_t)n;
        if (p->have < all)
            continue;
        p->have = 0;
        if (!(p->in ? take(j, p) : greet(j, p)))
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

void join_stop(struct join *j, uint8_t why)
{
    if (j->place.rank > 0)
        return;
    j->stopping = why;
    for (int i = 0; i < j->peer_count; i++)
        if (j->peers[i].fd >= 0 && j->peers[i].in)
            answer(&j->peers[i], JOIN_STOP, why);
}

void join_say_refused(const struct join *j, struct buf *out)
{
    if (j->listening < 0 && !j->local && !j->problem[0])
        buf_printf(out, "; rank 0 could not listen: ports %d to %d are taken", join_port(j, 0),
                   join_port(j, JOIN_PORT_TRIES - 1));
    if (j->refused > 0)
        buf_printf(out, "; rank 0 refused %d connection%s, the last from %s: %s", j->refused,
                   j->refused > 1 ? "s" : "", j->refused_from, j->refused_why);
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
            absent += seats[i].state == JOIN_ABSENT || seats[i].state == JOIN_LOST;
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
    if (j->local || !j->problem[0])
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
