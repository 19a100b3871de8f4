// SPDX-License-Identifier: Apache-2.0
// The expected limits follow from the files by the kernel's rules: cgroup-v2.rst ("cpu.max",
// "memory.max") and cgroup-v1/memory.rst, scheduler/sched-bwc.rst: quota / period, and a group
// never has more than any of its ancestors.
#include "machine/cgroup.h"

#include <sched.h>

#include "host.h"
#include "test.h"

static struct cgroup read_root(const char *root)
{
    struct tree tree = {.root = root};
    struct cgroup cgroup;
    struct err err = {0};
    assert_ok(cgroup_read(&tree, &cgroup, &err), &err);
    return cgroup;
}

TEST(test_v2_nested)
{
    struct cgroup c = read_root(TREE("cgroup2-limits"));
    assert_string_equal(c.version, "v2");
    assert_real(c.limit_cpus, 2.5);       // its own; the container has 4
    assert_int(c.limit_bytes, 8LL << 30); // its parent's; it has none, the container 16 GiB
}

TEST(test_v1_container)
{
    struct cgroup c = read_root(TREE("cgroup1-limits"));
    assert_string_equal(c.version, "v1");
    assert_real(c.limit_cpus, 1.5);
    assert_int(c.limit_bytes, 4LL << 30);
}

TEST(test_no_limits)
{
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

TEST(test_v1_separate_hierarchies)
{
    // The memory limit is Slurm's job's; the CPU controller is elsewhere and has none.
    struct cgroup c = read_root(TREE("two-socket-numa"));
    assert_absent(c.limit_cpus);
    assert_int(c.limit_bytes, 64LL << 30);
}

// One hierarchy of version 2 at /cg, with the given mount root and group.
static struct cgroup v2(const char *mount_root, const char *group, const char *const files[][2])
{
    struct host s = host_make();
    char text[512];
    snprintf(text, sizeof text, "30 20 0:28 %s /cg rw - cgroup2 cgroup2 rw\n", mount_root);
    host_put(&s, "/proc/self/mountinfo", text);
    snprintf(text, sizeof text, "0::%s\n", group);
    host_put(&s, "/proc/self/cgroup", text);
    for (; (*files)[0]; files++)
        host_put(&s, (*files)[0], (*files)[1]);
    struct cgroup c = read_root(s.root);
    host_remove(&s);
    return c;
}

TEST(test_mount_root_is_stripped)
{
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

TEST(test_missing_levels)
{
    // A group that is gone, below one that is not; "cpu.max" exists only below the root.
    const char *const files[][2] = {
        {"/cg/a/memory.max", "1073741824\n"}, {"/cg/a/b/memory.max", "max\n"}, {NULL, NULL}};
    struct cgroup c = v2("/", "/a/b/c/d (deleted)", files);
    assert_int(c.limit_bytes, 1LL << 30);
    assert_absent(c.limit_cpus);
}

TEST(test_hostile_values)
{
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

TEST(test_hybrid)
{
    // systemd's mixed layout: version 2 for its own book-keeping, the limits in version 1.
    struct host s = host_make();
    host_put(&s, "/proc/self/mountinfo",
             "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
             "32 31 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
             "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
             "34 31 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
             "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
             "36 31 0:33 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n");
    host_put(&s, "/proc/self/cgroup",
             "5:cpuset:/\n4:cpuacct,cpu:/jobs/a:b\n3:memory:/jobs\n1:name=systemd:/x\n0::/x\n");
    host_put(&s, "/sys/fs/cgroup/cpu,cpuacct/jobs/a:b/cpu.cfs_quota_us", "-1\n");
    host_put(&s, "/sys/fs/cgroup/cpu,cpuacct/jobs/a:b/cpu.cfs_period_us", "100000\n");
    host_put(&s, "/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "75000\n");
    host_put(&s, "/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "50000\n");
    host_put(&s, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    host_put(&s, "/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "536870912\n");
    struct cgroup c = read_root(s.root);
    assert_string_equal(c.version, "v1");
    assert_real(c.limit_cpus, 1.5);
    assert_int(c.limit_bytes, 512LL << 20);
    // No limit, as kernels since 3.19 write it with pages of 4 KiB.
    host_put(&s, "/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "9223372036854771712\n");
    assert_absent(read_root(s.root).limit_bytes);
    host_remove(&s);
}

TEST(test_several_mounts_of_one_hierarchy)
{
    // Someone else's group, our own, and the whole: the whole shows us and all our ancestors.
    struct host s = host_make();
    host_put(&s, "/proc/self/mountinfo",
             "40 20 0:28 /docker/other /other rw - cgroup2 cgroup rw\n"
             "41 20 0:28 /docker/abc /mine rw - cgroup2 cgroup rw\n"
             "42 20 0:28 / /all rw - cgroup2 cgroup rw\n");
    host_put(&s, "/proc/self/cgroup", "0::/docker/abc\n");
    host_put(&s, "/other/cpu.max", "10000 100000\n");
    host_put(&s, "/mine/cpu.max", "400000 100000\n");
    host_put(&s, "/all/docker/abc/cpu.max", "400000 100000\n");
    host_put(&s, "/all/docker/cpu.max", "200000 100000\n");
    assert_real(read_root(s.root).limit_cpus, 2.0);
    // Without the whole: our own, not the other one, though that comes first.
    host_put(&s, "/proc/self/mountinfo",
             "40 20 0:28 /docker/other /other rw - cgroup2 cgroup rw\n"
             "41 20 0:28 /docker/abc /mine rw - cgroup2 cgroup rw\n");
    assert_real(read_root(s.root).limit_cpus, 4.0);
    host_remove(&s);
}

// ==== mounts ====

TEST(test_line_of_the_manual)
{
    // proc(5), "/proc/pid/mountinfo": the example, with its field numbers (3) to (11).
    char text[] =
        "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n";
    char *cursor = text;
    struct mount m;
    assert_true(mounts_next(&cursor, &m));
    assert_int_equal(m.major, 98);
    assert_int_equal(m.minor, 0);
    assert_string_equal(m.root, "/mnt1");
    assert_string_equal(m.point, "/mnt2");
    assert_string_equal(m.type, "ext3");
    assert_string_equal(m.source, "/dev/root");
    assert_string_equal(m.super_options, "rw,errors=continue");
    assert_false(mounts_next(&cursor, &m));
}

TEST(test_optional_fields_and_escapes)
{
    // No optional field; three of them; every character that the kernel escapes (mangle() in
    // fs/proc_namespace.c: space, tab, newline, backslash), and '#' in a source.
    char text[] = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
                  "2 1 0:5 /a\\040b /c\\011d\\012e\\134f rw shared:1 master:2 unbindable - fuse.x "
                  "a\\043b\\040c rw\n";
    char *cursor = text;
    struct mount m;
    assert_true(mounts_next(&cursor, &m));
    assert_string_equal(m.source, "/dev/sda1");
    assert_true(mounts_next(&cursor, &m));
    assert_string_equal(m.root, "/a b");
    assert_string_equal(m.point, "/c\td\ne\\f");
    assert_string_equal(m.source, "a#b c");
}

TEST(test_bad_lines_are_passed_over)
{
    char text[] = "\n"
                  "garbage\n"
                  "1 2 3 4 5 6\n"
                  "36 35 98:0 /r /p rw master:1\n"                // cut off before the hyphen
                  "36 35 98:0 /r /p rw -\n"                       // and after it
                  "36 35 98:0 /r /p rw - ext4\n"                  // no source
                  "36 35 98-0 /r /p rw - ext4 s rw\n"             // no device
                  "36 35 98:0x /r /p rw - ext4 s rw\n"            // nor here
                  "36 35 0:4 mnt:[4026531840] /p rw - nsfs n r\n" // root is no path
                  "37 35 98:0 /r p rw - ext4 s rw\n"
                  "38 35 98:1 /ok /\\04 rw - ext4 \\400 rw\n" // not escapes: left as they are
                  "39 35 98:1 /ok /\\000 rw - ext4 s";        // no options, no newline
    char *cursor = text;
    struct mount m;
    assert_true(mounts_next(&cursor, &m));
    assert_string_equal(m.point, "/\\04");
    assert_string_equal(m.source, "\\400");
    assert_true(mounts_next(&cursor, &m));
    assert_string_equal(m.point, "/\\000");
    assert_string_equal(m.super_options, "");
    assert_false(mounts_next(&cursor, &m));
}

TEST(test_below)
{
    assert_true(path_is_below("/a/b", "/a"));
    assert_true(path_is_below("/a", "/a"));
    assert_true(path_is_below("/a", "/a/"));
    assert_true(path_is_below("/a", "/"));
    assert_true(path_is_below("/", "/"));
    assert_false(path_is_below("/ab", "/a"));
    assert_false(path_is_below("/a", "/a/b"));
    assert_false(path_is_below("/", "/a"));
}

static const char *over(const char *path)
{
    static char text[1024];
    snprintf(text, sizeof text, "%s",
             "1 0 8:1 / / rw - ext4 root rw\n"
             "2 1 0:9 / /home/ml rw - nfs4 far rw\n"
             "3 1 8:2 / /home rw - xfs homes rw\n" // shorter, though later
             "4 1 8:3 / /mnt rw - xfs lower rw\n"
             "5 4 8:4 / /mnt rw - xfs upper rw\n"); // on top of the one before
    struct mount m;
    assert_true(mounts_over(text, path, &m));
    return m.source;
}

TEST(test_longest_and_last)
{
    assert_string_equal(over("/"), "root");
    assert_string_equal(over("/homes"), "root");
    assert_string_equal(over("/home/other"), "homes");
    assert_string_equal(over("/home/ml"), "far");
    assert_string_equal(over("/home/ml/x/y"), "far");
    assert_string_equal(over("/mnt/x"), "upper");
    char none[] = "4 1 8:3 / /mnt rw - xfs lower rw\n";
    struct mount m;
    assert_false(mounts_over(none, "/home", &m));
}

TEST(test_options)
{
    struct mount m = {.super_options = "rw,cpuset,size=65536k,cpu,empty=,name=systemd"};
    const char *value;
    size_t len;
    assert_true(mount_option(&m, "size", &value, &len));
    assert_int_equal(len, 6);
    assert_memory_equal(value, "65536k", 6);
    assert_true(mount_option(&m, "cpu", &value, &len)); // not the beginning of "cpuset"
    assert_int_equal(len, 0);
    assert_ptr_equal(value, strstr(m.super_options, ",empty"));
    assert_true(mount_option(&m, "empty", &value, &len));
    assert_int_equal(len, 0);
    assert_true(mount_option(&m, "rw", &value, &len));
    assert_false(mount_option(&m, "cpuse", &value, &len));
    assert_false(mount_option(&m, "systemd", &value, &len));
    assert_false(mount_option(&m, "memory", &value, &len));
    m.super_options = "";
    assert_false(mount_option(&m, "rw", &value, &len));
}

// ==== cpus ====
// How many CPUs a process may use.

TEST(the_smaller_counts)
{
    const struct maybe_int none = {0};
    const struct maybe_real no_limit = {0};
    assert_float_equal(cpus_within(some_int(8), some_real(2.5)).v, 2.5, 0);
    assert_float_equal(cpus_within(some_int(2), some_real(8)).v, 2, 0);
    assert_float_equal(cpus_within(some_int(3), no_limit).v, 3, 0);
    assert_float_equal(cpus_within(none, some_real(1.5)).v, 1.5, 0);
    assert_false(cpus_within(none, no_limit).known);
}

TEST(affinity_counts)
{
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_in_range(cpus_usable(), 1, CPU_COUNT(&all));
    int first = 0;
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(cpus_usable(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}
