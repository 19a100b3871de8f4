// SPDX-License-Identifier: Apache-2.0
// NVIDIA's GPUs through the stand-in library, one reading at a time.
#include "machine/recorded.h"

#undef assert_absent
#include "sample.h"

#define H100                                                                                       \
    "init = 0\ncount = 1\nreload = 1\ngpu*.name = NVIDIA H100 80GB HBM3\n"                         \
    "gpu*.uuid = GPU-6a5f2c10-0000-4000-8000-000000000000\n"

#define BUSY                                                                                       \
    "gpu0.use = 93\ngpu0.memory = 85520809984 572850176 12884901888 72063057920\n"                 \
    "gpu0.power = 642110\ngpu0.energy = 1000000\ngpu0.sm = 1755\ngpu0.temperature = 61\n"          \
    "gpu0.reasons = 0x24\ngpu0.sent = 1000000\ngpu0.received = 2000000\n"

static void begin(struct opened *o, const struct host *s, const char *answers)
{
    use_library("FARE_NVML", "../fake_nvml.so");
    answers_are(answers);
    open_source(o, &source_nvml, s->root, 100);
    assert_int_equal(o->rc, 0);
    assert_true(source_nvml.begin(o->state, &o->place));
}

TEST(a_gpu_is_read)
{
    struct host s = host_make();
    struct opened o;
    begin(&o, &s, H100 BUSY);
    assert_true(o.place.gpus_known);
    assert_int_equal(o.place.gpu_count, 1);
    assert_string_equal(o.gpus[0].name, "NVIDIA H100 80GB HBM3");
    const struct gpu_reading *gpu = read_at(&o, 0)->gpus;
    assert_real(gpu->use_percent, 93);
    assert_int(gpu->memory_bytes, 72063057920);
    assert_real(gpu->power_w, 642.11);
    assert_int(gpu->energy_mj, 1000000);
    assert_real(gpu->clock_mhz, 1755);
    assert_int(gpu->temperature_c, 61);
    assert_int(gpu->throttle_bits, 0x24);
    assert_absent(gpu->pcie_bytes_per_s);
    // PCIe at the second reading, then at every tenth.
    for (int i = 1; i < 25; i++) {
        gpu = read_at(&o, i)->gpus;
        assert_true(gpu->pcie_bytes_per_s.known == (i % 10 == 1));
    }
    assert_false(o.gpus[0].ours || o.gpus[0].others || o.gpus[0].lost);
    close_source(&o);
    host_remove(&s);
}

TEST(pcie_counts_both_ways)
{
    struct host s = host_make();
    struct opened o;
    begin(&o, &s, H100 BUSY);
    read_at(&o, 0);
    read_at(&o, 1);
    assert_real(o.reading.gpus[0].pcie_bytes_per_s, 3e9); // KB/s
    answers_are(H100 BUSY "gpu0.fail.nvmlDeviceGetPcieThroughput = 3\n");
    for (int i = 2; i < 12; i++)
        read_at(&o, i);
    assert_absent(o.reading.gpus[0].pcie_bytes_per_s);
    close_source(&o);
    host_remove(&s);
}

TEST(processes_tell_whose_gpu_it_is)
{
    struct host s = host_make();
    struct opened o;
    put_task(&s, 100, 1, 0, 0, 0, 0, 1);
    put_task(&s, 101, 100, 0, 0, 0, 0, 1);
    put_task(&s, 200, 1, 0, 0, 0, 0, 1);
    static const struct {
        const char *processes;
        bool ours, others;
    } cases[] = {
        {"", false, false},
        {"gpu0.process0 = 100 1000\n", true, false},
        {"gpu0.process0 = 101 -\n", true, false},
        {"gpu0.process0 = 200 5\n", false, true},
        {"gpu0.process0 = 101 1\ngpu0.process1 = 200 1\n", true, true},
        {"gpu0.process0 = 4711 5\n", false, false}, // in no /proc of ours: a number of the host's
        {"gpu0.process0 = 101 1\ngpu0.process1 = 4711 5\n", true, true}, // but then not
        {"gpu0.process0 = 0 5\n", false, false},
        {"gpu0.process0 = 4294967295 5\n", false, false},
        {"gpu0.process0 = 200 5\nendless = 1\n", false, false},
        {"gpu0.process0 = 200 5\novercount = 100000\n", false, false},
        {"gpu0.process0 = 101 5\nentry = 32\nclear = 1\n", true, false},
        {"gpu0.graphics0 = 200 5\n", false, false}, // a desktop is not computing
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char answers[2048];
        snprintf(answers, sizeof answers, H100 BUSY "%s", cases[i].processes);
        begin(&o, &s, answers);
        read_at(&o, 0);
        read_at(&o, 1);
        assert_true(o.gpus[0].ours == cases[i].ours);
        assert_true(o.gpus[0].others == cases[i].others);
        close_source(&o);
    }
    host_remove(&s);
}

TEST(absurd_answers_are_absent)
{
    struct host s = host_make();
    struct opened o;
    begin(&o, &s,
          H100 "gpu0.use = 4294967295\ngpu0.memory = 1000 0 0 5000\ngpu0.power = 4294967295\n"
               "gpu0.energy = 18446744073709551615\ngpu0.sm = 4000000000\n"
               "gpu0.temperature = 4294967295\ngpu0.reasons = 0xffffff00\n"
               "gpu0.sent = 4294967295\ngpu0.received = 4294967295\n");
    read_at(&o, 0);
    const struct gpu_reading *gpu = read_at(&o, 1)->gpus;
    assert_absent(gpu->use_percent);
    assert_absent(gpu->memory_bytes);
    assert_absent(gpu->power_w);
    assert_absent(gpu->energy_mj);
    assert_absent(gpu->clock_mhz);
    assert_absent(gpu->temperature_c);
    assert_absent(gpu->pcie_bytes_per_s);
    assert_int(gpu->throttle_bits, 0); // bits without a meaning that taints
    close_source(&o);
    // Names without an end.
    begin(&o, &s, H100 "unterminated = 1\n");
    assert_int_equal(strlen(o.gpus[0].name), sizeof o.gpus[0].name - 1);
    close_source(&o);
    host_remove(&s);
}

TEST(what_fails_is_absent)
{
    struct host s = host_make();
    struct opened o;
    begin(&o, &s, H100 "fail.nvmlDeviceGetName = 999\nfail.nvmlDeviceGetUUID = 999\n");
    assert_string_equal(o.gpus[0].name, "");
    const struct gpu_reading *gpu = read_at(&o, 0)->gpus; // no key: NVML_ERROR_NOT_SUPPORTED
    assert_absent(gpu->use_percent);
    assert_absent(gpu->memory_bytes);
    assert_absent(gpu->energy_mj);
    assert_absent(gpu->throttle_bits);
    close_source(&o);
    begin(&o, &s, H100 "fail.nvmlDeviceGetHandleByIndex = 15\n" BUSY);
    read_at(&o, 0);
    assert_absent(o.reading.gpus[0].use_percent);
    close_source(&o);
    begin(&o, &s, "init = 0\ncount = 0\n");
    assert_true(o.place.gpus_known);
    read_at(&o, 0);
    close_source(&o);
    host_remove(&s);
}

TEST(no_library_or_no_driver)
{
    struct host s = host_make();
    struct opened o;
    use_library("FARE_NVML", "../fake_nvml.so");
    answers_are("init = 9\n");
    open_source(&o, &source_nvml, s.root, 100);
    assert_false(source_nvml.begin(o.state, &o.place));
    assert_false(o.place.gpus_known);
    close_source(&o);
    unsetenv("FARE_NVML");
    open_source(&o, &source_nvml, s.root, 100);
    assert_false(source_nvml.begin(o.state, &o.place));
    close_source(&o);
    host_remove(&s);
}

TEST(a_gpu_cut_into_instances_shows_nothing)
{
    struct host s = host_make();
    struct opened o;
    put_task(&s, 100, 1, 0, 0, 0, 0, 1);
    begin(&o, &s, H100 BUSY "gpu0.mig = 1\ngpu0.process0 = 100 5\n");
    const struct gpu_reading *gpu = read_at(&o, 0)->gpus;
    assert_absent(gpu->use_percent);
    assert_absent(gpu->memory_bytes);
    assert_absent(gpu->energy_mj);
    assert_true(o.gpus[0].ours);
    close_source(&o);
    host_remove(&s);
}

TEST(a_gpu_that_is_lost_is_asked_no_more)
{
    struct host s = host_make();
    struct opened o;
    begin(&o, &s, H100 BUSY);
    read_at(&o, 0);
    assert_real(o.reading.gpus[0].use_percent, 93);
    answers_are(H100 BUSY "gpu0.fail.nvmlDeviceGetUtilizationRates = 15\n");
    read_at(&o, 1);
    assert_absent(o.reading.gpus[0].use_percent);
    assert_absent(o.reading.gpus[0].power_w);
    assert_true(o.gpus[0].lost);
    answers_are(H100 BUSY);
    read_at(&o, 2);
    assert_absent(o.reading.gpus[0].use_percent);
    close_source(&o);
    host_remove(&s);
}

TEST(an_old_library)
{
    struct host s = host_make();
    struct opened o;
    put_task(&s, 100, 1, 0, 0, 0, 0, 1);
    use_library("FARE_NVML", "../fake_nvml_old.so");
    answers_are(H100 BUSY "gpu0.process0 = 100 5\ngpu0.gpm = 1\ngpu0.gpm2 = 50\n");
    open_source(&o, &source_nvml, s.root, 100);
    assert_true(source_nvml.begin(o.state, &o.place));
    const struct gpu_reading *gpu = read_at(&o, 0)->gpus;
    assert_real(gpu->use_percent, 93);
    assert_int(gpu->temperature_c, 61);
    assert_int(gpu->throttle_bits, 0x24);
    assert_absent(gpu->activity.sm_percent);
    assert_true(o.gpus[0].ours);
    close_source(&o);
    host_remove(&s);
}

#define GPM                                                                                        \
    "gpu0.gpm = 1\ngpu0.gpm2 = 87.5\ngpu0.gpm5 = 41.25\ngpu0.gpm10 = 62\ngpu0.gpm20 = 100\n"       \
    "gpu0.gpm21 = 28\n"

// PCIe by its counters: 100 + 28 MiB/s.
TEST(activity_of_the_gpus_parts)
{
    struct host s = host_make();
    struct opened o;
    begin(&o, &s, H100 BUSY GPM);
    assert_absent(read_at(&o, 0)->gpus[0].activity.sm_percent);    // since when?
    assert_absent(read_at(&o, 0.09)->gpus[0].activity.sm_percent); // too soon
    for (int i = 1; i < 4; i++) {
        const struct gpm_activity *activity = &read_at(&o, i)->gpus[0].activity;
        assert_real(activity->sm_percent, 87.5);
        assert_real(activity->tensor_percent, 41.25);
        assert_real(activity->dram_percent, 62);
        assert_real(activity->pcie_bytes_per_s, 128.0 * 1048576);
    }
    // The last reading leaves out what may be slow.
    o.reading = (struct sample_reading){.number = 9, .last = true};
    source_nvml.read(o.state, &o.place, &o.reading);
    assert_real(o.reading.gpus[0].use_percent, 93);
    assert_absent(o.reading.gpus[0].activity.sm_percent);
    close_source(&o);
    host_remove(&s);
}

TEST(counters_that_misbehave)
{
    static const struct {
        const char *answers;
        bool sm, link; // known
    } cases[] = {
        {GPM, true, true},
        {"gpu0.gpm20 = -\n" GPM, true, false},
        {"gpu0.gpm21 = 1e300\n" GPM, true, false},
        {"gpu0.gpm20 = nan\n" GPM, true, false},
        {"gpu0.gpm2 = -\n" GPM, false, true},
        {"gpu0.gpm2 = -5\n" GPM, false, true},
        {"gpu0.gpm2 = nan\n" GPM, false, true},
        {"gpu0.gpm2 = 1e9\n" GPM, false, true},
        {"gpu0.gpm = 0\n" GPM, false, false},
        {"fail.nvmlGpmQueryDeviceSupport = 3\n" GPM, false, false},
        {"fail.nvmlGpmSampleAlloc = 20\n" GPM, false, false},
        {"fail.nvmlGpmSampleGet = 4\n" GPM, false, false},
        {"fail.nvmlGpmMetricsGet = 25\n" GPM, false, false},
        {"gpu0.mig = 1\n" GPM, false, false},
    };
    struct host s = host_make();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct opened o;
        char answers[2048];
        snprintf(answers, sizeof answers, H100 BUSY "%s", cases[i].answers);
        begin(&o, &s, answers);
        read_at(&o, 0);
        for (int at = 1; at < 3; at++) { // a failure must not break the next reading
            const struct gpm_activity *activity = &read_at(&o, at)->gpus[0].activity;
            assert_true(activity->sm_percent.known == cases[i].sm);
            assert_true(activity->pcie_bytes_per_s.known == cases[i].link);
        }
        close_source(&o);
    }
    host_remove(&s);
}

static int forget(void **state)
{
    (void)state;
    forget_answers();
    return 0;
}

int main(void)
{
    return run_all_tests(NULL, forget);
}
