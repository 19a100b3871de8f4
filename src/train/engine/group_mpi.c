// SPDX-License-Identifier: Apache-2.0
// mpi: the processes that mpirun or srun started, over Open MPI, opened at run time.
//
// All calls are made by the group's thread, so any level of MPI's threads will do; none blocks, so
// that a rank which dies is noticed. Sums are made here and not by MPI, which may add in any order:
// each rank gets its share of all numbers, adds it up in the order of the ranks and sends it back.
// Ranks send each other's news through rank 0, about every second.
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dl.h"
#include "base/parallel.h"
#include "train/engine/group_back.h"

#define JOIN_S     60         // for the others to come
#define MOST_COUNT (16 << 20) // numbers in one exchange
#define NEWS_BYTES 256
#define NEWS_NS    NS_PER_S
#define SPIN_NS    (50 * 1000) // before sleeping between two looks
#define TELL_NS    NS_PER_S    // at most, to tell the others of a failure

// ---- the library ----

typedef void *mpi_comm, *mpi_type, *mpi_request; // Open MPI's are pointers

// Open MPI's objects: the communicator of all comes first, since another MPI has none of that name.
#define OBJECTS(F)                                                                                 \
    F(ompi_mpi_comm_world, world)                                                                  \
    F(ompi_mpi_byte, byte)                                                                         \
    F(ompi_mpi_float, f32)                                                                         \
    F(ompi_mpi_double, f64)                                                                        \
    F(ompi_mpi_errors_return, errors_return)

#define FUNCTIONS(F)                                                                               \
    F(MPI_Init_thread, (int *argc, char ***argv, int required, int *provided))                     \
    F(MPI_Finalize, (void))                                                                        \
    F(MPI_Comm_rank, (mpi_comm, int *rank))                                                        \
    F(MPI_Comm_size, (mpi_comm, int *size))                                                        \
    F(MPI_Comm_dup, (mpi_comm, mpi_comm * out))                                                    \
    F(MPI_Comm_split, (mpi_comm, int colour, int key, mpi_comm *out))                              \
    F(MPI_Comm_free, (mpi_comm *))                                                                 \
    F(MPI_Comm_set_errhandler, (mpi_comm, void *handler))                                          \
    F(MPI_Ibarrier, (mpi_comm, mpi_request *))                                                     \
    F(MPI_Ibcast, (void *data, int count, mpi_type, int root, mpi_comm, mpi_request *))            \
    F(MPI_Iallgather, (const void *from, int count, mpi_type, void *to, int to_count, mpi_type,    \
                       mpi_comm, mpi_request *))                                                   \
    F(MPI_Iallgatherv, (const void *from, int count, mpi_type, void *to, const int *counts,        \
                        const int *places, mpi_type, mpi_comm, mpi_request *))                     \
    F(MPI_Ialltoallv,                                                                              \
      (const void *from, const int *counts, const int *places, mpi_type, void *to,                 \
       const int *to_counts, const int *to_places, mpi_type, mpi_comm, mpi_request *))             \
    F(MPI_Isend,                                                                                   \
      (const void *data, int count, mpi_type, int to, int tag, mpi_comm, mpi_request *))           \
    F(MPI_Irecv, (void *data, int count, mpi_type, int from, int tag, mpi_comm, mpi_request *))    \
    F(MPI_Test, (mpi_request *, int *done, void *status))                                          \
    F(MPI_Cancel, (mpi_request *))                                                                 \
    F(MPI_Request_free, (mpi_request *))

struct mpi_api {
#define MEMBER(name, args) int(*name) args;
    FUNCTIONS(MEMBER)
#undef MEMBER
#define MEMBER(name, member) void *member;
    OBJECTS(MEMBER)
#undef MEMBER
};

static const struct dl_symbol symbols[] = {
#define SYMBOL(name, member) {#name, offsetof(struct mpi_api, member), DL_REQUIRED},
    OBJECTS(SYMBOL)
#undef SYMBOL
#define SYMBOL(name, args) {#name, offsetof(struct mpi_api, name), DL_REQUIRED},
        FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static struct mpi_api api;

static int open_library(struct err *err)
{
    static const char *const names[] = {"libmpi.so.40", "libmpi.so", NULL};
    static const char *const dirs[] = {"/usr/lib64/openmpi/lib", "/usr/local/lib",
                                       "/opt/openmpi/lib", NULL};
    static const struct dl_spec spec = {
        .what = "Open MPI",
        .variable = "FARE_MPI",
        .names = names,
        .dirs = dirs,
        .symbols = symbols,
        .symbol_count = sizeof symbols / sizeof *symbols,
        .hint = "fare works with Open MPI 3 to 5 (Debian: openmpi-bin), not with MPICH or Intel "
                "MPI; FARE_MPI names its library"};
    static struct dl library;
    int rc = dl_open_once(&library, &spec, &api, err);
    return rc != 0 ? err_hint(err, "%s", spec.hint) : 0;
}

// ---- a group ----

struct person { // who a rank is
    char host[64];
    char boot[40];
    uint64_t pids; // the name space that its number is in
    pid_t pid;
};

struct news { // between rank 0 and another
    char out[NEWS_BYTES], in[NEWS_BYTES];
    mpi_request sending, coming;
    int64_t sent_ns, heard_ns;
};

struct mpi {
    int rank, all, size; // size: in use
    mpi_comm world, used, health;
    struct person *people; // (all)
    struct group_watch *watch;
    struct news *news; // rank 0: (all); others: of rank 0 alone
    char told[NEWS_BYTES];
    int64_t looked_ns;
    int *counts, *places, *to_counts, *to_places; // (all)
    char *space;                                  // for sums
    size_t space_bytes;
};

static int mpi_check(int rc, const char *call, struct err *err)
{
    return rc == 0 ? 0 : err_set(err, ERR_IO, "%s failed with code %d", call, rc);
}
#define MPI(name, err, ...) mpi_check(api.name(__VA_ARGS__), #name, (err))

// Waits, and looks after the others.
static int mpi_await(struct group *group, mpi_request *request, const char *call, struct err *err)
{
    int64_t began_ns = clock_now_ns();
    for (;;) {
        int done = 0;
        TRY(mpi_check(api.MPI_Test(request, &done, NULL), call, err));
        if (done)
            return 0;
        int64_t waited_ns = clock_now_ns() - began_ns;
        if (waited_ns > SPIN_NS)
            clock_sleep_ns(waited_ns < 100 * SPIN_NS ? SPIN_NS / 2 : 10 * SPIN_NS);
        else
            sched_yield();
        int rc = group_look(group, err);
        if (rc != 0)
            return rc;
    }
}

static int mpi_arrive(struct group *group, void *own, struct err *err)
{
    struct mpi *m = own;
    mpi_request request;
    TRY(MPI(MPI_Ibarrier, err, m->used, &request));
    return mpi_await(group, &request, "MPI_Ibarrier", err);
}

static int mpi_broadcast(struct group *group, void *own, void *data, size_t bytes, struct err *err)
{
    struct mpi *m = own;
    for (size_t at = 0; at < bytes; at += MOST_COUNT) {
        int part = (int)(bytes - at < MOST_COUNT ? bytes - at : MOST_COUNT);
        mpi_request request;
        TRY(MPI(MPI_Ibcast, err, (char *)data + at, part, api.byte, 0, m->used, &request));
        TRY(mpi_await(group, &request, "MPI_Ibcast", err));
    }
    return 0;
}

static int mpi_gather(struct group *group, void *own, const void *mine, size_t bytes, void *all,
                      struct err *err)
{
    struct mpi *m = own;
    mpi_request request;
    if (bytes > MOST_COUNT)
        return err_set(err, ERR_OVERFLOW, "%zu bytes are too many to gather", bytes);
    TRY(MPI(MPI_Iallgather, err, mine, (int)bytes, api.byte, all, (int)bytes, api.byte, m->used,
            &request));
    return mpi_await(group, &request, "MPI_Iallgather", err);
}

static int get_space(struct mpi *m, size_t bytes, struct err *err)
{
    if (bytes <= m->space_bytes)
        return 0;
    free(m->space);
    m->space_bytes = 0;
    m->space = malloc(bytes);
    if (!m->space)
        return err_memory(err);
    m->space_bytes = bytes;
    return 0;
}

static void mpi_add_up(char *to, const char *from, int64_t count, bool reals)
{
    for (int64_t i = 0; reals && i < count; i++)
        ((double *)(void *)to)[i] += ((const double *)(const void *)from)[i];
    for (int64_t i = 0; !reals && i < count; i++)
        ((float *)(void *)to)[i] += ((const float *)(const void *)from)[i];
}

static int sum_part(struct group *group, struct mpi *m, char *values, int64_t count, bool reals,
                    struct err *err)
{
    size_t each = reals ? sizeof(double) : sizeof(float);
    mpi_type type = reals ? api.f64 : api.f32;
    int64_t first, mine, at, part;
    mpi_request request;
    part_of(count, m->rank, m->size, &first, &mine);
    for (int i = 0; i < m->size; i++) {
        part_of(count, i, m->size, &at, &part);
        m->counts[i] = (int)part;
        m->places[i] = (int)at;
        m->to_counts[i] = (int)mine;
        m->to_places[i] = (int)(i * mine);
    }
    TRY(get_space(m, (size_t)(m->size * mine) * each + 1, err));
    TRY(MPI(MPI_Ialltoallv, err, values, m->counts, m->places, type, m->space, m->to_counts,
            m->to_places, type, m->used, &request));
    TRY(mpi_await(group, &request, "MPI_Ialltoallv", err));
    for (int i = 1; i < m->size; i++)
        mpi_add_up(m->space, m->space + (size_t)(i * mine) * each, mine, reals);
    TRY(MPI(MPI_Iallgatherv, err, m->space, (int)mine, type, values, m->counts, m->places, type,
            m->used, &request));
    return mpi_await(group, &request, "MPI_Iallgatherv", err);
}

static int mpi_sum(struct group *group, void *own, void *values, int64_t count, bool reals,
                   struct err *err)
{
    size_t each = reals ? sizeof(double) : sizeof(float);
    for (int64_t at = 0; at < count; at += MOST_COUNT) {
        int64_t part = count - at < MOST_COUNT ? count - at : MOST_COUNT;
        TRY(sum_part(group, own, (char *)values + (size_t)at * each, part, reals, err));
    }
    return 0;
}

// ---- who is where ----

static void place_ranks(const struct mpi *m, struct group_place *place)
{
    const struct person *me = &m->people[m->rank];
    place->local_rank = place->local_size = place->nodes = 0;
    for (int i = 0; i < place->size; i++) {
        const struct person *p = &m->people[i];
        bool here = strcmp(p->host, me->host) == 0 && strcmp(p->boot, me->boot) == 0;
        place->local_rank += here && i < m->rank;
        place->local_size += here;
        bool seen = false;
        for (int k = 0; k < i && !seen; k++)
            seen =
                strcmp(p->host, m->people[k].host) == 0 && strcmp(p->boot, m->people[k].boot) == 0;
        place->nodes += !seen;
    }
}

static void introduce(struct person *me)
{
    struct stat space;
    memset(me, 0, sizeof *me);
    gethostname(me->host, sizeof me->host - 1);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file && !fgets(me->boot, sizeof me->boot, file))
        me->boot[0] = '\0';
    if (file)
        fclose(file);
    me->pids = stat("/proc/self/ns/pid", &space) == 0 ? (uint64_t)space.st_ino : 0;
    me->pid = getpid();
}

static void watch_neighbours(struct mpi *m)
{
    const struct person *me = &m->people[m->rank];
    for (int i = 0; i < m->all; i++) {
        const struct person *p = &m->people[i];
        if (i != m->rank && p->pids == me->pids && me->pids != 0 && strcmp(p->boot, me->boot) == 0)
            group_watch_add(m->watch, i, p->pid);
    }
}

// ---- news ----

static int peers(const struct mpi *m)
{
    return m->rank == 0 ? m->all : 1;
}

static int expect_news(struct mpi *m, int i, struct err *err)
{
    struct news *n = &m->news[i];
    return MPI(MPI_Irecv, err, n->in, NEWS_BYTES, api.byte, i, 1, m->health, &n->coming);
}

// Sends `text` unless the last message is still on its way.
static bool send_news(struct mpi *m, int i, const char *text)
{
    struct news *n = &m->news[i];
    int done = 1;
    if (n->sending && (api.MPI_Test(&n->sending, &done, NULL) != 0 || !done))
        return false;
    memset(n->out, 0, sizeof n->out);
    snprintf(n->out, sizeof n->out, "%s", text);
    n->sent_ns = clock_now_ns();
    return api.MPI_Isend(n->out, NEWS_BYTES, api.byte, i, 1, m->health, &n->sending) == 0;
}

static int read_news(struct mpi *m, int i, int64_t now_ns, struct err *err)
{
    struct news *n = &m->news[i];
    int done = 0;
    TRY(MPI(MPI_Test, err, &n->coming, &done, NULL));
    if (done) {
        n->in[NEWS_BYTES - 1] = '\0';
        n->heard_ns = now_ns;
        if (n->in[0] != '\0')
            return err_set(err, ERR_FAIL, "%s", n->in);
        TRY(expect_news(m, i, err));
    }
    if (now_ns - n->heard_ns > GROUP_SILENCE_S * NS_PER_S)
        return err_set(err, ERR_TIMEOUT, "nothing was heard of rank %d on %s for %d s", i,
                       m->people[i].host, GROUP_SILENCE_S);
    return 0;
}

// Rank 0 knows more of it than the others, and tells.
static int mpi_look(void *own, struct err *err)
{
    struct mpi *m = own;
    int64_t now_ns = clock_now_ns();
    bool slept = now_ns - m->looked_ns > 2 * NS_PER_S; // this process was stopped
    m->looked_ns = now_ns;
    for (int i = m->rank == 0; i < peers(m); i++) {
        if (slept)
            m->news[i].heard_ns = now_ns;
        TRY(read_news(m, i, now_ns, err));
        if (now_ns - m->news[i].sent_ns > NEWS_NS)
            (void)!send_news(m, i, "");
    }
    int rank = group_watch_dead(m->watch);
    if (rank >= 0)
        return err_set(err, ERR_FAIL, "rank %d on %s died", rank, m->people[rank].host);
    return 0;
}

static void mpi_tell(void *own, const char *text)
{
    struct mpi *m = own;
    int64_t until_ns = clock_now_ns() + TELL_NS;
    for (int i = m->rank == 0; i < peers(m); i++)
        while (!send_news(m, i, text) && clock_now_ns() < until_ns)
            clock_sleep_ns(NS_PER_MS);
    for (int i = m->rank == 0, done = 0; i < peers(m); i++, done = 0)
        while (api.MPI_Test(&m->news[i].sending, &done, NULL) == 0 && !done &&
               clock_now_ns() < until_ns)
            clock_sleep_ns(NS_PER_MS);
}

// ---- beginning and ending ----

static int mpi_allocate(struct mpi *m, struct err *err)
{
    size_t all = (size_t)m->all;
    m->people = calloc(all, sizeof *m->people);
    m->news = calloc(all, sizeof *m->news);
    m->counts = calloc(all, sizeof *m->counts);
    m->places = calloc(all, sizeof *m->places);
    m->to_counts = calloc(all, sizeof *m->to_counts);
    m->to_places = calloc(all, sizeof *m->to_places);
    if (!m->people || !m->news || !m->counts || !m->places || !m->to_counts || !m->to_places)
        return err_memory(err);
    return group_watch_new(&m->watch, m->all, err);
}

static int copy_world(mpi_comm *to, struct err *err)
{
    TRY(MPI(MPI_Comm_dup, err, api.world, to));
    return MPI(MPI_Comm_set_errhandler, err, *to, api.errors_return);
}

static int meet(struct mpi *m, struct err *err)
{
    struct person me;
    mpi_request request;
    introduce(&me);
    TRY(MPI(MPI_Iallgather, err, &me, sizeof me, api.byte, m->people, sizeof me, api.byte, m->world,
            &request));
    for (int done = 0; !done; clock_sleep_ns(NS_PER_MS / 10))
        TRY(mpi_check(api.MPI_Test(&request, &done, NULL), "MPI_Iallgather", err));
    m->looked_ns = clock_now_ns();
    for (int i = m->rank == 0; i < peers(m); i++) {
        m->news[i].heard_ns = m->looked_ns;
        TRY(expect_news(m, i, err));
    }
    watch_neighbours(m);
    return 0;
}

static int mpi_begin(void *own, struct group_place *place, struct err *err)
{
    struct mpi *m = own;
    int level, expected = group_joinable();
    TRY(MPI(MPI_Init_thread, err, NULL, NULL, 1, &level));
    TRY(MPI(MPI_Comm_size, err, api.world, &m->all));
    TRY(MPI(MPI_Comm_rank, err, api.world, &m->rank));
    if (m->all != expected) {
        err_set(err, ERR_USAGE, "%d processes were started, but MPI has %d of them", expected,
                m->all);
        return err_hint(err, "under Slurm: srun --mpi=pmix; and use the mpirun of the same MPI");
    }
    m->size = m->all;
    TRY(mpi_allocate(m, err));
    TRY(copy_world(&m->world, err));
    TRY(copy_world(&m->health, err));
    m->used = m->world;
    TRY(meet(m, err));
    place->rank = m->rank;
    place->size = m->all;
    place_ranks(m, place);
    return 0;
}

static int mpi_use(struct group *group, void *own, struct group_place *place, struct err *err)
{
    struct mpi *m = own;
    mpi_request request;
    TRY(MPI(MPI_Ibarrier, err, m->world, &request));
    TRY(mpi_await(group, &request, "MPI_Ibarrier", err));
    if (m->used != m->world)
        TRY(MPI(MPI_Comm_free, err, &m->used));
    m->used = m->world;
    m->size = place->size;
    if (place->size < m->all)
        TRY(MPI(MPI_Comm_split, err, m->world, m->rank < place->size, m->rank, &m->used));
    place_ranks(m, place);
    return 0;
}

// Without all ranks MPI cannot be ended; mpirun and srun notice the exit code.
static void mpi_end(struct group *group, void *own, bool well)
{
    struct mpi *m = own;
    mpi_request request;
    if (!well || api.MPI_Ibarrier(m->world, &request) != 0 ||
        mpi_await(group, &request, "MPI_Ibarrier", NULL) != 0)
        return;
    for (int i = m->rank == 0; i < peers(m); i++) {
        (void)!api.MPI_Cancel(&m->news[i].coming);
        (void)!api.MPI_Request_free(&m->news[i].coming);
        if (m->news[i].sending)
            (void)!api.MPI_Request_free(&m->news[i].sending);
    }
    (void)!api.MPI_Finalize();
}

static void mpi_release(void *own)
{
    struct mpi *m = own;
    group_watch_free(m->watch);
    free(m->people);
    free(m->news);
    free(m->counts);
    free(m->places);
    free(m->to_counts);
    free(m->to_places);
    free(m->space);
    free(m);
}

static const struct group_back group_mpi = {
    .name = "mpi",
    .begin = mpi_begin,
    .arrive = mpi_arrive,
    .broadcast = mpi_broadcast,
    .gather = mpi_gather,
    .sum = mpi_sum,
    .use = mpi_use,
    .look = mpi_look,
    .tell = mpi_tell,
    .end = mpi_end,
    .release = mpi_release,
};

static int mpi_number(const char *name)
{
    const char *text = getenv(name);
    char *end;
    long value = text ? strtol(text, &end, 10) : 0;
    return text && *text && *end == '\0' && value > 0 && value <= GROUP_SIZE_MAX ? (int)value : 0;
}

// Open MPI's mpirun; srun, not the script of a Slurm job, which has no step; MPICH's mpirun.
int group_joinable(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (mpi_number(names[i]) > 0)
            return mpi_number(names[i]);
    return 1;
}

int group_join(struct group **out, struct err *err)
{
    *out = NULL;
    int patience_s = mpi_number("FARE_JOIN");
    if (group_joinable() == 1)
        return 0;
    // MPI itself would end the process, or take it for a single one.
    if (mpi_number("OMPI_COMM_WORLD_SIZE") == 0 && mpi_number("SLURM_STEP_NUM_TASKS") > 1 &&
        !getenv("PMIX_RANK") && !getenv("PMI_RANK") && !getenv("PMI_FD")) {
        err_set(err, ERR_USAGE, "srun started %d processes, but not for MPI", group_joinable());
        return err_hint(err, "srun --mpi=pmix does; 'srun --mpi=list' shows what this Slurm has");
    }
    TRY(open_library(err));
    struct mpi *m = calloc(1, sizeof *m);
    return m ? group_new(out, &group_mpi, m, (patience_s > 0 ? patience_s : JOIN_S) * NS_PER_S, err)
             : err_memory(err);
}
