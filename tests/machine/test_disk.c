// SPDX-License-Identifier: Apache-2.0
#include <limits.h>
#include <sys/statvfs.h>

#include "host.h"

static struct machine machine;

static const struct machine_disk *disk_of(const char *root, const char *folder)
{
    machine_release(&machine);
    struct probe probe = host_probe(root, folder);
    struct err err = {0};
    assert_ok(probe_disk(&probe, &machine.disk, &err), &err);
    return &machine.disk;
}

static int release(void **state)
{
    (void)state;
    machine_release(&machine);
    return 0;
}

TEST(test_network)
{
    const struct machine_disk *d = disk_of(TREE("nfs-workdir"), "/home/ml/project");
    assert_string_equal(d->folder, "/home/ml/project");
    assert_string_equal(d->mount, "/home");
    assert_string_equal(d->filesystem, "nfs4");
    assert_string_equal(d->device, "10.12.0.5:/export/home");
    assert_string_equal(d->kind, "network");
    assert_absent(d->rotational);
    assert_absent(d->total_bytes);

    d = disk_of(TREE("nfs-workdir"), "/mnt/project data/x");
    assert_string_equal(d->mount, "/mnt/project data");
    assert_string_equal(d->filesystem, "lustre");
    assert_string_equal(d->kind, "network");

    d = disk_of(TREE("nfs-workdir"), "/home/ml/sshfs");
    assert_string_equal(d->filesystem, "fuse.sshfs");
    assert_string_equal(d->device, "ml@store:/srv/\\data");
    assert_string_equal(d->kind, "network");
}

TEST(test_memory_and_unknown)
{
    assert_string_equal(disk_of(TREE("nfs-workdir"), "/scratch")->kind, "memory");
    const struct machine_disk *d = disk_of(TREE("nfs-workdir"), "/archive");
    assert_string_equal(d->filesystem, "fuse.unheardof");
    assert_null(d->kind);
}

TEST(test_partition_of_a_local_disk)
{
    const struct machine_disk *d = disk_of(TREE("nfs-workdir"), "/opt");
    assert_string_equal(d->mount, "/");
    assert_string_equal(d->device, "/dev/nvme0n1p2");
    assert_string_equal(d->kind, "local");
    assert_true(d->rotational.known && !d->rotational.v); // the disk's, one folder up
}

TEST(test_logical_volume_that_turns)
{
    const struct machine_disk *d = disk_of(TREE("two-socket-numa"), "/");
    assert_string_equal(d->filesystem, "xfs");
    assert_string_equal(d->kind, "local");
    assert_true(d->rotational.known && d->rotational.v);
}

TEST(test_btrfs)
{
    // Its device number is in no folder; the disk is found by name.
    const struct machine_disk *d = disk_of(TREE("laptop-battery"), "/home/me");
    assert_string_equal(d->mount, "/home");
    assert_string_equal(d->filesystem, "btrfs");
    assert_string_equal(d->kind, "local");
    assert_true(d->rotational.known && !d->rotational.v);
}

TEST(test_volumes_of_providers)
{
    const struct machine_disk *d = disk_of(TREE("cgroup1-limits"), "/data");
    assert_string_equal(d->device, "/dev/nvme1n1");
    assert_string_equal(d->kind, "network"); // Amazon Elastic Block Store
    d = disk_of(TREE("cgroup1-limits"), "/");
    assert_string_equal(d->filesystem, "overlay");
    assert_null(d->kind); // what lies below it does not show

    // Google's: its model is the disk's, one folder above the partition; and virtio's "turns" is
    // no news.
    d = disk_of(TREE("cgroup2-limits"), "/data");
    assert_string_equal(d->device, "/dev/sda1");
    assert_string_equal(d->kind, "network");
    assert_absent(d->rotational);
}

TEST(test_network_block_devices)
{
    struct host s = host_make();
    host_put(&s, "/proc/self/mountinfo",
             "1 0 43:0 / / rw - ext4 /dev/nbd0 rw\n"
             "2 1 8:1 / /odd rw - ext4 \\057dev/../etc/passwd rw\n");
    host_put(&s, "/sys/dev/block/43:0/queue/rotational", "0\n");
    assert_string_equal(disk_of(s.root, "/")->kind, "network");
    assert_absent(disk_of(s.root, "/odd")->rotational);
    host_remove(&s);
}

// A disk of the hypervisor's may be anything behind it; a logical volume is what it lies on.
TEST(test_opaque_devices)
{
    struct host s = host_make();
    host_put(&s, "/proc/self/mountinfo",
             "1 0 254:0 / / rw - ext4 /dev/vda rw\n"
             "2 1 253:0 / /lv rw - xfs /dev/mapper/vg-lv rw\n");
    host_put(&s, "/sys/devices/pci0000:00/0000:00:01.0/virtio0/block/vda/queue/rotational", "1\n");
    host_put(&s, "/sys/dev/block/253:0/slaves/nvme1n1/x", "");
    host_put(&s, "/sys/class/block/nvme1n1/device/model", "Amazon Elastic Block Store\n");
    char link[600];
    snprintf(link, sizeof link, "%s/sys/dev/block/254:0", s.root);
    assert_int_equal(symlink("../../devices/pci0000:00/0000:00:01.0/virtio0/block/vda", link), 0);
    assert_null(disk_of(s.root, "/")->kind);
    assert_string_equal(disk_of(s.root, "/lv")->kind, "network");
    host_remove(&s);
}

TEST(test_nothing_known)
{
    const struct machine_disk *d = disk_of("/nonexistent", "/x");
    assert_string_equal(d->folder, "/x");
    assert_null(d->mount);
    assert_null(d->kind);
}

TEST(test_this_machine)
{
    struct statvfs st;
    assert_int_equal(statvfs("/tmp", &st), 0);
    assert_int_equal(chdir("/tmp"), 0);
    const struct machine_disk *d = disk_of("", ".");
    char real[PATH_MAX];
    assert_string_equal(d->folder, realpath("/tmp", real));
    assert_int(d->total_bytes, (int64_t)(st.f_blocks * st.f_frsize));
    // In a chroot that is no mount of its own the kernel does not say what / lies on.
    struct buf mounts = {0};
    struct tree here = {.root = ""};
    assert_true(tree_text(&here, &mounts, "/proc/self/mountinfo"));
    if (strstr(buf_str(&mounts), " / / "))
        assert_non_null(d->filesystem);
    buf_release(&mounts);
    d = disk_of("", "/proc/self");
    assert_string_equal(d->filesystem, "proc");
    assert_null(d->kind);
}

int main(void)
{
    return run_all_tests(NULL, release);
}
