// SPDX-License-Identifier: Apache-2.0
// Every allocation of the data room fails once; an error must come back, nothing leaks.
#include "oom.h"

#include "train/data/archive.h"
#include "train/data/unpack.h"
#include "train/data/batcher.h"
#include "train/data/fetch.h"
#include "train/data/images.h"
#include "train/data/sets.h"

// Opens and releases, with each allocation failing in turn.
static void each(const char *kind, const char *dir)
{
    OOM_EACH
    {
        struct err err = {0};
        struct data_pair pair;
        const struct data_options options = {
            .dir = dir, .seed = 1, .made_train = 12, .made_test = 12, .threads = 1};
        int rc = data_open(kind, &options, &pair, &err);
        if (rc == 0)
            data_release(&pair);
        OOM_EXPECT(rc, &err);
    }
}

TEST(made)
{
    for (size_t i = 0; public_sets[i].name; i++)
        each(public_sets[i].name, NULL);
}

static void big(struct buf *out, uint32_t value)
{
    for (int i = 24; i >= 0; i -= 8)
        buf_addc(out, (char)(value >> i));
}

TEST(idx)
{
    static const char *const halves[] = {"train", "t10k"};
    for (int h = 0; h < 2; h++) {
        struct buf images = {0}, labels = {0};
        char name[100];
        big(&images, 0x803), big(&images, 3), big(&images, 28), big(&images, 28);
        buf_fill(&images, 'p', 3 * 784);
        big(&labels, 0x801), big(&labels, 3);
        buf_add(&labels, "\0\1\2", 3);
        snprintf(name, sizeof name, "idx/%s-images-idx3-ubyte.gz", halves[h]);
        files_put_gzip(name, images.data, images.len);
        snprintf(name, sizeof name, "idx/%s-labels-idx1-ubyte", halves[h]);
        files_put(name, labels.data, labels.len);
        buf_release(&images);
        buf_release(&labels);
    }
    each("mnist", files_at("idx"));
}

TEST(cifar)
{
    static char records[2 * 3073];
    files_put("cifar/data_batch_1.bin", records, sizeof records);
    files_put("cifar/data_batch_2.bin", records, sizeof records);
    files_put("cifar/test_batch.bin", records, 3073);
    each("cifar10", files_at("cifar"));
}

TEST(reviews)
{
    static const char rows[] = "1\t9\t0\tgood words\n0\t1\t1\tbad words, more words\n";
    files_put_gzip("tables/train.tsv.gz", rows, sizeof rows - 1);
    files_puts("tables/test.tsv", rows);
    each("imdb", files_at("tables"));
    for (int i = 0; i < 8; i++) {
        char name[100];
        snprintf(name, sizeof name, "raw/%s/%s/%d_1.txt", i & 1 ? "train" : "test",
                 i & 2 ? "pos" : "neg", i / 4);
        files_puts(name, "some words");
    }
    each("imdb", files_at("raw"));
}

TEST(texts)
{
    files_puts("t/text.txt", "The quick brown fox jumps over the lazy dog, and over again.");
    each("nietzsche", files_at("t"));
    files_puts("t/x.csv", "label,text\n1,a\n0,b\n1,c\n1,d\n1,e\n1,f\n0,g\n0,\"h\ni\"\n1,j\n0,k\n");
    each("tweets", files_at("t"));
}

TEST(images)
{
    struct buf bytes = {0};
    struct err failure = {0};
    char path[300];
    snprintf(path, sizeof path, "%s/train/data/images/one.jpg", TESTS_DIR);
    assert_ok(fs_read(path, 1 << 20, &bytes, &failure), &failure);
    for (int i = 0; i < 12; i++) {
        char name[40];
        snprintf(name, sizeof name, "jpegs/%c/%d.jpg", "ab"[i % 2], i);
        files_put(name, bytes.data, bytes.len);
    }
    each("flowers", files_at("jpegs"));
    OOM_EACH // the library's own memory is not ours to fail; the decoder's buffers are
    {
        struct err err = {0};
        struct jpeg *jpeg;
        int rc = jpeg_new(&jpeg, 299, &err);
        jpeg_free(jpeg);
        OOM_EXPECT(rc, &err);
    }
    buf_release(&bytes);
}

TEST(batchers)
{
    static const char *const kinds[] = {"cifar10", "tweets", "flowers"};
    for (int k = 0; k < 3; k++) {
        struct data_pair pair;
        struct err failure = {0};
        const struct data_options options = {.seed = 1, .made_train = 5, .made_test = 1};
        assert_ok(data_open(kinds[k], &options, &pair, &failure), &failure);
        OOM_EACH
        {
            struct err err = {0};
            struct batcher *batcher;
            struct batch batch;
            const struct batcher_options how = {
                .batch = 2, .shuffle = true, .flip = true, .threads = 2};
            int rc = batcher_new(&batcher, &pair.train, &how, &err);
            if (rc == 0) {
                rc = batcher_next(batcher, &batch, &err); // allocates nothing
                rc = rc > 0 ? 0 : rc;
            }
            batcher_free(batcher);
            OOM_EXPECT(rc, &err);
        }
        data_release(&pair);
    }
}

TEST(getting)
{
    struct buf tar = {0}, zip = {0};
    char cache[100], urls[3][100];
    tar_add(&tar, "x", 'L', "a/long/name");
    tar_add(&tar, "short", '0', "text");
    files_put_gzip("home/t.tar.gz", tar.data, tar.len);
    zip_make(&zip, "text");
    files_put("home/z.zip", zip.data, zip.len);
    files_put_gzip("home/g.gz", "text", 4);
    static const char *const names[] = {"t.tar.gz", "z.zip", "g.gz"};
    for (int i = 0; i < 3; i++)
        snprintf(urls[i], sizeof urls[i], "file://%s/home/%s", files_root, names[i]);
    const struct public_file files[] = {
        {.name = "t.tar.gz", .url = urls[0]},
        {.name = "z.zip", .url = urls[1]},
        {.name = "g.gz", .url = urls[2]},
        {.name = "name", .from = "t.tar.gz:a/long/name"},
        {.name = "hello", .from = "z.zip:hello"},
        {.name = "g", .from = "g.gz"},
        {0},
    };
    const struct public_set set = {.name = "s", .files = files};
    OOM_EACH
    {
        struct err err = {0};
        struct data_got got;
        snprintf(cache, sizeof cache, "%s/cache-%ld", files_root, oom_n);
        const struct data_get how = {.set = &set, .cache_dir = cache, .allow_file = true};
        int rc = data_get(&how, &got, &err);
        data_got_release(&got);
        OOM_EXPECT(rc, &err);
    }
    buf_release(&tar);
    buf_release(&zip);
}

int main(void)
{
    return run_all_tests(files_begin, files_end);
}
