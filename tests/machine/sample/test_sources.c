// SPDX-License-Identifier: Apache-2.0
// The sources that read files, on made-up machines in two or three states.
#include "machine/sample/source.h"

#include "sample.h"

TEST(cpu_time_of_everyone)
{
    struct host s = host_make();
    struct opened o;
    struct err err = {0};
    double hz = (double)sysconf(_SC_CLK_TCK);
    //                    user nice system idle iowait irq softirq steal guest guest_nice
    host_put(&s, "/proc/stat",
             "cpu  100 20 30 4000 50 6 7 80 9 10\ncpu0 1 1 1 1 1 1 1 1 0 0\n"
             "cpu1 1 1 1 1 1 1 1 1 0 0\ncpu17 1 1 1 1 1 1 1 1 0 0\nintr 12345 cpu\nctxt 1\n");
    put_task(&s, 100, 1, 20, 30, 0, 0, 10);
    open_source(&o, &source_cpu, s.root, 100);
    assert_int_equal(o.rc, 0);
    assert_ok(tasks_new(&o.place.tasks, &o.place.tree, 100, &err), &err);
    const struct sample_reading *reading = read_at(&o, 0);
    assert_int(reading->cpus, 3);
    assert_real(reading->busy_cpu_s, 163 / hz); // guests' time is part of user and nice
    assert_real(reading->steal_cpu_s, 80 / hz);
    assert_real(reading->all_cpu_s, 4293 / hz);
    assert_real(reading->run_cpu_s, 50 / hz);
    static const char *const bad[] = {"",         "cpu",     "cpu  1 2 3", "cpu  1 2 3 4 5 6 7 -8",
                                      "intr 5 5", "\xff\xff"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        host_put(&s, "/proc/stat", bad[i]);
        reading = read_at(&o, 1);
        assert_absent(reading->busy_cpu_s);
        assert_absent(reading->steal_cpu_s);
        assert_real(reading->run_cpu_s, 50 / hz);
    }
    close_source(&o);
    host_remove(&s);
}

#define NET_HEAD                                                                                   \
    "Inter-|   Receive                                                |  Transmit\n"               \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n"

TEST(network_bytes)
{
    struct host s = host_make();
    struct opened o;
    open_source(&o, &source_net, s.root, 1);
    assert_int_equal(o.rc, ERR_MISSING);
    close_source(&o);
    host_put(&s, "/proc/net/dev",
             NET_HEAD "    lo: 900 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0\n"
                      "  eth0:1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n"
                      "docker0: 500 1 0 0 0 0 0 0 600 1 0 0 0 0 0 0\n");
    // No interface with a device: a container. All but the loopback count.
    open_source(&o, &source_net, s.root, 1);
    read_at(&o, 0);
    assert_int(o.reading.network_in_bytes, 0);
    host_put(&s, "/proc/net/dev",
             NET_HEAD "    lo: 99900 1 0 0 0 0 0 0 99900 1 0 0 0 0 0 0\n"
                      "  eth0:1100 1 0 0 0 0 0 0 2010 1 0 0 0 0 0 0\n"
                      "docker0: 501 1 0 0 0 0 0 0 602 1 0 0 0 0 0 0\n"
                      "  eth1: 77 1 0 0 0 0 0 0 88 1 0 0 0 0 0 0\n"); // new: counted from here
    read_at(&o, 1);
    assert_int(o.reading.network_in_bytes, 101);
    assert_int(o.reading.network_out_bytes, 12);
    host_put(&s, "/proc/net/dev",
             NET_HEAD "  eth0: 30 1 0 0 0 0 0 0 2010 1 0 0 0 0 0 0\n" // went down and up
                      "  eth1: 80 1 0 0 0 0 0 0 88 1 0 0 0 0 0 0\nbroken: 1 2 3\n: 1\nx");
    read_at(&o, 2);
    assert_int(o.reading.network_in_bytes, 134);
    assert_int(o.reading.network_out_bytes, 12);
    host_put(&s, "/proc/net/dev", "");
    read_at(&o, 3);
    assert_absent(o.reading.network_in_bytes);
    close_source(&o);
    // With a device behind eth0 the bridge is the same bytes again.
    host_put(&s, "/sys/class/net/eth0/device/vendor", "0x1af4\n");
    host_put(&s, "/proc/net/dev",
             NET_HEAD "  eth0:1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n"
                      "docker0: 500 1 0 0 0 0 0 0 600 1 0 0 0 0 0 0\n");
    open_source(&o, &source_net, s.root, 1);
    read_at(&o, 0);
    host_put(&s, "/proc/net/dev",
             NET_HEAD "  eth0:1700 1 0 0 0 0 0 0 2003 1 0 0 0 0 0 0\n"
                      "docker0: 900 1 0 0 0 0 0 0 700 1 0 0 0 0 0 0\n");
    read_at(&o, 1);
    assert_int(o.reading.network_in_bytes, 700);
    assert_int(o.reading.network_out_bytes, 3);
    close_source(&o);
    host_remove(&s);
}

static void put_package(const struct host *s, const char *domain, const char *name,
                        const char *energy_uj, const char *range_uj)
{
    const char *const files[][2] = {
        {"name", name}, {"energy_uj", energy_uj}, {"max_energy_range_uj", range_uj}};
    for (int i = 0; i < 3; i++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/class/powercap/%s/%s", domain, files[i][0]);
        host_put(s, path, files[i][1]);
    }
}

TEST(energy_of_packages)
{
    struct host s = host_make();
    struct opened o;
    put_package(&s, "intel-rapl:0", "package-0\n", "262143000000\n", "262143328850\n");
    put_package(&s, "intel-rapl:0:0", "core\n", "5000000\n", "262143328850\n");
    put_package(&s, "intel-rapl:1", "package-1\n", "1000000\n", "262143328850\n");
    put_package(&s, "intel-rapl:2", "psys\n", "7000000\n", "262143328850\n");
    put_package(&s, "intel-rapl-mmio:0", "package-0\n", "262143000000\n", "262143328850\n");
    open_source(&o, &source_rapl, s.root, 1);
    assert_int_equal(o.rc, 0);
    read_at(&o, 10);
    assert_real(o.reading.cpu_energy_j, 0);
    // The first package's counter passed its range: 328850 µJ to the end, 40 J after it.
    put_package(&s, "intel-rapl:0", "package-0\n", "40000000\n", "262143328850\n");
    put_package(&s, "intel-rapl:0:0", "core\n", "25000000\n", "262143328850\n");
    put_package(&s, "intel-rapl:1", "package-1\n", "61000000\n", "262143328850\n");
    read_at(&o, 11);
    assert_real(o.reading.cpu_energy_j, 100.32885);
    put_package(&s, "intel-rapl:1", "package-1\n", "61500000\n", "262143328850\n");
    read_at(&o, 11.5);
    assert_real(o.reading.cpu_energy_j, 100.82885);
    // A megajoule in half a second is no package: from here on it is not believed.
    put_package(&s, "intel-rapl:1", "package-1\n", "1000061500000\n", "262143328850\n");
    read_at(&o, 12);
    assert_absent(o.reading.cpu_energy_j);
    put_package(&s, "intel-rapl:1", "package-1\n", "62000000\n", "262143328850\n");
    read_at(&o, 12.5);
    assert_absent(o.reading.cpu_energy_j);
    close_source(&o);
    host_remove(&s);
}

TEST(energy_that_cannot_be_read_is_absent)
{
    struct host s = host_make();
    struct opened o;
    open_source(&o, &source_rapl, s.root, 1);
    assert_int_equal(o.rc, ERR_MISSING);
    close_source(&o);
    put_package(&s, "intel-rapl:0", "package-0\n", "5000000\n", "262143328850\n");
    put_package(&s, "intel-rapl:1", "package-1\n", "", "262143328850\n"); // one of two
    open_source(&o, &source_rapl, s.root, 1);
    assert_int_equal(o.rc, ERR_MISSING);
    close_source(&o);
    // It can be read at first and then no more; a counter that goes back without a range.
    put_package(&s, "intel-rapl:1", "package-1\n", "10\n", "x\n");
    open_source(&o, &source_rapl, s.root, 1);
    read_at(&o, 1);
    assert_real(o.reading.cpu_energy_j, 0);
    put_package(&s, "intel-rapl:1", "package-1\n", "9\n", "x\n");
    read_at(&o, 2);
    assert_absent(o.reading.cpu_energy_j);
    close_source(&o);
    host_remove(&s);
}

TEST(quota_of_version_2)
{
    struct host s = host_make();
    struct opened o;
    host_put(&s, "/proc/77/cgroup", "0::/jobs/one\n");
    host_put(&s, "/proc/self/mountinfo",
             "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
    host_put(&s, "/sys/fs/cgroup/cpu.stat", "usage_usec 9\nuser_usec 5\n"); // the root has none
    host_put(&s, "/sys/fs/cgroup/jobs/cpu.stat",
             "usage_usec 1\nnr_periods 3\nnr_throttled 1\nthrottled_usec 1000000\n");
    host_put(&s, "/sys/fs/cgroup/jobs/one/cpu.stat", "usage_usec 1\nthrottled_usec 500\n");
    open_source(&o, &source_cgroup, s.root, 77);
    assert_int_equal(o.rc, 0);
    read_at(&o, 0);
    assert_int(o.reading.throttled_ns, 0);
    host_put(&s, "/sys/fs/cgroup/jobs/cpu.stat", "usage_usec 1\nthrottled_usec 4100000\n");
    host_put(&s, "/sys/fs/cgroup/jobs/one/cpu.stat", "usage_usec 1\nthrottled_usec 1500\n");
    read_at(&o, 1);
    assert_int(o.reading.throttled_ns, 3100000000);
    host_put(&s, "/sys/fs/cgroup/jobs/cpu.stat", "throttled_usec 99999999999999999999\n");
    read_at(&o, 2);
    assert_int(o.reading.throttled_ns, 3100000000);
    close_source(&o);
    host_remove(&s);
}

TEST(quota_of_version_1)
{
    struct host s = host_make();
    struct opened o;
    host_put(&s, "/proc/77/cgroup", "4:memory:/x\n3:cpu,cpuacct:/docker/ab\n");
    host_put(&s, "/proc/self/mountinfo",
             "33 32 0:30 /docker/ab /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
    host_put(&s, "/sys/fs/cgroup/cpu/cpu.stat",
             "nr_periods 10\nnr_throttled 2\nthrottled_time 250000000\n");
    open_source(&o, &source_cgroup, s.root, 77);
    assert_int_equal(o.rc, 0);
    read_at(&o, 0);
    host_put(&s, "/sys/fs/cgroup/cpu/cpu.stat",
             "nr_periods 20\nnr_throttled 9\nthrottled_time 1250000123\n");
    read_at(&o, 1);
    assert_int(o.reading.throttled_ns, 1000000123);
    close_source(&o);
    drop(&s, "/sys/fs/cgroup/cpu/cpu.stat");
    open_source(&o, &source_cgroup, s.root, 77);
    assert_int_equal(o.rc, ERR_MISSING);
    close_source(&o);
    host_remove(&s);
}

#define CARD "/sys/bus/pci/devices/0000:c3:00.0/"

static void put_card(const struct host *s)
{
    host_put(s, "/sys/module/amdgpu/version", "6.7.0\n");
    host_put(s, "/dev/kfd", "");
    host_put(s, CARD "vendor", "0x1002\n");
    host_put(s, CARD "device", "0x740f\n");
    host_put(s, CARD "class", "0x120000\n");
    host_put(s, CARD "unique_id", "a1b2c3d4e5f60718\n");
    host_put(s, CARD "gpu_busy_percent", "97\n");
    host_put(s, CARD "mem_info_vram_total", "68702699520\n");
    host_put(s, CARD "mem_info_vram_used", "60000000000\n");
    host_put(s, CARD "hwmon/hwmon5/power1_average", "289000000\n");
    host_put(s, CARD "hwmon/hwmon5/energy1_input", "123456789\n");
    host_put(s, CARD "hwmon/hwmon5/freq1_input", "1700000000\n");
    host_put(s, CARD "hwmon/hwmon5/temp1_input", "71000\n");
    char link[256];
    snprintf(link, sizeof link, "%s" CARD "driver", s->root);
    assert_int_equal(symlink("../../../bus/pci/drivers/amdgpu", link), 0);
}

TEST(amd_cards)
{
    struct host s = host_make();
    struct opened o;
    open_source(&o, &source_amdgpu, s.root, 1);
    assert_int_equal(o.rc, ERR_MISSING);
    close_source(&o);
    put_card(&s);
    open_source(&o, &source_amdgpu, s.root, 1);
    assert_int_equal(o.rc, 0);
    assert_int_equal(o.place.gpu_count, 1);
    assert_string_equal(o.gpus[0].uuid, "GPU-a1b2c3d4e5f60718");
    const struct gpu_reading *gpu = read_at(&o, 0)->gpus;
    assert_real(gpu->use_percent, 97);
    assert_int(gpu->memory_bytes, 60000000000);
    assert_real(gpu->power_w, 289);
    assert_int(gpu->energy_mj, 123456);
    assert_real(gpu->clock_mhz, 1700);
    assert_int(gpu->temperature_c, 71);
    assert_absent(gpu->throttle_bits);
    assert_absent(gpu->pcie_bytes_per_s);
    // A GPU in reset answers nonsense or nothing.
    host_put(&s, CARD "gpu_busy_percent", "65535\n");
    host_put(&s, CARD "mem_info_vram_used", "");
    host_put(&s, CARD "hwmon/hwmon5/power1_average", "-1\n");
    host_put(&s, CARD "hwmon/hwmon5/energy1_input", "18446744073709551615\n");
    host_put(&s, CARD "hwmon/hwmon5/freq1_input", "x\n");
    host_put(&s, CARD "hwmon/hwmon5/temp1_input", "4294967295\n");
    gpu = read_at(&o, 1)->gpus;
    assert_absent(gpu->use_percent);
    assert_absent(gpu->memory_bytes);
    assert_absent(gpu->power_w);
    assert_absent(gpu->energy_mj);
    assert_absent(gpu->clock_mhz);
    assert_absent(gpu->temperature_c);
    close_source(&o);
    host_remove(&s);
}

// The recorded machine with two AMD cards, one of which has power1_input alone.
TEST(amd_cards_of_a_recorded_machine)
{
    struct opened o;
    open_source(&o, &source_amdgpu, TREE("amd-mi"), 1);
    assert_int_equal(o.rc, 0);
    // Without the data file of names beside the test the integrated one is listed too.
    assert_true(o.place.gpu_count >= 2);
    const struct sample_reading *reading = read_at(&o, 0);
    bool found = false;
    for (int i = 0; i < o.place.gpu_count; i++) {
        if (strcmp(o.gpus[i].uuid, "GPU-a1b2c3d4e5f60718") != 0)
            continue;
        found = true;
        assert_string_equal(o.gpus[i].name, "AMD Instinct MI210");
        assert_real(reading->gpus[i].use_percent, 99);
        assert_real(reading->gpus[i].power_w, 289);
        assert_int(reading->gpus[i].memory_bytes, 66571993088);
    }
    assert_true(found);
    close_source(&o);
    open_source(&o, &source_amdgpu, TREE("amd-no-driver"), 1);
    assert_int_equal(o.rc, ERR_MISSING);
    close_source(&o);
}

TEST(storage_pressure)
{
    struct host s = host_make();
    struct opened o;
    open_source(&o, &source_pressure, s.root, 77);
    assert_int_equal(o.rc, ERR_MISSING);
    close_source(&o);
    // The machine's, then the run's own group's; the words are the kernel's (psi.rst).
    host_put(&s, "/proc/pressure/io",
             "some avg10=0.00 avg60=1.50 avg300=0.10 total=5000000\n"
             "full avg10=0.00 avg60=0.00 avg300=0.00 total=4000000\n");
    open_source(&o, &source_pressure, s.root, 77);
    assert_real(read_at(&o, 0)->io_stalled_s, 5);
    static const char *const bad[] = {"",
                                      "some",
                                      "some avg10=0.00 total=\n",
                                      "full total=5\n",
                                      "some total=99999999999999999999\n",
                                      "\xff\xfe"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        host_put(&s, "/proc/pressure/io", bad[i]);
        assert_absent(read_at(&o, 1)->io_stalled_s);
    }
    close_source(&o);
    host_put(&s, "/proc/77/cgroup", "0::/jobs/one\n");
    host_put(&s, "/proc/77/mountinfo",
             "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
    host_put(&s, "/proc/self/mountinfo",
             "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
    host_put(&s, "/sys/fs/cgroup/jobs/io.pressure", "some avg10=0.00 total=9000000\n");
    host_put(&s, "/sys/fs/cgroup/jobs/one/io.pressure", "some avg10=0.00 total=250000\n");
    open_source(&o, &source_pressure, s.root, 77);
    assert_real(read_at(&o, 0)->io_stalled_s, 0.25);
    close_source(&o);
    host_remove(&s);
}
