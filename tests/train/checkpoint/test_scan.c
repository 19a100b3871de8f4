// SPDX-License-Identifier: Apache-2.0
// Verdicts are RFC 8259's; texts and their meaning were checked with Python's json.loads().
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "train/checkpoint/safetensors.h"

// An exact copy on the heap, so that a sanitizer sees a read past the end.
static char *exact(const char *text, size_t len)
{
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    return copy;
}

static int skip_all(const char *text, struct err *err)
{
    char *copy = exact(text, strlen(text));
    struct scan scan;
    *err = (struct err){0};
    int rc = scan_init(&scan, copy, strlen(text), 0, err);
    if (rc == 0)
        rc = scan_skip(&scan, err);
    if (rc == 0)
        rc = scan_end(&scan, err);
    free(copy);
    return rc;
}

TEST(skips_any_value)
{
    static const char *const good[] = {
        "0",
        "-0",
        "10",
        "-1.5e+10",
        "1E2",
        "0.5",
        "true",
        " false ",
        "\tnull\r\n",
        "\"\"",
        "[]",
        "{}",
        "[ ]",
        "{ }",
        "[1,2]",
        "[[],{}]",
        "{\"a\":1,\"a\":[{\"b\":null}]}",
        "\"\\u0041\\n/\"",
        "\"\\ud83d\\ude00\"",
        "\"\xf0\x9f\x98\x80\"",
    };
    static const char *const bad[] = {
        "",
        " ",
        "01",
        "-",
        "+1",
        ".5",
        "1.",
        "1e",
        "1e+",
        "0x1",
        "tru",
        "True",
        "nulll",
        "'a'",
        "\"",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\t\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "\"\\ud800\\n\"",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{",
        "{1:2}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "[}",
        "{]",
        "1 1",
        "[]]",
        "\xff",
        "\"\xc0\x80\"",
        "\"\xed\xa0\x80\"",
        "\xef\xbb\xbf{}",
        "\xe2\x80\x80[]",
    };
    struct err err;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (skip_all(good[i], &err) != 0)
            fail_msg("%s: %s", good[i], err.text);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (skip_all(bad[i], &err) != ERR_FORMAT || strncmp(err.text, "byte ", 5) != 0)
            fail_msg("accepted: %s (%s)", bad[i], err.text);
}

TEST(depth_has_a_limit)
{
    char text[2 * SCAN_DEPTH_MAX + 3] = "";
    struct err err;
    memset(text, '[', SCAN_DEPTH_MAX);
    memset(text + SCAN_DEPTH_MAX, ']', SCAN_DEPTH_MAX);
    assert_ok(skip_all(text, &err), &err);
    memset(text, '[', SCAN_DEPTH_MAX + 1);
    memset(text + SCAN_DEPTH_MAX + 1, ']', SCAN_DEPTH_MAX + 1);
    assert_int_equal(skip_all(text, &err), ERR_FORMAT);
    assert_string_equal(err.text, "byte 64: nested too deeply");
}

TEST(texts_are_decoded)
{
    static const char *const cases[][2] = {
        {"\"\"", ""},
        {"\"a\\\"b\\\\c\\/d\"", "a\"b\\c/d"},
        {"\"\\b\\f\\n\\r\\t\"", "\b\f\n\r\t"},
        {"\"\\u0041\\u00e4\\u20AC\\uD83D\\uDe00\"", "Aä€😀"},
        {"\"ä😀\x7f\"", "ä😀\x7f"},
    };
    struct buf out = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        struct scan scan;
        assert_ok(scan_init(&scan, cases[i][0], strlen(cases[i][0]), 0, &err), &err);
        assert_ok(scan_text(&scan, &out, &err), &err);
        assert_string_equal(buf_str(&out), cases[i][1]);
        assert_ok(scan_end(&scan, &err), &err);
    }
    buf_release(&out);
}

TEST(whole_numbers)
{
    struct scan scan;
    struct err err = {0};
    int64_t value;
    const char *text = " 0 ,9223372036854775807,7]";
    assert_ok(scan_init(&scan, text, strlen(text), 0, &err), &err);
    assert_int_equal(scan_item(&scan, ']', true, &err), 1);
    assert_ok(scan_whole(&scan, &value, &err), &err);
    assert_int_equal(value, 0);
    assert_int_equal(scan_item(&scan, ']', false, &err), 1);
    assert_ok(scan_whole(&scan, &value, &err), &err);
    assert_int_equal(value, INT64_MAX);
    assert_int_equal(scan_item(&scan, ']', false, &err), 1);
    assert_ok(scan_whole(&scan, &value, &err), &err);
    assert_int_equal(value, 7);
    assert_int_equal(scan_item(&scan, ']', false, &err), 0);
    assert_ok(scan_end(&scan, &err), &err);

    static const char *const bad[] = {
        "", "-1", "-0", "1.0", "1e0", "00", "x", "9223372036854775808", "1E1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *copy = exact(bad[i], strlen(bad[i]));
        err = (struct err){0};
        assert_ok(scan_init(&scan, copy, strlen(bad[i]), 0, &err), &err);
        assert_int_equal(scan_whole(&scan, &value, &err), ERR_FORMAT);
        free(copy);
    }
}

TEST(errors_say_the_byte)
{
    struct scan scan;
    struct err err = {0};
    struct buf out = {0};
    assert_ok(scan_init(&scan, " {\"a\" 1}", 8, 8, &err), &err);
    assert_true(scan_is(&scan, '{'));
    assert_ok(scan_expect(&scan, '{', &err), &err);
    assert_int_equal(scan_key(&scan, &out, &err), ERR_FORMAT);
    assert_string_equal(err.text, "byte 14: expected ':'");
    err = (struct err){0};
    assert_int_equal(scan_init(&scan, "ab\xff", 3, 8, &err), ERR_FORMAT);
    assert_string_equal(err.text, "byte 10: this is not UTF-8");
    buf_release(&out);
}

// A NUL in the bytes is a character like any other that may not be there.
TEST(nul_bytes)
{
    struct scan scan;
    struct err err = {0};
    struct buf out = {0};
    assert_ok(scan_init(&scan, "\"a\0b\"", 5, 0, &err), &err);
    assert_int_equal(scan_text(&scan, &out, &err), ERR_FORMAT);
    err = (struct err){0};
    assert_ok(scan_init(&scan, "{}\0", 3, 0, &err), &err);
    assert_ok(scan_skip(&scan, &err), &err);
    assert_int_equal(scan_end(&scan, &err), ERR_FORMAT);
    assert_string_equal(err.text, "byte 2: data after the end");
    buf_release(&out);
}
