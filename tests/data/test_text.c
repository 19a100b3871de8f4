// SPDX-License-Identifier: Apache-2.0
// Figures of the real text: Python (str.lower, sorted(set(text)), range(0, n - 40, 3)).
#include "data/text.h"

#include "data/files.h"

static int open_text(const char *text, size_t len, struct data_pair *pair, struct err *err)
{
    memset(pair, 0, sizeof *pair);
    int rc = text_open(files_put("text.txt", text, len), NULL, pair, err);
    if (rc != 0)
        data_release(pair);
    return rc;
}

static void test_windows(void **state)
{
    (void)state;
    struct data_pair pair;
    struct err err = {0};
    struct buf text = {0};
    for (int len = 41; len < 60; len++) {
        buf_reset(&text);
        for (int i = 0; i < len; i++)
            buf_addc(&text, (char)("abcdeXYZ"[i % 8]));
        assert_ok(open_text(text.data, text.len, &pair, &err), &err);
        assert_int_equal(pair.train.count, (len - 40 + 2) / 3); // len(range(0, len - 40, 3))
        assert_int_equal(pair.train.vocabulary, 8);
        assert_int_equal(pair.train.classes, 8);
        assert_int_equal(pair.test.count, 0);
        int32_t tokens[40];
        for (int64_t i = 0; i < pair.train.count; i++) {
            dataset_tokens(&pair.train, i, tokens);
            for (int k = 0; k < 40; k++) // a b c d e x y z, which are sorted already
                assert_int_equal(tokens[k], (3 * i + k) % 8);
            assert_int_equal(pair.train.labels[i], (3 * i + 40) % 8);
        }
        data_release(&pair);
    }
    buf_release(&text);
}

static void test_characters(void **state)
{
    (void)state;
    struct data_pair pair;
    struct err err = {0};
    static const char text[] = "z\xC3\x84\xC3\xA4 \xF0\x9F\x98\x80\xE2\x82\xAC\n"
                               "0123456789012345678901234567890123456789";
    assert_ok(open_text(text, sizeof text - 1, &pair, &err), &err);
    static const char *const words[] = {"\n",
                                        " ",
                                        "0",
                                        "1",
                                        "2",
                                        "3",
                                        "4",
                                        "5",
                                        "6",
                                        "7",
                                        "8",
                                        "9",
                                        "z",
                                        "\xC3\xA4",
                                        "\xE2\x82\xAC",
                                        "\xF0\x9F\x98\x80"};
    assert_int_equal(pair.word_count, 16);
    for (int i = 0; i < 16; i++)
        assert_string_equal(pair.words[i], words[i]);
    static const int32_t first[] = {12, 13, 13, 1, 15, 14, 0, 2};
    assert_memory_equal(pair.train.tokens, first, sizeof first);
    data_release(&pair);
}

static void test_folder(void **state)
{
    (void)state;
    struct data_pair pair = {0};
    struct err err = {0};
    static const char text[] = "01234567890123456789012345678901234567890123";
    files_puts("dir/other.txt", text);
    assert_ok(text_open(files_at("dir"), NULL, &pair, &err), &err);
    assert_string_equal(pair.source, files_at("dir/other.txt"));
    data_release(&pair);
    files_puts("dir/readme.txt", "");
    assert_fails(text_open(files_at("dir"), NULL, &pair, failed), ERR_FORMAT,
                 "other.txt and readme.txt");
    files_put_gzip("dir/nietzsche.txt.gz", text, sizeof text - 1);
    assert_ok(text_open(files_at("dir"), NULL, &pair, &err), &err);
    assert_string_equal(pair.source, files_at("dir/nietzsche.txt.gz"));
    data_release(&pair);
}

static void test_faults(void **state)
{
    (void)state;
    struct data_pair pair = {0};
    char one[60];
    memset(one, 'a', sizeof one);
    assert_fails(text_open(files_at("absent"), NULL, &pair, failed), ERR_MISSING, "cannot open");
    files_puts("none/x.csv", "");
    assert_fails(text_open(files_at("none"), NULL, &pair, failed), ERR_MISSING,
                 "has no file that ends in .txt");
    assert_fails(open_text("", 0, &pair, failed), ERR_FORMAT, "text.txt' is empty");
    assert_fails(open_text("short", 5, &pair, failed), ERR_FORMAT,
                 "has 5 characters; more than 40 are needed");
    assert_fails(open_text("line\nline two\nthr\xFF"
                           "e",
                           19, &pair, failed),
                 ERR_FORMAT, "text.txt', line 3: byte 17 of the file is not UTF-8 (ff)");
    assert_fails(open_text(one, sizeof one, &pair, failed), ERR_FORMAT,
                 "only one distinct character");
}

static void test_real(void **state)
{
    (void)state;
    const char *dir = files_real("nietzsche");
    if (!dir)
        skip();
    struct data_pair pair = {0};
    struct err err = {0};
    char hex[SHA256_HEX_BYTES];
    assert_ok(text_open(dir, NULL, &pair, &err), &err);
    assert_int_equal(pair.train.count, 200285);
    assert_int_equal(pair.train.vocabulary, 57);
    assert_int_equal(pair.train.time, 40);
    assert_string_equal(pair.words[56], "\xC3\xAB");
    files_sha(pair.train.tokens, 600893 * 4, hex);
    assert_string_equal(hex, "d97aa0e3ddeee61c5e5126076cae71810d62cb8c1719bc907d77afbf7fad64eb");
    files_sha(pair.train.labels, 200285 * 4, hex);
    assert_string_equal(hex, "a83521edf713c566327fa2d69cfebfe1e3edc73978ddcea65ce024b74da80469");
    data_release(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows), cmocka_unit_test(test_characters),
        cmocka_unit_test(test_folder),  cmocka_unit_test(test_faults),
        cmocka_unit_test(test_real),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
