// SPDX-License-Identifier: Apache-2.0
// Cores, threads and caches are the manufacturers' figures (Intel ARK, AMD's product pages) for
// the processors that the recorded machines have.
#include "machine/cpu.h"

#include <sched.h>

#include "base/clock.h"
#include "host.h"
#include "test.h"

static struct machine machine;

static const struct machine_cpu *cpu_of(const char *root)
{
    machine_release(&machine);
    struct probe probe = host_probe(root, "/");
    struct err err = {0};
    assert_ok(probe_cpu(&probe, &machine.cpu, &err), &err);
    return &machine.cpu;
}

static int release(void **state)
{
    (void)state;
    machine_release(&machine);
    return 0;
}

// Most tests run twice: what hwloc says, and what is counted where it is missing.
static int with_hwloc(void **state)
{
    (void)state;
    return unsetenv("FARE_HWLOC");
}

static int without_hwloc(void **state)
{
    (void)state;
    return setenv("FARE_HWLOC", "/nonexistent/libhwloc.so", 1);
}

#define assert_cache(cpu, at, level_, kind_, kib, count_)                                          \
    do {                                                                                           \
        assert_true((at) < (cpu)->caches.count);                                                   \
        const struct machine_cache *cache = &(cpu)->caches.items[at];                              \
        assert_int(cache->level, level_);                                                          \
        assert_string_equal(cache->kind, kind_);                                                   \
        assert_int(cache->size_bytes, (int64_t)(kib)*1024);                                        \
        assert_int(cache->count, count_);                                                          \
    } while (0)

static void test_one_socket(void **state)
{
    (void)state;
    const struct machine_cpu *c = cpu_of(TREE("bare-metal"));
    assert_string_equal(c->model, "Intel(R) Xeon(R) CPU E3-1270 v6 @ 3.80GHz");
    assert_string_equal(c->vendor, "GenuineIntel");
    assert_int(c->sockets, 1);
    assert_int(c->cores, 4);
    assert_int(c->threads, 8);
    assert_int(c->numa_nodes, 1);
    assert_int(c->allowed_threads, 8);
    assert_absent(c->limit_cpus);
    assert_real(c->usable_cpus, 8);
    assert_int(c->max_mhz, 4200);
    assert_string_equal(c->governor, "performance");
    assert_int_equal(c->caches.count, 4);
    assert_cache(c, 0, 1, "data", 32, 4);
    assert_cache(c, 1, 1, "instruction", 32, 4);
    assert_cache(c, 2, 2, "unified", 256, 4);
    assert_cache(c, 3, 3, "unified", 8192, 1);
}

static void test_two_sockets(void **state)
{
    (void)state;
    const struct machine_cpu *c = cpu_of(TREE("two-socket-numa"));
    assert_int(c->sockets, 2);
    assert_int(c->cores, 8);
    assert_int(c->threads, 16);
    assert_int(c->numa_nodes, 2);
    assert_int(c->allowed_threads, 8); // the job has one socket; the machine is counted whole
    assert_real(c->usable_cpus, 8);
    assert_string_equal(c->governor, "performance,ondemand");
    assert_int_equal(c->caches.count, 4);
    assert_cache(c, 2, 2, "unified", 1024, 8);
    assert_cache(c, 3, 3, "unified", 16896, 2); // 16.5 MiB each
}

static void test_laptop(void **state)
{
    (void)state;
    const struct machine_cpu *c = cpu_of(TREE("laptop-battery"));
    assert_string_equal(c->governor, "powersave");
    assert_int(c->max_mhz, 4700);
    assert_cache(c, 0, 1, "data", 48, 4);
    assert_cache(c, 2, 2, "unified", 1280, 4);
    assert_cache(c, 3, 3, "unified", 12288, 1);
}

static void test_limits(void **state)
{
    (void)state;
    const struct machine_cpu *c = cpu_of(TREE("cgroup2-limits"));
    assert_int(c->allowed_threads, 8);
    assert_real(c->limit_cpus, 2.5);
    assert_real(c->usable_cpus, 2.5);
    // No processors in /sys: sockets, cores and threads are in /proc/cpuinfo, caches nowhere.
    assert_int(c->sockets, 1);
    assert_int(c->cores, 4);
    assert_int(c->threads, 8);
    assert_int_equal(c->caches.count, 0);
    assert_absent(c->max_mhz);
    assert_null(c->governor);

    c = cpu_of(TREE("cgroup1-limits"));
    assert_int(c->allowed_threads, 4);
    assert_real(c->limit_cpus, 1.5);
    assert_real(c->usable_cpus, 1.5);
}

static void test_limit_above_the_threads(void **state)
{
    (void)state;
    struct host s = host_make();
    host_put(&s, "/proc/self/mountinfo", "30 20 0:28 / /cg rw - cgroup2 cgroup2 rw\n");
    host_put(&s, "/proc/self/cgroup", "0::/a\n");
    host_put(&s, "/proc/self/status", "Cpus_allowed_list:\t0-3\n");
    host_put(&s, "/cg/a/cpu.max", "800000 100000\n");
    const struct machine_cpu *c = cpu_of(s.root);
    assert_real(c->limit_cpus, 8);
    assert_real(c->usable_cpus, 4);
    host_remove(&s);
}

static void put(const struct host *s, int cpu, const char *file, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", cpu, file);
    host_put(s, path, text);
}

// A mask of 64 bits as the kernel writes it: groups of 32.
static const char *mask(uint64_t bits)
{
    static char text[32];
    snprintf(text, sizeof text, "%08x,%08x\n", (unsigned)(bits >> 32), (unsigned)bits);
    return text;
}

static void put_cache(const struct host *s, int cpu, int index, const char *level, const char *type,
                      const char *size, uint64_t shared)
{
    char file[64];
    const char *const texts[][2] = {
        {"level", level}, {"type", type}, {"size", size}, {"shared_cpu_map", mask(shared)}};
    for (int i = 0; i < 4; i++) {
        snprintf(file, sizeof file, "cache/index%d/%s", index, texts[i][0]);
        put(s, cpu, file, texts[i][1]);
    }
}

// 2 x AMD EPYC 7302: 16 cores and 32 threads each; 128 MiB of L3 in eight parts, each shared by
// two cores. Threads 32 to 63 are the cores' second ones, as Linux numbers them.
static void test_many_threads(void **state)
{
    (void)state;
    struct host s = host_make();
    host_put(&s, "/sys/devices/system/cpu/online", "0-63\n");
    host_put(&s, "/sys/devices/system/cpu/possible", "0-63\n");
    host_put(&s, "/sys/devices/system/node/online", "0-1\n");
    host_put(&s, "/sys/devices/system/node/node0/cpumap", mask(0x0000FFFF0000FFFF));
    host_put(&s, "/sys/devices/system/node/node1/cpumap", mask(0xFFFF0000FFFF0000));
    for (int cpu = 0; cpu < 64; cpu++) {
        int core = cpu % 32;
        uint64_t both = UINT64_C(0x0000000100000001) << core;
        uint64_t pair = UINT64_C(0x0000000300000003) << (core & ~1);
        uint64_t socket = UINT64_C(0x0000FFFF0000FFFF) << (core / 16 * 16);
        put(&s, cpu, "topology/thread_siblings", mask(both));
        put(&s, cpu, "topology/core_siblings", mask(socket));
        put_cache(&s, cpu, 0, "1", "Data\n", "32K\n", both);
        put_cache(&s, cpu, 1, "1", "Instruction\n", "32K\n", both);
        put_cache(&s, cpu, 2, "2", "Unified\n", "512K\n", both);
        put_cache(&s, cpu, 3, "3", "Unified\n", "16384K\n", pair);
    }
    const struct machine_cpu *c = cpu_of(s.root);
    assert_int(c->sockets, 2);
    assert_int(c->cores, 32);
    assert_int(c->threads, 64);
    assert_int(c->numa_nodes, 2);
    assert_int_equal(c->caches.count, 4);
    assert_cache(c, 0, 1, "data", 32, 32);
    assert_cache(c, 1, 1, "instruction", 32, 32);
    assert_cache(c, 2, 2, "unified", 512, 32);
    assert_cache(c, 3, 3, "unified", 16384, 16);
    assert_real(c->usable_cpus, 64); // no affinity known: all
    host_remove(&s);
}

// Four cores, the second taken offline: its folder stays, its topology goes.
static void test_offline(void **state)
{
    (void)state;
    struct host s = host_make();
    host_put(&s, "/sys/devices/system/cpu/online", "0,2-3\n");
    host_put(&s, "/sys/devices/system/cpu/possible", "0-3\n");
    put(&s, 1, "online", "0\n");
    static const char *const own[] = {"1\n", "", "4\n", "8\n"};
    for (int cpu = 0; cpu < 4; cpu++) {
        if (cpu == 1)
            continue;
        put(&s, cpu, "topology/thread_siblings", own[cpu]);
        put(&s, cpu, "topology/core_siblings", "d\n");
    }
    const struct machine_cpu *c = cpu_of(s.root);
    assert_int(c->sockets, 1);
    assert_int(c->cores, 3);
    assert_int(c->threads, 3);
    host_remove(&s);
}

// An ARM server says no model, and clocks of two kinds of cores.
static void test_no_model(void **state)
{
    (void)state;
    struct host s = host_make();
    host_put(&s, "/proc/cpuinfo",
             "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd evtstrm\n"
             "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\n"
             "CPU part\t: 0xd0c\nCPU revision\t: 1\n\nprocessor\t: 1\nBogoMIPS\t: 50.00\n");
    host_put(&s, "/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-1\n");
    static const char *const clocks[][2] = {
        {"policy0/cpuinfo_max_freq", "1800000\n"}, {"policy0/scaling_governor", "schedutil\n"},
        {"policy4/cpuinfo_max_freq", "2400000\n"}, {"policy4/scaling_governor", "schedutil\n"},
        {"policy6/cpuinfo_max_freq", "garbage\n"}, {"policy6/scaling_governor", "sched\n"},
        {"policy7/cpuinfo_max_freq", "-1\n"},      {"policy7/scaling_governor", "\n"}};
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpufreq/%s", clocks[i][0]);
        host_put(&s, path, clocks[i][1]);
    }
    const struct machine_cpu *c = cpu_of(s.root);
    assert_null(c->model);
    assert_null(c->vendor);
    assert_int(c->threads, 2);
    assert_int(c->max_mhz, 2400);
    assert_string_equal(c->governor, "schedutil,sched");
    host_remove(&s);
}

static void test_nothing_known(void **state)
{
    (void)state;
    const struct machine_cpu *c = cpu_of("/nonexistent");
    assert_null(c->model);
    assert_absent(c->sockets);
    assert_absent(c->cores);
    assert_absent(c->allowed_threads);
    assert_absent(c->usable_cpus);
    assert_int_equal(c->caches.count, 0);
}

static void test_lists(void **state)
{
    (void)state;
    assert_int(cpu_list_count("0"), 1);
    assert_int(cpu_list_count("0-3,8,10-11"), 7);
    assert_int(cpu_list_count("0-511"), 512);
    static const char *const bad[] = {
        "",     ",",     "0,", "0-",   "-1",    "3-1",           "0 -3",
        "0,,1", "0-3;5", "x",  "0x10", "1-2-3", "0-99999999999", "99999999999999999999-1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_absent(cpu_list_count(bad[i]));
}

static void test_masks(void **state)
{
    (void)state;
    assert_int_equal(cpu_mask_first("1"), 0);
    assert_int_equal(cpu_mask_first("aaaa"), 1);
    assert_int_equal(cpu_mask_first("00000100,00000000"), 40);
    assert_int_equal(cpu_mask_first("ffffffff,00000000,00000000"), 64);
    assert_int_equal(cpu_mask_first(""), -1);
    assert_int_equal(cpu_mask_first("0,00000000"), -1);
    assert_int_equal(cpu_mask_first("1z"), -1);
    assert_int_equal(cpu_mask_first("0-3"), -1);
}

static void test_this_machine(void **state)
{
    (void)state;
    // sched_getaffinity(2) and sysconf(3) are other ways to the same numbers.
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    const struct machine_cpu *c = cpu_of("");
    assert_int(c->allowed_threads, CPU_COUNT(&allowed));
    assert_int(c->threads, sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(c->cores.v >= c->sockets.v && c->threads.v >= c->cores.v);
}

// ==== speed ====

// A core does at least 0.1 and at most 100 multiply-adds a nanosecond; the fastest of some loops is
// no slower than their mean. It takes five milliseconds and the loop that is under way.
static void a_thread_has_a_speed(void **state)
{
    (void)state;
    int64_t before_ns = clock_thread_ns();
    for (int i = 0; i < 100; i++)
        speed_loop();
    double mean_ns = (double)(clock_thread_ns() - before_ns) / 100;
    int64_t start_ns = clock_thread_ns();
    double ops_per_s = speed_thread();
    assert_true(clock_thread_ns() - start_ns < 50 * NS_PER_MS);
    assert_true(ops_per_s > 1e8 && ops_per_s < 1e11);
    assert_true(ops_per_s > 0.5 * SPEED_LOOP_OPS / mean_ns * 1e9);
}

int main(void)
{
#define BOTH(test)                                                                                 \
    {#test " (hwloc)", test, with_hwloc, NULL, NULL},                                              \
    {                                                                                              \
#test " (counted)", test, without_hwloc, NULL, NULL                                        \
    }
    const struct CMUnitTest tests[] = {
        BOTH(test_one_socket),
        BOTH(test_two_sockets),
        BOTH(test_laptop),
        BOTH(test_limits),
        BOTH(test_many_threads),
        BOTH(test_offline),
        BOTH(test_no_model),
        BOTH(test_nothing_known),
        BOTH(test_this_machine),
        cmocka_unit_test(test_limit_above_the_threads),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(a_thread_has_a_speed),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
