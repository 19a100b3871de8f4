// SPDX-License-Identifier: Apache-2.0
#include <sys/sysinfo.h>

#include "host.h"

static struct machine_memory read_root(const char *root)
{
    struct probe probe = host_probe(root, "/");
    struct machine_memory memory = {0};
    struct err err = {0};
    assert_ok(probe_memory(&probe, &memory, &err), &err);
    return memory;
}

static void test_limited(void **state)
{
    (void)state;
    struct machine_memory m = read_root(TREE("cgroup2-limits"));
    assert_int(m.total_bytes, 30817824LL * 1024);
    assert_int(m.available_bytes, 7LL << 30); // 8 GiB less 1.5 used, of which 0.5 is cache
    assert_int(m.limit_bytes, 8LL << 30);
    assert_int(m.usable_bytes, 8LL << 30);
    assert_int(m.shm_total_bytes, 64LL << 20); // Docker's default, size=65536k
    assert_absent(m.shm_free_bytes);           // a recorded machine cannot be asked
}

static void test_swap(void **state)
{
    (void)state;
    struct machine_memory m = read_root(TREE("laptop-battery"));
    assert_int(m.swap_total_bytes, 8388604LL * 1024);
    assert_int(m.swap_used_bytes, (8388604LL - 6291452) * 1024);
    assert_absent(m.limit_bytes);
    assert_int(m.usable_bytes, 16065432LL * 1024);
    assert_absent(m.shm_total_bytes); // default size: not written in the mount's options
}

static void test_old_kernel(void **state)
{
    (void)state;
    struct machine_memory m = read_root(TREE("xen-old"));
    assert_int(m.total_bytes, 7679764LL * 1024);
    assert_absent(m.available_bytes);
    assert_absent(m.shm_total_bytes); // size= there is that of /dev
    assert_int(m.swap_total_bytes, 0);
    assert_int(m.swap_used_bytes, 0);
}

static void test_limit_above_the_machine(void **state)
{
    (void)state;
    struct scratch s = scratch_make();
    scratch_put(&s, "/proc/meminfo", "MemTotal:        1000 kB\n");
    scratch_put(&s, "/proc/self/mountinfo", "30 20 0:28 / /cg rw - cgroup2 cgroup2 rw\n");
    scratch_put(&s, "/proc/self/cgroup", "0::/a\n");
    scratch_put(&s, "/cg/a/memory.max", "2048000\n");
    struct machine_memory m = read_root(s.root);
    assert_int(m.limit_bytes, 2048000);
    assert_int(m.usable_bytes, 1024000);
    scratch_put(&s, "/proc/meminfo", "nothing of use\n");
    m = read_root(s.root);
    assert_absent(m.total_bytes);
    assert_int(m.usable_bytes, 2048000);
    scratch_remove(&s);
}

static void test_hostile_meminfo(void **state)
{
    (void)state;
    struct scratch s = scratch_make();
    scratch_put(&s, "/proc/meminfo",
                "MemTotal:\nMemAvailable: -5 kB\nSwapTotal: 9999999999999999999 kB\n"
                "SwapFree: 9007199254740993 kB\n");
    struct machine_memory m = read_root(s.root);
    assert_absent(m.total_bytes);
    assert_absent(m.available_bytes);
    assert_absent(m.usable_bytes);
    assert_absent(m.swap_total_bytes);
    assert_absent(m.swap_used_bytes);
    // More free than there is.
    scratch_put(&s, "/proc/meminfo", "SwapTotal: 10 kB\nSwapFree: 11 kB\n");
    m = read_root(s.root);
    assert_int(m.swap_total_bytes, 10240);
    assert_absent(m.swap_used_bytes);
    static const char *const sizes[] = {"size=",    "size=k",
                                        "size=50%", "size=12m",
                                        "size=-1k", "size=99999999999999999999999999999k",
                                        "sizes=1k"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[256];
        snprintf(text, sizeof text, "1 0 0:9 / /dev/shm rw - tmpfs shm rw,%s\n", sizes[i]);
        scratch_put(&s, "/proc/self/mountinfo", text);
        assert_absent(read_root(s.root).shm_total_bytes);
    }
    // A plain folder on a disk is not shared memory, whatever its options.
    scratch_put(&s, "/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw,size=1k\n");
    assert_absent(read_root(s.root).shm_total_bytes);
    scratch_remove(&s);
}

static void test_this_machine(void **state)
{
    (void)state;
    // sysinfo(2) is another way to the same numbers; LXC shows less in /proc/meminfo.
    struct sysinfo info;
    assert_int_equal(sysinfo(&info), 0);
    struct machine_memory m = read_root("");
    assert_true(m.total_bytes.known && m.total_bytes.v > 0);
    assert_true(m.total_bytes.v <= (int64_t)info.totalram * info.mem_unit);
    assert_true(m.swap_total_bytes.v <= (int64_t)info.totalswap * info.mem_unit);
    assert_true(m.available_bytes.v <= m.total_bytes.v);
    if (m.shm_total_bytes.known)
        assert_true(m.shm_free_bytes.known && m.shm_free_bytes.v <= m.shm_total_bytes.v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limited),         cmocka_unit_test(test_swap),
        cmocka_unit_test(test_old_kernel),      cmocka_unit_test(test_limit_above_the_machine),
        cmocka_unit_test(test_hostile_meminfo), cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
