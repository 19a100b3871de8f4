// SPDX-License-Identifier: Apache-2.0
// The file with a made set holds the samples that fare's own training sees, sample by sample.
// With "sums WORKLOAD" it is a tool of test_frameworks.py: their SHA-256 sums, part by part.
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

#include "base/sha256.h"
#include "data/images.h"
#include "run/made.h"
#include "run/native.h"
#include "run/safetensors.h"

static char dir[256];

static int make_dir(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/made-XXXXXX", base ? base : "/tmp");
    return mkdtemp(dir) ? setenv("TMPDIR", dir, 1) : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir); // fails where something was left behind
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

static void sum_set(const struct workload *workload, struct sums *sums)
{
    struct data_pair data;
    struct err err = {0};
    assert_ok(native_data_open(workload, NULL, 0, &data, &err), &err);
    sum_samples(&data.train, sums->train_x);
    sum_samples(&data.test, sums->test_x);
    sha256_hex_of(data.train.labels, (size_t)data.train.count * 4, sums->train_y);
    sha256_hex_of(data.test.labels, (size_t)data.test.count * 4, sums->test_y);
    data_release(&data);
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

static void holds_the_same_samples(void **state)
{
    (void)state;
    static const char *const names[] = {"mlp", "imdb", "tweets", "textgen", "inception"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct err err = {0};
        struct made made;
        struct safetensors st;
        struct sums seen, written;
        const struct workload *workload = workload_find(names[i], &err);
        assert_non_null(workload);
        sum_set(workload, &seen);
        assert_ok(made_write(&made, workload, 2, &err), &err);
        assert_true(made.took_ns > 0);
        assert_ok(safetensors_open(&st, made.path, &err), &err);
        bool images = safetensors_text(&st, "time") == NULL;
        if (safetensors_text(&st, "stride"))
            sum_windows(&st, written.train_x);
        else
            sum_tensor(&st, "train.x", images ? "U8" : "I32", written.train_x);
        sum_tensor(&st, "test.x", images ? "U8" : "I32", written.test_x);
        sum_tensor(&st, "train.y", "I32", written.train_y);
        sum_tensor(&st, "test.y", "I32", written.test_y);
        assert_string_equal(written.train_x, seen.train_x);
        assert_string_equal(written.train_y, seen.train_y);
        assert_string_equal(written.test_x, seen.test_x);
        assert_string_equal(written.test_y, seen.test_y);
        safetensors_release(&st);
        made_remove(&made);
        assert_true(nothing_left());
    }
}

static void says_what_it_is(void **state)
{
    (void)state;
    struct err err = {0};
    struct made made;
    struct safetensors st;
    assert_ok(made_write(&made, workload_find("imdb", &err), 0, &err), &err);
    assert_ok(safetensors_open(&st, made.path, &err), &err);
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
    made_remove(&made);
    made_remove(&(struct made){0});
}

// RLIMIT_FSIZE cuts a write as a full disk does. In a child, since the limit cannot be taken back.
static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit cut = {1 << 20, 1 << 20};
        struct err err = {0};
        struct made made;
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &cut);
        int rc = made_write(&made, workload_find("textgen", &err), 0, &err);
        _exit(rc == ERR_IO && strstr(err.text, dir) && strstr(err.text, "large") &&
                      strstr(err.hint, "TMPDIR") && !made.path && nothing_left()
                  ? 7
                  : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_true(nothing_left());
}

static void no_folder_is_an_error(void **state)
{
    (void)state;
    struct err err = {0};
    struct made made;
    setenv("TMPDIR", "/nonexistent", 1);
    assert_true(made_write(&made, workload_find("textgen", &err), 0, &err) != 0);
    setenv("TMPDIR", dir, 1);
    assert_string_equal(err.text, "cannot hand over the samples: cannot make a folder in "
                                  "'/nonexistent': no such file or directory");
    assert_non_null(strstr(err.hint, "TMPDIR"));
    assert_null(made.folder);
}

int main(int argc, char **argv)
{
    struct err err = {0};
    if (argc == 3 && strcmp(argv[1], "sums") == 0) {
        struct sums s;
        const struct workload *workload = workload_find(argv[2], &err);
        if (!workload)
            return 1;
        sum_set(workload, &s);
        printf("%s\n%s\n%s\n%s\n", s.train_x, s.train_y, s.test_x, s.test_y);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_the_same_samples),
        cmocka_unit_test(says_what_it_is),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(no_folder_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
