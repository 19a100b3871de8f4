// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

TEST(grows_and_stays_terminated)
{
    struct buf b = {0};
    assert_string_equal(buf_str(&b), "");
    for (int i = 0; i < 1000; i++) {
        buf_printf(&b, "%03d,", i);
        assert_int_equal(strlen(buf_str(&b)), b.len);
    }
    assert_int_equal(b.len, 4000);
    assert_memory_equal(b.data + 3996, "999,", 4);
    buf_release(&b);
    assert_int_equal(b.len, 0);
}

TEST(holds_nul_bytes)
{
    struct buf b = {0};
    buf_add(&b, "a\0b", 3);
    assert_int_equal(b.len, 3);
    assert_memory_equal(b.data, "a\0b", 4);
    buf_release(&b);
}

TEST(cap_sticks)
{
    struct err err = {0};
    struct buf b = {.max = 10};
    buf_adds(&b, "0123456789");
    assert_ok(buf_check(&b, &err), &err);
    buf_addc(&b, 'x');
    assert_int_equal(buf_check(&b, &err), ERR_MEMORY);
    buf_adds(&b, ""); // nothing more gets in, not even nothing
    assert_string_equal(buf_str(&b), "0123456789");
    assert_null(buf_take(&b, NULL));
    assert_int_equal(b.len, 0);
    // A size that would overflow the sum is refused, not wrapped.
    struct buf c = {0};
    buf_addc(&c, 'x');
    assert_null(buf_reserve(&c, SIZE_MAX));
    assert_true(c.failed);
    buf_reset(&c);
    assert_false(c.failed);
    buf_release(&c);
}

TEST(take_hands_over)
{
    struct err err = {0};
    struct buf b = {0};
    char *empty = buf_take(&b, &err);
    assert_string_equal(empty, "");
    free(empty);
    buf_adds(&b, "text \t\n");
    buf_trim(&b);
    buf_fill(&b, '-', 3);
    char *text = buf_take(&b, &err);
    assert_string_equal(text, "text---");
    assert_null(b.data);
    free(text);
}

// ==== base64 ====
// The test vectors of RFC 4648, section 10, and what is no base64.

TEST(test_vectors)
{
    static const char *const pairs[][2] = {{"f", "Zg=="},         {"fo", "Zm8="},
                                           {"foo", "Zm9v"},       {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct buf text = {0}, bytes = {0};
        base64_write(&text, pairs[i][0], strlen(pairs[i][0]));
        assert_string_equal(buf_str(&text), pairs[i][1]);
        assert_true(base64_read(buf_str(&text), text.len, &bytes));
        assert_string_equal(buf_str(&bytes), pairs[i][0]);
        buf_release(&text);
        buf_release(&bytes);
    }
}

TEST(test_all_bytes)
{
    unsigned char all[256];
    struct buf text = {0}, bytes = {0};
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (unsigned char)i;
    base64_write(&text, all, sizeof all);
    assert_int_equal(text.len, (sizeof all + 2) / 3 * 4);
    assert_true(base64_read(buf_str(&text), text.len, &bytes));
    assert_int_equal(bytes.len, sizeof all);
    assert_memory_equal(bytes.data, all, sizeof all);
    buf_release(&text);
    buf_release(&bytes);
}

TEST(test_none)
{
    static const char *const texts[] = {
        "", "Zg", "Zg=", "Z===", "Zg==Zg==", "Zm9 ", "Zm9-", "===="};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct buf bytes = {0};
        assert_false(base64_read(texts[i], strlen(texts[i]), &bytes));
        buf_release(&bytes);
    }
    assert_int_equal(base64_value('\0'), -1);
    assert_int_equal(base64_value('A'), 0);
    assert_int_equal(base64_value('/'), 63);
}
