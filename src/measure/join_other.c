// SPDX-License-Identifier: Apache-2.0
// The other fare processes of a job: a thread of theirs looks for the first one and tells it the
// news. Names and connections may take their time: nothing of the command waits for them.
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "measure/join_parts.h"

enum {
    NEWS_MS = 1000,
    TRY_MS = 500,  // between two rounds of attempts to reach the first one
    WELCOME_S = 2, // for what may be a stranger at its port
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

static bool send_all(int fd, const void *bytes, size_t len)
{
    for (size_t sent = 0; sent < len;) {
        ssize_t n = send(fd, (const char *)bytes + sent, len - sent, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        sent += (size_t)n;
    }
    return true;
}

// The deadline is for the whole message: a stranger may send one byte now and then.
static bool receive_all(int fd, void *bytes, size_t len, int seconds)
{
    int64_t until_ns = clock_now_ns() + seconds * NS_PER_S;
    for (size_t have = 0; have < len;) {
        int64_t left_ns = until_ns - clock_now_ns();
        struct pollfd input = {.fd = fd, .events = POLLIN};
        if (left_ns <= 0 || poll(&input, 1, (int)(left_ns / NS_PER_MS) + 1) < 0)
            return false;
        ssize_t n = recv(fd, (char *)bytes + have, len - have, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        have += n > 0 ? (size_t)n : 0;
    }
    return true;
}

// Each side proves the secret to the other, before anything else is said.
static bool shake_hands(struct join *j, int fd, struct join_session *session)
{
    struct join_hello hello;
    struct join_welcome welcome;
    uint8_t proof[SHA256_BYTES];
    memset(&hello, 0, sizeof hello);
    hello.magic = JOIN_MAGIC;
    hello.seat = j->place.rank;
    hello.seats = j->place.size;
    if (!join_is_friend(j, fd) || !join_draw(hello.nonce))
        return false;
    join_prove(j->key, 'h', 0, &hello, offsetof(struct join_hello, proof), hello.proof);
    if (!send_all(fd, &hello, sizeof hello) ||
        !receive_all(fd, &welcome, sizeof welcome, WELCOME_S))
        return false;
    join_bind(j, &hello, &welcome, proof, session);
    return sha256_same(proof, welcome.proof);
}

static bool is_ending(struct join *j)
{
    pthread_mutex_lock(&j->lock);
    bool ending = j->ending;
    pthread_mutex_unlock(&j->lock);
    return ending;
}

// Waits until it has heard the last message.
static bool is_heard(struct join *j, int fd, struct join_session *session)
{
    struct join_answer a = {0};
    while (a.letter != JOIN_HEARD) {
        if (!receive_all(fd, &a, sizeof a, JOIN_TIMEOUT_S) ||
            !join_proves(session->key, 'a', session->answers++, &a,
                         offsetof(struct join_answer, proof), a.proof))
            return false;
        pthread_mutex_lock(&j->lock);
        if (a.letter == JOIN_STOP)
            j->stopped = a.why;
        pthread_mutex_unlock(&j->lock);
    }
    return true;
}

static void wait_news(struct join *j, int ms)
{
    pthread_mutex_lock(&j->lock);
    if (!j->ending)
        (void)moment_wait(&j->news, &j->lock, clock_now_ns() + ms * NS_PER_MS);
    pthread_mutex_unlock(&j->lock);
}

// Sends the news until the end, or until the connection breaks.
static void talk(struct join *j, int fd, struct join_session *session)
{
    SCOPED(free_pointer) struct join_message *m = malloc(sizeof *m);
    bool end = false;
    while (m && !end) {
        pthread_mutex_lock(&j->lock);
        memcpy(m, &j->out, sizeof *m);
        end = j->ending;
        pthread_mutex_unlock(&j->lock);
        m->kind = end ? JOIN_END : JOIN_NEWS;
        join_prove(session->key, 'm', session->messages++, m, offsetof(struct join_message, proof),
                   m->proof);
        if (!send_all(fd, m, sizeof *m) || !is_heard(j, fd, session))
            break;
        pthread_mutex_lock(&j->lock);
        j->heard = end;
        pthread_mutex_unlock(&j->lock);
        wait_news(j, NEWS_MS);
    }
}

// Talks with the first one, if that is who is there; false: it is not.
static bool try_address(struct join *j, const struct sockaddr *address, socklen_t len, int family)
{
    struct join_session session;
    int fd = connect_to(address, len, family);
    bool proved = fd >= 0 && shake_hands(j, fd, &session);
    if (proved)
        talk(j, fd, &session);
    if (fd >= 0)
        close(fd);
    return proved;
}

static bool try_host(struct join *j, const char *host, int attempt)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    char port[16];
    bool proved = false;
    snprintf(port, sizeof port, "%d", join_port(j, attempt));
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return false;
    for (const struct addrinfo *at = found; at && !proved; at = at->ai_next)
        proved = try_address(j, at->ai_addr, at->ai_addrlen, at->ai_family);
    freeaddrinfo(found);
    return proved;
}

// One attempt to reach the first one and talk with it; false: it cannot be reached.
static bool reach(struct join *j, int attempt)
{
    bool proved = false;
    if (j->local) {
        struct sockaddr_un to;
        socklen_t len = join_address(j, &to);
        proved = try_address(j, (struct sockaddr *)&to, len, AF_UNIX);
    }
    for (const char *host = j->hosts; !j->local && *host && !proved; host += strlen(host) + 1)
        proved = try_host(j, host, attempt % JOIN_PORT_TRIES);
    return proved;
}

static void *serve(void *join)
{
    struct join *j = join;
    int64_t until_ns = 0;
    for (int attempt = 0, last = 0;; attempt++) { // last: when all ports were tried since the end
        bool reached = reach(j, attempt);
        bool ending = is_ending(j);
        if (ending && until_ns == 0) {
            until_ns = clock_now_ns() + JOIN_TIMEOUT_S * NS_PER_S;
            last = attempt + JOIN_PORT_TRIES;
        }
        pthread_mutex_lock(&j->lock);
        bool done = j->heard || (ending && attempt >= last && clock_now_ns() > until_ns);
        pthread_mutex_unlock(&j->lock);
        if (done)
            break;
        if (!reached && (attempt + 1) % JOIN_PORT_TRIES != 0)
            continue; // the next port
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
    j->out.bytes = sizeof j->out;
    gethostname(j->out.host, sizeof j->out.host - 1);
    find_hosts(j);
    if (!j->local && j->problem[0])
        return;
    pthread_t thread;
    pthread_mutex_lock(&j->lock);
    j->started = thread_start(&thread, 0, serve, j, NULL) == 0;
    if (j->started)
        pthread_detach(thread);
    pthread_mutex_unlock(&j->lock);
}

void join_tell(struct join *j, const struct rank_times *ranks, int count)
{
    pthread_mutex_lock(&j->lock);
    j->out.count = count < RANK_TIMES_MOST ? count : RANK_TIMES_MOST;
    memcpy(j->out.ranks, ranks, (size_t)j->out.count * sizeof *ranks);
    pthread_mutex_unlock(&j->lock);
}

uint8_t join_stopped(struct join *j)
{
    pthread_mutex_lock(&j->lock);
    uint8_t stopped = j->stopped;
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
    if (!j->local) {
        buf_printf(why, "rank %d: ", j->place.rank);
        join_say_secret(j, why);
        buf_addc(why, '\n');
    }
    return false;
}
