// SPDX-License-Identifier: Apache-2.0
// Measured rates beside data sheets. The shares are worked out by hand from NVIDIA's data sheet of
// the H200 (4.8 TB/s, 989 TFLOP/s in bf16), from 16 lanes of PCIe 5.0 at 3.938 GB/s each and from
// AMD's figures of the EPYC 7763 (64 cores, 3.5 GHz, 204.8 GB/s); the usual ranges from the rows
// of share/devices/reached.csv: 4175, 4231 and 4010 GB/s; 781.8 and 725.4 TFLOP/s; 54 and 52 GB/s.
#include "measure/expect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static void add_rate(struct machine *machine, const char *device, const char *name,
                     const char *operation, const char *precision, double per_s, const char *by)
{
    struct machine_rate *r = LIST_ADD(&machine->rates.list, NULL);
    assert_non_null(r);
    assert_int_equal(TEXTS_SET(NULL, {&r->device, device}, {&r->name, name},
                               {&r->operation, operation}, {&r->precision, precision},
                               {&r->by, by}),
                     0);
    r->per_s = some_real(per_s);
}

static struct machine_gpu_bandwidth *add_link(struct machine *machine, const char *name,
                                              double to_per_s, double from_per_s)
{
    struct machine_gpu_bandwidth *g = LIST_ADD(&machine->bandwidth.gpus, NULL);
    assert_non_null(g);
    assert_int_equal(text_set(&g->name, name, NULL), 0);
    g->index = some_int(0);
    g->to_device_pinned_bytes_per_s = some_real(to_per_s);
    g->from_device_pinned_bytes_per_s = some_real(from_per_s);
    return g;
}

static void fill(struct machine *machine)
{
    struct err err = {0};
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    assert_ok(expect_fill(machine, &err), &err);
}

static void assert_words(const struct machine *machine, size_t i, const char *words)
{
    struct buf text = {0};
    assert_true(i < machine->expectations.count);
    expect_words(&machine->expectations.items[i], &text);
    assert_string_equal(buf_str(&text), words);
    buf_release(&text);
}

TEST(a_gpu_as_usual)
{
    struct machine m = {0};
    add_rate(&m, "gpu 0", "NVIDIA H200", "copy", NULL, 4.18e12, NULL);
    add_rate(&m, "gpu 0", "NVIDIA H200", "product", "bf16", 600e12, "fare's kernel");
    add_rate(&m, "gpu 0", "NVIDIA H200", "product", "bf16", 782e12, "cuBLASLt 13.1.0");
    struct machine_gpu_bandwidth *link = add_link(&m, "NVIDIA H200", 53e9, 55e9);
    link->pcie_generation_loaded = some_int(5);
    link->pcie_width_loaded = some_int(16);
    fill(&m);
    assert_words(&m, 0,
                 "GPU 0 memory 4.18 TB/s, 87 % of the data sheet's 4.8 TB/s; usual for this "
                 "GPU: 83 to 89 %");
    assert_words(&m, 1,
                 "GPU 0 bf16 782 TFLOP/s, 79 % of the data sheet's 989 TFLOP/s; usual for "
                 "this GPU: 73 to 80 %");
    assert_words(&m, 2,
                 "GPU 0 copies to it 53 GB/s, 84 % of the PCIe 5.0 x16 link's 63 GB/s; usual "
                 "for this GPU: 82 to 86 %");
    assert_words(&m, 3,
                 "GPU 0 copies from it 55 GB/s, 87 % of the PCIe 5.0 x16 link's 63 GB/s; "
                 "usual for this GPU: 82 to 88 %");
    assert_int_equal(m.expectations.count, 4);
    assert_int_equal(m.expectations.items[0].usual_rows.v, 3);
    assert_int_equal(m.findings.count, 0);
    machine_release(&m);
}

// 0.85 x 83.5 % of 4.8 TB/s are 3.41 TB/s; 0.85 x 52 of 63 GB/s are 44.2 GB/s.
TEST(far_below_is_a_finding)
{
    struct machine m = {0};
    struct machine_finding *before = LIST_ADD(&m.findings, NULL);
    assert_non_null(before);
    assert_int_equal(TEXTS_SET(NULL, {&before->id, "spot"}, {&before->level, "note"}), 0);
    add_rate(&m, "gpu 0", "NVIDIA H200", "copy", NULL, 3.4e12, NULL);
    add_rate(&m, "gpu 1", "NVIDIA H200", "copy", NULL, 3.42e12, NULL);
    add_rate(&m, "gpu 0", "NVIDIA H200", "product", "bf16", 300e12, "fare's kernel"); // no library
    add_link(&m, "NVIDIA H200", 25e9, 52e9);
    fill(&m);
    assert_int_equal(m.findings.count, 3);
    assert_string_equal(m.findings.items[0].id, "below-usual");
    assert_string_equal(m.findings.items[0].level, "warning");
    assert_string_equal(m.findings.items[0].evidence,
                        "GPU 0 memory 3.4 TB/s, 71 % of the data sheet's 4.8 TB/s; usual for this "
                        "GPU: 83 to 89 %");
    assert_non_null(strstr(m.findings.items[0].remedy, "throttling"));
    assert_non_null(strstr(m.findings.items[1].evidence, "copies to it 25 GB/s, 40 %"));
    assert_non_null(strstr(m.findings.items[1].remedy, "width"));
    assert_string_equal(m.findings.items[2].id, "spot"); // notes stay last
    machine_release(&m);
}

// 64 cores x 32 operations x 3.5 GHz are 7.168 TFLOP/s. STREAM reached 330 to 350 of 409.6 GB/s
// and 750 to 780 of 921.6 GB/s on two sockets: 80.6 to 85.4 %.
TEST(a_processor)
{
    const char *name = "AMD EPYC 7763 64-Core Processor";
    struct machine m = {0};
    assert_int_equal(text_set(&m.cpu.model, name, NULL), 0);
    m.cpu.sockets = some_int(1);
    m.cpu.cores = some_int(64);
    m.cpu.threads = some_int(128);
    m.cpu.usable_cpus = some_real(128);
    add_rate(&m, "cpu", name, "copy", NULL, 170e9, NULL);
    add_rate(&m, "cpu", name, "product", "f32", 5e12, "oneDNN");
    add_rate(&m, "cpu", name, "multiply-add", NULL, 3e9, NULL);
    fill(&m);
    assert_int_equal(m.expectations.count, 2);
    assert_words(&m, 0,
                 "memory 170 GB/s, 83 % of the data sheet's 205 GB/s; usual for processors: "
                 "80 to 86 %");
    assert_words(&m, 1,
                 "fp32 5 TFLOP/s, 70 % of the processor's 7.17 TFLOP/s (64 cores × 32 "
                 "operations × 3.5 GHz)");
    machine_release(&m);

    // Eight virtual CPUs of it: four cores, and nobody knows their share of the memory.
    memset(&m, 0, sizeof m);
    assert_int_equal(text_set(&m.cpu.model, name, NULL), 0);
    m.cpu.cores = some_int(4);
    m.cpu.threads = some_int(8);
    m.cpu.usable_cpus = some_real(8);
    add_rate(&m, "cpu", name, "copy", NULL, 30e9, NULL);
    fill(&m);
    assert_words(&m, 0,
                 "memory 30 GB/s, 15 % of the whole socket's 205 GB/s (4 of its 64 cores are "
                 "here)");
    assert_int_equal(m.findings.count, 0);
    machine_release(&m);
}

TEST(nonsense_has_no_expectation)
{
    static const double rates[] = {0, -5, (double)NAN, (double)INFINITY};
    struct machine m = {0};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        add_rate(&m, "gpu 0", "NVIDIA H200", "copy", NULL, rates[i], NULL);
        add_link(&m, "NVIDIA H200", rates[i], rates[i]);
    }
    add_rate(&m, "gpu 0", "a GPU of next year", "copy", NULL, 4e12, NULL);
    add_rate(&m, "gpu 0", NULL, "product", NULL, 4e12, NULL);
    add_rate(&m, "cpu", "AMD EPYC", "copy", NULL, 4e10, NULL);
    struct machine_gpu_bandwidth *link = add_link(&m, "a GPU of next year", 5e9, 5e9);
    link->pcie_generation_loaded = some_int(-1);
    link->pcie_width_loaded = some_int(INT64_MAX);
    fill(&m);
    assert_int_equal(m.expectations.count, 0);
    assert_int_equal(m.findings.count, 0);
    machine_release(&m);
}

// An L40S has 864 GB/s, 350 W, 48 GiB and PCIe 4.0 x16.
TEST(less_than_the_data_sheet)
{
    struct machine m = {0};
    struct machine_gpu *g = LIST_ADD(&m.gpus, NULL);
    assert_non_null(g);
    assert_int_equal(text_set(&g->name, "NVIDIA L40S", NULL), 0);
    g->index = some_int(0);
    g->works = some_bool(true);
    g->pcie_generation_max = some_int(3);
    g->pcie_width_max = some_int(16);
    g->power_limit_default_mw = some_int(300000);
    g->memory_total_bytes = some_int(INT64_C(24) << 30);
    fill(&m);
    static const char *const said[] = {
        ("GPU 0 (NVIDIA L40S) has a PCIe 3.0 x16 slot: 15.8 GB/s each way, the data sheet has "
         "31.5 GB/s"),
        "GPU 0 (NVIDIA L40S) has a power limit of 300 W by default; the data sheet has 350 W",
        "GPU 0 (NVIDIA L40S) has 24 GiB of memory; the data sheet has 48 GiB"};
    assert_int_equal(m.findings.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(m.findings.items[i].evidence, said[i]);
    machine_release(&m);

    memset(&m, 0, sizeof m); // as specified
    g = LIST_ADD(&m.gpus, NULL);
    assert_non_null(g);
    assert_int_equal(text_set(&g->name, "NVIDIA L40S", NULL), 0);
    g->pcie_generation_max = some_int(4);
    g->pcie_width_max = some_int(16);
    g->power_limit_default_mw = some_int(350000);
    g->memory_total_bytes = some_int(INT64_C(46068) << 20);
    fill(&m);
    assert_int_equal(m.findings.count, 0);
    machine_release(&m);
}
