// SPDX-License-Identifier: Apache-2.0
// The expected limits follow from the files by the kernel's rules: cgroup-v2.rst ("cpu.max",
// "memory.max") and cgroup-v1/memory.rst, scheduler/sched-bwc.rst: quota / period, and a group
// never has more than any of its ancestors.
#include "machine/cgroup.h"

#include "host.h"

static struct cgroup read_root(const char *root)
{
    struct tree tree = {.root = root};
    struct cgroup cgroup;
    struct err err = {0};
    assert_ok(cgroup_read(&tree, &cgroup, &err), &err);
    return cgroup;
}

static void test_v2_nested(void **state)
{
    (void)state;
    struct cgroup c = read_root(TREE("cgroup2-limits"));
    assert_string_equal(c.version, "v2");
    assert_real(c.limit_cpus, 2.5);       // its own; the container has 4
    assert_int(c.limit_bytes, 8LL << 30); // its parent's; it has none, the container 16 GiB
}

static void test_v1_container(void **state)
{
    (void)state;
    struct cgroup c = read_root(TREE("cgroup1-limits"));
    assert_string_equal(c.version, "v1");
    assert_real(c.limit_cpus, 1.5);
    assert_int(c.limit_bytes, 4LL << 30);
}

static void test_no_limits(void **state)
{
    (void)state;
    struct cgroup c = read_root(TREE("bare-metal"));
    assert_string_equal(c.version, "v2");
    assert_absent(c.limit_cpus);
    assert_absent(c.limit_bytes);
    c = read_root(TREE("xen-old")); // quota -1, and the largest number of 64 bits
    assert_string_equal(c.version, "v1");
    assert_absent(c.limit_cpus);
    assert_absent(c.limit_bytes);
    c = read_root("/nonexistent");
    assert_null(c.version);
    assert_absent(c.limit_cpus);
    assert_absent(c.limit_bytes);
}

static void test_v1_separate_hierarchies(void **state)
{
    (void)state;
    // The memory limit is Slurm's job's; the CPU controller is elsewhere and has none.
    struct cgroup c = read_root(TREE("two-socket-numa"));
    assert_absent(c.limit_cpus);
    assert_int(c.limit_bytes, 64LL << 30);
}

// One hierarchy of version 2 at /cg, with the given mount root and group.
static struct cgroup v2(const char *mount_root, const char *group, const char *const files[][2])
{
    struct scratch s = scratch_make();
    char text[512];
    snprintf(text, sizeof text, "30 20 0:28 %s /cg rw - cgroup2 cgroup2 rw\n", mount_root);
    scratch_put(&s, "/proc/self/mountinfo", text);
    snprintf(text, sizeof text, "0::%s\n", group);
    scratch_put(&s, "/proc/self/cgroup", text);
    for (; (*files)[0]; files++)
        scratch_put(&s, (*files)[0], (*files)[1]);
    struct cgroup c = read_root(s.root);
    scratch_remove(&s);
    return c;
}

static void test_mount_root_is_stripped(void **state)
{
    (void)state;
    const char *const files[][2] = {{"/cg/cpu.max", "300000 100000\n"},
                                    {"/cg/step/cpu.max", "50000 100000\n"},
                                    {"/cg/docker/abc/step/cpu.max", "1000 100000\n"}, // not there
                                    {"/other/cpu.max", "1000 100000\n"},
                                    {NULL, NULL}};
    assert_real(v2("/docker/abc", "/docker/abc/step", files).limit_cpus, 0.5);
    assert_real(v2("/docker/abc", "/docker/abc", files).limit_cpus, 3.0);
    // Another container's group, whose name begins the same: only the mount's own files count.
    assert_real(v2("/docker/abc", "/docker/abcd/step", files).limit_cpus, 3.0);
    // Seen from a namespace further in: a path that leads out of the mount is not followed.
    assert_real(v2("/", "/../other", files).limit_cpus, 3.0);
    assert_real(v2("/", "/step", files).limit_cpus, 0.5);
}

static void test_missing_levels(void **state)
{
    (void)state;
    // A group that is gone, below one that is not; "cpu.max" exists only below the root.
    const char *const files[][2] = {
        {"/cg/a/memory.max", "1073741824\n"}, {"/cg/a/b/memory.max", "max\n"}, {NULL, NULL}};
    struct cgroup c = v2("/", "/a/b/c/d (deleted)", files);
    assert_int(c.limit_bytes, 1LL << 30);
    assert_absent(c.limit_cpus);
}

static void test_hostile_values(void **state)
{
    (void)state;
    static const char *const bad_cpu[] = {"",
                                          "max",
                                          "max 100000",
                                          "100000",
                                          "0 0",
                                          "-5 100000",
                                          "5 -1",
                                          "x y",
                                          "1e5 1",
                                          "100000 1000 00",
                                          "99999999999999999999 100000"};
    for (size_t i = 0; i < sizeof bad_cpu / sizeof *bad_cpu; i++) {
        const char *const files[][2] = {{"/cg/a/cpu.max", bad_cpu[i]}, {NULL, NULL}};
        assert_absent(v2("/", "/a", files).limit_cpus);
    }
    static const char *const bad_memory[] = {
        "", "max", "-1", "none", "9223372036854771712", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof bad_memory / sizeof *bad_memory; i++) {
        const char *const files[][2] = {{"/cg/a/memory.max", bad_memory[i]}, {NULL, NULL}};
        assert_absent(v2("/", "/a", files).limit_bytes);
    }
    const char *const none[][2] = {{NULL, NULL}};
    struct cgroup c = v2("/", "no slash", none);
    assert_string_equal(c.version, "v2");
    char deep[400];
    for (size_t i = 0; i < sizeof deep; i++)
        deep[i] = i == sizeof deep - 1 ? '\0' : i % 2 ? 'a' : '/';
    assert_absent(v2("/", deep, none).limit_bytes);
    assert_absent(v2("/", "////", none).limit_bytes);
}

static void test_hybrid(void **state)
{
    (void)state;
    // systemd's mixed layout: version 2 for its own book-keeping, the limits in version 1.
    struct scratch s = scratch_make();
    scratch_put(&s, "/proc/self/mountinfo",
                "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
                "32 31 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
                "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                "34 31 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                "36 31 0:33 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n");
    scratch_put(&s, "/proc/self/cgroup",
                "5:cpuset:/\n4:cpuacct,cpu:/jobs/a:b\n3:memory:/jobs\n1:name=systemd:/x\n0::/x\n");
    scratch_put(&s, "/sys/fs/cgroup/cpu,cpuacct/jobs/a:b/cpu.cfs_quota_us", "-1\n");
    scratch_put(&s, "/sys/fs/cgroup/cpu,cpuacct/jobs/a:b/cpu.cfs_period_us", "100000\n");
    scratch_put(&s, "/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "75000\n");
    scratch_put(&s, "/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "50000\n");
    scratch_put(&s, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    scratch_put(&s, "/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "536870912\n");
    struct cgroup c = read_root(s.root);
    assert_string_equal(c.version, "v1");
    assert_real(c.limit_cpus, 1.5);
    assert_int(c.limit_bytes, 512LL << 20);
    // No limit, as kernels since 3.19 write it with pages of 4 KiB.
    scratch_put(&s, "/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "9223372036854771712\n");
    assert_absent(read_root(s.root).limit_bytes);
    scratch_remove(&s);
}

static void test_several_mounts_of_one_hierarchy(void **state)
{
    (void)state;
    // Someone else's group, our own, and the whole: the whole shows us and all our ancestors.
    struct scratch s = scratch_make();
    scratch_put(&s, "/proc/self/mountinfo",
                "40 20 0:28 /docker/other /other rw - cgroup2 cgroup rw\n"
                "41 20 0:28 /docker/abc /mine rw - cgroup2 cgroup rw\n"
                "42 20 0:28 / /all rw - cgroup2 cgroup rw\n");
    scratch_put(&s, "/proc/self/cgroup", "0::/docker/abc\n");
    scratch_put(&s, "/other/cpu.max", "10000 100000\n");
    scratch_put(&s, "/mine/cpu.max", "400000 100000\n");
    scratch_put(&s, "/all/docker/abc/cpu.max", "400000 100000\n");
    scratch_put(&s, "/all/docker/cpu.max", "200000 100000\n");
    assert_real(read_root(s.root).limit_cpus, 2.0);
    // Without the whole: our own, not the other one, though that comes first.
    scratch_put(&s, "/proc/self/mountinfo",
                "40 20 0:28 /docker/other /other rw - cgroup2 cgroup rw\n"
                "41 20 0:28 /docker/abc /mine rw - cgroup2 cgroup rw\n");
    assert_real(read_root(s.root).limit_cpus, 4.0);
    scratch_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_v2_nested),
        cmocka_unit_test(test_v1_container),
        cmocka_unit_test(test_no_limits),
        cmocka_unit_test(test_v1_separate_hierarchies),
        cmocka_unit_test(test_mount_root_is_stripped),
        cmocka_unit_test(test_missing_levels),
        cmocka_unit_test(test_hostile_values),
        cmocka_unit_test(test_hybrid),
        cmocka_unit_test(test_several_mounts_of_one_hierarchy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
