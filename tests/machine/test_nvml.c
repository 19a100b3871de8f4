// SPDX-License-Identifier: Apache-2.0
#include "machine/nvml.h"

#include "recorded.h"

// Opens the stand-in with these answers and reads the GPUs it shows.
static void read_gpus(const char *library, const char *answers, struct machine *machine)
{
    struct err err = {0};
    struct tree tree = {.root = "/nonexistent"};
    struct nvml nvml;
    use_library("FARE_NVML", library);
    answers_are(answers);
    memset(machine, 0, sizeof *machine);
    assert_ok(nvml_open(&nvml, &tree, &err), &err);
    assert_ok(nvml_read_gpus(&nvml, &tree, machine, &err), &err);
    nvml_close(&nvml);
}

#define ONE_GPU                                                                                    \
    "driver = 550.54.15\nnvml = 12.550.54.15\ncuda = 12040\ncount = 1\n"                           \
    "gpu0.name = NVIDIA A100-SXM4-80GB\ngpu0.uuid = GPU-1\ngpu0.pci = 00000001:0A:00.0\n"          \
    "gpu0.pci_id = 0x20B210DE\ngpu0.capability = 8.0\n"                                            \
    "gpu0.memory = 85899345920 600000000 85000000000 299345920\ngpu0.link = 4\n"                   \
    "gpu0.link_max = 4\ngpu0.width = 16\ngpu0.width_max = 16\ngpu0.sm = 210\ngpu0.sm_max = 1410\n" \
    "gpu0.mem = 1593\ngpu0.mem_max = 1593\ngpu0.power = 52000\ngpu0.power_limit = 350000\n"        \
    "gpu0.power_default = 400000\ngpu0.temperature = 30\ngpu0.use = 7\ngpu0.pstate = 2\n"          \
    "gpu0.ecc = 1\ngpu0.persistence = 0\ngpu0.reasons = 0x1ff\n"                                   \
    "gpu0.process0 = 100 1000\ngpu0.process1 = 200 -\ngpu0.process2 = 300 3000\n"                  \
    "gpu0.graphics0 = 200 2000\ngpu0.graphics1 = 400 4000\n"

static void check_one(const struct machine *machine, int64_t used)
{
    assert_int_equal(machine->gpus.count, 1);
    const struct machine_gpu *gpu = &machine->gpus.items[0];
    assert_known(gpu->index, 0);
    assert_string_equal(gpu->vendor, "nvidia");
    assert_string_equal(gpu->name, "NVIDIA A100-SXM4-80GB");
    assert_string_equal(gpu->uuid, "GPU-1");
    assert_string_equal(gpu->pci_address, "0001:0a:00.0");
    assert_string_equal(gpu->pci_id, "10de:20b2");
    assert_string_equal(gpu->driver, "550.54.15");
    assert_string_equal(gpu->cuda, "12.4");
    assert_string_equal(gpu->compute_capability, "8.0");
    assert_true(gpu->works.known && gpu->works.v);
    assert_null(gpu->problem);
    assert_known(gpu->memory_total_bytes, 85899345920);
    assert_known(gpu->memory_used_bytes, used);
    assert_known(gpu->pcie_generation, 4);
    assert_known(gpu->pcie_generation_max, 4);
    assert_known(gpu->pcie_width, 16);
    assert_known(gpu->pcie_width_max, 16);
    assert_known(gpu->clock_sm_mhz, 210);
    assert_known(gpu->clock_sm_max_mhz, 1410);
    assert_known(gpu->clock_memory_mhz, 1593);
    assert_known(gpu->clock_memory_max_mhz, 1593);
    assert_known(gpu->power_mw, 52000);
    assert_known(gpu->power_limit_mw, 350000);
    assert_known(gpu->power_limit_default_mw, 400000);
    assert_known(gpu->temperature_c, 30);
    assert_known(gpu->use_percent, 7);
    assert_known(gpu->performance_state, 2);
    assert_known(gpu->ecc, true);
    assert_known(gpu->persistence, false);
    // Of all the bits only these five hold clocks down (nvml.h, clocks event reasons).
    static const char *const reasons[] = {"sw power cap", "hw slowdown", "sw thermal slowdown",
                                          "hw thermal slowdown", "hw power brake"};
    assert_int_equal(gpu->throttling.count, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(gpu->throttling.items[i], reasons[i]);
    // Two lists become one, by pid.
    static const int64_t pids[] = {100, 200, 300, 400}, bytes[] = {1000, 2000, 3000, 4000};
    assert_true(gpu->processes.known);
    assert_int_equal(gpu->processes.count, 4);
    for (int i = 0; i < 4; i++) {
        assert_known(gpu->processes.items[i].pid, pids[i]);
        assert_known(gpu->processes.items[i].memory_bytes, bytes[i]);
        assert_null(gpu->processes.items[i].name); // no /proc here
    }
}

TEST(every_fact_is_read)
{
    struct machine machine;
    read_gpus("fake_nvml.so", ONE_GPU, &machine);
    check_one(&machine, 299345920);
    machine_release(&machine);
}

// A library of before 2020 has none of the newer names; its memory in use counts the reserved.
TEST(old_libraries_tell_the_same)
{
    struct machine machine;
    read_gpus("fake_nvml_old.so", ONE_GPU, &machine);
    check_one(&machine, 299345920 + 600000000);
    assert_absent(machine.gpus.items[0].mig);
    machine_release(&machine);
}

// A library that has the newer names but says "function not found" (13) to them.
TEST(new_names_that_do_nothing_are_passed_over)
{
    struct machine machine;
    read_gpus("fake_nvml.so",
              ONE_GPU "fail.nvmlSystemGetCudaDriverVersion_v2 = 13\n"
                      "fail.nvmlDeviceGetPciInfo_v3 = 13\nfail.nvmlDeviceGetMemoryInfo_v2 = 13\n"
                      "fail.nvmlDeviceGetTemperatureV = 13\n"
                      "fail.nvmlDeviceGetCurrentClocksEventReasons = 13\n"
                      "fail.nvmlDeviceGetComputeRunningProcesses_v3 = 13\n"
                      "fail.nvmlDeviceGetGraphicsRunningProcesses_v3 = 13\n"
                      "fail.nvmlDeviceGetGraphicsRunningProcesses_v2 = 13\n",
              &machine);
    check_one(&machine, 299345920 + 600000000);
    machine_release(&machine);
}

// Entries of 32 bytes under the name of those of 24: drivers 530 and 535.
TEST(long_entries_are_noticed)
{
    struct machine machine;
    static const char *const variants[] = {ONE_GPU "entry = 24\n", ONE_GPU "entry = 32\n",
                                           ONE_GPU "entry = 24\nclear = 1\n",
                                           ONE_GPU "entry = 32\nclear = 1\n"};
    for (int i = 0; i < 4; i++) {
        read_gpus("fake_nvml.so", variants[i], &machine);
        check_one(&machine, 299345920);
        machine_release(&machine);
    }
}

TEST(many_processes_fit)
{
    struct machine machine;
    // Around every size the buffer has: 33 at first, then twice what was asked for.
    static const int counts[] = {1, 24, 25, 32, 33, 34, 44, 50, 66, 67, 200, 700};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (int variant = 0; variant < 4; variant++) {
            struct buf text = {0};
            buf_printf(&text, "count = 1\ngpu0.name = X\nentry = %d\nclear = %d\n",
                       variant & 1 ? 32 : 24, variant >> 1);
            for (int i = 0; i < counts[c]; i++)
                buf_printf(&text, "gpu0.process%d = %d %d\n", i, 1000 + i, 7 * i);
            read_gpus("fake_nvml.so", buf_str(&text), &machine);
            const struct machine_gpu *gpu = &machine.gpus.items[0];
            assert_true(gpu->processes.known);
            assert_int_equal(gpu->processes.count, counts[c]);
            for (int i = 0; i < counts[c]; i++) {
                assert_known(gpu->processes.items[i].pid, 1000 + i);
                assert_known(gpu->processes.items[i].memory_bytes, 7 * i);
            }
            machine_release(&machine);
            buf_release(&text);
        }
    }
}

TEST(lists_that_cannot_be_had_are_unknown)
{
    struct machine machine;
    static const struct {
        const char *answers;
        bool known;
        size_t count;
    } cases[] = {
        {"endless = 1\n", false, 0},
        {"overcount = 1000000\n", false, 0},
        {"fail.nvmlDeviceGetComputeRunningProcesses_v3 = 4\n", true, 2}, // what the other said
        {"fail.nvmlDeviceGetGraphicsRunningProcesses_v3 = 999\n", true, 3},
        {"fail.nvmlDeviceGetGraphicsRunningProcesses_v3 = 3\n", true, 3}, // not supported: none
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf text = {0};
        buf_printf(&text, "%s%s", ONE_GPU, cases[i].answers);
        read_gpus("fake_nvml.so", buf_str(&text), &machine);
        assert_int_equal(machine.gpus.items[0].processes.known, cases[i].known);
        assert_int_equal(machine.gpus.items[0].processes.count, cases[i].count);
        assert_true(machine.gpus.items[0].works.v);
        machine_release(&machine);
        buf_release(&text);
    }
}

TEST(hidden_pids_are_absent)
{
    struct machine machine;
    read_gpus("fake_nvml.so",
              "count = 1\ngpu0.name = X\ngpu0.process0 = 0 5\ngpu0.process1 = 0 -\n", &machine);
    const struct machine_gpu *gpu = &machine.gpus.items[0];
    assert_int_equal(gpu->processes.count, 2);
    assert_absent(gpu->processes.items[0].pid);
    assert_known(gpu->processes.items[0].memory_bytes, 5);
    assert_absent(gpu->processes.items[1].memory_bytes);
    machine_release(&machine);
}

// Any single question may fail with any code: that fact is absent, the GPU works.
TEST(a_failing_question_leaves_one_fact_absent)
{
    static const struct {
        const char *call;
        size_t at;
    } calls[] = {
#define NUMBER(call, member) {call, offsetof(struct machine_gpu, member.known)}
        NUMBER("nvmlDeviceGetCurrPcieLinkGeneration", pcie_generation),
        NUMBER("nvmlDeviceGetMaxPcieLinkGeneration", pcie_generation_max),
        NUMBER("nvmlDeviceGetCurrPcieLinkWidth", pcie_width),
        NUMBER("nvmlDeviceGetMaxPcieLinkWidth", pcie_width_max),
        NUMBER("nvmlDeviceGetClockInfo", clock_sm_mhz),
        NUMBER("nvmlDeviceGetMaxClockInfo", clock_memory_max_mhz),
        NUMBER("nvmlDeviceGetPowerUsage", power_mw),
        NUMBER("nvmlDeviceGetEnforcedPowerLimit", power_limit_mw),
        NUMBER("nvmlDeviceGetPowerManagementDefaultLimit", power_limit_default_mw),
        NUMBER("nvmlDeviceGetUtilizationRates", use_percent),
        NUMBER("nvmlDeviceGetPerformanceState", performance_state),
        NUMBER("nvmlDeviceGetEccMode", ecc),
        NUMBER("nvmlDeviceGetPersistenceMode", persistence),
    };
    static const int codes[] = {1, 2, 3, 4, 6, 7, 10, 13, 17, 20, 25, 999, 12345, -1};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (size_t c = 0; c < sizeof codes / sizeof *codes; c++) {
            struct machine machine;
            struct buf text = {0};
            buf_printf(&text, "%sgpu0.fail.%s = %d\n", ONE_GPU, calls[i].call, codes[c]);
            read_gpus("fake_nvml.so", buf_str(&text), &machine);
            const struct machine_gpu *gpu = &machine.gpus.items[0];
            assert_false(*(const bool *)((const char *)gpu + calls[i].at));
            assert_true(gpu->works.v);
            assert_string_equal(gpu->name, "NVIDIA A100-SXM4-80GB");
            assert_known(gpu->temperature_c, 30);
            machine_release(&machine);
            buf_release(&text);
        }
    }
}

TEST(figures_out_of_range_are_absent)
{
    struct machine machine;
    read_gpus(
        "fake_nvml.so",
        "count = 1\ngpu0.name = X\ngpu0.link = 0\ngpu0.width = 4294967295\n"
        "gpu0.link_max = 200\ngpu0.use = 101\ngpu0.pstate = 32\ngpu0.temperature = 4294967295\n"
        "gpu0.power = 4294967295\ngpu0.memory = 18446744073709551615 0 0 18446744073709551615\n"
        "gpu0.sm = 4294967295\ngpu0.reasons = 0x113\n",
        &machine);
    const struct machine_gpu *gpu = &machine.gpus.items[0];
    assert_true(gpu->works.v);
    assert_absent(gpu->pcie_generation);
    assert_absent(gpu->pcie_width);
    assert_absent(gpu->pcie_generation_max);
    assert_absent(gpu->use_percent);
    assert_absent(gpu->performance_state); // 32 is NVML_PSTATE_UNKNOWN
    assert_absent(gpu->temperature_c);
    assert_absent(gpu->power_mw);
    assert_absent(gpu->memory_total_bytes);
    assert_absent(gpu->clock_sm_mhz);
    assert_null(gpu->cuda);
    assert_null(gpu->driver);
    assert_int_equal(gpu->throttling.count, 0); // idle, application clocks, sync boost, display
    machine_release(&machine);
}

TEST(names_without_an_end_are_cut)
{
    struct machine machine;
    read_gpus("fake_nvml.so", ONE_GPU "unterminated = 1\n", &machine);
    const struct machine_gpu *gpu = &machine.gpus.items[0];
    assert_int_equal(strlen(gpu->name), 96); // what the library was told there is
    assert_memory_equal(gpu->name, "NVIDIA A100-SXM4-80GBxxxx", 25);
    assert_int_equal(strlen(gpu->uuid), 96);
    machine_release(&machine);
}

TEST(a_lost_gpu_does_not_work)
{
    struct machine machine;
    read_gpus("fake_nvml.so",
              "count = 4\ngpu*.name = X\n"
              "gpu1.fail.nvmlDeviceGetPowerUsage = 15\n"
              "gpu2.fail.nvmlDeviceGetHandleByIndex = 15\n"
              "gpu3.fail.nvmlDeviceGetName = 999\ngpu3.fail.nvmlDeviceGetUUID = 999\n",
              &machine);
    const struct machine_gpu *gpu = machine.gpus.items;
    assert_int_equal(machine.gpus.count, 4);
    assert_true(gpu[0].works.v);
    assert_known(gpu[1].works, false);
    assert_string_equal(gpu[1].problem,
                        "nvmlDeviceGetPowerUsage: GPU is lost (code 15: it has fallen off the bus "
                        "or cannot be reached)");
    assert_string_equal(gpu[1].name, "X");
    assert_known(gpu[2].works, false);
    assert_known(gpu[2].index, 2);
    assert_string_equal(gpu[2].problem,
                        "nvmlDeviceGetHandleByIndex: GPU is lost (code 15: it has fallen off the "
                        "bus or cannot be reached)");
    assert_known(gpu[3].works, false);
    assert_string_equal(gpu[3].problem,
                        "nvmlDeviceGetName: Unknown Error (code 999: driver error)");
    machine_release(&machine);
}

TEST(instances_are_listed)
{
    struct err err = {0};
    char root[256];
    struct probe probe = recorded("mig-a100", root);
    struct machine machine = {0};
    struct nvml nvml;
    assert_ok(nvml_open(&nvml, &probe.tree, &err), &err);
    assert_ok(nvml_read_gpus(&nvml, &probe.tree, &machine, &err), &err);
    nvml_close(&nvml);
    const struct machine_gpu *gpu = &machine.gpus.items[0];
    assert_known(gpu->mig, true);
    assert_absent(gpu->use_percent); // not to be had with MIG on
    assert_false(gpu->processes.known);
    assert_int_equal(gpu->mig_instances.count, 2);
    assert_string_equal(gpu->mig_instances.items[0].name, "3g.20gb");
    assert_string_equal(gpu->mig_instances.items[0].uuid,
                        "MIG-6bd3e9ab-7a6b-5d6e-b2a3-2d5d6a1f4c10");
    assert_known(gpu->mig_instances.items[0].memory_bytes, 20937965568);
    assert_string_equal(gpu->mig_instances.items[1].name, "1g.5gb");
    assert_known(gpu->mig_instances.items[1].memory_bytes, 5100273664);
    machine_release(&machine);
}

TEST(a_library_that_does_not_start_says_why)
{
    struct tree tree = {.root = "/nonexistent"};
    static const struct {
        const char *answers, *text, *version;
    } cases[] = {
        {"init = 9\nnvml = 12.550.54.15\n",
         "nvmlInit: Driver Not Loaded (code 9: the NVIDIA kernel driver is not loaded)",
         "550.54.15"},
        {"init = 18\nnvml = 550.54.15\n",
         "nvmlInit: Driver/library version mismatch (code 18: kernel driver and library have "
         "different versions)",
         "550.54.15"},
        {"init = 4242\n", "nvmlInit: Unknown Error (code 4242)", ""},
    };
    use_library("FARE_NVML", "fake_nvml.so");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        struct nvml nvml;
        answers_are(cases[i].answers);
        assert_int_equal(nvml_open(&nvml, &tree, &err), ERR_FAIL);
        assert_string_equal(err.text, cases[i].text);
        assert_string_equal(nvml.version, cases[i].version);
        nvml_close(&nvml); // harmless
    }
}

TEST(no_library_is_missing)
{
    struct tree recorded_tree = {.root = "/nonexistent"}, here = {.root = ""};
    struct nvml nvml;
    struct err err = {0};
    setenv("FARE_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
    assert_int_equal(nvml_open(&nvml, &here, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "the NVIDIA management library is not on this machine"));
    nvml_close(&nvml);
    unsetenv("FARE_NVML"); // a recorded machine never gets this machine's own
    assert_int_equal(nvml_open(&nvml, &recorded_tree, NULL), ERR_MISSING);
    use_library("FARE_NVML", "fake_cuda.so"); // some other library
    struct err other = {0};
    assert_int_equal(nvml_open(&nvml, &recorded_tree, &other), ERR_MISSING);
    assert_non_null(strstr(other.text, "lacks functions"));
    nvml_close(&nvml);
    nvml_close(&(struct nvml){0});
}

TEST(the_link_of_one_gpu_is_found)
{
    struct err err = {0};
    char root[256];
    struct probe probe = recorded("pcie-narrow", root);
    struct nvml nvml;
    struct maybe_int generation = {0}, width = {0};
    assert_ok(nvml_open(&nvml, &probe.tree, &err), &err);
    nvml_read_link(&nvml, "0000:99:00.0", &generation, &width);
    assert_absent(generation);
    nvml_read_link(&nvml, "0000:01:00.0", &generation, &width);
    assert_known(generation, 1);
    assert_known(width, 4);
    nvml_close(&nvml);
}

// Texts of real machines: a proprietary module of 2023, an open one of 2025, an old one.
TEST(the_module_version_is_found)
{
    static const struct {
        const char *text, *version;
    } cases[] = {
        {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023\n"
         "GCC version:  gcc version 11.4.0\n",
         "535.54.03"},
        {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  "
         "(dvs-builder@U22-I3-AE18-09-6)  Sun Jul 27 07:13:59 UTC 2025\n",
         "580.65.06"},
        {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  390.157  Wed Oct 12 2022\n", "390.157"},
        {"550.54.15\n", "550.54.15"}, // /sys/module/nvidia/version
        {"", ""},
        {"\n535.54.03\n", ""},
        {"NVRM version: none\n", ""},
        {"535 . .. 5.5. .5 1..x", ""},
        {"999999999999999999999999999999999999999999999999999999999999999999999999.1 1.2", "1.2"},
    };
    char out[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nvml_module_version(cases[i].text, out, sizeof out);
        assert_string_equal(out, cases[i].version);
    }
}

int main(void)
{
    int failed = run_all_tests(NULL, NULL);
    forget_answers();
    return failed;
}
