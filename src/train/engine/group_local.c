// SPDX-License-Identifier: Apache-2.0
// local: the processes of one machine, forked by rank 0, over memory that they share.
//
// Every rank has a seat with a counter of the points it has come to, and two pieces of memory for
// data. A rank waits for another by its counter, asleep on one bell that all ring. Of a sum each
// rank adds up its share for all.
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "train/engine/group_back.h"

#define SIZE_MAX_HERE 256
#define PIECE         ((size_t)512 << 10) // bytes
#define SPINS         500                 // looks at a counter before sleeping
#define SLEEP_NS      (50 * NS_PER_MS)
#define ANSWER_NS     (2 * NS_PER_S) // for rank 0 to say why another died
#define GRACE_NS      (5 * NS_PER_S) // for a process that ought to end

struct local_seat {
    _Alignas(64) _Atomic uint64_t come; // (number of group_use()) << 40 | points since
    _Atomic uint64_t used;              // group_use() calls
    _Atomic int64_t beat_ns;
};

struct local_table {
    _Atomic uint32_t bell;
    _Atomic int failed; // 1: the text is being written; 2: it is there
    char text[sizeof((struct err *)0)->text];
    struct local_seat seats[SIZE_MAX_HERE];
};

struct local {
    struct local_table *table; // shared, and after it the pieces: (rank, 2, PIECE)
    size_t bytes;
    int rank, all, size; // size: in use
    uint64_t come, used;
    int half;                  // of the pieces, for the next data
    pid_t pids[SIZE_MAX_HERE]; // rank 0's is the parent's
    struct group_watch *watch;
    // The last beat of each rank as seen from here, and when it was new.
    int64_t beats_ns[SIZE_MAX_HERE], heard_ns[SIZE_MAX_HERE], looked_ns;
};

static char *piece(const struct local *l, int rank)
{
    char *pieces = (char *)l->table + sizeof *l->table;
    return pieces + ((size_t)rank * 2 + (size_t)l->half) * PIECE;
}

// ---- waiting ----

static void ring(struct local_table *table)
{
    atomic_fetch_add(&table->bell, 1);
    syscall(SYS_futex, &table->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static bool all_came(struct local *l, bool use)
{
    int count = use ? l->all : l->size;
    for (int i = 0; i < count; i++) {
        const struct local_seat *seat = &l->table->seats[i];
        if (use ? atomic_load(&seat->used) < l->used : atomic_load(&seat->come) < l->come)
            return false;
    }
    return true;
}

static int local_await(struct group *group, struct local *l, bool use, struct err *err)
{
    for (int i = 0; i < SPINS; i++) {
        if (all_came(l, use))
            return 0;
        atomic_signal_fence(memory_order_seq_cst);
    }
    for (;;) {
        uint32_t bell = atomic_load(&l->table->bell);
        if (all_came(l, use))
            return 0;
        struct timespec sleep = {.tv_nsec = SLEEP_NS};
        syscall(SYS_futex, &l->table->bell, FUTEX_WAIT, bell, &sleep, NULL, 0);
        struct err found = {0};
        int rc = group_look(group, &found);
        if (rc != 0 && all_came(l, use))
            return 0; // it came before it went
        if (rc != 0) {
            if (err && err->code == 0)
                *err = found;
            return rc;
        }
    }
}

static int local_arrive(struct group *group, void *own, struct err *err)
{
    struct local *l = own;
    atomic_store(&l->table->seats[l->rank].come, ++l->come);
    ring(l->table);
    return local_await(group, l, false, err);
}

static int local_use(struct group *group, void *own, struct group_place *place, struct err *err)
{
    struct local *l = own;
    atomic_store(&l->table->seats[l->rank].used, ++l->used);
    ring(l->table);
    TRY(local_await(group, l, true, err));
    l->size = place->size;
    l->come = l->used << 40;
    l->half = 0;
    place->local_size = place->size;
    return 0;
}

// ---- data ----

static int local_broadcast(struct group *group, void *own, void *data, size_t bytes,
                           struct err *err)
{
    struct local *l = own;
    for (size_t at = 0; at < bytes; at += PIECE) {
        size_t part = bytes - at < PIECE ? bytes - at : PIECE;
        if (l->rank == 0)
            memcpy(piece(l, 0), (char *)data + at, part);
        TRY(local_arrive(group, own, err));
        if (l->rank != 0)
            memcpy((char *)data + at, piece(l, 0), part);
        l->half ^= 1;
    }
    return 0;
}

static int local_gather(struct group *group, void *own, const void *mine, size_t bytes, void *all,
                        struct err *err)
{
    struct local *l = own;
    for (size_t at = 0; at < bytes; at += PIECE) {
        size_t part = bytes - at < PIECE ? bytes - at : PIECE;
        memcpy(piece(l, l->rank), (const char *)mine + at, part);
        TRY(local_arrive(group, own, err));
        for (int i = 0; i < l->size; i++)
            memcpy((char *)all + (size_t)i * bytes + at, piece(l, i), part);
        l->half ^= 1;
    }
    return 0;
}

static void local_add_up(struct local *l, int64_t first, int64_t part, bool reals)
{
    for (int i = 1; i < l->size; i++) {
        if (reals) {
            double *to = (double *)(void *)piece(l, 0) + first;
            const double *from = (const double *)(const void *)piece(l, i) + first;
            for (int64_t k = 0; k < part; k++)
                to[k] += from[k];
        } else {
            float *to = (float *)(void *)piece(l, 0) + first;
            const float *from = (const float *)(const void *)piece(l, i) + first;
            for (int64_t k = 0; k < part; k++)
                to[k] += from[k];
        }
    }
}

static int local_sum(struct group *group, void *own, void *values, int64_t count, bool reals,
                     struct err *err)
{
    struct local *l = own;
    size_t each = reals ? sizeof(double) : sizeof(float);
    int64_t most = (int64_t)(PIECE / each);
    for (int64_t at = 0; at < count; at += most) {
        int64_t here = count - at < most ? count - at : most, first, part;
        char *to = (char *)values + (size_t)at * each;
        memcpy(piece(l, l->rank), to, (size_t)here * each);
        TRY(local_arrive(group, own, err));
        group_share(group, here, &first, &part);
        local_add_up(l, first, part, reals);
        TRY(local_arrive(group, own, err));
        memcpy(to, piece(l, 0), (size_t)here * each);
        l->half ^= 1;
    }
    return 0;
}

// ---- the others' health ----

static int local_dead(struct local *l, int rank, struct err *err)
{
    int status = 0;
    if (l->rank == 0 && waitpid(l->pids[rank], &status, WNOHANG) == l->pids[rank]) {
        l->pids[rank] = 0;
        if (WIFSIGNALED(status))
            return err_set(err, ERR_FAIL, "rank %d was killed by signal %d (%s)", rank,
                           WTERMSIG(status), strsignal(WTERMSIG(status)));
        return err_set(err, ERR_FAIL, "rank %d ended with exit code %d", rank, WEXITSTATUS(status));
    }
    return err_set(err, ERR_FAIL, "rank %d died", rank);
}

// A process that was itself stopped has heard of nobody and starts anew.
static int hear(struct local *l, int64_t now_ns, struct err *err)
{
    bool slept = now_ns - l->looked_ns > NS_PER_S;
    l->looked_ns = now_ns;
    for (int i = 0; i < l->all; i++) {
        int64_t beat_ns = atomic_load(&l->table->seats[i].beat_ns);
        if (i == l->rank || slept || beat_ns != l->beats_ns[i]) {
            l->beats_ns[i] = beat_ns;
            l->heard_ns[i] = now_ns;
        } else if (now_ns - l->heard_ns[i] > GROUP_SILENCE_S * NS_PER_S) {
            return err_set(err, ERR_TIMEOUT, "rank %d (process %d) has not moved for %d s", i,
                           (int)l->pids[i], GROUP_SILENCE_S);
        }
    }
    return 0;
}

static int local_look(void *own, struct err *err)
{
    struct local *l = own;
    int64_t now_ns = clock_now_ns();
    atomic_store(&l->table->seats[l->rank].beat_ns, now_ns);
    if (atomic_load(&l->table->failed) == 2)
        return err_set(err, ERR_FAIL, "%s", l->table->text);
    int rank = group_watch_dead(l->watch);
    bool asks = rank >= 0 && l->rank != 0 && rank != 0; // rank 0 knows more of it
    for (int64_t until_ns = now_ns + ANSWER_NS; asks && clock_now_ns() < until_ns;) {
        clock_sleep_ns(SLEEP_NS);
        if (atomic_load(&l->table->failed) == 2)
            return err_set(err, ERR_FAIL, "%s", l->table->text);
    }
    return rank >= 0 ? local_dead(l, rank, err) : hear(l, now_ns, err);
}

static void local_tell(void *own, const char *text)
{
    struct local *l = own;
    int none = 0;
    if (!atomic_compare_exchange_strong(&l->table->failed, &none, 1))
        return;
    snprintf(l->table->text, sizeof l->table->text, "%s", text);
    atomic_store(&l->table->failed, 2);
    ring(l->table);
}

// ---- beginning and ending ----

static int local_begin(void *own, struct group_place *place, struct err *err)
{
    struct local *l = own;
    TRY(group_watch_new(&l->watch, l->all, err));
    for (int i = 0; i < l->all; i++)
        if (i != l->rank && l->pids[i] != 0)
            group_watch_add(l->watch, i, l->pids[i]);
    *place = (struct group_place){
        .rank = l->rank, .size = l->all, .local_rank = l->rank, .local_size = l->all, .nodes = 1};
    return 0;
}

static void local_end(struct group *group, void *own, bool well)
{
    struct local *l = own;
    l->size = l->all;
    struct group_place place = {.size = l->all};
    if (well && local_use(group, own, &place, NULL) != 0)
        local_tell(own, "a rank did not come to the end");
}

static void reap(struct local *l)
{
    int64_t until_ns = clock_now_ns() + GRACE_NS;
    for (int i = 1; i < l->all; i++) {
        while (l->pids[i] > 0 && waitpid(l->pids[i], NULL, WNOHANG) == 0) {
            if (clock_now_ns() > until_ns)
                kill(l->pids[i], SIGKILL);
            clock_sleep_ns(NS_PER_MS);
        }
        l->pids[i] = 0;
    }
}

static void local_release(void *own)
{
    struct local *l = own;
    group_watch_free(l->watch);
    if (l->rank == 0)
        reap(l);
    munmap(l->table, l->bytes);
    free(l);
}

static const struct group_back group_local = {
    .name = "local",
    .begin = local_begin,
    .arrive = local_arrive,
    .broadcast = local_broadcast,
    .gather = local_gather,
    .sum = local_sum,
    .use = local_use,
    .look = local_look,
    .tell = local_tell,
    .end = local_end,
    .release = local_release,
};

// Signals of a terminal go to every process; rank 0 decides for all what they mean.
static void become_rank(struct local *l, int rank, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    l->rank = rank;
}

static int make_ranks(struct local *l, struct err *err)
{
    pid_t parent = getpid();
    l->pids[0] = parent;
    fflush(NULL); // or the children would write what is buffered once more
    for (int i = 1; i < l->all; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return err_errno(err, errno, "cannot start process %d of %d", i + 1, l->all);
        if (pid == 0) {
            become_rank(l, i, parent);
            return 0;
        }
        l->pids[i] = pid;
    }
    return 0;
}

int group_fork(struct group **out, int size, struct err *err)
{
    *out = NULL;
    if (size < 2 || size > SIZE_MAX_HERE)
        return err_set(err, ERR_USAGE, "a group of %d processes is not possible: 2 to %d", size,
                       SIZE_MAX_HERE);
    struct local *l = calloc(1, sizeof *l);
    if (!l)
        return err_memory(err);
    l->all = l->size = size;
    l->bytes = sizeof *l->table + (size_t)size * 2 * PIECE;
    l->table = mmap(NULL, l->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (l->table == MAP_FAILED) {
        int rc = err_errno(err, errno, "cannot share %zu bytes of memory", l->bytes);
        free(l);
        return rc;
    }
    int rc = make_ranks(l, err);
    if (rc != 0) {
        for (int i = 1; i < size; i++)
            if (l->pids[i] > 0)
                kill(l->pids[i], SIGKILL);
        local_release(l);
        return rc;
    }
    return group_new(out, &group_local, l, 0, err);
}
