// SPDX-License-Identifier: Apache-2.0
#include "machine/pci.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/csv.h"
#include "recorded.h"

TEST(addresses_are_normalised)
{
    static const struct {
        const char *in, *out;
    } good[] = {
        {"00000000:17:00.0", "0000:17:00.0"}, // as NVML writes it
        {"0000:1B:00.0", "0000:1b:00.0"},     // as CUDA does
        {"0000:17:00.0", "0000:17:00.0"},     // as sysfs does
        {"10000:e1:1f.7", "10000:e1:1f.7"},   // a domain of Intel's VMD has five digits
        {"ffffffff:ff:1f.7", "ffffffff:ff:1f.7"}, {"1:00:00.0", "0001:00:00.0"},
    };
    static const char *const bad[] = {
        "",
        ":",
        "17:00.0",
        "0000:17:00",
        "0000:17:00.",
        "0000:17:00.8",
        "0000:17:20.0",
        "0000:17:00.0 ",
        " 0000:17:00.0",
        "0000:g7:00.0",
        "000000000:17:00.0",
        "0000:117:00.0",
        "0000:1:00.0",
        "0000-17-00.0",
        "0000:17:00.00",
        "../../../etc",
        "0000:17:00.0\n",
    };
    char out[PCI_ADDRESS_BYTES];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(pci_address_normalise(good[i].in, out));
        assert_string_equal(out, good[i].out);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (pci_address_normalise(bad[i], out))
            fail_msg("'%s' was taken for '%s'", bad[i], out);
        assert_string_equal(out, "");
    }
}

// The kernel's words (drivers/pci/probe.c) and the rates of the PCI Express specifications.
TEST(link_speeds_become_generations)
{
    assert_int_equal(pci_link_generation("2.5 GT/s PCIe"), 1);
    assert_int_equal(pci_link_generation("5.0 GT/s PCIe"), 2);
    assert_int_equal(pci_link_generation("8.0 GT/s PCIe"), 3);
    assert_int_equal(pci_link_generation("16.0 GT/s PCIe"), 4);
    assert_int_equal(pci_link_generation("32.0 GT/s PCIe"), 5);
    assert_int_equal(pci_link_generation("64.0 GT/s PCIe"), 6);
    assert_int_equal(pci_link_generation("8 GT/s"), 3); // kernels before 5.5
    static const char *const none[] = {
        "Unknown",    "Unknown speed",  "",
        "16",         "16.0",           "16.0 GB/s",
        "-16.0 GT/s", "16.5 GT/s PCIe", "99999999999999999999 GT/s",
        "16. GT/s",   " 16.0 GT/s",     "1600000000.0 GT/s",
        "0.0 GT/s",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(pci_link_generation(none[i]), 0);
}

// Every row of the data file is whole: ids, a kind, a source, a date; no id twice.
TEST(the_data_file_is_sound)
{
    struct err err = {0};
    struct csv csv;
    int column[6];
    static const char *const names[] = {"vendor", "device", "name", "kind", "source", "date"};
    assert_ok(csv_open(&csv, NAMES_FILE, NULL, &err), &err);
    for (int i = 0; i < 6; i++)
        assert_ok(csv_need(&csv, names[i], &column[i], &err), &err);
    char last[16] = "";
    int rows = 0, rc;
    while ((rc = csv_next(&csv, &err)) > 0) {
        char id[16];
        snprintf(id, sizeof id, "%s:%s", csv_text(&csv, column[0]), csv_text(&csv, column[1]));
        assert_int_equal(strlen(id), 9);
        assert_int_equal(strspn(id, "0123456789abcdef:"), 9);
        assert_true(strcmp(last, id) < 0); // sorted, so that none is there twice
        snprintf(last, sizeof last, "%s", id);
        assert_true(strlen(csv_text(&csv, column[2])) > 4);
        const char *kind = csv_text(&csv, column[3]);
        assert_true(strcmp(kind, "discrete") == 0 || strcmp(kind, "integrated") == 0);
        assert_true(strlen(csv_text(&csv, column[4])) > 0);
        int year, month, day;
        assert_int_equal(sscanf(csv_text(&csv, column[5]), "%d-%d-%d", &year, &month, &day), 3);
        rows++;
    }
    assert_int_equal(rc, 0);
    assert_in_range(rows, 50, 80);
    csv_release(&csv);
}

// Names as pci.ids has them (2023-04-10 and 2026-05-24).
TEST(names_are_found)
{
    struct err err = {0};
    struct pci_names names = {0};
    assert_ok(pci_names_read(&names, NAMES_FILE, &err), &err);
    assert_string_equal(pci_names_find(&names, 0x10de, 0x2335)->name, "NVIDIA H200 SXM 141GB");
    assert_string_equal(pci_names_find(&names, 0x1002, 0x74a1)->name, "AMD Instinct MI300X");
    assert_false(pci_names_find(&names, 0x1002, 0x74a1)->integrated);
    assert_true(pci_names_find(&names, 0x1002, 0x164e)->integrated);
    assert_null(pci_names_find(&names, 0x1002, 0x2335));
    assert_null(pci_names_find(&names, 0x10de, 0xffff));
    pci_names_release(&names);
}

static void write_file(const char *path, const char *text)
{
    struct err err = {0};
    assert_ok(fs_write(path, text, strlen(text), &err), &err);
}

TEST(bad_data_files_mean_no_names)
{
    struct err err = {0};
    struct pci_names names = {0};
    char path[] = "/tmp/fare-test-pci-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    static const struct {
        const char *text;
        size_t rows;
    } files[] = {
        {"", 0},
        {"\n\n\n", 0},
        {"vendor,device\n10de,2330\n", 0},
        {"a,b,c\n1,2,3\n", 0},
        {"vendor,device,name\n10de,2330,H100\n", 1}, // more columns are not needed
        {"name,kind,device,vendor\nH100,discrete,2330,10de\n", 1},
        {"vendor,device,name\n10de,23300,H\n10de,233,H\n10de,,H\n,2330,H\nxyzw,2330,H\n"
         "0x10,2330,H\n10de,2330,\n10DE,2335,H200\n",
         1},
        {"vendor,device,name\n10de,2330,H100\n10de,2335\n", 1}, // cut short: what came before
        {"vendor,device,name\n10de,2330,\"H100\n", 0},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_file(path, files[i].text);
        assert_ok(pci_names_read(&names, path, &err), &err);
        if (names.rows.count != files[i].rows)
            fail_msg("file %zu: %zu rows", i, names.rows.count);
        pci_names_release(&names);
    }
    unlink(path);
    assert_ok(pci_names_read(&names, path, &err), &err); // a file that is not there
    assert_int_equal(names.rows.count, 0);
    assert_ok(pci_names_read(&names, NULL, &err), &err); // nor is one beside this program
    pci_names_release(&names);
}

TEST(the_bus_is_read)
{
    struct err err = {0};
    char root[256];
    struct probe probe = recorded("eight-h100", root);
    struct pci_names names = {0};
    struct pci_gpus gpus = {0};
    assert_ok(pci_gpus_read(&probe.tree, &names, &gpus, &err), &err);
    // Eight GPUs in the order of the bus; neither the ASPEED VGA nor the NVSwitch is one.
    static const char *const order[] = {"1b", "43", "52", "61", "9d", "c3", "d1", "df"};
    assert_int_equal(gpus.items.count, 8);
    for (int i = 0; i < 8; i++) {
        char address[32];
        snprintf(address, sizeof address, "0000:%s:00.0", order[i]);
        assert_string_equal(gpus.items.items[i].address, address);
        assert_int_equal(gpus.items.items[i].device, 0x2330);
        assert_string_equal(gpus.items.items[i].driver, "nvidia");
    }
    pci_gpus_release(&gpus);
}

TEST(gpus_without_names_are_called_by_their_id)
{
    struct err err = {0};
    struct pci_names names = {0};
    struct machine machine = {0};
    static const struct pci_gpu pci[] = {
        {.address = "0000:01:00.0", .vendor = PCI_NVIDIA, .device = 0x2335},
        {.address = "0000:02:00.0", .vendor = PCI_AMD, .device = 0x000f},
        {.address = "0000:03:00.0", .vendor = PCI_INTEL, .device = 0x0bd5},
    };
    static const char *const expected[] = {"nvidia NVIDIA GPU 10de:2335", "amd AMD GPU 1002:000f",
                                           "intel Intel GPU 8086:0bd5"};
    for (int i = 0; i < 3; i++) {
        struct machine_gpu *gpu = LIST_ADD(&machine.gpus, &err);
        char text[64];
        assert_ok(pci_gpu_describe(&pci[i], &names, gpu, &err), &err);
        snprintf(text, sizeof text, "%s %s", gpu->vendor, gpu->name);
        assert_string_equal(text, expected[i]);
        assert_string_equal(gpu->pci_address, pci[i].address);
    }
    machine_release(&machine);
}

// A tree made here: one device per line of "address class vendor device".
struct made {
    char root[64];
    struct tree tree;
};

static void put(const struct made *made, const char *address, const char *file, const char *text)
{
    struct err err = {0};
    char path[256];
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s", made->root, address);
    assert_ok(fs_mkdirs(path, &err), &err);
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/%s", made->root, address, file);
    write_file(path, text);
}

static void made_begin(struct made *made)
{
    snprintf(made->root, sizeof made->root, "/tmp/fare-test-tree-XXXXXX");
    assert_non_null(mkdtemp(made->root));
    made->tree = (struct tree){.root = made->root};
}

static void made_end(struct made *made)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", made->root);
    assert_int_equal(system(command), 0);
}

TEST(only_gpus_that_compute_are_listed)
{
    struct err err = {0};
    struct made made;
    struct pci_names names = {0};
    struct pci_gpus gpus = {0};
    static const struct {
        const char *address, *class, *vendor, *device;
        bool listed;
    } devices[] = {
        {"0000:00:02.0", "0x030000", "0x8086", "0x3e92", false}, // Intel, in the processor
        {"0000:00:02.1", "0x038000", "0x8086", "0x3e92", false}, // the same, not primary
        {"0000:03:00.0", "0x030000", "0x8086", "0x56a0", false}, // Arc, not in the file
        {"0000:04:00.0", "0x038000", "0x8086", "0x0bd5", true},  // Max 1550
        {"0000:05:00.0", "0x030000", "0x8086", "0x56c0", true},  // Flex, in the file
        {"0000:06:00.0", "0x030000", "0x1002", "0x164e", false}, // Raphael, in the processor
        {"0000:07:00.0", "0x120000", "0x1002", "0x74a1", true},  // MI300X
        {"0000:08:00.0", "0x120000", "0x1da3", "0x1020", false}, // Gaudi
        {"0000:09:00.0", "0x030000", "0x1af4", "0x1050", false}, // virtio
        {"0000:0a:00.0", "0x030000", "0x1234", "0x1111", false}, // QEMU
        {"0000:0b:00.0", "0x030000", "0x102b", "0x0536", false}, // Matrox of a BMC
        {"0000:0c:00.0", "0x030000", "0x10de", "0x2684", true},
        {"0000:0c:00.1", "0x040300", "0x10de", "0x22ba", false}, // its sound
        {"0000:10:00.0", "0x030200", "0x10de", "0x1eb8", true},
        {"0000:1a:00.0", "0x030200", "0x10de", "0x1eb8", true},
        {"ffff:01:00.0", "0x030200", "0x10de", "0x1eb8", true},
        {"10000:01:00.0", "0x030200", "0x10de", "0x1eb8", true},
    };
    made_begin(&made);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        put(&made, devices[i].address, "class", devices[i].class);
        put(&made, devices[i].address, "vendor", devices[i].vendor);
        put(&made, devices[i].address, "device", devices[i].device);
    }
    assert_ok(pci_names_read(&names, NAMES_FILE, &err), &err);
    assert_ok(pci_gpus_read(&made.tree, &names, &gpus, &err), &err);
    size_t at = 0;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        if (!devices[i].listed)
            continue;
        assert_true(at < gpus.items.count);
        assert_string_equal(gpus.items.items[at].address, devices[i].address);
        assert_string_equal(gpus.items.items[at++].driver, "");
    }
    assert_int_equal(gpus.items.count, at);
    pci_gpus_release(&gpus);
    pci_names_release(&names);
    made_end(&made);
}

TEST(garbage_on_the_bus_is_passed_over)
{
    struct err err = {0};
    struct made made;
    struct pci_names names = {0};
    struct pci_gpus gpus = {0};
    static const char *const garbage[] = {
        "",
        "\n",
        "0x",
        "0xg",
        "garbage",
        "-1",
        "0x99999999999999999999",
        "9999999999",
        "\xff\xfe",
        "0x1000000",
        "0x10de0x",
        "0x030200x",
        "99999999999999999999999999999999999999999",
    };
    made_begin(&made);
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        for (int spoilt = 0; spoilt < 3; spoilt++) {
            char address[32];
            snprintf(address, sizeof address, "0000:%02zx:%02x.0", i, spoilt);
            put(&made, address, "class", spoilt == 0 ? garbage[i] : "0x030200");
            put(&made, address, "vendor", spoilt == 1 ? garbage[i] : "0x10de");
            put(&made, address, "device", spoilt == 2 ? garbage[i] : "0x2330");
        }
    }
    put(&made, "not an address", "class", "0x030200");
    put(&made, "0000:FF:00.0", "class", "0x030200"); // sysfs never writes capitals
    put(&made, "0000:fe:00.0", "class", "0x030200"); // no vendor, no device
    assert_ok(pci_gpus_read(&made.tree, &names, &gpus, &err), &err);
    assert_int_equal(gpus.items.count, 0);
    struct pci_link link;
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        put(&made, "0000:aa:00.0", "current_link_speed", garbage[i]);
        put(&made, "0000:aa:00.0", "current_link_width", garbage[i]);
        put(&made, "0000:aa:00.0", "max_link_speed", garbage[i]);
        put(&made, "0000:aa:00.0", "max_link_width", i % 2 ? "255" : "0");
        pci_link_read(&made.tree, "0000:aa:00.0", &link);
        assert_false(link.generation.known || link.width.known || link.generation_max.known ||
                     link.width_max.known);
    }
    put(&made, "0000:aa:00.0", "current_link_speed", "8.0 GT/s PCIe\n");
    put(&made, "0000:aa:00.0", "current_link_width", "4\n");
    pci_link_read(&made.tree, "0000:aa:00.0", &link);
    assert_known(link.generation, 3);
    assert_known(link.width, 4);
    assert_absent(link.width_max);
    made_end(&made);
    struct tree nothing = {.root = "/nonexistent"};
    assert_ok(pci_gpus_read(&nothing, &names, &gpus, &err), &err);
    assert_int_equal(gpus.items.count, 0);
}

// The maximum is what both ends can do, whichever is the weaker; other makers' switches count as
// the slot.
TEST(the_weaker_end_of_a_link_counts)
{
    static const struct {
        const char *port_speed, *port_width, *own_speed, *own_width;
        int generation, width;
    } cases[] = {
        {"32.0 GT/s PCIe", "16", "16.0 GT/s PCIe", "8", 4, 8},
        {"8.0 GT/s PCIe", "4", "16.0 GT/s PCIe", "16", 3, 4},
        {"Unknown", "0", "16.0 GT/s PCIe", "16", 4, 16},
        {"8.0 GT/s PCIe", "4", "Unknown", "255", 3, 4},
    };
    struct made made;
    struct err err = {0};
    char path[256];
    made_begin(&made);
    snprintf(path, sizeof path, "%s/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0", made.root);
    assert_ok(fs_mkdirs(path, &err), &err);
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices", made.root);
    assert_ok(fs_mkdirs(path, &err), &err);
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices/0000:00:01.0", made.root);
    assert_int_equal(symlink("../../../devices/pci0000:00/0000:00:01.0", path), 0);
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices/0000:01:00.0", made.root);
    assert_int_equal(symlink("../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0", path), 0);
    put(&made, "0000:00:01.0", "vendor", "0x1022"); // the processor's port is not AMD's switch
    put(&made, "0000:00:01.0", "class", "0x060400");
    put(&made, "0000:00:01.0", "current_link_speed", "2.5 GT/s PCIe");
    put(&made, "0000:01:00.0", "current_link_speed", "5.0 GT/s PCIe");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pci_link link;
        put(&made, "0000:00:01.0", "max_link_speed", cases[i].port_speed);
        put(&made, "0000:00:01.0", "max_link_width", cases[i].port_width);
        put(&made, "0000:01:00.0", "max_link_speed", cases[i].own_speed);
        put(&made, "0000:01:00.0", "max_link_width", cases[i].own_width);
        pci_link_read(&made.tree, "0000:01:00.0", &link);
        assert_known(link.generation, 2); // its own
        assert_known(link.generation_max, cases[i].generation);
        assert_known(link.width_max, cases[i].width);
    }
    made_end(&made);
}

// ==== amd ====

// As the kernel documents pp_dpm_sclk (Documentation/gpu/amdgpu), and as it is not.
TEST(clock_tables_are_read)
{
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
TEST(a_card_is_read)
{
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

TEST(the_data_file_names_before_the_board)
{
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

TEST(without_its_driver_it_does_not_work)
{
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
TEST(garbage_is_absent)
{
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
