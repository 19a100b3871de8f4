// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"

TEST(numbers)
{
    struct index index = {0};
    struct err err = {0};
    size_t number;
    // Ten thousand texts, each twice: the second time they have the numbers of the first.
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < 10000; i++) {
            char key[32];
            int len = snprintf(key, sizeof key, "key %zu", i * 7919 % 10007);
            assert_ok(index_number(&index, key, (size_t)len, &number, &err), &err);
            assert_int_equal(number, i);
        }
    assert_int_equal(index.count, 10000);
    assert_true(index_find(&index, "key 7919", 8, &number));
    assert_int_equal(number, 1);
    assert_false(index_find(&index, "key 10007", 9, &number));
    assert_int_equal(index.count, 10000);
    index_release(&index);
    assert_false(index_find(&index, "key 7919", 8, &number));
    assert_int_equal(index.count, 0);
}

TEST(any_bytes)
{
    struct index index = {0};
    size_t number;
    const struct {
        const char *key;
        size_t len, number;
    } cases[] = {{"", 0, 0},    {"a\0b", 3, 1}, {"a\0c", 3, 2}, {"a", 1, 3},
                 {"a\0", 2, 4}, {"", 0, 0},     {"a\0b", 3, 1}, {"a\0bx", 4, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(index_number(&index, cases[i].key, cases[i].len, &number, NULL), 0);
        assert_int_equal(number, cases[i].number);
    }
    index_release(&index);
}
