// SPDX-License-Identifier: Apache-2.0
// The cpu engine against the reference engine, operation by operation: loss, gradients of all
// parameters (of those before the operation too, which they reach through it), evaluation and
// prediction, over sizes that fit no vector, on one, two and three threads.
//
// Distances are the largest difference as a share of the largest number in the tensor. The bounds
// are a few times what single precision gives: 6e-8 per rounding, growing with the square root
// of the length of a sum, and more where the terms of a sum nearly cancel, as they do in the
// gradients of biases. Winograd's convolutions lose up to two digits more.
#include "op_cases.h"

// ---- the test ----

// On `first` to `last` threads, each beside the same numbers of the reference.
static void run_case(const struct op_case *c, const struct size *size, int first, int last,
                     int64_t count)
{
    struct net net;
    struct pair pair;
    struct gap gap = {0};
    char what[160];
    struct engine_options options = {.threads = first, .seed = 11};
    net_init(&net, "case");
    c->build(&net, size);
    pair_init(&pair, &net, &see_gradients, size->batch, &options);
    for (int i = 1; first + i <= last; i++) {
        options.threads = first + i;
        pair_add(&pair, i, &net, &see_gradients, &options);
    }
    for (uint64_t number = 0; number < 2; number++) { // twice: nothing is left of the first
        struct engine_batch batch = pair_batch(&pair, number, count);
        pair_step(&pair, &batch, &gap);
        pair_tensors(&pair, true, &gap);
        pair_evaluate(&pair, &batch, &gap);
    }
    snprintf(what, sizeof what, "%s, %d of %d x %d x %d x %d, %d units, from %d threads on",
             c->name, (int)count, size->batch, size->channels, size->height, size->width,
             size->units, first);
    assert_within(&gap, c->bound, what);
    pair_release(&pair);
    net_release(&net);
}

TEST(every_operation_is_that_of_the_reference)
{
    const char *only = getenv("FARE_TEST_ONLY");
    for (size_t i = 0; i < sizeof op_cases / sizeof *op_cases; i++) {
        if (only && !strstr(op_cases[i].name, only))
            continue;
        for (const struct size *size = op_cases[i].sizes; size->batch; size++)
            run_case(&op_cases[i], size, 1, size->batch == 3 ? 3 : 2, size->batch);
    }
}

TEST(a_batch_that_is_not_full_counts_what_is_there)
{
    const char *only = getenv("FARE_TEST_ONLY");
    for (size_t i = 0; i < sizeof op_cases / sizeof *op_cases; i++) {
        if (only && !strstr(op_cases[i].name, only))
            continue;
        for (const struct size *size = op_cases[i].sizes; size->batch; size++)
            if (size->batch > 1)
                run_case(&op_cases[i], size, 2, 2, (size->batch + 1) / 2);
    }
}

int main(void)
{
    // Threads that wait sleep, so that other programs on the machine do not slow this one down.
    setenv("OMP_WAIT_POLICY", "passive", 0);
    return run_all_tests(NULL, NULL);
}
