// SPDX-License-Identifier: Apache-2.0
// Estimates by hand calculation, with tables and devices of round figures.
#include "advise/estimate/estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

// Nobody releases or changes the texts of these records.
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wincompatible-pointer-types-discards-qualifiers"
#else
#pragma GCC diagnostic ignored "-Wdiscarded-qualifiers"
#endif

#define NEAR(a, b) assert_true(fabs((a) / (b)-1) < 1e-9)

static struct estimate_model models[] = {{"unknown", 40, 1000, 100, 1, 0.5},
                                         {"conv", 40, 1000, 100, 1, 0.5}};
static struct estimate_pattern patterns[] = {{"resnet", "conv"}};
static struct estimate_bound bounds[] = {
    {"gpu", 0.9, -1, 1}, {"mixed", 0.5, 0.9, 0.5}, {"host", 0, 0.5, 0.5}, {"unknown", -1, -1, 0.5}};
static struct estimate_powers classes[] = {{"gemm", 0.5, 0, 0.5}, {"elementwise", 0, 1, 0}};
#define ROW(relation, bound, scale, trace, kind, factor90)                                         \
    {                                                                                              \
        relation, bound, scale, trace, kind, 1, 1, {1.1, 1.2, factor90, 9}, 7, "x", NULL           \
    }
static struct estimate_errors errors[] = {
    ROW("other", "gpu", "one", "no", "unknown", 1.5),
    ROW("other", "gpu", "one", "no", "known", 1.4),
    ROW("other", "mixed", "one", "no", "unknown", 1.7),
    ROW("other", "host", "one", "no", "unknown", 1.9),
    ROW("other", "unknown", "one", "no", "unknown", 3),
    ROW("other", "gpu", "several", "no", "unknown", 1.6),
    ROW("other", "gpu", "one", "sheet", "known", 1.8),
    ROW("other", "gpu", "one", "measured", "known", 1.3),
    ROW("same", "gpu", "one", "no", "unknown", 1.2),
    ROW("same", "gpu", "one", "measured", "known", 1.1),
    ROW("vendor", "gpu", "one", "no", "unknown", 1.5),
    ROW("cpu", "unknown", "one", "no", "unknown", 2.5),
};
static struct estimate_scaling scalings[] = {{"nvlink", "gpu", "unknown", 4, 0.9, 0.5, 1, 10},
                                             {"nvlink", "host", "unknown", 4, 0.7, 0.1, 1, 10},
                                             {"nvlink", "unknown", "unknown", 4, 0.85, 0.3, 1, 99},
                                             {"pcie", "gpu", "unknown", 2, 0.8, 0.4, 1, 10},
                                             {"pcie", "gpu", "known", 2, 0.95, 0.5, 1.1, 20},
                                             {"nodes", "gpu", "unknown", 2, 0.7, 0.3, 1, 10}};
static struct estimate_launches launches[] = {{"pytorch", "mlp", 40, 5, 100},
                                              {"pytorch", "attention", 80, 5, 100},
                                              {"pytorch", "unknown", 20, 5, 100},
                                              {"transformers.Trainer", "unknown", 80, 5, 600},
                                              {"unknown", "unknown", 4, 2, 0}};
static struct estimate_constant constants[] = {
    {"cpu_to_gpu_least", 0.5},  {"cpu_serial", 0.2},        {"cpu_power", 0.5},
    {"cpu_middling_gflops", 8}, {"cpu_middling_factor", 3}, {"pcie_reach", 0.5},
    {"pcie_exposed", 0.25}};

#define LIST(rows)                                                                                 \
    {                                                                                              \
        rows, sizeof rows / sizeof *rows, true                                                     \
    }
static const struct estimate_tables tables = {LIST(models),   LIST(patterns), LIST(bounds),
                                              LIST(classes),  LIST(errors),   LIST(scalings),
                                              LIST(launches), LIST(constants)};

// With fp16: 40 / (40 · 0.5 · 0.5) + 1000 / 500 + 100 / (50 · 2 · 0.5) = 4 + 2 + 2 = 8.
// With fp32: 40 / (10 · 0.5) + 2 + 2 = 12.
static struct device old_gpu(void)
{
    return (struct device){.name = "old",
                           .vendor = "nvidia",
                           .architecture = "one",
                           .units = 50,
                           .base_mhz = 1000,
                           .boost_mhz = 2000,
                           .memory_mib = 32768,
                           .memory_mbs = 500000,
                           .host_mbs = 10000,
                           .fp32_gflops = 10000,
                           .fp16_gflops = 40000,
                           .part_of = "",
                           .lacks = "tf32;bf16;fp8"};
}

// With fp16: 40 / (160 · 0.5) + 1000 / 1000 + 100 / (100 · 2) = 0.5 + 1 + 0.5 = 2.
// With fp32: 40 / 20 + 1 + 0.5 = 3.5.
static struct device new_gpu(void)
{
    return (struct device){.name = "new",
                           .vendor = "nvidia",
                           .architecture = "two",
                           .units = 100,
                           .base_mhz = 2000,
                           .boost_mhz = 2000,
                           .memory_mib = 16384,
                           .memory_mbs = 1000000,
                           .host_mbs = 20000,
                           .link_mbs = 100000,
                           .fp32_gflops = 20000,
                           .fp16_gflops = 160000,
                           .part_of = "",
                           .lacks = "fp8"};
}

// 8 threads are 4 cores: 4 · 32 · 2 GHz = 0.256 TFLOP/s.
static struct device processor(void)
{
    return (struct device){.name = "cpu",
                           .vendor = "amd",
                           .architecture = "zen",
                           .units = 64,
                           .base_mhz = 2000,
                           .vector_bits = 256,
                           .part_of = "",
                           .lacks = ""};
}

struct setting {
    struct device a, b;
    struct run run;
    struct estimate_place from, to;
    struct estimate_time time;
};

static void set(struct setting *s, double busy)
{
    *s = (struct setting){.a = old_gpu(), .b = new_gpu(), .time = {8, 0, 0}};
    s->from = (struct estimate_place){.device = &s->a, .gpus = 1};
    s->to = (struct estimate_place){.device = &s->b, .gpus = 1};
    s->run.precision = "fp16";
    if (busy >= 0)
        s->run.use.steady.gpu_percent = some_real(100 * busy);
}

static struct estimate made(const struct setting *s)
{
    struct estimate e;
    estimate_make(&tables, &s->run, &s->from, &s->to, &s->time, &e);
    return e;
}

TEST(no_trace)
{
    struct setting s;
    set(&s, 0.95);
    struct estimate e = made(&s);
    NEAR(e.time_s, 2); // 8 · 2 / 8
    NEAR(e.low_s, 2 / 1.5);
    NEAR(e.high_s, 3);
    assert_int_equal(e.kind, ESTIMATE_ESTIMATED);
    char words[ESTIMATE_WORDS];
    estimate_words(&e, words);
    assert_string_equal(words, "estimated ±50 %");

    s.run.precision = "f32";
    NEAR(made(&s).time_s, 8 * 3.5 / 12);
    s.run.precision = "tf32"; // neither has it: fp32
    NEAR(made(&s).time_s, 8 * 3.5 / 12);

    s.run.workload = "my-ResNet50";
    NEAR(made(&s).high_s, 8 * 3.5 / 12 * 1.4);

    set(&s, 0.7);
    NEAR(made(&s).time_s, 8 * 0.5); // the square root of 1/4
    NEAR(made(&s).high_s, 8 * 0.5 * 1.7);
    set(&s, -1);
    e = made(&s);
    NEAR(e.high_s, 8 * 0.5 * 3);
    assert_int_equal(e.kind, ESTIMATE_ROUGH);
    estimate_words(&e, words);
    assert_string_equal(words, "rough ×3.0");
}

TEST(the_runs_interval_widens_it)
{
    struct setting s;
    set(&s, 0.95);
    s.time = (struct estimate_time){8, 8 * exp(-0.196), 8 * exp(0.196)}; // 90 %: ± 0.1645
    double half = sqrt(log(1.5) * log(1.5) + 0.1645 * 0.1645);
    NEAR(made(&s).high_s, 2 * exp(half));
    NEAR(made(&s).low_s, 2 * exp(-half));
}

// The square root of 0.25 (fp16) and 3.5 / 12 (fp32, tf32), and half their distance on top.
TEST(an_unknown_precision)
{
    struct setting s;
    set(&s, 0.95);
    s.run.precision = NULL;
    struct estimate e = made(&s);
    assert_true(e.guessed_precision);
    NEAR(e.time_s, 8 * sqrt(0.25 * 3.5 / 12));
    NEAR(e.high_s, 8 * 3.5 / 12 * 1.5);
    NEAR(e.low_s, 8 * 0.25 / 1.5);
}

static void trace(struct setting *s, struct run_work *work, double busy, double matrix,
                  double other)
{
    work[0] = (struct run_work){"matrix products", "f16", some_real(matrix)};
    work[1] = (struct run_work){"element-wise and reductions", NULL, some_real(other)};
    s->run.account.busy_share = some_real(busy);
    s->run.account.work.items = work;
    s->run.account.work.count = 2;
}

TEST(with_a_trace)
{
    struct setting s;
    struct run_work work[2];
    set(&s, -1);
    // Products: 40 · 0.5 · 0.5 against 160 · 0.5, an eighth. The rest: half.
    trace(&s, work, 0.95, 0.5, 0.45);
    struct estimate e = made(&s);
    NEAR(e.time_s, 8 * (0.5 / 8 + 0.45 / 2) / 0.95);
    NEAR(e.high_s / e.time_s, 1.8);
    assert_int_equal(e.part_count, 2);
    NEAR(e.parts[0].factor, 0.125);
    NEAR(e.parts[1].factor, 0.5);

    struct machine_rate here[] = {
        {.device = "gpu 0", .operation = "product", .precision = "bf16", .per_s = some_real(30e12)},
        {.device = "gpu 0", .operation = "copy", .per_s = some_real(400e9)}};
    struct machine_rate there[] = {
        {.device = "cpu", .operation = "copy", .per_s = some_real(1e9)},
        {.device = "gpu 0", .operation = "product", .precision = "bf16", .per_s = some_real(90e12)},
        {.device = "gpu 0", .operation = "copy", .per_s = some_real(800e9)}};
    struct machine_rates from = {.list = {here, 2, true}}, to = {.list = {there, 3, true}};
    s.from.rates = &from;
    s.to.rates = &to;
    e = made(&s);
    NEAR(e.time_s, 8 * (0.5 / 3 + 0.45 / 2) / 0.95);
    NEAR(e.high_s / e.time_s, 1.3);

    // Another clock of one GPU: products follow the square root of both, a third and a half.
    s.b = s.a;
    s.from.clock_mhz = 1000;
    s.to.clock_mhz = 2000;
    e = made(&s);
    NEAR(e.time_s, 8 * (0.5 * sqrt(1.0 / 3 / 2) + 0.45 / 2) / 0.95);
    NEAR(e.high_s / e.time_s, 1.1);
}

TEST(a_share_with_a_trace)
{
    struct setting s;
    struct run_work work[2];
    set(&s, -1);
    trace(&s, work, 0.95, 0.5, 0.45);
    s.to.share = 0.25;
    struct estimate e = made(&s);
    NEAR(e.time_s, 4 * 8 * (0.5 / 8 + 0.45 / 2) / 0.95);
    NEAR(e.parts[0].factor, 0.5);
    // The kernels of half a step, (0.3 / 8 + 0.2 / 2) · 4, take 0.55 of it, less than the host
    // does.
    trace(&s, work, 0.5, 0.3, 0.2);
    NEAR(made(&s).time_s, 8);
    s.to.share = 0.1;
    NEAR(made(&s).time_s, 8 * 1.375);
}

TEST(the_host_takes_its_time)
{
    struct setting s;
    struct run_work work[2];
    set(&s, -1);
    trace(&s, work, 0.4, 0.2, 0.2);
    NEAR(made(&s).time_s, 8); // the kernels: (0.2 / 8 + 0.2 / 2) · 8 = 1
    s.from.thread_ops_per_s = 2e9;
    s.to.thread_ops_per_s = 4e9;
    NEAR(made(&s).time_s, 4);
    s.run.account.data_share = some_real(0.2);
    NEAR(made(&s).time_s, 8 * (0.2 + 0.8 / 2));

    // Back to the slow GPU the kernels take 0.2 · 8 + 0.2 · 2 = 2.0 steps.
    struct estimate_place was = s.from;
    s.from = s.to;
    s.to = was;
    NEAR(made(&s).time_s, 16);
}

TEST(other_vendors_and_processors_are_rough)
{
    struct setting s;
    set(&s, 0.95);
    s.b.vendor = "amd";
    struct estimate e = made(&s);
    NEAR(e.time_s, 2);
    assert_int_equal(e.kind, ESTIMATE_ROUGH);

    struct device cpu = processor(), wide = processor();
    wide.vector_bits = 512;
    set(&s, -1);
    s.from = (struct estimate_place){.device = &cpu, .cpus = 0.05};
    s.to = (struct estimate_place){.device = &wide, .cpus = 16};
    assert_string_equal(made(&s).why,
                        "the run hardly used its processor: it waits for something else");
    s.from.cpus = 8;
    // Twice the threads: 0.2 + 0.8 / 16 instead of 0.2 + 0.8 / 8. Twice the width: √0.5.
    NEAR(made(&s).time_s, 8 * (0.25 / 0.3) * sqrt(0.5));
    NEAR(made(&s).high_s, 2.5 * 8 * (0.25 / 0.3) * sqrt(0.5));
    wide.fp32_per_cycle = 32; // 512 bits take two cycles
    wide.threads_per_core = 1;
    wide.boost_mhz = 4000; // 16 cores · 32 · 3 GHz = 1.536 TFLOP/s
    NEAR(made(&s).time_s, 8 * (0.25 / 0.3) * sqrt(1.0 / 3)); // 0.032 and 0.096 each thread
    s.to.cpus = 1600; // 600 times the rate, forty times more than in any pair
    NEAR(made(&s).time_s, 8 * (0.2005 / 0.3) * sqrt(1.0 / 3));
    NEAR(made(&s).high_s / made(&s).time_s, 2.5 * pow(40, 0.4));

    set(&s, 0.95); // nobody compared a GPU with a processor in this direction
    s.to = (struct estimate_place){.device = &cpu, .cpus = 8};
    assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);
}

// Nothing that a CPU shows tells what a GPU waits for: the least is told, and why.
TEST(from_a_cpu_to_a_gpu_the_least_is_told)
{
    struct setting s;
    struct device cpu = processor();
    struct run_library packages[] = {{.name = "torch", .version = "2.11.0"}, {.name = "jax"}};
    char words[ESTIMATE_WORDS];
    set(&s, -1);
    s.run.precision = "f32";
    s.from = (struct estimate_place){.device = &cpu, .cpus = 8};
    // The peak of the new GPU is 160 TFLOP/s, in fp16; no more than twice the ratio of peaks.
    struct estimate e = made(&s);
    assert_int_equal(e.kind, ESTIMATE_BOUND);
    NEAR(e.time_s, 0.5 * 8 * 0.256 / 160);
    NEAR(e.low_s, e.time_s);
    estimate_words(&e, words);
    assert_string_equal(words, "lower bound");
    // A processor that is not in the table: 4 cores of 4e9 / 2 Hz, perhaps half of that.
    s.from = (struct estimate_place){.cpus = 8, .thread_ops_per_s = 4e9};
    NEAR(made(&s).time_s, 0.5 * 8 * 0.128 / 160);
    s.from.thread_ops_per_s = 0; // neither its speed nor the number of steps is known
    assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);

    s.run.total_steps = some_int(10000); // four kernels of 2 µs
    NEAR(made(&s).time_s, 10000 * 8e-6);
    s.run.framework = "pytorch";
    NEAR(made(&s).time_s, 10000 * 200e-6); // of any net
    s.run.workload = "mlp";
    NEAR(made(&s).time_s, 10000 * 300e-6);
    assert_non_null(strstr(made(&s).why, "10000 steps, at least 0.3 ms each: 40 launches"));
    s.to.gpus = 4; // at best
    NEAR(made(&s).time_s, 2500 * 300e-6);
    s.to.gpus = 1;
    s.to.share = 0.5; // while the others are idle
    NEAR(made(&s).time_s, 10000 * 300e-6);
    s.to.share = 0;

    s.run.workload = NULL;
    s.run.framework = "command"; // its Python has PyTorch, and perhaps something else
    s.run.code.packages.items = packages;
    s.run.code.packages.count = 1;
    NEAR(made(&s).time_s, 10000 * 200e-6);
    s.run.code.packages.count = 2;
    NEAR(made(&s).time_s, 10000 * 8e-6);
    packages[0].version = "1.13.1";
    s.run.code.packages.count = 1;
    NEAR(made(&s).time_s, 10000 * 8e-6);
    s.run.code.loop = "transformers.Trainer";
    NEAR(made(&s).time_s, 10000 * 1000e-6);

    // Operations at the peak: 16 TFLOP in each step; of a recipe in stages a third is sure.
    struct run_stage stages[2] = {{0}};
    s.run.step_flops = some_real(16e12);
    NEAR(made(&s).time_s, 10000 * 0.1);
    s.run.stages.items = stages;
    s.run.stages.count = 2;
    NEAR(made(&s).time_s, 10000 * 0.1 / 3);
}

// Other programs used the CPUs: the run's threads lie between those used and all that there are.
TEST(a_noisy_run_widens_or_refuses)
{
    struct setting s;
    struct device cpu = processor();
    set(&s, -1);
    s.from = (struct estimate_place){.device = &cpu, .cpus = 1, .cpus_most = 2};
    s.to = (struct estimate_place){.device = &cpu, .cpus = 1, .cpus_most = 2};
    struct estimate e = made(&s); // as long as here, or a quarter of it
    NEAR(e.time_s, 8 * 0.5);
    NEAR(e.high_s / e.time_s, 2.5 * 2);
    s.from.cpus = s.to.cpus = 0.5; // a sixteenth
    e = made(&s);
    assert_int_equal(e.kind, ESTIMATE_UNKNOWN);
    assert_non_null(strstr(e.why, "other programs used so much"));
    s.from.cpus_most = s.to.cpus_most = 0; // nobody else was there
    NEAR(made(&s).time_s, 8);
}

// Without a trace the formula counts on the GPU at its clock: half the clock takes twice as long,
// but for the memory, whose copies were measured at the same rate.
TEST(the_same_gpu_at_another_clock)
{
    struct setting s;
    static const struct machine_rate copy = {
        .device = "gpu 0", .operation = "copy", .per_s = {true, 1e11}};
    struct machine_rates rates = {.list = {(struct machine_rate *)(uintptr_t)&copy, 1}};
    set(&s, 0.95);
    s.to.device = &s.a;
    s.from.rates = s.to.rates = &rates;
    s.from.clock_mhz = 1800;
    s.to.clock_mhz = 900;
    NEAR(made(&s).time_s, 8 * (2 * 4 + 2 + 2 * 2) / 8.0);
    assert_string_equal(made(&s).class->relation, "same");
    s.to.rates = NULL; // the data sheet's bandwidth
    NEAR(made(&s).time_s, 8 * (2 * 4 + 2 + 2 * 2) / 8.0);
    s.to.clock_mhz = (double)NAN; // unknown: the same device
    NEAR(made(&s).time_s, 8);
}

// A step of fare's own nets: 1 ms, of which 2 GFLOP at 10 TFLOP/s take 0.2 and 50 MB at 500 GB/s
// 0.1; the rest follows 50 units · 1 GHz. There: 80 TFLOP/s, 1000 GB/s, 200.
TEST(a_net_with_counted_work)
{
    struct setting s;
    set(&s, 0.95);
    s.run.framework = "fare";
    s.run.step_ms = some_real(1);
    s.run.step_flops = some_real(2e9);
    s.run.step_bytes = some_real(50e6);
    struct estimate e = made(&s);
    double factor = 0.2 / 8 + 0.1 / 2 + 0.7 / 4, fitted = 2.0 / 8;
    NEAR(e.time_s, 8 * factor);
    NEAR(e.high_s / e.time_s / exp(fabs(log(factor / fitted)) / 2), 1.5);
    assert_int_equal(e.part_count, 3);
    NEAR(e.parts[0].share, 0.2);
    NEAR(e.parts[2].factor, 0.25);
    s.run.step_flops = some_real(12e9); // more than fits: 1.2 and 0.1 of 1.3
    NEAR(made(&s).time_s, 8 * (1.2 / 8 + 0.1 / 2) / 1.3);
    s.run.step_bytes = some_real((double)NAN);
    NEAR(made(&s).time_s, 2); // the formula alone
    s.run.framework = "pytorch";
    s.run.step_bytes = some_real(50e6);
    NEAR(made(&s).time_s, 2);
}

// l1: a tenth of the pass calculates, the rest is copied over a bus of twice the rate.
TEST(an_l1_pass_waits_for_the_bus)
{
    struct setting s;
    set(&s, 0.95);
    s.run.step_ms = some_real(10);
    s.run.l1_calculation_ms = some_real(1);
    struct estimate e = made(&s);
    NEAR(e.time_s, 8 * (0.9 / 2 + 0.1 / 4));
    assert_string_equal(e.class->bound, "host");
    s.b.host_mbs = 0;
    assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);
}

// A quarter of the GPU's time takes four times as long as all of it, or no longer if the others
// that share it are idle.
TEST(a_share_of_a_gpu)
{
    struct setting s;
    set(&s, 0.95);
    s.to.share = 0.25; // of 8 · 2 / 8 s
    struct estimate e = made(&s);
    NEAR(e.time_s, 8);
    NEAR(e.high_s / e.time_s, 1.5);
    NEAR(e.time_s / e.low_s, exp(hypot(log(1.5), log(4))));
    assert_int_equal(e.kind, ESTIMATE_ROUGH);
    s.run.use.steady.gpu_percent = some_real(20); // bound by the host: the square root, as for GPUs
    NEAR(made(&s).time_s, 8 * sqrt(4 * 2 / 8.0));

    set(&s, 0.95); // a share of the GPU that it was measured on
    s.from.device = &s.b;
    s.to.share = 0.5;
    e = made(&s);
    NEAR(e.time_s, 16);
    assert_string_equal(e.class->relation, "same");
    assert_int_equal(e.kind, ESTIMATE_ROUGH);

    s.run.use.gpu_memory_peak_bytes = some_int(INT64_C(12) << 30); // it has 16 GiB in all
    e = made(&s);
    assert_int_equal(e.kind, ESTIMATE_IMPOSSIBLE);
    assert_string_equal(e.why, "needs 12 GiB of GPU memory, the new has 8 GiB");
    s.to.gpu_memory_bytes = INT64_C(12) << 30; // its own
    assert_int_equal(made(&s).kind, ESTIMATE_ROUGH);

    set(&s, 0.95); // fare's own nets: every part of the step
    s.run.framework = "fare";
    s.run.step_ms = some_real(1);
    s.run.step_flops = some_real(2e9);
    s.run.step_bytes = some_real(50e6);
    s.to.share = 0.125;
    e = made(&s);
    NEAR(e.time_s, 8 * 8 * (0.2 / 8 + 0.1 / 2 + 0.7 / 4));
    NEAR(e.parts[2].factor, 2);

    const double whole[] = {0, 1, 2, -1, (double)NAN};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        set(&s, 0.95);
        s.to.share = whole[i];
        e = made(&s);
        NEAR(e.time_s, 2);
        assert_int_equal(e.kind, ESTIMATE_ESTIMATED);
    }
    set(&s, 0.95); // a part of hardware is a device of its own, whose rates nobody measured
    s.b.part_of = "whole";
    NEAR(made(&s).time_s, 2);
    NEAR(made(&s).time_s / made(&s).low_s, 1.5);
    assert_int_equal(made(&s).kind, ESTIMATE_ROUGH);
    s.b.memory_mbs = 0;
    assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);
}

// Four virtual CPUs of 8 GFLOP/s each, where those here have 32.
TEST(an_unknown_processor)
{
    struct setting s;
    struct device cpu = processor();
    struct buf words = {0};
    set(&s, -1);
    s.from = (struct estimate_place){.device = &cpu, .cpus = 8};
    s.to = (struct estimate_place){.cpus = 4};
    struct estimate e = made(&s);
    NEAR(e.time_s, 8 * (0.4 / 0.3) * sqrt(4)); // 0.2 + 0.8 / 4 instead of 0.2 + 0.8 / 8
    NEAR(e.high_s / e.time_s, exp(hypot(log(2.5), log(3))));
    NEAR(e.time_s / e.low_s, exp(hypot(log(2.5), log(3))));
    assert_int_equal(e.kind, ESTIMATE_ROUGH);
    assert_true(e.unknown_processor);
    estimate_class_words(&e, &words);
    assert_string_equal(buf_str(&words), "from a CPU to a CPU, processor unknown: 7 pairs");
    buf_release(&words);

    const double none[] = {0, -4, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        s.to.cpus = none[i];
        assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);
    }
    s.to = (struct estimate_place){.cpus = 4, .gpus = 1}; // a GPU that is not in the table
    assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);
    s.to.gpus = 0;
    struct estimate_tables without = tables; // of constants
    without.constants.count = 0;
    estimate_make(&without, &s.run, &s.from, &s.to, &s.time, &e);
    assert_int_equal(e.kind, ESTIMATE_UNKNOWN);
    cpu.vector_bits = 0; // named, but without figures
    s.to.device = &cpu;
    s.from = (struct estimate_place){.cpus = 8, .thread_ops_per_s = 4e9};
    assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);

    set(&s, 0.95);
    s.to = (struct estimate_place){.cpus = 4};
    assert_string_equal(made(&s).reason, "no GPU");
}

TEST(several_gpus)
{
    struct setting s;
    set(&s, 0.95);
    s.to.gpus = 4;
    struct estimate e = made(&s);
    NEAR(e.time_s, 2 / (4 * 0.9));
    NEAR(e.high_s / e.time_s, exp(hypot(log(1.6), log(0.9 / 0.5))));
    NEAR(e.time_s / e.low_s, exp(hypot(log(1.6), log(1 / 0.9))));

    // The same device: nothing but the number differs.
    s.to.device = s.from.device = &s.b;
    e = made(&s);
    NEAR(e.time_s, 8 / (4 * 0.9));
    NEAR(e.high_s / e.time_s, 0.9 / 0.5);
    NEAR(e.time_s / e.low_s, 1 / 0.9);

    // 1e9 parameters: 2 · 3/4 · 4e9 bytes at 50 GB/s are 0.12 s, of which a step of 0.09 s hides
    // 0.06 s: 0.09 / 0.15.
    s.run.parameters = some_int(1000000000);
    s.run.step_ms = some_real(90);
    e = made(&s);
    NEAR(e.several.to.median, 0.6);
    NEAR(e.time_s, 8 / (4 * 0.6));
    NEAR(e.high_s / e.time_s, 0.9 / 0.5);
    NEAR(e.low_s, e.time_s);

    s.to.gpus = 9; // not in the table
    assert_string_equal(made(&s).why, "nobody measured that many GPUs together");

    s.from.gpus = s.to.gpus = 4; // back to one: less than four times as long
    s.run.parameters.known = false;
    assert_int_equal(made(&s).kind, ESTIMATE_MEASURED);
    s.to.gpus = 1;
    NEAR(made(&s).time_s, 8 * 4 * 0.9);
}

// 1e9 parameters on two GPUs at 10 GB/s, half of which they reach: 2 · 1/2 · 4e9 / 5e9 = 0.8 s, a
// quarter of it never hidden.
TEST(a_ring_over_pcie)
{
    struct device gpu = old_gpu();
    struct estimate_efficiency two;
    struct estimate_place pair = {.device = &gpu, .gpus = 2};
    assert_null(estimate_efficiency(&tables, &pair, "gpu", 1e9, 0.6, &two));
    NEAR(two.ring_s, 0.8);
    NEAR(two.exposed_s, 0.4); // the backward pass hides 0.4
    NEAR(two.median, 0.6 * 0.95);
    NEAR(two.low, 0.6 * 0.5);
    NEAR(two.high, 0.6 * 1.1);
    assert_null(estimate_efficiency(&tables, &pair, "gpu", 1e9, 3, &two));
    NEAR(two.exposed_s, 0.2);
    NEAR(two.median, 3 / 3.2 * 0.95);
    NEAR(two.high, 1);            // as high as any
    for (int i = 0; i < 3; i++) { // parameters or step unknown: the other row
        static const double unknown[][2] = {{0, 0.6}, {1e9, 0}, {(double)NAN, 0.6}};
        assert_null(estimate_efficiency(&tables, &pair, "gpu", unknown[i][0], unknown[i][1], &two));
        NEAR(two.median, 0.8);
        assert_true(two.ring_s == 0);
    }

    // A step of 1 s on both is one of 0.6 s on one: 0.6 + 0.4.
    struct setting s;
    set(&s, 0.95);
    s.to.device = &s.a;
    s.from.gpus = 2;
    s.run.parameters = some_int(1000000000);
    s.run.step_ms = some_real(1000);
    NEAR(made(&s).time_s, 8 * 2 * 0.57);

    pair.machines = 2; // the network is not in the device table: no gradients
    assert_null(estimate_efficiency(&tables, &pair, "gpu", 1e9, 0.3, &two));
    NEAR(two.median, 0.7);
    pair.machines = 1;
    gpu.host_mbs = 0;
    assert_string_equal(estimate_efficiency(&tables, &pair, "gpu", 1e9, 0.3, &two),
                        "how its GPUs are linked is not in the device table");
    gpu.vendor = "amd"; // the rows of all runs
    gpu.link_mbs = 100000;
    assert_null(estimate_efficiency(&tables, &pair, "gpu", 0, 0, &two));
    NEAR(two.median, 0.85);
    assert_string_equal(two.link, "Infinity Fabric");
}

TEST(what_more_gpus_do_not_help)
{
    struct setting s;
    set(&s, 0.3);
    s.to.device = s.from.device = &s.b;
    s.to.gpus = 4;
    struct estimate e = made(&s);
    NEAR(e.time_s, 8 / (4 * 0.7));
    NEAR(e.high_s, e.time_s * 7);
    assert_int_equal(e.kind, ESTIMATE_ROUGH);

    s.run.account.data_share = some_real(0.2);
    assert_string_equal(made(&s).why,
                        "the GPU waits for data during a tenth of the step or more: more GPUs do "
                        "not make it faster unless data comes faster");
    s.run.account.data_share = some_real(0.05);
    assert_int_equal(made(&s).kind, ESTIMATE_ROUGH);
}

TEST(several_in_words)
{
    struct setting s;
    struct buf text = {0};
    set(&s, 0.95);
    s.to.device = s.from.device = &s.b;
    struct estimate e = made(&s);
    estimate_several_words(&e, &s.from, &s.to, &text);
    assert_int_equal(text.len, 0);

    s.to.gpus = 4;
    e = made(&s);
    estimate_several_words(&e, &s.from, &s.to, &text);
    assert_string_equal(buf_str(&text),
                        "GPUs: from 1 to 4, the batch of each kept; efficiency of 4 0.90 (0.50 to "
                        "1.00), 10 rows\n"
                        "communication: over NVLink; the number of parameters or the step time is "
                        "unknown, so the efficiency is that of public trainings\n");
    buf_reset(&text);

    s.from.device = s.to.device = &s.a; // 4 MiB: 4194304 / 5e9 s = 0.839 ms
    s.to.gpus = 2;
    s.run.parameters = some_int(1 << 20);
    s.run.step_ms = some_real(10);
    e = made(&s);
    estimate_several_words(&e, &s.from, &s.to, &text);
    assert_non_null(strstr(buf_str(&text),
                           "communication: 4 MiB of gradients (4 bytes a parameter) over PCIe, "
                           "10 GB/s each way, 50 % of it reached: 0.839 ms, 8 % of a step of one "
                           "GPU; 75 % of it overlaps\n"));
    buf_release(&text);
}

TEST(what_would_not_work)
{
    struct setting s;
    set(&s, 0.95);
    s.run.use.gpu_memory_peak_bytes = some_int(INT64_C(24) << 30);
    struct estimate e = made(&s);
    assert_int_equal(e.kind, ESTIMATE_IMPOSSIBLE);
    assert_string_equal(e.why, "needs 24 GiB of GPU memory, the new has 16 GiB");
    s.run.batch = some_int(48);
    assert_non_null(strstr(made(&s).why, "a batch of at most 32 instead of 48 could fit"));
    s.to.gpu_memory_bytes = INT64_C(32) << 30; // the offer's own
    assert_int_equal(made(&s).kind, ESTIMATE_ESTIMATED);

    set(&s, 0.95);
    s.b.vendor = "amd";
    s.run.framework = "fare";
    assert_string_equal(made(&s).why, "fare has no engine for the new");
    s.run.framework = "pytorch";
    assert_int_equal(made(&s).kind, ESTIMATE_ROUGH);

    set(&s, 0.95);
    s.run.precision = "fp8";
    assert_string_equal(made(&s).why, "trains in fp8, which the new does not have");
    s.run.precision = NULL;
    s.run.account.precision = "bf16";
    assert_int_equal(made(&s).kind, ESTIMATE_ESTIMATED);
    s.to.device = &s.a;
    s.from.device = &s.b;
    assert_string_equal(made(&s).why, "trains in bf16, which the old does not have");
}

TEST(nonsense_is_unknown)
{
    static const size_t needed[] = {
        offsetof(struct device, units), offsetof(struct device, boost_mhz),
        offsetof(struct device, memory_mbs), offsetof(struct device, fp32_gflops)};
    static const char *const missing[] = {"number of multiprocessors", "boost clock",
                                          "memory bandwidth", "matrix rate"};
    struct setting s;
    for (size_t i = 0; i < 16; i++) {
        set(&s, 0.95);
        s.run.precision = "f32";
        char *device = (char *)(i & 1 ? &s.a : &s.b);
        *(int *)(void *)(device + needed[i / 2 % 4]) = i < 8 ? 0 : -5;
        struct estimate e = made(&s);
        assert_int_equal(e.kind, ESTIMATE_UNKNOWN);
        assert_true(e.time_s == 0 && e.low_s == 0 && e.high_s == 0);
        char why[100];
        snprintf(why, sizeof why, "the %s of the %s is not known", missing[i / 2 % 4],
                 i & 1 ? "old" : "new");
        assert_string_equal(e.why, why);
    }
    struct device nothing = {
        .name = "none", .vendor = "nvidia", .architecture = "x", .part_of = "", .lacks = ""};
    set(&s, 0.95);
    s.to.device = &nothing;
    assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);
    s.to = (struct estimate_place){.device = &nothing, .cpus = 8}; // a processor without figures
    struct device cpu = processor();
    s.from = (struct estimate_place){.device = &cpu, .cpus = 8};
    assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);
    static const double cpus[] = {0, -4, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
        struct device other = processor();
        s.to = (struct estimate_place){.device = &other, .cpus = cpus[i]};
        assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);
        s.to.cpus = 8;
        s.from.cpus = cpus[i];
        assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);
        s.from.cpus = 8;
        other.base_mhz = i % 2 ? 0 : -100;
        assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);
    }
    static const double times[] = {0, -1, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        set(&s, 0.95);
        s.time.s = times[i];
        assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);
    }
    struct run_work work[2];
    static const double shares[] = {-0.1, (double)NAN, 2};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        set(&s, -1);
        trace(&s, work, 0.95, shares[i], 0.4);
        assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);
    }
    set(&s, -1);
    trace(&s, work, 0.95, 0.5, 0.4);
    work[1].name = "collectives";
    s.a.host_mbs = 0; // nor has it a link
    assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);

    set(&s, (double)NAN);
    assert_true(isfinite(made(&s).time_s));
    set(&s, 0.95);
    s.to.device = NULL;
    assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);
    set(&s, 0.95);
    s.b.architecture = "";
    assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);
    set(&s, 0.95);
    s.b.vendor = s.a.vendor = "intel";
    assert_int_equal(made(&s).kind, ESTIMATE_UNKNOWN);
}

TEST(the_place_of_a_run)
{
    struct run run = {.machine = {.cpu = "AMD EPYC 7763 64-Core Processor",
                                  .usable_cpus = some_real(8),
                                  .thread_ops_per_s = some_real(3e9)}};
    struct devices *devices;
    struct err err = {0};
    assert_ok(devices_open(&devices, &err), &err);
    struct estimate_place place = estimate_place_of(&run, devices);
    assert_int_equal(place.gpus, 0);
    assert_string_equal(place.device->name, "EPYC 7763");
    assert_true(place.cpus == 8 && place.thread_ops_per_s == 3e9);
    run.use.steady.cpu_percent = some_real(350); // threads in use
    assert_true(estimate_place_of(&run, devices).cpus == 3.5);
    run.use.steady.cpu_percent = some_real(1600);
    assert_true(estimate_place_of(&run, devices).cpus == 8);
    run.use.steady.cpu_percent = some_real(350);
    run.use.other_cpu_percent = some_real(100); // there were idle ones
    assert_true(estimate_place_of(&run, devices).cpus_most == 0);
    run.use.other_cpu_percent = some_real(400);
    assert_true(estimate_place_of(&run, devices).cpus_most == 8);
    run.use.steady.crowded_percent = some_real(0); // but not while it trained
    assert_true(estimate_place_of(&run, devices).cpus_most == 0);
    run.use.steal_percent = some_real(50); // the hypervisor's part counts as well
    assert_true(estimate_place_of(&run, devices).cpus_most == 8);
    run.machine.gpu = "NVIDIA L4";
    run.machine.gpus = some_int(4);
    place = estimate_place_of(&run, devices);
    assert_int_equal(place.gpus, 4);
    assert_string_equal(place.device->name, "L4");
    run.use.gpus = some_int(2);
    assert_int_equal(estimate_place_of(&run, devices).gpus, 2);
    run.use.gpus = some_int(0); // it has GPUs and used none
    assert_string_equal(estimate_place_of(&run, devices).device->name, "EPYC 7763");
    devices_close(devices);
}
