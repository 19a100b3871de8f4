// SPDX-License-Identifier: Apache-2.0
#include "train/data/sets.h"

#include "base/gzip.h"
#include "train/data/dataset.h"
#include "train/data/fetch.h"
#include "train/data/files.h"
#include "train/data/folder.h"
#include "train/workload/workload.h"

// A path that stays below the folder it is put in.
static bool is_inside(const char *path)
{
    if (path[0] == '\0' || path[0] == '/' || path[0] == '.')
        return false;
    for (const char *p = path; (p = strchr(p, '/')); p++)
        if (p[1] == '.' || p[1] == '/')
            return false;
    return true;
}

static void check_file(const struct public_set *set, const struct public_file *file)
{
    assert_true(is_inside(file->name));
    assert_true(!file->url != !file->from);
    assert_true(!file->url || strncmp(file->url, "http", 4) == 0);
    // Without a sum only the transport vouches for a file.
    assert_true(!file->url || file->sha256 || !strstr(file->url, "http://"));
    if (file->sha256) {
        assert_int_equal(strlen(file->sha256), 64);
        assert_int_equal(strspn(file->sha256, "0123456789abcdef"), 64);
    }
    // An archive is downloaded before it is unpacked.
    size_t len = file->from ? strcspn(file->from, ":") : 0;
    bool found = !file->from;
    for (const struct public_file *f = set->files; f < file; f++)
        found |= f->url && strlen(f->name) == len && memcmp(f->name, file->from, len) == 0;
    assert_true(found);
}

TEST(test_rows)
{
    for (const struct public_set *set = public_sets; set->name; set++) {
        assert_true(is_inside(set->name) && !strchr(set->name, '/'));
        assert_true(
            set->open &&
            (set->synth.draw || set->synth.sentences || set->synth.photo || set->synth.whole) &&
            set->format && set->train > 0 && set->shape.classes);
        assert_non_null(strchr(set->made, ' '));
        assert_true(strlen(set->source) > 10); // ends in a date
        assert_memory_equal(set->source + strlen(set->source) - 10, "2026-", 5);
        for (const struct public_set *other = public_sets; other < set; other++)
            assert_string_not_equal(other->name, set->name);
        for (const struct public_file *file = set->files; file->name; file++)
            check_file(set, file);
    }
}

// No workload names a set that does not exist, and every set has one.
TEST(test_workloads)
{
    struct err err = {0};
    for (size_t i = 0; workloads[i]; i++) {
        assert_int_equal(!workloads[i]->data, !workloads[i]->build);
        if (workloads[i]->data)
            assert_non_null(public_set_find(workloads[i]->data, &err));
    }
    for (const struct public_set *set = public_sets; set->name; set++) {
        bool used = false;
        for (size_t i = 0; workloads[i]; i++)
            used |= workloads[i]->data && strcmp(workloads[i]->data, set->name) == 0;
        assert_true(used);
    }
}

// The identity of a set follows from its files' sums, where all of these are known.
TEST(test_mnist_identity)
{
    struct err err = {0};
    const struct public_set *set = public_set_find("mnist", &err);
    struct buf list = {0};
    char hex[SHA256_HEX_BYTES];
    for (const struct public_file *file = set->files; file->name; file++)
        if (file->from)
            buf_printf(&list, "%s  %s\n", file->sha256, file->name);
    files_sha(list.data, list.len, hex);
    assert_string_equal(hex, set->identity);
    buf_release(&list);
}

TEST(test_find)
{
    struct err err = {0};
    assert_null(public_set_find("quite another", &err));
    assert_string_equal(err.text, "'quite another' is not a data set");
    assert_string_equal(err.hint, "'fare workloads data list' lists them");
}

TEST(test_cache_dir)
{
    struct buf dir = {0};
    struct err err = {0};
    setenv("XDG_CACHE_HOME", "/cache", 1);
    assert_ok(data_cache_dir("mnist", &dir, &err), &err);
    assert_string_equal(buf_str(&dir), "/cache/fare/data/mnist");
    setenv("XDG_CACHE_HOME", "relative", 1); // to be ignored, says the specification
    setenv("HOME", "/home/me", 1);
    buf_reset(&dir);
    assert_ok(data_cache_dir(NULL, &dir, &err), &err);
    assert_string_equal(buf_str(&dir), "/home/me/.cache/fare/data");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_fails(data_cache_dir("x", &dir, failed), ERR_MISSING, "no place for data");
    buf_release(&dir);
}

// ==== dataset ====
// data_open() itself: which reader, which folder, and what is said about the source. The readers
// have tests of their own.

static void put_cifar(const char *name)
{
    static char record[3073];
    record[0] = 3;
    files_put(name, record, sizeof record);
}

TEST(test_deeper)
{
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
TEST(test_never_silent)
{
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

TEST(test_own_data)
{
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

TEST(test_public_names)
{
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

// ==== folder ====

static int find(const char *a, const char *b, char *out, struct err *err)
{
    struct folder folder;
    struct buf path = {0};
    const char *const endings[] = {a, b, NULL};
    int rc = folder_open(&folder, files_at("set"), err);
    if (rc != 0)
        return rc;
    rc = folder_find(&folder, endings, &path, err);
    if (rc == 0)
        snprintf(out, 100, "%s", strrchr(path.data, '/') + 1);
    buf_release(&path);
    folder_release(&folder);
    return rc;
}

TEST(test_folder_find)
{
    char out[100];
    struct err err = {0};
    files_puts("set/b-images", "");
    files_puts("set/b-images.gz", "");
    files_puts("set/labels.gz", "");
    files_puts("set/X.CSV", "");
    files_puts("set/one.txt", "");
    files_puts("set/two.txt", "");
    files_puts("set/.hidden.txt", "");
    files_puts("set/deep-images/file", "");
    assert_ok(find("-images", NULL, out, &err), &err); // not the folder, not the packed one
    assert_string_equal(out, "b-images");
    assert_ok(find("absent", "labels", out, &err), &err);
    assert_string_equal(out, "labels.gz");
    assert_ok(find(".csv", NULL, out, &err), &err);
    assert_string_equal(out, "X.CSV");
    assert_fails(find(".txt", NULL, out, failed), ERR_FORMAT, "one.txt and two.txt");
    assert_fails(find("train", NULL, out, failed), ERR_MISSING, "set' has no train");
    assert_fails(find(".jpg", NULL, out, failed), ERR_MISSING, "has no file that ends in .jpg");
}

TEST(test_folder)
{
    struct folder folder;
    struct err err = {0};
    files_puts("names/b", "");
    files_puts("names/a", "");
    files_puts("names/B", "");
    files_puts("names/.a", "");
    assert_ok(folder_open(&folder, files_at("names"), &err), &err);
    assert_int_equal(folder.count, 3);
    assert_string_equal(folder.names[0], "B");
    assert_string_equal(folder.names[1], "a");
    assert_string_equal(folder.names[2], "b");
    folder_release(&folder);
    folder_release(&folder);
    assert_fails(folder_open(&folder, files_at("absent"), failed), ERR_MISSING,
                 "cannot open the folder");
    assert_fails(folder_open(&folder, files_at("names/a"), failed), ERR_MISSING,
                 "cannot open the folder");
    assert_true(folder_is(files_at("names")) && !folder_is(files_at("names/a")));
    assert_true(folder_has_file(files_at("names/a")) && !folder_has_file(files_at("names")));
    assert_false(folder_has_file(files_at("absent")));
}

// printf one >a; printf two >b; sha256sum a b | sha256sum
TEST(test_identity)
{
    struct identity identity;
    struct err err = {0};
    static const char *const texts[] = {"one", "two"}, *const names[] = {"a", "b"};
    identity_init(&identity);
    for (int i = 0; i < 2; i++) {
        struct sha256 sha;
        uint8_t sum[SHA256_BYTES];
        sha256_init(&sha);
        sha256_add(&sha, texts[i], 3);
        sha256_done(&sha, sum);
        identity_add(&identity, sum, names[i]);
    }
    char *text = identity_text(&identity, &err);
    assert_string_equal(text, "d17138d96382403690482a89da33475336ab36c046a6912a86badedd62301cb8");
    free(text);
}

int main(void)
{
    return run_all_tests(files_begin, files_end);
}
