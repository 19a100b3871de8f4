// SPDX-License-Identifier: Apache-2.0
#include "train/data/images.h"

#include "train/data/batcher.h"
#include "train/data/files.h"

static const struct data_options one_thread = {.seed = 1, .threads = 1},
                                 two_threads = {.seed = 1, .threads = 2};

static void copy_image(const char *from, const char *to)
{
    char path[300];
    struct buf bytes = {0};
    struct err err = {0};
    snprintf(path, sizeof path, "%s/train/data/images/%s", TESTS_DIR, from);
    assert_ok(fs_read(path, 1 << 20, &bytes, &err), &err);
    files_put(to, bytes.data, bytes.len);
    buf_release(&bytes);
}

// `each` images in each of three classes.
static void make_set(const char *dir, int each)
{
    static const char *const classes[] = {"Ants", "bees", "wasps"};
    static const char *const images[] = {"small.jpg", "grey.jpg", "progressive.jpg"};
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < each; i++) {
            char to[100];
            snprintf(to, sizeof to, "%s/%s/%02d.%s", dir, classes[c], i, i % 2 ? "jpg" : "JPEG");
            copy_image(images[c], to);
        }
    char to[100];
    snprintf(to, sizeof to, "%s/LICENSE.txt", dir);
    files_puts(to, "a file, not a class");
    snprintf(to, sizeof to, "%s/bees/notes.txt", dir);
    files_puts(to, "not an image");
}

TEST(test_set)
{
    struct data_pair pair = {0}, again = {0};
    struct err err = {0};
    make_set("set", 7);
    assert_ok(images_open(files_at("set"), &two_threads, &pair, &err), &err);
    assert_int_equal(pair.train.count, 19);
    assert_int_equal(pair.test.count, 2); // a tenth of 21
    assert_int_equal(pair.train.classes, 3);
    assert_int_equal(pair.train.channels, 3);
    assert_int_equal(pair.train.height, 299);
    int counts[3] = {0};
    for (int i = 0; i < 21; i++) {
        const struct dataset *set = i < 19 ? &pair.train : &pair.test;
        int at = i < 19 ? i : i - 19;
        const char *path = set->files->pool + set->files->offsets[at];
        static const char *const classes[] = {"/Ants/", "/bees/", "/wasps/"};
        assert_non_null(strstr(path, classes[set->labels[at]]));
        counts[set->labels[at]]++;
    }
    for (int c = 0; c < 3; c++)
        assert_int_equal(counts[c], 7);

    // Red and green are what the slopes of small.jpg are at the left and top.
    struct image_reader *reader;
    uint8_t *out = malloc(IMAGES_BYTES);
    assert_ok(image_reader_new(&reader, pair.train.files, &err), &err);
    int ant = 0;
    while (pair.train.labels[ant] != 0)
        ant++;
    assert_ok(image_read(reader, ant, out, &err), &err);
    assert_true(abs(out[0] - 255 * 6 / 95) <= 4); // 96 / 16 = 6 pixels are cut away
    assert_true(abs(out[IMAGES_SIZE * IMAGES_SIZE] - 255 * 5 / 79) <= 4);
    image_reader_free(reader);
    free(out);

    // The same by another number of threads; what is renamed outside does not change it.
    assert_ok(rename(files_at("set"), files_at("moved")), &err);
    assert_ok(images_open(files_at("moved"), &one_thread, &again, &err), &err);
    assert_string_equal(pair.identity, again.identity);
    assert_memory_equal(pair.train.labels, again.train.labels, 19 * sizeof(int32_t));
    data_release(&again);
    data_release(&pair);
}

// sha256sum of the files, sorted by name, then of that list: (cd two; sha256sum */*.jpg |
// sha256sum)
TEST(test_identity)
{
    struct data_pair pair = {0};
    struct err err = {0};
    for (int i = 0; i < 10; i++) {
        char name[40];
        snprintf(name, sizeof name, "two/%c/%d.jpg", "ab"[i % 2], i);
        copy_image(i % 2 ? "one.jpg" : "cmyk.jpg", name);
    }
    assert_ok(images_open(files_at("two"), &two_threads, &pair, &err), &err);
    assert_string_equal(pair.identity,
                        "b359264464a11dcf672fea525296fdd6ff31e92fc2340dca2aa163a934e08fdb");
    data_release(&pair);
}

static int open_set(const char *dir, struct err *err)
{
    struct data_pair pair = {0};
    int rc = images_open(files_at(dir), &two_threads, &pair, err);
    data_release(&pair);
    return rc;
}

TEST(test_faults)
{
    assert_fails(open_set("absent", failed), ERR_MISSING, "cannot open the folder");
    files_puts("flat/a.txt", "");
    assert_fails(open_set("flat", failed), ERR_MISSING, "holds 0 JPEGs in 0 folders");
    make_set("bad", 3);
    assert_fails(open_set("bad", failed), ERR_FORMAT, "holds 9 JPEGs in 3 folders");
    make_set("bad", 4);
    files_puts("bad/empty/readme", "");
    assert_fails(open_set("bad", failed), ERR_FORMAT, "bad/empty' has no JPEG files");
    files_puts("bad/empty/1.png", "\x89PNG");
    assert_fails(open_set("bad", failed), ERR_FORMAT, "bad/empty/1.png' is not a JPEG");
    assert_int_equal(remove(files_at("bad/empty/1.png")), 0);
    files_puts("bad/empty/1.jpg", "\x89PNG");
    assert_fails(open_set("bad", failed), ERR_FORMAT,
                 "bad/empty/1.jpg', byte 0: this is not a JPEG");
    files_puts("bad/empty/1.jpg", "");
    assert_fails(open_set("bad", failed), ERR_FORMAT, "bad/empty/1.jpg' is empty");
    assert_int_equal(remove(files_at("bad/empty/1.jpg")), 0);
    assert_int_equal(mkdir(files_at("bad/empty/1.jpg"), 0777), 0);
    assert_fails(open_set("bad", failed), ERR_FORMAT, "1.jpg' is not a plain file");
}

// A file that turns out to be damaged ends the batch it is in, and only that.
TEST(test_damaged_while_reading)
{
    struct data_pair pair = {0};
    struct batcher *batcher;
    struct batch batch;
    struct err err = {0};
    make_set("late", 4);
    files_puts("late/bees/02.JPEG", "\xFF\xD8 and no more");
    assert_ok(images_open(files_at("late"), &two_threads, &pair, &err), &err);
    int where = -1;
    for (int i = 0; i < 11; i++)
        if (strstr(pair.train.files->pool + pair.train.files->offsets[i], "bees/02.JPEG"))
            where = i;
    if (where < 0) { // it is the one that is held out
        data_release(&pair);
        skip();
    }
    const struct batcher_options options = {.batch = 2, .threads = 3, .seed = 1};
    assert_ok(batcher_new(&batcher, &pair.train, &options, &err), &err);
    for (int epoch = 0; epoch < 2; epoch++)
        for (int step = 0; step < 6; step++) {
            struct err why = {0};
            int rc = batcher_next(batcher, &batch, &why);
            assert_int_equal(rc, step == where / 2 ? ERR_FORMAT : 1);
            if (rc < 0)
                assert_non_null(strstr(why.text, "late/bees/02.JPEG' cannot be read"));
            if (step == 5)
                assert_int_equal(batcher_next(batcher, &batch, &why), 0);
        }
    batcher_free(batcher);
    // One that vanishes, and one that grows.
    assert_int_equal(remove(files_at("late/bees/02.JPEG")), 0);
    struct image_reader *reader;
    uint8_t *out = malloc(IMAGES_BYTES);
    assert_ok(image_reader_new(&reader, pair.train.files, &err), &err);
    assert_fails(image_read(reader, where, out, failed), ERR_MISSING, "02.JPEG': no such file");
    copy_image("large.jpg", "late/bees/02.JPEG");
    assert_fails(image_read(reader, where, out, failed), ERR_FORMAT, "has grown");
    image_reader_free(reader);
    free(out);
    data_release(&pair);
}

int main(void)
{
    return run_all_tests(files_begin, files_end);
}
