// SPDX-License-Identifier: Apache-2.0
// inject: the library that CUDA loads into the traced process (CUDA_INJECTION64_PATH). It turns on
// CUPTI's records of kernels, copies and memory sets and copies them into a ring
// (follow/trace/ring.h).
//
// It is a guest: it prints nothing, never waits for fare, allocates nothing after its start, and
// does nothing if anything is missing. CUPTI has one pair of buffer callbacks per process. A
// profiler that starts later (torch.profiler) registers its own, and ours are not called any more;
// so the records are turned off only right after one of our callbacks ran, and otherwise left
// alone.
#include "follow/trace/inject/cupti.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "follow/trace/inject/glibc.h"
#include "follow/trace/ring.h"
#include "follow/trace/worker.h"

enum { CUPTI_MULTIPLE_SUBSCRIBERS = 39, CUPTI_FLUSH_FORCED = 1 };

// Functions return 0 on success.
#define CUPTI_FUNCTIONS(X)                                                                         \
    X(cuptiGetVersion, (uint32_t * version))                                                       \
    X(cuptiGetTimestamp, (uint64_t * ns))                                                          \
    X(cuptiSubscribe, (void **subscriber, cupti_called *, void *data))                             \
    X(cuptiUnsubscribe, (void *subscriber))                                                        \
    X(cuptiEnableDomain, (uint32_t enable, void *subscriber, uint32_t domain))                     \
    X(cuptiFinalize, (void))                                                                       \
    X(cuptiActivityRegisterCallbacks, (cupti_requested *, cupti_completed *))                      \
    X(cuptiActivityEnable, (uint32_t kind))                                                        \
    X(cuptiActivityDisable, (uint32_t kind))                                                       \
    X(cuptiActivityGetNextRecord, (uint8_t * buffer, size_t valid, void **record))                 \
    X(cuptiActivityFlushAll, (uint32_t flag))

struct cupti {
#define X(name, arguments) int(*name) arguments;
    CUPTI_FUNCTIONS(X)
#undef X
};

// The process's own CUPTI first: the one that is loaded, one beside the CUDA libraries that are
// loaded (PyTorch's and JAX's wheels bring theirs), then the toolkit's.
static const char *const names[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8",
                                    "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so.11.5",
                                    "libcupti.so.11.4", "libcupti.so.11.3", "libcupti.so.11.2",
                                    "libcupti.so.11.1", "libcupti.so.11.0", "libcupti.so"};
static const char *const near[] = {"libcudart", "libtorch_cuda",   "libcublas",    "libcudnn",
                                   "libnccl",   "xla_cuda_plugin", "libtensorflow"};
static const char *const beside[] = {"",
                                     "/../extras/CUPTI/lib64",
                                     "/../../cuda_cupti/lib",
                                     "/../../nvidia/cu13/lib",
                                     "/../../nvidia/cuda_cupti/lib",
                                     "/../../../nvidia/cuda_cupti/lib",
                                     "/../nvidia/cu13/lib",
                                     "/../nvidia/cuda_cupti/lib"};
static const char *const toolkits[] = {
    "/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64",
    "/opt/cuda/extras/CUPTI/lib64",       "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",         "/usr/lib64"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void *open_in(const char *folder, size_t len, const char *below)
{
    char path[1024];
    void *handle = NULL;
    for (size_t i = 0; i < COUNT(names) && !handle; i++) {
        int n = snprintf(path, sizeof path, "%.*s%s/%s", (int)len, folder, below, names[i]);
        if (n > 0 && (size_t)n < sizeof path)
            handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
    return handle;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// dl_iterate_phdr() holds the loader's lock, so it only collects.
struct inject_found {
    char loaded[1024];     // a libcupti
    char folders[4][1024]; // of CUDA libraries
    size_t count;
};

static void keep_folder(struct inject_found *found, const char *path)
{
    size_t len = (size_t)(base_of(path) - path);
    if (len < 2 || len > sizeof found->folders[0] || found->count == COUNT(found->folders))
        return;
    len--; // the slash
    for (size_t i = 0; i < found->count; i++)
        if (strncmp(found->folders[i], path, len) == 0 && found->folders[i][len] == '\0')
            return;
    memcpy(found->folders[found->count], path, len);
    found->folders[found->count++][len] = '\0';
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    struct inject_found *found = context;
    const char *path = info->dlpi_name;
    (void)size;
    if (!path)
        return 0;
    const char *base = base_of(path);
    // Triton brings one of its own, perhaps of another CUDA version.
    if (strncmp(base, "libcupti.so", 11) == 0 && !strstr(path, "/triton/") && !found->loaded[0] &&
        strlen(path) < sizeof found->loaded)
        memcpy(found->loaded, path, strlen(path) + 1);
    for (size_t i = 0; i < COUNT(near); i++)
        if (strncmp(base, near[i], strlen(near[i])) == 0)
            keep_folder(found, path);
    return 0;
}

static void *open_any(void)
{
    struct inject_found found = {0};
    dl_iterate_phdr(look_at, &found);
    void *handle = NULL;
    if (found.loaded[0])
        handle = dlopen(found.loaded, RTLD_LAZY | RTLD_NOLOAD);
    for (size_t i = 0; i < COUNT(names) && !handle; i++)
        handle = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
    for (size_t f = 0; f < found.count && !handle; f++)
        for (size_t i = 0; i < COUNT(beside) && !handle; i++)
            handle = open_in(found.folders[f], strlen(found.folders[f]), beside[i]);
    for (size_t i = 0; i < COUNT(names) && !handle; i++)
        handle = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    for (size_t i = 0; i < COUNT(toolkits) && !handle; i++)
        handle = open_in(toolkits[i], strlen(toolkits[i]), "");
    return handle;
}

// False if there is none, or it lacks a function.
static bool cupti_find(struct cupti *cupti)
{
    void *handle = open_any();
    if (!handle)
        return false;
    struct {
        const char *name;
        void *to;
    } functions[] = {
#define X(name, arguments) {#name, &cupti->name},
        CUPTI_FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < COUNT(functions); i++) {
        void *symbol = dlsym(handle, functions[i].name);
        if (!symbol)
            return false;
        memcpy(functions[i].to, &symbol, sizeof symbol);
    }
    return true;
}

// ---- The ring

#define PUBLIC __attribute__((visibility("default")))

#define NS_PER_S   INT64_C(1000000000)
#define MAX_NS     (600 * NS_PER_S)
#define UNREAD_NS  (5 * NS_PER_S)
#define MAX_HEAD   (UINT64_C(1) << 26)
#define RECORD_LEN 216 // of a kernel in CUDA 13, to estimate lost records

enum {
    BUFFERS = 16,           // CUPTI 13 takes one per thread
    BUFFER_BYTES = 1 << 20, // some 5,000 kernels
    POINTERS = 8192,        // powers of two
    HASHES = 8192,
    POLL_MS = 50,
    PEEK_MS = 20,        // if a single record is wanted
    FLUSH_TRIES = 50,    // without an answer, one after the other,
    FLUSH_RARELY = 1000, // then one in this many
    IN_FLIGHT_MS = 100,  // for kernels that run when the records are turned off
    DETACH_MS = 1000,    // for the next call of a CUDA function
    GRAPHS_SINCE = 18,   // CUPTI's version: records name their graph, from CUDA 11.8 on
};

static const uint32_t kinds[] = {CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_MEMCPY,
                                 CUPTI_KIND_MEMSET};
enum { KINDS = sizeof kinds / sizeof *kinds };

static struct cupti cupti;
static struct trace_file *ring;
static pid_t owner; // a forked child has the mapping too, and must not write
static bool exiting;

// Set by each of our callbacks: CUPTI is ours.
static bool answered;
static bool graphs; // the program launches CUDA graphs

static _Alignas(64) uint8_t buffers[BUFFERS][BUFFER_BYTES];
static _Alignas(64) uint8_t discarded[BUFFER_BYTES]; // written by several threads, never read
static uint64_t free_buffers = (UINT64_C(1) << BUFFERS) - 1; // one bit each

static bool writing; // a lock
static struct {
    const char *name;
    uint32_t id;
} by_pointer[POINTERS];
static uint16_t by_hash[HASHES]; // an id; 0: free

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

#define LOAD(member)         __atomic_load_n(&(member), __ATOMIC_ACQUIRE)
#define STORE(member, value) __atomic_store_n(&(member), value, __ATOMIC_RELEASE)

// ---- names

static bool is_named(uint32_t id, const char *name)
{
    const struct trace_name *known = &ring->names[id];
    const char *text = ring->text + known->at;
    return strncmp(text, name, known->len) == 0 &&
           (known->len == TRACE_NAME_BYTES || name[known->len] == '\0');
}

static uint32_t add_name(const char *name, size_t len)
{
    struct trace_header *h = &ring->header;
    if (h->names == TRACE_NAMES || len > TRACE_TEXT_BYTES - h->text_used)
        return 0;
    ring->names[h->names] = (struct trace_name){h->text_used, (uint32_t)len};
    memcpy(ring->text + h->text_used, name, len);
    h->text_used += (uint32_t)len;
    STORE(h->names, h->names + 1);
    return h->names - 1;
}

static uint32_t find_by_hash(const char *name)
{
    uint32_t hash = 2166136261u;
    size_t len = 0;
    for (; len < TRACE_NAME_BYTES && name[len]; len++)
        hash = (hash ^ (uint8_t)name[len]) * 16777619u;
    for (uint32_t i = 0; i < HASHES; i++) {
        uint16_t *slot = &by_hash[(hash + i) % HASHES];
        if (*slot == 0)
            return *slot = (uint16_t)add_name(name, len);
        if (ring->names[*slot].len == len && is_named(*slot, name))
            return *slot;
    }
    return 0;
}

// CUPTI passes the same pointer for the same kernel; after its module was unloaded, perhaps for
// another one.
static uint32_t name_id(const char *name)
{
    if (!name || !*name)
        return 0;
    size_t at = ((uintptr_t)name >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 51; // 13 bits
    if (by_pointer[at].name != name || !is_named(by_pointer[at].id, name)) {
        by_pointer[at].id = find_by_hash(name);
        by_pointer[at].name = by_pointer[at].id ? name : NULL;
    }
    return by_pointer[at].id;
}

// ---- records

static uint32_t shorter(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static bool read_kernel(const struct cupti_kernel *k, struct trace_record *r)
{
    uint64_t blocks = 1;
    for (int i = 0; i < 3; i++)
        blocks *= k->grid[i] > 0 ? (uint64_t)k->grid[i] : 1;
    if (k->start == 0 || k->end < k->start)
        return false;
    if (ring->header.cupti >= GRAPHS_SINCE && k->graph != 0)
        STORE(graphs, true);
    *r = (struct trace_record){.start_ns = k->start,
                               .duration_ns = shorter(k->end - k->start),
                               .name = name_id(k->name),
                               .size = shorter(blocks),
                               .launch = (uint32_t)k->grid_id,
                               .stream = (uint16_t)k->stream,
                               .device = (uint8_t)k->device,
                               .kind = TRACE_KERNEL};
    return true;
}

static bool read_copy(const struct cupti_copy *c, struct trace_record *r)
{
    if (c->start == 0 || c->end < c->start)
        return false;
    *r = (struct trace_record){.start_ns = c->start,
                               .duration_ns = shorter(c->end - c->start),
                               .size = shorter(c->bytes / 1024 + (c->bytes % 1024 != 0)),
                               .stream = (uint16_t)c->stream,
                               .device = (uint8_t)c->device,
                               .kind = c->kind == CUPTI_KIND_MEMSET ? TRACE_SET
                                       : c->copy == CUPTI_COPY_HTOD ? TRACE_COPY_IN
                                       : c->copy == CUPTI_COPY_DTOH ? TRACE_COPY_OUT
                                                                    : TRACE_COPY_WITHIN};
    return true;
}

static bool read_record(const void *from, struct trace_record *r)
{
    uint32_t kind;
    memcpy(&kind, from, sizeof kind);
    if (kind == CUPTI_KIND_KERNEL || kind == CUPTI_KIND_CONCURRENT_KERNEL)
        return read_kernel(from, r);
    return (kind == CUPTI_KIND_MEMCPY || kind == CUPTI_KIND_MEMSET) && read_copy(from, r);
}

static void copy_records(uint8_t *buffer, size_t valid)
{
    struct trace_header *h = &ring->header;
    void *from = NULL;
    uint64_t head = h->head, tail = LOAD(h->tail), dropped = 0;
    while (cupti.cuptiActivityGetNextRecord(buffer, valid, &from) == 0) {
        struct trace_record r;
        if (!read_record(from, &r))
            continue;
        if (head - tail >= TRACE_RECORDS)
            dropped++;
        else
            ring->records[head++ % TRACE_RECORDS] = r;
    }
    STORE(h->head, head);
    STORE(h->dropped, h->dropped + dropped);
}

static bool lock_ring(void)
{
    for (int i = 0; i < 1000; i++) {
        if (!__atomic_test_and_set(&writing, __ATOMIC_ACQUIRE))
            return true;
        sched_yield();
    }
    return false;
}

static void inject_take(uint8_t *buffer, size_t valid)
{
    struct trace_header *h = &ring->header;
    if (!lock_ring()) {
        __atomic_add_fetch(&h->dropped, valid / RECORD_LEN, __ATOMIC_RELAXED);
        return;
    }
    if (buffer == discarded)
        STORE(h->dropped, h->dropped + valid / RECORD_LEN);
    else
        copy_records(buffer, valid);
    uint64_t cupti_ns = 0;
    if (cupti.cuptiGetTimestamp(&cupti_ns) == 0 && cupti_ns != 0) {
        h->cupti_ns = cupti_ns;
        h->clock_ns = (uint64_t)now_ns();
    }
    __atomic_clear(&writing, __ATOMIC_RELEASE);
}

// ---- CUPTI's callbacks, on its threads or the program's

// CUPTI before CUDA 12.9 may crash if it gets no buffer, so there is one to throw away.
static void requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    uint64_t set = LOAD(free_buffers);
    *size = BUFFER_BYTES;
    *max_records = 0; // no limit
    while (set != 0)
        if (__atomic_compare_exchange_n(&free_buffers, &set, set & (set - 1), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            *buffer = buffers[__builtin_ctzll(set)];
            return;
        }
    *buffer = discarded;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    uintptr_t at = (uintptr_t)buffer - (uintptr_t)buffers;
    bool ours = at < sizeof buffers;
    if (getpid() == owner && valid <= BUFFER_BYTES && (ours || buffer == discarded))
        inject_take(buffer, valid);
    if (ours)
        __atomic_or_fetch(&free_buffers, UINT64_C(1) << (at / BUFFER_BYTES), __ATOMIC_ACQ_REL);
    STORE(answered, true);
}

// ---- the keeper: a thread that turns the records on and off

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

// Another profiler that was there first holds the only subscription. Ours is given back at once,
// for one that starts later.
static bool is_taken(void)
{
    void *subscriber = NULL;
    int rc = cupti.cuptiSubscribe(&subscriber, NULL, NULL);
    if (rc == 0)
        cupti.cuptiUnsubscribe(subscriber);
    return rc == CUPTI_MULTIPLE_SUBSCRIBERS;
}

static void disable(int count)
{
    for (int i = 0; i < count; i++)
        cupti.cuptiActivityDisable(kinds[i]);
}

static enum trace_state begin(void)
{
    if (is_taken())
        return TRACE_OTHER;
    if (cupti.cuptiActivityRegisterCallbacks(requested, completed) != 0)
        return TRACE_FAILED;
    for (int i = 0; i < KINDS; i++)
        if (cupti.cuptiActivityEnable(kinds[i]) != 0) {
            disable(i);
            return TRACE_FAILED;
        }
    return TRACE_RECORDING;
}

// Detaching: after its records are off, CUPTI would still cost a program that waits for the host
// ten per cent or more. NVIDIA recommends to detach it where a CUDA function returns. Programs that
// launch graphs are left alone: detaching crashed some of them before CUDA 12.6, and graphs do not
// wait for the host.
static void *detacher;
static int detached; // 1: asked for, 2: under way, 3: done

static void on_return(void *data, uint32_t domain, uint32_t function, const uint32_t *site)
{
    int asked = 1;
    (void)data;
    (void)domain;
    (void)function;
    if (*site != CUPTI_SITE_EXIT ||
        !__atomic_compare_exchange_n(&detached, &asked, 2, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return;
    cupti.cuptiUnsubscribe(detacher);
    cupti.cuptiFinalize();
    STORE(detached, 3);
}

static void detach(void)
{
    if (LOAD(graphs) || ring->header.cupti < TRACE_DETACH_SINCE || LOAD(exiting) ||
        cupti.cuptiSubscribe(&detacher, on_return, NULL) != 0)
        return;
    STORE(detached, 1);
    cupti.cuptiEnableDomain(1, detacher, CUPTI_DOMAIN_RUNTIME);
    for (int ms = 0; ms < DETACH_MS && LOAD(detached) == 1; ms += POLL_MS)
        wait_ms(POLL_MS);
    int asked = 1;
    if (__atomic_compare_exchange_n(&detached, &asked, 0, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        cupti.cuptiUnsubscribe(detacher);
    while (LOAD(detached) == 2 && !LOAD(exiting))
        wait_ms(1);
}

// TRACE_RECORDING as long as it should go on.
static enum trace_state wish(uint64_t from, int64_t *read_ns, uint64_t *tail, int64_t until_ns)
{
    const struct trace_header *h = &ring->header;
    int64_t now = now_ns();
    uint64_t read = LOAD(h->tail);
    if (read != *tail || read == LOAD(h->head)) {
        *tail = read;
        *read_ns = now;
    }
    return LOAD(h->wanted) == 0                          ? TRACE_WAITING
           : LOAD(h->head) - from >= LOAD(h->wanted)     ? TRACE_ENOUGH
           : now > until_ns || LOAD(h->head) >= MAX_HEAD ? TRACE_LIMIT
           : now - *read_ns > UNREAD_NS                  ? TRACE_UNREAD
                                                         : TRACE_RECORDING;
}

// Delivers complete records: often, so that it ends in time. If nothing comes back several times,
// the GPU is idle, or a profiler has replaced our callbacks: flushing often would disturb that one.
static bool flush(int *tries)
{
    if (++*tries <= FLUSH_TRIES || *tries % FLUSH_RARELY == 0) {
        STORE(answered, false);
        cupti.cuptiActivityFlushAll(0);
    }
    if (LOAD(answered))
        *tries = 0;
    return *tries == 0;
}

static enum trace_state record(int64_t *left_ns)
{
    int64_t start = now_ns(), read_ns = start;
    uint64_t tail = 0, from = LOAD(ring->header.head);
    int tries = 0;
    enum trace_state state;
    while ((state = wish(from, &read_ns, &tail, start + *left_ns)) == TRACE_RECORDING) {
        wait_ms(LOAD(ring->header.wanted) == 1 ? PEEK_MS : POLL_MS);
        if (LOAD(exiting))
            return TRACE_WAITING;
        flush(&tries);
    }
    for (tries = 0; !flush(&tries);) {
        wait_ms(POLL_MS);
        if (LOAD(exiting))
            return TRACE_WAITING;
    }
    disable(KINDS);
    wait_ms(IN_FLIGHT_MS);
    if (!LOAD(exiting)) // so that none of our buffers is left for another profiler
        cupti.cuptiActivityFlushAll(CUPTI_FLUSH_FORCED);
    detach();
    *left_ns -= now_ns() - start;
    return state;
}

static void *keep(void *unused)
{
    int64_t left_ns = MAX_NS;
    (void)unused;
    for (enum trace_state state = TRACE_WAITING; state <= TRACE_ENOUGH && !LOAD(exiting);) {
        wait_ms(POLL_MS);
        if (LOAD(ring->header.wanted) == 0)
            state = TRACE_WAITING;
        else if (state != TRACE_ENOUGH)
            state = begin();
        STORE(ring->header.state, state);
        if (state == TRACE_RECORDING)
            state = record(&left_ns);
        STORE(ring->header.state, state);
    }
    return NULL;
}

static bool start_keeper(void)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    // The program's signals are for its own threads.
    if (sigprocmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    bool started = pthread_create(&thread, NULL, keep, NULL) == 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

// ---- start and end

// The space is reserved first: a mapping without it would end the program by a signal.
static struct trace_file *make_ring(const char *folder)
{
    char path[1024];
    int fd = -1;
    for (int i = 0; i < TRACE_RINGS && fd < 0; i++) {
        int n = snprintf(path, sizeof path, "%s/%d.ring", folder, i);
        if (n <= 0 || (size_t)n >= sizeof path)
            return NULL;
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    if (fd < 0)
        return NULL;
    void *map = MAP_FAILED;
    if (posix_fallocate(fd, 0, sizeof(struct trace_file)) == 0)
        map = mmap(NULL, sizeof(struct trace_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return map == MAP_FAILED ? NULL : map;
}

static enum trace_state start(void)
{
    if (!cupti_find(&cupti))
        return TRACE_NO_CUPTI;
    cupti.cuptiGetVersion(&ring->header.cupti);
    return start_keeper() ? TRACE_WAITING : TRACE_FAILED;
}

// CUDA calls this once, from cuInit(). Always 1: a failure is no business of the program's.
PUBLIC int InitializeInjection(void);
int InitializeInjection(void)
{
    static bool called;
    const char *folder = getenv(TRACE_FOLDER);
    if (__atomic_test_and_set(&called, __ATOMIC_ACQ_REL) || !folder || *folder != '/')
        return 1;
    struct trace_file *file = make_ring(folder);
    if (!file)
        return 1;
    struct worker place;
    bool placed = worker_find(worker_own, NULL, &place);
    owner = getpid();
    file->header = (struct trace_header){.version = sizeof *file,
                                         .rank = placed ? place.rank : -1,
                                         .size = placed ? place.size : -1,
                                         .pid = (uint32_t)owner,
                                         .names = 1,
                                         .clock_ns = (uint64_t)now_ns()};
    ring = file;
    enum trace_state state = start();
    if (state != TRACE_WAITING)
        STORE(file->header.state, state);
    STORE(file->header.magic, TRACE_MAGIC);
    return 1;
}

__attribute__((destructor)) static void end(void)
{
    STORE(exiting, true);
    if (ring && getpid() == owner)
        STORE(ring->header.ended_ns, (uint64_t)now_ns());
}
