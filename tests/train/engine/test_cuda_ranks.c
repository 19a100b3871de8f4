// SPDX-License-Identifier: Apache-2.0
// Several ranks of the cuda engine, each with a stand-in for the driver (fake_gpu.c) that runs its
// kernels, and a stand-in for NCCL (fake_nccl.c): after some steps the parameters of two and four
// ranks are those of one with the same batches, but for rounding, and the same bits at every rank.
// And failures: no rank hangs, and the error says what happened.
//
// With FARE_TEST_GPU=1 it uses the machine's GPU and NCCL instead (scripts/gpu-check): a rank
// alone that sums over itself, and two ranks on one GPU, which NCCL allows if it takes them for
// machines.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SUBJECT engine_cuda
#include "base/clock.h"
#include "train/engine/cuda/kernels.h"
#include "gpt_cases.h"
#include "op_cases.h"
#include "stand_in.h"

enum { SAMPLES = 24, STEPS = 3, NUMBERS_MAX = 1 << 18, TENSORS_MAX = 128 };

// ---- cases ----

// So that a step is smooth in its gradient, and rounding stays rounding: no sign of a small number
// decides.
static const struct recipe momentum = {.optimizer = OPTIMIZER_RMSPROP_MOMENTUM,
                                       .rho = 0.9f,
                                       .epsilon = 1,
                                       .momentum = 0.9f,
                                       .weight_decay = 0.01f,
                                       .stages = {{.rate = 0.05f}},
                                       .stage_count = 1};
static const struct recipe adam = {.optimizer = OPTIMIZER_ADAM,
                                   .rho = 0.9f,
                                   .beta2 = 0.99f,
                                   .epsilon = 1,
                                   .stages = {{.rate = 0.05f}},
                                   .stage_count = 1};
static const struct recipe adamw = {.optimizer = OPTIMIZER_ADAMW,
                                    .rho = 0.9f,
                                    .beta2 = 0.95f,
                                    .epsilon = 0.01f,
                                    .weight_decay = 0.1f,
                                    .clip = 0.3f, // of less than the norm
                                    .stages = {{.rate = 0.05f}},
                                    .stage_count = 1};

static void gpt(struct net *net, const struct size *s)
{
    net_release(net);
    build_gpt(net, &(struct gpt){.layers = 1,
                                 .heads = 1,
                                 .width = CUDA_HEAD_WIDTH,
                                 .time = s->height,
                                 .vocabulary = s->width,
                                 .positions = s->height});
}

// The bounds: of the distance of any number of a tensor (parameter or state), in shares of how far
// the tensor's numbers moved.
static const struct rank_case {
    const char *name;
    void (*build)(struct net *net, const struct size *size);
    struct size size; // its batch is that of all ranks
    const struct recipe *recipe;
    enum engine_precision precision;
    double bound;
    int64_t micro; // samples at a time
    bool short_test;
} cases[] = {
    {"dense, dropout", dropout_rows, {9, 1, 1, 40, 33}, &momentum, ENGINE_F32, 1e-3, 0, true},
    {"sigmoid", sigmoid, {8, 1, 1, 21, 16}, &momentum, ENGINE_F32, 1e-3, 0, false},
    {"image, dropout", dropout_image, {7, 3, 6, 5, 8}, &momentum, ENGINE_F32, 1e-3, 0, false},
    {"pool, dropout", dropout_shared, {7, 3, 6, 5, 8}, &momentum, ENGINE_F32, 1e-3, 0, false},
    {"batch norm", norm_relu, {9, 3, 6, 5, 7}, &momentum, ENGINE_F32, 1e-3, 0, true},
    {"branches", concat, {6, 3, 6, 5, 8}, &momentum, ENGINE_F32, 1e-3, 0, false},
    {"auxiliary loss", auxiliary, {6, 3, 7, 7, 5}, &momentum, ENGINE_F32, 1e-3, 0, false},
    {"images in bf16", normed_block, {6, 8, 9, 9, 8}, &momentum, ENGINE_BF16, 5e-2, 0, true},
    {"embedding", embedding_dense, {9, 1, 4, 17, 16}, &adam, ENGINE_F32, 1e-3, 0, true},
    {"LSTM", lstm_on_dropout, {7, 1, 5, 11, 8}, &adam, ENGINE_F32, 1e-3, 0, false},
    {"transformer", gpt, {4, 1, 8, 24, 0}, &adamw, ENGINE_BF16, 5e-2, 0, true},
    {"transformer in parts", gpt, {5, 1, 8, 24, 0}, &adamw, ENGINE_BF16, 5e-2, 1, false},
};
enum { CASES = sizeof cases / sizeof *cases };

// ---- a training, by processes of its own ----

struct result { // in memory that they share
    int code, evaluated;
    char text[512];
    double losses[STEPS + 1]; // the last one is an evaluation's
    int64_t right[STEPS + 1], counts[STEPS + 1];
    int64_t numbers;
    int differ; // ranks whose parameters are not rank 0's
    struct group_times times;
    int64_t ends[TENSORS_MAX]; // of tensors among the values
    int tensors;
    float values[NUMBERS_MAX], before[NUMBERS_MAX]; // before the first step
};

struct data {
    struct engine_set set;
    uint8_t *bytes;
    float *image;
    int32_t *tokens, *labels;
    int64_t room, time, each;
};

static void make_data(struct data *d, const struct net *net)
{
    const struct net_layer *input = &net->layers[0], *last = &net->layers[net->layer_count - 1];
    int classes = net->loss == NET_SIGMOID ? 2 : net_classes(last);
    struct rng rng;
    rng_init(&rng, 7);
    d->each = net_labels(last);
    d->labels = some(SAMPLES * d->each, sizeof *d->labels);
    d->set = (struct engine_set){.count = SAMPLES, .labels = d->labels};
    for (int i = 0; i < 256; i++)
        d->set.scale[i] = (float)(i - 128) / 64;
    for (int64_t i = 0; i < SAMPLES * d->each; i++)
        d->labels[i] = (int32_t)(rng_u32(&rng) % (uint32_t)classes);
    if (input->op == NET_TOKENS) {
        d->time = d->set.time = input->out.dim[0];
        d->tokens = some(SAMPLES * d->time, sizeof *d->tokens);
        for (int64_t i = 0; i < SAMPLES * d->time; i++)
            d->tokens[i] = (int32_t)(rng_u32(&rng) % (uint32_t)input->vocabulary);
        d->set.tokens = d->tokens;
        d->set.token_count = SAMPLES * d->time;
        d->set.token_stride = d->time;
        return;
    }
    d->room = net_shape_count(&input->out);
    d->set.channels = input->out.dim[0];
    d->set.height = input->out.dim[1];
    d->set.width = input->out.dim[2];
    d->bytes = some(SAMPLES * d->room, 1);
    d->image = some(SAMPLES * d->room, sizeof *d->image);
    for (int64_t i = 0; i < SAMPLES * d->room; i++) {
        d->bytes[i] = (uint8_t)rng_u32(&rng);
        d->image[i] = d->set.scale[d->bytes[i]];
    }
    d->set.pixels = d->bytes;
}

static void free_data(struct data *d)
{
    free(d->bytes);
    free(d->image);
    free(d->tokens);
    free(d->labels);
}

// Samples `from` to `from + all`, of which this rank has its part.
static struct engine_batch batch_of(const struct data *d, struct group *group, bool queued,
                                    const uint32_t *numbers, int64_t from, int64_t all)
{
    int64_t first, part;
    group_share(group, all, &first, &part);
    struct engine_batch batch = {.count = part, .all = all, .first = first};
    from += first;
    if (queued)
        batch.samples = numbers + from;
    if (d->image && !queued)
        batch.image = d->image + from * d->room;
    if (d->tokens && (!queued || d->each > 1))
        batch.tokens = d->tokens + from * d->time;
    if (!queued || d->each > 1)
        batch.labels = d->labels + from * d->each;
    return batch;
}

static int keep_score(struct engine_program *program, bool queued, struct engine_score score,
                      struct result *result, int step, struct err *err)
{
    int64_t steps;
    if (queued)
        TRY(engine_cuda.collect(program, 0, &score, &steps, err));
    result->losses[step] = score.loss;
    result->right[step] = score.correct;
    result->counts[step] = score.count;
    return 0;
}

static int read_values(struct engine_program *program, struct result *result, float *to,
                       struct err *err)
{
    float *at = to;
    result->tensors = engine_cuda.tensor_count(program);
    for (int i = 0; i < result->tensors; i++) {
        struct engine_tensor tensor;
        engine_cuda.tensor(program, i, &tensor);
        assert_true(i < TENSORS_MAX && at + tensor.count <= to + NUMBERS_MAX);
        TRY(engine_cuda.read(program, i, at, err));
        at += tensor.count;
        result->ends[i] = at - to;
    }
    result->numbers = at - to;
    return 0;
}

static int keep_values(struct engine_program *program, struct group *group, struct result *result,
                       struct result *shared, struct err *err)
{
    TRY(read_values(program, result, result->values, err));
    if (group_place(group).rank == 0)
        *shared = *result;
    TRY(group_barrier(group, err));
    if (memcmp(result->values, shared->values, (size_t)result->numbers * 4) != 0)
        __atomic_add_fetch(&shared->differ, 1, __ATOMIC_SEQ_CST);
    return group_barrier(group, err);
}

static bool hosts_apart; // NCCL is to take every rank for another machine
static int dies_at;      // rank 1, at this step; 0: never

static int train(struct engine_program *program, struct group *group, const struct rank_case *c,
                 const struct data *d, bool queued, struct result *result, struct err *err)
{
    uint32_t numbers[SAMPLES];
    for (uint32_t i = 0; i < SAMPLES; i++)
        numbers[i] = i;
    if (queued) {
        struct engine_set held_out = d->set;
        TRY(engine_cuda.load(program, &d->set, false, err));
        TRY(engine_cuda.load(program, &held_out, true, err));
    }
    for (int i = 0; i <= STEPS; i++) {
        // The last step has few samples: not one for each of four ranks.
        int64_t all = i == STEPS - 1 ? 3 : c->size.batch;
        struct engine_batch batch = batch_of(d, group, queued, numbers, i, all);
        struct engine_score score = {0};
        if (group_place(group).rank == 1 && dies_at == i + 1)
            (void)raise(SIGKILL);
        if (i < STEPS)
            TRY(engine_cuda.step(program, &batch, &score, err));
        else
            TRY(engine_cuda.evaluate(program, &batch, &score, err));
        TRY(keep_score(program, queued, score, result, i, err));
    }
    return 0;
}

static int rank_main(struct group *group, const struct rank_case *c, bool queued,
                     struct result *shared, struct err *err)
{
    struct net net;
    struct data data = {0};
    struct recipe recipe = with_batch(c->recipe, c->size.batch);
    struct engine_options options = {
        .precision = c->precision, .seed = 11, .micro_batch = c->micro, .group = group};
    struct engine_program *program = NULL;
    struct result *result = some(1, sizeof *result);
    char host[32];
    snprintf(host, sizeof host, "host %d", group_place(group).rank);
    if (hosts_apart)
        setenv("NCCL_HOSTID", host, 1);
    net_init(&net, "case");
    c->build(&net, &c->size);
    make_data(&data, &net);
    int rc = engine_cuda.compile(&net, &recipe, &options, &program, err);
    if (rc == 0)
        rc = read_values(program, result, result->before, err);
    if (rc == 0)
        rc = train(program, group, c, &data, queued, result, err);
    if (rc == 0 && !engine_cuda.group_times(program, &result->times))
        result->times.waiting_ns = -1;
    if (rc == 0)
        rc = keep_values(program, group, result, shared, err);
    if (rc != 0)
        group_fail(group, err->text);
    engine_cuda.release(program);
    net_release(&net);
    free_data(&data);
    free(result);
    return rc;
}

// What rank 0 of `size` has after the steps.
static struct result *run(int size, const struct rank_case *c, bool queued)
{
    struct result *result =
        mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(result, MAP_FAILED);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct group *group = NULL;
        struct err err = {0};
        int rc = size > 1 ? group_fork(&group, size, &err) : 0;
        if (rc == 0)
            rc = rank_main(group, c, queued, result, &err);
        bool tells = group_place(group).rank == 0;
        if (tells) {
            result->code = rc;
            snprintf(result->text, sizeof result->text, "%s", err.text);
        }
        group_free(group);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0)
        fail_msg("%s: rank 0 ended with status %d", c->name, status);
    return result;
}

static void drop(struct result *result)
{
    munmap(result, sizeof *result);
}

static void assert_well(const struct rank_case *c, int size, const struct result *result)
{
    if (result->code != 0)
        fail_msg("%s, %d ranks: %s", c->name, size, result->text);
    if (result->differ > 0)
        fail_msg("%s: %d of %d ranks have other parameters", c->name, result->differ, size);
}

static int far;

// The largest distance of a number of a tensor beyond a few roundings, in shares of how far the
// tensor moved.
static double distance_of(const struct result *one, const struct result *many, int64_t from,
                          int64_t to)
{
    double most = 0, moved = 0, largest = 0;
    for (int64_t i = from; i < to; i++) {
        double a = (double)one->values[i], b = (double)many->values[i];
        most = fabs(a - b) > most || isnan(b) ? fabs(a - b) : most;
        moved = fmax(moved, fabs(a - (double)one->before[i]));
        largest = fmax(largest, fabs(a));
    }
    if (most <= 4e-7 * largest)
        return 0;
    return moved > 0 ? most / moved : 1; // nothing may move at other ranks
}

static void compare(const struct rank_case *c, int size, bool queued, const struct result *one,
                    const struct result *many)
{
    double most = 0;
    assert_well(c, size, many);
    assert_int_equal(one->numbers, many->numbers);
    for (int i = 0; i < one->tensors; i++) {
        double distance = distance_of(one, many, i > 0 ? one->ends[i - 1] : 0, one->ends[i]);
        most = distance > most || isnan(distance) ? distance : most;
    }
    for (int i = 0; i <= STEPS; i++) {
        double loss = fabs(one->losses[i] - many->losses[i]) / one->losses[i];
        assert_int_equal(one->counts[i], many->counts[i]);
        if (c->precision == ENGINE_F32)
            assert_int_equal(one->right[i], many->right[i]);
        most = loss > most || isnan(loss) ? loss : most;
    }
    if (!(most <= c->bound)) {
        print_message("%s, %d ranks%s: %g apart, more than %g\n", c->name, size,
                      queued ? ", queued" : "", most, c->bound);
        far++;
    }
    if (getenv("FARE_TEST_SHOW"))
        print_message("%s, %d ranks%s: %.2g apart\n", c->name, size, queued ? ", queued" : "",
                      most);
}

TEST(ranks_train_as_one_does)
{
    const char *only = getenv("FARE_TEST_ONLY");
    bool whole = getenv("FARE_TEST_WHOLE");
    far = 0;
    setenv("FAKE_GPU_RUN", "2", 1);
    for (int i = 0; i < CASES; i++) {
        const struct rank_case *c = &cases[i];
        if (only ? !strstr(c->name, only) : !whole && !c->short_test)
            continue;
        struct result *one = run(1, c, true);
        assert_well(c, 1, one);
        for (int way = 0; way < 2; way++)
            for (int size = 2; size <= 4; size += 2) {
                if (!whole && !only && (size == 4) != (way == 1)) // two of the four
                    continue;
                // Buckets of a layer or two; late, in any order, not all at once.
                setenv("FARE_BUCKET_BYTES", way ? "512" : "4096", 1);
                setenv("FAKE_GPU_LATE", way ? "1" : "0", 1);
                setenv("FAKE_GPU_ORDER", size == 2 ? "3" : "5", 1);
                setenv("FAKE_NCCL_DELAY", "4", 1);
                struct result *many = run(size, c, way == 1);
                compare(c, size, way == 1, one, many);
                assert_true(many->times.waiting_ns >= 0 && many->times.communication_ns >= 0);
                drop(many);
                unsetenv("FARE_BUCKET_BYTES");
                unsetenv("FAKE_GPU_LATE");
                unsetenv("FAKE_GPU_ORDER");
                unsetenv("FAKE_NCCL_DELAY");
            }
        drop(one);
    }
    unsetenv("FAKE_GPU_RUN");
    assert_int_equal(far, 0);
}

// ---- failures; kernels do nothing ----

static void fails_with(int size, const char *fail, const char *words, double within_s)
{
    int64_t began_ns = clock_now_ns();
    if (fail)
        setenv("FAKE_NCCL_FAIL", fail, 1);
    struct result *result = run(size, &cases[0], true);
    unsetenv("FAKE_NCCL_FAIL");
    if (result->code == 0 || !strstr(result->text, words))
        fail_msg("%s: got '%s', not '%s'", fail ? fail : "", result->text, words);
    assert_true((double)(clock_now_ns() - began_ns) < within_s * 1e9);
    drop(result);
}

TEST(without_nccl)
{
    const char *real = getenv("FARE_NCCL");
    char *kept = strdup(real);
    setenv("FARE_NCCL", "/nowhere/libnccl.so.2", 1);
    fails_with(2, NULL, "rank 0: ", 5);
    fails_with(2, NULL, "NCCL", 5);
    setenv("FARE_NCCL", kept, 1);
    free(kept);
}

TEST(too_old_nccl)
{
    setenv("FAKE_NCCL_VERSION", "2804", 1); // how 2.8.4 says it
    fails_with(2, NULL, "NCCL 2.8.4", 5);
    setenv("FAKE_NCCL_VERSION", "21303", 1);
    fails_with(2, NULL, "is too old: fare needs 2.14", 5);
    unsetenv("FAKE_NCCL_VERSION");
}

TEST(connecting_fails)
{
    fails_with(2, "id", "ncclGetUniqueId", 5);
    fails_with(2, "init:0", "Duplicate GPU detected", 5);
    fails_with(2, "init:1", "Duplicate GPU detected", 5);
    setenv("FARE_NCCL_PATIENCE_S", "1", 1);
    fails_with(2, "absent:1", "not all 2 ranks connected within 1 s", 5);
    unsetenv("FARE_NCCL_PATIENCE_S");
}

TEST(sums_fail)
{
    fails_with(2, "call:0:2", "ncclAllReduce failed", 5);
    fails_with(2, "call:1:2", "ncclAllReduce failed", 5);
    fails_with(4, "sum:0:3", "a sum over the ranks failed with remote error", 5);
    fails_with(4, "sum:2:3", "a sum over the ranks failed with remote error", 5);
}

TEST(a_rank_dies)
{
    dies_at = 2;
    fails_with(2, NULL, "rank 1", 20);
    fails_with(4, NULL, "rank 1", 20);
    dies_at = 0;
}

// ---- one rank that sums over itself: the same bits as without the sums ----

static void alone_in(const struct rank_case *c, bool queued)
{
    struct result *plain = run(1, c, queued);
    setenv("FARE_NCCL_ALONE", "0", 1);
    struct result *same = run(1, c, queued);
    setenv("FARE_NCCL_ALONE", "1", 1);
    struct result *summed = run(1, c, queued);
    unsetenv("FARE_NCCL_ALONE");
    assert_well(c, 1, plain);
    assert_well(c, 1, same);
    assert_well(c, 1, summed);
    assert_int_equal(same->numbers, summed->numbers);
    assert_memory_equal(same->values, summed->values, (size_t)same->numbers * 4);
    compare(c, 1, queued, plain, summed); // other launches: rounding
    assert_int_equal(plain->times.waiting_ns, -1);
    assert_int_equal(summed->times.waiting_ns, 0); // there is nobody to wait for
    drop(plain);
    drop(same);
    drop(summed);
}

TEST(alone)
{
    far = 0;
    setenv("FAKE_GPU_RUN", "1", 1);
    alone_in(&cases[0], true);
    unsetenv("FAKE_GPU_RUN");
    assert_int_equal(far, 0);
}

// ---- a real GPU ----

static void nccl_in_graphs(void **state)
{
    (void)state;
    far = 0;
    setenv("FARE_BUCKET_BYTES", "4096", 1);
    for (int i = 0; i < CASES; i++)
        if (cases[i].short_test) {
            alone_in(&cases[i], true);
            alone_in(&cases[i], false);
            print_message("%s: the same bits with and without NCCL, in graphs and streams\n",
                          cases[i].name);
        }
    unsetenv("FARE_BUCKET_BYTES");
    assert_int_equal(far, 0);
}

static void two_ranks(const struct rank_case *c, const char *how, bool may_refuse)
{
    struct result *two = run(2, c, true);
    if (two->code != 0) {
        print_message("%s: %s\n", how, two->text);
        assert_true(may_refuse && strstr(two->text, "NCCL"));
    } else {
        struct result *one = run(1, c, true);
        compare(c, 2, true, one, two);
        print_message("%s, %s: as one; waiting %lld us, communication %lld us\n", how, c->name,
                      (long long)two->times.waiting_ns / 1000,
                      (long long)two->times.communication_ns / 1000);
        drop(one);
    }
    drop(two);
}

// NCCL may refuse it; what it says is of interest.
static void two_ranks_on_one_gpu(void **state)
{
    (void)state;
    far = 0;
    two_ranks(&cases[0], "two ranks on one GPU", true);
    assert_int_equal(far, 0);
}

// NCCL takes them for machines with a GPU each, between which it has sockets.
static void two_ranks_over_sockets(void **state)
{
    (void)state;
    far = 0;
    hosts_apart = true;
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    setenv("NCCL_IB_DISABLE", "1", 1);
    setenv("FARE_BUCKET_BYTES", "4096", 1);
    for (int i = 0; i < CASES; i++)
        if (cases[i].short_test)
            two_ranks(&cases[i], "two ranks over sockets", false);
    unsetenv("FARE_BUCKET_BYTES");
    hosts_apart = false;
    assert_int_equal(far, 0);
}

int main(int argc, char **argv)
{
    (void)argc;
    const struct CMUnitTest real[] = {
        cmocka_unit_test(nccl_in_graphs),
        cmocka_unit_test(two_ranks_on_one_gpu),
        cmocka_unit_test(two_ranks_over_sockets),
    };
    if (getenv("FARE_TEST_GPU"))
        return cmocka_run_group_tests(real, NULL, NULL);
    take_stand_in(argv[0]);
    char nccl[4096];
    const char *gpu = getenv("FARE_CUDA");
    snprintf(nccl, sizeof nccl, "%.*s/fake_nccl.so", (int)(strrchr(gpu, '/') - gpu), gpu);
    setenv("FARE_NCCL", nccl, 1);
    return run_all_tests(NULL, NULL);
}
