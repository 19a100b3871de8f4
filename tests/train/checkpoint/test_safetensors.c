// SPDX-License-Identifier: Apache-2.0
// With arguments it is the tool of test_safetensors.py: "write FILE", or "dump FILE NUMBERS".
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "train/checkpoint/safetensors.h"

static char dir[256];
static char path[300];

static int make_dir(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/safetensors-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/file", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir); // fails where something was left behind
}

static int files_in_dir(void)
{
    int count = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return count;
}

// A file with this header and so many bytes of data.
static void put_file(uint64_t length, const char *header, size_t header_bytes, size_t data_bytes)
{
    struct buf b = {0};
    struct err err = {0};
    buf_add(&b, &length, 8);
    buf_add(&b, header, header_bytes);
    buf_fill(&b, 'd', data_bytes);
    assert_ok(fs_write(path, b.data, b.len, &err), &err);
    buf_release(&b);
}

static void put_header(const char *header, size_t data_bytes)
{
    put_file(strlen(header), header, strlen(header), data_bytes);
}

static int open_it(struct err *err)
{
    struct safetensors st;
    *err = (struct err){0};
    int rc = safetensors_open(&st, path, err);
    if (rc == 0)
        safetensors_release(&st);
    return rc;
}

// The format's own words (README of the reference implementation): eight bytes of length, little
// endian; the header begins with '{' and may be filled up with spaces; then the bytes.
TEST(writes_these_very_bytes)
{
    static const int64_t shape[] = {2, 1};
    const struct safetensors_entry entries[] = {{"b.weight", 2, shape}, {"a \"q\" \\", 0, NULL}};
    const struct safetensors_text texts[] = {{"format", "x"}, {"note", " line\nä \xff"}};
    const float values[] = {1, -2, 0.5F};
    struct safetensors_writer w;
    struct err err = {0};
    assert_ok(safetensors_begin(&w, path, texts, 2, entries, 2, &err), &err);
    assert_ok(safetensors_add(&w, values, 1, &err), &err);
    assert_ok(safetensors_add(&w, values + 1, 2, &err), &err);
    assert_ok(safetensors_commit(&w, &err), &err);

    static const char header[] =
        "{\"__metadata__\":{\"format\":\"x\",\"note\":\"line ä ?\"},"
        "\"b.weight\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
        "\"a \\\"q\\\" \\\\\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[8,12]}}";
    size_t length = (sizeof header - 1 + 7) / 8 * 8;
    struct buf got = {0};
    assert_ok(fs_read(path, 10000, &got, &err), &err);
    assert_int_equal(got.len, 8 + length + 12);
    const unsigned char *p = (const unsigned char *)got.data;
    assert_int_equal(p[0] | p[1] << 8, length);
    for (int i = 2; i < 8; i++)
        assert_int_equal(p[i], 0);
    assert_memory_equal(p + 8, header, sizeof header - 1);
    for (size_t i = sizeof header - 1; i < length; i++)
        assert_int_equal(p[8 + i], ' ');
    // IEEE 754: 1, -2 and 0.5.
    assert_memory_equal(p + 8 + length, "\0\0\x80\x3f\0\0\0\xc0\0\0\0\x3f", 12);
    buf_release(&got);
}

// The file was written by PyTorch 2.11 and safetensors 0.8:
//   safetensors.torch.save_file({"half": tensor([1.5, -2, 65504], dtype=float16), "brain":
//   tensor([1.5, -3], dtype=bfloat16), "single": tensor([[0.1, -1e-40, inf], [1, 2, 3]]),
//   "double": tensor([0.1, 1e300], dtype=float64), "whole": tensor(16777217), "bytes":
//   tensor([1, 2, 3], dtype=uint8), "none": zeros(0, 4)},
//   metadata={"format": "pt", "größe": "a \"b\" \\ c"})
TEST(reads_what_pytorch_wrote)
{
    struct safetensors st;
    struct err err = {0};
    assert_ok(safetensors_open(&st, TESTS_DIR "/fuzz/corpus/safetensors/pytorch", &err), &err);
    assert_int_equal(st.count, 7);
    assert_string_equal(safetensors_text(&st, "format"), "pt");
    assert_string_equal(safetensors_text(&st, "größe"), "a \"b\" \\ c");
    assert_null(safetensors_text(&st, "absent"));
    assert_null(safetensors_find(&st, "absent"));
    assert_null(safetensors_find(&st, "__metadata__"));

    float v[8];
    const struct safetensors_tensor *t = safetensors_find(&st, "half");
    assert_ok(safetensors_floats(&st, t, v, &err), &err);
    assert_true(v[0] == 1.5F && v[1] == -2 && v[2] == 65504);
    t = safetensors_find(&st, "brain");
    assert_ok(safetensors_floats(&st, t, v, &err), &err);
    assert_true(v[0] == 1.5F && v[1] == -3);
    assert_ok(safetensors_want(&st, "single", 2, (int64_t[]){2, 3}, &t, &err), &err);
    assert_ok(safetensors_floats(&st, t, v, &err), &err);
    assert_true(v[0] == 0.1F && v[1] == -1e-40F && isinf(v[2]) && v[3] == 1 && v[5] == 3);
    t = safetensors_find(&st, "double");
    assert_ok(safetensors_floats(&st, t, v, &err), &err);
    assert_true(v[0] == 0.1F && isinf(v[1]));
    assert_ok(safetensors_want(&st, "whole", 0, NULL, &t, &err), &err);
    assert_ok(safetensors_floats(&st, t, v, &err), &err);
    assert_true(v[0] == 16777216); // 2^24 + 1 is between two f32; the even one wins
    t = safetensors_find(&st, "none");
    assert_int_equal(t->count, 0);
    assert_ok(safetensors_floats(&st, t, v, &err), &err);
    t = safetensors_find(&st, "bytes");
    assert_int_equal(t->type, SAFETENSORS_OTHER);
    assert_int_equal(safetensors_floats(&st, t, v, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "tensor 'bytes' is of type U8; F32, F64, F16, BF16 and I64"));
    safetensors_release(&st);
}

TEST(says_what_is_missing_or_misshapen)
{
    struct safetensors st;
    struct err err = {0};
    const struct safetensors_tensor *t;
    put_header("{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}", 24);
    assert_ok(safetensors_open(&st, path, &err), &err);
    char expected[400];
    assert_int_equal(safetensors_want(&st, "w.bias", 1, (int64_t[]){3}, &t, &err), ERR_MISSING);
    snprintf(expected, sizeof expected, "'%s' has no tensor 'w.bias'", path);
    assert_string_equal(err.text, expected);
    assert_null(t);
    err = (struct err){0};
    assert_int_equal(safetensors_want(&st, "w", 2, (int64_t[]){3, 2}, &t, &err), ERR_FORMAT);
    snprintf(expected, sizeof expected, "'%s': tensor 'w' is 2×3 in it, 3×2 here", path);
    assert_string_equal(err.text, expected);
    err = (struct err){0};
    assert_int_equal(safetensors_want(&st, "w", 0, NULL, &t, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "2×3 in it, one number here"));
    assert_int_equal(safetensors_want(&st, "w", 1, (int64_t[]){6}, &t, &err), ERR_FORMAT);
    safetensors_release(&st);
}

#define A(shape, offsets)                                                                          \
    "\"a\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define B(shape, offsets)                                                                          \
    "\"b\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

// Each judged by safetensors 0.8 as well (test_safetensors.py does so again where it is there).
TEST(accepts_what_is_allowed)
{
    static const struct {
        const char *header;
        size_t data;
    } good[] = {
        {"{}", 0},
        {"{}   \n\t", 0},
        {"{\"__metadata__\":{}}", 0},
        {"{\"__metadata__\":null}", 0},
        {"{" A("[]", "[0,4]") "}", 4},
        {"{" A("[0,5]", "[0,0]") "}", 0},
        {"{" A("[1]", "[4,8]") "," B("[1]", "[0,4]") "}", 8},
        {"{" A("[1]", "[0,4]") "," B("[0]", "[0,0]") "}", 4},
        {"{" A("[1]", "[0,4]") "," B("[0]", "[4,4]") "}", 4},
        {"{\"\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":[{}]}}", 4},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1},
        {"{\"\\u00e4\\ud83d\\ude00\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct err err;
        put_header(good[i].header, good[i].data);
        if (open_it(&err) != 0)
            fail_msg("%s: %s", good[i].header, err.text);
    }
}

TEST(refuses_what_is_not)
{
    static const struct {
        const char *header;
        size_t data;
        const char *says;
    } bad[] = {
        {"", 0, "does not begin with '{'"},
        {" {}", 0, "does not begin with '{'"},
        {"[]", 0, "does not begin with '{'"},
        {"\xef\xbb\xbf{}", 0, "does not begin with '{'"},
        {"{", 0, ": byte 9: expected a text"},
        {"{}{}", 0, "byte 10: data after the end"},
        {"{\"a\xff\":1}", 0, "byte 11: this is not UTF-8"},
        {"{\"a\\ud800\":1}", 0, "half a surrogate pair"},
        {"{\"a\\u0000b\":1}", 0, "a text with a NUL"},
        {"{" A("[1]", "[0,4]") "," A("[1]", "[0,4]") "}", 4, "inside one that ends at 4"},
        {"{" A("[0]", "[0,0]") "," A("[0]", "[0,0]") "}", 0, "two tensors are called 'a'"},
        {"{\"a\":7}", 0, "'a': byte 13: expected '{'"},
        {"{\"a\":{}}", 0, "'a': it has no 'dtype'"},
        {"{\"a\":{\"dtype\":\"F32\"}}", 0, "'a': it has no 'shape'"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", 0, "'a': it has no 'data_offsets'"},
        {"{\"a\":{\"shape\":[],\"shape\":[]}}", 0, "'a': it has two 'shape'"},
        {"{\"a\":{\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "no type 'f32'"},
        {"{\"a\":{\"dtype\":32,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "expected a text"},
        {"{" A("[-1]", "[0,4]") "}", 4, "'a': byte 37: expected a whole number"},
        {"{" A("[1.0]", "[0,4]") "}", 4, "expected a whole number"},
        {"{" A("[\"1\"]", "[0,4]") "}", 4, "expected a whole number"},
        {"{" A("[01]", "[0,4]") "}", 4, "expected a whole number"},
        {"{" A("[1,]", "[0,4]") "}", 4, "expected a whole number"},
        {"{" A("[1 1]", "[0,4]") "}", 4, "expected ','"},
        {"{" A("1", "[0,4]") "}", 4, "expected '['"},
        {"{" A("[1]", "[0]") "}", 4, "expected ','"},
        {"{" A("[1]", "[0,4,8]") "}", 4, "expected ']'"},
        {"{" A("[1]", "[0,-4]") "}", 4, "expected a whole number"},
        {"{" A("[0]", "[4,0]") "}", 4, "ends at 0, before its begin at 4"},
        {"{" A("[2]", "[0,4]") "}", 4, "4 bytes are not what 2 numbers of type F32 take"},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "1 numbers of type"},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[1],\"data_offsets\":[0,0]}}", 0, "1 numbers of type"},
        {"{" A("[4294967296,4294967296]", "[0,0]") "}", 0, "product of its shape is too large"},
        {"{" A("[4611686018427387904]", "[0,0]") "}", 0, "product of its shape is too large"},
        {"{" A("[9223372036854775807,3,0]", "[0,0]") "}", 0, "product of its shape is too large"},
        {"{" A("[9223372036854775808,0]", "[0,0]") "}", 0, "the number is too large"},
        {"{" A("[1]", "[4,8]") "}", 8, "'a' begins at byte 4 of the data, after a hole from 0"},
        {"{" A("[1]", "[0,4]") "," B("[1]", "[0,4]") "}", 4, "inside one that ends at 4"},
        {"{" A("[2]", "[0,8]") "," B("[1]", "[4,8]") "}", 8, "inside one that ends at 8"},
        {"{" A("[1]", "[0,4]") "," B("[1]", "[8,12]") "}", 12, "after a hole from 4"},
        {"{" A("[0]", "[8,8]") "}", 0, "after a hole from 0"},
        {"{" A("[2]", "[0,8]") "}", 7, "'a' ends at byte 8 of the data, which has 7"},
        {"{" A("[2]", "[0,8]") "}", 9, "1 bytes after the last tensor belong to none"},
        {"{}", 1, "1 bytes after the last tensor belong to none"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "__metadata__: byte 29: expected a text"},
        {"{\"__metadata__\":[]}", 0, "__metadata__: byte 24: expected '{'"},
        {"{\"__metadata__\":{\"a\":\"\",\"b\":\"\",\"a\":\"\"}}", 0, "two texts are called 'a'"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "there are two __metadata__"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err;
        put_header(bad[i].header, bad[i].data);
        int rc = open_it(&err);
        if (rc != ERR_FORMAT || !strstr(err.text, bad[i].says) || !strstr(err.text, path))
            fail_msg("%s: %d '%s'", bad[i].header, rc, err.text);
    }
}

TEST(refuses_lengths_that_lie)
{
    struct err err;
    for (size_t bytes = 0; bytes < 8; bytes++) { // cut inside the length
        assert_ok(fs_write(path, "\2\0\0\0\0\0\0\0", bytes, &err), &err);
        assert_int_equal(open_it(&err), ERR_FORMAT);
        assert_non_null(strstr(err.text, "too few"));
    }
    put_file(3, "{}", 2, 0);
    assert_int_equal(open_it(&err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "its header has 3 bytes, but the file only 10"));
    put_file(UINT64_MAX, "{}", 2, 0);
    assert_int_equal(open_it(&err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "over the limit of 100000000"));
    put_file(SAFETENSORS_HEADER_MAX, "{}", 2, 0);
    assert_int_equal(open_it(&err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "but the file only"));
    // A file that is as long as it says, but over the cap; no disk is used for its hole.
    put_file(SAFETENSORS_HEADER_MAX + 1, "{}", 2, 0);
    assert_int_equal(truncate(path, SAFETENSORS_HEADER_MAX + 9), 0);
    assert_int_equal(open_it(&err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "over the limit"));
    // A long one that is filled up with spaces is allowed.
    put_file(SAFETENSORS_HEADER_MAX / 4, "{}", 2, 0);
    struct buf spaces = {0};
    buf_fill(&spaces, ' ', SAFETENSORS_HEADER_MAX / 4 - 2);
    FILE *f = fopen(path, "a");
    assert_int_equal(fwrite(spaces.data, 1, spaces.len, f), spaces.len);
    assert_int_equal(fclose(f), 0);
    buf_release(&spaces);
    assert_ok(open_it(&err), &err);
}

TEST(deep_nesting_is_refused)
{
    struct err err;
    struct buf b = {0};
    buf_adds(&b, "{\"a\":{\"x\":");
    buf_fill(&b, '[', 1 << 20); // would overflow the stack of a parser that trusts
    put_header(buf_str(&b), 0);
    buf_release(&b);
    assert_int_equal(open_it(&err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "nested too deeply"));
}

TEST(not_even_a_file)
{
    struct safetensors st;
    struct err err = {0};
    assert_int_equal(safetensors_open(&st, "/nonexistent/x", &err), ERR_MISSING);
    assert_string_equal(err.text, "cannot open '/nonexistent/x': no such file or directory");
    err = (struct err){0};
    assert_int_equal(safetensors_open(&st, dir, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "is not a file"));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); // must not wait for a writer
    assert_int_equal(open_it(&err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "is not a file"));
    unlink(path);
    safetensors_release(&(struct safetensors){0});
}

TEST(cut_while_it_is_open)
{
    struct safetensors st;
    struct err err = {0};
    float v[2];
    put_header("{" A("[2]", "[0,8]") "}", 8);
    assert_ok(safetensors_open(&st, path, &err), &err);
    assert_int_equal(truncate(path, (off_t)st.data_at + 5), 0);
    assert_int_equal(safetensors_floats(&st, &st.tensors[0], v, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "in the middle"));
    safetensors_release(&st);
}

TEST(refuses_to_write_what_it_could_not_read)
{
    struct safetensors_writer w;
    struct err err = {0};
    static const int64_t one[] = {1};
    const struct safetensors_entry twice[] = {{"a", 1, one}, {"b", 1, one}, {"a", 1, one}};
    const struct safetensors_entry odd[] = {{"a\nb", 1, one}};
    unlink(path);
    assert_int_equal(safetensors_begin(&w, path, NULL, 0, twice, 3, &err), ERR_FORMAT);
    assert_string_equal(err.text, "two tensors are called 'a'");
    err = (struct err){0};
    assert_int_equal(safetensors_begin(&w, path, NULL, 0, odd, 1, &err), ERR_FORMAT);
    assert_string_equal(err.text, "'a b' cannot be a tensor's name");
    assert_int_equal(files_in_dir(), 0);
    // Nothing at all is a file as well.
    assert_ok(safetensors_begin(&w, path, NULL, 0, NULL, 0, &err), &err);
    assert_ok(safetensors_commit(&w, &err), &err);
    assert_ok(open_it(&err), &err);
}

TEST(abandoned_leaves_nothing)
{
    struct safetensors_writer w;
    struct err err = {0};
    static const int64_t shape[] = {3};
    const struct safetensors_entry entries[] = {{"a", 1, shape}};
    put_header("{}", 0);
    assert_ok(safetensors_begin(&w, path, NULL, 0, entries, 1, &err), &err);
    assert_ok(safetensors_add(&w, (float[]){1, 2}, 2, &err), &err);
    assert_int_equal(files_in_dir(), 2);
    safetensors_abandon(&w);
    assert_int_equal(files_in_dir(), 1);
    assert_ok(open_it(&err), &err); // the old one
}

// RLIMIT_FSIZE cuts a write as a full disk does. In a child, since the limit cannot be taken back.
TEST(cut_write_leaves_the_old_file)
{
    static float values[4096];
    static const int64_t shape[] = {4096};
    const struct safetensors_entry entries[] = {{"a", 1, shape}};
    put_header("{}", 0);
    for (rlim_t limit = 10; limit < 10000; limit += 9000) { // in the header, and in the numbers
        pid_t child = fork();
        if (child == 0) {
            struct rlimit cut = {limit, limit};
            struct safetensors_writer w;
            struct err err = {0};
            signal(SIGXFSZ, SIG_IGN);
            setrlimit(RLIMIT_FSIZE, &cut);
            int rc = safetensors_begin(&w, path, NULL, 0, entries, 1, &err);
            if (rc == 0) {
                rc = safetensors_add(&w, values, 4096, &err);
                safetensors_abandon(&w);
            }
            _exit(rc == ERR_IO && strstr(err.text, path) && strstr(err.text, "large") ? 7 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        assert_int_equal(files_in_dir(), 1);
        struct err err;
        assert_ok(open_it(&err), &err);
    }
}

// Names, types and shapes as lines, and all numbers that can be read in the order of the names.
static int dump(const char *from, const char *to)
{
    struct safetensors st;
    struct err err = {0};
    struct buf shape = {0};
    if (safetensors_open(&st, from, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    int rc = 0;
    FILE *out = fopen(to, "wb");
    for (int i = 0; out && rc == 0 && i < st.count; i++) {
        const struct safetensors_tensor *t = &st.tensors[i];
        buf_reset(&shape);
        safetensors_shape(&shape, t->rank, t->dim);
        printf("%s\t%s\t%s\n", t->name, t->type_name, buf_str(&shape));
        if (t->type == SAFETENSORS_OTHER)
            continue;
        float *values = malloc((size_t)t->count * sizeof *values + 1);
        rc = !values || safetensors_floats(&st, t, values, &err) != 0 ||
             fwrite(values, sizeof *values, (size_t)t->count, out) != (size_t)t->count;
        free(values);
    }
    for (int i = 0; i < st.text_count; i++)
        printf("#%s\t%s\n", st.texts[2 * i], st.texts[2 * i + 1]);
    rc |= !out || fclose(out) != 0;
    buf_release(&shape);
    safetensors_release(&st);
    return rc;
}

// Number i of tensor k is k + i/8; those of whole numbers are 5, -6, 7 and 8, 9, 10.
static int write_example(const char *to)
{
    static const int64_t a[] = {2, 3, 4}, b[] = {7}, none[] = {3, 0}, three[] = {3};
    const struct safetensors_entry entries[] = {
        {"z.weight", 3, a}, {"a.bias", 1, b},           {"scalar", 0, NULL},
        {"empty", 2, none}, {"whole", 1, three, "I32"}, {"bytes", 1, three, "U8"}};
    static const int32_t whole[] = {5, -6, 7};
    static const uint8_t bytes[] = {8, 9, 10};
    const int counts[] = {24, 7, 1, 0};
    const struct safetensors_text texts[] = {{"format", "test"}, {"quote", "\"ä\\"}};
    struct safetensors_writer w;
    struct err err = {0};
    int rc = safetensors_begin(&w, to, texts, 2, entries, 6, &err);
    for (int k = 0; rc == 0 && k < 4; k++)
        for (int i = 0; rc == 0 && i < counts[k]; i++)
            rc = safetensors_add(&w, (float[]){(float)k + (float)i / 8}, 1, &err);
    if (rc == 0)
        rc = safetensors_add_bytes(&w, whole, sizeof whole, &err);
    if (rc == 0)
        rc = safetensors_add_bytes(&w, bytes, sizeof bytes, &err);
    if (rc == 0)
        rc = safetensors_commit(&w, &err);
    if (rc != 0)
        fprintf(stderr, "%s\n", err.text);
    return rc != 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return write_example(argv[2]);
    if (argc == 4 && strcmp(argv[1], "dump") == 0)
        return dump(argv[2], argv[3]);
    return run_all_tests(make_dir, remove_dir);
}
