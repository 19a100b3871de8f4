// SPDX-License-Identifier: Apache-2.0
// The disk under the working folder: local, a network volume (slow, and perhaps billed by the
// byte), or memory. Only reads what the system says; check --bandwidth measures it.
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "machine/cgroup.h"
#include "machine/probe.h"

// Other machines' file systems. 9p and virtiofs are a host's folders inside a virtual machine.
static const char network_types[] =
    "nfs nfs4 cifs smb3 smbfs ceph lustre gpfs beegfs glusterfs wekafs afs orangefs pvfs2 "
    "ocfs2 gfs2 ncpfs coda 9p virtiofs fuse.sshfs fuse.s3fs fuse.gcsfuse fuse.juicefs "
    "fuse.JuiceFS fuse.ceph fuse.ceph-fuse fuse.glusterfs fuse.rclone fuse.goofys "
    "fuse.blobfuse fuse.blobfuse2 fuse.mount-s3 fuse.mountpoint-s3 fuse.davfs fuse.curlftpfs "
    "fuse.moosefs fuse.mfs fuse.seaweedfs fuse.gvfsd-fuse fuse.s3ql fuse.alluxio-fuse davfs "
    "quobyte fuse.quobyte";
static const char memory_types[] = "tmpfs ramfs devtmpfs";
static const char local_types[] =
    "ext2 ext3 ext4 xfs btrfs zfs f2fs jfs vfat exfat ntfs ntfs3 fuseblk bcachefs reiserfs "
    "squashfs erofs iso9660";

// Block devices that look local but are network volumes: AWS's NVMe, and Google's persistent disks
// by NVMe and by SCSI.
static const char network_models[] = "Amazon Elastic Block Store,nvme_card-pd,PersistentDisk";
static const char *const network_devices[] = {"/dev/rbd", "/dev/nbd", "/dev/drbd"};

// Finds the block device's folder below /sys. File systems that span devices (btrfs) have a device
// number without a folder; then use the source's name.
static bool find_device(struct tree *tree, const struct mount *mount, struct buf *dir)
{
    buf_reset(dir);
    buf_printf(dir, "/sys/dev/block/%u:%u", mount->major, mount->minor);
    tree->failed |= dir->failed;
    if (tree_exists(tree, "%s", buf_str(dir)))
        return true;
    if (strncmp(mount->source, "/dev/", 5) != 0 || strchr(mount->source + 5, '/'))
        return false;
    buf_reset(dir);
    buf_printf(dir, "/sys/class/block/%s", mount->source + 5);
    tree->failed |= dir->failed;
    return tree_exists(tree, "%s", buf_str(dir)); // false if memory ran out
}

// A hypervisor's disk (virtio, Xen) does not tell what is behind it. It may be a network volume.
static bool is_opaque_device(struct tree *tree, const char *dir)
{
    SCOPED(buf_release) struct buf link = {0};
    return tree_link(tree, &link, "%s", dir) &&
           (strstr(buf_str(&link), "/virtio") || strstr(buf_str(&link), "/vbd-"));
}

// A device-mapper volume lies on other devices; the first one represents it.
static void follow_mapper(struct tree *tree, struct buf *dir)
{
    SCOPED(buf_release) struct buf parts = {0};
    for (int depth = 0; depth < 4; depth++) { // encryption on LVM on RAID
        if (!tree_list(tree, &parts, "%s/slaves", buf_str(dir)) || parts.len == 0)
            break;
        parts.data[strcspn(parts.data, "\n")] = '\0';
        buf_reset(dir);
        buf_printf(dir, "/sys/class/block/%s", parts.data);
        tree->failed |= dir->failed;
    }
}

static bool is_network_device(struct tree *tree, const struct mount *mount, const char *dir)
{
    for (size_t i = 0; i < sizeof network_devices / sizeof *network_devices; i++)
        if (strncmp(mount->source, network_devices[i], strlen(network_devices[i])) == 0)
            return true;
    SCOPED(buf_release) struct buf model = {0};
    // A partition's folder lies in its disk's folder.
    return (tree_text(tree, &model, "%s/device/model", dir) ||
            tree_text(tree, &model, "%s/../device/model", dir)) &&
           text_has_word(network_models, buf_str(&model), ',');
}

// The kernel's default is "1", so from an opaque disk only "0" means anything.
static void read_rotational(struct tree *tree, const char *dir, struct machine_disk *disk)
{
    int64_t rotational;
    SCOPED(buf_release) struct buf link = {0};
    if ((tree_int(tree, &rotational, "%s/queue/rotational", dir) ||
         tree_int(tree, &rotational, "%s/../queue/rotational", dir)) &&
        (rotational == 0 || !tree_link(tree, &link, "%s", dir) ||
         !strstr(buf_str(&link), "/virtio")))
        disk->rotational = some_bool(rotational != 0);
}

static int read_device(struct tree *tree, const struct mount *mount, struct machine_disk *disk,
                       struct err *err)
{
    SCOPED(buf_release) struct buf dir = {0};
    if (find_device(tree, mount, &dir)) {
        follow_mapper(tree, &dir);
        read_rotational(tree, buf_str(&dir), disk);
        if (is_network_device(tree, mount, buf_str(&dir)))
            TRY(text_set(&disk->kind, "network", err));
        else if (is_opaque_device(tree, buf_str(&dir)))
            TRY(text_set(&disk->kind, "", err));
    }
    return 0;
}

static int read_mount(struct tree *tree, const char *folder, struct machine_disk *disk,
                      struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    struct mount mount;
    if (!mounts_read(tree, &text) || !mounts_over(text.data, folder, &mount))
        return 0;
    // An unknown type gets no kind: a guess could hide a network volume.
    const char *kind = text_has_word(network_types, mount.type, ' ')  ? "network"
                       : text_has_word(memory_types, mount.type, ' ') ? "memory"
                       : text_has_word(local_types, mount.type, ' ')  ? "local"
                                                                      : "";
    TRY(TEXTS_SET(err, {&disk->mount, mount.point}, {&disk->filesystem, mount.type},
                  {&disk->device, mount.source}, {&disk->kind, kind}));
    return read_device(tree, &mount, disk, err);
}

int probe_disk(struct probe *probe, struct machine_disk *disk, struct err *err)
{
    char resolved[PATH_MAX];
    const char *folder = probe->folder;
    bool recorded = *probe->tree.root != '\0';
    if (!folder)
        return 0;
    if (!recorded && realpath(folder, resolved))
        folder = resolved;
    TRY(text_set(&disk->folder, folder, err));
    TRY(read_mount(&probe->tree, folder, disk, err));
    struct statvfs st;
    if (!recorded && statvfs(folder, &st) == 0 && st.f_blocks > 0) {
        disk->total_bytes = some_int((int64_t)(st.f_blocks * st.f_frsize));
        disk->free_bytes = some_int((int64_t)(st.f_bavail * st.f_frsize));
    }
    return tree_check(&probe->tree, err);
}
