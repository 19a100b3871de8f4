// SPDX-License-Identifier: Apache-2.0
#include "measure/join.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/parallel.h"
#include "measure/join_parts.h"

struct join_peer {
    int fd;   // -1: none
    int seat; // 0: it has not proved yet who it is
    size_t have;
    int64_t heard_ns; // while it has no seat: when it came
    char from[48];
    bool wrong; // what it sent proves nothing
    struct join_hello hello;
    struct join_session session;
    struct join_message *in; // null: it has not said hello
};

// ---- The secret of a job, and what proves that a process has it. Job numbers, ports and host
// names are known to everybody on a shared machine; this is not.

enum { SECRET_LEAST = 16, SECRET_MOST = 4096 }; // bytes

#define MAKE_ONE "(umask 077; head -c 24 /dev/urandom | base64 > FILE), on all machines of the job"

// ---- where it is from

// The file is this user's or root's, and nobody else can read it.
static int read_secret(const char *path, int flags, struct buf *out, struct err *err)
{
    struct stat st;
    int rc = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        rc = err_set(err, ERR_IO, "'%s' is no regular file", path);
    } else if ((st.st_uid != getuid() && st.st_uid != 0) || (st.st_mode & 077) != 0) {
        rc = err_set(err, ERR_IO, "'%s' is not for this user alone (mode %03o, user %u)", path,
                     st.st_mode & 0777u, (unsigned)st.st_uid);
        err_hint(err, "type: chmod 600 %.200s", path);
    } else {
        char *at = buf_reserve(out, SECRET_MOST);
        ssize_t n = at ? read(fd, at, SECRET_MOST) : 0;
        buf_advance(out, n > 0 ? (size_t)n : 0);
        buf_trim(out);
        if (n < 0)
            rc = err_errno(err, errno, "cannot read '%s'", path);
        else if (out->len < SECRET_LEAST && !out->failed)
            rc = err_set(err, ERR_IO, "'%s' is shorter than %d bytes", path, SECRET_LEAST);
    }
    close(fd);
    return rc != 0 ? rc : buf_check(out, err);
}

// Makes the file unless there is one. link() never replaces: of processes that start at once, on
// machines that share the folder, one makes it, and all read that.
static int make_secret(const char *path, struct err *err)
{
    uint8_t bytes[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES];
    SCOPED(buf_release) struct buf draft = {0};
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return err_errno(err, errno, "cannot get random bytes");
    sha256_hex(bytes, hex);
    buf_printf(&draft, "%s.%.16s", path, hex + 48);
    int rc = buf_check(&draft, err);
    hex[48] = '\n'; // 192 bits
    if (rc == 0)
        rc = fs_write_private(buf_str(&draft), hex, 49, err);
    if (rc == 0) {
        if (link(buf_str(&draft), path) != 0 && errno != EEXIST)
            rc = err_errno(err, errno, "cannot create '%s'", path);
        unlink(buf_str(&draft));
    }
    explicit_bzero(hex, sizeof hex);
    return rc;
}

// This user's own, made when it is first needed.
static int own_secret(struct join *j, struct buf *out, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    struct stat st;
    TRY(folder_data(&path, err));
    TRY(fs_mkdirs_private(buf_str(&path), err));
    buf_adds(&path, "/join.secret");
    snprintf(j->from, sizeof j->from, "%s", buf_str(&path));
    if (lstat(buf_str(&path), &st) != 0)
        TRY(make_secret(buf_str(&path), err));
    return read_secret(buf_str(&path), O_NOFOLLOW, out, err);
}

// What mpirun draws for each job and puts into the environment of its processes alone. Where Slurm
// set it, it is the job's number, with zeros.
static const char *mpirun_secret(const struct join *j)
{
    const char *key = join_variable("OMPI_MCA_orte_precondition_transports");
    if (!key || strcmp(j->place.by, "mpirun") != 0 || strlen(key) != 33 || strstr(key, "00000000"))
        return NULL;
    return key;
}

static int find_secret(struct join *j, struct buf *out, struct err *err)
{
    const char *file = join_variable("FARE_JOIN_SECRET_FILE");
    const char *given = join_variable("FARE_JOIN_SECRET"), *mpi = mpirun_secret(j);
    struct err why = {0};
    if (file) {
        snprintf(j->from, sizeof j->from, "%s", file);
        if (read_secret(file, 0, out, &why) == 0)
            return 0;
        err_set(err, ERR_USAGE, "FARE_JOIN_SECRET_FILE: %s", why.text);
        return err_hint(err, "%s", why.hint[0] ? why.hint : "create it with: " MAKE_ONE);
    }
    snprintf(j->from, sizeof j->from, "%s", given ? "FARE_JOIN_SECRET" : "mpirun");
    if (given && strlen(given) < SECRET_LEAST) {
        err_set(err, ERR_USAGE, "FARE_JOIN_SECRET is shorter than %d bytes", SECRET_LEAST);
        return err_hint(err, "export FARE_JOIN_SECRET=$(head -c 24 /dev/urandom | base64)");
    }
    if (given || mpi) {
        buf_adds(out, given ? given : mpi);
        return buf_check(out, err);
    }
    int rc = own_secret(j, out, &why);
    if (rc == ERR_MEMORY)
        return err_memory(err);
    if (rc != 0)
        snprintf(j->problem, sizeof j->problem, "%.300s", why.text);
    return 0;
}

// Finds the job's secret, and makes its key. Fails for one that the user gave and that cannot be
// used; without one, `problem` says why.
static int join_find_key(struct join *j, struct err *err)
{
    SCOPED(buf_release) struct buf secret = {0};
    struct hmac mac;
    int rc = find_secret(j, &secret, err);
    if (j->problem[0])
        buf_reset(&secret); // on one machine the kernel tells who the other is
    hmac_init(&mac, buf_str(&secret), secret.len);
    hmac_add(&mac, j->job, sizeof j->job);
    hmac_done(&mac, j->key);
    if (secret.data)
        explicit_bzero(secret.data, secret.cap);
    return rc;
}

void join_say_secret(const struct join *j, struct buf *out)
{
    if (j->problem[0])
        buf_printf(out, "there is no secret of the job: %s", j->problem);
    else
        buf_printf(out, "the secret of the job is from %s", j->from);
    buf_adds(out, "; all its machines need the same: FARE_JOIN_SECRET_FILE names a file, mode 600");
}

// ---- proofs

void join_prove(const uint8_t key[SHA256_BYTES], char what, uint64_t number, const void *bytes,
                size_t len, uint8_t proof[SHA256_BYTES])
{
    struct hmac mac;
    hmac_init(&mac, key, SHA256_BYTES);
    hmac_add(&mac, &what, 1);
    hmac_add(&mac, &number, sizeof number);
    hmac_add(&mac, bytes, len);
    hmac_done(&mac, proof);
}

bool join_proves(const uint8_t key[SHA256_BYTES], char what, uint64_t number, const void *bytes,
                 size_t len, const uint8_t proof[SHA256_BYTES])
{
    uint8_t right[SHA256_BYTES];
    join_prove(key, what, number, bytes, len, right);
    return sha256_same(right, proof);
}

bool join_draw(uint8_t nonce[SHA256_BYTES])
{
    return getrandom(nonce, SHA256_BYTES, 0) == SHA256_BYTES;
}

// Both nonces, and who the other one says it is: nothing that was recorded before fits.
static void mix(const struct join *j, char what, const struct join_hello *hello,
                const struct join_welcome *welcome, uint8_t out[SHA256_BYTES])
{
    uint8_t both[sizeof *hello + sizeof welcome->nonce];
    memcpy(both, hello, sizeof *hello);
    memcpy(both + sizeof *hello, welcome->nonce, sizeof welcome->nonce);
    join_prove(j->key, what, 0, both, sizeof both, out);
}

void join_bind(const struct join *j, const struct join_hello *hello,
               const struct join_welcome *welcome, uint8_t proof[SHA256_BYTES],
               struct join_session *session)
{
    *session = (struct join_session){0};
    mix(j, 'w', hello, welcome, proof);
    mix(j, 's', hello, welcome, session->key);
}

// ---- The first fare process of a job: it listens, and takes what the others tell.

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
static bool join_take(struct join *j, struct join_peer *p)
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
        if (!(p->in ? join_take(j, p) : greet(j, p)))
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

static int join_first_open(struct join *j, struct err *err)
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

static void join_first_close(struct join *j)
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

// ---- The processes together

enum {
    PORT_FIRST = 20000, // below those that systems give to clients
    PORTS = 12000,
};

// ---- what they have in common

const char *join_variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

bool join_place(struct worker *place)
{
    return worker_find(worker_own, NULL, place) && place->size > 1;
}

// What all processes of the job have in common, and no other job.
static void name_job(struct join *j)
{
    const char *slurm = join_variable("SLURM_JOB_ID"), *step = join_variable("SLURM_STEP_ID");
    const char *mpi = join_variable("PMIX_NAMESPACE");
    const char *address = join_variable("MASTER_ADDR"), *port = join_variable("MASTER_PORT");
    mpi = mpi ? mpi : join_variable("OMPI_MCA_ess_base_jobid");
    if (strcmp(j->place.by, "srun") == 0 && slurm)
        snprintf(j->job, sizeof j->job, "%u slurm %.30s.%.30s", getuid(), slurm, step ? step : "");
    else if (strcmp(j->place.by, "mpirun") == 0 && mpi)
        snprintf(j->job, sizeof j->job, "%u mpi %.60s", getuid(), mpi);
    else if (strcmp(j->place.by, "torchrun") == 0 && address)
        snprintf(j->job, sizeof j->job, "%u torch %.50s:%.10s", getuid(), address,
                 port ? port : "");
    else
        snprintf(j->job, sizeof j->job, "%u parent %d", getuid(), (int)getppid());
}

int join_port(const struct join *j, int attempt)
{
    uint8_t bytes[SHA256_BYTES];
    uint32_t number;
    join_prove(j->key, 'p', 0, NULL, 0, bytes); // nobody else can take it before
    memcpy(&number, bytes, sizeof number);
    return PORT_FIRST + (int)((number + (uint32_t)attempt) % PORTS);
}

socklen_t join_address(const struct join *j, struct sockaddr_un *to)
{
    uint8_t bytes[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES];
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    join_prove(j->key, 'p', 0, NULL, 0, bytes);
    sha256_hex(bytes, hex);
    int n = snprintf(to->sun_path + 1, sizeof to->sun_path - 1, "fare join %s", hex);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

// Of another machine's process the user cannot be asked for.
bool join_is_friend(const struct join *j, int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    return !j->local ||
           (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == getuid());
}

// ---- beginning and end

void join_release(struct join *j)
{
    explicit_bzero(j->key, sizeof j->key);
    pthread_mutex_destroy(&j->lock);
    pthread_cond_destroy(&j->news);
    free(j);
}

int join_new(struct join **join, const struct worker *place, struct err *err)
{
    struct join *j = *join = calloc(1, sizeof *j);
    if (!j)
        return err_memory(err);
    j->place = *place;
    j->listening = -1;
    j->local = place->nodes == 1;
    pthread_mutex_init(&j->lock, NULL);
    moment_init(&j->news);
    name_job(j);
    int rc = join_find_key(j, err);
    if (rc == 0 && place->rank > 0)
        join_other_open(j);
    else if (rc == 0)
        rc = join_first_open(j, err);
    if (rc != 0) {
        join_free(j);
        *join = NULL;
    }
    return rc;
}

void join_free(struct join *j)
{
    if (!j)
        return;
    join_first_close(j);
    pthread_mutex_lock(&j->lock);
    bool running = j->started;
    j->gone = true;
    j->ending = true;
    pthread_cond_signal(&j->news);
    pthread_mutex_unlock(&j->lock);
    if (!running)
        join_release(j);
}
