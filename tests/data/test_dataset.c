// SPDX-License-Identifier: Apache-2.0
// data_open() itself: which reader, which folder, and what is said about the source. The readers
// have tests of their own.
#include "data/dataset.h"

#include "base/gzip.h"
#include "data/files.h"
#include "data/sets.h"

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
    assert_ok(data_open("cifar10", &options, &pair, &err), &err);
    assert_string_equal(pair.source, files_at("a/cifar-10-batches-bin"));
    assert_false(pair.made);
    data_release(&pair);
    options.dir = files_at("a/cifar-10-batches-bin");
    assert_ok(data_open("cifar10", &options, &pair, &err), &err);
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
    assert_ok(data_open("imdb", &options, &pair, &err), &err);
    assert_string_equal(pair.source, files_at("b/aclImdb"));
    data_release(&pair);
}

// No real folder ever turns into a made set, and after a failure nothing is left.
static void test_never_silent(void **state)
{
    (void)state;
    struct data_pair pair;
    for (size_t i = 0; public_sets[i].name; i++) {
        struct data_options options = {.dir = files_at("absent"), .made_train = 10};
        memset(&pair, 0xAA, sizeof pair);
        assert_fails(data_open(public_sets[i].name, &options, &pair, failed), ERR_MISSING,
                     "absent");
        static const struct data_pair nothing;
        assert_memory_equal(&pair, &nothing, sizeof pair);
    }
    struct data_options options = {0};
    assert_fails(data_open("mnst", &options, &pair, failed), ERR_USAGE, "'mnst' is not a data set");
    assert_string_equal(failed->hint, "did you mean 'mnist'?");
    options.dir = files_root;
    assert_fails(data_open("mnst", &options, &pair, failed), ERR_USAGE, "'mnst' is not a data set");
}

// Names follow from the contents. Identities are those that `sha256sum FILES | sha256sum` printed
// for the unpacked files.
static void expect(const char *set, const char *dir, const char *name, const char *identity)
{
    struct data_pair pair;
    struct err err = {0};
    struct data_options options = {.dir = dir, .seed = 1};
    assert_ok(data_open(set, &options, &pair, &err), &err);
    assert_string_equal(pair.name, name);
    if (identity)
        assert_string_equal(pair.identity, identity);
    data_release(&pair);
}

static void test_own_data(void **state)
{
    (void)state;
    expect("cifar10", files_at("a"), "own 32x32 images, 2 samples", NULL);
    expect("imdb", files_at("b"), "own reviews, 4 samples", NULL);
    files_puts("c/nietzsche.txt", "01234567890123456789012345678901234567890123"); // 44 characters
    expect("nietzsche", files_at("c"), "own text, 2 samples", NULL);
    struct data_pair pair;
    struct err err = {0};
    struct data_options options = {.seed = 3, .made_train = 2, .made_test = 1};
    assert_ok(data_open("mnist", &options, &pair, &err), &err);
    assert_true(pair.made);
    assert_string_equal(pair.name, "drawn digits");
    assert_string_equal(pair.identity, "made:digits:3");
    data_release(&pair);
}

static void test_public_names(void **state)
{
    (void)state;
    char path[4300];
    if (!files_real("mnist"))
        skip();
    expect("mnist", files_real("mnist"), "mnist",
           "d0a3eec1f5a454401d758fdbf15b9b0163a7034963586d671960c180b97e2c1a");
    // The same files unpacked are the same set.
    static const char *const files[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                        "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
    for (int i = 0; i < 4; i++) {
        struct gzip gzip;
        struct err err = {0};
        uint8_t *bytes;
        static const size_t sizes[] = {47040016, 60008, 7840016, 10008};
        char name[60];
        snprintf(path, sizeof path, "%s/%s.gz", files_real("mnist"), files[i]);
        snprintf(name, sizeof name, "plain/%s", files[i]);
        assert_ok(gzip_open(&gzip, path, 1 << 26, &err), &err);
        assert_ok(gzip_read_all(&gzip, sizes[i], &bytes, &err), &err);
        files_put(name, bytes, sizes[i]);
        free(bytes);
        gzip_release(&gzip);
    }
    expect("mnist", files_at("plain"), "mnist",
           "d0a3eec1f5a454401d758fdbf15b9b0163a7034963586d671960c180b97e2c1a");
    expect("nietzsche", files_real("nietzsche"), "nietzsche",
           "cc104c28005fac76e884886ecf66b4898aa2b675b205b3c76a9c49b212cb964e");
    expect("cifar10", files_real("cifar10"), "cifar10, 5000 of 60000",
           "41ffe30124d10b1e3131ba75c09f59b05cefa9f9944113bc143ba78bcf453a7b");
    expect("imdb", files_real("imdb"), "imdb, 30000 of 50000",
           "df1fd29fc941bac20654c23fbbe3625d1dcfa1a5329213b91997818ec6c15bd7");
    snprintf(path, sizeof path, "%s/label_text_20k.csv", files_real("tweets"));
    expect("tweets", path, "tweets, 20000 of 1578627",
           "8e1fc82f7030f6c1747362b6d2bdb1fe8cbcda19d0c8ac53ae2be56083de53a3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deeper),
        cmocka_unit_test(test_never_silent),
        cmocka_unit_test(test_own_data),
        cmocka_unit_test(test_public_names),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
