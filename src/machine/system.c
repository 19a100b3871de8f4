// SPDX-License-Identifier: Apache-2.0
// The system: operating system, virtualisation, container, and sources of noise (battery, load, CPU
// time stolen by the hypervisor).
#include <cpuid.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/proc.h"
#include "machine/cgroup.h"
#include "machine/probe.h"

// PRETTY_NAME="Debian GNU/Linux 12 (bookworm)", quoted as in a shell (os-release(5)).
static void unquote(char *text)
{
    char quote = *text == '"' || *text == '\'' ? *text : '\0';
    char *to = text;
    for (const char *from = text + (quote != '\0'); *from && *from != quote; from++) {
        if (*from == '\\' && quote != '\'' && from[1])
            from++;
        *to++ = *from;
    }
    *to = '\0';
}

static int read_os(struct tree *tree, struct machine_system *system, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0}, value = {0};
    if ((tree_text(tree, &text, "/etc/os-release") ||
         tree_text(tree, &text, "/usr/lib/os-release")) &&
        tree_value(tree, buf_str(&text), "PRETTY_NAME", '=', &value) && value.len > 0) {
        unquote(value.data);
        TRY(text_set(&system->os, value.data, err));
    }
    if (tree_text(tree, &text, "/proc/sys/kernel/osrelease"))
        TRY(text_set(&system->kernel, buf_str(&text), err));
    return 0;
}

// Firmware names of virtual machines; the first match counts.
static const struct {
    const char *vendor;  // prefix of sys_vendor
    const char *product; // part of product_name; "" matches all
    const char *name;
} firmware[] = {
    {"Amazon EC2", ".metal", "none"},
    {"Amazon EC2", "", "kvm"},
    {"QEMU", "", "kvm"},
    {"Bochs", "", "kvm"},
    {"Red Hat", "KVM", "kvm"},
    {"Red Hat", "RHEV", "kvm"},
    {"OpenStack", "", "kvm"},
    {"Nutanix", "AHV", "kvm"},
    {"DigitalOcean", "", "kvm"},
    {"Hetzner", "vServer", "kvm"},
    {"VMware", "", "vmware"},
    {"innotek GmbH", "VirtualBox", "virtualbox"},
    {"Oracle Corporation", "VirtualBox", "virtualbox"},
    {"Microsoft Corporation", "Virtual Machine", "hyperv"},
    {"Parallels", "", "parallels"},
    {"Xen", "", "xen"},
};

static const char *by_firmware(const char *vendor, const char *product)
{
    for (size_t i = 0; i < sizeof firmware / sizeof *firmware; i++)
        if (strncmp(vendor, firmware[i].vendor, strlen(firmware[i].vendor)) == 0 &&
            strstr(product, firmware[i].product))
            return firmware[i].name;
    return NULL;
}

// The hypervisor's CPUID signature; only on this machine, not on a recorded one.
static const char *by_cpuid(void)
{
    static const struct {
        char signature[13];
        const char *name;
    } known[] = {{"KVMKVMKVM", "kvm"},          {"Microsoft Hv", "hyperv"},
                 {"VMwareVMware", "vmware"},    {"XenVMMXenVMM", "xen"},
                 {"TCGTCGTCGTCG", "qemu"},      {"bhyve bhyve ", "bhyve"},
                 {"VBoxVBoxVBox", "virtualbox"}};
    unsigned eax, words[3];
    char signature[13] = {0};
    __cpuid(0x40000000, eax, words[0], words[1], words[2]);
    memcpy(signature, words, sizeof words);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(signature, known[i].signature) == 0)
            return known[i].name;
    return NULL;
}

// Sandboxes known only by their kernel's texts. gVisor shows a fixed version and date on any
// kernel.
static const char *by_kernel(struct tree *tree, struct buf *text)
{
    if (tree_text(tree, text, "/proc/version") &&
        (strstr(buf_str(text), "gVisor") ||
         strstr(buf_str(text), "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016")))
        return "gvisor";
    if (tree_text(tree, text, "/proc/sys/kernel/osrelease") &&
        strcasestr(buf_str(text), "microsoft"))
        return "wsl";
    return NULL;
}

// Firecracker has no firmware tables. Its kernels are often named after it; else its default kernel
// arguments give it away.
static bool is_firecracker(struct tree *tree, struct buf *text)
{
    if (tree_text(tree, text, "/proc/sys/kernel/osrelease") && strstr(buf_str(text), "-fc"))
        return true;
    return tree_text(tree, text, "/proc/cmdline") &&
           (strstr(buf_str(text), "firecracker") ||
            (strstr(buf_str(text), "reboot=k panic=1") && strstr(buf_str(text), "pci=off")));
}

// "" if unknown.
static const char *find_virtualisation(struct tree *tree)
{
    SCOPED(buf_release) struct buf text = {0}, vendor = {0}, product = {0};
    const char *name = NULL;
    bool hypervisor = tree_text(tree, &text, "/proc/cpuinfo") &&
                      tree_value(tree, buf_str(&text), "flags", ':', &vendor) &&
                      strstr(buf_str(&vendor), " hypervisor");
    bool has_firmware = tree_text(tree, &vendor, "/sys/class/dmi/id/sys_vendor");
    if (tree_text(tree, &text, "/sys/hypervisor/type") && strcmp(buf_str(&text), "xen") == 0)
        name = "xen";
    if (!name)
        name = by_kernel(tree, &text);
    if (!name && has_firmware) {
        if (!tree_text(tree, &product, "/sys/class/dmi/id/product_name"))
            buf_reset(&product);
        name = by_firmware(buf_str(&vendor), buf_str(&product));
        // Google's bare-metal machines carry the same name as its virtual ones.
        if (!name && strcmp(buf_str(&product), "Google Compute Engine") == 0)
            name = hypervisor ? "kvm" : "none";
    }
    if (!name && !has_firmware && hypervisor && is_firecracker(tree, &text))
        name = "firecracker";
    if (!name && hypervisor && *tree->root == '\0')
        name = by_cpuid();
    if (!name && has_firmware && !hypervisor)
        name = "none";
    return name ? name : "";
}

// A container's root is a stack of layers in the engine's folder. A virtual machine made from a
// container image has the marker file too, but its root is a file system on a block device.
static const char *by_root(struct tree *tree, bool marked)
{
    static const struct {
        const char *part, *name;
    } engines[] = {
        {"/docker/", "docker"}, {"containers/storage", "podman"}, {"io.containerd.", "containerd"}};
    SCOPED(buf_release) struct buf text = {0};
    struct mount mount;
    const char *name = marked ? "docker" : NULL;
    if (mounts_read(tree, &text) && mounts_over(text.data, "/", &mount)) {
        if (mount.major != 0 && strcmp(mount.root, "/") == 0)
            name = NULL;
        for (size_t i = 0; !name && i < sizeof engines / sizeof *engines; i++)
            if (strcmp(mount.type, "overlay") == 0 && strstr(mount.super_options, engines[i].part))
                name = engines[i].name;
    }
    return name;
}

static const char *by_first_process(struct tree *tree, struct buf *text)
{
    static const struct {
        const char *part, *name;
    } known[] = {{"kubepods", "kubernetes"},
                 {"libpod", "podman"},
                 {"/docker", "docker"},
                 {"/lxc", "lxc"},
                 {"/machine.slice/machine-", "systemd-nspawn"},
                 {"containerd", "containerd"},
                 {"/garden/", "garden"}};
    if (tree_text(tree, text, "/proc/1/cgroup"))
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (strstr(buf_str(text), known[i].part))
                return known[i].name;
    // LXC and systemd-nspawn set "container=" in the environment of process 1 (NUL-separated).
    if (tree_text(tree, text, "/proc/1/environ"))
        for (const char *at = text->data; at && at < text->data + text->len; at += strlen(at) + 1)
            if (strncmp(at, "container=", 10) == 0 && at[10])
                return at + 10;
    return NULL;
}

static int read_container(struct probe *probe, struct machine_system *system, struct err *err)
{
    struct tree *tree = &probe->tree;
    SCOPED(buf_release) struct buf text = {0};
    const char *name = NULL;
    const char *said = env_value(probe->env, "container");
    if (env_value(probe->env, "KUBERNETES_SERVICE_HOST") ||
        tree_exists(tree, "/var/run/secrets/kubernetes.io"))
        name = "kubernetes";
    else if (env_value(probe->env, "APPTAINER_CONTAINER") ||
             env_value(probe->env, "SINGULARITY_CONTAINER"))
        name = "apptainer";
    else if (said && *said)
        name = said;
    else if (tree_exists(tree, "/run/.containerenv"))
        name = "podman";
    else
        name = by_first_process(tree, &text);
    if (!name)
        name = by_root(tree, tree_exists(tree, "/.dockerenv"));
    return text_set(&system->container, name ? name : "none", err);
}

// On battery: one is discharging and no supply is plugged in. Batteries of mice and keyboards have
// the scope "Device". Without battery and supply it stays absent.
static void read_battery(struct tree *tree, struct machine_system *system)
{
    SCOPED(buf_release) struct buf names = {0}, text = {0};
    bool battery = false, supply = false, draining = false, plugged = false;
    char *cursor = tree_list(tree, &names, "/sys/class/power_supply") ? names.data : NULL;
    for (char *name; (name = text_line(&cursor));) {
        if (tree_text(tree, &text, "/sys/class/power_supply/%s/scope", name) &&
            strcmp(buf_str(&text), "Device") == 0)
            continue;
        if (!tree_text(tree, &text, "/sys/class/power_supply/%s/type", name))
            continue;
        int64_t online;
        if (strcmp(buf_str(&text), "Battery") == 0) {
            battery = true;
            draining |= tree_text(tree, &text, "/sys/class/power_supply/%s/status", name) &&
                        strcmp(buf_str(&text), "Discharging") == 0;
        } else if (tree_int(tree, &online, "/sys/class/power_supply/%s/online", name)) {
            supply = true;
            plugged |= online > 0;
        }
    }
    if (battery || supply)
        system->on_battery = some_bool(draining && !plugged);
}

// "cpu  user nice system idle iowait irq softirq steal guest guest_nice": user and nice include the
// guest values.
static void read_steal(struct tree *tree, struct machine_system *system, struct buf *text)
{
    if (!tree_text(tree, text, "/proc/stat") || strncmp(buf_str(text), "cpu ", 4) != 0)
        return;
    double total = 0, last = 0;
    const char *at = text->data + 4;
    int fields = 0;
    for (; fields < 8; fields++) {
        char *end;
        last = (double)strtoull(at, &end, 10);
        if (end == at)
            return; // an old kernel without steal time
        total += last;
        at = end;
    }
    if (total > 0)
        system->steal_percent = some_real(100 * last / total);
}

// "btime 1763200000": when the kernel started.
static int read_boot(struct tree *tree, struct machine_system *system, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    char date[CLOCK_ISO_BYTES] = "";
    bool own = !system->container || strcmp(system->container, "none") == 0;
    const char *at =
        own && tree_text(tree, &text, "/proc/stat") ? strstr(buf_str(&text), "\nbtime ") : NULL;
    int64_t boot_s = at ? strtoll(at + 7, NULL, 10) : 0;
    if (boot_s > 0)
        clock_iso(boot_s, date);
    return *date ? text_set(&system->booted_at, date, err) : 0;
}

static void read_load(struct tree *tree, struct machine_system *system)
{
    SCOPED(buf_release) struct buf text = {0};
    if (tree_text(tree, &text, "/proc/loadavg") && isdigit((unsigned char)*buf_str(&text))) {
        double load = strtod(text.data, NULL);
        if (isfinite(load))
            system->load_1min = some_real(load);
    }
    read_steal(tree, system, &text);
}

int probe_system(struct probe *probe, struct machine_system *system, struct err *err)
{
    struct tree *tree = &probe->tree;
    struct cgroup cgroup;
    TRY(read_os(tree, system, err));
    TRY(text_set(&system->virtualisation, find_virtualisation(tree), err));
    TRY(read_container(probe, system, err));
    TRY(cgroup_read(tree, &cgroup, err));
    if (cgroup.version)
        TRY(text_set(&system->cgroup, cgroup.version, err));
    read_battery(tree, system);
    read_load(tree, system);
    TRY(read_boot(tree, system, err));
    TRY(probe_ready(probe, system, err));
    return tree_check(tree, err);
}

// ==== memory ====
// Memory: total, usable, swap, and /dev/shm, through which data loaders pass batches.

// "MemTotal:       32658228 kB"
static struct maybe_int read_kib(struct tree *tree, const char *text, const char *key)
{
    SCOPED(buf_release) struct buf value = {0};
    struct maybe_int bytes = {0};
    int64_t kib;
    if (tree_value(tree, text, key, ':', &value) && value.len > 0) {
        value.data[strcspn(value.data, " ")] = '\0';
        if (text_int(value.data, &kib) && kib >= 0 && kib <= INT64_MAX / 1024)
            bytes = some_int(kib * 1024);
    }
    return bytes;
}

static void read_meminfo(struct tree *tree, struct machine_memory *memory)
{
    SCOPED(buf_release) struct buf text = {0};
    if (tree_text(tree, &text, "/proc/meminfo")) {
        memory->total_bytes = read_kib(tree, buf_str(&text), "MemTotal");
        memory->available_bytes = read_kib(tree, buf_str(&text), "MemAvailable");
        memory->swap_total_bytes = read_kib(tree, buf_str(&text), "SwapTotal");
        struct maybe_int swap_free = read_kib(tree, buf_str(&text), "SwapFree");
        if (memory->swap_total_bytes.known && swap_free.known &&
            swap_free.v <= memory->swap_total_bytes.v)
            memory->swap_used_bytes = some_int(memory->swap_total_bytes.v - swap_free.v);
    }
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
    SCOPED(buf_release) struct buf text = {0};
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
