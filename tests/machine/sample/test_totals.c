// SPDX-License-Identifier: Apache-2.0
// The arithmetic from readings to the record, with readings made by hand.
#include "machine/sample/totals.h"

#include <stdlib.h>
#include <string.h>

#include "machine/host.h"

static struct totals make(int width)
{
    struct totals t = {.history = {.width = width}};
    t.history.figures = calloc((size_t)HISTORY_POINTS * (size_t)width, sizeof(struct mean));
    assert_non_null(t.history.figures);
    return t;
}

static void release(struct totals *t)
{
    free(t->history.figures);
}

static void assert_taints(const struct run *run, const char *const *expected)
{
    size_t n = 0;
    for (; expected[n]; n++) {
        assert_true(n < run->taints.count);
        assert_string_equal(run->taints.items[n], expected[n]);
    }
    assert_int_equal(run->taints.count, n);
}

static struct sample_reading host_look(double at_s, double run, double busy, double steal,
                                       double all)
{
    return (struct sample_reading){.at_ns = (int64_t)(at_s * 1e9),
                                   .cpus = some_int(4),
                                   .run_cpu_s = some_real(run),
                                   .busy_cpu_s = some_real(busy),
                                   .steal_cpu_s = some_real(steal),
                                   .all_cpu_s = some_real(all)};
}

// 10 s on four CPUs: the run 25 s of CPU time, others 8, the hypervisor 1.6 of 40.
TEST(the_host_adds_up)
{
    struct totals t = make(HOST_FIGURES);
    struct run run = {0};
    struct err err = {0};
    struct sample_reading a = host_look(100, 7, 1000, 3, 90000),
                          b = host_look(104, 17, 1010, 3, 90016),
                          c = host_look(110, 32, 1033, 4.6, 90040);
    a.memory_bytes = some_int(1000), b.memory_bytes = some_int(3000);
    c.memory_bytes = some_int(2000), c.memory_peak_bytes = some_int(3500);
    a.disk_read_bytes = some_int(50), c.disk_read_bytes = some_int(80);
    a.network_in_bytes = some_int(5), c.network_in_bytes = some_int(5);
    a.throttled_ns = some_int(0), c.throttled_ns = some_int(3100000000);
    a.cpu_energy_j = some_real(10), b.cpu_energy_j = some_real(210),
    c.cpu_energy_j = some_real(810);
    totals_add(&t, &a);
    totals_add(&t, &b);
    totals_add(&t, &c);
    totals_add(&t, &b); // a reading of the past
    struct totals_context context = {.start_ns = 99 * 1000000000LL};
    assert_ok(totals_fill(&t, NULL, &context, &run, &err), &err);
    assert_int(run.use.samples, 3);
    assert_real(run.use.interval_s, 5);
    assert_real(run.use.cpu_percent, 250);
    assert_real(run.use.other_cpu_percent, 80);
    assert_real(run.use.steal_percent, 4);
    assert_int(run.use.memory_peak_bytes, 3500);
    assert_int(run.use.disk_read_bytes, 30);
    assert_absent(run.use.disk_write_bytes);
    assert_int(run.use.network_in_bytes, 0);
    assert_int(run.use.throttled_ns, 3100000000);
    assert_real(run.use.cpu_energy_j, 800);
    assert_absent(run.use.gpus);
    assert_absent(run.use.gpu_percent);
    assert_int_equal(run.samples.count, 2);
    assert_real(run.samples.items[0].at_s, 3); // the middle of 1 s to 5 s
    assert_real(run.samples.items[0].cpu_percent, 250);
    assert_real(run.samples.items[0].other_cpu_percent, 0);
    assert_int(run.samples.items[0].memory_bytes, 3000);
    assert_real(run.samples.items[0].power_w, 50);
    assert_real(run.samples.items[1].at_s, 8);
    assert_real(run.samples.items[1].other_cpu_percent, 100 * 8 / 6.0);
    assert_real(run.samples.items[1].power_w, 100);
    assert_absent(run.samples.items[1].gpu_percent);
    assert_taints(&run,
                  (const char *[]){"other programs used 0.8 CPUs on average",
                                   "the hypervisor took 4 % of the CPU time",
                                   "the cgroup's CPU quota throttled the run for 3.1 s", NULL});
    record_release(run_fields, &run);
    release(&t);
}

// What an idle machine does by itself taints nothing; a clock that runs ahead is no negative use.
TEST(a_quiet_machine_taints_nothing)
{
    struct totals t = make(HOST_FIGURES);
    struct run run = {0};
    struct err err = {0};
    struct sample_reading a = host_look(0, 0, 0, 0, 0), b = host_look(10, 10, 10.9, 0.3, 40);
    a.throttled_ns = some_int(0), b.throttled_ns = some_int(50000000);
    totals_add(&t, &a);
    totals_add(&t, &b);
    struct totals_context context = {0};
    assert_ok(totals_fill(&t, NULL, &context, &run, &err), &err);
    assert_real(run.use.other_cpu_percent, 9);
    assert_taints(&run, (const char *[]){NULL});
    record_release(run_fields, &run);
    release(&t);

    t = make(HOST_FIGURES);
    memset(&run, 0, sizeof run);
    b = host_look(1, 1, 0.99, 0, 4);
    totals_add(&t, &a);
    totals_add(&t, &b);
    assert_ok(totals_fill(&t, NULL, &context, &run, &err), &err);
    assert_real(run.use.other_cpu_percent, 0);
    assert_real(run.samples.items[0].other_cpu_percent, 0);
    record_release(run_fields, &run);
    release(&t);
}

TEST(nothing_known_is_absent)
{
    struct totals t = make(HOST_FIGURES), g = make(GPUS_MAX * CARD_FIGURES);
    struct run run = {0};
    struct err err = {0};
    struct sample_reading a = {.at_ns = 1}, b = {.at_ns = 1000000001};
    totals_add(&t, &a);
    totals_add(&t, &b);
    struct totals_context context = {0};
    assert_ok(totals_fill(&t, &g, &context, &run, &err), &err);
    assert_absent(run.use.cpu_percent);
    assert_absent(run.use.other_cpu_percent);
    assert_absent(run.use.steal_percent);
    assert_absent(run.use.memory_peak_bytes);
    assert_absent(run.use.throttled_ns);
    assert_absent(run.use.gpus);
    assert_false(run.use.gpu_list.known);
    assert_int_equal(run.samples.count, 1);
    assert_absent(run.samples.items[0].cpu_percent);
    assert_absent(run.samples.items[0].power_w);
    assert_taints(&run, (const char *[]){NULL});
    assert_ok(totals_fill(NULL, NULL, &context, &run, &err), &err);
    record_release(run_fields, &run);
    release(&t);
    release(&g);
}

static struct gpu_reading card(double use, int64_t bytes, double watts, int64_t energy_mj, int heat,
                               int bits)
{
    return (struct gpu_reading){.use_percent = some_real(use),
                                .memory_bytes = some_int(bytes),
                                .power_w = some_real(watts),
                                .energy_mj = some_int(energy_mj),
                                .clock_mhz = some_real(1500),
                                .temperature_c = some_int(heat),
                                .throttle_bits = some_int(bits)};
}

TEST(gpus_add_up)
{
    struct totals t = make(GPUS_MAX * CARD_FIGURES), h = make(HOST_FIGURES);
    struct run run = {0};
    struct err err = {0};
    t.gpu_count = 3;
    t.gpus_known = true;
    for (int i = 0; i < 3; i++)
        t.gpus[i] = (struct gpu){.index = i, .name = "NVIDIA H100 80GB HBM3", .uuid = "GPU-x"};
    t.gpus[0].ours = t.gpus[2].ours = true;
    t.gpus[1].others = true; // somebody else's GPU: not the run's concern
    t.gpus[2].others = true;
    for (int i = 0; i <= 8; i++) { // a reading a second
        struct sample_reading reading = {.at_ns = i * 1000000000LL};
        reading.gpus[0] = card(i < 5 ? 100 : 20, 1000 + i, 400, 5000000 + i * 390000, 60 + i,
                               i == 8 ? 0x20 : 0x1); // 0x1 is idle: not a throttle
        reading.gpus[0].pcie_bytes_per_s = i == 4 ? some_real(1e9) : (struct maybe_real){0};
        reading.gpus[1] = card(99, 9, 9, 9, 99, 0x8);
        reading.gpus[2] = card(50, 70, 100, 0, 50, i > 2 ? 0x4 | 0x8 : 0);
        reading.gpus[2].energy_mj = (struct maybe_int){0}; // before Volta
        totals_add(&t, &reading);
        if (i % 4 == 0) // the host is looked at less often
            totals_add(&h, &(struct sample_reading){.at_ns = reading.at_ns});
    }
    struct totals_context context = {0};
    assert_ok(totals_fill(&h, &t, &context, &run, &err), &err);
    assert_int(run.use.gpus, 2);
    assert_int_equal(run.use.gpu_list.count, 2);
    const struct run_gpu *first = &run.use.gpu_list.items[0], *second = first + 1;
    assert_int(first->index, 0);
    assert_string_equal(first->name, "NVIDIA H100 80GB HBM3");
    assert_real(first->use_percent, 60); // four seconds at 100, four at 20
    assert_int(first->memory_peak_bytes, 1008);
    assert_real(first->power_w, 400);
    assert_real(first->energy_j, 8 * 390); // the counter, not the power
    assert_real(first->clock_mhz, 1500);
    assert_int(first->temperature_max_c, 68);
    assert_int(first->pcie_bytes, 8000000000);
    assert_int_equal(first->throttling.count, 1);
    assert_string_equal(first->throttling.items[0], "sw thermal slowdown");
    assert_int(second->index, 2);
    assert_real(second->energy_j, 800); // power × time
    assert_absent(second->pcie_bytes);
    assert_int_equal(second->throttling.count, 2);
    assert_real(run.use.gpu_percent, 55);
    assert_int(run.use.gpu_memory_peak_bytes, 1008);
    assert_real(run.use.gpu_energy_j, 8 * 390 + 800);
    assert_int_equal(run.samples.count, 2);
    assert_real(run.samples.items[0].gpu_percent, 75);
    assert_real(run.samples.items[1].gpu_percent, 35);
    assert_real(run.samples.items[0].power_w, 500);
    assert_int(run.samples.items[1].gpu_memory_bytes, 1006 + 70);
    assert_real(run.samples.items[1].temperature_c, 66.5);
    assert_taints(&run,
                  (const char *[]){"GPU 0 was throttled by heat in 11 % of the samples",
                                   "GPU 2 was throttled by its power limit in 67 % of the samples",
                                   "another program used GPU 2", NULL});
    record_release(run_fields, &run);
    release(&t);
    release(&h);
}

// A counter that stops, goes back or jumps is not believed: power × time takes its place.
TEST(broken_counters_fall_back)
{
    static const int64_t counters[][3] = {
        {1000, 900, 2000}, {1000, 2000, -1}, {-1, 1000, 2000}, {0, 500000, INT64_MAX / 2}};
    for (size_t c = 0; c < sizeof counters / sizeof *counters; c++) {
        struct totals t = make(GPUS_MAX * CARD_FIGURES);
        struct run run = {0};
        struct err err = {0};
        t.gpu_count = 1;
        t.gpus_known = true;
        t.gpus[0].ours = true;
        for (int i = 0; i < 3; i++) {
            struct sample_reading reading = {.at_ns = i * 1000000000LL};
            reading.gpus[0] = card(50, 1, 300, counters[c][i], 50, 0);
            reading.gpus[0].energy_mj.known = counters[c][i] >= 0;
            totals_add(&t, &reading);
        }
        struct totals_context context = {0};
        assert_ok(totals_fill(NULL, &t, &context, &run, &err), &err);
        assert_real(run.use.gpu_energy_j, 600);
        record_release(run_fields, &run);
        release(&t);
    }
}

TEST(which_gpus_are_used)
{
    static const struct {
        const char *list;
        bool others;
        int used;
    } cases[] = {
        {NULL, false, 2},       {"1", false, 1},       {"0,1,2", false, 2}, {"2", false, 0},
        {"GPU-bbbb", false, 1}, {"", false, 0},        {"-1", false, 0},    {"7,1", false, 1},
        {"1,-1,0", false, 1},   {" 1 , 0 ", false, 2}, {NULL, true, 1},     {"MIG-1", false, 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct totals t = make(GPUS_MAX * CARD_FIGURES);
        struct run run = {0};
        struct err err = {0};
        static const char *const uuids[] = {"GPU-aaaa-1", "GPU-bbbb-1", "GPU-cccc-1"};
        t.gpu_count = 3;
        t.gpus_known = true;
        for (int i = 0; i < 3; i++) {
            t.gpus[i].index = i;
            snprintf(t.gpus[i].uuid, sizeof t.gpus[i].uuid, "%s", uuids[i]);
        }
        t.gpus[0].others = cases[c].others;
        for (int i = 0; i < 2; i++) {
            struct sample_reading reading = {.at_ns = i * 1000000000LL};
            reading.gpus[0] = card(50, 1, 300, 1, 50, 0);
            reading.gpus[1] = card(50, 1, 300, 1, 50, 0);
            reading.gpus[2] = card(0, 1, 300, 1, 50, 0); // idle throughout
            totals_add(&t, &reading);
        }
        struct totals_context context = {.cuda_visible = cases[c].list};
        assert_ok(totals_fill(NULL, &t, &context, &run, &err), &err);
        assert_int(run.use.gpus, cases[c].used);
        assert_int_equal(run.use.gpu_list.count, cases[c].used);
        assert_true(run.use.gpu_energy_j.known == (cases[c].used > 0));
        record_release(run_fields, &run);
        release(&t);
    }
}

TEST(a_lost_gpu_keeps_what_was_measured)
{
    struct totals t = make(GPUS_MAX * CARD_FIGURES);
    struct run run = {0};
    struct err err = {0};
    t.gpu_count = 1;
    t.gpus_known = true;
    t.gpus[0].ours = true;
    for (int i = 0; i < 4; i++) {
        struct sample_reading reading = {.at_ns = i * 1000000000LL};
        t.gpus[0].lost = i >= 2;
        if (i < 2)
            reading.gpus[0] = card(50, 1, 300, i * 250000, 50, 0);
        totals_add(&t, &reading);
    }
    struct totals_context context = {0};
    assert_ok(totals_fill(NULL, &t, &context, &run, &err), &err);
    assert_real(run.use.gpu_energy_j, 250);
    assert_real(run.use.gpu_percent, 50);
    assert_taints(&run, (const char *[]){"GPU 0 was lost during the run", NULL});
    record_release(run_fields, &run);
    // A driver that no longer answers: nothing of GPUs, and the run says so.
    memset(&run, 0, sizeof run);
    context.gpu_silent = true;
    assert_ok(totals_fill(NULL, &t, &context, &run, &err), &err);
    assert_absent(run.use.gpus);
    assert_absent(run.use.gpu_energy_j);
    assert_taints(&run,
                  (const char *[]){"the GPU driver stopped responding: GPU use is unknown", NULL});
    record_release(run_fields, &run);
    release(&t);
}

TEST(a_long_run_keeps_200_samples)
{
    struct totals t = make(HOST_FIGURES);
    struct run run = {0};
    struct err err = {0};
    for (int i = 0; i <= 12345; i++) {
        struct sample_reading reading = host_look(i * 0.5, i * 0.5, i * 0.5, 0, i);
        totals_add(&t, &reading);
    }
    struct totals_context context = {0};
    assert_ok(totals_fill(&t, NULL, &context, &run, &err), &err);
    assert_true(run.samples.count > 90 && run.samples.count <= 200);
    assert_real(run.use.cpu_percent, 100);
    for (size_t i = 0; i < run.samples.count; i++) {
        assert_real(run.samples.items[i].cpu_percent, 100);
        assert_true(i == 0 || run.samples.items[i].at_s.v > run.samples.items[i - 1].at_s.v);
    }
    record_release(run_fields, &run);
    release(&t);
}

// A last reading 5 ms after the one before would read 0 % or 200 %: it is no sample of its own.
TEST(the_end_is_no_sample)
{
    for (int late = 0; late < 2; late++) {
        struct totals t = {0};
        t.history.width = HOST_FIGURES;
        t.history.figures =
            calloc((size_t)HISTORY_POINTS * HOST_FIGURES, sizeof *t.history.figures);
        assert_non_null(t.history.figures);
        struct sample_reading reading = host_look(0, 0, 0, 0, 0);
        totals_add(&t, &reading);
        reading = host_look(1, 1, 1, 0, 4);
        totals_add(&t, &reading);
        reading = host_look(late ? 1.5 : 1.005, 1, 1, 0, 4);
        reading.last = true;
        totals_add(&t, &reading);
        assert_int_equal(t.history.count, late ? 2 : 1);
        assert_int_equal(t.readings, 3);
        free(t.history.figures);
    }
}

// Start-up until 10 s, steps from 10 to 30 s, the end until 40 s. The start is at 5 s of the clock.
// A reading every 4 s: those at 12, 16 … count from where the steps began.
TEST(the_steady_part_alone)
{
    struct totals h = make(HOST_FIGURES), g = make(GPUS_MAX * CARD_FIGURES);
    struct run run = {0};
    g.gpu_count = 3;
    g.gpus_known = true;
    g.gpus[0].ours = g.gpus[1].ours = true; // and the third is idle
    for (int i = 0; i <= 10; i++) {
        double at_s = 4 * i;
        bool steps = at_s > 10 && at_s <= 30; // the reading covers the time before it
        struct sample_reading r = {.at_ns = (int64_t)((5 + at_s) * 1e9)};
        r.run_cpu_s = some_real(at_s * 2);
        r.workers_cpu_s = some_real(at_s * 1.5);
        r.busy_cpu_s = some_real(at_s * 5); // three CPUs by others
        r.cpus = some_int(8);
        r.io_stalled_s = some_real(at_s < 28 ? 100 : 102); // two seconds of 24 to 28
        totals_add(&h, &r);
        r = (struct sample_reading){.at_ns = r.at_ns};
        for (int k = 0; k < 3; k++) {
            r.gpus[k].use_percent = some_real(k == 2 ? 0 : steps ? 90 + 4 * k : 10);
            r.gpus[k].activity.sm_percent = some_real(steps ? 60 : 0);
        }
        r.gpus[1].activity.dram_percent = some_real(50); // of one GPU: no mean
        totals_add(&g, &r);
    }
    struct totals_context context = {.start_ns = 5000000000LL};
    totals_steady(&h, &g, &context, &run); // nothing is known about the steps
    assert_absent(run.use.steady.cpu_percent);
    run.steady.from_s = some_real(10);
    run.steady.to_s = some_real(30);
    totals_steady(&h, &g, &context, &run);
    assert_real(run.use.steady.cpu_percent, 200);
    assert_real(run.use.steady.workers_cpu_percent, 150);
    assert_real(run.use.steady.crowded_percent, 300);
    run.machine.usable_cpus = some_real(6); // two of the three may be on CPUs that it may not use
    totals_steady(&h, &g, &context, &run);
    assert_real(run.use.steady.crowded_percent, 100);
    run.machine.usable_cpus = some_real(2);
    totals_steady(&h, &g, &context, &run);
    assert_real(run.use.steady.crowded_percent, 0);
    assert_real(run.use.steady.io_pressure_percent, 10); // 2 of 20 s
    assert_absent(run.use.steady.disk_waiting);
    // 28 to 32 s was read as idle at 32 s: of the 20 s, 18 are steps.
    assert_real(run.use.steady.gpu_percent, (18 * 92 + 2 * 10) / 20.0);
    assert_real(run.use.steady.sm_percent, 54);
    assert_absent(run.use.steady.dram_percent);
    assert_absent(run.use.steady.tensor_percent);
    context.gpu_silent = true;
    memset(&run.use, 0, sizeof run.use);
    totals_steady(&h, &g, &context, &run);
    assert_absent(run.use.steady.gpu_percent);
    assert_real(run.use.steady.cpu_percent, 200);
    totals_steady(NULL, NULL, &context, &run);
    release(&h);
    release(&g);
}
