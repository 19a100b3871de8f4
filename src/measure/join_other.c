// SPDX-License-Identifier: Apache-2.0
// The other fare processes of a job: a thread of theirs looks for the first one and tells it the
// news. Names and connections may take their time: nothing of the command waits for them.
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/join_parts.h"

enum {
    NEWS_MS = 1000,
    TRY_MS = 500, // between two attempts to reach the first one
};

// ---- where the first one is

static void add_host(struct join *j, size_t *used, const char *host, size_t len)
{
    if (len == 0 || len >= sizeof j->hosts - 1 - *used)
        return;
    memcpy(j->hosts + *used, host, len);
    *used += len + 1;
}

// The first of "n[01-04,7],m1": "n01".
static size_t first_node(const char *list, char *out, size_t size)
{
    size_t plain = strcspn(list, "[,");
    const char *numbers = list[plain] == '[' ? list + plain + 1 : "";
    int n =
        snprintf(out, size, "%.*s%.*s", (int)plain, list, (int)strcspn(numbers, "-,]"), numbers);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

// Open MPI: "123.0;tcp://10.0.0.1,10.1.0.1:4711": addresses of the machine that mpirun runs on.
static void add_mpirun(struct join *j, size_t *used, const char *uri)
{
    const char *at = strstr(uri, "tcp://");
    at = at ? at + strlen("tcp://") : "";
    while (*at && *at != ':' && *at != ';') {
        size_t len = strcspn(at, ",:;");
        add_host(j, used, at, len);
        at += len + (at[len] == ',');
    }
}

static void find_hosts(struct join *j)
{
    const char *given = join_variable("FARE_JOIN_HOST"), *master = join_variable("MASTER_ADDR");
    const char *nodes = join_variable("SLURM_STEP_NODELIST"),
               *uri = join_variable("OMPI_MCA_orte_hnp_uri");
    const char *launched = join_variable("SLURM_LAUNCH_NODE_IPADDR");
    char node[256];
    size_t used = 0;
    if (given)
        add_host(j, &used, given, strlen(given));
    if (master)
        add_host(j, &used, master, strlen(master));
    if (nodes)
        add_host(j, &used, node, first_node(nodes, node, sizeof node));
    if (uri)
        add_mpirun(j, &used, uri);
    if (launched)
        add_host(j, &used, launched, strlen(launched));
}

// ---- talking to it

static void limit(int fd)
{
    const struct timeval most = {.tv_sec = JOIN_TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
}

static int connect_to(const struct sockaddr *address, socklen_t len, int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    limit(fd);
    if (connect(fd, address, len) == 0)
        return fd;
    close(fd);
    return -1;
}

static int connect_host(const struct join *j, const char *host, int attempt)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    char port[16];
    int fd = -1;
    snprintf(port, sizeof port, "%d", join_port(j, attempt));
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return -1;
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
        fd = connect_to(at->ai_addr, at->ai_addrlen, at->ai_family);
    freeaddrinfo(found);
    return fd;
}

static bool send_all(int fd, const struct join_message *m)
{
    for (size_t sent = 0; sent < sizeof *m;) {
        ssize_t n = send(fd, (const char *)m + sent, sizeof *m - sent, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        sent += (size_t)n;
    }
    return true;
}

static bool is_ending(struct join *j)
{
    pthread_mutex_lock(&j->lock);
    bool ending = j->ending;
    pthread_mutex_unlock(&j->lock);
    return ending;
}

// Waits until it has heard the last message.
static bool is_heard(struct join *j, int fd)
{
    char letter = 0;
    while (letter != JOIN_HEARD && recv(fd, &letter, 1, 0) == 1) {
        pthread_mutex_lock(&j->lock);
        j->stopped |= letter == JOIN_STOP;
        pthread_mutex_unlock(&j->lock);
    }
    return letter == JOIN_HEARD;
}

static void wait_news(struct join *j, int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_sec * NS_PER_S + until.tv_nsec + ms * NS_PER_MS;
    until = (struct timespec){ns / NS_PER_S, ns % NS_PER_S};
    pthread_mutex_lock(&j->lock);
    if (!j->ending)
        pthread_cond_timedwait(&j->news, &j->lock, &until);
    pthread_mutex_unlock(&j->lock);
}

// Sends the news until the end, or until the connection breaks.
static void talk(struct join *j, int fd)
{
    struct join_message *m = malloc(sizeof *m);
    bool end = false;
    while (m && !end) {
        pthread_mutex_lock(&j->lock);
        *m = j->out;
        end = j->ending;
        pthread_mutex_unlock(&j->lock);
        m->kind = end ? JOIN_END : JOIN_NEWS;
        if (!send_all(fd, m) || !is_heard(j, fd))
            break;
        pthread_mutex_lock(&j->lock);
        j->heard = end;
        pthread_mutex_unlock(&j->lock);
        wait_news(j, NEWS_MS);
    }
    free(m);
}

// One attempt to reach the first one and talk with it; false: it cannot be reached.
static bool reach(struct join *j, int attempt)
{
    int fd = -1;
    if (j->local) {
        struct sockaddr_un to;
        socklen_t len = join_address(j, &to);
        fd = connect_to((struct sockaddr *)&to, len, AF_UNIX);
    }
    for (const char *host = j->hosts; !j->local && *host && fd < 0; host += strlen(host) + 1)
        fd = connect_host(j, host, attempt % JOIN_PORT_TRIES);
    if (fd < 0)
        return false;
    if (join_is_friend(j, fd))
        talk(j, fd);
    close(fd);
    return true;
}

static void *serve(void *join)
{
    struct join *j = join;
    int64_t until_ns = 0;
    for (int attempt = 0;; attempt++) {
        bool reached = reach(j, attempt);
        bool ending = is_ending(j);
        if (ending && until_ns == 0)
            until_ns = clock_now_ns() + JOIN_TIMEOUT_S * NS_PER_S;
        pthread_mutex_lock(&j->lock);
        bool done = j->heard || (ending && clock_now_ns() > until_ns);
        pthread_mutex_unlock(&j->lock);
        if (done)
            break;
        if (ending)
            clock_sleep_ns(50 * NS_PER_MS);
        else
            wait_news(j, reached ? NEWS_MS : TRY_MS);
    }
    pthread_mutex_lock(&j->lock);
    bool gone = j->gone;
    j->started = false;
    pthread_mutex_unlock(&j->lock);
    if (gone)
        join_release(j);
    return NULL;
}

void join_other_open(struct join *j)
{
    j->out.magic = JOIN_MAGIC;
    j->out.bytes = sizeof j->out;
    memcpy(j->out.job, j->job, sizeof j->job);
    gethostname(j->out.host, sizeof j->out.host - 1);
    j->out.seat = j->place.rank;
    j->out.seats = j->place.size;
    find_hosts(j);
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all); // signals are for the main thread
    pthread_mutex_lock(&j->lock);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    j->started = pthread_create(&thread, NULL, serve, j) == 0;
    if (j->started)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_unlock(&j->lock);
}

void join_tell(struct join *j, const struct rank_times *ranks, int count)
{
    pthread_mutex_lock(&j->lock);
    j->out.count = count < RANK_TIMES_MOST ? count : RANK_TIMES_MOST;
    memcpy(j->out.ranks, ranks, (size_t)j->out.count * sizeof *ranks);
    pthread_mutex_unlock(&j->lock);
}

bool join_stopped(struct join *j)
{
    pthread_mutex_lock(&j->lock);
    bool stopped = j->stopped;
    pthread_mutex_unlock(&j->lock);
    return stopped;
}

bool join_ended(struct join *j, int status, struct buf *why)
{
    pthread_mutex_lock(&j->lock);
    j->out.status = status;
    j->ending = true;
    pthread_cond_signal(&j->news);
    pthread_mutex_unlock(&j->lock);
    // A connection that hangs takes JOIN_TIMEOUT_S twice; the first one may have just begun to
    // listen.
    int64_t until_ns = clock_now_ns() + 3 * JOIN_TIMEOUT_S * NS_PER_S;
    bool heard = false, started = true;
    while (!heard && started && clock_now_ns() < until_ns) {
        pthread_mutex_lock(&j->lock);
        heard = j->heard;
        started = j->started;
        pthread_mutex_unlock(&j->lock);
        if (!heard && started)
            clock_sleep_ns(5 * NS_PER_MS);
    }
    if (heard)
        return true;
    buf_printf(why, "rank %d: the first fare process", j->place.rank);
    if (!j->local && !*j->hosts)
        buf_adds(why, " is on an unknown machine: FARE_JOIN_HOST names it");
    else if (!j->local)
        buf_printf(why, " does not answer at %s, ports %d to %d (FARE_JOIN_HOST names another)",
                   j->hosts, join_port(j, 0), join_port(j, JOIN_PORT_TRIES - 1));
    else
        buf_adds(why, " does not answer");
    buf_adds(why, "; the record lacks this part\n");
    return false;
}
