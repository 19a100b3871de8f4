// SPDX-License-Identifier: Apache-2.0
// Figures of the real files: Python over their bytes.
#include "data/cifar.h"

#include "data/files.h"

enum { RECORD = 3073 };

// `count` images; pixel k of image i is (i + k) mod 256, its label i mod 10.
static void make(struct buf *out, int count)
{
    buf_reset(out);
    for (int i = 0; i < count; i++) {
        buf_addc(out, (char)(i % 10));
        for (int k = 0; k < 3072; k++)
            buf_addc(out, (char)(i + k));
    }
}

static void put(const char *name, int count)
{
    struct buf bytes = {0};
    make(&bytes, count);
    files_put(name, bytes.data, bytes.len);
    buf_release(&bytes);
}

static int open_set(const char *dir, struct err *err)
{
    struct data_pair pair = {0};
    int rc = cifar_open(files_at(dir), NULL, &pair, err);
    data_release(&pair);
    return rc;
}

static void test_set(void **state)
{
    (void)state;
    struct data_pair pair = {0};
    struct err err = {0};
    struct buf bytes = {0};
    put("set/data_batch_1.bin", 300); // more than one block of reading
    make(&bytes, 7);
    files_put_gzip("set/data_batch_4.bin.gz", bytes.data, bytes.len);
    buf_release(&bytes);
    put("set/test_batch.bin", 2);
    assert_ok(cifar_open(files_at("set"), NULL, &pair, &err), &err);
    assert_int_equal(pair.train.count, 307);
    assert_int_equal(pair.test.count, 2);
    assert_int_equal(pair.train.classes, 10);
    assert_int_equal(pair.train.channels, 3);
    assert_int_equal(pair.train.height, 32);
    for (int i = 0; i < 307; i++) {
        int of_file = i < 300 ? i : i - 300;
        assert_int_equal(pair.train.labels[i], of_file % 10);
        for (int k = 0; k < 3072; k += 511)
            assert_int_equal(pair.train.pixels[i * 3072 + k], (of_file + k) & 255);
    }
    data_release(&pair);
}

static void test_faults(void **state)
{
    (void)state;
    struct buf bytes = {0};
    assert_fails(open_set("absent", failed), ERR_MISSING, "cannot open the folder");
    files_puts("bad/readme.html", "");
    assert_fails(open_set("bad", failed), ERR_MISSING, "has no data_batch_1.bin");
    put("bad/data_batch_1.bin", 5);
    assert_fails(open_set("bad", failed), ERR_MISSING, "has no test_batch.bin");
    make(&bytes, 5);
    files_put("bad/test_batch.bin", bytes.data, bytes.len - 1);
    assert_fails(open_set("bad", failed), ERR_FORMAT,
                 "test_batch.bin' is cut off: it ends at byte 15364, in the middle of image 4");
    files_put("bad/test_batch.bin", bytes.data, bytes.len + 1); // with the NUL behind
    assert_fails(open_set("bad", failed), ERR_FORMAT, "in the middle of image 5");
    bytes.data[3 * RECORD] = 10;
    files_put("bad/test_batch.bin", bytes.data, bytes.len);
    assert_fails(open_set("bad", failed), ERR_FORMAT,
                 "test_batch.bin', byte 9219: image 3 has the label 10");
    files_puts("bad/test_batch.bin", "");
    assert_fails(open_set("bad", failed), ERR_FORMAT, "test_batch.bin' is empty");
    buf_release(&bytes);
}

static void test_real(void **state)
{
    (void)state;
    const char *dir = files_real("cifar10");
    if (!dir)
        skip();
    struct data_pair pair = {0};
    struct err err = {0};
    char hex[SHA256_HEX_BYTES];
    assert_ok(cifar_open(dir, NULL, &pair, &err), &err);
    assert_int_equal(pair.train.count, 4000);
    assert_int_equal(pair.test.count, 1000);
    static const int train[10] = {396, 366, 420, 384, 422, 393, 414, 385, 407, 413};
    int have[10] = {0};
    for (int i = 0; i < 4000; i++)
        have[pair.train.labels[i]]++;
    assert_memory_equal(have, train, sizeof train);
    files_sha(pair.train.pixels, 4000 * 3072, hex);
    assert_string_equal(hex, "28afc872aa454f5edfb44b9dc53187ac9e792b2e75c81b091face3432c78e91b");
    assert_string_equal(pair.identity,
                        "41ffe30124d10b1e3131ba75c09f59b05cefa9f9944113bc143ba78bcf453a7b");
    data_release(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_real),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
