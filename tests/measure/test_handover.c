// SPDX-License-Identifier: Apache-2.0
// The file that is handed over holds the samples that fare's own training sees, sample by sample.
// With "sums WORKLOAD [DIR]" it is a tool of test_frameworks.py: their SHA-256 sums, part by part.
#include "test.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sha256.h"
#include "train/data/batcher.h"
#include "train/data/files.h"
#include "train/data/images.h"
#include "measure/handover.h"
#include "train/workload/workload.h"
#include "train/checkpoint/safetensors.h"

static char dir[256]; // where the files go
static const struct run_plan no_end = {.full = true};

static int make_dir(void **state)
{
    const char *base = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/handover-XXXXXX", base ? base : "/tmp");
    return mkdtemp(dir) && files_begin(state) == 0 ? setenv("TMPDIR", dir, 1) : -1;
}

static int remove_dir(void **state)
{
    return files_end(state) | rmdir(dir); // fails where something was left behind
}

static bool nothing_left(void)
{
    int count = 0;
    DIR *d = opendir(dir);
    while (readdir(d))
        count++;
    closedir(d);
    return count == 2; // . and ..
}

// ---- as the training sees it

static void finish(struct sha256 *sha, char out[SHA256_HEX_BYTES])
{
    uint8_t sum[SHA256_BYTES];
    sha256_done(sha, sum);
    sha256_hex(sum, out);
}

static void sum_samples(const struct dataset *set, char out[SHA256_HEX_BYTES])
{
    struct sha256 sha;
    struct err err = {0};
    struct image_reader *reader = NULL;
    size_t image = (size_t)(set->channels * set->height * set->width);
    size_t bytes = set->time > 0 ? (size_t)set->time * sizeof(int32_t) : image;
    uint8_t *sample = malloc(bytes ? bytes : 1);
    assert_non_null(sample);
    if (set->files)
        assert_ok(image_reader_new(&reader, set->files, &err), &err);
    sha256_init(&sha);
    for (int64_t i = 0; i < set->count; i++) {
        if (set->time > 0)
            dataset_tokens(set, i, (int32_t *)(void *)sample);
        else if (reader)
            assert_ok(image_read(reader, i, sample, &err), &err);
        else
            memcpy(sample, set->pixels + (size_t)i * image, image);
        sha256_add(&sha, sample, bytes);
    }
    image_reader_free(reader);
    free(sample);
    finish(&sha, out);
}

struct sums {
    char train_x[SHA256_HEX_BYTES], train_y[SHA256_HEX_BYTES];
    char test_x[SHA256_HEX_BYTES], test_y[SHA256_HEX_BYTES];
};

// As fare run does: `from` is --data, or null.
static void open_set(const char *name, const char *from, struct data_pair *data)
{
    struct err err = {0};
    const struct workload *workload = workload_find(name, &err);
    assert_non_null(workload);
    assert_ok(workload_data_open(workload, from, NULL, 0, data, &err), &err);
}

static void sum_set(const struct data_pair *data, struct sums *sums)
{
    sum_samples(&data->train, sums->train_x);
    sum_samples(&data->test, sums->test_x);
    sha256_hex_of(data->train.labels, (size_t)data->train.count * 4, sums->train_y);
    sha256_hex_of(data->test.labels, (size_t)data->test.count * 4, sums->test_y);
}

// ---- as it lies in the file

static char *read_tensor(const struct safetensors *st, const char *name, const char *type,
                         const struct safetensors_tensor **tensor)
{
    const struct safetensors_tensor *t = *tensor = safetensors_find(st, name);
    if (!t)
        return NULL;
    assert_string_equal(t->type_name, type);
    assert_true(strcmp(type, "I32") != 0 || t->begin % 4 == 0);
    assert_true(strcmp(type, "I64") != 0 || t->begin % 8 == 0);
    char *bytes = malloc(t->bytes + 1);
    assert_non_null(bytes);
    assert_true(pread(st->fd, bytes, t->bytes, (off_t)(st->data_at + t->begin)) ==
                (ssize_t)t->bytes);
    return bytes;
}

static void sum_tensor(const struct safetensors *st, const char *name, const char *type,
                       char out[SHA256_HEX_BYTES])
{
    const struct safetensors_tensor *t;
    char *bytes = read_tensor(st, name, type, &t);
    sha256_hex_of(bytes ? bytes : "", bytes ? t->bytes : 0, out);
    free(bytes);
}

static void sum_windows(const struct safetensors *st, char out[SHA256_HEX_BYTES])
{
    const struct safetensors_tensor *t, *y = safetensors_find(st, "train.y");
    char *tokens = read_tensor(st, "train.tokens", "I32", &t);
    int64_t time = atoll(safetensors_text(st, "time"));
    int64_t stride = atoll(safetensors_text(st, "stride"));
    struct sha256 sha;
    assert_non_null(tokens);
    assert_true(t->count == (y->count - 1) * stride + time);
    sha256_init(&sha);
    for (int64_t i = 0; i < y->count; i++)
        sha256_add(&sha, tokens + i * stride * 4, (size_t)time * 4);
    free(tokens);
    finish(&sha, out);
}

static void sum_lengths(const struct safetensors *st, const char *tokens_name,
                        const char *starts_name, char out[SHA256_HEX_BYTES])
{
    const struct safetensors_tensor *t, *s;
    char *tokens = read_tensor(st, tokens_name, "I32", &t);
    int64_t *starts = (int64_t *)(void *)read_tensor(st, starts_name, "I64", &s);
    int64_t time = atoll(safetensors_text(st, "time"));
    char *zeros = calloc((size_t)time, 4);
    struct sha256 sha;
    assert_true(tokens && starts && zeros);
    assert_true(starts[0] == 0 && starts[s->count - 1] == t->count);
    sha256_init(&sha);
    for (int64_t i = 0; i < s->count - 1; i++) {
        int64_t len = starts[i + 1] - starts[i];
        len = len < time ? len : time;
        sha256_add(&sha, tokens + starts[i] * 4, (size_t)len * 4);
        sha256_add(&sha, zeros, (size_t)(time - len) * 4);
    }
    free(tokens);
    free(starts);
    free(zeros);
    finish(&sha, out);
}

static void sum_file(const char *path, struct sums *sums)
{
    struct err err = {0};
    struct safetensors st;
    assert_ok(safetensors_open(&st, path, &err), &err);
    const char *type = safetensors_text(&st, "time") ? "I32" : "U8";
    if (safetensors_text(&st, "stride"))
        sum_windows(&st, sums->train_x);
    else if (safetensors_find(&st, "train.starts"))
        sum_lengths(&st, "train.tokens", "train.starts", sums->train_x);
    else
        sum_tensor(&st, "train.x", type, sums->train_x);
    if (safetensors_find(&st, "test.starts"))
        sum_lengths(&st, "test.tokens", "test.starts", sums->test_x);
    else
        sum_tensor(&st, "test.x", type, sums->test_x);
    sum_tensor(&st, "train.y", "I32", sums->train_y);
    sum_tensor(&st, "test.y", "I32", sums->test_y);
    safetensors_release(&st);
}

static void compare(const char *name, const char *from)
{
    struct err err = {0};
    struct handover h;
    struct data_pair data;
    struct sums seen, written;
    open_set(name, from, &data);
    sum_set(&data, &seen);
    assert_ok(handover_write(&h, &data, &no_end, 2, &err), &err);
    assert_true((h.took_ns > 0) == (data.train.files != NULL));
    sum_file(h.path, &written);
    assert_string_equal(written.train_x, seen.train_x);
    assert_string_equal(written.train_y, seen.train_y);
    assert_string_equal(written.test_x, seen.test_x);
    assert_string_equal(written.test_y, seen.test_y);
    data_release(&data);
    handover_remove(&h);
    assert_true(nothing_left());
}

TEST(holds_the_samples_that_are_made)
{
    static const char *const names[] = {"mlp", "imdb", "tweets", "textgen", "inception"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        compare(names[i], NULL);
}

TEST(holds_the_samples_of_real_sets)
{
    static const char *const sets[][2] = {{"mlp", "mnist"},
                                          {"cifar", "cifar10"},
                                          {"imdb", "imdb"},
                                          {"tweets", "tweets"},
                                          {"textgen", "nietzsche"}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const char *folder = files_real(sets[i][1]);
        if (folder)
            compare(sets[i][0], folder);
    }
}

// ---- photos

static void put_image(const char *image, const char *class, int number)
{
    char path[300];
    struct buf bytes = {0};
    struct err err = {0};
    snprintf(path, sizeof path, "%s/train/data/images/%s", TESTS_DIR, image);
    assert_ok(fs_read(path, 1 << 20, &bytes, &err), &err);
    snprintf(path, sizeof path, "photos/%s/%03d.jpg", class, number);
    files_put(path, bytes.data, bytes.len);
    buf_release(&bytes);
}

// More than are decoded at once, and not a multiple of that.
static void make_photos(void)
{
    for (int i = 0; i < 50; i++) {
        put_image(i % 7 ? "small.jpg" : "progressive.jpg", "ants", i);
        put_image(i % 5 ? "grey.jpg" : "subsampled.jpg", "bees", i);
    }
}

TEST(holds_photos_as_they_are_decoded)
{
    make_photos();
    compare("inception", files_at("photos"));
}

TEST(a_broken_photo_is_an_error)
{
    struct err err = {0};
    struct handover h;
    struct data_pair data;
    make_photos();
    open_set("inception", files_at("photos"), &data);
    const struct image_files *files = data.train.files;
    const char *first = files->pool + files->offsets[70], *later = files->pool + files->offsets[75];
    assert_ok(fs_write(first, "\xff\xd8 cut", 6, &err), &err); // after it was opened
    assert_ok(fs_write(later, "\xff\xd8 cut", 6, &err), &err);
    assert_true(handover_write(&h, &data, &no_end, 2, &err) != 0);
    assert_non_null(strstr(err.text, first));
    assert_string_equal(err.hint, ""); // more room would not help
    assert_null(h.path);
    assert_true(nothing_left());
    data_release(&data);
}

TEST(it_can_be_stopped)
{
    struct err err = {0};
    struct handover h;
    struct data_pair data;
    const volatile sig_atomic_t stop = 1;
    const struct run_plan stopped = {.stop = &stop};
    const struct run_plan late = {.until_ns = clock_now_ns()};
    make_photos();
    open_set("inception", files_at("photos"), &data);
    assert_ok(handover_write(&h, &data, &stopped, 2, &err), &err);
    assert_true(!h.path && h.took_ns == 0 && nothing_left());
    assert_ok(handover_write(&h, &data, &late, 2, &err), &err);
    assert_true(!h.path && h.took_ns == 0 && nothing_left());
    data_release(&data);
}

// ---- what the file says

TEST(says_what_it_is)
{
    struct err err = {0};
    struct handover h;
    struct safetensors st;
    struct data_pair data;
    open_set("imdb", NULL, &data);
    assert_ok(handover_write(&h, &data, &no_end, 2, &err), &err);
    assert_ok(safetensors_open(&st, h.path, &err), &err);
    assert_string_equal(safetensors_text(&st, "name"), "made reviews");
    assert_string_equal(safetensors_text(&st, "identity"), "made:reviews:1");
    assert_string_equal(safetensors_text(&st, "source"), "made from seed 1");
    assert_string_equal(safetensors_text(&st, "classes"), "2");
    assert_string_equal(safetensors_text(&st, "vocabulary"), "20000");
    assert_string_equal(safetensors_text(&st, "time"), "100");
    assert_null(safetensors_text(&st, "stride"));
    static const int64_t shape[] = {25000, 100};
    assert_true(safetensors_fits(safetensors_find(&st, "train.x"), 2, shape));
    safetensors_release(&st);
    data_release(&data);
    handover_remove(&h);
    handover_remove(&(struct handover){0});
}

// Texts of different lengths lie without paddings.
TEST(short_texts_are_short)
{
    struct err err = {0};
    struct handover h;
    struct stat st;
    struct data_pair data;
    open_set("tweets", NULL, &data);
    assert_ok(handover_write(&h, &data, &no_end, 2, &err), &err);
    assert_int_equal(stat(h.path, &st), 0);
    int64_t samples = data.train.count + data.test.count;
    int64_t tokens = data.train.starts[data.train.count] + data.test.starts[data.test.count];
    assert_in_range(st.st_size, 4 * tokens + 12 * samples, 4 * tokens + 12 * samples + 2000);
    assert_true(tokens < samples * data.train.time);
    data_release(&data);
    handover_remove(&h);
}

// ---- the start

// The order is that of the batches that an engine gets, the parameters those of the definition.
TEST(holds_the_start)
{
    struct err err = {0};
    struct handover h;
    struct safetensors st;
    struct data_pair data;
    struct net net;
    struct batcher *batcher;
    struct batch batch;
    const struct workload *mlp = workload_find("mlp", &err);
    open_set("mlp", NULL, &data);
    assert_ok(workload_net(mlp, &data, &(struct workload_options){0}, &net, &err), &err);
    assert_ok(handover_write(&h, &data, &no_end, 2, &err), &err);
    assert_ok(handover_start(&h, &net, &data.train, 7, 30, &err), &err);
    assert_ok(safetensors_open(&st, h.start, &err), &err);
    assert_int_equal(st.count, 7);
    const struct safetensors_tensor *t;
    uint32_t *order = (uint32_t *)(void *)read_tensor(&st, "order", "I32", &t);
    assert_true(safetensors_fits(t, 2, (int64_t[]){HANDOVER_ORDERS, 60000}));
    const struct batcher_options options = {
        .batch = 128, .seed = 7, .shuffle = true, .form = BATCH_NUMBERS};
    assert_ok(batcher_new(&batcher, &data.train, &options, &err), &err);
    assert_ok(batcher_seek(batcher, 2, 1, &err), &err);
    assert_int_equal(batcher_next(batcher, &batch, &err), 1);
    assert_memory_equal(order + 2 * 60000 + 128, batch.samples, 128 * sizeof *order);
    batcher_free(batcher);
    free(order);
    int64_t numbers = 0;
    for (int i = 0; i < net.param_count; i++) {
        const struct net_param *p = &net.params[i];
        float *written = (float *)(void *)read_tensor(&st, p->name, "F32", &t);
        float *values = calloc((size_t)p->count, sizeof *values);
        assert_true(written && values && safetensors_fits(t, p->rank, p->dim));
        assert_ok(net_init_param(p, 7, values, &err), &err);
        assert_memory_equal(written, values, (size_t)p->count * sizeof *values);
        numbers += t->count;
        free(written);
        free(values);
    }
    assert_int_equal(numbers, 669706);
    safetensors_release(&st);
    net_release(&net);
    data_release(&data);
    handover_remove(&h);
}

// ---- no room

// RLIMIT_FSIZE cuts a write as a full disk does. In a child, since the limit cannot be taken back.
TEST(a_full_disk_is_an_error)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit cut = {1 << 20, 1 << 20};
        struct err err = {0};
        struct handover h;
        struct data_pair data;
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &cut);
        open_set("textgen", NULL, &data);
        int rc = handover_write(&h, &data, &no_end, 2, &err);
        _exit(rc == ERR_IO && strstr(err.text, dir) && strstr(err.text, "large") &&
                      strstr(err.hint, "TMPDIR") && !h.path && nothing_left()
                  ? 7
                  : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_true(nothing_left());
}

// A billion photos, of which not one is looked at.
TEST(a_small_disk_is_an_error_before_anything_is_decoded)
{
    struct err err = {0};
    struct handover h;
    struct data_pair data;
    make_photos();
    open_set("inception", files_at("photos"), &data);
    int64_t count = data.train.count;
    data.train.count = 1000000000;
    data.test.count = 0;
    assert_int_equal(handover_write(&h, &data, &no_end, 2, &err), ERR_IO);
    assert_non_null(strstr(err.text,
                           "cannot write the samples for the framework: they need 268207000000000 "
                           "bytes in '"));
    assert_non_null(strstr(err.text, dir));
    assert_non_null(strstr(err.text, ", which has "));
    assert_non_null(strstr(err.hint, "TMPDIR"));
    assert_true(!h.path && nothing_left());
    data.train.count = count;
    data_release(&data);
}

TEST(no_folder_is_an_error)
{
    struct err err = {0};
    struct handover h;
    struct data_pair data;
    open_set("textgen", NULL, &data);
    setenv("TMPDIR", "/nonexistent", 1);
    assert_true(handover_write(&h, &data, &no_end, 2, &err) != 0);
    setenv("TMPDIR", dir, 1);
    assert_string_equal(err.text,
                        "cannot write the samples for the framework: cannot make a folder in "
                        "'/nonexistent': no such file or directory");
    assert_non_null(strstr(err.hint, "TMPDIR"));
    assert_null(h.folder.path);
    data_release(&data);
}

int main(int argc, char **argv)
{
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "sums") == 0) {
        struct sums s;
        struct data_pair data;
        open_set(argv[2], argv[3], &data);
        sum_set(&data, &s);
        data_release(&data);
        printf("%s\n%s\n%s\n%s\n", s.train_x, s.train_y, s.test_x, s.test_y);
        return 0;
    }
    return run_all_tests(make_dir, remove_dir);
}
