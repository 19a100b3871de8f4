// SPDX-License-Identifier: Apache-2.0
// How fast this machine is nobody knows beforehand: the figures are held against a plain memcpy()
// and against what no machine can do. What the measurement leaves behind, and how it fails, is
// exact.
#include "machine/bandwidth.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "host.h"
#include "recorded.h"

#define MIB (INT64_C(1) << 20)

static struct machine host;

static int release(void **state)
{
    (void)state;
    machine_release(&host);
    return 0;
}

// A small machine with one cache of `cache_mib`.
static void describe(double cpus, int64_t cache_mib, int64_t available, int64_t limit)
{
    machine_release(&host);
    host.cpu.usable_cpus = some_real(cpus);
    struct machine_cache *l2 = LIST_ADD(&host.cpu.caches, NULL);
    *l2 = (struct machine_cache){some_int(2), NULL, some_int(64 * MIB), some_int(64)};
    struct machine_cache *l3 = LIST_ADD(&host.cpu.caches, NULL);
    *l3 = (struct machine_cache){some_int(3), NULL, some_int(cache_mib * MIB), some_int(1)};
    host.memory.available_bytes = some_int(available);
    if (limit > 0)
        host.memory.limit_bytes = some_int(limit);
}

// One thread, memcpy(), best of five: bytes read plus bytes written per second.
static double plain_copy(void)
{
    size_t bytes = 64 * MIB;
    char *a = malloc(bytes), *b = malloc(bytes);
    assert_true(a && b);
    memset(a, 1, bytes);
    memset(b, 2, bytes);
    double best = 0;
    for (int i = 0; i < 5; i++) {
        int64_t began = clock_now_ns();
        memcpy(b, a, bytes);
        double rate = 2.0 * (double)bytes / ((double)(clock_now_ns() - began) / 1e9);
        best = rate > best ? rate : best;
        a[i] = b[bytes - 1 - (size_t)i]; // so that the copies have a use
    }
    free(a);
    free(b);
    return best;
}

TEST(test_memory)
{
    describe(1, 32, 8LL << 30, 0);
    struct err err = {0};
    assert_ok(memory_bandwidth(&host, &host.bandwidth, &err), &err);
    const struct machine_bandwidth *b = &host.bandwidth;
    assert_int(b->memory_threads, 1);
    double plain = plain_copy();
    // Other tests may run beside this one: only what no load explains is a fault.
    assert_true(b->memory_copy_bytes_per_s.v > plain / 10);
    assert_true(b->memory_copy_bytes_per_s.v < plain * 20);
    assert_true(b->memory_read_bytes_per_s.v > plain / 30);
    assert_true(b->memory_write_bytes_per_s.v > plain / 30);
    // One core moves less than 1 TB/s through its memory in this decade.
    assert_true(b->memory_read_bytes_per_s.v < 1e12);
    assert_true(b->memory_write_bytes_per_s.v < 1e12);
}

TEST(test_memory_threads)
{
    describe(3.7, 16, 8LL << 30, 0); // a quota of CPUs: three threads, the rest is not a whole one
    struct err err = {0};
    assert_ok(memory_bandwidth(&host, &host.bandwidth, &err), &err);
    assert_int(host.bandwidth.memory_threads, 3);
    assert_true(host.bandwidth.memory_read_bytes_per_s.v > 0);
}

TEST(test_memory_too_small)
{
    struct err err = {0};
    // A sixteenth of 512 MiB is 32 MiB, which a cache of 32 MiB holds: no figure.
    describe(2, 32, 8LL << 30, 512 * MIB);
    assert_ok(memory_bandwidth(&host, &host.bandwidth, &err), &err);
    assert_absent(host.bandwidth.memory_threads);
    assert_absent(host.bandwidth.memory_read_bytes_per_s);
    describe(2, 32, 512 * MIB, 0);
    assert_ok(memory_bandwidth(&host, &host.bandwidth, &err), &err);
    assert_absent(host.bandwidth.memory_read_bytes_per_s);
    describe(2, 0, 1 * MIB, 0); // next to nothing
    assert_ok(memory_bandwidth(&host, &host.bandwidth, &err), &err);
    assert_absent(host.bandwidth.memory_read_bytes_per_s);
}

// Runs in a child, whose limits are its own.
static int in_child(int (*call)(void))
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(call());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// An eighth of the memory that is allowed, and no more: the pages that the measurement touched.
static int measure_size(void)
{
    struct err err = {0};
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    if (memory_bandwidth(&host, &host.bandwidth, &err) != 0)
        return 1;
    getrusage(RUSAGE_SELF, &after);
    int64_t grown = (after.ru_maxrss - before.ru_maxrss) * 1024;
    return grown > 120 * MIB && grown < 140 * MIB ? 0 : 2;
}

TEST(test_memory_limit_is_kept)
{
    describe(1, 16, 64LL << 30, 1024 * MIB);
    assert_int_equal(in_child(measure_size), 0); // 128 MiB
}

static struct host folder;

static int count_entries(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    int count = 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

TEST(test_disk)
{
    machine_release(&host);
    folder = host_make();
    struct err err = {0};
    int64_t began = clock_now_ns();
    assert_ok(disk_bandwidth(folder.root, &host.bandwidth, &err), &err);
    const struct machine_bandwidth *b = &host.bandwidth;
    assert_null(b->disk_problem);
    assert_true(strcmp(b->disk_method, "direct") == 0 || strcmp(b->disk_method, "fsync") == 0);
    assert_true(b->disk_write_bytes_per_s.v > 1e5 && b->disk_write_bytes_per_s.v < 1e12);
    assert_true(b->disk_read_bytes_per_s.v > 1e5 && b->disk_read_bytes_per_s.v < 1e12);
    // At least one block each way went at that speed, and the whole took that long.
    double seconds = (double)(clock_now_ns() - began) / 1e9;
    assert_true(8.0 * MIB / b->disk_write_bytes_per_s.v + 8.0 * MIB / b->disk_read_bytes_per_s.v <
                seconds);
    assert_int_equal(count_entries(folder.root), 2); // . and ..
    host_remove(&folder);
}

static void check_problem(const char *path, const char *said)
{
    machine_release(&host);
    struct err err = {0};
    assert_ok(disk_bandwidth(path, &host.bandwidth, &err), &err);
    assert_int_equal(err.code, 0);
    assert_non_null(host.bandwidth.disk_problem);
    assert_non_null(strstr(host.bandwidth.disk_problem, said));
    assert_absent(host.bandwidth.disk_write_bytes_per_s);
    assert_absent(host.bandwidth.disk_read_bytes_per_s);
    assert_null(host.bandwidth.disk_method);
}

TEST(test_disk_problems)
{
    check_problem("/nonexistent/folder", "cannot create a file in '/nonexistent/folder'");
    check_problem("/proc", "cannot create a file in '/proc'");
    check_problem("/dev/null", "cannot create a file in '/dev/null'");
    char long_path[8192];
    memset(long_path, 'a', sizeof long_path - 1);
    long_path[0] = '/';
    long_path[sizeof long_path - 1] = '\0';
    check_problem(long_path, "cannot create a file in");
}

// A file-size limit would end the program with SIGXFSZ.
static int measure_limited(void)
{
    struct rlimit limit = {4 * MIB, 4 * MIB};
    struct err err = {0};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        disk_bandwidth(folder.root, &host.bandwidth, &err) != 0)
        return 1;
    const char *problem = host.bandwidth.disk_problem;
    return problem && strstr(problem, "free") ? 0 : 2;
}

static int measure_a_block(void)
{
    struct rlimit limit = {9 * MIB, 9 * MIB};
    struct err err = {0};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        disk_bandwidth(folder.root, &host.bandwidth, &err) != 0)
        return 1;
    return host.bandwidth.disk_read_bytes_per_s.known ? 0 : 2;
}

TEST(test_disk_file_limit)
{
    machine_release(&host);
    folder = host_make();
    assert_int_equal(in_child(measure_limited), 0);
    assert_int_equal(in_child(measure_a_block), 0);
    host_remove(&folder);
}

// ==== bandwidth_cuda ====

// What the stand-in's devices still hold, asked of the very copy that was used.
static int still_held(void)
{
    void *library = dlopen(getenv("FARE_CUDA"), RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    int (*live)(void);
    void *address = dlsym(library, "fake_cuda_live");
    assert_non_null(address);
    memcpy(&live, &address, sizeof live);
    int held = live();
    dlclose(library);
    return held;
}

static char root[256];

static struct machine measure(const char *behaviour, bool with_gpu)
{
    struct err err = {0};
    struct machine machine = {0};
    struct probe probe = recorded("eight-h100", root);
    if (with_gpu) {
        struct machine_gpu *gpu = LIST_ADD(&machine.gpus, &err);
        assert_ok(text_set(&gpu->vendor, "nvidia", &err), &err);
    }
    use_library("FARE_CUDA", "fake_cuda.so");
    setenv("FARE_FAKE_CUDA", behaviour, 1);
    assert_ok(cuda_bandwidth(&probe, &machine, &err), &err);
    assert_int_equal(still_held(), 0);
    return machine;
}

// Copies of memory take time and move bytes: between 1 MB/s and 10 TB/s on any machine.
static void assert_rate(struct maybe_real rate)
{
    assert_true(rate.known);
    assert_true(rate.v > 1e6 && rate.v < 1e13);
}

TEST(every_direction_is_measured)
{
    struct machine machine = measure("devices=2", true);
    assert_int_equal(machine.bandwidth.gpus.count, 2);
    for (int i = 0; i < 2; i++) {
        const struct machine_gpu_bandwidth *row = &machine.bandwidth.gpus.items[i];
        assert_known(row->index, i);
        assert_string_equal(row->name, i ? "Memory Pretending 1" : "Memory Pretending 0");
        assert_rate(row->to_device_pinned_bytes_per_s);
        assert_rate(row->to_device_pageable_bytes_per_s);
        assert_rate(row->from_device_pinned_bytes_per_s);
        assert_rate(row->from_device_pageable_bytes_per_s);
        assert_rate(row->device_copy_bytes_per_s);
        assert_known(row->device_copy_bytes, 2 << 20); // a quarter of its 8 MiB
        assert_null(row->problem);
    }
    // The first is at 0000:1b:00.0, which the management library knows; it has none at 1c.
    assert_known(machine.bandwidth.gpus.items[0].pcie_generation_loaded, 5);
    assert_known(machine.bandwidth.gpus.items[0].pcie_width_loaded, 16);
    assert_absent(machine.bandwidth.gpus.items[1].pcie_generation_loaded);
    machine_release(&machine);
}

TEST(short_memory_means_smaller_copies)
{
    // 3 MiB free: 1 MiB is what fits twice. Pinned memory is scarce too.
    struct machine machine = measure("free=3145728 pinned=2097152", true);
    assert_rate(machine.bandwidth.gpus.items[0].to_device_pinned_bytes_per_s);
    assert_null(machine.bandwidth.gpus.items[0].problem);
    machine_release(&machine);
    machine = measure("free=1000", true); // nothing fits
    assert_string_equal(machine.bandwidth.gpus.items[0].problem,
                        "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY");
    assert_absent(machine.bandwidth.gpus.items[0].to_device_pinned_bytes_per_s);
    machine_release(&machine);
}

TEST(a_failing_call_is_named)
{
    static const struct {
        const char *behaviour, *problem;
        bool pinned, pageable;
    } cases[] = {
        {"cuDeviceGet=719", "cuDeviceGet: CUDA_ERROR_LAUNCH_FAILED", false, false},
        {"cuDevicePrimaryCtxRetain=2", "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY", false,
         false},
        {"cuCtxSetCurrent@1=719", "cuCtxSetCurrent: CUDA_ERROR_LAUNCH_FAILED", false, false},
        {"cuMemGetInfo_v2=719", "cuMemGetInfo_v2: CUDA_ERROR_LAUNCH_FAILED", false, false},
        {"cuMemAlloc_v2=719", "cuMemAlloc_v2: CUDA_ERROR_LAUNCH_FAILED", false, false},
        {"cuMemHostAlloc=2", "cuMemHostAlloc: CUDA_ERROR_OUT_OF_MEMORY", false, true},
        {"cuMemcpyHtoD_v2=719", "cuMemcpyHtoD_v2: CUDA_ERROR_LAUNCH_FAILED", false, false},
        {"cuMemcpyHtoD_v2@4=719", "cuMemcpyHtoD_v2: CUDA_ERROR_LAUNCH_FAILED", false, false},
        {"cuMemcpyHtoD_v2@8=719", "cuMemcpyHtoD_v2: CUDA_ERROR_LAUNCH_FAILED", true, false},
        {"cuMemcpyDtoH_v2=12345", "cuMemcpyDtoH_v2: error 12345", true, true},
        {"cuCtxSynchronize=719", "cuCtxSynchronize: CUDA_ERROR_LAUNCH_FAILED", false, false},
        {"cuMemcpyHtoDAsync_v2=719", "cuMemcpyHtoDAsync_v2: CUDA_ERROR_LAUNCH_FAILED", true, true},
        {"cuMemcpyDtoDAsync_v2@40=719", "cuMemcpyDtoDAsync_v2: CUDA_ERROR_LAUNCH_FAILED", true,
         true},
        {"cuMemAlloc_v2@3=2", "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY", true, true},
        {"cuDeviceGetName=719", "cuDeviceGetName: CUDA_ERROR_LAUNCH_FAILED", true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        struct machine machine = {0};
        struct probe probe = recorded("eight-h100", root);
        use_library("FARE_CUDA", "fake_cuda.so");
        setenv("FARE_FAKE_CUDA", cases[i].behaviour, 1);
        assert_ok(cuda_bandwidth(&probe, &machine, &err), &err);
        assert_int_equal(machine.bandwidth.gpus.count, 1);
        const struct machine_gpu_bandwidth *row = &machine.bandwidth.gpus.items[0];
        assert_known(row->index, 0);
        assert_non_null(row->problem);
        assert_string_equal(row->problem, cases[i].problem);
        assert_int_equal(row->to_device_pinned_bytes_per_s.known, cases[i].pinned);
        assert_int_equal(row->to_device_pageable_bytes_per_s.known, cases[i].pageable);
        if (!strstr(cases[i].behaviour, "cuCtxSetCurrent"))
            assert_int_equal(still_held(), 0);
        machine_release(&machine);
    }
}

TEST(a_driver_that_does_not_start)
{
    struct machine machine = measure("cuInit=802", true);
    assert_int_equal(machine.bandwidth.gpus.count, 1);
    assert_absent(machine.bandwidth.gpus.items[0].index);
    assert_string_equal(machine.bandwidth.gpus.items[0].problem,
                        "cuInit: CUDA_ERROR_SYSTEM_NOT_READY");
    machine_release(&machine);
    machine = measure("cuInit=802", false); // without a GPU there is nothing to say
    assert_int_equal(machine.bandwidth.gpus.count, 0);
    machine_release(&machine);
    machine = measure("cuInit=100", true); // CUDA_ERROR_NO_DEVICE
    assert_int_equal(machine.bandwidth.gpus.count, 0);
    machine_release(&machine);
    machine = measure("cuInit=34", true); // CUDA_ERROR_STUB_LIBRARY
    assert_int_equal(machine.bandwidth.gpus.count, 0);
    machine_release(&machine);
    machine = measure("devices=0", true);
    assert_int_equal(machine.bandwidth.gpus.count, 0);
    machine_release(&machine);
}

TEST(no_driver_is_no_error)
{
    struct err err = {0};
    struct machine machine = {0};
    struct probe probe = recorded("eight-h100", root);
    setenv("FARE_CUDA", "/nonexistent/libcuda.so.1", 1);
    assert_ok(cuda_bandwidth(&probe, &machine, &err), &err);
    unsetenv("FARE_CUDA"); // a recorded machine never gets this machine's own
    assert_ok(cuda_bandwidth(&probe, &machine, &err), &err);
    use_library("FARE_CUDA", "fake_nvml.so"); // some other library
    assert_ok(cuda_bandwidth(&probe, &machine, &err), &err);
    assert_int_equal(machine.bandwidth.gpus.count, 0);
}

// Without the management library the figures are there, the link is not.
TEST(the_link_needs_nvml)
{
    struct err err = {0};
    struct machine machine = {0};
    struct probe probe = recorded("eight-h100", root);
    unsetenv("FARE_NVML");
    use_library("FARE_CUDA", "fake_cuda.so");
    setenv("FARE_FAKE_CUDA", "", 1);
    machine.memory.available_bytes = some_int(32 << 20); // an eighth of it is used at most
    machine.memory.usable_bytes = some_int(16 << 20);
    assert_ok(cuda_bandwidth(&probe, &machine, &err), &err);
    assert_rate(machine.bandwidth.gpus.items[0].to_device_pinned_bytes_per_s);
    assert_absent(machine.bandwidth.gpus.items[0].pcie_generation_loaded);
    assert_null(machine.bandwidth.gpus.items[0].problem);
    machine_release(&machine);
}

int main(void)
{
    return run_all_tests(NULL, release);
}
