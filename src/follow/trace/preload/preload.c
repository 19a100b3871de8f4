// SPDX-License-Identifier: Apache-2.0
// preload: a library that stands before MPI's and gloo's functions in a command's processes and
// notes how long they take (follow/trace/exchanges.h).
//
// It is a guest: it prints nothing, never waits for fare, and does nothing if its folder is
// missing. It knows no MPI's types: all arguments are passed on as they came, in whole registers
// and words of the stack, which hold for int and pointer alike on the machines that fare runs on.
//
// Exchanges beside the training (gloo's threads in PyTorch, MPI's in Horovod) delay it only while
// the main thread waits for them: that is while it is in std::condition_variable::wait() and
// another thread is in an exchange.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "follow/trace/exchanges.h"
#include "follow/trace/inject/glibc.h"
#include "follow/trace/worker.h"

#define PUBLIC        __attribute__((visibility("default")))
#define FAILED        16 // MPI_ERR_OTHER of Open MPI
#define LOAD(member)  __atomic_load_n(&(member), __ATOMIC_ACQUIRE)
#define STORE(at, to) __atomic_store_n(&(at), to, __ATOMIC_RELEASE)

static struct exchanges_file *file; // null: none yet
static bool tried, locked;
static int in_main, in_others;
static bool blocked;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static __thread int thread; // 0: not known yet, 1: the main thread, 2: another one

static bool is_main(void)
{
    if (thread == 0)
        thread = syscall(SYS_gettid) == getpid() ? 1 : 2;
    return thread == 1;
}

// A forked child has the mapping too, and must not write there. If it makes calls, it is another
// process of the job.
static void in_child(void)
{
    file = NULL;
    tried = locked = blocked = false;
    in_main = in_others = thread = 0;
}

// ---- the file

static int make_file(const char *folder)
{
    char path[1024];
    int fd = -1;
    for (int i = 0; i < EXCHANGES_MOST && fd < 0; i++) {
        int n = snprintf(path, sizeof path, "%s/%d.exchanges", folder, i);
        if (n <= 0 || (size_t)n >= sizeof path)
            return -1;
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    return fd;
}

// With the first call: only processes that exchange something have a file. With the lock held.
static void begin(void)
{
    const char *folder = getenv(EXCHANGES_FOLDER);
    struct worker place;
    static bool listed; // with the first process of a family
    if (!listed)
        listed = pthread_atfork(NULL, NULL, in_child) == 0;
    STORE(tried, true);
    int fd = listed && folder && *folder == '/' ? make_file(folder) : -1;
    if (fd < 0)
        return;
    void *map = MAP_FAILED;
    if (posix_fallocate(fd, 0, sizeof *file) == 0)
        map = mmap(NULL, sizeof *file, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return;
    struct exchanges_file *made = map;
    bool found = worker_find(worker_own, NULL, &place);
    *made = (struct exchanges_file){.version = sizeof *made,
                                    .pid = (uint32_t)getpid(),
                                    .rank = found ? place.rank : -1,
                                    .size = found ? place.size : -1};
    STORE(made->magic, EXCHANGES_MAGIC);
    STORE(file, made);
}

// False if it cannot be had: nobody holds it for long.
static bool lock(void)
{
    for (int i = 0; i < 10000; i++) {
        if (!__atomic_test_and_set(&locked, __ATOMIC_ACQUIRE))
            return true;
        sched_yield();
    }
    return false;
}

static void unlock(void)
{
    __atomic_clear(&locked, __ATOMIC_RELEASE);
}

static void set(uint64_t *sum, uint64_t *since, bool on, uint64_t now)
{
    if (on && *since == 0)
        *since = now;
    if (!on && *since != 0) {
        *sum += now - *since;
        *since = 0;
    }
}

// After a change of the three variables; with the lock held.
static void note(void)
{
    uint64_t now = now_ns();
    STORE(file->turn, file->turn + 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    set(&file->all_ns, &file->all_since_ns, in_main + in_others > 0, now);
    set(&file->open_ns, &file->open_since_ns, in_main > 0 || (in_others > 0 && LOAD(blocked)), now);
    STORE(file->turn, file->turn + 1);
}

static void change(int by, enum exchanges_by what)
{
    bool main_thread = is_main();
    if ((LOAD(tried) && !LOAD(file)) || !lock())
        return;
    if (!tried)
        begin();
    if (file) {
        int *depth = main_thread ? &in_main : &in_others;
        STORE(*depth, *depth + by);
        file->by |= what;
        file->count += by < 0;
        file->other += by > 0 && !main_thread;
        file->waits += by > 0 && !main_thread && LOAD(blocked);
        note();
    }
    unlock();
}

// By the main thread alone.
static void set_blocked(bool now_blocked)
{
    STORE(blocked, now_blocked);
    if (LOAD(in_others) == 0 || !LOAD(file) || !lock())
        return;
    file->waits += now_blocked;
    note();
    unlock();
}

// A call ends where its variable goes, by an exception too.
static void leave(const int *what)
{
    change(-1, (enum exchanges_by) * what);
}

#define EXCHANGE(what)                                                                             \
    __attribute__((cleanup(leave), unused)) const int exchange = (what);                           \
    change(+1, what)

// ---- the functions themselves

// The library that calls us may have been opened for itself alone, and so what it would call.
static void *find_by_caller(const char *name, const void *caller)
{
    Dl_info info;
    void *found = NULL;
    if (dladdr(caller, &info) == 0 || !info.dli_fname)
        return NULL;
    void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library) {
        found = dlsym(library, name);
        dlclose(library); // it stays: it is being run
    }
    return found;
}

static void *preload_find(const char *name, const void *self, const void *caller)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found || found == self)
        found = find_by_caller(name, caller);
    return found == self ? NULL : found;
}

typedef intptr_t word;

// As many words as the longest of the functions takes: more than are needed do no harm.
typedef word passed(word, word, word, word, word, word, word, word, word, word, word, word);
#define WORDS                                                                                      \
    word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k, word l
#define PASS a, b, c, d, e, f, g, h, i, j, k, l

// MPI has each function by a second name, for libraries like this one.
#define MPI(name)                                                                                  \
    PUBLIC int MPI_##name(WORDS);                                                                  \
    int MPI_##name(WORDS)                                                                          \
    {                                                                                              \
        static passed *next;                                                                       \
        if (!LOAD(next))                                                                           \
            STORE(next, (passed *)preload_find("PMPI_" #name, NULL, __builtin_return_address(0))); \
        if (!LOAD(next))                                                                           \
            return FAILED;                                                                         \
        EXCHANGE(EXCHANGES_MPI);                                                                   \
        return (int)LOAD(next)(PASS);                                                              \
    }

MPI(Allreduce)
MPI(Reduce)
MPI(Reduce_scatter)
MPI(Reduce_scatter_block)
MPI(Bcast)
MPI(Allgather)
MPI(Allgatherv)
MPI(Gather)
MPI(Gatherv)
MPI(Scatter)
MPI(Scatterv)
MPI(Alltoall)
MPI(Alltoallv)
MPI(Alltoallw)
MPI(Scan)
MPI(Exscan)
MPI(Barrier)
MPI(Sendrecv)
MPI(Send)
MPI(Ssend)
MPI(Recv)
MPI(Probe)
MPI(Wait)
MPI(Waitall)
MPI(Waitany)
MPI(Waitsome)

// gloo's functions and the C++ library's wait, by their names in C++'s binary interface. They have
// one or two references as arguments and return nothing, but may throw.
#define CPLUSPLUS(function, symbol)                                                                \
    PUBLIC void function(word a, word b) __asm__(symbol);                                          \
    void function(word a, word b)

#define GLOO(name, symbol)                                                                         \
    CPLUSPLUS(gloo_##name, symbol)                                                                 \
    {                                                                                              \
        static void (*next)(word, word);                                                           \
        if (!LOAD(next))                                                                           \
            STORE(next, (void (*)(word, word))preload_find(symbol, (const void *)gloo_##name,      \
                                                           __builtin_return_address(0)));          \
        if (!LOAD(next))                                                                           \
            __builtin_trap(); /* it was found when it was bound to us */                           \
        EXCHANGE(EXCHANGES_GLOO);                                                                  \
        LOAD(next)(a, b);                                                                          \
    }

GLOO(allreduce, "_ZN4gloo9allreduceERKNS_16AllreduceOptionsE")
GLOO(allgather, "_ZN4gloo9allgatherERNS_16AllgatherOptionsE")
GLOO(allgatherv, "_ZN4gloo10allgathervERNS_17AllgathervOptionsE")
GLOO(alltoall, "_ZN4gloo8alltoallERNS_15AlltoallOptionsE")
GLOO(alltoallv, "_ZN4gloo9alltoallvERNS_16AlltoallvOptionsE")
GLOO(barrier, "_ZN4gloo7barrierERNS_14BarrierOptionsE")
GLOO(broadcast, "_ZN4gloo9broadcastERNS_16BroadcastOptionsE")
GLOO(gather, "_ZN4gloo6gatherERNS_13GatherOptionsE")
GLOO(gatherv, "_ZN4gloo7gathervERNS_14GathervOptionsE")
GLOO(reduce, "_ZN4gloo6reduceERNS_13ReduceOptionsE")
GLOO(scatter, "_ZN4gloo7scatterERNS_14ScatterOptionsE")

static void unblock(const int *unused)
{
    (void)unused;
    set_blocked(false);
}

#define WAIT "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
CPLUSPLUS(condition_wait, WAIT)
{
    static void (*next)(word, word);
    if (!LOAD(next))
        STORE(next, (void (*)(word, word))preload_find(WAIT, (const void *)condition_wait,
                                                       __builtin_return_address(0)));
    if (!LOAD(next))
        __builtin_trap();
    if (!is_main()) {
        LOAD(next)(a, b);
        return;
    }
    __attribute__((cleanup(unblock), unused)) const int waiting = 1;
    set_blocked(true);
    LOAD(next)(a, b);
}
