// SPDX-License-Identifier: Apache-2.0
// The sampler with its Nth allocation failing: at its start, and when it fills the record.
#include "machine/sample/sampler.h"

#include "oom.h"
#include "record/run.h"
#include "sample.h"
#include "machine/sample/totals.h"

#define CARD "/sys/bus/pci/devices/0000:c3:00.0/"

TEST(starting_and_finishing)
{
    struct host s = host_make();
    put_task(&s, 100, 1, 1, 1, 0, 0, 1);
    host_put(&s, "/proc/stat", "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n");
    host_put(&s, "/proc/100/cgroup", "0::/one\n");
    host_put(&s, "/proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 c rw\n");
    host_put(&s, "/sys/fs/cgroup/one/cpu.stat", "throttled_usec 1\n");
    host_put(&s, "/sys/class/powercap/intel-rapl:0/name", "package-0\n");
    host_put(&s, "/sys/class/powercap/intel-rapl:0/energy_uj", "5\n");
    host_put(&s, "/proc/net/dev", "  eth0: 1 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0\n");
    host_put(&s, "/sys/module/amdgpu/version", "6.7.0\n");
    host_put(&s, "/dev/kfd", "");
    host_put(&s, CARD "vendor", "0x1002\n");
    host_put(&s, CARD "device", "0x740f\n");
    host_put(&s, CARD "class", "0x120000\n");
    host_put(&s, CARD "hwmon/hwmon5/temp1_input", "71000\n");
    char link[256];
    snprintf(link, sizeof link, "%s" CARD "driver", s.root);
    assert_int_equal(symlink("../../../bus/pci/drivers/amdgpu", link), 0);
    unsetenv("FARE_NVML");
    static char visible[] = "CUDA_VISIBLE_DEVICES=0", hip[] = "HIP_VISIBLE_DEVICES=0";
    char *const env[] = {visible, hip, NULL};
    OOM_EACH
    {
        struct err err = {0};
        struct sampler *sampler;
        struct sampler_options options = {.root = s.root, .pid = 100, .env = env};
        struct run run = {0};
        int rc = sampler_start(&sampler, &options, &err);
        if (rc == 0)
            rc = sampler_finish(sampler, &run, &err);
        else
            assert_null(sampler);
        sampler_free(sampler);
        record_release(run_fields, &run);
        OOM_EXPECT(rc, &err);
    }
    host_remove(&s);
}

TEST(filling)
{
    struct totals host = {.history = {.width = HOST_FIGURES}};
    struct totals gpu = {.history = {.width = GPUS_MAX * CARD_FIGURES}};
    host.history.figures = calloc(HISTORY_POINTS * HOST_FIGURES, sizeof(struct mean));
    gpu.history.figures = calloc(HISTORY_POINTS * GPUS_MAX * CARD_FIGURES, sizeof(struct mean));
    gpu.gpu_count = 1;
    gpu.gpus_known = true;
    gpu.gpus[0] =
        (struct gpu){.name = "a", .uuid = "b", .ours = true, .others = true, .lost = true};
    for (int i = 0; i < 5; i++) {
        struct sample_reading reading = {.at_ns = i * 1000000000LL,
                                         .run_cpu_s = some_real(0),
                                         .busy_cpu_s = some_real(i),
                                         .steal_cpu_s = some_real(i),
                                         .all_cpu_s = some_real(2 * i),
                                         .throttled_ns = some_int(i * 1000000000LL)};
        reading.gpus[0].throttle_bits = some_int(i == 0 ? 0x8 : 0x60 | 0x84);
        totals_add(&host, &reading);
        totals_add(&gpu, &reading);
    }
    OOM_EACH
    {
        struct err err = {0};
        struct run run = {0};
        struct totals_context context = {0};
        int rc = totals_fill(&host, &gpu, &context, &run, &err);
        if (rc == 0)
            assert_int_equal(run.taints.count, 8);
        record_release(run_fields, &run);
        OOM_EXPECT(rc, &err);
    }
    free(host.history.figures);
    free(gpu.history.figures);
}
