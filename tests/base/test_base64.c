// SPDX-License-Identifier: Apache-2.0
// The test vectors of RFC 4648, section 10, and what is no base64.
#include "base/base64.h"

#include <string.h>

#include "test.h"

static void test_vectors(void **state)
{
    (void)state;
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

static void test_all_bytes(void **state)
{
    (void)state;
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

static void test_none(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors),
                                       cmocka_unit_test(test_all_bytes),
                                       cmocka_unit_test(test_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
