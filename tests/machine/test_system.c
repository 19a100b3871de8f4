// SPDX-License-Identifier: Apache-2.0
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "host.h"

static struct machine machine;

static const struct machine_system *system_in(const char *root, char *const *env)
{
    machine_release(&machine);
    struct probe probe = host_probe(root, "/");
    struct err err = {0};
    if (env)
        probe.env = env;
    assert_ok(probe_system(&probe, &machine.system, &err), &err);
    return &machine.system;
}

static const struct machine_system *system_of(const char *root)
{
    return system_in(root, NULL);
}

static int release(void **state)
{
    (void)state;
    machine_release(&machine);
    return 0;
}

TEST(test_bare_metal)
{
    const struct machine_system *s = system_of(TREE("bare-metal"));
    assert_string_equal(s->os, "Debian GNU/Linux 12 (bookworm)");
    assert_string_equal(s->kernel, "6.1.0-18-amd64");
    assert_string_equal(s->virtualisation, "none");
    assert_string_equal(s->container, "none");
    assert_string_equal(s->cgroup, "v2");
    assert_absent(s->on_battery);
    assert_real(s->load_1min, 0.52);
    assert_real(s->steal_percent, 0);
}

TEST(test_containers)
{
    const struct machine_system *s = system_of(TREE("cgroup2-limits"));
    assert_string_equal(s->os, "Ubuntu 22.04.4 LTS");
    assert_string_equal(s->virtualisation, "kvm"); // Google Compute Engine, under a hypervisor
    assert_string_equal(s->container, "docker");
    assert_string_equal(s->cgroup, "v2");
    assert_real(s->steal_percent, 2.5); // 250 of 10000 ticks
    s = system_of(TREE("cgroup1-limits"));
    assert_string_equal(s->os, "Alpine Linux v3.19"); // in single quotes there
    assert_string_equal(s->virtualisation, "kvm");
    assert_string_equal(s->container, "docker");
    assert_string_equal(s->cgroup, "v1");
}

TEST(test_xen)
{
    const struct machine_system *s = system_of(TREE("xen-old"));
    assert_string_equal(s->virtualisation, "xen");
    assert_string_equal(s->container, "none");
    assert_string_equal(s->cgroup, "v1");
    assert_real(s->steal_percent, 1.6);
}

TEST(test_laptop)
{
    const struct machine_system *s = system_of(TREE("laptop-battery"));
    assert_true(s->on_battery.known && s->on_battery.v);
    assert_string_equal(s->virtualisation, "none");
}

TEST(test_firmware)
{
    // As systemd-detect-virt and the providers' documentation give them. An empty name: unknown.
    static const struct {
        const char *vendor, *product;
        bool hypervisor;
        const char *name;
    } rows[] = {
        {"QEMU", "Standard PC (Q35 + ICH9, 2009)", true, "kvm"},
        {"Bochs", "Bochs", true, "kvm"},
        {"Amazon EC2", "p5.48xlarge", true, "kvm"},
        {"Amazon EC2", "c7i.metal-24xl", false, "none"},
        {"Amazon EC2", "i3.metal", false, "none"},
        {"Google", "Google Compute Engine", true, "kvm"},
        {"Google", "Google Compute Engine", false, "none"},
        {"Microsoft Corporation", "Virtual Machine", true, "hyperv"},
        {"Microsoft Corporation", "Surface Laptop 5", false, "none"},
        {"VMware, Inc.", "VMware7,1", true, "vmware"},
        {"innotek GmbH", "VirtualBox", true, "virtualbox"},
        {"OpenStack Foundation", "OpenStack Nova", true, "kvm"},
        {"Supermicro", "SYS-821GE-TNHR", false, "none"},
        {"Unheard Of", "Cloud", true, ""}, // virtual, but by whom?
    };
    struct host s = host_make();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        host_put(&s, "/sys/class/dmi/id/sys_vendor", rows[i].vendor);
        host_put(&s, "/sys/class/dmi/id/product_name", rows[i].product);
        host_put(&s, "/proc/cpuinfo",
                 rows[i].hypervisor ? "flags\t\t: fpu vme hypervisor lahf_lm\n"
                                    : "flags\t\t: fpu vme lahf_lm\n");
        const char *name = system_of(s.root)->virtualisation;
        assert_string_equal(name ? name : "", rows[i].name);
    }
    host_remove(&s);
}

TEST(test_without_firmware)
{
    struct host s = host_make();
    host_put(&s, "/proc/cpuinfo", "flags\t\t: fpu vme\n");
    assert_null(system_of(s.root)->virtualisation); // neither firmware nor flag: cannot tell
    host_put(&s, "/proc/cpuinfo", "flags\t\t: fpu hypervisor\n");
    assert_null(system_of(s.root)->virtualisation);
    host_put(&s, "/proc/sys/kernel/osrelease", "5.10.210-fc\n");
    assert_string_equal(system_of(s.root)->virtualisation, "firecracker");
    host_put(&s, "/proc/sys/kernel/osrelease", "6.1.102\n");
    // The default in Firecracker's getting-started guide.
    host_put(&s, "/proc/cmdline", "console=ttyS0 reboot=k panic=1 pci=off root=/dev/vda rw\n");
    assert_string_equal(system_of(s.root)->virtualisation, "firecracker");
    host_put(&s, "/proc/sys/kernel/osrelease", "5.15.146.1-microsoft-standard-WSL2\n");
    assert_string_equal(system_of(s.root)->virtualisation, "wsl");
    host_put(&s, "/proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n");
    assert_string_equal(system_of(s.root)->virtualisation, "gvisor");
    host_remove(&s);
}

static const char *container_with(const struct host *s, const char *variable)
{
    char home[] = "HOME=/root", other[64];
    snprintf(other, sizeof other, "%s", variable);
    char *const env[] = {home, other, NULL};
    return system_in(s->root, env)->container;
}

TEST(test_container_by_environment)
{
    struct host s = host_make();
    assert_string_equal(container_with(&s, "containers=3"), "none");
    assert_string_equal(container_with(&s, "container="), "none");
    assert_string_equal(container_with(&s, "container=podman"), "podman");
    assert_string_equal(container_with(&s, "container=lx\033c"), "lx?c"); // no control characters
    assert_string_equal(container_with(&s, "KUBERNETES_SERVICE_HOST=10.0.0.1"), "kubernetes");
    assert_string_equal(container_with(&s, "APPTAINER_CONTAINER=/x.sif"), "apptainer");
    // Seen from an ssh session in a pod, which has none of its variables.
    host_put(&s, "/var/run/secrets/kubernetes.io/serviceaccount/namespace", "default");
    assert_string_equal(container_with(&s, "A=b"), "kubernetes");
    host_remove(&s);
}

TEST(test_container_by_files)
{
    static const struct {
        const char *path, *text, *name;
    } rows[] = {
        {"/run/.containerenv", "", "podman"},
        {"/.dockerenv", "", "docker"},
        {"/proc/1/cgroup", "5:memory:/docker/8d3c\n", "docker"},
        {"/proc/1/cgroup", "0::/system.slice/docker-8d3c.scope\n", "docker"},
        {"/proc/1/cgroup", "0::/kubepods.slice/kubepods-pod1.slice/x.scope\n", "kubernetes"},
        {"/proc/1/cgroup", "0::/machine.slice/libpod-8d3c.scope\n", "podman"},
        {"/proc/1/cgroup", "4:cpu:/lxc/web\n", "lxc"},
        {"/proc/1/cgroup", "0::/lxc.payload.web/init.scope\n", "lxc"},
        {"/proc/1/cgroup", "0::/init.scope\n", "none"},
        {"/proc/1/cgroup", "0::/\n", "none"},
        {"/proc/self/mountinfo",
         "1 0 0:9 / / rw - overlay overlay rw,lowerdir=/var/lib/containerd/"
         "io.containerd.snapshotter.v1.overlayfs/snapshots/1/fs\n",
         "containerd"},
        {"/proc/self/mountinfo", "1 0 0:9 / / rw - overlay overlay rw,lowerdir=/squash\n", "none"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct host s = host_make();
        host_put(&s, rows[i].path, rows[i].text);
        assert_string_equal(system_of(s.root)->container, rows[i].name);
        host_remove(&s);
    }
}

TEST(test_marker_on_a_disk_of_its_own)
{
    // A small virtual machine whose disk was filled from a Docker image.
    struct host s = host_make();
    host_put(&s, "/.dockerenv", "");
    host_put(&s, "/proc/self/mountinfo", "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n");
    assert_string_equal(system_of(s.root)->container, "none");
    // Docker's device-mapper storage: a folder of the device, not all of it.
    host_put(&s, "/proc/self/mountinfo",
             "27 1 253:4 /rootfs / rw,relatime - ext4 /dev/mapper/docker-253:0-1 rw\n");
    assert_string_equal(system_of(s.root)->container, "docker");
    host_remove(&s);
}

TEST(test_first_process)
{
    struct host s = host_make();
    host_put(&s, "/proc/1/environ", "");
    assert_string_equal(system_of(s.root)->container, "none");
    char path[128];
    snprintf(path, sizeof path, "%s/proc/1/environ", s.root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    static const char environment[] = "TERM=linux\0notcontainer=x\0container=lxc";
    fwrite(environment, 1, sizeof environment, file); // with the NUL at its end
    assert_int_equal(fclose(file), 0);
    assert_string_equal(system_of(s.root)->container, "lxc");
    host_remove(&s);
}

TEST(test_power)
{
    struct host s = host_make();
    host_put(&s, "/sys/class/power_supply/BAT0/type", "Battery\n");
    host_put(&s, "/sys/class/power_supply/BAT0/status", "Discharging\n");
    assert_true(system_of(s.root)->on_battery.v);
    // Plugged in, but the supply is too weak: the clocks are not held down as on battery.
    host_put(&s, "/sys/class/power_supply/AC/type", "Mains\n");
    host_put(&s, "/sys/class/power_supply/AC/online", "1\n");
    assert_true(system_of(s.root)->on_battery.known && !system_of(s.root)->on_battery.v);
    host_put(&s, "/sys/class/power_supply/AC/online", "0\n");
    host_put(&s, "/sys/class/power_supply/BAT0/status", "Full\n");
    assert_true(system_of(s.root)->on_battery.known && !system_of(s.root)->on_battery.v);
    host_remove(&s);

    // A server with a wireless mouse is not on battery; nor does the mouse tell that it is not.
    s = host_make();
    host_put(&s, "/sys/class/power_supply/mouse/type", "Battery\n");
    host_put(&s, "/sys/class/power_supply/mouse/scope", "Device\n");
    host_put(&s, "/sys/class/power_supply/mouse/status", "Discharging\n");
    assert_absent(system_of(s.root)->on_battery);
    host_remove(&s);
}

TEST(test_os_release)
{
    // Quoting by os-release(5): as in a shell.
    static const struct {
        const char *line, *name;
    } rows[] = {
        {"PRETTY_NAME=Plain", "Plain"},
        {"PRETTY_NAME=\"A \\\"quoted\\\" \\$name\"", "A \"quoted\" $name"},
        {"PRETTY_NAME='a\\b'", "a\\b"},
        {"PRETTY_NAME=\"unterminated", "unterminated"},
        {"PRETTY_NAME=\"ends in \\", "ends in \\"},
        {"PRETTY_NAME=\"\"", NULL},
        {"PRETTY_NAME=", NULL},
        {"NAME=\"only a name\"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct host s = host_make();
        host_put(&s, i % 2 ? "/etc/os-release" : "/usr/lib/os-release", rows[i].line);
        const char *os = system_of(s.root)->os;
        if (rows[i].name)
            assert_string_equal(os, rows[i].name);
        else
            assert_null(os);
        host_remove(&s);
    }
}

TEST(test_hostile_counters)
{
    static const char *const stats[] = {"",
                                        "cpu",
                                        "cpu \n",
                                        "cpu 1 2 3 4 5 6 7\ncpu0 1\n",
                                        "cpu 0 0 0 0 0 0 0 0",
                                        "cpu0 1 2 3 4 5 6 7 8",
                                        "cpu a b c d e f g h"};
    struct host s = host_make();
    for (size_t i = 0; i < sizeof stats / sizeof *stats; i++) {
        host_put(&s, "/proc/stat", stats[i]);
        assert_absent(system_of(s.root)->steal_percent);
    }
    static const char *const loads[] = {"", "x", "-1.0 0 0", "nan 0 0", "inf", "1e400"};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        host_put(&s, "/proc/loadavg", loads[i]);
        assert_absent(system_of(s.root)->load_1min);
    }
    host_remove(&s);
}

TEST(test_this_machine)
{
    struct utsname name;
    assert_int_equal(uname(&name), 0);
    const struct machine_system *s = system_of("");
    assert_string_equal(s->kernel, name.release);
    assert_non_null(s->container);
    assert_true(s->load_1min.known);
}

// ==== memory ====

static struct machine_memory read_root(const char *root)
{
    struct probe probe = host_probe(root, "/");
    struct machine_memory memory = {0};
    struct err err = {0};
    assert_ok(probe_memory(&probe, &memory, &err), &err);
    return memory;
}

TEST(test_limited)
{
    struct machine_memory m = read_root(TREE("cgroup2-limits"));
    assert_int(m.total_bytes, 30817824LL * 1024);
    assert_int(m.available_bytes, 7LL << 30); // 8 GiB less 1.5 used, of which 0.5 is cache
    assert_int(m.limit_bytes, 8LL << 30);
    assert_int(m.usable_bytes, 8LL << 30);
    assert_int(m.shm_total_bytes, 64LL << 20); // Docker's default, size=65536k
    assert_absent(m.shm_free_bytes);           // a recorded machine cannot be asked
}

TEST(test_swap)
{
    struct machine_memory m = read_root(TREE("laptop-battery"));
    assert_int(m.swap_total_bytes, 8388604LL * 1024);
    assert_int(m.swap_used_bytes, (8388604LL - 6291452) * 1024);
    assert_absent(m.limit_bytes);
    assert_int(m.usable_bytes, 16065432LL * 1024);
    assert_absent(m.shm_total_bytes); // default size: not written in the mount's options
}

TEST(test_old_kernel)
{
    struct machine_memory m = read_root(TREE("xen-old"));
    assert_int(m.total_bytes, 7679764LL * 1024);
    assert_absent(m.available_bytes);
    assert_absent(m.shm_total_bytes); // size= there is that of /dev
    assert_int(m.swap_total_bytes, 0);
    assert_int(m.swap_used_bytes, 0);
}

TEST(test_limit_above_the_machine)
{
    struct host s = host_make();
    host_put(&s, "/proc/meminfo", "MemTotal:        1000 kB\n");
    host_put(&s, "/proc/self/mountinfo", "30 20 0:28 / /cg rw - cgroup2 cgroup2 rw\n");
    host_put(&s, "/proc/self/cgroup", "0::/a\n");
    host_put(&s, "/cg/a/memory.max", "2048000\n");
    struct machine_memory m = read_root(s.root);
    assert_int(m.limit_bytes, 2048000);
    assert_int(m.usable_bytes, 1024000);
    host_put(&s, "/proc/meminfo", "nothing of use\n");
    m = read_root(s.root);
    assert_absent(m.total_bytes);
    assert_int(m.usable_bytes, 2048000);
    host_remove(&s);
}

TEST(test_hostile_meminfo)
{
    struct host s = host_make();
    host_put(&s, "/proc/meminfo",
             "MemTotal:\nMemAvailable: -5 kB\nSwapTotal: 9999999999999999999 kB\n"
             "SwapFree: 9007199254740993 kB\n");
    struct machine_memory m = read_root(s.root);
    assert_absent(m.total_bytes);
    assert_absent(m.available_bytes);
    assert_absent(m.usable_bytes);
    assert_absent(m.swap_total_bytes);
    assert_absent(m.swap_used_bytes);
    // More free than there is.
    host_put(&s, "/proc/meminfo", "SwapTotal: 10 kB\nSwapFree: 11 kB\n");
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
        host_put(&s, "/proc/self/mountinfo", text);
        assert_absent(read_root(s.root).shm_total_bytes);
    }
    // A plain folder on a disk is not shared memory, whatever its options.
    host_put(&s, "/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw,size=1k\n");
    assert_absent(read_root(s.root).shm_total_bytes);
    host_remove(&s);
}

TEST(test_memory_this_machine)
{
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
    return run_all_tests(NULL, release);
}
