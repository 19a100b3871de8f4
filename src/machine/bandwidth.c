// SPDX-License-Identifier: Apache-2.0
#include "machine/bandwidth.h"

#include <emmintrin.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "machine/libcuda.h"
#include "machine/nvml.h"
#include "machine/pci.h"
#include "machine/probe.h"

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

enum pass { PASS_TOUCH, PASS_READ, PASS_WRITE, PASS_COPY, PASS_END };

struct copy_job {
    char *from, *to;
    size_t bytes; // of each
    enum pass pass;
    int threads;
    pthread_mutex_t gate; // held until all threads are started and counted
    pthread_barrier_t barrier;
};

struct copy_worker {
    pthread_t thread;
    struct copy_job *job;
    int index;
    int64_t began_ns, ended_ns;
    uint64_t sum; // keeps the compiler from dropping the reads
};

enum { STEP = 64 }; // bytes per loop round: a cache line

static uint64_t read_bytes(const char *from, size_t bytes)
{
    __m128i a = _mm_setzero_si128(), b = a, c = a, d = a;
    for (const char *end = from + bytes; from < end; from += STEP) {
        const __m128i *p = (const __m128i *)(const void *)from;
        a = _mm_xor_si128(a, _mm_load_si128(p));
        b = _mm_xor_si128(b, _mm_load_si128(p + 1));
        c = _mm_xor_si128(c, _mm_load_si128(p + 2));
        d = _mm_xor_si128(d, _mm_load_si128(p + 3));
    }
    a = _mm_xor_si128(_mm_xor_si128(a, b), _mm_xor_si128(c, d));
    return (uint64_t)_mm_cvtsi128_si64(a);
}

static void write_bytes(char *to, size_t bytes)
{
    const __m128i v = _mm_set1_epi8(0x5A);
    for (const char *end = to + bytes; to < end; to += STEP) {
        __m128i *p = (__m128i *)(void *)to;
        _mm_stream_si128(p, v);
        _mm_stream_si128(p + 1, v);
        _mm_stream_si128(p + 2, v);
        _mm_stream_si128(p + 3, v);
    }
    _mm_sfence();
}

static void copy_bytes(char *to, const char *from, size_t bytes)
{
    for (const char *end = from + bytes; from < end; from += STEP, to += STEP) {
        const __m128i *s = (const __m128i *)(const void *)from;
        __m128i *p = (__m128i *)(void *)to;
        __m128i a = _mm_load_si128(s), b = _mm_load_si128(s + 1);
        __m128i c = _mm_load_si128(s + 2), d = _mm_load_si128(s + 3);
        _mm_stream_si128(p, a);
        _mm_stream_si128(p + 1, b);
        _mm_stream_si128(p + 2, c);
        _mm_stream_si128(p + 3, d);
    }
    _mm_sfence();
}

// Each thread touches its part first, so that it lies in the thread's NUMA node.
static void *work(void *worker_)
{
    struct copy_worker *worker = worker_;
    struct copy_job *job = worker->job;
    pthread_mutex_lock(&job->gate);
    pthread_mutex_unlock(&job->gate);
    size_t part = job->bytes / (size_t)job->threads / STEP * STEP;
    char *from = job->from + part * (size_t)worker->index;
    char *to = job->to + part * (size_t)worker->index;
    for (;;) {
        pthread_barrier_wait(&job->barrier);
        if (job->pass == PASS_END)
            return NULL;
        worker->began_ns = clock_now_ns();
        switch (job->pass) {
        case PASS_TOUCH:
            memset(from, 1, part);
            memset(to, 2, part);
            break;
        case PASS_READ:
            worker->sum += read_bytes(from, part);
            break;
        case PASS_WRITE:
            write_bytes(to, part);
            break;
        case PASS_COPY:
            copy_bytes(to, from, part);
            break;
        case PASS_END:
            break;
        }
        worker->ended_ns = clock_now_ns();
        pthread_barrier_wait(&job->barrier);
    }
}

// Measures from the first thread's start to the last one's end; this thread may be late.
static int64_t run_pass(struct copy_job *job, const struct copy_worker *workers, enum pass pass)
{
    job->pass = pass;
    pthread_barrier_wait(&job->barrier);
    if (pass == PASS_END)
        return 0;
    pthread_barrier_wait(&job->barrier);
    int64_t began = workers[0].began_ns, ended = workers[0].ended_ns;
    for (int i = 1; i < job->threads; i++) {
        began = workers[i].began_ns < began ? workers[i].began_ns : began;
        ended = workers[i].ended_ns > ended ? workers[i].ended_ns : ended;
    }
    return ended > began ? ended - began : 1;
}

static struct maybe_real best_rate(struct copy_job *job, const struct copy_worker *workers,
                                   enum pass pass, int moves)
{
    const int64_t stop_ns = clock_now_ns() + 250 * NS_PER_MS;
    int64_t best_ns = INT64_MAX;
    for (int n = 0; n < 4 || (n < 200 && clock_now_ns() < stop_ns); n++) {
        int64_t ns = run_pass(job, workers, pass);
        best_ns = ns < best_ns ? ns : best_ns;
    }
    size_t part = job->bytes / (size_t)job->threads / STEP * STEP;
    double bytes = (double)part * job->threads * moves;
    return some_real(bytes / ((double)best_ns / 1e9));
}

// Starts up to `wanted` threads. If they fill all CPUs this process may use, each is pinned to one.
static void start_workers(struct copy_job *job, struct copy_worker *workers, int wanted)
{
    cpu_set_t allowed;
    bool pin = sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) == wanted;
    int cpu = -1;
    for (int i = 0; i < wanted; i++) {
        struct copy_worker *worker = &workers[job->threads];
        *worker = (struct copy_worker){.job = job, .index = job->threads};
        if (pthread_create(&worker->thread, NULL, work, worker) != 0)
            break;
        job->threads++;
        if (!pin)
            continue;
        do
            cpu++;
        while (!CPU_ISSET(cpu, &allowed));
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(cpu, &only);
        pthread_setaffinity_np(worker->thread, sizeof only, &only); // best effort
    }
}

static int measure_memory(struct copy_job *job, int wanted, struct machine_bandwidth *out,
                          struct err *err)
{
    SCOPED(free_pointer) struct copy_worker *workers = calloc((size_t)wanted, sizeof *workers);
    if (!workers)
        return err_memory(err);
    pthread_mutex_init(&job->gate, NULL);
    pthread_mutex_lock(&job->gate);
    start_workers(job, workers, wanted);
    pthread_barrier_init(&job->barrier, NULL, (unsigned)job->threads + 1);
    pthread_mutex_unlock(&job->gate);
    if (job->threads > 0) {
        run_pass(job, workers, PASS_TOUCH);
        out->memory_threads = some_int(job->threads);
        out->memory_read_bytes_per_s = best_rate(job, workers, PASS_READ, 1);
        out->memory_write_bytes_per_s = best_rate(job, workers, PASS_WRITE, 1);
        out->memory_copy_bytes_per_s = best_rate(job, workers, PASS_COPY, 2);
        out->memory_copy_bytes = some_int((int64_t)job->bytes);
        run_pass(job, workers, PASS_END);
    }
    for (int i = 0; i < job->threads; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&job->barrier);
    pthread_mutex_destroy(&job->gate);
    return 0;
}

// Sum of all last-level caches.
static int64_t last_level_bytes(const struct machine_cpu *cpu)
{
    int64_t level = 0, bytes = 0;
    for (size_t i = 0; i < cpu->caches.count; i++) {
        const struct machine_cache *c = &cpu->caches.items[i];
        if (c->level.v > level) {
            level = c->level.v;
            bytes = 0;
        }
        if (c->level.v == level)
            bytes += c->size_bytes.v * c->count.v;
    }
    return bytes;
}

// Size of each of the two buffers: four times the caches (STREAM's rule), limited for huge caches,
// and at most a sixteenth of the memory. 0: too little to measure.
static int64_t buffer_bytes(const struct machine *machine)
{
    int64_t caches = last_level_bytes(&machine->cpu);
    int64_t bytes = 4 * caches > 128 * MIB ? 4 * caches : 128 * MIB;
    if (bytes > 2 * GIB)
        bytes = 2 * caches > 2 * GIB ? 2 * caches : 2 * GIB;
    const struct machine_memory *memory = &machine->memory;
    struct maybe_int usable =
        memory->available_bytes.known ? memory->available_bytes : memory->total_bytes;
    if (memory->limit_bytes.known && (!usable.known || memory->limit_bytes.v < usable.v))
        usable = memory->limit_bytes;
    if (usable.known && bytes > usable.v / 16)
        bytes = usable.v / 16;
    bytes -= bytes % (2 * MIB);
    return bytes > 0 && bytes >= 2 * caches ? bytes : 0;
}

int memory_bandwidth(const struct machine *machine, struct machine_bandwidth *out, struct err *err)
{
    int64_t bytes = buffer_bytes(machine);
    double cpus = machine->cpu.usable_cpus.known ? machine->cpu.usable_cpus.v : 1;
    int wanted = cpus < 1 ? 1 : cpus > 4096 ? 4096 : (int)cpus;
    if (bytes == 0)
        return 0;
    size_t both = (size_t)bytes * 2;
    char *memory = mmap(NULL, both, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return err_memory(err);
    madvise(memory, both, MADV_HUGEPAGE); // measure memory, not page tables
    struct copy_job job = {.from = memory, .to = memory + bytes, .bytes = (size_t)bytes};
    int rc = measure_memory(&job, wanted, out, err);
    munmap(memory, both);
    return rc;
}

#define FILE_MAX       (256 * MIB)
#define BLOCK          (8 * MIB)
#define PHASE_LIMIT_NS NS_PER_S // each for writing and reading

struct disk {
    int fd;
    char *block;   // (BLOCK)
    int64_t bytes; // whole blocks
    int64_t written;
    bool direct;
};

// Opens an unnamed file, or unlinks a named one at once.
static int open_nameless(const char *folder, struct err *err)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    SCOPED(buf_release) struct buf path = {0};
    buf_printf(&path, "%s/.fare-bandwidth-XXXXXX", folder);
    if (buf_check(&path, err) == 0) {
        fd = mkostemp(path.data, O_CLOEXEC);
        if (fd >= 0)
            unlink(path.data);
        else
            err_errno(err, errno, "cannot create a file in '%s'", folder);
    }
    return fd;
}

static int64_t test_file_bytes(int fd)
{
    struct statvfs st;
    struct rlimit limit;
    int64_t bytes = FILE_MAX;
    if (fstatvfs(fd, &st) == 0 && st.f_blocks > 0) {
        int64_t tenth = (int64_t)(st.f_bavail * st.f_frsize / 10);
        bytes = tenth < bytes ? tenth : bytes;
    }
    // Writing past this limit would kill the program (SIGXFSZ).
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < (rlim_t)bytes)
        bytes = (int64_t)limit.rlim_cur;
    return bytes - bytes % BLOCK;
}

static void set_direct(struct disk *disk, bool on)
{
    int flags = fcntl(disk->fd, F_GETFL);
    disk->direct = fcntl(disk->fd, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0 && on;
}

// Data that a disk can neither compress nor deduplicate.
static void fill_block(struct disk *disk, uint64_t number)
{
    uint64_t x = number * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (int64_t at = 0; at < BLOCK; at += 8) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy(disk->block + at, &x, sizeof x);
    }
}

static void number_block(struct disk *disk, uint64_t number)
{
    for (int64_t at = 0; at < BLOCK; at += 4096)
        memcpy(disk->block + at, &number, sizeof number);
}

static bool write_block(struct disk *disk)
{
    for (int64_t at = 0; at < BLOCK;) {
        ssize_t put = pwrite(disk->fd, disk->block + at, (size_t)(BLOCK - at), disk->written + at);
        // Some file systems accept O_DIRECT and then refuse the write.
        if (put < 0 && errno == EINVAL && disk->direct && disk->written == 0) {
            set_direct(disk, false);
            continue;
        }
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
    }
    // Otherwise the page cache would be measured, and flushed for minutes at the end.
    return disk->direct || fdatasync(disk->fd) == 0;
}

static int write_file(struct disk *disk, struct machine_bandwidth *out, struct err *err)
{
    int64_t began = clock_now_ns();
    while (disk->written < disk->bytes && clock_now_ns() - began < PHASE_LIMIT_NS) {
        number_block(disk, (uint64_t)disk->written);
        if (!write_block(disk))
            return err_errno(err, errno, "cannot write a file of %lld MiB",
                             (long long)(disk->bytes / MIB));
        disk->written += BLOCK;
    }
    if (fdatasync(disk->fd) != 0)
        return err_errno(err, errno, "cannot flush a file to the disk");
    double seconds = (double)(clock_now_ns() - began) / 1e9;
    out->disk_write_bytes_per_s = some_real((double)disk->written / seconds);
    return 0;
}

static int read_file(struct disk *disk, struct machine_bandwidth *out, struct err *err)
{
    if (!disk->direct)
        posix_fadvise(disk->fd, 0, 0, POSIX_FADV_DONTNEED);
    int64_t began = clock_now_ns(), got = 0;
    while (got < disk->written && clock_now_ns() - began < PHASE_LIMIT_NS) {
        ssize_t n = pread(disk->fd, disk->block, (size_t)BLOCK, got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_errno(err, n < 0 ? errno : EIO, "cannot read a file back");
        got += n;
    }
    double seconds = (double)(clock_now_ns() - began) / 1e9;
    out->disk_read_bytes_per_s = some_real((double)got / seconds);
    return 0;
}

static int measure_disk(struct disk *disk, struct machine_bandwidth *out, struct err *err)
{
    disk->bytes = test_file_bytes(disk->fd);
    if (disk->bytes < BLOCK)
        return err_set(err, ERR_IO, "less than %lld MiB free", (long long)(10 * BLOCK / MIB));
    disk->block = aligned_alloc(4096, (size_t)BLOCK);
    if (!disk->block)
        return err_memory(err);
    fill_block(disk, (uint64_t)clock_now_ns());
    set_direct(disk, true);
    TRY(write_file(disk, out, err));
    TRY(read_file(disk, out, err));
    return text_set(&out->disk_method, disk->direct ? "direct" : "fsync", err);
}

int disk_bandwidth(const char *folder, struct machine_bandwidth *out, struct err *err)
{
    struct err problem = {0};
    struct disk disk = {.fd = open_nameless(folder, &problem)};
    int rc = disk.fd >= 0 ? measure_disk(&disk, out, &problem) : problem.code;
    if (disk.fd >= 0)
        close(disk.fd);
    free(disk.block);
    if (rc == ERR_MEMORY)
        return err_memory(err);
    return rc == 0 ? 0 : text_set(&out->disk_problem, problem.text, err);
}

// ==== bandwidth_cuda ====

#define COPY_BYTES  ((size_t)256 << 20)
#define FIRST_BYTES ((size_t)16 << 20) // the first copy shows whether the link is slow
#define LEAST_BYTES ((size_t)1 << 20)
#define PASS_NS_MAX (100 * NS_PER_MS)
#define PASSES      5
#define COPIES      16 // in a row: one of 256 MiB takes little longer than its launch

struct bench {
    const struct libcuda *api;
    struct nvml *nvml; // null where it does not answer
    size_t most;       // bytes that the machine's memory allows for
    int device;
    uint64_t on_device;
    size_t bytes; // held on the device
    int failed;   // the first failure
    const char *failed_call;
};

static bool called(struct bench *b, const char *call, int code)
{
    if (code != 0 && !b->failed_call) {
        b->failed = code;
        b->failed_call = call;
    }
    return code == 0;
}
#define CALL(b, call, ...) called((b), #call, (b)->api->call(__VA_ARGS__))

static int problem_set(const struct bench *b, char **problem, struct err *err)
{
    if (!b->failed_call)
        return 0;
    const char *name = NULL;
    char words[160];
    if (!b->api->cuGetErrorName || b->api->cuGetErrorName(b->failed, &name) != 0 || !name)
        snprintf(words, sizeof words, "%s: error %d", b->failed_call, b->failed);
    else
        snprintf(words, sizeof words, "%s: %s", b->failed_call, name);
    return text_set(problem, words, err);
}

// A copy from pageable memory may return before its last piece has arrived, so the clock stops
// after a synchronisation.
static bool pass(struct bench *b, void *host, bool to_device, size_t bytes, int64_t *ns)
{
    int64_t start = clock_now_ns();
    bool ok = to_device ? CALL(b, cuMemcpyHtoD_v2, b->on_device, host, bytes)
                        : CALL(b, cuMemcpyDtoH_v2, host, b->on_device, bytes);
    ok = ok && CALL(b, cuCtxSynchronize);
    *ns = clock_now_ns() - start;
    if (*ns < 1)
        *ns = 1;
    return ok;
}

static bool measure(struct bench *b, void *host, size_t bytes, bool to_device,
                    struct maybe_real *rate)
{
    size_t first = bytes < FIRST_BYTES ? bytes : FIRST_BYTES;
    int64_t ns, best = INT64_MAX;
    if (!pass(b, host, to_device, first, &ns))
        return false;
    double allowed = (double)first / (double)ns * (double)PASS_NS_MAX;
    if (allowed < (double)bytes)
        bytes = allowed > (double)first ? (size_t)allowed : first;
    for (int i = 0; i <= PASSES; i++) {
        if (!pass(b, host, to_device, bytes, &ns))
            return false;
        if (i > 0 && ns < best)
            best = ns;
    }
    *rate = some_real((double)bytes / ((double)best / (double)NS_PER_S));
    return true;
}

// Queues several copies so that the link is still busy when NVML is asked.
static void link_read(struct bench *b, const char *address, const void *host, size_t bytes,
                      struct machine_gpu_bandwidth *row)
{
    if (!b->nvml || !b->api->cuMemcpyHtoDAsync_v2)
        return;
    bool ok = true;
    for (int i = 0; ok && i < 4; i++)
        ok = CALL(b, cuMemcpyHtoDAsync_v2, b->on_device, host, bytes, NULL);
    if (ok)
        nvml_read_link(b->nvml, address, &row->pcie_generation_loaded, &row->pcie_width_loaded);
    CALL(b, cuCtxSynchronize);
}

static void measure_pinned(struct bench *b, const char *address, struct machine_gpu_bandwidth *row)
{
    void *host = NULL;
    size_t bytes = b->bytes;
    int code;
    while ((code = b->api->cuMemHostAlloc(&host, bytes, 0)) == CUDA_OUT_OF_MEMORY &&
           bytes / 2 >= LEAST_BYTES)
        bytes /= 2;
    if (!called(b, "cuMemHostAlloc", code))
        return;
    memset(host, 0x5a, bytes);
    if (measure(b, host, bytes, true, &row->to_device_pinned_bytes_per_s) &&
        measure(b, host, bytes, false, &row->from_device_pinned_bytes_per_s))
        link_read(b, address, host, bytes, row);
    CALL(b, cuMemFreeHost, host);
}

static int measure_pageable(struct bench *b, struct machine_gpu_bandwidth *row, struct err *err)
{
    void *host = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (host == MAP_FAILED)
        return err_memory(err);
    memset(host, 0x5a, b->bytes); // touch every page before the clock starts
    if (measure(b, host, b->bytes, true, &row->to_device_pageable_bytes_per_s))
        (void)measure(b, host, b->bytes, false, &row->from_device_pageable_bytes_per_s);
    munmap(host, b->bytes);
    return 0;
}

static bool device_alloc(struct bench *b)
{
    size_t left = 0, total = 0;
    if (!CALL(b, cuMemGetInfo_v2, &left, &total))
        return false;
    b->bytes = b->most;
    while (b->bytes > left / 2 && b->bytes / 2 >= LEAST_BYTES)
        b->bytes /= 2;
    int code;
    while ((code = b->api->cuMemAlloc_v2(&b->on_device, b->bytes)) == CUDA_OUT_OF_MEMORY &&
           b->bytes / 2 >= LEAST_BYTES)
        b->bytes /= 2;
    return called(b, "cuMemAlloc_v2", code);
}

// Both buffers on the device, and larger than its cache. Their size does not depend on the host's
// memory.
static void measure_copy(struct bench *b, struct machine_gpu_bandwidth *row)
{
    size_t left = 0, total = 0, bytes = COPY_BYTES;
    uint64_t from = 0, to = 0;
    if (!b->api->cuMemcpyDtoDAsync_v2 || !CALL(b, cuMemGetInfo_v2, &left, &total))
        return;
    while (bytes > left / 4 && bytes / 2 >= LEAST_BYTES)
        bytes /= 2;
    bool have_from = CALL(b, cuMemAlloc_v2, &from, bytes);
    bool have_to = have_from && CALL(b, cuMemAlloc_v2, &to, bytes), ok = have_to;
    int64_t best = INT64_MAX;
    for (int i = 0; ok && i <= PASSES; i++) {
        int64_t start = clock_now_ns();
        for (int k = 0; ok && k < COPIES; k++)
            ok = CALL(b, cuMemcpyDtoDAsync_v2, to, from, bytes, NULL);
        ok = ok && CALL(b, cuCtxSynchronize);
        int64_t ns = clock_now_ns() - start;
        if (i > 0 && ns > 0 && ns < best) // the first raises the clocks
            best = ns;
    }
    if (ok && best < INT64_MAX) {
        row->device_copy_bytes_per_s =
            some_real(2.0 * COPIES * (double)bytes / ((double)best / (double)NS_PER_S));
        row->device_copy_bytes = some_int((int64_t)bytes);
    }
    if (have_to)
        CALL(b, cuMemFree_v2, to);
    if (have_from)
        CALL(b, cuMemFree_v2, from);
}

static int gpu_measure(struct bench *b, int index, struct machine_gpu_bandwidth *row,
                       struct err *err)
{
    char text[257] = "", address[PCI_ADDRESS_BYTES] = "";
    void *context = NULL;
    int rc = 0;
    row->index = some_int(index);
    if (!CALL(b, cuDeviceGet, &b->device, index))
        goto out;
    if (CALL(b, cuDeviceGetName, text, 256, b->device))
        rc = text_set(&row->name, text, err);
    memset(text, 0, sizeof text);
    if (CALL(b, cuDeviceGetPCIBusId, text, 32, b->device))
        pci_address_normalise(text, address);
    if (rc == 0)
        rc = text_set(&row->pci_address, address, err);
    if (rc != 0 || !CALL(b, cuDevicePrimaryCtxRetain, &context, b->device))
        goto out;
    if (CALL(b, cuCtxSetCurrent, context) && device_alloc(b)) {
        measure_pinned(b, address, row);
        rc = measure_pageable(b, row, err);
        CALL(b, cuMemFree_v2, b->on_device);
        measure_copy(b, row);
    }
    CALL(b, cuCtxSetCurrent, NULL);
    if (b->api->cuDevicePrimaryCtxRelease_v2)
        CALL(b, cuDevicePrimaryCtxRelease_v2, b->device);
    else if (b->api->cuDevicePrimaryCtxRelease)
        CALL(b, cuDevicePrimaryCtxRelease, b->device);
out:
    return rc != 0 ? rc : problem_set(b, &row->problem, err);
}

// At most an eighth of the free memory and of the cgroup's limit, so that nothing is pushed out.
static size_t bytes_allowed(const struct machine_memory *memory)
{
    const struct maybe_int limits[] = {memory->available_bytes, memory->usable_bytes};
    size_t bytes = COPY_BYTES;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        while (limits[i].known && (int64_t)bytes > limits[i].v / 8 && bytes / 2 >= LEAST_BYTES)
            bytes /= 2;
    return bytes;
}

static bool has_nvidia(const struct machine *machine)
{
    for (size_t i = 0; i < machine->gpus.count; i++)
        if (machine->gpus.items[i].vendor && strcmp(machine->gpus.items[i].vendor, "nvidia") == 0)
            return true;
    return false;
}

static int gpus_measure(const struct libcuda *api, struct nvml *nvml, struct machine *machine,
                        struct err *err)
{
    struct bench start = {.api = api, .nvml = nvml, .most = bytes_allowed(&machine->memory)};
    int count = 0;
    int code = api->cuInit(0);
    if (code == CUDA_NO_DEVICE || code == CUDA_STUB_LIBRARY)
        return 0;
    if (!called(&start, "cuInit", code) || !CALL(&start, cuDeviceGetCount, &count)) {
        // Report a driver that does not start only if there is a GPU for it.
        struct machine_gpu_bandwidth *row =
            has_nvidia(machine) ? LIST_ADD(&machine->bandwidth.gpus, err) : NULL;
        if (row)
            return problem_set(&start, &row->problem, err);
        return has_nvidia(machine) ? ERR_MEMORY : 0;
    }
    for (int i = 0; i < count; i++) {
        struct bench b = start;
        struct machine_gpu_bandwidth *row = LIST_ADD(&machine->bandwidth.gpus, err);
        if (!row)
            return ERR_MEMORY;
        TRY(gpu_measure(&b, i, row, err));
    }
    return 0;
}

int cuda_bandwidth(struct probe *probe, struct machine *machine, struct err *err)
{
    struct dl_spec spec = libcuda_spec;
    spec.user = LIBCUDA_COPY;
    if (probe->tree.root[0] != '\0' && !getenv(spec.variable))
        return 0;
    struct libcuda api = {0};
    struct dl dl = {0}; // never closed: the driver has threads of its own that outlive a call
    struct err why = {0};
    if (dl_open(&dl, &spec, &api, &why) != 0)
        return why.code == ERR_MEMORY ? err_memory(err) : 0;
    struct nvml nvml;
    bool watched = nvml_open(&nvml, &probe->tree, NULL) == 0;
    int rc = gpus_measure(&api, watched ? &nvml : NULL, machine, err);
    nvml_close(&nvml);
    return rc;
}

// ==== bandwidth ====
// check --bandwidth: measures memory, disk and the link to each GPU. A recorded machine has no
// memory or disk to measure.

#define CUDA_LIMIT_MS 120000 // eight GPUs without persistence mode take 30 s to start

// The driver may hang or crash, so it runs in a process of its own.
static int gpus_isolated(struct probe *probe, struct machine *machine, struct err *err)
{
    SCOPED(machine_release) struct machine got = {0};
    SCOPED(buf_release) struct buf how = {0};
    struct machine_bandwidth *band = &machine->bandwidth;
    TRY(probe_isolated(probe, machine, cuda_bandwidth, CUDA_LIMIT_MS, &got, &how, err));
    if (how.len > 0) {
        struct machine_gpu_bandwidth *row = LIST_ADD(&band->gpus, err);
        TRY(row ? text_set(&row->problem, buf_str(&how), err) : ERR_MEMORY);
    } else {
        band->gpus = got.bandwidth.gpus;
        memset(&got.bandwidth.gpus, 0, sizeof got.bandwidth.gpus);
    }
    return 0;
}

int probe_bandwidth(struct probe *probe, struct machine *machine, struct err *err)
{
    bool recorded = *probe->tree.root != '\0';
    if (!recorded)
        TRY(memory_bandwidth(machine, &machine->bandwidth, err));
    if (!recorded && probe->folder)
        TRY(disk_bandwidth(probe->folder, &machine->bandwidth, err));
    else if (!recorded)
        TRY(text_set(&machine->bandwidth.disk_problem, "the working folder was deleted", err));
    return recorded ? cuda_bandwidth(probe, machine, err) : gpus_isolated(probe, machine, err);
}
