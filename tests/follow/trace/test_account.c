// SPDX-License-Identifier: Apache-2.0
// The account of a step, on steps of 1000 us that are drawn by hand; times in us.
#include "follow/trace/account.h"

#include <stdlib.h>

#include "test.h"

enum { MOST = 4096, STEP = 1000 };

struct drawn {
    struct trace_item items[MOST];
    size_t count;
    struct pattern pattern;
    int64_t ends[64];
};

static void add(struct drawn *d, int kind, int class, int64_t from, int64_t to, int device)
{
    assert_true(d->count < MOST);
    d->items[d->count++] =
        (struct trace_item){.start_ns = from * 1000,
                            .end_ns = to * 1000,
                            .kind = (uint8_t)kind,
                            .class = (uint8_t) class,
                            .precision = class == CLASS_MATMUL ? PRECISION_BF16 : PRECISION_NONE,
                            .size = kind == TRACE_KERNEL ? 100 : 1024,
                            .device = (uint8_t)device};
}

static void end_step(struct drawn *d, int64_t at)
{
    d->ends[d->pattern.count++] = at * 1000;
    d->pattern.ends = d->ends;
}

static struct account account_of(struct drawn *d)
{
    struct account a;
    struct err err = {0};
    assert_ok(account_make(d->items, d->count, &d->pattern, &a, &err), &err);
    return a;
}

static int64_t us(int64_t ns)
{
    return ns / 1000;
}

TEST(times_add_up)
{
    static struct drawn d;
    end_step(&d, 0);
    for (int64_t at = 0; at < 10 * STEP; at += STEP) {
        add(&d, TRACE_KERNEL, CLASS_MATMUL, at + 100, at + 400, 0);
        add(&d, TRACE_KERNEL, CLASS_ELEMENTWISE, at + 300, at + 500, 0); // another stream
        add(&d, TRACE_KERNEL, CLASS_ELEMENTWISE, at + 503, at + 600, 0);
        add(&d, TRACE_KERNEL, CLASS_OPTIMIZER, at + 700, at + 1000, 0);
        end_step(&d, at + 1000);
    }
    struct account a = account_of(&d);
    assert_int_equal(a.steps, 10);
    assert_int_equal(us(a.covered_ns), 10000);
    assert_int_equal(us(a.busy_ns), 10 * (400 + 97 + 300)); // the overlap counts once
    assert_int_equal(us(a.gap_ns[GAP_SHORT]), 10 * 3);
    assert_int_equal(us(a.gap_ns[GAP_HOST]), 10 * 200);
    assert_int_equal(us(a.gap_ns[GAP_SYNC]) + us(a.gap_ns[GAP_DATA]), 0);
    assert_int_equal(us(a.work_ns[CLASS_MATMUL][PRECISION_BF16]), 10 * 300);
    assert_true(a.launches == 4);

    struct run_account r = {0};
    struct err err = {0};
    assert_ok(account_record(&a, &r, &err), &err);
    assert_true(r.busy_share.v > 0.7969 && r.busy_share.v < 0.7971);
    // 897 us of work in 797 us: of equal times, equal shares; the largest first.
    assert_int_equal(r.work.count, 3);
    double sum = 0;
    for (size_t i = 0; i < r.work.count; i++)
        sum += r.work.items[i].share.v;
    assert_true(sum > 0.7969 && sum < 0.7971);
    assert_string_equal(r.work.items[2].name, "element-wise and reductions");
    assert_true(r.work.items[2].share.v > 0.797 * 297 / 897 - 1e-6);
    assert_string_equal(r.precision, "bf16");
    record_release(run_fields, &(struct run){.account = r});
}

// Of a sum over GPUs of 500 us, 200 run beside other kernels, and 100 more beside a copy; a second
// one runs at the same time as the first, for 100 us of it: what is exposed counts once.
TEST(collectives)
{
    static struct drawn d;
    end_step(&d, 0);
    for (int64_t at = 0; at < 10 * STEP; at += STEP) {
        add(&d, TRACE_KERNEL, CLASS_MATMUL, at, at + 400, 0);
        add(&d, TRACE_KERNEL, CLASS_COLLECTIVE, at + 200, at + 700, 0);
        add(&d, TRACE_COPY_IN, CLASS_IN, at + 500, at + 600, 0);
        add(&d, TRACE_KERNEL, CLASS_COLLECTIVE, at + 600, at + 750, 0);
        add(&d, TRACE_KERNEL, CLASS_OPTIMIZER, at + 800, at + 1000, 0);
        end_step(&d, at + 1000);
    }
    struct account a = account_of(&d);
    assert_int_equal(us(a.busy_ns), 10 * 950);
    assert_int_equal(us(a.exposed_ns), 10 * (100 + 150)); // 400 to 500, 600 to 750
    assert_int_equal(us(account_collectives_ns(&a)), 10 * 650);
    struct run_account r = {0};
    struct err err = {0};
    assert_ok(account_record(&a, &r, &err), &err);
    assert_true(r.exposed_share.v > 0.2499 && r.exposed_share.v < 0.2501);
    record_release(run_fields, &(struct run){.account = r});
}

// A collective that goes on over the end of the step and hides behind the next one's kernels.
TEST(a_collective_over_the_end)
{
    static struct drawn d;
    end_step(&d, 0);
    for (int64_t at = 0; at < 10 * STEP; at += STEP) {
        add(&d, TRACE_KERNEL, CLASS_MATMUL, at + 100, at + 900, 0);
        add(&d, TRACE_KERNEL, CLASS_COLLECTIVE, at + 800, at + 1300, 0);
        end_step(&d, at + 1000);
    }
    struct account a = account_of(&d);
    // Each step has its last 100 us, and all but the first the 100 before the next kernel.
    assert_int_equal(us(a.exposed_ns), 10 * 100 + 9 * 100);
}

TEST(waiting_for_data_and_for_the_host)
{
    static struct drawn d;
    end_step(&d, 0);
    for (int64_t at = 0; at < 10 * 10 * STEP; at += 10 * STEP) {
        // 4 ms, then data: waiting for it.
        add(&d, TRACE_COPY_IN, CLASS_IN, at + 4000, at + 5000, 0);
        // 0.5 ms before a copy is nothing but the host's.
        add(&d, TRACE_COPY_IN, CLASS_IN, at + 5500, at + 6000, 0);
        add(&d, TRACE_KERNEL, CLASS_MATMUL, at + 6000, at + 8000, 0);
        // The host reads a result; then the GPU waits for it.
        add(&d, TRACE_COPY_OUT, CLASS_OUT, at + 8000, at + 8010, 0);
        add(&d, TRACE_KERNEL, CLASS_OPTIMIZER, at + 9010, at + 10000, 0);
        end_step(&d, at + 10000);
    }
    struct account a = account_of(&d);
    assert_int_equal(us(a.gap_ns[GAP_DATA]), 10 * 4000);
    assert_int_equal(us(a.gap_ns[GAP_HOST]), 10 * 500);
    assert_int_equal(us(a.gap_ns[GAP_SYNC]), 10 * 1000);
    assert_int_equal(us(a.busy_ns), 10 * 4500);
}

TEST(a_step_with_an_evaluation_is_left_out)
{
    static struct drawn d;
    int64_t at = 0;
    end_step(&d, 0);
    for (int i = 0; i < 20; i++) {
        int64_t length = i == 7 ? 30 * STEP : STEP;
        add(&d, TRACE_KERNEL, CLASS_MATMUL, at, at + length, 0);
        end_step(&d, at += length);
    }
    struct account a = account_of(&d);
    assert_int_equal(a.steps, 19);
    assert_int_equal(us(a.covered_ns), 19000);
    assert_int_equal(us(a.busy_ns), 19000);
    assert_int_equal(us(a.step_ns), 1000);
}

// Four workers bring a batch each in 160 ms: four steps of 22 ms follow each other, then the GPU
// waits 72 ms. 88 of 160 ms are work, 45 % waiting; a step takes 40 ms in the mean.
TEST(data_that_comes_in_bursts)
{
    static struct drawn d;
    int64_t at = 0;
    end_step(&d, 0);
    for (int i = 0; i < 40; i++) {
        at += i % 4 == 0 ? 72000 : 0;
        add(&d, TRACE_COPY_IN, CLASS_IN, at, at + 1000, 0);
        add(&d, TRACE_KERNEL, CLASS_MATMUL, at + 1000, at + 22000, 0);
        end_step(&d, at += 22000);
    }
    struct account a = account_of(&d);
    assert_int_equal(a.steps, 40);
    assert_int_equal(us(a.busy_ns), 40 * 22000);
    assert_int_equal(us(a.gap_ns[GAP_DATA]), 10 * 72000);
    assert_int_equal(us(a.step_ns), 40000);
}

// Writing 2 MiB to the host for 100 ms is a checkpoint.
TEST(a_step_with_a_checkpoint_is_left_out)
{
    static struct drawn d;
    int64_t at = 0;
    end_step(&d, 0);
    for (int i = 0; i < 20; i++) {
        add(&d, TRACE_KERNEL, CLASS_MATMUL, at, at + STEP, 0);
        if (i == 7) {
            add(&d, TRACE_COPY_OUT, CLASS_OUT, at + STEP, at + STEP + 100, 0);
            d.items[d.count - 1].size = 2048;
            at += 100 * STEP;
        }
        end_step(&d, at += STEP);
    }
    struct account a = account_of(&d);
    assert_int_equal(a.steps, 19);
    assert_int_equal(us(a.covered_ns), 19000);
}

TEST(the_busiest_device_counts)
{
    static struct drawn d;
    end_step(&d, 0);
    for (int64_t at = 0; at < 10 * STEP; at += STEP) {
        add(&d, TRACE_KERNEL, CLASS_MATMUL, at, at + 900, 3);
        add(&d, TRACE_KERNEL, CLASS_MATMUL, at + 100, at + 300, 0);
        end_step(&d, at + 1000);
    }
    struct account a = account_of(&d);
    assert_int_equal(us(a.busy_ns), 9000);
    assert_true(a.launches == 1);
}

// A kernel that runs on into the next step is busy in both.
TEST(a_kernel_over_the_end)
{
    static struct drawn d;
    end_step(&d, 0);
    for (int64_t at = 0; at < 4 * STEP; at += STEP) {
        add(&d, TRACE_KERNEL, CLASS_MATMUL, at + 500, at + 1200, 0);
        end_step(&d, at + 1000);
    }
    struct account a = account_of(&d);
    assert_int_equal(us(a.covered_ns), 4000);
    assert_int_equal(us(a.busy_ns), 500 + 3 * 700);
    assert_int_equal(us(a.gap_ns[GAP_HOST]), 500 + 3 * 300);
}

TEST(nothing)
{
    static struct drawn d;
    struct run_account r = {0};
    struct err err = {0};
    struct account a = account_of(&d);
    assert_int_equal(a.steps, 0);
    assert_ok(account_record(&a, &r, &err), &err);
    assert_false(r.busy_share.known);
    // Steps without any record on the device.
    end_step(&d, 0);
    end_step(&d, 1000);
    a = account_of(&d);
    assert_int_equal(us(a.gap_ns[GAP_HOST]), 1000);
    assert_ok(account_record(&a, &r, &err), &err);
    assert_int_equal(r.work.count, 0);
    record_release(run_fields, &(struct run){.account = r});
}
