// SPDX-License-Identifier: Apache-2.0
#include "recorded.h"

static char root[256];

static struct machine read_machine(const char *name)
{
    struct err err = {0};
    struct machine machine = {0};
    struct probe probe = recorded(name, root);
    assert_ok(probe_gpus(&probe, &machine, &err), &err);
    return machine;
}

// The figures are those of trees/eight-h100/nvml.txt.
TEST(eight_gpus_with_their_processes)
{
    struct machine machine = read_machine("eight-h100");
    assert_int_equal(machine.gpus.count, 8);
    for (size_t i = 0; i < 8; i++) {
        const struct machine_gpu *gpu = &machine.gpus.items[i];
        assert_known(gpu->index, i);
        assert_string_equal(gpu->name, "NVIDIA H100 80GB HBM3");
        assert_string_equal(gpu->pci_id, "10de:2330");
        assert_string_equal(gpu->driver, "550.54.15");
        assert_string_equal(gpu->cuda, "12.4");
        assert_known(gpu->works, true);
        assert_known(gpu->memory_total_bytes, 85520809984);
        assert_known(gpu->power_limit_mw, 700000);
        assert_known(gpu->mig, false);
        assert_true(gpu->processes.known);
        assert_int_equal(gpu->throttling.count, 0);
        assert_int_equal(gpu->processes.count, i == 0 ? 3 : 0);
    }
    assert_string_equal(machine.gpus.items[0].pci_address, "0000:1b:00.0");
    assert_string_equal(machine.gpus.items[7].pci_address, "0000:df:00.0");
    const struct machine_gpu_process *process = machine.gpus.items[0].processes.items;
    assert_known(process[0].pid, 4242);
    assert_string_equal(process[0].name, "python3");
    assert_known(process[0].memory_bytes, 71940702208);
    assert_known(process[1].pid, 5151);
    assert_null(process[1].name); // of another user's, or gone
    assert_absent(process[1].memory_bytes);
    assert_known(process[2].pid, 777);
    assert_string_equal(process[2].name, "Xorg");
    machine_release(&machine);
}

TEST(a_mismatch_names_both_versions)
{
    struct machine machine = read_machine("driver-mismatch");
    assert_int_equal(machine.gpus.count, 1);
    const struct machine_gpu *gpu = &machine.gpus.items[0];
    assert_known(gpu->works, false);
    assert_string_equal(gpu->problem, "driver 535.54.03 is loaded but its library is version "
                                      "550.54.14 (nvmlInit: Driver/library version mismatch)");
    assert_string_equal(gpu->name, "NVIDIA GeForce RTX 4090");
    assert_string_equal(gpu->driver, "535.54.03");
    assert_string_equal(gpu->pci_address, "0000:01:00.0");
    assert_string_equal(gpu->pci_id, "10de:2684");
    assert_absent(gpu->index);
    assert_absent(gpu->memory_total_bytes);
    machine_release(&machine);
}

TEST(a_gpu_without_a_driver_is_reported_as_that)
{
    struct machine machine = read_machine("nvidia-no-driver");
    assert_int_equal(machine.gpus.count, 1); // and not the hypervisor's VGA
    assert_known(machine.gpus.items[0].works, false);
    assert_string_equal(machine.gpus.items[0].name, "NVIDIA Tesla T4");
    assert_string_equal(
        machine.gpus.items[0].problem,
        "no NVIDIA driver is loaded: the NVIDIA management library is not on this machine");
    machine_release(&machine);
}

// The same bus, seen from a container, and with a library that starts in vain.
TEST(in_a_container_the_problem_says_so)
{
    static const struct {
        const char *tree, *container, *answers, *problem;
    } cases[] = {
        {"nvidia-no-driver", "docker", NULL,
         "on the PCI bus, but without a driver library: in a container, pass the GPU in"},
        {"nvidia-no-driver", "none", "init = 9\n",
         "no NVIDIA driver is loaded (nvmlInit: Driver Not Loaded)"},
        {"nvidia-no-driver", "podman", "init = 9\n",
         "no NVIDIA driver is loaded (nvmlInit: Driver Not Loaded): in a container, pass "
         "the GPU in"},
        {"driver-mismatch", "none", "init = 999\n",
         "nvmlInit: Unknown Error (code 999: driver error)"},
        {"driver-mismatch", "none", "init = 18\n", // neither version is told
         "nvmlInit: Driver/library version mismatch (code 18: kernel driver and library have "
         "different versions)"},
        {"driver-mismatch", "none", "init = 0\ncount = 0\n",
         "NVIDIA's driver is bound to it, but its library lists no GPU: in a container, pass "
         "the GPU in"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        struct machine machine = {0};
        struct probe probe = recorded(cases[i].tree, root);
        unsetenv("FARE_NVML");
        if (cases[i].answers) {
            use_library("FARE_NVML", "fake_nvml.so");
            answers_are(cases[i].answers);
        }
        assert_ok(text_set(&machine.system.container, cases[i].container, &err), &err);
        assert_ok(probe_gpus(&probe, &machine, &err), &err);
        assert_int_equal(machine.gpus.count, 1);
        assert_known(machine.gpus.items[0].works, false);
        assert_string_equal(machine.gpus.items[0].problem, cases[i].problem);
        machine_release(&machine);
    }
}

TEST(a_loaded_driver_without_its_library_is_named)
{
    struct err err = {0};
    struct machine machine = {0};
    struct probe probe = recorded("driver-mismatch", root);
    unsetenv("FARE_NVML");
    assert_ok(probe_gpus(&probe, &machine, &err), &err);
    assert_string_equal(
        machine.gpus.items[0].problem,
        "driver 535.54.03 is loaded, but the NVIDIA management library is not on this machine");
    machine_release(&machine);
}

// Of the host's eight GPUs two were passed into this container: the six others are not ours.
TEST(gpus_of_others_are_left_out)
{
    struct err err = {0};
    struct machine machine = {0};
    struct probe probe = recorded("eight-h100", root);
    answers_are("count = 2\ngpu*.name = NVIDIA H100 80GB HBM3\ngpu0.pci = 00000000:52:00.0\n"
                "gpu1.pci = 00000000:D1:00.0\ngpu*.pci_id = 0x233010DE\n");
    assert_ok(probe_gpus(&probe, &machine, &err), &err);
    assert_int_equal(machine.gpus.count, 2);
    assert_string_equal(machine.gpus.items[1].pci_address, "0000:d1:00.0");
    machine_release(&machine);
}

// Two of eight have fallen off the bus: the library counts them but gives no handle.
TEST(lost_gpus_get_their_place_from_the_bus)
{
    struct err err = {0};
    struct machine machine = {0};
    struct probe probe = recorded("eight-h100", root);
    static const char *const bus[] = {"1b", "43", "52", "61", "9d", "c3", "d1", "df"};
    struct buf text = {0};
    buf_adds(&text, "count = 8\ngpu*.name = X\ngpu*.pci_id = 0x233010DE\n"
                    "gpu2.fail.nvmlDeviceGetHandleByIndex = 15\n"
                    "gpu5.fail.nvmlDeviceGetHandleByIndex = 999\n");
    for (int i = 0; i < 8; i++)
        buf_printf(&text, "gpu%d.pci = 00000000:%s:00.0\n", i, bus[i]);
    answers_are(buf_str(&text));
    assert_ok(probe_gpus(&probe, &machine, &err), &err);
    assert_int_equal(machine.gpus.count, 8);
    for (int i = 0; i < 8; i++) {
        char address[32];
        snprintf(address, sizeof address, "0000:%s:00.0", bus[i]);
        assert_string_equal(machine.gpus.items[i].pci_address, address);
        assert_known(machine.gpus.items[i].works, i != 2 && i != 5);
    }
    assert_string_equal(machine.gpus.items[2].name, "NVIDIA H100 SXM5 80GB"); // from the file
    assert_non_null(strstr(machine.gpus.items[2].problem, "GPU is lost"));
    assert_non_null(strstr(machine.gpus.items[5].problem, "Unknown Error"));
    machine_release(&machine);
    buf_release(&text);
}

// gVisor and Firecracker show no PCI bus; the library does show GPUs.
TEST(the_library_alone_is_enough)
{
    struct err err = {0};
    struct machine machine = {0};
    struct probe probe = {.tree = {.root = "/nonexistent"}};
    use_library("FARE_NVML", "fake_nvml.so");
    answers_are("count = 1\ngpu0.name = NVIDIA L4\ngpu0.pci = 00000000:00:03.0\n");
    assert_ok(probe_gpus(&probe, &machine, &err), &err);
    assert_int_equal(machine.gpus.count, 1);
    assert_known(machine.gpus.items[0].works, true);
    assert_string_equal(machine.gpus.items[0].name, "NVIDIA L4");
    machine_release(&machine);
}

TEST(what_others_hold_is_told)
{
    struct err err = {0};
    struct machine machine = {0};
    char made[] = "/tmp/fare-test-gpu-XXXXXX", path[256], command[64];
    assert_non_null(mkdtemp(made));
    static const char *const drivers[] = {"nouveau", "vfio-pci", NULL};
    static const char *const problems[] = {
        "bound to the kernel driver nouveau, not NVIDIA's",
        "bound to the kernel driver vfio-pci, not NVIDIA's: reserved for a virtual machine",
        "NVIDIA's driver is loaded, but not bound to it"};
    for (int i = 0; i < 3; i++) {
        static const char *const files[][2] = {
            {"class", "0x030000"}, {"vendor", "0x10de"}, {"device", "0x2204"}};
        snprintf(path, sizeof path, "%s/sys/bus/pci/devices/0000:0%d:00.0", made, i + 1);
        assert_ok(fs_mkdirs(path, &err), &err);
        for (int f = 0; f < 3; f++) {
            snprintf(path, sizeof path, "%s/sys/bus/pci/devices/0000:0%d:00.0/%s", made, i + 1,
                     files[f][0]);
            assert_ok(fs_write(path, files[f][1], strlen(files[f][1]), &err), &err);
        }
        snprintf(path, sizeof path, "%s/sys/bus/pci/devices/0000:0%d:00.0/driver", made, i + 1);
        char target[64];
        snprintf(target, sizeof target, "../../../../bus/pci/drivers/%s",
                 drivers[i] ? drivers[i] : "");
        if (drivers[i])
            assert_int_equal(symlink(target, path), 0);
    }
    struct probe probe = {.tree = {.root = made}};
    use_library("FARE_NVML", "fake_nvml.so");
    answers_are("count = 1\ngpu0.name = NVIDIA L4\ngpu0.pci = 00000000:09:00.0\n");
    assert_ok(probe_gpus(&probe, &machine, &err), &err);
    assert_int_equal(machine.gpus.count, 4);
    for (int i = 0; i < 3; i++) {
        assert_known(machine.gpus.items[i + 1].works, false);
        assert_string_equal(machine.gpus.items[i + 1].problem, problems[i]);
        assert_string_equal(machine.gpus.items[i + 1].name, "NVIDIA GeForce RTX 3090");
    }
    machine_release(&machine);
    snprintf(command, sizeof command, "rm -r '%s'", made);
    assert_int_equal(system(command), 0);
}

TEST(amd_cards_are_counted)
{
    struct machine machine = read_machine("amd-mi");
    assert_int_equal(machine.gpus.count, 2); // the processor's own graphics is not one
    for (int i = 0; i < 2; i++) {
        const struct machine_gpu *gpu = &machine.gpus.items[i];
        assert_known(gpu->index, i);
        assert_string_equal(gpu->vendor, "amd");
        assert_string_equal(gpu->name, "AMD Instinct MI210");
        assert_string_equal(gpu->pci_id, "1002:740f");
        assert_known(gpu->works, true);
    }
    assert_string_equal(machine.gpus.items[0].pci_address, "0000:43:00.0");
    assert_string_equal(machine.gpus.items[1].pci_address, "0000:c3:00.0");
    machine_release(&machine);

    machine = read_machine("amd-no-driver");
    assert_int_equal(machine.gpus.count, 2);
    assert_known(machine.gpus.items[0].works, false);
    assert_absent(machine.gpus.items[0].index);
    assert_string_equal(machine.gpus.items[0].name, "AMD Instinct MI300X");
    assert_string_equal(machine.gpus.items[1].problem,
                        "bound to the kernel driver vfio-pci, not amdgpu");
    machine_release(&machine);
}

// What the findings are made of.
TEST(the_signs_of_trouble_are_there)
{
    struct machine machine = read_machine("busy-without-process");
    assert_known(machine.gpus.items[0].use_percent, 97);
    assert_true(machine.gpus.items[0].processes.known);
    assert_int_equal(machine.gpus.items[0].processes.count, 0);
    machine_release(&machine);

    machine = read_machine("throttled");
    assert_int_equal(machine.gpus.items[0].throttling.count, 3); // 0x64
    assert_string_equal(machine.gpus.items[0].throttling.items[0], "sw power cap");
    assert_string_equal(machine.gpus.items[0].throttling.items[1], "sw thermal slowdown");
    assert_string_equal(machine.gpus.items[0].throttling.items[2], "hw thermal slowdown");
    assert_known(machine.gpus.items[0].power_limit_mw, 300000);
    assert_known(machine.gpus.items[0].power_limit_default_mw, 450000);
    assert_string_equal(machine.gpus.items[0].processes.items[0].name, "pt_main_thread");
    machine_release(&machine);

    machine = read_machine("pcie-narrow");
    assert_known(machine.gpus.items[0].performance_state, 0);
    assert_known(machine.gpus.items[0].pcie_generation, 1);
    assert_known(machine.gpus.items[0].pcie_generation_max, 4);
    assert_known(machine.gpus.items[0].pcie_width, 4);
    assert_known(machine.gpus.items[0].pcie_width_max, 16);
    assert_string_equal(machine.gpus.items[0].cuda, "13.0");
    machine_release(&machine);
}

TEST(no_gpu_is_a_normal_case)
{
    struct err err = {0};
    struct machine machine = {0};
    struct probe probe = {.tree = {.root = "/nonexistent"}};
    unsetenv("FARE_NVML");
    assert_ok(probe_gpus(&probe, &machine, &err), &err);
    assert_int_equal(machine.gpus.count, 0);
    use_library("FARE_NVML", "fake_nvml.so"); // a library without a driver or a GPU
    answers_are("init = 9\n");
    assert_ok(probe_gpus(&probe, &machine, &err), &err);
    assert_int_equal(machine.gpus.count, 0);
    machine_release(&machine);
}

int main(void)
{
    int failed = run_all_tests(NULL, NULL);
    forget_answers();
    return failed;
}
