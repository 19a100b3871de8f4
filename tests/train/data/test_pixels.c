// SPDX-License-Identifier: Apache-2.0
// Figures of the real set: Python's gzip and struct over the files (bincount of the labels, sums of
// the pixels), and the SHA-256 of the originals.
#include "train/data/pixels.h"

#include "train/data/files.h"

static void big(struct buf *out, uint32_t value)
{
    for (int i = 24; i >= 0; i -= 8)
        buf_addc(out, (char)(value >> i));
}

// An idx file of `count` images (side x side) or labels, then `more` bytes beyond or, where it is
// negative, fewer.
static void make(struct buf *out, uint32_t magic, uint32_t count, uint32_t side, int more)
{
    size_t items = (size_t)count * (side ? side * side : 1);
    buf_reset(out);
    big(out, magic);
    big(out, count);
    if (side) {
        big(out, side);
        big(out, side);
    }
    for (size_t i = 0; i < items; i++)
        buf_addc(out, (char)(side ? i % 251 : i % 7));
    if (more > 0)
        buf_fill(out, 'x', (size_t)more);
    out->len -= more < 0 ? (size_t)-more : 0;
}

static void put(const char *name, uint32_t magic, uint32_t count, uint32_t side, int more)
{
    struct buf bytes = {0};
    make(&bytes, magic, count, side, more);
    files_put(name, bytes.data, bytes.len);
    buf_release(&bytes);
}

static void put_gzip(const char *name, uint32_t magic, uint32_t count, uint32_t side)
{
    struct buf bytes = {0};
    make(&bytes, magic, count, side, 0);
    files_put_gzip(name, bytes.data, bytes.len);
    buf_release(&bytes);
}

static int images(const char *name, struct err *err)
{
    uint8_t *pixels, sum[32];
    int64_t count;
    int rc = idx_file(files_at(name), true, &pixels, &count, sum, err);
    if (rc == 0)
        free(pixels);
    else
        assert_null(pixels);
    return rc;
}

static int labels(const char *name, struct err *err)
{
    uint8_t *bytes, sum[32];
    int64_t count;
    int rc = idx_file(files_at(name), false, &bytes, &count, sum, err);
    if (rc == 0)
        free(bytes);
    else
        assert_null(bytes);
    return rc;
}

TEST(test_set)
{
    struct data_pair pair = {0};
    struct err err = {0};
    // Another set's names, some packed; seven classes.
    put("set/emnist-x-train-images-idx3-ubyte", 0x803, 21, 28, 0);
    put_gzip("set/emnist-x-train-labels-idx1-ubyte.gz", 0x801, 21, 0);
    put_gzip("set/emnist-x-test-images-idx3-ubyte.gz", 0x803, 5, 28);
    put("set/emnist-x-test-labels-idx1-ubyte", 0x801, 5, 0, 0);
    assert_ok(idx_open(files_at("set"), NULL, &pair, &err), &err);
    assert_int_equal(pair.train.count, 21);
    assert_int_equal(pair.test.count, 5);
    assert_int_equal(pair.train.classes, 7);
    assert_int_equal(pair.test.classes, 7); // though its labels end at 4
    assert_int_equal(pair.train.channels, 1);
    assert_int_equal(pair.train.height, 28);
    assert_int_equal(pair.train.width, 28);
    for (int i = 0; i < 21 * 784; i++)
        if (pair.train.pixels[i] != i % 251)
            fail();
    for (int i = 0; i < 21; i++)
        assert_int_equal(pair.train.labels[i], i % 7);
    assert_int_equal(strlen(pair.identity), 64);
    data_release(&pair);
}

TEST(test_faults)
{
    assert_fails(images("absent", failed), ERR_MISSING, "no such file");
    files_puts("empty", "");
    assert_fails(images("empty", failed), ERR_FORMAT, "empty' is empty");
    files_put("three", "\0\0\x08", 3);
    assert_fails(images("three", failed), ERR_FORMAT, "it ends at byte 3");
    put("labels", 0x801, 10, 0, 0);
    assert_fails(images("labels", failed), ERR_FORMAT,
                 "labels', byte 0: wrong magic number 00000801, which is that of labels");
    put("images", 0x803, 3, 28, 0);
    assert_fails(labels("images", failed), ERR_FORMAT,
                 "which is that of images; 00000801 is needed");
    put("floats", 0xD03, 3, 28, 0);
    assert_fails(images("floats", failed), ERR_FORMAT, "only bytes are read");
    files_puts("text", "this is some text, not an idx file");
    assert_fails(images("text", failed), ERR_FORMAT, "this is not an idx file");
    put("none", 0x803, 0, 28, 0);
    assert_fails(images("none", failed), ERR_FORMAT, "byte 4: a count of 0");
    put("large", 0x803, 2, 32, 0);
    assert_fails(images("large", failed), ERR_FORMAT,
                 "byte 8: images of 32 x 32; these nets take 28 x 28");
    put("cut", 0x803, 3, 28, -1);
    assert_fails(images("cut", failed), ERR_FORMAT, "cut' is cut off: it ends at byte 2367");
    put("over", 0x803, 3, 28, 1);
    assert_fails(images("over", failed), ERR_FORMAT, "over' continues after byte 2368");
    put("cut-labels", 0x801, 10, 0, -3);
    assert_fails(labels("cut-labels", failed), ERR_FORMAT, "it ends at byte 15");
    // Headers that promise more than any machine has; the packed one, too.
    struct buf huge = {0};
    make(&huge, 0x803, 1, 28, 0);
    memset(huge.data + 4, 0xFF, 4);
    files_put("huge", huge.data, huge.len);
    assert_fails(images("huge", failed), ERR_FORMAT,
                 "byte 4: 4294967295 items are more than can be read");
    memcpy(huge.data + 4, "\0\x80\0\0", 4); // 8,388,608: 6.6 GB that are not there
    files_put_gzip("huge.gz", huge.data, huge.len);
    assert_fails(images("huge.gz", failed), ERR_FORMAT, "is cut off: it ends at byte 800");
    buf_release(&huge);
}

static int open_set(const char *dir, struct err *err)
{
    struct data_pair pair = {0};
    int rc = idx_open(files_at(dir), NULL, &pair, err);
    data_release(&pair);
    return rc;
}

TEST(test_set_faults)
{
    assert_fails(open_set("absent", failed), ERR_MISSING, "cannot open the folder");
    put("bad/train-images-idx3-ubyte", 0x803, 4, 28, 0);
    assert_fails(open_set("bad", failed), ERR_MISSING, "has no train-labels-idx1-ubyte");
    put("bad/train-labels-idx1-ubyte", 0x801, 5, 0, 0);
    assert_fails(open_set("bad", failed), ERR_FORMAT, "has 5 labels, but there are 4 images");
    put("bad/train-labels-idx1-ubyte", 0x801, 4, 0, 0);
    assert_fails(open_set("bad", failed), ERR_MISSING, "has no t10k-images-idx3-ubyte");
    put("bad/train-images-idx3-ubyte", 0x803, 1, 28, 0);
    put("bad/train-labels-idx1-ubyte", 0x801, 1, 0, 0);
    put("bad/t10k-images-idx3-ubyte", 0x803, 1, 28, 0);
    put("bad/t10k-labels-idx1-ubyte", 0x801, 1, 0, 0);
    assert_fails(open_set("bad", failed), ERR_FORMAT, "every label is 0");
    put("bad/x-train-images-idx3-ubyte", 0x803, 1, 28, 0);
    assert_fails(open_set("bad", failed), ERR_FORMAT, "two files for one part");
}

TEST(test_mnist)
{
    const char *dir = files_real("mnist");
    if (!dir)
        skip();
    struct data_pair pair = {0};
    struct err err = {0};
    assert_ok(idx_open(dir, NULL, &pair, &err), &err);
    assert_string_equal(pair.identity,
                        "d0a3eec1f5a454401d758fdbf15b9b0163a7034963586d671960c180b97e2c1a");
    assert_int_equal(pair.train.count, 60000);
    assert_int_equal(pair.test.count, 10000);
    assert_int_equal(pair.train.classes, 10);
    static const int train[10] = {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949};
    static const int test[10] = {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009};
    int have_train[10] = {0}, have_test[10] = {0};
    for (int i = 0; i < 60000; i++)
        have_train[pair.train.labels[i]]++;
    for (int i = 0; i < 10000; i++)
        have_test[pair.test.labels[i]]++;
    assert_memory_equal(have_train, train, sizeof train);
    assert_memory_equal(have_test, test, sizeof test);
    char hex[SHA256_HEX_BYTES];
    files_sha(pair.train.pixels + 59999 * 784, 784, hex);
    assert_string_equal(hex, "a4d26ec9c55ad38391292cd307292ee5d75fb27652874c1c4aadda20d04d4866");
    data_release(&pair);
}

// ==== cifar ====
// Figures of the real files: Python over their bytes.

enum { RECORD = 3073 };

// `count` images; pixel k of image i is (i + k) mod 256, its label i mod 10.
static void cifar_make(struct buf *out, int count)
{
    buf_reset(out);
    for (int i = 0; i < count; i++) {
        buf_addc(out, (char)(i % 10));
        for (int k = 0; k < 3072; k++)
            buf_addc(out, (char)(i + k));
    }
}

static void cifar_put(const char *name, int count)
{
    struct buf bytes = {0};
    cifar_make(&bytes, count);
    files_put(name, bytes.data, bytes.len);
    buf_release(&bytes);
}

static int cifar_open_set(const char *dir, struct err *err)
{
    struct data_pair pair = {0};
    int rc = cifar_open(files_at(dir), NULL, &pair, err);
    data_release(&pair);
    return rc;
}

TEST(test_cifar_set)
{
    struct data_pair pair = {0};
    struct err err = {0};
    struct buf bytes = {0};
    cifar_put("set/data_batch_1.bin", 300); // more than one block of reading
    cifar_make(&bytes, 7);
    files_put_gzip("set/data_batch_4.bin.gz", bytes.data, bytes.len);
    buf_release(&bytes);
    cifar_put("set/test_batch.bin", 2);
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

TEST(test_cifar_faults)
{
    struct buf bytes = {0};
    assert_fails(cifar_open_set("absent", failed), ERR_MISSING, "cannot open the folder");
    files_puts("bad/readme.html", "");
    assert_fails(cifar_open_set("bad", failed), ERR_MISSING, "has no data_batch_1.bin");
    cifar_put("bad/data_batch_1.bin", 5);
    assert_fails(cifar_open_set("bad", failed), ERR_MISSING, "has no test_batch.bin");
    cifar_make(&bytes, 5);
    files_put("bad/test_batch.bin", bytes.data, bytes.len - 1);
    assert_fails(cifar_open_set("bad", failed), ERR_FORMAT,
                 "test_batch.bin' is cut off: it ends at byte 15364, in the middle of image 4");
    files_put("bad/test_batch.bin", bytes.data, bytes.len + 1); // with the NUL behind
    assert_fails(cifar_open_set("bad", failed), ERR_FORMAT, "in the middle of image 5");
    bytes.data[3 * RECORD] = 10;
    files_put("bad/test_batch.bin", bytes.data, bytes.len);
    assert_fails(cifar_open_set("bad", failed), ERR_FORMAT,
                 "test_batch.bin', byte 9219: image 3 has the label 10");
    files_puts("bad/test_batch.bin", "");
    assert_fails(cifar_open_set("bad", failed), ERR_FORMAT, "test_batch.bin' is empty");
    buf_release(&bytes);
}

TEST(test_real)
{
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
    return run_all_tests(files_begin, files_end);
}
