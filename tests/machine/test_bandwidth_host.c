// SPDX-License-Identifier: Apache-2.0
// How fast this machine is nobody knows beforehand: the figures are held against a plain memcpy()
// and against what no machine can do. What the measurement leaves behind, and how it fails, is
// exact.
#include "machine/bandwidth_host.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "host.h"

#define MIB (INT64_C(1) << 20)

static struct machine machine;

static int release(void **state)
{
    (void)state;
    machine_release(&machine);
    return 0;
}

// A small machine with one cache of `cache_mib`.
static void describe(double cpus, int64_t cache_mib, int64_t available, int64_t limit)
{
    machine_release(&machine);
    machine.cpu.usable_cpus = some_real(cpus);
    struct machine_cache *l2 = LIST_ADD(&machine.cpu.caches, NULL);
    *l2 = (struct machine_cache){some_int(2), NULL, some_int(64 * MIB), some_int(64)};
    struct machine_cache *l3 = LIST_ADD(&machine.cpu.caches, NULL);
    *l3 = (struct machine_cache){some_int(3), NULL, some_int(cache_mib * MIB), some_int(1)};
    machine.memory.available_bytes = some_int(available);
    if (limit > 0)
        machine.memory.limit_bytes = some_int(limit);
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

static void test_memory(void **state)
{
    (void)state;
    describe(1, 32, 8LL << 30, 0);
    struct err err = {0};
    assert_ok(memory_bandwidth(&machine, &machine.bandwidth, &err), &err);
    const struct machine_bandwidth *b = &machine.bandwidth;
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

static void test_memory_threads(void **state)
{
    (void)state;
    describe(3.7, 16, 8LL << 30, 0); // a quota of CPUs: three threads, the rest is not a whole one
    struct err err = {0};
    assert_ok(memory_bandwidth(&machine, &machine.bandwidth, &err), &err);
    assert_int(machine.bandwidth.memory_threads, 3);
    assert_true(machine.bandwidth.memory_read_bytes_per_s.v > 0);
}

static void test_memory_too_small(void **state)
{
    (void)state;
    struct err err = {0};
    // A sixteenth of 512 MiB is 32 MiB, which a cache of 32 MiB holds: no figure.
    describe(2, 32, 8LL << 30, 512 * MIB);
    assert_ok(memory_bandwidth(&machine, &machine.bandwidth, &err), &err);
    assert_absent(machine.bandwidth.memory_threads);
    assert_absent(machine.bandwidth.memory_read_bytes_per_s);
    describe(2, 32, 512 * MIB, 0);
    assert_ok(memory_bandwidth(&machine, &machine.bandwidth, &err), &err);
    assert_absent(machine.bandwidth.memory_read_bytes_per_s);
    describe(2, 0, 1 * MIB, 0); // next to nothing
    assert_ok(memory_bandwidth(&machine, &machine.bandwidth, &err), &err);
    assert_absent(machine.bandwidth.memory_read_bytes_per_s);
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
    if (memory_bandwidth(&machine, &machine.bandwidth, &err) != 0)
        return 1;
    getrusage(RUSAGE_SELF, &after);
    int64_t grown = (after.ru_maxrss - before.ru_maxrss) * 1024;
    return grown > 120 * MIB && grown < 140 * MIB ? 0 : 2;
}

static void test_memory_limit_is_kept(void **state)
{
    (void)state;
    describe(1, 16, 64LL << 30, 1024 * MIB);
    assert_int_equal(in_child(measure_size), 0); // 128 MiB
}

static struct scratch folder;

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

static void test_disk(void **state)
{
    (void)state;
    machine_release(&machine);
    folder = scratch_make();
    struct err err = {0};
    int64_t began = clock_now_ns();
    assert_ok(disk_bandwidth(folder.root, &machine.bandwidth, &err), &err);
    const struct machine_bandwidth *b = &machine.bandwidth;
    assert_null(b->disk_problem);
    assert_true(strcmp(b->disk_method, "direct") == 0 || strcmp(b->disk_method, "fsync") == 0);
    assert_true(b->disk_write_bytes_per_s.v > 1e5 && b->disk_write_bytes_per_s.v < 1e12);
    assert_true(b->disk_read_bytes_per_s.v > 1e5 && b->disk_read_bytes_per_s.v < 1e12);
    // At least one block each way went at that speed, and the whole took that long.
    double seconds = (double)(clock_now_ns() - began) / 1e9;
    assert_true(8.0 * MIB / b->disk_write_bytes_per_s.v + 8.0 * MIB / b->disk_read_bytes_per_s.v <
                seconds);
    assert_int_equal(count_entries(folder.root), 2); // . and ..
    scratch_remove(&folder);
}

static void check_problem(const char *path, const char *said)
{
    machine_release(&machine);
    struct err err = {0};
    assert_ok(disk_bandwidth(path, &machine.bandwidth, &err), &err);
    assert_int_equal(err.code, 0);
    assert_non_null(machine.bandwidth.disk_problem);
    assert_non_null(strstr(machine.bandwidth.disk_problem, said));
    assert_absent(machine.bandwidth.disk_write_bytes_per_s);
    assert_absent(machine.bandwidth.disk_read_bytes_per_s);
    assert_null(machine.bandwidth.disk_method);
}

static void test_disk_problems(void **state)
{
    (void)state;
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
        disk_bandwidth(folder.root, &machine.bandwidth, &err) != 0)
        return 1;
    const char *problem = machine.bandwidth.disk_problem;
    return problem && strstr(problem, "free") ? 0 : 2;
}

static int measure_a_block(void)
{
    struct rlimit limit = {9 * MIB, 9 * MIB};
    struct err err = {0};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        disk_bandwidth(folder.root, &machine.bandwidth, &err) != 0)
        return 1;
    return machine.bandwidth.disk_read_bytes_per_s.known ? 0 : 2;
}

static void test_disk_file_limit(void **state)
{
    (void)state;
    machine_release(&machine);
    folder = scratch_make();
    assert_int_equal(in_child(measure_limited), 0);
    assert_int_equal(in_child(measure_a_block), 0);
    scratch_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_memory_threads),
        cmocka_unit_test(test_memory_too_small),
        cmocka_unit_test(test_memory_limit_is_kept),
        cmocka_unit_test(test_disk),
        cmocka_unit_test(test_disk_problems),
        cmocka_unit_test(test_disk_file_limit),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
