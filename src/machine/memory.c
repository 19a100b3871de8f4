// SPDX-License-Identifier: Apache-2.0
// Memory: total, usable, swap, and /dev/shm, through which data loaders pass batches.
#include <string.h>
#include <sys/statvfs.h>

#include "machine/cgroup.h"
#include "machine/mounts.h"
#include "machine/probe.h"

// "MemTotal:       32658228 kB"
static struct maybe_int read_kib(struct tree *tree, const char *text, const char *key)
{
    struct buf value = {0};
    struct maybe_int bytes = {0};
    int64_t kib;
    if (tree_value(tree, text, key, ':', &value) && value.len > 0) {
        value.data[strcspn(value.data, " ")] = '\0';
        if (text_int(value.data, &kib) && kib >= 0 && kib <= INT64_MAX / 1024)
            bytes = some_int(kib * 1024);
    }
    buf_release(&value);
    return bytes;
}

static void read_meminfo(struct tree *tree, struct machine_memory *memory)
{
    struct buf text = {0};
    if (tree_text(tree, &text, "/proc/meminfo")) {
        memory->total_bytes = read_kib(tree, buf_str(&text), "MemTotal");
        memory->available_bytes = read_kib(tree, buf_str(&text), "MemAvailable");
        memory->swap_total_bytes = read_kib(tree, buf_str(&text), "SwapTotal");
        struct maybe_int swap_free = read_kib(tree, buf_str(&text), "SwapFree");
        if (memory->swap_total_bytes.known && swap_free.known &&
            swap_free.v <= memory->swap_total_bytes.v)
            memory->swap_used_bytes = some_int(memory->swap_total_bytes.v - swap_free.v);
    }
    buf_release(&text);
}

// tmpfs shows its size as "size=65536k", or not at all if it is the default.
static struct maybe_int size_option(const struct mount *mount)
{
    const char *value;
    size_t len;
    int64_t kib;
    char digits[24];
    if (!mount_option(mount, "size", &value, &len) || len < 2 || len > sizeof digits ||
        value[len - 1] != 'k')
        return (struct maybe_int){0};
    memcpy(digits, value, len - 1);
    digits[len - 1] = '\0';
    if (!text_int(digits, &kib) || kib < 0 || kib > INT64_MAX / 1024)
        return (struct maybe_int){0};
    return some_int(kib * 1024);
}

// Only if it is in memory: in some chroots /dev/shm is a plain folder on a disk.
static void read_shm(struct tree *tree, struct machine_memory *memory)
{
    struct buf text = {0};
    struct mount mount;
    bool in_memory = mounts_read(tree, &text) && mounts_over(text.data, "/dev/shm", &mount) &&
                     (strcmp(mount.type, "tmpfs") == 0 || strcmp(mount.type, "devtmpfs") == 0);
    struct statvfs st;
    if (in_memory && *tree->root != '\0') {
        if (strcmp(mount.point, "/dev/shm") == 0)
            memory->shm_total_bytes = size_option(&mount);
    } else if (in_memory && statvfs("/dev/shm", &st) == 0 && st.f_blocks > 0) { // 0: no limit
        memory->shm_total_bytes = some_int((int64_t)(st.f_blocks * st.f_frsize));
        memory->shm_free_bytes = some_int((int64_t)(st.f_bavail * st.f_frsize));
    }
    buf_release(&text);
}

int probe_memory(struct probe *probe, struct machine_memory *memory, struct err *err)
{
    struct cgroup cgroup;
    TRY(cgroup_read(&probe->tree, &cgroup, err));
    read_meminfo(&probe->tree, memory);
    read_shm(&probe->tree, memory);
    memory->limit_bytes = cgroup.limit_bytes;
    memory->usable_bytes = memory->total_bytes;
    if (cgroup.limit_bytes.known &&
        (!memory->total_bytes.known || cgroup.limit_bytes.v < memory->total_bytes.v))
        memory->usable_bytes = cgroup.limit_bytes;
    // The cgroup's limit may leave less than the machine has.
    if (cgroup.limit_bytes.known && memory->available_bytes.known) {
        int64_t used = cgroup.used_bytes.known ? cgroup.used_bytes.v : 0;
        int64_t left = cgroup.limit_bytes.v > used ? cgroup.limit_bytes.v - used : 0;
        if (left < memory->available_bytes.v)
            memory->available_bytes = some_int(left);
    }
    return tree_check(&probe->tree, err);
}
