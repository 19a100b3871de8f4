// SPDX-License-Identifier: Apache-2.0
#include "machine/amd.h"

#include "recorded.h"

// As the kernel documents pp_dpm_sclk (Documentation/gpu/amdgpu), and as it is not.
static void clock_tables_are_read(void **state)
{
    (void)state;
    assert_int_equal(amd_dpm_max_mhz("0: 500Mhz\n1: 800Mhz *\n2: 1700Mhz\n"), 1700);
    assert_int_equal(amd_dpm_max_mhz("0: 2124Mhz *\n1: 500Mhz"), 2124); // not always rising
    assert_int_equal(amd_dpm_max_mhz("S: 19Mhz *\n0: 500Mhz\n1: 2100Mhz"), 2100); // deep sleep
    assert_int_equal(amd_dpm_max_mhz("0: 1600MHz *"), 1600);
    static const char *const none[] = {
        "",
        "\n\n",
        "0:",
        "0: Mhz",
        "1700Mhz",
        "0: 1700",
        "0: -5Mhz",
        "0: 1700 Mhz",
        "0: 1700Ghz",
        "0: 99999999999999999999Mhz",
        "0: 999999Mhz",
        ":::::",
        "0: \xff\xfe",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(amd_dpm_max_mhz(none[i]), 0);
    assert_int_equal(amd_dpm_max_mhz("garbage\n0: 123456789Mhz\n1: 900Mhz\n2:"), 900);
}

// The figures are those of the files below trees/amd-mi, in the record's units.
static void a_card_is_read(void **state)
{
    (void)state;
    struct err err = {0};
    char root[256];
    struct probe probe = recorded("amd-mi", root);
    struct machine machine = {0};
    struct machine_gpu *gpu = LIST_ADD(&machine.gpus, &err);
    struct pci_gpu pci = {
        .address = "0000:c3:00.0", .vendor = PCI_AMD, .device = 0x740f, .driver = "amdgpu"};
    assert_ok(amd_gpu_read(&probe.tree, &pci, false, gpu, &err), &err);
    assert_true(gpu->works.known && gpu->works.v);
    assert_null(gpu->problem);
    assert_string_equal(gpu->name, "AMD Instinct MI210"); // product_name
    assert_string_equal(gpu->uuid, "GPU-a1b2c3d4e5f60718");
    assert_string_equal(gpu->driver, "6.7.0");
    assert_known(gpu->memory_total_bytes, 68702699520);
    assert_known(gpu->memory_used_bytes, 66571993088);
    assert_known(gpu->use_percent, 99);
    assert_known(gpu->power_mw, 289000); // power1_input: there is no average
    assert_known(gpu->power_limit_mw, 250000);
    assert_known(gpu->power_limit_default_mw, 300000);
    assert_known(gpu->temperature_c, 71);
    assert_known(gpu->clock_sm_mhz, 1700);
    assert_known(gpu->clock_sm_max_mhz, 1700);
    assert_known(gpu->clock_memory_mhz, 1600);
    assert_known(gpu->clock_memory_max_mhz, 1600);
    // The GPU sees 32 GT/s to the switch on its own board; the board is in a slot of generation
    // 4, which runs at 3.
    assert_known(gpu->pcie_generation, 3);
    assert_known(gpu->pcie_generation_max, 4);
    assert_known(gpu->pcie_width, 16);
    assert_known(gpu->pcie_width_max, 16);
    assert_false(gpu->processes.known);
    assert_absent(gpu->performance_state);
    assert_absent(gpu->ecc);
    machine_release(&machine);
}

static void the_data_file_names_before_the_board(void **state)
{
    (void)state;
    struct err err = {0};
    char root[256];
    struct probe probe = recorded("amd-mi", root);
    struct machine machine = {0};
    struct machine_gpu *gpu = LIST_ADD(&machine.gpus, &err);
    struct pci_gpu pci = {.address = "0000:43:00.0", .vendor = PCI_AMD, .driver = "amdgpu"};
    assert_ok(text_set(&gpu->name, "from the file", &err), &err);
    assert_ok(amd_gpu_read(&probe.tree, &pci, true, gpu, &err), &err);
    assert_string_equal(gpu->name, "from the file");
    assert_known(gpu->power_mw, 41000); // power1_average
    assert_known(gpu->pcie_generation, 4);
    machine_release(&machine);
}

static void without_its_driver_it_does_not_work(void **state)
{
    (void)state;
    struct err err = {0};
    char root[256];
    static const struct {
        const char *tree, *driver, *problem;
    } cases[] = {
        {"amd-no-driver", "", "no kernel driver is bound to it: amdgpu is not loaded"},
        {"amd-no-driver", "vfio-pci", "bound to the kernel driver vfio-pci, not amdgpu"},
        {"amd-no-driver", "amdgpu",
         "amdgpu is bound to it, but /dev/kfd is missing: in a container, pass in /dev/kfd and "
         "/dev/dri"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct probe probe = recorded(cases[i].tree, root);
        struct machine machine = {0};
        struct machine_gpu *gpu = LIST_ADD(&machine.gpus, &err);
        struct pci_gpu pci = {.address = "0000:05:00.0", .vendor = PCI_AMD};
        snprintf(pci.driver, sizeof pci.driver, "%s", cases[i].driver);
        assert_ok(amd_gpu_read(&probe.tree, &pci, false, gpu, &err), &err);
        assert_true(gpu->works.known && !gpu->works.v);
        assert_string_equal(gpu->problem, cases[i].problem);
        assert_absent(gpu->memory_total_bytes);
        machine_release(&machine);
    }
}

// Whatever a broken driver writes: the fact is absent, and the others stand.
static void garbage_is_absent(void **state)
{
    (void)state;
    struct err err = {0};
    static const char *const files[] = {
        "mem_info_vram_total",
        "mem_info_vram_used",
        "gpu_busy_percent",
        "unique_id",
        "pp_dpm_sclk",
        "pp_dpm_mclk",
        "hwmon/hwmon3/power1_average",
        "hwmon/hwmon3/power1_input",
        "hwmon/hwmon3/power1_cap",
        "hwmon/hwmon3/temp1_input",
        "hwmon/hwmon3/freq1_input",
        "current_link_speed",
        "max_link_width",
    };
    static const char *const garbage[] = {
        "",
        "\n",
        "N/A",
        "-1",
        "18446744073709551615",
        "99999999999999999999999",
        "0x",
        "\xff\xff\xff\xff",
        "one hundred",
        "9223372036854775808",
        "-9223372036854775808",
    };
    char root[] = "/tmp/fare-test-amd-XXXXXX", path[256], command[64];
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices/0000:05:00.0/hwmon/hwmon3", root);
    assert_ok(fs_mkdirs(path, &err), &err);
    for (size_t g = 0; g < sizeof garbage / sizeof *garbage; g++) {
        for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
            snprintf(path, sizeof path, "%s/sys/bus/pci/devices/0000:05:00.0/%s", root, files[f]);
            assert_ok(fs_write(path, garbage[g], strlen(garbage[g]), &err), &err);
        }
        snprintf(path, sizeof path, "%s/sys/bus/pci/devices/0000:05:00.0/hwmon/hwmon3/freq2_input",
                 root);
        assert_ok(fs_write(path, "1600000000\n", 11, &err), &err);
        struct tree tree = {.root = root};
        struct machine machine = {0};
        struct machine_gpu *gpu = LIST_ADD(&machine.gpus, &err);
        struct pci_gpu pci = {.address = "0000:05:00.0", .vendor = PCI_AMD, .driver = "amdgpu"};
        assert_ok(amd_gpu_read(&tree, &pci, false, gpu, &err), &err);
        assert_null(gpu->uuid);
        assert_absent(gpu->memory_total_bytes);
        assert_absent(gpu->memory_used_bytes);
        assert_absent(gpu->use_percent);
        assert_absent(gpu->clock_sm_mhz);
        assert_absent(gpu->clock_sm_max_mhz);
        assert_absent(gpu->power_mw);
        assert_absent(gpu->power_limit_mw);
        assert_absent(gpu->temperature_c);
        assert_absent(gpu->pcie_generation);
        assert_absent(gpu->pcie_width_max);
        assert_known(gpu->clock_memory_mhz, 1600);
        machine_release(&machine);
    }
    snprintf(command, sizeof command, "rm -r '%s'", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_tables_are_read),
        cmocka_unit_test(a_card_is_read),
        cmocka_unit_test(the_data_file_names_before_the_board),
        cmocka_unit_test(without_its_driver_it_does_not_work),
        cmocka_unit_test(garbage_is_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
