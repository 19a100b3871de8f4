// SPDX-License-Identifier: Apache-2.0
// Names and peaks of GPUs. The names are those that NVML and the catalogues really use; the peaks
// those of the data sheets.
#include "tables/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "measure/session.h"
#include "test.h"

static struct devices *shipped(void)
{
    struct err err = {0};
    struct devices *devices = NULL;
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    assert_ok(devices_open(&devices, &err), &err);
    return devices;
}

TEST(one_device_has_many_names)
{
    static const struct {
        const char *text, *name;
    } names[] = {
        {"NVIDIA H100 80GB HBM3", "H100"},
        {"NVIDIA H200", "H200"},
        {"NVIDIA A100-SXM4-80GB", "A100-80GB"},
        {"A100-80GB", "A100-80GB"},
        {"NVIDIA A100 80GB PCIe", "A100-80GB-PCIE"},
        {"NVIDIA A100-PCIE-40GB", "A100-40GB-PCIE"},
        {"A100-80G-PCIe-NVLink", "A100-80GB-PCIE"},
        {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTXPRO6000"},
        {"RTX_4070S_Ti", "RTX4070S-Ti"},
        {"NVIDIA GB200", "GB200"},
        {"AMD Instinct MI355X", "MI355X"},
        {"AMD EPYC 9R14 96-Core Processor", "EPYC 9R14"},
        {"Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "Xeon Platinum 8375C"},
        {"a100 80g", "A100-80GB"},
        {"NVIDIA A100-SXM4-40GB", "A100"},
        {"Tesla V100-SXM2-16GB", "V100"},
        {"Tesla V100-SXM2-32GB", "V100-32GB"},
        {"Tesla P100-PCIE-16GB", "P100"},
        {"NVIDIA Tesla K80", "K80"},
        {"Tesla K80", "K80"},
        {"Tesla T4", "T4"},
        {"NVIDIA GeForce GTX 1080 Ti", "GTX1080Ti"},
        {"GTX1080", "GTX1080"},
        {"NVIDIA GeForce RTX 4090", "RTX4090"},
        {"NVIDIA RTX A6000", "RTXA6000"},
        {"A6000", "RTXA6000"},
        {"Quadro RTX 6000", "RTX6000"},
        {"NVIDIA RTX 6000 Ada Generation", "RTX6000-Ada"},
        {"RTX6000-Ada", "RTX6000-Ada"},
        {"NVIDIA L40S", "L40S"},
        {"AMD Instinct MI300X", "MI300X"},
        {"NVIDIA GRID K520", "K520"},
    };
    static const char *const unknown[] = {"",   " ",      "NVIDIA",   "A10000",
                                          "V1", "Radeon", "\xff\xfe", "H100; rm -rf"};
    struct devices *devices = shipped();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct device *device = device_find(devices, names[i].text);
        if (!device)
            fail_msg("'%s' is not known", names[i].text);
        assert_string_equal(device->name, names[i].name);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_null(device_find(devices, unknown[i]));
    assert_null(device_find(devices, NULL));
    char longest[400];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(device_find(devices, longest));
    devices_close(devices);
}

// A name covers forms and sizes of its board, never another model: the RTX 6000 of 2018 and the RTX
// 6000 Ada of 2022 share only their name.
TEST(a_name_covers_the_forms_of_its_board)
{
    static const struct {
        const char *text, *names;
    } families[] = {
        {"h100", "H100 H100-PCIE H100-NVL"},
        {"NVIDIA H100", "H100 H100-PCIE H100-NVL"},
        {"H100 SXM", "H100"},
        {"H100-PCIE", "H100-PCIE"},
        {"v100", "V100 V100-PCIE V100-32GB V100-PCIE-32GB"},
        {"V100-PCIE", "V100-PCIE V100-PCIE-32GB"},
        {"a100", "A100 A100-40GB-PCIE A100-80GB A100-80GB-PCIE"},
        {"RTX6000", "RTX6000"},
        {"T4", "T4"},
        {"hh100", ""},
        {"", ""},
    };
    struct devices *devices = shipped();
    const struct device *found[8];
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        char names[200] = "";
        size_t count = device_family(devices, families[i].text, found, 8), len = 0;
        for (size_t j = 0; j < count; j++)
            len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", j ? " " : "",
                                    found[j]->name);
        assert_string_equal(names, families[i].names);
    }
    assert_int_equal(device_family(devices, "v100", found, 2), 2);
    devices_close(devices);
}

TEST(peaks_are_the_data_sheets)
{
    struct devices *devices = shipped();
    const struct device *h200 = device_find(devices, "NVIDIA H200");
    assert_int_equal(device_gflops(h200, "f32"), 67000);
    assert_int_equal(device_gflops(h200, "tf32"), 495000);
    assert_int_equal(device_gflops(h200, "bf16"), 989000);
    assert_int_equal(device_gflops(h200, "f16"), 989000);
    assert_int_equal(device_gflops(h200, "fp16"), 989000);
    assert_int_equal(device_gflops(h200, "fp64"), 34000);
    assert_int_equal(device_gflops(h200, "fp8"), 1979000);
    assert_int_equal(device_gflops(h200, "fp4"), 0);
    assert_int_equal(device_gflops(h200, NULL), 0);
    const struct device *p100 = device_find(devices, "P100");
    assert_int_equal(device_gflops(p100, "tf32"), 9300); // it computes in fp32 all the same
    assert_int_equal(device_gflops(p100, "bf16"), 0);
    assert_int_equal(p100->memory_mib, 16384);
    devices_close(devices);
}

// Figures of data sheets and white papers, as they print them.
TEST(figures_are_the_data_sheets)
{
    static const struct {
        const char *name;
        int units, memory_mib, memory_mbs, l2_kib, fp16_gflops, fp8_gflops, link_mbs;
    } sheets[] = {
        {"V100", 80, 16384, 900000, 6144, 125000, 0, 300000},
        {"RTX2080Ti", 68, 11264, 616000, 5632, 53800, 0, 0},
        {"A100-80GB", 108, 81920, 2039000, 40960, 312000, 0, 600000},
        {"RTX3090", 82, 24576, 936200, 6144, 71100, 0, 0},
        {"RTXA6000", 84, 49152, 768000, 6144, 154800, 0, 0},
        {"RTX4090", 128, 24576, 1008000, 73728, 165200, 330300, 0},
        {"L40", 142, 49152, 864000, 98304, 181000, 362000, 0},
        {"H100", 132, 81920, 3350000, 51200, 989000, 1979000, 900000},
        {"B200", 148, 184320, 8000000, 129024, 2250000, 4500000, 1800000},
        {"RTX5090", 170, 32768, 1792000, 98304, 209500, 419000, 0},
        {"MI300X", 304, 196608, 5300000, 32768, 1307400, 2614900, 896000},
        {"MI250", 104, 65536, 1638400, 8192, 181000, 0, 300000}, // half of the board
        {"MI250X", 110, 65536, 1638400, 8192, 191500, 0, 400000},
    };
    struct devices *devices = shipped();
    for (size_t i = 0; i < sizeof sheets / sizeof *sheets; i++) {
        const struct device *d = device_find(devices, sheets[i].name);
        assert_non_null(d);
        assert_int_equal(d->units, sheets[i].units);
        assert_int_equal(d->memory_mib, sheets[i].memory_mib);
        assert_int_equal(d->memory_mbs, sheets[i].memory_mbs);
        assert_int_equal(d->l2_kib, sheets[i].l2_kib);
        assert_true(abs(d->fp16_gflops - sheets[i].fp16_gflops) <= 100);
        assert_true(abs(d->fp8_gflops - sheets[i].fp8_gflops) <= 100);
        assert_int_equal(d->link_mbs, sheets[i].link_mbs);
    }
    const struct device *graviton = device_of_offer(devices, "aws", "c7g.4xlarge");
    assert_non_null(graviton);
    assert_string_equal(graviton->vendor, "aws");
    assert_int_equal(graviton->units, 64);
    assert_int_equal(graviton->boost_mhz, 2600);
    assert_int_equal(graviton->vector_bits, 256);
    assert_int_equal(graviton->memory_channels, 8);
    assert_int_equal(graviton->l3_kib, 32768);
    // NVIDIA publishes no clock of the GB300.
    assert_int_equal(device_find(devices, "GB300")->boost_mhz, 0);
    // Offers of one family with different processors.
    assert_string_equal(device_of_offer(devices, "azure", "Standard_D4s_v5")->name,
                        "Xeon Platinum 8370C");
    assert_string_equal(device_of_offer(devices, "azure", "Standard_D4as_v5")->name, "EPYC 7763");
    assert_string_equal(device_of_offer(devices, "azure", "Standard_F72s_v2")->name,
                        "Xeon Platinum 8272CL");
    assert_string_equal(device_of_offer(devices, "gcp", "n2-standard-8")->name, "Xeon Gold 6268CL");
    assert_string_equal(device_of_offer(devices, "gcp", "n2-highmem-80")->name, "Xeon Gold 6268CL");
    assert_string_equal(device_of_offer(devices, "gcp", "n2-standard-128")->name,
                        "Xeon Platinum 8373C");
    assert_null(device_of_offer(devices, "gcp", "e2-standard-8")); // Google names several
    assert_null(device_of_offer(devices, "azure", "Standard_D4"));
    assert_null(device_of_offer(devices, "gcp", "c7g.4xlarge"));
    devices_close(devices);
}

// bf16 came with Ampere, fp8 with Ada and Hopper.
TEST(old_gpus_lack_new_precisions)
{
    struct devices *devices = shipped();
    static const struct {
        const char *name;
        bool fp16, bf16, fp8;
    } lacks[] = {{"K80", true, true, true},     {"V100", false, true, true},
                 {"T4", false, true, true},     {"A100", false, false, true},
                 {"L4", false, false, false},   {"H100", false, false, false},
                 {"MI250X", false, false, true}};
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
        const struct device *d = device_find(devices, lacks[i].name);
        assert_non_null(d);
        assert_int_equal(device_lacks(d, "fp16"), lacks[i].fp16);
        assert_int_equal(device_lacks(d, "bf16"), lacks[i].bf16);
        assert_int_equal(device_lacks(d, "fp8"), lacks[i].fp8);
        assert_false(device_lacks(d, "fp32"));
        assert_false(device_lacks(d, "fp"));
        assert_false(device_lacks(d, ""));
    }
    devices_close(devices);
}

#define SOUND(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("%s: %s", d->name, #condition);                                               \
    } while (0)

// A slip in one column of the table shows in its relation to another one.
TEST(the_shipped_tables_are_plausible)
{
    struct devices *devices = shipped();
    const struct device *d;
    size_t gpus = 0, processors = 0;
    for (size_t i = 0; (d = device_at(devices, i)); i++) {
        SOUND(d->year >= 2012 && d->year <= 2026);
        SOUND(*d->vendor && *d->architecture);
        SOUND(strncmp(d->source, "https://", 8) == 0);
        SOUND(strlen(d->date) == 10);
        SOUND(d->base_mhz <= d->boost_mhz || d->boost_mhz == 0);
        bool rates = d->tf32_gflops || d->fp16_gflops || d->bf16_gflops || d->fp8_gflops;
        SOUND(!rates || strncmp(d->rates_source, "https://", 8) == 0);
        SOUND(!(d->bf16_gflops && device_lacks(d, "bf16")));
        SOUND(!(d->tf32_gflops && device_lacks(d, "tf32")));
        SOUND(!(d->fp8_gflops && device_lacks(d, "fp8")));
        if (d->vector_bits) {
            processors++;
            // One or two multiply-adds of the full width per cycle, four on Neoverse V2.
            int full = d->fp32_per_cycle * 16 / d->vector_bits;
            SOUND(full == 1 || full == 2 || full == 4);
            SOUND(d->threads_per_core == 1 || d->threads_per_core == 2);
            continue;
        }
        gpus++;
        SOUND(d->memory_mib > 0);
        // Two rates of matrix units are one or two times apart, but for one's bf16 (MI100).
        SOUND(!d->bf16_gflops || d->bf16_gflops * 2 >= d->fp16_gflops);
        SOUND(d->bf16_gflops <= d->fp16_gflops);
        SOUND(!d->tf32_gflops || abs(d->tf32_gflops * 2 - d->fp16_gflops) <= 8000);
        SOUND(!d->fp8_gflops || abs(d->fp16_gflops * 2 - d->fp8_gflops) <= 9000);
        // Bytes per second and unit: 1.9 (L4) to 63 (B200) GB/s.
        SOUND(!d->units || !d->memory_mbs ||
              (d->memory_mbs / d->units > 1500 && d->memory_mbs / d->units < 65000));
        // 2 x 64 to 256 flop per unit and clock; the clock of data sheets can be lower than boost.
        double flop = d->units && d->boost_mhz
                          ? d->fp32_gflops * 1e3 / ((double)d->units * d->boost_mhz)
                          : 256;
        SOUND(flop > 115 && flop < 400);
    }
    assert_true(gpus >= 120 && processors >= 30);
    devices_close(devices);
}

static void add_gpu(struct run *run, const char *name)
{
    struct run_gpu *gpu = LIST_ADD(&run->use.gpu_list, NULL);
    assert_non_null(gpu);
    assert_int_equal(text_set(&gpu->name, name, NULL), 0);
}

TEST(a_run_reaches_a_share)
{
    struct run run = {0};
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    peak_derive(&run);
    assert_false(run.use.share_of_peak.known);
    assert_int_equal(text_set(&run.precision, "bf16", NULL), 0);
    run.use.flops_per_s = some_real(989e12 / 4);
    add_gpu(&run, "NVIDIA H200");
    peak_derive(&run); // no GPU was used
    assert_false(run.use.share_of_peak.known);
    run.use.gpus = some_int(1);
    peak_derive(&run);
    assert_true(run.use.share_of_peak.known);
    assert_true(run.use.share_of_peak.v > 0.2499 && run.use.share_of_peak.v < 0.2501);
    add_gpu(&run, "NVIDIA H200");
    run.use.gpus = some_int(2);
    peak_derive(&run);
    assert_true(run.use.share_of_peak.v > 0.1249 && run.use.share_of_peak.v < 0.1251);
    run.use.share_of_peak.known = false;
    add_gpu(&run, "NVIDIA L4"); // of two kinds: which of them was how busy is not known
    run.use.gpus = some_int(3);
    peak_derive(&run);
    assert_false(run.use.share_of_peak.known);
    record_release(run_fields, &run);
}

// 8192² × 512 differences in 2.56 ms, two instructions each, on 132 × 128 units at 1.98 GHz: 80 %.
TEST(l1_reaches_a_share)
{
    struct run run = {0};
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    run.l1_pairs_per_s = some_real(8192.0 * 8192 * 512 / 2.56e-3);
    run.use.gpus = some_int(1);
    add_gpu(&run, "NVIDIA H200");
    peak_derive(&run);
    assert_true(run.l1_share_of_peak.known);
    assert_true(run.l1_share_of_peak.v > 0.795 && run.l1_share_of_peak.v < 0.805);
    run.l1_share_of_peak = some_real(0.7); // measured beside a loop of the processor
    peak_derive(&run);
    assert_true(run.l1_share_of_peak.v == 0.7);
    record_release(run_fields, &run);
}

static void write_own(const char *text)
{
    static char dir[128];
    char path[160];
    snprintf(dir, sizeof dir, "%s/config", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    mkdir(dir, 0700);
    setenv("XDG_CONFIG_HOME", dir, 1);
    snprintf(path, sizeof path, "%s/fare", dir);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/fare/gpus.csv", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// A quarter of 188 multiprocessors, 120 fp32 and 480 fp16 TFLOP/s, and of 96 GiB at 1597 GB/s.
TEST(a_part_has_its_share)
{
    struct err err = {0};
    struct devices *devices = shipped();
    const struct device *d = device_find(devices, "PRO-6000-MIG-24GB");
    assert_non_null(d);
    assert_int_equal(d->units, 47);
    assert_int_equal(d->fp32_gflops, 30000);
    assert_int_equal(d->fp16_gflops, 120000);
    assert_int_equal(d->memory_mib, 24576);
    assert_int_equal(d->memory_mbs, 399250);
    assert_int_equal(d->boost_mhz, 2493);
    assert_int_equal(d->link_mbs, 0);
    assert_int_equal(d->host_mbs, 0);
    d = device_find(devices, "PRO-6000-MIG-48GB");
    assert_int_equal(d->fp32_gflops, 60000);
    assert_int_equal(d->memory_mbs, 798500);
    devices_close(devices);

    // One eighth of an A100's memory, 14 of 108 multiprocessors; a figure that is listed stays.
    write_own("name,part_of,units,memory_gib,fp32_tflops\n"
              "mine,NVIDIA A100-SXM4-40GB,14,5,2\n"
              "half known,A100,,5,\n"
              "too large,A100,200,80,\n"
              "part of a part,mine,7,2,\n"
              "part of itself,part of itself,7,2,\n"
              "part of nothing,unheard of,7,2,\n");
    assert_ok(devices_open(&devices, &err), &err);
    d = device_find(devices, "mine");
    assert_int_equal(d->memory_mbs, 1555000 / 8);
    assert_int_equal(d->fp16_gflops, 312000 * 14 / 108);
    assert_int_equal(d->fp32_gflops, 2000);
    d = device_find(devices, "half known");
    assert_int_equal(d->memory_mbs, 1555000 / 8);
    assert_int_equal(d->fp16_gflops, 0);
    static const char *const unknown[] = {"too large", "part of a part", "part of itself",
                                          "part of nothing"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        d = device_find(devices, unknown[i]);
        assert_non_null(d);
        assert_int_equal(d->memory_mbs, 0);
        assert_int_equal(d->fp16_gflops, 0);
    }
    devices_close(devices);
}

TEST(the_users_table_wins)
{
    struct err err = {0};
    struct devices *devices = NULL;
    write_own("name,aliases,fp32_tflops\nH100,my own;NVIDIA H100 80GB HBM3,60.5\n");
    assert_ok(devices_open(&devices, &err), &err);
    assert_int_equal(device_find(devices, "h100")->fp32_gflops, 60500);
    assert_int_equal(device_find(devices, "NVIDIA H100 80GB HBM3")->fp32_gflops, 60500);
    assert_string_equal(device_find(devices, "My-Own")->name, "H100");
    const struct device *family[8];
    assert_int_equal(device_family(devices, "h100", family, 8), 3);
    assert_int_equal(family[0]->fp32_gflops, 60500);
    assert_int_equal(device_find(devices, "T4")->fp32_gflops, 8100);
    devices_close(devices);

    static const struct {
        const char *table, *error;
    } bad[] = {
        {"aliases\nx\n", "name"},
        {"name,fp32_tflops\nX,-1\n", "line 2"},
        {"name,fp32_tflops\nX,1e400\n", "line 2"},
        {"name,fp32_tflops\nX,nan\n", "line 2"},
        {"name,fp32_tflops\nX,99999999\n", "out of range"},
        {"name,aliases\nX,!!\n", "is not a name"},
        {"name,aliases\nX\n", "line 2"},
        {"name,memory_gbs\nX,1\nY,-2\n", "line 3, column 'memory_gbs'"},
        {"name,l2_mib\nX,nan\n", "line 2, column 'l2_mib'"},
        {"name,link_gbs\nX,inf\n", "line 2, column 'link_gbs'"},
        {"name,units\nX,13.5\n", "'13.5' is not a whole number"},
        {"name,boost_mhz\nX,1410 MHz\n", "line 2, column 'boost_mhz'"},
        {"name,memory_gib\nX,1000001\n", "out of range"},
        {"name,lacks\nX,bf16;fp7\n", "'fp7' is not a precision"},
        {"name,lacks\nX,;\n", "'' is not a precision"},
        {"name,date\nX,yesterday\n", "line 2, column 'date'"},
        {"name,vendor\n,nvidia\n", "column 'name': expected a value"},
        {"name,bf16_tflop\nX,1\n", "bf16_tflop"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err why = {0};
        write_own(bad[i].table);
        assert_int_not_equal(devices_open(&devices, &why), 0);
        assert_null(devices);
        if (!strstr(why.text, bad[i].error))
            fail_msg("'%s' has no '%s'", why.text, bad[i].error);
    }
}
