// SPDX-License-Identifier: Apache-2.0
// The trainer with an engine that computes nothing but takes its time: what is counted as waiting
// for data.
#include "train/trainer.h"

#include "train/data/files.h"

#include "base/clock.h"
#include "train/data/images.h"
#include "record/run.h"
#include "train/meter.h"
#include "train/plan.h"

struct engine_program {
    int steps;
};

static int64_t step_ns; // how long the engine takes

static int compile(const struct net *net, const struct recipe *recipe,
                   const struct engine_options *options, struct engine_program **program,
                   struct err *err)
{
    (void)net, (void)recipe, (void)options;
    *program = calloc(1, sizeof **program);
    return *program ? 0 : err_memory(err);
}

static void release(struct engine_program *program)
{
    free(program);
}

static int step(struct engine_program *program, const struct engine_batch *batch,
                struct engine_score *score, struct err *err)
{
    (void)err;
    program->steps++;
    if (step_ns > 0)
        clock_sleep_ns(step_ns);
    score->loss += 1;
    score->count += batch->count;
    return 0;
}

static int evaluate(struct engine_program *program, const struct engine_batch *batch,
                    struct engine_score *score, struct err *err)
{
    (void)program, (void)err;
    score->count += batch->count;
    return 0;
}

static void set_iteration(struct engine_program *program, int64_t iteration)
{
    (void)program, (void)iteration;
}

static const struct engine sleeper = {
    .name = "sleeper",
    .compile = compile,
    .release = release,
    .step = step,
    .evaluate = evaluate,
    .set_iteration = set_iteration,
};

static void build(struct net *net, const struct data_pair *data,
                  const struct workload_options *options)
{
    (void)options;
    const struct dataset *d = &data->train;
    int x = net_image(net, d->channels, d->height, d->width);
    net_dense(net, x, d->classes, false, "n");
    net_set_loss(net, NET_SOFTMAX);
}

static const struct workload workload = {
    .name = "waiting",
    .recipe = {.optimizer = OPTIMIZER_ADAM,
               .batch = 8,
               .epochs = 2,
               .stages = {{.rate = 0.1F}},
               .stage_count = 1},
    .build = build,
};

// `each` photos in each of two classes.
static void make_photos(const char *dir, int each)
{
    char path[300];
    struct buf bytes = {0};
    struct err err = {0};
    snprintf(path, sizeof path, "%s/train/data/images/large.jpg", TESTS_DIR);
    assert_ok(fs_read(path, 4 << 20, &bytes, &err), &err);
    for (int i = 0; i < 2 * each; i++) {
        snprintf(path, sizeof path, "%s/%s/%03d.jpg", dir, i % 2 ? "ants" : "bees", i);
        files_put(path, bytes.data, bytes.len);
    }
    buf_release(&bytes);
}

struct times {
    int64_t wait_ns, train_ns, wall_ns;
    int64_t steps;
};

static struct times train(const struct data_pair *data, int64_t each_step_ns)
{
    struct err err = {0};
    struct trainer_result result;
    struct run run = {0};
    struct meter *meter;
    assert_ok(meter_new(&meter, clock_now_ns(), &err), &err);
    const struct run_plan to_the_end = {.full = true};
    const struct trainer_options options = {.plan = &to_the_end,
                                            .engine = &sleeper,
                                            .engine_options = {.seed = 1, .threads = 1},
                                            .data = data,
                                            .meter = meter};
    step_ns = each_step_ns;
    assert_ok(trainer_run(&workload, &options, &result, &err), &err);
    assert_ok(meter_fill(meter, true, &run, &err), &err);
    struct times times = {result.data_wait_ns, meter_train_ns(meter), run.phases.wall_ns.v,
                          result.steps};
    assert_true(times.wait_ns >= 0);
    assert_true(times.wait_ns < times.wall_ns);
    trainer_result_release(&result);
    record_release(run_fields, &run);
    meter_free(meter);
    return times;
}

TEST(test_waits_for_photos)
{
    struct data_pair photos = {0};
    struct err err = {0};
    make_photos("photos", 24);
    assert_ok(images_open(files_at("photos"), &(struct data_options){.seed = 1, .threads = 1},
                          &photos, &err),
              &err);
    // Steps that take no time: decoding is all there is.
    struct times none = train(&photos, 0);
    assert_true(none.steps >= 10);
    assert_true(none.wait_ns > none.train_ns / 2);
    // Steps that take three times as long as decoding their batch: it was done ahead. The first
    // batch cannot be, nor the first after an epoch's end.
    int64_t decode_ns = none.wait_ns / none.steps;
    struct times slow = train(&photos, 3 * decode_ns + NS_PER_MS);
    assert_int_equal(slow.steps, none.steps);
    assert_true(slow.wait_ns < none.wait_ns * 2 / 3);
    assert_true(slow.wait_ns < slow.train_ns / 4);
    data_release(&photos);
}

TEST(test_memory_is_there)
{
    struct data_pair digits = {0};
    struct err err = {0};
    const struct data_options options = {.seed = 1, .made_train = 160, .made_test = 8};
    assert_ok(data_open("mnist", &options, &digits, &err), &err);
    struct times times = train(&digits, 5 * NS_PER_MS);
    assert_int_equal(times.steps, 40);
    assert_true(times.train_ns >= 40 * 5 * NS_PER_MS);
    assert_true(times.wait_ns < times.train_ns / 10); // 50 KB to copy in 5 ms
    data_release(&digits);
}

int main(void)
{
    return run_all_tests(files_begin, files_end);
}
