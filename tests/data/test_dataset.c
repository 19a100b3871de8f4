// SPDX-License-Identifier: Apache-2.0
// data_open() itself: which reader, which folder, and what is said about the source. The readers
// have tests of their own.
#include "data/dataset.h"

#include "data/files.h"

static void put_cifar(const char *name)
{
    static char record[3073];
    record[0] = 3;
    files_put(name, record, sizeof record);
}

static void test_deeper(void **state)
{
    (void)state;
    struct data_pair pair;
    struct err err = {0};
    put_cifar("a/cifar-10-batches-bin/data_batch_1.bin");
    put_cifar("a/cifar-10-batches-bin/test_batch.bin");
    struct data_options options = {.dir = files_at("a")};
    assert_ok(data_open(DATA_CIFAR, &options, &pair, &err), &err);
    assert_string_equal(pair.source, files_at("a/cifar-10-batches-bin"));
    assert_false(pair.made);
    data_release(&pair);
    options.dir = files_at("a/cifar-10-batches-bin");
    assert_ok(data_open(DATA_CIFAR, &options, &pair, &err), &err);
    assert_int_equal(pair.train.labels[0], 3);
    data_release(&pair);
    data_release(&pair); // harmless

    for (int i = 0; i < 4; i++) {
        char name[60];
        snprintf(name, sizeof name, "b/aclImdb/%s/%s/0_1.txt", i < 2 ? "train" : "test",
                 i % 2 ? "pos" : "neg");
        files_puts(name, "words");
    }
    options.dir = files_at("b");
    assert_ok(data_open(DATA_REVIEWS, &options, &pair, &err), &err);
    assert_string_equal(pair.source, files_at("b/aclImdb"));
    data_release(&pair);
}

// No real folder ever turns into a made set, and after a failure nothing is left.
static void test_never_silent(void **state)
{
    (void)state;
    struct data_pair pair;
    for (int kind = DATA_MNIST; kind <= DATA_FLOWERS; kind++) {
        struct data_options options = {.dir = files_at("absent"), .made_train = 10};
        memset(&pair, 0xAA, sizeof pair);
        assert_fails(data_open(kind, &options, &pair, failed), ERR_MISSING, "absent");
        static const struct data_pair nothing;
        assert_memory_equal(&pair, &nothing, sizeof pair);
    }
    struct data_options options = {0};
    assert_fails(data_open(17, &options, &pair, failed), ERR_USAGE, "no such kind");
    options.dir = files_root;
    assert_fails(data_open(17, &options, &pair, failed), ERR_USAGE, "no such kind");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deeper),
        cmocka_unit_test(test_never_silent),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
