// SPDX-License-Identifier: Apache-2.0
// Every allocation of the host's probes fails once: an error comes back, nothing leaks, no child
// stays behind.
#include "oom.h"

#include <errno.h>
#include <sys/wait.h>

#include "host.h"
#include "machine/bandwidth.h"
#include "machine/libraries.h"

static struct probe on(const char *root, const char *folder)
{
    return host_probe(root, folder);
}

#define PROBE(root, folder, call)                                                                  \
    do {                                                                                           \
        OOM_EACH                                                                                   \
        {                                                                                          \
            struct machine machine = {0};                                                          \
            struct err err = {0};                                                                  \
            struct probe probe = on(root, folder);                                                 \
            int rc = call;                                                                         \
            oom_countdown = -1;                                                                    \
            machine_release(&machine);                                                             \
            OOM_EXPECT(rc, &err);                                                                  \
        }                                                                                          \
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child left */                      \
        assert_int_equal(errno, ECHILD);                                                           \
    } while (0)

TEST(test_cpu)
{
    PROBE(TREE("two-socket-numa"), "/", probe_cpu(&probe, &machine.cpu, &err));
}

TEST(test_cpu_counted)
{
    setenv("FARE_HWLOC", "/nonexistent", 1);
    PROBE(TREE("two-socket-numa"), "/", probe_cpu(&probe, &machine.cpu, &err));
    PROBE(TREE("cgroup1-limits"), "/", probe_cpu(&probe, &machine.cpu, &err));
    unsetenv("FARE_HWLOC");
}

TEST(test_memory)
{
    PROBE(TREE("cgroup2-limits"), "/", probe_memory(&probe, &machine.memory, &err));
    PROBE(TREE("two-socket-numa"), "/", probe_memory(&probe, &machine.memory, &err));
}

TEST(test_disk)
{
    PROBE(TREE("cgroup1-limits"), "/data", probe_disk(&probe, &machine.disk, &err));
    PROBE(TREE("laptop-battery"), "/home", probe_disk(&probe, &machine.disk, &err));
}

TEST(test_system)
{
    PROBE(TREE("laptop-battery"), "/", probe_system(&probe, &machine.system, &err));
    PROBE(TREE("cgroup1-limits"), "/", probe_system(&probe, &machine.system, &err));
}

TEST(test_isa)
{
    PROBE(TREE("two-socket-numa"), "/", probe_isa(&probe, &machine.cpu, &err));
    struct buf path = {0};
    assert_int_equal(fs_program_dir(&path, NULL), 0);
    buf_adds(&path, "/fake_dnnl.so");
    setenv("FARE_ONEDNN", buf_str(&path), 1);
    setenv("FAKE_DNNL", "sigill", 1);
    buf_release(&path);
    PROBE("", "/", probe_isa(&probe, &machine.cpu, &err));
}

TEST(test_bandwidth)
{
    struct host folder = host_make();
    OOM_EACH
    {
        struct machine_bandwidth out = {0};
        struct err err = {0};
        int rc = disk_bandwidth(folder.root, &out, &err);
        oom_countdown = -1;
        free(out.disk_method);
        free(out.disk_problem);
        OOM_EXPECT(rc, &err);
    }
    host_remove(&folder);
    OOM_EACH
    {
        struct machine_bandwidth out = {0};
        struct err err = {0};
        int rc = disk_bandwidth("/proc", &out, &err);
        oom_countdown = -1;
        free(out.disk_problem);
        OOM_EXPECT(rc, &err);
    }
    OOM_EACH
    {
        struct machine machine = {.cpu.usable_cpus = some_real(1),
                                  .memory.available_bytes = some_int(INT64_C(64) << 20)};
        struct err err = {0};
        int rc = memory_bandwidth(&machine, &machine.bandwidth, &err);
        OOM_EXPECT(rc, &err);
    }
}

static int find_libraries(struct probe *probe, struct machine *machine, struct err *err)
{
    struct libraries *libraries;
    probe->no_children = false;
    int rc = libraries_start(probe, 60000, &libraries, err);
    if (rc == 0)
        rc = libraries_finish(libraries, machine, err);
    libraries_free(libraries);
    return rc;
}

// What is no library at all is opened too, and its package asked.
TEST(test_libraries)
{
    struct host s = host_make();
    host_put(&s, "/etc/ld.so.conf.d/x.conf", "/lib64\n");
    host_put(&s, "/lib64/libnccl.so.2", "");
    host_put(&s, "/usr/local/cuda/lib64/libcublasLt.so.12", "");
    host_put(&s, "/usr/local/lib/python3.12/dist-packages/nvidia/cudnn/lib/libcudnn.so.9", "");
    host_put(&s, "/usr/local/lib/python3.12/dist-packages/nvidia_cudnn-9.1.0.dist-info/x", "");
    PROBE(s.root, "/", find_libraries(&probe, &machine, &err));
    host_remove(&s);
}
