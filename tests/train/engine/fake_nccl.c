// SPDX-License-Identifier: Apache-2.0
// A stand-in for NCCL, for processes that use the stand-in for the CUDA driver (fake_gpu.c). Sums
// are real: each rank puts its numbers into memory that all share, and adds all of them up once
// they are there. A sum takes part in a stream or a graph like a kernel, and is not ready as long
// as a rank is missing. What NCCL forbids, two sums of a rank at once or different ones at two
// ranks, is an error here, not a hang.
//
// FAKE_NCCL_DELAY=N has every sum begin up to N tries late. FAKE_NCCL_VERSION is its version.
// FAKE_NCCL_FAIL is one of
//   id, init:RANK           that call fails
//   absent:RANK             that rank never connects
//   call:RANK:N, sum:RANK:N the Nth call of ncclAllReduce, or the Nth sum carried out, fails; sums
//   of
//                           the others wait for ever
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANKS = 8, BYTES = 64 << 20, NOT_READY = 600 };
enum { SUCCESS, CUDA_ERROR, SYSTEM_ERROR, INTERNAL_ERROR, INVALID_ARGUMENT, INVALID_USAGE, REMOTE };

struct id {
    char bytes[128];
};

struct shared {
    atomic_int connected;
    struct {
        atomic_llong ready, done; // sums
        long long count;
        int type;
    } ranks[RANKS];
};

struct comm {
    struct shared *all;
    int rank, size, error, calls;
    long long sums; // begun
    bool busy, aborted;
    unsigned random;
};

struct sum {
    struct comm *comm;
    void *values;
    long long count;
    int type, late;   // late: tries to go
    long long number; // 0: not begun
};

static char last_error[200];

static int (*gpu_call)(void *stream, int (*run)(void *data), void *data);
static int (*gpu_use)(uint64_t from, size_t bytes, bool writes);

static bool fails(const char *what, int rank, int number)
{
    char text[64];
    const char *wanted = getenv("FAKE_NCCL_FAIL");
    snprintf(text, sizeof text,
             number     ? "%s:%d:%d"
             : rank < 0 ? "%s"
                        : "%s:%d",
             what, rank, number);
    return wanted && strcmp(wanted, text) == 0;
}

int ncclGetVersion(int *version)
{
    const char *text = getenv("FAKE_NCCL_VERSION");
    *version = text ? atoi(text) : 22703;
    return SUCCESS;
}

const char *ncclGetErrorString(int code)
{
    return code == INVALID_USAGE ? "invalid usage"
           : code == REMOTE      ? "remote error"
                                 : "internal error";
}

const char *ncclGetLastError(void *comm)
{
    (void)comm;
    return last_error;
}

// The memory goes with the last process that has it.
int ncclGetUniqueId(struct id *id)
{
    if (fails("id", -1, 0))
        return INTERNAL_ERROR;
    int fd = memfd_create("fake_nccl", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, sizeof(struct shared) + (off_t)RANKS * BYTES) != 0)
        return SYSTEM_ERROR;
    memset(id, 0, sizeof *id);
    snprintf(id->bytes, sizeof id->bytes, "/proc/%d/fd/%d", (int)getpid(), fd);
    return SUCCESS;
}

int ncclCommInitRank(void **out, int size, struct id id, int rank)
{
    void *driver = dlopen(getenv("FARE_CUDA"), RTLD_NOW | RTLD_NOLOAD);
    while (fails("absent", rank, 0))
        pause();
    if (fails("init", rank, 0)) {
        snprintf(last_error, sizeof last_error, "Duplicate GPU detected, said the stand-in");
        return INVALID_USAGE;
    }
    if (!driver || size > RANKS)
        return INVALID_ARGUMENT;
    *(void **)&gpu_call = dlsym(driver, "fakeGpuCall");
    *(void **)&gpu_use = dlsym(driver, "fakeGpuUse");
    int fd = open(id.bytes, O_RDWR | O_CLOEXEC);
    void *memory = fd < 0 ? MAP_FAILED
                          : mmap(NULL, sizeof(struct shared) + (size_t)RANKS * BYTES,
                                 PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct comm *comm = calloc(1, sizeof *comm);
    if (memory == MAP_FAILED || !comm || !gpu_call || !gpu_use)
        return SYSTEM_ERROR;
    close(fd);
    *comm = (struct comm){.all = memory, .rank = rank, .size = size, .random = (unsigned)rank + 1};
    atomic_fetch_add(&comm->all->connected, 1);
    while (atomic_load(&comm->all->connected) < size)
        usleep(200);
    *out = comm;
    return SUCCESS;
}

// Sums that were captured may outlive it: it is never freed.
int ncclCommAbort(struct comm *comm)
{
    comm->aborted = true;
    return SUCCESS;
}

int ncclCommDestroy(struct comm *comm)
{
    return ncclCommAbort(comm);
}

int ncclCommGetAsyncError(struct comm *comm, int *error)
{
    *error = comm->error;
    return SUCCESS;
}

// ---- sums ----

static void *numbers_of(const struct comm *comm, int rank)
{
    return (char *)(comm->all + 1) + (size_t)rank * BYTES;
}

static size_t bytes_of(const struct sum *sum)
{
    return (size_t)sum->count * (sum->type == 8 ? 8 : 4);
}

// In an order that changes along the numbers, as where pieces go round a ring.
static void add_up(const struct sum *sum)
{
    const struct comm *comm = sum->comm;
    for (long long i = 0; i < sum->count; i++) {
        int first = (int)(i / 64 % comm->size);
        double real = 0;
        float number = 0;
        for (int k = 0; k < comm->size; k++) {
            const void *from = numbers_of(comm, (first + k) % comm->size);
            if (sum->type == 8)
                real += ((const double *)from)[i];
            else
                number += ((const float *)from)[i];
        }
        if (sum->type == 8)
            ((double *)sum->values)[i] = real;
        else
            ((float *)sum->values)[i] = number;
    }
}

static int misuse(const char *what)
{
    fprintf(stderr, "stand-in for NCCL: %s\n", what);
    return 719;
}

static int begin(struct sum *sum)
{
    struct comm *comm = sum->comm;
    const char *delay = getenv("FAKE_NCCL_DELAY");
    if (sum->late < 0) {
        comm->random = comm->random * 1103515245u + 12345u;
        sum->late = delay ? (int)(comm->random >> 16) % (atoi(delay) + 1) : 0;
    }
    if (sum->late > 0) {
        sum->late--;
        return NOT_READY;
    }
    if (comm->busy)
        return misuse("two sums at once");
    for (int i = 0; i < comm->size; i++)
        if (atomic_load(&comm->all->ranks[i].done) < comm->sums)
            return NOT_READY;
    if (fails("sum", comm->rank, (int)comm->sums + 1))
        comm->error = REMOTE;
    if (comm->error)
        return NOT_READY;
    int code = gpu_use((uint64_t)(uintptr_t)sum->values, bytes_of(sum), false);
    if (code == 0)
        code = gpu_use((uint64_t)(uintptr_t)sum->values, bytes_of(sum), true);
    if (code != 0)
        return code;
    memcpy(numbers_of(comm, comm->rank), sum->values, bytes_of(sum));
    comm->all->ranks[comm->rank].count = sum->count;
    comm->all->ranks[comm->rank].type = sum->type;
    sum->number = ++comm->sums;
    comm->busy = true;
    atomic_store(&comm->all->ranks[comm->rank].ready, sum->number);
    return 0;
}

static int run_sum(void *sum_)
{
    struct sum *sum = sum_;
    struct comm *comm = sum->comm;
    int code = comm->aborted || sum->number ? 0 : begin(sum);
    if (code != 0)
        return code;
    for (int i = 0; !comm->aborted && i < comm->size; i++)
        if (atomic_load(&comm->all->ranks[i].ready) < sum->number)
            return NOT_READY;
    for (int i = 0; !comm->aborted && i < comm->size; i++)
        if (comm->all->ranks[i].count != sum->count || comm->all->ranks[i].type != sum->type)
            return misuse("ranks make different sums");
    if (!comm->aborted)
        add_up(sum);
    atomic_store(&comm->all->ranks[comm->rank].done, sum->number);
    sum->number = 0;
    sum->late = -1;
    comm->busy = false;
    return 0;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, struct comm *comm,
                  void *stream)
{
    if (fails("call", comm->rank, ++comm->calls))
        return INTERNAL_ERROR;
    if (from != to || op != 0 || (type != 7 && type != 8) || count * 8 > BYTES)
        return INVALID_ARGUMENT;
    struct sum *sum = calloc(1, sizeof *sum); // graphs have it until the process ends
    if (!sum)
        return SYSTEM_ERROR;
    *sum = (struct sum){
        .comm = comm, .values = to, .count = (long long)count, .type = type, .late = -1};
    return gpu_call(stream, run_sum, sum) == 0 ? SUCCESS : CUDA_ERROR;
}
